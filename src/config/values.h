/* Values: a YAML file, or JSON, as values by name with dots ("epochs.0.auc"), and overrides of
 * them. Reports, records of a run and, below config.h, configs are read with it.
 *
 * Getters never fail: a name that is absent, or whose value has the wrong type, gives the fallback;
 * the first wrong value is kept and reported by values_check, with file and line. So a reader reads
 * all it needs and checks once. Lists of plain values are values; lists of maps become names with
 * numbers ("a.0.b"). Anchors and aliases are refused.
 * Ownership: texts belong to the values. Threads: one user. */
#ifndef CONFIG_VALUES_H
#define CONFIG_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct buf;
struct values;
struct yaml_node;

struct value {
    const char *key;
    const char **values;
    int n;
    bool list;
    int line;    /* 0: from the command line */
    int earlier; /* line of the same name before, or 0 */
};

enum skiff_status values_open(const char *path, struct values **out, struct skiff_error *err);
/* The same for bytes in memory; `name` is the file in messages, paths are relative to its
 * folder. */
enum skiff_status values_parse(const void *bytes, size_t n, const char *name, struct values **out,
                               struct skiff_error *err);
void values_close(struct values *c);
/* "key=value", value written as in YAML. Replaces what the file says. */
enum skiff_status values_override(struct values *c, const char *assignment,
                                  struct skiff_error *err);

/* NULL when absent; a name without a value ("key:" or "key: null") counts as absent. */
const struct value *values_find(const struct values *c, const char *key);
bool values_has(const struct values *c, const char *key);
int64_t values_int(struct values *c, const char *key, int64_t fallback);
/* As values_int; a value outside low .. high is a wrong one. */
int64_t values_int_in(struct values *c, const char *key, int64_t fallback, int64_t low,
                      int64_t high);
double values_real(struct values *c, const char *key, double fallback);
bool values_bool(struct values *c, const char *key, bool fallback); /* true, False, yes, 1 ... */
const char *values_text(struct values *c, const char *key, const char *fallback);
/* One of the words (NULL at the end), without regard to case: its position. */
int values_choice(struct values *c, const char *key, int fallback, const char *const *words);
/* A list (one plain value is a list of one): how many there are; -1 when the name is absent. */
int values_list(struct values *c, const char *key, const char *const **out);
int values_ints(struct values *c, const char *key, int64_t *out, int max);
/* A path: relative ones are relative to the folder of the file. NULL, "-" and "" stay. */
const char *values_resolve(struct values *c, const char *path);

/* Something is wrong with the value of a name for a reason that the caller knows. */
void values_refuse(struct values *c, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* OK, or the first wrong value. */
enum skiff_status values_check(const struct values *c, struct skiff_error *err);

/* The section `network`, which is no part of the values; NULL when there is none. */
const struct yaml_node *values_network(const struct values *c);
const char *values_name(const struct values *c);   /* of the file, as given */
const char *values_folder(const struct values *c); /* absolute */
/* Every value, in order; for printing what a run was made with. */
int values_count(const struct values *c);
const struct value *values_at(const struct values *c, int i);

/* 1000001, -3, 1_000_001 as YAML 1.1 has it. */
bool value_parse_int(const char *text, int64_t *out);
bool value_parse_real(const char *text, double *out);
bool value_parse_bool(const char *text, bool *out);
void value_print(const struct value *e, struct buf *out); /* lists whole */

#endif
