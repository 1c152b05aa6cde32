/* Files and memory as streams, and the choice of a decoder by the first bytes.
 *
 * By content, not by name: files without an ending, or with the wrong one, are read rightly. Plain
 * files are read without waiting; pipes, sockets and standard input are polled, so that a reader
 * that waits for data hears when it shall stop. */
#define _GNU_SOURCE
#include "data/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "fs/fs.h"

#define HEAD 8 /* bytes looked at to know the kind */

static const struct stream_decoder decoders[] = {
    {"gzip", 2, "\x1f\x8b", stream_gzip_open},
    {"zstd", 4, "\x28\xb5\x2f\xfd", stream_zstd_open},
    {"lz4", 4, "\x04\x22\x4d\x18", stream_lz4_open},
    {"xz", 6,
     "\xfd"
     "7zXZ",
     stream_xz_open},
};

struct stream_raw {
    struct stream base;
    int fd; /* -1: memory, or a file of another machine */
    struct fs_reader *reader;
    bool waits;
    const atomic_bool *stop;
    const char *bytes; /* memory: what is left */
    size_t left;
    char head[HEAD]; /* bytes already read to detect the format */
    size_t head_len, head_at;
    int64_t fetched;
};

static enum skiff_status raw_wait(struct stream_raw *s, struct skiff_error *err)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    for (;;) {
        if (s->stop && atomic_load(s->stop))
            return error_set(err, SKIFF_STATE, "%s: reading was stopped", s->base.name);
        int n = poll(&p, 1, STREAM_WAIT_MS);
        if (n > 0)
            return SKIFF_OK;
        if (n < 0 && errno != EINTR)
            return error_set_sys(err, "%s: cannot wait for data", s->base.name);
    }
}

static enum skiff_status raw_fetch(struct stream_raw *s, void *buf, size_t n, size_t *got,
                                   struct skiff_error *err)
{
    if (s->reader) {
        TRY(fs_read(s->reader, buf, n, got, err));
        s->fetched += (int64_t)*got;
        return SKIFF_OK;
    }
    if (s->fd < 0) {
        *got = n < s->left ? n : s->left;
        memcpy(buf, s->bytes, *got);
        s->bytes += *got;
        s->left -= *got;
        s->fetched += (int64_t)*got;
        return SKIFF_OK;
    }
    for (;;) {
        if (s->waits)
            TRY(raw_wait(s, err));
        ssize_t r = read(s->fd, buf, n);
        if (r >= 0) {
            *got = (size_t)r;
            s->fetched += r;
            return SKIFF_OK;
        }
        if (errno != EINTR)
            return error_set_sys(err, "%s: cannot read", s->base.name);
    }
}

static enum skiff_status raw_read(struct stream *base, void *buf, size_t n, size_t *got,
                                  struct skiff_error *err)
{
    struct stream_raw *s = (struct stream_raw *)base;
    if (s->head_at < s->head_len) {
        *got = s->head_len - s->head_at < n ? s->head_len - s->head_at : n;
        memcpy(buf, s->head + s->head_at, *got);
        s->head_at += *got;
        return SKIFF_OK;
    }
    return raw_fetch(s, buf, n, got, err);
}

static void raw_close(struct stream *base)
{
    struct stream_raw *s = (struct stream_raw *)base;
    if (s->fd > STDIN_FILENO)
        close(s->fd);
    fs_close(s->reader);
    free(s->base.name);
    free(s);
}

static int64_t raw_report(struct stream *base)
{
    return ((struct stream_raw *)base)->fetched;
}

static bool raw_ready(struct stream *base)
{
    struct stream_raw *s = (struct stream_raw *)base;
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    return s->fd < 0 || !s->waits || s->head_at < s->head_len || poll(&p, 1, 0) != 0;
}

static const struct stream_class raw_class = {"plain",    raw_read, raw_close,
                                              raw_report, false,    raw_ready};

static const struct stream_decoder *decoder_of(const char *head, size_t n)
{
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (n >= decoders[i].magic_len &&
            memcmp(head, decoders[i].magic, decoders[i].magic_len) == 0)
            return &decoders[i];
    return NULL;
}

