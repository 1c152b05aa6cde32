/* Eager execution: ops run when they are called, and are recorded on a tape, which backward walks
 * in reverse. The ops, their kernels and their gradients are those of programs (skiff/build.h).
 *
 *     struct skiff_eager *e = skiff_eager_create();
 *     struct skiff_eager_tensor *x = skiff_eager_tensor_create(e);
 *     struct skiff_eager_tensor *y = skiff_eager_tensor_create(e);
 *     ... fill skiff_eager_value(x); skiff_eager_set_stop_gradient(x, false);
 *     skiff_eager_op(e, &(struct skiff_op_call){"square",
 *                    .ins = (struct skiff_op_arg[]){{"X", 1, &x}}, .nins = 1,
 *                    .outs = (struct skiff_op_arg[]){{"Out", 1, &y}}, .nouts = 1}, &err);
 *     skiff_eager_backward(e, 1, &y, NULL, false, &err);
 *     skiff_eager_grad_of(x);                                2 x
 *
 * Tensors and tape nodes are reference-counted: a tensor keeps its node until backward has walked
 * through it. An engine and its tensors are for one thread at a time. The engine is freed with its
 * last tensor, so that tensors may outlive its owner. */
#ifndef SKIFF_EAGER_H
#define SKIFF_EAGER_H

#include <skiff/build.h>
#include <skiff/executor.h>
#include <skiff/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skiff_eager;
struct skiff_eager_tensor;

SKIFF_API struct skiff_eager *skiff_eager_create(void);
SKIFF_API void skiff_eager_destroy(struct skiff_eager *e); /* NULL is fine */
/* Seed of random ops: paddle.seed. Without it the system chooses one. */
SKIFF_API void skiff_eager_seed(struct skiff_eager *e, uint64_t seed);
/* State of the generator, as bytes; set takes what get gave. */
#define SKIFF_GENERATOR_BYTES 2504
SKIFF_API void skiff_eager_get_generator(const struct skiff_eager *e,
                                         unsigned char out[SKIFF_GENERATOR_BYTES]);
SKIFF_API void skiff_eager_set_generator(struct skiff_eager *e,
                                         const unsigned char in[SKIFF_GENERATOR_BYTES]);
/* Shares large ops with the pool (<skiff/thread_pool.h>), which must outlive the engine; NULL, as
 * at first: one thread. */
SKIFF_API void skiff_eager_set_thread_pool(struct skiff_eager *e, struct skiff_thread_pool *pool);
/* Whether ops are recorded on the tape; initially true. Returns the previous value. */
SKIFF_API bool skiff_eager_set_noting(struct skiff_eager *e, bool noting);
SKIFF_API bool skiff_eager_noting(const struct skiff_eager *e);
/* Which gradients backward keeps. 2 (the default), as in Paddle 2.x: those of leaves, added to
 * their gradients. 1, as in Paddle 1.x: those of leaves, which replace their gradients, and those
 * of all tensors that ops have made since the call. Returns the previous setting. */
SKIFF_API int skiff_eager_set_generation(struct skiff_eager *e, int generation);

/* Called after each op that has run, those of backward and of replayed programs too, with its type
 * and outputs (NULL where there is none). A status below 0 fails the op with the message in err. */
typedef enum skiff_status (*skiff_eager_observer)(void *user, const char *op, int n,
                                                  struct skiff_eager_tensor *const *outs,
                                                  struct skiff_error *err);
/* One observer at a time; NULL: none. Ops that it runs itself are not observed. */
SKIFF_API void skiff_eager_set_observer(struct skiff_eager *e, skiff_eager_observer observer,
                                        void *user);

/* ---- tensors ---- */

/* An empty tensor with stop_gradient set and one reference. */
SKIFF_API struct skiff_eager_tensor *skiff_eager_tensor_create(struct skiff_eager *e);
SKIFF_API struct skiff_eager_tensor *skiff_eager_tensor_ref(struct skiff_eager_tensor *t);
SKIFF_API void skiff_eager_tensor_unref(struct skiff_eager_tensor *t); /* NULL is fine */
/* A tensor of its own with that value, which it takes over. */
SKIFF_API struct skiff_eager_tensor *skiff_eager_tensor_take(struct skiff_eager *e,
                                                             struct skiff_tensor *value);
