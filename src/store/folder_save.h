/* A folder that several processes write, piece by piece, as one save: tables by servers, the rest
 * by a worker. It is written under a temporary name (stale_file.h) next to its final path and then
 * renamed; the previous contents are replaced as a whole.
 *
 *     TRY(folder_save_open(&s, dir, err));
 *     ... all write below s.path ...
 *     status = folder_save_commit(&s, err);     on failure it may be retried
 *     folder_save_close(&s);                    without a commit: removes the temporary folder
 *
 * On HDFS, which cannot exchange folders, there is a moment with neither. Where renaming is copying
 * (S3), the old folder is removed first and the new one is written at the final path, with a mark
 * in it until it is complete. Threads: one user. */
#ifndef STORE_FOLDER_SAVE_H
#define STORE_FOLDER_SAVE_H

#include <stdbool.h>

#include "base/error.h"

struct folder_save {
    char *dir, *path; /* owned; the final path, and where it is written */
    char *temp;       /* owned; temporary folder next to dir that contains path; NULL: none */
    int lock;         /* on temp; -1: none */
    bool marked;      /* path is dir, with the mark in it */
    bool placed;
};

enum skiff_status folder_save_open(struct folder_save *s, const char *dir, struct skiff_error *err);
enum skiff_status folder_save_commit(struct folder_save *s, struct skiff_error *err);
void folder_save_close(struct folder_save *s);

/* FORMAT: a save was interrupted and the folder is incomplete. */
enum skiff_status folder_save_check(const char *dir, struct skiff_error *err);

/* Replaces `to`, which need not exist, by another folder; the old contents are removed. replaced
 * (may be NULL): removes only entries with this prefix, others stay (local folders only). On
 * failure both are unchanged. Works on any file system. */
enum skiff_status folder_move(const char *from, const char *dir, const char *replaced,
                              struct skiff_error *err);

#endif
