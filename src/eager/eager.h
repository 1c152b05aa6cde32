/* What the files of the room share: boxes, tensors, calls, recipes, notes.
 *
 *   box     memory of a tensor and how often it was written to; detached tensors share one
 *   call    an op with its attributes and the number of its arguments, bound to its kernel once;
 *           found again by these (call.c). Arguments are numbered: inputs 0.. in the order of the
 *           kind's slots, outputs likewise.
 *   recipe  the gradient ops of a call for a choice of wanted gradients, themselves calls, and
 *           where their arguments come from (recipe.c)
 *   note    one op that was run: its recipe, the boxes the recipe needs, and where gradients of its
 *           inputs go (note.c) */
#ifndef EAGER_EAGER_H
#define EAGER_EAGER_H

#include <skiff/eager.h>

#include "program/kernel.h"

/* ---- memory ---- */

struct box {
    struct skiff_eager *engine;
    int refs;
    unsigned version; /* times written to */
    unsigned silent;  /* those of them that Paddle does not count: a new value for the whole */
    struct skiff_tensor value;
    struct box *next; /* in the engine's list of spare ones */
};

enum { POOL_CLASSES = 40 };
struct pool { /* blocks that are not used now, by the power of two below their size */
    struct pool_block {
        void *data;
        size_t cap;
        struct pool_block *next;
    } * classes[POOL_CLASSES], *spare;
    int count[POOL_CLASSES],
        missed[POOL_CLASSES]; /* blocks there are; that were asked for in vain */
    size_t bytes;
};

struct box *box_create(struct skiff_eager *e);
static inline struct box *box_ref(struct box *b)
{
    b->refs++;
    return b;
}
void box_unref(struct box *b); /* NULL is fine */
/* For infer.supply: gives a tensor without memory a block of about so many bytes, when there is
 * one. */
void pool_supply(void *pool, struct tensor *t, size_t bytes);
void pool_deinit(struct pool *p);

/* ---- calls ---- */

struct recipe;

struct call {
    int refs;
    uint64_t hash;
    void *key;
    size_t key_bytes;
    struct call *next;             /* in its chain of the cache */
    struct skiff_program *program; /* holds the op; a reference */
    struct arena arena;
    struct kernel kernel;
    int nin, nout;
    struct skiff_tensor **in_values, **out_values; /* the kernel's slots point into them */
    const struct op_slot **in_slots, **out_slots;  /* by argument */
    bool *in_there, *out_there;                    /* false: @EMPTY@ */
    size_t *out_bytes; /* of the run before; for kinds that shape their outputs themselves */
    struct recipe *recipes;
};

struct call_cache {
    struct call **chains;
    size_t nchains, count;
    struct buf key; /* scratch */
};

struct call *call_find(struct skiff_eager *e, const struct skiff_op_call *c,
                       struct skiff_error *err); /* borrowed from the cache; NULL */
/* A call of its own, with the meaning that its type has in that generation; NULL. */
struct call *call_make(struct skiff_eager *e, const struct skiff_op_call *c, int generation,
                       struct skiff_error *err);
/* A call of its own for a loose op of a program. Its arguments are renamed by number. */
enum skiff_status call_of_op(struct skiff_eager *e, struct skiff_program *p, struct skiff_op *op,
                             struct call **out, struct skiff_error *err);
void call_unref(struct call *c);
void cache_deinit(struct call_cache *c);
/* Runs the kernel on in_values and out_values. */
/* Puts names and shapes of the call's tensors into a message that says I0, I1, .. */
void blame_tensors(const struct call *c, struct skiff_eager_tensor *const *ins,
                   struct skiff_error *err);
enum skiff_status call_run(struct skiff_eager *e, struct call *c, struct skiff_error *err);

/* Names of arguments: I0, I1, ..; O0, O1, .. */
#define IN_LETTER 'I'
#define OUT_LETTER 'O'

/* ---- recipes ---- */

enum source {
    FROM_NOWHERE,
    FROM_IN,       /* the call's input */
    FROM_OUT,      /* its output */
    FROM_OUT_GRAD, /* gradient of its output */
    FROM_LOCAL,    /* made by an earlier step of the recipe */
};
struct place {
    enum source from;
    int index;
};

struct recipe_step {
    struct call *call;
    struct place *ins;  /* of the call's inputs */
    struct place *outs; /* FROM_IN: gradient of that input; FROM_LOCAL; FROM_NOWHERE */
};

struct recipe {
    struct recipe *next; /* of the same call, for other gradients */
    bool *wanted;        /* by input */
    struct recipe_step *steps;
    int nsteps, nlocals;
    char *need_in, *need_out; /* NEED_*, by argument */
};
enum { NEED_NOT, NEED_SHAPE, NEED_DATA };

/* The recipe for the wanted gradients; *out NULL: the op has no gradient. */
enum skiff_status recipe_of(struct skiff_eager *e, struct call *c, const bool *wanted,
                            struct recipe **out, struct skiff_error *err);
void recipe_destroy(struct recipe *r);

/* ---- notes ---- */

