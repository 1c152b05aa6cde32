/* Programs as Paddle's protobuf messages.
 *
 * Reading: protobuf-c unpacks straight into the new program's arena (its free is a no-op), and the
 * IR borrows strings and number lists from there, so a program is read with one copy. Sub-messages
 * that the IR has no structure for (readers, tuples, VarDesc.attrs) and fields that this version
 * does not know are kept as bytes, tag and payload, and written back behind the known fields.
 * Nothing here recurses: the schema is six messages deep at most.
 * Where a file repeats an attribute or a slot of an op, the last one counts, as in Paddle. */
#include <string.h>

#include "base/mem.h"
#include "framework.pb-c.h"
#include "program/build.h"
#include "program/op_kind.h"
#include "program/pb_fields.h"
#include "program/rights.h"

#define PB(name) Paddle__Framework__Proto__##name
/* A zeroed message of a type, in the arena. */
#define PB_NEW(arena, name, lower)                              \
    ({                                                          \
        PB(name) *fresh_ = arena_alloc(arena, sizeof(*fresh_)); \
        paddle__framework__proto__##lower##__init(fresh_);      \
        fresh_;                                                 \
    })

enum {
    FIRST_2X_VERSION = 2000000,
    FIELD_COMPAT_MAP = 3, /* of ProgramDesc */
    FIELD_VAR_ATTRS = 7,  /* of VarDesc */
};

static void *arena_hook_alloc(void *arena, size_t bytes)
{
    return arena_alloc(arena, bytes);
}

static void arena_hook_free(void *arena, void *p) {}

struct pb_reader {
    struct skiff_program *program;
    const char *what;
    int nblocks;
    bool odd_field; /* a field number outside the range, which protobuf-c lets pass */
    struct skiff_error *err;
};

static void keep_message(struct buf *b, uint32_t tag, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    pb_put_varint(b, (uint64_t)tag << 3 | PB_WIRE_BYTES);
    pb_put_varint(b, n);
    buf_reserve(b, n);
    protobuf_c_message_pack(m, (uint8_t *)b->data + b->len);
    b->len += n;
}

static struct unknown_fields keep_buf(struct skiff_program *p, struct buf *b)
{
    struct unknown_fields u = {0};
    if (b->len) {
        u.bytes = arena_memdup(&p->arena, b->data, b->len);
        u.len = b->len;
    }
    buf_deinit(b);
    return u;
}

static void add_unknown(struct pb_reader *r, struct buf *b, const ProtobufCMessage *m)
{
    for (unsigned i = 0; i < m->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *f = &m->unknown_fields[i];
        if (f->tag == 0 || f->tag > PB_TAG_MAX)
            r->odd_field = true;
        pb_put_varint(b, (uint64_t)f->tag << 3 | f->wire_type);
        buf_add(b, f->data, f->len);
    }
}

static struct unknown_fields keep_unknown(struct pb_reader *r, const ProtobufCMessage *m)
{
    struct buf b = BUF_INIT;
    if (m->n_unknown_fields == 0)
        return (struct unknown_fields){0};
    add_unknown(r, &b, m);
    return keep_buf(r->program, &b);
}

/* ---- reading ---- */

static enum presence presence_of(protobuf_c_boolean has, protobuf_c_boolean value)
{
    return !has ? PRESENCE_ABSENT : value ? PRESENCE_TRUE : PRESENCE_FALSE;
}

/* Of several equal keys the last one counts. keep[i] is false for the others. */
static void find_last(char **keys, size_t n, bool *keep)
{
    enum { FEW = 48 };
    memset(keep, 1, n * sizeof(*keep));
    if (n <= FEW) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = i + 1; j < n && keep[i]; j++)
                if (strcmp(keys[i], keys[j]) == 0)
                    keep[i] = false;
        return;
    }
    struct str_map seen;
    str_map_init(&seen);
    for (size_t i = n; i-- > 0;) {
        keep[i] = !str_map_has(&seen, keys[i]);
        if (keep[i])
            str_map_put(&seen, keys[i], keys[i]);
    }
    str_map_deinit(&seen);
}

