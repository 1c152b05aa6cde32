/* Sync: a trainer's step (mode_step.c) is its part of the common step. Servers answer with the new
 * parameters when all trainers have sent their parts: no further barrier is needed. */
#include "comm/mode.h"

const struct comm_mode mode_sync = {COMM_STEP_SLOTS};
