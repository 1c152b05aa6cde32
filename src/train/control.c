#include "train/control.h"

#include <stdarg.h>
#include <stdio.h>

bool control_wants_stop(const struct train_control *c)
{
    return c && c->wants_stop && c->wants_stop(c->user);
}

void control_print(const struct train_control *c, const char *format, ...)
{
    char line[2048];
    va_list args;
    if (!c || !c->print)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    c->print(c->user, line);
}

void control_ready(const struct train_control *c)
{
    if (c && c->ready)
        c->ready(c->user);
}
