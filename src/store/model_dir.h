/* Model directories, the file side: tensors under names, one file each or all in one, and whole
 * folders that appear at once.
 *
 * Names come from program files, which may be hostile: a '/' in a name is a sub-folder, but a name
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

/* order[0..n): positions of the names in the order of a combined file (by code point). */
void model_name_order(int n, const char *const *names, int *order);

/* A save being written: the files of a folder, or those of a prefix. Everything goes to a temporary
 * folder first, with a manifest (manifest.h); commit puts it in place at one instant: whoever loads
 * finds all of the old or all of the new, whatever process or machine dies when (model_commit.h).
 * Everything that belongs together goes through one writer: two commits are two instants. Files of
 * other saves in the same folder stay, and stay listed. Close without commit leaves nothing behind.
 * After commit, failed or not, the writer is closed. */
struct model_writer {
    char *dir, *temp;         /* owned */
    char *manifest;           /* owned; name of its file */
    struct manifest contents; /* the files so far, in order, and the note */
    int lock;                 /* descriptor that says that temp is being written */
    bool fresh;               /* dir did not exist when the writer was opened */
    bool replaces;            /* model_writer_replace */
    const char *drop;         /* of it: borrowed, or NULL */
    bool remote;              /* dir is another machine's, temp lies in TMPDIR */
    struct folder_view view;  /* dir, when the save is put in place */
};

enum skiff_status model_writer_open(struct model_writer *w, const char *dir,
                                    struct skiff_error *err);
/* "a/b/name": files name.* in a/b. Names of files are still given relative to the folder, with
 * `name` in front. */
enum skiff_status model_writer_open_prefix(struct model_writer *w, const char *prefix,
                                           struct skiff_error *err);
/* What the model is: stands in the manifest, model_check tells it. */
void model_writer_describe(struct model_writer *w, const struct model_note *note);
/* The folder belongs to this save alone: what earlier saves have left there goes, and `drop`, a
 * file that no manifest lists (NULL: none). */
void model_writer_replace(struct model_writer *w, const char *drop);
/* Is there a file of that name already (two parts of one save that share a variable)? */
bool model_writer_has(const struct model_writer *w, const char *file);
/* Opens a file of the save; the caller adds to it and commits it before the writer. */
enum skiff_status model_writer_file(struct model_writer *w, const char *file,
                                    struct file_writer *out, struct skiff_error *err);
/* One variable in its own file. */
enum skiff_status model_writer_value(struct model_writer *w, const char *name,
                                     const struct skiff_tensor *v, struct skiff_error *err);
/* All in one file, sorted by name; only dense tensors can stand in such a file. */
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

/* Is what was saved in the folder (or under the prefix) whole? Reads every file of its manifest and
 * compares size and checksum; an error names the first that is missing or differs. Without a
 * manifest (saved by Paddle, or an older Skiff) nothing is known: OK, and out->known is false.
 * First finishes a commit that was cut. */
enum skiff_status model_check(const char *dir, struct model_note *out, struct skiff_error *err);
/* The same without reading them: they are there, and have their sizes. */
enum skiff_status model_check_sizes(const char *dir, struct model_note *out,
                                    struct skiff_error *err);
/* The note alone, without looking at the files. */
enum skiff_status model_note_read(const char *dir, struct model_note *out, struct skiff_error *err);

/* Finishes a commit into the folder that was cut, if there is one. Whoever reads files of a model
 * folder by himself calls it first; the functions here do. */
enum skiff_status model_settle(const char *dir, struct skiff_error *err);
/* The same, and what then lies in the folder, for questions about it (folder_view_deinit). A folder
 * that is not there, or a file, is an empty one. */
enum skiff_status model_view_open(const char *dir, struct folder_view *out,
                                  struct skiff_error *err);
/* model_note_read of a folder that is looked at already. */
enum skiff_status model_view_note(const struct folder_view *v, struct model_note *out,
                                  struct skiff_error *err);

/* A saved model (a folder, a file of one, or a prefix) to be read piece by piece: what lies
 * elsewhere is downloaded into a folder of TMPDIR, for a file or prefix with what lies beside
 * it. */
struct model_copy {
    char *path; /* owned: what to read; the given one when it is this machine's */
    char *temp; /* owned, or NULL; removed by close */
    int lock;
};
enum skiff_status model_copy_open(struct model_copy *c, const char *path, struct skiff_error *err);
void model_copy_close(struct model_copy *c);

/* Loading: what the manifests of a folder say at one moment. All files of one load are compared
 * with it while they are read, so that they are of one save even when another is put there
 * meanwhile; then the load fails, and is worth another try:
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
    struct manifest files; /* what is listed, and the note of the folder's manifest */
    struct folder_view view;
    int tries;
};

#define MODEL_READER_INIT \
    {                     \
        .tries = 0        \
    }

/* file: one that will be read, to find the manifest of its prefix; NULL: the folder's alone. First
 * finishes a commit that was cut. */
enum skiff_status model_reader_open(struct model_reader *r, const char *dir, const char *file,
                                    struct skiff_error *err);
/* What is known of a file, for file_read_checked and its like; NULL: it is not listed. NOT_FOUND
 * when it is listed and not there. */
enum skiff_status model_reader_sum(const struct model_reader *r, const char *file,
                                   const struct file_sum **out, struct skiff_error *err);
/* model_check_sizes of what is listed. */
enum skiff_status model_reader_check_sizes(const struct model_reader *r, struct skiff_error *err);
/* True: it failed, and another save has come meanwhile. */
bool model_reader_close(struct model_reader *r, enum skiff_status status);

/* A file that is about to be written alone, not by a model_writer: what manifests of its folder
 * said of it no longer holds, it is taken off them. */
enum skiff_status model_file_release(const char *path, struct skiff_error *err);

/* Fills out[i] for names[i] (caller's, zeroed or reused); all or none. */
enum skiff_status model_read_separate(const struct model_reader *r, int n, const char *const *names,
                                      struct skiff_tensor *out, struct skiff_error *err);
enum skiff_status model_read_combined(const struct model_reader *r, const char *file, int n,
                                      const char *const *names, struct skiff_tensor *out,
                                      struct skiff_error *err);
/* Writing one combined file outside of a model_writer (it is atomic by itself). */
enum skiff_status model_write_combined(const char *path, int n, const char *const *names,
                                       const struct skiff_tensor *const *values,
                                       struct skiff_error *err);

#endif
