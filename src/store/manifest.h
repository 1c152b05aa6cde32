/* The manifest of a save: which files belong to it, how long they are and their checksums, and what
 * the model is (how far it was trained, by which run). A text that users and YAML readers can
 * read:
 *
 *   skiff_manifest: 1
 *   time: 2026-01-31T12:00:00.000Z
 *   save: 1f0e...           another number for every save
 *   run: 5c0f...            } only if the writer has described it (model_writer_describe)
 *   epoch: 3                }
 *   complete: True          }
 *   steps: 1200             }
 *   samples: 120000         }
 *   position: {batches: 9}  small parts of the save (manifest_note), a line each
 *   files:
 *     "fc_0.w_0": {bytes: 1234, xxh3: "0123456789abcdef"}
 *   whole: "fedcba9876543210"    XXH3 of all bytes above
 *
 * In a folder it is named as Paddle names what is no variable there; of the files x.pdparams and so
 * on it is x.skiff_manifest.yaml. */
#ifndef STORE_MANIFEST_H
#define STORE_MANIFEST_H

#include "base/map.h"
#include "store/file.h"

#define MANIFEST_FILE "__skiff_manifest__"
#define MANIFEST_OLD "skiff_manifest.yaml" /* of a folder, in older versions: read, never written */
#define MANIFEST_ENDING ".skiff_manifest.yaml" /* of a prefix */
/* A phrase for messages. */
#define MANIFEST_WHICH "the manifest that lists it (" MANIFEST_FILE " or *" MANIFEST_ENDING ")"

/* The description of a saved model. Steps and samples are those of the epoch. */
struct model_info {
    int64_t steps, samples;
    int epoch;
    bool complete; /* the epoch was trained to its end */
    char run[40];  /* identifies the run that trained it; kept by --resume */
    char time[32]; /* as read: time of the save; compares greater (strcmp) for a later one */
    bool known;    /* false: no description, the other fields mean nothing */
};

struct manifest_file {
    char *name; /* owned; relative to the folder */
    struct file_sum sum;
};

struct manifest {
    struct model_info note;
    struct buf notes;             /* lines "name: text" */
    uint64_t save;                /* as read; a new manifest gets its own */
    struct manifest_file **files; /* owned; entries do not move */
    int n, cap;
    struct str_map by_name; /* name -> the first file of that name */
};

#define MANIFEST_INIT \
    {                 \
        .n = 0        \
    }

void manifest_deinit(struct manifest *m);
/* Adds an entry with an unknown sum; copies the name. The caller keeps names unique. */
struct manifest_file *manifest_add(struct manifest *m, const char *name);
struct manifest_file *manifest_find(const struct manifest *m, const char *name); /* or NULL */
void manifest_drop(struct manifest *m, const char *name);

/* A small part of the save that has no file: a name of letters, and a text without a line end.
 * Replaces the part of that name. */
void manifest_note(struct manifest *m, const char *name, const char *text);
/* The text; caller's. NULL: there is none. */
char *manifest_note_find(const struct manifest *m, const char *name);
void manifest_encode(const struct manifest *m, struct buf *out);
/* `what` names the file in messages. Refuses names that lead out of the folder. */
enum skiff_status manifest_decode(const char *text, size_t n, const char *what,
                                  struct manifest *out, struct skiff_error *err);
/* When there is no such file, *out is empty and *there is false. */
enum skiff_status manifest_read(const char *path, struct manifest *out, bool *there,
                                struct skiff_error *err);
bool manifest_named(const char *name); /* is it the name of a manifest? */
/* The name of a folder's manifest: MANIFEST_OLD when only that exists. */
const char *manifest_in(const char *dir);
/* Removes the manifest, so that nothing is compared any more. OK when there is none. */
enum skiff_status manifest_remove(const char *dir, struct skiff_error *err);
enum skiff_status manifest_remove_prefix(const char *prefix, struct skiff_error *err);

#endif
