/* Accessor: the meaning of a record's values, the part that is pulled, the effect of a push and of
 * time on them, and their form in a file. One file each, a line in accessor_list.h.
 *   plain        a row of weights, followed by a row for each of an optimizer's states; rules
 *                of programs (src/rules) work on gathered rows
 *   sparse, ctr_common, ctr_double   Paddle's accessors for click data: statistics and two parts,
 *                embed (1 weight) and embedx (created when the score is high enough), each with a
 *                rule
 * Threads: an accessor does not change after accessor_init; records belong to the caller. */
#ifndef TABLE_ACCESSOR_H
#define TABLE_ACCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "table/fill.h"
#include "table/row.h"
#include "table/sgd_rule.h"

#define ACCESSOR_PARTS 8
#define ACCESSOR_WIDTH 16384 /* floats of a record, at most */

/* Paddle's names and meaning: ctr_accessor_param */
struct ctr_params {
    float nonclk_coeff, click_coeff;
    float base_threshold, delta_threshold, delta_keep_days;
    float show_click_decay_rate;
    float delete_threshold, delete_after_unseen_days;
    float embedx_threshold;
    bool show_scale, zero_init;
};

/* plain: a part of a record, side by side */
struct accessor_part {
    int width;
    struct fill fill; /* of new records */
};

struct accessor_options {
    struct accessor_part parts[ACCESSOR_PARTS]; /* plain; the first one is pulled */
    int nparts;
    struct ctr_params ctr; /* the others */
    int embedx;            /* weights of embedx, 0 or more */
    const struct sgd_rule *embed_rule, *embedx_rule;
    struct sgd_params embed, embedx_params;
    uint64_t seed; /* of new embedx weights (fill_key) */
};

struct accessor {
    const struct accessor_class *class;
    struct accessor_options options;
    int width;        /* floats of a record */
    int pulled;       /* floats of a pulled row */
    int pushed;       /* floats of a push; 0: it accepts none */
    size_t pull_span; /* bytes from the record's start that pull reads */
    /* ctr: offsets among the values; doubles: show and click take two each */
    int show, click, embed_w, embedx_w, slot, unseen, delta, embed_state, embedx_state;
    bool doubles;
};

enum save_mode { SAVE_ALL = 0, SAVE_DELTA = 1, SAVE_BASE = 2, SAVE_BATCH = 3, SAVE_PATCH = 5 };

/* Numbers of a line of a file, behind the key. */
struct accessor_columns {
    int least;       /* a line has at least so many */
    bool statistics; /* the others are set: which number is which, from 0 */
    int unseen, delta, show, click, embed_w;
};

struct accessor_class {
    const char *name, *paddle; /* paddle: NULL, or the accessor_class of its configs */
    /* Computes the members that depend on the options. INVALID. */
    enum skiff_status (*layout)(struct accessor *a, struct skiff_error *err);
    /* Initializes a new record's values, and its stamp if that belongs to the accessor; the id is
     * set (plain: the stamp, too). */
    void (*start)(const struct accessor *a, struct table_row *r);
    /* out[i * pulled ..]; zeros for NULL */
    void (*pull)(const struct accessor *a, struct table_row *const *r, size_t n, float *out);
    /* rows[i * pushed ..]; NULL records are skipped. NULL: only the caller knows the rule. */
    void (*push)(const struct accessor *a, struct table_row *const *r, size_t n, const float *rows);
    /* Shrink: counters decay (ages: whether they do at all); true: the record is to be removed. */
    bool (*ages)(const struct accessor *a);
    bool (*expire)(const struct accessor *a, struct table_row *r);
    /* For limits (leaving.h): the record's value, and the time since the last push to it. NULL: the
     * accessor does not know. */
    double (*score)(const struct accessor *a, const struct table_row *r);
    double (*unseen)(const struct accessor *a, const struct table_row *r);
    /* Would a save in this mode change the record? Then the table calls table_touch first. */
    bool (*save_changes)(const struct accessor *a, const struct table_row *r, int mode);
    /* Is it written in this mode? Makes the changes that come before the writing; `saved` makes
     * those that come after it, for records written or not. */
    bool (*save)(const struct accessor *a, struct table_row *r, int mode);
    void (*saved)(const struct accessor *a, struct table_row *r, int mode, bool written);
    /* The record's numbers in a file, in the file's order; at most width. Returns how many. */
    int (*numbers)(const struct accessor *a, const struct table_row *r, double *out);
    /* Reads them back, into a record that `start` has initialized. FORMAT: too few or too many. */
    enum skiff_status (*take)(const struct accessor *a, const double *numbers, int n,
                              struct table_row *r, struct skiff_error *err);
    int digits; /* of the numbers in a file */
    struct accessor_columns columns;
    bool counts_pulled; /* a pulled row begins with shows and clicks */
    bool cached;        /* rows with high scores go into the table's cache file, too */
};

#define ACCESSOR(name) extern const struct accessor_class accessor_##name;
#include "table/accessor_list.h"
#undef ACCESSOR

/* By either name; NULL: no such accessor. */
const struct accessor_class *accessor_find(const char *name);
const struct accessor_class *accessor_at(int i); /* NULL: i is the number of accessors */
struct ctr_params ctr_defaults(void);            /* fleet's defaults */

/* INVALID: the options do not fit. */
enum skiff_status accessor_init(struct accessor *a, const struct accessor_class *class,
                                const struct accessor_options *o, struct skiff_error *err);

/* `pulled` values of each record, from `from` on; zeros for NULL. For `pull` of classes. */
void accessor_copy(const struct accessor *a, struct table_row *const *r, size_t n, int from,
                   float *out);

/* A line of a shard file: "<key> <numbers>\n". Returns its length; out: accessor_line_max bytes. */
size_t accessor_line_max(const struct accessor *a);
size_t accessor_print(const struct accessor *a, const struct table_row *r, char *out);
/* FORMAT: not a key and numbers, or too many or too few of them. r: stride bytes. */
enum skiff_status accessor_parse(const struct accessor *a, const char *line, size_t n,
                                 struct table_row *r, struct skiff_error *err);

#endif
