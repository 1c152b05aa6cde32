/* Options: one table for everything that users set by name: settings of datasets, readers and
 * transports, variables of the environment, flags of commands.
 *
 * A row has a name, a kind, the place of the value in a struct, what the value may be, and a
 * sentence of help. Setting by text, reading of argv, messages about what is wrong, --help, man
 * pages and completions all come from these rows.
 *
 *     static const struct option rows[] = {
 *         {"rows", OPTION_LONG, offsetof(struct args, rows), .value = "N", .help = "rows to write",
 *          .standard = "1000000", .low = 0, .high = INT64_MAX},
 *         {0}};
 *     static const struct options table = {.what = "setting", .rows = rows};
 *
 * Threads: tables are constants; what is set has one user at a time. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum option_kind {
    OPTION_BOOL, /* bool: true, yes, on, 1, false, no, off, 0; a flag without a value is true */
    OPTION_NOT,  /* the same, kept as its opposite */
    OPTION_INT,  /* int, from low to high */
    OPTION_LONG, /* int64_t or uint64_t, from low to high */
    OPTION_SIZE, /* size_t; K, M and G behind the number are powers of 1024 */
    OPTION_REAL, /* double, from low to high */
    OPTION_TEXT, /* const char *: the text itself, which must live longer (argv, the environment) */
    OPTION_COPY, /* char *: a copy */
    OPTION_CAPACITY, /* char[high]: a copy that must fit */
    OPTION_CHOICE,   /* an enum: the place of the value in `words` */
    /* struct option_list of "key=value"; as a flag it takes all such words that follow */
    OPTION_PAIRS,
    OPTION_OTHER, /* what `read` makes of it */
    /* flag: it and what follows, but for our own long flags, are somebody else's; sets a bool */
    OPTION_PASS,
    OPTION_IGNORED, /* flag: taken with its value, and not used */
    OPTION_REFUSED, /* flag: not to be had; help says why */
};

struct option {
    const char *name; /* "log_dir"; NULL ends the table. As a flag: --log_dir or --log-dir */
    enum option_kind kind;
    size_t at; /* where in the struct */
    const char *
        value; /* what stands for the value in help: "N", "FILE", "DIR" (the latter two complete) */
    const char *help;
    char letter;              /* -q; 0: none */
    char also_letter;         /* another letter of the same; 0: none */
    const char *also;         /* another name of the same, or NULL */
    const char *standard;     /* the value that options_init sets; NULL: none */
    int64_t low, high;        /* both 0: any number */
    const char *const *words; /* CHOICE: NULL at the end */
    /* OTHER: reads text into place; NULL when that went well, else what was expected */
    const char *(*read)(void *target, const char *text);
    size_t given; /* place of a bool that is set with the value; 0: none */
    /* BOOL, as a flag: the next word is its value if it is one (True, False, 1, ...) */
    bool takes_word;
    const char *group; /* heading above this row and those that follow; NULL: as the row above */
    const char *default_text; /* help: the default in words, where `standard` does not show it */
};

struct options {
    const char *what; /* "reader setting": how messages call a row; NULL: by its name alone */
    const struct option *rows;
    const struct options *next; /* where to look further; its struct is at next_at of ours */
    size_t next_at;
    /* flags only: */
    const char *words;  /* what may stand beside flags: "FILE..."; NULL: nothing */
    bool rest;          /* from the first such word on, everything is a word */
    const char *advice; /* added when a flag is unknown, or NULL */
    /* The row (of texts) whose value the first word is if its flag is not given; NULL: none. */
    const char *first;
    /* Words that can be that value; NULL: every word. With `rest`: words that begin what an
     * OPTION_PASS begins, so that our long flags are found behind them. */
    bool (*is_first)(const char *word);
    /* An unknown flag: adds a suggestion that is no flag of the table; false: nothing.
     * value: what stands behind it, or NULL. */
    bool (*meant)(const char *name, const char *value, struct buf *out);
};

struct option_list {
    const char **at; /* texts are borrowed */
    int n;
};

/* Sets everything to `standard`; the struct was zeroed before. */
void options_init(const struct options *o, void *to);
/* After *to = *from: gives `to` copies of its own. */
void options_copy(const struct options *o, void *to);
/* Frees copies and lists. */
void options_deinit(const struct options *o, void *to);

/* Sets one. NOT_FOUND: no such name; the message has the nearest one and lists all. INVALID: what
 * the value may be. */
enum skiff_status options_set(const struct options *o, void *to, const char *name, const char *text,
                              struct skiff_error *err);
/* "name=value name=value", separated by blanks. */
enum skiff_status options_set_all(const struct options *o, void *to, const char *text,
                                  struct skiff_error *err);
/* Sets the value of a row; `subject` is how messages call it. */
enum skiff_status option_put(const struct option *row, void *to, const char *subject,
                             const char *text, struct skiff_error *err);
/* A whole number from low to high that fills the whole text. */
bool option_int(const char *text, int64_t low, int64_t high, int64_t *out);
bool option_bool(const char *text, bool *out);
bool option_size(const char *text, size_t *out); /* "64K" */

/* ---- flags (options_flags.c) ---- */

struct option_words {
    char **at; /* n words, NULL behind them; free it */
    int n;
    bool dashes; /* "--" stood before them */
    bool help;   /* -h or --help: nothing behind it was read */
};

/* Reads argv[1..argc): --name value, --name=value, -x value, -xvalue, -xy, and words; behind "--"
 * are words only. A value may begin with '-' unless it is one of our flags. out is filled also when
 * it fails. */
enum skiff_status options_parse(const struct options *o, void *to, int argc, char **argv,
                                struct option_words *out, struct skiff_error *err);
/* Shown in help, man pages and completions: all rows but those that are ignored or refused. */
bool option_shown(const struct option *row);
/* "-q, --quiet", "--log_dir DIR" */
void option_flag(const struct option *row, struct buf *out);
/* The sentence of help, with the choices and the default: "rows to write (default: 1000)". */
void option_sentence(const struct option *row, struct buf *out);
/* The flags of --help, aligned in one column, with the headings of their groups. */
void options_help(const struct options *o, struct buf *out);

#endif
