/* mpi: ranks that an MPI or Slurm launcher has started. MPI (OpenMPI) carries the messages; sums
 * are computed here, because MPI promises no order of additions.
 *
 * The library is loaded when this engine is chosen and not before: Skiff runs without it. Only this
 * file includes MPI's header, for its types; functions and objects are looked up by name. MPI can
 * be initialized and finalized once in a process, so that is done with the first group and at the
 * end of the process; later groups use other tags.
 *
 * All calls of MPI are made with one lock held, and none of them waits. Ranks poll for messages
 * while they wait for one; in between a thread of this engine does, which also sends heartbeats and
 * checks for silent ranks. When a rank is killed, mpirun ends the job. */
#define _GNU_SOURCE
#include "collective/collective_parts.h"

#ifndef SKIFF_MPI

enum skiff_status collective_mpi_loads(struct skiff_error *err)
{
    return error_set(err, SKIFF_UNSUPPORTED,
                     "this Skiff was built without MPI: install libopenmpi-dev and build it again, "
                     "or choose the engine net (SKIFF_COLLECTIVE=net)");
}

enum skiff_status collective_mpi(struct collective **out, struct skiff_error *err)
{
    return collective_mpi_loads(err);
}

#else

#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LIBRARY "libmpi.so.40" /* of OpenMPI 2 to 5 */
#define BEAT CLOCK_SECOND
#define SILENCE (8 * CLOCK_SECOND) /* ranks are named within 10 s, also on a slow machine */
#define IDLE (50 * CLOCK_MS)       /* between two polls of the engine's thread */
#define BUSY CLOCK_MS              /* while messages are in flight */

#define MPI_CALLS(X) \
    X(Init_thread)   \
    X(Finalize)      \
    X(Comm_rank)     \
    X(Comm_size)     \
    X(Comm_dup)      \
    X(Comm_set_errhandler) X(Isend) X(Test) X(Improbe) X(Imrecv) X(Get_count) X(Error_string)

struct mpi_library {
#define MPI_MEMBER(name) __typeof__(&MPI_##name) name;
    MPI_CALLS(MPI_MEMBER)
#undef MPI_MEMBER
    MPI_Comm world;
    MPI_Datatype byte;
    MPI_Errhandler errors_return;
};

/* The state of the process, which exists once. */
static struct {
    pthread_mutex_t lock; /* for every call of MPI, and this struct */
    bool loaded, begun;
    bool dead;    /* a rank is dead, or did not take a message: MPI cannot be finalized properly */
    int groups;   /* so far: the tag of the next group */
    int engines;  /* open ones */
    bool exiting; /* the last engine that is closed finalizes MPI */
    int rank, size;
    struct mpi_library call;
    MPI_Comm all;
} mpi = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct mpi_transfer { /* a message that is being sent or received */
    struct mpi_transfer *next;
    MPI_Request request;
    struct blob *blob;
    int rank;
};

struct mpi_engine {
    struct inbox *inbox;
    int tag;
    struct mpi_transfer *leaving, *coming; /* mpi.lock */
    int64_t *heard;                        /* of each rank; mpi.lock */
    struct thread thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
};

/* ---- the library ---- */