static enum skiff_status read_tensor(struct pb_reader *r, struct skiff_var *v,
                                     const PB(VarType__TensorDesc) * t)
{
    if (!t)
        return SKIFF_OK;
    if (t->n_dims > TENSOR_MAX_DIMS)
        return error_set(r->err, SKIFF_FORMAT,
                         "%s: variable %s has %zu dimensions, at most %d are supported", r->what,
                         v->name, t->n_dims, TENSOR_MAX_DIMS);
    v->has_tensor = true;
    v->dtype = (enum dtype)t->data_type;
    v->shape = shape_of((int)t->n_dims, t->dims);
    v->tensor_unknown = keep_unknown(r, &t->base);
    return SKIFF_OK;
}

/* The sub-messages of a VarType that hold a bare TensorDesc. */
static PB(VarType__TensorDesc) * *plain_tensor(PB(VarType) * t, int kind)
{
    switch (kind) {
    case VAR_SELECTED_ROWS:
        return &t->selected_rows;
    case VAR_STRING:
        return &t->string;
    case VAR_STRINGS:
        return &t->strings;
    case VAR_VOCAB:
        return &t->vocab;
    case VAR_SPARSE_COO:
        return &t->sparse_coo;
    case VAR_SPARSE_CSR:
        return &t->sparse_csr;
    default:
        return NULL;
    }
}

/* Keeps the sub-messages of the type other than the one of its kind. */
static void keep_rest(struct pb_reader *r, struct skiff_var *v, PB(VarType) * t)
{
    struct buf b = BUF_INIT;
    const struct {
        uint32_t tag;
        const ProtobufCMessage *m;
    } parts[] = {{2, t->selected_rows ? &t->selected_rows->base : NULL},
                 {3, t->lod_tensor ? &t->lod_tensor->base : NULL},
                 {4, t->tensor_array ? &t->tensor_array->base : NULL},
                 {5, t->reader ? &t->reader->base : NULL},
                 {7, t->tuple ? &t->tuple->base : NULL},
                 {8, t->string ? &t->string->base : NULL},
                 {9, t->strings ? &t->strings->base : NULL},
                 {10, t->vocab ? &t->vocab->base : NULL},
                 {11, t->sparse_coo ? &t->sparse_coo->base : NULL},
                 {12, t->sparse_csr ? &t->sparse_csr->base : NULL}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i].m)
            keep_message(&b, parts[i].tag, parts[i].m);
    struct unknown_fields rest = keep_buf(r->program, &b);
    v->type_rest = rest.bytes;
    v->type_rest_len = rest.len;
}

static enum skiff_status read_type(struct pb_reader *r, struct skiff_var *v, PB(VarType) * t)
{
    v->kind = (enum var_kind)t->type;
    v->type_unknown = keep_unknown(r, &t->base);
    if (v->kind == VAR_LOD_TENSOR && t->lod_tensor) {
        TRY(read_tensor(r, v, t->lod_tensor->tensor));
        v->lod_level = t->lod_tensor->lod_level;
        v->desc_unknown = keep_unknown(r, &t->lod_tensor->base);
        t->lod_tensor = NULL;
    } else if (v->kind == VAR_LOD_TENSOR_ARRAY && t->tensor_array) {
        TRY(read_tensor(r, v, t->tensor_array->tensor));
        v->lod_level = t->tensor_array->lod_level;
        v->desc_unknown = keep_unknown(r, &t->tensor_array->base);
        t->tensor_array = NULL;
    } else if (plain_tensor(t, t->type)) {
        TRY(read_tensor(r, v, *plain_tensor(t, t->type)));
        *plain_tensor(t, t->type) = NULL;
    }
    if (v->lod_level < 0)
        return error_set(r->err, SKIFF_FORMAT, "%s: variable %s has lod level %d", r->what, v->name,
                         v->lod_level);
    keep_rest(r, v, t);
    return SKIFF_OK;
}

