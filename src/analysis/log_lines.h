/* Log lines of a task for a caller of the C API: those from a level on, one function. */
#ifndef ANALYSIS_LOG_LINES_H
#define ANALYSIS_LOG_LINES_H

#include "base/logger.h"

struct log_lines {
    void (*on_log)(void *user, const char *line); /* or NULL */
    void *user;
    bool quiet; /* only warnings and errors */
};

static inline void log_lines_write(void *lines, enum log_level level, const char *text)
{
    const struct log_lines *l = lines;
    if (l->on_log && level >= (l->quiet ? LOG_WARN : LOG_INFO))
        l->on_log(l->user, text);
}

static inline void log_lines_unknown(void *lines, const char *text)
{
    log_lines_write(lines, LOG_WARN, text);
}

#endif
