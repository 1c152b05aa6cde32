/* Answers of servers of remote files: JSON of WebHDFS, XML of S3. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fs/answer.h"
#include "fs/s3.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_alloc_or_die(size + 1);
    struct buf out = BUF_INIT;
    const char *object, *in, *key;
    size_t n, m;
    memcpy(text, data, size);
    for (const char *at = text; answer_object(&at, &object, &n);) {
        buf_reset(&out);
        (void)answer_field(object, n, "pathSuffix", &out);
        (void)answer_number(object, n, "length", 0);
    }
    for (const char *at = text; s3_tag(&at, NULL, "Contents", &object, &n);) {
        in = object;
        buf_reset(&out);
        if (s3_tag(&in, object + n, "Key", &key, &m))
            s3_text(&out, key, m);
    }
    buf_deinit(&out);
    free(text);
    return 0;
}
