/* Sample dumps (sample_dump.h has the format). Variables are resolved by name once, when
 * training begins, so that a wrong name fails early. Each training thread formats a batch into a
 * buffer of its own and writes it to a file of its own; no lock is needed. A write error is kept
 * by the thread and reported at the end of the epoch. */
#include "train/sample_dump.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/file.h"

/* ---- keys ---- */

/* Adds the names that the program has; others are wrong, but for those of the backward part in a
 * test. */
static int add_names(struct sample_dump *d, struct task *j, enum config_key key, bool test)
{
    const char *const *names;
    int n = config_list(j->config, key, &names), added = 0;
    for (int i = 0; i < n; i++) {
        if (test && strstr(names[i], "@GRAD")) {
            logger_warn(&j->logger, "%s: %s is ignored: there are no gradients without training",
                        key_name(key), names[i]);
            continue;
        }
        if (!block_find_var(program_root(j->main), names[i]))
            config_refuse(j->config, key,
                          "has %s, which is not a variable of the network (skiff inspect program "
                          "lists the variables of a saved network)",
                          names[i]);
        d->names[d->first + d->nfields + d->nparams + added++] = names[i];
    }
    return added;
}

enum skiff_status sample_dump_init(struct sample_dump *d, struct task *j,
                                   struct trainer_options *options, bool test, int worker,
                                   struct skiff_error *err)
{
    const char *const *list;
    struct config *c = j->config;
    *d = (struct sample_dump){.wanted = config_bool(c, KEY_RUNNER_NEED_DUMP)};
    int fields = config_list(c, KEY_RUNNER_DUMP_FIELDS, &list);
    int params = config_list(c, KEY_RUNNER_DUMP_PARAM, &list);
    d->path = config_path(c, KEY_RUNNER_DUMP_FIELDS_PATH);
    if (!d->wanted)
        return SKIFF_OK;
    if (!d->path || !*d->path || fields < 1)
        return error_set(err, SKIFF_INVALID,
                         "%s: runner.need_dump needs runner.dump_fields_path (a folder) and "
                         "runner.dump_fields (names of variables)",
                         config_name(c));
    d->threads = options->threads;
    d->worker = worker;
    d->first = options->nwatched;
    d->names = mem_alloc_or_die((size_t)(d->first + fields + (params > 0 ? params : 0)) *
                                sizeof *d->names);
    memcpy(d->names, options->watched, (size_t)d->first * sizeof *d->names);
    d->nfields = add_names(d, j, KEY_RUNNER_DUMP_FIELDS, test);
    d->nparams = add_names(d, j, KEY_RUNNER_DUMP_PARAM, test);
    options->watched = d->names;
    options->nwatched = d->first + d->nfields + d->nparams;
    d->thread_states = mem_alloc_or_die((size_t)d->threads * sizeof *d->thread_states);
    return config_check(c, err);
}

void sample_dump_deinit(struct sample_dump *d)
{
    for (int i = 0; d->thread_states && i < d->threads; i++) {
        if (d->thread_states[i].file)
            fclose(d->thread_states[i].file);
        buf_deinit(&d->thread_states[i].text);
    }
    free(d->thread_states);
    free(d->names);
    buf_deinit(&d->folder);
    *d = (struct sample_dump){0};
}

/* ---- files ---- */

enum skiff_status sample_dump_start(struct sample_dump *d, const char *span,
                                    struct skiff_error *err)
{
    if (!d->wanted)
        return SKIFF_OK;
    buf_reset(&d->folder);
    buf_printf(&d->folder, "%s/", d->path);
    for (const char *c = span; *c; c++)
        buf_char(&d->folder, *c == ' ' ? '_' : *c);
    for (int i = 0; i < d->threads; i++) {
        struct buf path = BUF_INIT;
        buf_printf(&path, "%s/part-%03d-%05d", d->folder.data, d->worker, i);
        enum skiff_status status = file_make_parents(path.data, err);
        d->thread_states[i].batches = 0;
        d->thread_states[i].failed = false;
        if (status == SKIFF_OK && !(d->thread_states[i].file = fopen(path.data, "we")))
            status = error_set_sys(err, "%s", path.data);
        buf_deinit(&path);
        if (status < 0)
            return error_prefix(err, status, "runner.dump_fields_path");
    }
    return SKIFF_OK;
}

