/* Ids of trees and shards.
 *
 *   shard_index  Out = X mod size where X / size is shard_id, else ignore_value;
 *                size = ceil(index_num / nshards)
 *   tdm_child    TreeInfo has a row for each node: item, layer, ancestor, children. Child = the
 *                children of node X (0 for node 0 and for leaves), LeafMask = 1 where a child
 *                has an item
 *   tdm_sampler  Travel[x] is leaf x's path, one node a layer (0: none); Layer holds the nodes of
 *                all layers, cut by layer_offset_lod. For each layer the path's node (Labels 1, if
 *                output_positive) and neg_samples_num_list[layer] other nodes of the layer, each
 *                once; Mask 0 where the path has no node. Drawn as nce's uniform sampler does, an
 *                engine for each layer, started anew in every run. */
#include "ops/seq_common.h"

enum { X, TREE };

/* ---- shard_index ---- */

enum { SI_INDEX_NUM, SI_NSHARDS, SI_SHARD, SI_IGNORE };

static enum skiff_status shard_infer(struct infer *c, struct skiff_error *err)
{
    int num = c->attr[SI_INDEX_NUM].i, shards = c->attr[SI_NSHARDS].i, id = c->attr[SI_SHARD].i;
    const struct shape *s = infer_in(c, X, 0);
    TRY(infer_want_int(c, X, err));
    if (num < 1 || shards < 1 || id < 0 || id >= shards)
        return infer_fail(c, X, 0, err, "index_num is %d, nshards %d, shard_id %d (must be below)",
                          num, shards, id);
    if (s->ndim < 1 || !dims_agree(s->dims[s->ndim - 1], 1))
        return infer_fail(c, X, 0, err, "its last dimension must be 1");
    return infer_same(c, X, 0, err);
}

static enum skiff_status shard_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    int64_t num = k->attr[SI_INDEX_NUM].i, shards = k->attr[SI_NSHARDS].i;
    int64_t size = (num + shards - 1) / shards, n = tensor_numel(x);
    for (int64_t i = 0; i < n; i++) {
        int64_t v = tensor_int_at(x, i);
        if (v < 0 || v >= num)
            return kernel_bad_index(k, X, i, v, num, "index_num", err);
    }
    DISPATCH_INDEX(x->dtype, T, const T *from = x->data; T *to = kernel_out(k, 0)->data;
                   for (int64_t i = 0; i < n; i++) to[i] = from[i] / (T)size == k->attr[SI_SHARD].i
                                                               ? from[i] % (T)size
                                                               : (T)k->attr[SI_IGNORE].i)
    return SKIFF_OK;
}

/* ---- tdm_child ---- */

enum { TC_CHILDREN, TC_DTYPE };
enum { TREE_ITEM, TREE_FIRST_CHILD = 3 };

static enum skiff_status out_dtype(const struct infer *c, int attr, enum dtype *out,
                                   struct skiff_error *err)
{
    *out = (enum dtype)c->attr[attr].i;
    if (!dtype_is_index(*out))
        return infer_fail(c, X, 0, err, "attribute dtype is %d, must be 2 (int32) or 3 (int64)",
                          c->attr[attr].i);
    return SKIFF_OK;
}

static enum skiff_status child_infer(struct infer *c, struct skiff_error *err)
{
    enum dtype type;
    const struct shape *tree = infer_in(c, TREE, 0);
    struct shape s = *infer_in(c, X, 0);
    TRY(infer_want_int(c, X, err));
    TRY(infer_want_int(c, TREE, err));
    TRY(out_dtype(c, TC_DTYPE, &type, err));
    int children = c->attr[TC_CHILDREN].i;
    if (children < 1 || s.ndim >= TENSOR_MAX_DIMS)
        return infer_fail(c, X, 0, err, "child_nums is %d", children);
    if (tree->ndim != 2 || (tree->dims[1] >= 0 && tree->dims[1] < TREE_FIRST_CHILD + children))
        return infer_fail(c, TREE, 0, err, "must be [nodes, 3 + child_nums %d]", children);
    s.dims[s.ndim++] = children;
    TRY(infer_out(c, 0, 0, type, &s, err));
    infer_share_lod(c, X, 0, 0, 0);
    TRY(infer_out(c, 1, 0, type, &s, err));
    infer_share_lod(c, X, 0, 1, 0);
    return SKIFF_OK;
}

static void int_put(struct tensor *t, int64_t at, int64_t v)
{
    if (t && t->dtype == DTYPE_INT64)
        tensor_i64(t)[at] = v;
    else if (t)
        tensor_i32(t)[at] = (int32_t)v;
}

