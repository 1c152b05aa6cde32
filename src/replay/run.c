/* How a case runs: startup program, stored initial values over it, then for every step the stored
 * feed, the program, and a comparison of everything that was recorded at that step; at the end the
 * persistable variables. */
#include "replay/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/compare.h"
#include "io/io.h"
#include "passes/replicate.h"
#include "program/rights.h"
#include "store/file.h"
#include "store/tensor_file.h"

#define MOST_DEVICES 64

struct replay {
    struct replay_case *c;
    const struct replay_options *options;
    struct skiff_scope *scope;
    struct skiff_executor *executor;
    struct skiff_program *startup, *main;
    int devices; /* 0: one, the plain way */
    struct replay_result *result;
    struct buf *report;
};

/* Stored values say by the case which of them are SelectedRows. */
static enum skiff_status read_value(struct replay *r, const char *path, const char *name,
                                    struct skiff_tensor *out, struct skiff_error *err)
{
    if (replay_case_lists(r->c, "selected_rows", name))
        return rows_file_read(path, out, err);
    TRY(tensor_file_read(path, &out->tensor, err));
    out->kind = VALUE_TENSOR;
    return SKIFF_OK;
}

/* Paddle hands a lod on to results that have no rows to cut (accuracy has that of its input): in a
 * recorded result a lod that does not fit its own tensor is passed over. */
static enum skiff_status read_expected(struct replay *r, const char *path, const char *name,
                                       struct skiff_tensor *out, struct skiff_error *err)
{
    if (replay_case_lists(r->c, "selected_rows", name))
        return rows_file_read(path, out, err);
    TRY(value_file_read_recorded(path, out, err));
    struct tensor *t = &out->tensor;
    if (lod_check(t->lod, t->shape.ndim ? t->shape.dims[0] : 1, name, NULL) < 0)
        tensor_drop_lod(t);
    return SKIFF_OK;
}

static enum skiff_status load_init(struct replay *r, const char *dir, struct skiff_error *err)
{
    struct case_files files;
    TRY(case_files_read(dir, &files, err));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < files.n && status == SKIFF_OK; i++) {
        char *path = arena_printf(&r->c->arena, "%s/%s", dir, files.names[i]);
        struct skiff_tensor *v = scope_var(r->scope, files.names[i]);
        value_flush(v);
        status = read_value(r, path, files.names[i], v, err);
    }
    case_files_deinit(&files);
    return status;
}

static enum skiff_status load_all_init(struct replay *r, struct skiff_error *err)
{
    const char *dirs = replay_case_get(r->c, "init_dirs", NULL);
    if (!dirs)
        return load_init(r, replay_case_path(r->c, "init"), err);
    char *list = arena_strdup(&r->c->arena, dirs), *rest;
    for (char *d = strtok_r(list, " ", &rest); d; d = strtok_r(NULL, " ", &rest))
        TRY(load_init(r, replay_case_path(r->c, "%s", d), err));
    return SKIFF_OK;
}

/* Every name in the list under `key` must be among the files of the folder. */
static enum skiff_status check_listed(struct replay *r, const char *key, const char *dir,
                                      const struct case_files *files, struct skiff_error *err)
{
    char *list = arena_strdup(&r->c->arena, replay_case_get(r->c, key, "")), *rest;
    for (char *name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        bool found = false;
        for (int i = 0; i < files->n && !found; i++)
            found = !strcmp(files->names[i], name);
        if (!found)
            return error_set(err, SKIFF_NOT_FOUND,
                             "%s/%s: no such file, though case.txt lists %s under %s", dir, name,
                             name, key);
    }
    return SKIFF_OK;
}

struct feed_set {
    struct feed *feeds;
    struct skiff_tensor *values;
    int n;
};

static void feed_set_deinit(struct feed_set *f)
{
    for (int i = 0; i < f->n; i++)
        value_deinit(&f->values[i]);
    free(f->values);
    free(f->feeds);
    *f = (struct feed_set){0};
}

