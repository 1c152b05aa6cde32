/* Tables on disk, with more ids than there is memory for. */
#include "fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return run_table(data, n, true);
}
