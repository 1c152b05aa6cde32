/* Admission: which ids get a record. Paddle's entries, with the meaning that its documents promise
 * and 2.0 - 2.2 had (2.6 ignores all but show_click):
 *   count        from the n-th time on that the id is asked for
 *   probability  each time with the chance 1 - p
 *   show_click   everybody at once; it names the variables that show and click come from
 * Ids that wait cost a small record in a hash table of their own (16 bytes and its index), and are
 * forgotten when `forget` shrinks have passed without a sight of them.
 * Threads: one owner, the table's. */
#ifndef TABLE_ADMISSION_H
#define TABLE_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum admission_kind { ADMIT_ALL, ADMIT_COUNT, ADMIT_PROBABILITY, ADMIT_SHOW_CLICK };

#define ADMISSION_NAME 256

struct admission {
    enum admission_kind kind;
    int64_t count;      /* count */
    double probability; /* probability: of being refused */
    int forget;         /* shrinks; 0: 30 */
    char show[ADMISSION_NAME], click[ADMISSION_NAME];
};

/* Of the text that Paddle puts into programs: "count_filter_entry:10", "probability_entry:0.5",
 * "show_click_entry:show:click"; "" and "none": everybody. FORMAT: something else. */
enum skiff_status admission_parse(const char *text, struct admission *out, struct skiff_error *err);

struct waiting; /* ids that are not admitted yet */
/* most: bytes; when they are used up, those who have asked least often (of 16 that are looked at)
 * are forgotten. INVALID: they are not enough for a few. */
enum skiff_status waiting_create(const struct admission *a, uint64_t seed, size_t most,
                                 struct waiting **out, struct skiff_error *err);
void waiting_destroy(struct waiting *w); /* NULL is fine */
/* The id is asked for so many times more (probability: it is drawn once);
 * *out: it may come in, and waits no longer. */
enum skiff_status waiting_ask(struct waiting *w, int64_t id, uint32_t times, bool *out,
                              struct skiff_error *err);
/* A shrink has passed; at most max ids are looked at from *at on; true: that was the last. */
bool waiting_age(struct waiting *w, uint64_t *at, size_t max);
void waiting_forget(struct waiting *w, int64_t id); /* it has a record now */
size_t waiting_count(const struct waiting *w);
size_t waiting_bytes(const struct waiting *w);

/* ---- saving and loading ---- */

struct waiting_id {
    int64_t id;
    uint32_t asked;  /* times; probability: draws */
    uint32_t unseen; /* shrinks since then */
};
/* As numbers of a row, exactly; unpack, false: numbers that pack never gives. */
#define WAITING_WIDTH 3 /* asked / 65536, asked % 65536, unseen */
void waiting_pack(const struct waiting_id *x, float out[static WAITING_WIDTH]);
bool waiting_unpack(int64_t id, const float row[static WAITING_WIDTH], struct waiting_id *out);
/* It waits, with these counts, whatever it had before. */
enum skiff_status waiting_put(struct waiting *w, const struct waiting_id *x,
                              struct skiff_error *err);

/* Those who wait at one instant, read a piece at a time while others ask: before one changes what
 * it was is kept. One at a time. */
struct waiting_snapshot;
struct waiting_snapshot *waiting_snapshot_begin(struct waiting *w);
/* From a cursor on (0: the beginning; the next one is told), at most max; END: these are the last.
 * One may be given twice, the same. NOMEM: one could not be kept, it is worth nothing. */
enum skiff_status waiting_snapshot_list(const struct waiting *w, uint64_t *cursor, size_t max,
                                        struct waiting_id *out, size_t *out_n,
                                        struct skiff_error *err);
size_t waiting_snapshot_bytes(const struct waiting_snapshot *s); /* NULL: 0 */
void waiting_snapshot_take_off(struct waiting *w);               /* nothing more is kept for it */
void waiting_snapshot_free(struct waiting_snapshot *s);          /* by any thread; NULL is fine */

#endif
