/* Decides what each column of a table is used for, from its statistics (data/).
 *
 * The order matters: first the label (by name, or a column with two values), then its positive
 * value, then the column of times and the split, then the features. A column is not used if nearly
 * every row has its own value (an id), if it is constant, empty or has no name. The decision is
 * made without reading the rows again, so it depends on the statistics and the flags alone. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/near.h"
#include "prepare/prepare.h"
#include "data/label.h"

#define SLOTS_MAX 499
#define NUMBER_SLOTS_MAX 100 /* slots up to which numbers are categories, too: each costs time */
#define SVM_DENSE_MAX 2048   /* libsvm: indices whose values are learned */
#define BUCKETS 64
#define WEEKS_DAYS 14      /* so many days have each weekday twice */
#define EXACT_WHOLE 0x1p53 /* beyond it a float64 has not every whole number */
#define CODE_DIGITS 12     /* such long whole numbers may be names, */
#define CODE_GAP 1e6       /* that lie so far from each other, on average */
#define LABEL_CLASSES_SHOWN 6

bool prepare_is_feature(enum prepare_role role)
{
    return role <= PREPARE_TIME;
}

/* ---- names ---- */

static bool is_one_of(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(name, *words) == 0)
            return true;
    return false;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcasecmp(name + n - m, end) == 0;
}

static bool named_like_id(const char *name)
{
    static const char *const words[] = {"id",      "uuid",    "guid", "key", "index",
                                        "row",     "rowid",   "hash", "no",  "number",
                                        "request", "session", "name", NULL};
    return is_one_of(name, words) || ends_with(name, "id") || ends_with(name, "_key") ||
           ends_with(name, "_hash");
}

static bool named_like_time(const char *name)
{
    static const char *const words[] = {"hour", "time",     "date",       "day", "ts",
                                        "when", "datetime", "event_time", "dt",  NULL};
    return is_one_of(name, words) || ends_with(name, "time") || ends_with(name, "_date") ||
           ends_with(name, "stamp") || ends_with(name, "_at") || ends_with(name, "_ts");
}

/* Names of labels, the likeliest first. */
static const char *const label_names[] = {
    "label",     "labels",     "click",   "clicked",  "is_click", "is_clicked", "target",
    "class",     "income",     "incomes", "salary",   "y",        "outcome",    "response",
    "converted", "conversion", "buy",     "bought",   "purchase", "purchased",  "churn",
    "churned",   "default",    "fraud",   "is_fraud", "survived", "subscribed", "deposit",
    "install",   "like",       "rating",  NULL};

/* ---- the label ---- */

/* The values of a label, those that mean the same (">50K" and ">50K.", 1 and 1.0) once; texts are
 * borrowed. Returns how many; LOOK_VALUES + 1 when there are more than are counted. */
static int label_classes(const struct look_column *c, struct look_value out[LOOK_VALUES])
{
    int n = 0;
    if (c->more || c->distinct > LOOK_VALUES)
        return LOOK_VALUES + 1;
    for (int i = 0; i < c->nvalues; i++) {
        const char *text = c->values[i].text;
        int k = 0;
        while (k < n && !label_same(out[k].text, strlen(out[k].text), text, strlen(text)))
            k++;
        if (k == n)
            out[n++] = (struct look_value){c->values[i].text, 0};
        out[k].count += c->values[i].count;
    }
    return n;
}

static bool has_two(const struct look_column *c)
{
    struct look_value classes[LOOK_VALUES];
    return label_classes(c, classes) == 2;
}

static void print_why(struct prepare_plan *p, const char *why)
{
    snprintf(p->label_why, sizeof p->label_why, "%s", why);
}

