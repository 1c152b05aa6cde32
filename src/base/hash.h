/* Hashes of bytes by libraries: XXH64 and XXH3 of libxxhash, SipHash of libsodium. Their numbers
 * are in files, in models and on the wire: they never change. map.h has a hash of our own, for
 * names. Any thread. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_xxh64(const void *p, size_t n, uint64_t seed);
uint64_t hash_xxh3(const void *p, size_t n, uint64_t seed); /* for many bytes at once */
/* hash_xxh3 with seed 0 of bytes that come in pieces. */
struct hash_stream;
struct hash_stream *hash_stream_create(void);
void hash_stream_add(struct hash_stream *s, const void *p, size_t n);
uint64_t hash_stream_value(const struct hash_stream *s); /* of all so far; more may come */
void hash_stream_destroy(struct hash_stream *s);         /* NULL is fine */

uint64_t hash_siphash24(const void *p, size_t n); /* SipHash-2-4 with key 0 */

#endif
