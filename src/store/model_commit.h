/* Commits a save atomically. Private to model_dir.h; no other module includes this. */
#ifndef STORE_MODEL_COMMIT_H
#define STORE_MODEL_COMMIT_H

#include "store/model_dir.h"

/* Call when all files of the writer are written and flushed: moves them to their final paths, with
 * the manifest. */
enum skiff_status commit_move(struct model_writer *w, struct skiff_error *err);
/* Excludes other commits and recoveries in the folder. *out: a descriptor to be closed. On a file
 * system without locks, succeeds without one. */
enum skiff_status commit_lock(const char *dir, int *out, struct skiff_error *err);

/* ---- shared with remote folders ---- */

/* The order in which files are moved: values 0, programs 1, manifests 2. A reader that does not
 * recover first sees a new program only with its parameters. */
int commit_rank(const char *name);
/* Writes the manifest of the save, and rewrites those of the folder that lose files to it. *old
 * (MANIFEST_INIT before, the caller's) gets the previous manifest. */
enum skiff_status commit_manifests(struct model_writer *w, struct manifest *old,
                                   struct skiff_error *err);

/* ---- remote folders: model_remote.c ---- */

enum skiff_status remote_temp(struct model_writer *w, struct skiff_error *err);
enum skiff_status remote_commit(struct model_writer *w, struct skiff_error *err);
/* out (may be NULL): the entries of the folder afterwards, sorted; empty when there is no such
 * folder or it is a file. */
enum skiff_status remote_recover(const char *dir, struct fs_list *out, struct skiff_error *err);

/* The manifest name of files <stem>.pdparams and so on; NULL when the name has none of these
 * endings. */
char *manifest_of_file(const char *file); /* caller's */

#endif