static enum skiff_status find_column(const struct look *l, const char *name, const char *flag,
                                     int *out, struct skiff_error *err)
{
    struct near near = near_to(name);
    struct buf all = BUF_INIT;
    for (int i = 0; i < l->ncolumns; i++) {
        if (strcmp(l->columns[i].name, name) == 0) {
            *out = i;
            buf_deinit(&all);
            return SKIFF_OK;
        }
        near_try(&near, l->columns[i].name);
        if (all.len < 300)
            buf_printf(&all, "%s%s", i ? ", " : "", l->columns[i].name);
    }
    enum skiff_status status = error_set(
        err, SKIFF_NOT_FOUND, "%s: no column \"%s\"%s%s%s; %s: %s%s", flag, name,
        near.best ? " (did you mean \"" : "", near.best ? near.best : "", near.best ? "\"?)" : "",
        l->form.header ? "columns are" : "there is no header line: give a position", all.data,
        all.len >= 300 ? ", ..." : "");
    buf_deinit(&all);
    return status;
}

static enum skiff_status unclear(const struct look *l, struct skiff_error *err)
{
    struct buf two = BUF_INIT;
    for (int i = 0; i < l->ncolumns && two.len < 300; i++)
        if (has_two(&l->columns[i]))
            buf_printf(&two, "%s%s", two.len ? ", " : "", l->columns[i].name);
    enum skiff_status status = error_set(
        err, SKIFF_INVALID,
        "cannot tell which column is the label: name it with --label COLUMN; %s%s",
        two.len ? "columns of two values: " : "no column has two values", two.len ? two.data : "");
    buf_deinit(&two);
    return status;
}

static enum skiff_status guess_label(struct prepare_plan *p, struct skiff_error *err)
{
    const struct look *l = p->look;
    for (int w = 0; label_names[w]; w++)
        for (int i = 0; i < l->ncolumns; i++)
            if (l->form.header && strcasecmp(l->columns[i].name, label_names[w]) == 0 &&
                (has_two(&l->columns[i]) || w < 2)) {
                p->label = i;
                print_why(p, "by its name");
                return SKIFF_OK;
            }
    int last = l->ncolumns - 1;
    bool first_two = has_two(&l->columns[0]), last_two = has_two(&l->columns[last]);
    if (first_two == last_two || l->ncolumns < 2)
        return unclear(l, err);
    p->label = last_two ? last : 0;
    print_why(p, last_two ? "the last column, which has two values"
                          : "the first column, which has two values");
    return SKIFF_OK;
}

static void print_values(const struct look_column *c, struct buf *out)
{
    for (int i = 0; i < c->nvalues && i < LABEL_CLASSES_SHOWN; i++)
        buf_printf(out, "%s\"%s\" (%" PRId64 ")", i ? ", " : "", c->values[i].text,
                   c->values[i].count);
    if (c->distinct > LABEL_CLASSES_SHOWN)
        buf_str(out, ", ...");
}

static enum skiff_status wrong_classes(const struct look_column *c, struct skiff_error *err)
{
    struct buf values = BUF_INIT;
    enum skiff_status status;
    print_values(c, &values);
    if (c->distinct == 0)
        status = error_set(err, SKIFF_INVALID, "label \"%s\": every value is missing", c->name);
    else if (c->distinct == 1)
        status = error_set(err, SKIFF_INVALID,
                           "label \"%s\": the only value is %s: nothing can be learned from it; "
                           "name another column with --label COLUMN",
                           c->name, values.data);
    else if (c->text == 0 && (c->more || c->distinct > LOOK_VALUES))
        status = error_set(
            err, SKIFF_INVALID,
            "label \"%s\": there are %" PRId64
            "%s different numbers, %g to %g: Skiff learns 0 and 1, "
            "not quantities; add a column that says whether the number is above a bound that "
            "matters to you, and name it with --label, or name one value with --positive VALUE",
            c->name, c->distinct, c->more ? " or more" : "", c->min, c->max);
    else
        status =
            error_set(err, SKIFF_INVALID,
                      "label \"%s\": there are %" PRId64
                      "%s values: %s; models learn 0 and 1: choose the value that means 1 with "
                      "--positive VALUE (all others are 0), or another column with --label COLUMN",
                      c->name, c->distinct, c->more ? " or more" : "", values.data);
    buf_deinit(&values);
    return status;
}

