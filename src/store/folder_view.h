/* What lies in a folder, as one look at it finds it. On another machine every question is a
 * request, and with the hadoop command a process: one listing answers them all. Folders of this
 * machine are asked each time. */
#ifndef STORE_FOLDER_VIEW_H
#define STORE_FOLDER_VIEW_H

#include "fs/fs.h"
#include "store/manifest.h"

struct folder_view {
    char *dir;   /* owned */
    bool listed; /* it is another machine's, and `in` is all that lies in it */
    struct fs_list in;
};

/* Takes the list over; NULL: a folder of this machine. */
void folder_view_init(struct folder_view *v, const char *dir, struct fs_list *in);
void folder_view_deinit(struct folder_view *v); /* one that is zeroed is fine */
/* A file or folder directly in it; below it when there is a slash in the name. */
bool folder_view_has(const struct folder_view *v, const char *name);
/* What a listing says of it; NULL: not listed, or not there. */
const struct fs_entry *folder_view_entry(const struct folder_view *v, const char *name);
/* manifest_in and manifest_read, for what lies in it. */
const char *folder_view_manifest(const struct folder_view *v);
enum skiff_status folder_view_read(const struct folder_view *v, const char *name,
                                   struct manifest *out, struct skiff_error *err);

#endif
