/* Samples from another worker: one record, without the checksums that a file has around it. */
#include <stdlib.h>
#include <string.h>

#include "data/record.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct schema schema;
    struct batch b;
    struct shape one = SHAPE(-1, 1), two = SHAPE(-1, 2);
    const char *p = (const char *)data;
    schema_init(&schema);
    schema_add(&schema, "ids", DTYPE_INT64, 1, &one, NULL);
    schema_add(&schema, "dense", DTYPE_FP32, 0, &two, NULL);
    schema_add(&schema, "values", DTYPE_FP32, 1, &one, NULL);
    if (batch_init(&b, &schema, 4, NULL) != SKIFF_OK)
        abort();
    /* every length: a record is a prefix of the input */
    for (size_t len = 0; len <= n && len <= 256; len++) {
        if (b.rows == b.max_rows)
            batch_reset(&b, NULL);
        if (record_read(p, len, &b, NULL) != SKIFF_OK)
            continue;
        char *back = malloc(record_bytes(&b, b.rows - 1));
        size_t written = record_write(&b, b.rows - 1, false, back);
        /* an empty ragged slot comes back with one 0; all else byte for byte */
        if (written < len || (written == len && memcmp(back, p, len) != 0))
            abort();
        free(back);
    }
    batch_deinit(&b);
    schema_deinit(&schema);
    return 0;
}