/* Which of two values is 1: the larger number, a word that says so, else the rarer one. */
static int likely_positive(const struct look_value c[2])
{
    static const char *const words[] = {"true",  "yes",     "y",    "t",  "pos", "positive",
                                        "click", "clicked", ">50K", "ja", "oui", NULL};
    char *end[2];
    double number[2];
    for (int i = 0; i < 2; i++)
        number[i] = strtod(c[i].text, &end[i]);
    if (!*end[0] && !*end[1])
        return number[1] > number[0];
    for (int i = 0; i < 2; i++)
        if (is_one_of(c[i].text, words))
            return i;
    return c[1].count <= c[0].count;
}

static enum skiff_status no_such_class(const struct look_column *c, const char *positive,
                                       struct skiff_error *err)
{
    struct buf values = BUF_INIT;
    print_values(c, &values);
    enum skiff_status status =
        error_set(err, SKIFF_NOT_FOUND, "--positive: label \"%s\" has no value \"%s\"; it has: %s",
                  c->name, positive, values.data);
    buf_deinit(&values);
    return status;
}

static enum skiff_status choose_positive(struct prepare_plan *p, const char *positive,
                                         struct skiff_error *err)
{
    const struct look_column *c = &p->look->columns[p->label];
    struct look_value classes[LOOK_VALUES];
    int n = label_classes(c, classes), at = -1;
    if (n < 2 || (!positive && n != 2))
        return wrong_classes(c, err);
    for (int i = 0; positive && n <= LOOK_VALUES && i < n; i++)
        if (label_same(classes[i].text, strlen(classes[i].text), positive, strlen(positive)))
            at = i;
    if (positive && at < 0 && n <= LOOK_VALUES)
        return no_such_class(c, positive, err);
    if (!positive)
        at = likely_positive(classes);
    for (int i = 0; n <= LOOK_VALUES && i < n; i++)
        if (!text_is_utf8(classes[i].text, strlen(classes[i].text)))
            return error_set(err, SKIFF_FORMAT, "label \"%s\": its values are not UTF-8 text",
                             c->name);
    p->positives = n <= LOOK_VALUES ? classes[at].count : -1;
    p->positive = mem_strdup_or_die(positive ? positive : classes[at].text);
    if (n == 2)
        p->negative = mem_strdup_or_die(classes[1 - at].text);
    return SKIFF_OK;
}

/* ---- features ---- */

static bool is_number(const struct look_column *c)
{
    return c->text == 0 && c->whole + c->real > 0;
}

/* Nearly every row has a value of its own. */
static bool is_unique(const struct look_column *c)
{
    return c->full_at >= 20 && (double)c->distinct >= 0.95 * (double)c->full_at;
}

/* Whole numbers that are names of things: beyond what a float64 can tell apart (hashes), or long
 * ones that come again and lie far from each other. */
static bool is_code(const struct look_column *c)
{
    if (!is_number(c) || c->real > 0 || look_time_form(c) != TIMESTAMP_NONE)
        return false;
    bool comes_again = !c->more && c->whole / c->distinct >= 2;
    return c->max > EXACT_WHOLE || c->min < -EXACT_WHOLE ||
           (c->longest >= CODE_DIGITS && comes_again &&
            (c->max - c->min) / (double)c->distinct > CODE_GAP);
}

static bool is_id(const struct look_column *c)
{
    if (!is_unique(c))
        return false;
    return c->text > 0 ||
           (c->real == 0 && (named_like_id(c->name) || c->counts_up || c->longest >= CODE_DIGITS));
}

static bool is_time(const struct look_column *c)
{
    enum timestamp_form form = look_time_form(c);
    return form == TIMESTAMP_ISO || form == TIMESTAMP_DMY || form == TIMESTAMP_MDY ||
           (form != TIMESTAMP_NONE && named_like_time(c->name));
}

