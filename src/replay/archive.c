/* Unpacks tar archives: 512-byte blocks, a header and then the content padded with zeros; a zero
 * block ends the archive. A long name has an entry of its own before the file's (GNU: 'L', POSIX:
 * 'x' with "path=").
 *
 * The archive is untrusted: names that leave the folder, links and devices are refused, and the
 * number of files and of bytes is bounded, so that an archive cannot fill the disk. One thread. */
#define _GNU_SOURCE /* memmem */
#include "replay/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "data/stream.h"

enum { BLOCK = 512, NAME_MAX_BYTES = 4096 };

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[6],
        version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header of tar");

struct unpacking {
    struct stream *from;
    const char *path; /* for messages */
    int into;         /* the folder */
    const atomic_bool *stop;
    int64_t bytes, entries;
    struct buf long_name; /* of the next entry; empty: its header has the name */
};

/* Exactly n bytes. */
static enum skiff_status take(struct unpacking *u, void *to, size_t n, struct skiff_error *err)
{
    for (size_t have = 0, got; have < n; have += got) {
        TRY(stream_read(u->from, (char *)to + have, n - have, &got, err));
        if (!got)
            return error_set(err, SKIFF_FORMAT, "%s: the archive ends too early", u->path);
    }
    return SKIFF_OK;
}

/* ---- headers ---- */

static bool octal(const char *text, size_t n, int64_t *out)
{
    size_t i = 0;
    *out = 0;
    while (i < n && text[i] == ' ')
        i++;
    for (; i < n && text[i] >= '0' && text[i] <= '7'; i++)
        *out = *out * 8 + (text[i] - '0');
    return i == n || text[i] == ' ' || !text[i];
}

static bool sum_fits(const struct header *h)
{
    const unsigned char *bytes = (const unsigned char *)h;
    int64_t want, sum = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        bool own = i >= offsetof(struct header, sum) && i < offsetof(struct header, type);
        sum += own ? ' ' : bytes[i];
    }
    return octal(h->sum, sizeof h->sum, &want) && want == sum;
}

static bool is_zero(const struct header *h)
{
    static const struct header zero;
    return memcmp(h, &zero, sizeof zero) == 0;
}

static void name_of(struct unpacking *u, const struct header *h, struct buf *out)
{
    buf_reset(out);
    if (u->long_name.len) {
        buf_str(out, u->long_name.data);
        buf_reset(&u->long_name);
        return;
    }
    if (!memcmp(h->magic, "ustar\0", 6) && h->prefix[0])
        buf_printf(out, "%.*s/", (int)sizeof h->prefix, h->prefix);
    buf_printf(out, "%.*s", (int)sizeof h->name, h->name);
}

/* ---- names ---- */

static enum skiff_status name_check(const struct unpacking *u, const char *name,
                                    struct skiff_error *err)
{
    bool outside = name[0] == '/' || !name[0] || strlen(name) > NAME_MAX_BYTES;
    for (const char *part = name; part && !outside; part = strchr(part, '/')) {
        part += *part == '/';
        outside = !strncmp(part, "..", 2) && (part[2] == '/' || !part[2]);
    }
    if (!outside)
        return SKIFF_OK;
    return error_set(err, SKIFF_FORMAT,
                     "%s: the name \"%.100s\" leads out of the archive; it is not unpacked",
                     u->path, name);
}

/* The folders of a name; the name itself, too, if it ends with '/'. */
static enum skiff_status make_folders(const struct unpacking *u, char *name,
                                      struct skiff_error *err)
{
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int failed = slash > name && mkdirat(u->into, name, 0700) < 0 && errno != EEXIST;
        enum skiff_status status =
            failed ? error_set_sys(err, "%s: cannot make the folder %s", u->path, name) : SKIFF_OK;
        *slash = '/';
        TRY(status);
    }
    return SKIFF_OK;
}

/* ---- entries ---- */

/* The content: to fd, or into text, or nowhere. */
static enum skiff_status content(struct unpacking *u, int64_t size, int fd, struct buf *text,
                                 struct skiff_error *err)
{
    char block[64 * BLOCK];
    while (size > 0) {
        size_t n = size < (int64_t)sizeof block ? (size_t)size : sizeof block;
        TRY(take(u, block, (n + BLOCK - 1) / BLOCK * BLOCK, err));
        size -= (int64_t)n;
        if (text)
            buf_add(text, block, n);
        for (size_t done = 0; fd >= 0 && done < n;) {
            ssize_t w = write(fd, block + done, n - done);
            if (w < 0 && errno != EINTR)
                return error_set_sys(err, "%s: cannot write what is in it", u->path);
            done += w > 0 ? (size_t)w : 0;
        }
    }
    return SKIFF_OK;
}

