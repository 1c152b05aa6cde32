/* Modes: when gradients go out and parameters come in. What every mode is: a row of
 * <skiff/mode_list.h>, a file mode_<name>.c, a struct comm_mode mode_<name>.
 *
 * Every slot may be NULL: nothing to do, or (send, send_ids) not of this mode. start, stop and
 * destroy are called by one thread at a time; the rest by any training thread, and may block until
 * a deadline of the session. No lock is held on entry or return. */
#ifndef COMM_MODE_H
#define COMM_MODE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "comm/comm.h"

struct comm;

struct comm_mode {
    const struct job_class *class;
    /* state from options and program; called by comm_create */
    enum skiff_status (*create)(struct comm *c, struct skiff_error *err);
    void (*destroy)(struct comm *c);
    /* c->scope and the session are there; threads of the mode begin */
    enum skiff_status (*start)(struct comm *c, struct skiff_error *err);
    /* sends what is queued, joins threads; after start only */
    enum skiff_status (*stop)(struct comm *c, struct skiff_error *err);
    enum skiff_status (*settle)(struct comm *c, struct skiff_error *err);
    enum skiff_status (*send)(struct comm *c, const struct job_slices *to,
                              const struct skiff_tensor *x, bool merge_add,
                              struct skiff_error *err);
    /* recv: true when the values were there already, in *out */
    enum skiff_status (*held)(struct comm *c, const struct job_slices *from,
                              struct skiff_tensor *out, bool *found, struct skiff_error *err);
    enum skiff_status (*send_barrier)(struct comm *c, struct skiff_error *err);
    enum skiff_status (*send_ids)(struct comm *c, int n, const char *const *names,
                                  const struct tensor *const *ids, struct skiff_error *err);
    /* Rows of a table, when they are not just asked for from the job's servers. */
    enum skiff_status (*lookup)(struct comm *c, const struct job_lookup *l,
                                struct skiff_error *err);
    void (*threads_begin)(struct comm *c, int n);
    void (*thread_end)(struct comm *c);
    /* May the rows of the next batch be asked for while this one is computed? *after: the steps of
     * this trainer that servers must have done first (session_rows_ask). */
    bool (*ahead)(struct comm *c, uint64_t *after);
};

/* A variable and its slices; strings are copies. */
struct comm_var {
    char *origin;
    struct job_slices slices;
};

struct comm {
    struct job job; /* first */
    const struct comm_mode *mode;
    struct comm_options options; /* with all defaults filled in; holds a reference of the plan */
    pthread_mutex_t lock;        /* guards opening, starting, stopping, closing */
    struct session *session;
    struct session *own; /* with the server inside this process; NULL: there is none besides */
    atomic_bool closed;
    atomic_bool running;       /* between start and stop */
    struct skiff_scope *scope; /* a reference, from start on */
    struct comm_var *recvs;    /* parameters that trainers hold; direct: slices, one by one */
    int nrecvs;
    void *state; /* the mode's */
};

void slices_copy(struct comm_var *to, const struct job_slices *from);
/* n slices of one variable, with `suffix` behind the servers' names. */
void slices_placed(struct comm_var *to, const struct skiff_placement *slices, int n,
                   const char *origin, const char *suffix);
/* How many entries of the plan's placement from `first` on are slices of one variable. */
int slices_count(const struct job_plan *plan, int first);
void comm_var_deinit(struct comm_var *v);

/* The session, opened when it is not yet (and c->own with it). */
enum skiff_status comm_open(struct comm *c, struct session **out, struct skiff_error *err);
/* The ids of a look-up, each once, but the padding one, to out, which has room for all; how many.
 * The map is empty, and has their places then. */
size_t lookup_distinct(struct id_map *map, const struct job_lookup *l, int64_t *out);
/* Rows for lists of ids, each id once. */
enum skiff_status comm_lookup(struct session *s, const struct job_lookup *l,
                              struct skiff_error *err);
/* Not started (or stopped): says so. */
enum skiff_status comm_check_running(const struct comm *c, struct skiff_error *err);
/* The parameters' places in the scope, as pulls: recvs of them. Caller's array. */
void comm_pulls(struct comm *c, struct session_pull *out);

/* ---- values that several threads or batches give ---- */

/* sum += x. The first one (n 0) is copied. Rows are appended. */
enum skiff_status sum_add(struct skiff_tensor *sum, int n, const struct skiff_tensor *x,
                          const char *name, struct skiff_error *err);
/* n values were added: rows of one id become one row, and with `mean` all is divided by n. */
enum skiff_status sum_finish(struct skiff_tensor *sum, int n, bool mean, struct skiff_error *err);

/* ---- threads of one trainer that meet ---- */

struct gather_var {
    struct comm_var var;
    pthread_mutex_t lock; /* guards the rest; a leaf */
    struct skiff_tensor sum;
    int n;
    bool merge_add;
};

