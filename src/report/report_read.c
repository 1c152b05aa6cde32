/* Reads the JSON of a run report (written by report/report_json.c). JSON is also YAML, so the
 * parser of configs reads it: keys have dots and numbers ("epochs.0.auc"), and a list ends where
 * the next row has no key.
 *
 * Getters keep the first wrong value, which is reported at the end (config_check). A missing number
 * is NAN, so that older reports can be read; a newer version is refused. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "config/values.h"
#include "report/report.h"
#include "store/file.h"

#define MOST_SAMPLES ((int64_t)1 << 53)

/* A row of a list, or a map. */
struct record_row {
    struct values *c;
    const char *list; /* "epochs" */
    int i;            /* -1: a map */
    char key[160];
};

static const char *key_of(struct record_row *row, const char *name)
{
    if (row->i < 0)
        snprintf(row->key, sizeof(row->key), "%s.%s", row->list, name);
    else
        snprintf(row->key, sizeof(row->key), "%s.%d.%s", row->list, row->i, name);
    return row->key;
}

/* Is there one more row, that is, one with this key? */
static bool next_row(struct record_row *row, const char *name)
{
    row->i++;
    return values_has(row->c, key_of(row, name));
}

static double real(struct record_row *row, const char *name)
{
    return values_real(row->c, key_of(row, name), NAN);
}

/* What must not be missing, nor below 0. */
static double amount(struct record_row *row, const char *name)
{
    double v = values_real(row->c, key_of(row, name), 0);
    if (v < 0 || v > 1e300) {
        values_refuse(row->c, key_of(row, name), "must not be below 0, found %g", v);
        return 0;
    }
    return v;
}

static int64_t whole(struct record_row *row, const char *name)
{
    return values_int_in(row->c, key_of(row, name), 0, 0, MOST_SAMPLES);
}

static int epoch_of(struct record_row *row)
{
    return (int)values_int_in(row->c, key_of(row, "epoch"), 0, 0, 1000000);
}

static const char *text(struct record_row *row, struct run_report *out, const char *name)
{
    return run_text(out, values_text(row->c, key_of(row, name), ""));
}

static struct run_numbers numbers(struct record_row *row)
{
    return (struct run_numbers){.loss = real(row, "loss"),
                                .auc = real(row, "auc"),
                                .log_loss = real(row, "log_loss"),
                                .copc = real(row, "copc"),
                                .accuracy = real(row, "accuracy")};
}

static void read_run(struct values *c, struct run_report *out)
{
    static const char *const words[] = {"running", "done", "stopped", "failed", NULL};
    struct record_row row = {.c = c, .list = "run", .i = -1};
    out->name = text(&row, out, "name");
    out->command = text(&row, out, "command");
    out->model = text(&row, out, "model");
    out->model_path = text(&row, out, "place");
    out->started = text(&row, out, "started");
    out->status = (enum run_status)values_choice(c, "run.status", RUN_RUNNING, words);
    out->seconds = amount(&row, "seconds");
    out->samples = amount(&row, "samples");
    out->threads = whole(&row, "threads");
    out->workers = whole(&row, "workers");
    out->worker = whole(&row, "worker");
    out->servers = whole(&row, "servers");
    out->valid_metric = text(&row, out, "valid_metric");
}

static void read_data(struct values *c, struct run_report *out)
{
    for (int i = 0; i < RUN_PARTS; i++) {
        char list[32];
        struct record_row row = {.c = c, .list = list, .i = -1};
        snprintf(list, sizeof list, "data.%s", run_part_word((enum run_part)i));
        out->data[i] = (struct run_data){.files = whole(&row, "files"),
                                         .rows = amount(&row, "rows"),
                                         .positives = real(&row, "positives")};
    }
}

static void read_tests(struct values *c, struct run_report *out)
{
    struct record_row row = {.c = c, .list = "infer", .i = -1};
    while (next_row(&row, "epoch"))
        run_add_test(out, &(struct run_test){.epoch = epoch_of(&row),
                                             .best = values_bool(c, key_of(&row, "best"), false),
                                             .samples = amount(&row, "samples"),
                                             .n = numbers(&row)});
}