/* 2014-10-21 says nothing of the hour. */
static bool has_hours(const struct look_column *c)
{
    enum timestamp_form form = look_time_form(c);
    return form == TIMESTAMP_SECONDS || form == TIMESTAMP_MILLIS ||
           c->longest > strlen("2014-10-21") || form == TIMESTAMP_YYMMDDHH ||
           form == TIMESTAMP_YYYYMMDDHH;
}

static enum prepare_role role_of(const struct look *l, const struct look_column *c)
{
    if (!*c->name)
        return PREPARE_UNNAMED;
    if (c->missing == l->rows)
        return PREPARE_EMPTY;
    if (c->distinct == 1 && c->missing == 0)
        return PREPARE_CONSTANT;
    if (is_time(c))
        return PREPARE_TIME;
    if (c->list)
        return PREPARE_CATEGORY;
    if (is_id(c))
        return PREPARE_ID;
    return is_number(c) && !is_code(c) ? PREPARE_NUMBER : PREPARE_CATEGORY;
}

/* How a number is learned: scaled, and as a category besides, by value where values come again, by
 * bucket where they hardly do. One of two values needs no category. */
static void learn_number_as(const struct look *l, const struct look_column *c,
                            struct learn_column *out)
{
    bool two = c->distinct <= 2 && c->missing == 0;
    bool comes_again =
        c->real == 0 && !c->more && c->distinct > BUCKETS && l->rows / c->distinct >= 20;
    out->number = true;
    out->form = c->form;
    out->values = !two && comes_again;
    out->buckets = !two && !comes_again;
}

/* What is made of times: the hour; the weekday, if there are two weeks of them; the days, but not
 * where they split the rows: later ones lie beyond all that was learnt. */
static void learn_time_as(const struct look_column *c, bool splits, struct prepare_column *out)
{
    enum timestamp_form form = look_time_form(c);
    const struct number_sample *s = &c->when[form];
    double days = s->seen ? (s->max - s->min) / TIMESTAMP_DAY : 0;
    out->learn.time = form;
    out->learn.hour = has_hours(c);
    out->learn.weekday = days >= WEEKS_DAYS;
    out->learn.days = out->learn.buckets = !splits && days >= 2;
    if (!out->learn.hour && !out->learn.weekday && !out->learn.days)
        out->role = PREPARE_ORDER;
}

static void add_time_slots(struct prepare_plan *p, struct prepare_column *c)
{
    c->learn.hour &= p->nslots < SLOTS_MAX;
    if (c->learn.hour)
        c->hour = ++p->nslots;
    c->learn.weekday &= p->nslots < SLOTS_MAX;
    if (c->learn.weekday)
        c->weekday = ++p->nslots;
    c->learn.days &= p->nslots < SLOTS_MAX;
    c->learn.buckets = c->learn.days;
    if (c->learn.days) {
        c->slot = ++p->nslots;
        c->dense = p->ndense++;
    }
    if (!c->hour && !c->weekday && !c->slot)
        c->role = PREPARE_LEFT_OUT;
}

static void add_slot(struct prepare_plan *p, struct prepare_column *c)
{
    if (c->learn.number && p->nslots >= NUMBER_SLOTS_MAX)
        c->learn.values = c->learn.buckets = false;
    if (c->learn.values || c->learn.buckets) {
        if (p->nslots < SLOTS_MAX)
            c->slot = ++p->nslots;
        else
            c->learn.values = c->learn.buckets = false;
    }
    if (!c->slot && !c->learn.number)
        c->role = PREPARE_LEFT_OUT;
    if (c->learn.number)
        c->dense = p->ndense++;
}

