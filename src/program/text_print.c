/* The readable form of a program. The grammar stands in README.md.
 *
 * A program survives printing and parsing unchanged: reals are printed with the fewest digits that
 * read back to the same bits, NaN by its bits, and what the file had beyond our knowledge (unknown
 * fields, absent fields) has a place of its own. The C locale is entered meanwhile, or a decimal
 * comma would end a number. */
#include "program/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

void text_locale_enter(struct text_locale *l)
{
    l->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    l->before = l->c ? uselocale(l->c) : (locale_t)0;
}

void text_locale_leave(struct text_locale *l)
{
    if (l->c) {
        uselocale(l->before);
        freelocale(l->c);
    }
}

const char *text_list_prefix(enum attr_type t)
{
    switch (t) {
    case ATTR_INTS:
        return "ints";
    case ATTR_FLOATS:
        return "floats";
    case ATTR_STRINGS:
        return "strings";
    case ATTR_BOOLEANS:
        return "bools";
    case ATTR_BLOCKS:
        return "blocks";
    case ATTR_LONGS:
        return "longs";
    case ATTR_FLOAT64S:
        return "doubles";
    case ATTR_VARS:
        return "vars";
    case ATTR_SCALARS:
        return "scalars";
    default:
        return NULL;
    }
}

static void print_quoted(struct buf *out, const char *s)
{
    buf_char(out, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_str(out, "\\n");
        else if (c == '\t')
            buf_str(out, "\\t");
        else if (c < 32 || c == 127)
            buf_printf(out, "\\x%02x", c);
        else
            buf_char(out, (char)c);
    }
    buf_char(out, '"');
}

void text_word(struct buf *out, const char *s)
{
    const char *p = s;
    while (text_is_bare(*p))
        p++;
    if (*p || p == s)
        print_quoted(out, s);
    else
        buf_add(out, s, (size_t)(p - s));
}

/* A number with a '.' or an exponent, so that it is not taken for a whole one. */
static void print_digits(struct buf *out, const char *digits)
{
    buf_str(out, digits);
    if (!strpbrk(digits, ".en"))
        buf_str(out, ".0");
}

/* The shortest digits that read back to the same bits; a NaN by its bits. */
static void print_float(struct buf *out, float f)
{
    char text[40];
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    if (f != f) {
        buf_printf(out, "nan:%08x", bits);
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, (double)f);
        if (strtof(text, NULL) == f)
            break;
    }
    print_digits(out, text);
}

static void print_double(struct buf *out, double d)
{
    char text[40];
    uint64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    if (d != d) {
        buf_printf(out, "nan:%016llx", (unsigned long long)bits);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, d);
        if (strtod(text, NULL) == d)
            break;
    }
    print_digits(out, text);
}

static void print_bool(struct buf *out, bool b)
{
    buf_str(out, b ? "True" : "False");
}

static void print_scalar(struct buf *out, const struct scalar *s)
{
    switch (s->type) {
    case SCALAR_BOOLEAN:
        print_bool(out, s->b);
        break;
    case SCALAR_LONG:
        buf_printf(out, "%lld", (long long)s->i);
        break;
    case SCALAR_FLOAT64:
        print_double(out, s->r);
        break;
    case SCALAR_COMPLEX128:
        buf_char(out, '(');
        print_double(out, s->r);
        buf_char(out, ',');
        print_double(out, s->im);
        buf_char(out, ')');
        break;
    default:
        buf_printf(out, "type(%d)", (int)s->type);
    }
}

static void print_list(struct buf *out, enum attr_type t, const struct attr_value *v)
{
    buf_printf(out, "%s[", text_list_prefix(t));
    for (int i = 0; i < v->n; i++) {
        if (i)
            buf_char(out, ',');
        if (t == ATTR_INTS || t == ATTR_BLOCKS)
            buf_printf(out, "%d", (int)v->ints[i]);
        else if (t == ATTR_LONGS)
            buf_printf(out, "%lld", (long long)v->longs[i]);
        else if (t == ATTR_FLOATS)
            print_float(out, v->floats[i]);
        else if (t == ATTR_FLOAT64S)
            print_double(out, v->doubles[i]);
        else if (t == ATTR_BOOLEANS)
            print_bool(out, v->bools[i]);
        else if (t == ATTR_STRINGS)
            print_quoted(out, v->strings[i]);
        else if (t == ATTR_VARS)
            text_word(out, v->strings[i]);
        else
            print_scalar(out, &v->scalars[i]);
    }
    buf_char(out, ']');
}

void text_attr(struct buf *out, enum attr_type t, const struct attr_value *v)
{
    switch (t) {
    case ATTR_INT:
        buf_printf(out, "%d", (int)v->i);
        break;
    case ATTR_LONG:
        buf_printf(out, "%lldL", (long long)v->l);
        break;
    case ATTR_FLOAT:
        print_float(out, v->f);
        break;
    case ATTR_FLOAT64:
        buf_str(out, "double(");
        print_double(out, v->d);
        buf_char(out, ')');
        break;
    case ATTR_BOOLEAN:
        print_bool(out, v->b);
        break;
    case ATTR_STRING:
        print_quoted(out, v->s ? v->s : "");
        break;
    case ATTR_VAR:
        buf_str(out, "var(");
        text_word(out, v->s ? v->s : "");
        buf_char(out, ')');
        break;
    case ATTR_BLOCK:
        buf_printf(out, "block(%d)", (int)v->i);
        break;
    case ATTR_SCALAR:
        buf_str(out, "scalar(");
        print_scalar(out, &v->scalar);
        buf_char(out, ')');
        break;
    default:
        if (text_list_prefix(t))
            print_list(out, t, v);
        else
            buf_printf(out, "type(%d)", (int)t);
    }
}

