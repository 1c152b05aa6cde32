/* The journal of a search, <folder>/tune.json: what is searched, and each part of a trial that has
 * ended. It is written anew after every part, atomically; a search that was killed has lost the
 * parts that were running. */
#ifndef ANALYSIS_TUNE_JOURNAL_H
#define ANALYSIS_TUNE_JOURNAL_H

#include <stdint.h>

#include "base/error.h"

#define TUNE_JOURNAL "tune.json"

/* A run of the trainer: a trial up to the epochs of its rung, with one of the seeds. */
struct tune_part {
    int trial, rung, seed;  /* seed 0: that of the config */
    double value;           /* NAN: it has failed */
    int epochs, best_epoch; /* epochs: with those of lower rungs, and of a part that was resumed */
    double seconds;
    char *error; /* owned; NULL: none */
};

struct tune_journal {
    char *search; /* owned: what must be the same to resume */
    char metric[16];
    struct tune_part *parts;
    int n;
};

void tune_journal_deinit(struct tune_journal *j);
/* The part's error is copied. */
void tune_journal_add(struct tune_journal *j, const struct tune_part *part);
/* Parts that have failed are no longer there: they are to be tried again. */
void tune_journal_forget_failed(struct tune_journal *j);
/* NULL: it has not ended. */
const struct tune_part *tune_journal_find(const struct tune_journal *j, int trial, int rung,
                                          int seed);
enum skiff_status tune_journal_write(const struct tune_journal *j, const char *folder,
                                     struct skiff_error *err);
/* NOT_FOUND: there is none. */
enum skiff_status tune_journal_read(struct tune_journal *j, const char *folder,
                                    struct skiff_error *err);

#endif
