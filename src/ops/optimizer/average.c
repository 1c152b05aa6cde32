/* average_accumulates: sums of a parameter over a window of steps, for ModelAverage.
 *
 *   num_updates += 1;  num_accumulates += 1;  sum_1 += param
 *   every 16384 updates, for the sake of rounding:  sum_2 += sum_1;  sum_1 = 0
 *   num_accumulates >= min_average_window and
 *   num_accumulates >= min(max_average_window, num_updates * average_window), a window ends:
 *       sum_3 = sum_1 + sum_2;  sum_1 = sum_2 = 0
 *       old_num_accumulates = num_accumulates;  num_accumulates = 0
 *
 * The mean is (sum_1 + sum_2 + sum_3) / (num_accumulates + old_num_accumulates). */
#include <string.h>

#include "ops/ops_common.h"

enum { IN_PARAM, IN_SUM_1, IN_SUM_2, IN_SUM_3, IN_COUNT, IN_OLD_COUNT, IN_UPDATES };
enum { OUT_SUM_1, OUT_SUM_2, OUT_SUM_3, OUT_COUNT, OUT_OLD_COUNT, OUT_UPDATES, OUTS };
enum { AT_WINDOW, AT_MAX, AT_MIN };
enum { MOST_IN_ONE_SUM = 16384 };

static enum skiff_status average_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *param = infer_in(c, IN_PARAM, 0);
    for (int i = 0; i < OUTS; i++) {
        int in = i + IN_SUM_1;
        const struct shape *x = infer_in(c, in, 0);
        enum dtype want = i < OUT_COUNT ? DTYPE_FP32 : DTYPE_INT64;
        if (!param || !x)
            return infer_fail(c, param ? in : IN_PARAM, 0, err, "the input is missing");
        if (infer_in_dtype(c, in, 0) != want)
            return infer_fail(c, in, 0, err, "is %s; %s is needed",
                              dtype_name(infer_in_dtype(c, in, 0)), dtype_name(want));
        if (c->running && (i < OUT_COUNT ? !shape_equal(x, param) : shape_numel(x) != 1))
            return infer_fail(c, in, 0, err, "%s is needed",
                              i < OUT_COUNT ? "the shape of param" : "one number");
        struct shape s = *x;
        TRY(infer_out(c, i, 0, want, &s, err));
    }
    if (infer_in_dtype(c, IN_PARAM, 0) != DTYPE_FP32)
        return infer_fail(c, IN_PARAM, 0, err, "is %s; float32 is needed",
                          dtype_name(infer_in_dtype(c, IN_PARAM, 0)));
    return SKIFF_OK;
}

static int64_t number_in(const struct kernel *k, int slot)
{
    return *(const int64_t *)kernel_in(k, slot)->data;
}

static void add(float *out, const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] + b[i];
}

static enum skiff_status average_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, IN_PARAM)), count = number_in(k, IN_COUNT) + 1;
    int64_t old = number_in(k, IN_OLD_COUNT), updates = number_in(k, IN_UPDATES) + 1;
    float *sum[3];
    for (int i = 0; i < 3; i++) {
        sum[i] = tensor_f32(kernel_out(k, OUT_SUM_1 + i));
        memmove(sum[i], tensor_f32(kernel_in(k, IN_SUM_1 + i)), (size_t)n * sizeof(float));
    }
    add(sum[0], sum[0], tensor_f32(kernel_in(k, IN_PARAM)), n);
    if (updates % MOST_IN_ONE_SUM == 0) {
        add(sum[1], sum[1], sum[0], n);
        memset(sum[0], 0, (size_t)n * sizeof(float));
    }
    /* Paddle takes the product as an integer of float32 */
    int64_t longest = (int64_t)((float)updates * k->attr[AT_WINDOW].f);
    longest = longest < k->attr[AT_MAX].l ? longest : k->attr[AT_MAX].l;
    if (count >= k->attr[AT_MIN].l && count >= longest) {
        add(sum[2], sum[0], sum[1], n);
        memset(sum[0], 0, (size_t)n * sizeof(float));
        memset(sum[1], 0, (size_t)n * sizeof(float));
        old = count;
        count = 0;
    }
    *(int64_t *)kernel_out(k, OUT_COUNT)->data = count;
    *(int64_t *)kernel_out(k, OUT_OLD_COUNT)->data = old;
    *(int64_t *)kernel_out(k, OUT_UPDATES)->data = updates;
    return SKIFF_OK;
}

static const struct op_slot average_ins[] = {{"param", 0},
                                             {"in_sum_1", 0},
                                             {"in_sum_2", 0},
                                             {"in_sum_3", 0},
                                             {"in_num_accumulates", 0},
                                             {"in_old_num_accumulates", 0},
                                             {"in_num_updates", 0},
                                             {0}};
static const struct op_slot average_outs[] = {{"out_sum_1", 0},
                                              {"out_sum_2", 0},
                                              {"out_sum_3", 0},
                                              {"out_num_accumulates", 0},
                                              {"out_old_num_accumulates", 0},
                                              {"out_num_updates", 0},
                                              {0}};
static const struct op_attr_spec average_attrs[] = {A_FLOAT("average_window", 0),
                                                    A_REQ("max_average_window", ATTR_LONG),
                                                    A_LONG("min_average_window", 10000),
                                                    {0}};

const struct op_kind ops_average[] = {{.type = "average_accumulates",
                                       .flags = OP_NO_GRAD_NEEDED,
                                       .ins = average_ins,
                                       .outs = average_outs,
                                       .attrs = average_attrs,
                                       .infer = average_infer,
                                       .run = average_run},
                                      {0}};
