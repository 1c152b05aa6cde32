/* Calibration: a monotone function from a model's probability to the share of positives among rows
 * that get it. It is fitted on rows that were not trained on and saved with the model, as
 *
 *   <folder of the epoch>/calibration.yaml
 *     method: isotonic        or platt
 *     rows: 13714             that it was fitted on,
 *     positives: 3391         and those of them whose label is 1
 *     raw: [...]              logits of the model's probabilities, ascending, and
 *     calibrated: [...]       the logits that they become; lines between, slope 1 outside of them
 *     slope: 0.93             platt, instead of both lists: logit -> slope * logit + shift
 *     shift: -0.12
 *
 * Both are strictly increasing, so that the order of rows, and with it AUC, stays; results are
 * never 0 or 1. */
#ifndef PREDICT_CALIBRATION_H
#define PREDICT_CALIBRATION_H

#include <stdint.h>

#include "base/error.h"

#define CALIBRATION_FILE "calibration.yaml"

/* In the order of the words of runner.calibrate. */
enum calibration_method { CALIBRATION_NONE, CALIBRATION_ISOTONIC, CALIBRATION_PLATT };

struct calibration;

/* Fits on n rows; label: above 0 is positive. weight: NULL, or of each row, at least 0. INVALID
 * unless both labels occur, and probabilities are numbers. */
enum skiff_status calibration_fit(enum calibration_method method, const float *p,
                                  const float *label, const float *weight, int64_t n,
                                  struct calibration **out, struct skiff_error *err);
/* The calibration of the model in a folder, as calibration_save wrote it; *out NULL: it has none.
 * Folders may be remote. */
enum skiff_status calibration_load(const char *folder, struct calibration **out,
                                   struct skiff_error *err);
/* Atomic; replaces the one that is there. */
enum skiff_status calibration_save(const struct calibration *c, const char *folder,
                                   struct skiff_error *err);
void calibration_destroy(struct calibration *c);

/* From any thread. c NULL, or a p that is no number: p itself. */
double calibration_apply(const struct calibration *c, double p);
const char *calibration_name(const struct calibration *c); /* of the method */
int64_t calibration_rows(const struct calibration *c);

#endif
