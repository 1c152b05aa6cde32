/* The callables that a pickled array needs. None of them runs code from the file: each makes a node
 * from its argument nodes, after checking their number and kinds.
 *
 * Callables are found by module and name in a table; any other name is refused, with its name.
 * Python 2, Python 3 and several generations of numpy call the same thing differently, therefore
 * the duplicates in the table. */
#include <string.h>

#include "store/pickle_node.h"

static const struct {
    const char *module, *name;
    enum global_id id;
} globals[] = {
    {"numpy.core.multiarray", "_reconstruct", GLOBAL_RECONSTRUCT},
    {"numpy._core.multiarray", "_reconstruct", GLOBAL_RECONSTRUCT},
    {"numpy.core.multiarray", "scalar", GLOBAL_SCALAR},
    {"numpy._core.multiarray", "scalar", GLOBAL_SCALAR},
    {"numpy.core.numeric", "_frombuffer", GLOBAL_FROMBUFFER},
    {"numpy._core.numeric", "_frombuffer", GLOBAL_FROMBUFFER},
    {"numpy", "ndarray", GLOBAL_NDARRAY},
    {"numpy", "dtype", GLOBAL_DTYPE},
    {"_codecs", "encode", GLOBAL_ENCODE},
    {"collections", "OrderedDict", GLOBAL_DICT},
    {"_collections", "OrderedDict", GLOBAL_DICT},
    {"builtins", "dict", GLOBAL_DICT},
    {"__builtin__", "dict", GLOBAL_DICT},
    {"builtins", "tuple", GLOBAL_TUPLE},
    {"__builtin__", "tuple", GLOBAL_TUPLE},
    {"builtins", "list", GLOBAL_LIST},
    {"__builtin__", "list", GLOBAL_LIST},
    {"builtins", "bytes", GLOBAL_BYTES},
    {"__builtin__", "bytes", GLOBAL_BYTES},
    {"builtins", "bytearray", GLOBAL_BYTES},
    {"__builtin__", "bytearray", GLOBAL_BYTES},
    /* paddle.save writes a static graph's tensor as eval('data', {'data': array}); only this exact
     * form is accepted, as the array. */
    {"builtins", "eval", GLOBAL_EVAL},
    {"__builtin__", "eval", GLOBAL_EVAL},
};

enum skiff_status global_find(struct machine *m, struct node_text module, struct node_text name,
                              enum global_id *out)
{
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++)
        if (module.n == strlen(globals[i].module) && name.n == strlen(globals[i].name) &&
            !memcmp(module.p, globals[i].module, module.n) &&
            !memcmp(name.p, globals[i].name, name.n)) {
            *out = globals[i].id;
            return SKIFF_OK;
        }
    error_set(m->err, SKIFF_UNSUPPORTED,
              "%s: the pickle asks for %.*s.%.*s; only numbers, texts, numpy arrays and lists, "
              "tuples and dicts of them are read, and nothing in a file is executed",
              m->what, (int)(module.n < 80 ? module.n : 80), (const char *)module.p,
              (int)(name.n < 80 ? name.n : 80), (const char *)name.p);
    return SKIFF_UNSUPPORTED;
}

static const struct {
    const char *code;
    enum dtype type;
} dtype_codes[] = {
    {"f4", DTYPE_FP32},        {"f8", DTYPE_FP64},  {"f2", DTYPE_FP16},   {"i1", DTYPE_INT8},
    {"i2", DTYPE_INT16},       {"i4", DTYPE_INT32}, {"i8", DTYPE_INT64},  {"u1", DTYPE_UINT8},
    {"b1", DTYPE_BOOL},        {"u2", DTYPE_BF16},  {"u8", DTYPE_SIZE_T}, {"c8", DTYPE_COMPLEX64},
    {"c16", DTYPE_COMPLEX128},
};

