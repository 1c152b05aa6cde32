/* Library: calls of a shared library that is looked for when it is first needed, so that whoever
 * does not need it need not have it. */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_call {
    const char *name;
    void *to; /* a pointer to a function, to be filled */
};

/* Loads the first of `names` (NULL at the end) that is there and fills all calls. False: `fault`
 * says why; nothing may be called then. Stays loaded until the process ends. */
bool library_load(const char *const *names, const struct library_call *calls, size_t n, char *fault,
                  size_t capacity);

#endif
