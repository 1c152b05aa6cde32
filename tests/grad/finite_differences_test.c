/* Finite differences for every differentiable op.
 *
 * A recorded op case feeds out@GRAD and holds the op and its gradient op. With
 *     L(x) = sum over all fed w@GRAD of <w, w@GRAD>
 * the value that the gradient op computes for x@GRAD must be dL/dx, which is measured here by
 * moving elements of x up and down. float32 makes L exact to about 1e-6 of its terms, so steps are
 * large (H) and checked with a second one half as large: where both do not agree the function has a
 * kink or a jump nearby and the element is passed over.
 *
 * Gradients that were not recorded are made from the forward case. Fails for: a gradient that is
 * not the derivative (except those listed below, with the reason); a kind with a gradient for which
 * no case was checked; a registered op type that occurs in no recorded program. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "grad_case.h"
#include "program/grad.h"
#include "program/infer.h"

#define H 8e-3
#define TOLERANCE 1e-2
#define MOST_ELEMENTS 40

/* Cases with elements whose gradient is not the derivative, by part of the path. Their other
 * elements still have to agree. */
#define PADDING "a sparse gradient keeps the rows of padding_idx, as in Paddle"
#define NO_STEP "values so large that no step is both small and visible"
static const struct {
    const char *part, *reason;
} exceptions[] = {
    {"/cvm/", "by design: show and click come back instead of a gradient"},
    {"/data_norm/", "by design: the statistics' gradients are what the optimizer must add"},
    {"ops/scatter/", "1.x: X@GRAD keeps the rows that were overwritten, as in Paddle"},
    {"ops/gather/", "1.x: a repeated index keeps the last row (attribute overwrite)"},
    {"/cholesky/", "the gradient is spread over both triangles, the op reads one, as in Paddle"},
    {"cross_entropy/hard_zero_probability", "-log(0) is cut off at 1e20"},
    {"cross_entropy2/zero_probability", "-log(0) is cut off at 1e20"},
    {"l2_normalize/zero_row", "the norm of a zero row bends within any step"},
    {"lookup_table/layer_negative_padding", PADDING},
    {"lookup_table/sparse_padding", PADDING},
    {"lookup_table_v2/sparse_padding", PADDING},
    {"lookup_table_v2/sparse_2d_padding", PADDING},
    {"lookup_table_v2/negative_padding", PADDING},
    {"ops26/lookup_table_v2/layer", PADDING},
    {"sample_logits/hits_removed", NO_STEP},
    {"soft_relu/threshold", "the gradient is cut where Out, not X, passes the threshold"},
    {"softmax/masked", NO_STEP},
    {"softmax_with_cross_entropy/far_apart", NO_STEP},
    {"sigmoid_cross_entropy_with_logits/pos_weight",
     "2.6: loss and gradient weigh different parts, as in Paddle"},
    {"/teacher_student_sigmoid_loss/",
     "outside of its bounds the gradient is cut to 0, as in Paddle"},
};

/* Kinds whose gradient op is not a gradient at all. */
static const struct {
    const char *type, *reason;
} no_derivative[] = {
    {"increment", "its gradient op takes the step back so that a loop can run backwards"},
    {"py_func", "its gradient is a function of the caller's (tests/python/test_fluid_control.py)"},
};

/* Ops that no recorded program holds, and what tests them instead. */
static const struct {
    const char *type, *tested_by;
} unrecorded[] = {
    {"label_smooth_grad", "made from the forward case by test_unrecorded_gradients"},
    {"spectral_norm_grad", "made from the forward case by test_unrecorded_gradients"},
    {"filter_by_instag_grad", "made from the forward case by test_unrecorded_gradients"},
    {"py_func", "tests/python/test_fluid_control.py"},
    {"cudnn_lstm", "refuses to run: tests/python/test_fluid_control.py"},
    {"merge_lod_tensor_infer", "merge_lod_tensor's own kernel; Fluid makes it for inference"},
    {"dpsgd", "tests/python/average_cases.py"},
    {"average_accumulates", "tests/python/average_cases.py"},
    {"bernoulli", "tests/python/test_eager_nn.py"},
    {"exponential", "tests/python/test_eager_nn.py"},
    {"poisson", "tests/python/test_eager_nn.py"},
    {"save", "src/ops/io/file_ops_test.c"},
    {"save_combine", "src/ops/io/file_ops_test.c"},
    {"load", "src/ops/io/file_ops_test.c"},
    {"load_combine", "src/ops/io/file_ops_test.c"},
    {"distributed_push_sparse", "src/ops/distributed/push_sparse_test.c"},
    {"adam_d2sum", "src/rules/rule_test.c; made by fleet for servers"},
    {"checkpoint_notify", "runs only in a distributed job; Paddle makes it while saving"},
    {"recv_save", "runs only in a distributed job; Paddle makes it while saving"},
};

