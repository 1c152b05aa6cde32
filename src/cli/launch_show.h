/* What the launcher prints. */
#ifndef CLI_LAUNCH_SHOW_H
#define CLI_LAUNCH_SHOW_H

#include "cli/launch_args.h"

/* The first rank's log, on the console. */
struct launch_echo {
    int fd; /* -1: none */
};
void launch_echo_open(struct launch_echo *e, const struct launch *l);
void launch_echo_copy(struct launch_echo *e); /* what is new */
void launch_echo_close(struct launch_echo *e);

struct launch_screen {
    bool terminal, quiet; /* quiet: no progress */
    bool waits;           /* shows for whom the launcher waits */
    double started, next;
    char last[512];
};
void launch_screen_init(struct launch_screen *s, const struct launch_args *a);
void launch_screen_tick(struct launch_screen *s, const struct launch *l, double now);
void launch_screen_clear(struct launch_screen *s);
/* Events go to stderr, above the line of progress. */
struct launch_events launch_screen_events(struct launch_screen *s);

void launch_print_plan(const struct launch *l, const struct launch_args *a);
void launch_print_warnings(const struct launch *l);
/* Of all that have failed by themselves. */
void launch_print_failed(const struct launch *l, const struct launch_args *a);
void launch_print_table(const struct launch *l);
/* Every process, and the command of `skiff doctor`. */
void launch_print_processes(const struct launch *l, const struct launch_args *a);
/* After a signal: where the part is that was trained, and the command that continues. */
void launch_print_resume(const struct launch *l, const struct launch_args *a);

#endif