static enum skiff_status read_var(struct pb_reader *r, struct skiff_block *b, const PB(VarDesc) * d)
{
    if (block_own_var(b, d->name))
        return error_set(r->err, SKIFF_FORMAT, "%s: block %d has variable %s twice", r->what,
                         b->idx, d->name);
    struct skiff_var *v = arena_alloc(&r->program->arena, sizeof(*v));
    v->name = d->name;
    v->dtype = DTYPE_FP32;
    str_map_put(&b->vars, v->name, v);
    v->persistable = presence_of(d->has_persistable, d->persistable);
    v->need_check_feed = presence_of(d->has_need_check_feed, d->need_check_feed);
    v->is_parameter = presence_of(d->has_is_parameter, d->is_parameter);
    v->has_stop_gradient = presence_of(d->has_stop_gradient, d->stop_gradient);
    v->stop_gradient = v->has_stop_gradient == PRESENCE_TRUE;
    if (d->n_attrs || d->base.n_unknown_fields) {
        struct buf rest = BUF_INIT;
        for (size_t i = 0; i < d->n_attrs; i++)
            keep_message(&rest, FIELD_VAR_ATTRS, &d->attrs[i]->base);
        add_unknown(r, &rest, &d->base);
        v->unknown = keep_buf(r->program, &rest);
    }
    return read_type(r, v, d->type);
}

static void read_args(struct pb_reader *r, struct op_arg **list, int *n, PB(OpDesc__Var) * *from,
                      size_t nfrom)
{
    if (nfrom == 0)
        return;
    char **slots = arena_alloc(&r->program->arena, nfrom * sizeof(*slots));
    bool *keep = arena_alloc(&r->program->arena, nfrom * sizeof(*keep));
    for (size_t i = 0; i < nfrom; i++)
        slots[i] = from[i]->parameter;
    find_last(slots, nfrom, keep);
    for (size_t i = 0; i < nfrom; i++) {
        struct op_arg arg = {.slot = slots[i],
                             .n = (int)from[i]->n_arguments,
                             .names = (const char **)from[i]->arguments,
                             .unknown = keep_unknown(r, &from[i]->base)};
        if (keep[i])
            op_push_arg(r->program, list, n, &arg);
    }
}

static struct scalar read_scalar(const PB(Scalar) * s)
{
    struct scalar out = {
        .type = (enum scalar_type)s->type, .b = s->b != 0, .i = s->i, .r = s->r, .im = 0};
    if (s->c) {
        out.r = s->c->r;
        out.im = s->c->i;
    }
    return out;
}

static struct attr_value read_list(struct pb_reader *r, const PB(OpDesc__Attr) * a)
{
    switch ((enum attr_type)a->type) {
    case ATTR_INTS:
        return (struct attr_value){.n = (int)a->n_ints, .ints = a->ints};
    case ATTR_FLOATS:
        return (struct attr_value){.n = (int)a->n_floats, .floats = a->floats};
    case ATTR_STRINGS:
        return (struct attr_value){.n = (int)a->n_strings,
                                   .strings = (const char *const *)a->strings};
    case ATTR_BLOCKS:
        return (struct attr_value){.n = (int)a->n_blocks_idx, .ints = a->blocks_idx};
    case ATTR_LONGS:
        return (struct attr_value){.n = (int)a->n_longs, .longs = a->longs};
    case ATTR_FLOAT64S:
        return (struct attr_value){.n = (int)a->n_float64s, .doubles = a->float64s};
    case ATTR_VARS:
        return (struct attr_value){.n = (int)a->n_vars_name,
                                   .strings = (const char *const *)a->vars_name};
    case ATTR_BOOLEANS: {
        bool *bools = arena_alloc(&r->program->arena, a->n_bools + 1);
        for (size_t i = 0; i < a->n_bools; i++)
            bools[i] = a->bools[i] != 0;
        return (struct attr_value){.n = (int)a->n_bools, .bools = bools};
    }
    default: {
        struct scalar *scalars =
            arena_alloc(&r->program->arena, (a->n_scalars + 1) * sizeof(*scalars));
        for (size_t i = 0; i < a->n_scalars; i++)
            scalars[i] = read_scalar(a->scalars[i]);
        return (struct attr_value){.n = (int)a->n_scalars, .scalars = scalars};
    }
    }
}

static struct attr_value read_value(struct pb_reader *r, const PB(OpDesc__Attr) * a)
{
    switch ((enum attr_type)a->type) {
    case ATTR_INT:
        return (struct attr_value){.i = a->i};
    case ATTR_FLOAT:
        return (struct attr_value){.f = a->f};
    case ATTR_STRING:
        return (struct attr_value){.s = a->s ? a->s : ""};
    case ATTR_BOOLEAN:
        return (struct attr_value){.b = a->b != 0};
    case ATTR_BLOCK:
        return (struct attr_value){.i = a->block_idx};
    case ATTR_LONG:
        return (struct attr_value){.l = a->l};
    case ATTR_VAR:
        return (struct attr_value){.s = a->var_name ? a->var_name : ""};
    case ATTR_FLOAT64:
        return (struct attr_value){.d = a->float64};
    case ATTR_SCALAR:
        return (struct attr_value){.scalar = a->scalar ? read_scalar(a->scalar)
                                                       : (struct scalar){.type = SCALAR_LONG}};
    default:
        return read_list(r, a);
    }
}

