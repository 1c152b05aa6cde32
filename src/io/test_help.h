/* What the tests of this room share. */
#ifndef IO_TEST_HELP_H
#define IO_TEST_HELP_H

#include "io/io.h"
#include "store/test_help.h"

/* The call fills in err_. */
#define MUST(call)                                    \
    do {                                              \
        struct skiff_error *err_ = &must_err;         \
        if ((call) < 0)                               \
            fail_msg("%s: %s", #call, err_->message); \
    } while (0)
static struct skiff_error must_err;

static inline struct skiff_program *read_program(const char *path)
{
    struct skiff_program *p = NULL;
    MUST(io_program_read(path, &p, err_));
    return p;
}

#endif
