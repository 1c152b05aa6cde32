/* Public functions for ops, attributes and the registry (<skiff/build.h>). Attributes cross the
 * interface as struct skiff_attr, whose lists have one width per kind; other widths are converted
 * in the program's arena. Setting an attribute converts numbers to the declared type and refuses
 * what does not fit. skiff_op_finish fills defaults and infers shapes, as a layer would. */
#include "program/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "program/bind.h"
#include "program/build.h"
#include "program/text.h"

/* ---- attributes ---- */

const char *skiff_attr_type_name(enum skiff_attr_type t)
{
    return attr_type_name((enum attr_type)t);
}

bool skiff_attr_type_parse(const char *name, enum skiff_attr_type *out)
{
    for (int t = SKIFF_ATTR_INT; t <= SKIFF_ATTR_SCALARS; t++)
        if (!strcmp(attr_type_name((enum attr_type)t), name)) {
            *out = (enum skiff_attr_type)t;
            return true;
        }
    return false;
}

static const int64_t *widen(struct arena *a, enum attr_type type, const struct attr_value *v)
{
    int64_t *wide = arena_alloc(a, (size_t)(v->n + 1) * sizeof(*wide));
    for (int i = 0; i < v->n; i++)
        wide[i] = type == ATTR_BOOLEANS ? v->bools[i] : v->ints[i];
    return wide;
}

static double scalar_number(const struct scalar *s)
{
    return s->type == SCALAR_BOOLEAN ? s->b : s->type == SCALAR_LONG ? (double)s->i : s->r;
}

static const double *reals(struct arena *a, enum attr_type type, const struct attr_value *v)
{
    double *wide = arena_alloc(a, (size_t)(v->n + 1) * sizeof(*wide));
    for (int i = 0; i < v->n; i++)
        wide[i] = type == ATTR_FLOATS ? (double)v->floats[i] : scalar_number(&v->scalars[i]);
    return wide;
}

struct skiff_attr attr_publish(struct arena *a, enum attr_type type, const struct attr_value *v)
{
    struct skiff_attr out = {.type = (enum skiff_attr_type)type, .n = v->n};
    switch (type) {
    case ATTR_INT:
    case ATTR_BLOCK:
        out.i = v->i;
        break;
    case ATTR_LONG:
        out.i = v->l;
        break;
    case ATTR_BOOLEAN:
        out.i = v->b;
        break;
    case ATTR_FLOAT:
        out.f = (double)v->f;
        break;
    case ATTR_FLOAT64:
        out.f = v->d;
        break;
    case ATTR_STRING:
    case ATTR_VAR:
        out.s = v->s;
        break;
    case ATTR_STRINGS:
    case ATTR_VARS:
        out.strings = v->strings;
        break;
    case ATTR_LONGS:
        out.longs = v->longs;
        break;
    case ATTR_INTS:
    case ATTR_BLOCKS:
    case ATTR_BOOLEANS:
        out.longs = widen(a, type, v);
        break;
    case ATTR_FLOAT64S:
        out.floats = v->doubles;
        break;
    case ATTR_FLOATS:
    case ATTR_SCALARS:
        out.is_real = true;
        out.floats = reals(a, type, v);
        break;
    case ATTR_SCALAR:
        out.is_real = v->scalar.type == SCALAR_FLOAT64 || v->scalar.type == SCALAR_COMPLEX128;
        if (out.is_real)
            out.f = v->scalar.r;
        else
            out.i = v->scalar.type == SCALAR_BOOLEAN ? v->scalar.b : v->scalar.i;
        break;
    }
    return out;
}

static bool is_whole_list(enum skiff_attr_type t)
{
    return t == SKIFF_ATTR_INTS || t == SKIFF_ATTR_LONGS || t == SKIFF_ATTR_BLOCKS ||
           t == SKIFF_ATTR_BOOLEANS;
}

