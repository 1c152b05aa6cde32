/* Server 0: where the job is. The beginning that all agree on; the epoch that workers are in, so
 * that one that is started again joins where the others are; who saves an epoch, so that saving
 * belongs to the job and not to a person.
 *
 * Beginning: every process brings what it has on its disk, and is answered when all have come.
 * Servers hold the parameters, so with --resume all of them must have the newest epoch that anybody
 * has; otherwise everybody is refused, with the names of both. Workers need nothing of it: they
 * take the epoch.
 *
 * Epochs: workers meet at the end of each (reductions "epoch N: ...", meet.c). A process that comes
 * when the job has begun takes part at once if nobody has met in the running epoch (at its end, or
 * in a shuffle at its beginning), else from the next one on: never in the middle of a meeting.
 * Until then nobody waits for it.
 *
 * Saving: whoever asks first of those that live and have the lowest number saves; when it dies or
 * fails, the next one that asks does. Locks: everything here is guarded by the meeting room's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "server/server_parts.h"

struct starter { /* a process that is ready to begin; request NULL: not yet */
    struct rpc_request *request;
    struct ps_begin has;
    bool came;
    int64_t since;
};

struct job_book {
    struct starter *workers, *servers;
    bool begun;
    struct ps_begun start; /* epoch: the one that workers are in */
    bool meeting;          /* somebody has come to a meeting, and the epoch is not over */
    uint64_t *lives;       /* by worker: the process that takes part; 0: none */
    int64_t *since;        /* by worker: the epoch that it began with */
    int64_t saving;        /* what is to be saved (ps_save_number); -1: nothing yet */
    bool saved, has_saver;
    uint32_t saver;
    uint64_t saver_life;
    bool *failed; /* by worker: could not save it */
    char reason[512];
};

struct job_book *book_create(const struct server *s)
{
    struct job_book *b = mem_must(sizeof *b);
    size_t workers = (size_t)s->plan->trainers, servers = (size_t)s->plan->servers;
    b->workers = mem_must(workers * sizeof *b->workers);
    b->servers = mem_must(servers * sizeof *b->servers);
    b->lives = mem_must(workers * sizeof *b->lives);
    b->since = mem_must(workers * sizeof *b->since);
    b->failed = mem_must(workers * sizeof *b->failed);
    b->saving = -1;
    return b;
}

void book_destroy(struct job_book *b)
{
    if (!b)
        return;
    free(b->workers);
    free(b->servers);
    free(b->lives);
    free(b->since);
    free(b->failed);
    free(b);
}

/* ---- who takes part ---- */

bool book_awaits(struct server *s, int worker)
{
    struct person p = people_person(s, (uint32_t)worker);
    if (p.state != MEMBER_ABSENT && p.state != MEMBER_HERE)
        return false;
    if (s->book->begun)
        return p.state == MEMBER_HERE && s->book->lives[worker] == p.life;
    return p.nlives < 2 || !meet_has_met(s);
}

static bool takes_part(struct server *s, int worker)
{
    return s->book->begun && book_awaits(s, worker);
}

enum skiff_status book_check_guest(struct server *s, const struct rpc_request *q, const char *tag,
                                   struct skiff_error *err)
{
    if (book_awaits(s, (int)q->sender.index))
        return SKIFF_OK;
    return error_set(err, SKIFF_STATE,
                     "worker %u was started again while the job is running: the others are past "
                     "meetings that it has not seen, so it cannot take part in \"%s\"; without "
                     "barriers and reductions it can train, and skiff train joins at the epoch "
                     "that the others are in",
                     q->sender.index, tag);
}

/* ---- what to begin with ---- */

static const char *describe(const struct ps_begin *x, char *out, size_t room)
{
    if (x->epoch < 0)
        snprintf(out, room, "none in %s", x->where);
    else
        snprintf(out, room, "epoch %lld of run %s in %s", (long long)x->epoch,
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
                             "of a job alike",
                             role, i, list[i].has.where, resume ? "without" : "with",
                             resume ? "with it" : "without it");
    return SKIFF_OK;
}

