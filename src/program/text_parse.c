/* Reads the text form back (text.h). A recursive descent in one pass, without look-ahead beyond a
 * character. The first failure ends the reading; it names line, column, the expected text and the
 * one found.
 *
 * The text is untrusted: numbers are range-checked, block indices are checked at the end, when all
 * blocks are known, and every name lives in the program's arena. Unknown fields behind ~ are kept
 * as bytes, so that text and ProgramDesc convert without loss. */
#include <string.h>

#include "program/build.h"
#include "program/op_kind.h"
#include "program/rights.h"
#include "program/text_lex.h"

/* What may stand behind a slot or an attribute: ~ and the bytes of its unknown fields. */
static enum skiff_status parse_tail(struct parser *s, struct unknown_fields *out)
{
    if (*s->p != '~')
        return SKIFF_OK;
    s->p++;
    return lex_hex(s, true, out);
}

static enum skiff_status parse_scalar(struct parser *s, struct scalar *out)
{
    lex_skip(s);
    *out = (struct scalar){0};
    if (*s->p == 'T' || *s->p == 'F') {
        out->type = SCALAR_BOOLEAN;
        return lex_bool(s, &out->b);
    }
    if (lex_accept(s, '(')) {
        out->type = SCALAR_COMPLEX128;
        TRY(lex_double(s, &out->r));
        TRY(lex_expect(s, ","));
        TRY(lex_double(s, &out->im));
        return lex_expect(s, ")");
    }
    if (strncmp(s->p, "type(", 5) == 0) {
        int32_t type;
        s->p += 5;
        TRY(lex_int(s, &type));
        out->type = (enum scalar_type)type;
        return lex_expect(s, ")");
    }
    size_t n = strspn(s->p, "-0123456789");
    if (n && !strchr(".eni", s->p[n] ? s->p[n] : ' ')) {
        out->type = SCALAR_LONG;
        return lex_whole(s, INT64_MIN, INT64_MAX, &out->i);
    }
    out->type = SCALAR_FLOAT64;
    return lex_double(s, &out->r);
}

static void record_block(struct parser *s, int32_t block, const char *at)
{
    if (block > s->max_block) {
        s->max_block = block;
        s->max_at = at;
        s->max_line = s->line;
        s->max_line_no = s->line_no;
    }
}

static enum skiff_status parse_block_index(struct parser *s, int32_t *out)
{
    lex_skip(s);
    const char *at = s->p;
    int64_t v = 0;
    TRY(lex_whole(s, 0, INT32_MAX, &v));
    *out = (int32_t)v;
    record_block(s, *out, at);
    return SKIFF_OK;
}

static size_t element_size(enum attr_type list)
{
    switch (list) {
    case ATTR_INTS:
    case ATTR_BLOCKS:
        return sizeof(int32_t);
    case ATTR_FLOATS:
        return sizeof(float);
    case ATTR_LONGS:
        return sizeof(int64_t);
    case ATTR_FLOAT64S:
        return sizeof(double);
    case ATTR_BOOLEANS:
        return sizeof(bool);
    case ATTR_SCALARS:
        return sizeof(struct scalar);
    default:
        return sizeof(char *);
    }
}

static enum skiff_status parse_element(struct parser *s, enum attr_type list, void *out)
{
    switch (list) {
    case ATTR_INTS:
        return lex_int(s, out);
    case ATTR_BLOCKS:
        return parse_block_index(s, out);
    case ATTR_FLOATS:
        return lex_float(s, out);
    case ATTR_LONGS:
        return lex_whole(s, INT64_MIN, INT64_MAX, out);
    case ATTR_FLOAT64S:
        return lex_double(s, out);
    case ATTR_BOOLEANS:
        return lex_bool(s, out);
    case ATTR_SCALARS:
        return parse_scalar(s, out);
    case ATTR_STRINGS:
        lex_skip(s);
        return lex_quoted(s, out);
    default:
        return lex_word(s, "a variable's name", out);
    }
}

