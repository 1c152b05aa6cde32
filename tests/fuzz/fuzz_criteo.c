/* Criteo TSV. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {NULL};
    fuzz_reader(data, n, "criteo", "label:i1 dense:f13 C1:i C2:i1 C26:i", settings);
    return 0;
}
