/* What the tests of this module share. Include after cmocka. */
#ifndef DATA_TEST_HELP_H
#define DATA_TEST_HELP_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/scan.h"

#define UNUSED __attribute__((unused))

/* A fresh folder below TMPDIR; removed by temp_remove. */
UNUSED static void temp_create(char out[static 256])
{
    const char *base = getenv("TMPDIR");
    snprintf(out, 256, "%s/skiff-data-XXXXXX", base && strlen(base) < 200 ? base : "/tmp");
    assert_non_null(mkdtemp(out));
}

UNUSED static void temp_remove(const char *dir)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

UNUSED static const char *temp_file(const char *dir, const char *name, const void *bytes, size_t n)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, 512, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return path;
}

UNUSED static const char *temp_text(const char *dir, const char *name, const char *text)
{
    return temp_file(dir, name, text, strlen(text));
}

UNUSED static int open_fds(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* "ids:i dense:f3 label:i1": name, i (int64) or f (float32), width of a dense slot or nothing for a
 * ragged one. */
UNUSED static void schema_create(struct schema *s, const char *text)
{
    char *copy = strdup(text), *at = copy;
    schema_init(s);
    for (char *word; (word = strsep(&at, " "));) {
        char *colon = strchr(word, ':');
        assert_non_null(colon);
        *colon = '\0';
        enum dtype t = colon[1] == 'f' ? DTYPE_FP32 : DTYPE_INT64;
        struct shape shape = SHAPE(-1, colon[2] ? atoi(colon + 2) : 1);
        assert_int_equal(schema_add(s, word, t, colon[2] ? 0 : 1, &shape, NULL), SKIFF_OK);
    }
    free(copy);
}

/* Rows of the batch as text: values by comma, slots by blank, rows by newline. */
UNUSED static void batch_text(const struct batch *b, struct buf *out)
{
    for (int64_t row = 0; row < b->rows; row++) {
        for (int i = 0; i < b->schema->count; i++) {
            const struct column *c = &b->columns[i];
            size_t from = c->ragged ? (size_t)c->offsets[row] : (size_t)row * c->width;
            size_t to = c->ragged ? (size_t)c->offsets[row + 1] : from + c->width;
            buf_str(out, i ? " " : "");
            for (size_t k = from; k < to; k++) {
                buf_str(out, k > from ? "," : "");
                if (c->dtype == DTYPE_FP32)
                    buf_printf(out, "%.9g", c->f32[k]);
                else
                    buf_printf(out, "%lld", (long long)c->i64[k]);
            }
        }
        buf_char(out, '\n');
    }
}

#endif
