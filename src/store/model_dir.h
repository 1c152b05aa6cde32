/* Model directories, the file side: tensors under names, one file each or all in one, and whole
 * folders that appear at once.
 *
 * Names come from program files, which may be hostile: a '/' in a name is a sub-folder, but a name
 * never leads out of the folder. Threads: one user per writer. */
#ifndef STORE_MODEL_DIR_H
#define STORE_MODEL_DIR_H

#include "base/buf.h"
#include "tensor/value.h"

/* Is it safe as a path below a folder? Not empty, not absolute, no "." or ".." or empty part. */
enum skiff_status model_name_check(const char *name, struct skiff_error *err);

/* order[0..n): positions of the names in the order of a combined file (by code point). */
void model_name_order(int n, const char *const *names, int *order);

/* A folder being written. Everything goes to a temporary folder first; commit puts it in place: a
 * new folder by one rename; in a folder that exists already, each file by its own rename, in the
 * order in which they were added (so add the program last). Close without commit leaves nothing
 * behind. After commit, failed or not, the writer is closed. */
struct model_writer {
    char *dir, *temp; /* owned */
    bool fresh;       /* dir does not exist yet */
    char **files;     /* owned; relative, in order */
    int nfiles, cap;
};

enum skiff_status model_writer_open(struct model_writer *w, const char *dir,
                                    struct skiff_error *err);
/* The file's path in the temporary folder, for callers that write it by themselves (caller's, to
 * be freed). */
enum skiff_status model_writer_add(struct model_writer *w, const char *file, char **out_path,
                                   struct skiff_error *err);
/* One variable in its own file. */
enum skiff_status model_writer_value(struct model_writer *w, const char *name,
                                     const struct skiff_tensor *v, struct skiff_error *err);
/* All in one file, sorted by name; only dense tensors can stand in such a file. */
enum skiff_status model_writer_combined(struct model_writer *w, const char *file, int n,
                                        const char *const *names,
                                        const struct skiff_tensor *const *values,
                                        struct skiff_error *err);
enum skiff_status model_writer_bytes(struct model_writer *w, const char *file, const void *bytes,
                                     size_t n, struct skiff_error *err);
enum skiff_status model_writer_commit(struct model_writer *w, struct skiff_error *err);
void model_writer_close(struct model_writer *w);

/* Reading: fills out[i] for names[i] (caller's, zeroed or reused); all or none. */
enum skiff_status model_read_separate(const char *dir, int n, const char *const *names,
                                      struct skiff_tensor *out, struct skiff_error *err);
enum skiff_status model_read_combined(const char *path, int n, const char *const *names,
                                      struct skiff_tensor *out, struct skiff_error *err);
/* Writing one combined file outside of a model_writer (it is atomic by itself). */
enum skiff_status model_write_combined(const char *path, int n, const char *const *names,
                                       const struct skiff_tensor *const *values,
                                       struct skiff_error *err);

#endif
