#include "analysis/tune_journal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "config/values.h"
#include "report/text.h"
#include "store/file.h"

#define VERSION 1

void tune_journal_deinit(struct tune_journal *j)
{
    for (int i = 0; i < j->n; i++)
        free(j->parts[i].error);
    free(j->parts);
    free(j->search);
    *j = (struct tune_journal){0};
}

void tune_journal_add(struct tune_journal *j, const struct tune_part *part)
{
    j->parts = mem_grow_or_die(j->parts, ((size_t)j->n + 1) * sizeof *j->parts);
    struct tune_part *to = &j->parts[j->n++];
    *to = *part;
    to->error = part->error ? mem_strdup_or_die(part->error) : NULL;
}

void tune_journal_forget_failed(struct tune_journal *j)
{
    int n = 0;
    for (int i = 0; i < j->n; i++)
        if (j->parts[i].error)
            free(j->parts[i].error);
        else
            j->parts[n++] = j->parts[i];
    j->n = n;
}

const struct tune_part *tune_journal_find(const struct tune_journal *j, int trial, int rung,
                                          int seed)
{
    for (int i = 0; i < j->n; i++)
        if (j->parts[i].trial == trial && j->parts[i].rung == rung && j->parts[i].seed == seed)
            return &j->parts[i];
    return NULL;
}

/* ---- writing ---- */

static void print_part(const struct tune_part *p, struct buf *out)
{
    buf_printf(out, "    { \"trial\": %d, \"rung\": %d, \"seed\": %d, \"value\": ", p->trial,
               p->rung, p->seed);
    json_number(out, p->value);
    buf_printf(out, ", \"epochs\": %d, \"best_epoch\": %d, \"seconds\": ", p->epochs,
               p->best_epoch);
    json_number(out, p->seconds);
    if (p->error) {
        buf_str(out, ", \"error\": ");
        json_text(out, p->error);
    }
    buf_str(out, "}");
}

enum skiff_status tune_journal_write(const struct tune_journal *j, const char *folder,
                                     struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    char *path = path_join(folder, TUNE_JOURNAL);
    buf_printf(&text, "{\n  \"skiff_tune\": %d,\n  \"search\": ", VERSION);
    json_text(&text, j->search);
    buf_str(&text, ",\n  \"metric\": ");
    json_text(&text, j->metric);
    buf_str(&text, ",\n  \"parts\": [\n");
    for (int i = 0; i < j->n; i++) {
        print_part(&j->parts[i], &text);
        buf_str(&text, i + 1 < j->n ? ",\n" : "\n");
    }
    buf_str(&text, "  ]\n}\n");
    enum skiff_status status = file_write(path, text.data, text.len, err);
    buf_deinit(&text);
    free(path);
    return status;
}

/* ---- reading ---- */

static const char *key_of(char out[static 64], int i, const char *name)
{
    snprintf(out, 64, "parts.%d.%s", i, name);
    return out;
}

static enum skiff_status read_all(struct tune_journal *j, struct values *c, struct skiff_error *err)
{
    char key[64];
    const int most = 1000000;
    int64_t version = values_int(c, "skiff_tune", 0);
    if (version != VERSION)
        return error_set(
            err, SKIFF_FORMAT,
            "%s is no journal of this skiff's searches (\"skiff_tune\": %d); begin anew "
            "with --overwrite, or in another --folder",
            values_name(c), VERSION);
    j->search = mem_strdup_or_die(values_text(c, "search", ""));
    snprintf(j->metric, sizeof j->metric, "%s", values_text(c, "metric", ""));
    for (int i = 0; values_has(c, key_of(key, i, "trial")); i++) {
        struct tune_part p = {.trial = (int)values_int_in(c, key, 0, 0, most)};
        p.rung = (int)values_int_in(c, key_of(key, i, "rung"), 0, 0, most);
        p.seed = (int)values_int_in(c, key_of(key, i, "seed"), 0, 0, most);
        p.value = values_real(c, key_of(key, i, "value"), NAN);
        p.epochs = (int)values_int_in(c, key_of(key, i, "epochs"), 0, 0, most);
        p.best_epoch = (int)values_int_in(c, key_of(key, i, "best_epoch"), -1, -1, most);
        p.seconds = values_real(c, key_of(key, i, "seconds"), 0);
        p.error = (char *)values_text(c, key_of(key, i, "error"), NULL);
        tune_journal_add(j, &p);
    }
    return values_check(c, err);
}

enum skiff_status tune_journal_read(struct tune_journal *j, const char *folder,
                                    struct skiff_error *err)
{
    struct values *c = NULL;
    char *path = path_join(folder, TUNE_JOURNAL);
    *j = (struct tune_journal){0};
    enum skiff_status status =
        file_exists(path) ? values_open(path, &c, err)
                          : error_set(err, SKIFF_NOT_FOUND, "%s: there is no such file", path);
    if (status == SKIFF_OK) {
        status = read_all(j, c, err);
        values_close(c);
    }
    free(path);
    return status;
}
