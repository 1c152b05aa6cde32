/* The stack machine. Objects are nodes in an arena; strings stay in the file's bytes. Nothing
 * recurses while the pickle runs, every opcode makes at most a few nodes, and the number of nodes
 * is bounded, so a hostile file ends in an error. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/pickle_node.h"

static const char *const kind_names[] = {"None",  "bool",  "int",     "float",     "str",
                                         "bytes", "bytes", "tuple",   "list",      "dict",
                                         "type",  "dtype", "ndarray", "stack mark"};

const char *node_kind_name(enum node_kind kind)
{
    return kind_names[kind];
}

enum skiff_status machine_fail(struct machine *m, const char *text)
{
    error_set(m->err, SKIFF_FORMAT, "%s: bad pickle at byte %zu: %s", m->what,
              (size_t)(m->p - m->start), text);
    return SKIFF_FORMAT;
}

enum skiff_status pickle_node_create(struct machine *m, enum node_kind kind,
                                     struct pickle_node **out)
{
    if (m->nodes++ >= NODES_MAX)
        return machine_fail(m, "too many objects");
    *out = arena_alloc(&m->arena, sizeof **out);
    (*out)->kind = kind;
    return SKIFF_OK;
}

static void list_push(struct node_list *l, struct pickle_node *node)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->v = mem_grow_or_die(l->v, l->cap * sizeof *l->v);
    }
    l->v[l->n++] = node;
}

static enum skiff_status push(struct machine *m, struct pickle_node *node)
{
    /* GET and DUP push without making a node */
    if (m->stack.n >= NODES_MAX)
        return machine_fail(m, "stack too deep");
    list_push(&m->stack, node);
    return SKIFF_OK;
}

static enum skiff_status push_new(struct machine *m, enum node_kind kind, struct pickle_node **out)
{
    struct pickle_node *node;
    TRY(pickle_node_create(m, kind, &node));
    if (out)
        *out = node;
    return push(m, node);
}

static enum skiff_status pop(struct machine *m, struct pickle_node **out)
{
    if (!m->stack.n || m->stack.v[m->stack.n - 1]->kind == NODE_MARK)
        return machine_fail(m, "takes from an empty stack");
    *out = m->stack.v[--m->stack.n];
    return SKIFF_OK;
}

static enum skiff_status top(struct machine *m, struct pickle_node **out)
{
    TRY(pop(m, out));
    m->stack.n++;
    return SKIFF_OK;
}

/* Index of the first item after the topmost mark; the mark itself is at index - 1. */
static enum skiff_status mark_find(struct machine *m, size_t *out)
{
    for (size_t i = m->stack.n; i-- > 0;)
        if (m->stack.v[i]->kind == NODE_MARK) {
            *out = i + 1;
            return SKIFF_OK;
        }
    return machine_fail(m, "no mark on the stack");
}

static enum skiff_status take(struct machine *m, size_t n, const uint8_t **out)
{
    if (n > (size_t)(m->end - m->p))
        return machine_fail(m, "ends inside an object");
    *out = m->p;
    m->p += n;
    return SKIFF_OK;
}

/* Little-endian unsigned number of `width` bytes. */
static enum skiff_status number(struct machine *m, int width, uint64_t *out)
{
    const uint8_t *p;
    TRY(take(m, (size_t)width, &p));
    uint64_t v = 0;
    for (int i = width; i-- > 0;)
        v = v << 8 | p[i];
    *out = v;
    return SKIFF_OK;
}

bool node_text_is(const struct pickle_node *n, const char *s)
{
    return (n->kind == NODE_TEXT || n->kind == NODE_BYTES) && n->s.n == strlen(s) &&
           !memcmp(n->s.p, s, n->s.n);
}

/* ------------------------------------------------------------------ objects */

