/* The text files of a save, one per shard, written side by side in bounded memory: lines are
 * buffered per file and appended in blocks, so that a thousand files need neither a thousand
 * descriptors nor a thousand compressors. */
#ifndef SPARSE_SHARD_FILES_H
#define SPARSE_SHARD_FILES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

struct shard_file {
    char *path;
    struct buf text; /* not written yet */
    bool begun;      /* the file exists */
};

struct shard_files {
    struct shard_file *files;
    int n;
    size_t block; /* bytes of text that are buffered per file */
    bool gz;
    const char *converter;   /* a shell command that filters the text; NULL: none. Borrowed */
    const atomic_bool *stop; /* ends the converter */
    struct buf packed;       /* scratch */
};

/* n files, without names yet. stop may be NULL. */
void shard_files_open(struct shard_files *f, int n, bool gz, const char *converter,
                      const atomic_bool *stop);
/* "<dir>/<name>", with ".gz" if compressed. */
void shard_files_name(struct shard_files *f, int i, const char *dir, const char *name);
enum skiff_status shard_files_add(struct shard_files *f, int i, const char *line, size_t n,
                                  struct skiff_error *err);
/* Writes all to disk; files without lines are created, too. */
enum skiff_status shard_files_finish(struct shard_files *f, struct skiff_error *err);
void shard_files_close(struct shard_files *f); /* the files stay as they are */

#endif
