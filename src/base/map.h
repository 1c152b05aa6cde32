/* Hash maps: by string (names) and by 64-bit id. Open addressing, power-of-two capacity.
 * String keys are borrowed: they must live as long as the entry. Iteration order is insertion
 * order for str_map (walk entries[0..count)), so that whatever is printed is repeatable. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str_map_entry {
    const char *key;
    void *value;
    uint64_t hash;
};

struct str_map {
    struct str_map_entry *entries; /* insertion order; removal keeps the order */
    size_t count, cap;
    uint32_t *index; /* slot -> entry + 1; 0 empty */
    size_t slots;
};

void str_map_init(struct str_map *m);
void str_map_deinit(struct str_map *m);
void *str_map_get(const struct str_map *m, const char *key); /* NULL when absent */
bool str_map_has(const struct str_map *m, const char *key);
void str_map_put(struct str_map *m, const char *key, void *value); /* replaces the value */
bool str_map_remove(struct str_map *m, const char *key);

uint64_t hash_bytes(const void *p, size_t n); /* stable across runs and machines */

/* id_map: distinct ids -> dense index 0..count-1 in order of first appearance. reset is O(1)
 * amortised (generation counter), so one map serves every batch without allocation. */
struct id_map_slot {
    int64_t key;
    uint32_t where; /* dense index of the key */
    uint32_t stamp; /* generation that wrote it; another one: empty */
};

struct id_map {
    struct id_map_slot *slot;
    uint32_t generation, count;
    int shift; /* 64 - log2(slots) */
    size_t slots;
};

void id_map_init(struct id_map *m);
void id_map_deinit(struct id_map *m);
void id_map_reset(struct id_map *m,
                  size_t expected); /* empties it, makes room for `expected` ids */
uint32_t id_map_add(struct id_map *m, int64_t key,
                    bool *out_new);                        /* expected must have been enough */
void id_map_prefetch(const struct id_map *m, int64_t key); /* key will be added or found soon */
bool id_map_find(const struct id_map *m, int64_t key, uint32_t *out); /* false: not there */

#endif
