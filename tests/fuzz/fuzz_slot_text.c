/* PaddleRec's slot text. */
#include "fuzz_reader.h"

const char *const fuzz_seeds[] = {"tests/data/readers/slot_text.txt", NULL};

int fuzz_one(const uint8_t *data, size_t n)
{
    static const char *const settings[] = {NULL};
    return fuzz_reader(data, n, "slot_text", "label:i1 C1:i C26:i dense_input:f13", settings);
}
