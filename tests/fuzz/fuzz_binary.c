/* Skiff's own binary samples. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {NULL};
    fuzz_reader(data, n, "binary", "ids:i dense:f3 fv:f label:i1", settings);
    return 0;
}
