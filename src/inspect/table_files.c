/* Reads shard files a line at a time; nothing of a line is kept but its part in the statistics. A
 * line is a key and numbers, and of dense parameters numbers alone. Any number of columns up to
 * ACCESSOR_WIDTH is taken, since files do not say which dimension and rule they were written with.
 */
#include "inspect/table_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/source.h"
#include "fs/fs.h"
#include "store/file.h"
#include "save/contents.h"

#define NONCLK 0.1 /* of the score: fleet's defaults */
#define FIRST_NUMBERS 8

static const double score_ends[TABLE_SCORES - 1] = {0.1, 1, 10, 100};
const char *const table_score_names[TABLE_SCORES] = {"below 0.1", "to 1", "to 10", "to 100",
                                                     "above"};

static void count_value(struct value_stats *c, bool first, double v)
{
    c->least = first || v < c->least ? v : c->least;
    c->most = first || v > c->most ? v : c->most;
    c->sum += v;
}

/* v: numbers behind the key */
static void count_row(struct table_files *t, const double *v, const struct accessor_columns *c)
{
    double show = v[c->show], click = v[c->click], score = (show - click) * NONCLK + click;
    int i = 0;
    while (i < TABLE_SCORES - 1 && score >= score_ends[i])
        i++;
    t->scores[i]++;
    count_value(&t->unseen, !t->rows, v[c->unseen]);
    count_value(&t->show, !t->rows, show);
    count_value(&t->click, !t->rows, click);
}

static void count_columns(struct table_files *t, int columns)
{
    int i = 0;
    while (i < t->ncolumns && t->columns[i].columns < columns)
        i++;
    if (i == t->ncolumns || t->columns[i].columns != columns) {
        t->columns = mem_grow_or_die(t->columns, ((size_t)t->ncolumns + 1) * sizeof *t->columns);
        memmove(t->columns + i + 1, t->columns + i, (size_t)(t->ncolumns - i) * sizeof *t->columns);
        t->columns[i] = (struct column_count){.columns = columns};
        t->ncolumns++;
    }
    t->columns[i].rows++;
}

/* Numbers of a line: how many; the first few go to out. -1: something else stands there. */
static int read_numbers(const char *line, size_t n, double out[static FIRST_NUMBERS])
{
    const char *end = line + n;
    int count = 0;
    for (char *stop; line < end; count++) {
        double v = strtod(line, &stop);
        if (stop == line || stop > end || (stop < end && *stop != ' '))
            return -1;
        if (count < FIRST_NUMBERS)
            out[count] = v;
        for (line = stop; line < end && *line == ' ';)
            line++;
    }
    return count;
}

static enum skiff_status bad_line(const struct source *s, bool dense, int least, const char *line,
                                  size_t n, struct skiff_error *err)
{
    char expected[64] = "numbers";
    if (!dense)
        snprintf(expected, sizeof expected, "a key and at least %d numbers", least);
    return error_set(err, SKIFF_FORMAT, "%s:%" PRId64 ": expected %s, found \"%.*s\"%s", s->name,
                     s->line, expected, (int)(n < 60 ? n : 60), line,
                     dense ? ""
                           : "; the output of a converter (table_accessor_save_param of the "
                             "table's settings) cannot be read here");
}

static enum skiff_status read_file(const char *path, const struct accessor_columns *columns,
                                   struct table_files *t, struct skiff_error *err)
{
    struct stream *stream;
    struct source s;
    const char *line;
    size_t n;
    int least = t->dense ? 1 : 1 + columns->least;
    TRY(stream_open(path, NULL, &stream, err));
    TRY(source_open(&s, stream, 0, err));
    s.unpack_ratio = -1;
    enum skiff_status status;
    while ((status = source_line(&s, &line, &n, err)) == SKIFF_OK) {
        double v[FIRST_NUMBERS];
        int count = read_numbers(line, n, v);
        if (count < least || count > ACCESSOR_WIDTH) {
            status = bad_line(&s, t->dense, columns->least, line, n, err);
            break;
        }
        if (t->statistics)
            count_row(t, v + 1, columns);
        count_columns(t, t->dense ? count : count - 1);
        t->rows++;
    }
    source_close(&s);
    return status == SKIFF_END ? SKIFF_OK : status;
}

/* ---- folders ---- */

