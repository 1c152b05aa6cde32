/* RocksDB as scratch space for the rows of a tiered table (disk.h). Keys are positions
 * (id_position), so that rows that are neighbours in a walk are neighbours on disk. There is no log
 * ahead of writes and no later process reads the files: saves of the table are the durable copy.
 * The library is loaded at run time, once per process, through a table of its C functions; every
 * error string of it is turned into a skiff_error and freed. Threads: see disk.h; RocksDB itself is
 * thread-safe. */
#define _GNU_SOURCE
#include "table/disk.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/library.h"
#include "base/mem.h"

/* Debian's and Ubuntu's have the version in their names; all of them have the calls below. */
static const char *const libraries[] = {"librocksdb.so.7.8", "librocksdb.so.8.9",
                                        "librocksdb.so.9.10", "librocksdb.so", NULL};

/* The functions of RocksDB: looked up at run time, so that programs without tiered tables do not
 * need it. */
#define CALLS(X)                                      \
    X(free)                                           \
    X(set_perf_level)                                 \
    X(open_column_families)                           \
    X(column_family_handle_destroy)                   \
    X(close)                                          \
    X(destroy_db)                                     \
    X(options_create)                                 \
    X(options_destroy)                                \
    X(options_set_create_if_missing)                  \
    X(options_set_compression)                        \
    X(options_set_write_buffer_size)                  \
    X(options_set_max_write_buffer_number)            \
    X(options_set_target_file_size_base)              \
    X(options_set_compaction_style)                   \
    X(options_set_level0_file_num_compaction_trigger) \
    X(options_set_max_open_files)                     \
    X(options_set_max_background_jobs)                \
    X(options_set_keep_log_file_num)                  \
    X(options_set_info_log_level)                     \
    X(options_set_memtable_prefix_bloom_size_ratio)   \
    X(options_set_memtable_whole_key_filtering)       \
    X(options_set_allow_concurrent_memtable_write)    \
    X(property_value)                                 \
    X(options_set_block_based_table_factory)          \
    X(block_based_options_create)                     \
    X(block_based_options_destroy)                    \
    X(block_based_options_set_filter_policy)          \
    X(block_based_options_set_no_block_cache)         \
    X(block_based_options_set_block_size)             \
    X(filterpolicy_create_bloom_full)                 \
    X(readoptions_create)                             \
    X(readoptions_destroy)                            \
    X(writeoptions_create)                            \
    X(writeoptions_destroy)                           \
    X(writeoptions_disable_WAL)                       \
    X(batched_multi_get_cf)                           \
    X(pinnableslice_value)                            \
    X(pinnableslice_destroy)                          \
    X(writebatch_create)                              \
    X(writebatch_destroy)                             \
    X(writebatch_put)                                 \
    X(writebatch_delete)                              \
    X(write)                                          \
    X(create_iterator)                                \
    X(iter_destroy)                                   \
    X(iter_seek)                                      \
    X(iter_next)                                      \
    X(iter_valid)                                     \
    X(iter_key)                                       \
    X(iter_value)                                     \
    X(iter_get_error)                                 \
    X(property_int)

static struct {
#define X(name) __typeof__(&rocksdb_##name) name;
    CALLS(X)
#undef X
    char fault[256]; /* empty: loaded */
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    static const struct library_call calls[] = {
#define X(name) {"rocksdb_" #name, &lib.name},
        CALLS(X)
#undef X
    };
    library_load(libraries, calls, sizeof calls / sizeof *calls, lib.fault, sizeof lib.fault);
}

struct disk {
    char *folder;
    size_t row_bytes;
    rocksdb_t *db;
    rocksdb_column_family_handle_t *rows;
    rocksdb_options_t *options;
    rocksdb_readoptions_t *reading;
    rocksdb_writeoptions_t *writing;
};

/* Turns RocksDB's error into ours; it is freed. */
static enum skiff_status on_log(const struct disk *d, char *fault, const char *what,
                                struct skiff_error *err)
{
    if (!fault)
        return SKIFF_OK;
    error_set(err, SKIFF_IO, "the table's rows in %s cannot be %s: %s", d->folder, what, fault);
    lib.free(fault);
    return SKIFF_IO;
}

/* ---- lifecycle ---- */

#define SMALLEST_BUFFER ((size_t)512 << 10)
#define LARGEST_BUFFER ((size_t)64 << 20)
/* per row on disk: one in a hundred missing rows is searched for in vain */
#define FILTER_BITS 10.0
#define BLOCK 4096
#define MEMTABLE_FILTER 0.05 /* share of its memory */
#define BUFFERS 2
#define RUNS 20 /* sorted files that may overlap */
#define OPEN_FILES 512

/* All of the memory is for writes that wait to be sorted: blocks hold unrelated rows, and the
 * system caches those that are read often, as far as it has memory. One thread writes, with rows in
 * order, so that each insertion continues where the last one ended. Rows are not compressed: they
 * are numbers. Files are merged with those of their size (universal): rows are rewritten half as
 * often as by levels, but take up to three times their size on disk meanwhile. */