/* Another tensor with the same memory and no gradient. */
SKIFF_API struct skiff_eager_tensor *skiff_eager_detach(struct skiff_eager_tensor *t);
/* From now on `t` has the memory and the tape node of `from`. */
SKIFF_API void skiff_eager_become(struct skiff_eager_tensor *t, struct skiff_eager_tensor *from);
/* An op in place: `from` was computed from `t` after the mark and has no other owner. `t` takes its
 * value and its tape node; the value that ops have read is kept for backward. Tensors that share
 * the memory of t see the new value. */
SKIFF_API uint64_t skiff_eager_tape_position(const struct skiff_eager *e);
SKIFF_API void skiff_eager_take(struct skiff_eager_tensor *t, struct skiff_eager_tensor *from,
                                uint64_t mark);
/* The same for a value that no op has computed: a new content, which skiff_eager_version does not
 * count. */
SKIFF_API void skiff_eager_replace(struct skiff_eager_tensor *t, struct skiff_eager_tensor *from);
/* The value (skiff/executor.h), with deferred updates applied. After writing to it, call
 * skiff_eager_touched. Valid as long as the tensor. */
SKIFF_API struct skiff_tensor *skiff_eager_value(struct skiff_eager_tensor *t);
/* The same for its type and shape only: deferred updates of rows (sparse optimizers) are not
 * applied. */
SKIFF_API const struct skiff_tensor *skiff_eager_form(const struct skiff_eager_tensor *t);
SKIFF_API void skiff_eager_touched(struct skiff_eager_tensor *t);
/* Paddle's inplace_version: how often ops, or calls of skiff_eager_touched, have changed the
 * value. */
SKIFF_API unsigned skiff_eager_version(const struct skiff_eager_tensor *t);
SKIFF_API bool skiff_eager_stop_gradient(const struct skiff_eager_tensor *t);
SKIFF_API void skiff_eager_set_stop_gradient(struct skiff_eager_tensor *t, bool stop);
SKIFF_API bool skiff_eager_is_leaf(const struct skiff_eager_tensor *t);
/* Borrowed; NULL: none. */
SKIFF_API struct skiff_eager_tensor *skiff_eager_grad_of(struct skiff_eager_tensor *t);
/* Removes its gradient, or sets it to zero (selected rows are always removed), also for other
 * holders. Without other holders, the zeros are made when they are first read. */
SKIFF_API void skiff_eager_clear_grad(struct skiff_eager_tensor *t, bool to_zero);
SKIFF_API void skiff_eager_set_grad(struct skiff_eager_tensor *t, struct skiff_eager_tensor *grad);
/* backward leaves the gradient also in this interior tensor. */
SKIFF_API void skiff_eager_retain_grad(struct skiff_eager_tensor *t);

/* A name for messages; NULL at first, and to take it away. It is copied. */
SKIFF_API void skiff_eager_set_name(struct skiff_eager_tensor *t, const char *name);
SKIFF_API const char *skiff_eager_name(const struct skiff_eager_tensor *t);

/* A pointer of the caller's, NULL at first (a binding's own object for the tensor). */
SKIFF_API void skiff_eager_set_user(struct skiff_eager_tensor *t, void *user);
SKIFF_API void *skiff_eager_user(const struct skiff_eager_tensor *t);

/* Called with the tensor's complete gradient during backward. Returns a new reference to a
 * replacement, or NULL to keep the gradient. *failed set: backward ends with the message in err. */
typedef struct skiff_eager_tensor *(*skiff_eager_hook)(void *user, struct skiff_eager_tensor *grad,
                                                       bool *failed, struct skiff_error *err);
/* Returns a number for remove; 0: the tensor has stop_gradient. `end` (or NULL) is called with user
 * when the hook is removed. */
SKIFF_API int64_t skiff_eager_add_hook(struct skiff_eager_tensor *t, skiff_eager_hook hook,
                                       void *user, void (*end)(void *user));
SKIFF_API bool skiff_eager_remove_hook(struct skiff_eager_tensor *t, int64_t number);

/* Hooks for the tensors that ops save for backward: what `call` returns is kept instead of the
 * tensor, and its `unpack` returns a new reference to a tensor of the same type and shape when
 * backward needs it. Either returns NULL after an error. call NULL (the default): no hooks. Returns
 * the previous hooks. */
struct skiff_eager_packed {
    struct skiff_eager_tensor *(*unpack)(struct skiff_eager_packed *p, struct skiff_error *err);
    void (*end)(struct skiff_eager_packed *p);
};
struct skiff_eager_pack {
    struct skiff_eager_packed *(*call)(void *user, struct skiff_eager_tensor *t,
                                       struct skiff_error *err);
    void *user;
};
SKIFF_API struct skiff_eager_pack skiff_eager_set_pack(struct skiff_eager *e,
                                                       struct skiff_eager_pack pack);

