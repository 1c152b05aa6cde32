/* Deferred updates: rows of a table that have not seen the latest steps, and how they are
 * flushed.
 *
 * A rule with `idle` moves every row in every step. Deferred rows count the steps, keep for each
 * row the step it has been brought to (its stamp, 4 bytes), and of each step what the flush needs:
 * its rate, and the weighted sums of the rates since (rule.h). The price of a step is that of the
 * rows that have a gradient; a row that is read, or had no gradient for thousands of steps, costs
 * one closed formula.
 *
 * History is a ring of DEFERRED_HISTORY steps, made once: when it is full all rows are flushed,
 * which costs one sweep in that many steps.
 *
 * Threads (Hogwild): any number may call rows, all, show_* and step at the same time. Steps are
 * counted under a lock; one thread at a time writes a row, so that its parameter and states fit
 * each other; they are read without asking, as everywhere in Hogwild. bind, reset and destroy are
 * for the owner alone.
 * Ownership: the arrays belong to the caller and must outlive their binding. */
#ifndef RULES_DEFERRED_H
#define RULES_DEFERRED_H

#include "base/error.h"
#include "rules/rule.h"

#define DEFERRED_HISTORY (1u << 14)

struct deferred_rows;

/* Fails with UNSUPPORTED when the rule's updates cannot be deferred with these parameters, or
 * NOMEM. */
enum skiff_status deferred_create(const struct rule *rule, const struct rule_params *params,
                                  int64_t rows, int64_t width, struct deferred_rows **out,
                                  struct skiff_error *err);
void deferred_destroy(struct deferred_rows *c); /* NULL is fine; does not flush */

/* Is it one for this rule, these parameters and this size? */
bool deferred_fits(const struct deferred_rows *c, const struct rule *rule,
                   const struct rule_params *params, int64_t rows, int64_t width);
/* Where the rows are now. Only the same arrays as before, or any when no row lies behind. */
void deferred_bind(struct deferred_rows *c, float *p, float *const *state);
/* Are all rows up to date? */
bool deferred_is_flushed(const struct deferred_rows *c);

/* Brings these rows up to date. Ids out of range are passed over; duplicates are fine. */
void deferred_rows(struct deferred_rows *c, const int64_t *ids, size_t n);
void deferred_all(struct deferred_rows *c);

/* The same for readers, without an effect on what later steps compute. k missed steps applied at
 * once and the same steps applied in two parts differ in the last bits, so a reader that brought
 * rows up to date for good would change the bits of the run: of ranks, only the one that reads.
 * The rows as they were are kept until the next step, which puts back those that neither it nor
 * anybody else has written to. Without memory for that, rows are brought up to date for good. */
void deferred_show_rows(struct deferred_rows *c, const int64_t *ids, size_t n);
void deferred_show_all(struct deferred_rows *c);

/* One optimizer step: rows ids[0..n) (distinct, in range) are brought up to date and updated with
 * the gradients g[i * width ...]; all others fall behind by one step. */
void deferred_step(struct deferred_rows *c, const struct rule_step *s, const int64_t *ids, size_t n,
                   const float *g);

/* A moment: what is needed to tell later what rows are now, from their floats and stamps of now. It
 * has copies of all it needs (some hundred kilobytes), however large the table is, so a snapshot
 * of a table need not bring all rows up to date first. */
struct deferred_rows_state;
enum skiff_status deferred_rows_state_create(struct deferred_rows *c,
                                             struct deferred_rows_state **out,
                                             struct skiff_error *err);
void deferred_rows_state_destroy(struct deferred_rows_state *m); /* NULL is fine */
/* Brings a copy of a row that had this stamp to the moment. */
void deferred_rows_state_row(const struct deferred_rows_state *m, uint32_t stamp, float *p,
                             float *const *state);
uint32_t deferred_stamp(const struct deferred_rows *c, int64_t row);
/* The bound arrays: the parameter, then the states. */
void deferred_arrays(const struct deferred_rows *c, const float *out[1 + RULE_MAX_STATES]);
/* Will the next step flush all rows, because its history is full? */
bool deferred_sweeps_next(const struct deferred_rows *c);

/* A window: the bound arrays are copies of some rows of a table that lies elsewhere, other ones for
 * every step. The owner knows the table's stamps: it sets those of the window's rows before a step
 * and takes them back afterwards, and it flushes all rows itself when the history is full. */
/* From now on it has so many rows, with the stamps (*out_stamps)[0 .. rows) that the caller writes
 * there; valid until the next call. NOMEM: nothing has changed. */
enum skiff_status deferred_window(struct deferred_rows *c, int64_t rows, uint32_t **out_stamps,
                                  struct skiff_error *err);
/* Brings one row of the table, which has this stamp, up to date where it lies; its new stamp. */
uint32_t deferred_row(struct deferred_rows *c, uint32_t stamp, float *p, float *const *state);
uint32_t deferred_now(const struct deferred_rows *c); /* the stamp of a row that is up to date */
void deferred_set_flushed(struct deferred_rows *c);   /* every row of the table has that stamp */

#endif
