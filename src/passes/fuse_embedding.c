/* Look-ups side by side: concat(axis 1) over look-ups, each perhaps through a pool or a reshape to
 * rows, and dense columns, together with all their gradient ops.
 *
 *   forward   lookup(W, ids_i) -> e_i
 *             pool(e_i) or reshape(e_i) -> t_i; or nothing
 *             concat(t_0, x, t_1, ...) -> out
 *   backward  concat_grad(dout) -> dt_0, dx, dt_1, ...
 *             pool_grad or reshape_grad -> de_i; or nothing
 *             lookup_grad -> dW_i
 *             sum(dW_0, dW_1, ...) -> dW
 *
 * become fused_embedding_concat and fused_embedding_concat_grad (ops/fused/fused_embedding.c). A
 * look-up whose variables are used elsewhere, or whose gradient ops are not all of this form, is a
 * dense column, as are all look-ups of a table whose gradients do not come together in one sum. */
#include <string.h>

#include "base/mem.h"
#include "passes/fuse_parts.h"

enum {
    PIECE_DENSE,
    PIECE_LOOKUP,
    PIECE_SUM,
    PIECE_MEAN,
    PIECE_SQRT
}; /* as in ops/fused/fused_embedding.c */

struct lookup_piece {
    int kind, table;
    const char *name;                           /* t_i */
    struct skiff_op *lookup, *middle;           /* middle: pool or reshape, or NULL */
    struct skiff_op *lookup_grad, *middle_grad; /* NULL without backward */
    const char *w, *ids, *dw;
    int64_t padding;
};

struct embedding_match {
    struct skiff_op *concat, *concat_grad;
    struct lookup_piece *pieces;
    int n, nlookups;
    const char **tables; /* distinct W */
    int ntables;
    bool sparse;
};

static int64_t padding_of(const struct skiff_op *lookup)
{
    const struct op_attr_value *a = op_attr(lookup, "padding_idx");
    return a && a->type == ATTR_LONG ? a->value.l : -1;
}

static const struct skiff_var *var_of(const struct graph *g, const char *name)
{
    return name ? block_find_var(g->block, name) : NULL;
}

static const struct skiff_var *matrix_var(const struct graph *g, const char *name)
{
    const struct skiff_var *v = var_of(g, name);
    return v && v->kind == VAR_LOD_TENSOR && v->shape.ndim == 2 ? v : NULL;
}

static int pool_kind(const struct skiff_op *pool)
{
    const struct op_attr_value *type = op_attr(pool, "pooltype"), *pad = op_attr(pool, "pad_value");
    if (!type || type->type != ATTR_STRING || (pad && pad->value.f != 0.0f))
        return 0;
    if (!strcmp(type->value.s, "SUM"))
        return PIECE_SUM;
    if (!strcmp(type->value.s, "AVERAGE"))
        return PIECE_MEAN;
    return !strcmp(type->value.s, "SQRT") ? PIECE_SQRT : 0;
}

/* One level of lod: the pool's result has none, and rows of the concat are sequences. */
static bool pool_fits(const struct graph *g, const struct skiff_op *pool)
{
    const struct skiff_var *x = var_of(g, op_in1(pool, "X"));
    return x && x->lod_level == 1 && pool_kind(pool);
}

static bool table_fits(const struct graph *g, const struct skiff_op *lookup)
{
    const struct skiff_var *w = matrix_var(g, op_in1(lookup, "W"));
    const struct skiff_var *ids = var_of(g, op_in1(lookup, "Ids"));
    const struct op_attr_value *epmap = op_attr(lookup, "epmap");
    if (epmap && epmap->type == ATTR_STRINGS && epmap->value.n)
        return false; /* rows come from servers */
    return w && ids && w->dtype == DTYPE_FP32 && ids->dtype == DTYPE_INT64;
}

