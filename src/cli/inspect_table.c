/* inspect table: saved sparse tables, and the tables of a running job.
 *
 * What files hold is counted by inspect/table_files.h, with the columns that the accessor
 * names; a running job is asked by an observer (inspect/server_tables.h), which joins nothing.
 * This file only prints. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "cli/inspect.h"
#include "fleet/settings.h"
#include "inspect/server_tables.h"
#include "inspect/table_files.h"

/* ---- saved tables ---- */

static void print_column(const char *name, const struct value_stats *c, int64_t rows)
{
    printf("    %-12s least %.6g, mean %.6g, most %.6g\n", name, c->least, c->sum / (double)rows,
           c->most);
}

static void print_statistics(const struct table_files *t)
{
    print_column("show", &t->show, t->rows);
    print_column("click", &t->click, t->rows);
    print_column("unseen days", &t->unseen, t->rows);
    printf("    score       ");
    for (int i = 0; i < TABLE_SCORES; i++)
        printf(" %s: %" PRId64 "%s", table_score_names[i], t->scores[i],
               i < TABLE_SCORES - 1 ? "," : "\n");
}

static void print_files(void *arg, const struct table_files *t)
{
    char bytes[64];
    printf("%s\n", t->path);
    for (int i = 0; i < t->nparts; i++)
        printf("  %-24s %" PRId64 " row%s, %" PRId64 " bytes\n", t->parts[i].name, t->parts[i].rows,
               plural(t->parts[i].rows), t->parts[i].bytes);
    printf("  %" PRId64 " row%s in %d file%s, %s%s\n", t->rows, plural(t->rows), t->nparts,
           plural(t->nparts), inspect_bytes((uint64_t)t->bytes, bytes),
           t->dense ? ": dense parameters" : "");
    for (int i = 0; i < t->ncolumns; i++)
        printf("    %" PRId64 " rows have %d numbers\n", t->columns[i].rows, t->columns[i].columns);
    if (t->statistics && t->rows)
        print_statistics(t);
    for (const char *at = t->state.data; at && *at; at += strcspn(at, "\n") + 1)
        printf("    in the job   %.*s\n", (int)strcspn(at, "\n"), at);
}

enum skiff_status inspect_table(const char *path, const struct inspect_options *o,
                                struct skiff_error *err)
{
    const struct accessor_class *accessor = accessor_find(o->accessor);
    if (!accessor)
        return error_set(
            err, SKIFF_INVALID,
            "no accessor %s; expected a name of accessor_class in the table's settings",
            o->accessor);
    if (o->twice)
        accessor = &accessor_ctr_double;
    return table_files_walk(path, accessor, print_files, NULL, err);
}

/* ---- tables of a running job ---- */

static const char *const heads[] = {"rows",    "bytes",      "limit",      "waiting",  "admitted",
                                    "refused", "expired",    "dropped",    "hit rate", "prefetched",
                                    "on disk", "disk bytes", "written/row"};
#define COLUMNS ((int)(sizeof heads / sizeof heads[0]))

static void cells(const struct ps_table_state *s, char out[COLUMNS][32])
{
    uint64_t counts[] = {s->waiting, s->admitted, s->refused, s->expired, s->evicted};
    uint64_t asked = s->hits + s->misses;
    for (int i = 0; i < COLUMNS; i++)
        strcpy(out[i], "-");
    snprintf(out[0], 32, "%" PRIu64, s->rows);
    ps_bytes_text(s->bytes, out[1]);
    if (s->limit)
        ps_bytes_text(s->limit, out[2]);
    for (int i = 0; i < 5; i++)
        snprintf(out[3 + i], 32, "%" PRIu64, counts[i]);
    if (asked)
        snprintf(out[8], 32, "%.1f %%", 100.0 * (double)s->hits / (double)asked);
    if (asked || s->disk_rows) {
        snprintf(out[9], 32, "%" PRIu64, s->fetched);
        snprintf(out[10], 32, "%" PRIu64, s->disk_rows);
        ps_bytes_text(s->disk_bytes, out[11]);
    }
    if (s->written_rows)
        snprintf(out[12], 32, "%.0f bytes", (double)s->written_bytes / (double)s->written_rows);
}

