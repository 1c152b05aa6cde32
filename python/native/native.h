/* Declarations shared by the files of the native module.
 *
 * The module is built against the limited API of Python 3.9 (abi3), so that one file serves every
 * Python from 3.9 on. Two things are declared here because the headers hide them at that level,
 * although every such Python exports them with the same layout (they entered the stable ABI in 3.10
 * and 3.11 as they were): PyUnicode_AsUTF8AndSize and the buffer protocol.
 *
 * Lifetimes: a Program object owns its C program; Block, Var and Op objects refer to their
 * Program object, which remembers them (so that one variable is one object) in a dict by
 * address. Nothing of a C program is freed before the program. Nets and executors that may know
 * a program are notified when it goes. All of this is guarded by the interpreter lock. */
#ifndef PYTHON_NATIVE_H
#define PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#include <Python.h>

#include <skiff/skiff.h>

/* ---- the buffer protocol (see above) ---- */
#if Py_LIMITED_API < 0x030b0000
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *o, Py_buffer *view, int flags);
PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject *o);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *o, Py_ssize_t *size);
#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define PyBUF_C_CONTIGUOUS (0x0020 | PyBUF_STRIDES)
#define Py_bf_getbuffer 1
#define Py_bf_releasebuffer 2
#endif

/* ---- objects ---- */

struct program_object {
    PyObject_HEAD;
    struct skiff_program *p;
    PyObject *wrappers; /* dict: address -> Block, Var or Op */
    PyObject *keeps;    /* what must live as long (the program it was cloned from), or NULL */
    bool borrowed;      /* the C program belongs to what is kept */
};

struct block_object {
    PyObject_HEAD;
    struct program_object *program;
    struct skiff_block *b;
};

struct var_object {
    PyObject_HEAD;
    struct program_object *program;
    struct skiff_var *v;
};

struct op_object {
    PyObject_HEAD;
    struct program_object *program;
    struct skiff_block *b;
    struct skiff_op *op;
};

struct net_object {
    PyObject_HEAD;
    struct skiff_net *net;
    PyObject *frames; /* list of (main, startup), one per program guard, the first ones at 0 */
    PyObject *keeps;  /* list of objects that C may call or read as long as the net lives */
    struct net_object *next, *before; /* live nets */
};

struct scope_object {
    PyObject_HEAD;
    struct skiff_scope *s;
    struct scope_object *parent; /* or NULL */
};

/* The memory of a tensor, held by the Tensor and by every buffer taken of it. */
struct tensor_memory {
    struct skiff_tensor *t; /* own; NULL when it is a variable of a scope */
    int refs;
    struct scope_object *scope; /* or NULL */
    char *name;                 /* in the scope */
};

struct tensor_object {
    PyObject_HEAD;
    struct tensor_memory *storage;
};

struct eager_object {
    PyObject_HEAD;
    struct skiff_eager_tensor *t;
};

struct dataset_object {
    PyObject_HEAD;
    struct skiff_dataset *d;
    bool busy; /* a thread without the interpreter lock is using it */
};

struct fleet_object {
    PyObject_HEAD;
    struct skiff_fleet *f;
    PyObject *main, *startup; /* Programs of the fleet's, once they were asked for */
    PyObject *given;          /* list: what C looks at as long as the fleet lives */
    PyObject *on_log;         /* callable, or NULL */
    int fd;                   /* or lines go here, behind the label */
    char label[32];
};

/* The classes instances are made of: this module's, or subclasses named by set_classes. */
enum class_id {
    CLASS_PROGRAM,
    CLASS_BLOCK,
    CLASS_VAR,
    CLASS_PARAMETER,
    CLASS_OP,
    CLASS_TENSOR,
    CLASS_SCOPE,
    CLASS_EAGER,
    CLASS_COUNT,
};
extern PyTypeObject *base_class[CLASS_COUNT]; /* of this module */
extern PyTypeObject *made_class[CLASS_COUNT]; /* what is made */
extern PyTypeObject *net_class, *dataset_class;

/* An instance without __init__; NULL with an exception. */
PyObject *class_alloc(PyTypeObject *type);
PyObject *class_made(PyObject *o); /* calls o._skiff_made() if it exists; NULL (and o is released)
                                     after an exception */
void class_free(PyObject *o);      /* end of a dealloc: frees the memory, lets go of the type */
bool is_a(PyObject *o, enum class_id id);

