#include "base/mode.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct mode_row {
    enum skiff_split_mode mode;
    const char *name, *promise;
    unsigned flags;
} rows[] = {
#define SKIFF_MODE(constant, number, name, flags, promise) \
    {SKIFF_SPLIT_##constant, #name, promise, flags},
#include <skiff/mode_list.h>
#undef SKIFF_MODE
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static const struct mode_row *row_of(uint32_t number)
{
    for (int i = 0; i < ROWS; i++)
        if ((uint32_t)rows[i].mode == number)
            return &rows[i];
    return NULL;
}

bool mode_is_known(uint32_t number)
{
    return row_of(number);
}

bool skiff_mode_find(const char *name, enum skiff_split_mode *out)
{
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, name)) {
            *out = rows[i].mode;
            return true;
        }
    return false;
}

const char *skiff_mode_name(enum skiff_split_mode mode)
{
    const struct mode_row *r = row_of((uint32_t)mode);
    return r ? r->name : "unknown";
}

const char *skiff_mode_promise(enum skiff_split_mode mode)
{
    const struct mode_row *r = row_of((uint32_t)mode);
    return r ? r->promise : "";
}

unsigned skiff_mode_flags(enum skiff_split_mode mode)
{
    const struct mode_row *r = row_of((uint32_t)mode);
    return r ? r->flags : 0;
}

static char names[256];

static void list_names(void)
{
    size_t n = 0;
    for (int i = 0; i < ROWS && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s",
                              i == 0          ? ""
                              : i == ROWS - 1 ? " or "
                                              : ", ",
                              rows[i].name);
}

const char *skiff_mode_names(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, list_names);
    return names;
}
