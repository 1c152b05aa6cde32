/* The reference CTR-DNN, from the network's description to a prediction, with the public API only.
 *
 * Data is made up: every id of every slot has a weight, the click probability follows from their
 * sum, so the best AUC that any model can reach is known. The program trains on fresh batches, then
 * tests on batches that it has not seen, with the parameters as they are and again through a saved
 * and loaded inference model.
 *
 * usage: ctr_dnn [ROWS [BATCH]]        default: 400000 rows in batches of 1000 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <skiff/skiff.h>

#define SLOTS 26
#define DENSE 13
#define TABLE_ROWS 1000001
#define TABLE_WIDTH 10

static void fail(const struct skiff_error *err)
{
    fprintf(stderr, "ctr_dnn: %s\n", err->message);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the network ---- */

struct vars {
    struct skiff_var *loss, *predict, *auc;
};

static struct skiff_var *layer(struct skiff_net *net, struct skiff_var *x, int inputs, int size,
                               const char *act)
{
    return skiff_fc(net, x, size, .act = act,
                    .param_attr =
                        SKIFF_PARAM(.initializer = skiff_init_normal(0, 1 / sqrt(inputs), 0)));
}

/* The slots share one table; their rows and the dense columns go side by side through three
 * layers to a softmax of two. A layer that fails gives NULL, and so do those after it: the error
 * is reported once, by minimize. */
