/* Rows of files, whatever their form. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "prepare/look.h"
#include "data/source.h"

#define REPORT_BYTES ((int64_t)8 << 20)

enum skiff_status look_rows_open(struct look_rows *r, const struct look_config *config,
                                 struct look_form form, struct skiff_error *err)
{
    *r = (struct look_rows){
        .config = config, .form = form, .source = mem_alloc_or_die(sizeof *r->source)};
    enum skiff_status status = source_open(r->source, NULL, 0, err);
    if (status < 0) {
        free(r->source);
        r->source = NULL;
    }
    return status;
}

void look_rows_close(struct look_rows *r)
{
    if (r->source)
        source_close(r->source);
    free(r->source);
    *r = (struct look_rows){0};
}

const char *look_rows_file(const struct look_rows *r)
{
    return r->config->files->paths[r->file > 0 ? r->file - 1 : 0];
}

int64_t look_rows_bytes(const struct look_rows *r)
{
    return r->bytes_before + (r->source->stream ? stream_report(r->source->stream) : 0);
}

static enum skiff_status next_file(struct look_rows *r, struct skiff_error *err)
{
    struct stream *stream;
    if (r->file == r->config->files->count)
        return SKIFF_END;
    r->bytes_before = look_rows_bytes(r);
    TRY(stream_open(r->config->files->paths[r->file], r->config->stop, &stream, err));
    source_next(r->source, stream);
    if (r->form.format == LOOK_CSV)
        source_quotes(r->source, r->form.separator, r->form.comment);
    r->file++;
    r->begun = false;
    r->above = 0;
    return SKIFF_OK;
}

static void report(struct look_rows *r)
{
    int64_t bytes = look_rows_bytes(r);
    if (r->config->on_progress && bytes - r->reported >= REPORT_BYTES) {
        r->reported = bytes;
        r->config->on_progress(r->config->arg, bytes);
    }
}

/* A title above the header. */
static bool is_above(struct look_rows *r, const struct look_row *row)
{
    struct csv csv = {.separator = r->form.separator};
    const char *title;
    size_t n;
    if (r->begun || !r->form.titles || r->above == CSV_TITLES)
        return false;
    bool above = csv_is_title(&csv, row->line, row->line + row->n, &title, &n);
    csv_deinit(&csv);
    r->above += above;
    return above;
}

enum skiff_status look_rows_next(struct look_rows *r, struct look_row *out, struct skiff_error *err)
{
    for (;;) {
        enum skiff_status status = SKIFF_END;
        if (r->source->stream)
            status = source_line(r->source, &out->line, &out->n, err);
        if (status < 0)
            return error_prefix(err, status, "%s:%" PRId64, look_rows_file(r), r->source->line);
        if (status == SKIFF_END) {
            status = next_file(r, err);
            if (status != SKIFF_OK)
                return status;
            continue;
        }
        if (r->config->stop && atomic_load(r->config->stop))
            return error_set(err, SKIFF_STATE, "%s: reading was stopped", look_rows_file(r));
        report(r);
        if (out->n == 0 || (r->form.comment && out->line[0] == r->form.comment))
            continue;
        if (is_above(r, out))
            continue;
        out->number = r->source->line;
        out->header = !r->begun && r->form.header && r->form.format == LOOK_CSV;
        r->begun = true;
        return SKIFF_OK;
    }
}
