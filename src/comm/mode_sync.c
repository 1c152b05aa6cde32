/* Sync: a trainer's step (mode_step.c) is its part of the step of all. Servers answer when all
 * trainers have given theirs, with the new parameters: no further barrier is needed. */
#include "comm/mode.h"

const struct comm_mode mode_sync = {COMM_STEP_SLOTS};
