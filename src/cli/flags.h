/* Flags of commands: --name value, described in one table. */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

enum flag_kind { FLAG_INT, FLAG_REAL, FLAG_TEXT, FLAG_SET };

struct flag {
    const char *name; /* "--rows" */
    enum flag_kind kind;
    void *at; /* int64_t, double, const char *, bool */
    const char *help;
};

/* Returns 0, or the exit status after a message. Other words go to words[0..*nwords) (NULL: there
 * may be none). *help is set when --help was asked for. The table ends with {0}. */
int flags_parse(int argc, char **argv, const struct flag *flags, const char **words, int *nwords,
                bool *help);
void flags_print(const struct flag *flags);

#endif
