/* libsvm text. */
#include "fuzz_reader.h"

const char *const fuzz_seeds[] = {"tests/data/readers/libsvm.txt", NULL};

int fuzz_one(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {NULL};
    return fuzz_reader(data, n, "libsvm", "label:i1 ids:i values:f x:f100", settings);
}
