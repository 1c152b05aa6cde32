/* einsum (2.x) of one or two operands, e.g. "bnd,bmd->bnm".
 *
 * Every label is one loop; an operand's stride of a label is the sum of its strides of the dims
 * that carry it (so a repeated label walks the diagonal), 0 when it lacks the label. Over all
 * labels, with B = 1 for a single operand:
 *
 *   Out[o] += A[a] B[b];   dA[a] += dOut[o] B[b];   dB[b] += dOut[o] A[a]
 *
 * Labels of the result come first, summed labels are the inner loops. XShape keeps copies of the
 * operands: the gradient op reads them from there. InnerCache is only there for the sake of the
 * contract. "..." is not taken. */
#include "ops/ops_common.h"

#include <ctype.h>
#include <string.h>

#define MAX_LABELS 18

enum { OPERANDS };
enum { OUT, INNER_CACHE, XSHAPE };
enum { G_XSHAPE, G_INNER_CACHE, G_DOUT };

struct einsum {
    int noperands, nlabels, nout;
    char labels[MAX_LABELS]; /* of the result first */
    const char *operand[2];
    int rank[2];
};

/* Steps over blanks. */
static const char *read_labels(const char *p, char *out, int max, int *n)
{
    for (*n = 0; *p && *p != ',' && *p != '-'; p++) {
        if (*p == ' ')
            continue;
        if (!isalpha((unsigned char)*p) || *n == max)
            return NULL;
        out[(*n)++] = *p;
    }
    return p;
}

static bool add_label(struct einsum *e, char label)
{
    if (memchr(e->labels, label, (size_t)e->nlabels))
        return true;
    if (e->nlabels == MAX_LABELS)
        return false;
    e->labels[e->nlabels++] = label;
    return true;
}

/* Without "->": the labels that occur once, in alphabetical order. */
static int implicit_result(char ops[2][TENSOR_MAX_DIMS], const int *rank, int n, char *out)
{
    int count[256] = {0}, nout = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < rank[i]; j++)
            count[(unsigned char)ops[i][j]]++;
    for (int c = 0; c < 256 && nout < TENSOR_MAX_DIMS; c++)
        if (count[c] == 1)
            out[nout++] = (char)c;
    return nout;
}

static bool einsum_parse(const char *equation, struct einsum *e, char ops[2][TENSOR_MAX_DIMS])
{
    char out[TENSOR_MAX_DIMS];
    int nout;
    const char *p = equation;
    memset(e, 0, sizeof(*e));
    for (;;) {
        if (e->noperands == 2 ||
            !(p = read_labels(p, ops[e->noperands], TENSOR_MAX_DIMS, &e->rank[e->noperands])))
            return false;
        e->operand[e->noperands] = ops[e->noperands];
        e->noperands++;
        if (*p != ',')
            break;
        p++;
    }
    if (*p == '\0')
        nout = implicit_result(ops, e->rank, e->noperands, out);
    else if (p[1] != '>' || !(p = read_labels(p + 2, out, TENSOR_MAX_DIMS, &nout)) || *p)
        return false;
    for (int i = 0; i < nout; i++) {
        int before = e->nlabels;
        if (!add_label(e, out[i]) || e->nlabels == before)
            return false;
    }
    e->nout = e->nlabels;
    for (int i = 0; i < e->noperands; i++)
        for (int j = 0; j < e->rank[i]; j++)
            if (!add_label(e, ops[i][j]))
                return false;
    return true;
}

/* Sizes of all labels (-1: not known yet); false when operands disagree. */
static bool label_sizes(const struct einsum *e, const struct shape *const *s, int64_t *size)
{
    for (int l = 0; l < e->nlabels; l++)
        size[l] = -2;
    for (int i = 0; i < e->noperands; i++) {
        if (s[i]->ndim != e->rank[i])
            return false;
        for (int j = 0; j < e->rank[i]; j++) {
            int l = (int)((char *)memchr(e->labels, e->operand[i][j], MAX_LABELS) - e->labels);
            int64_t d = s[i]->dims[j];
            if (size[l] >= 0 && d >= 0 && size[l] != d)
                return false;
            if (size[l] < 0)
                size[l] = d;
        }
    }
    for (int l = 0; l < e->nlabels; l++)
        if (size[l] == -2)
            return false;
    return true;
}

static void operand_strides(const struct einsum *e, int i, const struct shape *s, int64_t *out)
{
    int64_t stride[TENSOR_MAX_DIMS];
    shape_strides(s, stride);
    for (int l = 0; l < e->nlabels; l++) {
        out[l] = 0;
        for (int j = 0; j < e->rank[i]; j++)
            if (e->operand[i][j] == e->labels[l])
                out[l] += stride[j];
    }
}

