/* Where a part of the library logs: a function and its data, which its owner passes. The command
 * writes lines to stderr (cli/command.h); a program does with them what it wants. */
#ifndef BASE_LOGGER_H
#define BASE_LOGGER_H

#include "base/log.h"

struct logger {
    /* Called from any thread; NULL: nothing is logged. */
    void (*write)(void *user, enum log_level level, const char *text);
    void *user;
};

void logger_line(const struct logger *l, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define logger_debug(l, ...) logger_line(l, LOG_DEBUG, __VA_ARGS__)
#define logger_info(l, ...) logger_line(l, LOG_INFO, __VA_ARGS__)
#define logger_warn(l, ...) logger_line(l, LOG_WARN, __VA_ARGS__)
#define logger_error(l, ...) logger_line(l, LOG_ERROR, __VA_ARGS__)

#endif
