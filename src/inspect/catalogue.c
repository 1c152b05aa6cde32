/* The registry of ops (program/op_kind.h), the table of layers and the list of functions as text:
 * all of them, or one.
 *
 * Kernels, shape inference and networks in YAML use the same tables, so nothing printed here can
 * differ from what runs. An unknown name is an error with the nearest known one. */
#include "inspect/catalogue.h"

#include <stdlib.h>
#include <string.h>

#include <skiff/call.h>

#include "base/mem.h"
#include "base/near.h"
#include "layers/table.h"
#include "program/op_kind.h"
#include "program/text.h"
#include "task/net_text.h"

static enum skiff_status not_found(const char *what, const char *name, const struct near *near,
                                   struct skiff_error *err)
{
    return error_set(err, SKIFF_NOT_FOUND, "no %s %s%s%s%s", what, name,
                     near->best ? " (did you mean " : "", near->best ? near->best : "",
                     near->best ? "?)" : "");
}

/* ---- ops ---- */

static void add_slots(struct buf *out, const struct op_slot *slots)
{
    for (int i = 0; slots && slots[i].name; i++)
        buf_printf(out, "%s%s%s%s%s", i ? " " : "", slots[i].name,
                   slots[i].flags & SLOT_LIST ? "*" : "", slots[i].flags & SLOT_OPTIONAL ? "?" : "",
                   slots[i].flags & SLOT_EXTRA ? "~" : "");
}

static void add_attr(struct buf *out, const struct op_attr_spec *a)
{
    buf_str(out, a->name);
    if (a->flags & ATTR_REQUIRED) {
        buf_printf(out, "=<%s>", attr_type_name(a->type));
        return;
    }
    buf_char(out, '=');
    text_attr(out, a->type, &a->def);
}

static const char *generations(const struct op_kind *k)
{
    return k->generations == GEN_1X ? "1.x" : k->generations == GEN_2X ? "2.x" : "1.x 2.x";
}

static void add_gradient(struct buf *out, const struct op_kind *k)
{
    if (k->grad)
        buf_printf(out, "%s%s", strchr(k->grad, ':') ? "" : "grad: ", k->grad);
    else
        buf_str(out, k->make_grad ? "yes" : "none");
}

static int kind_compare(const void *a, const void *b)
{
    const struct op_kind *x = *(const struct op_kind *const *)a,
                         *y = *(const struct op_kind *const *)b;
    int c = strcmp(x->type, y->type);
    return c ? c : (int)x->generations - (int)y->generations;
}

/* One line: type [generations]  inputs -> outputs | attributes | gradient. */
static void add_op_line(struct buf *out, const struct op_kind *k)
{
    buf_printf(out, "%s [%s]  ", k->type, generations(k));
    add_slots(out, k->ins);
    buf_str(out, " -> ");
    add_slots(out, k->outs);
    buf_str(out, " |");
    for (int i = 0; k->attrs && k->attrs[i].name; i++) {
        buf_char(out, ' ');
        add_attr(out, &k->attrs[i]);
    }
    buf_str(out, " | ");
    add_gradient(out, k);
    buf_char(out, '\n');
}

static void add_ops(struct buf *out)
{
    int n = op_kind_count(), shown = 0;
    const struct op_kind **list = mem_alloc_or_die(sizeof *list * (size_t)(n + 1));
    for (int i = 0; i < n; i++)
        if (!(op_kind_at(i)->flags & OP_INTERNAL))
            list[shown++] = op_kind_at(i);
    qsort(list, (size_t)shown, sizeof *list, kind_compare);
    for (int i = 0; i < shown; i++)
        add_op_line(out, list[i]);
    buf_printf(out, "%d ops\n", shown);
    free(list);
}

static void describe_slots(struct buf *out, const char *title, const struct op_slot *slots)
{
    for (int i = 0; slots && slots[i].name; i++)
        buf_printf(out, "  %-10s %s%s%s%s\n", i ? "" : title, slots[i].name,
                   slots[i].flags & SLOT_LIST ? ", any number" : "",
                   slots[i].flags & SLOT_OPTIONAL ? ", may be absent" : "",
                   slots[i].flags & SLOT_EXTRA ? ", for the gradient" : "");
}

static void describe_op(struct buf *out, const struct op_kind *k)
{
    buf_printf(out, "%s (%s)\n", k->type, generations(k));
    describe_slots(out, "inputs", k->ins);
    describe_slots(out, "outputs", k->outs);
    for (int i = 0; k->attrs && k->attrs[i].name; i++) {
        const struct op_attr_spec *a = &k->attrs[i];
        buf_printf(out, "  %-10s ", i ? "" : "attributes");
        add_attr(out, a);
        buf_printf(out, "   %s%s%s\n", attr_type_name(a->type),
                   a->flags & ATTR_REQUIRED ? ", required" : "",
                   a->flags & ATTR_ONLY_1X   ? ", 1.x only"
                   : a->flags & ATTR_ONLY_2X ? ", 2.x only"
                                             : "");
    }
    buf_printf(out, "  %-10s ", "gradient");
    add_gradient(out, k);
    buf_char(out, '\n');
}

