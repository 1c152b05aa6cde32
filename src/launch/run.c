/* Starting, watching and stopping the processes of a launch (launch.h says how nothing is left
 * behind). One thread: poll over the workers' pipes and the ends of processes.
 *
 *   STAGE_RUN      until a process fails, a signal comes, or all workers of this machine have ended
 *                  without an error
 *   STAGE_DRAIN    servers leave by themselves; those that do not get a signal after a while
 *   STAGE_WORKERS  workers get the signal to end first, so that they can leave the job
 *   STAGE_SERVERS  then servers
 *   STAGE_KILL     every process that is left
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launch/keeper.h"
#include "launch/launch_parts.h"
#include "store/file.h"

#define DRAIN_SECONDS 5.0
#define GOODBYE_SECONDS 5.0
#define SERVER_SECONDS 3.0
#define SUSPECT_SECONDS 0.7
#define READY_MS 2000
#define STEP_MS 200
#define HANG_SECONDS 5.0 /* a process that others call dead may be replaced in this time */
#define LOOK_SECONDS 1.0

/* STAGE_LEAVE: stopped by a signal, the workers here have ended; workers of other machines may
 * be saving what the servers here hold, and when they have left, so do the servers. */
enum stage { STAGE_RUN, STAGE_DRAIN, STAGE_WORKERS, STAGE_LEAVE, STAGE_SERVERS, STAGE_KILL };

struct launch_runner {
    struct launch *l;
    enum stage stage;
    double deadline; /* of the stage; 0: none */
    struct keeper keeper;
    char mark[64]; /* "SKIFF_LAUNCH=...": of the processes of this launch */
    sigset_t mask; /* that processes get */
    int ready[2];  /* pipe that ends when the process that is being started is ready */
    struct pollfd *polls;
    pid_t *spared; /* children that the caller had before, 0 behind the last */
    struct skiff_error start_error;
    double failed_at; /* when the first one did */
    double next_look; /* for what processes do not report */
    int suspect;      /* a server that has failed, while a worker may be the reason; -1 */
    double suspected;
    bool finished;
};

/* ---- starting ---- */

/* In the new process. A session of its own: what it starts belongs to it, whatever groups they
 * make. */
static void child(struct launch_runner *r, char *const *variables, int log, int report,
                  pid_t parent)
{
    char *const *words = r->l->options->command;
    int null = open("/dev/null", O_RDONLY);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    close(r->ready[1]);
    sigprocmask(SIG_SETMASK, &r->mask, NULL);
    dup2(null, 0);
    dup2(log, 1);
    dup2(log, 2);
    fcntl(report, F_SETFD, 0);
    execvpe(words[0], words, variables);
    dprintf(STDERR_FILENO, "skiff launch: cannot start %s: %s\n", words[0], strerror(errno));
    _exit(127);
}

/* Until the child has its session: from then on its group can be sent signals. One that somebody
 * has stopped before that is not waited for. */
static void await_ready(struct launch_runner *r)
{
    struct pollfd ready = {.fd = r->ready[0]};
    if (r->ready[0] < 0)
        return;
    close(r->ready[1]);
    while (poll(&ready, 1, READY_MS) < 0 && errno == EINTR)
        ;
    close(r->ready[0]);
}

/* All variables of the process, also for those who want to see them. */
static void make_env(struct launch_runner *r, const struct launch_process *p, int report,
                     struct launch_env *e)
{
    launch_env_init(e, r->l->options);
    launch_env_fill(e, r->l, p);
    launch_env_set(e, LAUNCH_MARK, strchr(r->mark, '=') + 1);
    launch_env_set_number(e, REPORT_FD, report);
    if (r->l->mode->ready)
        r->l->mode->ready(r->l, p, e);
}

static void check_keeper(const struct launch_runner *r, bool there)
{
    if (!there)
        launch_notify(r->l, LAUNCH_EVENT_NOTICE, NULL, "the supervisor process has ended");
}

static enum skiff_status start_process(struct launch_runner *r, struct launch_process *p, int log,
                                       struct skiff_error *err)
{
    int fds[2] = {-1, -1};
    pid_t parent = getpid();
    struct launch_env env;
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return error_set_sys(err, "no pipe");
    if (pipe2(r->ready, O_CLOEXEC) < 0)
        r->ready[0] = r->ready[1] = -1;
    make_env(r, p, fds[1], &env);
    pid_t pid = fork();
    if (pid == 0)
        child(r, env.at, log, fds[1], parent);
    launch_env_deinit(&env);
    await_ready(r);
    close(fds[1]);
    p->pipe = fds[0];
    if (pid < 0)
        return error_set_sys(err, "cannot start a process");
    p->pid = pid;
    p->end = (int)syscall(SYS_pidfd_open, pid, 0);
    p->started = clock_seconds();
    check_keeper(r, keeper_add(&r->keeper, pid));
    launch_notify(r->l, LAUNCH_EVENT_STARTED, p, NULL);
    return SKIFF_OK;
}

