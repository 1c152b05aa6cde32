/* Internals of the pickle reader, shared by its three files: pickle_machine.c runs the opcodes,
 * pickle_call.c has the supported callables, pickle_read.c turns the resulting nodes into tensors.
 */
#ifndef STORE_PICKLE_NODE_H
#define STORE_PICKLE_NODE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "tensor/dtype.h"

#define NODES_MAX (4u << 20)

enum node_kind {
    NODE_NONE,
    NODE_BOOL,
    NODE_INT,
    NODE_FLOAT,
    NODE_TEXT,
    NODE_BYTES,
    NODE_LATIN1, /* bytes still in the form of their latin-1 text */
    NODE_TUPLE,
    NODE_LIST,
    NODE_DICT, /* items are key, value, key, value, ... */
    NODE_GLOBAL,
    NODE_DTYPE,
    NODE_ARRAY,
    NODE_MARK,
};

enum global_id {
    GLOBAL_RECONSTRUCT,
    GLOBAL_SCALAR,
    GLOBAL_FROMBUFFER,
    GLOBAL_NDARRAY,
    GLOBAL_DTYPE,
    GLOBAL_ENCODE,
    GLOBAL_DICT,
    GLOBAL_TUPLE,
    GLOBAL_LIST,
    GLOBAL_BYTES,
    GLOBAL_EVAL,
};

struct pickle_node;

struct node_list {
    struct pickle_node **v;
    size_t n, cap;
};

struct node_text {
    const uint8_t *p;
    size_t n;
};

struct node_array {
    const struct pickle_node *dtype, *shape, *data;
    bool fortran;
};

struct pickle_node {
    enum node_kind kind;
    union {
        int64_t i;
        double f;
        struct node_text s;
        struct node_list list;
        enum global_id global;
        struct {
            enum dtype type;
            bool swapped;
        } dtype;
        struct node_array array;
    };
};

struct machine {
    const uint8_t *p, *end, *start;
    const char *what;
    struct skiff_error *err;
    struct arena arena;
    struct node_list stack, memo; /* heap */
    size_t nodes;
    size_t array_limit, array_budget; /* budget for bytes of arrays; what is left of it */
};

/* Python's name for an object of that kind. */
const char *node_kind_name(enum node_kind kind);
/* Is it a string with exactly this text? */
bool node_text_is(const struct pickle_node *n, const char *s);
static inline bool node_is_bytes(const struct pickle_node *n)
{
    return n->kind == NODE_BYTES || n->kind == NODE_LATIN1;
}

/* SKIFF_FORMAT: "<file>: bad pickle at byte N: <text>". */
enum skiff_status machine_fail(struct machine *m, const char *text);
enum skiff_status pickle_node_create(struct machine *m, enum node_kind kind,
                                     struct pickle_node **out);
/* Appends items to a list or dict. */
void node_add_items(struct machine *m, struct pickle_node *to, struct pickle_node *const *items,
                    size_t n);

/* Runs the pickle m->p .. m->end; *out is the object it leaves. */
enum skiff_status machine_run(struct machine *m, struct pickle_node **out);

/* The callable of that name, or an error that names it. */
enum skiff_status global_find(struct machine *m, struct node_text module, struct node_text name,
                              enum global_id *out);
enum skiff_status global_call(struct machine *m, enum global_id global,
                              const struct pickle_node *args, struct pickle_node **out);
/* Gives `state` to an ndarray or a dtype. */
enum skiff_status node_build(struct machine *m, struct pickle_node *object,
                             const struct pickle_node *state);

/* Decodes bytes stored as latin-1 text; returns how many. `to` must be large enough for the text.
 */
size_t node_latin1_decode(const struct node_text *s, uint8_t *to);
struct tensor;
/* The array as a tensor; `name` is for messages. */
enum skiff_status node_to_tensor(struct machine *m, const char *name, const struct node_array *a,
                                 struct tensor *out);

#endif