/* What ranks do together needs ranks: tests/conformance/collective_ops_test.c. */
static bool needs_ranks(const struct op_kind *k)
{
    static const char *const types[] = {
        "mp_allreduce_sum", "allreduce", "broadcast",   "alltoall",        "barrier",
        "send_v2",          "recv_v2",   "gen_nccl_id", "sync_batch_norm", "sync_batch_norm_grad"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (!strcmp(k->type, types[i]))
            return true;
    return !strncmp(k->type, "c_", 2);
}

struct checker {
    const struct op_kind *done[2048]; /* kinds with a checked case */
    int ndone;
    struct str_map seen; /* op types in recorded programs; keys leak on purpose until exit */
    int cases, elements, passed_over, failures;
};

static const char *listed_exception(const char *dir)
{
    for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
        if (strstr(dir, exceptions[i].part))
            return exceptions[i].reason;
    return NULL;
}

static bool is_done(const struct checker *t, const struct op_kind *k)
{
    for (int i = 0; i < t->ndone; i++)
        if (t->done[i] == k)
            return true;
    return false;
}

/* ---- one evaluation of a case ---- */

struct run {
    struct grad_case *c;
    struct skiff_scope *scope;
    struct skiff_executor *executor;
    bool random;          /* a fresh generator for every evaluation */
    int nout;             /* fetched: forward outputs w, then the gradients */
    int weight[CASE_MAX]; /* feed that holds w@GRAD */
    const char *fetch[2 * CASE_MAX];
    char names[CASE_MAX][256];
    struct skiff_tensor out[2 * CASE_MAX];
};

static bool program_is_random(const struct skiff_program *p)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++) {
            const struct op_kind *k = p->blocks[b]->ops[i]->kind;
            if (k && k->flags & OP_RANDOM)
                return true;
        }
    return false;
}

/* A gradient that no op reads cannot count: Paddle's lstm_grad has no slot for Cell@GRAD. */
static bool program_reads(const struct skiff_program *p, const char *name)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            if (op_reads(p->blocks[b]->ops[i], name))
                return true;
    return false;
}

static void run_start(struct run *r, struct grad_case *c)
{
    *r = (struct run){.c = c, .scope = scope_create(), .random = program_is_random(c->program)};
    for (int i = 0; i < c->nfeeds; i++) {
        const char *name = c->feed_name[i];
        if (!name_is_grad(name) || c->feed[i].dtype != DTYPE_FP32 ||
            !program_reads(c->program, name))
            continue;
        snprintf(r->names[r->nout], sizeof(r->names[0]), "%.*s",
                 (int)(strlen(name) - strlen(GRAD_SUFFIX)), name);
        r->weight[r->nout] = i;
        r->fetch[r->nout] = r->names[r->nout];
        r->nout++;
    }
    for (int i = 0; i < c->ngrads; i++)
        r->fetch[r->nout + i] = c->grad_name[i];
}

static void run_stop(struct run *r)
{
    if (r->executor)
        executor_destroy(r->executor);
    scope_destroy(r->scope);
    for (int i = 0; i < 2 * CASE_MAX; i++)
        value_deinit(&r->out[i]);
}

