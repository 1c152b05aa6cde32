/* Helpers of the tests of this module. */
#ifndef STORE_TEST_HELP_H
#define STORE_TEST_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/file.h"

#define SAVED "tests/data/saved/"
#define SHAPE_PTR(...) (&(struct shape[]){SHAPE(__VA_ARGS__)}[0])

#ifndef TEMP_BASE
#define TEMP_BASE "/tmp"
#endif

static inline const char *temp_root(void)
{
    static char root[64];
    if (!root[0]) {
        snprintf(root, sizeof root, "%s/skiff_store_XXXXXX", TEMP_BASE);
        if (!mkdtemp(root))
            abort();
    }
    return root;
}

/* "<fresh folder of this test program>/<name>", valid until the eighth next call. */
static inline const char *temp_path(const char *name)
{
    static char paths[8][256];
    static int next;
    char *p = paths[next++ % 8];
    snprintf(p, sizeof paths[0], "%s/%s", temp_root(), name);
    return p;
}

static inline int temp_remove(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", temp_root());
    return system(command) != 0;
}

/* Files and folders in a folder; 0 when it is not there. */
static inline int count_files(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.' || (e->d_name[1] && strcmp(e->d_name, ".."));
    if (d)
        closedir(d);
    return n;
}

static inline void assert_files_equal(const char *a, const char *b)
{
    struct buf x = BUF_INIT, y = BUF_INIT;
    assert_int_equal(file_read(a, &x, NULL), SKIFF_OK);
    assert_int_equal(file_read(b, &y, NULL), SKIFF_OK);
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.data, y.data, x.len);
    buf_deinit(&x);
    buf_deinit(&y);
}

static inline void assert_message_has(const struct skiff_error *err, const char *part)
{
    if (!strstr(err->message, part))
        fail_msg("message \"%s\" does not hold \"%s\"", err->message, part);
}

#endif