static void read_epochs(struct values *c, struct run_report *out)
{
    struct record_row row = {.c = c, .list = "epochs", .i = -1};
    while (next_row(&row, "epoch"))
        run_add_epoch(
            out, &(struct run_epoch){.epoch = epoch_of(&row),
                                     .complete = values_bool(c, key_of(&row, "complete"), true),
                                     .at_samples = amount(&row, "at_samples"),
                                     .at_seconds = amount(&row, "at_seconds"),
                                     .samples = whole(&row, "samples"),
                                     .seconds = amount(&row, "seconds"),
                                     .n = numbers(&row),
                                     .read = amount(&row, "read"),
                                     .compute = amount(&row, "compute"),
                                     .update = amount(&row, "update")});
}

static void read_points(struct values *c, const char *list, struct run_report *out,
                        void (*add)(struct run_report *, const struct run_point *))
{
    struct record_row row = {.c = c, .list = list, .i = -1};
    while (next_row(&row, "epoch"))
        add(out, &(struct run_point){.epoch = epoch_of(&row),
                                     .at_samples = amount(&row, "at_samples"),
                                     .at_seconds = amount(&row, "at_seconds"),
                                     .samples = amount(&row, "samples"),
                                     .seconds = amount(&row, "seconds"),
                                     .n = numbers(&row),
                                     .clicks = real(&row, "clicks"),
                                     .predicted = real(&row, "predicted"),
                                     .best = values_bool(c, key_of(&row, "best"), false)});
}

static void read_bins(struct values *c, const char *list, struct run_bins *out)
{
    struct record_row row = {.c = c, .list = list, .i = -1};
    while (out->n < RUN_MAX_BINS && next_row(&row, "low"))
        out->at[out->n++] = (struct run_bin){.low = amount(&row, "low"),
                                             .high = amount(&row, "high"),
                                             .predicted = amount(&row, "predicted"),
                                             .seen = amount(&row, "seen"),
                                             .count = amount(&row, "count")};
}

static void read_quality(struct values *c, struct run_report *out)
{
    struct record_row row = {.c = c, .list = "quality", .i = -1};
    while (next_row(&row, "epoch")) {
        struct run_quality q = {.data = text(&row, out, "data"), .epoch = epoch_of(&row)};
        for (int k = 0; k < RUN_QUALITY_VALUES; k++)
            q.values[k] = real(&row, run_quality_texts[k].key);
        run_add_quality(out, &q);
    }
}

static struct run_effect effect(struct record_row *row, const char *name)
{
    char mean[32], low[32], high[32];
    snprintf(mean, sizeof mean, "%s.mean", name);
    snprintf(low, sizeof low, "%s.low", name);
    snprintf(high, sizeof high, "%s.high", name);
    return (struct run_effect){real(row, mean), real(row, low), real(row, high)};
}

static void read_importance(struct values *c, struct run_report *out)
{
    struct record_row row = {.c = c, .list = "importance", .i = -1};
    while (next_row(&row, "column"))
        run_add_importance(
            out, &(struct run_importance){
                     .column = text(&row, out, "column"),
                     .data = text(&row, out, "data"),
                     .rows = amount(&row, "rows"),
                     .repeats = (int)values_int_in(c, key_of(&row, "repeats"), 0, 0, 1000),
                     .auc = effect(&row, "auc"),
                     .log_loss = effect(&row, "log_loss")});
}

static void read_ops(struct values *c, struct run_report *out)
{
    struct record_row row = {.c = c, .list = "ops", .i = -1};
    while (next_row(&row, "type"))
        run_add_op(out, &(struct run_op){.type = text(&row, out, "type"),
                                         .update = values_bool(c, key_of(&row, "update"), false),
                                         .calls = whole(&row, "calls"),
                                         .seconds = amount(&row, "seconds")});
}

