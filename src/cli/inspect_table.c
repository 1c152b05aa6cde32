/* inspect table: saved sparse tables, the shard files that servers write. Lines are
 *     key slot unseen_days delta_score show click embed_w ...
 *     key unseen_days delta_score show click embed_w ...         (CtrDoubleAccessor: --double)
 * and, of the dense parameters, which are one more table, numbers alone. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/inspect.h"
#include "train/job_tables.h"
#include "data/source.h"
#include "fs/fs.h"
#include "store/file.h"

#define MOST_COLUMNS 16384
#define NONCLK 0.1 /* of the score: fleet's defaults */
#define SCORES 5

static const double score_ends[SCORES - 1] = {0.1, 1, 10, 100};
static const char *const score_names[SCORES] = {"below 0.1", "to 1", "to 10", "to 100", "above"};

struct value_stats {
    double least, most, sum;
};

struct file_stats {
    int64_t files, rows, bytes;
    int64_t by_columns[MOST_COLUMNS + 1]; /* rows with so many numbers behind the key */
    struct value_stats show, click, unseen;
    int64_t scores[SCORES];
};

static void count_value(struct value_stats *c, bool first, double v)
{
    c->least = first || v < c->least ? v : c->least;
    c->most = first || v > c->most ? v : c->most;
    c->sum += v;
}

static void count_row(struct file_stats *t, const double *v, bool twice)
{
    const double *unseen = v + (twice ? 0 : 1);
    double show = unseen[2], click = unseen[3], score = (show - click) * NONCLK + click;
    int i = 0;
    while (i < SCORES - 1 && score >= score_ends[i])
        i++;
    t->scores[i]++;
    count_value(&t->unseen, !t->rows, unseen[0]);
    count_value(&t->show, !t->rows, show);
    count_value(&t->click, !t->rows, click);
}

/* Numbers of a line: how many; the first few go to out. -1: something else stands there. */
static int read_numbers(const char *line, size_t n, double *out, int capacity)
{
    const char *end = line + n;
    int count = 0;
    for (char *stop; line < end; count++) {
        double v = strtod(line, &stop);
        if (stop == line || stop > end || (stop < end && *stop != ' '))
            return -1;
        if (count < capacity)
            out[count] = v;
        for (line = stop; line < end && *line == ' ';)
            line++;
    }
    return count;
}

static enum skiff_status read_file(const char *path, bool dense, bool twice, struct file_stats *t,
                                   struct skiff_error *err)
{
    struct stream *stream;
    struct source s;
    const char *line;
    size_t n;
    TRY(stream_open(path, NULL, &stream, err));
    TRY(source_open(&s, stream, 0, err));
    s.unpack_ratio = -1;
    enum skiff_status status;
    while ((status = source_line(&s, &line, &n, err)) == SKIFF_OK) {
        double v[8];
        int count = read_numbers(line, n, v, 8), least = dense ? 1 : twice ? 6 : 7;
        if (count < least || count > MOST_COLUMNS) {
            status = error_set(err, SKIFF_FORMAT, "%s:%" PRId64 ": expected %s, found \"%.*s\"%s",
                               path, s.line, dense ? "numbers" : "a key and at least 6 numbers",
                               (int)(n < 60 ? n : 60), line,
                               dense ? ""
                                     : "; the output of a converter (table_accessor_save_param of "
                                       "the table's settings) cannot be read here");
            break;
        }
        if (!dense)
            count_row(t, v + 1, twice);
        t->by_columns[dense ? count : count - 1]++;
        t->rows++;
    }
    source_close(&s);
    return status == SKIFF_END ? SKIFF_OK : status;
}

/* "part-000-00001.gz": a shard; "part-000.gz": dense parameters, or rows of 000_cache. */
static bool is_part(const char *path, bool *dense)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    if (strncmp(name, "part-", 5) != 0)
        return false;
    *dense = !strchr(name + 5, '-') && !strstr(path, "_cache/part-");
    return true;
}

static void print_column(const char *name, const struct value_stats *c, int64_t rows)
{
    printf("    %-12s least %.6g, mean %.6g, most %.6g\n", name, c->least, c->sum / (double)rows,
           c->most);
}