/* suffix: appended to the names (the variables of a device). */
static enum skiff_status read_feeds(struct replay *r, const char *dir, const char *suffix,
                                    struct feed_set *out, struct skiff_error *err)
{
    struct case_files files;
    TRY(case_files_read(dir, &files, err));
    enum skiff_status status = check_listed(r, "feeds", dir, &files, err);
    out->feeds = mem_grow_or_die(out->feeds, (size_t)(out->n + files.n + 1) * sizeof(*out->feeds));
    out->values =
        mem_grow_or_die(out->values, (size_t)(out->n + files.n + 1) * sizeof(*out->values));
    bool listed = replay_case_get(r->c, "feeds", NULL) != NULL;
    for (int i = 0; i < files.n && status == SKIFF_OK; i++) {
        const char *name = files.names[i];
        if (listed && !replay_case_lists(r->c, "feeds", name))
            continue;
        struct skiff_tensor *v = &out->values[out->n];
        *v = (struct skiff_tensor){0};
        status = read_value(r, arena_printf(&r->c->arena, "%s/%s", dir, name), name, v, err);
        out->feeds[out->n] =
            (struct feed){.name = arena_printf(&r->c->arena, "%s%s", name, suffix)};
        out->n++;
    }
    for (int i = 0; i < out->n; i++)
        out->feeds[i].tensor = &out->values[i].tensor;
    case_files_deinit(&files);
    return status;
}

static enum skiff_status read_step_feeds(struct replay *r, int step, struct feed_set *out,
                                         struct skiff_error *err)
{
    if (!r->c->feed_steps)
        return SKIFF_OK;
    const char *dir = replay_case_path(r->c, "%s/%d", replay_case_get(r->c, "feed_dir", "feed"),
                                       step % r->c->feed_steps);
    if (!r->devices)
        return read_feeds(r, dir, "", out, err);
    for (int d = 0; d < r->devices; d++)
        TRY(read_feeds(r, arena_printf(&r->c->arena, "%s/%d", dir, d),
                       arena_printf(&r->c->arena, REPLICA_SUFFIX "%d", d), out, err));
    return SKIFF_OK;
}

/* Variables that the recorded network itself gives less exactly have a tolerance of their own:
 * "atol_of: NAME=VALUE ...". */
static double atol_of(const struct replay_case *c, const char *name)
{
    size_t n = strlen(name);
    const char *list = replay_case_get(c, "atol_of", "");
    for (const char *p = strstr(list, name); p; p = strstr(p + 1, name))
        if ((p == list || p[-1] == ' ') && p[n] == '=')
            return strtod(p + n + 1, NULL);
    return c->atol;
}

static enum skiff_status compare_one(struct replay *r, const char *where, const char *name,
                                     const struct skiff_tensor *got, const char *path,
                                     struct skiff_error *err)
{
    struct skiff_tensor want = {0};
    struct buf text = BUF_INIT;
    enum skiff_status status = read_expected(r, path, name, &want, err);
    if (status == SKIFF_OK) {
        r->result->compared++;
        if (!replay_compare(got, &want, r->c->rtol, atol_of(r->c, name), &text)) {
            r->result->differences++;
            buf_printf(r->report, "%s, %s: %s\n", where, name, text.data);
        }
    }
    buf_deinit(&text);
    value_deinit(&want);
    return status;
}

/* On several devices a fetched value holds the devices' values one after the other. */
static enum skiff_status join_devices(const struct skiff_tensor *parts, int n,
                                      struct skiff_tensor *out, struct skiff_error *err)
{
    struct shape shape = parts[0].tensor.shape;
    char one[160], other[160];
    for (int i = 0; i < n; i++) {
        struct shape s = parts[i].tensor.shape;
        int64_t rows = s.dims[0];
        s.dims[0] = shape.dims[0];
        if (parts[i].kind != VALUE_TENSOR || s.ndim < 1 || !shape_equal(&s, &shape) ||
            parts[i].tensor.dtype != parts[0].tensor.dtype)
            return error_set(
                err, SKIFF_SHAPE, "the values of the devices, %s and %s, cannot be concatenated",
                shape_text(&parts[0].tensor.shape, one), shape_text(&parts[i].tensor.shape, other));
        if (i)
            shape.dims[0] += rows;
    }
    TRY(value_as_tensor(out, parts[0].tensor.dtype, &shape, err));
    char *to = out->tensor.data;
    for (int i = 0; i < n; i++) {
        memcpy(to, parts[i].tensor.data, tensor_bytes(&parts[i].tensor));
        to += tensor_bytes(&parts[i].tensor);
    }
    return SKIFF_OK;
}