static enum skiff_status call_dtype(struct machine *m, const struct node_list *args,
                                    struct pickle_node **out)
{
    if (!args->n || (args->v[0]->kind != NODE_TEXT && args->v[0]->kind != NODE_BYTES))
        return machine_fail(m, "numpy.dtype without a type name");
    struct node_text s = args->v[0]->s;
    bool swapped = s.n && s.p[0] == '>';
    if (s.n && strchr("<>|=", s.p[0]) && s.p[0]) {
        s.p++;
        s.n--;
    }
    for (size_t i = 0; i < sizeof dtype_codes / sizeof *dtype_codes; i++)
        if (s.n == strlen(dtype_codes[i].code) && !memcmp(s.p, dtype_codes[i].code, s.n)) {
            TRY(pickle_node_create(m, NODE_DTYPE, out));
            (*out)->dtype.type = dtype_codes[i].type;
            (*out)->dtype.swapped = swapped;
            return SKIFF_OK;
        }
    return error_set(m->err, SKIFF_DTYPE, "%s: arrays of numpy type '%.*s' are not supported",
                     m->what, (int)(s.n < 40 ? s.n : 40), (const char *)s.p);
}

static enum skiff_status call_encode(struct machine *m, const struct node_list *args,
                                     struct pickle_node **out)
{
    if (args->n != 2 || args->v[0]->kind != NODE_TEXT ||
        !(node_text_is(args->v[1], "latin1") || node_text_is(args->v[1], "latin-1")))
        return machine_fail(m, "_codecs.encode with other arguments than (text, 'latin1')");
    TRY(pickle_node_create(m, NODE_LATIN1, out));
    (*out)->s = args->v[0]->s;
    return SKIFF_OK;
}

/* scalar(dtype, bytes): an array without dimensions */
static enum skiff_status call_scalar(struct machine *m, const struct node_list *args,
                                     struct pickle_node **out)
{
    if (args->n != 2 || args->v[0]->kind != NODE_DTYPE || !node_is_bytes(args->v[1]))
        return machine_fail(m, "numpy scalar with other arguments than (dtype, bytes)");
    struct pickle_node *shape;
    TRY(pickle_node_create(m, NODE_TUPLE, &shape));
    TRY(pickle_node_create(m, NODE_ARRAY, out));
    (*out)->array = (struct node_array){args->v[0], shape, args->v[1], false};
    return SKIFF_OK;
}

/* _frombuffer(bytes, dtype, shape, order) */
static enum skiff_status call_frombuffer(struct machine *m, const struct node_list *args,
                                         struct pickle_node **out)
{
    if (args->n != 4 || !node_is_bytes(args->v[0]) || args->v[1]->kind != NODE_DTYPE ||
        args->v[2]->kind != NODE_TUPLE || args->v[3]->kind != NODE_TEXT)
        return machine_fail(
            m, "numpy _frombuffer with other arguments than (bytes, dtype, shape, order)");
    TRY(pickle_node_create(m, NODE_ARRAY, out));
    (*out)->array =
        (struct node_array){args->v[1], args->v[2], args->v[0], node_text_is(args->v[3], "F")};
    return SKIFF_OK;
}

/* dict() and dict(list of pairs); OrderedDict likewise */
static enum skiff_status call_dict(struct machine *m, const struct node_list *args,
                                   struct pickle_node **out)
{
    TRY(pickle_node_create(m, NODE_DICT, out));
    if (!args->n)
        return SKIFF_OK;
    const struct pickle_node *pairs = args->v[0];
    if (args->n != 1 || (pairs->kind != NODE_LIST && pairs->kind != NODE_TUPLE))
        return machine_fail(m, "dict made of something that is no list of pairs");
    /* copy the nodes of the pairs: several dicts may use one list */
    if (pairs->list.n > NODES_MAX - m->nodes)
        return machine_fail(m, "too many objects");
    m->nodes += pairs->list.n;
    for (size_t i = 0; i < pairs->list.n; i++) {
        const struct pickle_node *pair = pairs->list.v[i];
        if ((pair->kind != NODE_LIST && pair->kind != NODE_TUPLE) || pair->list.n != 2)
            return machine_fail(m, "dict made of something that is no list of pairs");
        node_add_items(m, *out, pair->list.v, 2);
    }
    return SKIFF_OK;
}

static enum skiff_status call_eval(struct machine *m, const struct node_list *args,
                                   struct pickle_node **out)
{
    if (args->n == 2 && node_text_is(args->v[0], "data") && args->v[1]->kind == NODE_DICT &&
        args->v[1]->list.n == 2 && node_text_is(args->v[1]->list.v[0], "data")) {
        *out = args->v[1]->list.v[1];
        return SKIFF_OK;
    }
    return error_set(m->err, SKIFF_UNSUPPORTED,
                     "%s: the pickle asks to evaluate code; nothing in a file is executed",
                     m->what);
}