enum skiff_status catalogue_ops(const char *name, struct buf *out, struct skiff_error *err)
{
    int found = 0;
    if (!name) {
        add_ops(out);
        return SKIFF_OK;
    }
    for (int i = 0; i < op_kind_count(); i++)
        if (!strcmp(op_kind_at(i)->type, name)) {
            describe_op(out, op_kind_at(i));
            found++;
        }
    if (found)
        return SKIFF_OK;
    const char *near = op_kind_nearest(name);
    return error_set(err, SKIFF_NOT_FOUND, "%s is neither a file nor an op of Skiff%s%s%s", name,
                     near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

/* ---- layers ---- */

static const char *type_text(enum arg_type type)
{
    static const char *const texts[] = {
        [ARG_VAR] = "a variable (a group: the layer is repeated)",
        [ARG_VARS] = "variables, groups in full",
        [ARG_DIMS] = "a list of whole numbers",
        [ARG_TEXT] = "a word",
        [ARG_INT] = "a whole number",
        [ARG_FLOAT] = "a number",
        [ARG_BOOL] = "True or False",
        [ARG_PARAM] = "a parameter: its name, or {name, initializer, ...}; False: none",
        [ARG_INITIALIZER] = "an initializer, as {normal: {scale: 0.1}}",
        [ARG_PAIR] = "one whole number or two",
        [ARG_LONGS] = "a list of whole numbers",
        [ARG_DOUBLES] = "a list of numbers",
        [ARG_ARRAY] = "an array",
    };
    return texts[type];
}

/* "fc: input size [act name]" */
static void add_layer_line(struct buf *out, const struct layer_spec *s)
{
    buf_printf(out, "%s:", s->name);
    for (int i = 0; i < s->nargs; i++)
        buf_printf(out, " %s%s%s", i == s->required ? "[" : "", s->args[i].name,
                   i + 1 == s->nargs && s->required < s->nargs ? "]" : "");
    buf_char(out, '\n');
}

static void describe_layer(struct buf *out, const struct layer_spec *s)
{
    for (int i = 0; i < s->nargs; i++)
        buf_printf(out, "    %-20s %s%s\n", s->args[i].name, i < s->required ? "needed: " : "",
                   type_text(s->args[i].type));
    for (int i = 0; i < s->nnames; i++)
        buf_printf(out, "%s%s%s", i ? ", ." : "    results: .", s->names[i],
                   i + 1 == s->nnames ? "\n" : "");
}

enum skiff_status catalogue_layers(const char *name, struct buf *out, struct skiff_error *err)
{
    const struct layer_spec *one = name ? net_text_layer(name) : NULL;
    struct near near = near_to(name ? name : "");
    if (one) {
        describe_layer(out, one);
        return SKIFF_OK;
    }
    for (const struct layer_spec *const *s = layer_specs; *s; s++) {
        if (!net_text_layer((*s)->name))
            continue;
        near_try(&near, (*s)->name);
        if (!name)
            add_layer_line(out, *s);
    }
    return name ? not_found("layer", name, &near, err) : SKIFF_OK;
}

/* ---- functions ---- */

static void describe_function(struct buf *out, const struct skiff_function_info *f)
{
    buf_printf(out, "paddle.%s(%s)\n    %s\n", f->name, f->arguments, f->text);
    for (const char *step = f->ops; step;) { /* a step a line */
        const char *end = strchr(step, ';');
        int n = end ? (int)(end - step) : (int)strlen(step);
        buf_printf(out, "    %s%.*s\n", step == f->ops ? "ops: " : "     ", n,
                   step + strspn(step, " "));
        step = end ? end + 2 : NULL;
    }
}

enum skiff_status catalogue_functions(const char *name, struct buf *out, struct skiff_error *err)
{
    struct skiff_function_info f;
    if (name && !strncmp(name, "paddle.", 7))
        name += 7;
    struct near near = near_to(name ? name : "");
    for (int i = 0; skiff_function_at(i, &f); i++) {
        near_try(&near, f.name);
        if (!name)
            buf_printf(out, "%s(%s)\n", f.name, f.arguments);
        else if (!strcmp(name, f.name)) {
            describe_function(out, &f);
            return SKIFF_OK;
        }
    }
    return name ? not_found("function", name, &near, err) : SKIFF_OK;
}