static enum skiff_status push_string(struct machine *m, enum node_kind kind, int width)
{
    uint64_t n;
    struct pickle_node *node;
    const uint8_t *p;
    TRY(number(m, width, &n));
    if (n > SIZE_MAX / 2)
        return machine_fail(m, "a string of negative length");
    TRY(take(m, (size_t)n, &p));
    TRY(push_new(m, kind, &node));
    node->s = (struct node_text){p, (size_t)n};
    return SKIFF_OK;
}

static enum skiff_status push_int(struct machine *m, int64_t v)
{
    struct pickle_node *node;
    TRY(push_new(m, NODE_INT, &node));
    node->i = v;
    return SKIFF_OK;
}

static enum skiff_status push_long(struct machine *m, int width)
{
    uint64_t n, v = 0;
    TRY(number(m, width, &n));
    const uint8_t *p;
    if (n > 8)
        return machine_fail(m, "an integer of more than 64 bits");
    TRY(take(m, (size_t)n, &p));
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    if (n && n < 8 && p[n - 1] & 0x80)
        v |= ~0ull << (8 * n);
    return push_int(m, (int64_t)v);
}

static enum skiff_status push_float(struct machine *m)
{
    const uint8_t *p;
    struct pickle_node *node;
    TRY(take(m, 8, &p));
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | p[i];
    TRY(push_new(m, NODE_FLOAT, &node));
    memcpy(&node->f, &bits, 8);
    return SKIFF_OK;
}

static enum skiff_status push_bool(struct machine *m, bool v)
{
    struct pickle_node *node;
    TRY(push_new(m, NODE_BOOL, &node));
    node->i = v;
    return SKIFF_OK;
}

static enum skiff_status push_global(struct machine *m, struct node_text module,
                                     struct node_text name)
{
    struct pickle_node *node;
    enum global_id id;
    TRY(global_find(m, module, name, &id));
    TRY(push_new(m, NODE_GLOBAL, &node));
    node->global = id;
    return SKIFF_OK;
}

static enum skiff_status line_take(struct machine *m, struct node_text *out)
{
    const uint8_t *nl = memchr(m->p, '\n', (size_t)(m->end - m->p));
    if (!nl)
        return machine_fail(m, "ends inside a name");
    *out = (struct node_text){m->p, (size_t)(nl - m->p)};
    m->p = nl + 1;
    return SKIFF_OK;
}

static enum skiff_status op_global(struct machine *m)
{
    struct node_text module, name;
    TRY(line_take(m, &module));
    TRY(line_take(m, &name));
    return push_global(m, module, name);
}

static enum skiff_status op_stack_global(struct machine *m)
{
    struct pickle_node *module, *name;
    TRY(pop(m, &name));
    TRY(pop(m, &module));
    if (module->kind != NODE_TEXT || name->kind != NODE_TEXT)
        return machine_fail(m, "a global without a name");
    return push_global(m, module->s, name->s);
}

/* The n topmost items become a tuple or list; with `marked` a mark below them goes too. */
static enum skiff_status op_collect(struct machine *m, enum node_kind kind, size_t n, bool marked)
{
    for (size_t i = 0; i < n; i++)
        if (i >= m->stack.n || m->stack.v[m->stack.n - 1 - i]->kind == NODE_MARK)
            return machine_fail(m, "takes from an empty stack");
    struct pickle_node *node;
    TRY(pickle_node_create(m, kind, &node));
    m->stack.n -= n;
    node->list = (struct node_list){
        arena_memdup(&m->arena, m->stack.v + m->stack.n, n * sizeof(struct pickle_node *)), n, n};
    m->stack.n -= marked;
    return push(m, node);
}

static enum skiff_status op_collect_marked(struct machine *m, enum node_kind kind)
{
    size_t from;
    TRY(mark_find(m, &from));
    if (kind == NODE_DICT && (m->stack.n - from) % 2)
        return machine_fail(m, "a key without a value");
    return op_collect(m, kind, m->stack.n - from, true);
}

