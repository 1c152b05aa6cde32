/* Reading and writing complete files; every atomic write of a saved model goes through the writer
 * here.
 *
 * A file is written under a temporary name next to its target, flushed to the disk, and renamed.
 * Readers see the old file or the new one, never a part, and a power cut cannot leave an empty file
 * under the new name. A writer that is closed without a commit removes its temporary file. */
#include "store/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "fs/fs.h"
#include "store/stale_file.h"
#include "store/manifest.h"

#define PIECE (1 << 20)

/* When the remote storage does not answer, the file may exist: report it as existing, so that the
 * read that follows fails with the real cause instead of "no such file". */
int file_exists(const char *path)
{
    struct fs_stat st;
    enum skiff_status status = fs_look(NULL, path, &st, NULL);
    return status == SKIFF_OK || (status != SKIFF_NOT_FOUND && fs_is_remote(path));
}

int file_is_dir(const char *path)
{
    struct fs_stat st;
    return fs_look(NULL, path, &st, NULL) == SKIFF_OK && st.folder;
}

static enum skiff_status read_all(int fd, const char *path, struct buf *out,
                                  struct skiff_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set_sys(err, "cannot read %s", path);
    if (S_ISDIR(st.st_mode))
        return error_set(err, SKIFF_IO, "cannot read %s: it is a folder, a file was expected",
                         path);
    /* A buf aborts the process when memory runs out. Check with malloc first, so that a huge file
     * is an error and not an abort. */
    void *probe = st.st_size > 1 << 20 ? malloc((size_t)st.st_size + 4096) : NULL;
    if (st.st_size > 1 << 20 && !probe)
        return error_set(err, SKIFF_NOMEM, "cannot read %s: no memory for its %lld bytes", path,
                         (long long)st.st_size);
    free(probe);
    /* Pipes and files of /proc report size 0: read in pieces until the end, whatever stat says. */
    buf_reserve(out, (size_t)st.st_size + 1);
    for (;;) {
        buf_reserve(out, 4096);
        ssize_t got = read(fd, out->data + out->len, out->cap - out->len - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_sys(err, "cannot read %s", path);
        if (got == 0)
            break;
        out->len += (size_t)got;
    }
    out->data[out->len] = 0;
    return SKIFF_OK;
}

static enum skiff_status open_to_read(const char *path, int flags, int *out,
                                      struct skiff_error *err)
{
    if (fs_is_remote(path))
        return fs_fetch(NULL, path, NULL, out, err);
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return error_set(err, SKIFF_NOT_FOUND, "cannot read %s: no such file", path);
    if (fd < 0)
        return error_set_sys(err, "cannot read %s", path);
    *out = fd;
    return SKIFF_OK;
}

enum skiff_status file_open_regular(const char *path, int *out_fd, int64_t *out_size,
                                    struct skiff_error *err)
{
    int fd = -1;
    struct stat st;
    TRY(open_to_read(path, O_NONBLOCK, &fd, err));
    enum skiff_status status = SKIFF_OK;
    if (fstat(fd, &st) < 0)
        status = error_set_sys(err, "cannot read %s", path);
    else if (!S_ISREG(st.st_mode))
        status = error_set(err, SKIFF_IO, "cannot read %s: it is %s, a file was expected", path,
                           S_ISDIR(st.st_mode) ? "a folder" : "no regular file");
    if (status < 0) {
        close(fd);
        return status;
    }
    *out_fd = fd;
    *out_size = st.st_size;
    return SKIFF_OK;
}

/* Reads everything and closes fd. */
static enum skiff_status read_and_close(int fd, const char *path, const struct file_sum *want,
                                        struct buf *out, struct skiff_error *err)
{
    struct buf b = BUF_INIT;
    enum skiff_status status = read_all(fd, path, &b, err);
    close(fd);
    if (status == SKIFF_OK && file_sum_known(want)) {
        struct file_sum found = {(int64_t)b.len, hash_xxh3(b.data, b.len, 0)};
        status = file_sum_compare(path, want, &found, err);
    }
    if (status < 0) {
        buf_deinit(&b);
        return status;
    }
    buf_deinit(out);
    *out = b;
    return SKIFF_OK;
}

enum skiff_status file_read_checked(const char *path, const struct file_sum *want, struct buf *out,
                                    struct skiff_error *err)
{
    int fd = -1;
    int64_t size;
    TRY(file_open_regular(path, &fd, &size, err));
    return read_and_close(fd, path, want, out, err);
}

enum skiff_status file_read(const char *path, struct buf *out, struct skiff_error *err)
{
    int fd = -1;
    TRY(open_to_read(path, 0, &fd, err));
    return read_and_close(fd, path, NULL, out, err);
}

/* ------------------------------------------------------------------ checksums */

static enum skiff_status sum_read(int fd, const char *path, struct file_sum *out,
                                  struct skiff_error *err)
{
    struct hash_stream *hash = hash_stream_create();
    char *piece = mem_alloc_or_die(PIECE);
    ssize_t got;
    out->bytes = 0;
    while ((got = read(fd, piece, PIECE)) > 0 || (got < 0 && errno == EINTR)) {
        if (got < 0)
            continue;
        hash_stream_add(hash, piece, (size_t)got);
        out->bytes += got;
    }
    out->xxh3 = hash_stream_value(hash);
    hash_stream_destroy(hash);
    free(piece);
    return got < 0 ? error_set_sys(err, "cannot read %s", path) : SKIFF_OK;
}

/* EINVAL and EROFS: the file system has no flush, so there is nothing to wait for. */
static bool flush(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == EROFS;
}

enum skiff_status file_sum_of(const char *path, bool on_disk, struct file_sum *out,
                              struct skiff_error *err)
{
    int fd;
    int64_t size;
    TRY(file_open_regular(path, &fd, &size, err));
    enum skiff_status status = sum_read(fd, path, out, err);
    if (status == SKIFF_OK && on_disk && !flush(fd))
        status = error_set_sys(err, "cannot write %s", path);
    close(fd);
    return status;
}

enum skiff_status file_sum_compare(const char *path, const struct file_sum *want,
                                   const struct file_sum *found, struct skiff_error *err)
{
    static const char *const advice =
        "it is damaged or was changed after it was saved: take an older model, or, if it was "
        "changed on purpose, remove " MANIFEST_WHICH;
    if (want->bytes != found->bytes)
        return error_set(err, SKIFF_FORMAT, "%s: %lld bytes by its manifest, %lld bytes found; %s",
                         path, (long long)want->bytes, (long long)found->bytes, advice);
    if (want->xxh3 != found->xxh3)
        return error_set(err, SKIFF_FORMAT,
                         "%s: checksum %016llx by its manifest, %016llx found; %s", path,
                         (unsigned long long)want->xxh3, (unsigned long long)found->xxh3, advice);
    return SKIFF_OK;
}

/* ------------------------------------------------------------------ folders */

enum skiff_status file_sync_dir(const char *dir, struct skiff_error *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum skiff_status status = SKIFF_OK;
    if (fd < 0 && errno == EACCES) /* writable but not readable: cannot be flushed */
        return SKIFF_OK;
    if (fd < 0 || !flush(fd))
        status = error_set_sys(err, "cannot write the folder %s", dir);
    if (fd >= 0)
        close(fd);
    return status;
}

void file_remove_tree(const char *path)
{
    struct stat st;
    if (fs_is_remote(path))
        (void)fs_remove(NULL, path, NULL);
    if (fs_is_remote(path) || lstat(path, &st) < 0)
        return;
    if (!S_ISDIR(st.st_mode)) {
        unlink(path);
        return;
    }
    DIR *d = opendir(path);
    struct buf below = BUF_INIT;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        buf_reset(&below);
        buf_printf(&below, "%s/%s", path, e->d_name);
        file_remove_tree(below.data);
    }
    buf_deinit(&below);
    if (d)
        closedir(d);
    rmdir(path);
}

