/* Shared by the fuzz targets of the readers: the input is a file, read by a scan that skips bad
 * lines, as training and predicting do. The batch must stay consistent: rows and offsets in order,
 * with the number of values that the offsets give, and a position for every row. */
#ifndef FUZZ_FUZZ_READER_H
#define FUZZ_FUZZ_READER_H

#include <stdlib.h>

#include "data/reader.h"
#include "fuzz.h"

static void fuzz_check_batch(const struct batch *b)
{
    for (int k = 0; k < b->nragged; k++) {
        const struct column *c = &b->columns[b->ragged[k]];
        if (c->offsets[0] != 0 || (size_t)c->offsets[b->rows] != c->count || c->count > c->cap)
            abort();
        for (int64_t i = 0; i < b->rows; i++)
            if (c->offsets[i + 1] <= c->offsets[i])
                abort();
    }
    int64_t positions = 0;
    for (size_t i = 0; i < b->positions_done; i++)
        positions += b->positions.data[i] == '\n';
    if (b->keep_positions && positions != b->rows)
        abort();
}

/* Slots: "ids:i dense:f3 label:i1", as name, type and width (none: ragged). Settings: pairs. */
static void fuzz_reader_as(const uint8_t *data, size_t n, const char *format, const char *slots,
                           const char *const *settings, bool predicting)
{
    struct schema schema;
    struct reader_config config;
    struct reader *reader = NULL;
    struct batch b = {0};
    struct source s = {0};
    struct stream *stream;
    char *copy = strdup(slots), *at = copy;
    enum skiff_status status = SKIFF_OK;
    schema_init(&schema);
    for (char *word; (word = strsep(&at, " "));) {
        char *colon = strchr(word, ':');
        *colon = '\0';
        struct shape shape = SHAPE(-1, colon[2] ? atoi(colon + 2) : 1);
        if (schema_add(&schema, word, colon[1] == 'f' ? DTYPE_FP32 : DTYPE_INT64, !colon[2], &shape,
                       NULL) != SKIFF_OK)
            abort();
    }
    free(copy);
    reader_config_init(&config);
    reader_config_set(&config, "format", format, NULL);
    for (; settings && *settings; settings += 2)
        if (reader_config_set(&config, settings[0], settings[1], NULL) != SKIFF_OK)
            abort();
    config.skip_label = predicting;
    if (reader_create(&config, &schema, &reader, NULL) != SKIFF_OK ||
        batch_init(&b, &schema, 16, NULL) != SKIFF_OK)
        abort();
    b.keep_positions = predicting;
    if (batch_reset(&b, NULL) != SKIFF_OK)
        abort();
    if (stream_open_memory(data, n, "input", &stream, NULL) == SKIFF_OK &&
        source_open(&s, stream, 64 << 10, NULL) == SKIFF_OK) {
        if (reader->class->begin)
            status = reader->class->begin(reader, &s, NULL);
        while (status == SKIFF_OK) {
            const char *line;
            size_t length;
            struct skiff_error err;
            if (b.rows == b.max_rows)
                batch_reset(&b, NULL);
            if (!reader->class->line) {
                status = reader->class->read(reader, &s, &b, b.max_rows, &err);
            } else {
                int64_t number = s.line;
                status = source_line(&s, &line, &length, &err);
                if (status == SKIFF_OK)
                    reader->class->line(reader, line, length, &b, &err);
                else if (status < 0 && s.line > number)
                    status = SKIFF_OK; /* a huge line: reading continues */
            }
            fuzz_check_batch(&b);
        }
    }
    source_close(&s);
    batch_deinit(&b);
    reader_destroy(reader);
    reader_config_deinit(&config);
    schema_deinit(&schema);
}

static inline void fuzz_reader(const uint8_t *data, size_t n, const char *format, const char *slots,
                               const char *const *settings)
{
    fuzz_reader_as(data, n, format, slots, settings, false);
    fuzz_reader_as(data, n, format, slots, settings, true);
}

#endif