/* t_i is computed from a look-up, perhaps through a pool or a reshape to [-1, width]. */
static void match_piece(const struct graph *g, const char *name, struct lookup_piece *p)
{
    *p = (struct lookup_piece){.kind = PIECE_DENSE, .name = name, .padding = -1};
    struct skiff_op *middle = graph_writer(g, name, CLASS_POOL);
    int kind = PIECE_LOOKUP;
    if (middle && pool_fits(g, middle))
        kind = pool_kind(middle);
    else
        middle = graph_writer(g, name, CLASS_RESHAPE);
    const char *e = middle ? op_in1(middle, "X") : name;
    struct skiff_op *lookup = e ? graph_writer(g, e, CLASS_LOOKUP) : NULL;
    if (!lookup || !table_fits(g, lookup) || !matrix_var(g, name))
        return;
    const struct skiff_var *w = block_find_var(g->block, op_in1(lookup, "W"));
    if (matrix_var(g, name)->shape.dims[1] != w->shape.dims[1])
        return;
    p->kind = kind;
    p->lookup = lookup;
    p->middle = middle;
    p->w = op_in1(lookup, "W");
    p->ids = op_in1(lookup, "Ids");
    p->padding = padding_of(lookup);
}

static int table_index(struct embedding_match *m, const char *w)
{
    for (int i = 0; i < m->ntables; i++)
        if (!strcmp(m->tables[i], w))
            return i;
    m->tables[m->ntables] = w;
    return m->ntables++;
}

/* The gradient ops behind piece i; false when they are not all there in the expected form. */
static bool match_piece_grad(const struct graph *g, struct embedding_match *m, int i)
{
    struct lookup_piece *p = &m->pieces[i];
    const char *d = op_out(m->concat_grad, "X@GRAD")->names[i];
    if (p->middle) {
        p->middle_grad = graph_reader(g, d, "Out@GRAD",
                                      p->middle->kind->class == CLASS_POOL ? CLASS_POOL_GRAD
                                                                           : CLASS_RESHAPE_GRAD);
        if (!p->middle_grad || !graph_private(g, d, &p->middle_grad, 1))
            return false;
        d = op_out1(p->middle_grad, "X@GRAD");
    }
    p->lookup_grad = d ? graph_reader(g, d, "Out@GRAD", CLASS_LOOKUP_GRAD) : NULL;
    if (!p->lookup_grad || !graph_private(g, d, &p->lookup_grad, 1))
        return false;
    p->dw = op_out1(p->lookup_grad, "W@GRAD");
    return p->dw && strcmp(p->dw, EMPTY_VAR) && !graph_kept(g, p->dw);
}

static bool piece_is_private(const struct graph *g, const struct embedding_match *m,
                             const struct lookup_piece *p)
{
    struct skiff_op *readers[] = {m->concat, m->concat_grad, p->middle_grad, p->lookup_grad};
    if (!graph_private(g, p->name, readers, 4))
        return false;
    if (!p->middle)
        return true;
    struct skiff_op *inner[] = {p->middle, p->middle_grad};
    for (int i = 0; i < p->middle->nouts; i++) /* MaxIndex, XShape */
        for (int j = 0; j < p->middle->outs[i].n; j++)
            if (strcmp(p->middle->outs[i].names[j], p->name) &&
                !graph_private(g, p->middle->outs[i].names[j], inner, 2))
                return false;
    return graph_private(g, op_in1(p->middle, "X"), inner, 2);
}

/* Table and ids are read where concat stood, later than before, and ids once for both directions;
 * the gradient is written where concat_grad stood, earlier than before. Does any op in between
 * notice? */
static bool piece_order_kept(const struct graph *g, const struct embedding_match *m,
                             const struct lookup_piece *p)
{
    int lookup = graph_position(g, p->lookup), concat = graph_position(g, m->concat);
    if (graph_written_between(g, p->w, lookup, concat) ||
        graph_written_between(g, p->ids, lookup, concat))
        return false;
    if (!p->lookup_grad)
        return true;
    int grad = graph_position(g, p->lookup_grad);
    return !graph_written_between(g, p->ids, lookup, grad) &&
           !graph_touched_between(g, p->dw, graph_position(g, m->concat_grad), grad);
}

static void piece_make_dense(struct lookup_piece *p)
{
    *p = (struct lookup_piece){.kind = PIECE_DENSE, .name = p->name, .padding = -1};
}

/* dW of a table: the sum op that collects the look-ups' parts, when there is one. */
static struct skiff_op *collecting_sum(const struct graph *g, const char *dw)
{
    return graph_reader(g, dw, "X", CLASS_SUM);
}

