/* Buffered writers of a save's shard files. Each file gathers lines in its own buffer; a full
 * buffer is compressed as one gzip member and appended, so that a file is a sequence of members
 * and never stays open. With a converter the text is written as it is, and the finished file is
 * passed through the command at the end, since a command needs its input as one stream. Threads:
 * one user. */
#include "sparse/shard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/pipe.h"

/* Buffer of a file before it is written; the limit for all files together where there are many. */
#define TEXT_BLOCK ((size_t)64 << 10)
#define LEAST_BLOCK ((size_t)4 << 10)
#define TEXT_ALL ((size_t)64 << 20)

static size_t block_of(int files)
{
    size_t share = files ? TEXT_ALL / (size_t)files : TEXT_BLOCK;
    return share > TEXT_BLOCK ? TEXT_BLOCK : share < LEAST_BLOCK ? LEAST_BLOCK : share;
}

void shard_files_open(struct shard_files *f, int n, bool gz, const char *converter,
                      const atomic_bool *stop)
{
    *f = (struct shard_files){.n = n, .block = block_of(n), .gz = gz, .stop = stop};
    f->converter = converter && *converter ? converter : NULL;
    f->files = mem_alloc_or_die((size_t)(n + 1) * sizeof *f->files);
}

void shard_files_name(struct shard_files *f, int i, const char *dir, const char *name)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s%s", dir, name, f->gz ? ".gz" : "");
    f->files[i].path = path.data;
}

void shard_files_close(struct shard_files *f)
{
    for (int i = 0; i < f->n; i++) {
        free(f->files[i].path);
        buf_deinit(&f->files[i].text);
    }
    buf_deinit(&f->packed);
    free(f->files);
    *f = (struct shard_files){0};
}

/* ---- bytes ---- */

static enum skiff_status append(struct shard_file *x, const char *bytes, size_t n,
                                struct skiff_error *err)
{
    int fd = open(x->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_set_sys(err, "cannot write %s", x->path);
    x->begun = true;
    enum skiff_status status = SKIFF_OK;
    while (n && status == SKIFF_OK) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno != EINTR)
            status = error_set_sys(err, "cannot write %s", x->path);
        bytes += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    close(fd);
    return status;
}

static enum skiff_status flush(struct shard_files *f, struct shard_file *x, bool gz,
                               struct skiff_error *err)
{
    if (!gz) {
        TRY(append(x, x->text.data, x->text.len, err));
    } else {
        buf_reset(&f->packed);
        TRY(stream_gzip_pack(x->text.data, x->text.len, &f->packed, err));
        TRY(append(x, f->packed.data, f->packed.len, err));
    }
    buf_reset(&x->text);
    return SKIFF_OK;
}

/* A converter gets plain text, and its output is compressed afterwards. */
static bool packs_lines(const struct shard_files *f)
{
    return f->gz && !f->converter;
}

enum skiff_status shard_files_add(struct shard_files *f, int i, const char *line, size_t n,
                                  struct skiff_error *err)
{
    struct shard_file *x = &f->files[i];
    if (x->text.len && x->text.len + n >= f->block)
        TRY(flush(f, x, packs_lines(f), err));
    buf_add(&x->text, line, n);
    return SKIFF_OK;
}

static enum skiff_status sync_file(const char *path, struct skiff_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum skiff_status status = SKIFF_OK;
    if (fd < 0 || fsync(fd) < 0)
        status = error_set_sys(err, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    return status;
}

/* ---- converters ---- */

static enum skiff_status take_output(struct shard_files *f, struct shard_file *x, struct stream *in,
                                     struct skiff_error *err)
{
    for (size_t got = 1; got;) {
        buf_reserve(&x->text, TEXT_BLOCK);
        TRY(stream_read(in, x->text.data + x->text.len, TEXT_BLOCK, &got, err));
        x->text.len += got;
        if (x->text.len >= TEXT_BLOCK || (!got && (x->text.len || !x->begun)))
            TRY(flush(f, x, f->gz, err));
    }
    return SKIFF_OK;
}

/* Replaces the file's text by the converter's output. */
static enum skiff_status convert(struct shard_files *f, struct shard_file *x,
                                 struct skiff_error *err)
{
    struct buf raw = BUF_INIT;
    struct stream *in;
    buf_printf(&raw, "%s.text", x->path);
    x->begun = false;
    enum skiff_status status = rename(x->path, raw.data) == 0
                                   ? pipe_open(f->converter, raw.data, f->stop, &in, err)
                                   : error_set_sys(err, "cannot write %s", raw.data);
    if (status == SKIFF_OK) {
        status = take_output(f, x, in, err);
        stream_close(in);
    }
    unlink(raw.data);
    buf_deinit(&raw);
    return status < 0 ? error_prefix(err, status, "converter") : SKIFF_OK;
}

enum skiff_status shard_files_finish(struct shard_files *f, struct skiff_error *err)
{
    for (int i = 0; i < f->n; i++) {
        struct shard_file *x = &f->files[i];
        if (x->text.len || !x->begun)
            TRY(flush(f, x, packs_lines(f), err));
        if (f->converter)
            TRY(convert(f, x, err));
        TRY(sync_file(x->path, err));
    }
    return SKIFF_OK;
}
