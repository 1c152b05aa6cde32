/* Expanding file names (files.h): folders are walked and patterns matched, local or remote.
 *
 * Every folder's files are sorted by path, so that all workers see the same order. Hidden files,
 * job marks and editor backups are skipped only when a folder is walked: a file that the user
 * names is always taken. The depth of folders is limited, because links may form a circle. */
#define _GNU_SOURCE
#include "data/files.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fs/fs.h"

#define DEPTH_MAX 32 /* folders in folders: a link that goes in circles ends here */

void file_list_init(struct file_list *l)
{
    *l = (struct file_list){0};
}

void file_list_deinit(struct file_list *l)
{
    for (int i = 0; i < l->count; i++)
        free(l->paths[i]);
    free(l->paths);
    free(l->left_out_names);
    *l = (struct file_list){0};
}

int file_list_add(struct file_list *l, const char *path)
{
    struct stat st;
    l->paths = mem_grow_or_die(l->paths, ((size_t)l->count + 1) * sizeof *l->paths);
    l->paths[l->count] = mem_strdup_or_die(path);
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        l->bytes += st.st_size;
    return l->count++;
}

/* All names except ".", "..", our own caches and job markers. */
static bool is_listed(const char *name)
{
    size_t n = strlen(name);
    if (name[0] == '_' || !strcmp(name, ".") || !strcmp(name, ".."))
        return 0;
    return n < 11 || strcmp(name + n - 11, ".skiffcache") != 0;
}

static int listed(const struct dirent *e)
{
    return is_listed(e->d_name);
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && !strcmp(name + n - m, end);
}

static bool is_backup(const char *name)
{
    static const char *const ends[] = {"~", ".swp", ".swo", ".bak", ".orig", NULL};
    for (int i = 0; ends[i]; i++)
        if (ends_with(name, ends[i]))
            return true;
    return name[0] == '.' || (name[0] == '#' && ends_with(name, "#"));
}

static void leave_out(struct file_list *l, const char *path)
{
    struct buf names = BUF_INIT;
    if (++l->left_out > 3)
        return;
    buf_printf(&names, "%s%s%s", l->left_out_names ? l->left_out_names : "",
               l->left_out_names ? ", " : "", path);
    free(l->left_out_names);
    l->left_out_names = mem_strdup_or_die(names.data);
    buf_deinit(&names);
}

