/* inspect tensor: every file that holds numbers. A file may be a pickle, selected rows, one
 * tensor, or several tensors one after the other. Tensors in a combined file have no names;
 * --program gives them. Statistics skip values that are not finite and count them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/inspect.h"
#include "io/io.h"
#include "store/file.h"
#include "store/model_dir.h"
#include "store/pickle.h"
#include "store/tensor_file.h"

#define FIRST_VALUES 10
#define FIRST_OFFSETS 20

static double half_to_double(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double v = exponent == 31  ? (fraction ? NAN : INFINITY)
               : exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(1024 + fraction, exponent - 25);
    return h >> 15 ? -v : v;
}

static double bf16_to_double(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, 4);
    return (double)f;
}

/* Element i as a number; of complex numbers the real part. */
static double element(const struct tensor *t, int64_t i)
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
        return half_to_double(*(const uint16_t *)p);
    case DTYPE_BF16:
        return bf16_to_double(*(const uint16_t *)p);
    case DTYPE_FP32:
    case DTYPE_COMPLEX64:
        return (double)*(const float *)p;
    case DTYPE_FP64:
    case DTYPE_COMPLEX128:
        return *(const double *)p;
    }
    return NAN;
}

static void print_element(const struct tensor *t, int64_t i)
{
    if (t->dtype == DTYPE_INT64)
        printf("%" PRId64, tensor_i64(t)[i]);
    else
        printf(t->dtype == DTYPE_FP64 ? "%.17g" : "%.9g", element(t, i));
}

static void print_statistics(const struct tensor *t)
{
    double least = INFINITY, most = -INFINITY, sum = 0;
    int64_t n = tensor_numel(t), counted = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = element(t, i);
        if (!isfinite(v))
            continue;
        least = v < least ? v : least;
        most = v > most ? v : most;
        sum += v;
        counted++;
    }
    if (counted)
        printf("  min %.9g  max %.9g  mean %.9g", least, most, sum / (double)counted);
    if (counted < n)
        printf("  %" PRId64 " not finite", n - counted);
    putchar('\n');
}

static void print_lod(const struct lod *lod, bool all)
{
    for (int k = 0; lod && k < lod->nlevels; k++) {
        const struct lod_level *l = &lod->level[k];
        printf("  lod %d: %" PRId64 " sequences, offsets", k, l->n - 1);
        for (int64_t i = 0; i < l->n && (all || i < FIRST_OFFSETS); i++)
            printf(" %" PRId64, l->off[i]);
        puts(!all && l->n > FIRST_OFFSETS ? " ..." : "");
    }
}

/* All values: one line per row of the last dimension. */
static void print_values(const struct tensor *t, bool all)
{
    int64_t n = tensor_numel(t), shown = all || n < FIRST_VALUES ? n : FIRST_VALUES;
    int64_t row = all && t->shape.ndim ? t->shape.dims[t->shape.ndim - 1] : shown;
    for (int64_t i = 0; i < shown; i++) {
        printf(row > 0 && i % row == 0 ? "%s  " : " ", i ? "\n" : "");
        print_element(t, i);
    }
    if (shown)
        puts(shown < n ? " ..." : "");
}

static void print_tensor(const char *name, const struct tensor *t, bool all)
{
    char text[160], bytes[64];
    printf("%s%s%s %s, %s\n", name, *name ? "   " : "", dtype_name(t->dtype),
           shape_text(&t->shape, text), inspect_bytes(tensor_bytes(t), bytes));
    print_lod(t->lod, all);
    if (tensor_numel(t) > 0)
        print_statistics(t);
    print_values(t, all);
}

static void print_rows(const struct skiff_tensor *v, bool all)
{
    printf("selected rows: %zu rows of a table of height %" PRId64 ", ids", v->sel.nrows,
           v->sel.height);
    for (size_t i = 0; i < v->sel.nrows && (all || i < FIRST_OFFSETS); i++)
        printf(" %" PRId64, v->sel.rows[i]);
    puts(!all && v->sel.nrows > FIRST_OFFSETS ? " ..." : "");
    print_tensor("value", &v->tensor, all);
}

static void print_state(const struct state *s, bool all)
{
    printf("pickle of %d entries\n", s->count);
    for (int i = 0; i < s->count; i++) {
        const struct state_entry *e = s->entries[i];
        if (e->text)
            printf("%s   %s\n", e->name, e->text);
        else
            print_tensor(e->name, &e->tensor, all);
        if (e->param_name)
            printf("  parameter %s\n", e->param_name);
    }
    for (int i = 0; i < s->nstructured; i++)
        printf("%s is parameter %s\n", s->structured[i].key, s->structured[i].value);
}

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

static enum skiff_status print_combined(const char *path, const struct buf *bytes,
                                        const struct name_list *names, bool all,
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
        print_tensor(n < names->n ? names->names[n] : number, &t, all);
        tensor_deinit(&t);
    }
    printf("%d tensors\n", n);
    if (names->names && n != names->n)
        return error_set(err, SKIFF_FORMAT, "%s: %d tensors expected by the program, %d found",
                         path, names->n, n);
    return SKIFF_OK;
}

static enum skiff_status print_other(const char *path, const struct buf *bytes,
                                     const struct inspect_options *o, const struct skiff_error *why,
                                     struct skiff_error *err)
{
    if (pickle_is((const uint8_t *)bytes->data, bytes->len)) {
        struct state s;
        state_init(&s);
        enum skiff_status status =
            pickle_decode((const uint8_t *)bytes->data, bytes->len, path, &s, err);
        if (status == SKIFF_OK)
            print_state(&s, o->all);
        state_deinit(&s);
        return status;
    }
    /* several in one file? then the first at least is complete */
    struct tensor t = {0};
    size_t pos = 0;
    bool first =
        tensor_decode((const uint8_t *)bytes->data, bytes->len, &pos, path, &t, NULL) == SKIFF_OK;
    tensor_deinit(&t);
    if (!first) {
        if (err)
            *err = *why;
        return why->code;
    }
    struct name_list names = {0};
    enum skiff_status status = o->names ? names_read(o->names, &names, err) : SKIFF_OK;
    if (status == SKIFF_OK)
        status = print_combined(path, bytes, &names, o->all, err);
    free(names.names);
    program_destroy(names.program);
    return status;
}

enum skiff_status inspect_tensor(const char *path, const struct inspect_options *o,
                                 struct skiff_error *err)
{
    struct skiff_tensor v = {0};
    struct skiff_error why = {0};
    enum skiff_status status = value_file_read_recorded(path, &v, &why);
    if (status == SKIFF_OK && v.kind == VALUE_ROWS) {
        print_rows(&v, o->all);
    } else if (status == SKIFF_OK) {
        print_tensor("", &v.tensor, o->all);
    } else if (status == SKIFF_FORMAT) {
        struct buf bytes = BUF_INIT;
        status = file_read(path, &bytes, err);
        if (status == SKIFF_OK)
            status = print_other(path, &bytes, o, &why, err);
        buf_deinit(&bytes);
    } else if (err) {
        *err = why;
    }
    value_deinit(&v);
    return status;
}
