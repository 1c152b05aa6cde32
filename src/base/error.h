/* How functions inside Skiff report failure: `return error_set(err, SKIFF_SHAPE, "...", ...)`. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdint.h>

#include <skiff/status.h>

/* Fills err (may be NULL) and returns code. The message is cut, never overrun. */
enum skiff_status error_set_at(struct skiff_error *err, const char *file, int line,
                               enum skiff_status code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#define error_set(err, code, ...) error_set_at((err), __FILE__, __LINE__, (code), __VA_ARGS__)

/* Same, and records errno (kept in err->sys_errno) with its text appended to the message. */
enum skiff_status error_set_sys_at(struct skiff_error *err, const char *file, int line,
                                   const char *format, ...) __attribute__((format(printf, 4, 5)));

#define error_set_sys(err, ...) error_set_sys_at((err), __FILE__, __LINE__, __VA_ARGS__)

/* Puts "context: " in front of the message that err already holds; returns err->code (or fallback
 * when err is NULL). For callers that know the place (file, op, case) that the callee does not. */
enum skiff_status error_prefix(struct skiff_error *err, enum skiff_status fallback,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Refuses a public struct whose reserved fields are not zero; `what` is its name. */
enum skiff_status reserved_check(const uint64_t reserved[4], const char *what,
                                 struct skiff_error *err);

/* Propagate a failure; only in functions that own nothing. */
#define TRY(call)                               \
    do {                                        \
        enum skiff_status try_status_ = (call); \
        if (try_status_ < 0)                    \
            return try_status_;                 \
    } while (0)

/* Propagate a failure through the function's `out` label; needs `enum skiff_status status`. */
#define TRY_OUT(call)    \
    do {                 \
        status = (call); \
        if (status < 0)  \
            goto out;    \
    } while (0)

#endif