/* The headers hide these from the limited API of 3.9; they entered it in 3.12 as they were. */
typedef PyObject *(*vectorcall_fn)(PyObject *, PyObject *const *, size_t, PyObject *);
PyAPI_FUNC(PyObject *) PyVectorcall_Call(PyObject *callable, PyObject *tuple, PyObject *dict);
enum { HAS_VECTORCALL = 1 << 11, IS_METHOD_DESCRIPTOR = 1 << 17 };
#define OFFSET_BIT ((size_t)1 << (8 * sizeof(size_t) - 1))
/* The method of `object` that a callable of a class is; without an object, itself. */
PyObject *method_bind(PyObject *callable, PyObject *object);

/* ---- wrappers ---- */

PyObject *program_wrap(struct skiff_program *p, PyObject *keeps); /* takes p over; keeps: or NULL */
PyObject *program_borrow(struct skiff_program *p, PyObject *owner);
PyObject *block_wrap(struct program_object *p, struct skiff_block *b);
PyObject *var_wrap(struct program_object *p, struct skiff_var *v); /* NULL v: None */
PyObject *op_wrap(struct program_object *p, struct skiff_block *b, struct skiff_op *op);
struct skiff_block *var_block(struct program_object *p, const struct skiff_var *v);
struct program_object *net_main(struct net_object *n); /* borrowed */
struct program_object *net_startup(struct net_object *n);
PyObject *tensor_wrap(struct skiff_tensor *t); /* takes t over */
/* One object for a tensor as long as it lives: what a script has put on it stays. Takes t over. */
PyObject *eager_wrap(struct skiff_eager_tensor *t);
struct skiff_eager *eager_engine(void); /* the process' one */
PyObject *tensor_of_scope(struct scope_object *s, const char *name);
struct skiff_tensor *tensor_value(struct tensor_object *o); /* flushed */
PyObject *tensor_numpy_copy(struct skiff_tensor *from);     /* a new numpy array */
/* A buffer of o that borrows t; holder: the owner of the memory. After a failure, and when the
 * buffer is released, tensor_view_end releases it. */
int tensor_view(struct skiff_tensor *t, PyObject *o, void *holder, Py_buffer *view, int flags);
void *tensor_view_end(Py_buffer *view);

/* A program is about to be freed: nets forget it. */
void nets_forget(struct skiff_program *p);

/* Methods of Net in optimizer.c. */
PyObject *net_backward(struct net_object *n, PyObject *args, PyObject *keywords);
PyObject *net_gradients(struct net_object *n, PyObject *args, PyObject *keywords);

/* Methods of Net in control.c. */
PyObject *net_branch_begin(struct net_object *n, PyObject *args, PyObject *keywords);
PyObject *net_select_input(struct net_object *n, PyObject *args, PyObject *keywords);
PyObject *net_if_else(struct net_object *n, PyObject *args, PyObject *keywords);
PyObject *net_static_rnn(struct net_object *n, PyObject *args, PyObject *keywords);
PyObject *net_dynamic_rnn(struct net_object *n, PyObject *args, PyObject *keywords);

/* ---- errors ---- */

/* Raises for err; always NULL. */
PyObject *raise_error(const struct skiff_error *err);
PyObject *raise_file_error(const struct skiff_error *err); /* of a call about files */
/* Raises and forgets the net's first error; false when there was one. */
bool net_ok(struct net_object *n);

/* ---- arguments ---- */

/* What lives until the end of a call: kept objects, buffers, memory. */
struct keep {
    PyObject *objects; /* list, or NULL */
    Py_buffer **buffers;
    int nbuffers;
    void **blocks;
    int nblocks;
};
void keep_end(struct keep *k);
void *keep_alloc(struct keep *k, size_t bytes);                 /* zeroed; NULL with MemoryError */
bool keep_object(struct keep *k, PyObject *o);                  /* steals o; false when o is NULL */
Py_buffer *keep_buffer(struct keep *k, PyObject *o, int flags); /* NULL with an exception */