void node_add_items(struct machine *m, struct pickle_node *to, struct pickle_node *const *items,
                    size_t n)
{
    struct node_list *l = &to->list;
    if (l->n + n > l->cap) {
        size_t cap = 2 * l->cap > l->n + n ? 2 * l->cap : l->n + n;
        struct pickle_node **v = arena_alloc(&m->arena, cap * sizeof *v);
        if (l->n)
            memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
    }
    if (n)
        memcpy(l->v + l->n, items, n * sizeof *items);
    l->n += n;
}

/* Moves the n topmost items into the container below them (below the mark, with `marked`). */
static enum skiff_status op_add(struct machine *m, enum node_kind kind, size_t n, bool marked)
{
    size_t below = n + marked + 1;
    if (m->stack.n < below)
        return machine_fail(m, "takes from an empty stack");
    struct pickle_node *to = m->stack.v[m->stack.n - below];
    if (to->kind != kind)
        return machine_fail(m, kind == NODE_DICT ? "sets items of something that is no dict"
                                                 : "appends to something that is no list");
    if (kind == NODE_DICT && n % 2)
        return machine_fail(m, "a key without a value");
    /* A mark among the items can only be there without `marked`, when there is no dict below. */
    for (size_t i = 0; i < n && !marked; i++)
        if (m->stack.v[m->stack.n - 1 - i]->kind == NODE_MARK)
            return machine_fail(m, "takes from an empty stack");
    node_add_items(m, to, m->stack.v + m->stack.n - n, n);
    m->stack.n -= n + marked;
    return SKIFF_OK;
}

static enum skiff_status op_add_marked(struct machine *m, enum node_kind kind)
{
    size_t from;
    TRY(mark_find(m, &from));
    return op_add(m, kind, m->stack.n - from, true);
}

static enum skiff_status memo_put(struct machine *m, uint64_t i)
{
    struct pickle_node *node;
    TRY(top(m, &node));
    if (i >= NODES_MAX)
        return machine_fail(m, "a memo number that is too large");
    while (m->memo.n <= i)
        list_push(&m->memo, NULL);
    m->memo.v[i] = node;
    return SKIFF_OK;
}

static enum skiff_status op_put(struct machine *m, int width)
{
    uint64_t i;
    TRY(number(m, width, &i));
    return memo_put(m, i);
}

static enum skiff_status op_get(struct machine *m, int width)
{
    uint64_t i;
    TRY(number(m, width, &i));
    if (i >= m->memo.n || !m->memo.v[i])
        return machine_fail(m, "asks for a memo entry that is not there");
    return push(m, m->memo.v[i]);
}

/* ------------------------------------------------------------------ opcodes */

static enum skiff_status op_reduce(struct machine *m)
{
    struct pickle_node *callee, *args, *result;
    TRY(pop(m, &args));
    TRY(pop(m, &callee));
    if (callee->kind != NODE_GLOBAL || args->kind != NODE_TUPLE)
        return machine_fail(m, "calls something that cannot be called");
    TRY(global_call(m, callee->global, args, &result));
    return push(m, result);
}

static enum skiff_status op_build(struct machine *m)
{
    struct pickle_node *state, *object;
    TRY(pop(m, &state));
    TRY(top(m, &object));
    if (state->kind != NODE_TUPLE)
        return machine_fail(m, "a state that is no tuple");
    return node_build(m, object, state);
}

static enum skiff_status op_number(struct machine *m, uint8_t op)
{
    uint64_t v;
    switch (op) {
    case 'K':
        TRY(number(m, 1, &v));
        return push_int(m, (int64_t)v);
    case 'M':
        TRY(number(m, 2, &v));
        return push_int(m, (int64_t)v);
    default: /* 'J' */
        TRY(number(m, 4, &v));
        return push_int(m, (int32_t)(uint32_t)v);
    }
}

static enum skiff_status op_header(struct machine *m, uint8_t op)
{
    uint64_t v;
    if (op == 0x80) {
        TRY(number(m, 1, &v));
        if (v < 2 || v > 5)
            return error_set(m->err, SKIFF_UNSUPPORTED,
                             "%s: pickle protocol %" PRIu64 "; 2 to 5 can be read", m->what, v);
        return SKIFF_OK;
    }
    TRY(number(m, 8, &v)); /* FRAME: only a hint for readers that buffer */
    return v > (uint64_t)(m->end - m->p) ? machine_fail(m, "a frame that is longer than the file")
                                         : SKIFF_OK;
}

