#include "store/folder_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/file.h"

void folder_view_init(struct folder_view *v, const char *dir, struct fs_list *in)
{
    *v = (struct folder_view){.dir = mem_strdup_or_die(dir), .listed = in != NULL};
    if (in) {
        v->in = *in;
        *in = (struct fs_list){0};
    }
}

void folder_view_deinit(struct folder_view *v)
{
    fs_list_deinit(&v->in);
    free(v->dir);
    *v = (struct folder_view){0};
}

const struct fs_entry *folder_view_entry(const struct folder_view *v, const char *name)
{
    char *path = path_join(v->dir, name);
    const struct fs_entry *e = v->listed ? fs_list_find(&v->in, path) : NULL;
    free(path);
    return e;
}

bool folder_view_has(const struct folder_view *v, const char *name)
{
    if (v->listed && !strchr(name, '/'))
        return folder_view_entry(v, name) != NULL;
    char *path = path_join(v->dir, name);
    bool has = file_exists(path);
    free(path);
    return has;
}

const char *folder_view_manifest(const struct folder_view *v)
{
    bool old = !folder_view_has(v, MANIFEST_FILE) && folder_view_has(v, MANIFEST_OLD);
    return old ? MANIFEST_OLD : MANIFEST_FILE;
}

enum skiff_status folder_view_read(const struct folder_view *v, const char *name,
                                   struct manifest *out, struct skiff_error *err)
{
    bool there;
    manifest_deinit(out);
    if (!folder_view_has(v, name))
        return SKIFF_OK;
    char *path = path_join(v->dir, name);
    enum skiff_status status = manifest_read(path, out, &there, err);
    free(path);
    return status;
}
