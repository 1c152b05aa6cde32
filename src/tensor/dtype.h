/* Element types. The numbers are Paddle's VarType.Type, so they go into files and attributes as
 * they are. */
#ifndef TENSOR_DTYPE_H
#define TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

enum dtype {
    DTYPE_BOOL = 0,
    DTYPE_INT16 = 1,
    DTYPE_INT32 = 2,
    DTYPE_INT64 = 3,
    DTYPE_FP16 = 4,
    DTYPE_FP32 = 5,
    DTYPE_FP64 = 6,
    DTYPE_SIZE_T = 19,
    DTYPE_UINT8 = 20,
    DTYPE_INT8 = 21,
    DTYPE_BF16 = 22,
    DTYPE_COMPLEX64 = 23,
    DTYPE_COMPLEX128 = 24,
};

size_t dtype_size(enum dtype t);                     /* 0 when t is not an element type */
const char *dtype_name(enum dtype t);                /* "float32", "int64", ...; "?" when unknown */
bool dtype_parse(const char *name, enum dtype *out); /* accepts "float32", "fp32", "FP32", ... */

#endif
