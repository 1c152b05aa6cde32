/* One listing of a folder. On remote storage every question is a request (with the hadoop command,
 * a process): one listing answers them all. Local folders are not listed but asked each time. */
#ifndef STORE_FOLDER_VIEW_H
#define STORE_FOLDER_VIEW_H

#include "fs/fs.h"
#include "store/manifest.h"

struct folder_view {
    char *dir;   /* owned */
    bool listed; /* the folder is remote, and `in` lists all its entries */
    struct fs_list in;
};

/* Takes ownership of the list; NULL: a local folder. */
void folder_view_init(struct folder_view *v, const char *dir, struct fs_list *in);
void folder_view_deinit(struct folder_view *v); /* a zeroed one is fine */
/* A file or folder directly in it; below it when the name contains a slash. */
bool folder_view_has(const struct folder_view *v, const char *name);
/* The listed attributes; NULL: not listed, or not there. */
const struct fs_entry *folder_view_entry(const struct folder_view *v, const char *name);
/* manifest_in and manifest_read for this folder. */
const char *folder_view_manifest(const struct folder_view *v);
enum skiff_status folder_view_read(const struct folder_view *v, const char *name,
                                   struct manifest *out, struct skiff_error *err);

#endif