static enum skiff_status run_once(struct run *r, double *loss, struct skiff_error *err)
{
    struct grad_case *c = r->c;
    struct feed feeds[CASE_MAX];
    struct executor_options options = {.no_fuse = true, .has_seed = true, .seed = 7};
    if (r->executor && r->random) {
        executor_destroy(r->executor);
        r->executor = NULL;
    }
    for (int i = 0; i < c->ninit; i++)
        TRY(value_copy(scope_var(r->scope, c->init_name[i]), &c->init[i], err));
    if (!r->executor)
        r->executor = executor_create(r->scope, &options);
    for (int i = 0; i < c->nfeeds; i++)
        feeds[i] = (struct feed){c->feed_name[i], &c->feed[i], NULL};
    TRY(executor_run(r->executor, c->program, feeds, c->nfeeds, r->fetch, r->nout + c->ngrads,
                     r->out, err));
    *loss = 0;
    for (int i = 0; i < r->nout; i++) {
        const struct tensor *w = &r->out[i].tensor, *g = &c->feed[r->weight[i]];
        if (w->dtype != DTYPE_FP32 || tensor_numel(w) != tensor_numel(g))
            return error_set(err, SKIFF_SHAPE, "%s does not fit its gradient", r->fetch[i]);
        for (int64_t j = 0; j < tensor_numel(w); j++)
            *loss += (double)tensor_f32(w)[j] * (double)tensor_f32(g)[j];
    }
    return SKIFF_OK;
}

/* ---- comparing ---- */

/* Element i of a gradient as a dense tensor. */
static double grad_element(const struct skiff_tensor *v, int64_t i)
{
    if (v->kind != VALUE_ROWS)
        return (double)tensor_f32(&v->tensor)[i];
    int64_t n = (int64_t)v->sel.nrows, width = n ? tensor_numel(&v->tensor) / n : 1;
    double sum = 0;
    for (int64_t r = 0; r < n; r++)
        if (v->sel.rows[r] == i / width)
            sum += (double)tensor_f32(&v->tensor)[r * width + i % width];
    return sum;
}

/* The tensor of a variable that can be moved; NULL: it is neither fed nor initial, or no float. */
static struct tensor *movable(struct grad_case *c, const char *grad_name)
{
    size_t n = strlen(grad_name) - strlen(GRAD_SUFFIX);
    struct tensor *t = NULL;
    for (int i = 0; i < c->nfeeds; i++)
        if (strlen(c->feed_name[i]) == n && !strncmp(c->feed_name[i], grad_name, n))
            t = &c->feed[i];
    for (int i = 0; i < c->ninit; i++)
        if (strlen(c->init_name[i]) == n && !strncmp(c->init_name[i], grad_name, n) &&
            c->init[i].kind == VALUE_TENSOR)
            t = &c->init[i].tensor;
    return t && t->dtype == DTYPE_FP32 ? t : NULL;
}

struct slopes {
    double middle; /* (L(x + h) - L(x - h)) / 2h */
    double bend;   /* (L(x + h) - L(x)) / h - (L(x) - L(x - h)) / h */
};

static enum skiff_status measure(struct run *r, float *x, double here, double h, struct slopes *out,
                                 struct skiff_error *err)
{
    float keep = *x;
    double up, down;
    volatile float above = keep + (float)h, below = keep - (float)h;
    *x = above;
    enum skiff_status status = run_once(r, &up, err);
    *x = below;
    if (status >= 0)
        status = run_once(r, &down, err);
    *x = keep;
    if (status < 0)
        return status;
    double right = (double)above - (double)keep, left = (double)keep - (double)below;
    out->middle = (up - down) / (right + left);
    out->bend = (up - here) / right - (here - down) / left;
    return status;
}

/* A smooth function's bend halves with the step and its slope stays; else there is
 * a kink or jump. */
static bool is_smooth(const struct slopes *wide, const struct slopes *narrow, double allowed)
{
    if (!isfinite(wide->middle) || !isfinite(narrow->middle))
        return false;
    if (fabs(wide->middle - narrow->middle) > allowed / 2)
        return false;
    return fabs(narrow->bend) < allowed / 4 || fabs(narrow->bend) < 0.75 * fabs(wide->bend);
}

