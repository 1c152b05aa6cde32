/* Ops that call the host, the process that runs the program (run_host).
 *
 *   print    Out = In; prints In in Paddle's format. Its gradient is a print op, too
 *   assert   fails unless Cond holds; prints Data before
 *   py_func  Out = result of the host function with that number on X; its gradient is a py_func
 *            of the function backward_callable_id: of X, Out (except backward_skip_vars) and
 *            Out@GRAD */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "ops/control/control.h"

/* ---- text of tensors ---- */

static void element_text(struct buf *b, const struct tensor *t, int64_t i)
{
    switch (t->dtype) {
    case DTYPE_FP32:
        buf_printf(b, "%g", (double)((const float *)t->data)[i]);
        break;
    case DTYPE_FP64:
        buf_printf(b, "%g", ((const double *)t->data)[i]);
        break;
    case DTYPE_INT64:
        buf_printf(b, "%" PRId64, ((const int64_t *)t->data)[i]);
        break;
    case DTYPE_INT32:
        buf_printf(b, "%" PRId32, ((const int32_t *)t->data)[i]);
        break;
    case DTYPE_BOOL:
        buf_printf(b, "%d", ((const bool *)t->data)[i]);
        break;
    default:
        buf_str(b, "?");
    }
}

static int64_t shown(const struct tensor *t, int summarize)
{
    int64_t n = tensor_numel(t);
    return summarize >= 0 && summarize < n ? summarize : n;
}

struct print_format { /* which lines */
    bool name, type, shape, layout, lod;
    int summarize;
    const char *message;
};

/* 1.x: seconds, message and place; then a line each, lists with a comma behind every item. */
static void text_1x(struct buf *b, const char *name, const struct tensor *t,
                    const struct print_format *w)
{
    const char *type = t->dtype == DTYPE_FP64    ? "d"
                       : t->dtype == DTYPE_INT32 ? "i"
                       : t->dtype == DTYPE_INT64 ? "l"
                       : t->dtype == DTYPE_BOOL  ? "b"
                                                 : "f";
    buf_printf(b, "%lld\t%s\tThe place is:CPUPlace\n", (long long)time(NULL), w->message);
    if (w->name)
        buf_printf(b, "Tensor[%s]\n", name);
    if (w->shape) {
        buf_str(b, "\tshape: [");
        for (int d = 0; d < t->shape.ndim; d++)
            buf_printf(b, "%" PRId64 ",", t->shape.dims[d]);
        buf_str(b, "]\n");
    }
    if (w->type)
        buf_printf(b, "\tdtype: %s\n", type);
    if (w->lod && t->lod) {
        buf_str(b, "\tLoD: [");
        for (int l = 0; l < t->lod->nlevels; l++) {
            buf_str(b, "[ ");
            for (int64_t i = 0; i < t->lod->level[l].n; i++)
                buf_printf(b, "%" PRId64 ",", t->lod->level[l].off[i]);
            buf_str(b, " ]");
        }
        buf_str(b, "]\n");
    }
    buf_str(b, "\tdata: ");
    for (int64_t i = 0, n = shown(t, w->summarize); i < n; i++) {
        element_text(b, t, i);
        buf_str(b, ",");
    }
    buf_str(b, "\n");
}

static void lod_text(struct buf *b, const struct lod *lod)
{
    buf_str(b, "{");
    for (int l = 0; lod && l < lod->nlevels; l++) {
        buf_str(b, l ? ", {" : "{");
        for (int64_t i = 0; i < lod->level[l].n; i++)
            buf_printf(b, "%s%" PRId64, i ? ", " : "", lod->level[l].off[i]);
        buf_str(b, "}");
    }
    buf_str(b, "}");
}

static void text_2x(struct buf *b, const char *name, const struct tensor *t,
                    const struct print_format *w)
{
    if (w->name)
        buf_printf(b, "Variable: %s\n", name);
    if (w->message[0])
        buf_printf(b, "  - message: %s\n", w->message);
    if (w->lod) {
        buf_str(b, "  - lod: ");
        lod_text(b, t->lod);
        buf_str(b, "\n");
    }
    buf_str(b, "  - place: Place(cpu)\n");
    if (w->shape) {
        buf_str(b, "  - shape: [");
        for (int d = 0; d < t->shape.ndim; d++)
            buf_printf(b, "%s%" PRId64, d ? ", " : "", t->shape.dims[d]);
        buf_str(b, "]\n");
    }
    if (w->layout)
        buf_str(b, "  - layout: NCHW\n");
    if (w->type)
        buf_printf(b, "  - dtype: %s\n", dtype_name(t->dtype));
    buf_str(b, "  - data: [");
    for (int64_t i = 0, n = shown(t, w->summarize); i < n; i++) {
        if (i)
            buf_str(b, " ");
        element_text(b, t, i);
    }
    buf_str(b, "]\n");
}

