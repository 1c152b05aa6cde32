/* Any text as a program: parsed or refused; what is parsed prints as a text that parses to the same
 * text. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "program/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct skiff_program *p = NULL, *q = NULL;
    struct skiff_error err;
    struct buf once = BUF_INIT, twice = BUF_INIT, file = BUF_INIT;
    char *text = mem_alloc_or_die(n + 1);
    memcpy(text, data, n);
    enum skiff_status status = program_parse(text, "fuzz", &p, &err);
    free(text);
    if (status != SKIFF_OK)
        return 0;
    program_print(p, &once);
    if (program_parse(once.data, "again", &q, &err) != SKIFF_OK)
        abort();
    program_print(q, &twice);
    if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
        abort();
    program_encode(p, &file);
    program_verify_with(p, VERIFY_SKIP_UNKNOWN, &err);
    program_destroy(p);
    program_destroy(q);
    buf_deinit(&once);
    buf_deinit(&twice);
    buf_deinit(&file);
    return 0;
}