enum skiff_status sample_dump_end(struct sample_dump *d, struct skiff_error *err)
{
    bool failed = false;
    for (int i = 0; i < d->threads; i++) {
        FILE *f = d->thread_states[i].file;
        d->thread_states[i].file = NULL;
        failed |= d->thread_states[i].failed || (f && fclose(f) != 0);
    }
    if (failed)
        return error_set(err, SKIFF_IO,
                         "runner.dump_fields_path: %s is incomplete (is the disk full?)",
                         d->folder.data);
    return SKIFF_OK;
}

/* ---- lines ---- */

static void print_values(struct buf *out, const struct tensor *t, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        if (t->dtype == DTYPE_FP32)
            buf_printf(out, ":%g", (double)tensor_f32(t)[i]);
        else if (t->dtype == DTYPE_INT64)
            buf_printf(out, ":%lld", (long long)tensor_i64(t)[i]);
        else
            buf_printf(out, ":%s", dtype_name(t->dtype));
}

/* The values of row `row`; false: it has no such rows. */
static bool row_bounds(const struct tensor *t, int64_t rows, int64_t row, int64_t *begin,
                       int64_t *end)
{
    if (t->shape.ndim != 2)
        return false;
    if (t->lod && t->lod->nlevels > 0) {
        if (t->lod->level[0].n != rows + 1)
            return false;
        *begin = t->lod->level[0].off[row] * t->shape.dims[1];
        *end = t->lod->level[0].off[row + 1] * t->shape.dims[1];
        return true;
    }
    *begin = row * t->shape.dims[1];
    *end = *begin + t->shape.dims[1];
    return t->shape.dims[0] == rows;
}

static void print_row(const struct sample_dump *d, struct buf *out,
                      const struct skiff_tensor *fields, int64_t rows, int64_t row)
{
    int64_t begin, end;
    for (int i = 0; i < d->nfields; i++) {
        const struct tensor *t = &fields[i].tensor;
        if (fields[i].kind != VALUE_TENSOR || !row_bounds(t, rows, row, &begin, &end))
            continue;
        buf_printf(out, "\t%s:%lld", d->names[d->first + i], (long long)(end - begin));
        print_values(out, t, begin, end);
    }
    buf_char(out, '\n');
}

/* The id of the next row at *at, or nothing. */
static void print_id(struct buf *out, const char **at, const char *end)
{
    while (*at < end && **at == '-')
        *at += 2;
    if (*at >= end)
        return;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (stop > *at + 1) {
        buf_add(out, *at + 1, (size_t)(stop - *at - 1));
        buf_char(out, '\t');
    }
    *at = stop + 1;
}

void sample_dump_batch(struct sample_dump *d, const struct dataset *data, int thread, int64_t rows,
                       const struct skiff_tensor *watched)
{
    if (!d->wanted)
        return;
    struct sample_dump_thread *l = &d->thread_states[thread];
    const struct batch *b = dataset_current(data, thread);
    const char *at = b->positions.data, *end = at + b->positions_done;
    const struct skiff_tensor *fields = watched + d->first, *params = fields + d->nfields;
    buf_reset(&l->text);
    for (int64_t row = 0; row < rows; row++) {
        print_id(&l->text, &at, end);
        print_row(d, &l->text, fields, rows, row);
    }
    for (int i = 0; i < d->nparams; i++) {
        const struct tensor *t = &params[i].tensor;
        buf_printf(&l->text, "(%lld,%s)", (long long)l->batches,
                   d->names[d->first + d->nfields + i]);
        print_values(&l->text, t, 0, shape_numel(&t->shape));
        buf_char(&l->text, '\n');
    }
    l->batches++;
    l->failed |= fwrite(l->text.data, 1, l->text.len, l->file) != l->text.len;
}