static enum skiff_status start_one(struct launch_runner *r, struct launch_process *p,
                                   struct skiff_error *err)
{
    int log = open(p->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (r->l->append ? 0 : O_TRUNC),
                   0666);
    if (log < 0)
        return error_set_sys(err, "cannot write %s", p->log);
    p->log_from = (long)lseek(log, 0, SEEK_END);
    enum skiff_status status = start_process(r, p, log, err);
    close(log);
    return status;
}

/* ---- watching ---- */

static int count_live(const struct launch *l, bool server)
{
    int n = 0;
    for (int i = 0; i < l->n; i++)
        n += l->at[i].server == server && launch_is_live(&l->at[i]);
    return n;
}

static void go(struct launch_runner *r, enum stage stage, double seconds)
{
    if (stage <= r->stage)
        return;
    r->stage = stage;
    r->deadline = seconds > 0 ? clock_seconds() + seconds : 0;
}

/* To all of its group; it is in ours as long as it has no session. */
static void send_signal(const struct launch_process *p, int number)
{
    if (kill(-p->pid, number) < 0 && errno == ESRCH)
        kill(p->pid, number);
}

static void send_all(struct launch_runner *r, bool servers, int signal_number)
{
    for (int i = 0; i < r->l->n; i++) {
        struct launch_process *p = &r->l->at[i];
        if (p->server != servers || !launch_is_live(p))
            continue;
        p->reported = true;
        send_signal(p, signal_number);
    }
}

/* The first one that fails; or one that was killed just then, which the others may have noticed
 * before us. Whoever ends because of another process, which hangs, is not to blame. */
static void blame(struct launch_runner *r, struct launch_process *p)
{
    struct launch *l = r->l;
    bool first = l->failed < 0;
    struct launch_process *hanging = p->status < 0 ? NULL : launch_accused(l, 0, clock_seconds());
    if (hanging)
        p = hanging;
    if (first)
        r->failed_at = clock_seconds();
    p->health.hangs = launch_is_live(p);
    if (first || (r->stage == STAGE_RUN && p->status < 0 && l->at[l->failed].status > 0))
        l->failed = (int)(p - l->at);
}

/* Processes that will never end by themselves. */
static void look_for_hanging(struct launch_runner *r)
{
    double now = clock_seconds();
    if (r->stage > STAGE_DRAIN || r->l->signal)
        return;
    launch_accuse_left_behind(r->l);
    struct launch_process *p = launch_accused(r->l, HANG_SECONDS, now);
    if (p && r->l->failed < 0)
        blame(r, p);
}

static void on_end(struct launch_runner *r, struct launch_process *p, const siginfo_t *info)
{
    char name[64];
    p->ended = true;
    p->seconds = clock_seconds() - p->started;
    p->status = info->si_code == CLD_EXITED ? info->si_status : -info->si_status;
    if (p->end >= 0)
        close(p->end);
    p->end = -1;
    launch_take_reports(r->l, p);
    launch_notify(r->l, LAUNCH_EVENT_ENDED, p, NULL);
    if (!p->status || p->reported)
        return;
    /* the workers are all done: what a server says of their leaving is no failure of the job */
    if (r->stage == STAGE_DRAIN) {
        launch_notify(r->l, LAUNCH_EVENT_NOTICE, p,
                      "%s ended with status %d after all workers were done (%s)",
                      launch_name(p, name), p->status, p->log);
        return;
    }
    /* A worker that fails tells the servers before it ends; they may be faster
     * with their own end. */
    if (p->server && p->status > 0 && r->suspect < 0 && count_live(r->l, false)) {
        r->suspect = (int)(p - r->l->at);
        r->suspected = clock_seconds();
    } else if (!(p->server && r->suspect >= 0)) {
        blame(r, p);
    }
}

/* No worker was the reason. */
static void check_suspect(struct launch_runner *r)
{
    if (r->suspect >= 0 && r->l->failed < 0 &&
        (!count_live(r->l, false) || clock_seconds() >= r->suspected + SUSPECT_SECONDS))
        blame(r, &r->l->at[r->suspect]);
}