/* Returns how many elements were compared; -1 on failure (printed). */
static int check_gradient(struct checker *t, struct run *r, int g, const double *computed,
                          int64_t n)
{
    struct tensor *x = movable(r->c, r->c->grad_name[g]);
    struct skiff_error err;
    int64_t step = n > MOST_ELEMENTS ? n / MOST_ELEMENTS : 1;
    double scale = 1;
    int compared = 0;
    for (int64_t i = 0; i < n; i++)
        scale = fmax(scale, isfinite(computed[i]) ? fabs(computed[i]) : 0);
    double here;
    if (run_once(r, &here, &err) < 0)
        return -1;
    for (int64_t i = 0; i < n; i += step) {
        struct slopes wide, narrow;
        float *e = tensor_f32(x) + i;
        double h = H * fmax(1, fabs((double)*e));
        if (measure(r, e, here, h, &wide, &err) < 0 ||
            measure(r, e, here, h / 2, &narrow, &err) < 0 ||
            !is_smooth(&wide, &narrow, TOLERANCE * scale)) {
            t->passed_over++; /* also where the op refuses the moved value */
            continue;
        }
        bool differs = fabs(narrow.middle - computed[i]) > TOLERANCE * scale;
        struct slopes tiny; /* a kink may lie between the two steps */
        if (differs && measure(r, e, here, h / 16, &tiny, &err) >= 0)
            differs = fabs(tiny.middle - computed[i]) > TOLERANCE * scale;
        if (differs && listed_exception(r->c->dir))
            continue;
        compared++;
        if (differs) {
            printf("%s: %s element %lld: computed %.6g, measured %.6g\n", r->c->dir,
                   r->c->grad_name[g], (long long)i, computed[i], narrow.middle);
            return -1;
        }
    }
    t->elements += compared;
    return compared;
}

static double *copy_gradient(const struct skiff_tensor *v, int64_t n)
{
    double *out = mem_alloc_or_die((size_t)n * sizeof(double) + 1);
    for (int64_t i = 0; i < n; i++)
        out[i] = grad_element(v, i);
    return out;
}

/* Compares all gradients of a case. Returns the number of elements compared, -1: a failure. */
static int check_case_gradients(struct checker *t, struct run *r)
{
    struct skiff_error err;
    double *computed[CASE_MAX] = {NULL};
    double loss;
    int total = 0;
    if (run_once(r, &loss, &err) < 0) {
        printf("%s: %s\n", r->c->dir, err.message);
        return -1;
    }
    for (int g = 0; g < r->c->ngrads; g++) {
        const struct tensor *x = movable(r->c, r->c->grad_name[g]);
        const struct skiff_tensor *v = &r->out[r->nout + g];
        bool whole = v->kind == VALUE_ROWS || (x && tensor_numel(&v->tensor) == tensor_numel(x));
        if (x && whole && v->tensor.dtype == DTYPE_FP32)
            computed[g] = copy_gradient(v, tensor_numel(x));
    }
    for (int g = 0; g < r->c->ngrads; g++) {
        int n = computed[g] && total >= 0
                    ? check_gradient(t, r, g, computed[g],
                                     tensor_numel(movable(r->c, r->c->grad_name[g])))
                    : 0;
        total = n < 0 || total < 0 ? -1 : total + n;
        free(computed[g]);
    }
    return total;
}

/* Every differentiable forward op of a checked program counts as checked. */
static void mark_done(struct checker *t, const struct skiff_program *p)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++) {
            const struct skiff_op *op = p->blocks[b]->ops[i];
            int role = op_role_of(op);
            if (op->kind && (op->kind->grad || op->kind->make_grad) &&
                !(role & ROLE_BACKWARD && role != ROLE_UNSPECIFIED) && !is_done(t, op->kind) &&
                t->ndone < 2048)
                t->done[t->ndone++] = op->kind;
        }
}

/* Programs with op types that are not registered are for replay to complain about. */
static bool is_known(const struct skiff_program *p)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            if (!p->blocks[b]->ops[i]->kind)
                return false;
    return true;
}

static void check_case(void *user, const char *dir, const char *name)
{
    struct checker *t = user;
    struct grad_case c;
    struct run r;
    char path[PATH_MAX_LEN];
    case_path(path, dir, name);
    if (!case_open(&c, path))
        return;
    if (c.ngrads == 0 || !is_known(c.program)) {
        case_close(&c);
        return;
    }
    run_start(&r, &c);
    if (r.nout > 0) {
        int n = check_case_gradients(t, &r);
        t->cases++;
        t->failures += n < 0;
        if (n > 0)
            mark_done(t, c.program);
    }
    run_stop(&r);
    case_close(&c);
}

static void check_op(void *user, const char *dir, const char *name)
{
    char path[PATH_MAX_LEN];
    case_path(path, dir, name);
    each_entry(path, check_case, user);
}

/* ---- gradients that were not recorded: the gradient op of a forward case is made here ---- */