static enum skiff_status op_drop(struct machine *m, uint8_t op)
{
    struct pickle_node *node;
    size_t from;
    if (op == '1') { /* POP_MARK */
        TRY(mark_find(m, &from));
        m->stack.n = from - 1;
        return SKIFF_OK;
    }
    if (op == '0')
        return pop(m, &node);
    TRY(top(m, &node)); /* DUP */
    return push(m, node);
}

static enum skiff_status op_run(struct machine *m, uint8_t op)
{
    switch (op) {
    case 0x80:
    case 0x95:
        return op_header(m, op);
    case '(':
        return push_new(m, NODE_MARK, NULL);
    case '}':
        return push_new(m, NODE_DICT, NULL);
    case ']':
        return push_new(m, NODE_LIST, NULL);
    case ')':
        return push_new(m, NODE_TUPLE, NULL);
    case 't':
        return op_collect_marked(m, NODE_TUPLE);
    case 'l':
        return op_collect_marked(m, NODE_LIST);
    case 'd':
        return op_collect_marked(m, NODE_DICT);
    case 0x85:
    case 0x86:
    case 0x87:
        return op_collect(m, NODE_TUPLE, op - 0x84u, false);
    case 'a':
        return op_add(m, NODE_LIST, 1, false);
    case 'e':
        return op_add_marked(m, NODE_LIST);
    case 's':
        return op_add(m, NODE_DICT, 2, false);
    case 'u':
        return op_add_marked(m, NODE_DICT);
    case 'b':
        return op_build(m);
    case 'R':
        return op_reduce(m);
    case 'c':
        return op_global(m);
    case 0x93:
        return op_stack_global(m);
    case 'X':
        return push_string(m, NODE_TEXT, 4);
    case 0x8c:
        return push_string(m, NODE_TEXT, 1);
    case 0x8d:
        return push_string(m, NODE_TEXT, 8);
    case 'T': /* str of Python 2: bytes that may be used as text */
    case 'B':
        return push_string(m, NODE_BYTES, 4);
    case 'U':
    case 'C':
        return push_string(m, NODE_BYTES, 1);
    case 0x8e:
    case 0x96:
        return push_string(m, NODE_BYTES, 8);
    case 'K':
    case 'M':
    case 'J':
        return op_number(m, op);
    case 0x8a:
        return push_long(m, 1);
    case 0x8b:
        return push_long(m, 4);
    case 'G':
        return push_float(m);
    case 0x88:
    case 0x89:
        return push_bool(m, op == 0x88);
    case 'N':
        return push_new(m, NODE_NONE, NULL);
    case 'q':
        return op_put(m, 1);
    case 'r':
        return op_put(m, 4);
    case 0x94:
        return memo_put(m, m->memo.n);
    case 'h':
        return op_get(m, 1);
    case 'j':
        return op_get(m, 4);
    case '0':
    case '1':
    case '2':
        return op_drop(m, op);
    }
    m->p--;
    char text[48];
    snprintf(text, sizeof text, "opcode 0x%02x, which no array needs", op);
    return machine_fail(m, text);
}

enum skiff_status machine_run(struct machine *m, struct pickle_node **out)
{
    for (;;) {
        const uint8_t *op;
        TRY(take(m, 1, &op));
        if (*op == '.')
            break;
        TRY(op_run(m, *op));
    }
    TRY(pop(m, out));
    if (m->stack.n)
        return machine_fail(m, "objects are left on the stack");
    if (m->p != m->end)
        return error_set(m->err, SKIFF_FORMAT,
                         "%s: %zu bytes expected, %zu found (extra bytes after the pickle)",
                         m->what, (size_t)(m->p - m->start), (size_t)(m->end - m->start));
    return SKIFF_OK;
}
