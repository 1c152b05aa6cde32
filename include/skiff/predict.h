/* Predicting: a saved model that is ready to run.
 *
 *     struct skiff_predictor *p = skiff_predictor_create("model", NULL, NULL, &err);
 *     skiff_predictor_run(p, inputs, outputs, &err);
 *     skiff_predictor_destroy(p);
 *
 * Threads: any number of threads may call skiff_predictor_run on one predictor at the same time.
 * They share the parameters. Each uses working memory of its own, prepared once per batch size and
 * kept for later runs. create and destroy need the predictor for themselves. */
#ifndef SKIFF_PREDICT_H
#define SKIFF_PREDICT_H

#include <skiff/io.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skiff_predictor;

/* Everything may be left out. */
struct skiff_predictor_options {
    bool no_fuse;                  /* run the program op by op, as it is written */
    const struct skiff_host *host; /* for ops that print or call functions; or NULL */
    /* or NULL: one thread a run; <skiff/thread_pool.h>; outlives the predictor */
    struct skiff_thread_pool *thread_pool;
    uint64_t reserved[4];
};

/* path: the folder of a 1.x inference model, or the prefix of a 2.x one (PREFIX.pdmodel). files:
 * names within the folder, as for skiff_load_inference_model. NULL on failure. */
SKIFF_API struct skiff_predictor *
skiff_predictor_create(const char *path, const struct skiff_model_files *files,
                       const struct skiff_predictor_options *options, struct skiff_error *err);
SKIFF_API void skiff_predictor_destroy(struct skiff_predictor *p); /* NULL is fine */

SKIFF_API int skiff_predictor_inputs(const struct skiff_predictor *p);
SKIFF_API const char *skiff_predictor_input(const struct skiff_predictor *p, int i);
SKIFF_API int skiff_predictor_outputs(const struct skiff_predictor *p);
SKIFF_API const char *skiff_predictor_output(const struct skiff_predictor *p, int i);
/* The model's program, for types and shapes of the variables; borrowed. */
SKIFF_API const struct skiff_program *skiff_predictor_program(const struct skiff_predictor *p);

/* inputs: in the order of skiff_predictor_input, borrowed for the call. outputs[i] is created when
 * it is NULL and reused otherwise; the caller owns it. */
SKIFF_API enum skiff_status skiff_predictor_run(struct skiff_predictor *p,
                                                const struct skiff_tensor *const *inputs,
                                                struct skiff_tensor **outputs,
                                                struct skiff_error *err);

#ifdef __cplusplus
}
#endif
#endif