/* ---- ops ---- */

struct skiff_op_arg {
    const char *slot;
    int n;
    struct skiff_eager_tensor *const *tensors; /* NULL where there is none */
};
struct skiff_op_setting {
    const char *name;
    struct skiff_attr value;
};
struct skiff_op_call {
    const char *type;
    const struct skiff_op_arg *ins, *outs; /* outs: empty tensors, or ones that are written anew */
    int nins, nouts;
    const struct skiff_op_setting *attrs; /* those that the op does not declare are ignored */
    int nattrs;
};
SKIFF_API enum skiff_status skiff_eager_op(struct skiff_eager *e, const struct skiff_op_call *call,
                                           struct skiff_error *err);
/* The same for a call that is made often: bound once, with any tensors where there will be some,
 * then run with tensors by number: those of the inputs in the order in which the op declares its
 * slots, then those of the outputs. NULL where the bound call had none. */
struct skiff_eager_bound;
SKIFF_API struct skiff_eager_bound *skiff_eager_bind(struct skiff_eager *e,
                                                     const struct skiff_op_call *call,
                                                     struct skiff_error *err); /* NULL on error */
SKIFF_API void skiff_eager_unbind(struct skiff_eager_bound *b);                /* NULL is fine */
SKIFF_API enum skiff_status skiff_eager_run_bound(struct skiff_eager *e,
                                                  struct skiff_eager_bound *b,
                                                  struct skiff_eager_tensor *const *tensors,
                                                  struct skiff_error *err);
/* The declared type of an op's attribute, in programs of 2.x; false: it has none of that name. */
SKIFF_API bool skiff_eager_attr_type(const char *type, const char *attr, enum skiff_attr_type *out);

/* A tape node with a gradient function of the caller (PyLayer). `backward` gets the gradients of
 * the outputs (NULL: zero) and returns new references to those of the inputs (NULL: none). */
struct skiff_eager_own {
    enum skiff_status (*backward)(void *user, struct skiff_eager_tensor *const *out_grads,
                                  struct skiff_eager_tensor **in_grads, struct skiff_error *err);
    void (*end)(void *user); /* when the node is freed */
    void *user;
    const char *name;
};
SKIFF_API void skiff_eager_custom_op(struct skiff_eager *e, int nins,
                                     struct skiff_eager_tensor *const *ins, int nouts,
                                     struct skiff_eager_tensor *const *outs,
                                     const struct skiff_eager_own *own);

/* ---- programs ---- */

/* A program whose ops run as if they were called one after the other, with gradients: a traced
 * function, or a model that is trained further. `ins`: names of a run's inputs (data, parameters,
 * state), `outs`: names of its results. Ops that run blocks are SKIFF_UNSUPPORTED. The program may
 * be destroyed afterwards. */
struct skiff_eager_replay;
SKIFF_API enum skiff_status
skiff_eager_replay_create(struct skiff_eager *e, const struct skiff_program *p, int nins,
                          const char *const *ins, int nouts, const char *const *outs,
                          struct skiff_eager_replay **out, struct skiff_error *err);
SKIFF_API void skiff_eager_replay_destroy(struct skiff_eager_replay *r); /* NULL is fine */
/* `out` gets new references. State among `ins` (running means) is written to. */
SKIFF_API enum skiff_status skiff_eager_replay_run(struct skiff_eager_replay *r,
                                                   struct skiff_eager_tensor *const *ins,
                                                   struct skiff_eager_tensor **out,
                                                   struct skiff_error *err);

/* ---- gradients ---- */

/* Gradients of the sum of all elements (grads[i]: weighted by them) into the leaves. */
SKIFF_API enum skiff_status skiff_eager_backward(struct skiff_eager *e, int n,
                                                 struct skiff_eager_tensor *const *tensors,
                                                 struct skiff_eager_tensor *const *grads,
                                                 bool retain_graph, struct skiff_error *err);
struct skiff_eager_grad_options {
    struct skiff_eager_tensor *const *weights; /* of the outputs; NULL, or NULL entries: ones */
    struct skiff_eager_tensor *const *no_grad; /* not walked through */
    int nno_grad;
    bool retain_graph, create_graph, allow_unused;
    uint64_t reserved[4];
};
/* Gradients of the outputs by the inputs into out[i] (new references; NULL: unused); leaves keep
 * theirs. */