static bool is_real_list(enum skiff_attr_type t)
{
    return t == SKIFF_ATTR_FLOATS || t == SKIFF_ATTR_FLOAT64S || t == SKIFF_ATTR_SCALARS;
}

static bool is_text(enum skiff_attr_type t)
{
    return t == SKIFF_ATTR_STRING || t == SKIFF_ATTR_VAR;
}

static bool is_text_list(enum skiff_attr_type t)
{
    return t == SKIFF_ATTR_STRINGS || t == SKIFF_ATTR_VARS;
}

static bool is_number(enum skiff_attr_type t)
{
    return !is_whole_list(t) && !is_real_list(t) && !is_text(t) && !is_text_list(t);
}

static double number_real(const struct skiff_attr *a)
{
    bool real = a->type == SKIFF_ATTR_FLOAT || a->type == SKIFF_ATTR_FLOAT64 ||
                (a->type == SKIFF_ATTR_SCALAR && a->is_real);
    return real ? a->f : (double)a->i;
}

static int64_t number_whole(const struct skiff_attr *a)
{
    bool real = a->type == SKIFF_ATTR_FLOAT || a->type == SKIFF_ATTR_FLOAT64 ||
                (a->type == SKIFF_ATTR_SCALAR && a->is_real);
    return real ? (int64_t)a->f : a->i;
}

/* One number as the inner value of type `to`. Integer types refuse fractions and numbers out of
 * range. */
static bool number_convert(const struct skiff_attr *a, enum attr_type to, struct attr_value *out)
{
    double real = number_real(a);
    int64_t whole = number_whole(a);
    bool exact = (double)whole == real;
    bool of_whole = to == ATTR_INT || to == ATTR_BLOCK || to == ATTR_LONG;
    bool is_real = !exact || a->is_real || a->type == SKIFF_ATTR_FLOAT;
    return attr_from_number(to, real, whole, is_real, out) && (exact || !of_whole);
}

static bool list_convert(struct arena *arena, const struct skiff_attr *a, enum attr_type to,
                         struct attr_value *out)
{
    static const struct {
        enum attr_type list, element;
        size_t size;
    } kinds[] = {{ATTR_INTS, ATTR_INT, sizeof(int32_t)},
                 {ATTR_BLOCKS, ATTR_BLOCK, sizeof(int32_t)},
                 {ATTR_LONGS, ATTR_LONG, sizeof(int64_t)},
                 {ATTR_FLOATS, ATTR_FLOAT, sizeof(float)},
                 {ATTR_FLOAT64S, ATTR_FLOAT64, sizeof(double)},
                 {ATTR_BOOLEANS, ATTR_BOOLEAN, sizeof(bool)},
                 {ATTR_SCALARS, ATTR_SCALAR, sizeof(struct scalar)}};
    bool whole = is_whole_list(a->type);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        if (kinds[k].list != to || (!whole && !is_real_list(a->type) && a->n))
            continue;
        char *items = arena_alloc(arena, (size_t)(a->n + 1) * kinds[k].size);
        for (int i = 0; i < a->n; i++) {
            struct skiff_attr one = {.type = whole ? SKIFF_ATTR_LONG : SKIFF_ATTR_FLOAT64};
            struct attr_value v = {0};
            if (whole)
                one.i = a->longs[i];
            else
                one.f = a->floats[i];
            if (!number_convert(&one, kinds[k].element, &v))
                return false;
            memcpy(items + (size_t)i * kinds[k].size, &v.i, kinds[k].size);
        }
        out->n = a->n;
        out->ints = (const int32_t *)(void *)items;
        return true;
    }
    return false;
}