/* A number of at least 0 in each row, as runner.weight_column needs it. */
static enum skiff_status choose_weight(struct prepare_plan *p, const char *name,
                                       struct skiff_error *err)
{
    p->weight = -1;
    if (!name)
        return SKIFF_OK;
    if (p->look->form.format != LOOK_CSV)
        return error_set(err, SKIFF_INVALID, "--weight: a %s file has no columns",
                         look_format_name(p->look->form.format));
    TRY(find_column(p->look, name, "--weight", &p->weight, err));
    const struct look_column *c = &p->look->columns[p->weight];
    if (p->weight == p->label)
        return error_set(err, SKIFF_INVALID, "--weight: column \"%s\" is the label", name);
    if (!is_number(c) || c->form != NUMBER_PLAIN || c->missing || c->min < 0)
        return error_set(err, SKIFF_INVALID,
                         "--weight: column \"%s\" has cells that are no weights (%" PRId64
                         " missing, %" PRId64 " texts, smallest number %g); a weight is a number "
                         "of at least 0 in each row",
                         name, c->missing, c->text, c->min);
    return SKIFF_OK;
}

static void choose_roles(struct prepare_plan *p)
{
    for (int i = 0; i < p->look->ncolumns; i++) {
        p->columns[i].dense = -1;
        p->columns[i].role = i == p->label    ? PREPARE_LABEL
                             : i == p->weight ? PREPARE_WEIGHT
                                              : role_of(p->look, &p->look->columns[i]);
    }
}

static void choose_features(struct prepare_plan *p)
{
    const struct look *l = p->look;
    for (int i = 0; i < l->ncolumns; i++) {
        struct prepare_column *c = &p->columns[i];
        c->learn.name = l->columns[i].name;
        if (c->role == PREPARE_NUMBER)
            learn_number_as(l, &l->columns[i], &c->learn);
        c->learn.values |= c->role == PREPARE_CATEGORY;
        if (c->role == PREPARE_CATEGORY)
            c->learn.list = l->columns[i].list;
        p->multi_value |= c->learn.list != 0;
        if (c->role == PREPARE_TIME)
            learn_time_as(&l->columns[i], i == p->time, c);
        if (c->role == PREPARE_TIME)
            add_time_slots(p, c);
        else if (prepare_is_feature(c->role))
            add_slot(p, c);
    }
    /* the networks have one slot of ids at least */
    for (int i = 0; p->nslots == 0 && i < l->ncolumns; i++)
        if (p->columns[i].role == PREPARE_NUMBER) {
            p->columns[i].learn.buckets = true;
            p->columns[i].slot = ++p->nslots;
        }
}

/* The first column of ids, one with such a name before others. Digits alone are a position to the
 * reader, so they are no name. */
static int choose_id(const struct prepare_plan *p)
{
    const struct look *l = p->look;
    int found = -1;
    for (int i = 0; i < l->ncolumns; i++) {
        const char *name = l->columns[i].name;
        if (p->columns[i].role != PREPARE_ID ||
            (l->form.header && strspn(name, "0123456789") == strlen(name)))
            continue;
        if (named_like_id(name))
            return i;
        if (found < 0)
            found = i;
    }
    return found;
}

/* ---- the split ---- */

/* The time from which on rows are for the test: `share` of them, whole hours or days of a column
 * that has no finer times. False: all rows are of the same time. */
static bool time_from(const struct look_column *c, double share, int64_t *out)
{
    const struct number_sample *s = &c->when[look_time_form(c)];
    int64_t at = share < 1 ? (int64_t)((1 - share) * (double)s->kept) : 0;
    if (s->kept < 2 || s->at[0] == s->at[s->kept - 1])
        return false;
    if (at >= s->kept)
        at = s->kept - 1;
    while (at < s->kept && s->at[at] == s->at[0])
        at++;
    *out = (int64_t)s->at[at];
    return true;
}

