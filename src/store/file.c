/* Whole files, and the writer that all others stand on.
 *
 * A file is written beside its place under a name of its own, flushed to the disk, and renamed:
 * readers see the old one or the new one, never half, and a power cut cannot leave an empty file
 * under the new name. A writer that is closed without commit takes its temporary file away. */
#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

int file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

int file_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
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
    /* A buf ends the process when there is no memory; a file may be larger than that is worth. */
    void *probe = st.st_size > 1 << 20 ? malloc((size_t)st.st_size + 4096) : NULL;
    if (st.st_size > 1 << 20 && !probe)
        return error_set(err, SKIFF_NOMEM, "cannot read %s: no memory for its %lld bytes", path,
                         (long long)st.st_size);
    free(probe);
    /* Pipes and /proc say size 0: read in pieces until the end, whatever stat says. */
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

enum skiff_status file_read(const char *path, struct buf *out, struct skiff_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return error_set(err, SKIFF_NOT_FOUND, "cannot read %s: no such file", path);
    if (fd < 0)
        return error_set_sys(err, "cannot read %s", path);
    struct buf b = BUF_INIT;
    enum skiff_status status = read_all(fd, path, &b, err);
    close(fd);
    if (status < 0) {
        buf_deinit(&b);
        return status;
    }
    buf_deinit(out);
    *out = b;
    return SKIFF_OK;
}

enum skiff_status file_make_parents(const char *path, struct skiff_error *err)
{
    char *copy = mem_must_strdup(path);
    enum skiff_status status = SKIFF_OK;
    for (char *p = copy + 1; *copy && (p = strchr(p, '/')); p++) {
        *p = 0;
        if (mkdir(copy, 0777) < 0 && !(errno == EEXIST && file_is_dir(copy))) {
            status = error_set_sys(err, "cannot make folder %s (for %s)", copy, path);
            break;
        }
        *p = '/';
    }
    free(copy);
    return status;
}

/* ------------------------------------------------------------------ atomic writing */

enum skiff_status file_writer_open(struct file_writer *w, const char *path, struct skiff_error *err)
{
    static unsigned serial;
    unsigned mine = __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);
    TRY(file_make_parents(path, err));
    struct buf temp = BUF_INIT;
    buf_printf(&temp, "%s.tmp.%ld.%u", path, (long)getpid(), mine);
    int fd = open(temp.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        enum skiff_status status = error_set_sys(err, "cannot write %s", path);
        buf_deinit(&temp);
        return status;
    }
    *w = (struct file_writer){.path = mem_must_strdup(path), .temp = temp.data, .fd = fd};
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
        p += done;
        n -= (size_t)done;
    }
    return SKIFF_OK;
}

enum skiff_status file_writer_commit(struct file_writer *w, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    /* The bytes must be on the disk before the name is: else a power cut leaves an empty file. */
    if (fsync(w->fd) < 0 && errno != EINVAL && errno != EROFS)
        status = error_set_sys(err, "cannot write %s", w->path);
    if (close(w->fd) < 0 && status == SKIFF_OK)
        status = error_set_sys(err, "cannot write %s", w->path);
    w->fd = -1;
    if (status == SKIFF_OK && rename(w->temp, w->path) < 0)
        status = error_set_sys(err, "cannot write %s", w->path);
    if (status == SKIFF_OK) {
        free(w->temp);
        w->temp = NULL;
    }
    file_writer_close(w);
    return status;
}

void file_writer_close(struct file_writer *w)
{
    if (w->fd >= 0)
        close(w->fd);
    if (w->temp)
        unlink(w->temp);
    free(w->temp);
    free(w->path);
    *w = (struct file_writer){.fd = -1};
}

enum skiff_status file_write(const char *path, const void *bytes, size_t n, struct skiff_error *err)
{
    struct file_writer w;
    TRY(file_writer_open(&w, path, err));
    enum skiff_status status = file_writer_add(&w, bytes, n, err);
    if (status == SKIFF_OK)
        return file_writer_commit(&w, err);
    file_writer_close(&w);
    return status;
}