static void read_slots(struct values *c, struct run_report *out)
{
    struct record_row row = {.c = c, .list = "slots", .i = -1};
    out->slot_rows = values_int_in(c, "slot_rows", 0, 0, MOST_SAMPLES);
    while (next_row(&row, "name"))
        run_add_slot(out,
                     &(struct run_slot){.name = text(&row, out, "name"),
                                        .column = text(&row, out, "column"),
                                        .type = text(&row, out, "type"),
                                        .ragged = values_bool(c, key_of(&row, "ragged"), false),
                                        .values = whole(&row, "values"),
                                        .zeros = whole(&row, "zeros"),
                                        .distinct = real(&row, "distinct"),
                                        .least = real(&row, "least"),
                                        .most = real(&row, "most"),
                                        .mean = real(&row, "mean")});
}

static void read_config(struct values *c, struct run_report *out)
{
    struct record_row row = {.c = c, .list = "config", .i = -1};
    while (next_row(&row, "key")) {
        const char *key = text(&row, out, "key");
        run_add_config(out, key, text(&row, out, "value"));
    }
}

static void read_machine(struct values *c, struct run_report *out)
{
    struct record_row row = {.c = c, .list = "machine", .i = -1};
    out->machine = (struct run_machine){.host = text(&row, out, "host"),
                                        .cpu = text(&row, out, "cpu"),
                                        .system = text(&row, out, "system"),
                                        .skiff = text(&row, out, "skiff"),
                                        .compiler = text(&row, out, "compiler"),
                                        .cores = whole(&row, "cores"),
                                        .memory = whole(&row, "memory"),
                                        .peak_memory = whole(&row, "peak_memory")};
}

static void read_events(struct values *c, struct run_report *out)
{
    const char *words[RUN_EVENT_KINDS + 1] = {0};
    struct record_row row = {.c = c, .list = "events", .i = -1};
    for (int i = 0; i < RUN_EVENT_KINDS; i++)
        words[i] = run_event_word((enum run_event_kind)i);
    while (next_row(&row, "kind")) {
        int kind = values_choice(c, key_of(&row, "kind"), RUN_WARNING, words);
        double seconds = amount(&row, "seconds");
        run_add_event(out, (enum run_event_kind)kind, seconds,
                      values_text(c, key_of(&row, "text"), ""));
    }
    out->events_lost = values_int_in(c, "events_lost", 0, 0, MOST_SAMPLES);
}

static enum skiff_status read_all(struct values *c, struct run_report *out, struct skiff_error *err)
{
    int64_t version = values_int(c, "skiff_report", 0);
    if (version < 1)
        return error_set(err, SKIFF_FORMAT, "%s is not a run report: it has no \"skiff_report\": 1",
                         values_name(c));
    if (version > REPORT_VERSION)
        return error_set(
            err, SKIFF_UNSUPPORTED,
            "%s is a report of version %lld; this skiff reads up to %d: use a newer skiff",
            values_name(c), (long long)version, REPORT_VERSION);
    read_run(c, out);
    read_data(c, out);
    read_epochs(c, out);
    read_points(c, "points", out, run_add_point);
    read_points(c, "valid", out, run_add_valid);
    read_bins(c, "calibration", &out->calibration);
    read_bins(c, "valid_calibration", &out->valid_calibration);
    read_quality(c, out);
    read_importance(c, out);
    read_tests(c, out);
    read_bins(c, "infer_calibration", &out->test_calibration);
    read_ops(c, out);
    read_slots(c, out);
    read_config(c, out);
    read_machine(c, out);
    read_events(c, out);
    return values_check(c, err);
}

enum skiff_status report_parse_json(const void *bytes, size_t n, const char *name,
                                    struct run_report *out, struct skiff_error *err)
{
    struct values *c;
    enum skiff_status status = values_parse(bytes, n, name, &c, err);
    if (status < 0)
        return error_prefix(err, status, "not a run report");
    status = read_all(c, out, err);
    values_close(c);
    return status;
}

enum skiff_status report_read(const char *path, struct run_report *out, struct skiff_error *err)
{
    struct buf file = BUF_INIT, bytes = BUF_INIT;
    buf_printf(&file, "%s%s", path, file_is_dir(path) ? "/" REPORT_JSON : "");
    enum skiff_status status = file_read(file.data, &bytes, err);
    if (status == SKIFF_OK)
        status = report_parse_json(bytes.data ? bytes.data : "", bytes.len, file.data, out, err);
    buf_deinit(&file);
    buf_deinit(&bytes);
    return status;
}