static enum skiff_status call_sequence(struct machine *m, enum node_kind kind,
                                       const struct node_list *args, struct pickle_node **out)
{
    if (args->n > 1 ||
        (args->n == 1 && args->v[0]->kind != NODE_TUPLE && args->v[0]->kind != NODE_LIST))
        return machine_fail(m, "tuple or list made of something that is no sequence");
    TRY(pickle_node_create(m, kind, out));
    if (args->n && kind == NODE_TUPLE)
        (*out)->list = args->v[0]->list; /* tuples never change: the items can be shared */
    else if (args->n) {
        if (args->v[0]->list.n > NODES_MAX - m->nodes)
            return machine_fail(m, "too many objects");
        m->nodes += args->v[0]->list.n;
        node_add_items(m, *out, args->v[0]->list.v, args->v[0]->list.n);
    }
    return SKIFF_OK;
}

static enum skiff_status call_bytes(struct machine *m, const struct node_list *args,
                                    struct pickle_node **out)
{
    if (args->n > 1 || (args->n == 1 && !node_is_bytes(args->v[0])))
        return machine_fail(m, "bytes made of something else than bytes");
    if (args->n) {
        *out = args->v[0];
        return SKIFF_OK;
    }
    TRY(pickle_node_create(m, NODE_BYTES, out));
    (*out)->s = (struct node_text){m->start, 0};
    return SKIFF_OK;
}

enum skiff_status global_call(struct machine *m, enum global_id global,
                              const struct pickle_node *args, struct pickle_node **out)
{
    const struct node_list *a = &args->list;
    switch (global) {
    case GLOBAL_RECONSTRUCT:
        if (!a->n || a->v[0]->kind != NODE_GLOBAL || a->v[0]->global != GLOBAL_NDARRAY)
            return machine_fail(m, "_reconstruct of something else than numpy.ndarray");
        return pickle_node_create(m, NODE_ARRAY, out);
    case GLOBAL_SCALAR:
        return call_scalar(m, a, out);
    case GLOBAL_FROMBUFFER:
        return call_frombuffer(m, a, out);
    case GLOBAL_DTYPE:
        return call_dtype(m, a, out);
    case GLOBAL_ENCODE:
        return call_encode(m, a, out);
    case GLOBAL_DICT:
        return call_dict(m, a, out);
    case GLOBAL_TUPLE:
        return call_sequence(m, NODE_TUPLE, a, out);
    case GLOBAL_LIST:
        return call_sequence(m, NODE_LIST, a, out);
    case GLOBAL_BYTES:
        return call_bytes(m, a, out);
    case GLOBAL_EVAL:
        return call_eval(m, a, out);
    case GLOBAL_NDARRAY:
        return machine_fail(m, "calls numpy.ndarray");
    }
    return machine_fail(m, "calls an unknown global");
}

/* BUILD: ndarray takes (version, shape, dtype, fortran, data), dtype (version, byte order, ...). */
enum skiff_status node_build(struct machine *m, struct pickle_node *object,
                             const struct pickle_node *state)
{
    struct pickle_node *const *v = state->list.v;
    if (object->kind == NODE_DTYPE && state->list.n >= 2) {
        if (node_text_is(v[1], ">"))
            object->dtype.swapped = true;
        else if (!node_text_is(v[1], "<") && !node_text_is(v[1], "|") && !node_text_is(v[1], "="))
            return machine_fail(m, "a dtype with an unknown byte order");
        return SKIFF_OK;
    }
    if (object->kind != NODE_ARRAY || state->list.n != 5)
        return machine_fail(m, "gives a state to something that takes none");
    if (v[1]->kind != NODE_TUPLE || v[2]->kind != NODE_DTYPE ||
        (v[3]->kind != NODE_BOOL && v[3]->kind != NODE_INT))
        return machine_fail(m, "a state that does not fit numpy.ndarray");
    if (!node_is_bytes(v[4]))
        return error_set(m->err, SKIFF_DTYPE,
                         "%s: an array holds a %s of Python objects; only numbers are supported",
                         m->what, node_kind_name(v[4]->kind));
    object->array = (struct node_array){v[2], v[1], v[4], v[3]->i != 0};
    return SKIFF_OK;
}
