/* A folder for the files of a fuzz target, in memory where there is such a folder; it is removed at
 * the end of the process if the target has left nothing in it. */
#ifndef FUZZ_FOLDER_H
#define FUZZ_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char fuzz_folder_path[64];

static void fuzz_folder_remove(void)
{
    rmdir(fuzz_folder_path);
}

static inline const char *fuzz_folder(void)
{
    if (!fuzz_folder_path[0]) {
        snprintf(fuzz_folder_path, sizeof fuzz_folder_path, "%s/skiff_fuzz_XXXXXX",
                 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
        if (!mkdtemp(fuzz_folder_path))
            abort();
        atexit(fuzz_folder_remove);
    }
    return fuzz_folder_path;
}

/* Writes a file of it; out is its path. */
static inline void fuzz_folder_write(const char *name, const void *data, size_t n, char out[128])
{
    snprintf(out, 128, "%s/%s", fuzz_folder(), name);
    FILE *f = fopen(out, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0)
        abort();
}

#endif
