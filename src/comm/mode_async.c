/* Async: training threads put copies of gradients into bounded queues, one per variable. The
 * communicator's thread takes up to max_merge_var_num of each, merges them, and pushes all of them
 * in one message per server. Servers apply pushes on arrival. When more than
 * min_send_grad_num_before_recv gradients have been sent since the last pull (or always, without
 * "independent_recv_thread"), the answer brings the parameters too.
 *
 * A training thread waits only when a queue is full. A send begins when every variable has
 * max_merge_var_num copies, or send_wait_times * 10 ms after the first copy arrived: so the
 * variables of a batch are sent together. Queued copies are sent before the trainer stops.
 *
 * Pushes to sparse tables do not depend on time: sparse_merge_num pushes are merged into one, or
 * those that are queued when a caller flushes (a save, the end of a pass, stop_worker). So what
 * servers get does not depend on the speed of any process. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "comm/mode.h"

struct send_slot {
    struct skiff_tensor value; /* its memory is reused */
    bool ready;                /* filled */
};

struct queue {
    struct comm_var var;
    bool merge_add, sparse_table;
    struct send_slot *slots; /* a ring of `capacity` */
    int capacity;
    int head, count; /* count includes those that are being filled */
};

struct async_state {
    pthread_mutex_t lock;   /* guards all but the values of slots that are being filled or sent */
    pthread_cond_t changed; /* a send is over: queues have space, or nothing is queued */
    pthread_cond_t wanted;  /* for the communicator's thread: a send may begin, or stop */
    struct queue **queues;  /* in order of first use */
    int nqueues, next;      /* next: the one that is probably sent next */
    struct thread thread;
    bool stop, busy;
    int flushing;     /* this many callers wait until nothing is queued */
    int threads;      /* of train_from_dataset, still running */
    int64_t first_at; /* when the oldest waiting copy arrived; 0: none waits */
    int grads;        /* copies of the first variable since the last pull */
    struct skiff_error error;
};

