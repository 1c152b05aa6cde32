/* Local files behind the interface of fs.h.
 *
 * A put writes a temporary file in the same folder, flushes it to the disk and renames it: the file
 * is there completely or not at all. Renames are atomic, so callers need no copy
 * (rename_is_atomic). Removing a folder does not follow links. No state; any thread. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fs/fs.h"
#include "fs/temporary.h"

static const char *plain(const char *path)
{
    return strncmp(path, "file://", 7) ? path : path + 7;
}

static enum skiff_status missing_or(const char *path, const char *what, struct skiff_error *err)
{
    if (errno == ENOENT || errno == ENOTDIR)
        return error_set(err, SKIFF_NOT_FOUND, "%s: there is no such file or folder", path);
    return error_set_sys(err, "%s: %s", path, what);
}

static enum skiff_status local_stat(const struct fs *f, const char *path, struct fs_stat *out,
                                    struct skiff_error *err)
{
    struct stat st;
    if (stat(plain(path), &st) < 0)
        return missing_or(path, "cannot stat the file", err);
    *out = (struct fs_stat){S_ISDIR(st.st_mode), st.st_size, st.st_mtime};
    return SKIFF_OK;
}

static enum skiff_status local_list(const struct fs *f, const char *path, struct fs_list *out,
                                    struct skiff_error *err)
{
    DIR *d = opendir(plain(path));
    struct dirent *e;
    if (!d)
        return missing_or(path, "cannot read the folder", err);
    while ((e = readdir(d))) {
        struct stat st;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
            fstatat(dirfd(d), e->d_name, &st, 0) < 0)
            continue;
        fs_list_add(out, path, e->d_name, strlen(e->d_name),
                    &(struct fs_stat){S_ISDIR(st.st_mode), st.st_size, st.st_mtime});
    }
    closedir(d);
    return SKIFF_OK;
}

/* ---- reading ---- */

struct local_reader {
    struct fs_reader base;
    int fd;
    char *path;
};

static enum skiff_status local_read(struct fs_reader *base, void *buf, size_t n, size_t *got,
                                    struct skiff_error *err)
{
    struct local_reader *r = (struct local_reader *)base;
    ssize_t some;
    do
        some = read(r->fd, buf, n);
    while (some < 0 && errno == EINTR);
    if (some < 0)
        return error_set_sys(err, "%s: cannot read", r->path);
    *got = (size_t)some;
    return SKIFF_OK;
}

static void local_close(struct fs_reader *base)
{
    struct local_reader *r = (struct local_reader *)base;
    close(r->fd);
    free(r->path);
    free(r);
}

static const struct fs_reader_class local_reader_class = {local_read, local_close};

static enum skiff_status local_open(const struct fs *f, const char *path, const atomic_bool *stop,
                                    struct fs_reader **out, struct skiff_error *err)
{
    struct stat st;
    int fd = open(plain(path), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return missing_or(path, "cannot open", err);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        return error_set(err, SKIFF_IO, "%s: is a folder, a file was expected", path);
    }
    struct local_reader *r = mem_alloc_or_die(sizeof *r);
    r->base = (struct fs_reader){&local_reader_class, S_ISREG(st.st_mode) ? st.st_size : -1};
    r->fd = fd;
    r->path = mem_strdup_or_die(path);
    *out = &r->base;
    return SKIFF_OK;
}

/* ---- changing ---- */

static bool copy_bytes(int from, int to, int64_t size)
{
    char block[65536];
    for (int64_t at = 0; at < size;) {
        size_t n = size - at < (int64_t)sizeof block ? (size_t)(size - at) : sizeof block;
        ssize_t got = pread(from, block, n, at);
        if (got <= 0)
            return false;
        for (ssize_t done = 0, w; done < got; done += w)
            if ((w = write(to, block + done, (size_t)(got - done))) < 0)
                return false;
        at += got;
    }
    return true;
}

static enum skiff_status local_put(const struct fs *f, int fd, int64_t size, const char *path,
                                   struct skiff_error *err)
{
    struct buf name = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    buf_str(&name, plain(path));
    int to = fs_temporary(&name, 0666);
    if (to < 0)
        status = error_set_sys(err, "%s: cannot write", path);
    else if (!copy_bytes(fd, to, size) || fsync(to) < 0 || rename(name.data, plain(path)) < 0) {
        status = error_set_sys(err, "%s: cannot write", path);
        unlink(name.data);
    }
    if (to >= 0)
        close(to);
    buf_deinit(&name);
    return status;
}

static enum skiff_status local_mkdirs(const struct fs *f, const char *path, struct skiff_error *err)
{
    char *all = mem_strdup_or_die(plain(path));
    enum skiff_status status = SKIFF_OK;
    struct stat st;
    for (char *at = all + 1; *all && status == SKIFF_OK; at++) {
        char was = *at;
        if (was && was != '/')
            continue;
        *at = 0;
        if (mkdir(all, 0777) < 0 && (errno != EEXIST || stat(all, &st) < 0 || !S_ISDIR(st.st_mode)))
            status = error_set_sys(err, "%s: cannot make the folder", path);
        *at = was;
        if (!was)
            break;
    }
    free(all);
    return status;
}

static enum skiff_status local_rename(const struct fs *f, const char *from, const char *to,
                                      bool replace, const struct fs_stat *known,
                                      struct skiff_error *err)
{
    if (rename(plain(from), plain(to)) < 0)
        return missing_or(from, "cannot rename", err);
    return SKIFF_OK;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    return remove(path);
}

static enum skiff_status local_remove(const struct fs *f, const char *path, bool folder,
                                      struct skiff_error *err)
{
    if (nftw(plain(path), remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        return error_set_sys(err, "%s: cannot remove", path);
    return SKIFF_OK;
}

const struct fs_class fs_local = {.name = "local",
                                  .rename_is_atomic = true,
                                  .at_a_time = 1,
                                  .stat = local_stat,
                                  .list = local_list,
                                  .open = local_open,
                                  .put = local_put,
                                  .mkdirs = local_mkdirs,
                                  .rename = local_rename,
                                  .remove = local_remove};
