/* Config: the values of a config.yaml, as PaddleRec writes it, by the keys of the table
 * (key_list.h), with overrides from the command line.
 *
 * Type, range and default of a key are those of the table: getters have none of their own. Only
 * keys whose row says `depends` have a getter with a default (config_int_or). A getter never fails:
 * the first wrong value is kept and reported by config_check, with file and line. So a command
 * reads all it needs and checks once.
 * Names of a family ("hyper_parameters.*") are read with member_int and so on, with a fallback.
 * Ownership: texts belong to the config. Threads: one user. */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stddef.h>

#include "base/error.h"
#include "config/keys.h"

struct buf;
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
/* The same for a key and its value. */
enum skiff_status config_set(struct config *c, enum config_key key, const char *value,
                             struct skiff_error *err);

/* ---- values of keys ---- */

/* Is it set, under this very name? */
bool config_has(struct config *c, enum config_key key);
int64_t config_int(struct config *c, enum config_key key);
double config_real(struct config *c, enum config_key key);
bool config_bool(struct config *c, enum config_key key);
const char *config_text(struct config *c, enum config_key key); /* NULL: not set, no default */
int config_word(struct config *c, enum config_key key);         /* its position in .words */
size_t config_size(struct config *c, enum config_key key);      /* bytes; 0: not set */
int config_day(struct config *c, enum config_key key);          /* 20190720; 0: not set */
/* One of words that are listed elsewhere (NULL at the end). */
int config_word_of(struct config *c, enum config_key key, const char *const *words);
/* A path: relative ones are relative to the folder of the file. "-" and "" stay. */
const char *config_path(struct config *c, enum config_key key);
/* A list (one plain value is a list of one): how many there are; -1 when the key is not set. */
int config_list(struct config *c, enum config_key key, const char *const **out);
int config_paths(struct config *c, enum config_key key, const char *const **out);
/* Keys whose default depends on something that the table cannot know. */
int64_t config_int_or(struct config *c, enum config_key key, int64_t standard);
bool config_bool_or(struct config *c, enum config_key key, bool standard);
const char *config_text_or(struct config *c, enum config_key key, const char *standard);

/* ---- members of a family ---- */

bool member_has(struct config *c, enum config_key family, const char *name);
int64_t member_int(struct config *c, enum config_key family, const char *name, int64_t fallback,
                   int64_t low, int64_t high);
double member_real(struct config *c, enum config_key family, const char *name, double fallback);
bool member_bool(struct config *c, enum config_key family, const char *name, bool fallback);
const char *member_text(struct config *c, enum config_key family, const char *name,
                        const char *fallback);
int member_list(struct config *c, enum config_key family, const char *name,
                const char *const **out);
int member_ints(struct config *c, enum config_key family, const char *name, int64_t *out, int max);
void member_refuse(struct config *c, enum config_key family, const char *name, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));
/* The name is a known one, though nobody reads it; name NULL: all of the family. */
void member_know(struct config *c, enum config_key family, const char *name);

/* ---- wrong values, unknown keys ---- */

/* Something is wrong with the value of a key for a reason that the caller knows. */
void config_refuse(struct config *c, enum config_key key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for the value at i (config_at). */
void config_refuse_at(struct config *c, int i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* OK, or the first wrong value. */
enum skiff_status config_check(const struct config *c, struct skiff_error *err);
/* Reads every value that is set by its row of the table, so that config_check tells of wrong ones
 * whoever reads them. */
void config_read_all(struct config *c);
/* Calls `report` for every unknown key, with a message. likely: the key looks like a known one
 * misspelt, or was given on the command line. Returns the number of likely ones. Tells of keys that
 * stand twice, too (the last one counts). */
int config_unknown(struct config *c, void (*report)(void *arg, bool likely, const char *text),
                   void *arg);
/* INVALID for faults that show before anything is read: a section in the wrong case (Runner:), a
 * key of another name under runner (num_epochs). */
enum skiff_status config_aliases(const struct config *c, struct skiff_error *err);
/* All that commands check, for all keys, whoever reads them; unknown ones are reported as by
 * config_unknown. */
enum skiff_status config_check_all(struct config *c,
                                   void (*report)(void *arg, bool likely, const char *text),
                                   void *arg, struct skiff_error *err);
/* A key of the config that is not known and looks like this one misspelt; NULL: none. */
const char *config_like(const struct config *c, enum config_key key);

/* ---- the rest ---- */

/* The section `network`, which is no part of the keys; NULL when there is none. */
const struct yaml_node *config_network(const struct config *c);
const char *config_name(const struct config *c);   /* of the file, as given */
const char *config_folder(const struct config *c); /* absolute */
/* What is set, in order: names and values as text, lists whole; secrets are not printed. */
int config_count(const struct config *c);
const char *config_at(const struct config *c, int i);
int config_list_at(const struct config *c, int i, const char *const **out);
void config_print_at(const struct config *c, int i, struct buf *out);
/* What a command would use for the key, and where that comes from: "FILE:LINE", "-o",
 * "environment NAME", "default"; with the name of the key that gives the value, if it is another.
 * False: it is the default. */
bool config_print_effective(struct config *c, enum config_key key, struct buf *value,
                            struct buf *source);
void config_print_source_at(const struct config *c, int i, struct buf *out);

#endif