static float pseudo_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1;
}

/* Feeds out@GRAD for the float outputs of the op, from a run of the forward program. */
static bool feed_out_grads(struct grad_case *c, const struct skiff_op *fwd)
{
    uint32_t state = 1;
    struct run r;
    struct skiff_error err;
    double loss;
    bool ok = true;
    run_start(&r, c);
    for (int s = 0; s < fwd->nouts; s++)
        for (int i = 0; i < fwd->outs[s].n && r.nout < CASE_MAX; i++)
            r.fetch[r.nout++] = fwd->outs[s].names[i];
    int n = r.nout;
    r.nout = 0;
    c->ngrads = n; /* fetched, not compared */
    ok = run_once(&r, &loss, &err) >= 0;
    c->ngrads = 0;
    for (int i = 0; ok && i < n; i++) {
        if (r.out[i].kind != VALUE_TENSOR || r.out[i].tensor.dtype != DTYPE_FP32)
            continue;
        struct tensor *g = &c->feed[c->nfeeds];
        char *name = mem_alloc_or_die(strlen(r.fetch[i]) + sizeof(GRAD_SUFFIX));
        strcat(strcpy(name, r.fetch[i]), GRAD_SUFFIX);
        c->feed_name[c->nfeeds++] = name;
        ok = tensor_copy(g, &r.out[i].tensor, &err) >= 0;
        for (int64_t j = 0; ok && j < tensor_numel(g); j++)
            tensor_f32(g)[j] = pseudo_random(&state);
        block_add_var(program_root(c->program), name);
    }
    run_stop(&r);
    return ok;
}

/* Appends the gradient ops of the last op of this type; false when there is none. */
static bool append_gradient(struct grad_case *c, const char *type)
{
    struct skiff_block *b = program_root(c->program);
    const struct skiff_op *fwd = NULL;
    struct skiff_error err;
    for (int i = 0; i < b->nops; i++)
        if (strcmp(b->ops[i]->type, type) == 0)
            fwd = b->ops[i];
    struct grad_build g = {.program = c->program, .block = b, .fwd = fwd};
    if (c->ngrads > 0) /* it has been checked as it was recorded */
        return false;
    if (!fwd || !feed_out_grads(c, fwd) || grad_build_ops(&g, &err) < 0)
        return false;
    for (int i = 0; i < g.nops; i++) {
        *block_insert_op(b, -1, g.ops[i]->type) = *g.ops[i];
        if (infer_op(b, b->ops[b->nops - 1], &err) < 0)
            return false;
        for (int s = 0; s < g.ops[i]->nouts; s++)
            for (int j = 0; j < g.ops[i]->outs[s].n; j++)
                if (movable(c, g.ops[i]->outs[s].names[j]))
                    c->grad_name[c->ngrads++] = mem_strdup_or_die(g.ops[i]->outs[s].names[j]);
    }
    return c->ngrads > 0;
}

struct search {
    struct checker *t;
    const struct op_kind *kind;
};

static void check_made_case(void *user, const char *dir, const char *name)
{
    struct search *s = user;
    struct grad_case c;
    struct run r;
    char path[PATH_MAX_LEN];
    case_path(path, dir, name);
    if (is_done(s->t, s->kind) || !case_open(&c, path))
        return;
    if (append_gradient(&c, s->kind->type)) {
        run_start(&r, &c);
        int n = check_case_gradients(s->t, &r);
        s->t->failures += n < 0;
        if (n > 0)
            mark_done(s->t, c.program);
        run_stop(&r);
    }
    case_close(&c);
}

/* ---- which op types occur in recorded programs ---- */

