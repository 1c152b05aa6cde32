/* Tables in memory: arrays, and hashes with and without a limit or admission. */
#include "fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return run_table(data, n, false);
}
