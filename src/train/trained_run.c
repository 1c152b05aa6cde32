/* The public face of a trained run (skiff/run.h): rows of a program, one or many, by any thread.
 *
 * A call takes a thread state (a reader that is bound to the columns, a batch, the tensor of
 * results) and gives it back, as a run of the predictor does with its own. The columns are bound
 * when a state is made: the reader reads the header line once more, from memory. What was learned
 * of the columns is read once and shared by all readers, so that all states answer alike even if
 * the file is replaced.
 *
 * Rows are computed in batches whose sizes are powers of two up to RUN_BATCH: an executor keeps a
 * plan for each size, and these are few. */
#include <skiff/run.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "data/columns.h"
#include "data/csv.h"
#include "predict/rows.h"
#include "train/trained.h"

#define RUN_BATCH 512
#define CONFIG_NAME "config.yaml"

/* What one thread needs for a call. */
struct run_state {
    struct reader *reader;
    struct batch batch;
    const struct tensor **inputs; /* of the model's feeds, in the batch */
    struct skiff_tensor out;
    struct buf line;           /* a row of text, padded */
    struct reader_cell *cells; /* a row of values */
    struct run_state *next;    /* the next idle one */
};

struct skiff_run {
    struct task_args args;
    char **texts; /* owned: all that args point to */
    int ntexts;
    struct trained trained;
    struct reader_config reader; /* the trained run's, whose texts it borrows */
    struct columns learnt;
    char *header; /* line that names the columns; NULL: by position, or there are none */
    char **names;
    int ncolumns;
    int *slots; /* of the model's feeds */
    pthread_mutex_t lock;
    struct run_state *idle;
    void (*on_log)(void *user, const char *line);
    void *user;
};

/* ---- thread states ---- */

static void state_destroy(struct run_state *s)
{
    if (!s)
        return;
    reader_destroy(s->reader);
    batch_deinit(&s->batch);
    value_deinit(&s->out);
    buf_deinit(&s->line);
    free(s->cells);
    free(s->inputs);
    free(s);
}

/* Lets a reader read the header line. */
static enum skiff_status bind_columns(struct reader *r, const char *header, struct skiff_error *err)
{
    struct stream *stream;
    struct source source;
    size_t n = strlen(header);
    if (!r->class->begin)
        return SKIFF_OK;
    TRY(stream_open_memory(header, n, "header", &stream, err));
    TRY(source_open(&source, stream, n + 2, err));
    enum skiff_status status = r->class->begin(r, &source, err);
    source_close(&source);
    return status;
}

static enum skiff_status state_create(struct skiff_run *r, struct run_state **out,
                                      struct skiff_error *err)
{
    const struct skiff_model *m = &r->trained.model;
    struct run_state *s = mem_alloc_or_die(sizeof *s);
    s->inputs = mem_alloc_or_die((size_t)(m->nfeeds + 1) * sizeof *s->inputs);
    s->cells = mem_alloc_or_die((size_t)(r->ncolumns + 1) * sizeof *s->cells);
    enum skiff_status status = reader_create(&r->reader, &r->trained.task.schema, &s->reader, err);
    if (status == SKIFF_OK)
        status = bind_columns(s->reader, r->header ? r->header : "", err);
    if (status == SKIFF_OK)
        status = batch_init(&s->batch, &r->trained.task.schema, RUN_BATCH, err);
    if (status < 0) {
        state_destroy(s);
        return status;
    }
    *out = s;
    return SKIFF_OK;
}

/* The one that was used last: its memory is warm. */
static enum skiff_status state_take(struct skiff_run *r, struct run_state **out,
                                    struct skiff_error *err)
{
    pthread_mutex_lock(&r->lock);
    struct run_state *s = r->idle;
    if (s)
        r->idle = s->next;
    pthread_mutex_unlock(&r->lock);
    *out = s;
    return s ? SKIFF_OK : state_create(r, out, err);
}

static void state_give(struct skiff_run *r, struct run_state *s)
{
    pthread_mutex_lock(&r->lock);
    s->next = r->idle;
    r->idle = s;
    pthread_mutex_unlock(&r->lock);
}

/* ---- a batch ---- */

