/* Describes the differences between two programs, for tests and for users who migrate programs.
 *
 * Variables are matched by name, slots and attributes by name, ops by position. The first
 * differences are described and all are counted. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "program/build.h"
#include "program/text.h"

enum { REPORTED = 40 }; /* differences that are described; the others are only counted */

struct diff {
    struct buf *out;
    int count;
    char prefix[300]; /* prefix of the lines */
};

static void report(struct diff *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void report(struct diff *d, const char *format, ...)
{
    char text[600];
    if (d->count++ >= REPORTED)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    buf_printf(d->out, "%s%s\n", d->prefix, text);
}

static void report_flag(struct diff *d, const char *what, enum presence a, enum presence b)
{
    if ((a == PRESENCE_TRUE) != (b == PRESENCE_TRUE))
        report(d, "%s is %s in a, %s in b", what, a == PRESENCE_TRUE ? "True" : "False",
               b == PRESENCE_TRUE ? "True" : "False");
}

static void diff_var(struct diff *d, const struct skiff_var *a, const struct skiff_var *b)
{
    char sa[160], sb[160];
    if (a->kind != b->kind)
        report(d, "kind is %s (%d) in a, %s (%d) in b", var_kind_name(a->kind), (int)a->kind,
               var_kind_name(b->kind), (int)b->kind);
    if (a->has_tensor != b->has_tensor) {
        report(d, "only %s describes a tensor", a->has_tensor ? "a" : "b");
    } else if (a->has_tensor) {
        if (a->dtype != b->dtype)
            report(d, "type is %s (%d) in a, %s (%d) in b", dtype_name(a->dtype), (int)a->dtype,
                   dtype_name(b->dtype), (int)b->dtype);
        if (!shape_equal(&a->shape, &b->shape))
            report(d, "shape is %s in a, %s in b", shape_text(&a->shape, sa),
                   shape_text(&b->shape, sb));
        if (a->lod_level != b->lod_level)
            report(d, "lod level is %d in a, %d in b", a->lod_level, b->lod_level);
    }
    report_flag(d, "persistable", a->persistable, b->persistable);
    report_flag(d, "need_check_feed", a->need_check_feed, b->need_check_feed);
    report_flag(d, "is_parameter", a->is_parameter, b->is_parameter);
    report_flag(d, "stop_gradient", a->has_stop_gradient, b->has_stop_gradient);
}

static void diff_vars(struct diff *d, const struct skiff_block *a, const struct skiff_block *b)
{
    for (size_t i = 0; i < a->vars.count; i++) {
        const struct skiff_var *v = a->vars.entries[i].value;
        const struct skiff_var *w = block_own_var(b, v->name);
        snprintf(d->prefix, sizeof(d->prefix), "block %d, variable %.200s: ", a->idx, v->name);
        if (w)
            diff_var(d, v, w);
        else
            report(d, "only in a");
    }
    for (size_t i = 0; i < b->vars.count; i++) {
        const struct skiff_var *w = b->vars.entries[i].value;
        snprintf(d->prefix, sizeof(d->prefix), "block %d, variable %.200s: ", b->idx, w->name);
        if (!block_own_var(a, w->name))
            report(d, "only in b");
    }
}

static void diff_slot(struct diff *d, const char *side, const struct op_arg *a,
                      const struct op_arg *b)
{
    if (a->n != b->n) {
        report(d, "%s %s has %d variables in a, %d in b", side, a->slot, a->n, b->n);
        return;
    }
    for (int i = 0; i < a->n; i++)
        if (strcmp(a->names[i], b->names[i]) != 0) {
            report(d, "%s %s[%d] is %s in a, %s in b", side, a->slot, i, a->names[i], b->names[i]);
            return;
        }
}

static const struct op_arg *arg_of(const struct skiff_op *op, bool input, const char *slot)
{
    return input ? op_in(op, slot) : op_out(op, slot);
}

static void diff_args(struct diff *d, const struct skiff_op *a, const struct skiff_op *b,
                      bool input)
{
    const char *side = input ? "input" : "output";
    int na = input ? a->nins : a->nouts, nb = input ? b->nins : b->nouts;
    for (int i = 0; i < na; i++) {
        const struct op_arg *x = input ? &a->ins[i] : &a->outs[i];
        const struct op_arg *y = arg_of(b, input, x->slot);
        if (y)
            diff_slot(d, side, x, y);
        else
            report(d, "%s %s (%d variables) is only in a", side, x->slot, x->n);
    }
    for (int i = 0; i < nb; i++) {
        const struct op_arg *y = input ? &b->ins[i] : &b->outs[i];
        if (!arg_of(a, input, y->slot))
            report(d, "%s %s (%d variables) is only in b", side, y->slot, y->n);
    }
}

static void diff_attr(struct diff *d, const struct op_attr_value *a, const struct op_attr_value *b)
{
    if (a->type == b->type && attr_value_equal(a->type, &a->value, &b->value) &&
        a->unknown.len == b->unknown.len &&
        (a->unknown.len == 0 || memcmp(a->unknown.bytes, b->unknown.bytes, a->unknown.len) == 0))
        return;
    struct buf x = BUF_INIT, y = BUF_INIT;
    text_attr(&x, a->type, &a->value);
    text_attr(&y, b->type, &b->value);
    report(d, "attribute %s is %.200s (%s) in a, %.200s (%s) in b", a->name, x.data,
           attr_type_name(a->type), y.data, attr_type_name(b->type));
    buf_deinit(&x);
    buf_deinit(&y);
}

static void diff_attrs(struct diff *d, const struct skiff_op *a, const struct skiff_op *b)
{
    for (int i = 0; i < a->nattrs; i++) {
        const struct op_attr_value *other = op_attr(b, a->attrs[i].name);
        if (strcmp(a->attrs[i].name, "op_callstack") == 0)
            continue;
        if (other)
            diff_attr(d, &a->attrs[i], other);
        else
            report(d, "attribute %s is only in a", a->attrs[i].name);
    }
    for (int i = 0; i < b->nattrs; i++)
        if (strcmp(b->attrs[i].name, "op_callstack") != 0 && !op_attr(a, b->attrs[i].name))
            report(d, "attribute %s is only in b", b->attrs[i].name);
}

/* Compares ops by position; after the first differing type only the lengths are compared, because
 * the lists are no longer aligned. */
static void diff_ops(struct diff *d, const struct skiff_block *a, const struct skiff_block *b)
{
    for (int i = 0; i < a->nops && i < b->nops; i++) {
        const struct skiff_op *x = a->ops[i], *y = b->ops[i];
        snprintf(d->prefix, sizeof(d->prefix), "block %d, op %d (%.100s): ", a->idx, i, x->type);
        if (strcmp(x->type, y->type) != 0) {
            report(d, "b has %s here; later ops are not compared", y->type);
            break;
        }
        diff_args(d, x, y, true);
        diff_args(d, x, y, false);
        diff_attrs(d, x, y);
        report_flag(d, "is_target", x->is_target, y->is_target);
    }
    snprintf(d->prefix, sizeof(d->prefix), "block %d: ", a->idx);
    if (a->nops != b->nops)
        report(d, "%d ops in a, %d in b", a->nops, b->nops);
}

int program_diff(const struct skiff_program *a, const struct skiff_program *b, struct buf *out)
{
    struct diff d = {.out = out};
    struct text_locale locale;
    text_locale_enter(&locale);
    if (a->generation != b->generation)
        report(&d, "a is a program of Paddle %d.x, b of %d.x", (int)a->generation,
               (int)b->generation);
    if (a->nblocks != b->nblocks)
        report(&d, "%d blocks in a, %d in b", a->nblocks, b->nblocks);
    for (int i = 0; i < a->nblocks && i < b->nblocks; i++) {
        const struct skiff_block *x = a->blocks[i], *y = b->blocks[i];
        snprintf(d.prefix, sizeof(d.prefix), "block %d: ", i);
        if (x->parent != y->parent)
            report(&d, "parent is %d in a, %d in b", x->parent, y->parent);
        if (x->forward_idx != y->forward_idx)
            report(&d, "forward block is %d in a, %d in b", x->forward_idx, y->forward_idx);
        diff_ops(&d, x, y);
        diff_vars(&d, x, y);
    }
    text_locale_leave(&locale);
    return d.count;
}