static enum skiff_status read_attr(struct pb_reader *r, struct skiff_op *op,
                                   const PB(OpDesc__Attr) * a)
{
    struct op_attr_value out = {.name = a->name, .type = (enum attr_type)a->type};
    if (out.type < ATTR_INT || out.type > ATTR_SCALARS) {
        /* A type of a later version. The whole message goes along: repeated fields that are
         * single count once, the last time. */
        struct buf b = BUF_INIT;
        size_t n = protobuf_c_message_get_packed_size(&a->base);
        buf_reserve(&b, n);
        b.len = protobuf_c_message_pack(&a->base, (uint8_t *)b.data);
        out.unknown = keep_buf(r->program, &b);
    } else {
        out.value = read_value(r, a);
        out.unknown = keep_unknown(r, &a->base);
    }
    int n = out.type == ATTR_BLOCK ? 1 : out.type == ATTR_BLOCKS ? out.value.n : 0;
    const int32_t *idx = out.type == ATTR_BLOCK ? &out.value.i : out.value.ints;
    for (int i = 0; i < n; i++)
        if (idx[i] < 0 || idx[i] >= r->nblocks)
            return error_set(r->err, SKIFF_FORMAT,
                             "%s: op %s, attribute %s: block %d, but the program has %d blocks",
                             r->what, op->type, a->name, (int)idx[i], r->nblocks);
    op->attrs[op->nattrs++] = out;
    if (out.type >= ATTR_FLOAT64S)
        r->program->generation = GEN_2X;
    return SKIFF_OK;
}

static enum skiff_status read_op(struct pb_reader *r, struct skiff_block *b, const PB(OpDesc) * d)
{
    struct skiff_op *op = arena_alloc(&r->program->arena, sizeof(*op));
    op->program = r->program;
    op->type = d->type;
    op->is_target = presence_of(d->has_is_target, d->is_target);
    op->unknown = keep_unknown(r, &d->base);
    read_args(r, &op->ins, &op->nins, d->inputs, d->n_inputs);
    read_args(r, &op->outs, &op->nouts, d->outputs, d->n_outputs);
    op_reserve_attrs(r->program, op, (int)d->n_attrs);
    if (d->n_attrs) {
        char **names = arena_alloc(&r->program->arena, d->n_attrs * sizeof(*names));
        bool *keep = arena_alloc(&r->program->arena, d->n_attrs * sizeof(*keep));
        for (size_t i = 0; i < d->n_attrs; i++)
            names[i] = d->attrs[i]->name;
        find_last(names, d->n_attrs, keep);
        for (size_t i = 0; i < d->n_attrs; i++)
            if (keep[i])
                TRY(read_attr(r, op, d->attrs[i]));
    }
    block_put_op(b, -1, op);
    return SKIFF_OK;
}

static enum skiff_status read_block(struct pb_reader *r, const PB(BlockDesc) * d)
{
    int i = r->program->nblocks;
    if (d->idx != i)
        return error_set(r->err, SKIFF_FORMAT, "%s: block %d has the index %d", r->what, i, d->idx);
    if (d->parent_idx < -1 || d->parent_idx >= i)
        return error_set(r->err, SKIFF_FORMAT,
                         "%s: block %d has parent %d; expected an earlier block, or -1", r->what, i,
                         d->parent_idx);
    if (block_too_deep(r->program, d->parent_idx))
        return error_set(r->err, SKIFF_FORMAT, "%s: block %d lies more than %d blocks deep",
                         r->what, i, BLOCK_DEPTH_MAX);
    if (d->forward_block_idx < -1 || d->forward_block_idx >= r->nblocks)
        return error_set(r->err, SKIFF_FORMAT,
                         "%s: block %d has forward block %d, but the program has %d blocks",
                         r->what, i, d->forward_block_idx, r->nblocks);
    struct skiff_block *b = program_push_block(r->program, d->parent_idx, d->forward_block_idx);
    b->unknown = keep_unknown(r, &d->base);
    for (size_t k = 0; k < d->n_vars; k++)
        TRY(read_var(r, b, d->vars[k]));
    for (size_t k = 0; k < d->n_ops; k++)
        TRY(read_op(r, b, d->ops[k]));
    return SKIFF_OK;
}

