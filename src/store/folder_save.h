/* A folder that several processes write, piece by piece, as one save: tables by servers, the rest
 * by a worker. It is written beside its place, under a name of leftover.h, and takes it at one
 * instant; what was there before goes as a whole.
 *
 *     TRY(folder_save_open(&s, dir, err));
 *     ... all write below s.path ...
 *     status = folder_save_commit(&s, err);     fails: may be tried again
 *     folder_save_close(&s);                    without a commit: nothing is left
 *
 * Where nothing can be exchanged (HDFS) there is an instant with neither. Where renaming is copying
 * (S3) the old one is removed first and the new one is written in its place, with a mark in it
 * until it is whole. Threads: one user. */
#ifndef STORE_FOLDER_SAVE_H
#define STORE_FOLDER_SAVE_H

#include <stdbool.h>

#include "base/error.h"

struct folder_save {
    char *dir, *path; /* owned; where it will be, where it is written */
    char *temp;       /* owned; the folder beside dir that path is in; NULL: it is in none */
    int lock;         /* on temp; -1: none */
    bool marked;      /* path is dir, with the mark in it */
    bool placed;
};

enum skiff_status folder_save_open(struct folder_save *s, const char *dir, struct skiff_error *err);
enum skiff_status folder_save_commit(struct folder_save *s, struct skiff_error *err);
void folder_save_close(struct folder_save *s);

/* FORMAT: whoever saved there was killed before it was whole. */
enum skiff_status folder_save_check(const char *dir, struct skiff_error *err);

/* A folder takes the place of another, which need not be there; what was there is removed. replaced
 * (may be NULL): only entries that begin so are, others stay (not on other machines). When it
 * cannot, both are as they were. On any file system. */
enum skiff_status folder_place(const char *from, const char *dir, const char *replaced,
                               struct skiff_error *err);

#endif
