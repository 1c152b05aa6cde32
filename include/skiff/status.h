/* Status codes and the error value.
 *
 * Every fallible call returns enum skiff_status: 0 is success, negative is failure, positive is an
 * outcome that is not a failure (end of data). A failing call fills the caller's struct
 * skiff_error, which may be NULL, and leaves its outputs untouched. An error is a plain value: copy
 * it, keep it, send it to another thread.
 *
 * Structs that a caller fills in and passes by pointer (options) end with `reserved`, which must be
 * zero. Initializers clear fields that they do not name. Later fields take the place of reserved
 * words, so that programs compiled earlier keep working (docs/internals/decisions/0005-abi.md). */
#ifndef SKIFF_STATUS_H
#define SKIFF_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define SKIFF_API __attribute__((visibility("default")))

/* name, value, text */
#define SKIFF_STATUS_MAP(X)              \
    X(END, 1, "end of data")             \
    X(OK, 0, "ok")                       \
    X(INVALID, -1, "invalid argument")   \
    X(NOT_FOUND, -2, "not found")        \
    X(FORMAT, -3, "malformed data")      \
    X(SHAPE, -4, "shapes do not fit")    \
    X(DTYPE, -5, "wrong data type")      \
    X(UNSUPPORTED, -6, "not supported")  \
    X(NOMEM, -7, "out of memory")        \
    X(IO, -8, "input/output error")      \
    X(RANGE, -9, "value out of range")   \
    X(STATE, -10, "wrong state")         \
    X(INTERNAL, -11, "internal error")   \
    X(TIMEOUT, -12, "no answer in time") \
    X(PEER, -13, "the other side is gone")

enum skiff_status {
#define SKIFF_STATUS_ENUM(name, value, text) SKIFF_##name = value,
    SKIFF_STATUS_MAP(SKIFF_STATUS_ENUM)
#undef SKIFF_STATUS_ENUM
};

struct skiff_error {
    enum skiff_status code;
    int sys_errno;      /* errno of the failing system call, or 0 */
    char origin[64];    /* file:line inside Skiff, for bug reports */
    char message[1024]; /* what failed, where, what was expected, what was found, what to do */
};

/* The fixed text of a code; never NULL. */
SKIFF_API const char *skiff_status_text(enum skiff_status code);

#ifdef __cplusplus
}
#endif
#endif