static void read_versions(struct pb_reader *r, const PB(ProgramDesc) * d)
{
    struct skiff_program *p = r->program;
    if (d->version) {
        p->has_version = true;
        p->paddle_version = d->version->version;
        p->version_unknown = keep_unknown(r, &d->version->base);
    }
    if (p->paddle_version >= FIRST_2X_VERSION || d->op_version_map)
        p->generation = GEN_2X;
    if (d->op_compatible_map) {
        size_t n = protobuf_c_message_get_packed_size(&d->op_compatible_map->base);
        uint8_t *bytes = arena_alloc(&p->arena, n + 1);
        p->compat_map_len = protobuf_c_message_pack(&d->op_compatible_map->base, bytes);
        p->compat_map = bytes;
    }
    const PB(OpVersionMap) *map = d->op_version_map;
    if (!map)
        return;
    p->has_op_version_map = true;
    p->version_map_unknown = keep_unknown(r, &map->base);
    p->nop_versions = (int)map->n_pair;
    p->op_versions = arena_alloc(&p->arena, (map->n_pair + 1) * sizeof(*p->op_versions));
    for (size_t i = 0; i < map->n_pair; i++) {
        p->op_versions[i].op = map->pair[i]->op_name;
        p->op_versions[i].version = map->pair[i]->op_version->version;
    }
}

static enum skiff_status read_program(struct pb_reader *r, const void *bytes, size_t n)
{
    struct skiff_program *p = r->program;
    ProtobufCAllocator hooks = {arena_hook_alloc, arena_hook_free, &p->arena};
    const PB(ProgramDesc) *d = paddle__framework__proto__program_desc__unpack(&hooks, n, bytes);
    if (!d)
        return error_set(r->err, SKIFF_FORMAT,
                         "%s: not a Paddle program: %zu bytes that are not a whole ProgramDesc",
                         r->what, n);
    if (d->n_blocks == 0)
        return error_set(r->err, SKIFF_FORMAT, "%s: the program has no blocks (%zu bytes)", r->what,
                         n);
    r->nblocks = (int)d->n_blocks;
    read_versions(r, d);
    p->unknown = keep_unknown(r, &d->base);
    for (size_t i = 0; i < d->n_blocks; i++)
        TRY(read_block(r, d->blocks[i]));
    if (r->odd_field)
        return error_set(r->err, SKIFF_FORMAT, "%s: a protobuf field has a number outside 1 to %d",
                         r->what, PB_TAG_MAX);
    for (int i = 0; i < p->nblocks; i++)
        for (int k = 0; k < p->blocks[i]->nops; k++)
            op_bind(p, p->blocks[i]->ops[k]);
    return SKIFF_OK;
}

enum skiff_status program_decode(const void *bytes, size_t n, const char *what,
                                 struct skiff_program **out, struct skiff_error *err)
{
    enum { MAX_BYTES = 1 << 30 }; /* counts fit an int, and so does protobuf */
    if (n > MAX_BYTES)
        return error_set(err, SKIFF_FORMAT, "%s: %zu bytes are too many for a program", what, n);
    struct pb_reader r = {.program = program_create_bare(), .what = what, .err = err};
    enum skiff_status status = read_program(&r, bytes, n);
    if (status < 0) {
        program_destroy(r.program);
        return status;
    }
    program_set_origin(r.program, what);
    *out = r.program;
    return status;
}

/* ---- writing: messages in a passing arena, which borrow from the program ---- */