/* The walk over all labels: offsets of a, b, o. */
struct label_walk {
    int n;
    int64_t size[MAX_LABELS], sa[MAX_LABELS], sb[MAX_LABELS], so[MAX_LABELS], index[MAX_LABELS];
    int64_t a, b, o;
    int64_t out_count; /* elements of the result */
};

static bool walk_step(struct label_walk *w)
{
    for (int l = w->n - 1; l >= 0; l--) {
        w->a += w->sa[l];
        w->b += w->sb[l];
        w->o += w->so[l];
        if (++w->index[l] < w->size[l])
            return true;
        w->a -= w->sa[l] * w->size[l];
        w->b -= w->sb[l] * w->size[l];
        w->o -= w->so[l] * w->size[l];
        w->index[l] = 0;
    }
    return false;
}

/* Prepares the walk from the operands in `slot`; 1 ready, 0 nothing to walk, negative failure. */
static int walk_init(struct kernel *k, int slot, struct label_walk *w, struct skiff_error *err)
{
    struct einsum e;
    char ops[2][TENSOR_MAX_DIMS];
    const struct shape *s[2];
    if (!einsum_parse(k->attr[0].s, &e, ops) || kernel_in_count(k, slot) != e.noperands)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err, "equation \"%s\" is not supported",
                           k->attr[0].s);
    for (int i = 0; i < e.noperands; i++) {
        s[i] = &kernel_in_at(k, slot, i)->shape;
        if (kernel_in_at(k, slot, i)->dtype != kernel_in_at(k, slot, 0)->dtype)
            return kernel_fail(k, SKIFF_DTYPE, err, "operands differ in type");
    }
    TRY(kernel_check_dtype(k, slot, dtype_is_float, "float32 or float64", err));
    *w = (struct label_walk){.n = e.nlabels};
    if (!label_sizes(&e, s, w->size))
        return kernel_fail(k, SKIFF_SHAPE, err, "operands do not fit equation \"%s\"",
                           k->attr[0].s);
    operand_strides(&e, 0, s[0], w->sa);
    if (e.noperands == 2)
        operand_strides(&e, 1, s[1], w->sb);
    int64_t stride = 1;
    for (int l = e.nout - 1; l >= 0; l--) {
        w->so[l] = stride;
        stride *= w->size[l];
    }
    w->out_count = stride;
    for (int l = 0; l < e.nlabels; l++)
        if (w->size[l] == 0)
            return 0;
    return 1;
}

static enum skiff_status einsum_run(struct kernel *k, struct skiff_error *err)
{
    struct label_walk w;
    struct tensor *out = kernel_out(k, OUT);
    const struct tensor *a = kernel_in_at(k, OPERANDS, 0), *b = kernel_in_at(k, OPERANDS, 1);
    int ready = walk_init(k, OPERANDS, &w, err);
    if (ready < 0)
        return (enum skiff_status)ready;
    for (int i = 0; i < kernel_in_count(k, OPERANDS); i++) {
        struct tensor *copy = kernel_out_at(k, XSHAPE, i);
        if (copy)
            bytes_copy(copy->data, kernel_in_at(k, OPERANDS, i)->data, tensor_bytes(copy));
    }
    tensor_clear(out);
    if (ready)
        DISPATCH_FLOAT(a->dtype, T, const T *pa = a->data; const T *pb = b ? b->data : NULL;
                       T *po = out->data; do po[w.o] += pa[w.a] * (pb ? pb[w.b] : 1);
                       while (walk_step(&w)))
    return SKIFF_OK;
}

static enum skiff_status einsum_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct label_walk w;
    const struct tensor *a = kernel_in_at(k, G_XSHAPE, 0), *b = kernel_in_at(k, G_XSHAPE, 1);
    const struct tensor *d = kernel_in(k, G_DOUT);
    struct tensor *da = kernel_out_at(k, 0, 0), *db = kernel_out_at(k, 0, 1);
    int ready = walk_init(k, G_XSHAPE, &w, err);
    if (ready < 0)
        return (enum skiff_status)ready;
    if (d->dtype != a->dtype)
        return kernel_fail(k, SKIFF_DTYPE, err, "Out@GRAD and the operands differ in type");
    if (tensor_numel(d) != w.out_count)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) has %lld elements, expected %lld",
                           kernel_in_name(k, G_DOUT, 0), (long long)tensor_numel(d),
                           (long long)w.out_count);
    if (da)
        tensor_clear(da);
    if (db)
        tensor_clear(db);
    if (ready)
        DISPATCH_FLOAT(
            a->dtype, T, const T *pa = a->data; const T *pb = b ? b->data : NULL;
            const T *pd = d->data; T *to_a = da ? da->data : NULL; T *to_b = db ? db->data : NULL;
            do {
                if (to_a)
                    to_a[w.a] += pd[w.o] * (pb ? pb[w.b] : 1);
                if (to_b)
                    to_b[w.b] += pd[w.o] * pa[w.a];
            } while (walk_step(&w)))
    return SKIFF_OK;
}

