/* Models on other machines (runner.model_save_path: s3://..., hdfs://...): a folder here, of this
 * process, in TMPDIR, into which they are downloaded when a command begins, and from which every
 * save is uploaded. At the remote place a save is whole or not there: its manifest comes last. */
#ifndef CLI_REMOTE_MODEL_H
#define CLI_REMOTE_MODEL_H

#include "cli/task.h"

/* The folder here that stands for the remote one, which the task remembers. */
const char *remote_model_stage(struct task *j, const char *remote);
/* Makes the folder, with what lies at the remote place. All calls take tasks without one. */
enum skiff_status remote_model_fetch(struct task *j, struct skiff_error *err);
/* Uploads <folder>/<name> instead of what is there. When it fails, the folder here is kept. */
enum skiff_status remote_model_send(struct task *j, const char *name, struct skiff_error *err);
/* For commands that cannot: an error that says so. */
enum skiff_status remote_model_refuse(const struct task *j, const char *why,
                                      struct skiff_error *err);
/* Removes the folder here. */
void remote_model_close(struct task *j);

#endif
