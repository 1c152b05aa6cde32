/* Ctrl-C: the first one asks to stop, one that comes more than half a second later ends the
 * process. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>

/* SIGINT and SIGTERM set the flag from now on. */
const atomic_bool *interrupt_watch(void);
bool interrupt_wanted(void);

#endif
