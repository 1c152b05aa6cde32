/* Data parallelism on one machine (CompiledProgram.with_data_parallel): one joint program with a
 * copy of the forward and backward ops per device, the sum of the devices' gradients, and one
 * update.
 *
 * Variables of device d that are not persistable are called NAME REPLICA_SUFFIX d. By default each
 * device's loss gradient is 1/devices, so that the sum is the plain average whatever the devices'
 * row counts; scale_one leaves it at 1 (GradientScaleStrategy.One). */
#ifndef PASSES_REPLICATE_H
#define PASSES_REPLICATE_H

#include "program/program.h"

#define REPLICA_SUFFIX "@DEVICE@"

enum skiff_status replicate_program(const struct skiff_program *p, int devices, bool scale_one,
                                    struct skiff_program **out, struct skiff_error *err);
/* The name in the joint program of the original's `name` on that device. A gradient that the update
 * reads exists once, as the sum over the devices. */
const char *replicate_name(const struct skiff_program *joint, const char *name, int device,
                           struct arena *arena);

#endif
