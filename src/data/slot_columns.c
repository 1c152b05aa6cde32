/* Titles of slots (slot_columns.h). The setting columns is read as read_csv.c reads it (csv.h cuts
 * it), the stats file without its values: only the kinds of columns count here. Ids of
 * a column that is also a number get " (values)" behind their title. */
#include "data/slot_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/columns.h"
#include "data/csv.h"

#define POSITION "column " /* of a file without a header line: "column 3" */

/* ---- what is made of a column ---- */

/* "time (weekday)"; source[0..n) is the table's column. */
static void made_text(struct buf *out, const struct column_stats *s, bool ids)
{
    size_t n;
    const char *source = column_source(s, &n), *also = "";
    bool made = source != s->name;
    if (s->kind == COLUMN_HOUR)
        also = "hour";
    if (s->kind == COLUMN_NUMBER && ids)
        also = "buckets";
    buf_printf(out, "%.*s", (int)n, source);
    if (made)
        buf_printf(out, " (%.*s%s%s)", (int)(source - s->name) - 1, s->name, *also ? ", " : "",
                   also);
    else if (*also)
        buf_printf(out, " (%s)", also);
}

static void column_text(const struct slot *slot, const struct columns *stats,
                        const struct reader_config *config, const char *name, size_t n,
                        struct buf *out)
{
    bool ids = slot->dtype == DTYPE_INT64, position = !config->header;
    const struct column_stats *s =
        ids ? columns_find_ids(stats, name, n) : columns_find_number(stats, name, n);
    buf_reset(out);
    if (position)
        buf_str(out, POSITION);
    if (s)
        made_text(out, s, ids);
    else
        buf_printf(out, "%.*s", (int)n, name);
}

/* ---- the setting ---- */

static void read_assignment(struct schema *schema, const struct columns *stats,
                            const struct reader_config *config, char *line)
{
    struct csv csv = {.separator = ','};
    struct buf text = BUF_INIT;
    const char *at, *end, *cell;
    size_t n;
    char *name;
    int slot = csv_assignment(line, &name, &at, &end) ? schema_find(schema, name) : -1;
    while (slot >= 0 && at && csv_cell(&csv, &at, end, &cell, &n, NULL) == SKIFF_OK) {
        column_text(&schema->slots[slot], stats, config, cell, n, &text);
        slot_add_column(&schema->slots[slot], text.data ? text.data : "");
    }
    buf_deinit(&text);
    csv_deinit(&csv);
}

static int times_used(const struct schema *schema, const char *text)
{
    int times = 0;
    for (int i = 0; i < schema->count; i++)
        for (int k = 0; k < schema->slots[i].ncolumns; k++)
            times += !strcmp(schema->slots[i].columns[k], text);
    return times;
}

/* A column that is a number and also ids of its values: "age" and "age (values)". */
static void mark_values(struct schema *schema)
{
    for (int i = 0; i < schema->count; i++)
        for (int k = 0; k < schema->slots[i].ncolumns; k++) {
            char **text = &schema->slots[i].columns[k];
            if (schema->slots[i].dtype != DTYPE_INT64 || times_used(schema, *text) < 2)
                continue;
            size_t size = strlen(*text) + sizeof " (values)";
            *text = mem_grow_or_die(*text, size);
            strcat(*text, " (values)");
        }
}

static bool are_named(const struct schema *schema)
{
    for (int i = 0; i < schema->count; i++)
        if (schema->slots[i].ncolumns)
            return true;
    return false;
}

void slot_columns_read(struct schema *schema, const struct reader_config *config)
{
    struct columns stats = {0};
    bool csv = config->format && !strcmp(config->format, "csv");
    if (!csv || !config->columns || !strchr(config->columns, '=') || are_named(schema))
        return;
    if (config->stats)
        (void)columns_read_heads(config->stats, &stats, NULL);
    char *copy = mem_strdup_or_die(config->columns), *rest = copy;
    for (char *line; (line = csv_next_assignment(&rest));)
        read_assignment(schema, &stats, config, line);
    free(copy);
    columns_deinit(&stats);
    mark_values(schema);
}

/* ---- the answer ---- */

int slot_fields(const struct slot *slot)
{
    return !slot->ragged && slot->ncolumns == slot->width ? slot->ncolumns : 1;
}

int schema_fields(const struct schema *schema)
{
    int n = 0;
    for (int i = 0; i < schema->count; i++)
        n += slot_fields(&schema->slots[i]);
    return n;
}

static const char *first_columns(const struct slot *slot, char out[static SLOT_TITLE_MAX])
{
    size_t n = 0, end = SLOT_TITLE_MAX;
    out[0] = '\0';
    for (int k = 0; k < slot->ncolumns && n < end; k++)
        n += (size_t)snprintf(out + n, end - n, "%s%s", k ? ", " : "", slot->columns[k]);
    if (n >= end)
        memcpy(out + end - 4, "...", 4);
    return out;
}

const char *slot_title(const struct slot *slot, int64_t at, char out[static SLOT_TITLE_MAX])
{
    bool one = !slot->ragged && at >= 0 && at < slot->ncolumns;
    if (!slot->ncolumns || one) {
        int n = snprintf(out, SLOT_TITLE_MAX, "%s", one ? slot->columns[at] : slot->name);
        if (n >= SLOT_TITLE_MAX)
            memcpy(out + SLOT_TITLE_MAX - 4, "...", 4);
        return out;
    }
    return first_columns(slot, out);
}

const char *slot_place(const struct schema *schema, int slot, int64_t at,
                       char out[static 2 * SLOT_TITLE_MAX])
{
    const struct slot *s = &schema->slots[slot];
    const size_t size = (size_t)2 * SLOT_TITLE_MAX;
    char title[SLOT_TITLE_MAX];
    bool several = s->ncolumns > 1 && (s->ragged || at < 0);
    slot_title(s, at, title);
    if (!s->ncolumns)
        snprintf(out, size, "slot \"%.120s\" (%d of %d)", s->name, slot + 1, schema->count);
    else if (!several && !strncmp(title, POSITION, strlen(POSITION)))
        snprintf(out, size, "%s (slot %.60s)", title, s->name);
    else
        snprintf(out, size, "column%s \"%s\" (slot %.60s)", several ? "s" : "", title, s->name);
    return out;
}
