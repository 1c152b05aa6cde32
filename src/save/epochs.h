/* Epochs: the folders <model_save_path>/<epoch> that skiff train leaves, whichever process saved
 * them, in any layout of an epoch (contents.h). Each is one save: it is there whole or not at all.
 * Its manifest says which run, epoch and number of samples it holds. Epochs of older versions have
 * this in a separate file, skiff_state.yaml. An epoch with neither comes from another program and
 * counts as complete. */
#ifndef SAVE_EPOCHS_H
#define SAVE_EPOCHS_H

#include "save/contents.h"

#define SAVE_OLD_STATE "skiff_state.yaml"

/* Before training: makes the folder, removes what killed saves have left there; an error when
 * nothing can be written. */
enum skiff_status save_epochs_prepare(const char *folder, struct skiff_error *err);
/* Before training: can epochs first up to end be put where they belong? */
enum skiff_status save_epochs_check(const char *folder, int first, int end,
                                    struct skiff_error *err);
/* Gives the run a name of its own. */
void save_new_run(struct model_info *info);
/* Numbers that folders there have, the highest first; (*out)[0 .. *out_n) is the caller's, whatever
 * comes of it. No folder: none. Whether an epoch is in them: save_epoch_exists. */
enum skiff_status save_epochs_list(const char *folder, int **out, int *out_n,
                                   struct skiff_error *err);
bool save_epoch_exists(const char *folder, int epoch);
/* The same; and what is in its folder (save_close), when it exists. */
bool save_epoch_open(const char *folder, int epoch, struct save_contents *out);
/* The highest epoch below `epoch` that is there, whole or not; -1: none. */
int save_epoch_before(const char *folder, int epoch);
/* What the manifest says of the epoch, else the state of an older version. */
enum skiff_status save_epoch_info(const struct save_contents *c, int epoch, struct model_info *out,
                                  struct skiff_error *err);
/* save_check, and: an epoch without a manifest, as older versions left it, has both pickles. */
enum skiff_status save_epoch_complete(const struct save_contents *c, bool sums,
                                      struct skiff_error *err);
/* The same of all files with their checksums. *out: save_epoch_info. */
enum skiff_status save_epoch_check(const char *folder, int epoch, struct model_info *out,
                                   struct skiff_error *err);

#endif