static const char *last_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "part-000-00001.gz": a shard; "part-000.gz": dense parameters, or rows of 000_cache. */
static bool is_part(const struct fs_entry *e, bool *dense)
{
    const char *name = last_of(e->path);
    if (e->stat.folder || strncmp(name, "part-", 5) != 0)
        return false;
    *dense = !strchr(name + 5, '-') && !strstr(e->path, "_cache/part-");
    return true;
}

static enum skiff_status read_parts(const struct fs_list *l, const struct accessor_class *accessor,
                                    struct table_files *t, struct skiff_error *err)
{
    for (int i = 0; i < l->count; i++) {
        const struct fs_entry *e = &l->entries[i];
        int64_t before = t->rows;
        if (!is_part(e, &t->dense))
            continue;
        t->statistics = !t->dense && accessor->columns.statistics;
        TRY(read_file(e->path, &accessor->columns, t, err));
        t->parts = mem_grow_or_die(t->parts, ((size_t)t->nparts + 1) * sizeof *t->parts);
        t->parts[t->nparts++] = (struct table_part){.name = mem_strdup_or_die(last_of(e->path)),
                                                    .rows = t->rows - before,
                                                    .bytes = e->stat.size};
        t->bytes += e->stat.size;
    }
    return SKIFF_OK;
}

/* How the job had the table when it was saved, if it was `skiff train` that did (".../000": the
 * line that begins so, of the file next to it). */
static void read_state(struct table_files *t)
{
    struct buf text = BUF_INIT, file = BUF_INIT;
    size_t n;
    const char *name = path_last(t->path, &n);
    buf_printf(&file, "%.*s" SAVE_TABLE_STATES, (int)(name - t->path), t->path);
    if (file_exists(file.data) && file_read(file.data, &text, NULL) == SKIFF_OK) {
        char *rest = text.data;
        for (char *line; (line = strsep(&rest, "\n"));)
            if (n && !strncmp(line, name, n) && line[n] == ' ')
                buf_printf(&t->state, "%s\n", line + n + 1);
    }
    buf_deinit(&text);
    buf_deinit(&file);
}

static void table_files_deinit(struct table_files *t)
{
    for (int i = 0; i < t->nparts; i++)
        free(t->parts[i].name);
    free(t->parts);
    free(t->columns);
    buf_deinit(&t->state);
}

/* One table's folder; *out: it is one. */
static enum skiff_status walk_folder(const char *path, const struct accessor_class *accessor,
                                     table_files_fn on_table, void *arg, bool *out,
                                     struct skiff_error *err)
{
    struct fs_list l = {0};
    bool any = false;
    struct table_files t = {.path = path};
    enum skiff_status status = fs_list(NULL, path, &l, err);
    for (int i = 0; status == SKIFF_OK && i < l.count && !any; i++)
        any = is_part(&l.entries[i], &t.dense);
    if (any)
        status = read_parts(&l, accessor, &t, err);
    if (any && status == SKIFF_OK) {
        read_state(&t);
        on_table(arg, &t);
    }
    *out |= any;
    table_files_deinit(&t);
    fs_list_deinit(&l);
    return status;
}

enum skiff_status table_files_walk(const char *path, const struct accessor_class *accessor,
                                   table_files_fn on_table, void *arg, struct skiff_error *err)
{
    struct fs_list l = {0};
    struct fs_stat st;
    bool any = false;
    TRY(fs_look(NULL, path, &st, err));
    if (!st.folder)
        return error_set(err, SKIFF_INVALID,
                         "%s is a file; expected the folder of a saved table (part-000-00000 ...) "
                         "or of a model with such folders (000, 001 ...)",
                         path);
    TRY(walk_folder(path, accessor, on_table, arg, &any, err));
    enum skiff_status status = any ? SKIFF_OK : fs_list(NULL, path, &l, err);
    for (int i = 0; status == SKIFF_OK && i < l.count; i++) /* ".": of a save that was cut short */
        if (l.entries[i].stat.folder && last_of(l.entries[i].path)[0] != '.')
            status = walk_folder(l.entries[i].path, accessor, on_table, arg, &any, err);
    fs_list_deinit(&l);
    if (status == SKIFF_OK && !any)
        status = error_set(err, SKIFF_NOT_FOUND,
                           "%s contains no files of sparse tables (part-000-00000 ...); skiff "
                           "inspect model and skiff inspect tensor show other models",
                           path);
    return status;
}