SKIFF_API enum skiff_status
skiff_eager_grad(struct skiff_eager *e, int n, struct skiff_eager_tensor *const *outputs, int m,
                 struct skiff_eager_tensor *const *inputs, const struct skiff_eager_grad_options *o,
                 struct skiff_eager_tensor **out, struct skiff_error *err);

/* ---- ranks ---- */

/* Gradients of parameters are averaged over the ranks of a ring (skiff/collective.h) by every
 * backward that reaches one of them, in buckets, during backward; selected rows are gathered. All
 * ranks have the same parameters in the same order, and make the same backward calls. A parameter
 * that was not reached counts as zero; one that no rank reached has no gradient. Gradients
 * accumulated before (set_sync false) are averaged, too. */
struct skiff_eager_reducer;
struct skiff_eager_reducer_options {
    int ring;
    const bool *sparse; /* by parameter: its gradients are selected rows; NULL: none */
    size_t bucket_bytes, first_bucket_bytes; /* 0: 25 MB, 1 MB */
    void (*waits)(void *user, bool begins);  /* called before and after waits for other ranks; may
                                               be NULL */
    void *user;
    uint64_t reserved[4];
};
/* A parameter belongs to the reducer that was made last. */
SKIFF_API enum skiff_status skiff_eager_reducer_create(struct skiff_eager *e, int n,
                                                       struct skiff_eager_tensor *const *params,
                                                       const struct skiff_eager_reducer_options *o,
                                                       struct skiff_eager_reducer **out,
                                                       struct skiff_error *err);
SKIFF_API void skiff_eager_reducer_destroy(struct skiff_eager_reducer *r); /* NULL is fine */
/* false: gradients stay this rank's own. */
SKIFF_API void skiff_eager_reducer_set_sync(struct skiff_eager_reducer *r, bool sync);

/* ---- optimizers ---- */

/* A parameter and its settings for the optimizer. */
struct skiff_eager_parameter {
    struct skiff_eager_tensor *tensor;    /* gets a reference */
    const char *name;                     /* accumulators are named after it; copied */
    double learning_rate;                 /* factor of the rate; 0: 1, SKIFF_ZERO: 0 */
    struct skiff_regularizer regularizer; /* kind 0: the optimizer's own */
    bool no_clip, no_decay;               /* no_decay: of adamw and lamb */
    uint64_t reserved[4];
};
struct skiff_eager_optimizer;
/* type, o: as for skiff_optimizer_create in programs of 2.x (o->generation 1: of 1.x); each step
 * gets the learning rate. Functions in `o` get a variable with the name of the parameter. names:
 * whose counters number the accumulators (<parameter>_moment1_0); it must outlive the optimizer;
 * NULL: own ones. */
SKIFF_API enum skiff_status skiff_eager_optimizer_create(struct skiff_eager *e, const char *type,
                                                         const struct skiff_optimizer_options *o,
                                                         const struct skiff_eager_parameter *params,
                                                         int n, struct skiff_net *names,
                                                         struct skiff_eager_optimizer **out,
                                                         struct skiff_error *err);
SKIFF_API void skiff_eager_optimizer_destroy(struct skiff_eager_optimizer *opt); /* NULL is fine */
/* Updates the parameters that have a gradient, by the passes of static training: clipping, decay,
 * the optimizer's rule. */
SKIFF_API enum skiff_status skiff_eager_optimizer_step(struct skiff_eager_optimizer *opt,
                                                       double rate, struct skiff_error *err);
/* Sets the parameters' gradients to zero, or removes them (to_zero false). Selected rows are always
 * removed. */
SKIFF_API void skiff_eager_optimizer_clear_grad(struct skiff_eager_optimizer *opt, bool to_zero);
/* The i-th accumulator, borrowed, and its name; made by the first step of its parameter. NULL past
 * the last. */
SKIFF_API struct skiff_eager_tensor *
skiff_eager_optimizer_accumulator(const struct skiff_eager_optimizer *opt, int i,
                                  const char **out_name);
/* Other values for all accumulators, also for those that are still to be made: each must be named.
 * NOT_FOUND: one is not (here, or in a later step). */
SKIFF_API enum skiff_status
skiff_eager_optimizer_set_state(struct skiff_eager_optimizer *opt, int n, const char *const *names,
                                struct skiff_eager_tensor *const *tensors, struct skiff_error *err);

#ifdef __cplusplus
}
#endif

#endif
