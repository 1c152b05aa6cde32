/* What the tests of this module share. */
#ifndef IO_TEST_HELP_H
#define IO_TEST_HELP_H

#include "io/io.h"
#include "store/test_help.h"

/* The call fills in err_. */
#define OR_DIE(call)                                  \
    do {                                              \
        struct skiff_error *err_ = &expect_ok;        \
        if ((call) < 0)                               \
            fail_msg("%s: %s", #call, err_->message); \
    } while (0)
static struct skiff_error expect_ok;

static inline struct skiff_program *read_program(const char *path)
{
    struct skiff_program *p = NULL;
    OR_DIE(io_program_read(path, &p, err_));
    return p;
}

#endif
