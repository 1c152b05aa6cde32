/* Skiff's own binary form of samples: what read_binary reads and a cache is made of.
 *
 *   header   "SKIFFDAT", u32 version 1, u32 bytes of the schema text, u64 key, schema text, u64
 *            checksum of all before it. Schema text: one line per slot, `int64 ragged 1 C1`.
 *   block    "SKBL", u32 rows, u32 bytes, u32 0, u64 checksum of the payload (seed: rows), payload:
 *            per row u32 bytes and a record (record.h)
 *   end      a block of 0 rows whose payload is the u64 number of rows in the file
 *
 * All numbers little-endian; checksums are XXH64. A file without its end was not finished. */
#ifndef DATA_BINARY_H
#define DATA_BINARY_H

#include "base/buf.h"
#include "data/batch.h"

#define BINARY_MAGIC "SKIFFDAT"
#define BINARY_BLOCK_MAGIC "SKBL"
#define BINARY_VERSION 1
#define BINARY_HEADER 24       /* bytes before the schema text */
#define BINARY_BLOCK_HEADER 24 /* bytes before the payload */
#define BINARY_BLOCK_BYTES ((size_t)256 << 10)
#define BINARY_SCHEMA_MAX ((size_t)4 << 20)
#define BINARY_PAYLOAD_MAX ((size_t)1 << 29)

/* Writes through the atomic writer of fs/fs.h: a file under its final name is complete. Threads:
 * one user at a time. */
struct binary_writer {
    char *path;             /* owned; NULL: closed */
    struct fs_writer *file; /* owned */
    struct buf block;
    uint32_t rows; /* in the block */
    uint64_t total;
};

enum skiff_status binary_writer_open(struct binary_writer *w, const char *path,
                                     const struct schema *schema, uint64_t key,
                                     struct skiff_error *err);
/* Rows from..to of the batch. */
enum skiff_status binary_writer_add(struct binary_writer *w, const struct batch *b, int64_t from,
                                    int64_t to, struct skiff_error *err);
/* Failed or not, the writer is closed afterwards. */
enum skiff_status binary_writer_commit(struct binary_writer *w, struct skiff_error *err);
/* Discards an uncommitted file; also for a closed writer. */
void binary_writer_close(struct binary_writer *w);

void binary_schema_text(const struct schema *schema, struct buf *out);
/* The key in the header of a file; false when the file has another format. */
bool binary_key(const char *path, uint64_t *out);

#endif
