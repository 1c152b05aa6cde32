/* For the tests of this module: cmocka, files under tests/data, programs that must decode. */
#ifndef PROGRAM_TESTING_H
#define PROGRAM_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "program/program.h"

#define TEST_PROGRAMS "tests/data/programs/"

static const char *const test_programs[] = {
    TEST_PROGRAMS "linreg_sgd_18.pb", TEST_PROGRAMS "lr_piecewise_18.pb",
    TEST_PROGRAMS "pserver_18.pb",    TEST_PROGRAMS "lookup_sparse_18.pb",
    TEST_PROGRAMS "while_gru_26.pb",  TEST_PROGRAMS "cond_26.pb",
};
enum { NTEST_PROGRAMS = sizeof(test_programs) / sizeof(test_programs[0]) };

static inline struct buf test_read(const char *path)
{
    struct buf b = BUF_INIT;
    char part[4096];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0;)
        buf_add(&b, part, n);
    fclose(f);
    return b;
}

static inline struct skiff_program *test_load(const char *path)
{
    struct buf b = test_read(path);
    struct skiff_program *p = NULL;
    struct skiff_error err = {0};
    if (program_decode(b.data, b.len, path, &p, &err) != SKIFF_OK)
        fail_msg("%s", err.message);
    buf_deinit(&b);
    return p;
}

static inline struct skiff_program *test_parse(const char *text)
{
    struct skiff_program *p = NULL;
    struct skiff_error err = {0};
    if (program_parse(text, "text", &p, &err) != SKIFF_OK)
        fail_msg("%s", err.message);
    return p;
}

static inline void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static inline void assert_same_bytes(const struct buf *a, const struct buf *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
}

#endif
