/* Modes: how trainers and parameter servers work together. One row per mode, in the order in which
 * messages list them:
 *
 *   SKIFF_MODE(constant, number, name, flags, promise)
 *
 * constant SKIFF_SPLIT_<constant>; number: listen_and_serv's distributed_mode, which is also the
 * number on the wire; name: in strategies, configs, messages; and mode_<name>.c of src/comm is what
 * a trainer does; flags: enum skiff_mode_flags; promise: one sentence for messages. A file that
 * includes this defines SKIFF_MODE before and undefines it after. */
/* clang-format off */
SKIFF_MODE(SYNC, 0, sync, SKIFF_MODE_WAITS | SKIFF_MODE_MEETS,
     "every step waits for all trainers and takes the mean of their gradients; every run gives the "
     "same bits")
SKIFF_MODE(HALF_ASYNC, 2, half_async, SKIFF_MODE_MEETS,
     "the threads of a trainer wait for each other in every step; trainers do not wait for each other")
SKIFF_MODE(ASYNC, 1, async, 0,
     "no process waits; gradients go through queues and are applied when they arrive")
SKIFF_MODE(GEO, 3, geo, SKIFF_MODE_ADDS,
     "trainers train by themselves and exchange differences every few batches")
/* clang-format on */