static enum skiff_status child_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *tree = kernel_in(k, TREE);
    int64_t nodes = tree->shape.dims[0], width = tree->shape.dims[1];
    int children = k->attr[TC_CHILDREN].i;
    for (int64_t i = 0; i < tensor_numel(x); i++) {
        int64_t node = tensor_int_at(x, i);
        if (node < 0 || node >= nodes)
            return kernel_bad_index(k, X, i, node, nodes, "nodes of TreeInfo", err);
        bool inner = node && tensor_int_at(tree, node * width + TREE_FIRST_CHILD);
        for (int j = 0; j < children; j++) {
            int64_t at = node * width + TREE_FIRST_CHILD + j;
            int64_t child = inner ? tensor_int_at(tree, at) : 0;
            if (child < 0 || child >= nodes)
                return kernel_bad_index(k, TREE, at, child, nodes, "nodes of TreeInfo", err);
            int_put(kernel_out(k, 0), i * children + j, child);
            int_put(kernel_out(k, 1), i * children + j,
                    inner && tensor_int_at(tree, child * width + TREE_ITEM) != 0);
        }
    }
    return SKIFF_OK;
}

/* ---- tdm_sampler ---- */

enum { TS_TRAVEL = 1, TS_LAYER };
enum { TS_POSITIVE, TS_NEGATIVES, TS_OFFSETS, TS_SEED, TS_DTYPE };
enum { TS_OUT, TS_LABELS, TS_MASK };

static enum skiff_status sampler_layers_check(const struct infer *c, struct skiff_error *err)
{
    const struct attr_value *negatives = &c->attr[TS_NEGATIVES], *off = &c->attr[TS_OFFSETS];
    const struct shape *travel = infer_in(c, TS_TRAVEL, 0), *layer = infer_in(c, TS_LAYER, 0);
    int layers = negatives->n;
    if (layers < 1 || off->n != layers + 1 || off->ints[0] != 0)
        return infer_fail(c, X, 0, err,
                          "layer_offset_lod has %d offsets; needed: 0 and one for each of the %d "
                          "layers of neg_samples_num_list",
                          off->n, layers);
    for (int i = 0; i < layers; i++) {
        int64_t nodes = (int64_t)off->ints[i + 1] - off->ints[i];
        if (negatives->ints[i] < 0 || negatives->ints[i] >= nodes)
            return infer_fail(c, X, 0, err, "layer %d has %lld nodes, too few for %d negatives", i,
                              (long long)nodes, negatives->ints[i]);
    }
    if (travel->ndim != 2 || !dims_agree(travel->dims[1], layers))
        return infer_fail(c, TS_TRAVEL, 0, err, "must be [leaves, layers %d]", layers);
    if (dims_product(layer, 0, layer->ndim) >= 0 && shape_numel(layer) < off->ints[layers])
        return infer_fail(c, TS_LAYER, 0, err, "must hold %d nodes (layer_offset_lod)",
                          off->ints[layers]);
    return SKIFF_OK;
}

static enum skiff_status sampler_infer(struct infer *c, struct skiff_error *err)
{
    enum dtype type;
    for (int slot = X; slot <= TS_LAYER; slot++)
        TRY(infer_want_int(c, slot, err));
    TRY(sampler_layers_check(c, err));
    TRY(out_dtype(c, TS_DTYPE, &type, err));
    const struct attr_value *negatives = &c->attr[TS_NEGATIVES];
    int64_t width = c->attr[TS_POSITIVE].b ? negatives->n : 0;
    for (int i = 0; i < negatives->n; i++)
        width += negatives->ints[i];
    const struct shape *x = infer_in(c, X, 0);
    struct shape s = SHAPE(c->running ? shape_numel(x) : -1, width);
    for (int slot = TS_OUT; slot <= TS_MASK; slot++)
        TRY(infer_out(c, slot, 0, type, &s, err));
    return SKIFF_OK;
}

/* One layer of one input: an engine, the nodes of the layer, the path's node, what was drawn. */
struct tree_layer {
    struct mt64 *engine;
    const struct tensor *nodes;
    int64_t first, count, positive;
    int64_t *drawn;
};

/* A node of the layer that is not the path's and was not drawn before. */
static int64_t layer_draw(struct tree_layer *l, int ndrawn)
{
    uint64_t part = UINT64_MAX / (uint64_t)l->count, past = part * (uint64_t)l->count;
    for (;;) {
        uint64_t v = mt64_next(l->engine);
        if (v >= past)
            continue;
        int64_t at = (int64_t)(v / part);
        bool taken = tensor_int_at(l->nodes, l->first + at) == l->positive;
        for (int i = 0; i < ndrawn && !taken; i++)
            taken = l->drawn[i] == at;
        if (!taken) {
            l->drawn[ndrawn] = at;
            return tensor_int_at(l->nodes, l->first + at);
        }
    }
}

static void sample_put(struct kernel *k, int64_t at, int64_t node, int64_t label, int64_t mask)
{
    int_put(kernel_out(k, TS_OUT), at, node);
    int_put(kernel_out(k, TS_LABELS), at, label);
    int_put(kernel_out(k, TS_MASK), at, mask);
}

