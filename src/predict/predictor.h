/* Predictor: a model that is ready to run, by any number of threads.
 *
 * Parameters lie in one scope. A run takes a thread state, which has an executor with a plan for
 * every batch size that it has met, and gives it back: there are as many as threads have run at the
 * same time. The lock is held only while one is taken or given back. Threads: predictor_run from
 * any; the others by the owner, while nothing runs. */
#ifndef PREDICT_PREDICTOR_H
#define PREDICT_PREDICTOR_H

#include "data/slot.h"
#include "executor/executor.h"
#include "io/io.h"

struct skiff_predictor;

/* scope and model are borrowed; the scope is only read. */
struct skiff_predictor *predictor_create(struct skiff_scope *scope, const struct skiff_model *model,
                                         const struct executor_options *options);
/* The same of a saved inference model, which it owns. File names NULL: the usual ones. */
enum skiff_status predictor_open(const char *path, const char *program_file,
                                 const char *params_file, const struct executor_options *options,
                                 struct skiff_predictor **out, struct skiff_error *err);
void predictor_destroy(struct skiff_predictor *p);
const struct skiff_model *predictor_model(const struct skiff_predictor *p);
/* inputs: in the order of the model's feeds. out: the first `n` of the model's fetches; the
 * caller's, zeroed or of the run before. */
enum skiff_status predictor_run(struct skiff_predictor *p, const struct tensor *const *inputs,
                                struct skiff_tensor *out, int n, struct skiff_error *err);

/* The slots of the schema that the model's inputs are, in their order; free() them, also after a
 * failure. */
enum skiff_status predict_slots(const struct skiff_predictor *p, const struct schema *schema,
                                int **out, struct skiff_error *err);
/* That a result of so many rows has one prediction for each: */
enum skiff_status predict_check(const struct skiff_predictor *p, const struct tensor *result,
                                int64_t rows, struct skiff_error *err);
/* the last column. */
static inline double predict_value(const struct tensor *result, int64_t row)
{
    int64_t width = result->shape.ndim > 1 ? result->shape.dims[1] : 1;
    return (double)tensor_f32(result)[row * width + width - 1];
}

#endif
