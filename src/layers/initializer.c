/* Initializers: the op that fills a parameter, put at the front of the startup block (1.x) or at
 * its end (2.x), as Fluid does. In 2.x all ops draw from one generator, so that the order decides
 * the numbers. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "layers/helper.h"

/* Fluid 1.x puts the op that fills a variable in front of the others, 2.x behind them. */
static int init_at(const struct skiff_block *b)
{
    return b->program->generation == GEN_2X ? -1 : 0;
}

/* Rank 1: both dim 0; rank 2: dim 0 and dim 1; higher: dim 1 and dim 0 times the rest. */
static void compute_fans(const struct shape *s, double *in, double *out)
{
    double rest = 1;
    if (s->ndim == 1) {
        *in = *out = (double)s->dims[0];
        return;
    }
    if (s->ndim == 2) {
        *in = (double)s->dims[0];
        *out = (double)s->dims[1];
        return;
    }
    for (int i = 2; i < s->ndim; i++)
        rest *= (double)s->dims[i];
    *in = (double)s->dims[1] * rest;
    *out = (double)s->dims[0] * rest;
}

static void put_random(struct skiff_net *net, struct skiff_block *b, struct skiff_var *v,
                       bool uniform, double limit, int seed)
{
    if (uniform)
        net_put_op(net, b, init_at(b), "uniform_random",
                   PARTS(P_OUT("Out", v), P_LONGS("shape", v->shape.ndim, v->shape.dims),
                         P_INT("dtype", v->dtype), P_FLOAT("min", -limit), P_FLOAT("max", limit),
                         P_INT("seed", seed)));
    else
        net_put_op(net, b, init_at(b), "gaussian_random",
                   PARTS(P_NO_INS, P_OUT("Out", v), P_LONGS("shape", v->shape.ndim, v->shape.dims),
                         P_INT("dtype", v->dtype), P_FLOAT("mean", 0), P_FLOAT("std", limit),
                         P_INT("seed", seed)));
}

/* `at`: 0 at the front of the block, -1 at its end. */
static void put_values(struct skiff_net *net, struct skiff_block *b, int at, struct skiff_var *v,
                       size_t n, const float *floats, const int32_t *ints)
{
    if ((int64_t)n != shape_numel(&v->shape)) {
        char text[160];
        net_fail(net, SKIFF_SHAPE, "initializer of %s: %zu values for the shape %s", v->name, n,
                 shape_text(&v->shape, text));
        return;
    }
    if (n > 1024 * 1024) {
        net_fail(net, SKIFF_RANGE,
                 "initializer of %s: %zu values are too many for a program; load them from a file",
                 v->name, n);
        return;
    }
    double *f = floats ? mem_alloc_or_die((n + 1) * sizeof *f) : NULL;
    int64_t *l = ints ? mem_alloc_or_die((n + 1) * sizeof *l) : NULL;
    for (size_t i = 0; i < n; i++)
        if (floats)
            f[i] = floats[i];
        else
            l[i] = ints[i];
    struct part values = floats ? (struct part)P_FLOATS("fp32_values", (int)n, f)
                                : (struct part)P_LONGS("int32_values", (int)n, l);
    net_put_op(net, b, at, "assign_value",
               PARTS(P_NO_INS, P_OUT("Out", v), P_INT("dtype", v->dtype),
                     P_LONGS("shape", v->shape.ndim, v->shape.dims), values));
    free(f);
    free(l);
}

/* Weights of an upsampling convolution: weight[.., y, x] = (1 - |x/f - c|)(1 - |y/f - c|) with
 * f = ceil(size / 2), c = (2f - 1 - f % 2) / 2f. y is not cut to an integer, as in Fluid. */
