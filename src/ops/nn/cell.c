#include "ops/nn/cell.h"

#include <math.h>

enum cell_act cell_act_of(const char *name)
{
    static const char *const names[] = {"identity", "sigmoid", "tanh", "relu"};
    for (int i = 0; i < CELL_UNKNOWN; i++)
        if (name && !strcmp(name, names[i]))
            return (enum cell_act)i;
    return CELL_UNKNOWN;
}

float cell_act_value(enum cell_act act, float x)
{
    switch (act) {
    case CELL_SIGMOID:
        return 1.0f / (1.0f + expf(-x));
    case CELL_TANH:
        return tanhf(x);
    case CELL_RELU:
        return x > 0 ? x : 0;
    default:
        return x;
    }
}

float cell_act_slope(enum cell_act act, float y)
{
    switch (act) {
    case CELL_SIGMOID:
        return y * (1.0f - y);
    case CELL_TANH:
        return 1.0f - y * y;
    case CELL_RELU:
        return y > 0 ? 1.0f : 0.0f;
    default:
        return 1.0f;
    }
}

enum skiff_status cell_walk_init(struct cell_walk *w, struct kernel *k, const struct lod_level *lod,
                                 bool reverse, struct skiff_error *err)
{
    *w = (struct cell_walk){.off = lod->off, .sequences = lod->n - 1, .reverse = reverse};
    for (int64_t i = 0; i < w->sequences; i++)
        if (w->off[i + 1] - w->off[i] > w->longest)
            w->longest = w->off[i + 1] - w->off[i];
    void *p;
    TRY(kernel_scratch(k, (size_t)(3 * w->sequences + 1) * sizeof(int64_t), &p, err));
    w->seq = p;
    w->row = w->seq + w->sequences;
    w->prev_row = w->row + w->sequences;
    return SKIFF_OK;
}

int64_t cell_walk_step(struct cell_walk *w, int64_t t)
{
    w->active = 0;
    for (int64_t i = 0; i < w->sequences; i++) {
        int64_t first = w->off[i], last = w->off[i + 1] - 1;
        if (t > last - first)
            continue;
        int64_t at = w->active++;
        w->seq[at] = i;
        w->row[at] = w->reverse ? last - t : first + t;
        w->prev_row[at] = t == 0 ? -1 : w->reverse ? last - t + 1 : first + t - 1;
    }
    return w->active;
}

void cell_gather(const struct cell_walk *w, const float *from, const int64_t *rows,
                 const float *initial, int64_t width, float *to)
{
    for (int64_t i = 0; i < w->active; i++, to += width)
        if (rows[i] >= 0)
            rows_move(to, from + rows[i] * width, width, sizeof(float));
        else if (initial)
            rows_move(to, initial + w->seq[i] * width, width, sizeof(float));
        else
            floats_zero(to, width);
}

void cell_scatter(const struct cell_walk *w, const float *from, int64_t width, float *to)
{
    for (int64_t i = 0; i < w->active; i++, from += width)
        rows_move(to + w->row[i] * width, from, width, sizeof(float));
}