/* Elements up to the closing bracket; the opening one is read already. */
static enum skiff_status parse_elements(struct parser *s, enum attr_type list,
                                        struct attr_value *out)
{
    size_t size = element_size(list), cap = 0;
    char *items = NULL;
    int n = 0;
    if (lex_accept(s, ']'))
        return SKIFF_OK;
    do {
        if ((size_t)n == cap) {
            cap = cap ? cap * 2 : 4;
            char *grown = arena_alloc(&s->program->arena, cap * size);
            if (n)
                memcpy(grown, items, (size_t)n * size);
            items = grown;
        }
        TRY(parse_element(s, list, items + (size_t)n * size));
        n++;
    } while (lex_accept(s, ','));
    TRY(lex_expect(s, "]"));
    out->n = n;
    out->ints = (const int32_t *)items;
    return SKIFF_OK;
}

static enum skiff_status parse_number(struct parser *s, struct op_attr_value *out)
{
    size_t n = strspn(s->p, "-0123456789");
    if (n == 0 || s->p[n] == '.' || s->p[n] == 'e' || strncmp(s->p, "-inf", 4) == 0) {
        out->type = ATTR_FLOAT;
        return lex_float(s, &out->value.f);
    }
    if (s->p[n] == 'L') {
        out->type = ATTR_LONG;
        TRY(lex_whole(s, INT64_MIN, INT64_MAX, &out->value.l));
        return lex_expect(s, "L");
    }
    out->type = ATTR_INT;
    return lex_int(s, &out->value.i);
}

/* double(1.5) var(x) block(1) scalar(2) type(18): the inside of the parentheses. */
static enum skiff_status parse_named(struct parser *s, const char *name, struct op_attr_value *out)
{
    int32_t type;
    if (strcmp(name, "double") == 0) {
        out->type = ATTR_FLOAT64;
        TRY(lex_double(s, &out->value.d));
    } else if (strcmp(name, "var") == 0) {
        out->type = ATTR_VAR;
        TRY(lex_word(s, "a variable's name", &out->value.s));
    } else if (strcmp(name, "block") == 0) {
        out->type = ATTR_BLOCK;
        TRY(parse_block_index(s, &out->value.i));
    } else if (strcmp(name, "scalar") == 0) {
        out->type = ATTR_SCALAR;
        TRY(parse_scalar(s, &out->value.scalar));
    } else if (strcmp(name, "type") == 0) {
        TRY(lex_int(s, &type));
        if (type >= ATTR_INT && type <= ATTR_SCALARS)
            return lex_fail(s, "expected a type that has no form of its own");
        out->type = (enum attr_type)type;
    } else {
        return lex_fail(s, "expected double, var, block, scalar or type before the parenthesis");
    }
    return lex_expect(s, ")");
}

static enum skiff_status parse_attr_value(struct parser *s, struct op_attr_value *out)
{
    lex_skip(s);
    if (*s->p == '"') {
        out->type = ATTR_STRING;
        return lex_quoted(s, &out->value.s);
    }
    if (lex_at_number(s->p) || strncmp(s->p, "nan:", 4) == 0)
        return parse_number(s, out);
    if (*s->p == 'T' || *s->p == 'F') {
        out->type = ATTR_BOOLEAN;
        return lex_bool(s, &out->value.b);
    }
    char name[16] = "";
    size_t n = strspn(s->p, "abcdefghijklmnopqrstuvwxyz");
    if (n > 0 && n < sizeof(name))
        memcpy(name, s->p, n);
    if (*name && s->p[n] == '(') {
        s->p += n + 1;
        return parse_named(s, name, out);
    }
    for (int t = ATTR_INT; *name && t <= ATTR_SCALARS; t++) {
        const char *prefix = text_list_prefix((enum attr_type)t);
        if (prefix && strcmp(prefix, name) == 0 && s->p[n] == '[') {
            s->p += n + 1;
            out->type = (enum attr_type)t;
            return parse_elements(s, out->type, &out->value);
        }
    }
    return lex_fail(s, "expected the value of attribute %.60s", out->name);
}

/* ---- lines ---- */

static enum skiff_status parse_presence(struct parser *s, enum presence *out)
{
    bool b;
    TRY(lex_bool(s, &b));
    *out = b ? PRESENCE_TRUE : PRESENCE_FALSE;
    return SKIFF_OK;
}

/* KEY= at this place? Then it is taken. */
static bool accept_key(struct parser *s, const char *key)
{
    lex_skip(s);
    size_t n = strlen(key);
    if (strncmp(s->p, key, n) != 0 || s->p[n] != '=')
        return false;
    s->p += n + 1;
    return true;
}

