/* Metric states: persistable variables that an op of a metric updates in place. Each thread has its
 * own copy while threads run, because adding to a shared one would need a lock in every batch;
 * afterwards they are summed, and results are computed once more over all batches.
 *
 * The first thread's copy begins with the old state (unless metrics are reset), all others with
 * zeros, so that the sum counts it once. Splitting and merging run on one thread, when no other
 * trains. */
#include <string.h>

#include "executor/trainer_parts.h"
#include "program/op_kind.h"
#include "tensor/auc.h"

void metric_states(const struct skiff_program *p, struct str_map *out)
{
    const struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops; i++) {
        const struct skiff_op *op = b->ops[i];
        if (!op->kind || !(op->kind->flags & OP_METRIC))
            continue;
        for (const struct op_slot *s = op->kind->outs; s->name; s++) {
            const struct op_arg *arg = (s->flags & SLOT_INPLACE) ? op_out(op, s->name) : NULL;
            for (int j = 0; arg && j < arg->n; j++) {
                const struct skiff_var *v = block_find_var(b, arg->names[j]);
                if (v && var_persistable(v))
                    str_map_put(out, v->name, (void *)v);
            }
        }
    }
}

static enum skiff_status split_one(struct skiff_scope *own, const struct skiff_scope *root,
                                   const char *name, bool zero, struct skiff_error *err)
{
    struct skiff_tensor *from = scope_find(root, name);
    if (!from || from->kind != VALUE_TENSOR)
        return error_set(err, SKIFF_STATE,
                         "metric state %s has no value (was the startup program run?)", name);
    struct skiff_tensor *to = scope_own(own, name);
    TRY(value_copy(to, from, err));
    if (zero && to->tensor.data)
        memset(to->tensor.data, 0, tensor_bytes(&to->tensor));
    return SKIFF_OK;
}

enum skiff_status metric_states_split(struct skiff_scope *own, const struct skiff_scope *root,
                                      const struct str_map *names, bool zero,
                                      struct skiff_error *err)
{
    for (size_t i = 0; i < names->count; i++)
        TRY(split_one(own, root, names->entries[i].key, zero, err));
    return SKIFF_OK;
}

#define ADD(type)                   \
    for (int64_t i = 0; i < n; i++) \
    ((type *)to->data)[i] += ((const type *)from->data)[i]

static enum skiff_status add_tensor(struct tensor *to, const struct tensor *from, const char *name,
                                    struct skiff_error *err)
{
    int64_t n = tensor_numel(to);
    if (to->dtype != from->dtype || tensor_numel(from) != n)
        return error_set(err, SKIFF_STATE, "metric state %s differs between threads", name);
    switch (to->dtype) {
    case DTYPE_INT64:
        ADD(int64_t);
        return SKIFF_OK;
    case DTYPE_INT32:
        ADD(int32_t);
        return SKIFF_OK;
    case DTYPE_FP32:
        ADD(float);
        return SKIFF_OK;
    case DTYPE_FP64:
        ADD(double);
        return SKIFF_OK;
    default:
        return error_set(err, SKIFF_DTYPE, "metric state %s is %s and cannot be added up", name,
                         dtype_name(to->dtype));
    }
}

static bool is_zero(const struct tensor *t)
{
    const char *p = t->data;
    size_t n = tensor_bytes(t);
    return !p || !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

/* An op may give its state another shape than the startup program did (2.x's auc without a window
 * has one number too many there): a thread that had no batch still has that one, of zeros. */
static enum skiff_status merge_one(struct skiff_tensor *sum, const struct skiff_tensor *part,
                                   const char *name, struct skiff_error *err)
{
    if (tensor_numel(&sum->tensor) == tensor_numel(&part->tensor) ||
        !(is_zero(&sum->tensor) || is_zero(&part->tensor)))
        return add_tensor(&sum->tensor, &part->tensor, name, err);
    return is_zero(&part->tensor) ? SKIFF_OK : value_copy(sum, part, err);
}

enum skiff_status metric_states_merge(struct skiff_scope *root, struct skiff_scope *const *own,
                                      int threads, const struct str_map *names,
                                      struct skiff_error *err)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->entries[i].key;
        struct skiff_tensor *sum = scope_own(root, name);
        for (int t = 0; t < threads; t++) {
            struct skiff_tensor *part = scope_own(own[t], name);
            if (t == 0)
                TRY(value_copy(sum, part, err));
            else
                TRY(merge_one(sum, part, name, err));
        }
    }
    return SKIFF_OK;
}

static int64_t int_attr(const struct skiff_op *op, const char *name)
{
    for (const struct op_attr_spec *a = op->kind->attrs; a->name; a++)
        if (!strcmp(a->name, name)) {
            const struct op_attr_value *v = op_attr(op, name);
            return v ? v->value.i : a->def.i;
        }
    return 0;
}

static const struct skiff_tensor *state_of(const struct skiff_scope *root,
                                           const struct skiff_op *op, const char *slot)
{
    const struct op_arg *arg = op_out(op, slot);
    const struct skiff_tensor *v = arg && arg->n == 1 ? scope_find(root, arg->names[0]) : NULL;
    return v && v->kind == VALUE_TENSOR && v->tensor.dtype == DTYPE_INT64 ? v : NULL;
}

/* Computes the op's result over all threads' batches, into the scope. */
static enum skiff_status auc_result(struct skiff_scope *root, const struct skiff_op *op,
                                    struct skiff_error *err)
{
    const struct skiff_tensor *pos = state_of(root, op, "StatPosOut");
    const struct skiff_tensor *neg = state_of(root, op, "StatNegOut");
    const struct op_arg *out = op_out(op, "AUC");
    int64_t buckets = int_attr(op, "num_thresholds") + 1;
    int64_t first = int_attr(op, "slide_steps") * buckets; /* the sum of a window follows it */
    if (!pos || !neg || !out || out->n != 1 || tensor_numel(&pos->tensor) < first + buckets ||
        tensor_numel(&neg->tensor) < first + buckets)
        return SKIFF_OK;
    struct shape one = op->kind->generations == GEN_2X ? shape_of(0, NULL) : SHAPE(1);
    struct skiff_tensor *to = scope_own(root, out->names[0]);
    TRY(value_as_tensor(to, DTYPE_FP64, &one, err));
    tensor_f64(&to->tensor)[0] =
        auc_area(tensor_i64(&pos->tensor) + first, tensor_i64(&neg->tensor) + first, buckets);
    return SKIFF_OK;
}

enum skiff_status metric_results(struct skiff_scope *root, const struct skiff_program *p,
                                 struct skiff_error *err)
{
    const struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops; i++)
        if (b->ops[i]->kind && (b->ops[i]->kind->flags & OP_METRIC))
            TRY(auc_result(root, b->ops[i], err));
    return SKIFF_OK;
}
