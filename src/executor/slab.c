/* The slab: one allocation in which all variables of block 0 live.
 *
 * A first run leaves every variable on the heap, sized by the kernels. From then on its size is
 * known; variables whose lives (first to last step that touches them) overlap get separate room,
 * others share. Placing is greedy, largest first, at the lowest offset that is free during the
 * variable's life. A variable that outgrows its room in a later run goes to the heap by itself
 * (tensor_resize) and makes the plan lay out anew after that run. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/plan.h"

#define SLAB_ALIGN 64

static bool wants_space(const struct plan_var *v)
{
    return !v->fed && v->first <= v->last && v->value.kind != VALUE_ARRAY &&
           v->value.kind != VALUE_SCOPES;
}

bool plan_needs_layout(const struct plan *plan)
{
    const struct plan_block *b = &plan->blocks[plan->root];
    for (int i = 0; i < b->nown; i++) {
        const struct plan_var *v = b->own[i];
        if (wants_space(v) && v->value.tensor.owner == TENSOR_HEAP && v->value.tensor.data)
            return true;
    }
    return false;
}

static int larger_first(const void *a, const void *b)
{
    const struct plan_var *x = *(struct plan_var *const *)a, *y = *(struct plan_var *const *)b;
    if (x->need != y->need)
        return x->need < y->need ? 1 : -1;
    return x->first - y->first;
}

/* An occupied range, for the search. */
struct space {
    size_t offset, end;
    int first, last; /* first and last step */
};

/* Lowest offset at which v fits between the spaces[0..n), which are sorted by offset, that are
 * alive at the same time. */
static size_t find_offset(const struct plan_var *v, const struct space *spaces, int n)
{
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        if (v->first > spaces[i].last || spaces[i].first > v->last)
            continue;
        if (at + v->need <= spaces[i].offset)
            break;
        if (spaces[i].end > at)
            at = spaces[i].end;
    }
    return at;
}

/* Inserts the range of v among the n others; keeps them sorted. */
static void take_offset(const struct plan_var *v, struct space *spaces, int n)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (spaces[middle].offset <= v->offset)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(spaces + low + 1, spaces + low, (size_t)(n - low) * sizeof(*spaces));
    spaces[low] = (struct space){v->offset, v->offset + v->need, v->first, v->last};
}

enum skiff_status plan_layout(struct plan *plan, struct skiff_error *err)
{
    struct plan_block *b = &plan->blocks[plan->root];
    struct plan_var **vars = mem_alloc_or_die(((size_t)b->nown + 1) * sizeof(*vars));
    struct space *spaces = mem_alloc_or_die(((size_t)b->nown + 1) * sizeof(*spaces));
    int n = 0;
    for (int i = 0; i < b->nown; i++) {
        struct plan_var *v = b->own[i];
        if (!wants_space(v) || !v->value.tensor.data)
            continue;
        /* an eighth more than was seen once the plan has had to be laid out again: ragged feeds
         * vary */
        size_t seen = v->value.tensor.cap + (plan->layouts ? v->value.tensor.cap / 8 : 0);
        if (v->value.tensor.owner == TENSOR_HEAP || v->need == 0)
            v->need = (seen + SLAB_ALIGN - 1) / SLAB_ALIGN * SLAB_ALIGN;
        vars[n++] = v;
    }
    qsort(vars, (size_t)n, sizeof(*vars), larger_first);
    size_t total = 0;
    for (int i = 0; i < n; i++) {
        vars[i]->offset = find_offset(vars[i], spaces, i);
        take_offset(vars[i], spaces, i);
        if (vars[i]->offset + vars[i]->need > total)
            total = vars[i]->offset + vars[i]->need;
    }
    void *slab = NULL;
    enum skiff_status status = mem_alloc(total ? total : 1, "the plan's slab", &slab, err);
    if (status == SKIFF_OK) {
        for (int i = 0; i < n; i++) {
            struct tensor *t = &vars[i]->value.tensor;
            tensor_deinit(t);
            *t = (struct tensor){.data = (char *)slab + vars[i]->offset,
                                 .cap = vars[i]->need,
                                 .owner = TENSOR_PLANNED};
        }
        mem_free(plan->slab);
        plan->slab = slab;
        plan->slab_bytes = total;
        plan->layouts++;
    }
    free(spaces);
    free(vars);
    return status;
}