static enum skiff_status einsum_infer(struct infer *c, struct skiff_error *err)
{
    struct einsum e;
    char ops[2][TENSOR_MAX_DIMS];
    struct shape s[2];
    const struct shape *ps[2] = {&s[0], &s[1]};
    int64_t size[MAX_LABELS];
    int n = infer_in_count(c, OPERANDS);
    if (!einsum_parse(c->attr[0].s, &e, ops) || n != e.noperands)
        return infer_fail(c, OPERANDS, 0, err, "equation \"%s\" with %d operands is not supported",
                          c->attr[0].s, n);
    for (int i = 0; i < n; i++)
        s[i] = *infer_in(c, OPERANDS, i);
    if (!label_sizes(&e, ps, size) || e.nout > TENSOR_MAX_DIMS)
        return infer_fail(c, OPERANDS, 0, err, "operands do not fit equation \"%s\"", c->attr[0].s);
    struct shape out = {.ndim = e.nout}, scalar = {0};
    for (int l = 0; l < e.nout; l++)
        out.dims[l] = size[l];
    enum dtype t = infer_in_dtype(c, OPERANDS, 0);
    TRY(infer_out(c, OUT, 0, t, &out, err));
    for (int i = 0; i < n; i++) {
        TRY(infer_out(c, INNER_CACHE, i, t, &scalar, err));
        TRY(infer_out(c, XSHAPE, i, t, &s[i], err));
    }
    return SKIFF_OK;
}

static enum skiff_status einsum_grad_infer(struct infer *c, struct skiff_error *err)
{
    if (infer_out_count(c, 0) > infer_in_count(c, G_XSHAPE))
        return infer_fail(c, G_XSHAPE, 0, err, "%d operands for %d gradients",
                          infer_in_count(c, G_XSHAPE), infer_out_count(c, 0));
    for (int i = 0; i < infer_in_count(c, G_XSHAPE); i++) {
        struct shape s = *infer_in(c, G_XSHAPE, i);
        TRY(infer_out(c, 0, i, infer_in_dtype(c, G_XSHAPE, i), &s, err));
    }
    return SKIFF_OK;
}

/* As the usual line, but the slot of XShape is called x_shape there. */
static enum skiff_status einsum_make_grad(struct grad_build *g, struct skiff_error *err)
{
    const struct op_arg *xshape = op_out(g->fwd, "XShape");
    struct skiff_op *op = grad_op(g, "einsum_grad", true);
    grad_use(g, op, "InnerCache");
    grad_use_out_grad(g, op, "Out");
    op_set_in(g->program, op, "x_shape", xshape ? xshape->n : 0, xshape ? xshape->names : NULL);
    grad_make_in_grad(g, op, "Operands");
    return SKIFF_OK;
}

static const struct op_slot ins[] = {{"Operands", SLOT_LIST}, {0}};
static const struct op_slot outs[] = {
    {"Out", 0}, {"InnerCache", SLOT_LIST | SLOT_EXTRA}, {"XShape", SLOT_LIST | SLOT_EXTRA}, {0}};
static const struct op_slot grad_ins[] = {
    {"x_shape", SLOT_LIST},
    {"InnerCache", SLOT_LIST | SLOT_OPTIONAL | SLOT_SHAPE_ONLY},
    {"Out" GRAD_SUFFIX, 0},
    {0}};
static const struct op_slot grad_outs[] = {{"Operands" GRAD_SUFFIX, SLOT_LIST | SLOT_OPTIONAL},
                                           {0}};
static const struct op_attr_spec attrs[] = {A_REQ("equation", ATTR_STRING), {0}};

const struct op_kind ops_einsum[] = {
    {.type = "einsum",
     .generations = GEN_2X,
     .ins = ins,
     .outs = outs,
     .attrs = attrs,
     .make_grad = einsum_make_grad,
     .infer = einsum_infer,
     .run = einsum_run},
    {.type = "einsum_grad",
     .generations = GEN_2X,
     .ins = grad_ins,
     .outs = grad_outs,
     .attrs = attrs,
     .infer = einsum_grad_infer,
     .run = einsum_grad_run},
    {0},
};