static bool are_other_runs(const struct ps_begin *a, const struct ps_begin *b)
{
    return a->run[0] && b->run[0] && strcmp(a->run, b->run);
}

static enum skiff_status check_servers(const struct job_book *b, int servers,
                                       const struct holder *best, struct skiff_error *err)
{
    char found[640], newest[640];
    for (int i = 0; i < servers; i++) {
        const struct ps_begin *has = &b->servers[i].has;
        if (is_same(has, best->has))
            continue;
        return error_set(
            err, SKIFF_INVALID,
            "--resume: %s %d has %s, but server %d, which begins with what it finds, has %s%s. "
            "%s server %d's runner.model_save_path, or let all processes see one folder; without "
            "--resume the job begins anew",
            best->role, best->index, describe(best->has, newest, sizeof newest), i,
            describe(has, found, sizeof found),
            has->epoch == best->has->epoch && !strcmp(has->run, best->has->run)
                ? ", with other contents"
                : "",
            are_other_runs(has, best->has)
                ? "These are different runs: take the epochs of the one that shall not go on out "
                  "of the way; those of the other one must be in"
                : "Copy that epoch's folder to",
            i);
    }
    return SKIFF_OK;
}

static enum skiff_status agree(struct server *s, struct ps_begun *out, struct skiff_error *err)
{
    const struct job_book *b = s->book;
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

/* ---- beginning ---- */

static void let_in(struct job_book *b, int worker)
{
    b->lives[worker] = b->workers[worker].request->incarnation;
    b->since[worker] = b->start.epoch;
}

static void answer(struct server *s, struct starter *p, bool late)
{
    struct wire_writer w;
    struct ps_begun x = s->book->start;
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
    enum member_state state = people_state(s, (uint32_t)worker);
    return state == MEMBER_DEAD || state == MEMBER_LEFT;
}

static bool all_have_come(struct server *s)
{
    const struct job_book *b = s->book;
    for (int i = 1; s->options.start && i < s->plan->servers; i++)
        if (!b->servers[i].came)
            return false;
    for (int i = 0; i < s->plan->trainers; i++)
        if (!b->workers[i].request && !is_gone(s, i))
            return false;
    return true;
}

void book_add_waits(struct server *s, struct ps_status *out)
{
    const struct job_book *b = s->book;
    int64_t since = CLOCK_NEVER;
    for (int i = 0; i < s->plan->trainers; i++)
        if (b->workers[i].request)
            since = clock_min(since, b->workers[i].since);
    if (b->begun || !status_wait_begin(out, "the beginning of the job", since))
        return;
    for (int i = 0; i < s->plan->trainers; i++)
        if (!b->workers[i].request && !is_gone(s, i))
            status_wait_add(out, (uint32_t)i);
}

bool book_has_files(const struct server *s, int worker)
{
    const struct starter *p = &s->book->workers[worker];
    return p->came && !p->has.idle;
}

static void begin(struct server *s)
{
    struct job_book *b = s->book;
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

/* Those who came late may begin with the epoch that is about to begin, or has just begun. */
static void admit(struct server *s)
{
    struct job_book *b = s->book;
    for (int i = 0; i < s->plan->trainers; i++) {
        struct starter *p = &b->workers[i];
        if (!p->request)
            continue;
        let_in(b, i);
        server_say(s, "worker %d, started again, joins in epoch %lld", i,
                   (long long)b->start.epoch);
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

void book_review(struct server *s)
{
    struct job_book *b = s->book;
    bool waiting = false;
    for (int i = 0; i < s->plan->trainers; i++)
        waiting |= b->workers[i].request != NULL;
    if (!waiting)
        return;
    if (b->begun && !anybody_takes_part(s))
        b->meeting = false; /* those who were in it have died: the epoch is the newcomers' */
    if (!b->begun && all_have_come(s))
        begin(s);
    else if (b->begun && !b->meeting)
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
        status = error_set(&err, SKIFF_INVALID, "%u of %d is not who asks to begin", x.index, most);
    if (status < 0) {
        rpc_fail(q, &err);
        return;
    }
    pthread_mutex_t *lock = meet_lock(s);
    pthread_mutex_lock(lock);
    struct starter *p = worker ? &s->book->workers[x.index] : &s->book->servers[x.index];
    if (p->request) {
        error_set(&err, SKIFF_STATE, "another process has taken its place");
        rpc_fail(p->request, &err);
    }
    *p = (struct starter){.request = q, .has = x, .came = true, .since = clock_now()};
    book_review(s);
    pthread_mutex_unlock(lock);
}

void book_own_start(struct server *s)
{
    if (s->options.start && s->index == 0)
        s->book->servers[0] = (struct starter){.has = *s->options.start, .came = true};
}

void book_end(struct server *s, const struct skiff_error *reason)
{
    refuse(s->book->workers, s->plan->trainers, reason);
    refuse(s->book->servers, s->plan->servers, reason);
}

/* ---- epochs ---- */

static bool is_of_epoch(const char *tag)
{
    return !strncmp(tag, "epoch ", 6);
}

void book_arrival(struct server *s)
{
    s->book->meeting |= s->book->begun;
}

void book_meeting_over(struct server *s, const char *tag)
{
    const char *end = is_of_epoch(tag) ? strstr(tag, ": back") : NULL;
    if (!end)
        return;
    s->book->meeting = false;
    s->book->start.epoch = strtoll(tag + 6, NULL, 10) + 1;
    book_review(s);
}

/* ---- saving ---- */

static void new_save(struct server *s, int64_t what)
{
    struct job_book *b = s->book;
    b->saving = what;
    b->saved = b->has_saver = false;
    b->reason[0] = '\0';
    memset(b->failed, 0, (size_t)s->plan->trainers * sizeof *b->failed);
}

static bool saver_lives(struct server *s)
{
    const struct job_book *b = s->book;
    struct person p = people_person(s, b->saver);
    return b->has_saver && p.state == MEMBER_HERE && p.life == b->saver_life;
}

/* The lowest worker that takes part, was there when it was trained, and has not failed; -1: nobody.
 */
static int next_saver(struct server *s)
{
    const struct job_book *b = s->book;
    for (int i = 0; i < s->plan->trainers; i++)
        if (takes_part(s, i) && ps_save_number(b->since[i], false) <= b->saving && !b->failed[i])
            return i;
    return -1;
}

static enum ps_saving_state who_saves(struct server *s, const struct rpc_request *q)
{
    struct job_book *b = s->book;
    if (b->saved)
        return PS_SAVE_DONE;
    if (saver_lives(s))
        return b->saver == q->sender.index ? PS_SAVE_YOU : PS_SAVE_OTHER;
    int next = next_saver(s);
    if (next < 0)
        return PS_SAVE_FAILED;
    if ((uint32_t)next != q->sender.index)
        return PS_SAVE_OTHER;
    b->has_saver = true;
    b->saver = (uint32_t)next;
    b->saver_life = q->incarnation;
    return PS_SAVE_YOU;
}

static void take_word(struct server *s, const struct rpc_request *q, struct ps_saving *x)
{
    struct job_book *b = s->book;
    if (x->epoch > b->saving)
        new_save(s, x->epoch);
    if (x->epoch < b->saving) { /* a later one is being saved */
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
        return error_set(err, SKIFF_INVALID, "saving is for workers of the job");
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
    pthread_mutex_lock(meet_lock(s));
    take_word(s, q, &x);
    pthread_mutex_unlock(meet_lock(s));
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
    people_note_unsaved(s, x.reason);
    rpc_reply(q, NULL);
}