enum skiff_status file_sync_parent(const char *path, struct skiff_error *err)
{
    const char *slash = strrchr(path, '/');
    struct buf parent = BUF_INIT;
    buf_printf(&parent, "%.*s", slash ? (int)(slash - path + (slash == path)) : 1,
               slash ? path : ".");
    enum skiff_status status = file_sync_dir(parent.data, err);
    buf_deinit(&parent);
    return status;
}

/* Flushes the parent, too: without that entry a power cut loses all files of a new folder. */
static enum skiff_status folder_create(const char *dir, const char *path, struct skiff_error *err)
{
    if (mkdir(dir, 0777) == 0)
        return file_sync_parent(dir, err);
    int why = errno;
    if (why == EEXIST && file_is_dir(dir))
        return SKIFF_OK;
    errno = why;
    if (why == EEXIST)
        return error_set(err, SKIFF_IO,
                         "cannot make folder %s (for %s): there is a file of that name, or a link "
                         "to nowhere",
                         dir, path);
    return error_set_sys(err, "cannot make folder %s (for %s)", dir, path);
}

enum skiff_status file_make_parents(const char *path, struct skiff_error *err)
{
    if (fs_is_remote(path)) /* created together with the files */
        return SKIFF_OK;
    char *copy = mem_strdup_or_die(path);
    enum skiff_status status = SKIFF_OK;
    for (char *p = copy + 1; *copy && status == SKIFF_OK && (p = strchr(p, '/')); p++) {
        *p = 0;
        status = folder_create(copy, path, err);
        *p = '/';
    }
    free(copy);
    return status;
}

/* ------------------------------------------------------------------ atomic writing */

char *file_local_path(const char *path)
{
    struct buf b = BUF_INIT;
    if (!fs_is_remote(path))
        return mem_strdup_or_die(path);
    buf_printf(&b, "%s/skiff", fs_tmpdir());
    return b.data;
}

