/* Gradients of layers that take a few rows of W (and Bias) for each row of X: hierarchical_sigmoid
 * and nce. Outputs 0, 1, 2 are those of X, W and Bias, each optional; W@GRAD holds rows, ascending,
 * each once, if the op is sparse. */
#ifndef OPS_LOSS_CLASS_GRADS_H
#define OPS_LOSS_CLASS_GRADS_H

#include "ops/seq_common.h"
#include "tensor/math.h"

struct class_slots {
    int x, w, bias; /* inputs */
    int sparse;     /* attribute */
};

struct class_grads {
    int64_t width;
    const float *x, *w;
    float *dx, *dw, *db; /* NULL: not wanted */
    const int64_t *ids;  /* rows that dw has; NULL: all */
    int64_t count;
};

enum skiff_status class_grads_infer(struct infer *c, const struct class_slots *s,
                                    struct skiff_error *err);
/* Are the ids of the rows needed? */
bool class_grads_sparse(const struct kernel *k, const struct class_slots *s);
/* Sizes and clears the outputs. ids: as above, if they are needed. */
enum skiff_status class_grads_init(struct class_grads *g, struct kernel *k,
                                   const struct class_slots *s, const int64_t *ids, int64_t count,
                                   struct skiff_error *err);

/* d: gradient of x[i] . w[row] + bias[row] */
static inline void class_grads_add(const struct class_grads *g, int64_t i, int64_t row, float d)
{
    int64_t at = g->ids ? ids_find(g->ids, g->count, row) : row;
    if (g->db)
        g->db[row] += d;
    if (g->dx)
        math_axpy_f32(g->width, d, g->w + row * g->width, g->dx + i * g->width);
    if (g->dw)
        math_axpy_f32(g->width, d, g->x + i * g->width, g->dw + at * g->width);
}

#endif
