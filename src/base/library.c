#include "base/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool library_load(const char *const *names, const struct library_call *calls, size_t n, char *fault,
                  size_t capacity)
{
    void *library = NULL;
    for (; !library && *names; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(fault, capacity, "%s", dlerror());
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        void *found = dlsym(library, calls[i].name);
        if (!found) {
            snprintf(fault, capacity, "it has no %s", calls[i].name);
            return false;
        }
        memcpy(calls[i].to, &found, sizeof found);
    }
    return true;
}
