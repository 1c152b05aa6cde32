/* Checkpoints: what train leaves behind after an epoch, and how it is found again.
 *
 *   <model_save_path>/<epoch>/rec_static.pdparams .pdopt .pdmodel   as PaddleRec's static trainer
 *                             __model__ and parameters, one file each, with runner.use_inference
 *                             __skiff_manifest__    files, checksums, epoch, whether it was
 *                             finished, samples, run
 *
 * The same in one process, in ranks and in jobs with servers (collect_write_state in fleet/); with
 * sparse tables, their shards and dnn_plugin/ instead (job_tables.h). All of an epoch is one save
 * (save/save.h): it is there complete or not at all. Epochs of an older Skiff have a
 * skiff_state.yaml: epoch, whether it was finished, samples. */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "task/task.h"
#include "io/io.h"
#include "save/save.h"

struct checkpoint_state {
    int epoch;
    bool complete;
    int64_t samples;
};

/* <folder>/<note->epoch>, instead of what is there. */
enum skiff_status checkpoint_save(struct task *j, const char *folder, const struct model_info *note,
                                  const struct save_attempts *attempts, struct skiff_error *err);
/* The same under another name than the epoch's number. */
enum skiff_status checkpoint_save_to(struct task *j, const char *folder, const char *name,
                                     const struct model_info *note,
                                     const struct save_attempts *attempts, struct skiff_error *err);
/* The inputs that targets need, with the label or without; their number. */
int checkpoint_feeds(const struct task *j, const char *const *targets, int ntargets, bool label,
                     const char **out);
/* What a program for inference is fed and gives: named by the user, or everything that the
 * prediction needs but the label, and the prediction. */
struct checkpoint_names {
    struct io_inference what;
    const char *feeds[SKIFF_MODEL_MAX_INPUTS], *targets[1];
};
void checkpoint_inference(struct task *j, struct checkpoint_names *out);
/* The newest complete epoch below the folder, of the run that saved there last; epoch -1: there is
 * none. Reads all its files; newer ones that are incomplete, or that an earlier run has left, are
 * named in a warning. */
enum skiff_status checkpoint_find(const struct logger *log, const char *folder,
                                  struct checkpoint_state *out, struct skiff_error *err);
/* Loads what lies at `path` itself (a folder with rec_static.*, a prefix, or a folder of
 * parameters). */
enum skiff_status checkpoint_load(struct task *j, const char *path, struct skiff_error *err);
/* Loads an epoch. One whose files are damaged or missing is named in a warning: *incomplete,
 * nothing was loaded, no error. */
enum skiff_status checkpoint_load_whole(struct task *j, const char *folder, int epoch,
                                        struct model_info *out, bool *incomplete,
                                        struct skiff_error *err);
/* The newest complete epoch of the chosen run; newer incomplete ones are named in a warning.
 * out->epoch -1: there is none, nothing was loaded. */
struct run_list;
enum skiff_status checkpoint_load_newest(struct task *j, const char *folder,
                                         const struct run_list *runs, struct model_info *out,
                                         struct skiff_error *err);
/* Loads the newest complete epoch, as checkpoint_find finds it; files are read once. out->epoch -1:
 * there is none, nothing was loaded. */
enum skiff_status checkpoint_resume(struct task *j, const char *folder, struct model_info *out,
                                    struct skiff_error *err);
/* Logs which run an epoch is of, its samples, and when it was saved. */
void checkpoint_print_run(const struct logger *log, const struct model_info *note);
#endif
