/* A line has 12 slots, each with a tag, eight bits of the id's hash, so that a record is read only
 * when it is probably the right one (of six tags, one in 43 matches by chance). With six ids per
 * bucket on average, and up to eight in those that are split last, one bucket in twenty has more
 * than 12 and continues in an overflow line. */
#include "table/id_index.h"

#include <stdbool.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define CAPACITY 12
#define PER_BUCKET 6
#define FIRST_BUCKETS 16
#define LINE_BYTES 64

struct index_line {
    uint8_t tags[CAPACITY]; /* 0: no id here */
    uint32_t more;          /* the next line of the bucket, an overflow slot + 1; 0: none */
    uint32_t row_slots[CAPACITY];
};

_Static_assert(sizeof(struct index_line) == LINE_BYTES, "a line is a cache line");

static inline uint64_t mix(int64_t id)
{
    uint64_t h = (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ (h >> 32);
}

static inline uint8_t tag_of(uint64_t hash)
{
    uint8_t tag = (uint8_t)(hash >> 56);
    return tag ? tag : 1;
}

/* Buckets that do not exist yet are still part of those of half their number. (No branch: it could
 * not be predicted.) */
static inline struct index_line *bucket(const struct id_index *x, uint64_t hash)
{
    uint32_t b = (uint32_t)hash & x->mask;
    return pages_at(&x->lines, b & (x->mask >> (b >= x->lines.top)));
}

static inline struct index_line *next_line(const struct id_index *x, const struct index_line *l)
{
    return l->more ? pages_at(&x->overflow, l->more - 1) : NULL;
}

/* The slots that have this tag, as a set of bits. */
#ifdef __SSE2__
typedef uint32_t slots;

static inline slots match(const struct index_line *l, uint8_t tag)
{
    __m128i tags = _mm_loadu_si128((const __m128i *)(const void *)l->tags);
    __m128i same = _mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag));
    return (uint32_t)_mm_movemask_epi8(same) & ((1u << CAPACITY) - 1);
}

static inline int first_slot(slots m)
{
    return __builtin_ctz(m);
}
#else
/* Slot i < 8 is bit 8 i, slot 8 + i is bit 8 i + 4. */
typedef uint64_t slots;

/* Bit 7 of each byte that is 0. */
static inline uint64_t zero_bytes(uint64_t w)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    return ~(((w & low) + low) | w | low);
}

static inline slots match(const struct index_line *l, uint8_t tag)
{
    uint64_t all = tag * UINT64_C(0x0101010101010101), a, b;
    memcpy(&a, l->tags, 8);
    memcpy(&b, l->tags + 8, 8);
    return zero_bytes(a ^ all) >> 7 | (zero_bytes(b ^ all) & UINT32_MAX) >> 3;
}

static inline int first_slot(slots m)
{
    int bit = __builtin_ctzll(m);
    return (bit >> 3) + ((bit & 4) << 1);
}
#endif

static inline int64_t id_of(const struct id_index *x, uint32_t row_slot)
{
    int64_t id;
    memcpy(&id, pages_at(x->row_list, row_slot), sizeof id);
    return id;
}

/* ---- lifecycle ---- */

enum skiff_status id_index_init(struct id_index *x, const struct pages *row_list,
                                struct skiff_error *err)
{
    *x = (struct id_index){.row_list = row_list, .mask = FIRST_BUCKETS - 1};
    pages_init(&x->lines, LINE_BYTES, row_list->prepared, "a table's index");
    pages_init(&x->overflow, LINE_BYTES, row_list->prepared, "a table's index");
    enum skiff_status status = SKIFF_OK;
    for (uint32_t i = 0; i < FIRST_BUCKETS && status == SKIFF_OK; i++) {
        uint32_t line;
        status = pages_take(&x->lines, &line, err);
    }
    if (status < 0)
        id_index_deinit(x);
    return status;
}

void id_index_deinit(struct id_index *x)
{
    pages_deinit(&x->lines);
    pages_deinit(&x->overflow);
}

size_t id_index_bytes(const struct id_index *x)
{
    return pages_bytes(&x->lines) + pages_bytes(&x->overflow);
}

size_t id_index_growth(const struct id_index *x, size_t ids)
{
    size_t lines = (x->count + ids) / PER_BUCKET + 1;
    return pages_growth(&x->lines, lines > x->lines.top ? lines - x->lines.top : 0) +
           pages_growth(&x->overflow, ids + x->overflow.top / 8);
}

bool id_index_prepare(struct id_index *x)
{
    bool lines = pages_prepare(&x->lines);
    return pages_prepare(&x->overflow) || lines;
}

/* ---- finding ---- */

