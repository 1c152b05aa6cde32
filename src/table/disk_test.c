/* Faults of RocksDB: the library is missing, or another one; and a row of the wrong size in it.
 * Rows in order and by position: tests/conformance/table_tiered_test.c.
 *
 * The file is compiled in, so that a row of another size can be written to a database that it has
 * open, with the library that it has loaded: disk_open removes the old database. */
#ifndef __clang__ /* gcc 12 sees a caller here, splits disk_read in two, and warns about that */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "table/disk.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <unistd.h>

#include "store/file.h"

#define WIDTH 4
#define BYTES (sizeof(struct table_row) + WIDTH * sizeof(float))

static char folder[64];

static int folder_create(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/skiff_disk_test_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state)
{
    (void)state;
    file_remove_tree(folder);
    return 0;
}

/* ---- no library: in a process of its own, whose loader finds only a folder of this test ---- */

/* `disk_test open FOLDER`: opens a database and prints the result. */
static int open_and_log(const char *path)
{
    struct disk *d = NULL;
    struct skiff_error err = {0};
    enum skiff_status status = disk_open(path, BYTES, 1 << 20, &d, &err);
    printf("%d %s\n", status, status < 0 ? err.message : "");
    disk_close(d);
    return 0;
}

/* The same, after `command` ran for every library name, in a folder of libraries. */
static void opened_with(const char *command, char *out, int capacity)
{
    char self[512] = "", line[2048];
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(line, sizeof line, "mkdir -p %s/lib && cd %s/lib && rm -f *", folder, folder);
    assert_int_equal(system(line), 0);
    for (int i = 0; command && libraries[i]; i++) {
        snprintf(line, sizeof line, "cd %s/lib && n=%s && %s", folder, libraries[i], command);
        assert_int_equal(system(line), 0);
    }
    snprintf(line, sizeof line, "LD_LIBRARY_PATH=%s/lib %s open %s/rows", folder, self, folder);
    FILE *in = popen(line, "r");
    assert_non_null(fgets(out, capacity, in));
    assert_int_equal(pclose(in), 0);
}

static void assert_reported(const char *output, const char *format)
{
    char want[512];
    snprintf(want, sizeof want, format, SKIFF_UNSUPPORTED, folder);
    assert_string_equal(output, want);
}

static void a_library_that_cannot_be_loaded(void **state)
{
    char output[1024], link[512];
    (void)state;
    opened_with(NULL, output, sizeof output);
    assert_string_equal(output, "0 \n");
    opened_with(": >$n", output, sizeof output); /* as a full disk may leave it */
    assert_reported(output,
                    "%d tables on disk need RocksDB, which cannot be loaded: %s/lib/librocksdb.so: "
                    "file too short (Debian: apt-get install librocksdb7.8)\n");
    Dl_info other; /* any other library */
    assert_true(dladdr(dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests"), &other));
    snprintf(link, sizeof link, "ln -s %s $n", other.dli_fname);
    opened_with(link, output, sizeof output);
    assert_reported(output, "%d tables on disk need RocksDB, which cannot be loaded: it has no "
                            "rocksdb_free (Debian: apt-get install librocksdb7.8)\n");
}

/* ---- a row of another size ---- */

static void put_bytes(struct disk *d, uint64_t position, size_t bytes)
{
    char value[256] = "", *fault = NULL;
    uint64_t key = htobe64(position);
    rocksdb_writebatch_t *batch = lib.writebatch_create();
    lib.writebatch_put(batch, (const char *)&key, sizeof key, value, bytes);
    lib.write(d->db, d->writing, batch, &fault);
    lib.writebatch_destroy(batch);
    assert_null(fault);
}

static void rows_of_another_size(void **state)
{
    static const size_t sizes[] = {0, 3, BYTES - 1, BYTES + 1};
    char path[128], want[256];
    struct disk *d;
    struct skiff_error err = {0};
    struct table_row *r = mem_alloc_or_die(BYTES);
    (void)state;
    snprintf(path, sizeof path, "%s/sizes", folder);
    assert_int_equal(disk_open(path, BYTES, 1 << 20, &d, &err), SKIFF_OK);
    r->id = 5;
    assert_int_equal(disk_write(d, 1, (uint64_t[]){1}, (struct table_row *[]){r}, &err), SKIFF_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bool found[2];
        uint64_t at;
        const struct table_row *seen;
        put_bytes(d, 2, sizes[i]);
        snprintf(want, sizeof want, "the table's rows in %s: one has %zu bytes instead of %zu",
                 path, sizes[i], BYTES);
        err.message[0] = '\0';
        assert_int_equal(
            disk_read(d, 2, (uint64_t[]){1, 2}, (struct table_row *[]){r, r}, found, &err),
            SKIFF_FORMAT);
        assert_string_equal(err.message, want);
        err.message[0] = '\0';
        struct disk_iterator *it = disk_iterate(d);
        disk_seek(it, 0);
        assert_int_equal(disk_at(it, &at, &seen, &err), SKIFF_OK);
        assert_true(at == 1 && seen->id == 5);
        disk_step(it);
        assert_int_equal(disk_at(it, &at, &seen, &err), SKIFF_FORMAT);
        assert_string_equal(err.message, want);
        assert_null(seen);
        disk_iterator_destroy(it);
    }
    disk_close(d);
    free(r);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "open"))
        return open_and_log(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_cannot_be_loaded),
        cmocka_unit_test(rows_of_another_size),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