enum { TEXT_1X = 1 }; /* op_kind.arg */

static void report(struct kernel *k, const char *name, const struct tensor *t,
                   const struct print_format *w)
{
    const struct run_host *host = k->env->host;
    struct buf text = BUF_INIT;
    if (!host || !host->print)
        return;
    if (k->kind->arg == TEXT_1X)
        text_1x(&text, name, t, w);
    else
        text_2x(&text, name, t, w);
    host->print(host->user, text.data);
    buf_deinit(&text);
}

/* ---- print ---- */

enum {
    PRINT_FIRST_N,
    PRINT_MESSAGE,
    PRINT_SUMMARIZE,
    PRINT_NAME,
    PRINT_TYPE,
    PRINT_SHAPE,
    PRINT_LOD,
    PRINT_PHASE,
    PRINT_FORWARD,
    PRINT_LAYOUT
};

static enum skiff_status print_prepare(struct kernel *k, struct skiff_error *err)
{
    k->state = mem_alloc_or_die(sizeof(int)); /* number of prints so far */
    return SKIFF_OK;
}

static void print_release(struct kernel *k)
{
    free(k->state);
    k->state = NULL;
}

static enum skiff_status print_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *in = kernel_in(k, 0);
    const char *phase = k->attr[PRINT_PHASE].s;
    int *times = k->state, most = k->attr[PRINT_FIRST_N].i;
    if (kernel_out_value(k, 0, 0))
        TRY(value_copy(kernel_out_value(k, 0, 0), kernel_in_value(k, 0, 0), err));
    bool now =
        !strcmp(phase, "BOTH") || !strcmp(phase, k->attr[PRINT_FORWARD].b ? "FORWARD" : "BACKWARD");
    if (!now || (most > 0 && *times >= most))
        return SKIFF_OK;
    ++*times;
    struct print_format w = {.name = k->attr[PRINT_NAME].b,
                             .type = k->attr[PRINT_TYPE].b,
                             .shape = k->attr[PRINT_SHAPE].b,
                             .layout = k->attr[PRINT_LAYOUT].b,
                             .lod = k->attr[PRINT_LOD].b,
                             .summarize = k->attr[PRINT_SUMMARIZE].i,
                             .message = k->attr[PRINT_MESSAGE].s};
    report(k, kernel_in_name(k, 0, 0), in, &w);
    return SKIFF_OK;
}

static enum skiff_status print_grad(struct grad_build *g, struct skiff_error *err)
{
    const char *from = grad_name(g, op_out1(g->fwd, "Out")),
               *to = grad_name(g, op_in1(g->fwd, "In"));
    if (g->unwanted(g, to))
        return SKIFF_OK;
    struct skiff_op *op = grad_op(g, "print", true);
    op_set_in(g->program, op, "In", 1, &from);
    op_set_out(g->program, op, "Out", 1, &to);
    op_set_bool(g->program, op, "is_forward", false);
    return SKIFF_OK;
}

/* ---- assert ---- */

static enum skiff_status assert_run(struct kernel *k, struct skiff_error *err)
{
    bool holds;
    TRY(control_read_bool(k, 0, &holds, err));
    if (holds)
        return SKIFF_OK;
    struct print_format w = {true, true, true, true, true, (int)k->attr[0].l, ""};
    for (int i = 0; i < kernel_in_count(k, 1); i++) {
        const struct skiff_tensor *v = kernel_in_value(k, 1, i);
        if (v && v->kind == VALUE_TENSOR)
            report(k, kernel_in_name(k, 1, i), &v->tensor, &w);
    }
    return kernel_fail(k, SKIFF_INVALID, err,
                       "The condition variable '%s' of AssertOp must be true, but received false",
                       kernel_in_name(k, 0, 0));
}

/* ---- py_func ---- */

enum { FUNC_ID, FUNC_BACK, FUNC_SKIP };

static enum skiff_status func_run(struct kernel *k, struct skiff_error *err)
{
    const struct run_host *host = k->env->host;
    if (!host || !host->call)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                           "function %d is Python's; run the program from Python",
                           k->attr[FUNC_ID].i);
    return host->call(host->user, k->attr[FUNC_ID].i,
                      (const struct skiff_tensor *const *)k->in[0].v, k->in[0].n, k->out[0].v,
                      k->out[0].n, err);
}

static bool is_skipped(const struct op_attr_value *skip, const char *name)
{
    for (int i = 0; skip && skip->type == ATTR_STRINGS && i < skip->value.n; i++)
        if (!strcmp(skip->value.strings[i], name))
            return true;
    return false;
}