/* Ended processes stay zombies until all is over: so their groups keep their numbers. */
static void look_for_ends(struct launch_runner *r)
{
    for (int i = 0; i < r->l->n; i++) {
        struct launch_process *p = &r->l->at[i];
        siginfo_t info = {0};
        if (launch_is_live(p) && !waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
            info.si_pid == p->pid)
            on_end(r, p, &info);
    }
}

/* What follows from what has happened. */
static void decide(struct launch_runner *r)
{
    struct launch *l = r->l;
    int workers = count_live(l, false), servers = count_live(l, true);
    bool failed = l->failed >= 0 && clock_seconds() >= r->failed_at + l->mode->grace_seconds;
    bool trouble = failed || l->signal, had_workers = false;
    for (int i = 0; i < l->n; i++)
        had_workers |= !l->at[i].server;
    if (r->stage <= STAGE_DRAIN && trouble) {
        send_all(r, false, SIGTERM);
        go(r, STAGE_WORKERS, l->failed < 0 ? l->save_seconds : GOODBYE_SECONDS);
    }
    if (r->stage == STAGE_RUN && had_workers && !workers)
        go(r, STAGE_DRAIN, l->elsewhere ? 0 : DRAIN_SECONDS);
    bool late = r->deadline > 0 && clock_seconds() >= r->deadline;
    if (r->stage == STAGE_WORKERS && !workers && !late && l->failed < 0 && l->elsewhere)
        go(r, STAGE_LEAVE, l->save_seconds);
    if (r->stage == STAGE_LEAVE && !launch_workers_elsewhere(l)) /* servers end by themselves */
        r->deadline = fmin(r->deadline, clock_seconds() + DRAIN_SECONDS);
    if ((r->stage == STAGE_WORKERS && (!workers || late)) ||
        ((r->stage == STAGE_DRAIN || r->stage == STAGE_LEAVE) && (late || l->failed >= 0))) {
        send_all(r, false, SIGKILL); /* those that do not listen */
        send_all(r, true, SIGTERM);
        go(r, STAGE_SERVERS, SERVER_SECONDS);
        late = false;
    }
    if (r->stage == STAGE_SERVERS && late)
        go(r, STAGE_KILL, 0);
    if (r->stage == STAGE_KILL && (workers || servers)) {
        send_all(r, false, SIGKILL);
        send_all(r, true, SIGKILL);
    }
}

/* ---- the end ---- */

/* Adds the children of a thread; gives the number of all. */
static int add_children(pid_t thread, pid_t **out, int n)
{
    char path[64];
    int pid;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)thread);
    FILE *f = fopen(path, "r");
    while (f && fscanf(f, "%d", &pid) == 1) {
        *out = mem_grow_or_die(*out, (size_t)(n + 2) * sizeof(**out));
        (*out)[n++] = pid;
    }
    if (f)
        fclose(f);
    return n;
}

/* Children of this thread and of the first one, which orphans are given to; 0 behind the last.
 * free() it. */
static pid_t *list_children(void)
{
    pid_t *out = mem_alloc_or_die(sizeof(*out));
    int n = add_children(getpid(), &out, 0);
    if (gettid() != getpid())
        n = add_children(gettid(), &out, n);
    out[n] = 0;
    return out;
}

static bool is_spared(const struct launch_runner *r, pid_t pid)
{
    bool spared = pid == r->keeper.pid;
    for (const pid_t *s = r->spared; *s; s++)
        spared |= *s == pid;
    return spared;
}

/* Orphans of the job that have left their groups are our children now. */
static void kill_orphans(const struct launch_runner *r)
{
    int found = 1;
    for (int round = 0; round < 50 && found; round++) {
        pid_t *children = list_children();
        found = 0;
        for (const pid_t *p = children; *p; p++) {
            if (is_spared(r, *p))
                continue;
            kill(*p, SIGKILL);
            waitpid(*p, NULL, 0);
            found++;
        }
        free(children);
    }
}

static void clean_up(struct launch_runner *r)
{
    for (int i = 0; i < r->l->n; i++) {
        struct launch_process *p = &r->l->at[i];
        if (p->pid) {
            send_signal(p, SIGKILL);
            waitpid(p->pid, NULL, 0);
        }
        if (p->pipe >= 0)
            close(p->pipe);
        if (p->end >= 0)
            close(p->end);
        p->pipe = p->end = -1;
    }
    kill_orphans(r);
    check_keeper(r, keeper_stop(&r->keeper));
}

