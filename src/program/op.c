/* Ops: slots and attributes. Lists live in the program's arena and grow by doubling; what a list
 * outgrows stays in the arena until the program is destroyed, which is small beside the names.
 *
 * Lists have no field for their capacity: it is the power of two at or above n. Names may be shared
 * with another op (grad.c), so a list that changes is copied first. Defaults of attributes are
 * filled in by op_fill_defaults, from the op's row in the registry. One thread changes a
 * program. */
#include <string.h>

#include "program/build.h"
#include "program/op_kind.h"

void op_bind(const struct skiff_program *p, struct skiff_op *op)
{
    op->kind = op_kind_find(op->type, p->generation);
    if (op->kind)
        op->type = op->kind->type;
}

struct skiff_op *op_create(struct skiff_program *p, const char *type)
{
    struct skiff_op *op = arena_alloc(&p->arena, sizeof(*op));
    op->program = p;
    op->type = type;
    op_bind(p, op);
    if (!op->kind)
        op->type = arena_strdup(&p->arena, type);
    return op;
}

/* A slot list has room for a power of two of at least 4 entries; it is full when n is such a power
 * (or 0). */
void op_push_arg(struct skiff_program *p, struct op_arg **list, int *n, const struct op_arg *arg)
{
    bool full = *n == 0 || (*n >= 4 && (*n & (*n - 1)) == 0);
    if (full) {
        int capacity = *n ? *n * 2 : 4;
        struct op_arg *grown = arena_alloc(&p->arena, (size_t)capacity * sizeof(*grown));
        if (*n)
            memcpy(grown, *list, (size_t)*n * sizeof(*grown));
        *list = grown;
    }
    (*list)[(*n)++] = *arg;
}

static struct op_arg *find_arg(struct op_arg *args, int n, const char *slot)
{
    for (int i = 0; i < n; i++)
        if (strcmp(args[i].slot, slot) == 0)
            return &args[i];
    return NULL;
}

static const char **copy_names(struct skiff_program *p, int n, const char *const *names)
{
    const char **copy = n ? arena_alloc(&p->arena, (size_t)n * sizeof(*copy)) : NULL;
    for (int i = 0; i < n; i++)
        copy[i] = arena_strdup(&p->arena, names[i]);
    return copy;
}

static void set_arg(struct skiff_program *p, struct op_arg **list, int *nlist,
                    const struct op_slot *decl, const char *slot, int n, const char *const *names)
{
    struct op_arg *arg = find_arg(*list, *nlist, slot);
    const char **copy = copy_names(p, n, names);
    program_changed(p);
    if (arg) {
        arg->n = n;
        arg->names = copy;
        return;
    }
    int known = op_kind_slot(decl, slot);
    struct op_arg added = {.slot = known >= 0 ? decl[known].name : arena_strdup(&p->arena, slot),
                           .n = n,
                           .names = copy};
    op_push_arg(p, list, nlist, &added);
}

void op_set_in(struct skiff_program *p, struct skiff_op *op, const char *slot, int n,
               const char *const *names)
{
    set_arg(p, &op->ins, &op->nins, op->kind ? op->kind->ins : NULL, slot, n, names);
}

void op_set_out(struct skiff_program *p, struct skiff_op *op, const char *slot, int n,
                const char *const *names)
{
    set_arg(p, &op->outs, &op->nouts, op->kind ? op->kind->outs : NULL, slot, n, names);
}

const struct op_arg *op_in(const struct skiff_op *op, const char *slot)
{
    return find_arg(op->ins, op->nins, slot);
}

const struct op_arg *op_out(const struct skiff_op *op, const char *slot)
{
    return find_arg(op->outs, op->nouts, slot);
}

const char *op_in1(const struct skiff_op *op, const char *slot)
{
    const struct op_arg *a = op_in(op, slot);
    return a && a->n == 1 ? a->names[0] : NULL;
}

const char *op_out1(const struct skiff_op *op, const char *slot)
{
    const struct op_arg *a = op_out(op, slot);
    return a && a->n == 1 ? a->names[0] : NULL;
}

/* Name lists may be shared with another op (grad.c), so a list that changes is copied first. */
static void rename_args(struct skiff_program *p, struct op_arg *args, int nargs, const char *from,
                        const char *to)
{
    program_changed(p);
    const char *name = NULL;
    for (int i = 0; i < nargs; i++) {
        bool owned = false;
        for (int k = 0; k < args[i].n; k++) {
            if (strcmp(args[i].names[k], from) != 0)
                continue;
            if (!name)
                name = arena_strdup(&p->arena, to);
            if (!owned)
                args[i].names = arena_memdup(&p->arena, args[i].names,
                                             (size_t)args[i].n * sizeof(*args[i].names));
            owned = true;
            args[i].names[k] = name;
        }
    }
}