/* NAME(number), for kinds and dtypes without a name. */
static bool accept_numbered(struct parser *s, const char *name)
{
    size_t n = strlen(name);
    lex_skip(s);
    if (strncmp(s->p, name, n) != 0 || s->p[n] != '(')
        return false;
    s->p += n + 1;
    return true;
}

static enum skiff_status parse_dtype(struct parser *s, struct skiff_var *v)
{
    int32_t number;
    if (accept_numbered(s, "dtype")) {
        TRY(lex_int(s, &number));
        v->dtype = (enum dtype)number;
        return lex_expect(s, ")");
    }
    const char *at = s->p, *name;
    TRY(lex_word(s, "an element type", &name));
    if (dtype_parse(name, &v->dtype))
        return SKIFF_OK;
    s->p = at;
    return lex_fail(s, "expected an element type");
}

static enum skiff_status parse_kind(struct parser *s, struct skiff_var *v)
{
    int32_t number;
    if (accept_numbered(s, "kind")) {
        TRY(lex_int(s, &number));
        v->kind = (enum var_kind)number;
        return lex_expect(s, ")");
    }
    const char *at = s->p, *name;
    TRY(lex_word(s, "the kind of the variable", &name));
    if (var_kind_parse(name, &v->kind))
        return SKIFF_OK;
    s->p = at;
    return lex_fail(s, "expected the kind of the variable (LOD_TENSOR, ...)");
}

static enum skiff_status parse_shape(struct parser *s, struct skiff_var *v)
{
    struct attr_value dims = {0};
    const char *at = s->p;
    TRY(lex_expect(s, "["));
    TRY(parse_elements(s, ATTR_LONGS, &dims));
    if (dims.n > TENSOR_MAX_DIMS) {
        s->p = at;
        return lex_fail(s, "expected at most %d dimensions", TENSOR_MAX_DIMS);
    }
    v->shape = shape_of(dims.n, dims.longs);
    v->has_tensor = true;
    return SKIFF_OK;
}

static enum skiff_status parse_var_key(struct parser *s, struct skiff_var *v)
{
    int64_t lod = 0;
    struct unknown_fields rest = {0};
    if (accept_key(s, "lod")) {
        TRY(lex_whole(s, 0, INT32_MAX, &lod));
        v->lod_level = (int)lod;
    } else if (accept_key(s, "persistable")) {
        return parse_presence(s, &v->persistable);
    } else if (accept_key(s, "need_check_feed")) {
        return parse_presence(s, &v->need_check_feed);
    } else if (accept_key(s, "is_parameter")) {
        return parse_presence(s, &v->is_parameter);
    } else if (accept_key(s, "stop_gradient")) {
        TRY(parse_presence(s, &v->has_stop_gradient));
        v->stop_gradient = v->has_stop_gradient == PRESENCE_TRUE;
    } else if (accept_key(s, "rest")) {
        TRY(lex_hex(s, true, &rest));
        v->type_rest = rest.bytes;
        v->type_rest_len = rest.len;
    } else if (accept_key(s, "unknown")) {
        return lex_hex(s, true, &v->unknown);
    } else if (accept_key(s, "type_unknown")) {
        return lex_hex(s, true, &v->type_unknown);
    } else if (accept_key(s, "desc_unknown")) {
        return lex_hex(s, true, &v->desc_unknown);
    } else if (accept_key(s, "tensor_unknown")) {
        return lex_hex(s, true, &v->tensor_unknown);
    } else {
        return lex_fail(s,
                        "expected lod, persistable, need_check_feed, is_parameter, stop_gradient, "
                        "rest or unknown, or the end of the line");
    }
    return SKIFF_OK;
}

static enum skiff_status parse_var(struct parser *s, struct skiff_block *b)
{
    const char *name;
    lex_skip(s);
    const char *at = s->p;
    TRY(lex_word(s, "a variable's name", &name));
    if (block_own_var(b, name)) {
        s->p = at;
        return lex_fail(s, "block %d has this variable already: expected another name", b->idx);
    }
    struct skiff_var *v = block_add_var(b, name);
    TRY(parse_kind(s, v));
    lex_skip(s);
    size_t n = 0;
    while (text_is_bare(s->p[n]))
        n++;
    if (n && s->p[n] != '=') {
        TRY(parse_dtype(s, v));
        TRY(parse_shape(s, v));
    }
    for (lex_skip(s); *s->p && *s->p != '\n'; lex_skip(s))
        TRY(parse_var_key(s, v));
    return SKIFF_OK;
}

