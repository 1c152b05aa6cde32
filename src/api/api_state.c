/* The public face of tensor files and state files (<skiff/io.h>).
 *
 * A file in a folder with a manifest is compared with it while it is read, and read again when the
 * folder was replaced meanwhile (model_reader_close): a reader sees one save, never parts of two.
 * Names and tensors of a state belong to it until skiff_state_destroy. */
#include <skiff/io.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/model_dir.h"
#include "store/pickle.h"
#include "store/tensor_file.h"

struct skiff_state {
    struct state state;
};

static struct skiff_tensor *tensor_new(void)
{
    return mem_alloc_or_die(sizeof(struct skiff_tensor));
}

/* The folder of a path. */
static void dir_print(struct buf *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    buf_printf(out, "%.*s", slash ? (int)(slash - path + (slash == path)) : 1, slash ? path : ".");
}

/* What a file is read as: the one that is not NULL. */
struct read_as {
    struct skiff_tensor *tensor;
    struct state *state;
    struct buf *bytes;
};

static enum skiff_status read_as(const char *path, const struct file_sum *want,
                                 const struct read_as *as, struct skiff_error *err)
{
    if (as->tensor)
        return value_file_read_checked(path, want, as->tensor, err);
    if (as->state)
        return pickle_file_read_checked(path, want, as->state, err);
    return file_read_checked(path, want, as->bytes, err);
}

/* Compared with the manifest beside it. */
static enum skiff_status read_one(const char *path, const struct read_as *as,
                                  struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    const struct file_sum *want;
    enum skiff_status status = SKIFF_OK;
    struct buf dir = BUF_INIT;
    dir_print(&dir, path);
    do {
        TRY_OUT(model_reader_open(&r, dir.data, file, err));
        status = model_reader_sum(&r, file, &want, err);
        if (status == SKIFF_OK)
            status = read_as(path, want, as, err);
    } while (model_reader_close(&r, status));
out:
    buf_deinit(&dir);
    return status;
}

enum skiff_status skiff_tensor_read(const char *path, struct skiff_tensor **out,
                                    struct skiff_error *err)
{
    struct skiff_tensor *t = tensor_new();
    enum skiff_status status = read_one(path, &(struct read_as){.tensor = t}, err);
    if (status < 0)
        skiff_tensor_destroy(t);
    else
        *out = t;
    return status;
}

enum skiff_status skiff_tensor_write(const struct skiff_tensor *t, const char *path,
                                     struct skiff_error *err)
{
    if (!t)
        return error_set(err, SKIFF_INVALID, "expected a tensor, found NULL");
    return value_file_write(path, t, err);
}

struct skiff_state *skiff_state_create(void)
{
    struct skiff_state *s = mem_alloc_or_die(sizeof(*s));
    state_init(&s->state);
    return s;
}

void skiff_state_destroy(struct skiff_state *s)
{
    if (!s)
        return;
    state_deinit(&s->state);
    free(s);
}

enum skiff_status skiff_state_read(const char *path, struct skiff_state **out,
                                   struct skiff_error *err)
{
    struct skiff_state *s = skiff_state_create();
    enum skiff_status status = read_one(path, &(struct read_as){.state = &s->state}, err);
    if (status < 0)
        skiff_state_destroy(s);
    else
        *out = s;
    return status;
}

enum skiff_status skiff_pickle_open(const char *path, struct skiff_pickle **out,
                                    struct skiff_error *err)
{
    struct buf bytes = BUF_INIT;
    enum skiff_status status = read_one(path, &(struct read_as){.bytes = &bytes}, err);
    if (status == SKIFF_OK)
        status = pickle_object_read(&bytes, path, out, err);
    buf_deinit(&bytes);
    return status;
}

/* Moves its entries, but the names of structures, to the end of another. */
static void state_move(struct state *from, struct state *to)
{
    for (int i = 0; i < from->count; i++) {
        struct state_entry *e = from->entries[i], *into = state_add(to, e->name);
        tensor_deinit(&into->tensor);
        free(into->text);
        into->tensor = e->tensor;
        into->text = e->text;
        e->tensor = (struct tensor){0};
        e->text = NULL;
    }
    state_deinit(from);
}

static enum skiff_status add_pickle(const struct model_reader *r, const char *file,
                                    struct state *out, struct skiff_error *err)
{
    struct state read = {0};
    const struct file_sum *want;
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", r->dir, file);
    enum skiff_status status = model_reader_sum(r, file, &want, err);
    if (status == SKIFF_OK)
        status = pickle_file_read_checked(path.data, want, &read, err);
    if (status == SKIFF_OK)
        state_move(&read, out);
    buf_deinit(&path);
    return status;
}

