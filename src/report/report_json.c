/* The JSON of a run (docs/guide/report.md). Numbers that are not finite become null, all texts pass
 * through json_text. report_read.c reads this form again: a new field needs a getter there with
 * a value for older reports, any other change a new REPORT_VERSION. */
#include <math.h>

#include "report/report.h"
#include "report/text.h"

/* Writing of nested values with commas between them. */
struct json {
    struct buf *b;
    int depth;
    bool first;
};

static void separate(struct json *j)
{
    if (!j->first)
        buf_char(j->b, ',');
    j->first = false;
    /* the outer levels on lines of their own, rows of lists on one each */
    if (j->depth <= 2)
        buf_printf(j->b, "\n%*s", 2 * j->depth, "");
    else
        buf_char(j->b, ' ');
}

static void key(struct json *j, const char *name)
{
    separate(j);
    if (name) {
        json_text(j->b, name);
        buf_str(j->b, ": ");
    }
}

static void json_open(struct json *j, const char *name, char bracket)
{
    if (j->depth)
        key(j, name);
    buf_char(j->b, bracket);
    j->depth++;
    j->first = true;
}

static void json_close(struct json *j, char bracket)
{
    j->depth--;
    if (!j->first && j->depth < 2)
        buf_printf(j->b, "\n%*s", 2 * j->depth, "");
    buf_char(j->b, bracket);
    j->first = false;
}

static void text(struct json *j, const char *name, const char *value)
{
    key(j, name);
    json_text(j->b, value);
}

static void number(struct json *j, const char *name, double value)
{
    key(j, name);
    json_number(j->b, value);
}

static void whole(struct json *j, const char *name, int64_t value)
{
    key(j, name);
    buf_printf(j->b, "%lld", (long long)value);
}

static void truth(struct json *j, const char *name, bool value)
{
    key(j, name);
    buf_str(j->b, value ? "true" : "false");
}

static void numbers(struct json *j, const struct run_numbers *n)
{
    number(j, "loss", n->loss);
    number(j, "auc", n->auc);
    number(j, "log_loss", n->log_loss);
    number(j, "copc", n->copc);
    if (!isnan(n->accuracy))
        number(j, "accuracy", n->accuracy);
}