static void note_program(struct checker *t, const char *path)
{
    struct skiff_error err;
    struct skiff_program *p = read_program(path, &err);
    for (int b = 0; p && b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            if (!str_map_has(&t->seen, p->blocks[b]->ops[i]->type))
                str_map_put(&t->seen, mem_strdup_or_die(p->blocks[b]->ops[i]->type), t);
    if (p)
        program_destroy(p);
}

static void note_entry(void *user, const char *dir, const char *name)
{
    char path[PATH_MAX_LEN];
    case_path(path, dir, name);
    size_t n = strlen(name);
    if (file_is_dir(path))
        each_entry(path, note_entry, user);
    else if (strcmp(name, "__model__") == 0 || (n > 3 && strcmp(name + n - 3, ".pb") == 0) ||
             (n > 8 && strcmp(name + n - 8, ".pdmodel") == 0))
        note_program(user, path);
}

/* ---- the tests ---- */

static char golden[512];
static struct checker checker;

static int unpack(void **state)
{
    const char *build = getenv("BUILD") ? getenv("BUILD") : "build";
    snprintf(golden, sizeof(golden), "%s", getenv("GOLDEN") ? getenv("GOLDEN") : "");
    str_map_init(&checker.seen);
    if (*golden)
        return 0;
    snprintf(golden, sizeof(golden), "%s/golden", build);
    return system("tests/golden/unpack.sh");
}

static int finish(void **state)
{
    for (size_t i = 0; i < checker.seen.count; i++)
        free((char *)checker.seen.entries[i].key);
    str_map_deinit(&checker.seen);
    return 0;
}

/* Archives of op cases are called ops*: <set>/<op type>/<case>. */
static void check_set(void *user, const char *dir, const char *name)
{
    char path[PATH_MAX_LEN];
    case_path(path, dir, name);
    if (strncmp(name, "ops", 3) == 0)
        each_entry(path, check_op, user);
}

static void test_gradients(void **state)
{
    each_entry(golden, check_set, &checker);
    printf("%d cases, %d elements compared, %d passed over\n", checker.cases, checker.elements,
           checker.passed_over);
    assert_true(checker.cases > 300);
    assert_int_equal(checker.failures, 0);
}

static bool has_no_derivative(const char *type)
{
    for (size_t i = 0; i < sizeof(no_derivative) / sizeof(no_derivative[0]); i++)
        if (strcmp(no_derivative[i].type, type) == 0)
            return true;
    return false;
}

/* Rows of one type that share kernels differ only in generation: one checked row stands for all. */
static bool type_is_done(const struct op_kind *k)
{
    for (int i = 0; i < checker.ndone; i++)
        if (strcmp(checker.done[i]->type, k->type) == 0)
            return true;
    return false;
}

static void check_made_set(void *user, const char *dir, const char *name)
{
    struct search *s = user;
    char set[PATH_MAX_LEN], path[PATH_MAX_LEN];
    case_path(set, dir, name);
    case_path(path, set, s->kind->type);
    if (strncmp(name, "ops", 3) == 0)
        each_entry(path, check_made_case, user);
}

static void test_unrecorded_gradients(void **state)
{
    for (int i = 0; i < op_kind_count(); i++) {
        const struct op_kind *k = op_kind_at(i);
        struct search search = {&checker, k};
        if (k->flags & OP_INTERNAL || !(k->grad || k->make_grad) || type_is_done(k) ||
            has_no_derivative(k->type))
            continue;
        each_entry(golden, check_made_set, &search);
    }
    assert_int_equal(checker.failures, 0);
}

static void test_every_kind_is_checked(void **state)
{
    int missing = 0;
    for (int i = 0; i < op_kind_count(); i++) {
        const struct op_kind *k = op_kind_at(i);
        if (k->flags & OP_INTERNAL || !(k->grad || k->make_grad) || has_no_derivative(k->type))
            continue;
        if (!type_is_done(k) && !needs_ranks(k)) {
            printf("op %s has a gradient, but no case checks it\n", k->type);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

static bool is_unrecorded(const char *type)
{
    for (size_t i = 0; i < sizeof(unrecorded) / sizeof(unrecorded[0]); i++)
        if (strcmp(unrecorded[i].type, type) == 0)
            return true;
    return false;
}

static void test_every_op_is_recorded(void **state)
{
    int missing = 0;
    each_entry(golden, note_entry, &checker);
    assert_true(checker.seen.count > 100);
    for (int i = 0; i < op_kind_count(); i++) {
        const struct op_kind *k = op_kind_at(i);
        if (!(k->flags & OP_INTERNAL) && !str_map_has(&checker.seen, k->type) &&
            !is_unrecorded(k->type) && !needs_ranks(k)) {
            printf("op %s occurs in no recorded program\n", k->type);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_unrecorded_gradients),
        cmocka_unit_test(test_every_kind_is_checked),
        cmocka_unit_test(test_every_op_is_recorded),
    };
    return cmocka_run_group_tests(tests, unpack, finish);
}
