/* A fuzz target is a file tests/fuzz/fuzz_<thing>.c that defines the function below, with a corpus
 * in corpus/<thing>. `make fuzz` links it with clang's libFuzzer, which looks for inputs that reach
 * new code; `make test` links it with driver.c, which runs the corpus again. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Feeds one input to the code under test. A crash, a report of a sanitizer, a hang, or a call of
 * abort (for a broken promise, such as a round trip that does not come back) is a finding. Must do
 * the same for the same input; keeps no state. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The path of a file of these bytes, for readers of files; valid until the next call. */
static inline const char *fuzz_file(const uint8_t *data, size_t n)
{
    static FILE *file;
    static char path[64];
    if (!file && !(file = tmpfile()))
        abort();
    if (ftruncate(fileno(file), 0) < 0 || pwrite(fileno(file), data, n, 0) != (ssize_t)n)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    return path;
}

#endif
