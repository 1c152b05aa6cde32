/* Modes: when gradients are pushed and parameters pulled. Every mode is a row of
 * <skiff/mode_list.h>, a file mode_<name>.c, a struct comm_mode mode_<name>.
 *
 * Every slot may be NULL: nothing to do, or (send, send_ids) not part of this mode. start, stop and
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
    /* creates state from options and program; called by comm_create */
    enum skiff_status (*create)(struct comm *c, struct skiff_error *err);
    void (*destroy)(struct comm *c);
    /* c->scope and the session are set; starts the mode's threads */
    enum skiff_status (*start)(struct comm *c, struct skiff_error *err);
    /* sends queued values, joins threads; only after start */
    enum skiff_status (*stop)(struct comm *c, struct skiff_error *err);
    enum skiff_status (*flush)(struct comm *c, struct skiff_error *err);
    /* parameters as the servers have them now; NULL: no step of this trainer depends on it */
    enum skiff_status (*refresh)(struct comm *c, struct skiff_error *err);
    enum skiff_status (*send)(struct comm *c, const struct job_slices *to,
                              const struct skiff_tensor *x, bool merge_add,
                              struct skiff_error *err);
    /* recv: true when the values were available already, in *out */
    enum skiff_status (*held)(struct comm *c, const struct job_slices *from,
                              struct skiff_tensor *out, bool *found, struct skiff_error *err);
    enum skiff_status (*send_barrier)(struct comm *c, struct skiff_error *err);
    enum skiff_status (*send_ids)(struct comm *c, int n, const char *const *names,
                                  const struct tensor *const *ids, struct skiff_error *err);
    /* Rows of a table, in modes that do not simply request them from the job's servers. */
    enum skiff_status (*lookup)(struct comm *c, const struct job_lookup *l,
                                struct skiff_error *err);
    void (*threads_begin)(struct comm *c, int n);
    void (*thread_end)(struct comm *c);
    /* May the rows of the next batch be prefetched while this one is computed? *after: the steps of
     * this trainer that servers must have finished first (session_rows_ask). */
    bool (*prefetch)(struct comm *c, uint64_t *after);
};

/* A variable and its slices; strings are copies. Bound at its first use (comm_bind). */
struct comm_var {
    char *origin;
    struct job_slices slices;
    struct session_binding *bound;
};

struct comm {
    struct job job; /* must be first */
    const struct comm_mode *mode;
    struct comm_options options; /* with all defaults filled in; holds a reference to the plan */
    pthread_mutex_t lock;        /* guards opening, starting, stopping, closing */
    struct session *session;
    /* with the server inside this process; NULL: no such server beside the job's */
    struct session *own;
    atomic_bool closed;
    atomic_bool running;       /* between start and stop */
    struct skiff_scope *scope; /* a reference, from start on */
    struct comm_var *recvs;    /* parameters that trainers hold; direct: slices, one by one */
    int nrecvs;
    struct session_pull *pulls; /* nrecvs: the parameters in the scope, from start on */
    struct comm_table *tables;  /* that were looked up; grows under lock, entries stay */
    struct metrics *metrics;    /* of the session with the job's servers */
    void *state;                /* the mode's */
};

void slices_copy(struct comm_var *to, const struct job_slices *from);
/* n slices of one variable, with `suffix` appended to the servers' names. */
void slices_placed(struct comm_var *to, const struct skiff_placement *slices, int n,
                   const char *origin, const char *suffix);
/* How many entries of the plan's placement from `first` on are slices of one variable. */
int slices_count(const struct job_plan *plan, int first);
void comm_var_deinit(struct comm_var *v);

/* Sets the numbers of the slices at this session, always the same one. use: of enum ps_use;
 * one caller at a time. */
enum skiff_status comm_bind(const struct session *s, struct comm_var *v, uint32_t use,
                            struct skiff_error *err);
/* The bound slices of a table that is looked up at this session; any thread. */
enum skiff_status comm_table(struct comm *c, const struct session *s,
                             const struct job_slices *table, const struct job_slices **out,
                             struct skiff_error *err);
/* Opens the session if needed (and c->own with it). */
enum skiff_status comm_open(struct comm *c, struct session **out, struct skiff_error *err);
/* Writes the ids of a look-up, each once, without the padding id, to out, which has space for all;
 * returns their number. The map must be empty; it holds their indexes afterwards. */
size_t lookup_distinct(struct id_map *map, const struct job_lookup *l, int64_t *out);
/* Rows for lists of ids, each id requested once. */
enum skiff_status comm_lookup(struct comm *c, struct session *s, const struct job_lookup *l,
                              struct skiff_error *err);
/* Fails when the communicator is not started (or stopped). */
enum skiff_status comm_check_running(const struct comm *c, struct skiff_error *err);

/* ---- sums over threads or batches ---- */

/* sum += x. The first value (n 0) is copied. Rows are appended. */
enum skiff_status sum_add(struct skiff_tensor *sum, int n, const struct skiff_tensor *x,
                          const char *name, struct skiff_error *err);
/* n values were added: rows with the same id are summed, and with `mean` all is divided by n. */
enum skiff_status sum_finish(struct skiff_tensor *sum, int n, bool mean, struct skiff_error *err);

/* ---- threads of one trainer wait for each other ---- */

