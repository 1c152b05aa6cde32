/* Shared by the two pickle writers (defined in pickle_write.c). */
#ifndef STORE_PICKLE_PARTS_H
#define STORE_PICKLE_PARTS_H

#include "base/buf.h"
#include "tensor/dtype.h"

#define PICKLE_TEXT_MAX UINT32_MAX

void pickle_integer(struct buf *b, int64_t v);
/* How long the bytes are as UTF-8 of the code points 0..255. */
size_t pickle_latin1_length(const uint8_t *bytes, size_t n);
/* numpy's name; NULL: it has none. */
const char *pickle_dtype_code(enum dtype t, bool *out_one_byte);

#endif