/* Rows that occur twice in a sparse gradient are one row in the fused one. Optimizers, sums (over
 * ranks, too) and the ops that minimize inserts (clips, decay) merge such rows anyway; other
 * readers might notice. */
static bool read_as_sum(const struct graph *g, const char *dw)
{
    const struct graph_name *n = str_map_get(&g->names, dw);
    for (int i = 0; n && i < n->readers.n; i++) {
        const struct skiff_op *op = n->readers.use[i].op;
        int role = op_role_of(op);
        bool optimizes = role != ROLE_UNSPECIFIED && (role & ROLE_OPTIMIZE);
        bool sums =
            op->kind && ((op->kind->flags & OP_OPTIMIZER) || op->kind->class == CLASS_SUM_RANKS);
        if (!optimizes && !sums)
            return false;
    }
    return true;
}

/* Parts of one table go to one sum (or straight to the parameter's gradient),
 * with one padding id. */
static bool table_is_whole(const struct graph *g, const struct embedding_match *m, const char *w)
{
    struct skiff_op *sum = NULL;
    int parts = 0;
    int64_t padding = -1;
    for (int i = 0; i < m->n; i++) {
        const struct lookup_piece *p = &m->pieces[i];
        if (p->kind == PIECE_DENSE || strcmp(p->w, w))
            continue;
        struct skiff_op *s = collecting_sum(g, p->dw);
        if (parts++ == 0) {
            sum = s;
            padding = p->padding;
        } else if (s != sum || !sum || p->padding != padding) {
            return false;
        }
        if (sum ? !graph_private(g, p->dw, &sum, 1) : m->sparse && !read_as_sum(g, p->dw))
            return false;
    }
    const char *out = sum ? op_out1(sum, "Out") : NULL;
    /* a kept sum orders its rows in its own way, and somebody reads it */
    return !sum || (out && !graph_kept(g, out) &&
                    !graph_touched_between(g, out, graph_position(g, m->concat_grad),
                                           graph_position(g, sum)));
}

static bool same_lists(const struct op_arg *a, const struct op_arg *b)
{
    bool same = a && b && a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = same_name(a->names[i], b->names[i]);
    return same;
}

/* The gradient op of this very concat: it lists the same inputs, and one of them has no other. */
static struct skiff_op *gradient_of(const struct graph *g, const struct embedding_match *m)
{
    for (int i = 0; i < m->n; i++) {
        if (m->pieces[i].kind == PIECE_DENSE)
            continue;
        struct skiff_op *op = graph_reader(g, m->pieces[i].name, "X", CLASS_CONCAT_GRAD);
        if (op && same_lists(op_in(op, "X"), op_in(m->concat, "X")))
            return op;
    }
    return NULL;
}

/* With gradients: all look-ups are of one kind, sparse or not; the first one determines it. */
static void match_backward(const struct graph *g, struct embedding_match *m)
{
    bool known = false;
    for (int i = 0; i < m->n; i++) {
        struct lookup_piece *p = &m->pieces[i];
        if (p->kind == PIECE_DENSE)
            continue;
        bool fits = match_piece_grad(g, m, i),
             sparse = fits && attr_true(p->lookup_grad, "is_sparse");
        if (fits && !known) {
            m->sparse = sparse;
            known = true;
        }
        if (!fits || sparse != m->sparse)
            piece_make_dense(p);
    }
}

static bool table_comes_before(const struct embedding_match *m, int piece)
{
    for (int i = 0; i < piece; i++)
        if (m->pieces[i].w && same_name(m->pieces[i].w, m->pieces[piece].w))
            return true;
    return false;
}

/* Each table is checked once: for hundreds of slots that share a table, the cost would be cubic. */
static void match_tables(const struct graph *g, struct embedding_match *m)
{
    for (int i = 0; i < m->n; i++) {
        const char *w = m->pieces[i].w; /* NULL: dense */
        if (!w || table_comes_before(m, i) || table_is_whole(g, m, w))
            continue;
        for (int j = i; j < m->n; j++)
            if (m->pieces[j].w && !strcmp(m->pieces[j].w, w))
                piece_make_dense(&m->pieces[j]);
    }
}