static enum skiff_status choose_split(struct prepare_plan *p, const struct prepare_options *f,
                                      struct skiff_error *err)
{
    const struct look *l = p->look;
    bool csv = l->form.format == LOOK_CSV;
    p->time = -1;
    if (f->time && csv)
        TRY(find_column(l, f->time, "--time", &p->time, err));
    for (int i = 0; csv && !f->time && f->split != 1 && p->time < 0 && i < l->ncolumns; i++)
        if (p->columns[i].role == PREPARE_TIME)
            p->time = i;
    if (p->time < 0 && f->split == 2)
        return error_set(err, SKIFF_INVALID,
                         "--split time: no column of times was found; --time COLUMN names it "
                         "(YYMMDDHH, YYYYMMDDHH, 2014-10-21 13:00, 21/10/2014, seconds or "
                         "milliseconds since 1970)");
    if (p->time < 0)
        return SKIFF_OK;
    if (look_time_form(&l->columns[p->time]) == TIMESTAMP_NONE)
        return error_set(
            err, SKIFF_INVALID,
            "--time: column \"%s\" has values that are not times (YYMMDDHH, YYYYMMDDHH, "
            "2014-10-21 13:00, seconds or milliseconds since 1970)",
            f->time);
    if (!time_from(&l->columns[p->time], f->share, &p->from)) {
        if (f->split == 2)
            return error_set(err, SKIFF_INVALID, "--split time: all rows have the same time");
        p->time = -1;
    }
    if (p->time >= 0 && f->no_test) {
        p->valid_from = p->from;
        p->from = INT64_MAX;
    } else if (p->time >= 0 && !time_from(&l->columns[p->time], 2 * f->share, &p->valid_from)) {
        p->valid_from = p->from;
    }
    return SKIFF_OK;
}

/* ---- libsvm, libffm ---- */

static enum skiff_status plan_svm(struct prepare_plan *p, const struct prepare_options *f,
                                  struct skiff_error *err)
{
    const struct look *l = p->look;
    if (l->tokens == 0)
        return error_set(err, SKIFF_INVALID, "no row has a feature");
    TRY(choose_split(p, f, err));
    p->columns[0] = (struct prepare_column){.role = PREPARE_LABEL, .dense = -1};
    p->multi_value = true;
    p->nslots = 1;
    p->first_index = l->least_index == 0 ? 0 : 1;
    if (l->form.format == LOOK_LIBFFM) {
        int64_t fields = l->most_field - l->least_field + 1;
        if (fields > SLOTS_MAX)
            return error_set(err, SKIFF_RANGE,
                             "fields range from %" PRId64 " to %" PRId64 "; at most %d can be used",
                             l->least_field, l->most_field, SLOTS_MAX);
        p->nslots = (int)fields;
        return SKIFF_OK;
    }
    int64_t indices = l->most_index - p->first_index + 1;
    if (l->all_ones || indices > SVM_DENSE_MAX)
        return SKIFF_OK;
    p->learns = true;
    p->ndense = (int)indices;
    p->learn = mem_alloc_or_die((size_t)indices * sizeof *p->learn);
    p->names = mem_alloc_or_die((size_t)indices * sizeof *p->names);
    for (int i = 0; i < (int)indices; i++) {
        snprintf(p->names[i], sizeof p->names[i], "%" PRId64, p->first_index + i);
        p->learn[i] = (struct learn_column){.name = p->names[i], .number = true, .buckets = true};
    }
    return SKIFF_OK;
}

static enum skiff_status plan_csv(struct prepare_plan *p, const struct prepare_options *f,
                                  struct skiff_error *err)
{
    const struct look *l = p->look;
    choose_roles(p);
    TRY(choose_split(p, f, err));
    choose_features(p);
    p->id = choose_id(p);
    if (p->nslots == 0)
        return error_set(err, SKIFF_INVALID,
                         "no column is left to learn from: all but the label are ids, constants or "
                         "empty");
    p->learns = true;
    p->learn = mem_alloc_or_die((size_t)l->ncolumns * sizeof *p->learn);
    for (int i = 0; i < l->ncolumns; i++)
        p->learn[i] = p->columns[i].learn;
    return SKIFF_OK;
}

