/* Writing Skiff's binary form (binary.h has the layout; read_binary.c reads it).
 *
 * A file appears under its name by one rename when its end block is written, so that a reader never
 * sees half of one, and of two processes that write the same cache either may win. */
#define _GNU_SOURCE
#include "data/binary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/hash.h"
#include "data/record.h"

void binary_schema_text(const struct schema *schema, struct buf *out)
{
    for (int i = 0; i < schema->count; i++) {
        const struct slot *s = &schema->slots[i];
        buf_printf(out, "%s %s %lld %s\n", dtype_name(s->dtype), s->ragged ? "ragged" : "dense",
                   (long long)s->width, s->name);
    }
}

static enum skiff_status write_all(struct binary_writer *w, const char *p, size_t n,
                                   struct skiff_error *err)
{
    while (n) {
        ssize_t r = write(w->fd, p, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return error_set_sys(err, "%s: cannot write", w->path);
        p += r;
        n -= (size_t)r;
    }
    return SKIFF_OK;
}

void binary_writer_close(struct binary_writer *w)
{
    if (w->temp) {
        if (w->fd >= 0)
            close(w->fd);
        unlink(w->temp);
    }
    free(w->path);
    free(w->temp);
    buf_deinit(&w->block);
    *w = (struct binary_writer){.fd = -1};
}

enum skiff_status binary_writer_open(struct binary_writer *w, const char *path,
                                     const struct schema *schema, uint64_t key,
                                     struct skiff_error *err)
{
    struct buf head = BUF_INIT, text = BUF_INIT, temp = BUF_INIT;
    enum skiff_status status;
    *w = (struct binary_writer){.path = mem_must_strdup(path), .fd = -1};
    buf_printf(&temp, "%s.tmp.%ld.%llx", path, (long)getpid(), (unsigned long long)rng_entropy());
    w->fd = open(temp.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        status = error_set_sys(err, "%s: cannot write", path);
    } else {
        w->temp = mem_must_strdup(temp.data);
        binary_schema_text(schema, &text);
        buf_add(&head, BINARY_MAGIC, 8);
        buf_u32(&head, BINARY_VERSION);
        buf_u32(&head, (uint32_t)text.len);
        buf_u64(&head, key);
        buf_add(&head, text.data, text.len);
        buf_u64(&head, hash_xxh64(head.data, head.len, 0));
        status = write_all(w, head.data, head.len, err);
    }
    if (status < 0)
        binary_writer_close(w);
    buf_deinit(&head);
    buf_deinit(&text);
    buf_deinit(&temp);
    return status;
}

static enum skiff_status write_block(struct binary_writer *w, const char *payload, size_t n,
                                     uint32_t rows, struct skiff_error *err)
{
    struct buf head = BUF_INIT;
    buf_add(&head, BINARY_BLOCK_MAGIC, 4);
    buf_u32(&head, rows);
    buf_u32(&head, (uint32_t)n);
    buf_u32(&head, 0);
    buf_u64(&head, hash_xxh64(payload, n, rows));
    enum skiff_status status = write_all(w, head.data, head.len, err);
    buf_deinit(&head);
    return status < 0 ? status : write_all(w, payload, n, err);
}

static enum skiff_status flush_block(struct binary_writer *w, struct skiff_error *err)
{
    if (w->rows == 0)
        return SKIFF_OK;
    TRY(write_block(w, w->block.data, w->block.len, w->rows, err));
    buf_reset(&w->block);
    w->rows = 0;
    return SKIFF_OK;
}

enum skiff_status binary_writer_add(struct binary_writer *w, const struct batch *b, int64_t from,
                                    int64_t to, struct skiff_error *err)
{
    for (int64_t row = from; row < to; row++) {
        size_t n = record_bytes(b, row);
        if (n > BINARY_PAYLOAD_MAX - 4)
            return error_set(err, SKIFF_RANGE, "%s: a sample of %zu bytes is too large", w->path,
                             n);
        if (w->block.len + n > BINARY_BLOCK_BYTES)
            TRY(flush_block(w, err));
        buf_u32(&w->block, (uint32_t)n);
        buf_reserve(&w->block, n + 1);
        w->block.len += record_write(b, row, false, w->block.data + w->block.len);
        w->rows++;
        w->total++;
    }
    return SKIFF_OK;
}

enum skiff_status binary_writer_commit(struct binary_writer *w, struct skiff_error *err)
{
    char total[8];
    memcpy(total, &w->total, 8);
    enum skiff_status status = flush_block(w, err);
    if (status == SKIFF_OK)
        status = write_block(w, total, 8, 0, err);
    if (status == SKIFF_OK) {
        int r = close(w->fd);
        w->fd = -1;
        if (r < 0 || rename(w->temp, w->path) < 0)
            status = error_set_sys(err, "%s: cannot write", w->path);
        else {
            free(w->temp);
            w->temp = NULL;
        }
    }
    binary_writer_close(w);
    return status;
}

bool binary_key(const char *path, uint64_t *out)
{
    char head[BINARY_HEADER];
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool ok = fread(head, 1, sizeof head, f) == sizeof head && memcmp(head, BINARY_MAGIC, 8) == 0;
    fclose(f);
    if (ok)
        memcpy(out, head + 16, 8);
    return ok;
}
