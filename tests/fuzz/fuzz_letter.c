/* A letter of another rank: whatever is accepted must encode to the same bytes, and its call can be
 * told. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "collective/collective_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct letter_head h;
    uint8_t again[LETTER_HEAD];
    char text[CALL_TEXT];
    if (letter_decode(data, n, &h, NULL) < 0)
        return 0;
    letter_encode(&h, again);
    if (memcmp(again, data, LETTER_HEAD) != 0)
        abort();
    call_print(&h.call, text);
    return strlen(text) < CALL_TEXT ? 0 : 1;
}
