/* The table of keys (key_list.h): what each is, for those who print or look up keys. Values are
 * read with config.h. Threads: the table is constant. */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

enum config_key {
    KEY_NONE,
#define GROUP(id, text)
#define KEY(id, ...) KEY_##id,
#include "config/key_list.h"
    KEY_COUNT
};

enum key_type {
    KEY_INT,
    KEY_REAL,
    KEY_BOOL,
    KEY_TEXT,
    KEY_WORD,
    KEY_PATH,
    KEY_LIST,
    KEY_PATHS,
    KEY_INTS,
    KEY_DAY,
    KEY_SIZE,
    KEY_ANY
};

struct key_info {
    const char *name;
    enum key_type type;
    const char *standard; /* NULL: none */
    unsigned commands;    /* key_commands prints them */
    bool bounded;
    int64_t min, max;
    const char *words, *depends, *alias, *environment, *help;
    enum config_key from; /* KEY_NONE: none */
    bool hidden, by_model;
};

const struct key_info *key_info(enum config_key key);
const char *key_name(enum config_key key); /* "runner.epochs" */
/* KEY_NONE: the table has no key of that name. */
enum config_key key_find(const char *name);
/* The same; a name of a family gives the family ("hyper_parameters.*"), the narrowest that fits. */
enum config_key key_matching(const char *name);
bool key_is_family(enum config_key key);
/* For a family: how much of its name comes before the free part. */
int key_family_length(enum config_key key);
/* The key that this name means in configs of other tools, by its last word; KEY_NONE: none. */
enum config_key key_by_alias(const char *name);
/* The word at i of .words; NULL behind the last. text: of at least 64 bytes. */
const char *key_word(enum config_key key, int i, char text[static 64]);

/* What a user means: the whole name of a key, its last word, or another tool's name for it. */
enum config_key key_meant(const char *name);
/* A name, or the last word of one, that is nearly this; NULL: none. */
const char *key_nearest(const char *name);
const char *key_last_word(const char *name); /* "epochs" of "runner.epochs" */

const char *key_group(enum config_key key); /* "validation" */
/* Texts about a key: "integer, 1 to 1024"; "32; `predict`: 512"; "train, infer". */
void key_print_type(enum config_key key, struct buf *out);
void key_print_standard(enum config_key key, struct buf *out);
void key_print_commands(enum config_key key, struct buf *out);
/* Markdown of such a text as plain text: without backquotes, a link as the page it leads to. */
void key_plain_text(struct buf *out, const char *text);
/* The rows of a group ("validation") as a Markdown table; false: there is no such group. */
bool key_print_group(const char *group, struct buf *out);

#endif
