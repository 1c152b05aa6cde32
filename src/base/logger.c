#include "base/logger.h"

#include <stdarg.h>
#include <stdio.h>

void logger_line(const struct logger *l, enum log_level level, const char *format, ...)
{
    char text[2048];
    va_list args;
    if (!l->write)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    l->write(l->user, level, text);
}
