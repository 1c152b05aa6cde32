/* Slot sampler: what is in the slots, from some of the batches that one training thread gets. It
 * looks at the batch that comes next, so training is given nothing more to do; and only as long as
 * looking has taken less than 0.2 % of the time. */
#ifndef TRAIN_RECORDER_SLOTS_H
#define TRAIN_RECORDER_SLOTS_H

#include "data/dataset.h"
#include "report/run_report.h"

struct slot_sampler;

struct slot_sampler *slot_sampler_create(const struct schema *schema); /* borrowed */
void slot_sampler_destroy(struct slot_sampler *s);
/* Before an epoch's threads start. data NULL: there is none. */
void slot_sampler_begin(struct slot_sampler *s, struct dataset *data);
/* From training thread 0. */
void slot_sampler_batch(struct slot_sampler *s);
/* From any thread: sets the report's slots. */
void slot_sampler_fill(struct slot_sampler *s, struct run_report *out);

#endif
