/* The sign:slot text of slot_dnn. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {"hash_size", "1000", NULL};
    fuzz_reader(data, n, "sign_slot", "1:i 2:i 300:i show:i1", settings);
    return 0;
}