/* Values that training would refuse. */
static enum skiff_status check_values(const struct skiff_run *r, const struct batch *b,
                                      int64_t first, struct skiff_error *err)
{
    struct breach breach;
    const struct data_rules *rules = r->trained.data.rules;
    if (!rules || rules_hold(rules, b, 0))
        return SKIFF_OK;
    for (int64_t row = 0; row < b->rows; row++)
        if (rules_breach(rules, b, row, &breach)) {
            enum skiff_status status = rules_word(rules, b, &breach, NULL, err);
            return error_prefix(err, status, "row %lld", (long long)(first + row + 1));
        }
    return SKIFF_OK;
}

static enum skiff_status compute(const struct skiff_run *r, struct run_state *s, int64_t first,
                                 double *out, struct skiff_error *err)
{
    const struct skiff_model *m = &r->trained.model;
    batch_finish(&s->batch);
    TRY(check_values(r, &s->batch, first, err));
    for (int i = 0; i < m->nfeeds; i++)
        s->inputs[i] = batch_tensor(&s->batch, r->slots[i]);
    TRY(predictor_run(r->trained.predictor, s->inputs, &s->out, 1, err));
    TRY(predict_check(r->trained.predictor, &s->out.tensor, s->batch.rows, err));
    for (int64_t i = 0; i < s->batch.rows; i++)
        out[i] = calibration_apply(r->trained.calibration, predict_value(&s->out.tensor, i));
    return SKIFF_OK;
}

/* Rows as the caller has them: either texts or values. */
struct given_rows {
    const char *const *texts;
    const struct skiff_run_value *values;
};

static enum skiff_status read_text(struct run_state *s, const char *text, struct skiff_error *err)
{
    size_t n = strlen(text);
    while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    buf_reset(&s->line);
    buf_add(&s->line, text, n);
    buf_char(&s->line, '\n');
    buf_reserve(&s->line, TEXT_PAD);
    memset(s->line.data + s->line.len, 0, TEXT_PAD);
    enum skiff_status status = s->reader->class->line(s->reader, s->line.data, n, &s->batch, err);
    if (status == SKIFF_END)
        return error_set(err, SKIFF_FORMAT, "the line holds no row (it is empty or a comment)");
    return status;
}

static enum skiff_status read_values(const struct skiff_run *r, struct run_state *s,
                                     const struct skiff_run_value *values, struct skiff_error *err)
{
    for (int i = 0; i < r->ncolumns; i++) {
        const struct skiff_run_value *v = &values[i];
        size_t n = v->text && !v->size ? strlen(v->text) : v->size;
        s->cells[i] = (struct reader_cell){.text = v->text, .n = n, .number = v->number};
    }
    return s->reader->class->row(s->reader, s->cells, r->ncolumns, &s->batch, err);
}

static int64_t batch_of(int64_t rows)
{
    int64_t size = RUN_BATCH;
    while (size > rows)
        size /= 2;
    return size;
}

static enum skiff_status predict_all(struct skiff_run *r, struct run_state *s,
                                     const struct given_rows *rows, int64_t n, double *out,
                                     struct skiff_error *err)
{
    for (int64_t first = 0, size; first < n; first += size) {
        size = batch_of(n - first);
        TRY(batch_reset(&s->batch, err));
        for (int64_t i = first; i < first + size; i++) {
            enum skiff_status status = rows->texts
                                           ? read_text(s, rows->texts[i], err)
                                           : read_values(r, s, &rows->values[i * r->ncolumns], err);
            if (status < 0)
                return error_prefix(err, status, "row %lld", (long long)i + 1);
        }
        TRY(compute(r, s, first, out + first, err));
    }
    return SKIFF_OK;
}

static enum skiff_status predict_given(struct skiff_run *r, const struct given_rows *rows,
                                       int64_t n, double *out, struct skiff_error *err)
{
    struct run_state *s;
    TRY(state_take(r, &s, err));
    enum skiff_status status = predict_all(r, s, rows, n, out, err);
    state_give(r, s);
    return status;
}

enum skiff_status skiff_run_predict_text(struct skiff_run *r, const char *const *rows, int64_t n,
                                         double *out, struct skiff_error *err)
{
    const struct reader_class *class = reader_find(r->reader.format);
    if (r->trained.data.pipe_command)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "rows of text go through runner.pipe_command, which reads files: use "
                         "skiff_run_predict_files");
    if (!class || !class->line)
        return error_set(err, SKIFF_UNSUPPORTED, "format %s has no rows of text", r->reader.format);
    return predict_given(r, &(struct given_rows){.texts = rows}, n, out, err);
}

