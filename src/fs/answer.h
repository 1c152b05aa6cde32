/* The subset of JSON that WebHDFS answers with: objects without nested objects, and their fields.
 */
#ifndef FS_ANSWER_H
#define FS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The next innermost {...} behind *at, which moves behind it. */
bool answer_object(const char **at, const char **object, size_t *n);
/* Appends a field of it: text (unescaped), or the characters of a number or word. */
bool answer_field(const char *object, size_t n, const char *name, struct buf *out);
int64_t answer_number(const char *object, size_t n, const char *name, int64_t otherwise);

#endif
