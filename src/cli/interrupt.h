/* Ctrl-C: the first one asks to stop, one that comes more than half a second later ends the
 * process. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>

/* SIGINT, SIGTERM and SIGHUP set the flag from now on; a SIGHUP that is ignored (nohup) stays
 * ignored. */
const atomic_bool *interrupt_watch(void);
/* Training continues, and saves, when its output is no longer read (`skiff train | head`).
 * Programs that it starts keep the usual way. */
void interrupt_outlive_output(void);
/* A write beyond `ulimit -f` fails, and is reported, like one to a full disk. */
void interrupt_outlive_limits(void);
bool interrupt_hangup_ignored(void);
bool interrupt_wanted(void);
void interrupt_want(void); /* as if a signal had come; also in a handler of another one */

#endif