const char *text_of(PyObject *o, const char *what); /* str -> UTF-8, borrowed; NULL: TypeError */
const char *path_of(struct keep *k, PyObject *o, const char *what); /* str, os.PathLike */
bool text_or_none(PyObject *o, const char *what, const char **out);
bool int_of(PyObject *o, const char *what, int64_t *out); /* anything with __index__ */
bool float_of(PyObject *o, const char *what, double *out);
bool truth_of(PyObject *o, const char *what, bool *out);
const char *name_of(PyObject *o, const char *what); /* str or Var */
/* str, Var or a sequence of them -> kept array of names. None: 0 names. */
bool names_of(struct keep *k, PyObject *o, const char *what, const char ***out, int *n);
struct skiff_var *var_of(PyObject *o, const char *what);            /* NULL with TypeError */
struct skiff_eager_tensor *eager_of(PyObject *o, const char *what); /* borrowed; NULL: TypeError */
bool vars_of(struct keep *k, PyObject *o, const char *what, struct skiff_var ***out, int *n);
bool dims_of(PyObject *o, const char *what, struct skiff_dims *out);
bool longs_of(struct keep *k, PyObject *o, const char *what, int64_t **out, int64_t *n);
bool doubles_of(struct keep *k, PyObject *o, const char *what, double **out, int *n);
bool initializer_of(struct keep *k, PyObject *o, struct skiff_initializer *out);
bool regularizer_of(PyObject *o, struct skiff_regularizer *out);
/* net: keeps a callable alive; NULL: callables are refused. */
bool clip_of(struct keep *k, PyObject *o, struct net_object *net, struct skiff_clip *out);
/* optimizer.c: the optimizer of that type; NULL: there is none. One option of it by name; false
 * with an exception. */
const struct skiff_optimizer_info *optimizer_info_of(const char *type, int generation);
bool optimizer_option_set(struct keep *k, struct net_object *net,
                          const struct skiff_optimizer_info *info, const char *name,
                          PyObject *value, struct skiff_optimizer_options *o);
/* *out NULL: defaults; SKIFF_NO_PARAM for False. */
bool param_attr_of(struct keep *k, PyObject *o, struct net_object *net,
                   const struct skiff_param_attr **out);
/* Of whatever Fluid's layers take: a name, an initializer, a regularizer, a truth value, too. */
bool param_form_of(struct keep *k, PyObject *o, struct net_object *net,
                   const struct skiff_param_attr **out);
/* The value's own type; `wanted` (or -1) decides where a Python value has none. */
bool attr_of(struct keep *k, PyObject *o, const char *what, int wanted, struct skiff_attr *out);
/* A callable of params (clip, lamb), kept by the net; NULL with an exception. */
void *net_predicate(struct net_object *net, PyObject *callable);
bool net_predicate_call(const struct skiff_var *param, void *user);
double net_factor_call(const struct skiff_var *param, void *user);

/* ---- results ---- */

PyObject *names_list(const char *const *names, int n);
PyObject *dims_tuple(int n, const int64_t *dims);
PyObject *attr_object(const struct skiff_attr *a);

/* ---- arrays ---- */

struct array_view { /* memory of a Python object, contiguous */
    const void *data;
    const char *dtype;
    int ndim;
    int64_t dims[SKIFF_MAX_DIMS];
};
/* dtype: what lists of numbers become (NULL: by their content). */
bool array_of(struct keep *k, PyObject *o, const char *what, const char *dtype,
              struct array_view *out);
/* To exactly that type, by numpy where it is another. */
bool array_as(struct keep *k, PyObject *o, const char *what, const char *dtype,
              struct array_view *out);
size_t array_bytes(const struct array_view *a);
PyObject *numpy_asarray(PyObject *o); /* a view of a Tensor */
/* Writes an array, Tensor or list into t. */
bool tensor_assign(struct skiff_tensor *t, PyObject *value, const char *dtype);
/* The tensor of a feed: a Tensor's own, or *spare, which borrows the array's memory. */
const struct skiff_tensor *feed_of(struct keep *k, PyObject *value, const char *name,
                                   const char *dtype, struct skiff_tensor **spare);

/* ---- parts of the module ---- */