/* Adds bytes of fields to a message as its unknown fields, after the known ones. */
static void give_bytes(struct arena *a, ProtobufCMessage *m, const uint8_t *bytes, size_t len)
{
    size_t pos = 0;
    unsigned n = 0;
    struct pb_field field;
    while (pos < len && pb_next_field(bytes, len, &pos, &field))
        n++;
    if (n == 0)
        return;
    ProtobufCMessageUnknownField *all = arena_alloc(a, (m->n_unknown_fields + n) * sizeof(*all));
    if (m->n_unknown_fields)
        memcpy(all, m->unknown_fields, m->n_unknown_fields * sizeof(*all));
    pos = 0;
    for (unsigned i = 0; i < n; i++) {
        pb_next_field(bytes, len, &pos, &field);
        all[m->n_unknown_fields + i] =
            (ProtobufCMessageUnknownField){.tag = field.tag,
                                           .wire_type = (ProtobufCWireType)field.wire,
                                           .len = field.len,
                                           .data = (uint8_t *)field.data};
    }
    m->unknown_fields = all;
    m->n_unknown_fields += n;
}

static void give_unknown(struct arena *a, ProtobufCMessage *m, struct unknown_fields u)
{
    if (u.len)
        give_bytes(a, m, u.bytes, u.len);
}

static void put_presence(enum presence p, protobuf_c_boolean *has, protobuf_c_boolean *value)
{
    *has = p != PRESENCE_ABSENT;
    *value = p == PRESENCE_TRUE;
}

static PB(VarType__TensorDesc) * write_tensor(struct arena *a, const struct skiff_var *v)
{
    PB(VarType__TensorDesc) *t = PB_NEW(a, VarType__TensorDesc, var_type__tensor_desc);
    t->data_type = (PB(VarType__Type))v->dtype;
    t->n_dims = (size_t)v->shape.ndim;
    t->dims = (int64_t *)v->shape.dims;
    give_unknown(a, &t->base, v->tensor_unknown);
    return t;
}

static void write_type(struct arena *a, const struct skiff_var *v, PB(VarType) * t)
{
    t->type = (PB(VarType__Type))v->kind;
    if (v->has_tensor && v->kind == VAR_LOD_TENSOR) {
        t->lod_tensor = PB_NEW(a, VarType__LoDTensorDesc, var_type__lo_dtensor_desc);
        t->lod_tensor->tensor = write_tensor(a, v);
        t->lod_tensor->has_lod_level = 1;
        t->lod_tensor->lod_level = v->lod_level;
        give_unknown(a, &t->lod_tensor->base, v->desc_unknown);
    } else if (v->has_tensor && v->kind == VAR_LOD_TENSOR_ARRAY) {
        t->tensor_array = PB_NEW(a, VarType__LoDTensorArrayDesc, var_type__lo_dtensor_array_desc);
        t->tensor_array->tensor = write_tensor(a, v);
        t->tensor_array->has_lod_level = 1;
        t->tensor_array->lod_level = v->lod_level;
        give_unknown(a, &t->tensor_array->base, v->desc_unknown);
    } else if (v->has_tensor && plain_tensor(t, (int)v->kind)) {
        *plain_tensor(t, (int)v->kind) = write_tensor(a, v);
    }
    give_bytes(a, &t->base, v->type_rest, v->type_rest_len);
    give_unknown(a, &t->base, v->type_unknown);
}

/* Files of 2.x say which variables are parameters and which have no gradient. */
static enum presence flag_of(enum presence read, bool known, bool is_2x)
{
    return read == PRESENCE_ABSENT && is_2x && known ? PRESENCE_TRUE : read;
}

static PB(VarDesc) * write_var(struct arena *a, const struct skiff_var *v, bool is_2x)
{
    PB(VarDesc) *d = PB_NEW(a, VarDesc, var_desc);
    d->name = (char *)v->name;
    d->type = PB_NEW(a, VarType, var_type);
    write_type(a, v, d->type);
    put_presence(v->persistable, &d->has_persistable, &d->persistable);
    put_presence(v->need_check_feed, &d->has_need_check_feed, &d->need_check_feed);
    put_presence(flag_of(v->is_parameter, v->param != NULL, is_2x), &d->has_is_parameter,
                 &d->is_parameter);
    put_presence(flag_of(v->has_stop_gradient, v->stop_gradient, is_2x), &d->has_stop_gradient,
                 &d->stop_gradient);
    give_unknown(a, &d->base, v->unknown);
    return d;
}