enum skiff_status file_writer_open(struct file_writer *w, const char *path, struct skiff_error *err)
{
    char *temp, *here = file_local_path(path);
    int fd;
    enum skiff_status status = file_make_parents(path, err);
    if (status == SKIFF_OK)
        status = stale_file_create_file(here, &temp, &fd, err);
    if (status == SKIFF_OK)
        *w = (struct file_writer){.path = mem_strdup_or_die(path), .temp = temp, .fd = fd};
    if (status == SKIFF_OK && fs_is_remote(path))
        (void)fchmod(fd, 0600); /* TMPDIR is readable by other users */
    else if (fs_is_remote(path))
        error_prefix(err, status, "%s", path);
    free(here);
    return status;
}

enum skiff_status file_writer_open_exclusive(struct file_writer *w, const char *path,
                                             const char *target, struct file_sum *sum,
                                             struct skiff_error *err)
{
    int fd = -1;
    if (file_make_parents(path, NULL) == SKIFF_OK)
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_set_sys(err, "cannot write %s", target);
    *w = (struct file_writer){.path = mem_strdup_or_die(target), .fd = fd, .sum = sum};
    if (sum)
        w->hash = hash_stream_create();
    return SKIFF_OK;
}

enum skiff_status file_writer_add(struct file_writer *w, const void *bytes, size_t n,
                                  struct skiff_error *err)
{
    const char *p = bytes;
    while (n) {
        ssize_t done = write(w->fd, p, n < (1u << 30) ? n : (1u << 30));
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return error_set_sys(err, "cannot write %s", w->path);
        if (w->hash)
            hash_stream_add(w->hash, p, (size_t)done);
        w->bytes += done;
        p += done;
        n -= (size_t)done;
    }
    return SKIFF_OK;
}

/* Flush, then rename: if the name reached the disk before the bytes, a power cut would leave an
 * empty file. Rename before close: closing releases the lock, and an unlocked temporary file may be
 * removed as stale. */
static enum skiff_status rename_into_place(struct file_writer *w, struct skiff_error *err)
{
    if (w->temp && fs_is_remote(w->path))
        return fs_send(NULL, w->fd, w->bytes, w->path, err);
    if (!flush(w->fd) || (w->temp && rename(w->temp, w->path) < 0))
        return error_set_sys(err, "cannot write %s", w->path);
    return SKIFF_OK;
}

enum skiff_status file_writer_commit(struct file_writer *w, struct skiff_error *err)
{
    enum skiff_status status = rename_into_place(w, err);
    if (close(w->fd) < 0 && status == SKIFF_OK)
        status = error_set_sys(err, "cannot write %s", w->path);
    w->fd = -1;
    if (status == SKIFF_OK && !fs_is_remote(w->path)) { /* renamed: nothing to remove */
        free(w->temp);
        w->temp = NULL;
    }
    if (status == SKIFF_OK && w->sum)
        *w->sum = (struct file_sum){w->bytes, hash_stream_value(w->hash)};
    file_writer_close(w);
    return status;
}

void file_writer_close(struct file_writer *w)
{
    if (w->temp)
        unlink(w->temp);
    if (w->fd >= 0)
        close(w->fd);
    hash_stream_destroy(w->hash);
    free(w->temp);
    free(w->path);
    *w = (struct file_writer){.fd = -1};
}

static enum skiff_status sink_add(void *user, const void *bytes, size_t n, struct skiff_error *err)
{
    return file_writer_add(user, bytes, n, err);
}

struct byte_sink file_writer_sink(struct file_writer *w)
{
    return (struct byte_sink){sink_add, w};
}

enum skiff_status file_writer_end(struct file_writer *w, enum skiff_status status,
                                  struct skiff_error *err)
{
    if (status == SKIFF_OK)
        return file_writer_commit(w, err);
    file_writer_close(w);
    return status;
}

enum skiff_status file_write(const char *path, const void *bytes, size_t n, struct skiff_error *err)
{
    struct file_writer w;
    TRY(file_writer_open(&w, path, err));
    return file_writer_end(&w, file_writer_add(&w, bytes, n, err), err);
}

const char *path_last(const char *path, size_t *out_n)
{
    size_t end = strlen(path), start;
    while (end && path[end - 1] == '/')
        end--;
    for (start = end; start && path[start - 1] != '/';)
        start--;
    *out_n = end - start;
    return path + start;
}

char *path_join(const char *dir, const char *name)
{
    struct buf b = BUF_INIT;
    size_t n = strlen(dir);
    buf_printf(&b, "%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
    return b.data;
}

char *path_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mem_strdup_or_die(".");
    char *dir = mem_strdup_or_die(path);
    /* roots keep their slash: /, hdfs:/ */
    dir[slash - path + (slash == path || (slash[-1] == ':' && fs_is_remote(path)))] = 0;
    return dir;
}
