/* How a save gets into its place at one instant. Part of model_dir.h; nobody else includes this. */
#ifndef STORE_MODEL_COMMIT_H
#define STORE_MODEL_COMMIT_H

#include "store/model_dir.h"

/* All files of the writer are written and flushed. Puts them in place, with the manifest. */
enum skiff_status commit_place(struct model_writer *w, struct skiff_error *err);
/* Keeps commits and settling in the folder off. *out: a descriptor to be closed. A file system
 * without locks does without. */
enum skiff_status commit_lock(const char *dir, int *out, struct skiff_error *err);

/* ---- parts that folders of other machines need, too ---- */

/* Programs (1) after values (0), manifests (2) last: whoever reads without settling sees a new
 * program only with its parameters. */
int commit_rank(const char *name);
/* Writes the manifest of the save, and those of the folder that give files to it. *old
 * (MANIFEST_INIT before, the caller's) is what was listed. */
enum skiff_status commit_manifests(struct model_writer *w, struct manifest *old,
                                   struct skiff_error *err);

/* ---- folders of other machines: model_remote.c ---- */

enum skiff_status remote_temp(struct model_writer *w, struct skiff_error *err);
enum skiff_status remote_commit(struct model_writer *w, struct skiff_error *err);
/* out (may be NULL): what then lies directly in the folder, sorted; nothing when it is not there,
 * or a file. */
enum skiff_status remote_settle(const char *dir, struct fs_list *out, struct skiff_error *err);

/* The manifest of files <stem>.pdparams and so on; NULL when the name has none of these endings. */
char *manifest_of_file(const char *file); /* caller's */

#endif