static enum skiff_status verdict(const struct launch *l, struct skiff_error *err)
{
    char name[64];
    if (l->failed >= 0) {
        const struct launch_process *p = &l->at[l->failed];
        if (p->health.hangs)
            return error_set(err, SKIFF_PEER,
                             "%s (process %d) %s; it %s after %.1f s, and the job has failed; its "
                             "log is %s",
                             launch_name(p, name), (int)p->pid, p->health.reason,
                             p->status < 0 ? "was killed" : "ended", p->seconds, p->log);
        const char *how = p->status < 0 ? "was killed by signal" : "failed with status";
        const char *what = p->status < 0 ? strsignal(-p->status) : "";
        return error_set(err, SKIFF_PEER, "%s %s %d%s%s%s after %.1f s; its log is %s",
                         launch_name(p, name), how, abs(p->status), *what ? " (" : "", what,
                         *what ? ")" : "", p->seconds, p->log);
    }
    if (l->signal)
        return error_set(err, SKIFF_STATE, "stopped by signal %d (%s)", l->signal,
                         strsignal(l->signal));
    return SKIFF_OK;
}

/* ---- the object ---- */

static enum skiff_status start_all(struct launch_runner *r, struct skiff_error *err)
{
    struct buf log = BUF_INIT;
    TRY(keeper_start(&r->keeper, r->mark, err));
    buf_printf(&log, "%s/x", r->l->options->log_dir);
    enum skiff_status status = file_make_parents(log.data, err);
    buf_deinit(&log);
    for (int i = 0; status == SKIFF_OK && i < r->l->n; i++)
        status = start_one(r, &r->l->at[i], err);
    return status;
}

enum skiff_status launch_start(struct launch *l, const sigset_t *mask, struct skiff_error *err)
{
    struct launch_runner *r = mem_alloc_or_die(sizeof(*r));
    *r = (struct launch_runner){.l = l, .suspect = -1};
    l->runner = r;
    snprintf(r->mark, sizeof(r->mark), LAUNCH_MARK "=%d.%lld", (int)getpid(),
             (long long)clock_real());
    if (mask)
        r->mask = *mask;
    else
        sigprocmask(SIG_SETMASK, NULL, &r->mask);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    r->polls = mem_alloc_or_die((size_t)(2 * l->n + 1) * sizeof(*r->polls));
    r->spared = list_children();
    enum skiff_status status = start_all(r, &r->start_error);
    if (status < 0) {
        go(r, STAGE_KILL, 0);
        if (err)
            *err = r->start_error;
    }
    decide(r);
    return status;
}

bool launch_is_running(const struct launch *l)
{
    return count_live(l, true) + count_live(l, false) > 0;
}

static void wait_a_moment(struct launch_runner *r, int wake)
{
    const struct launch *l = r->l;
    int n = 0;
    r->polls[n++] = (struct pollfd){.fd = wake, .events = POLLIN};
    for (int i = 0; i < l->n; i++) {
        r->polls[n++] = (struct pollfd){.fd = l->at[i].pipe, .events = POLLIN};
        r->polls[n++] = (struct pollfd){.fd = l->at[i].end, .events = POLLIN};
    }
    poll(r->polls, (nfds_t)n, STEP_MS);
}

void launch_step(struct launch *l, int wake)
{
    struct launch_runner *r = l->runner;
    wait_a_moment(r, wake);
    for (int i = 0; i < l->n; i++)
        launch_take_reports(l, &l->at[i]);
    look_for_ends(r);
    check_suspect(r);
    if (clock_seconds() >= r->next_look) {
        r->next_look = clock_seconds() + LOOK_SECONDS;
        launch_look_around(l, clock_seconds());
        look_for_hanging(r);
    }
    decide(r);
}

void launch_stop(struct launch *l, int number)
{
    if (l->signal)
        go(l->runner, STAGE_KILL, 0);
    else
        l->signal = number;
    decide(l->runner);
}

enum skiff_status launch_finish(struct launch *l, struct skiff_error *err)
{
    struct launch_runner *r = l->runner;
    if (!r->finished)
        clean_up(r);
    r->finished = true;
    if (r->start_error.code < 0) {
        if (err)
            *err = r->start_error;
        return r->start_error.code;
    }
    return verdict(l, err);
}

void launch_runner_destroy(struct launch_runner *r)
{
    if (!r)
        return;
    launch_finish(r->l, NULL);
    free(r->polls);
    free(r->spared);
    free(r);
}