static bool concat_fits(const struct graph *g, const struct skiff_op *concat)
{
    int axis = attr_int(concat, "axis", 0);
    const struct op_arg *x = op_in(concat, "X"), *tensor = op_in(concat, "AxisTensor");
    if ((axis != 1 && axis != -1) || !x || (tensor && tensor->n))
        return false;
    for (int i = 0; i < x->n; i++) {
        const struct skiff_var *v = matrix_var(g, x->names[i]);
        if (!v || v->dtype != DTYPE_FP32)
            return false;
    }
    return op_out1(concat, "Out") != NULL;
}

static bool match_concat(struct graph *g, struct skiff_op *concat, struct embedding_match *m)
{
    if (!concat_fits(g, concat))
        return false;
    const struct op_arg *x = op_in(concat, "X");
    memset(m, 0, sizeof(*m));
    m->concat = concat;
    m->n = x->n;
    m->pieces = arena_alloc(&g->arena, (size_t)(x->n + 1) * sizeof(*m->pieces));
    m->tables = arena_alloc(&g->arena, (size_t)(x->n + 1) * sizeof(*m->tables));
    for (int i = 0; i < x->n; i++)
        match_piece(g, x->names[i], &m->pieces[i]);
    m->concat_grad = gradient_of(g, m);
    const struct op_arg *grads = m->concat_grad ? op_out(m->concat_grad, "X@GRAD") : NULL;
    if (m->concat_grad && (!grads || grads->n != m->n || !op_in1(m->concat_grad, "Out@GRAD")))
        return false;
    if (m->concat_grad)
        match_backward(g, m);
    for (int i = 0; i < m->n; i++)
        if (m->pieces[i].kind != PIECE_DENSE &&
            (!piece_is_private(g, m, &m->pieces[i]) || !piece_order_kept(g, m, &m->pieces[i])))
            piece_make_dense(&m->pieces[i]);
    if (m->concat_grad)
        match_tables(g, m);
    for (int i = 0; i < m->n; i++)
        if (m->pieces[i].kind != PIECE_DENSE) {
            m->nlookups++;
            m->pieces[i].table = table_index(m, m->pieces[i].w);
        }
    return m->nlookups > 0;
}

/* ---- replacing ---- */

struct lists { /* slots of the fused ops */
    const char **ids, **x, **dx, **rows, **where, **dw;
    int32_t *layout;
    int64_t *paddings;
    int nids, nx;
};

/* A new variable whose element count is not known yet. */
static const char *add_list(struct graph *g, const char *name, enum dtype dtype)
{
    struct skiff_var *v = block_add_var(g->block, name);
    v->dtype = dtype;
    v->has_tensor = true;
    v->shape = SHAPE(-1);
    return v->name;
}

static void collect(struct graph *g, const struct embedding_match *m, struct lists *l)
{
    size_t n = (size_t)m->n + 1;
    struct arena *a = &g->program->arena;
    *l = (struct lists){.ids = arena_alloc(a, n * sizeof(char *)),
                        .x = arena_alloc(a, n * sizeof(char *)),
                        .dx = arena_alloc(a, n * sizeof(char *)),
                        .rows = arena_alloc(a, n * sizeof(char *)),
                        .where = arena_alloc(a, n * sizeof(char *)),
                        .dw = arena_alloc(a, n * sizeof(char *)),
                        .layout = arena_alloc(a, 3 * n * sizeof(int32_t)),
                        .paddings = arena_alloc(a, n * sizeof(int64_t))};
    const struct op_arg *grads = m->concat_grad ? op_out(m->concat_grad, "X@GRAD") : NULL;
    for (int i = 0; i < m->n; i++) {
        const struct lookup_piece *p = &m->pieces[i];
        l->layout[3 * i] = p->kind;
        l->layout[3 * i + 2] = p->table;
        l->paddings[i] = p->padding;
        if (p->kind != PIECE_DENSE) {
            l->layout[3 * i + 1] = l->nids;
            l->ids[l->nids++] = p->ids;
            continue;
        }
        l->layout[3 * i + 1] = l->nx;
        l->dx[l->nx] = grads ? grads->names[i] : EMPTY_VAR;
        l->x[l->nx++] = p->name;
    }
    for (int t = 0; t < m->ntables && m->concat_grad; t++) {
        const char *out = op_out1(m->concat, "Out");
        l->rows[t] = add_list(g, arena_printf(a, "%s@ROWS@%d", out, t), DTYPE_INT64);
        l->where[t] = add_list(g, arena_printf(a, "%s@WHERE@%d", out, t), DTYPE_INT32);
    }
}

