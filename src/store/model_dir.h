/* Model directories: tensors under names, one file each or all in one, and folders that are
 * replaced atomically.
 *
 * Names come from program files, which are not trusted: a '/' in a name is a sub-folder, but a name
 * never leads out of the folder. Threads: one user per writer. */
#ifndef STORE_MODEL_DIR_H
#define STORE_MODEL_DIR_H

#include "base/buf.h"
#include "fs/fs.h"
#include "store/folder_view.h"
#include "store/manifest.h"
#include "store/state.h"
#include "tensor/value.h"

/* Is it safe as a path below a folder? Not empty, not absolute, no "." or ".." or empty part. */
enum skiff_status model_name_check(const char *name, struct skiff_error *err);

/* "a/x" of "a/x.pdparams", "a/x.pdopt", "a/x.pdmodel" and "a/x.pdiparams"; another path as it is.
 * Caller's. */
char *model_prefix_of(const char *path);

/* order[0..n): indices of the names in the order of a combined file (by code point). */
void model_name_order(int n, const char *const *names, int *order);

/* A save in progress: the files of a folder, or those of a prefix. Everything is written to a
 * temporary folder first, with a manifest (manifest.h). Commit moves it to the final path
 * atomically: a reader finds all of the old save or all of the new one, whatever process or machine
 * fails at any time (model_commit.h). Everything that belongs together must go through one writer:
 * two writers commit at two points in time. Files of other saves in the same folder stay, and stay
 * listed. Close without commit leaves no files. After commit, failed or not, the writer is closed.
 */
struct model_writer {
    char *dir, *temp;         /* owned */
    char *manifest;           /* owned; name of its file */
    struct manifest contents; /* the files so far, in order, and the model's description */
    int lock;                 /* descriptor that holds the lock of temp */
    bool fresh;               /* dir did not exist when the writer was opened */
    bool replaces;            /* model_writer_replace */
    const char *drop;         /* by it: borrowed, or NULL */
    bool remote;              /* dir is remote; temp is in TMPDIR */
    struct folder_view view;  /* listing of dir at the commit */
};

enum skiff_status model_writer_open(struct model_writer *w, const char *dir,
                                    struct skiff_error *err);
/* "a/b/name": files name.* in a/b. File names are still relative to the folder and begin with
 * `name`. */
enum skiff_status model_writer_open_prefix(struct model_writer *w, const char *prefix,
                                           struct skiff_error *err);
/* Describes the model: stored in the manifest, returned by model_check. */
void model_writer_describe(struct model_writer *w, const struct model_info *note);
/* The folder belongs to this save alone: files of earlier saves are removed, and `drop`, a file
 * that no manifest lists (NULL: none). */
void model_writer_replace(struct model_writer *w, const char *drop);
/* Does the save have a file of that name already (two parts of a save that share a variable)? */
bool model_writer_has(const struct model_writer *w, const char *file);
/* Opens a file of the save. The caller adds to it and commits it before the writer. */
enum skiff_status model_writer_file(struct model_writer *w, const char *file,
                                    struct file_writer *out, struct skiff_error *err);
/* One variable in its own file. */
enum skiff_status model_writer_value(struct model_writer *w, const char *name,
                                     const struct skiff_tensor *v, struct skiff_error *err);
/* All in one file, sorted by name; such a file can hold only dense tensors. */
enum skiff_status model_writer_combined(struct model_writer *w, const char *file, int n,
                                        const char *const *names,
                                        const struct skiff_tensor *const *values,
                                        struct skiff_error *err);
enum skiff_status model_writer_pickle(struct model_writer *w, const char *file,
                                      const struct state *state, struct skiff_error *err);
enum skiff_status model_writer_bytes(struct model_writer *w, const char *file, const void *bytes,
                                     size_t n, struct skiff_error *err);
enum skiff_status model_writer_commit(struct model_writer *w, struct skiff_error *err);
void model_writer_close(struct model_writer *w);

