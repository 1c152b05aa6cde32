/* All declared functions by name, and calls by name.
 *
 * The rows are parsed at the first call; the table is read-only from then on and needs no lock. */
#include <pthread.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/near.h"
#include "calls/row.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct str_map by_name;
static struct arena arena;

static void names_put(struct function *f)
{
    char *names = arena_strdup(&arena, f->names), *rest;
    for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        if (str_map_has(&by_name, name))
            row_wrong(f->names, "stands twice", name);
        str_map_put(&by_name, name, f);
    }
}

static void functions_build(void)
{
    arena_init(&arena);
    str_map_init(&by_name);
    for (const struct function_section *s = function_sections; s->module; s++)
        for (const struct function_row *row = s->rows; row->names; row++) {
            struct function *f = arena_alloc(&arena, sizeof(*f));
            row_parse(row, s->module, &arena, f);
            names_put(f);
        }
}

const struct function *function_before(const char *name)
{
    return str_map_get(&by_name, name);
}

const struct function *function_find(const char *name)
{
    pthread_once(&once, functions_build);
    return str_map_get(&by_name, !strncmp(name, "paddle.", 7) ? name + 7 : name);
}

const struct function *function_at(int i, const char **out_name)
{
    pthread_once(&once, functions_build);
    if (i < 0 || (size_t)i >= by_name.count)
        return NULL;
    *out_name = by_name.entries[i].key;
    return by_name.entries[i].value;
}

const char *function_nearest(const char *name)
{
    struct near near = near_to(!strncmp(name, "paddle.", 7) ? name + 7 : name);
    const char *known;
    for (int i = 0; function_at(i, &known); i++)
        near_try(&near, known);
    return near.best;
}

int function_arg(const struct function *f, const char *name)
{
    for (int i = 0; i < f->nargs; i++)
        if (!strcmp(f->args[i].name, name))
            return i;
    return -1;
}

int skiff_function_count(void)
{
    pthread_once(&once, functions_build);
    return (int)by_name.count;
}

bool skiff_function_at(int i, struct skiff_function_info *out)
{
    const char *name;
    const struct function *f = function_at(i, &name);
    if (f)
        *out = (struct skiff_function_info){name, f->arguments, f->text, f->ops, f->module, {0}};
    return f != NULL;
}

/* ---- calling by name ---- */

static const char *kind_text(const struct skiff_value *v)
{
    switch (v->kind) {
    case SKIFF_VALUE_TENSOR:
        return "a tensor";
    case SKIFF_VALUE_TENSORS:
    case SKIFF_VALUE_MIXED:
        return "a list of tensors";
    case SKIFF_VALUE_ATTR:
        return skiff_attr_type_name(v->attr.type);
    default:
        return "None";
    }
}

static bool attr_fits(const struct row_arg *arg, const struct skiff_attr *a)
{
    bool whole =
        a->type == SKIFF_ATTR_INT || a->type == SKIFF_ATTR_LONG || a->type == SKIFF_ATTR_BOOLEAN;
    bool real = a->type == SKIFF_ATTR_FLOAT || a->type == SKIFF_ATTR_FLOAT64;
    bool list = a->type == SKIFF_ATTR_INTS || a->type == SKIFF_ATTR_LONGS;
    if (!(arg->takes & TAKES_ATTR))
        return a->type == SKIFF_ATTR_STRING ? a->s != NULL : whole && (arg->takes & TAKES_DTYPE);
    if (arg->any_type)
        return whole || real || list;
    switch (arg->type) {
    case SKIFF_ATTR_INTS:
    case SKIFF_ATTR_LONGS:
        return list || ((arg->takes & TAKES_WINDOW) && a->type == SKIFF_ATTR_STRING && a->s);
    case SKIFF_ATTR_FLOAT:
    case SKIFF_ATTR_FLOAT64:
        return whole || real;
    case SKIFF_ATTR_STRING:
        return a->type == SKIFF_ATTR_STRING && a->s;
    default:
        return whole;
    }
}

static bool fits(const struct row_arg *arg, const struct skiff_value *v)
{
    if (arg->takes & TAKES_UNUSED)
        return true;
    switch (v->kind) {
    case SKIFF_VALUE_TENSOR:
        return (arg->takes & (TAKES_TENSOR | TAKES_TENSORS)) && v->tensor.var;
    case SKIFF_VALUE_TENSORS:
        return arg->takes & TAKES_TENSORS;
    case SKIFF_VALUE_MIXED:
        return arg->takes & TAKES_MIXED;
    case SKIFF_VALUE_ATTR:
        return attr_fits(arg, &v->attr);
    case SKIFF_VALUE_PARAM:
        return arg->takes & TAKES_PARAM;
    case SKIFF_VALUE_NONE:
        return !arg->required || arg->none_ok;
    default:
        return !arg->required;
    }
}

