#include "ops/loss/class_grads.h"

enum skiff_status class_grads_infer(struct infer *c, const struct class_slots *s,
                                    struct skiff_error *err)
{
    struct shape w = *infer_in(c, s->w, 0);
    TRY(infer_like(c, s->x, 0, err));
    if (c->attr[s->sparse].b)
        TRY(infer_out_rows(c, 1, 0, DTYPE_FP32, -1, w.dims[1], w.dims[0], err));
    else
        TRY(infer_like(c, s->w, 1, err));
    return infer_has(c, s->bias) ? infer_like(c, s->bias, 2, err) : SKIFF_OK;
}

bool class_grads_sparse(const struct kernel *k, const struct class_slots *s)
{
    return kernel_wants(k, 1) && k->attr[s->sparse].b;
}

enum skiff_status class_grads_init(struct class_grads *g, struct kernel *k,
                                   const struct class_slots *s, const int64_t *ids, int64_t count,
                                   struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, s->x), *w = kernel_in(k, s->w);
    bool sparse = class_grads_sparse(k, s);
    float *out[3];
    TRY(kernel_out_resize(k, 0, 0, DTYPE_FP32, &x->shape, err));
    if (kernel_wants(k, 2))
        TRY(kernel_out_resize(k, 2, 0, DTYPE_FP32, &kernel_in(k, s->bias)->shape, err));
    if (sparse) {
        struct skiff_tensor *dw = kernel_out_value(k, 1, 0);
        TRY(value_as_rows(dw, DTYPE_FP32, (size_t)count, w->shape.dims[1], w->shape.dims[0], err));
        rows_move(dw->sel.rows, ids, count, sizeof(int64_t));
    } else {
        TRY(kernel_out_resize(k, 1, 0, DTYPE_FP32, &w->shape, err));
    }
    for (int i = 0; i < 3; i++) {
        out[i] = kernel_wants(k, i) ? tensor_f32(kernel_out(k, i)) : NULL;
        if (out[i]) {
            tensor_drop_lod(kernel_out(k, i));
            floats_zero(out[i], tensor_numel(kernel_out(k, i)));
        }
    }
    *g = (struct class_grads){.width = x->shape.dims[1],
                              .x = tensor_f32(x),
                              .w = tensor_f32(w),
                              .dx = out[0],
                              .dw = out[1],
                              .db = out[2],
                              .ids = sparse ? ids : NULL,
                              .count = count};
    return SKIFF_OK;
}
