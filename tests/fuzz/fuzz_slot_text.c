/* PaddleRec's slot text. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {NULL};
    fuzz_reader(data, n, "slot_text", "label:i1 C1:i C26:i dense_input:f13", settings);
    return 0;
}