static void set_options(struct disk *d, size_t memory)
{
    rocksdb_options_t *o = d->options = lib.options_create();
    rocksdb_block_based_table_options_t *b = lib.block_based_options_create();
    size_t buffer = memory / BUFFERS;
    buffer = buffer < SMALLEST_BUFFER ? SMALLEST_BUFFER : buffer;
    buffer = buffer > LARGEST_BUFFER ? LARGEST_BUFFER : buffer;
    lib.options_set_create_if_missing(o, 1);
    lib.options_set_compression(o, rocksdb_no_compression);
    lib.options_set_write_buffer_size(o, buffer);
    lib.options_set_max_write_buffer_number(o, BUFFERS);
    lib.options_set_target_file_size_base(o, 2 * buffer);
    lib.options_set_compaction_style(o, rocksdb_universal_compaction);
    lib.options_set_level0_file_num_compaction_trigger(o, RUNS);
    lib.options_set_max_open_files(o, OPEN_FILES);
    lib.options_set_max_background_jobs(o, 2);
    lib.options_set_keep_log_file_num(o, 1);
    lib.options_set_info_log_level(o, 3); /* errors */
    lib.options_set_memtable_prefix_bloom_size_ratio(o, MEMTABLE_FILTER);
    lib.options_set_memtable_whole_key_filtering(o, 1);
    lib.options_set_allow_concurrent_memtable_write(o, 0);
    lib.block_based_options_set_filter_policy(b, lib.filterpolicy_create_bloom_full(FILTER_BITS));
    lib.block_based_options_set_no_block_cache(b, 1);
    lib.block_based_options_set_block_size(b, BLOCK);
    lib.options_set_block_based_table_factory(o, b);
    lib.block_based_options_destroy(b);
    d->reading = lib.readoptions_create();
    d->writing = lib.writeoptions_create();
    lib.writeoptions_disable_WAL(d->writing, 1);
}

static enum skiff_status open_database(struct disk *d, struct skiff_error *err)
{
    const char *names[] = {"default"};
    const rocksdb_options_t *options[] = {d->options};
    char *fault = NULL;
    if (mkdir(d->folder, 0777) < 0 && errno != EEXIST)
        return error_set(err, SKIFF_IO, "the folder of the table's rows, %s, cannot be created: %s",
                         d->folder, strerror(errno));
    lib.destroy_db(d->options, d->folder, &fault); /* stale files of a killed process */
    bool used = fault && strstr(fault, "/LOCK");
    TRY(on_log(d, fault,
               used ? "cleared: another process uses the folder; give this table "
                      "another path"
                    : "cleared",
               err));
    d->db = lib.open_column_families(d->options, d->folder, 1, names, options, &d->rows, &fault);
    return on_log(d, fault, "opened", err);
}

enum skiff_status disk_open(const char *folder, size_t row_bytes, size_t memory, struct disk **out,
                            struct skiff_error *err)
{
    pthread_once(&once, load);
    if (lib.fault[0])
        return error_set(err, SKIFF_UNSUPPORTED,
                         "tables on disk need RocksDB, which cannot be loaded: %s (Debian: apt-get "
                         "install librocksdb7.8)",
                         lib.fault);
    struct disk *d = mem_alloc_or_die(sizeof *d);
    d->folder = mem_strdup_or_die(folder);
    d->row_bytes = row_bytes;
    set_options(d, memory);
    enum skiff_status status = open_database(d, err);
    if (status < 0)
        disk_close(d);
    else
        *out = d;
    return status;
}

void disk_close(struct disk *d)
{
    char *fault = NULL;
    if (!d)
        return;
    if (d->db) {
        lib.column_family_handle_destroy(d->rows);
        lib.close(d->db);
        lib.destroy_db(d->options, d->folder, &fault);
        lib.free(fault); /* scratch files that stay are removed by the next process */
    }
    lib.readoptions_destroy(d->reading);
    lib.writeoptions_destroy(d->writing);
    lib.options_destroy(d->options);
    free(d->folder);
    free(d);
}

/* ---- by position ---- */

/* Switches off RocksDB's counters for this thread, which take a fifth of the time of a read. */
static void count_nothing(void)
{
    lib.set_perf_level(rocksdb_disable);
}

static enum skiff_status wrong_size(const struct disk *d, size_t n, struct skiff_error *err)
{
    return error_set(err, SKIFF_FORMAT, "the table's rows in %s: one has %zu bytes instead of %zu",
                     d->folder, n, d->row_bytes);
}

#define AFTER_ID offsetof(struct table_row, changed)

