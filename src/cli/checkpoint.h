/* Checkpoints: what train leaves behind after an epoch, and how it is found again.
 *
 *   <model_save_path>/<epoch>/rec_static.pdparams .pdopt .pdmodel   as PaddleRec's static trainer
 *                             __model__ and parameters, one file each, with runner.use_inference
 *                             or, of distributed training, the persistables, one file each, and
 *                             __model__
 *                             skiff_state.yaml   epoch, whether it was finished, samples; last */
#ifndef CLI_CHECKPOINT_H
#define CLI_CHECKPOINT_H

#include "cli/task.h"
#include "io/io.h"

struct checkpoint_state {
    int epoch;
    bool complete;
    int64_t samples;
};

/* Before training: makes the folder; an error when nothing can be written there. */
enum skiff_status checkpoint_prepare(const char *folder, struct skiff_error *err);
enum skiff_status checkpoint_save(struct task *j, const char *folder,
                                  const struct checkpoint_state *state, struct skiff_error *err);
/* Of a checkpoint that somebody else has saved (distributed training). */
enum skiff_status checkpoint_write_state(const char *folder, const struct checkpoint_state *state,
                                         struct skiff_error *err);
/* What a program for inference is fed and gives: named by the user, or everything but the label and
 * the prediction. */
struct checkpoint_names {
    struct io_inference what;
    const char *feeds[MODEL_MAX_INPUTS], *targets[1];
};
void checkpoint_inference(struct task *j, struct checkpoint_names *out);
/* The newest epoch below the folder; epoch -1: there is none. */
enum skiff_status checkpoint_find(const char *folder, struct checkpoint_state *out,
                                  struct skiff_error *err);
/* Loads <folder>/<epoch>, or what lies at `path` itself (a folder with rec_static.*, a prefix, or a
 * folder of parameters). */
enum skiff_status checkpoint_load_epoch(struct task *j, const char *folder, int epoch,
                                        struct skiff_error *err);
enum skiff_status checkpoint_load(struct task *j, const char *path, struct skiff_error *err);
bool checkpoint_exists(const char *folder, int epoch);

#endif
