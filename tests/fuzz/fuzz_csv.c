/* CSV with a header line. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {"hash_size", "100", "multi", "pipe", NULL};
    fuzz_reader(data, n, "csv", "label:i1 dense:f2 city:i tags:i", settings);
    return 0;
}