struct gather_var {
    struct comm_var var;
    pthread_mutex_t lock; /* guards the rest; a leaf */
    struct skiff_tensor sum;
    struct session_slot *slot; /* in place of sum, from the second step on; NULL: rows, counters */
    int n;
    bool merge_add;
};

struct gather {
    pthread_mutex_t lock; /* guards all below; a leaf */
    pthread_cond_t changed;
    struct gather_var **vars;
    struct session_push *pushes; /* nvars */
    int nvars, next;             /* next: the one that is probably sent next */
    struct session_slots *slots; /* NULL: before the first exchange, or without a session */
    bool begun;                  /* slots are written in this step */
    int threads;                 /* that take part; 0: none has begun, each exchanges alone */
    int arrived;
    uint64_t requests;
    bool busy;
    enum skiff_status status; /* of the last exchange */
    struct skiff_error error;
};

void gather_init(struct gather *g);
void gather_deinit(struct gather *g);
/* A variable that is new is bound at the session (NULL: it is not). */
enum skiff_status gather_add(struct gather *g, const struct session *s, const struct job_slices *to,
                             const struct skiff_tensor *x, bool merge_add, struct skiff_error *err);
/* The batch of this thread is complete. The last thread to arrive runs `exchange` with everything
 * that was added, averaged over the threads that added it; all get its result. */
typedef enum skiff_status (*gather_exchange)(struct comm *c, const struct session_push *pushes,
                                             int n, struct skiff_error *err);
enum skiff_status gather_barrier(struct gather *g, struct comm *c, gather_exchange exchange,
                                 struct skiff_error *err);
void gather_begin(struct gather *g, int threads);
void gather_end(struct gather *g); /* one thread has no more data */

#define SKIFF_MODE(constant, number, name, flags, promise) \
    extern const struct comm_mode mode_##name;
#include <skiff/mode_list.h>
#undef SKIFF_MODE
extern const struct comm_mode mode_direct; /* for programs of the bare transpiler, in any mode */
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
enum skiff_status comm_job_lookup_prefetch(struct job *j, const struct job_lookup *l,
                                           struct job_prefetch **out, struct skiff_error *err);
enum skiff_status comm_job_lookup_take(struct job *j, struct job_prefetch *a, struct tensor *out,
                                       struct skiff_error *err);
void comm_job_lookup_drop(struct job *j, struct job_prefetch *a);
bool comm_job_on_disk(struct job *j, const char *table);
void comm_job_lookup_announce(struct job *j, const struct job_lookup *l);
enum skiff_status comm_job_ids(struct job *j, int n, const char *const *names,
                               const struct tensor *const *ids, struct skiff_error *err);
enum skiff_status comm_job_save_table(struct job *j, const char *dir, const char *table,
                                      struct skiff_error *err);
void comm_job_threads_begin(struct job *j, int n);
void comm_job_thread_end(struct job *j);
enum skiff_status comm_job_begin(struct job *j, const struct skiff_program *p,
                                 struct skiff_scope *scope, bool *done, struct skiff_error *err);
bool comm_job_waits(struct job *j, const struct skiff_program *p);
void comm_job_snapshot(struct job *j, struct metrics_snapshot *out);
enum skiff_status comm_job_close(struct job *j, struct skiff_error *err);
void comm_job_destroy(struct job *j);

/* ---- mode_step.c: modes that work in steps ---- */
enum skiff_status step_create(struct comm *c, struct skiff_error *err);
void step_destroy(struct comm *c);
enum skiff_status step_send(struct comm *c, const struct job_slices *to,
                            const struct skiff_tensor *x, bool merge_add, struct skiff_error *err);
enum skiff_status step_barrier(struct comm *c, struct skiff_error *err);
enum skiff_status step_refresh(struct comm *c, struct skiff_error *err);
void step_begin(struct comm *c, int n);
void step_end(struct comm *c);
bool step_prefetch(struct comm *c, uint64_t *after);
extern const struct job_class step_class;

/* clang-format off */
#define COMM_STEP_SLOTS \
    .class = &step_class, .create = step_create, .destroy = step_destroy, .send = step_send, \
    .send_barrier = step_barrier, .threads_begin = step_begin, .thread_end = step_end, \
    .prefetch = step_prefetch, .refresh = step_refresh
#define COMM_CLASS_SLOTS \
    .recv = comm_job_recv, .send_barrier = comm_job_barrier, .lookup = comm_job_lookup, \
    .save_table = comm_job_save_table, .begin = comm_job_begin, .waits = comm_job_waits, \
    .threads_begin = comm_job_threads_begin, .thread_end = comm_job_thread_end, \
    .snapshot = comm_job_snapshot, .close = comm_job_close, .destroy = comm_job_destroy
/* in modes with `ahead`: without these slots, kernels do not even collect the ids */
#define COMM_PREFETCH_SLOTS \
    .lookup_prefetch = comm_job_lookup_prefetch, .lookup_take = comm_job_lookup_take, \
    .lookup_drop = comm_job_lookup_drop
/* hints for rows on disk, in modes that do not prefetch */
#define COMM_ANNOUNCE_SLOTS .on_disk = comm_job_on_disk, .lookup_announce = comm_job_lookup_announce
/* clang-format on */

#endif