enum skiff_status skiff_run_predict_values(struct skiff_run *r,
                                           const struct skiff_run_value *values, int64_t n,
                                           double *out, struct skiff_error *err)
{
    if (!r->ncolumns)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "format %s has no columns: predict rows of text, or files",
                         r->reader.format);
    return predict_given(r, &(struct given_rows){.values = values}, n, out, err);
}

/* ---- columns ---- */

int skiff_run_columns(const struct skiff_run *r)
{
    return r->ncolumns;
}

const char *skiff_run_column(const struct skiff_run *r, int i)
{
    return i >= 0 && i < r->ncolumns ? r->names[i] : NULL;
}

int skiff_run_find_column(const struct skiff_run *r, const char *name)
{
    for (int i = 0; i < r->ncolumns; i++)
        if (!strcmp(r->names[i], name))
            return i;
    return -1;
}

/* The header line of the first file that the config names for training or the test. */
static bool first_file(struct skiff_run *r, struct buf *path)
{
    static const struct task_data *const all[] = {&task_data_train, &task_data_infer};
    for (int i = 0; i < 2 && !path->len; i++) {
        struct file_list files;
        file_list_init(&files);
        if (config_has(r->trained.task.config, all[i]->dir_key) &&
            task_file_list(&r->trained.task, all[i], &files, NULL) == SKIFF_OK && files.count)
            buf_str(path, files.paths[0]);
        file_list_deinit(&files);
    }
    return path->len > 0;
}

static enum skiff_status read_header(struct skiff_run *r, struct reader *reader,
                                     struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    struct stream *stream;
    struct source source;
    enum skiff_status status;
    if (!first_file(r, &path)) {
        buf_deinit(&path);
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: the order of the columns is not known: no file of "
                         "runner.train_data_dir or runner.test_data_dir is there to tell it; "
                         "name the columns in the option `header`",
                         r->args.config);
    }
    TRY_OUT(stream_open(path.data, NULL, &stream, err));
    TRY_OUT(source_open(&source, stream, 0, err));
    status = reader->class->begin(reader, &source, err);
    source_close(&source);
    if (status < 0)
        error_prefix(err, status, "%s", path.data);
out:
    buf_deinit(&path);
    return status;
}

static void add_name(struct skiff_run *r, const char *name, size_t n)
{
    r->names = mem_grow_or_die(r->names, ((size_t)r->ncolumns + 1) * sizeof *r->names);
    char *copy = r->names[r->ncolumns++] = mem_alloc_or_die(n + 1);
    memcpy(copy, name, n);
}

static enum skiff_status name_columns(struct skiff_run *r, const struct reader *reader,
                                      struct skiff_error *err)
{
    const char *header, *cell;
    char position[16];
    size_t size;
    int n = reader->class->columns(reader, &header);
    for (int i = 0; !header && i < n; i++)
        add_name(r, position, (size_t)snprintf(position, sizeof position, "%d", i + 1));
    if (!header)
        return SKIFF_OK;
    r->header = mem_strdup_or_die(header);
    struct csv csv = {.separator = r->reader.separator};
    const char *at = r->header, *end = at + strlen(at);
    enum skiff_status status = SKIFF_OK;
    while (at && status == SKIFF_OK) {
        status = csv_cell(&csv, &at, end, &cell, &size, err);
        if (status == SKIFF_OK)
            add_name(r, cell, size);
    }
    csv_deinit(&csv);
    return status;
}

/* Learns the columns from the header, and whether rows can be read at all. */
static enum skiff_status open_columns(struct skiff_run *r, const char *header,
                                      struct skiff_error *err)
{
    const struct reader_class *class = reader_find(r->reader.format);
    struct reader *reader = NULL;
    if (!class || !class->row)
        return SKIFF_OK;
    if (r->reader.stats) {
        TRY(columns_read(r->reader.stats, &r->learnt, err));
        r->reader.learnt = &r->learnt;
    }
    TRY(reader_create(&r->reader, &r->trained.task.schema, &reader, err));
    enum skiff_status status = header              ? bind_columns(reader, header, err)
                               : !r->reader.header ? SKIFF_OK
                                                   : read_header(r, reader, err);
    if (status == SKIFF_OK)
        status = name_columns(r, reader, err);
    reader_destroy(reader);
    return status;
}

/* ---- open, close ---- */