enum skiff_status disk_read(struct disk *d, size_t n, const uint64_t *positions,
                            struct table_row *const *to, bool *found, struct skiff_error *err)
{
    uint64_t keys[DISK_MANY];
    const char *at[DISK_MANY];
    size_t sizes[DISK_MANY], bytes;
    rocksdb_pinnableslice_t *values[DISK_MANY];
    char *faults[DISK_MANY];
    enum skiff_status status = SKIFF_OK;
    if (!n)
        return SKIFF_OK;
    for (size_t i = 0; i < n; i++) {
        keys[i] = htobe64(positions[i]);
        at[i] = (const char *)&keys[i];
        sizes[i] = sizeof *keys;
    }
    count_nothing();
    lib.batched_multi_get_cf(d->db, d->reading, d->rows, n, at, sizes, values, faults, false);
    for (size_t i = 0; i < n; i++) {
        if (faults[i])
            status = on_log(d, faults[i], "read", err);
        found[i] = values[i] != NULL;
        if (!found[i])
            continue;
        const char *value = lib.pinnableslice_value(values[i], &bytes);
        if (bytes == d->row_bytes)
            memcpy(&to[i]->changed, value + AFTER_ID, bytes - AFTER_ID);
        else
            status = wrong_size(d, bytes, err);
        lib.pinnableslice_destroy(values[i]);
    }
    return status;
}

struct order {
    uint64_t position;
    size_t i;
};

/* Of several records at one position the last one counts: they stay in their order. */
static int by_position(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

enum skiff_status disk_write(struct disk *d, size_t n, const uint64_t *positions,
                             struct table_row *const *row_list, struct skiff_error *err)
{
    rocksdb_writebatch_t *batch = lib.writebatch_create();
    struct order order[DISK_MANY];
    char *fault = NULL;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct order){positions[i], i};
    qsort(order, n, sizeof *order, by_position);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = htobe64(order[i].position);
        const struct table_row *r = row_list[order[i].i];
        if (r->changed == ROW_FREE)
            lib.writebatch_delete(batch, (const char *)&key, sizeof key);
        else
            lib.writebatch_put(batch, (const char *)&key, sizeof key, (const char *)r,
                               d->row_bytes);
    }
    count_nothing();
    lib.write(d->db, d->writing, batch, &fault);
    lib.writebatch_destroy(batch);
    return on_log(d, fault, "written", err);
}

/* ---- in order ---- */

struct disk_iterator {
    struct disk *disk;
    rocksdb_iterator_t *it;
    struct table_row *copy; /* values of RocksDB may be unaligned */
};

struct disk_iterator *disk_iterate(struct disk *d)
{
    struct disk_iterator *it = mem_alloc_or_die(sizeof *it);
    it->disk = d;
    it->it = lib.create_iterator(d->db, d->reading);
    it->copy = mem_alloc_or_die(d->row_bytes);
    return it;
}

void disk_iterator_destroy(struct disk_iterator *it)
{
    if (!it)
        return;
    lib.iter_destroy(it->it);
    free(it->copy);
    free(it);
}

void disk_seek(struct disk_iterator *it, uint64_t position)
{
    uint64_t key = htobe64(position);
    lib.iter_seek(it->it, (const char *)&key, sizeof key);
}

enum skiff_status disk_at(struct disk_iterator *it, uint64_t *out_position,
                          const struct table_row **out, struct skiff_error *err)
{
    char *fault = NULL;
    size_t bytes;
    uint64_t key;
    *out = NULL;
    if (!lib.iter_valid(it->it)) {
        lib.iter_get_error(it->it, &fault);
        return on_log(it->disk, fault, "read", err);
    }
    memcpy(&key, lib.iter_key(it->it, &bytes), sizeof key);
    const char *value = lib.iter_value(it->it, &bytes);
    if (bytes != it->disk->row_bytes)
        return wrong_size(it->disk, bytes, err);
    memcpy(it->copy, value, bytes);
    *out_position = be64toh(key);
    *out = it->copy;
    return SKIFF_OK;
}

void disk_step(struct disk_iterator *it)
{
    lib.iter_next(it->it);
}

/* ---- numbers ---- */

static uint64_t property(struct disk *d, const char *name)
{
    uint64_t x = 0;
    return lib.property_int(d->db, name, &x) == 0 ? x : 0;
}

/* "Cumulative compaction: 0.05 GB write, ...": in steps of ten megabytes. Data in files were
 * written at least once. */
static uint64_t written(struct disk *d, uint64_t file_bytes)
{
    static const char before[] = "Cumulative compaction: ";
    char *text = lib.property_value(d->db, "rocksdb.cfstats-no-file-histogram");
    const char *at = text ? strstr(text, before) : NULL;
    double gigabytes = at ? strtod(at + sizeof before - 1, NULL) : 0;
    lib.free(text);
    uint64_t bytes = (uint64_t)(gigabytes * 0x1p30);
    return bytes > file_bytes ? bytes : file_bytes;
}

void disk_stats(struct disk *d, struct disk_stats *out)
{
    uint64_t file_bytes = property(d, "rocksdb.total-sst-files-size");
    *out = (struct disk_stats){
        .file_bytes = file_bytes,
        .written_bytes = written(d, file_bytes),
    };
}

size_t disk_memory(struct disk *d)
{
    return property(d, "rocksdb.size-all-mem-tables") +
           property(d, "rocksdb.estimate-table-readers-mem");
}
