/* Config: a YAML file as keys with dots ("runner.epochs"), as PaddleRec reads it, and overrides
 * from the command line.
 *
 * Getters never fail: a key that is absent, or whose value has the wrong type, gives the fallback;
 * the first wrong value is kept and told by config_check, with file and line. So a command reads
 * all it needs and checks once. A key that has been asked for (or named by config_know) is a known
 * one; config_unknown reports the others, with the nearest known key. Lists of plain values are
 * values; lists of maps become keys with numbers ("a.0.b"). Anchors and aliases are refused.
 * Ownership: texts belong to the config. Threads: one user. */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct config;
struct yaml_node;

enum skiff_status config_open(const char *path, struct config **out, struct skiff_error *err);
/* The same for bytes in memory; `name` is the file in messages, paths are relative to its
 * folder. */
enum skiff_status config_parse(const void *bytes, size_t n, const char *name, struct config **out,
                               struct skiff_error *err);
void config_close(struct config *c);

/* "key=value", value written as in YAML. Replaces what the file says. */
enum skiff_status config_override(struct config *c, const char *assignment,
                                  struct skiff_error *err);

bool config_has(struct config *c, const char *key);
int64_t config_int(struct config *c, const char *key, int64_t fallback);
/* As config_int; a value outside low .. high is a wrong one. */
int64_t config_int_in(struct config *c, const char *key, int64_t fallback, int64_t low,
                      int64_t high);
double config_real(struct config *c, const char *key, double fallback);
bool config_bool(struct config *c, const char *key, bool fallback); /* true, False, yes, 1 ... */
const char *config_text(struct config *c, const char *key, const char *fallback);
/* One of the words (NULL at the end), without regard to case: its position. */
int config_choice(struct config *c, const char *key, int fallback, const char *const *words);
/* A path: relative ones are relative to the folder of the file. "-" and "" stay. */
const char *config_path(struct config *c, const char *key, const char *fallback);
/* A list (one plain value is a list of one): how many there are; -1 when the key is absent. */
int config_list(struct config *c, const char *key, const char *const **out);
int config_paths(struct config *c, const char *key, const char *const **out);
int config_ints(struct config *c, const char *key, int64_t *out, int max);

/* Something is wrong with the value of a key for a reason that the caller knows. */
void config_refuse(struct config *c, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* OK, or the first wrong value. */
enum skiff_status config_check(const struct config *c, struct skiff_error *err);

void config_know(struct config *c, const char *key);
/* Everything under the prefix counts as known. */
void config_know_all(struct config *c, const char *prefix);
/* Calls `tell` for every unknown key, with a message. likely: the key looks like
 * a known one misspelt, or was given on the command line. Returns the number of likely ones. Tells
 * of keys that stand twice, too (the last one counts). */
int config_unknown(struct config *c, void (*report)(void *arg, bool likely, const char *text),
                   void *arg);

/* The section `network`, which is no part of the keys; NULL when there is none. */
const struct yaml_node *config_network(const struct config *c);
/* INVALID for faults that show before anything is read: a section in the wrong case (Runner:), a
 * key of another name under runner (num_epochs). Known keys must have been declared before. */
enum skiff_status config_aliases(const struct config *c, struct skiff_error *err);
/* A key of the config that is not known and looks like this one misspelt; NULL: none. */
const char *config_like(const struct config *c, const char *key);

const char *config_name(const struct config *c);   /* of the file, as given */
const char *config_folder(const struct config *c); /* absolute */
/* Every key and its value as text, in order; for printing what a run was made with. */
int config_count(const struct config *c);
void config_at(const struct config *c, int i, const char **key, const char **text);
struct buf;
void config_value(const struct config *c, int i, struct buf *out); /* the same, lists whole */

#endif