static void add_quality(struct json *j, const struct run_report *r)
{
    json_open(j, "quality", '[');
    for (int i = 0; i < r->nquality; i++) {
        const struct run_quality *q = &r->quality[i];
        json_open(j, NULL, '{');
        text(j, "data", q->data);
        whole(j, "epoch", q->epoch);
        for (int k = 0; k < RUN_QUALITY_VALUES; k++)
            number(j, run_quality_texts[k].key, q->values[k]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void add_effect(struct json *j, const char *name, const struct run_effect *e)
{
    json_open(j, name, '{');
    number(j, "mean", e->mean);
    number(j, "low", e->low);
    number(j, "high", e->high);
    json_close(j, '}');
}

static void add_importance(struct json *j, const struct run_report *r)
{
    json_open(j, "importance", '[');
    for (int i = 0; i < r->nimportance; i++) {
        const struct run_importance *one = &r->importance[i];
        json_open(j, NULL, '{');
        text(j, "column", one->column);
        text(j, "data", one->data);
        number(j, "rows", one->rows);
        whole(j, "repeats", one->repeats);
        add_effect(j, "log_loss", &one->log_loss);
        add_effect(j, "auc", &one->auc);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void add_run(struct json *j, const struct run_report *r)
{
    json_open(j, "run", '{');
    text(j, "name", r->name);
    text(j, "command", r->command);
    text(j, "model", r->model);
    text(j, "place", r->model_path);
    text(j, "started", r->started);
    text(j, "status", run_status_word(r->status));
    number(j, "seconds", r->seconds);
    number(j, "samples", r->samples);
    number(j, "samples_per_second", run_speed(r));
    whole(j, "threads", r->threads);
    whole(j, "workers", r->workers);
    whole(j, "worker", r->worker);
    whole(j, "servers", r->servers);
    text(j, "valid_metric", r->valid_metric);
    json_close(j, '}');
}

static void add_data(struct json *j, const struct run_report *r)
{
    json_open(j, "data", '{');
    for (int i = 0; i < RUN_PARTS; i++) {
        json_open(j, run_part_word((enum run_part)i), '{');
        whole(j, "files", r->data[i].files);
        number(j, "rows", r->data[i].rows);
        number(j, "positives", r->data[i].positives);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void add_tests(struct json *j, const struct run_report *r)
{
    json_open(j, "infer", '[');
    for (int i = 0; i < r->ntests; i++) {
        const struct run_test *t = &r->tests[i];
        json_open(j, NULL, '{');
        whole(j, "epoch", t->epoch);
        truth(j, "best", t->best);
        number(j, "samples", t->samples);
        numbers(j, &t->n);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void add_epochs(struct json *j, const struct run_report *r)
{
    json_open(j, "epochs", '[');
    for (int i = 0; i < r->nepochs; i++) {
        const struct run_epoch *e = &r->epochs[i];
        json_open(j, NULL, '{');
        whole(j, "epoch", e->epoch);
        truth(j, "complete", e->complete);
        whole(j, "samples", e->samples);
        number(j, "seconds", e->seconds);
        numbers(j, &e->n);
        number(j, "read", e->read);
        number(j, "compute", e->compute);
        number(j, "update", e->update);
        number(j, "at_samples", e->at_samples);
        number(j, "at_seconds", e->at_seconds);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void add_points(struct json *j, const char *name, const struct run_points *l)
{
    json_open(j, name, '[');
    for (int i = 0; i < l->n; i++) {
        const struct run_point *p = &l->at[i];
        json_open(j, NULL, '{');
        whole(j, "epoch", p->epoch);
        number(j, "at_samples", p->at_samples);
        number(j, "at_seconds", p->at_seconds);
        number(j, "samples", p->samples);
        number(j, "seconds", p->seconds);
        numbers(j, &p->n);
        number(j, "clicks", p->clicks);
        number(j, "predicted", p->predicted);
        if (p->best)
            truth(j, "best", true);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void add_bins(struct json *j, const char *name, const struct run_bins *bins)
{
    json_open(j, name, '[');
    for (int i = 0; i < bins->n; i++) {
        const struct run_bin *b = &bins->at[i];
        json_open(j, NULL, '{');
        number(j, "low", b->low);
        number(j, "high", b->high);
        number(j, "predicted", b->predicted);
        number(j, "seen", b->seen);
        number(j, "count", b->count);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void add_ops(struct json *j, const struct run_report *r)
{
    json_open(j, "ops", '[');
    for (int i = 0; i < r->nops; i++) {
        json_open(j, NULL, '{');
        text(j, "type", r->ops[i].type);
        truth(j, "update", r->ops[i].update);
        whole(j, "calls", r->ops[i].calls);
        number(j, "seconds", r->ops[i].seconds);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void add_slots(struct json *j, const struct run_report *r)
{
    whole(j, "slot_rows", r->slot_rows);
    json_open(j, "slots", '[');
    for (int i = 0; i < r->nslots; i++) {
        const struct run_slot *s = &r->slots[i];
        json_open(j, NULL, '{');
        text(j, "name", s->name);
        text(j, "column", s->column);
        text(j, "type", s->type);
        truth(j, "ragged", s->ragged);
        whole(j, "values", s->values);
        whole(j, "zeros", s->zeros);
        number(j, "distinct", s->distinct);
        number(j, "least", s->least);
        number(j, "most", s->most);
        number(j, "mean", s->mean);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void add_config(struct json *j, const struct run_report *r)
{
    json_open(j, "config", '[');
    for (int i = 0; i < r->nconfig; i++) {
        json_open(j, NULL, '{');
        text(j, "key", r->config[i].key);
        text(j, "value", r->config[i].value);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void add_machine(struct json *j, const struct run_machine *m)
{
    json_open(j, "machine", '{');
    text(j, "host", m->host);
    text(j, "cpu", m->cpu);
    whole(j, "cores", m->cores);
    whole(j, "memory", m->memory);
    whole(j, "peak_memory", m->peak_memory);
    text(j, "system", m->system);
    text(j, "skiff", m->skiff);
    text(j, "compiler", m->compiler);
    json_close(j, '}');
}

static void add_events(struct json *j, const struct run_report *r)
{
    whole(j, "events_lost", r->events_lost);
    json_open(j, "events", '[');
    for (int i = 0; i < r->nevents; i++) {
        json_open(j, NULL, '{');
        number(j, "seconds", r->events[i].seconds);
        text(j, "kind", run_event_word(r->events[i].kind));
        text(j, "text", r->events[i].text);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void report_json(const struct run_report *r, struct buf *out)
{
    struct json j = {.b = out, .first = true};
    json_open(&j, NULL, '{');
    whole(&j, "skiff_report", REPORT_VERSION);
    add_run(&j, r);
    add_data(&j, r);
    add_epochs(&j, r);
    add_points(&j, "points", &r->points);
    add_points(&j, "valid", &r->valid);
    add_bins(&j, "calibration", &r->calibration);
    add_bins(&j, "valid_calibration", &r->valid_calibration);
    add_quality(&j, r);
    add_importance(&j, r);
    add_tests(&j, r);
    add_bins(&j, "infer_calibration", &r->test_calibration);
    add_ops(&j, r);
    add_slots(&j, r);
    add_config(&j, r);
    add_machine(&j, &r->machine);
    add_events(&j, r);
    json_close(&j, '}');
    buf_char(out, '\n');
}
