/* inspect table --servers: the current state of the tables of a running job. The command is a
 * read-only observer (observer.h): servers answer every process that holds the job's secret and
 * do not count it as a member. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/inspect.h"
#include "fleet/observer.h"
#include "fleet/settings.h"
#include "net/ps.h"

struct answer { /* of one server */
    struct ps_table_info *tables;
    uint32_t n;
};

/* ---- asking ---- */

#define FIRST_MS 1000 /* a server that is there has answered by then */

/* Is the port closed? Asked only for servers that do not answer: an idle connection
 * would be logged by the server. */
static enum skiff_status check_there(const char *endpoint, int timeout_ms, struct skiff_error *err)
{
    struct address a;
    TRY(address_parse(endpoint, &a, err));
    int why = observer_reach(&a, timeout_ms);
    if (!why)
        return SKIFF_OK;
    return error_set(err, SKIFF_IO, "no answer: %s%s", strerror(why),
                     why == ECONNREFUSED ? "; is the job running, and is this its list of servers?"
                                         : "");
}

/* A client with another job or secret gets a refusal; no answer at all has other reasons. */
static const char *advice(enum skiff_status status)
{
    return status == SKIFF_TIMEOUT
               ? "its port is open, but there was no answer in time: is it stopped, or very busy "
                 "(--timeout)? otherwise another program uses the port"
               : "is it a server of this job? SKIFF_JOB and SKIFF_SECRET, or --secret_file, must "
                 "be the job's; --pid takes them from a process of the job";
}

static enum skiff_status ask(struct observer *v, const struct observer_identity *who,
                             const char *endpoint, int index, struct answer *out,
                             struct skiff_error *err)
{
    struct blob *reply = NULL;
    TRY(observer_open(v, who, endpoint, index, err));
    if (rpc_await(v->peer, clock_after(clock_now(), FIRST_MS), NULL) < 0)
        TRY(check_there(endpoint, who->timeout_ms, err));
    enum skiff_status status = observer_ask(v, PS_TABLES, "its tables", &reply, err);
    if (status == SKIFF_OK)
        status = ps_read_tables(reply, &out->tables, &out->n, err);
    blob_unref(reply);
    return status < 0 ? error_prefix(err, status, "%s", advice(status)) : SKIFF_OK;
}

static enum skiff_status ask_server(const struct observer_identity *who, const char *endpoint,
                                    int index, struct answer *out, struct skiff_error *err)
{
    struct observer v;
    enum skiff_status status = ask(&v, who, endpoint, index, out, err);
    observer_close(&v);
    return status < 0 ? error_prefix(err, status, "server %d at %s", index, endpoint) : SKIFF_OK;
}

/* ---- showing ---- */

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

static const struct ps_table_info *find(const struct answer *a, const char *table)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (!strcmp(a->tables[i].table, table))
            return &a->tables[i];
    return NULL;
}

static void print_table(const struct ps_table_info *t, const struct answer *answers, int n)
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
        const struct ps_table_info *part = find(&answers[i], t->table);
        if (!part)
            continue;
        snprintf(who, sizeof who, "server %d", i);
        print_row(who, &part->state);
        ps_table_state_add(&sum, &part->state);
    }
    print_row("together", &sum);
}

static enum skiff_status print_all(const struct role *role, const struct answer *answers,
                                   struct skiff_error *err)
{
    for (int i = 0; i < role->nservers; i++)
        if (!answers[i].n)
            return error_set(err, SKIFF_NOT_FOUND,
                             "server %d at %s has no tables: the job's program has no distributed "
                             "embedding (sparse_embedding, is_distributed), so its parameters are "
                             "tensors",
                             i, role->servers[i]);
    for (uint32_t k = 0; k < answers[0].n; k++) {
        printf("%s", k ? "\n" : "");
        print_table(&answers[0].tables[k], answers, role->nservers);
    }
    return SKIFF_OK;
}

/* ---- the whole ---- */

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

enum skiff_status inspect_servers(const struct inspect_options *o, struct skiff_error *err)
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
    struct answer *answers = mem_alloc_or_die((size_t)(role.nservers + 1) * sizeof *answers);
    for (int i = 0; i < role.nservers && status == SKIFF_OK; i++)
        status = ask_server(&who, role.servers[i], i, &answers[i], err);
    if (status == SKIFF_OK)
        status = print_all(&role, answers, err);
    for (int i = 0; i < role.nservers; i++)
        free(answers[i].tables);
    free(answers);
    role_deinit(&role);
    return status;
}
