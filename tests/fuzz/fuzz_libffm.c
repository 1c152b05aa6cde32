/* libffm text. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {"hash_size", "1000", NULL};
    fuzz_reader(data, n, "libffm", "label:i1 a:i b:i w:f", settings);
    return 0;
}
