/* Insides of the pickle reader, shared by its three files: pickle_machine.c runs the opcodes,
 * pickle_call.c knows the few callables, pickle_read.c turns the resulting nodes into tensors. */
#ifndef STORE_PICKLE_NODE_H
#define STORE_PICKLE_NODE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "tensor/dtype.h"

#define NODES_MAX (4u << 20)

enum node_kind {
    N_NONE,
    N_BOOL,
    N_INT,
    N_FLOAT,
    N_TEXT,
    N_BYTES,
    N_LATIN1, /* bytes still in the form of their latin-1 text */
    N_TUPLE,
    N_LIST,
    N_DICT, /* items are key, value, key, value, ... */
    N_GLOBAL,
    N_DTYPE,
    N_ARRAY,
    N_MARK,
};

enum global_id {
    G_RECONSTRUCT,
    G_SCALAR,
    G_FROMBUFFER,
    G_NDARRAY,
    G_DTYPE,
    G_ENCODE,
    G_DICT,
    G_TUPLE,
    G_LIST,
    G_BYTES,
    G_EVAL,
};

struct node;

struct node_list {
    struct node **v;
    size_t n, cap;
};

struct node_text {
    const uint8_t *p;
    size_t n;
};

struct node_array {
    const struct node *dtype, *shape, *data;
    bool fortran;
};

struct node {
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
    size_t array_limit, array_budget; /* bytes of arrays that may be made; that are left of it */
};

/* What Python calls an object of that kind. */
const char *node_kind_name(enum node_kind kind);
/* Is it a string with exactly this text? */
bool node_text_is(const struct node *n, const char *s);
static inline bool node_is_bytes(const struct node *n)
{
    return n->kind == N_BYTES || n->kind == N_LATIN1;
}

/* SKIFF_FORMAT: "<file>: bad pickle at byte N: <text>". */
enum skiff_status machine_fail(struct machine *m, const char *text);
enum skiff_status node_make(struct machine *m, enum node_kind kind, struct node **out);
/* Appends items to a list or dict. */
void node_add_items(struct machine *m, struct node *to, struct node *const *items, size_t n);

/* Runs the pickle m->p .. m->end; *out is the object it leaves. */
enum skiff_status machine_run(struct machine *m, struct node **out);

/* The callable of that name, or an error that names it. */
enum skiff_status global_find(struct machine *m, struct node_text module, struct node_text name,
                              enum global_id *out);
enum skiff_status global_call(struct machine *m, enum global_id global, const struct node *args,
                              struct node **out);
/* Gives `state` to an ndarray or a dtype. */
enum skiff_status node_build(struct machine *m, struct node *object, const struct node *state);

/* Bytes that stand as latin-1 text; gives how many. `to` has room for the text. */
size_t node_latin1_decode(const struct node_text *s, uint8_t *to);
struct tensor;
/* The array as a tensor; `name` is for messages. */
enum skiff_status node_to_tensor(struct machine *m, const char *name, const struct node_array *a,
                                 struct tensor *out);

#endif