/* Buckets that hold some rows each; rare values are those that cannot be learned from. */
static void plan_sizes(struct prepare_plan *p, const struct prepare_options *f)
{
    int64_t rows = p->look->rows, buckets = rows / 50;
    p->learn_config = (struct learn_config){
        .columns = p->learn,
        .ncolumns = p->look->form.format == LOOK_CSV ? p->look->ncolumns : p->ndense,
        .buckets = buckets < 2         ? 2
                   : buckets > BUCKETS ? BUCKETS
                                       : (int)buckets,
        .least = f->min_count     ? f->min_count
                 : rows < 1000    ? 2
                 : rows < 1000000 ? 4
                                  : 10,
        .absent_is_zero = p->look->form.format != LOOK_CSV,
        .seed = (uint64_t)f->seed};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Columns go by their names: they must differ, and a config must be able to hold them. */
static enum skiff_status check_names(const struct look *l, struct skiff_error *err)
{
    const char **names = mem_alloc_or_die((size_t)(l->ncolumns + 1) * sizeof *names);
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < l->ncolumns; i++) {
        names[i] = l->columns[i].name;
        if (status == SKIFF_OK && !text_is_utf8(names[i], strlen(names[i])))
            status = error_set(err, SKIFF_FORMAT,
                               "the name of column %d is not UTF-8 text; `iconv -f latin1 -t utf8` "
                               "converts files in Latin-1",
                               i + 1);
    }
    qsort(names, (size_t)l->ncolumns, sizeof *names, by_name);
    for (int i = 1; status == SKIFF_OK && i < l->ncolumns; i++)
        if (*names[i] && strcmp(names[i], names[i - 1]) == 0)
            status = error_set(err, SKIFF_INVALID,
                               "two columns have the name \"%s\": rename one of them", names[i]);
    free(names);
    return status;
}

static enum skiff_status plan_label(struct prepare_plan *p, const struct prepare_options *f,
                                    struct skiff_error *err)
{
    const struct look *l = p->look;
    p->label = -1;
    if (f->label_optional && !f->label)
        return SKIFF_OK;
    if (l->form.format != LOOK_CSV) {
        p->label = 0;
        print_why(p, "the first word of each line");
    } else if (f->label) {
        TRY(find_column(l, f->label, "--label", &p->label, err));
        print_why(p, "--label");
    } else {
        TRY(guess_label(p, err));
    }
    return choose_positive(p, f->positive, err);
}

static enum skiff_status plan(struct prepare_plan *p, const struct prepare_options *f,
                              struct skiff_error *err)
{
    const struct look *l = p->look;
    if (l->rows < 2)
        return error_set(
            err, SKIFF_INVALID, "there %s: too few for training and test%s",
            l->rows ? "is one row" : "is no row",
            l->form.header
                ? " (the first line was read as a header; use --header no if it is a row)"
                : "");
    if (l->form.format == LOOK_CSV && l->ncolumns < 2)
        return error_set(err, SKIFF_INVALID,
                         "there is only one column, \"%s\": if the separator is not tab, comma, "
                         "semicolon, pipe or blank, set it with --separator",
                         l->columns[0].name);
    TRY(check_names(l, err));
    TRY(plan_label(p, f, err));
    TRY(choose_weight(p, f->weight, err));
    if (p->label >= 0 && p->positives >= 0) {
        int64_t others = l->rows - l->columns[p->label].missing - p->positives;
        p->few = p->positives < PREPARE_FEW || others < PREPARE_FEW;
    }
    if (l->form.format == LOOK_CSV)
        TRY(plan_csv(p, f, err));
    else if (l->form.format == LOOK_LINES)
        TRY(choose_split(p, f, err));
    else
        TRY(plan_svm(p, f, err));
    plan_sizes(p, f);
    return SKIFF_OK;
}

enum skiff_status prepare_plan_create(const struct prepare_options *flags, const struct look *look,
                                      struct prepare_plan *out, struct skiff_error *err)
{
    *out = (struct prepare_plan){
        .look = look,
        .columns = mem_alloc_or_die((size_t)(look->ncolumns + 1) * sizeof *out->columns)};
    enum skiff_status status = plan(out, flags, err);
    if (status < 0)
        prepare_plan_deinit(out);
    return status;
}

void prepare_plan_deinit(struct prepare_plan *p)
{
    free(p->columns);
    free(p->learn);
    free(p->names);
    free(p->positive);
    free(p->negative);
    *p = (struct prepare_plan){0};
}
