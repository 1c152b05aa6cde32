/* What can be wrong with RocksDB itself: it is not there, or is another library; and with a row in
 * it. Rows in order and by position: tests/conformance/table_tiered_test.c.
 *
 * The file is compiled in, so that a row of another size can be put into a database that it has
 * open, with the library that it has loaded: disk_open wipes whatever was there before. */
#ifndef __clang__ /* gcc 12 sees a caller here, cuts disk_read in two, and warns of that */
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
#define BYTES (sizeof(struct record) + WIDTH * sizeof(float))

static char folder[64];

static int folder_make(void **state)
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

/* ---- no library: asked in a process of its own, whose loader finds what it is told to ---- */

/* `disk_test open FOLDER`: opens a database and says how that went. */
static int open_and_say(const char *path)
{
    struct disk *d = NULL;
    struct skiff_error err = {0};
    enum skiff_status status = disk_open(path, BYTES, 1 << 20, &d, &err);
    printf("%d %s\n", status, status < 0 ? err.message : "");
    disk_close(d);
    return 0;
}

/* The same with `command` done for every name that is looked for, in a folder of libraries. */
static void opened_with(const char *command, char *out, int room)
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
    assert_non_null(fgets(out, room, in));
    assert_int_equal(pclose(in), 0);
}

static void assert_told(const char *said, const char *format)
{
    char want[512];
    snprintf(want, sizeof want, format, SKIFF_UNSUPPORTED, folder);
    assert_string_equal(said, want);
}

static void a_library_that_cannot_be_loaded(void **state)
{
    char said[1024], link[512];
    (void)state;
    opened_with(NULL, said, sizeof said);
    assert_string_equal(said, "0 \n");
    opened_with(": >$n", said, sizeof said); /* what a full disk has left of it */
    assert_told(said,
                "%d tables on disk need RocksDB, which cannot be loaded: %s/lib/librocksdb.so: "
                "file too short (Debian: apt-get install librocksdb7.8)\n");
    Dl_info other; /* any library but that */
    assert_true(dladdr(dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests"), &other));
    snprintf(link, sizeof link, "ln -s %s $n", other.dli_fname);
    opened_with(link, said, sizeof said);
    assert_told(said, "%d tables on disk need RocksDB, which cannot be loaded: it has no "
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
    struct record *r = mem_must(BYTES);
    (void)state;
    snprintf(path, sizeof path, "%s/sizes", folder);
    assert_int_equal(disk_open(path, BYTES, 1 << 20, &d, &err), SKIFF_OK);
    r->id = 5;
    assert_int_equal(disk_write(d, 1, (uint64_t[]){1}, (struct record *[]){r}, &err), SKIFF_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bool found[2];
        uint64_t at;
        const struct record *seen;
        put_bytes(d, 2, sizes[i]);
        snprintf(want, sizeof want, "the table's rows in %s: one has %zu bytes instead of %zu",
                 path, sizes[i], BYTES);
        err.message[0] = '\0';
        assert_int_equal(
            disk_read(d, 2, (uint64_t[]){1, 2}, (struct record *[]){r, r}, found, &err),
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
        return open_and_say(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_cannot_be_loaded),
        cmocka_unit_test(rows_of_another_size),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