struct note;

struct hook {
    skiff_eager_hook call;
    void *user;
    void (*end)(void *user);
    int64_t number;
    struct hook *next;
};

/* What a gradient is for: an output of a note, or a leaf. */
struct edge {
    struct note *note; /* a reference; NULL: the leaf */
    int out;
    struct skiff_eager_tensor *leaf; /* a reference; NULL with a note, and where no gradient goes */
};

struct saved {
    struct box *box; /* a reference; NULL: not needed, or given back */
    unsigned version;
    struct skiff_eager_packed *packed; /* what a hook made of it (packed.c); box is its form */
    struct box *form;                  /* while box has the unpacked value */
    unsigned leaf_version;             /* of a leaf, when it was packed */
};

struct note_out {
    struct shape shape; /* for zeros where no gradient has come */
    enum dtype dtype;
    struct hook *hooks;
    struct skiff_eager_tensor *retain; /* gets the gradient too; not a reference */
    int64_t retain_after; /* as the hook of this number has left it; later hooks do not change it */
    struct skiff_eager_tensor *grad; /* during a walk */
};

struct note {
    struct skiff_eager *engine;
    int refs;
    uint64_t number;   /* later notes have larger ones */
    struct call *call; /* a reference; NULL: own */
    struct recipe *recipe;
    struct skiff_eager_own own;
    struct edge *edges;  /* by input */
    struct saved *saved; /* inputs, then outputs */
    struct note_out *outs;
    int nin, nout;
    bool packs;    /* some of `saved` are packed */
    bool released; /* backward has been through */
    uint64_t walk; /* number of the walk that knows it */
    bool walked;   /* that walk is not over yet */
    int waits_for; /* edges of this walk that have not delivered */
    bool queued;
    struct note *next_free;
};

struct note *note_create(struct skiff_eager *e, int nin, int nout);
void note_unref(struct note *n);
void note_release(struct note *n); /* gives boxes and edges back */

enum skiff_status packed_save(struct note *n, int at, struct skiff_eager_tensor *t,
                              struct skiff_error *err);
enum skiff_status packed_open(struct note *n, struct skiff_error *err);
void packed_close(struct note *n);
void packed_end(struct saved *s);

struct skiff_eager_tensor {
    struct skiff_eager *engine;
    int refs;
    struct box *box;
    bool stop_gradient;
    bool cleared; /* the gradient is zero, and is made when it is asked for (skiff_eager_grad_of) */
    struct note *note; /* that made it; a reference; NULL: a leaf */
    int out;
    struct skiff_eager_tensor *grad;
    struct hook *hooks; /* of a leaf */
    void *user;
    struct reduced *reduced; /* its gradient is averaged over ranks (reduce.c); NULL: it is not */
    char *name;              /* NULL: none */
    /* during a walk */
    uint64_t walk;
    int waits_for;
    struct skiff_eager_tensor *pending, *next;
};

struct skiff_eager {
    int refs; /* the owner's, and one for each tensor and box */
    struct run_env env;
    struct mt64 generator;
    struct kernel_scratch_space scratch;
    bool noting;
    int generation; /* whose gradients: see skiff_eager_set_generation */
    struct call_cache cache;
    struct pool pool;
    struct box *spare_boxes;
    struct skiff_eager_tensor *spare_tensors;
    struct note *freeing; /* notes that wait to be freed: chains are long */
    bool is_freeing;
    uint64_t notes, walks;
    int backwards;                        /* that are under way, one in another */
    struct skiff_eager_reducer *reducing; /* whose gradients have come in them */
    int64_t hooks;
    struct skiff_eager_pack pack;     /* of what is saved from now on */
    struct skiff_eager_tensor **args; /* scratch: arguments of a call by number */
    int args_cap;
    bool *wanted; /* scratch */
    int wanted_cap;
    skiff_eager_observer observer; /* NULL: none, or it is running */
    void *observer_user;
};

void engine_unref(struct skiff_eager *e);

/* The op of a call with these arguments by number (NULL: absent), noted when gradients flow. */
enum skiff_status op_run(struct skiff_eager *e, struct call *c,
                         struct skiff_eager_tensor *const *ins,
                         struct skiff_eager_tensor *const *outs, struct skiff_error *err);
/* A tensor that stands for what a gradient goes to: same box, same place in the notes. */
struct skiff_eager_tensor *tensor_at(struct skiff_eager *e, struct box *box,
                                     const struct edge *edge);
void hooks_free(struct hook *h);
/* A leaf that belongs to a reducer has got its gradient; the backward is over (status: how). */
enum skiff_status reduce_leaf(struct skiff_eager_tensor *t, struct skiff_error *err);
enum skiff_status reduce_finish(struct skiff_eager *e, enum skiff_status status,
                                struct skiff_error *err);
void edge_unref(struct edge *e);
static inline bool dtype_has_gradient(enum dtype t)
{
    return t == DTYPE_FP32 || t == DTYPE_FP64 || t == DTYPE_FP16 || t == DTYPE_BF16;
}

#endif