bool class_add(PyObject *m, PyType_Spec *spec, const char *name, PyTypeObject **out);
bool module_functions(PyObject *m, PyMethodDef *functions);
bool program_init(PyObject *m);
bool block_init(PyObject *m);
bool var_init(PyObject *m);
bool op_init(PyObject *m);
bool net_init(PyObject *m);
bool control_init(PyObject *m);
bool host_init(PyObject *m);
extern const struct skiff_host python_host; /* callbacks of executors */
bool operator_init(PyObject *m);
bool thread_pool_init(PyObject *m);
struct skiff_thread_pool *process_threads(void);
bool optimizer_init(PyObject *m);
bool tensor_init(PyObject *m);
bool scope_init(PyObject *m);
bool executor_init(PyObject *m);
bool predictor_init(PyObject *m);
bool trainer_init(PyObject *m);
bool frame_init(PyObject *m);
bool run_init(PyObject *m);
bool dataset_init(PyObject *m);
bool io_init(PyObject *m);
bool split_init(PyObject *m);
bool metric_init(PyObject *m);
bool fleet_init(PyObject *m);
bool ranks_init(PyObject *m);
/* Methods of Fleet about sparse tables (fleet_tables.c). */
struct skiff_strategy;
PyObject *fleet_finish(enum skiff_status status, const struct skiff_error *err);
bool fleet_tables_of(struct keep *k, PyObject *o, struct skiff_strategy *s);
PyObject *fleet_flush(struct fleet_object *o, PyObject *unused);
PyObject *fleet_revert(struct fleet_object *o, PyObject *unused);
PyObject *fleet_save_tables(struct fleet_object *o, PyObject *args, PyObject *keywords);
PyObject *fleet_begin_save(struct fleet_object *o, PyObject *args, PyObject *keywords);
PyObject *fleet_end_save(struct fleet_object *o, PyObject *unused);
PyObject *fleet_load_tables(struct fleet_object *o, PyObject *args, PyObject *keywords);
PyObject *fleet_save_cache(struct fleet_object *o, PyObject *args, PyObject *keywords);
PyObject *fleet_shrink(struct fleet_object *o, PyObject *args, PyObject *keywords);
PyObject *fleet_pull_dense(struct fleet_object *o, PyObject *args, PyObject *keywords);
PyObject *fleet_push_dense(struct fleet_object *o, PyObject *args, PyObject *keywords);
PyObject *fleet_get_tables(struct fleet_object *o, void *unused);
PyObject *fleet_table_state(struct fleet_object *o, PyObject *args, PyObject *keywords);
bool fs_init(PyObject *m);
bool layers_init(PyObject *m);
bool eager_init(PyObject *m);
bool eager_update_init(PyObject *m);
bool object_init(PyObject *m);
bool functions_init(PyObject *m);
bool replay_init(PyObject *m);
bool eager_saved_init(PyObject *m);
bool observer_init(PyObject *m);
bool collective_init(PyObject *m);
/* Ctrl-C ends waits for other ranks from now on (false: it is not needed); until unwatch, which is
 * true with the exception when it came. */
bool collective_watch(void);
bool collective_unwatch(void);
void log_who_is_missing(void *user, const char *line); /* of skiff_world_options */
struct skiff_eager *eager_engine(void);
/* A list of Tensors and Nones (NULL); NULL with an exception. */
struct skiff_eager_tensor **eager_list(struct keep *k, PyObject *o, const char *what, int *n);
PyObject *eager_wrap_list(struct skiff_eager_tensor **t, int n); /* takes them over */

/* skiff_executor_train and _infer for an Executor object's method (dataset.c). */
PyObject *executor_train(struct skiff_executor *e, struct program_object *p,
                         struct dataset_object *d, PyObject *options, bool infer);

/* The status of a call that may take long (other machines, their files) and touches no object:
 * threads of Python run meanwhile. */
#define UNLOCKED(call)                     \
    ({                                     \
        enum skiff_status unlocked_status; \
        Py_BEGIN_ALLOW_THREADS;            \
        unlocked_status = (call);          \
        Py_END_ALLOW_THREADS;              \
        unlocked_status;                   \
    })

/* For static tables of methods. */
#define METHOD(name, function, doc)                                                  \
    {                                                                                \
        name, (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS, \
            PyDoc_STR(doc)                                                           \
    }
#define METHOD0(name, function, doc)                                               \
    {                                                                              \
        name, (PyCFunction)(void (*)(void))(function), METH_NOARGS, PyDoc_STR(doc) \
    }
#define METHOD1(name, function, doc)                                          \
    {                                                                         \
        name, (PyCFunction)(void (*)(void))(function), METH_O, PyDoc_STR(doc) \
    }
/* For tables of attributes: getter(self, NULL), setter(self, value, NULL). */
#define ATTRIBUTE(name, get, set, doc)                                                           \
    {                                                                                            \
        name, (getter)(void (*)(void))(get), (setter)(void (*)(void))(set), PyDoc_STR(doc), NULL \
    }
#define KEYWORDS(...)     \
    (char *[])            \
    {                     \
        __VA_ARGS__, NULL \
    }

#endif