static enum skiff_status parse_args(struct parser *s, struct op_arg **list, int *n)
{
    struct str_map seen;
    enum skiff_status status = SKIFF_OK;
    str_map_init(&seen);
    TRY_OUT(lex_expect(s, "{"));
    while (!lex_accept(s, '}')) {
        struct op_arg arg = {0};
        struct attr_value names = {0};
        const char *at = s->p;
        TRY_OUT(lex_word(s, "a slot or }", &arg.slot));
        if (str_map_has(&seen, arg.slot)) {
            s->p = at;
            status = lex_fail(s, "the op has this slot already: expected another");
            goto out;
        }
        str_map_put(&seen, arg.slot, (void *)arg.slot);
        TRY_OUT(lex_expect(s, ":"));
        TRY_OUT(lex_expect(s, "["));
        TRY_OUT(parse_elements(s, ATTR_VARS, &names));
        TRY_OUT(parse_tail(s, &arg.unknown));
        arg.n = names.n;
        arg.names = (const char **)names.strings;
        op_push_arg(s->program, list, n, &arg);
    }
out:
    str_map_deinit(&seen);
    return status;
}

static enum skiff_status parse_attrs(struct parser *s, struct skiff_op *op)
{
    struct str_map seen;
    enum skiff_status status = SKIFF_OK;
    str_map_init(&seen);
    for (lex_skip(s); *s->p && *s->p != '\n'; lex_skip(s)) {
        struct op_attr_value a = {0};
        const char *at = s->p;
        TRY_OUT(lex_word(s, "an attribute", &a.name));
        if (str_map_has(&seen, a.name)) {
            s->p = at;
            status = lex_fail(s, "the op has this attribute already: expected another");
            goto out;
        }
        str_map_put(&seen, a.name, (void *)a.name);
        TRY_OUT(lex_expect(s, "="));
        TRY_OUT(parse_attr_value(s, &a));
        TRY_OUT(parse_tail(s, &a.unknown));
        if (op->nattrs == op->attrs_cap)
            op_reserve_attrs(s->program, op, op->attrs_cap ? op->attrs_cap * 2 : 8);
        op->attrs[op->nattrs++] = a;
    }
out:
    str_map_deinit(&seen);
    return status;
}

static enum skiff_status parse_op(struct parser *s, struct skiff_block *b)
{
    const char *type;
    TRY(lex_word(s, "an op's type", &type));
    struct skiff_op *op = op_create(s->program, type);
    while (lex_skip(s), *s->p != '{') {
        if (accept_key(s, "target"))
            TRY(parse_presence(s, &op->is_target));
        else if (accept_key(s, "unknown"))
            TRY(lex_hex(s, true, &op->unknown));
        else
            return lex_fail(s, "expected {, target= or unknown=");
    }
    TRY(parse_args(s, &op->ins, &op->nins));
    TRY(lex_expect(s, "->"));
    TRY(parse_args(s, &op->outs, &op->nouts));
    TRY(parse_attrs(s, op));
    block_put_op(b, -1, op);
    return SKIFF_OK;
}

static enum skiff_status parse_block(struct parser *s)
{
    int idx = s->program->nblocks;
    int64_t number = 0, parent = 0, forward = -1;
    struct unknown_fields unknown = {0};
    TRY(lex_whole(s, idx, idx, &number));
    TRY(lex_expect(s, "parent="));
    TRY(lex_whole(s, -1, idx - 1, &parent));
    if (block_too_deep(s->program, (int)parent))
        return lex_fail(s, "expected blocks at most %d deep", BLOCK_DEPTH_MAX);
    if (accept_key(s, "forward")) {
        const char *at = s->p;
        TRY(lex_whole(s, -1, INT32_MAX, &forward));
        record_block(s, (int32_t)forward, at);
    }
    if (accept_key(s, "unknown"))
        TRY(lex_hex(s, true, &unknown));
    TRY(lex_expect(s, "{"));
    TRY(lex_line_end(s));
    struct skiff_block *b = program_push_block(s->program, (int)parent, (int)forward);
    b->unknown = unknown;
    for (lex_skip_lines(s); *s->p != '}'; lex_skip_lines(s)) {
        const char *at = s->p, *word = "";
        TRY(lex_word(s, "var, op or }", &word));
        if (strcmp(word, "var") == 0) {
            TRY(parse_var(s, b));
        } else if (strcmp(word, "op") == 0) {
            TRY(parse_op(s, b));
        } else {
            s->p = at;
            return lex_fail(s, "expected var, op or }");
        }
    }
    s->p++;
    return lex_line_end(s);
}