static inline int64_t id_at(const uint8_t *ids, size_t i)
{
    int64_t id;
    memcpy(&id, ids + 8 * i, sizeof id);
    return id;
}

void id_index_prefetch(const struct id_index *x, const uint8_t *ids, size_t n,
                       struct id_prefetch *out)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = mix(id_at(ids, i));
        out->line[i] = bucket(x, hash);
        out->tag[i] = tag_of(hash);
        __builtin_prefetch(out->line[i], 0, 2);
    }
}

struct found {
    struct index_line *line;
    int slot;
};

static struct found search(const struct id_index *x, uint64_t hash, int64_t id)
{
    for (struct index_line *l = bucket(x, hash); l; l = next_line(x, l)) {
        for (slots m = match(l, tag_of(hash)); m; m &= m - 1)
            if (id_of(x, l->row_slots[first_slot(m)]) == id)
                return (struct found){l, first_slot(m)};
    }
    return (struct found){NULL, -1};
}

uint32_t id_index_find(const struct id_index *x, int64_t id)
{
    struct found f = search(x, mix(id), id);
    return f.line ? f.line->row_slots[f.slot] : PAGES_NONE;
}

/* The record of the first matching tag: most likely the right one, sometimes another. */
static inline uint32_t guess(const struct id_index *x, const struct index_line *l, uint8_t tag)
{
    for (; l; l = next_line(x, l)) {
        slots m = match(l, tag);
        if (m)
            return l->row_slots[first_slot(m)];
    }
    return PAGES_NONE;
}

/* To the second-level cache: it has space for everything that is prefetched at once. */
static inline void ask_for(const char *p, size_t span)
{
    const char *last = p + span - 1;
    for (; p < last; p += 64)
        __builtin_prefetch(p, 0, 2);
    __builtin_prefetch(last, 0, 2);
}

void id_index_near(const struct id_index *x, size_t n, size_t span, struct id_prefetch *prefetch)
{
    for (size_t i = 0; i < n; i++) {
        prefetch->row_slot[i] = guess(x, prefetch->line[i], prefetch->tag[i]);
        if (prefetch->row_slot[i] != PAGES_NONE)
            ask_for(pages_at(x->row_list, prefetch->row_slot[i]), span);
    }
}

void id_index_find_many(const struct id_index *x, const struct id_prefetch *prefetch,
                        const uint8_t *ids, size_t n, uint32_t *row_slots, void **row_list)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t row_slot = prefetch->row_slot[i];
        int64_t id = id_at(ids, i);
        if (row_slot != PAGES_NONE && id_of(x, row_slot) != id)
            row_slot = id_index_find(x, id);
        row_slots[i] = row_slot;
        row_list[i] = row_slot == PAGES_NONE ? NULL : pages_at(x->row_list, row_slot);
    }
}

/* ---- adding ---- */

/* An empty slot of the bucket, in a new line if necessary. */
static enum skiff_status empty_slot(struct id_index *x, uint64_t hash, struct found *out,
                                    struct skiff_error *err)
{
    struct index_line *l = bucket(x, hash), *next;
    for (;; l = next) {
        slots m = match(l, 0);
        if (m) {
            *out = (struct found){l, first_slot(m)};
            return SKIFF_OK;
        }
        next = next_line(x, l);
        if (!next)
            break;
    }
    uint32_t row_slot;
    TRY(pages_take(&x->overflow, &row_slot, err));
    l->more = row_slot + 1;
    next = next_line(x, l);
    memset(next, 0, sizeof *next);
    *out = (struct found){next, 0};
    return SKIFF_OK;
}

static void set_slot(struct found f, uint64_t hash, uint32_t row_slot)
{
    f.line->tags[f.slot] = tag_of(hash);
    f.line->row_slots[f.slot] = row_slot;
}

/* Puts an id back into a bucket that was split. Both halves together need no more overflow lines
 * than the original, and those have just been freed: there is space. */
static void put_back(struct id_index *x, uint32_t row_slot)
{
    uint64_t hash = mix(id_of(x, row_slot));
    struct found f;
    if (empty_slot(x, hash, &f, NULL) == SKIFF_OK)
        set_slot(f, hash, row_slot);
}

/* Prefetches the line that a later split will read. */
static void split_prefetch(const struct id_index *x, uint32_t from)
{
    const struct index_line *l = pages_at(&x->lines, from);
    for (int i = 0; i < CAPACITY; i++)
        if (l->tags[i])
            __builtin_prefetch(pages_at(x->row_list, l->row_slots[i]));
    if (from + 1 < x->lines.top)
        __builtin_prefetch(pages_at(&x->lines, from + 1));
}

