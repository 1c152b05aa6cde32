/* Writing Skiff's binary form (binary.h has the layout; read_binary.c reads it).
 *
 * The end block is written last, then the file is flushed and renamed (fs_commit): a reader never
 * sees an incomplete file. When two processes write the same cache, the last rename wins, and both
 * files are valid. */
#define _GNU_SOURCE
#include "data/binary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/hash.h"
#include "data/record.h"
#include "fs/fs.h"

void binary_schema_text(const struct schema *schema, struct buf *out)
{
    for (int i = 0; i < schema->count; i++) {
        const struct slot *s = &schema->slots[i];
        buf_printf(out, "%s %s %lld %s\n", dtype_name(s->dtype), s->ragged ? "ragged" : "dense",
                   (long long)s->width, s->name);
    }
}

void binary_writer_close(struct binary_writer *w)
{
    fs_abort(w->file);
    free(w->path);
    buf_deinit(&w->block);
    *w = (struct binary_writer){0};
}

enum skiff_status binary_writer_open(struct binary_writer *w, const char *path,
                                     const struct schema *schema, uint64_t key,
                                     struct skiff_error *err)
{
    struct buf head = BUF_INIT, text = BUF_INIT;
    const char *slash = strrchr(path, '/');
    *w = (struct binary_writer){.path = mem_strdup_or_die(path)};
    /* fs_create would make a missing folder; a mistyped cache_dir should be an error instead */
    buf_printf(&text, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    enum skiff_status status = access(text.data, F_OK) < 0
                                   ? error_set_sys(err, "%s: cannot write", path)
                                   : fs_create(NULL, path, &w->file, err);
    buf_reset(&text);
    if (status == SKIFF_OK) {
        binary_schema_text(schema, &text);
        buf_add(&head, BINARY_MAGIC, 8);
        buf_u32(&head, BINARY_VERSION);
        buf_u32(&head, (uint32_t)text.len);
        buf_u64(&head, key);
        buf_add(&head, text.data, text.len);
        buf_u64(&head, hash_xxh64(head.data, head.len, 0));
        status = fs_write(w->file, head.data, head.len, err);
    }
    if (status < 0)
        binary_writer_close(w);
    buf_deinit(&head);
    buf_deinit(&text);
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
    enum skiff_status status = fs_write(w->file, head.data, head.len, err);
    buf_deinit(&head);
    return status < 0 ? status : fs_write(w->file, payload, n, err);
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
        status = fs_commit(w->file, err);
        w->file = NULL;
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
