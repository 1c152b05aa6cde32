/* libffm text. */
#include "fuzz_reader.h"

const char *const fuzz_seeds[] = {"tests/data/readers/libffm.txt", NULL};

int fuzz_one(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {"hash_size", "1000", NULL};
    return fuzz_reader(data, n, "libffm", "label:i1 a:i b:i w:f", settings);
}
