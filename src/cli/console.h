/* The console of commands that train: lines of results go to standard output, and signals ask a
 * run to stop. */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include "train/control.h"

extern const struct train_control console_control;

#endif
