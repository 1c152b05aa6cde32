/* Skiff's own binary samples. */
#include "fuzz_reader.h"

const char *const fuzz_seeds[] = {"tests/data/readers/rows.bin", NULL};

int fuzz_one(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {NULL};
    return fuzz_reader(data, n, "binary", "ids:i dense:f3 fv:f label:i1", settings);
}