struct gather {
    pthread_mutex_t lock; /* guards all below; a leaf */
    pthread_cond_t changed;
    struct str_map vars; /* origin -> gather_var */
    int threads;         /* that take part; 0: nobody has begun, everybody is alone */
    int arrived;
    uint64_t round;
    bool busy;
    enum skiff_status status; /* of the last round */
    struct skiff_error error;
};

void gather_init(struct gather *g);
void gather_deinit(struct gather *g);
enum skiff_status gather_add(struct gather *g, const struct job_slices *to,
                             const struct skiff_tensor *x, bool merge_add, struct skiff_error *err);
/* The batch of this thread is complete. The last one to come runs `exchange` with everything that
 * was added, meaned over the threads that gave it; all get its result. */
typedef enum skiff_status (*gather_exchange)(struct comm *c, const struct session_push *pushes,
                                             int n, struct skiff_error *err);
enum skiff_status gather_meet(struct gather *g, struct comm *c, gather_exchange exchange,
                              struct skiff_error *err);
void gather_begin(struct gather *g, int threads);
void gather_end(struct gather *g); /* one thread has no more data */

#define SKIFF_MODE(constant, number, name, flags, promise) \
    extern const struct comm_mode mode_##name;
#include <skiff/mode_list.h>
#undef SKIFF_MODE
extern const struct comm_mode mode_direct; /* programs of the bare transpiler, in any mode */
const struct comm_mode *comm_mode_of(enum skiff_split_mode mode);

/* job.h's slots, shared by the modes' classes. */
enum skiff_status comm_job_send(struct job *j, const struct job_slices *to,
                                const struct skiff_tensor *x, bool merge_add,
                                struct skiff_error *err);
enum skiff_status comm_job_recv(struct job *j, const struct job_slices *from,
                                struct skiff_tensor *out, struct skiff_error *err);
enum skiff_status comm_job_barrier(struct job *j, struct skiff_error *err);
enum skiff_status comm_job_lookup(struct job *j, const struct job_lookup *l,
                                  struct skiff_error *err);
enum skiff_status comm_job_lookup_ahead(struct job *j, const struct job_lookup *l,
                                        struct job_ahead **out, struct skiff_error *err);
enum skiff_status comm_job_lookup_take(struct job *j, struct job_ahead *a, struct tensor *out,
                                       struct skiff_error *err);
void comm_job_lookup_drop(struct job *j, struct job_ahead *a);
bool comm_job_on_disk(struct job *j, const char *table);
void comm_job_lookup_soon(struct job *j, const struct job_lookup *l);
enum skiff_status comm_job_ids(struct job *j, int n, const char *const *names,
                               const struct tensor *const *ids, struct skiff_error *err);
enum skiff_status comm_job_save_table(struct job *j, const char *dir, const char *table,
                                      struct skiff_error *err);
void comm_job_threads_begin(struct job *j, int n);
void comm_job_thread_end(struct job *j);
enum skiff_status comm_job_begin(struct job *j, const struct skiff_program *p,
                                 struct skiff_scope *scope, bool *done, struct skiff_error *err);
bool comm_job_waits(struct job *j, const struct skiff_program *p);
enum skiff_status comm_job_close(struct job *j, struct skiff_error *err);
void comm_job_destroy(struct job *j);

/* ---- mode_step.c: modes that work in steps ---- */
enum skiff_status step_create(struct comm *c, struct skiff_error *err);
void step_destroy(struct comm *c);
enum skiff_status step_send(struct comm *c, const struct job_slices *to,
                            const struct skiff_tensor *x, bool merge_add, struct skiff_error *err);
enum skiff_status step_barrier(struct comm *c, struct skiff_error *err);
void step_begin(struct comm *c, int n);
void step_end(struct comm *c);
bool step_ahead(struct comm *c, uint64_t *after);
extern const struct job_class step_class;

/* clang-format off */
#define COMM_STEP_SLOTS \
    .class = &step_class, .create = step_create, .destroy = step_destroy, .send = step_send, \
    .send_barrier = step_barrier, .threads_begin = step_begin, .thread_end = step_end, \
    .ahead = step_ahead
#define COMM_CLASS_SLOTS \
    .recv = comm_job_recv, .send_barrier = comm_job_barrier, .lookup = comm_job_lookup, \
    .save_table = comm_job_save_table, .begin = comm_job_begin, .waits = comm_job_waits, \
    .threads_begin = comm_job_threads_begin, .thread_end = comm_job_thread_end, \
    .close = comm_job_close, .destroy = comm_job_destroy
/* of modes with `ahead`: the others' kernels then do not even number the ids */
#define COMM_AHEAD_SLOTS \
    .lookup_ahead = comm_job_lookup_ahead, .lookup_take = comm_job_lookup_take, \
    .lookup_drop = comm_job_lookup_drop
/* rows on disk are told of where they are not asked for ahead */
#define COMM_SOON_SLOTS .on_disk = comm_job_on_disk, .lookup_soon = comm_job_lookup_soon
/* clang-format on */

#endif