static void print_table(const struct file_stats *t, bool dense)
{
    char bytes[64];
    printf("  %" PRId64 " rows in %" PRId64 " files, %s%s\n", t->rows, t->files,
           inspect_bytes((uint64_t)t->bytes, bytes), dense ? ": dense parameters" : "");
    for (int i = 0; i <= MOST_COLUMNS; i++)
        if (t->by_columns[i])
            printf("    %" PRId64 " rows have %d numbers\n", t->by_columns[i], i);
    if (dense || !t->rows)
        return;
    print_column("show", &t->show, t->rows);
    print_column("click", &t->click, t->rows);
    print_column("unseen days", &t->unseen, t->rows);
    printf("    score       ");
    for (int i = 0; i < SCORES; i++)
        printf(" %s: %" PRId64 "%s", score_names[i], t->scores[i], i < SCORES - 1 ? "," : "\n");
}

static enum skiff_status read_parts(const struct fs_list *l, const struct inspect_options *o,
                                    struct file_stats *t, bool *dense, struct skiff_error *err)
{
    for (int i = 0; i < l->count; i++) {
        const struct fs_entry *e = &l->entries[i];
        int64_t before = t->rows;
        const char *name = strrchr(e->path, '/');
        if (e->stat.folder || !is_part(e->path, dense))
            continue;
        TRY(read_file(e->path, *dense, o->twice, t, err));
        printf("  %-24s %" PRId64 " rows, %" PRId64 " bytes\n", name ? name + 1 : e->path,
               t->rows - before, e->stat.size);
        t->files++;
        t->bytes += e->stat.size;
    }
    return SKIFF_OK;
}

/* How the job had the table when it was saved, if it was `skiff train` that did (".../000": the
 * line that begins so, of the file next to it). */
static void print_state(const char *path)
{
    struct buf text = BUF_INIT, file = BUF_INIT;
    size_t n;
    const char *name = path_last(path, &n);
    buf_printf(&file, "%.*s" JOB_TABLES_FILE, (int)(name - path), path);
    if (file_exists(file.data) && file_read(file.data, &text, NULL) == SKIFF_OK) {
        char *rest = text.data;
        for (char *line; (line = strsep(&rest, "\n"));)
            if (n && !strncmp(line, name, n) && line[n] == ' ')
                printf("    in the job   %s\n", line + n + 1);
    }
    buf_deinit(&text);
    buf_deinit(&file);
}

/* One table's folder; *out: it is one. */
static enum skiff_status inspect_folder(const char *path, const struct inspect_options *o,
                                        bool *out, struct skiff_error *err)
{
    struct fs_list l = {0};
    bool dense = false, any = false;
    struct file_stats *t = mem_alloc_or_die(sizeof *t);
    enum skiff_status status = fs_list(NULL, path, &l, err);
    for (int i = 0; status == SKIFF_OK && i < l.count && !any; i++)
        any = !l.entries[i].stat.folder && is_part(l.entries[i].path, &dense);
    if (any) {
        printf("%s\n", path);
        status = read_parts(&l, o, t, &dense, err);
    }
    if (any && status == SKIFF_OK) {
        print_table(t, dense);
        print_state(path);
    }
    *out |= any;
    fs_list_deinit(&l);
    free(t);
    return status;
}

/* What a save that was cut short has left. */
static bool is_hidden(const char *path)
{
    const char *slash = strrchr(path, '/');
    return (slash ? slash + 1 : path)[0] == '.';
}

/* The folder itself, or the tables in it: 000, 001, ... */
enum skiff_status inspect_table(const char *path, const struct inspect_options *o,
                                struct skiff_error *err)
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
    TRY(inspect_folder(path, o, &any, err));
    enum skiff_status status = any ? SKIFF_OK : fs_list(NULL, path, &l, err);
    for (int i = 0; status == SKIFF_OK && i < l.count; i++)
        if (l.entries[i].stat.folder && !is_hidden(l.entries[i].path))
            status = inspect_folder(l.entries[i].path, o, &any, err);
    fs_list_deinit(&l);
    if (status == SKIFF_OK && !any)
        status = error_set(err, SKIFF_NOT_FOUND,
                           "%s contains no files of sparse tables (part-000-00000 ...); skiff "
                           "inspect model and skiff inspect tensor show other models",
                           path);
    return status;
}
