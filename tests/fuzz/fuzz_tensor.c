/* LoDTensor streams: a decoded value must encode to something that decodes to the same. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "store/tensor_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tensor t = {0}, again = {0};
    size_t pos = 0, pos2 = 0;
    bool good = tensor_decode(data, n, &pos, "fuzz", &t, NULL) == SKIFF_OK;
    if (good) {
        struct buf b = BUF_INIT;
        tensor_encode(&t, &b);
        if (pos > n || tensor_decode((uint8_t *)b.data, b.len, &pos2, "again", &again, NULL) < 0 ||
            pos2 != b.len || !shape_equal(&t.shape, &again.shape) || !lod_equal(t.lod, again.lod) ||
            (tensor_bytes(&t) && memcmp(t.data, again.data, tensor_bytes(&t))))
            abort();
        buf_deinit(&b);
    }
    tensor_deinit(&t);
    tensor_deinit(&again);
    return 0;
}
