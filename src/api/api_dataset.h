/* The dataset behind a public one, for the trainer. */
#ifndef API_API_DATASET_H
#define API_API_DATASET_H

#include <skiff/train.h>

#include "data/dataset.h"

/* Borrowed, until a setting of d changes. */
enum skiff_status api_dataset(struct skiff_dataset *d, struct dataset **out,
                              struct skiff_error *err);
/* What it has counted, as long as d is there. */
struct metrics *api_dataset_metrics(const struct skiff_dataset *d);

#endif
