/* Random training networks (random_net.h). A seed determines everything.
 *
 * A network has slots (look-ups, pools), layers on top of them, a loss and an optimizer, from the
 * parts that the fusing passes look for. random_net_disturb inserts ops in positions where a
 * careless pass would change the result; random_net_break removes, swaps or repeats ops,
 * empties a slot, or replaces an argument. */
#include "random_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/op_kind.h"

#define MAX_TABLES 3
#define MAX_VARS 64
#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

uint64_t random_next(struct random_net *r)
{
    uint64_t z = (r->state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

int random_below(struct random_net *r, int n)
{
    return (int)((random_next(r) >> 33) % (uint64_t)n);
}

double random_unit(struct random_net *r)
{
    return (double)(random_next(r) >> 11) * 0x1p-53;
}

bool random_chance(struct random_net *r, double p)
{
    return random_unit(r) < p;
}

/* ---- building ---- */

struct table {
    char name[16];
    int64_t rows, width, padding; /* padding -1: none */
    bool sparse;
};

struct building {
    struct random_net *r;
    struct skiff_net *net;
    struct table tables[MAX_TABLES];
    int ntables;
    bool may_be_sparse;               /* the optimizer takes sparse gradients */
    struct skiff_var *rows[MAX_VARS]; /* [batch, n] float32 */
    int nrows;
    struct skiff_var *losses[8];
    int nlosses;
    struct shared { /* weights that fc layers share by name */
        int64_t in, out;
        char weight[32], bias[32];
    } shared[4];
    int nshared;
};

static void put(struct building *b, struct skiff_var *v)
{
    if (b->nrows < MAX_VARS)
        b->rows[b->nrows++] = v;
}

static struct skiff_var *pick(struct building *b)
{
    /* rather something recent, so that nets get deep */
    int n = b->nrows, k = random_below(b->r, n);
    return b->rows[random_chance(b->r, 0.5) ? n - 1 - k / 2 : k];
}

static struct random_input *add_input(struct building *b, enum input_kind kind, int64_t cols)
{
    struct random_input *in = &b->r->inputs[b->r->ninputs];
    if (b->r->ninputs == RANDOM_MAX_INPUTS)
        abort();
    *in = (struct random_input){.kind = kind, .cols = cols, .padding = -1, .ignore = -1};
    snprintf(in->name, sizeof(in->name), "in%d", b->r->ninputs++);
    return in;
}

static struct skiff_var *dense_input(struct building *b)
{
    struct random_input *in = add_input(b, INPUT_DENSE, 1 + random_below(b->r, 5));
    return skiff_data(b->net, in->name, SKIFF_DIMS(in->cols),
                      .with_gradient = random_chance(b->r, 0.1));
}

static struct skiff_regularizer some_decay(struct random_net *r)
{
    struct skiff_regularizer none = {0};
    int k = random_below(r, 6);
    return k == 0 ? skiff_l1_decay(0.01) : k == 1 ? skiff_l2_decay(0.02) : none;
}

static void make_tables(struct building *b)
{
    struct random_net *r = b->r;
    b->ntables = 1 + random_below(r, MAX_TABLES);
    for (int i = 0; i < b->ntables; i++) {
        struct table *t = &b->tables[i];
        snprintf(t->name, sizeof(t->name), "table%d", i);
        t->rows = 3 + random_below(r, 30);
        t->width = 1 + random_below(r, 6);
        t->padding = random_chance(r, 0.3) ? random_below(r, (int)t->rows) : -1;
        t->sparse = b->may_be_sparse && random_chance(r, 0.65);
    }
}

static struct skiff_var *ids_input(struct building *b, enum input_kind kind, const struct table *t,
                                   bool flat)
{
    for (int i = 0; i < b->r->ninputs; i++) { /* perhaps one that there is */
        struct random_input *in = &b->r->inputs[i];
        if (in->kind == kind && in->range <= t->rows && in->flat == flat &&
            random_chance(b->r, 0.2))
            return skiff_program_var(skiff_net_main(b->net), in->name);
    }
    struct random_input *in = add_input(b, kind, 1);
    in->range = t->rows;
    in->padding = t->padding;
    in->flat = flat;
    if (flat)
        return skiff_data(b->net, in->name, SKIFF_DIMS(-1), .dtype = "int64",
                          .no_batch_size = true);
    return skiff_data(b->net, in->name, SKIFF_DIMS(1), .dtype = "int64",
                      .lod_level = kind == INPUT_IDS ? 0 : 1);
}

static struct skiff_var *embed(struct building *b, const struct table *t, struct skiff_var *ids,
                               bool v2)
{
    struct skiff_embedding_options o = {
        .is_sparse = random_chance(b->r, 0.95) ? t->sparse : b->may_be_sparse,
        .has_padding = t->padding >= 0 && random_chance(b->r, 0.9),
        .padding_idx = random_chance(b->r, 0.5) ? t->padding : t->padding - t->rows,
        .param_attr = SKIFF_PARAM(.name = t->name, .initializer = skiff_init_uniform(-0.5, 0.5, 11),
                                  .learning_rate = t->width == 2 ? 0.5 : 0)};
    return v2 ? skiff_layer_embedding_v2(b->net, ids, t->rows, t->width, &o)
              : skiff_layer_embedding(b->net, ids, t->rows, t->width, &o);
}

/* A slot: [batch, width] rows of a table. */
static struct skiff_var *slot(struct building *b)
{
    static const char *const pools[] = {"sum", "sum", "average", "sqrt", "max", "last", "first"};
    struct random_net *r = b->r;
    const struct table *t = &b->tables[random_below(r, b->ntables)];
    switch (random_below(r, 6)) {
    case 0: /* one id a row */
        return embed(b, t, ids_input(b, INPUT_IDS, t, false), false);
    case 1: { /* v2: ids of any shape */
        if (random_chance(r, 0.5))
            return embed(b, t, ids_input(b, INPUT_IDS, t, true), true);
        struct skiff_var *e = embed(b, t, ids_input(b, INPUT_IDS, t, false), true);
        return skiff_reshape(b->net, e, SKIFF_DIMS(-1, t->width));
    }
    case 2: /* sequences of one id, not pooled */
        return embed(b, t, ids_input(b, INPUT_ONES, t, false), false);
    default: {
        struct skiff_var *e = embed(b, t, ids_input(b, INPUT_RAGGED, t, false), false);
        struct skiff_var *p = skiff_sequence_pool(b->net, e, pools[random_below(r, COUNT(pools))],
                                                  .pad_value = random_chance(r, 0.1) ? 0.25 : 0);
        if (random_chance(r, 0.1)) /* the rows of the table are read by somebody else, too */
            put(b, skiff_sequence_pool(b->net, e, pools[random_below(r, COUNT(pools))]));
        return p;
    }
    }
}

static struct skiff_var *concat_some(struct building *b, int most)
{
    struct skiff_var *parts[16];
    int n = 1 + random_below(b->r, most > 16 ? 16 : most);
    for (int i = 0; i < n; i++)
        parts[i] = pick(b);
    return skiff_concat(b->net, ((struct skiff_vars){n, parts}), random_chance(b->r, 0.8) ? 1 : -1);
}

static void make_inputs(struct building *b)
{
    struct random_net *r = b->r;
    int slots = 1 + random_below(r, 6), dense = random_below(r, 3), groups = 1 + random_below(r, 2);
    struct skiff_var *parts[16];
    for (int g = 0; g < groups; g++) {
        int n = 0;
        for (int i = 0; i < slots; i++)
            parts[n++] = slot(b);
        for (int i = 0; i < dense; i++)
            parts[n++] = dense_input(b);
        for (int i = n - 1; i > 0; i--) { /* in any order */
            int k = random_below(r, i + 1);
            struct skiff_var *v = parts[i];
            parts[i] = parts[k];
            parts[k] = v;
        }
        if (random_chance(r, 0.2)) /* one of them stays outside, or is used outside as well */
            put(b, parts[random_below(r, n)]);
        if (n > 1 && random_chance(r, 0.1))
            put(b, parts[--n]);
        put(b, skiff_concat(b->net, ((struct skiff_vars){n, parts}), 1));
        if (groups == 2 && random_chance(r, 0.1)) /* the same parts once more */
            put(b, skiff_concat(b->net, ((struct skiff_vars){n, parts}), 1));
    }
}

static const char *some_act(struct random_net *r)
{
    static const char *const acts[] = {NULL,      "relu",  "tanh",  "sigmoid",  "relu",    "gelu",
                                       "softmax", "swish", "relu6", "softsign", "softplus"};
    return acts[random_below(r, COUNT(acts))];
}

static struct skiff_var *fc(struct building *b, struct skiff_var *x, int64_t size, const char *act)
{
    struct random_net *r = b->r;
    struct skiff_param_attr w = {.initializer = skiff_init_uniform(-0.6, 0.6, 5),
                                 .regularizer = some_decay(r),
                                 .frozen = random_chance(r, 0.05)};
    struct skiff_param_attr bias = {.initializer = skiff_init_uniform(-0.1, 0.1, 6),
                                    .learning_rate = random_chance(r, 0.1) ? 2 : 0,
                                    .frozen = random_chance(r, 0.05)};
    int64_t in = skiff_var_dim(x, 1);
    if (random_chance(r, 0.3) && b->nshared < COUNT(b->shared)) {
        struct shared *s = NULL;
        for (int i = 0; i < b->nshared; i++)
            if (b->shared[i].in == in && b->shared[i].out == size)
                s = &b->shared[i];
        if (!s) {
            s = &b->shared[b->nshared];
            *s = (struct shared){.in = in, .out = size};
            snprintf(s->weight, sizeof(s->weight), "shared%d_w", b->nshared);
            snprintf(s->bias, sizeof(s->bias), "shared%d_b", b->nshared++);
        }
        w.name = s->weight;
        w.frozen = bias.frozen = false;
        bias.name = random_chance(r, 0.7) ? s->bias : NULL;
    }
    bool no_bias = random_chance(r, 0.15);
    return skiff_fc(b->net, x, size, .act = act, .param_attr = &w,
                    .bias_attr = no_bias ? SKIFF_NO_PARAM : &bias);
}

static struct skiff_var *fc_of_two(struct building *b)
{
    struct skiff_var *two[] = {pick(b), pick(b)};
    return skiff_fc_list(b->net, ((struct skiff_vars){2, two}), 1 + random_below(b->r, 5),
                         .act = some_act(b->r));
}

static struct skiff_var *combine(struct building *b)
{
    struct random_net *r = b->r;
    struct skiff_var *x = pick(b), *y = NULL;
    for (int i = 0; i < b->nrows; i++)
        if (skiff_var_dim(b->rows[i], 1) == skiff_var_dim(x, 1) && (!y || random_chance(r, 0.5)))
            y = b->rows[i];
    switch (random_below(r, 5)) {
    case 0:
        return skiff_elementwise(b->net, add, x, y, .act = random_chance(r, 0.3) ? "relu" : NULL);
    case 1:
        return skiff_elementwise(b->net, sub, x, y);
    case 2:
        return skiff_elementwise(b->net, mul, x, y);
    case 3:
        return skiff_elementwise(b->net, max, x, y);
    default: {
        struct skiff_var *two[] = {x, y};
        return skiff_sums(b->net, ((struct skiff_vars){2, two}));
    }
    }
}

/* x W + b written out, with a bias that is computed, or a matmul instead of a mul. */
static struct skiff_var *by_hand(struct building *b)
{
    struct random_net *r = b->r;
    struct skiff_var *x = pick(b);
    int64_t size = 1 + random_below(r, 5);
    struct skiff_var *w = skiff_create_parameter(b->net, SKIFF_DIMS(skiff_var_dim(x, 1), size));
    struct skiff_var *bias = skiff_create_parameter(b->net, SKIFF_DIMS(size), .is_bias = true);
    struct skiff_var *t =
        random_chance(r, 0.5)
            ? skiff_mul(b->net, x, w)
            : skiff_matmul(b->net, x, w, .alpha = random_chance(r, 0.3) ? 0.5 : 0);
    if (random_chance(r, 0.5))
        bias = skiff_layer_tanh(b->net, bias);
    if (random_chance(r, 0.2))
        put(b, skiff_layer_tanh(b->net, t));
    t = skiff_elementwise(b->net, add, t, bias, .axis = random_chance(r, 0.5) ? 1 : 0);
    if (random_chance(r, 0.2))
        put(b, t);
    return random_chance(r, 0.6) ? skiff_layer_relu(b->net, t) : t;
}

/* Something that a sub-block reads, without gradient. */
static void read_in_block(struct building *b)
{
    struct skiff_net *net = b->net;
    struct skiff_var *x = pick(b);
    struct skiff_var *sum =
        skiff_create_global_var(net, SKIFF_DIMS(1), 0.0, .dtype = "float32", .persistable = true);
    struct skiff_var *zero = skiff_fill_constant(net, SKIFF_DIMS(1), "float32", 0.25);
    struct skiff_var *m = skiff_mean(net, x);
    if (random_chance(b->r, 0.5)) {
        struct skiff_switch *s = skiff_switch_begin(net);
        skiff_switch_case(s, skiff_layer_less_than(net, m, zero, NULL));
        skiff_layer_assign(net, skiff_mean(net, x), sum);
        skiff_switch_end(s);
        skiff_switch_default(s);
        skiff_layer_assign(net, skiff_reduce(net, sum, skiff_layer_square(net, x)), sum);
        skiff_switch_end(s);
        return;
    }
    struct skiff_var *i = skiff_fill_constant(net, SKIFF_DIMS(1), "int64", 0, .force_cpu = true);
    struct skiff_var *n = skiff_fill_constant(net, SKIFF_DIMS(1), "int64", 3, .force_cpu = true);
    struct skiff_var *condition = skiff_layer_less_than(net, i, n, NULL);
    struct skiff_while *w = skiff_while_begin(net, condition, false);
    skiff_layer_assign(
        net, skiff_elementwise(net, add, sum, skiff_reduce(net, mean, x, .keep_dim = false)), sum);
    skiff_layer_increment(net, i, 1, false);
    skiff_layer_less_than(net, i, n, condition);
    skiff_while_end(w);
}

static void make_layers(struct building *b)
{
    struct random_net *r = b->r;
    int n = 2 + random_below(r, 7);
    for (int i = 0; i < n; i++) {
        switch (random_below(r, 16)) {
        case 0:
            put(b, combine(b));
            put(b, combine(b));
            break;
        case 1:
            put(b, concat_some(b, 3));
            break;
        case 2:
            put(b, fc_of_two(b));
            break;
        case 3:
            put(b, skiff_scale_by(b->net, pick(b), .scale = 0.7, .bias = 0.1));
            break;
        case 4:
            put(b, skiff_dropout(b->net, pick(b), 0.3, .has_seed = true, .seed = 3));
            break;
        case 5:
            put(b, by_hand(b));
            break;
        case 6:
            read_in_block(b);
            break;
        case 7:
            put(b, slot(b));
            break;
        case 8: {
            struct skiff_var *x = pick(b);
            put(b, skiff_reshape(b->net, x, SKIFF_DIMS(-1, skiff_var_dim(x, 1)),
                                 .inplace = random_chance(r, 0.3)));
            break;
        }
        default:
            put(b, fc(b, pick(b), 1 + random_below(r, 7), some_act(r)));
        }
    }
}

/* ---- losses ---- */

static struct skiff_var *class_loss(struct building *b)
{
    struct random_net *r = b->r;
    int64_t classes = 2 + random_below(r, 3);
    struct random_input *in = add_input(b, INPUT_CLASS, classes);
    struct skiff_xent_options o = {0};
    if (random_chance(r, 0.3))
        o.ignore_index = (int)(in->ignore = 1);
    struct skiff_var *x = pick(b), *label;
    if (random_chance(r, 0.3)) { /* logits that exist before the label does */
        x = fc(b, x, classes, NULL);
        struct skiff_var *s = skiff_softmax(b->net, x);
        label = skiff_data(b->net, in->name, SKIFF_DIMS(1), .dtype = "int64");
        struct skiff_var *copy = skiff_cast(b->net, skiff_cast(b->net, label, "float32"), "int64");
        return skiff_layer_cross_entropy(b->net, s, copy, &o);
    }
    label = skiff_data(b->net, in->name, SKIFF_DIMS(1), .dtype = "int64");
    if (random_chance(r, 0.3))
        return skiff_layer_softmax_with_cross_entropy(b->net, fc(b, x, classes, NULL), label, &o);
    struct skiff_var *s = fc(b, x, classes, "softmax");
    struct skiff_var *loss = skiff_layer_cross_entropy(b->net, s, label, &o);
    if (in->ignore < 0 && random_chance(r, 0.3))
        skiff_accuracy(b->net, s, label);
    if (in->ignore < 0 && classes == 2 && random_chance(r, 0.3))
        skiff_layer_auc_with(b->net, s, label, .num_thresholds = 63, .slide_steps = 2);
    if (random_chance(r, 0.1)) {
        o.ignore_index = -100;
        put(b, skiff_layer_cross_entropy(b->net, s, label, &o));
    }
    if (random_chance(r, 0.15))
        put(b, s);
    return loss;
}

static struct skiff_var *target_loss(struct building *b)
{
    struct random_net *r = b->r;
    struct random_input *in = add_input(b, INPUT_TARGET, 1);
    struct skiff_var *label = skiff_data(b->net, in->name, SKIFF_DIMS(1));
    struct skiff_var *x = fc(b, pick(b), 1, NULL);
    switch (random_below(r, 3)) {
    case 0:
        return skiff_sigmoid_cross_entropy_with_logits(b->net, x, label);
    case 1:
        return skiff_log_loss(b->net, skiff_layer_sigmoid(b->net, x), label);
    default:
        return skiff_square_error_cost(b->net, x, label);
    }
}

static struct skiff_var *make_loss(struct building *b)
{
    struct random_net *r = b->r;
    int n = 1 + random_below(r, 2);
    struct skiff_var *total = NULL;
    for (int i = 0; i < n; i++) {
        struct skiff_var *x = random_chance(r, 0.6) ? class_loss(b) : target_loss(b);
        x = random_chance(r, 0.7) ? skiff_mean(b->net, x) : skiff_reduce(b->net, sum, x);
        total = total ? skiff_elementwise(b->net, add, total, x) : x;
    }
    if (random_chance(r, 0.2)) { /* something else that has a gradient */
        struct skiff_var *extra = skiff_scale_by(b->net, skiff_mean(b->net, pick(b)), .scale = 0.1);
        total = skiff_elementwise(b->net, add, total, extra);
    }
    return total;
}

/* ---- the optimizer ---- */

struct choice {
    const char *type;
    bool rows; /* takes sparse gradients */
    struct skiff_optimizer_options o;
};

/* Large epsilons: what is zero but for rounding must stay small after the division. */
static const struct choice choices[] = {
    {"sgd", true, {.learning_rate = 0.05}},
    {"sgd", true, {.learning_rate = 0.1}},
    {"momentum", true, {.learning_rate = 0.02, .momentum = 0.9}},
    {"momentum", true, {.learning_rate = 0.02, .momentum = 0.8, .use_nesterov = true}},
    {"adagrad", true, {.learning_rate = 0.05, .epsilon = 0.05}},
    {"adam", true, {.learning_rate = 0.01, .epsilon = 0.05}},
    {"adam", true, {.learning_rate = 0.02, .epsilon = 0.02, .beta1 = 0.8}},
    {"adam", true, {.learning_rate = 0.01, .epsilon = 0.05, .lazy_mode = true}},
    {"adamax", false, {.learning_rate = 0.01, .epsilon = 0.05}},
    {"rmsprop", true, {.learning_rate = 0.01, .epsilon = 0.05, .momentum = 0.5}},
    {"rmsprop", true, {.learning_rate = 0.01, .epsilon = 0.05, .centered = true}},
    {"decayed_adagrad", false, {.learning_rate = 0.02, .epsilon = 0.05}},
    {"adadelta", false, {.learning_rate = 1.0, .epsilon = 0.01}},
    {"ftrl", false, {.learning_rate = 0.05, .l1 = 0.01}},
    {"lamb", true, {.learning_rate = 0.01, .epsilon = 0.05}},
    {"lars_momentum", false, {.learning_rate = 0.02, .momentum = 0.9}},
};

static struct skiff_var *some_schedule(struct building *b, double rate)
{
    static const double bounds[] = {2, 4}, values[] = {0.03, 0.01, 0.02};
    switch (random_below(b->r, 7)) {
    case 0:
        return skiff_lr_exponential(b->net, rate, 2, 0.7, random_chance(b->r, 0.5));
    case 1:
        return skiff_lr_piecewise(b->net, 2, bounds, values);
    case 2:
        return skiff_lr_polynomial(b->net, rate, 5, rate / 10, 1.5, random_chance(b->r, 0.5));
    case 3:
        return skiff_lr_noam(b->net, 64, 10, 0.5);
    case 4:
        return skiff_lr_cosine(b->net, rate, 2, 5);
    case 5:
        return skiff_lr_linear_warmup(b->net, NULL, rate, 3, rate / 10, rate);
    default:
        return skiff_lr_inverse_time(b->net, rate, 2, 0.5, false);
    }
}

static struct skiff_clip some_clip(struct random_net *r)
{
    struct skiff_clip none = {0};
    switch (random_below(r, 6)) {
    case 0:
        return skiff_clip_by_value(-0.02, 0.03);
    case 1:
        return skiff_clip_norm(0.1);
    case 2:
        return skiff_clip_global_norm(0.3);
    default:
        return none;
    }
}

static enum skiff_status train(struct building *b, const struct choice *c, struct skiff_var *loss,
                               struct skiff_error *err)
{
    struct skiff_optimizer_options o = c->o;
    o.regularization = some_decay(b->r);
    o.grad_clip = some_clip(b->r);
    bool schedule = random_chance(b->r, 0.25);
    if (schedule)
        o.learning_rate_var = some_schedule(b, o.learning_rate);
    snprintf(b->r->about, sizeof(b->r->about), "%s, clip %d, decay %d%s", c->type, o.grad_clip.kind,
             o.regularization.kind, schedule ? ", schedule" : "");
    return skiff_net_minimize(b->net, loss, c->type, &o, err);
}

enum skiff_status random_net_open(struct random_net *r, uint64_t seed, struct skiff_error *err)
{
    *r = (struct random_net){.state = seed * 0xD1342543DE82EF95ull + 1};
    r->net = skiff_net_create();
    struct building b = {.r = r, .net = r->net};
    const struct choice *c = &choices[random_below(r, COUNT(choices))];
    b.may_be_sparse = c->rows;
    skiff_program_set_seed(skiff_net_startup(r->net), 17);
    make_tables(&b);
    make_inputs(&b);
    make_layers(&b);
    struct skiff_var *loss = make_loss(&b);
    enum skiff_status status = skiff_net_check(r->net, err);
    if (status < 0)
        return status;
    r->loss = skiff_var_name(loss);
    status = skiff_program_clone_for_test(skiff_net_main(r->net), &r->test, err);
    return status < 0 ? status : train(&b, c, loss, err);
}

void random_net_close(struct random_net *r)
{
    for (int i = 0; i < r->ninputs; i++)
        tensor_deinit(&r->inputs[i].tensor);
    skiff_program_destroy(r->test);
    skiff_net_destroy(r->net);
}

/* ---- writes in odd places ---- */

/* A variable that the op at position `at` writes and that can be scaled where it lies, or NULL. */
static const struct skiff_var *written_by(struct random_net *r, const struct skiff_block *b, int at)
{
    const struct skiff_op *op = b->ops[at];
    if (!op->nouts || (op->kind && (op->kind->flags & OP_RUNS_BLOCK)))
        return NULL;
    const struct op_arg *arg = &op->outs[random_below(r, op->nouts)];
    const struct skiff_var *v =
        arg->n ? block_find_var(b, arg->names[random_below(r, arg->n)]) : NULL;
    bool number = v && (v->kind == VAR_LOD_TENSOR || v->kind == VAR_SELECTED_ROWS) &&
                  v->dtype == DTYPE_FP32 && strcmp(arg->slot, "XShape") &&
                  strcmp(arg->slot, "MaxIndex");
    return number ? v : NULL;
}

void random_net_disturb(struct random_net *r)
{
    struct skiff_program *p = skiff_net_main(r->net);
    struct skiff_block *b = program_root(p);
    for (int k = 1 + random_below(r, 4); k > 0; k--) {
        int from = random_below(r, b->nops), capacity = b->nops - from;
        const struct skiff_var *v = written_by(r, b, from);
        bool ids = random_chance(r, 0.2);
        for (int i = 0; i < r->ninputs && ids; i++)
            if (r->inputs[i].kind == INPUT_IDS || r->inputs[i].kind == INPUT_RAGGED)
                v = block_find_var(b, r->inputs[i].name);
        if (!v)
            continue;
        /* clipped sparse gradients may hold a row twice: only ops that work on sums may follow */
        float bias = op_role_of(b->ops[from]) & ROLE_OPTIMIZE ? 0.0f : 0.01f;
        int at = from + 1 + random_below(r, capacity < 12 ? capacity : 12);
        struct skiff_op *op = block_insert_op(b, at, "scale");
        op_set_in(p, op, "X", 1, &v->name);
        op_set_out(p, op, "Out", 1, &v->name);
        op_set_float(p, op, "scale", v->dtype == DTYPE_FP32 ? 0.9f : 0.0f);
        op_set_float(p, op, "bias", v->dtype == DTYPE_FP32 ? bias : 1.0f);
        op_set_int(p, op, "op_role", ROLE_FORWARD);
    }
}

/* ---- unusual programs ---- */

static struct op_arg *some_arg(struct random_net *r, struct skiff_op *op, bool output)
{
    int n = output ? op->nouts : op->nins;
    return n ? (output ? op->outs : op->ins) + random_below(r, n) : NULL;
}

static const char *some_name(struct random_net *r, const struct skiff_block *b)
{
    return b->vars.entries[random_below(r, (int)b->vars.count)].key;
}

static void break_once(struct random_net *r, struct skiff_program *p, struct skiff_block *b)
{
    int at = random_below(r, b->nops);
    struct skiff_op *op = b->ops[at];
    bool output = random_chance(r, 0.3);
    struct op_arg *arg = some_arg(r, op, output);
    switch (random_below(r, 6)) {
    case 0:
        block_remove_ops(b, at, 1);
        return;
    case 1: /* changes places with one behind it */
        if (at + 1 < b->nops) {
            int other = at + 1 + random_below(r, b->nops - at - 1 < 4 ? b->nops - at - 1 : 4);
            b->ops[at] = b->ops[other];
            b->ops[other] = op;
        }
        return;
    case 2: /* once more, at the same place */
        block_put_op(b, at, op);
        return;
    case 3:
        if (arg)
            arg->n = 0;
        return;
    default: /* another variable */
        if (arg && arg->n)
            (output ? op_rename_out : op_rename_in)(p, op, arg->names[random_below(r, arg->n)],
                                                    some_name(r, b));
    }
}

void random_net_break(struct random_net *r)
{
    struct skiff_program *p = skiff_net_main(r->net);
    for (int k = 1 + random_below(r, 3); k > 0; k--)
        break_once(r, p, program_root(p));
}

/* ---- batches ---- */

static void set_size(struct random_input *in, enum dtype dtype, int64_t rows, int64_t cols)
{
    struct shape s = SHAPE(rows, cols);
    if (in->flat)
        s.ndim = 1;
    if (tensor_resize(&in->tensor, dtype, &s, NULL) < 0)
        abort();
}

static void fill_ids(struct random_net *r, struct random_input *in, int64_t n)
{
    set_size(in, DTYPE_INT64, n, 1);
    for (int64_t i = 0; i < n; i++)
        tensor_i64(&in->tensor)[i] = in->padding >= 0 && random_chance(r, 0.2)
                                         ? in->padding % in->range
                                         : random_below(r, (int)in->range);
}

static void fill_sequences(struct random_net *r, struct random_input *in, int64_t rows)
{
    int64_t count = rows + 1;
    if (lod_build(&in->tensor.lod, 1, &count, NULL) < 0)
        abort();
    int64_t *off = in->tensor.lod->level[0].off;
    off[0] = 0;
    for (int64_t i = 0; i < rows; i++)
        off[i + 1] = off[i] + (in->kind == INPUT_ONES ? 1 : random_below(r, 5));
    fill_ids(r, in, off[rows]);
}

static void fill_numbers(struct random_net *r, struct random_input *in, int64_t rows)
{
    set_size(in, DTYPE_FP32, rows, in->cols);
    for (int64_t i = 0; i < rows * in->cols; i++)
        tensor_f32(&in->tensor)[i] =
            in->kind == INPUT_TARGET ? (float)random_below(r, 2) : (float)(2 * random_unit(r) - 1);
}

static void fill_classes(struct random_net *r, struct random_input *in, int64_t rows)
{
    set_size(in, DTYPE_INT64, rows, 1);
    for (int64_t i = 0; i < rows; i++)
        tensor_i64(&in->tensor)[i] = random_below(r, (int)in->cols);
}

int random_net_batch(struct random_net *r, int64_t rows, struct feed feeds[RANDOM_MAX_INPUTS])
{
    for (int i = 0; i < r->ninputs; i++) {
        struct random_input *in = &r->inputs[i];
        if (in->kind == INPUT_RAGGED || in->kind == INPUT_ONES)
            fill_sequences(r, in, rows);
        else if (in->kind == INPUT_IDS)
            fill_ids(r, in, rows);
        else if (in->kind == INPUT_CLASS)
            fill_classes(r, in, rows);
        else
            fill_numbers(r, in, rows);
        feeds[i] = (struct feed){in->name, &in->tensor, NULL};
    }
    return r->ninputs;
}