static enum skiff_status func_grad(struct grad_build *g, struct skiff_error *err)
{
    const struct op_attr_value *back = op_attr(g->fwd, "backward_callable_id");
    const struct op_attr_value *skip = op_attr(g->fwd, "backward_skip_vars");
    const struct op_arg *x = op_in(g->fwd, "X"), *y = op_out(g->fwd, "Out");
    int n = 0, nx = x ? x->n : 0, ny = y ? y->n : 0;
    if (!back || back->value.i < 0)
        return SKIFF_OK;
    const char **in = arena_alloc(&g->program->arena, (size_t)(nx + 2 * ny + 1) * sizeof *in);
    for (int i = 0; i < nx; i++)
        if (!is_skipped(skip, x->names[i]))
            in[n++] = x->names[i];
    for (int i = 0; i < ny; i++)
        if (!is_skipped(skip, y->names[i]))
            in[n++] = y->names[i];
    for (int i = 0; i < ny; i++)
        in[n++] = grad_name(g, y->names[i]);
    struct skiff_op *op = grad_op(g, "py_func", false);
    op_set_in(g->program, op, "X", n, in);
    const char **to = arena_alloc(&g->program->arena, (size_t)(nx + 1) * sizeof *to);
    for (int i = 0; i < nx; i++) {
        to[i] = grad_name(g, x->names[i]);
        if (g->unwanted(g, to[i]))
            to[i] = EMPTY_VAR;
    }
    op_set_out(g->program, op, "Out", nx, to);
    op_set_int(g->program, op, "forward_callable_id", back->value.i);
    op_set_int(g->program, op, "backward_callable_id", -1);
    op_set_strings(g->program, op, "backward_skip_vars", 0, NULL);
    return SKIFF_OK;
}

/* ---- table ---- */

static const struct op_slot print_ins[] = {{"In", 0}, {0}};
static const struct op_slot print_outs[] = {{"Out", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec print_attrs[] = {A_INT("first_n", -1),
                                                  A_STR("message", ""),
                                                  A_INT("summarize", 20),
                                                  A_BOOL("print_tensor_name", true),
                                                  A_BOOL("print_tensor_type", true),
                                                  A_BOOL("print_tensor_shape", true),
                                                  A_BOOL("print_tensor_lod", true),
                                                  A_STR("print_phase", "BOTH"),
                                                  A_BOOL("is_forward", true),
                                                  {.name = "print_tensor_layout",
                                                   .type = ATTR_BOOLEAN,
                                                   .flags = ATTR_ONLY_2X,
                                                   .def = {.b = true}},
                                                  {0}};
static const struct op_slot assert_ins[] = {{"Cond", 0}, {"Data", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot no_outs[] = {{0}};
static const struct op_attr_spec assert_attrs[] = {A_LONG("summarize", -1), {0}};
static const struct op_slot func_ins[] = {{"X", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot func_outs[] = {{"Out", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec func_attrs[] = {A_INT("forward_callable_id", 0),
                                                 A_INT("backward_callable_id", -1),
                                                 A_STRS("backward_skip_vars"),
                                                 {0}};

#define PRINTING(gen, text)                                                                      \
    {.type = "print",                                                                            \
     .generations = gen,                                                                         \
     .flags = OP_OWN_SHAPE,                                                                      \
     .arg = text,                                                                                \
     .ins = print_ins,                                                                           \
     .outs = print_outs,                                                                         \
     .attrs = print_attrs,                                                                       \
     .make_grad = print_grad,                                                                    \
     .prepare = print_prepare,                                                                   \
     .release = print_release,                                                                   \
     .run = print_run},                                                                          \
    {                                                                                            \
        .type = "assert", .generations = gen,                                                    \
        .flags = OP_OWN_SHAPE | OP_NO_GRAD_NEEDED | OP_EMPTY_OK, .arg = text, .ins = assert_ins, \
        .outs = no_outs, .attrs = assert_attrs, .infer = control_no_shapes, .run = assert_run    \
    }

const struct op_kind ops_host[] = {
    PRINTING(GEN_1X, TEXT_1X),
    PRINTING(GEN_2X, 0),
    {.type = "py_func",
     .flags = OP_OWN_SHAPE | OP_SIDE_EFFECT | OP_ROWS_OK | OP_ARRAY_OK | OP_EMPTY_OK,
     .ins = func_ins,
     .outs = func_outs,
     .attrs = func_attrs,
     .make_grad = func_grad,
     .infer = control_no_shapes,
     .run = func_run},
    {0}};