void op_rename_in(struct skiff_program *p, struct skiff_op *op, const char *from, const char *to)
{
    rename_args(p, op->ins, op->nins, from, to);
}

void op_rename_out(struct skiff_program *p, struct skiff_op *op, const char *from, const char *to)
{
    rename_args(p, op->outs, op->nouts, from, to);
}

static bool args_have(const struct op_arg *args, int nargs, const char *name)
{
    for (int i = 0; i < nargs; i++)
        for (int k = 0; k < args[i].n; k++)
            if (strcmp(args[i].names[k], name) == 0)
                return true;
    return false;
}

bool op_reads(const struct skiff_op *op, const char *name)
{
    return args_have(op->ins, op->nins, name);
}

bool op_writes(const struct skiff_op *op, const char *name)
{
    return args_have(op->outs, op->nouts, name);
}

static struct op_attr_value *find_attr(const struct skiff_op *op, const char *name)
{
    for (int i = 0; i < op->nattrs; i++)
        if (op->attrs[i].name == name || strcmp(op->attrs[i].name, name) == 0)
            return &op->attrs[i];
    return NULL;
}

const struct op_attr_value *op_attr(const struct skiff_op *op, const char *name)
{
    return find_attr(op, name);
}

void op_reserve_attrs(struct skiff_program *p, struct skiff_op *op, int n)
{
    if (n <= op->attrs_cap)
        return;
    struct op_attr_value *grown = arena_alloc(&p->arena, (size_t)n * sizeof(*grown));
    if (op->nattrs)
        memcpy(grown, op->attrs, (size_t)op->nattrs * sizeof(*grown));
    op->attrs = grown;
    op->attrs_cap = n;
}

static void push_attr(struct skiff_program *p, struct skiff_op *op,
                      const struct op_attr_value *attr)
{
    if (op->nattrs == op->attrs_cap)
        op_reserve_attrs(p, op, op->attrs_cap ? op->attrs_cap * 2 : 8);
    op->attrs[op->nattrs++] = *attr;
}

void op_put_attr(struct skiff_program *p, struct skiff_op *op, const struct op_attr_value *attr)
{
    struct op_attr_value *old = find_attr(op, attr->name);
    program_changed(p);
    if (old)
        *old = *attr;
    else
        push_attr(p, op, attr);
}

static struct op_attr_value copy_attr(struct skiff_program *p, const struct skiff_op *to,
                                      const struct op_attr_value *from)
{
    int known = to->kind ? op_kind_attr(to->kind, from->name) : -1;
    struct op_attr_value a = {.name = known >= 0 ? to->kind->attrs[known].name
                                                 : arena_strdup(&p->arena, from->name),
                              .type = from->type,
                              .value = attr_value_copy(&p->arena, from->type, &from->value)};
    if (from->unknown.len)
        a.unknown = (struct unknown_fields){
            arena_memdup(&p->arena, from->unknown.bytes, from->unknown.len), from->unknown.len};
    return a;
}

void op_set_attr(struct skiff_program *p, struct skiff_op *op, const char *name,
                 enum attr_type type, const struct attr_value *value)
{
    struct op_attr_value given = {.name = name, .type = type, .value = *value};
    struct op_attr_value a = copy_attr(p, op, &given);
    op_put_attr(p, op, &a);
}

void op_remove_attr(struct skiff_op *op, const char *name)
{
    struct op_attr_value *a = find_attr(op, name);
    if (!a)
        return;
    size_t after = (size_t)(op->attrs + op->nattrs - (a + 1));
    memmove(a, a + 1, after * sizeof(*a));
    op->nattrs--;
    program_changed(op->program);
}

void op_set_int(struct skiff_program *p, struct skiff_op *op, const char *name, int32_t v)
{
    op_set_attr(p, op, name, ATTR_INT, &(struct attr_value){.i = v});
}

void op_set_long(struct skiff_program *p, struct skiff_op *op, const char *name, int64_t v)
{
    op_set_attr(p, op, name, ATTR_LONG, &(struct attr_value){.l = v});
}

void op_set_float(struct skiff_program *p, struct skiff_op *op, const char *name, float v)
{
    op_set_attr(p, op, name, ATTR_FLOAT, &(struct attr_value){.f = v});
}

void op_set_bool(struct skiff_program *p, struct skiff_op *op, const char *name, bool v)
{
    op_set_attr(p, op, name, ATTR_BOOLEAN, &(struct attr_value){.b = v});
}

void op_set_string(struct skiff_program *p, struct skiff_op *op, const char *name, const char *v)
{
    op_set_attr(p, op, name, ATTR_STRING, &(struct attr_value){.s = v});
}

