/* Coordinator state on server 0: the agreed start of the job, the running epoch (so that a
 * restarted worker joins where the others are), and which worker saves an epoch (so that saving
 * does not depend on one particular process).
 *
 * Start: every process reports what it has on disk, and is answered when all have reported. Servers
 * hold the parameters, so with --resume all of them must have the newest epoch that any process
 * has. Otherwise all are refused, with the names of both sides. Workers need no checkpoint: they
 * take over the epoch number.
 *
 * Epochs: workers meet in a reduction at the end of each ("epoch N: ...", reduce.c). A process that
 * joins a running job takes part at once if the running epoch has seen no reduction yet (at its
 * end, or in a shuffle at its beginning), else from the next epoch on: never between the reductions
 * of one epoch. Until then no reduction waits for it.
 *
 * Saving: the first to ask among the live workers with the lowest rank saves. When it dies or
 * fails, the next one that asks does. Locks: everything here is guarded by the reduction state's
 * lock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "server/coordinator.h"
#include "server/exchange.h"
#include "server/members.h"
#include "server/reduce.h"
#include "server/server_parts.h"
#include "server/status.h"

struct starter { /* a process that is ready to start; request NULL: not yet */
    struct rpc_request *request;
    struct ps_begin has;
    bool came;
    int64_t since;
};

struct coordinator {
    struct starter *workers, *servers;
    bool begun;
    struct ps_begun start;  /* epoch: the one that the workers are in */
    bool reduction_state;   /* a reduction of this epoch has begun, and the epoch is not over */
    uint64_t *incarnations; /* by worker: incarnation of the process that takes part; 0: none */
    int64_t *since;         /* by worker: the epoch from which it takes part */
    int64_t saving;         /* what is being saved (ps_save_number); -1: nothing yet */
    bool saved, has_saver;
    uint32_t saver;
    uint64_t saver_incarnation;
    bool *failed; /* by worker: it failed to save */
    char reason[512];
};

struct coordinator *coordinator_create(const struct server *s)
{
    struct coordinator *b = mem_alloc_or_die(sizeof *b);
    size_t workers = (size_t)s->plan->trainers, servers = (size_t)s->plan->servers;
    b->workers = mem_alloc_or_die(workers * sizeof *b->workers);
    b->servers = mem_alloc_or_die(servers * sizeof *b->servers);
    b->incarnations = mem_alloc_or_die(workers * sizeof *b->incarnations);
    b->since = mem_alloc_or_die(workers * sizeof *b->since);
    b->failed = mem_alloc_or_die(workers * sizeof *b->failed);
    b->saving = -1;
    return b;
}

void coordinator_destroy(struct coordinator *b)
{
    if (!b)
        return;
    free(b->workers);
    free(b->servers);
    free(b->incarnations);
    free(b->since);
    free(b->failed);
    free(b);
}

/* ---- participants ---- */

bool coordinator_awaits(struct server *s, int worker)
{
    struct server_member p = members_get(s, (uint32_t)worker);
    if (p.state != MEMBER_ABSENT && p.state != MEMBER_HERE)
        return false;
    if (s->coordinator->begun)
        return p.state == MEMBER_HERE && s->coordinator->incarnations[worker] == p.incarnation;
    return p.nlives < 2 || !reduce_has_ended(s);
}

static bool takes_part(struct server *s, int worker)
{
    return s->coordinator->begun && coordinator_awaits(s, worker);
}

enum skiff_status coordinator_check_waiter(struct server *s, const struct rpc_request *q,
                                           const char *tag, struct skiff_error *err)
{
    if (coordinator_awaits(s, (int)q->sender.index))
        return SKIFF_OK;
    return error_set(err, SKIFF_STATE,
                     "worker %u was restarted while the job is running: the others have passed "
                     "barriers or reductions that it missed, so it cannot take part in \"%s\"; "
                     "it can train without barriers and reductions; skiff train joins the epoch "
                     "that the others are in",
                     q->sender.index, tag);
}

/* ---- which checkpoint to start from ---- */

static const char *describe(const struct ps_begin *x, char *out, size_t capacity)
{
    if (x->epoch < 0)
        snprintf(out, capacity, "none in %s", x->where);
    else
        snprintf(out, capacity, "epoch %lld of run %s in %s", (long long)x->epoch,
                 x->run[0] ? x->run : "(unknown)", x->where);
    return out;
}