static enum skiff_status make_file(struct unpacking *u, const char *name, int64_t size,
                                   struct skiff_error *err)
{
    int fd = openat(u->into, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_sys(err, "%s: cannot make the file %s", u->path, name);
    enum skiff_status status = content(u, size, fd, NULL, err);
    if (close(fd) < 0 && status == SKIFF_OK)
        status = error_set_sys(err, "%s: cannot write the file %s", u->path, name);
    return status;
}

/* "30 path=some/long/name\n" among other such lines. */
static void posix_name(const struct buf *text, struct buf *out)
{
    const char *at = text->len ? memmem(text->data, text->len, " path=", 6) : NULL;
    const char *end = at ? strchr(at, '\n') : NULL;
    if (end)
        buf_add(out, at + 6, (size_t)(end - at - 6));
}

/* An entry that says something of the next one. */
static enum skiff_status read_note(struct unpacking *u, char type, int64_t size,
                                   struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    if (size > 16 * NAME_MAX_BYTES)
        return error_set(err, SKIFF_FORMAT, "%s: a file name of %lld bytes is too long", u->path,
                         (long long)size);
    enum skiff_status status = content(u, size, -1, &text, err);
    buf_reset(&u->long_name);
    if (status == SKIFF_OK && type == 'L' && text.len)
        buf_str(&u->long_name, text.data);
    if (status == SKIFF_OK && type == 'x')
        posix_name(&text, &u->long_name);
    buf_deinit(&text);
    return status;
}

static enum skiff_status read_entry(struct unpacking *u, const struct header *h, struct buf *name,
                                    struct skiff_error *err)
{
    int64_t size;
    bool file = h->type == '0' || !h->type;
    if (!sum_fits(h) || !octal(h->size, sizeof h->size, &size))
        return error_set(err, SKIFF_FORMAT, "%s: not a tar archive, or damaged", u->path);
    u->bytes += size;
    if (++u->entries > ARCHIVE_MAX_ENTRIES || u->bytes > ARCHIVE_MAX_BYTES)
        return error_set(err, SKIFF_RANGE, "%s: more than %d files or %d MB; unpack it yourself",
                         u->path, ARCHIVE_MAX_ENTRIES, (int)(ARCHIVE_MAX_BYTES >> 20));
    if (h->type == 'L' || h->type == 'x' || h->type == 'g')
        return read_note(u, h->type, size, err);
    name_of(u, h, name);
    TRY(name_check(u, name->data ? name->data : "", err));
    if (!file && h->type != '5')
        return error_set(err, SKIFF_FORMAT,
                         "%s: %s is a link or a device; only files and folders are unpacked",
                         u->path, name->data);
    if (!file)
        buf_char(name, '/');
    TRY(make_folders(u, name->data, err));
    return file ? make_file(u, name->data, size, err) : content(u, size, -1, NULL, err);
}

static enum skiff_status unpack(struct unpacking *u, const char *into, struct skiff_error *err)
{
    struct header h;
    struct buf name = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    u->into = open(into, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (u->into < 0)
        return error_set_sys(err, "cannot open the folder %s", into);
    while ((status = take(u, &h, sizeof h, err)) == SKIFF_OK && !is_zero(&h)) {
        if (u->stop && atomic_load(u->stop))
            status = error_set(err, SKIFF_STATE, "%s: unpacking was stopped", u->path);
        else
            status = read_entry(u, &h, &name, err);
        if (status < 0)
            break;
    }
    close(u->into);
    buf_deinit(&name);
    buf_deinit(&u->long_name);
    return status;
}

/* ---- public ---- */

bool archive_is_named(const char *path)
{
    static const char *const ends[] = {".tar",     ".tar.gz",  ".tgz",
                                       ".tar.zst", ".tar.lz4", ".tar.xz"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t m = strlen(ends[i]);
        if (n > m && !strcmp(path + n - m, ends[i]))
            return true;
    }
    return false;
}

enum skiff_status archive_unpack(const char *path, const char *into, const atomic_bool *stop,
                                 struct skiff_error *err)
{
    struct unpacking u = {.path = path, .stop = stop};
    TRY(stream_open(path, stop, &u.from, err));
    enum skiff_status status = unpack(&u, into, err);
    stream_close(u.from);
    return status;
}

enum skiff_status archive_unpack_memory(const void *bytes, size_t n, const char *name,
                                        const char *into, struct skiff_error *err)
{
    struct unpacking u = {.path = name};
    TRY(stream_open_memory(bytes, n, name, &u.from, err));
    enum skiff_status status = unpack(&u, into, err);
    stream_close(u.from);
    return status;
}