static enum skiff_status walk(struct file_list *l, const char *folder, int depth,
                              struct skiff_error *err)
{
    struct dirent **entries;
    enum skiff_status status = SKIFF_OK;
    if (depth == DEPTH_MAX)
        return error_set(err, SKIFF_IO, "%s: more than %d folders deep; does a link point upwards?",
                         folder, DEPTH_MAX);
    int n = scandir(folder, &entries, listed, alphasort);
    if (n < 0)
        return error_set_sys(err, "%s: cannot read the folder", folder);
    size_t len = strlen(folder);
    for (int i = 0; i < n; i++) {
        struct buf path = BUF_INIT;
        struct stat st;
        buf_str(&path, folder);
        if (len && folder[len - 1] != '/')
            buf_char(&path, '/');
        buf_str(&path, entries[i]->d_name);
        if (is_backup(entries[i]->d_name))
            leave_out(l, path.data);
        else if (status == SKIFF_OK && stat(path.data, &st) < 0)
            status = error_set_sys(err, "%s: cannot stat the file", path.data);
        else if (status == SKIFF_OK && S_ISDIR(st.st_mode))
            status = walk(l, path.data, depth + 1, err);
        else if (status == SKIFF_OK)
            file_list_add(l, path.data);
        buf_deinit(&path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static enum skiff_status no_file(const char *name, struct skiff_error *err)
{
    return error_set(err, SKIFF_NOT_FOUND,
                     "%s: the folder holds no data file (files that begin with . or _, and "
                     "backups such as x~, x.swp or x.bak, do not count)",
                     name);
}

static enum skiff_status expand_path(struct file_list *l, const char *name, const struct stat *st,
                                     struct skiff_error *err)
{
    if (!S_ISDIR(st->st_mode)) {
        file_list_add(l, name);
        return SKIFF_OK;
    }
    int before = l->count;
    TRY(walk(l, name, 0, err));
    return l->count == before ? no_file(name, err) : SKIFF_OK;
}

static enum skiff_status expand_pattern(struct file_list *l, const char *name,
                                        struct skiff_error *err)
{
    glob_t g;
    enum skiff_status status = SKIFF_OK;
    int r = glob(name, 0, NULL, &g);
    if (r == GLOB_NOMATCH)
        return error_set(err, SKIFF_NOT_FOUND, "%s: no file matches", name);
    if (r != 0)
        return error_set(err, SKIFF_IO, "%s: cannot look for files that match", name);
    for (size_t i = 0; status == SKIFF_OK && i < g.gl_pathc; i++) {
        struct stat st;
        if (stat(g.gl_pathv[i], &st) < 0)
            status = error_set_sys(err, "%s: cannot stat the file", g.gl_pathv[i]);
        else
            status = expand_path(l, g.gl_pathv[i], &st, err);
    }
    globfree(&g);
    return status;
}

/* ---- remote files ---- */

static void add_remote(struct file_list *l, const char *path, int64_t bytes)
{
    l->paths = mem_grow_or_die(l->paths, ((size_t)l->count + 1) * sizeof *l->paths);
    l->paths[l->count++] = mem_strdup_or_die(path);
    l->bytes += bytes;
}

static enum skiff_status walk_remote(struct file_list *l, const char *folder, int depth,
                                     struct skiff_error *err)
{
    struct fs_list in = {0};
    enum skiff_status status = fs_list(NULL, folder, &in, err);
    if (depth == DEPTH_MAX)
        status = error_set(err, SKIFF_IO, "%s: more than %d folders deep", folder, DEPTH_MAX);
    for (int i = 0; status == SKIFF_OK && i < in.count; i++) {
        const struct fs_entry *e = &in.entries[i];
        const char *name = strrchr(e->path, '/') + 1;
        if (!is_listed(name))
            continue;
        if (is_backup(name))
            leave_out(l, e->path);
        else if (e->stat.folder)
            status = walk_remote(l, e->path, depth + 1, err);
        else
            add_remote(l, e->path, e->stat.size);
    }
    fs_list_deinit(&in);
    return status;
}

static enum skiff_status expand_remote(struct file_list *l, const char *name,
                                       struct skiff_error *err)
{
    struct fs_list found = {0};
    struct fs_stat st;
    int before = l->count;
    enum skiff_status status;
    if (strpbrk(name, "*?["))
        status = fs_glob(NULL, name, &found, err);
    else {
        status = fs_look(NULL, name, &st, err);
        if (status == SKIFF_OK)
            fs_list_add(&found, NULL, name, strlen(name), &st);
    }
    if (status == SKIFF_OK && !found.count)
        status = error_set(err, SKIFF_NOT_FOUND, "%s: no file matches", name);
    for (int i = 0; status == SKIFF_OK && i < found.count; i++) {
        const struct fs_entry *e = &found.entries[i];
        if (e->stat.folder)
            status = walk_remote(l, e->path, 0, err);
        else
            add_remote(l, e->path, e->stat.size);
    }
    if (status == SKIFF_OK && l->count == before)
        status = no_file(name, err);
    fs_list_deinit(&found);
    return status;
}

enum skiff_status file_list_expand(struct file_list *l, const char *name, struct skiff_error *err)
{
    struct stat st;
    if (strcmp(name, "-") == 0) {
        file_list_add(l, name);
        return SKIFF_OK;
    }
    if (fs_is_remote(name))
        return expand_remote(l, name, err);
    if (stat(name, &st) == 0) /* a file whose name contains a * is taken literally */
        return expand_path(l, name, &st, err);
    if (strpbrk(name, "*?["))
        return expand_pattern(l, name, err);
    if (errno == ENOENT)
        return error_set(err, SKIFF_NOT_FOUND, "%s: there is no such file or folder", name);
    return error_set_sys(err, "%s: cannot stat the file", name);
}
