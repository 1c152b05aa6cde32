/* Names: from the slot names that stand in a file to the slots of the schema.
 *
 * Which name a slot has in the file:
 *   - what the `slots` setting says (names in the order of the schema), else
 *   - the slot's own name, and, where no slot has that name itself, its other usual name:
 *     label = click, C7 = 7, slot_7 = 7, dense_input = dense_feature (PaddleRec's files and
 *     networks).
 * Look-ups of one thread; no locks. */
#ifndef DATA_NAMES_H
#define DATA_NAMES_H

#include "data/slot.h"

struct name_entry {
    uint64_t head; /* first 8 bytes, zero behind the end */
    uint32_t len;
    int32_t slot; /* -1: free */
    const char *text;
};

/* The first few names in the file that match no slot. */
#define STRANGE_MAX 16
struct strange_names {
    char name[STRANGE_MAX][40]; /* longer ones are truncated */
    int64_t line[STRANGE_MAX];  /* of the first */
    int like[STRANGE_MAX];      /* the slot whose name it resembles (a misspelling); -1: none */
    int n;
};
/* Its index, -1: not found; and the last one, -1: full. */
int strange_names_find(const struct strange_names *s, const char *name, size_t n);
int strange_names_add(struct strange_names *s, const char *name, size_t n);

struct name_table {
    struct name_entry *entries;
    uint32_t mask;
    char *texts; /* what the entries point to */
    struct strange_names strange;
};

/* `slots` may be NULL. label_name: what the label is called in this format, or NULL. */
enum skiff_status name_table_init(struct name_table *t, const struct schema *schema,
                                  const char *slots, const char *label_name,
                                  struct skiff_error *err);
void name_table_deinit(struct name_table *t);
/* The slot, or -1. 8 bytes at p may be read. */
int name_table_find(const struct name_table *t, const char *p, size_t n);
/* Records a name that matches no slot; returns its index among the unknown names, -1: too many. */
int name_table_strange(struct name_table *t, const char *p, size_t n, int64_t line);
/* "label or click": the slot's names in the file. Returns out. */
const char *name_table_names(const struct name_table *t, int slot, char out[static 96]);
/* The slot name that an unknown name resembles. */
const char *name_table_meant(const struct name_table *t, int strange);

#endif