void op_set_ints(struct skiff_program *p, struct skiff_op *op, const char *name, int n,
                 const int32_t *v)
{
    op_set_attr(p, op, name, ATTR_INTS, &(struct attr_value){.n = n, .ints = v});
}

void op_set_longs(struct skiff_program *p, struct skiff_op *op, const char *name, int n,
                  const int64_t *v)
{
    op_set_attr(p, op, name, ATTR_LONGS, &(struct attr_value){.n = n, .longs = v});
}

void op_set_strings(struct skiff_program *p, struct skiff_op *op, const char *name, int n,
                    const char *const *v)
{
    op_set_attr(p, op, name, ATTR_STRINGS, &(struct attr_value){.n = n, .strings = v});
}

void op_copy_attrs(struct skiff_program *p, struct skiff_op *to, const struct skiff_op *from)
{
    bool empty = to->nattrs == 0;
    program_changed(p);
    op_reserve_attrs(p, to, to->nattrs + from->nattrs);
    for (int i = 0; i < from->nattrs; i++) {
        struct op_attr_value a = copy_attr(p, to, &from->attrs[i]);
        if (empty) /* names of one op are distinct: nothing to look for */
            push_attr(p, to, &a);
        else
            op_put_attr(p, to, &a);
    }
}

void op_share_attrs(struct skiff_program *p, struct skiff_op *to, const struct skiff_op *from)
{
    op_reserve_attrs(p, to, to->nattrs + from->nattrs);
    for (int i = 0; i < from->nattrs; i++)
        op_put_attr(p, to, &from->attrs[i]);
}

int op_role_of(const struct skiff_op *op)
{
    const struct op_attr_value *a = find_attr(op, "op_role");
    return a && a->type == ATTR_INT ? a->value.i : ROLE_UNSPECIFIED;
}

/* Adds an attribute that nobody has set; name and value are constants or live in the arena. */
static void fill_attr(struct skiff_program *p, struct skiff_op *op, const char *name,
                      enum attr_type type, struct attr_value value)
{
    if (!find_attr(op, name))
        push_attr(p, op, &(struct op_attr_value){.name = name, .type = type, .value = value});
}

static void fill_implicit(struct skiff_program *p, struct skiff_op *op)
{
    fill_attr(p, op, "op_role", ATTR_INT, (struct attr_value){.i = p->current_role});
    if (!find_attr(op, "op_role_var")) {
        struct attr_value names = {.n = p->ncurrent_role_var, .strings = p->current_role_var};
        fill_attr(p, op, "op_role_var", ATTR_STRINGS,
                  attr_value_copy(&p->arena, ATTR_STRINGS, &names));
    }
    if (!find_attr(op, "op_namescope")) {
        const char *scope = p->current_namescope ? p->current_namescope : "/";
        if (strcmp(scope, "/") == 0)
            scope = "/";
        else
            scope = arena_strdup(&p->arena, scope);
        fill_attr(p, op, "op_namescope", ATTR_STRING, (struct attr_value){.s = scope});
    }
    fill_attr(p, op, "op_callstack", ATTR_STRINGS, (struct attr_value){0});
    fill_attr(p, op, "op_device", ATTR_STRING, (struct attr_value){.s = ""});
    if (p->generation == GEN_2X)
        fill_attr(p, op, "with_quant_attr", ATTR_BOOLEAN, (struct attr_value){.b = false});
}

enum skiff_status op_fill_defaults(struct skiff_program *p, struct skiff_op *op,
                                   struct skiff_error *err)
{
    if (!op->kind) {
        const char *near = op_kind_nearest(op->type);
        return error_set(err, SKIFF_UNSUPPORTED, "op %s: no such op%s%s%s", op->type,
                         near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
    }
    unsigned skip = ATTR_HIDDEN | (p->generation == GEN_2X ? ATTR_ONLY_1X : ATTR_ONLY_2X);
    int n = 0;
    while (op->kind->attrs && op->kind->attrs[n].name)
        n++;
    op_reserve_attrs(p, op, n + 6);
    for (int i = 0; i < n; i++) {
        const struct op_attr_spec *spec = &op->kind->attrs[i];
        if (spec->flags & skip || find_attr(op, spec->name))
            continue;
        if (spec->flags & ATTR_REQUIRED)
            return error_set(err, SKIFF_INVALID, "op %s: attribute %s (%s) is required and missing",
                             op->type, spec->name, attr_type_name(spec->type));
        push_attr(
            p, op,
            &(struct op_attr_value){.name = spec->name, .type = spec->type, .value = spec->def});
    }
    fill_implicit(p, op);
    return SKIFF_OK;
}