/* The inner value of type `to`; false: it does not convert. */
static bool attr_convert(struct arena *arena, const struct skiff_attr *a, enum attr_type to,
                         struct attr_value *out)
{
    enum skiff_attr_type t = (enum skiff_attr_type)to;
    *out = (struct attr_value){0};
    if (is_text(a->type) && is_text(t)) {
        out->s = a->s;
        return true;
    }
    if (is_text_list(t) && (is_text_list(a->type) || (!is_number(a->type) && a->n == 0))) {
        out->n = a->n;
        out->strings = a->strings;
        return true;
    }
    if (is_number(a->type))
        return is_number(t) && number_convert(a, to, out);
    return !is_text(a->type) && list_convert(arena, a, to, out);
}

enum skiff_status skiff_op_set_attr(struct skiff_block *b, struct skiff_op *op, const char *name,
                                    const struct skiff_attr *value, struct skiff_error *err)
{
    struct arena *arena = &b->program->arena;
    struct attr_value v;
    int at = op->kind ? op_kind_attr(op->kind, name) : -1;
    const struct op_attr_value *had = op_attr(op, name);
    enum attr_type wanted = at >= 0 ? op->kind->attrs[at].type
                            : had && attr_convert(arena, value, had->type, &v)
                                ? had->type
                                : (enum attr_type)value->type;
    if (!attr_convert(arena, value, wanted, &v))
        return error_set(err, SKIFF_DTYPE,
                         "op %s: attribute %s is %s; a value of type %s was given", op->type, name,
                         attr_type_name(wanted), attr_type_name((enum attr_type)value->type));
    op_set_attr(b->program, op, name, wanted, &v);
    return SKIFF_OK;
}

bool skiff_op_attr(struct skiff_block *b, const struct skiff_op *op, const char *name,
                   struct skiff_attr *out)
{
    const struct op_attr_value *a = op_attr(op, name);
    if (a)
        *out = attr_publish(&b->program->arena, a->type, &a->value);
    return a != NULL;
}

void skiff_op_remove_attr(struct skiff_op *op, const char *name)
{
    op_remove_attr(op, name);
}

int skiff_op_attrs(const struct skiff_op *op)
{
    return op->nattrs;
}

const char *skiff_op_attr_name(const struct skiff_op *op, int i)
{
    return i >= 0 && i < op->nattrs ? op->attrs[i].name : NULL;
}

/* ---- slots ---- */

const char *skiff_op_type(const struct skiff_op *op)
{
    return op->type;
}

bool skiff_op_known(const struct skiff_op *op)
{
    return op->kind != NULL;
}

bool skiff_op_is_update(const struct skiff_op *op)
{
    return op->kind && op->kind->flags & OP_OPTIMIZER;
}

int skiff_op_ins(const struct skiff_op *op)
{
    return op->nins;
}

int skiff_op_outs(const struct skiff_op *op)
{
    return op->nouts;
}

const char *skiff_op_in_slot(const struct skiff_op *op, int i)
{
    return i >= 0 && i < op->nins ? op->ins[i].slot : NULL;
}

const char *skiff_op_out_slot(const struct skiff_op *op, int i)
{
    return i >= 0 && i < op->nouts ? op->outs[i].slot : NULL;
}

static int arg_names(const struct op_arg *a, const char *const **out)
{
    *out = a ? (const char *const *)a->names : NULL;
    return a ? a->n : 0;
}

int skiff_op_in(const struct skiff_op *op, const char *slot, const char *const **out)
{
    return arg_names(op_in(op, slot), out);
}

int skiff_op_out(const struct skiff_op *op, const char *slot, const char *const **out)
{
    return arg_names(op_out(op, slot), out);
}

void skiff_op_set_in(struct skiff_block *b, struct skiff_op *op, const char *slot, int n,
                     const char *const *names)
{
    op_set_in(b->program, op, slot, n, names);
}

void skiff_op_set_out(struct skiff_block *b, struct skiff_op *op, const char *slot, int n,
                      const char *const *names)
{
    op_set_out(b->program, op, slot, n, names);
}

void skiff_op_rename_in(struct skiff_block *b, struct skiff_op *op, const char *from,
                        const char *to)
{
    op_rename_in(b->program, op, from, to);
}

