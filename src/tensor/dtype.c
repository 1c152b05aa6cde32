#include "tensor/dtype.h"

#include <string.h>
#include <strings.h>

static const struct {
    enum dtype type;
    unsigned char size;
    const char *name, *other; /* Python's name; the name in VarType, lower case */
} dtypes[] = {
    {DTYPE_BOOL, 1, "bool", "bool"},
    {DTYPE_INT16, 2, "int16", "int16"},
    {DTYPE_INT32, 4, "int32", "int32"},
    {DTYPE_INT64, 8, "int64", "int64"},
    {DTYPE_FP16, 2, "float16", "fp16"},
    {DTYPE_FP32, 4, "float32", "fp32"},
    {DTYPE_FP64, 8, "float64", "fp64"},
    {DTYPE_SIZE_T, 8, "size_t", "size_t"},
    {DTYPE_UINT8, 1, "uint8", "uint8"},
    {DTYPE_INT8, 1, "int8", "int8"},
    {DTYPE_BF16, 2, "bfloat16", "bf16"},
    {DTYPE_COMPLEX64, 8, "complex64", "complex64"},
    {DTYPE_COMPLEX128, 16, "complex128", "complex128"},
};

#define NDTYPES (sizeof dtypes / sizeof *dtypes)

size_t dtype_size(enum dtype t)
{
    for (size_t i = 0; i < NDTYPES; i++)
        if (dtypes[i].type == t)
            return dtypes[i].size;
    return 0;
}

const char *dtype_name(enum dtype t)
{
    for (size_t i = 0; i < NDTYPES; i++)
        if (dtypes[i].type == t)
            return dtypes[i].name;
    return "?";
}

bool dtype_parse(const char *name, enum dtype *out)
{
    static const struct {
        const char *name;
        enum dtype type;
    } more[] = {{"float", DTYPE_FP32}, {"double", DTYPE_FP64}, {"int", DTYPE_INT32}};
    for (size_t i = 0; i < NDTYPES; i++)
        if (strcasecmp(name, dtypes[i].name) == 0 || strcasecmp(name, dtypes[i].other) == 0) {
            *out = dtypes[i].type;
            return true;
        }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (strcasecmp(name, more[i].name) == 0) {
            *out = more[i].type;
            return true;
        }
    return false;
}
