/* Any bytes as a program file: decoded or refused; what is decoded can be encoded, printed, parsed,
 * cloned and verified, and comes back the same. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "program/program.h"

static void same_or_abort(const struct buf *a, const struct buf *b)
{
    if (a->len != b->len || memcmp(a->data, b->data, a->len) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct skiff_program *p = NULL, *q = NULL, *r = NULL;
    struct skiff_error err;
    struct buf a = BUF_INIT, b = BUF_INIT, c = BUF_INIT, text = BUF_INIT;
    if (program_decode(data, n, "fuzz", &p, &err) != SKIFF_OK)
        return 0;
    program_encode(p, &a);
    if (program_decode(a.data, a.len, "again", &q, &err) != SKIFF_OK)
        abort();
    program_encode(q, &b);
    same_or_abort(&a, &b);
    program_print(p, &text);
    if (program_parse(text.data, "text", &r, &err) != SKIFF_OK)
        abort();
    program_encode(r, &c);
    same_or_abort(&a, &c);
    program_verify_with(p, VERIFY_SKIP_UNKNOWN, &err);
    program_destroy(p);
    program_destroy(q);
    program_destroy(r);
    buf_deinit(&a);
    buf_deinit(&b);
    buf_deinit(&c);
    buf_deinit(&text);
    return 0;
}
