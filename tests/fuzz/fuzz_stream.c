/* Streams: content that is, or says it is, compressed; in lines and in pieces. */
#include <stdlib.h>

#include "data/source.h"
#include "fuzz.h"

#define ENOUGH (4 << 20) /* a few bytes may unpack to very many */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct stream *stream;
    struct source s;
    const char *line;
    size_t length;
    struct skiff_error err;
    enum skiff_status status;
    if (stream_open_memory(data, n, "input", &stream, &err) != SKIFF_OK)
        return 0;
    if (source_open(&s, stream, 4096, &err) != SKIFF_OK)
        abort();
    for (;;) {
        int64_t number = s.line;
        status = source_line(&s, &line, &length, &err);
        if (status == SKIFF_END || s.bytes > ENOUGH || (status < 0 && s.line == number))
            break;
        if (status == SKIFF_OK && (length > 4096 || (line[length] != '\n' && line[length] != '\r')))
            abort();
    }
    source_close(&s);
    return 0;
}