/* An integer passed for a list of integers becomes a list of one. */
static void widen(const struct row_arg *arg, struct skiff_value *v, int64_t *capacity)
{
    bool list = arg->type == SKIFF_ATTR_INTS || arg->type == SKIFF_ATTR_LONGS;
    bool whole = v->attr.type == SKIFF_ATTR_INT || v->attr.type == SKIFF_ATTR_LONG;
    if (v->kind != SKIFF_VALUE_ATTR || !(arg->takes & TAKES_ATTR) || arg->any_type || !list ||
        !whole)
        return;
    *capacity = v->attr.i;
    v->attr = (struct skiff_attr){.type = SKIFF_ATTR_LONGS, .n = 1, .longs = capacity};
}

static enum skiff_status check_value(const struct function *f, int i, const struct skiff_value *v,
                                     struct skiff_error *err)
{
    const struct row_arg *arg = &f->args[i];
    if (fits(arg, v))
        return SKIFF_OK;
    if (v->kind == SKIFF_VALUE_DEFAULT)
        return error_set(err, SKIFF_INVALID, "%s(%s): the argument %s is needed", f->name,
                         f->arguments, arg->name);
    bool tensor = arg->takes & (TAKES_TENSOR | TAKES_TENSORS);
    return error_set(err, SKIFF_DTYPE, "%s(%s): the argument %s must be %s, but is %s", f->name,
                     f->arguments, arg->name,
                     !tensor && arg->any_type  ? "a number"
                     : !tensor                 ? skiff_attr_type_name(arg->type)
                     : arg->takes & TAKES_ATTR ? "a tensor or a number"
                                               : "a tensor",
                     kind_text(v));
}

static enum skiff_status take_arg(const struct function *f, int position,
                                  const struct skiff_call_arg *arg, struct skiff_value *values,
                                  struct skiff_error *err)
{
    int i = arg->name ? function_arg(f, arg->name) : position < f->nargs ? position : -1;
    if (i < 0)
        return error_set(err, SKIFF_INVALID, "%s(%s) has no argument %s", f->name, f->arguments,
                         arg->name ? arg->name : "more");
    if (values[i].kind != SKIFF_VALUE_DEFAULT)
        return error_set(err, SKIFF_INVALID, "%s(%s): the argument %s is given twice", f->name,
                         f->arguments, f->args[i].name);
    values[i] = arg->value;
    if (values[i].kind == SKIFF_VALUE_DEFAULT)
        values[i].kind = SKIFF_VALUE_NONE;
    return SKIFF_OK;
}

enum skiff_status skiff_call(const struct skiff_call_target *to, const char *function, int nargs,
                             const struct skiff_call_arg *args, union skiff_handle *out,
                             int capacity, int *n, struct skiff_error *err)
{
    struct skiff_value values[ARGS_MAX] = {0};
    int64_t ones[ARGS_MAX];
    struct skiff_error own;
    int count;
    err = err ? err : &own;
    TRY(reserved_check(to->reserved, "skiff_call_target", err));
    if (!to->eager == !to->net)
        return error_set(err, SKIFF_INVALID,
                         "%s: the target must be an engine or a net, one of them", function);
    if (to->net && strncmp(function, "fluid.", 6) != 0 &&
        skiff_program_generation(skiff_net_main(to->net)) != 2)
        return error_set(
            err, SKIFF_STATE,
            "%s: the net's program has ops as Paddle 1.x means them, and functions "
            "need those of 2.x: call skiff_program_set_generation(skiff_net_main(net), "
            "2) first",
            function);
    const struct function *f = function_find(function);
    if (!f) {
        const char *near = function_nearest(function);
        return error_set(err, SKIFF_NOT_FOUND, "there is no function %s%s%s", function,
                         near ? "; the nearest is " : "", near ? near : "");
    }
    if (f->programs && !to->net)
        return error_set(err, SKIFF_INVALID,
                         "%s appends to programs: the target must be a net, not an engine",
                         function);
    for (int i = 0; i < nargs; i++)
        TRY(take_arg(f, i, &args[i], values, err));
    for (int i = 0; i < f->nargs; i++) {
        widen(&f->args[i], &values[i], &ones[i]);
        TRY(check_value(f, i, &values[i], err));
    }
    return function_call(f, to, values, out, capacity, n ? n : &count, err);
}
