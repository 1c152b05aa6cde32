/* What `skiff init` and `skiff prepare` print while a table is read, and what they found. */
#ifndef CLI_PREPARE_SHOW_H
#define CLI_PREPARE_SHOW_H

#include "prepare/prepare.h"

struct prepare_shown {
    const char *command;
    int64_t bad;
    double last;
    bool line; /* a line of progress stands on the terminal */
};

/* Callbacks that print; s is to outlive them. Interrupts stop the reading. */
struct prepare_events prepare_show_events(struct prepare_shown *s, const char *command);
void prepare_show_clear(struct prepare_shown *s); /* the line of progress */
void prepare_show_table(const struct prepare_plan *p, const struct file_list *files);
void prepare_show_job(const struct prepare_plan *p, const struct split_report *r, const char *out);

#endif
