/* inspect tensor: prints what src/inspect finds in a file. */
#include <inttypes.h>
#include <stdio.h>

#include "base/plural.h"
#include "cli/inspect.h"
#include "inspect/tensors.h"

#define FIRST_VALUES 10
#define FIRST_OFFSETS 20

static void print_element(const struct tensor *t, int64_t i)
{
    if (t->dtype == DTYPE_INT64)
        printf("%" PRId64, tensor_i64(t)[i]);
    else
        printf(t->dtype == DTYPE_FP64 ? "%.17g" : "%.9g", tensor_element(t, i));
}

static void print_statistics(const struct tensor *t)
{
    struct tensor_stats s = tensor_stats_of(t);
    if (s.finite)
        printf("  min %.9g  max %.9g  mean %.9g", s.least, s.most, s.mean);
    if (s.not_finite)
        printf("  %" PRId64 " not finite", s.not_finite);
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
    printf("selected rows: %zu row%s of a table of height %" PRId64 ", ids", v->sel.nrows,
           plural(v->sel.nrows), v->sel.height);
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

static void on_tensor(void *arg, const char *name, const struct tensor *t)
{
    print_tensor(name, t, *(bool *)arg);
}

static void on_rows(void *arg, const struct skiff_tensor *v)
{
    print_rows(v, *(bool *)arg);
}

static void on_pickle(void *arg, const struct state *s)
{
    print_state(s, *(bool *)arg);
}

static void on_combined(void *arg, int n)
{
    printf("%d tensors\n", n);
}

enum skiff_status inspect_tensor(const char *path, const struct inspect_options *o,
                                 struct skiff_error *err)
{
    bool all = o->all;
    struct tensor_walk v = {on_tensor, on_rows, on_pickle, on_combined, &all};
    return tensors_walk(path, o->names, &v, err);
}
