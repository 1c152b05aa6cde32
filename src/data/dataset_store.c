/* Samples in memory: blocks of bytes and one pointer per sample. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/dataset_parts.h"
#include "data/record.h"

#define BLOCK ((size_t)1 << 20)

void store_init(struct sample_store *s)
{
    *s = (struct sample_store){0};
}

void store_deinit(struct sample_store *s)
{
    for (size_t i = 0; i < s->nblocks; i++)
        mem_free(s->blocks[i]);
    free(s->blocks);
    mem_free(s->samples);
    *s = (struct sample_store){0};
}

enum skiff_status store_reserve(struct sample_store *s, size_t n, struct skiff_error *err)
{
    size_t want, bytes;
    void *fresh;
    if (s->samples_cap - s->count >= n)
        return SKIFF_OK;
    if (!mem_add(s->count, n, &want) || !mem_add(want, s->samples_cap / 2, &want) ||
        !mem_mul(want, sizeof *s->samples, &bytes))
        return error_set(err, SKIFF_RANGE, "%zu samples are too many", s->count);
    TRY(mem_alloc(bytes, "list of samples", &fresh, err));
    if (s->count)
        memcpy(fresh, s->samples, s->count * sizeof *s->samples);
    mem_free(s->samples);
    s->samples = fresh;
    s->samples_cap = want;
    return SKIFF_OK;
}

/* Space for n bytes in one piece. */
static enum skiff_status reserve_bytes(struct sample_store *s, size_t n, struct skiff_error *err)
{
    void *block;
    if (s->nblocks && s->cap - s->used >= n)
        return SKIFF_OK;
    size_t cap = n > BLOCK / 4 ? n : BLOCK; /* a large sample gets a block of its own */
    TRY(mem_alloc(cap, "samples in memory", &block, err));
    s->blocks = mem_grow_or_die(s->blocks, (s->nblocks + 1) * sizeof *s->blocks);
    s->blocks[s->nblocks++] = block;
    s->cap = cap;
    s->used = 0;
    return SKIFF_OK;
}

#define HEAD (sizeof(struct sample_origin) + 4) /* bytes in front of a record */

/* Where the next sample begins, behind its origin. */
static char *store_begin(struct sample_store *s, struct sample_origin origin)
{
    char *at = s->blocks[s->nblocks - 1] + s->used;
    memcpy(at, &origin, sizeof origin);
    return at + sizeof origin;
}

static void store_end(struct sample_store *s, char *at, size_t n)
{
    uint32_t length = (uint32_t)n;
    memcpy(at, &length, 4);
    s->used += HEAD + n;
    s->samples[s->count++] = at;
}

struct sample_origin sample_origin(const char *sample)
{
    struct sample_origin origin;
    memcpy(&origin, sample - sizeof origin, sizeof origin);
    return origin;
}

enum skiff_status store_add(struct sample_store *s, const struct batch *b, int64_t row,
                            bool drop_zeros, struct sample_origin origin, struct skiff_error *err)
{
    size_t n = record_bytes(b, row);
    if (n > UINT32_MAX - 2 * HEAD)
        return error_set(err, SKIFF_RANGE, "a sample of %zu bytes is too large", n);
    /* dropping zeros may leave one 0 where there was one: never more bytes than before */
    TRY(reserve_bytes(s, n + HEAD, err));
    TRY(store_reserve(s, 1, err));
    char *at = store_begin(s, origin);
    store_end(s, at, record_write(b, row, drop_zeros, at + 4));
    return SKIFF_OK;
}

enum skiff_status store_add_bytes(struct sample_store *s, const char *record, size_t n,
                                  struct skiff_error *err)
{
    TRY(reserve_bytes(s, n + HEAD, err));
    TRY(store_reserve(s, 1, err));
    char *at = store_begin(s, (struct sample_origin){.file = NO_FILE});
    memcpy(at + 4, record, n);
    store_end(s, at, n);
    return SKIFF_OK;
}

void store_take_blocks(struct sample_store *s, struct sample_store *from)
{
    if (from->nblocks == 0)
        return;
    s->blocks = mem_grow_or_die(s->blocks, (s->nblocks + from->nblocks) * sizeof *s->blocks);
    memcpy(s->blocks + s->nblocks, from->blocks, from->nblocks * sizeof *s->blocks);
    s->nblocks += from->nblocks;
    s->used = from->used;
    s->cap = from->cap;
    free(from->blocks);
    from->blocks = NULL;
    from->nblocks = 0;
}
