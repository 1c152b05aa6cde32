/* SelectedRows streams: whatever decodes must encode to something that decodes to the same. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "store/tensor_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct skiff_tensor v = {0}, again = {0};
    size_t pos = 0, pos2 = 0;
    bool good = rows_decode(data, n, &pos, "fuzz", &v, NULL) == SKIFF_OK;
    if (good) {
        struct buf b = BUF_INIT;
        rows_encode(&v, &b);
        if (pos > n || rows_decode((uint8_t *)b.data, b.len, &pos2, "again", &again, NULL) < 0 ||
            pos2 != b.len || v.sel.nrows != again.sel.nrows || v.sel.height != again.sel.height ||
            (v.sel.nrows && memcmp(v.sel.rows, again.sel.rows, v.sel.nrows * 8)) ||
            !shape_equal(&v.tensor.shape, &again.tensor.shape))
            abort();
        buf_deinit(&b);
    }
    value_deinit(&v);
    value_deinit(&again);
    return 0;
}