static enum skiff_status find_all(void *library, struct mpi_library *out, struct skiff_error *err)
{
    const char *missing = NULL;
#define MPI_FIND(name)                                   \
    *(void **)&out->name = dlsym(library, "MPI_" #name); \
    if (!out->name)                                      \
        missing = "MPI_" #name;
    MPI_CALLS(MPI_FIND)
#undef MPI_FIND
    out->world = dlsym(library, "ompi_mpi_comm_world");
    out->byte = dlsym(library, "ompi_mpi_byte");
    out->errors_return = dlsym(library, "ompi_mpi_errors_return");
    if (!out->world || !out->byte || !out->errors_return)
        missing = "OpenMPI's objects";
    if (missing)
        return error_set(err, SKIFF_UNSUPPORTED, "%s has no %s: it is not OpenMPI", LIBRARY,
                         missing);
    return SKIFF_OK;
}

static enum skiff_status check(int code, const char *what, struct skiff_error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    if (code == MPI_SUCCESS)
        return SKIFF_OK;
    mpi.call.Error_string(code, text, &len);
    return error_set(err, SKIFF_IO, "%s: %s", what, text);
}

/* Waits for all ranks. */
static void end_mpi(void)
{
    if (!mpi.dead)
        mpi.call.Finalize();
}

/* Exit handlers run from the last to the first: one that was registered before this one may close
 * the world after it (a script in Python). */
static void on_exit_of_process(void)
{
    pthread_mutex_lock(&mpi.lock);
    mpi.exiting = true;
    bool last = mpi.engines == 0;
    pthread_mutex_unlock(&mpi.lock);
    if (last)
        end_mpi();
}

/* Locked. */
static enum skiff_status load(struct skiff_error *err)
{
    if (mpi.loaded)
        return SKIFF_OK;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return error_set(err, SKIFF_UNSUPPORTED, "MPI cannot be loaded: %s (Debian: libopenmpi3)",
                         dlerror());
    TRY(find_all(library, &mpi.call, err));
    mpi.loaded = true;
    return SKIFF_OK;
}

enum skiff_status collective_mpi_loads(struct skiff_error *err)
{
    pthread_mutex_lock(&mpi.lock);
    enum skiff_status status = load(err);
    pthread_mutex_unlock(&mpi.lock);
    return status;
}

/* Locked. */
static enum skiff_status begin(struct skiff_error *err)
{
    int provided;
    if (mpi.begun)
        return SKIFF_OK;
    TRY(load(err));
    TRY(check(mpi.call.Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread",
              err));
    mpi.begun = true;
    atexit(on_exit_of_process);
    if (provided < MPI_THREAD_SERIALIZED)
        return error_set(err, SKIFF_UNSUPPORTED, "this MPI cannot be used by several threads");
    TRY(check(mpi.call.Comm_dup(mpi.call.world, &mpi.all), "MPI_Comm_dup", err));
    TRY(check(mpi.call.Comm_set_errhandler(mpi.all, mpi.call.errors_return),
              "MPI_Comm_set_errhandler", err));
    TRY(check(mpi.call.Comm_rank(mpi.all, &mpi.rank), "MPI_Comm_rank", err));
    return check(mpi.call.Comm_size(mpi.all, &mpi.size), "MPI_Comm_size", err);
}

/* ---- messages ---- */

static enum skiff_status send_message(void *engine, int to, const struct message_head *h,
                                      const void *data, size_t bytes, struct skiff_error *err)
{
    struct mpi_engine *e = engine;
    if (bytes > INT_MAX - MESSAGE_HEAD)
        return error_set(err, SKIFF_UNSUPPORTED, "a message of %zu bytes: MPI takes less than 2 GB",
                         bytes);
    struct mpi_transfer *t = mem_alloc_or_die(sizeof *t);
    t->rank = to;
    if (message_pack(h, data, bytes, &t->blob, err) < 0) {
        free(t);
        return SKIFF_NOMEM;
    }
    pthread_mutex_lock(&mpi.lock);
    int code = mpi.call.Isend(t->blob->data, (int)t->blob->len, mpi.call.byte, to, e->tag, mpi.all,
                              &t->request);
    enum skiff_status status = check(code, "MPI_Isend", err);
    if (status == SKIFF_OK) {
        t->next = e->leaving;
        e->leaving = t;
    }
    pthread_mutex_unlock(&mpi.lock);
    if (status < 0) {
        blob_unref(t->blob);
        free(t);
    }
    return status;
}

/* Locked, so that two threads keep their order. */
static enum skiff_status deliver(struct mpi_engine *e, const struct mpi_transfer *came,
                                 struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    for (const struct mpi_transfer *t = came; t; t = t->next) {
        struct message_head h;
        if (message_decode(t->blob->data, t->blob->len, &h, err) == SKIFF_OK)
            inbox_deliver(e->inbox, t->rank, &h, blob_ref(t->blob), MESSAGE_HEAD);
        else
            status = SKIFF_FORMAT;
    }
    return status;
}

/* Locked. Removes finished transfers from a list. */
static struct mpi_transfer *take_done(struct mpi_transfer **list)
{
    struct mpi_transfer *done = NULL, **end = &done;
    for (struct mpi_transfer **at = list; *at;) {
        struct mpi_transfer *t = *at;
        int flag = 0;
        mpi.call.Test(&t->request, &flag, MPI_STATUS_IGNORE);
        if (!flag) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        t->next = NULL;
        *end = t;
        end = &t->next;
    }
    return done;
}

/* Locked. Starts to receive the next available message. */
static bool begin_next(struct mpi_engine *e)
{
    MPI_Message message;
    MPI_Status status;
    int flag = 0, bytes = 0;
    if (mpi.call.Improbe(MPI_ANY_SOURCE, e->tag, mpi.all, &flag, &message, &status) || !flag)
        return false;
    mpi.call.Get_count(&status, mpi.call.byte, &bytes);
    struct mpi_transfer *t = mem_alloc_or_die(sizeof *t), **end = &e->coming;
    t->rank = status.MPI_SOURCE;
    if (blob_create((size_t)bytes, "a message between ranks", &t->blob, NULL) < 0)
        abort(); /* as mem_alloc_or_die: a window of a megabyte */
    mpi.call.Imrecv(t->blob->data, bytes, mpi.call.byte, &message, &t->request);
    e->heard[t->rank] = clock_now();
    while (*end)
        end = &(*end)->next;
    *end = t;
    return true;
}

static void drop(struct mpi_transfer *list)
{
    while (list) {
        struct mpi_transfer *t = list;
        list = t->next;
        blob_unref(t->blob);
        free(t);
    }
}

static bool progress(void *engine)
{
    struct mpi_engine *e = engine;
    pthread_mutex_lock(&mpi.lock);
    struct mpi_transfer *sent = take_done(&e->leaving);
    bool more = begin_next(e);
    struct mpi_transfer *came = take_done(&e->coming);
    struct skiff_error err;
    enum skiff_status status = deliver(e, came, &err);
    pthread_mutex_unlock(&mpi.lock);
    if (status < 0)
        inbox_fail(e->inbox, &err);
    bool any = more || came;
    drop(sent);
    drop(came);
    return any;
}

/* ---- the engine's thread ---- */

static void report_that_we_live(struct mpi_engine *e)
{
    struct message_head h = {.kind = MESSAGE_BEAT};
    for (int i = 0; i < mpi.size; i++)
        if (i != mpi.rank && !inbox_has_left(e->inbox, i, GROUP_WORLD))
            send_message(e, i, &h, NULL, 0, NULL);
}

static void look_for_silence(struct mpi_engine *e, int64_t now)
{
    struct skiff_error err;
    for (int i = 0; i < mpi.size; i++) {
        pthread_mutex_lock(&mpi.lock);
        int64_t heard = e->heard[i];
        pthread_mutex_unlock(&mpi.lock);
        if (i == mpi.rank || now - heard < SILENCE || inbox_has_left(e->inbox, i, GROUP_WORLD))
            continue;
        error_set(&err, SKIFF_PEER, "rank %d (of MPI) is dead: it has been silent for %.1f s", i,
                  (double)(now - heard) / 1e9);
        inbox_fail(e->inbox, &err);
        mpi.dead = true; /* read after this thread has ended */
    }
}

/* This process was stopped: the others were not silent. */
static void forgive(struct mpi_engine *e, int64_t now)
{
    pthread_mutex_lock(&mpi.lock);
    for (int i = 0; i < mpi.size; i++)
        e->heard[i] = now;
    pthread_mutex_unlock(&mpi.lock);
}

static bool is_busy(struct mpi_engine *e)
{
    pthread_mutex_lock(&mpi.lock);
    bool busy = e->leaving || e->coming;
    pthread_mutex_unlock(&mpi.lock);
    return busy;
}

static void *watch(void *arg)
{
    struct mpi_engine *e = arg;
    int64_t beaten = 0, last = clock_now();
    pthread_mutex_lock(&e->lock);
    while (!e->stopping) {
        pthread_mutex_unlock(&e->lock);
        int64_t now = clock_now();
        if (now - last > 2 * CLOCK_SECOND)
            forgive(e, now);
        last = now;
        while (progress(e))
            ;
        if (now - beaten > BEAT) {
            beaten = now;
            report_that_we_live(e);
            look_for_silence(e, now);
        }
        int64_t until = clock_now() + (is_busy(e) ? BUSY : IDLE);
        pthread_mutex_lock(&e->lock);
        if (!e->stopping)
            cond_wait_until(&e->changed, &e->lock, until);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- lifecycle ---- */

/* Waits until all messages are sent. Messages to ranks that have left may stay forever: they are
 * dropped at the end of the process. */
static void finish(struct mpi_engine *e)
{
    int64_t end = clock_now() + (atomic_load(&e->inbox->failed) ? CLOCK_SECOND : SILENCE);
    while (is_busy(e) && clock_now() < end) {
        progress(e);
        clock_sleep(BUSY / 10);
    }
}

static void close_mpi(void *engine)
{
    struct mpi_engine *e = engine;
    pthread_mutex_lock(&e->lock);
    e->stopping = true;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    thread_join(&e->thread);
    finish(e);
    mpi.dead = mpi.dead || e->leaving || e->coming; /* MPI keeps the bytes of these */
    free(e->heard);
    inbox_destroy(e->inbox);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e);
    pthread_mutex_lock(&mpi.lock);
    bool last = --mpi.engines == 0 && mpi.exiting;
    pthread_mutex_unlock(&mpi.lock);
    if (last)
        end_mpi();
}

static const struct engine_kind engine_mpi = {
    .name = "mpi", .send = send_message, .progress = progress, .close = close_mpi};

enum skiff_status collective_mpi(struct collective **out, struct skiff_error *err)
{
    pthread_mutex_lock(&mpi.lock);
    enum skiff_status status = begin(err);
    int tag = mpi.groups++;
    mpi.engines += status == SKIFF_OK;
    pthread_mutex_unlock(&mpi.lock);
    if (status < 0)
        return status;
    struct mpi_engine *e = mem_alloc_or_die(sizeof *e);
    e->tag = tag;
    e->heard = mem_alloc_or_die((size_t)mpi.size * sizeof *e->heard);
    pthread_mutex_init(&e->lock, NULL);
    cond_init(&e->changed);
    e->inbox = inbox_create(&engine_mpi, e, mpi.rank, mpi.size);
    forgive(e, clock_now());
    status = thread_start(&e->thread, "mpi", -1, watch, e, err);
    if (status < 0) {
        close_mpi(e);
        return status;
    }
    struct collective *c = group_create(e->inbox, GROUP_WORLD, NULL, mpi.size, mpi.rank);
    status = group_open(c, err);
    if (status < 0)
        collective_destroy(c);
    else
        *out = c;
    return status;
}

#endif