static bool may_be_packed(char first)
{
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (first == decoders[i].magic[0])
            return true;
    return false;
}

/* Looks at the first bytes of s and puts the decoder they ask for on top of it. Takes s over. */
static enum skiff_status stream_decode(struct stream_raw *s, struct stream **out,
                                       struct skiff_error *err)
{
    while (s->head_len < HEAD) {
        size_t got;
        enum skiff_status status =
            raw_fetch(s, s->head + s->head_len, HEAD - s->head_len, &got, err);
        if (status < 0) {
            raw_close(&s->base);
            return status;
        }
        if (got == 0)
            break;
        s->head_len += got;
        if (!may_be_packed(s->head[0]))
            break; /* plain: do not wait for more from a slow terminal */
    }
    const struct stream_decoder *decoder = decoder_of(s->head, s->head_len);
    if (decoder)
        return decoder->open(&s->base, out, err);
    *out = &s->base;
    return SKIFF_OK;
}

enum skiff_status stream_open_fd(int fd, const char *name, const atomic_bool *stop,
                                 struct stream **out, struct skiff_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0) {
        enum skiff_status status = error_set_sys(err, "%s: cannot stat the file", name);
        if (fd > STDIN_FILENO)
            close(fd);
        return status;
    }
    if (S_ISDIR(st.st_mode)) {
        close(fd);
        return error_set(err, SKIFF_IO, "%s: is a folder, a file was expected", name);
    }
    if (S_ISREG(st.st_mode))
        posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    struct stream_raw *s = mem_alloc_or_die(sizeof *s);
    s->base = (struct stream){&raw_class, mem_strdup_or_die(name)};
    s->fd = fd;
    s->waits = !S_ISREG(st.st_mode);
    s->stop = stop;
    return stream_decode(s, out, err);
}

static enum skiff_status open_remote(const char *path, const atomic_bool *stop, struct stream **out,
                                     struct skiff_error *err)
{
    struct fs_reader *reader;
    TRY(fs_open(NULL, path, stop, &reader, err));
    struct stream_raw *s = mem_alloc_or_die(sizeof *s);
    s->base = (struct stream){&raw_class, mem_strdup_or_die(path)};
    s->fd = -1;
    s->reader = reader;
    return stream_decode(s, out, err);
}

enum skiff_status stream_open(const char *path, const atomic_bool *stop, struct stream **out,
                              struct skiff_error *err)
{
    if (strcmp(path, "-") == 0)
        return stream_open_fd(STDIN_FILENO, "standard input", stop, out, err);
    if (fs_is_remote(path))
        return open_remote(path, stop, out, err);
    /* a FIFO without a writer must not block in open: nobody could stop it */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set_sys(err, "%s: cannot open", path);
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    return stream_open_fd(fd, path, stop, out, err);
}

enum skiff_status stream_open_at(const char *path, int64_t offset, const atomic_bool *stop,
                                 struct stream **out, struct skiff_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || lseek(fd, offset, SEEK_SET) < 0) {
        enum skiff_status status = error_set_sys(err, "%s: cannot open", path);
        if (fd >= 0)
            close(fd);
        return status;
    }
    struct stream_raw *s = mem_alloc_or_die(sizeof *s);
    s->base = (struct stream){&raw_class, mem_strdup_or_die(path)};
    s->fd = fd;
    s->stop = stop;
    *out = &s->base;
    return SKIFF_OK;
}

bool stream_is_plain(const char *path, int64_t *out_bytes)
{
    struct stat st;
    char head[HEAD];
    if (strcmp(path, "-") == 0 || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, head, sizeof head);
    close(fd);
    *out_bytes = st.st_size;
    return n >= 0 && !decoder_of(head, (size_t)n);
}

enum skiff_status stream_open_memory(const void *bytes, size_t n, const char *name,
                                     struct stream **out, struct skiff_error *err)
{
    struct stream_raw *s = mem_alloc_or_die(sizeof *s);
    s->base = (struct stream){&raw_class, mem_strdup_or_die(name)};
    s->fd = -1;
    s->bytes = bytes;
    s->left = n;
    return stream_decode(s, out, err);
}
