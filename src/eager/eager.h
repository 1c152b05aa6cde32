/* Types shared by the files of the module: storages, tensors, calls, gradient functions, tape
 * nodes.
 *
 *   storage     memory of a tensor and a write counter (`version`); detached tensors share one
 *   eager_call  an op with its attributes and argument counts, bound to its kernel once and found
 *               again by this key (call.c). Arguments are numbered: inputs from 0 in the order of
 *               the kind's slots, outputs likewise.
 *   grad_fn     the gradient function of a call, for one choice of wanted gradients: gradient ops
 *               (calls themselves), and the source of each of their arguments (grad_fn.c)
 *   tape_node   one op that was run: its gradient function, the storages that this function reads,
 *               and an edge for each input that receives a gradient (tape.c)
 *
 * Threads: an engine and everything made with it belong to one thread. */
#ifndef EAGER_EAGER_H
#define EAGER_EAGER_H

#include <skiff/eager.h>

#include "program/kernel.h"

/* ---- memory ---- */

struct storage {
    struct skiff_eager *engine;
    int refs;
    unsigned version; /* number of writes */
    unsigned silent;  /* writes that Paddle does not count: the complete value was replaced */
    struct skiff_tensor value;
    struct storage *next; /* next in the engine's free list */
};

enum { POOL_CLASSES = 40 };
struct pool_block {
    void *data;
    size_t cap;
    struct pool_block *next;
};

/* Unused blocks, in size classes by powers of two. */
struct block_pool {
    struct pool_block *classes[POOL_CLASSES];
    struct pool_block *spare;
    int count[POOL_CLASSES];  /* blocks in the class */
    int missed[POOL_CLASSES]; /* requests that the class could not serve */
    size_t bytes;
};

struct storage *storage_create(struct skiff_eager *e);
static inline struct storage *storage_ref(struct storage *b)
{
    b->refs++;
    return b;
}
void storage_unref(struct storage *b); /* accepts NULL */
/* For infer.supply: gives a tensor without memory a block of about `bytes` bytes if the pool has
 * one. */
void pool_supply(void *pool, struct tensor *t, size_t bytes);
void pool_deinit(struct block_pool *p);

/* ---- calls ---- */

struct grad_fn;

struct eager_call {
    int refs;
    uint64_t hash;
    void *key;
    size_t key_bytes;
    struct eager_call *next;       /* next in its hash chain */
    struct skiff_program *program; /* owned reference; holds the op */
    struct arena arena;
    struct kernel kernel;
    int nin, nout;
    struct skiff_tensor **in_values, **out_values; /* the kernel's slots point into these arrays */
    const struct op_slot **in_slots, **out_slots;  /* by argument */
    bool *in_there, *out_there;                    /* false: @EMPTY@ */
    size_t *out_bytes; /* sizes of the previous run; for kinds that size their own outputs */
    struct grad_fn *grad_fns;
};

struct call_cache {
    struct eager_call **chains;
    size_t nchains, count;
    struct buf key; /* scratch */
};

struct eager_call *call_find(struct skiff_eager *e, const struct skiff_op_call *c,
                             struct skiff_error *err); /* borrowed from the cache; NULL on error */
/* A call outside the cache, with the meaning that its op type has in `generation`; NULL on
 * error. */
struct eager_call *call_create(struct skiff_eager *e, const struct skiff_op_call *c, int generation,
                               struct skiff_error *err);
/* A call outside the cache for a loose op of a program. Its arguments are renamed by number. */
enum skiff_status call_of_op(struct skiff_eager *e, struct skiff_program *p, struct skiff_op *op,
                             struct eager_call **out, struct skiff_error *err);
void call_unref(struct eager_call *c);
void cache_deinit(struct call_cache *c);
/* Puts names and shapes of the call's tensors into a message that has I0, I1, .. */
void blame_tensors(const struct eager_call *c, struct skiff_eager_tensor *const *ins,
                   struct skiff_error *err);
/* Runs the kernel on in_values and out_values. */
enum skiff_status call_run(struct skiff_eager *e, struct eager_call *c, struct skiff_error *err);

/* Names of arguments: I0, I1, ..; O0, O1, .. */
#define IN_PREFIX 'I'
#define OUT_PREFIX 'O'

/* ---- gradient functions ---- */

enum source {
    SOURCE_NONE,
    SOURCE_IN,       /* the call's input */
    SOURCE_OUT,      /* its output */
    SOURCE_OUT_GRAD, /* gradient of its output */
    SOURCE_LOCAL,    /* made by an earlier step of the gradient function */
};
struct grad_arg {
    enum source from;
    int index;
};

struct grad_fn_step {
    struct eager_call *call;
    struct grad_arg *ins;  /* sources of the call's inputs */
    struct grad_arg *outs; /* SOURCE_IN: gradient of that input; SOURCE_LOCAL; SOURCE_NONE */
};

struct grad_fn {
    struct grad_fn *next; /* next of the same call, for another choice of gradients */
    bool *wanted;         /* by input */
    struct grad_fn_step *steps;
    int nsteps, nlocals;
    char *need_in, *need_out; /* NEED_*, by argument */
};
enum { NEED_NOTHING, NEED_SHAPE, NEED_DATA };

/* The gradient function for the wanted gradients; *out is NULL if the op has no gradient. */
enum skiff_status grad_fn_of(struct skiff_eager *e, struct eager_call *c, const bool *wanted,
                             struct grad_fn **out, struct skiff_error *err);
