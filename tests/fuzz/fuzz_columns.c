/* The file in which `skiff init` saves what it has learnt: accepted text prints as a text that is
 * accepted again, and gives ids for any cell. */
#include <stdlib.h>
#include <string.h>

#include "data/columns.h"
#include "data/text.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct columns c, again;
    struct buf text = BUF_INIT;
    char cell[16 + TEXT_PAD] = {0};
    if (columns_parse((const char *)data, n, "fuzz", &c, NULL) < 0)
        return 0;
    memcpy(cell, data, n < 16 ? n : 16);
    for (int i = 0; i < c.count; i++) {
        const struct column_stats *s = &c.at[i];
        int64_t id = s->size ? column_id(s, cell, n < 16 ? n : 16) : -1;
        if (id >= 0 && (id < s->first || id >= s->first + s->size))
            abort();
        if (s->kind == COLUMN_NUMBER && !(column_scale(s, 1.5) <= 1))
            abort();
    }
    columns_print(&c, &text);
    if (columns_parse(text.data, text.len, "fuzz", &again, NULL) < 0)
        abort();
    columns_deinit(&again);
    columns_deinit(&c);
    buf_deinit(&text);
    return 0;
}