static void put_bilinear(struct skiff_net *net, struct skiff_block *b, struct skiff_var *v)
{
    if (v->shape.ndim != 4 || v->shape.dims[2] != v->shape.dims[3]) {
        char text[160];
        net_fail(net, SKIFF_SHAPE, "initializer of %s: bilinear needs [.., .., n, n], not %s",
                 v->name, shape_text(&v->shape, text));
        return;
    }
    size_t n = (size_t)shape_numel(&v->shape);
    double size = (double)v->shape.dims[3], f = ceil(size / 2);
    double c = (2 * f - 1 - fmod(f, 2)) / (2 * f);
    float *w = mem_alloc_or_die((n + 1) * sizeof *w);
    for (size_t i = 0; i < n; i++) {
        double x = fmod((double)i, size), y = fmod((double)i / size, size);
        w[i] = (float)((1 - fabs(x / f - c)) * (1 - fabs(y / f - c)));
    }
    put_values(net, b, -1, v, n, w, NULL); /* at the end, unlike all others */
    free(w);
}

static void put_constant(struct skiff_net *net, struct skiff_block *b, struct skiff_var *v,
                         const struct skiff_initializer *init)
{
    net_put_op(net, b, init_at(b), "fill_constant",
               PARTS(P_NO_INS, P_OUT("Out", v), P_LONGS("shape", v->shape.ndim, v->shape.dims),
                     P_INT("dtype", v->dtype), P_FLOAT("value", init->a),
                     P_BOOL("force_cpu", init->force_cpu)));
}

static void put_normal(struct skiff_net *net, struct skiff_block *b, struct skiff_var *v,
                       const char *type, const struct skiff_initializer *init, int seed)
{
    net_put_op(net, b, init_at(b), type,
               PARTS(P_NO_INS, P_OUT("Out", v), P_LONGS("shape", v->shape.ndim, v->shape.dims),
                     P_INT("dtype", v->dtype), P_FLOAT("mean", init->a), P_FLOAT("std", init->b),
                     P_INT("seed", seed)));
}

static void put_uniform(struct skiff_net *net, struct skiff_block *b, struct skiff_var *v,
                        const struct skiff_initializer *init, int seed)
{
    net_put_op(net, b, init_at(b), "uniform_random",
               PARTS(P_OUT("Out", v), P_LONGS("shape", v->shape.ndim, v->shape.dims),
                     P_INT("dtype", v->dtype), P_FLOAT("min", init->a), P_FLOAT("max", init->b),
                     P_INT("seed", seed), P_INT("diag_num", init->diag_num),
                     P_INT("diag_step", init->diag_step), P_FLOAT("diag_val", init->diag_val)));
}

void initializer_apply(struct skiff_net *net, struct skiff_block *b, struct skiff_var *v,
                       const struct skiff_initializer *init)
{
    int seed = init->seed ? init->seed : b->program->random_seed;
    double in, out;
    compute_fans(&v->shape, &in, &out);
    if (init->a > 0)
        in = init->a;
    if (init->b > 0)
        out = init->b;
    switch (init->kind) {
    case SKIFF_INIT_CONSTANT:
        put_constant(net, b, v, init);
        break;
    case SKIFF_INIT_UNIFORM:
        put_uniform(net, b, v, init, seed);
        break;
    case SKIFF_INIT_NORMAL:
        put_normal(net, b, v, "gaussian_random", init, seed);
        break;
    case SKIFF_INIT_TRUNCATED_NORMAL:
        put_normal(net, b, v, "truncated_gaussian_random", init, seed);
        break;
    case SKIFF_INIT_DEFAULT:
        put_random(net, b, v, true, sqrt(6.0 / (in + out)), seed);
        break;
    case SKIFF_INIT_XAVIER:
        put_random(net, b, v, init->uniform, sqrt((init->uniform ? 6.0 : 2.0) / (in + out)), seed);
        break;
    case SKIFF_INIT_MSRA:
        put_random(net, b, v, init->uniform, sqrt((init->uniform ? 6.0 : 2.0) / in), seed);
        break;
    case SKIFF_INIT_BILINEAR:
        put_bilinear(net, b, v);
        break;
    case SKIFF_INIT_VALUES:
        put_values(net, b, init_at(b), v, init->count, init->floats, init->ints);
        break;
    }
}