static enum skiff_status split(struct id_index *x, struct skiff_error *err)
{
    uint32_t fresh, from = x->lines.top & (x->mask >> 1);
    bool full = x->lines.top == x->mask + 1; /* this round of splits is over: a new one begins */
    if (full) {
        if (x->mask == UINT32_MAX >> 1)
            return SKIFF_OK; /* 2^31 buckets: longer chains from here on */
        from = 0;
    }
    TRY(pages_take(&x->lines, &fresh, err));
    if (full)
        x->mask = 2 * x->mask + 1;
    struct index_line *first = pages_at(&x->lines, from), l = *first;
    memset(first, 0, sizeof *first);
    for (;;) {
        uint32_t more = l.more;
        struct index_line next;
        if (more) {
            next = *(struct index_line *)pages_at(&x->overflow, more - 1);
            pages_give_back(&x->overflow, more - 1);
        }
        for (int i = 0; i < CAPACITY; i++)
            if (l.tags[i])
                put_back(x, l.row_slots[i]);
        if (!more)
            break;
        l = next;
    }
    split_prefetch(x, x->lines.top == x->mask + 1 ? 0 : from + 1);
    return SKIFF_OK;
}

enum skiff_status id_index_add(struct id_index *x, int64_t id, uint32_t row_slot,
                               struct skiff_error *err)
{
    uint64_t hash = mix(id);
    struct found f;
    if (x->count / PER_BUCKET >= x->lines.top)
        TRY(split(x, err));
    TRY(empty_slot(x, hash, &f, err));
    set_slot(f, hash, row_slot);
    x->count++;
    return SKIFF_OK;
}

/* ---- removing ---- */

static bool is_empty(const struct index_line *l)
{
    static const uint8_t none[CAPACITY];
    return !memcmp(l->tags, none, sizeof none);
}

/* Frees overflow lines without ids. */
static void trim(struct id_index *x, struct index_line *l)
{
    for (struct index_line *next; (next = next_line(x, l));) {
        if (!is_empty(next)) {
            l = next;
            continue;
        }
        uint32_t row_slot = l->more - 1;
        l->more = next->more;
        pages_give_back(&x->overflow, row_slot);
    }
}

uint32_t id_index_remove(struct id_index *x, int64_t id)
{
    uint64_t hash = mix(id);
    struct found f = search(x, hash, id);
    if (!f.line)
        return PAGES_NONE;
    uint32_t row_slot = f.line->row_slots[f.slot];
    f.line->tags[f.slot] = 0;
    x->count--;
    trim(x, bucket(x, hash));
    return row_slot;
}

/* ---- in order ---- */

static uint64_t reverse_bits(uint64_t x)
{
    x = (x >> 1 & UINT64_C(0x5555555555555555)) | (x & UINT64_C(0x5555555555555555)) << 1;
    x = (x >> 2 & UINT64_C(0x3333333333333333)) | (x & UINT64_C(0x3333333333333333)) << 2;
    x = (x >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (x & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
    return __builtin_bswap64(x);
}

/* A bucket is the lowest bits of a hash. Reversed, they are the highest ones: so a bucket is one
 * range of positions, and so are the halves into which it is split. */
uint64_t id_position(int64_t id)
{
    return reverse_bits(mix(id));
}

/* The last position of the bucket that contains this hash. */
static uint64_t last_of_bucket(const struct id_index *x, uint64_t hash)
{
    uint64_t half = x->mask >> 1, b = hash & half;
    bool is_split = b + half + 1 < x->lines.top;
    uint64_t mask = is_split ? x->mask : half;
    return reverse_bits(hash | ~mask);
}

size_t id_index_after(const struct id_index *x, uint64_t position, uint32_t *row_slots,
                      uint64_t *positions, uint64_t *out_last)
{
    uint64_t hash = reverse_bits(position);
    size_t n = 0;
    *out_last = last_of_bucket(x, hash);
    for (const struct index_line *l = bucket(x, hash); l; l = next_line(x, l)) {
        for (int i = 0; i < CAPACITY; i++) {
            uint64_t p = l->tags[i] ? id_position(id_of(x, l->row_slots[i])) : 0;
            if (!l->tags[i] || p < position || p > *out_last)
                continue;
            size_t at = n;
            for (; at && positions[at - 1] > p; at--)
                if (at < ID_INDEX_MANY) {
                    positions[at] = positions[at - 1];
                    row_slots[at] = row_slots[at - 1];
                }
            if (at == ID_INDEX_MANY)
                continue;
            positions[at] = p;
            row_slots[at] = l->row_slots[i];
            n += n < ID_INDEX_MANY;
            if (n == ID_INDEX_MANY)
                *out_last = positions[n - 1];
        }
    }
    return n;
}
