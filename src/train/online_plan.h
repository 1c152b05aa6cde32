/* Online training, what a config says of it: which days, how many passes each has, where their data
 * is, what is saved when. Data lies as PaddleRec's trainers have it:
 *
 *   start_day, end_day, split_interval, split_per_pass   <train_data_dir>/<yyyymmdd>/<hhmm>
 *   days, pass_per_day                                   <train_data_dir>/<yyyymmdd>/<pass>
 *
 * Days are numbers, 20190720; passes count from 1. */
#ifndef TRAIN_ONLINE_PLAN_H
#define TRAIN_ONLINE_PLAN_H

#include "base/buf.h"
#include "config/config.h"

struct online_plan {
    int *days; /* owned; in order */
    int ndays;
    int passes;            /* of a day */
    int interval, each;    /* minutes of a split, splits of a pass; interval 0: folders by pass */
    int checkpoint, delta; /* saved after every so many passes of a day */
    bool first_base;
    const char *data_dir;  /* the config's */
    const char *done_file; /* the config's; NULL: data is not waited for */
    double sleep;          /* seconds between two looks */
};

/* Does the config ask for it? */
bool online_wanted(struct config *c);
/* Wrong values are reported by config_check, which it ends with. online_plan_deinit in any case. */
enum skiff_status online_plan_read(struct online_plan *p, struct config *c,
                                   struct skiff_error *err);
void online_plan_deinit(struct online_plan *p);

/* Folders of a pass: how many there are, and the i-th. */
int online_splits(const struct online_plan *p);
void online_split_path(const struct online_plan *p, int day, int pass, int i, struct buf *out);
/* At the end of a day, of which no pass has data: passes are of equal length. */
int online_minutes_left(const struct online_plan *p);

#endif