static void print_row(const char *who, const struct ps_table_state *s)
{
    char text[COLUMNS][32];
    cells(s, text);
    printf("  %-10s", who);
    for (int i = 0; i < COLUMNS; i++)
        printf("%*s", i == COLUMNS - 1 ? 13 : 11, text[i]);
    printf("\n");
}

static void print_table(const struct ps_table_info *t, const struct server_tables *answers, int n)
{
    struct ps_table_state sum = {0};
    char who[32];
    printf("table %s: %s\n  %-10s", t->table,
           t->sparse_table ? "sparse" : "embedding parameter, updated by the program's optimizer",
           "");
    for (int i = 0; i < COLUMNS; i++)
        printf("%*s", i == COLUMNS - 1 ? 13 : 11, heads[i]);
    printf("\n");
    for (int i = 0; i < n; i++) {
        const struct ps_table_info *part = server_tables_find(&answers[i], t->table);
        if (!part)
            continue;
        snprintf(who, sizeof who, "server %d", i);
        print_row(who, &part->state);
        ps_table_state_add(&sum, &part->state);
    }
    print_row("together", &sum);
}

static void print_all(const struct server_tables *answers, int n)
{
    for (uint32_t k = 0; k < answers[0].n; k++) {
        printf("%s", k ? "\n" : "");
        print_table(&answers[0].tables[k], answers, n);
    }
}

static enum skiff_status take_servers(const struct inspect_options *o, struct role *role,
                                      struct skiff_error *err)
{
    if (o->pid)
        TRY(observer_environment(o->pid, err));
    if (o->servers)
        return role_list_parse("--servers", o->servers, &role->servers, &role->nservers, err);
    TRY(role_from_env(role, SKIFF_ROLE_ENV_AUTO, NULL, NULL, err));
    if (!role->nservers)
        return error_set(
            err, SKIFF_INVALID,
            "process %d does not belong to a job with servers; expected a worker or a server",
            o->pid);
    return SKIFF_OK;
}

static enum skiff_status show_tables(const struct observer_identity *who, const struct role *role,
                                     struct skiff_error *err)
{
    struct server_tables *answers;
    TRY(server_tables_ask(who, role->servers, role->nservers, &answers, err));
    print_all(answers, role->nservers);
    server_tables_deinit(answers, role->nservers);
    return SKIFF_OK;
}

static enum skiff_status show_metrics(const struct observer_identity *who, const struct role *role,
                                      struct skiff_error *err)
{
    struct metrics_snapshot now = {0};
    struct buf text = BUF_INIT;
    enum skiff_status status = server_metrics_ask(who, role->servers, role->nservers, &now, err);
    if (status == SKIFF_OK) {
        snapshot_prometheus(&now, &text);
        fwrite(text.data, 1, text.len, stdout);
    }
    snapshot_deinit(&now);
    buf_deinit(&text);
    return status;
}

typedef enum skiff_status (*show_fn)(const struct observer_identity *who, const struct role *role,
                                     struct skiff_error *err);

static enum skiff_status ask_job(const struct inspect_options *o, show_fn show,
                                 struct skiff_error *err)
{
    struct role role = {.kind = SKIFF_WORKER};
    struct settings settings = {0};
    struct settings_security security = {.secret_file = o->secret_file};
    enum skiff_status status = take_servers(o, &role, err);
    if (status == SKIFF_OK)
        status = settings_read(&settings, NULL, NULL, err);
    if (status == SKIFF_OK)
        status = settings_set_security(&settings, &security, err);
    struct observer_identity who = {.name = "skiff inspect",
                                    .job = settings.job,
                                    .secret = settings.secret,
                                    .transport = settings.links,
                                    .timeout_ms = o->timeout * 1000};
    if (status == SKIFF_OK)
        status = show(&who, &role, err);
    role_deinit(&role);
    return status;
}

enum skiff_status inspect_servers(const struct inspect_options *o, struct skiff_error *err)
{
    return ask_job(o, show_tables, err);
}

enum skiff_status inspect_metrics(const struct inspect_options *o, struct skiff_error *err)
{
    return ask_job(o, show_metrics, err);
}
