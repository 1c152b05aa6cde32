/* hierarchical_sigmoid: the class as a path of yes/no decisions down a binary tree.
 *
 * Path of a sample: nodes n_j (rows of W, Bias) and bits b_j. Without PathTable and PathCode the
 * tree is complete: c = label + num_classes, n_j = (c >> (j+1)) - 1, b_j = bit j of c, length =
 * position of the highest bit of c. With them, row i of both is the path of sample i up to the
 * first negative.
 *
 *   z_j = clip(W[n_j] . x + Bias[n_j], -40, 40), 0 beyond the end of the path
 *   PreOut_j = log(1 + exp z_j) for all L columns,  Out = sum_j PreOut_j - sum_path b_j z_j
 *       (columns beyond a path therefore add log 2 each, as in Paddle)
 *   dz_j = dOut * (sigmoid(z_j) - b_j), sigmoid(z) = 1 - exp(-PreOut), on the path only
 *
 * is_sparse: W@GRAD holds the rows that were touched, ascending, each once. */
#include <math.h>

#include "ops/loss/class_grads.h"

enum { IN_X, IN_W, IN_LABEL, IN_PATH, IN_CODE, IN_BIAS };
enum { GR_X, GR_W, GR_LABEL, GR_PATH, GR_CODE, GR_BIAS, GR_PRE, GR_DOUT };
enum { OUT_OUT, OUT_PRE, OUT_W };
enum { AT_CLASSES, AT_SPARSE = 6 };

static int highest_bit(uint64_t x) /* 1-based; 0 for 0 */
{
    return x ? 64 - __builtin_clzll(x) : 0;
}

struct path {
    const struct tensor *table, *code; /* NULL: complete tree */
    int64_t classes, columns, nodes;   /* columns of PreOut; rows of W */
};

static struct path path_of(const struct kernel *k)
{
    struct path p = {.classes = k->attr[AT_CLASSES].i, .nodes = kernel_in(k, IN_W)->shape.dims[0]};
    if (kernel_has(k, IN_PATH) && kernel_has(k, IN_CODE)) {
        p.table = kernel_in(k, IN_PATH);
        p.code = kernel_in(k, IN_CODE);
        p.columns = p.table->shape.dims[1];
    } else {
        p.columns = highest_bit((uint64_t)(p.classes - 1));
    }
    return p;
}

/* Step j of sample i: node and bit; false at the end of the path. */
static bool path_step(const struct path *p, int64_t i, int64_t label, int64_t j, int64_t *node,
                      bool *bit)
{
    if (j >= p->columns)
        return false;
    if (p->table) {
        *node = tensor_int_at(p->table, i * p->columns + j);
        *bit = tensor_int_at(p->code, i * p->columns + j) != 0;
        return *node >= 0;
    }
    uint64_t c = (uint64_t)(label + p->classes);
    *node = (int64_t)(c >> (j + 1)) - 1;
    *bit = c >> j & 1;
    return j < highest_bit(c) - 1;
}

/* Every node of every path is a row of W, every label a class. */
static enum skiff_status paths_check(const struct kernel *k, const struct path *p, int64_t n,
                                     struct skiff_error *err)
{
    const struct tensor *label = kernel_in(k, IN_LABEL);
    for (int64_t i = 0; i < n; i++) {
        int64_t l = tensor_int_at(label, i), node;
        bool bit;
        if (!p->table && (l < 0 || l >= p->classes))
            return kernel_bad_index(k, IN_LABEL, i, l, p->classes, "num_classes", err);
        for (int64_t j = 0; path_step(p, i, l, j, &node, &bit); j++)
            if (node >= p->nodes)
                return kernel_bad_index(k, p->table ? IN_PATH : IN_LABEL, i, node, p->nodes,
                                        "nodes, the rows of W", err);
    }
    return SKIFF_OK;
}

/* ---- forward ---- */

