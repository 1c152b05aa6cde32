/* SelectedRows files: a value that was read has a row for each of its ids. */
#include "fuzz.h"

#include "store/tensor_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct skiff_tensor v = {0};
    if (rows_file_read(fuzz_file(data, n), &v, NULL) == SKIFF_OK &&
        (v.kind != VALUE_ROWS || v.tensor.shape.ndim < 1 || v.sel.height < 0 ||
         v.tensor.shape.dims[0] != (int64_t)v.sel.nrows ||
         (size_t)tensor_bytes(&v.tensor) + v.sel.nrows * 8 > n))
        abort();
    value_deinit(&v);
    return 0;
}