static void log_text(void *user, enum log_level level, const char *text)
{
    struct skiff_run *r = user;
    if (r->on_log && level >= LOG_INFO)
        r->on_log(r->user, text);
}

static void log_unknown(void *user, const char *text)
{
    log_text(user, LOG_WARN, text);
}

static char *keep_text(struct skiff_run *r, const char *text)
{
    return text ? r->texts[r->ntexts++] = mem_strdup_or_die(text) : NULL;
}

/* The config of a folder, or the path itself. */
static char *config_of(const char *path)
{
    struct stat st;
    struct buf b = BUF_INIT;
    buf_str(&b, path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        buf_str(&b, "/" CONFIG_NAME);
    return b.data;
}

static void set_args(struct skiff_run *r, const char *path, const struct skiff_run_options *o)
{
    r->texts = mem_alloc_or_die((size_t)(o->noptions + 2) * sizeof *r->texts);
    const char **options = mem_alloc_or_die((size_t)(o->noptions + 1) * sizeof *options);
    for (int i = 0; i < o->noptions; i++)
        options[i] = keep_text(r, o->options[i]);
    r->args = (struct task_args){.config = r->texts[r->ntexts++] = config_of(path),
                                 .overrides = {.at = options, .n = o->noptions},
                                 .name = keep_text(r, o->name),
                                 .logger = {.write = log_text, .user = r},
                                 .on_unknown = log_unknown,
                                 .on_unknown_user = r};
    r->on_log = o->on_log;
    r->user = o->user;
}

static enum skiff_status open_run(struct skiff_run *r, const struct skiff_run_options *o,
                                  struct skiff_error *err)
{
    struct run_state *s;
    TRY(trained_open(&r->trained, &r->args, err));
    TRY(trained_load(&r->trained, &(struct predict_wish){.model = o->model}, err));
    r->reader = r->trained.data.reader;
    r->reader.id = NULL; /* is not asked for */
    TRY(open_columns(r, o->header, err));
    TRY(predict_slots(r->trained.predictor, &r->trained.task.schema, &r->slots, err));
    TRY(state_take(r, &s, err));
    state_give(r, s);
    return SKIFF_OK;
}

struct skiff_run *skiff_run_open(const char *path, const struct skiff_run_options *options,
                                 struct skiff_error *err)
{
    static const struct skiff_run_options none;
    const struct skiff_run_options *o = options ? options : &none;
    struct skiff_error why = {0};
    if (!path || !*path) {
        error_set(err, SKIFF_INVALID, "there is no path of a run (NULL or empty)");
        return NULL;
    }
    if (reserved_check(o->reserved, "skiff_run_options", err) < 0)
        return NULL;
    struct skiff_run *r = mem_alloc_or_die(sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    set_args(r, path, o);
    if (open_run(r, o, &why) == SKIFF_OK)
        return r;
    skiff_run_close(r);
    if (err)
        *err = why;
    return NULL;
}

void skiff_run_close(struct skiff_run *r)
{
    if (!r)
        return;
    while (r->idle) {
        struct run_state *s = r->idle;
        r->idle = s->next;
        state_destroy(s);
    }
    columns_deinit(&r->learnt);
    trained_close(&r->trained);
    for (int i = 0; i < r->ncolumns; i++)
        free(r->names[i]);
    for (int i = 0; i < r->ntexts; i++)
        free(r->texts[i]);
    free(r->names);
    free(r->header);
    free(r->slots);
    free(r->texts);
    free(r->args.overrides.at);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

const char *skiff_run_model(const struct skiff_run *r)
{
    return r->trained.path.data;
}

/* ---- files ---- */

enum skiff_status skiff_run_predict_files(struct skiff_run *r, const char *path,
                                          enum skiff_status (*write)(void *user, const char *text,
                                                                     size_t n, int64_t rows,
                                                                     struct skiff_error *err),
                                          void *user, struct skiff_error *err)
{
    struct file_list files;
    struct bad_lines bad;
    file_list_init(&files);
    bad_lines_init(&bad, r->trained.data.bad_limit);
    enum skiff_status status = file_list_expand(&files, path, err);
    if (status == SKIFF_OK)
        status = trained_predict(
            &r->trained,
            &(struct trained_files){.files = &files, .bad = &bad, .user = user, .write = write},
            err);
    bad_lines_deinit(&bad);
    file_list_deinit(&files);
    return status;
}