static enum skiff_status inputs_check(const struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, IN_X, DTYPE_FP32, err));
    TRY(infer_want(c, IN_W, DTYPE_FP32, err));
    TRY(infer_want(c, IN_BIAS, DTYPE_FP32, err));
    TRY(infer_want_int(c, IN_LABEL, err));
    TRY(infer_want_int(c, IN_PATH, err));
    TRY(infer_want_int(c, IN_CODE, err));
    TRY(infer_want_rank(c, IN_X, 2, err));
    TRY(infer_want_rank(c, IN_W, 2, err));
    TRY(infer_want_rank(c, IN_PATH, 2, err));
    TRY(infer_want_alike(c, IN_CODE, IN_PATH, err));
    const struct shape *x = infer_in(c, IN_X, 0), *w = infer_in(c, IN_W, 0);
    if (!dims_agree(x->dims[1], w->dims[1]))
        return infer_fail(c, IN_X, 0, err, "must have as many columns as W, which has %lld",
                          (long long)w->dims[1]);
    if (c->attr[AT_CLASSES].i < 2)
        return infer_fail(c, IN_X, 0, err, "num_classes is %d, must be at least 2",
                          c->attr[AT_CLASSES].i);
    if (!c->running)
        return SKIFF_OK;
    const struct shape *path = infer_in(c, IN_PATH, 0), *bias = infer_in(c, IN_BIAS, 0);
    if (shape_numel(infer_in(c, IN_LABEL, 0)) != x->dims[0] ||
        (path && path->dims[0] != x->dims[0]))
        return infer_fail(c, IN_LABEL, 0, err, "must have one label (and path) per row of X");
    if (!path != !infer_in(c, IN_CODE, 0))
        return infer_fail(c, IN_PATH, 0, err, "PathTable and PathCode must be given together");
    if (bias && shape_numel(bias) != w->dims[0])
        return infer_fail(c, IN_BIAS, 0, err, "must have one value per row of W");
    return SKIFF_OK;
}

static enum skiff_status hs_infer(struct infer *c, struct skiff_error *err)
{
    TRY(inputs_check(c, err));
    int64_t n = infer_in(c, IN_X, 0)->dims[0];
    struct shape out = SHAPE(n, 1);
    TRY(infer_out(c, OUT_OUT, 0, DTYPE_FP32, &out, err));
    infer_share_lod(c, IN_X, 0, OUT_OUT, 0);
    if (!c->running)
        return SKIFF_OK;
    struct shape pre = SHAPE(n, path_of(c->kernel).columns);
    return infer_out(c, OUT_PRE, 0, DTYPE_FP32, &pre, err);
}

static enum skiff_status hs_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_X);
    const float *w = tensor_f32(kernel_in(k, IN_W));
    const float *bias = kernel_has(k, IN_BIAS) ? tensor_f32(kernel_in(k, IN_BIAS)) : NULL;
    struct path p = path_of(k);
    int64_t n = x->shape.dims[0], width = x->shape.dims[1];
    struct tensor *pre = kernel_out(k, OUT_PRE);
    TRY(paths_check(k, &p, n, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t label = tensor_int_at(kernel_in(k, IN_LABEL), i), node = 0;
        bool bit = false, on_path = true;
        float sum = 0, chosen = 0;
        for (int64_t j = 0; j < p.columns; j++) {
            float z = 0;
            on_path = on_path && path_step(&p, i, label, j, &node, &bit);
            if (on_path) {
                z = (float)math_dot_f32(width, w + node * width, tensor_f32(x) + i * width);
                z = fmaxf(fminf(z + (bias ? bias[node] : 0), 40.0f), -40.0f);
                chosen += bit ? z : 0;
            }
            float soft = logf(1.0f + expf(z));
            sum += soft;
            if (pre)
                tensor_f32(pre)[i * p.columns + j] = soft;
        }
        tensor_f32(kernel_out(k, OUT_OUT))[i] = sum - chosen;
    }
    return SKIFF_OK;
}

/* ---- gradient ---- */

static const struct class_slots grad_slots = {GR_X, GR_W, GR_BIAS, AT_SPARSE};

static enum skiff_status hs_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(inputs_check(c, err));
    return class_grads_infer(c, &grad_slots, err);
}

/* The nodes of all paths, ascending, each once. */
static enum skiff_status nodes_of(struct kernel *k, const struct path *p, int64_t n, int64_t **out,
                                  int64_t *count, struct skiff_error *err)
{
    void *space;
    TRY(kernel_scratch(k, (size_t)(n * p->columns + 1) * sizeof(int64_t), &space, err));
    int64_t *ids = space, m = 0, node;
    bool bit;
    for (int64_t i = 0; i < n; i++) {
        int64_t label = tensor_int_at(kernel_in(k, GR_LABEL), i);
        for (int64_t j = 0; path_step(p, i, label, j, &node, &bit); j++)
            ids[m++] = node;
    }
    *out = ids;
    *count = ids_unique(ids, m);
    return SKIFF_OK;
}

