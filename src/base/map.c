/* Hash maps with open addressing.
 *
 * str_map keeps entries in an array in insertion order and hashes to positions in it, so that
 * walking it gives the same order every time; removing shifts and indexes anew, which is rare.
 * id_map is made for one batch after the other: each slot carries the generation that wrote it, so
 * that a reset is one addition, and a home is a multiplication by the golden ratio, because ids are
 * often small and close together. Both keep at least half of their slots free. */
#include "base/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define GOLDEN 0x9e3779b97f4a7c15ull /* 2^64 / golden ratio: spreads nearby numbers */

static inline uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    return h ^ (h >> 32);
}

/* Eight bytes at a time, read little-endian whatever the machine, so that the value is the same
 * everywhere. */
uint64_t hash_bytes(const void *p, size_t n)
{
    const unsigned char *s = p;
    uint64_t h = GOLDEN ^ n;
    for (; n >= 8; n -= 8, s += 8) {
        uint64_t w = 0;
        for (int i = 0; i < 8; i++)
            w |= (uint64_t)s[i] << (8 * i);
        h = mix(h ^ w) * GOLDEN;
    }
    uint64_t w = 0;
    for (size_t i = 0; i < n; i++)
        w |= (uint64_t)s[i] << (8 * i);
    return mix(mix(h ^ w) * GOLDEN);
}

void str_map_init(struct str_map *m)
{
    *m = (struct str_map){0};
}

void str_map_deinit(struct str_map *m)
{
    free(m->entries);
    free(m->index);
    *m = (struct str_map){0};
}

/* The slot that holds the key, or the empty one where it belongs. */
static size_t str_map_slot(const struct str_map *m, const char *key, uint64_t hash)
{
    size_t i = hash & (m->slots - 1);
    for (; m->index[i]; i = (i + 1) & (m->slots - 1)) {
        const struct str_map_entry *e = &m->entries[m->index[i] - 1];
        if (e->hash == hash && strcmp(e->key, key) == 0)
            break;
    }
    return i;
}

static const struct str_map_entry *str_map_find(const struct str_map *m, const char *key)
{
    if (!m->count)
        return NULL;
    uint32_t at = m->index[str_map_slot(m, key, hash_bytes(key, strlen(key)))];
    return at ? &m->entries[at - 1] : NULL;
}

void *str_map_get(const struct str_map *m, const char *key)
{
    const struct str_map_entry *e = str_map_find(m, key);
    return e ? e->value : NULL;
}

bool str_map_has(const struct str_map *m, const char *key)
{
    return str_map_find(m, key) != NULL;
}

static void str_map_reindex(struct str_map *m)
{
    if (m->slots)
        memset(m->index, 0, m->slots * sizeof *m->index);
    for (size_t e = 0; e < m->count; e++) {
        size_t i = m->entries[e].hash & (m->slots - 1);
        while (m->index[i])
            i = (i + 1) & (m->slots - 1);
        m->index[i] = (uint32_t)e + 1;
    }
}

static void str_map_grow(struct str_map *m)
{
    m->cap = m->cap ? m->cap * 2 : 8;
    assert(m->cap <= UINT32_MAX / 2);
    m->entries = mem_grow_or_die(m->entries, m->cap * sizeof *m->entries);
    m->slots = m->cap * 2;
    m->index = mem_grow_or_die(m->index, m->slots * sizeof *m->index);
    str_map_reindex(m);
}

void str_map_put(struct str_map *m, const char *key, void *value)
{
    if (m->count == m->cap)
        str_map_grow(m);
    uint64_t hash = hash_bytes(key, strlen(key));
    size_t slot = str_map_slot(m, key, hash);
    if (m->index[slot]) {
        m->entries[m->index[slot] - 1].value = value;
        return;
    }
    m->entries[m->count] = (struct str_map_entry){key, value, hash};
    m->index[slot] = (uint32_t)++m->count;
}

bool str_map_remove(struct str_map *m, const char *key)
{
    const struct str_map_entry *e = str_map_find(m, key);
    if (!e)
        return false;
    size_t at = (size_t)(e - m->entries);
    memmove(m->entries + at, m->entries + at + 1, (m->count - at - 1) * sizeof *m->entries);
    m->count--;
    str_map_reindex(m);
    return true;
}

void id_map_init(struct id_map *m)
{
    *m = (struct id_map){0};
}

void id_map_deinit(struct id_map *m)
{
    free(m->slot);
    *m = (struct id_map){0};
}

void id_map_reset(struct id_map *m, size_t expected)
{
    m->count = 0;
    if (m->slots && expected <= m->slots / 2) {
        if (++m->generation == 0) { /* stamps of 2^32 resets ago would look fresh */
            memset(m->slot, 0, m->slots * sizeof *m->slot);
            m->generation = 1;
        }
        return;
    }
    size_t slots = m->slots ? m->slots : 16;
    while (slots / 2 < expected)
        slots *= 2;
    free(m->slot);
    m->slot = mem_alloc_or_die(slots * sizeof *m->slot);
    m->slots = slots;
    m->shift = 64 - __builtin_ctzll(slots);
    m->generation = 1;
}

static size_t id_map_home(const struct id_map *m, int64_t key)
{
    uint64_t k = (uint64_t)key;
    return (k ^ (k >> 32)) * GOLDEN >> m->shift;
}

void id_map_prefetch(const struct id_map *m, int64_t key)
{
    __builtin_prefetch(&m->slot[id_map_home(m, key)], 1);
}

bool id_map_find(const struct id_map *m, int64_t key, uint32_t *out)
{
    if (!m->slots)
        return false;
    size_t i = id_map_home(m, key);
    for (; m->slot[i].stamp == m->generation; i = (i + 1) & (m->slots - 1))
        if (m->slot[i].key == key) {
            *out = m->slot[i].where;
            return true;
        }
    return false;
}

uint32_t id_map_add(struct id_map *m, int64_t key, bool *out_new)
{
    size_t i = id_map_home(m, key);
    struct id_map_slot *s = &m->slot[i];
    while (s->stamp == m->generation) {
        if (s->key == key) {
            *out_new = false;
            return s->where;
        }
        i = (i + 1) & (m->slots - 1);
        s = &m->slot[i];
    }
    assert(m->count < m->slots / 2);
    *s = (struct id_map_slot){key, m->count, m->generation};
    *out_new = true;
    return m->count++;
}