static enum skiff_status parse_op_versions(struct parser *s)
{
    struct skiff_program *p = s->program;
    int cap = 0;
    if (p->has_op_version_map)
        return lex_fail(s, "expected a block: op_versions stands twice");
    p->has_op_version_map = true;
    TRY(parse_tail(s, &p->version_map_unknown));
    for (lex_skip(s); *s->p && *s->p != '\n'; lex_skip(s)) {
        if (p->nop_versions == cap) {
            cap = cap ? cap * 2 : 16;
            struct op_version *grown = arena_alloc(&p->arena, (size_t)cap * sizeof(*grown));
            if (p->nop_versions)
                memcpy(grown, p->op_versions, (size_t)p->nop_versions * sizeof(*grown));
            p->op_versions = grown;
        }
        struct op_version *v = &p->op_versions[p->nop_versions];
        TRY(lex_word(s, "an op's type", &v->op));
        TRY(lex_expect(s, "="));
        TRY(lex_int(s, &v->version));
        p->nop_versions++;
    }
    return SKIFF_OK;
}

static enum skiff_status parse_head(struct parser *s)
{
    struct skiff_program *p = s->program;
    int64_t generation = 0;
    lex_skip_lines(s);
    TRY(lex_expect(s, "program"));
    TRY(lex_expect(s, "generation="));
    TRY(lex_whole(s, GEN_1X, GEN_2X, &generation));
    p->generation = (enum generation)generation;
    for (lex_skip(s); *s->p && *s->p != '\n'; lex_skip(s)) {
        if (accept_key(s, "version")) {
            p->has_version = true;
            TRY(lex_whole(s, INT64_MIN, INT64_MAX, &p->paddle_version));
        } else if (accept_key(s, "seed")) {
            TRY(lex_int(s, &p->random_seed));
        } else if (accept_key(s, "unknown")) {
            TRY(lex_hex(s, true, &p->unknown));
        } else if (accept_key(s, "version_unknown")) {
            TRY(lex_hex(s, true, &p->version_unknown));
        } else {
            return lex_fail(s, "expected version, seed, unknown or the end of the line");
        }
    }
    return SKIFF_OK;
}

static enum skiff_status parse_section(struct parser *s)
{
    const char *at = s->p, *word = "";
    TRY(lex_word(s, "block", &word));
    if (strcmp(word, "block") == 0)
        return parse_block(s);
    if (strcmp(word, "op_versions") == 0)
        return parse_op_versions(s);
    if (strcmp(word, "compat_map") == 0) {
        struct unknown_fields map = {0};
        lex_skip(s);
        TRY(lex_hex(s, false, &map));
        s->program->compat_map = map.bytes;
        s->program->compat_map_len = map.len;
        return lex_line_end(s);
    }
    s->p = at;
    return lex_fail(s, "expected block, op_versions or compat_map");
}

static enum skiff_status parse_program(struct parser *s)
{
    TRY(parse_head(s));
    for (lex_skip_lines(s); *s->p; lex_skip_lines(s))
        TRY(parse_section(s));
    if (s->program->nblocks == 0)
        return lex_fail(s, "expected a block");
    if (s->max_block >= s->program->nblocks) {
        s->p = s->max_at;
        s->line = s->max_line;
        s->line_no = s->max_line_no;
        return lex_fail(s, "expected a block below %d", s->program->nblocks);
    }
    return SKIFF_OK;
}

enum skiff_status program_parse(const char *text, const char *what, struct skiff_program **out,
                                struct skiff_error *err)
{
    struct parser s = {.program = program_create_bare(),
                       .what = what,
                       .p = text,
                       .line = text,
                       .line_no = 1,
                       .max_block = -1,
                       .err = err};
    struct text_locale locale;
    text_locale_enter(&locale);
    enum skiff_status status = parse_program(&s);
    text_locale_leave(&locale);
    if (status < 0) {
        program_destroy(s.program);
        return status;
    }
    program_set_origin(s.program, what);
    *out = s.program;
    return status;
}
