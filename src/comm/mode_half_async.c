/* Half-async: a trainer's step (mode_step.c) is applied on arrival, and the answer brings the
 * parameters after it. Trainers do not wait for each other. */
#include "comm/mode.h"

const struct comm_mode mode_half_async = {COMM_STEP_SLOTS};
