/* Ctrl-C: the first one asks to stop, the second one ends the process. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdatomic.h>

/* SIGINT and SIGTERM set the flag from now on. */
const atomic_bool *interrupt_flag(void);

#endif