static enum skiff_status async_create(struct comm *c, struct skiff_error *err)
{
    struct async_state *s = mem_alloc_or_die(sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    cond_init(&s->changed);
    cond_init(&s->wanted);
    c->state = s;
    return SKIFF_OK;
}

static void async_destroy(struct comm *c)
{
    struct async_state *s = c->state;
    for (int i = 0; i < s->nqueues; i++) {
        struct queue *q = s->queues[i];
        for (int k = 0; k < q->capacity; k++)
            value_deinit(&q->slots[k].value);
        free(q->slots);
        comm_var_deinit(&q->var);
        free(q);
    }
    free(s->queues);
    pthread_cond_destroy(&s->changed);
    pthread_cond_destroy(&s->wanted);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- training threads ---- */

static struct queue *queue_create(const struct comm *c, const struct job_slices *to, bool merge_add)
{
    struct queue *q = mem_alloc_or_die(sizeof *q);
    slices_copy(&q->var, to);
    q->merge_add = merge_add;
    q->sparse_table = to->shards > 0;
    q->capacity = q->sparse_table ? 2 * c->options.sparse_merge_num : c->options.send_queue_size;
    q->slots = mem_alloc_or_die((size_t)q->capacity * sizeof *q->slots);
    return q;
}

/* As gather_find: threads send in the same order in every batch. */
static struct queue *queue_find(struct comm *c, const struct job_slices *to, bool merge_add)
{
    struct async_state *s = c->state;
    int i = 0;
    while (i < s->nqueues && strcmp(s->queues[(s->next + i) % s->nqueues]->var.origin, to->origin))
        i++;
    if (i < s->nqueues) {
        struct queue *q = s->queues[(s->next + i) % s->nqueues];
        s->next = (s->next + i + 1) % s->nqueues;
        return q;
    }
    s->queues = mem_grow_or_die(s->queues, (size_t)(s->nqueues + 1) * sizeof(struct queue *));
    s->next = 0;
    return s->queues[s->nqueues++] = queue_create(c, to, merge_add);
}

static int queue_ready(const struct queue *q)
{
    int n = 0;
    while (n < q->count && q->slots[(q->head + n) % q->capacity].ready)
        n++;
    return n;
}

/* A send begins when every variable has this many copies, or a sparse table. */
static int copies_of_round(const struct comm *c, bool sparse_table)
{
    int merge = c->options.max_merge_var_num, capacity = c->options.send_queue_size;
    if (sparse_table)
        return c->options.sparse_merge_num;
    return merge < capacity ? merge : capacity;
}

static enum skiff_status async_send(struct comm *c, const struct job_slices *to,
                                    const struct skiff_tensor *x, bool merge_add,
                                    struct skiff_error *err)
{
    struct async_state *s = c->state;
    enum skiff_status status = comm_check_running(c, err);
    if (status < 0)
        return status;
    pthread_mutex_lock(&s->lock);
    struct queue *q = queue_find(c, to, merge_add);
    while (q->count == q->capacity && !s->error.code)
        pthread_cond_wait(&s->changed, &s->lock); /* the running exchange has a deadline */
    if (s->error.code) {
        status = s->error.code;
        if (err)
            *err = s->error;
        pthread_mutex_unlock(&s->lock);
        return status;
    }
    struct send_slot *slot = &q->slots[(q->head + q->count++) % q->capacity];
    pthread_mutex_unlock(&s->lock);
    status = sum_add(&slot->value, 0, x, q->var.origin, err);
    pthread_mutex_lock(&s->lock);
    slot->ready = true;
    if (status < 0)
        value_clear(&slot->value);
    bool first = !q->sparse_table && !s->first_at;
    if (first)
        s->first_at = clock_now();
    if (first || s->flushing || queue_ready(q) >= copies_of_round(c, q->sparse_table))
        pthread_cond_signal(&s->wanted);
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* ---- the communicator's thread ---- */

/* What the queues hold. */
struct ready {
    int least, most;  /* copies of a variable; sparse tables are counted apart: */
    int sparse_table; /* most pushes of one of them */
};

static struct ready queues_ready(const struct comm *c)
{
    const struct async_state *s = c->state;
    struct ready r = {.least = c->options.send_queue_size};
    int plain = 0;
    for (int i = 0; i < s->nqueues; i++) {
        const struct queue *q = s->queues[i];
        int n = queue_ready(q);
        if (q->sparse_table) {
            r.sparse_table = n > r.sparse_table ? n : r.sparse_table;
            continue;
        }
        plain++;
        r.least = n < r.least ? n : r.least;
        r.most = n > r.most ? n : r.most;
    }
    if (plain < c->options.plan->sends || !plain)
        r.least = 0;
    return r;
}

/* Locked. False: stopped, and nothing is left. */
static bool request_batch_begins(struct comm *c)
{
    struct async_state *s = c->state;
    for (;;) {
        struct ready r = queues_ready(c);
        bool all = s->stop || s->flushing;
        int64_t until = s->first_at + (int64_t)c->options.send_wait_times * 10 * CLOCK_MS;
        if (r.least >= copies_of_round(c, false) || (r.most && (all || clock_now() >= until)) ||
            r.sparse_table >= copies_of_round(c, true) || (r.sparse_table && all))
            return true;
        if (s->stop)
            return false;
        cond_wait_until(&s->wanted, &s->lock, r.most ? until : CLOCK_NEVER);
    }
}

struct taken { /* what a send takes from one queue: its first n slots */
    struct queue *q;
    int n;
};

/* The number of copies of the queue that are sent together now. */
static int take_count(const struct comm *c, const struct queue *q)
{
    const struct async_state *s = c->state;
    int ready = queue_ready(q);
    int most = q->sparse_table ? c->options.sparse_merge_num : c->options.max_merge_var_num;
    if (q->sparse_table && ready < most && !s->stop && !s->flushing)
        return 0;
    return ready < most ? ready : most;
}

static int take(struct comm *c, struct taken *out)
{
    struct async_state *s = c->state;
    int ntaken = 0;
    bool more = false, counted = false;
    for (int i = 0; i < s->nqueues; i++) {
        struct queue *q = s->queues[i];
        int n = take_count(c, q);
        more |= !q->sparse_table && queue_ready(q) > n;
        if (!q->sparse_table && !counted) {
            s->grads += n;
            counted = true;
        }
        if (n)
            out[ntaken++] = (struct taken){q, n};
    }
    s->first_at = more ? clock_now() : 0;
    return ntaken;
}

/* Merges the copies into the first slot; no other thread uses these slots. */
static enum skiff_status merge(const struct comm *c, const struct taken *t,
                               struct skiff_tensor **out, struct skiff_error *err)
{
    int capacity = t->q->capacity, n = 0;
    struct skiff_tensor *sum = NULL;
    for (int i = 0; i < t->n; i++) {
        struct skiff_tensor *v = &t->q->slots[(t->q->head + i) % capacity].value;
        if (v->kind == VALUE_NONE)
            continue; /* could not be copied: its thread has the error */
        if (sum)
            TRY(sum_add(sum, n, v, t->q->var.origin, err));
        else
            sum = v;
        n++;
    }
    *out = sum;
    bool add = t->q->merge_add || c->options.is_sgd_optimizer;
    return sum ? sum_finish(sum, n, !add, err) : SKIFF_OK;
}

static enum skiff_status push(struct comm *c, const struct taken *taken, int n, bool pull,
                              struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct session_push *pushes = mem_alloc_or_die((size_t)(n + 1) * sizeof *pushes);
    int npush = 0, npull = pull ? c->nrecvs : 0;
    for (int i = 0; i < n; i++) {
        struct skiff_tensor *sum;
        TRY_OUT(merge(c, &taken[i], &sum, err));
        TRY_OUT(comm_bind(c->session, &taken[i].q->var, PS_PUSH_DENSE | PS_PUSH_ROWS, err));
        if (sum)
            pushes[npush++] = (struct session_push){.to = taken[i].q->var.slices, .x = sum};
    }
    TRY_OUT(session_exchange(c->session, 0, 0, pushes, npush, c->pulls, npull, err));
out:
    free(pushes);
    return status;
}

/* Locked. */
static void give_back(const struct taken *taken, int n)
{
    for (int i = 0; i < n; i++) {
        struct queue *q = taken[i].q;
        for (int k = 0; k < taken[i].n; k++)
            q->slots[(q->head + k) % q->capacity].ready = false;
        q->head = (q->head + taken[i].n) % q->capacity;
        q->count -= taken[i].n;
    }
}

static void *communicate(void *arg)
{
    struct comm *c = arg;
    struct async_state *s = c->state;
    struct skiff_error err;
    pthread_mutex_lock(&s->lock);
    while (!s->error.code && request_batch_begins(c)) {
        struct taken *taken = mem_alloc_or_die((size_t)(s->nqueues + 1) * sizeof *taken);
        int n = take(c, taken);
        bool pull = !c->options.independent_recv_thread ||
                    s->grads > c->options.min_send_grad_num_before_recv;
        if (pull)
            s->grads = 0;
        s->busy = true;
        pthread_mutex_unlock(&s->lock);
        enum skiff_status status = push(c, taken, n, pull, &err);
        pthread_mutex_lock(&s->lock);
        give_back(taken, n);
        free(taken);
        s->busy = false;
        if (status < 0)
            s->error = err;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- start, stop ---- */

static enum skiff_status async_start(struct comm *c, struct skiff_error *err)
{
    struct async_state *s = c->state;
    s->stop = false;
    s->error = (struct skiff_error){0};
    return thread_start(&s->thread, "send", -1, communicate, c, err);
}

/* Locked: copies that have not been sent. */
static int queued(const struct async_state *s)
{
    int n = 0;
    for (int i = 0; i < s->nqueues; i++)
        n += s->queues[i]->count;
    return n;
}

static enum skiff_status async_flush(struct comm *c, struct skiff_error *err)
{
    struct async_state *s = c->state;
    pthread_mutex_lock(&s->lock);
    s->flushing++;
    pthread_cond_signal(&s->wanted);
    while (!s->error.code && (s->busy || queued(s)))
        pthread_cond_wait(&s->changed, &s->lock);
    s->flushing--;
    enum skiff_status status = s->error.code;
    if (status < 0 && err)
        *err = s->error;
    pthread_mutex_unlock(&s->lock);
    return status;
}

static void async_begin(struct comm *c, int n)
{
    struct async_state *s = c->state;
    pthread_mutex_lock(&s->lock);
    s->threads += n;
    pthread_mutex_unlock(&s->lock);
}

/* The last thread: the servers have its pushes to tables when train_from_dataset returns, as in
 * Paddle. A failure is reported to the next caller. */
static void async_end(struct comm *c)
{
    struct async_state *s = c->state;
    bool sparse_table = false;
    pthread_mutex_lock(&s->lock);
    bool last = s->threads > 0 && !--s->threads;
    for (int i = 0; i < s->nqueues; i++)
        sparse_table |= s->queues[i]->sparse_table;
    pthread_mutex_unlock(&s->lock);
    if (last && sparse_table && atomic_load(&c->running))
        async_flush(c, NULL);
}

/* At the end the trainer has the servers' values. */
static enum skiff_status async_stop(struct comm *c, struct skiff_error *err)
{
    struct async_state *s = c->state;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->wanted);
    pthread_mutex_unlock(&s->lock);
    thread_join(&s->thread);
    if (s->error.code < 0) {
        if (err)
            *err = s->error;
        return s->error.code;
    }
    return push(c, NULL, 0, true, err);
}

static const struct job_class async_class = {COMM_CLASS_SLOTS, COMM_ANNOUNCE_SLOTS,
                                             .communicates = true, .send = comm_job_send};

const struct comm_mode mode_async = {.class = &async_class,
                                     .create = async_create,
                                     .destroy = async_destroy,
                                     .start = async_start,
                                     .stop = async_stop,
                                     .flush = async_flush,
                                     .threads_begin = async_begin,
                                     .thread_end = async_end,
                                     .send = async_send};