void skiff_op_rename_out(struct skiff_block *b, struct skiff_op *op, const char *from,
                         const char *to)
{
    op_rename_out(b->program, op, from, to);
}

static bool declares(const struct skiff_program *p, const struct op_slot *slots, const char *slot)
{
    int at = slots ? op_kind_slot(slots, slot) : -1;
    return at >= 0 && !(p->generation == GEN_1X && slots[at].flags & SLOT_ONLY_2X);
}

bool skiff_op_declares_in(const struct skiff_block *b, const struct skiff_op *op, const char *slot)
{
    return op->kind && declares(b->program, op->kind->ins, slot);
}

bool skiff_op_declares_out(const struct skiff_block *b, const struct skiff_op *op, const char *slot)
{
    return op->kind && declares(b->program, op->kind->outs, slot);
}

bool skiff_op_declares_attr(const struct skiff_block *b, const struct skiff_op *op,
                            const char *name, enum skiff_attr_type *out)
{
    int at = op->kind ? op_kind_attr(op->kind, name) : -1;
    unsigned foreign = b->program->generation == GEN_1X ? ATTR_ONLY_2X : ATTR_ONLY_1X;
    if (at < 0 || op->kind->attrs[at].flags & foreign)
        return false;
    if (out)
        *out = (enum skiff_attr_type)op->kind->attrs[at].type;
    return true;
}

/* ---- completing an op ---- */

static enum skiff_status complete_slots(struct skiff_block *b, struct skiff_op *op,
                                        struct skiff_error *err)
{
    unsigned foreign = b->program->generation == GEN_1X ? SLOT_ONLY_2X : 0;
    for (const struct op_slot *s = op->kind->ins; s && s->name; s++) {
        const struct op_arg *a = op_in(op, s->name);
        if (s->flags & foreign)
            continue;
        if ((!a || !a->n) && !(s->flags & SLOT_OPTIONAL))
            return error_set(err, SKIFF_INVALID, "op %s: input %s is missing", op->type, s->name);
        if (!a)
            op_set_in(b->program, op, s->name, 0, NULL);
    }
    for (const struct op_slot *s = op->kind->outs; s && s->name; s++)
        if (!op_out(op, s->name) && !(s->flags & (SLOT_OPTIONAL | SLOT_EXTRA | foreign)))
            return error_set(err, SKIFF_INVALID, "op %s: output %s is missing", op->type, s->name);
    return SKIFF_OK;
}

/* Output variables that have a type keep it through the shape rule (generation 1), as in Fluid,
 * where the rule knows shapes only. */
static void outputs_types(struct skiff_block *b, const struct skiff_op *op, int *types,
                          bool restore)
{
    int at = 0;
    for (int s = 0; s < op->nouts; s++)
        for (int i = 0; i < op->outs[s].n; i++, at++) {
            struct skiff_var *v = block_find_var(b, op->outs[s].names[i]);
            if (!restore)
                types[at] = v && v->has_tensor ? (int)v->dtype : -1;
            else if (v && types[at] >= 0)
                v->dtype = (enum dtype)types[at];
        }
}

static enum skiff_status infer_keeping(struct skiff_block *b, struct skiff_op *op,
                                       struct skiff_error *err)
{
    int n = 0;
    for (int s = 0; s < op->nouts; s++)
        n += op->outs[s].n;
    bool keep = b->program->generation == GEN_1X;
    int *types = mem_alloc_or_die((size_t)(n + 1) * sizeof(*types));
    if (keep)
        outputs_types(b, op, types, false);
    enum skiff_status status = infer_op(b, op, err);
    if (keep)
        outputs_types(b, op, types, true);
    free(types);
    return status;
}