/* One that is listed must be there; one that is not may be. */
static bool expects(const struct model_reader *r, const char *file)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", r->dir, file);
    bool is = manifest_find(&r->files, file) || file_exists(path.data);
    buf_deinit(&path);
    return is;
}

static enum skiff_status add_pickles(const struct model_reader *r, const char *params,
                                     const char *opt, struct state *out, struct skiff_error *err)
{
    TRY(add_pickle(r, params, out, err));
    return expects(r, opt) ? add_pickle(r, opt, out, err) : SKIFF_OK;
}

enum skiff_status skiff_state_read_prefix(const char *prefix, struct skiff_state **out,
                                          struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    const char *slash = strrchr(prefix, '/'), *base = slash ? slash + 1 : prefix;
    struct buf dir = BUF_INIT, params = BUF_INIT, opt = BUF_INIT;
    struct skiff_state *s = NULL;
    enum skiff_status status;
    dir_print(&dir, prefix);
    buf_printf(&params, "%s.pdparams", base);
    buf_printf(&opt, "%s.pdopt", base);
    do {
        skiff_state_destroy(s);
        s = skiff_state_create();
        TRY_OUT(model_reader_open(&r, dir.data, params.data, err));
        status = add_pickles(&r, params.data, opt.data, &s->state, err);
    } while (model_reader_close(&r, status));
out:
    if (status == SKIFF_OK)
        *out = s;
    else
        skiff_state_destroy(s);
    buf_deinit(&dir);
    buf_deinit(&params);
    buf_deinit(&opt);
    return status;
}

static enum skiff_status state_take(struct skiff_state *s, const char *const *names, int n,
                                    struct skiff_tensor *values, struct skiff_error *err)
{
    for (int i = 0; i < n; i++) {
        if (values[i].kind != VALUE_TENSOR)
            return error_set(err, SKIFF_UNSUPPORTED, "%s is not a plain tensor", names[i]);
        struct state_entry *e = state_add(&s->state, names[i]);
        tensor_deinit(&e->tensor);
        e->tensor = values[i].tensor;
        values[i] = (struct skiff_tensor){0};
    }
    return SKIFF_OK;
}

enum skiff_status skiff_state_read_files(const char *dir, const char *const *names, int n,
                                         struct skiff_state **out, struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    struct skiff_tensor *values = mem_alloc_or_die(sizeof *values * (size_t)(n + 1));
    struct skiff_state *s = skiff_state_create();
    enum skiff_status status;
    do {
        TRY_OUT(model_reader_open(&r, dir, NULL, err));
        status = model_read_separate(&r, n, names, values, err);
    } while (model_reader_close(&r, status));
    TRY_OUT(status);
    TRY_OUT(state_take(s, names, n, values, err));
    *out = s;
    s = NULL;
out:
    for (int i = 0; i < n; i++)
        value_deinit(&values[i]);
    free(values);
    skiff_state_destroy(s);
    return status;
}

enum skiff_status skiff_state_write(const struct skiff_state *s, const char *path,
                                    struct skiff_error *err)
{
    return pickle_file_write(path, &s->state, err);
}

enum skiff_status skiff_state_set(struct skiff_state *s, const char *name,
                                  const struct skiff_tensor *t, struct skiff_error *err)
{
    if (t->kind != VALUE_TENSOR)
        return error_set(err, SKIFF_UNSUPPORTED, "%s is not a plain tensor and cannot be written",
                         name);
    return tensor_copy(&state_add(&s->state, name)->tensor, &t->tensor, err);
}

int skiff_state_count(const struct skiff_state *s)
{
    return s->state.count;
}

const char *skiff_state_name(const struct skiff_state *s, int i)
{
    return i >= 0 && i < s->state.count ? s->state.entries[i]->name : NULL;
}

enum skiff_status skiff_state_get(const struct skiff_state *s, int i, struct skiff_tensor **out,
                                  struct skiff_error *err)
{
    const struct state_entry *e = s->state.entries[i];
    *out = NULL;
    if (e->text)
        return SKIFF_OK;
    struct skiff_tensor *t = tensor_new();
    t->kind = VALUE_TENSOR;
    enum skiff_status status = tensor_copy(&t->tensor, &e->tensor, err);
    if (status < 0)
        skiff_tensor_destroy(t);
    else
        *out = t;
    return status;
}
