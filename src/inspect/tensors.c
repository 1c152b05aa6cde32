/* Files that hold tensors: what kind a file is shows in its first bytes, so each kind is tried in
 * turn: one tensor or selected rows, a pickle, several tensors one after the other. If none fits,
 * the error is that of the first try. Statistics skip values that are not finite and count them. */
#include "inspect/tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "io/io.h"
#include "store/file.h"
#include "store/model_dir.h"
#include "store/pickle.h"
#include "store/tensor_file.h"
#include "tensor/half.h"

/* Element i as a number; of complex numbers the real part. */
double tensor_element(const struct tensor *t, int64_t i)
{
    const char *p = (const char *)t->data + (size_t)i * dtype_size(t->dtype);
    switch (t->dtype) {
    case DTYPE_BOOL:
    case DTYPE_UINT8:
        return *(const uint8_t *)p;
    case DTYPE_INT8:
        return *(const int8_t *)p;
    case DTYPE_INT16:
        return *(const int16_t *)p;
    case DTYPE_INT32:
        return *(const int32_t *)p;
    case DTYPE_INT64:
        return (double)*(const int64_t *)p;
    case DTYPE_SIZE_T:
        return (double)*(const uint64_t *)p;
    case DTYPE_FP16:
        return float16_value(*(const uint16_t *)p);
    case DTYPE_BF16:
        return bits_float((uint32_t) * (const uint16_t *)p << 16);
    case DTYPE_FP32:
    case DTYPE_COMPLEX64:
        return (double)*(const float *)p;
    case DTYPE_FP64:
    case DTYPE_COMPLEX128:
        return *(const double *)p;
    }
    return NAN;
}

struct tensor_stats tensor_stats_of(const struct tensor *t)
{
    struct tensor_stats s = {.least = INFINITY, .most = -INFINITY};
    int64_t n = tensor_numel(t);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = tensor_element(t, i);
        if (!isfinite(v))
            continue;
        s.least = v < s.least ? v : s.least;
        s.most = v > s.most ? v : s.most;
        sum += v;
        s.finite++;
    }
    s.mean = s.finite ? sum / (double)s.finite : NAN;
    s.not_finite = n - s.finite;
    return s;
}

/* ---- files ---- */

/* Names of a combined file: the persistables of the program, sorted. */
struct name_list {
    struct skiff_program *program;
    const char **names;
    int n;
};

static enum skiff_status names_read(const char *path, struct name_list *out,
                                    struct skiff_error *err)
{
    TRY(io_program_read(path, &out->program, err));
    struct io_vars vars;
    io_vars_list(out->program, IO_PERSISTABLES, &vars);
    const char **names = mem_alloc_or_die(sizeof *names * (size_t)(vars.n + 1));
    int *order = mem_alloc_or_die(sizeof *order * (size_t)(vars.n + 1));
    out->names = mem_alloc_or_die(sizeof *names * (size_t)(vars.n + 1));
    out->n = vars.n;
    for (int i = 0; i < vars.n; i++)
        names[i] = vars.v[i]->name;
    model_name_order(vars.n, names, order);
    for (int i = 0; i < vars.n; i++)
        out->names[i] = names[order[i]];
    free(order);
    free(names);
    io_vars_deinit(&vars);
    return SKIFF_OK;
}

static void names_deinit(struct name_list *l)
{
    free(l->names);
    program_destroy(l->program);
}

static enum skiff_status walk_combined(const char *path, const struct buf *bytes,
                                       const struct name_list *names, const struct tensor_walk *v,
                                       struct skiff_error *err)
{
    int n = 0;
    for (size_t pos = 0; pos < bytes->len; n++) {
        struct tensor t = {0};
        char number[32];
        snprintf(number, sizeof number, "%d:", n);
        enum skiff_status status =
            tensor_decode((const uint8_t *)bytes->data, bytes->len, &pos, path, &t, err);
        if (status < 0)
            return error_prefix(err, status, "tensor %d", n);
        v->tensor(v->arg, n < names->n ? names->names[n] : number, &t);
        tensor_deinit(&t);
    }
    v->combined(v->arg, n);
    if (names->names && n != names->n)
        return error_set(err, SKIFF_FORMAT, "%s: %d tensors expected by the program, %d found",
                         path, names->n, n);
    return SKIFF_OK;
}

static enum skiff_status walk_pickle(const char *path, const struct buf *bytes,
                                     const struct tensor_walk *v, struct skiff_error *err)
{
    struct state s;
    state_init(&s);
    enum skiff_status status =
        pickle_decode((const uint8_t *)bytes->data, bytes->len, path, &s, err);
    if (status == SKIFF_OK)
        v->pickle(v->arg, &s);
    state_deinit(&s);
    return status;
}

/* Several in one file? Then at least the first one is complete. */
static bool begins_with_tensor(const char *path, const struct buf *bytes)
{
    struct tensor t = {0};
    size_t pos = 0;
    bool first =
        tensor_decode((const uint8_t *)bytes->data, bytes->len, &pos, path, &t, NULL) == SKIFF_OK;
    tensor_deinit(&t);
    return first;
}

/* why: it is neither one tensor nor selected rows. */
static enum skiff_status walk_other(const char *path, const struct buf *bytes, const char *program,
                                    const struct tensor_walk *v, const struct skiff_error *why,
                                    struct skiff_error *err)
{
    if (pickle_is((const uint8_t *)bytes->data, bytes->len))
        return walk_pickle(path, bytes, v, err);
    if (!begins_with_tensor(path, bytes)) {
        if (err)
            *err = *why;
        return why->code;
    }
    struct name_list names = {0};
    enum skiff_status status = program ? names_read(program, &names, err) : SKIFF_OK;
    if (status == SKIFF_OK)
        status = walk_combined(path, bytes, &names, v, err);
    names_deinit(&names);
    return status;
}

enum skiff_status tensors_walk(const char *path, const char *program, const struct tensor_walk *v,
                               struct skiff_error *err)
{
    struct skiff_tensor value = {0};
    struct skiff_error why = {0};
    enum skiff_status status = value_file_read_recorded(path, &value, &why);
    if (status == SKIFF_OK && value.kind == VALUE_ROWS) {
        v->rows(v->arg, &value);
    } else if (status == SKIFF_OK) {
        v->tensor(v->arg, "", &value.tensor);
    } else if (status == SKIFF_FORMAT) {
        struct buf bytes = BUF_INIT;
        status = file_read(path, &bytes, err);
        if (status == SKIFF_OK)
            status = walk_other(path, &bytes, program, v, &why, err);
        buf_deinit(&bytes);
    } else if (err) {
        *err = why;
    }
    value_deinit(&value);
    return status;
}
