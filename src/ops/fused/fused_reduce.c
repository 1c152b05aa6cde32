/* Gradients summed over the ranks of a ring, many at once, while the step continues
 * (passes/fuse_reduce.c makes them of c_allreduce_sum):
 *
 *   fused_reduce_start   X, X, ..: copies them side by side and starts their sum; Work
 *   fused_reduce_wait    Work, X, ..: waits for it; Out, Out, .. (the same variables) = the sums
 *
 * Where the ranks have all cores of their machine, nothing goes on beside a step: the sum is put
 * off until wait, by the step's own thread, which saves switches between the two.
 *
 * One tensor alone is summed where it lies: wait writes it, so its memory is its own until then. A
 * step that fails in between leaves its sum to the next start, or to the plan's end. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/distributed/collective.h"
#include "ops/ops_common.h"

enum { AT_RING };

struct bucket_reduction {
    struct value_keepalive kept; /* first: the contents of Work */
    struct collective_work *work;
    float *buffer;
    size_t cap;     /* floats */
    bool alone;     /* a ring of one: nothing was started */
    float *put_off; /* to be summed by wait */
    int64_t total;
};

static void reduction_destroy(struct value_keepalive *kept)
{
    struct bucket_reduction *r = (struct bucket_reduction *)kept;
    if (r->work)
        (void)collective_wait(r->work, NULL);
    mem_free(r->buffer);
    free(r);
}

static enum skiff_status start_prepare(struct kernel *k, struct skiff_error *err)
{
    struct bucket_reduction *r = mem_alloc_or_die(sizeof *r);
    r->kept = (struct value_keepalive){.refs = 1, .destroy = reduction_destroy};
    k->state = r;
    return SKIFF_OK;
}

static void start_release(struct kernel *k)
{
    struct bucket_reduction *r = k->state;
    if (r && --r->kept.refs == 0)
        reduction_destroy(&r->kept);
    k->state = NULL;
}

static enum skiff_status check_dense(const struct kernel *k, int i, struct skiff_error *err)
{
    const struct skiff_tensor *x = kernel_in_value(k, 0, i);
    if (x && x->kind == VALUE_TENSOR && x->tensor.dtype == DTYPE_FP32)
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_DTYPE, err, "input X (%s): a float32 tensor was expected",
                       kernel_in_name(k, 0, i));
}

/* The floats to be summed: X itself, or the buffer with all of them. */
static enum skiff_status lay_out(struct kernel *k, struct bucket_reduction *r, float **out,
                                 int64_t *total, struct skiff_error *err)
{
    int n = kernel_in_count(k, 0);
    *total = 0;
    for (int i = 0; i < n; i++) {
        TRY(check_dense(k, i, err));
        *total += tensor_numel(kernel_in_at(k, 0, i));
    }
    *out = tensor_f32(kernel_in(k, 0));
    if (n == 1)
        return SKIFF_OK;
    if (r->cap < (size_t)*total) {
        void *more;
        TRY(mem_alloc((size_t)*total * sizeof(float), "gradients to be summed", &more, err));
        mem_free(r->buffer);
        r->buffer = more;
        r->cap = (size_t)*total;
    }
    float *to = *out = r->buffer;
    for (int i = 0; i < n; i++) {
        const struct tensor *x = kernel_in_at(k, 0, i);
        if (tensor_bytes(x))
            memcpy(to, x->data, tensor_bytes(x));
        to += tensor_numel(x);
    }
    return SKIFF_OK;
}

static enum skiff_status start_run(struct kernel *k, struct skiff_error *err)
{
    struct bucket_reduction *r = k->state;
    struct collective *c;
    float *data;
    int64_t total;
    if (r->work) /* of a step that has failed */
        (void)collective_wait(r->work, NULL);
    r->work = NULL;
    TRY(ring_of(k, k->attr[AT_RING].i, &c, err));
    value_keep_alive(kernel_out_value(k, 0, 0), &r->kept);
    r->alone = collective_size(c) == 1;
    if (r->alone)
        return SKIFF_OK;
    TRY(lay_out(k, r, &data, &total, err));
    r->put_off = collective_crowded(c) ? data : NULL;
    r->total = total;
    if (r->put_off)
        return SKIFF_OK;
    r->work = collective_start_all_reduce(c, data, total, DTYPE_FP32, COLLECTIVE_SUM, err);
    return ring_failed(k, c, kernel_in_name(k, 0, 0), r->work ? SKIFF_OK : SKIFF_STATE, err);
}

static enum skiff_status wait_run(struct kernel *k, struct skiff_error *err)
{
    struct skiff_tensor *v = kernel_in_value(k, 0, 0);
    struct bucket_reduction *r = (struct bucket_reduction *)v->kept;
    struct collective *c;
    if (r->alone)
        return SKIFF_OK;
    TRY(ring_of(k, k->attr[AT_RING].i, &c, err));
    struct collective_work *work = r->work;
    r->work = NULL;
    enum skiff_status status =
        r->put_off ? collective_all_reduce(c, r->put_off, r->total, DTYPE_FP32, COLLECTIVE_SUM, err)
                   : collective_wait(work, err);
    TRY(ring_failed(k, c, kernel_out_name(k, 0, 0), status, err));
    const float *from = r->buffer;
    int n = kernel_out_count(k, 0);
    for (int i = 0; i < n && n > 1; i++) {
        struct tensor *x = kernel_out_at(k, 0, i);
        if (tensor_bytes(x))
            memcpy(x->data, from, tensor_bytes(x));
        from += tensor_numel(x);
    }
    return SKIFF_OK;
}

static enum skiff_status no_shapes(struct infer *c, struct skiff_error *err)
{
    return SKIFF_OK;
}

static const struct op_slot start_ins[] = {{"X", SLOT_LIST}, {0}};
static const struct op_slot start_outs[] = {{"Work", 0}, {0}};
static const struct op_slot wait_ins[] = {{"Work", 0}, {"X", SLOT_LIST}, {0}};
static const struct op_slot wait_outs[] = {{"Out", SLOT_LIST}, {0}};
static const struct op_attr_spec ring_attrs[] = {A_INT("ring_id", 0), {0}};

const struct op_kind ops_fused_reduce[] = {{.type = "fused_reduce_start",
                                            .flags = OP_INTERNAL | OP_RANKS | OP_OWN_SHAPE,
                                            .ins = start_ins,
                                            .outs = start_outs,
                                            .attrs = ring_attrs,
                                            .infer = no_shapes,
                                            .prepare = start_prepare,
                                            .release = start_release,
                                            .run = start_run},
                                           {.type = "fused_reduce_wait",
                                            .flags = OP_INTERNAL | OP_RANKS | OP_OWN_SHAPE,
                                            .ins = wait_ins,
                                            .outs = wait_outs,
                                            .attrs = ring_attrs,
                                            .infer = no_shapes,
                                            .run = wait_run},
                                           {0}};