static const char **fetch_names(struct replay *r, const struct case_files *expected, int copies)
{
    const char **names =
        arena_alloc(&r->c->arena, (size_t)(expected->n * copies + 1) * sizeof(*names));
    for (int i = 0; i < expected->n; i++)
        for (int d = 0; d < copies; d++)
            names[i * copies + d] =
                r->devices ? replicate_name(r->main, expected->names[i], d, &r->c->arena)
                           : expected->names[i];
    return names;
}

static enum skiff_status run_step(struct replay *r, int step, struct skiff_error *err)
{
    struct case_files expected = {0};
    struct feed_set feeds = {0};
    struct skiff_tensor *got = NULL;
    int copies = r->devices ? r->devices : 1;
    const char *dir = replay_case_path(r->c, "expect/%d", step);
    const char *where = arena_printf(&r->c->arena, "step %d", step);
    enum skiff_status status;
    TRY_OUT(case_files_read(dir, &expected, err));
    TRY_OUT(check_listed(r, "fetches", dir, &expected, err));
    TRY_OUT(read_step_feeds(r, step, &feeds, err));
    got = mem_alloc_or_die((size_t)(expected.n * copies + 1) * sizeof(*got));
    TRY_OUT(executor_run(r->executor, r->main, feeds.feeds, feeds.n,
                         fetch_names(r, &expected, copies), expected.n * copies, got, err));
    for (int i = 0; i < expected.n; i++) {
        struct skiff_tensor joined = {0};
        struct skiff_tensor *value = &got[i * copies];
        if (r->devices) {
            status = join_devices(value, copies, &joined, err);
            value = &joined;
        }
        if (status == SKIFF_OK)
            status = compare_one(r, where, expected.names[i], value,
                                 arena_printf(&r->c->arena, "%s/%s", dir, expected.names[i]), err);
        value_deinit(&joined);
        if (status < 0)
            goto out;
    }
out:
    if (status < 0)
        error_prefix(err, status, "step %d", step);
    for (int i = 0; got && i < expected.n * copies; i++)
        value_deinit(&got[i]);
    free(got);
    feed_set_deinit(&feeds);
    case_files_deinit(&expected);
    return status;
}

static enum skiff_status compare_final(struct replay *r, struct skiff_error *err)
{
    struct case_files files;
    const char *dir = replay_case_path(r->c, "final");
    TRY(case_files_read(dir, &files, err));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < files.n && status == SKIFF_OK; i++) {
        const struct skiff_tensor *v = scope_find(r->scope, files.names[i]);
        if (!v) {
            r->result->differences++;
            buf_printf(r->report, "final, %s: no such variable\n", files.names[i]);
            continue;
        }
        status = compare_one(r, "final", files.names[i], v,
                             arena_printf(&r->c->arena, "%s/%s", dir, files.names[i]), err);
    }
    case_files_deinit(&files);
    return status;
}

static enum skiff_status allow(struct replay *r, struct skiff_program *p, struct skiff_error *err)
{
    const struct replay_options *o = r->options;
    return o->allow_ops ? program_allow(p, o->allow_ops, o->allow_dir, err) : SKIFF_OK;
}

static enum skiff_status run_startup(struct replay *r, struct skiff_error *err)
{
    const char *path = replay_case_path(r->c, "startup.pb");
    if (!file_exists(path))
        return SKIFF_OK;
    TRY(io_program_read(path, &r->startup, err));
    TRY(allow(r, r->startup, err));
    enum skiff_status status = executor_run(r->executor, r->startup, NULL, 0, NULL, 0, NULL, err);
    return status < 0 ? error_prefix(err, status, "%s", path) : status;
}