static PB(OpDesc__Var) * *write_args(struct arena *a, const struct op_arg *args, int n)
{
    PB(OpDesc__Var) **list = arena_alloc(a, (size_t)(n + 1) * sizeof(*list));
    for (int i = 0; i < n; i++) {
        list[i] = PB_NEW(a, OpDesc__Var, op_desc__var);
        list[i]->parameter = (char *)args[i].slot;
        list[i]->n_arguments = (size_t)args[i].n;
        list[i]->arguments = (char **)args[i].names;
        give_unknown(a, &list[i]->base, args[i].unknown);
    }
    return list;
}

static PB(Scalar) * write_scalar(struct arena *a, const struct scalar *s)
{
    PB(Scalar) *d = PB_NEW(a, Scalar, scalar);
    d->type = (PB(Scalar__Type))s->type;
    switch (s->type) {
    case SCALAR_BOOLEAN:
        d->has_b = 1;
        d->b = s->b;
        break;
    case SCALAR_LONG:
        d->has_i = 1;
        d->i = s->i;
        break;
    case SCALAR_FLOAT64:
        d->has_r = 1;
        d->r = s->r;
        break;
    case SCALAR_COMPLEX128:
        d->c = PB_NEW(a, Complex, complex);
        d->c->r = s->r;
        d->c->i = s->im;
        break;
    }
    return d;
}

static void write_list(struct arena *a, const struct attr_value *v, PB(OpDesc__Attr) * d)
{
    size_t n = (size_t)v->n;
    switch ((enum attr_type)d->type) {
    case ATTR_INTS:
        d->n_ints = n;
        d->ints = (int32_t *)v->ints;
        break;
    case ATTR_FLOATS:
        d->n_floats = n;
        d->floats = (float *)v->floats;
        break;
    case ATTR_STRINGS:
        d->n_strings = n;
        d->strings = (char **)v->strings;
        break;
    case ATTR_BOOLEANS:
        d->n_bools = n;
        d->bools = arena_alloc(a, (n + 1) * sizeof(*d->bools));
        for (size_t i = 0; i < n; i++)
            d->bools[i] = v->bools[i];
        break;
    case ATTR_BLOCKS:
        d->n_blocks_idx = n;
        d->blocks_idx = (int32_t *)v->ints;
        break;
    case ATTR_LONGS:
        d->n_longs = n;
        d->longs = (int64_t *)v->longs;
        break;
    case ATTR_FLOAT64S:
        d->n_float64s = n;
        d->float64s = (double *)v->doubles;
        break;
    case ATTR_VARS:
        d->n_vars_name = n;
        d->vars_name = (char **)v->strings;
        break;
    case ATTR_SCALARS:
        d->n_scalars = n;
        d->scalars = arena_alloc(a, (n + 1) * sizeof(*d->scalars));
        for (size_t i = 0; i < n; i++)
            d->scalars[i] = write_scalar(a, &v->scalars[i]);
        break;
    default: /* a type of a later version: all of it is in the unknown bytes */
        break;
    }
}

static PB(OpDesc__Attr) * write_attr(struct arena *a, const struct op_attr_value *attr)
{
    PB(OpDesc__Attr) *d = PB_NEW(a, OpDesc__Attr, op_desc__attr);
    const struct attr_value *v = &attr->value;
    d->name = (char *)attr->name;
    d->type = (PB(AttrType))attr->type;
    switch (attr->type) {
    case ATTR_INT:
        d->has_i = 1;
        d->i = v->i;
        break;
    case ATTR_FLOAT:
        d->has_f = 1;
        d->f = v->f;
        break;
    case ATTR_STRING:
        d->s = (char *)(v->s ? v->s : "");
        break;
    case ATTR_BOOLEAN:
        d->has_b = 1;
        d->b = v->b;
        break;
    case ATTR_BLOCK:
        d->has_block_idx = 1;
        d->block_idx = v->i;
        break;
    case ATTR_LONG:
        d->has_l = 1;
        d->l = v->l;
        break;
    case ATTR_VAR:
        d->var_name = (char *)(v->s ? v->s : "");
        break;
    case ATTR_FLOAT64:
        d->has_float64 = 1;
        d->float64 = v->d;
        break;
    case ATTR_SCALAR:
        d->scalar = write_scalar(a, &v->scalar);
        break;
    default:
        write_list(a, v, d);
        break;
    }
    give_unknown(a, &d->base, attr->unknown);
    return d;
}

