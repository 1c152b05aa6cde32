/* The plan of online training from a config (online_plan.h): which days, how many passes a day,
 * where their data is, what is saved when. Both forms of PaddleRec are accepted, start_day with
 * intervals and a list of days. A wrong value is kept in the config and reported when everything
 * was read. */
#include "train/online_plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/day.h"
#include "base/mem.h"

#define DAY_MINUTES 1440
#define MOST_DAYS 100000

/* ---- keys ---- */

static const enum config_key online_keys[] = {KEY_RUNNER_START_DAY,      KEY_RUNNER_END_DAY,
                                              KEY_RUNNER_DAYS,           KEY_RUNNER_PASS_PER_DAY,
                                              KEY_RUNNER_SPLIT_INTERVAL, KEY_RUNNER_SPLIT_PER_PASS};

bool online_wanted(struct config *c)
{
    for (size_t i = 0; i < sizeof online_keys / sizeof *online_keys; i++)
        if (config_has(c, online_keys[i]))
            return true;
    return false;
}

static void add_days(struct online_plan *p, int from, int to)
{
    for (int day = from; day <= to && p->ndays < MOST_DAYS; day = day_next(day)) {
        p->days = mem_grow_or_die(p->days, (size_t)(p->ndays + 1) * sizeof *p->days);
        p->days[p->ndays++] = day;
    }
}

static int read_day(struct config *c, enum config_key key)
{
    if (!config_has(c, key))
        config_refuse(c, key, "is required for online training: a day as 20190720");
    return config_day(c, key);
}

static void read_range(struct online_plan *p, struct config *c)
{
    int from = read_day(c, KEY_RUNNER_START_DAY), to = read_day(c, KEY_RUNNER_END_DAY);
    if (from && to && to < from)
        config_refuse(c, KEY_RUNNER_END_DAY, "is %d, before runner.start_day, which is %d", to,
                      from);
    else if (from && to)
        add_days(p, from, to);
}

/* One word of runner.days: a day, or {from..to}. */
static bool take_days(struct online_plan *p, const char *text)
{
    bool range = *text == '{';
    text += range;
    int from = day_take(&text), to = from;
    if (range && from && !strncmp(text, "..", 2)) {
        text += 2;
        to = day_take(&text);
        if (*text++ != '}')
            return false;
    } else if (range) {
        return false;
    }
    int last = p->ndays ? p->days[p->ndays - 1] : 0;
    if (*text || !from || !to || to < from || from <= last)
        return false;
    add_days(p, from, to);
    return true;
}

/* As the shell has it that PaddleRec asks: "{20191225..20191227}", or days with spaces between. */
static void read_days(struct online_plan *p, struct config *c)
{
    const char *const *words;
    int n = config_list(c, KEY_RUNNER_DAYS, &words);
    for (int i = 0; i < n; i++) {
        char *copy = mem_strdup_or_die(words[i]), *rest = NULL;
        bool fine = true;
        for (char *w = strtok_r(copy, " ,", &rest); w && fine; w = strtok_r(NULL, " ,", &rest))
            fine = take_days(p, w);
        free(copy);
        if (!fine) {
            config_refuse(c, KEY_RUNNER_DAYS,
                          "must be days in order, as {20191225..20191227} or 20191225 20191226, "
                          "found \"%.80s\"",
                          words[i]);
            return;
        }
    }
    if (!p->ndays)
        config_refuse(c, KEY_RUNNER_DAYS, "has no day, as {20191225..20191227}");
}

static void read_passes(struct online_plan *p, struct config *c)
{
    if (config_has(c, KEY_RUNNER_PASS_PER_DAY)) {
        if (config_has(c, KEY_RUNNER_SPLIT_INTERVAL))
            config_refuse(c, KEY_RUNNER_PASS_PER_DAY,
                          "and runner.split_interval both set the number of passes of a day; "
                          "remove one of them");
        p->passes = (int)config_int_or(c, KEY_RUNNER_PASS_PER_DAY, 1);
        p->each = 1;
        return;
    }
    p->interval = (int)config_int(c, KEY_RUNNER_SPLIT_INTERVAL);
    int splits = DAY_MINUTES / p->interval;
    p->each = (int)config_int(c, KEY_RUNNER_SPLIT_PER_PASS);
    if (p->each > splits) {
        config_refuse(c, KEY_RUNNER_SPLIT_PER_PASS, "must be between 1 and %d, found %d", splits,
                      p->each);
        p->each = 1;
    }
    p->passes = splits / p->each;
}

static void read_data(struct online_plan *p, struct config *c)
{
    const char *const *dirs;
    int n = config_paths(c, KEY_RUNNER_TRAIN_DATA_DIR, &dirs);
    if (n != 1)
        config_refuse(c, KEY_RUNNER_TRAIN_DATA_DIR,
                      "must be one folder for online training, with a folder for each day "
                      "(20190720/0000), found %s",
                      n > 1 ? "several" : "none");
    else
        p->data_dir = dirs[0];
    p->done_file = config_text(c, KEY_RUNNER_DATA_DONEFILE);
    p->sleep = config_real(c, KEY_RUNNER_DATA_SLEEP_SECOND);
    if (!(p->sleep > 0 && p->sleep <= 86400))
        config_refuse(c, KEY_RUNNER_DATA_SLEEP_SECOND,
                      "must be above 0 and at most 86400 (seconds), found %g", p->sleep);
}

enum skiff_status online_plan_read(struct online_plan *p, struct config *c, struct skiff_error *err)
{
    *p = (struct online_plan){0};
    if (config_has(c, KEY_RUNNER_DAYS) && config_has(c, KEY_RUNNER_START_DAY))
        config_refuse(c, KEY_RUNNER_DAYS,
                      "and runner.start_day both set the days; remove one of them");
    else if (config_has(c, KEY_RUNNER_DAYS))
        read_days(p, c);
    else
        read_range(p, c);
    read_passes(p, c);
    p->checkpoint = (int)config_int(c, KEY_RUNNER_CHECKPOINT_PER_PASS);
    p->delta = (int)config_int(c, KEY_RUNNER_SAVE_DELTA_FREQUENCY);
    p->first_base = config_bool(c, KEY_RUNNER_SAVE_FIRST_BASE);
    read_data(p, c);
    return config_check(c, err);
}

void online_plan_deinit(struct online_plan *p)
{
    free(p->days);
    *p = (struct online_plan){0};
}

int online_splits(const struct online_plan *p)
{
    return p->each;
}

int online_minutes_left(const struct online_plan *p)
{
    return p->interval ? DAY_MINUTES - p->passes * p->each * p->interval : 0;
}

void online_split_path(const struct online_plan *p, int day, int pass, int i, struct buf *out)
{
    buf_reset(out);
    buf_printf(out, "%s/%08d/", p->data_dir, day);
    if (!p->interval) {
        buf_printf(out, "%d", pass);
        return;
    }
    int minute = ((pass - 1) * p->each + i) * p->interval;
    buf_printf(out, "%02d%02d", minute / 60, minute % 60);
}