/* Is the save in the folder (or under the prefix) complete? Reads every file of its manifest and
 * compares size and checksum; the error names the first file that is missing or differs. Without a
 * manifest (saved by Paddle, or an older Skiff): OK, with out->known false. Finishes an interrupted
 * commit first. */
enum skiff_status model_check(const char *dir, struct model_info *out, struct skiff_error *err);
/* The same without reading the files: checks that they exist and have the listed sizes. */
enum skiff_status model_check_sizes(const char *dir, struct model_info *out,
                                    struct skiff_error *err);
/* Reads the description alone and does not check the files. */
enum skiff_status model_info_read(const char *dir, struct model_info *out, struct skiff_error *err);

/* Finishes an interrupted commit into the folder, if there is one. Code that reads files of a model
 * folder directly calls it first; the functions here do. */
enum skiff_status model_recover(const char *dir, struct skiff_error *err);
/* The same, and a listing of the folder afterwards (folder_view_deinit). A folder that does not
 * exist, or is a file, gives an empty one. */
enum skiff_status model_view_open(const char *dir, struct folder_view *out,
                                  struct skiff_error *err);
/* model_check (sums) or model_check_sizes of a folder that is listed, with a manifest that is read
 * already. */
enum skiff_status model_view_check(const struct folder_view *v, const struct manifest *m, bool sums,
                                   struct skiff_error *err);

/* A saved model (a folder, a file of one, or a prefix) to be read in pieces. A remote one is
 * downloaded into a folder of TMPDIR; for a file or prefix, together with the files next to it. */
struct model_copy {
    char *path; /* owned: the local path to read; the given one when it is local */
    char *temp; /* owned, or NULL; removed by close */
    int lock;
};
enum skiff_status model_copy_open(struct model_copy *c, const char *path, struct skiff_error *err);
void model_copy_close(struct model_copy *c);

/* Loading: a snapshot of a folder's manifests. All files of one load are compared with it, so that
 * they belong to one save even when another is committed meanwhile; then the load fails and is
 * worth a retry:
 *
 *     struct model_reader r = MODEL_READER_INIT;
 *     do {
 *         TRY(model_reader_open(&r, dir, "x.pdparams", err));
 *         status = ...;
 *     } while (model_reader_close(&r, status));
 *
 * Threads: one user. */
struct model_reader {
    char *dir;             /* owned */
    char *file;            /* owned; or NULL */
    struct manifest files; /* the listed files, and the description of the folder's manifest */
    struct folder_view view;
    int tries;
};

#define MODEL_READER_INIT \
    {                     \
        .tries = 0        \
    }

/* file: one that will be read, to find the manifest of its prefix; NULL: the folder's alone.
 * Finishes an interrupted commit first. */
enum skiff_status model_reader_open(struct model_reader *r, const char *dir, const char *file,
                                    struct skiff_error *err);
/* The expected sum of a file, for file_read_checked and similar functions; NULL: not listed.
 * NOT_FOUND when it is listed but missing. */
enum skiff_status model_reader_sum(const struct model_reader *r, const char *file,
                                   const struct file_sum **out, struct skiff_error *err);
/* True: loading failed, and another save was committed meanwhile. */
bool model_reader_close(struct model_reader *r, enum skiff_status status);

/* For a file that is about to be written without a model_writer: removes it from the manifests of
 * its folder. */
enum skiff_status model_file_close(const char *path, struct skiff_error *err);

/* Reads names[i] into out[i] (caller's, zeroed or reused); all or none. */
enum skiff_status model_read_separate(const struct model_reader *r, int n, const char *const *names,
                                      struct skiff_tensor *out, struct skiff_error *err);
enum skiff_status model_read_combined(const struct model_reader *r, const char *file, int n,
                                      const char *const *names, struct skiff_tensor *out,
                                      struct skiff_error *err);

#endif
