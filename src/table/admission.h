/* Admission: which ids get a record. Paddle's entries, with the meaning that its documents promise
 * and 2.0 - 2.2 had (2.6 ignores all but show_click):
 *   count        from the n-th request for the id on
 *   probability  at each request with the chance 1 - p
 *   show_click   all at once; it names the variables that hold show and click
 * Ids that wait take a small record in a hash table of their own (16 bytes and its index), and are
 * forgotten after `forget` shrinks without a request. Threads: one owner, the table's. */
#ifndef TABLE_ADMISSION_H
#define TABLE_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum admission_kind { ADMISSION_ALL, ADMISSION_COUNT, ADMISSION_PROBABILITY, ADMISSION_SHOW_CLICK };

#define ADMISSION_NAME 256

struct admission {
    enum admission_kind kind;
    int64_t count;      /* count */
    double probability; /* probability: of being refused */
    int forget;         /* shrinks; 0: 30 */
    char show[ADMISSION_NAME], click[ADMISSION_NAME];
};

/* Parses the text that Paddle puts into programs: "count_filter_entry:10", "probability_entry:0.5",
 * "show_click_entry:show:click"; "" and "none": all ids. FORMAT: something else. */
enum skiff_status admission_parse(const char *text, struct admission *out, struct skiff_error *err);

struct waiting; /* ids that are not admitted yet */
/* most: bytes; when they are used up, the least requested ids (of 16 that are compared) are
 * forgotten. INVALID: too small for a few. */
enum skiff_status waiting_create(const struct admission *a, uint64_t seed, size_t most,
                                 struct waiting **out, struct skiff_error *err);
void waiting_destroy(struct waiting *w); /* NULL is a no-op */
/* The id is requested this many times more (probability: it is drawn once); *out: it is admitted,
 * and waits no longer. */
enum skiff_status waiting_ask(struct waiting *w, int64_t id, uint32_t times, bool *out,
                              struct skiff_error *err);
/* A shrink has passed; examines at most max ids from *at on; true: that was the last. */
bool waiting_age(struct waiting *w, uint64_t *at, size_t max);
void waiting_forget(struct waiting *w, int64_t id); /* it has a record now */
size_t waiting_count(const struct waiting *w);
size_t waiting_bytes(const struct waiting *w);

/* ---- saving and loading ---- */

struct waiting_id {
    int64_t id;
    uint32_t asked;  /* requests; probability: draws */
    uint32_t unseen; /* shrinks since then */
};
#define WAITING_SUFFIX ".waiting" /* of a table's name: the ids that wait for it */
/* As numbers of a row, exactly; unpack returns false for numbers that pack never makes. */
#define WAITING_WIDTH 3 /* asked / 65536, asked % 65536, unseen */
void waiting_pack(const struct waiting_id *x, float out[static WAITING_WIDTH]);
bool waiting_unpack(int64_t id, const float row[static WAITING_WIDTH], struct waiting_id *out);
/* Sets the id's counts, whatever it had before. */
enum skiff_status waiting_put(struct waiting *w, const struct waiting_id *x,
                              struct skiff_error *err);

/* The ids that wait at one instant, read a piece at a time while requests continue: an id that
 * changes is copied first. One snapshot at a time. */
struct waiting_snapshot;
struct waiting_snapshot *waiting_snapshot_begin(struct waiting *w);
/* From a cursor on (0: the beginning; it is advanced), at most max; END: these are the last. An id
 * may be returned twice, unchanged. NOMEM: a copy failed, so the snapshot is unusable. */
enum skiff_status waiting_snapshot_list(const struct waiting *w, uint64_t *cursor, size_t max,
                                        struct waiting_id *out, size_t *out_n,
                                        struct skiff_error *err);
size_t waiting_snapshot_bytes(const struct waiting_snapshot *s); /* NULL: 0 */
void waiting_snapshot_take_off(struct waiting *w);               /* stops copying for it */
void waiting_snapshot_destroy(struct waiting_snapshot *s); /* by any thread; NULL is a no-op */

#endif
