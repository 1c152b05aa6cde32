/* Blocks are polynomials over two elements, first bit highest. With the bytes of a block reversed,
 * products are POLYVAL's: a b / x^128 modulo x^128 + x^127 + x^126 + x^121 + 1, for a key that is
 * multiplied by x once (RFC 8452, appendix A). A product needs four multiplications without carry;
 * up to 32 blocks are multiplied by powers of the key and added before one reduction (two more
 * multiplications), so that blocks do not wait for each other. */
#include "base/ghash.h"

#include <string.h>

#if defined(__x86_64__) && !defined(__clang__)

#include <immintrin.h>

#define GROUP 64 /* bytes of four blocks */

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,pclmul,vpclmulqdq")

struct product { /* low + middle x^64 + high x^128 */
    __m512i low, middle, high;
};

static inline __m128i reduced(__m128i low, __m128i middle, __m128i high)
{
    const __m128i poly = _mm_set_epi64x((long long)0xc200000000000000ull, 1);
    middle = _mm_xor_si128(
        middle, _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(poly, low, 0x01)));
    return _mm_xor_si128(high, _mm_xor_si128(_mm_shuffle_epi32(middle, 0x4e),
                                             _mm_clmulepi64_si128(poly, middle, 0x01)));
}

static inline __m128i lanes_sum(__m512i x)
{
    __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

static inline void product_add(struct product *p, __m512i a, __m512i b)
{
    p->low = _mm512_xor_si512(p->low, _mm512_clmulepi64_epi128(a, b, 0x00));
    p->middle = _mm512_ternarylogic_epi64(p->middle, _mm512_clmulepi64_epi128(a, b, 0x01),
                                          _mm512_clmulepi64_epi128(a, b, 0x10), 0x96);
    p->high = _mm512_xor_si512(p->high, _mm512_clmulepi64_epi128(a, b, 0x11));
}

static inline __m128i reversed(const void *block)
{
    const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm_shuffle_epi8(_mm_loadu_si128(block), order);
}

/* The sum of one block and the next n groups. */
static __m128i add_groups(const struct ghash *g, __m128i sum, const uint8_t *bytes, size_t n)
{
    const __m512i order =
        _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const uint64_t(*key)[2] = g->powers + GHASH_POWERS - 4 * n;
    struct product p = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    __m512i before = _mm512_zextsi128_si512(sum);
    for (size_t i = 0; i < n; i++) {
        __m512i x = _mm512_shuffle_epi8(_mm512_loadu_si512(bytes + i * GROUP), order);
        product_add(&p, _mm512_xor_si512(x, before), _mm512_loadu_si512(key + 4 * i));
        before = _mm512_setzero_si512();
    }
    return reduced(lanes_sum(p.low), lanes_sum(p.middle), lanes_sum(p.high));
}

static __m128i times(__m128i a, __m128i b)
{
    __m128i middle =
        _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10));
    return reduced(_mm_clmulepi64_si128(a, b, 0x00), middle, _mm_clmulepi64_si128(a, b, 0x11));
}

void ghash_init(struct ghash *g, const uint8_t key[GHASH_BLOCK])
{
    uint64_t h[2];
    _mm_storeu_si128((__m128i *)h, reversed(key));
    uint64_t carry = 0 - (h[1] >> 63);
    h[1] = (h[1] << 1 | h[0] >> 63) ^ (carry & 0xc200000000000000ull);
    h[0] = h[0] << 1 ^ (carry & 1);
    __m128i first = _mm_loadu_si128((const __m128i *)h), power = first;
    for (int i = GHASH_POWERS - 1; i >= 0; i--) {
        _mm_storeu_si128((__m128i *)g->powers[i], power);
        power = times(power, first);
    }
    ghash_begin(g);
}

static void add_blocks(struct ghash *g, const uint8_t *bytes, size_t n)
{
    const size_t most = GHASH_POWERS / 4;
    __m128i sum = _mm_loadu_si128((const __m128i *)g->sum);
    __m128i key = _mm_loadu_si128((const __m128i *)g->powers[GHASH_POWERS - 1]);
    size_t groups = n / 4;
    for (; groups >= most; groups -= most, bytes += most * GROUP)
        sum = add_groups(g, sum, bytes, most);
    if (groups)
        sum = add_groups(g, sum, bytes, groups);
    bytes += groups * GROUP;
    for (size_t i = 0; i < n % 4; i++)
        sum = times(_mm_xor_si128(sum, reversed(bytes + i * GHASH_BLOCK)), key);
    _mm_storeu_si128((__m128i *)g->sum, sum);
}

void ghash_end(struct ghash *g, uint8_t out[GHASH_BLOCK])
{
    uint8_t lengths[GHASH_BLOCK] = {0};
    if (g->nrest) {
        memset(g->rest + g->nrest, 0, GHASH_BLOCK - g->nrest);
        add_blocks(g, g->rest, 1);
    }
    for (int i = 0; i < 8; i++)
        lengths[i] = (uint8_t)(g->bytes * 8 >> (56 - 8 * i));
    add_blocks(g, lengths, 1);
    _mm_storeu_si128((__m128i *)out, reversed(g->sum));
}

#pragma GCC pop_options

bool ghash_is_fast(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("vpclmulqdq");
}

#else

bool ghash_is_fast(void)
{
    return false;
}

void ghash_init(struct ghash *g, const uint8_t key[GHASH_BLOCK])
{
    memset(g, 0, sizeof *g);
}

static void add_blocks(struct ghash *g, const uint8_t *bytes, size_t n) {}

void ghash_end(struct ghash *g, uint8_t out[GHASH_BLOCK])
{
    memset(out, 0, GHASH_BLOCK);
}

#endif

void ghash_begin(struct ghash *g)
{
    g->sum[0] = g->sum[1] = 0;
    g->nrest = 0;
    g->bytes = 0;
}

void ghash_add(struct ghash *g, const void *bytes, size_t n)
{
    const uint8_t *from = bytes;
    g->bytes += n;
    if (!n)
        return;
    if (g->nrest) {
        size_t some = n < GHASH_BLOCK - g->nrest ? n : GHASH_BLOCK - g->nrest;
        memcpy(g->rest + g->nrest, from, some);
        g->nrest += some;
        from += some;
        n -= some;
        if (g->nrest < GHASH_BLOCK)
            return;
        add_blocks(g, g->rest, 1);
        g->nrest = 0;
    }
    size_t whole = n / GHASH_BLOCK * GHASH_BLOCK;
    if (whole)
        add_blocks(g, from, whole / GHASH_BLOCK);
    g->nrest = n - whole;
    memcpy(g->rest, from + whole, g->nrest);
}
