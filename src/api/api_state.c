/* The public face of tensor files and state files (<skiff/io.h>). */
#include <skiff/io.h>

#include <stdlib.h>

#include "base/mem.h"
#include "store/pickle.h"
#include "store/tensor_file.h"

struct skiff_state {
    struct state state;
};

static struct skiff_tensor *tensor_new(void)
{
    return mem_must(sizeof(struct skiff_tensor));
}

enum skiff_status skiff_tensor_read(const char *path, struct skiff_tensor **out,
                                    struct skiff_error *err)
{
    struct skiff_tensor *t = tensor_new();
    enum skiff_status status = value_file_read(path, t, err);
    if (status < 0)
        skiff_tensor_destroy(t);
    else
        *out = t;
    return status;
}

enum skiff_status skiff_tensor_write(const struct skiff_tensor *t, const char *path,
                                     struct skiff_error *err)
{
    return value_file_write(path, t, err);
}

struct skiff_state *skiff_state_create(void)
{
    struct skiff_state *s = mem_must(sizeof(*s));
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
    enum skiff_status status = pickle_file_read(path, &s->state, err);
    if (status < 0)
        skiff_state_destroy(s);
    else
        *out = s;
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
