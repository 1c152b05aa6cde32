/* A message of another rank: an accepted one must encode to the same bytes, and its call can be
 * printed. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "collective/collective_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct message_head h;
    uint8_t again[MESSAGE_HEAD];
    char text[CALL_TEXT];
    if (message_decode(data, n, &h, NULL) < 0)
        return 0;
    message_encode(&h, again);
    if (memcmp(again, data, MESSAGE_HEAD) != 0)
        abort();
    call_print(&h.call, text);
    return strlen(text) < CALL_TEXT ? 0 : 1;
}
