/* libsvm text. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {NULL};
    fuzz_reader(data, n, "libsvm", "label:i1 ids:i values:f x:f100", settings);
    return 0;
}