void grad_fn_destroy(struct grad_fn *r);

/* ---- tape nodes ---- */

struct tape_node;

struct hook {
    skiff_eager_hook call;
    void *user;
    void (*end)(void *user);
    int64_t number;
    struct hook *next;
};

/* Where a gradient goes: an output of a tape node, or a leaf. */
struct edge {
    struct tape_node *node; /* owned reference; NULL if the target is the leaf */
    int out;
    struct skiff_eager_tensor *leaf; /* owned reference; NULL with a node or without a target */
};

struct saved_value {
    struct storage *storage; /* owned reference; NULL if not needed or released */
    unsigned version;
    struct skiff_eager_packed *packed; /* result of the pack hook; `box` has the shape only */
    struct storage *form;  /* the shape-only storage, while box has the unpacked value */
    unsigned leaf_version; /* version of a leaf when it was packed */
};

struct tape_node_out {
    struct shape shape; /* for zeros if no gradient arrives */
    enum dtype dtype;
    struct hook *hooks;
    struct skiff_eager_tensor *retain; /* also receives the gradient; borrowed */
    int64_t retain_after; /* `retain` gets the gradient as the hook of this number left it */
    struct skiff_eager_tensor *grad; /* during a walk */
};

struct tape_node {
    struct skiff_eager *engine;
    int refs;
    uint64_t number;         /* increases with every node */
    struct eager_call *call; /* owned reference; NULL if `own` is used */
    struct grad_fn *grad_fn;
    struct skiff_eager_own own;
    struct edge *edges;        /* by input */
    struct saved_value *saved; /* inputs, then outputs */
    struct tape_node_out *outs;
    int nin, nout;
    bool packs;    /* `saved` has packed entries */
    bool released; /* backward has consumed it */
    uint64_t walk; /* number of the last walk that reached it */
    bool walked;   /* that walk is not over yet */
    int waits_for; /* edges of this walk that have not delivered yet */
    bool queued;
    struct tape_node *next_free;
};

struct tape_node *tape_node_create(struct skiff_eager *e, int nin, int nout);
void tape_node_unref(struct tape_node *n);
void tape_node_clear(struct tape_node *n); /* releases storages and edges */

enum skiff_status packed_save(struct tape_node *n, int at, struct skiff_eager_tensor *t,
                              struct skiff_error *err);
enum skiff_status packed_open(struct tape_node *n, struct skiff_error *err);
void packed_close(struct tape_node *n);
void packed_end(struct saved_value *s);

struct skiff_eager_tensor {
    struct skiff_eager *engine;
    int refs;
    struct storage *storage;
    bool stop_gradient;
    bool cleared;           /* the gradient is zero and allocated on demand (skiff_eager_grad_of) */
    struct tape_node *node; /* owned reference to its producer; NULL for a leaf */
    int out;
    struct skiff_eager_tensor *grad;
    struct hook *hooks; /* of a leaf */
    void *user;
    struct reduced *reduced; /* averaging of its gradient over ranks (reduce.c), or NULL */
    char *name;              /* or NULL */
    /* during a walk */
    uint64_t walk;
    int waits_for;
    struct skiff_eager_tensor *pending, *next;
};

struct skiff_eager {
    int refs; /* the owner's, and one for each tensor and storage */
    struct run_env env;
    struct mt64 generator;
    struct kernel_scratch_space scratch;
    bool noting;
    int generation; /* see skiff_eager_set_generation */
    struct call_cache cache;
    struct block_pool pool;
    struct skiff_thread_pool *thread_pool; /* borrowed; or NULL */
    struct storage *spare_storages;
    struct skiff_eager_tensor *spare_tensors;
    struct tape_node
        *freeing; /* nodes waiting to be freed, so that long chains need no recursion */
    bool is_freeing;
    uint64_t nodes, walks;
    int backwards;                        /* backward calls on the stack (they nest) */
    struct skiff_eager_reducer *reducing; /* the reducers that received gradients in them */
    int64_t hooks;
    struct skiff_eager_pack pack;     /* hooks for values saved from now on */
    struct skiff_eager_tensor **args; /* scratch: arguments of a call by number */
    int args_cap;
    bool *wanted; /* scratch */
    int wanted_cap;
    skiff_eager_observer observer; /* NULL if there is none or it is running */
    void *observer_user;
};

void engine_unref(struct skiff_eager *e);

/* Runs the call's op with these arguments by number (NULL: absent) and records a tape node if a
 * gradient is needed. */
enum skiff_status op_run(struct skiff_eager *e, struct eager_call *c,
                         struct skiff_eager_tensor *const *ins,
                         struct skiff_eager_tensor *const *outs, struct skiff_error *err);
/* A tensor for the target of an edge: same storage, same position on the tape. */
struct skiff_eager_tensor *tensor_at(struct skiff_eager *e, struct storage *storage,
                                     const struct edge *edge);
void hooks_deinit(struct hook *h);
/* Called when a leaf that belongs to a reducer has received its gradient, and at the end of a
 * backward (status: its result). */
enum skiff_status reduce_leaf(struct skiff_eager_tensor *t, struct skiff_error *err);
enum skiff_status reduce_finish(struct skiff_eager *e, enum skiff_status status,
                                struct skiff_error *err);
void edge_unref(struct edge *e);
static inline bool dtype_has_gradient(enum dtype t)
{
    return t == DTYPE_FP32 || t == DTYPE_FP64 || t == DTYPE_FP16 || t == DTYPE_BF16;
}

#endif