static void print_hex(struct buf *out, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%02x", bytes[i]);
}

static void print_bytes(struct buf *out, const char *key, const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return;
    buf_printf(out, " %s=", key);
    print_hex(out, bytes, n);
}

static void print_presence(struct buf *out, const char *key, enum presence p)
{
    if (p == PRESENCE_ABSENT)
        return;
    buf_printf(out, " %s=", key);
    print_bool(out, p == PRESENCE_TRUE);
}

static void print_var(struct buf *out, const struct skiff_var *v)
{
    buf_str(out, "    var ");
    text_word(out, v->name);
    const char *kind = var_kind_name(v->kind);
    if (*kind == '?')
        buf_printf(out, " kind(%d)", (int)v->kind);
    else
        buf_printf(out, " %s", kind);
    if (v->has_tensor) {
        const char *dtype = dtype_name(v->dtype);
        if (*dtype == '?')
            buf_printf(out, " dtype(%d) [", (int)v->dtype);
        else
            buf_printf(out, " %s [", dtype);
        for (int i = 0; i < v->shape.ndim; i++)
            buf_printf(out, "%s%lld", i ? "," : "", (long long)v->shape.dims[i]);
        buf_char(out, ']');
    }
    if (v->lod_level)
        buf_printf(out, " lod=%d", v->lod_level);
    print_presence(out, "persistable", v->persistable);
    print_presence(out, "need_check_feed", v->need_check_feed);
    print_presence(out, "is_parameter", v->is_parameter);
    print_presence(out, "stop_gradient", v->has_stop_gradient);
    print_bytes(out, "rest", v->type_rest, v->type_rest_len);
    print_bytes(out, "unknown", v->unknown.bytes, v->unknown.len);
    print_bytes(out, "type_unknown", v->type_unknown.bytes, v->type_unknown.len);
    print_bytes(out, "desc_unknown", v->desc_unknown.bytes, v->desc_unknown.len);
    print_bytes(out, "tensor_unknown", v->tensor_unknown.bytes, v->tensor_unknown.len);
    buf_char(out, '\n');
}

static void print_tail(struct buf *out, struct unknown_fields u)
{
    if (u.len) {
        buf_char(out, '~');
        print_hex(out, u.bytes, u.len);
    }
}

static void print_args(struct buf *out, const struct op_arg *args, int n)
{
    buf_char(out, '{');
    for (int s = 0; s < n; s++) {
        if (s)
            buf_char(out, ' ');
        text_word(out, args[s].slot);
        buf_str(out, ":[");
        for (int i = 0; i < args[s].n; i++) {
            if (i)
                buf_char(out, ',');
            text_word(out, args[s].names[i]);
        }
        buf_char(out, ']');
        print_tail(out, args[s].unknown);
    }
    buf_char(out, '}');
}

void text_op(struct buf *out, const struct skiff_op *op)
{
    buf_str(out, "    op ");
    text_word(out, op->type);
    print_presence(out, "target", op->is_target);
    print_bytes(out, "unknown", op->unknown.bytes, op->unknown.len);
    buf_char(out, ' ');
    print_args(out, op->ins, op->nins);
    buf_str(out, " -> ");
    print_args(out, op->outs, op->nouts);
    for (int i = 0; i < op->nattrs; i++) {
        buf_char(out, ' ');
        text_word(out, op->attrs[i].name);
        buf_char(out, '=');
        text_attr(out, op->attrs[i].type, &op->attrs[i].value);
        print_tail(out, op->attrs[i].unknown);
    }
    buf_char(out, '\n');
}

static void print_head(struct buf *out, const struct skiff_program *p)
{
    buf_printf(out, "program generation=%d", (int)p->generation);
    if (p->has_version)
        buf_printf(out, " version=%lld", (long long)p->paddle_version);
    if (p->random_seed)
        buf_printf(out, " seed=%d", (int)p->random_seed);
    print_bytes(out, "unknown", p->unknown.bytes, p->unknown.len);
    print_bytes(out, "version_unknown", p->version_unknown.bytes, p->version_unknown.len);
    buf_char(out, '\n');
    if (p->compat_map) {
        buf_str(out, "compat_map ");
        print_hex(out, p->compat_map, p->compat_map_len);
        buf_char(out, '\n');
    }
    if (!p->has_op_version_map)
        return;
    buf_str(out, "op_versions");
    print_tail(out, p->version_map_unknown);
    for (int i = 0; i < p->nop_versions; i++) {
        buf_char(out, ' ');
        text_word(out, p->op_versions[i].op);
        buf_printf(out, "=%d", (int)p->op_versions[i].version);
    }
    buf_char(out, '\n');
}

void program_print(const struct skiff_program *p, struct buf *out)
{
    struct text_locale locale;
    text_locale_enter(&locale);
    print_head(out, p);
    for (int i = 0; i < p->nblocks; i++) {
        const struct skiff_block *b = p->blocks[i];
        buf_printf(out, "block %d parent=%d", b->idx, b->parent);
        if (b->forward_idx != -1)
            buf_printf(out, " forward=%d", b->forward_idx);
        print_bytes(out, "unknown", b->unknown.bytes, b->unknown.len);
        buf_str(out, " {\n");
        for (size_t k = 0; k < b->vars.count; k++)
            print_var(out, b->vars.entries[k].value);
        for (int k = 0; k < b->nops; k++)
            text_op(out, b->ops[k]);
        buf_str(out, "}\n");
    }
    text_locale_leave(&locale);
}