static enum skiff_status unknown(const struct skiff_op *op, struct skiff_error *err)
{
    const char *near = op_kind_nearest(op->type);
    return error_set(err, SKIFF_NOT_FOUND, "unknown op %s%s%s%s", op->type,
                     near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static enum skiff_status finish(struct skiff_block *b, struct skiff_op *op, unsigned flags,
                                struct skiff_error *err)
{
    if (!op->kind)
        return unknown(op, err);
    TRY(complete_slots(b, op, err));
    TRY(op_fill_defaults(b->program, op, err));
    return flags & SKIFF_NO_INFER ? SKIFF_OK : infer_keeping(b, op, err);
}

enum skiff_status skiff_op_finish(struct skiff_block *b, struct skiff_op *op, unsigned flags,
                                  struct skiff_error *err)
{
    enum skiff_status status = finish(b, op, flags, err);
    for (int i = b->nops - 1; status < 0 && i >= 0; i--)
        if (b->ops[i] == op)
            block_remove_ops(b, i, 1);
    return status;
}

enum skiff_status skiff_op_infer(struct skiff_block *b, struct skiff_op *op,
                                 struct skiff_error *err)
{
    program_changed(b->program);
    return op->kind ? infer_keeping(b, op, err) : unknown(op, err);
}

char *skiff_op_text(const struct skiff_op *op)
{
    struct buf text = BUF_INIT;
    text_op(&text, op);
    return text.data;
}

/* ---- the registry ---- */

int skiff_registry_count(void)
{
    return op_kind_count();
}

static bool in_generation(const struct op_kind *k, int generation)
{
    return (!k->generations || k->generations & (unsigned)generation) && !(k->flags & OP_INTERNAL);
}

const char *skiff_registry_type(int i, int generation)
{
    if (i < 0 || i >= op_kind_count())
        return NULL;
    const struct op_kind *k = op_kind_at(i);
    return in_generation(k, generation) ? k->type : NULL;
}

static const struct op_kind *kind_of(const char *type, int generation)
{
    return op_kind_find(type, generation == 2 ? GEN_2X : GEN_1X);
}

bool skiff_registry_has(const char *type, int generation)
{
    return kind_of(type, generation) != NULL;
}

const char *skiff_registry_nearest(const char *type)
{
    return op_kind_nearest(type);
}

static bool slot_info(const struct op_slot *slots, int generation, int i,
                      struct skiff_slot_info *out)
{
    for (const struct op_slot *s = slots; s && s->name; s++) {
        if (generation == 1 && s->flags & SLOT_ONLY_2X)
            continue;
        if (i-- == 0) {
            *out = (struct skiff_slot_info){.name = s->name,
                                            .list = s->flags & SLOT_LIST,
                                            .optional = s->flags & (SLOT_OPTIONAL | SLOT_EXTRA)};
            return true;
        }
    }
    return false;
}

bool skiff_registry_in(const char *type, int generation, int i, struct skiff_slot_info *out)
{
    const struct op_kind *k = kind_of(type, generation);
    return k && slot_info(k->ins, generation, i, out);
}

bool skiff_registry_out(const char *type, int generation, int i, struct skiff_slot_info *out)
{
    const struct op_kind *k = kind_of(type, generation);
    return k && slot_info(k->outs, generation, i, out);
}

bool skiff_registry_attr(const char *type, int generation, int i, struct skiff_attr_info *out)
{
    const struct op_kind *k = kind_of(type, generation);
    unsigned foreign = generation == 2 ? ATTR_ONLY_1X : ATTR_ONLY_2X;
    for (const struct op_attr_spec *a = k ? k->attrs : NULL; a && a->name; a++) {
        if (a->flags & foreign)
            continue;
        if (i-- > 0)
            continue;
        *out = (struct skiff_attr_info){.name = a->name, .required = a->flags & ATTR_REQUIRED};
        out->def = (struct skiff_attr){.type = (enum skiff_attr_type)a->type, .n = a->def.n};
        if (!attr_type_is_list(a->type))
            out->def = attr_publish(NULL, a->type, &a->def);
        return true;
    }
    return false;
}
