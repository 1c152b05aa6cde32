#include "net/assembly.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct assembly {
    struct assembly *next;
    enum wire_type type;
    uint64_t sequence, total, part_bytes; /* part_bytes: of every part but the last */
    uint32_t parts, missing;
    int64_t touched;
    struct blob *block;
    uint8_t *have; /* one bit per part */
};

void assembly_init(struct assembly_set *set, struct assembly_budget *budget)
{
    *set = (struct assembly_set){.budget = budget};
}

/* Takes an assembly out of the set and frees it. */
static void drop(struct assembly_set *set, struct assembly **at)
{
    struct assembly *a = *at;
    *at = a->next;
    set->count--;
    set->budget->used -= a->total;
    blob_unref(a->block);
    free(a->have);
    free(a);
}

void assembly_deinit(struct assembly_set *set)
{
    while (set->first)
        drop(set, &set->first);
}

/* Length of all parts but the last, computed from any one part; 0 when the numbers are
 * inconsistent. */
static uint64_t part_length(const struct wire_head *h)
{
    if (h->part + 1 < h->parts) {
        uint64_t before;
        if (__builtin_mul_overflow(h->length, (uint64_t)(h->parts - 1), &before) ||
            before >= h->total || h->total - before > h->length)
            return 0;
        return h->length;
    }
    uint64_t before = h->total - h->length, n = before / (h->parts - 1);
    return before % (h->parts - 1) == 0 && n >= h->length ? n : 0;
}

static struct assembly **find(struct assembly_set *set, const struct wire_head *h)
{
    struct assembly **at = &set->first;
    while (*at && ((*at)->type != h->type || (*at)->sequence != h->sequence))
        at = &(*at)->next;
    return at;
}

/* Drops the assembly that has been idle for longest. */
static void make_space(struct assembly_set *set)
{
    if (set->count < ASSEMBLIES_MAX)
        return;
    struct assembly **oldest = &set->first;
    for (struct assembly **at = &set->first; *at; at = &(*at)->next)
        if ((*at)->touched < (*oldest)->touched)
            oldest = at;
    drop(set, oldest);
}

static enum skiff_status begin(struct assembly_set *set, const struct wire_head *h,
                               uint64_t part_bytes, struct assembly **out, struct skiff_error *err)
{
    struct assembly_budget *budget = set->budget;
    if (h->total > budget->message_max)
        return error_set(err, SKIFF_RANGE, "message of %llu bytes; the limit is %llu",
                         (unsigned long long)h->total, (unsigned long long)budget->message_max);
    make_space(set);
    if (h->total > budget->limit - budget->used)
        return error_set(
            err, SKIFF_RANGE,
            "message of %llu bytes: %zu of %zu bytes for unfinished messages are in use",
            (unsigned long long)h->total, budget->used, budget->limit);
    struct blob *block;
    TRY(blob_create(h->total, "message in parts", &block, err));
    struct assembly *a = mem_alloc_or_die(sizeof *a);
    *a = (struct assembly){.type = h->type,
                           .sequence = h->sequence,
                           .total = h->total,
                           .part_bytes = part_bytes,
                           .parts = h->parts,
                           .missing = h->parts,
                           .block = block,
                           .have = mem_alloc_or_die((h->parts + 7) / 8),
                           .next = set->first};
    set->first = a;
    set->count++;
    budget->used += h->total;
    *out = a;
    return SKIFF_OK;
}

enum skiff_status assembly_add(struct assembly_set *set, const struct wire_head *h,
                               const uint8_t *body, int64_t now, struct blob **out,
                               struct skiff_error *err)
{
    *out = NULL;
    uint64_t part_bytes = part_length(h);
    if (!part_bytes)
        return error_set(err, SKIFF_FORMAT, "part %u of %u with %llu of %llu bytes", h->part,
                         h->parts, (unsigned long long)h->length, (unsigned long long)h->total);
    struct assembly *a = *find(set, h);
    if (!a)
        TRY(begin(set, h, part_bytes, &a, err));
    if (a->total != h->total || a->parts != h->parts || a->part_bytes != part_bytes)
        return error_set(err, SKIFF_FORMAT, "part %u of %u does not fit the parts before it",
                         h->part, h->parts);
    uint8_t bit = (uint8_t)(1 << h->part % 8);
    if (a->have[h->part / 8] & bit)
        return SKIFF_OK;
    a->have[h->part / 8] |= bit;
    a->touched = now;
    memcpy(a->block->data + h->part * part_bytes, body, h->length);
    if (--a->missing == 0) {
        *out = blob_ref(a->block);
        drop(set, find(set, h));
    }
    return SKIFF_OK;
}

size_t assembly_expire(struct assembly_set *set, int64_t now)
{
    size_t before = set->count;
    for (struct assembly **at = &set->first; *at;)
        if (now - (*at)->touched > set->budget->idle)
            drop(set, at);
        else
            at = &(*at)->next;
    return before - set->count;
}