static enum skiff_status load_model(struct replay *r, struct skiff_error *err)
{
    struct skiff_model model = {0};
    TRY(io_load_inference(r->scope,
                          replay_case_path(r->c, "%s", replay_case_get(r->c, "model_dir", ".")),
                          replay_case_get(r->c, "model_filename", NULL),
                          replay_case_get(r->c, "params_filename", NULL), &model, err));
    r->main = model.program;
    model.program = NULL;
    io_model_deinit(&model);
    return allow(r, r->main, err);
}

static enum skiff_status load_programs(struct replay *r, struct skiff_error *err)
{
    if (!strcmp(r->c->kind, "inference"))
        return load_model(r, err);
    TRY(run_startup(r, err));
    const char *path = replay_case_path(r->c, "main.pb");
    TRY(io_program_read(path, &r->main, err));
    TRY(allow(r, r->main, err));
    enum skiff_status status = program_verify(r->main, err);
    if (status < 0)
        return error_prefix(err, status, "%s", path);
    if (!strcmp(r->c->kind, "parallel")) {
        TRY(replay_case_count(r->c, "devices", 1, MOST_DEVICES, &r->devices, err));
        bool scale_one = !strcmp(replay_case_get(r->c, "scale", "default"), "one");
        struct skiff_program *joint = NULL;
        TRY(replicate_program(r->main, r->devices, scale_one, &joint, err));
        program_destroy(r->main);
        r->main = joint;
    }
    return SKIFF_OK;
}

/* `kind: program`: every program below the case must be read, verified, and survive being written
 * and printed. */
static enum skiff_status check_programs(struct replay *r, struct skiff_error *err)
{
    struct case_files files;
    TRY(case_files_read(r->c->dir, &files, err));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < files.n && status == SKIFF_OK; i++) {
        const char *name = files.names[i], *dot = strrchr(name, '.');
        const char *base = strrchr(name, '/');
        if ((!dot || strcmp(dot, ".pb")) && strcmp(base ? base + 1 : name, "__model__"))
            continue;
        struct skiff_program *p = NULL, *again = NULL;
        struct buf text = BUF_INIT, diff = BUF_INIT;
        status = io_program_read(replay_case_path(r->c, "%s", name), &p, err);
        if (status == SKIFF_OK)
            status = program_verify(p, err);
        if (status == SKIFF_OK) {
            program_print(p, &text);
            status = program_parse(text.data, name, &again, err);
        }
        if (status == SKIFF_OK) {
            r->result->compared++;
            if (program_diff(again, p, &diff)) {
                r->result->differences++;
                buf_printf(r->report, "%s: printed and parsed again: %s\n", name, diff.data);
            }
        }
        buf_deinit(&text);
        buf_deinit(&diff);
        program_destroy(p);
        program_destroy(again);
    }
    case_files_deinit(&files);
    return status;
}

static enum skiff_status run_all(struct replay *r, struct skiff_error *err)
{
    if (!strcmp(r->c->kind, "program"))
        return check_programs(r, err);
    if (*r->c->kind && strcmp(r->c->kind, "inference") && strcmp(r->c->kind, "parallel"))
        return error_set(err, SKIFF_FORMAT,
                         "%s/case.txt: kind must be parallel, inference or program, found \"%s\"",
                         r->c->dir, r->c->kind);
    TRY(load_programs(r, err));
    TRY(load_all_init(r, err));
    for (int s = 0; s < r->c->steps; s++)
        TRY(run_step(r, s, err));
    return compare_final(r, err);
}

enum skiff_status replay_run(struct replay_case *c, const struct replay_options *given,
                             struct replay_result *result, struct buf *report,
                             struct skiff_error *err)
{
    const char *seed = replay_case_get(c, "seed", NULL);
    struct executor_options options = {.no_fuse = given->no_fuse,
                                       .has_seed = seed != NULL,
                                       .seed = seed ? strtoull(seed, NULL, 10) : 0};
    struct replay r = {
        .c = c, .options = given, .scope = scope_create(), .result = result, .report = report};
    r.executor = executor_create(r.scope, &options);
    *result = (struct replay_result){0};
    enum skiff_status status = run_all(&r, err);
    executor_destroy(r.executor);
    scope_destroy(r.scope);
    program_destroy(r.startup);
    program_destroy(r.main);
    return status;
}