static bool is_newer(const struct ps_begin *a, const struct ps_begin *b)
{
    return a->epoch != b->epoch ? a->epoch > b->epoch : a->complete && !b->complete;
}

static bool is_same(const struct ps_begin *a, const struct ps_begin *b)
{
    return a->epoch == b->epoch && a->complete == b->complete && !strcmp(a->run, b->run) &&
           (!a->sum || !b->sum || a->sum == b->sum);
}

struct holder { /* of the newest epoch */
    const struct ps_begin *has;
    const char *role;
    int index;
};

static void find_newest(const struct starter *list, int n, const char *role, struct holder *best)
{
    for (int i = 0; i < n; i++)
        if (list[i].came && (!best->has || is_newer(&list[i].has, best->has)))
            *best = (struct holder){&list[i].has, role, i};
}

static enum skiff_status check_resume(const struct starter *list, int n, const char *role,
                                      bool resume, struct skiff_error *err)
{
    for (int i = 0; i < n; i++)
        if (list[i].came && list[i].has.resume != resume)
            return error_set(err, SKIFF_INVALID,
                             "%s %d (%s) was started %s --resume, others %s: start all processes "
                             "of a job in the same way",
                             role, i, list[i].has.where, resume ? "without" : "with",
                             resume ? "with it" : "without it");
    return SKIFF_OK;
}

static bool are_other_runs(const struct ps_begin *a, const struct ps_begin *b)
{
    return a->run[0] && b->run[0] && strcmp(a->run, b->run);
}

static enum skiff_status check_servers(const struct coordinator *b, int servers,
                                       const struct holder *best, struct skiff_error *err)
{
    char found[640], newest[640];
    for (int i = 0; i < servers; i++) {
        const struct ps_begin *has = &b->servers[i].has;
        if (is_same(has, best->has))
            continue;
        return error_set(
            err, SKIFF_INVALID,
            "--resume: %s %d has %s, but server %d, which resumes from its own folder, has %s%s. "
            "%s server %d's runner.model_save_path, or use one folder that all processes share; "
            "without --resume the job starts from the beginning",
            best->role, best->index, describe(best->has, newest, sizeof newest), i,
            describe(has, found, sizeof found),
            has->epoch == best->has->epoch && !strcmp(has->run, best->has->run)
                ? ", with other contents"
                : "",
            are_other_runs(has, best->has)
                ? "These are different runs: move away the epochs of the run that shall not be "
                  "resumed; those of the other run must be in"
                : "Copy that epoch's folder to",
            i);
    }
    return SKIFF_OK;
}

static enum skiff_status agree(struct server *s, struct ps_begun *out, struct skiff_error *err)
{
    const struct coordinator *b = s->coordinator;
    struct holder best = {0};
    int workers = s->plan->trainers, servers = s->options.start ? s->plan->servers : 0;
    bool resume = servers && b->servers[0].has.resume;
    TRY(check_resume(b->workers, workers, "worker", resume, err));
    TRY(check_resume(b->servers, servers, "server", resume, err));
    *out = (struct ps_begun){0};
    for (int i = 0; i < workers; i++)
        out->idle += b->workers[i].came && b->workers[i].has.idle;
    find_newest(b->servers, servers, "server", &best);
    find_newest(b->workers, workers, "worker", &best);
    snprintf(out->run, sizeof out->run, "%016llx%016llx", (unsigned long long)rng_entropy(),
             (unsigned long long)rng_entropy());
    if (!resume || best.has->epoch < 0)
        return SKIFF_OK;
    TRY(check_servers(b, servers, &best, err));
    out->epoch = best.has->epoch + best.has->complete;
    if (best.has->run[0])
        snprintf(out->run, sizeof out->run, "%s", best.has->run);
    return SKIFF_OK;
}

/* ---- the start of the job ---- */

static void let_in(struct coordinator *b, int worker)
{
    b->incarnations[worker] = b->workers[worker].request->incarnation;
    b->since[worker] = b->start.epoch;
}

static void answer(struct server *s, struct starter *p, bool late)
{
    struct wire_writer w;
    struct ps_begun x = s->coordinator->start;
    x.late = late;
    writer_init(&w);
    ps_write_begun(&w, &x);
    reply_written(s, p->request, &w);
    p->request = NULL;
}

static void refuse(struct starter *list, int n, const struct skiff_error *reason)
{
    for (int i = 0; i < n; i++) {
        if (list[i].request)
            rpc_fail(list[i].request, reason);
        list[i].request = NULL;
    }
}