static PB(OpDesc) * write_op(struct arena *a, const struct skiff_op *op)
{
    PB(OpDesc) *d = PB_NEW(a, OpDesc, op_desc);
    d->type = (char *)op->type;
    d->n_inputs = (size_t)op->nins;
    d->inputs = write_args(a, op->ins, op->nins);
    d->n_outputs = (size_t)op->nouts;
    d->outputs = write_args(a, op->outs, op->nouts);
    d->n_attrs = (size_t)op->nattrs;
    d->attrs = arena_alloc(a, (size_t)(op->nattrs + 1) * sizeof(*d->attrs));
    for (int i = 0; i < op->nattrs; i++)
        d->attrs[i] = write_attr(a, &op->attrs[i]);
    put_presence(op->is_target, &d->has_is_target, &d->is_target);
    give_unknown(a, &d->base, op->unknown);
    return d;
}

static PB(BlockDesc) * write_block(struct arena *a, const struct skiff_block *b)
{
    PB(BlockDesc) *d = PB_NEW(a, BlockDesc, block_desc);
    d->idx = b->idx;
    d->parent_idx = b->parent;
    d->has_forward_block_idx = b->forward_idx != -1;
    d->forward_block_idx = b->forward_idx;
    d->n_vars = b->vars.count;
    d->vars = arena_alloc(a, (b->vars.count + 1) * sizeof(*d->vars));
    for (size_t i = 0; i < b->vars.count; i++)
        d->vars[i] = write_var(a, b->vars.entries[i].value, b->program->generation == GEN_2X);
    d->n_ops = (size_t)b->nops;
    d->ops = arena_alloc(a, (size_t)(b->nops + 1) * sizeof(*d->ops));
    for (int i = 0; i < b->nops; i++)
        d->ops[i] = write_op(a, b->ops[i]);
    give_unknown(a, &d->base, b->unknown);
    return d;
}

static void write_versions(struct arena *a, const struct skiff_program *p, PB(ProgramDesc) * d)
{
    if (p->has_version) {
        d->version = PB_NEW(a, Version, version);
        d->version->has_version = 1;
        d->version->version = p->paddle_version;
        give_unknown(a, &d->version->base, p->version_unknown);
    }
    if (!p->has_op_version_map)
        return;
    PB(OpVersionMap) *map = PB_NEW(a, OpVersionMap, op_version_map);
    map->n_pair = (size_t)p->nop_versions;
    map->pair = arena_alloc(a, (map->n_pair + 1) * sizeof(*map->pair));
    for (size_t i = 0; i < map->n_pair; i++) {
        map->pair[i] = PB_NEW(a, OpVersionMap__OpVersionPair, op_version_map__op_version_pair);
        map->pair[i]->op_name = (char *)p->op_versions[i].op;
        map->pair[i]->op_version = PB_NEW(a, OpVersion, op_version);
        map->pair[i]->op_version->version = p->op_versions[i].version;
    }
    give_unknown(a, &map->base, p->version_map_unknown);
    d->op_version_map = map;
}

void program_encode(const struct skiff_program *p, struct buf *out)
{
    struct arena a;
    struct buf compat = BUF_INIT;
    arena_init(&a);
    PB(ProgramDesc) *d = PB_NEW(&a, ProgramDesc, program_desc);
    d->n_blocks = (size_t)p->nblocks;
    d->blocks = arena_alloc(&a, (size_t)(p->nblocks + 1) * sizeof(*d->blocks));
    for (int i = 0; i < p->nblocks; i++)
        d->blocks[i] = write_block(&a, p->blocks[i]);
    write_versions(&a, p, d);
    if (p->compat_map) { /* as bytes: nobody looks into it */
        pb_put_varint(&compat, FIELD_COMPAT_MAP << 3 | PB_WIRE_BYTES);
        pb_put_varint(&compat, p->compat_map_len);
        buf_add(&compat, p->compat_map, p->compat_map_len);
        give_bytes(&a, &d->base, (const uint8_t *)compat.data, compat.len);
    }
    give_unknown(&a, &d->base, p->unknown);
    size_t n = paddle__framework__proto__program_desc__get_packed_size(d);
    buf_reserve(out, n);
    out->len += paddle__framework__proto__program_desc__pack(d, (uint8_t *)out->data + out->len);
    out->data[out->len] = 0;
    buf_deinit(&compat);
    arena_deinit(&a);
}
