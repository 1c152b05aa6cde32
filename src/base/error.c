#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <skiff/version.h>

const char *skiff_status_text(enum skiff_status code)
{
    switch (code) {
#define STATUS_CASE(name, value, text) \
    case SKIFF_##name:                 \
        return text;
        SKIFF_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

static void error_start(struct skiff_error *err, const char *file, int line, enum skiff_status code)
{
    err->code = code;
    err->sys_errno = 0;
    snprintf(err->origin, sizeof err->origin, "%s:%d", file, line);
}

enum skiff_status error_set_at(struct skiff_error *err, const char *file, int line,
                               enum skiff_status code, const char *format, ...)
{
    if (!err)
        return code;
    /* written aside first: an argument may be the message that err already holds */
    char text[sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_start(err, file, line, code);
    memcpy(err->message, text, sizeof text);
    return code;
}

enum skiff_status error_set_sys_at(struct skiff_error *err, const char *file, int line,
                                   const char *format, ...)
{
    int saved = errno;
    if (!err)
        return SKIFF_IO;
    char text[sizeof err->message];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char reason[128];
    size_t used = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    if (strerror_r(saved, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", saved);
    snprintf(text + used, sizeof text - used, ": %s", reason);
    error_start(err, file, line, SKIFF_IO);
    err->sys_errno = saved;
    memcpy(err->message, text, sizeof text);
    return SKIFF_IO;
}

enum skiff_status error_prefix(struct skiff_error *err, enum skiff_status fallback,
                               const char *format, ...)
{
    if (!err)
        return fallback;
    char text[sizeof err->message];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    size_t capacity = sizeof text - used;
    int rest = snprintf(text + used, capacity, ": %s", err->message);
    if (rest < 0)
        text[used] = '\0';
    memcpy(err->message, text, sizeof text);
    return err->code;
}

enum skiff_status reserved_check(const uint64_t reserved[4], const char *what,
                                 struct skiff_error *err)
{
    if (!reserved[0] && !reserved[1] && !reserved[2] && !reserved[3])
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "struct %s: a reserved field is not zero; it was not cleared before it was "
                     "filled in (= {0}), or the program was compiled with a newer Skiff than this "
                     "library, %s",
                     what, skiff_version());
}
