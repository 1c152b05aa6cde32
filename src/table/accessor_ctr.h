/* Common part of Paddle's accessors for click data.
 *     score(show, click) = (show - click) nonclk_coeff + click click_coeff
 * A push is (slot, show, click, g_embed, g_embedx[]). It adds to show, click and delta (by the
 * score of the push), sets slot, resets the unseen days, and updates the weights. embedx is created
 * by the push that lifts the row's score to embedx_threshold; that push's gradient of it is lost
 * (as in Paddle). Until then its weights are zeros in the record; bit 0 of the stamp is not set. */
#ifndef TABLE_ACCESSOR_CTR_H
#define TABLE_ACCESSOR_CTR_H

#include "table/accessor.h"

#define CTR_EMBEDX UINT32_C(1) /* stamp: the record has embedx */
#define CTR_PUSHED UINT32_C(2) /* stamp: pushed since the last patch (mode 5) */
#define CTR_PUSH 3             /* floats of a push before the gradients */

/* What the three classes share. */
#define CTR_CLASS                                                                       \
    .start = ctr_start, .ages = ctr_ages, .expire = ctr_expire, .score = ctr_row_score, \
    .unseen = ctr_row_unseen, .save_changes = ctr_save_changes, .save = ctr_save,       \
    .saved = ctr_saved, .digits = 6

enum skiff_status ctr_layout(struct accessor *a, bool doubles, struct skiff_error *err);
void ctr_start(const struct accessor *a, struct table_row *r);
void ctr_push(const struct accessor *a, struct table_row *const *r, size_t n, const float *rows,
              bool scaled);
bool ctr_ages(const struct accessor *a);
bool ctr_expire(const struct accessor *a, struct table_row *r);
double ctr_row_score(const struct accessor *a, const struct table_row *r);
double ctr_row_unseen(const struct accessor *a, const struct table_row *r);
bool ctr_save_changes(const struct accessor *a, const struct table_row *r, int mode);
bool ctr_save(const struct accessor *a, struct table_row *r, int mode);
void ctr_saved(const struct accessor *a, struct table_row *r, int mode, bool written);

/* sparse and ctr_common, in files:
 *     slot unseen delta show click embed_w embed_state [embedx_w embedx_state] */
#define CTR_COLUMNS                                                                     \
    {                                                                                   \
        .least = 6, .statistics = true, .unseen = 1, .delta = 2, .show = 3, .click = 4, \
        .embed_w = 5                                                                    \
    }
/* The statistics and embed_w, where the accessor's columns are. */
void ctr_stats_out(const struct accessor *a, const struct table_row *r, double *out);
void ctr_stats_in(const struct accessor *a, struct table_row *r, const double *numbers);
int ctr_numbers(const struct accessor *a, const struct table_row *r, double *out);
enum skiff_status ctr_take(const struct accessor *a, const double *numbers, int n,
                           struct table_row *r, struct skiff_error *err);

double ctr_stat(const struct accessor *a, const struct table_row *r, int at); /* show or click */
void ctr_set_stat(const struct accessor *a, struct table_row *r, int at, double x);
double ctr_score(const struct accessor *a, double show, double click);
/* Is embedx written? Only while the score is high enough, whether or not the record has it. */
bool ctr_prints_embedx(const struct accessor *a, const struct table_row *r);
enum skiff_status ctr_wrong_count(const struct accessor *a, const struct table_row *r, int n,
                                  struct skiff_error *err);
int ctr_embed_states(const struct accessor *a);
int ctr_embedx_states(const struct accessor *a);
void ctr_copy_out(const struct table_row *r, int at, int n, double *out);
void ctr_copy_in(struct table_row *r, int at, int n, const double *from);

#endif