static bool is_gone(struct server *s, int worker)
{
    enum member_state state = members_state(s, (uint32_t)worker);
    return state == MEMBER_DEAD || state == MEMBER_LEFT;
}

static bool all_have_come(struct server *s)
{
    const struct coordinator *b = s->coordinator;
    for (int i = 1; s->options.start && i < s->plan->servers; i++)
        if (!b->servers[i].came)
            return false;
    for (int i = 0; i < s->plan->trainers; i++)
        if (!b->workers[i].request && !is_gone(s, i))
            return false;
    return true;
}

void coordinator_add_waits(struct server *s, struct ps_status *out)
{
    const struct coordinator *b = s->coordinator;
    int64_t since = CLOCK_NEVER;
    for (int i = 0; i < s->plan->trainers; i++)
        if (b->workers[i].request)
            since = clock_min(since, b->workers[i].since);
    if (b->begun || !status_wait_begin(out, "the start of the job", since))
        return;
    for (int i = 0; i < s->plan->trainers; i++)
        if (!b->workers[i].request && !is_gone(s, i))
            status_wait_add(out, (uint32_t)i);
}

bool coordinator_has_files(const struct server *s, int worker)
{
    const struct starter *p = &s->coordinator->workers[worker];
    return p->came && !p->has.idle;
}

static void begin(struct server *s)
{
    struct coordinator *b = s->coordinator;
    struct skiff_error err;
    if (agree(s, &b->start, &err) < 0) {
        refuse(b->workers, s->plan->trainers, &err);
        refuse(b->servers, s->plan->servers, &err);
        server_fail(s, &err);
        return;
    }
    b->begun = true;
    for (int i = 0; i < s->plan->trainers; i++)
        if (b->workers[i].request) {
            let_in(b, i);
            answer(s, &b->workers[i], false);
        }
    for (int i = 0; i < s->plan->servers; i++)
        if (b->servers[i].request)
            answer(s, &b->servers[i], false);
}

/* Processes that joined late may take part from the epoch that is about to begin or has just
 * begun. */
static void admit(struct server *s)
{
    struct coordinator *b = s->coordinator;
    for (int i = 0; i < s->plan->trainers; i++) {
        struct starter *p = &b->workers[i];
        if (!p->request)
            continue;
        let_in(b, i);
        server_log(s, "worker %d, restarted, joins in epoch %lld", i, (long long)b->start.epoch);
        answer(s, p, true);
    }
}

static bool anybody_takes_part(struct server *s)
{
    bool any = false;
    for (int i = 0; i < s->plan->trainers; i++)
        any |= takes_part(s, i);
    return any;
}

void coordinator_review(struct server *s)
{
    struct coordinator *b = s->coordinator;
    bool waiting = false;
    for (int i = 0; i < s->plan->trainers; i++)
        waiting |= b->workers[i].request != NULL;
    if (!waiting)
        return;
    if (b->begun && !anybody_takes_part(s))
        b->reduction_state =
            false; /* its earlier participants have died: the newcomers own the epoch */
    if (!b->begun && all_have_come(s))
        begin(s);
    else if (b->begun && !b->reduction_state)
        admit(s);
}

void on_begin(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_begin x;
    struct skiff_error err;
    enum skiff_status status = ps_read_begin(q->body, &x, &err);
    bool worker = q->sender.role == NET_WORKER;
    int most = worker ? s->plan->trainers : s->plan->servers;
    if (status == SKIFF_OK && (x.index != q->sender.index || x.index >= (uint32_t)most))
        status = error_set(&err, SKIFF_INVALID,
                           "the start of %u of %d is requested by another process", x.index, most);
    if (status < 0) {
        rpc_fail(q, &err);
        return;
    }
    pthread_mutex_t *lock = reduce_lock(s);
    pthread_mutex_lock(lock);
    struct starter *p =
        worker ? &s->coordinator->workers[x.index] : &s->coordinator->servers[x.index];
    if (p->request) {
        error_set(&err, SKIFF_STATE, "another process has replaced it");
        rpc_fail(p->request, &err);
    }
    *p = (struct starter){.request = q, .has = x, .came = true, .since = clock_now()};
    coordinator_review(s);
    pthread_mutex_unlock(lock);
}

