/* As much of JSON as WebHDFS answers with: objects without objects in them, and their fields. */
#ifndef FS_ANSWER_H
#define FS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The next innermost {...} behind *at, which moves behind it. */
bool answer_object(const char **at, const char **object, size_t *n);
/* A field of it: text (unescaped) or the letters of a number or word are added to out. */
bool answer_field(const char *object, size_t n, const char *name, struct buf *out);
int64_t answer_number(const char *object, size_t n, const char *name, int64_t otherwise);

#endif