/* Fewer other nodes than negatives would never end: a layer must not repeat the path's node. */
static enum skiff_status layer_check(const struct kernel *k, const struct tree_layer *l,
                                     int negatives, struct skiff_error *err)
{
    int64_t others = 0;
    for (int64_t i = 0; i < l->count && others < negatives; i++)
        others += tensor_int_at(l->nodes, l->first + i) != l->positive;
    if (others < negatives)
        return kernel_fail(k, SKIFF_RANGE, err,
                           "input Layer (%s): the layer at %lld has %lld nodes besides %lld, but "
                           "%d negatives are wanted",
                           kernel_in_name(k, TS_LAYER, 0), (long long)l->first, (long long)others,
                           (long long)l->positive, negatives);
    return SKIFF_OK;
}

static enum skiff_status layer_sample(struct kernel *k, struct tree_layer *l, int negatives,
                                      int64_t *at, struct skiff_error *err)
{
    if (k->attr[TS_POSITIVE].b)
        sample_put(k, (*at)++, l->positive, l->positive != 0, l->positive != 0);
    if (l->positive)
        TRY(layer_check(k, l, negatives, err));
    for (int i = 0; i < negatives; i++)
        sample_put(k, (*at)++, l->positive ? layer_draw(l, i) : 0, 0, l->positive != 0);
    return SKIFF_OK;
}

static enum skiff_status engines_start(struct kernel *k, int layers, struct mt64 **out,
                                       struct skiff_error *err)
{
    int32_t seed = k->attr[TS_SEED].i;
    void *p;
    TRY(kernel_scratch(k, (size_t)layers * sizeof(struct mt64), &p, err));
    *out = p;
    for (int i = 0; i < layers; i++)
        mt64_seed(&(*out)[i], seed ? (uint32_t)seed : (uint32_t)rng_entropy());
    return SKIFF_OK;
}

static enum skiff_status sampler_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *travel = kernel_in(k, TS_TRAVEL);
    const struct attr_value *negatives = &k->attr[TS_NEGATIVES], *off = &k->attr[TS_OFFSETS];
    int64_t leaves = travel->shape.dims[0], at = 0, most = 1;
    struct mt64 *engines;
    void *drawn;
    for (int i = 0; i < negatives->n; i++)
        most = negatives->ints[i] > most ? negatives->ints[i] : most;
    TRY(engines_start(k, negatives->n, &engines, err));
    TRY(kernel_scratch(k, (size_t)most * sizeof(int64_t), &drawn, err));
    for (int64_t i = 0; i < tensor_numel(x); i++) {
        int64_t leaf = tensor_int_at(x, i);
        if (leaf < 0 || leaf >= leaves)
            return kernel_bad_index(k, X, i, leaf, leaves, "leaves of Travel", err);
        for (int l = 0; l < negatives->n; l++) {
            struct tree_layer layer = {&engines[l],
                                       kernel_in(k, TS_LAYER),
                                       off->ints[l],
                                       off->ints[l + 1] - off->ints[l],
                                       tensor_int_at(travel, leaf * negatives->n + l),
                                       drawn};
            TRY(layer_sample(k, &layer, negatives->ints[l], &at, err));
        }
    }
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot shard_ins[] = {{"X", 0}, {0}};
static const struct op_slot shard_outs[] = {{"Out", 0}, {0}};
static const struct op_attr_spec shard_attrs[] = {A_REQ("index_num", ATTR_INT),
                                                  A_REQ("nshards", ATTR_INT),
                                                  A_REQ("shard_id", ATTR_INT),
                                                  A_INT("ignore_value", -1),
                                                  {0}};
static const struct op_slot child_ins[] = {{"X", 0}, {"TreeInfo", 0}, {0}};
static const struct op_slot child_outs[] = {{"Child", 0}, {"LeafMask", 0}, {0}};
static const struct op_attr_spec child_attrs[] = {
    A_REQ("child_nums", ATTR_INT), A_INT("dtype", DTYPE_INT32), {0}};
static const struct op_slot sampler_ins[] = {{"X", 0}, {"Travel", 0}, {"Layer", 0}, {0}};
static const struct op_slot sampler_outs[] = {
    {"Out", 0}, {"Labels", SLOT_OPTIONAL}, {"Mask", 0}, {0}};
static const struct op_attr_spec sampler_attrs[] = {
    A_BOOL("output_positive", true), A_INTS("neg_samples_num_list"),
    A_INTS("layer_offset_lod"),      A_INT("seed", 0),
    A_INT("dtype", DTYPE_INT32),     {0}};

const struct op_kind ops_tree[] = {{.type = "shard_index",
                                    .flags = OP_NO_GRAD_NEEDED,
                                    .ins = shard_ins,
                                    .outs = shard_outs,
                                    .attrs = shard_attrs,
                                    .infer = shard_infer,
                                    .run = shard_run},
                                   {.type = "tdm_child",
                                    .flags = OP_NO_GRAD_NEEDED,
                                    .ins = child_ins,
                                    .outs = child_outs,
                                    .attrs = child_attrs,
                                    .infer = child_infer,
                                    .run = child_run},
                                   {.type = "tdm_sampler",
                                    .flags = OP_RANDOM | OP_NO_GRAD_NEEDED,
                                    .ins = sampler_ins,
                                    .outs = sampler_outs,
                                    .attrs = sampler_attrs,
                                    .infer = sampler_infer,
                                    .run = sampler_run},
                                   {0}};
