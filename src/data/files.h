/* File lists: what the user names (files, folders, globs, "-") as a list of files. */
#ifndef DATA_FILES_H
#define DATA_FILES_H

#include <stdint.h>

#include "base/error.h"

struct file_list {
    char **paths; /* owned */
    int count;
    int64_t bytes;        /* of all regular files, in bytes on disk */
    int left_out;         /* files of folders that look like editor or backup files */
    char *left_out_names; /* the first of them: "d/a~, d/.b"; NULL: none */
};

void file_list_init(struct file_list *l);
void file_list_deinit(struct file_list *l);
int file_list_add(struct file_list *l, const char *path); /* unchanged; returns its index */

/* Adds what `name` stands for: "-" itself; a file itself; a folder all files below it, sorted by
 * path, without hidden ones (.x), job marks (_SUCCESS), and what editors and users leave next to a
 * file (x~, #x#, x.swp, x.swo, x.bak, x.orig); a pattern (* ? [) the matches, sorted, folders among
 * them walked. All of these may lie elsewhere (s3://, hdfs://, ...: fs/fs.h). NOT_FOUND when there
 * is nothing of that name, when a pattern matches nothing, or when a folder holds no file. */
enum skiff_status file_list_expand(struct file_list *l, const char *name, struct skiff_error *err);

#endif