static void set_common(struct graph *g, struct skiff_op *op, const struct embedding_match *m,
                       const struct lists *l, int role)
{
    struct skiff_program *p = g->program;
    op_set_in(p, op, "W", m->ntables, m->tables);
    op_set_in(p, op, "Ids", l->nids, l->ids);
    op_set_in(p, op, "X", l->nx, l->x);
    op_set_ints(p, op, "pieces", 3 * m->n, l->layout);
    op_set_longs(p, op, "paddings", m->n, l->paddings);
    op_set_bool(p, op, "is_sparse", m->sparse);
    op_set_int(p, op, "op_role", role);
}

/* The sum over a table's parts keeps one of them, the fused gradient; alone, it goes away. */
static const char *join_parts(struct graph *g, const struct embedding_match *m, int table)
{
    const char *kept = NULL;
    struct skiff_op *sum = NULL;
    for (int i = 0; i < m->n; i++)
        if (m->pieces[i].kind != PIECE_DENSE && m->pieces[i].table == table) {
            kept = m->pieces[i].dw;
            sum = collecting_sum(g, kept);
            break;
        }
    if (!sum)
        return kept;
    const struct op_arg *x = op_in(sum, "X");
    const char **left = arena_alloc(&g->program->arena, (size_t)(x->n + 1) * sizeof(*left));
    int n = 0;
    for (int j = 0; j < x->n; j++) {
        bool ours = false;
        for (int i = 0; i < m->n && !ours; i++)
            ours = m->pieces[i].dw && !strcmp(m->pieces[i].dw, x->names[j]);
        if (!ours)
            left[n++] = x->names[j];
    }
    if (!n) {
        const char *out = op_out1(sum, "Out");
        graph_drop(g, sum);
        return out;
    }
    left[n++] = kept;
    op_set_in(g->program, sum, "X", n, left);
    return kept;
}

static void replace(struct graph *g, const struct embedding_match *m)
{
    struct lists l;
    collect(g, m, &l);
    const char *out = op_out1(m->concat, "Out");
    struct skiff_op *fused = graph_replace(g, m->concat, "fused_embedding_concat");
    set_common(g, fused, m, &l, ROLE_FORWARD);
    op_set_out(g->program, fused, "Out", 1, &out);
    if (m->concat_grad) {
        const char *dout = op_in1(m->concat_grad, "Out@GRAD");
        op_set_out(g->program, fused, "Rows", m->ntables, l.rows);
        op_set_out(g->program, fused, "Where", m->ntables, l.where);
        struct skiff_op *grad = graph_replace(g, m->concat_grad, "fused_embedding_concat_grad");
        set_common(g, grad, m, &l, ROLE_BACKWARD);
        op_set_in(g->program, grad, "Out@GRAD", 1, &dout);
        op_set_in(g->program, grad, "Rows", m->ntables, l.rows);
        op_set_in(g->program, grad, "Where", m->ntables, l.where);
        for (int t = 0; t < m->ntables; t++)
            l.dw[t] = join_parts(g, m, t);
        op_set_out(g->program, grad, "W@GRAD", m->ntables, l.dw);
        op_set_out(g->program, grad, "X@GRAD", l.nx, l.dx);
    }
    for (int i = 0; i < m->n; i++) {
        const struct lookup_piece *p = &m->pieces[i];
        struct skiff_op *gone[] = {p->lookup, p->middle, p->lookup_grad, p->middle_grad};
        for (int j = 0; j < 4; j++)
            if (gone[j])
                graph_drop(g, gone[j]);
    }
}

int fuse_embedding(struct graph *g)
{
    int fused = 0;
    for (int i = 0; i < g->block->nops; i++) {
        struct skiff_op *op = g->block->ops[i];
        struct embedding_match m;
        if (!op || !op->kind || op->kind->class != CLASS_CONCAT || !match_concat(g, op, &m))
            continue;
        replace(g, &m);
        fused++;
    }
    return fused;
}
