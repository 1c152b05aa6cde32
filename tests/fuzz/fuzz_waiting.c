/* Ids that wait for admission, in files of a save (sparse/waiting_files.c): every accepted row is
 * one that a save could have written. */
#include "fuzz.h"

#include <stdlib.h>

#include "store/tensor_file.h"
#include "table/admission.h"

static void take(int64_t id, const float *row)
{
    struct waiting_id x;
    float again[WAITING_WIDTH];
    if (!waiting_unpack(id, row, &x))
        return;
    waiting_pack(&x, again);
    if (x.id != id || !x.asked || again[0] != row[0] || again[1] != row[1] || again[2] != row[2])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct skiff_tensor v = {0};
    if (rows_file_read(fuzz_file(data, n), &v, NULL) == SKIFF_OK && v.tensor.dtype == DTYPE_FP32 &&
        v.tensor.shape.ndim == 2 && v.tensor.shape.dims[1] == WAITING_WIDTH)
        for (size_t i = 0; i < v.sel.nrows; i++)
            take(v.sel.rows[i], tensor_f32(&v.tensor) + i * WAITING_WIDTH);
    value_deinit(&v);
    return 0;
}