static enum skiff_status grad_inputs_check(const struct kernel *k, const struct path *p, int64_t n,
                                           struct skiff_error *err)
{
    if (kernel_wants(k, 2) && !kernel_has(k, GR_BIAS))
        return kernel_fail(k, SKIFF_INVALID, err, "Bias@GRAD is wanted without Bias");
    if (tensor_numel(kernel_in(k, GR_LABEL)) != n ||
        (p->table && tensor_numel(p->table) != n * p->columns) ||
        (p->code && tensor_numel(p->code) != n * p->columns))
        return kernel_fail(k, SKIFF_SHAPE, err, "Label and paths must fit the %lld rows of X",
                           (long long)n);
    if (kernel_has(k, GR_BIAS))
        TRY(kernel_want_floats(k, GR_BIAS, kernel_in(k, GR_W)->shape.dims[0], err));
    TRY(kernel_want_floats(k, GR_PRE, n * p->columns, err));
    TRY(kernel_want_floats(k, GR_DOUT, n, err));
    return paths_check(k, p, n, err);
}

static enum skiff_status hs_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct path p = path_of(k);
    struct class_grads g;
    int64_t n = kernel_in(k, GR_X)->shape.dims[0], *ids = NULL, count = 0;
    TRY(grad_inputs_check(k, &p, n, err));
    if (class_grads_sparse(k, &grad_slots))
        TRY(nodes_of(k, &p, n, &ids, &count, err));
    TRY(class_grads_init(&g, k, &grad_slots, ids, count, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t label = tensor_int_at(kernel_in(k, GR_LABEL), i), node;
        float dout = tensor_f32(kernel_in(k, GR_DOUT))[i];
        bool bit;
        for (int64_t j = 0; path_step(&p, i, label, j, &node, &bit); j++) {
            float pre = tensor_f32(kernel_in(k, GR_PRE))[i * p.columns + j];
            float dz = (1.0f - expf(-pre) - (bit ? 1.0f : 0.0f)) * dout;
            class_grads_add(&g, i, node, dz);
        }
    }
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot hs_ins[] = {{"X", 0},
                                        {"W", 0},
                                        {"Label", 0},
                                        {"PathTable", SLOT_OPTIONAL},
                                        {"PathCode", SLOT_OPTIONAL},
                                        {"Bias", SLOT_OPTIONAL},
                                        {0}};
static const struct op_slot hs_outs[] = {
    {"Out", 0}, {"PreOut", SLOT_EXTRA}, {"W_Out", SLOT_EXTRA}, {0}};
static const struct op_slot hs_grad_ins[] = {{"X", 0},
                                             {"W", 0},
                                             {"Label", 0},
                                             {"PathTable", SLOT_OPTIONAL},
                                             {"PathCode", SLOT_OPTIONAL},
                                             {"Bias", SLOT_OPTIONAL},
                                             {"PreOut", 0},
                                             {"Out@GRAD", 0},
                                             {0}};
static const struct op_slot hs_grad_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"W@GRAD", SLOT_OPTIONAL}, {"Bias@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec hs_attrs[] = {A_INT("num_classes", 2),
                                               AF_BOOL("remote_prefetch", false, ATTR_ONLY_1X),
                                               A_INT("trainer_id", 0),
                                               A_LONGS("height_sections"),
                                               A_STRS("epmap"),
                                               A_STRS("table_names"),
                                               A_BOOL("is_sparse", false),
                                               {0}};

const struct op_kind ops_hsigmoid[] = {
    {.type = "hierarchical_sigmoid",
     .ins = hs_ins,
     .outs = hs_outs,
     .attrs = hs_attrs,
     .grad = "X W Label PathTable PathCode Bias PreOut Out@GRAD -> X@GRAD W@GRAD Bias@GRAD",
     .infer = hs_infer,
     .run = hs_run},
    {.type = "hierarchical_sigmoid_grad",
     .flags = OP_OWN_SHAPE,
     .ins = hs_grad_ins,
     .outs = hs_grad_outs,
     .attrs = hs_attrs,
     .infer = hs_grad_infer,
     .run = hs_grad_run},
    {0}};