static struct vars build(struct skiff_net *net)
{
    struct skiff_var *ids[SLOTS], *parts[SLOTS + 1];
    struct skiff_var *dense = skiff_data(net, "dense_input", SKIFF_DIMS(DENSE));
    for (int i = 0; i < SLOTS; i++) {
        char name[8];
        snprintf(name, sizeof(name), "C%d", i + 1);
        ids[i] = skiff_data(net, name, SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
    }
    struct skiff_var *label = skiff_data(net, "label", SKIFF_DIMS(1), .dtype = "int64");
    for (int i = 0; i < SLOTS; i++)
        parts[i] = skiff_embedding(
            net, ids[i], TABLE_ROWS, TABLE_WIDTH, .is_sparse = true,
            .param_attr = SKIFF_PARAM(.name = "SparseFeatFactors",
                                      .initializer = skiff_init_uniform(-1.0, 1.0, 0)));
    parts[SLOTS] = dense;
    struct skiff_var *x = skiff_concat(net, ((struct skiff_vars){SLOTS + 1, parts}), 1);
    x = layer(net, x, SLOTS * TABLE_WIDTH + DENSE, 400, "relu");
    x = layer(net, x, 400, 400, "relu");
    x = layer(net, x, 400, 400, "relu");
    struct vars v = {.predict = layer(net, x, 400, 2, "softmax")};
    v.loss = skiff_reduce(net, sum, skiff_cross_entropy(net, v.predict, label));
    v.auc = skiff_layer_auc_with(net, v.predict, label, .num_thresholds = 4096).auc;
    return v;
}

/* ---- data ---- */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9ull;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

struct source {
    uint64_t state;
};

static double uniform(struct source *s)
{
    s->state += 0x9E3779B97F4A7C15ull;
    return (double)(mix(s->state) >> 11) * 0x1p-53;
}

/* Between -1 and 1, the same for the same id of the same slot. */
static double weight_of(int slot, int64_t rank)
{
    return (double)(mix((uint64_t)rank * 64 + (uint64_t)slot + 1) >> 11) * 0x1p-52 - 1.0;
}

struct batch {
    struct skiff_tensor *tensors[SLOTS + 2];
    struct skiff_feed feeds[SLOTS + 2];
    double *truth; /* the click probabilities */
    int64_t rows;
};

static void batch_init(struct batch *b, int64_t rows)
{
    static char names[SLOTS][8];
    struct skiff_error err;
    int64_t one[] = {rows, 1}, wide[] = {rows, DENSE},
            *lengths = malloc((size_t)rows * sizeof(*lengths));
    for (int64_t i = 0; i < rows; i++)
        lengths[i] = 1;
    for (int s = 0; s < SLOTS; s++) {
        snprintf(names[s], sizeof(names[s]), "C%d", s + 1);
        b->tensors[s] = skiff_tensor_create("int64", 2, one, &err);
        if (!b->tensors[s] || skiff_tensor_set_lengths(b->tensors[s], lengths, rows, &err) < 0)
            fail(&err);
        b->feeds[s] = (struct skiff_feed){names[s], b->tensors[s]};
    }
    b->tensors[SLOTS] = skiff_tensor_create("float32", 2, wide, &err);
    b->tensors[SLOTS + 1] = skiff_tensor_create("int64", 2, one, &err);
    if (!b->tensors[SLOTS] || !b->tensors[SLOTS + 1])
        fail(&err);
    b->feeds[SLOTS] = (struct skiff_feed){"dense_input", b->tensors[SLOTS]};
    b->feeds[SLOTS + 1] = (struct skiff_feed){"label", b->tensors[SLOTS + 1]};
    b->truth = malloc((size_t)rows * sizeof(double));
    b->rows = rows;
    free(lengths);
}

static void batch_deinit(struct batch *b)
{
    for (int i = 0; i < SLOTS + 2; i++)
        skiff_tensor_destroy(b->tensors[i]);
    free(b->truth);
}

/* Few ids are frequent, most are rare: rank = cardinality ^ u. */
static void batch_fill(struct batch *b, struct source *s)
{
    static const double cardinality[] = {20, 50, 100, 200, 500, 1000, 2000, 5000};
    float *dense = skiff_tensor_data(b->tensors[SLOTS]);
    int64_t *label = skiff_tensor_data(b->tensors[SLOTS + 1]);
    for (int64_t r = 0; r < b->rows; r++) {
        double logit = -1.6;
        for (int k = 0; k < SLOTS; k++) {
            int64_t rank = (int64_t)pow(cardinality[k % 8], uniform(s));
            ((int64_t *)skiff_tensor_data(b->tensors[k]))[r] =
                (int64_t)(mix((uint64_t)rank * 64 + (uint64_t)k) % 1000001);
            logit += 0.6 * weight_of(k, rank);
        }
        for (int k = 0; k < DENSE; k++) {
            dense[r * DENSE + k] = (float)uniform(s);
            logit += 0.4 * weight_of(k, -1 - k) * (dense[r * DENSE + k] - 0.5);
        }
        b->truth[r] = 1 / (1 + exp(-logit));
        label[r] = uniform(s) < b->truth[r];
    }
}

/* ---- area under the curve, log loss and calibration of predictions ---- */

struct scored {
    double p;
    int64_t label;
};

struct score_list {
    struct scored *v;
    size_t n;
};

static void scores_add(struct score_list *l, const double *p, const float *softmax,
                       const int64_t *label, int64_t rows)
{
    l->v = realloc(l->v, (l->n + (size_t)rows) * sizeof(*l->v));
    for (int64_t i = 0; i < rows; i++)
        l->v[l->n++] = (struct scored){p ? p[i] : (double)softmax[2 * i + 1], label[i]};
}

static int by_p(const void *a, const void *b)
{
    double x = ((const struct scored *)a)->p, y = ((const struct scored *)b)->p;
    return (x > y) - (x < y);
}

static double auc_of(struct score_list *l)
{
    double pos = 0, neg = 0, area = 0;
    qsort(l->v, l->n, sizeof(*l->v), by_p);
    for (size_t i = 0; i < l->n;) {
        double p = 0, n = 0;
        size_t j = i;
        for (; j < l->n && l->v[j].p == l->v[i].p; j++)
            *(l->v[j].label ? &p : &n) += 1;
        area += p * (neg + n / 2);
        pos += p;
        neg += n;
        i = j;
    }
    return pos && neg ? area / pos / neg : 0;
}

static double log_loss_of(const struct score_list *l, double *copc)
{
    double loss = 0, clicks = 0, predicted = 0;
    for (size_t i = 0; i < l->n; i++) {
        double p = fmin(fmax(l->v[i].p, 1e-7), 1 - 1e-7);
        loss -= l->v[i].label ? log(p) : log(1 - p);
        clicks += (double)l->v[i].label;
        predicted += p;
    }
    *copc = clicks / predicted;
    return loss / (double)l->n;
}

/* ---- training and testing ---- */

struct job {
    struct skiff_net *net;
    struct vars vars;
    struct skiff_scope *scope;
    struct skiff_executor *exe;
    struct batch batch;
    struct source train, test;
};

static void train(struct job *j, int64_t rows)
{
    struct skiff_error err = {0};
    struct skiff_tensor *out[2] = {0};
    const char *fetch[] = {skiff_var_name(j->vars.loss), skiff_var_name(j->vars.auc)};
    int64_t batches = rows / j->batch.rows, every = batches / 10 > 0 ? batches / 10 : 1;
    double start = now(), compute = 0;
    for (int64_t i = 1; i <= batches; i++) {
        batch_fill(&j->batch, &j->train);
        double t = now();
        int n = i % every == 0 || i == batches ? 2 : 0;
        if (skiff_executor_run(j->exe, skiff_net_main(j->net), j->batch.feeds, SLOTS + 2, fetch, n,
                               out, &err) < 0)
            fail(&err);
        compute += now() - t;
        if (n)
            printf("train %3lld %%  loss %.4f  auc %.4f  %.0f samples/s\n",
                   (long long)(100 * i / batches),
                   *(float *)skiff_tensor_data(out[0]) / (float)j->batch.rows,
                   *(double *)skiff_tensor_data(out[1]), (double)(i * j->batch.rows) / compute);
        fflush(stdout);
    }
    printf("trained on %lld rows in %.1f s, of which %.1f s computing\n",
           (long long)(batches * j->batch.rows), now() - start, compute);
    skiff_tensor_destroy(out[0]);
    skiff_tensor_destroy(out[1]);
}

struct result {
    double auc, log_loss, copc, best;
};

/* Predictions of `program` over `batches` batches of test data. */
static struct result test(struct job *j, const struct skiff_program *program,
                          struct skiff_executor *exe, int nfeeds, const char *predict, int batches)
{
    struct skiff_error err = {0};
    struct score_list scores = {0}, truth = {0};
    struct skiff_tensor *out = NULL;
    struct source s = j->test;
    for (int i = 0; i < batches; i++) {
        batch_fill(&j->batch, &s);
        if (skiff_executor_run(exe, program, j->batch.feeds, nfeeds, &predict, 1, &out, &err) < 0)
            fail(&err);
        const int64_t *label = skiff_tensor_data(j->batch.tensors[SLOTS + 1]);
        scores_add(&scores, NULL, skiff_tensor_data(out), label, j->batch.rows);
        scores_add(&truth, j->batch.truth, NULL, label, j->batch.rows);
    }
    struct result r = {.auc = auc_of(&scores), .best = auc_of(&truth)};
    r.log_loss = log_loss_of(&scores, &r.copc);
    skiff_tensor_destroy(out);
    free(scores.v);
    free(truth.v);
    return r;
}

static struct result test_in_place(struct job *j, int batches)
{
    struct skiff_error err = {0};
    struct skiff_program *p = NULL;
    if (skiff_program_clone_for_test(skiff_net_main(j->net), &p, &err) < 0)
        fail(&err);
    struct result r = test(j, p, j->exe, SLOTS + 2, skiff_var_name(j->vars.predict), batches);
    skiff_executor_forget(j->exe, p);
    skiff_program_destroy(p);
    return r;
}

/* save_inference_model, then everything from the files alone. */
static struct result test_saved(struct job *j, const char *dir, int batches)
{
    struct skiff_error err = {0};
    const char *feeds[SLOTS + 1], *targets[] = {skiff_var_name(j->vars.predict)};
    for (int i = 0; i < SLOTS + 1; i++)
        feeds[i] = j->batch.feeds[i].name;
    if (skiff_save_inference_model(j->scope, skiff_net_main(j->net), feeds, SLOTS + 1, targets, 1,
                                   dir, &err) < 0)
        fail(&err);
    struct skiff_scope *scope = skiff_scope_create();
    struct skiff_executor *exe = skiff_executor_create(scope, NULL);
    struct skiff_model *model = NULL;
    if (skiff_load_inference_model(scope, dir, NULL, &model, &err) < 0)
        fail(&err);
    struct result r =
        test(j, skiff_model_program(model), exe, SLOTS + 1, skiff_model_target(model, 0), batches);
    skiff_executor_destroy(exe);
    skiff_scope_destroy(scope);
    skiff_model_destroy(model);
    return r;
}

int main(int argc, char **argv)
{
    struct skiff_error err = {0};
    int64_t rows = argc > 1 ? atoll(argv[1]) : 400000, size = argc > 2 ? atoll(argv[2]) : 1000;
    if (rows < size || size < 1) {
        fprintf(stderr, "usage: ctr_dnn [ROWS [BATCH]]   (ROWS at least BATCH)\n");
        return 2;
    }
    struct job j = {.net = skiff_net_create(),
                    .scope = skiff_scope_create(),
                    .train = {1},
                    .test = {1ull << 40}};
    j.exe = skiff_executor_create(j.scope, NULL);
    batch_init(&j.batch, size);
    skiff_program_set_seed(skiff_net_startup(j.net), 1); /* before the layers, which note it */
    j.vars = build(j.net);
    if (skiff_minimize(j.net, j.vars.loss, &err, "adam", .learning_rate = 1e-3) < 0)
        fail(&err);
    if (skiff_executor_run(j.exe, skiff_net_startup(j.net), NULL, 0, NULL, 0, NULL, &err) < 0)
        fail(&err);
    train(&j, rows);

    const char *temp = getenv("TMPDIR");
    char dir[512];
    snprintf(dir, sizeof(dir), "%s/skiff-ctr-dnn-XXXXXX", temp ? temp : "/tmp");
    if (!mkdtemp(dir))
        return perror("ctr_dnn: mkdtemp"), 1;
    int batches = (int)(100000 / size > 0 ? 100000 / size : 1);
    struct result here = test_in_place(&j, batches), saved = test_saved(&j, dir, batches);
    printf("\n%-28s %8s %10s %8s\n", "on held-out rows", "AUC", "log loss", "COPC");
    printf("%-28s %8.4f %10.4f %8.3f\n", "after training", here.auc, here.log_loss, here.copc);
    printf("%-28s %8.4f %10.4f %8.3f\n", "saved and loaded", saved.auc, saved.log_loss, saved.copc);
    printf("%-28s %8.4f\n\nthe inference model is in %s\n", "best possible", here.best, dir);
    batch_deinit(&j.batch);
    skiff_executor_destroy(j.exe);
    skiff_scope_destroy(j.scope);
    skiff_net_destroy(j.net);
    return 0;
}
