/* Criteo TSV. */
#include "fuzz_reader.h"

const char *const fuzz_seeds[] = {"tests/data/readers/criteo.tsv", NULL};

int fuzz_one(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {NULL};
    return fuzz_reader(data, n, "criteo", "label:i1 dense:f13 C1:i C2:i1 C26:i", settings);
}
