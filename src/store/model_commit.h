/* How a save gets into its place at one instant. Part of model_dir.h; nobody else includes this. */
#ifndef STORE_MODEL_COMMIT_H
#define STORE_MODEL_COMMIT_H

#include "store/model_dir.h"

/* All files of the writer are written and flushed. Puts them in place, with the manifest. */
enum skiff_status commit_place(struct model_writer *w, struct skiff_error *err);
/* Keeps commits and settling in the folder off. *out: a descriptor to be closed. A file system
 * without locks does without. */
enum skiff_status commit_lock(const char *dir, int *out, struct skiff_error *err);

char *path_join(const char *dir, const char *name); /* caller's */
/* The manifest of files <stem>.pdparams and so on; NULL when the name has none of these endings. */
char *manifest_of_file(const char *file); /* caller's */

#endif