void coordinator_own_start(struct server *s)
{
    if (s->options.start && s->index == 0)
        s->coordinator->servers[0] = (struct starter){.has = *s->options.start, .came = true};
}

void coordinator_end(struct server *s, const struct skiff_error *reason)
{
    refuse(s->coordinator->workers, s->plan->trainers, reason);
    refuse(s->coordinator->servers, s->plan->servers, reason);
}

/* ---- epochs ---- */

static bool is_of_epoch(const char *tag)
{
    return !strncmp(tag, "epoch ", 6);
}

void coordinator_arrival(struct server *s)
{
    s->coordinator->reduction_state |= s->coordinator->begun;
}

void coordinator_reduction_over(struct server *s, const char *tag)
{
    const char *end = is_of_epoch(tag) ? strstr(tag, ": back") : NULL;
    if (!end)
        return;
    s->coordinator->reduction_state = false;
    s->coordinator->start.epoch = strtoll(tag + 6, NULL, 10) + 1;
    coordinator_review(s);
}

/* ---- saving ---- */

static void new_save(struct server *s, int64_t what)
{
    struct coordinator *b = s->coordinator;
    b->saving = what;
    b->saved = b->has_saver = false;
    b->reason[0] = '\0';
    memset(b->failed, 0, (size_t)s->plan->trainers * sizeof *b->failed);
}

static bool saver_incarnations(struct server *s)
{
    const struct coordinator *b = s->coordinator;
    struct server_member p = members_get(s, b->saver);
    return b->has_saver && p.state == MEMBER_HERE && p.incarnation == b->saver_incarnation;
}

/* The lowest-ranked worker that takes part, was present when the epoch was trained, and has not
 * failed to save it; -1: none. */
static int next_saver(struct server *s)
{
    const struct coordinator *b = s->coordinator;
    for (int i = 0; i < s->plan->trainers; i++)
        if (takes_part(s, i) && ps_save_number(b->since[i], false) <= b->saving && !b->failed[i])
            return i;
    return -1;
}

static enum ps_saving_state who_saves(struct server *s, const struct rpc_request *q)
{
    struct coordinator *b = s->coordinator;
    if (b->saved)
        return PS_SAVE_DONE;
    if (saver_incarnations(s))
        return b->saver == q->sender.index ? PS_SAVE_YOU : PS_SAVE_OTHER;
    int next = next_saver(s);
    if (next < 0)
        return PS_SAVE_FAILED;
    if ((uint32_t)next != q->sender.index)
        return PS_SAVE_OTHER;
    b->has_saver = true;
    b->saver = (uint32_t)next;
    b->saver_incarnation = q->incarnation;
    return PS_SAVE_YOU;
}

static void take_word(struct server *s, const struct rpc_request *q, struct ps_saving *x)
{
    struct coordinator *b = s->coordinator;
    if (x->epoch > b->saving)
        new_save(s, x->epoch);
    if (x->epoch < b->saving) { /* a later epoch is being saved */
        x->state = PS_SAVE_DONE;
        return;
    }
    if (x->state == PS_SAVE_DONE)
        b->saved = true;
    if (x->state == PS_SAVE_FAILED) {
        b->failed[q->sender.index] = true;
        b->has_saver = false;
        snprintf(b->reason, sizeof b->reason, "%s", x->reason);
    }
    if (x->state == PS_SAVE_ASK)
        x->state = who_saves(s, q);
    x->worker = b->saver;
    snprintf(x->reason, sizeof x->reason, "%s", b->reason);
}

static enum skiff_status read_saving(const struct server *s, const struct rpc_request *q,
                                     struct ps_saving *x, struct skiff_error *err)
{
    TRY(ps_read_saving(q->body, x, err));
    if (q->sender.role != NET_WORKER || q->sender.index >= (uint32_t)s->plan->trainers)
        return error_set(err, SKIFF_INVALID, "only workers of the job can save");
    return SKIFF_OK;
}

void on_saving(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_saving x;
    struct wire_writer w;
    struct skiff_error err;
    if (read_saving(s, q, &x, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    pthread_mutex_lock(reduce_lock(s));
    take_word(s, q, &x);
    pthread_mutex_unlock(reduce_lock(s));
    writer_init(&w);
    ps_write_saving(&w, &x);
    reply_written(s, q, &w);
}

void on_result(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_saving x;
    struct skiff_error err;
    if (read_saving(s, q, &x, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    members_note_unsaved(s, x.reason);
    rpc_reply(q, NULL);
}
