/* Starting, watching and stopping the processes of a launch (launch.h says how nothing is left
 * behind). One thread: poll over a signal file and the workers' pipes.
 *
 *   STAGE_RUN      until a process fails, a signal comes, or all workers of this machine have ended
 *                  without an error
 *   STAGE_DRAIN    servers leave by themselves; those that do not get a signal after a while
 *   STAGE_WORKERS  workers get the signal to end first, so that they can leave the job
 *   STAGE_SERVERS  then servers
 *   STAGE_KILL     every process that is left
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/interrupt.h"
#include "cli/launch.h"
#include "cli/progress.h"
#include "store/file.h"

#define DRAIN_SECONDS 5.0
#define GOODBYE_SECONDS 5.0
#define SERVER_SECONDS 3.0
#define SUSPECT_SECONDS 0.7
#define READY_MS 2000
#define HANG_SECONDS 5.0 /* a process that others call dead may be replaced in this time */
#define LOOK_SECONDS 1.0

/* STAGE_LEAVE: stopped by a signal, the workers here have ended; workers of other machines may
 * be saving what the servers here hold, and when they have left, so do the servers. */
enum stage { STAGE_RUN, STAGE_DRAIN, STAGE_WORKERS, STAGE_LEAVE, STAGE_SERVERS, STAGE_KILL };

struct runner {
    struct launch *l;
    struct launch_screen screen;
    enum stage stage;
    double deadline; /* of the stage; 0: none */
    int signals;     /* signalfd */
    int keeper_socket;
    pid_t keeper;
    char mark[64];   /* "SKIFF_LAUNCH=...": of the processes of this launch */
    sigset_t before; /* the mask that children get */
    int ready[2];    /* pipe that ends when the child that is being started is ready */
    struct launch_echo echo;
    double failed_at; /* when the first one did */
    double next_look; /* for what processes do not report */
    int suspect;      /* a server that has failed, while a worker may be the reason; -1 */
    double suspected;
};

/* ---- the keeper ---- */

#define KEPT_MAX 4096

struct kept {
    pid_t ids[KEPT_MAX]; /* of the processes that were started: their groups and sessions */
    int n;
    const char *mark; /* "SKIFF_LAUNCH=..." */
};

/* A file of /proc about a process; cut when it is larger than the buffer. */
static size_t read_proc(pid_t pid, const char *name, char *out, size_t capacity)
{
    char path[64];
    size_t len = 0;
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n = 1; fd >= 0 && n > 0 && len<capacity - 1; len += n> 0 ? (size_t)n : 0)
        n = read(fd, out + len, capacity - 1 - len);
    if (fd >= 0)
        close(fd);
    out[len] = 0;
    return len;
}

/* Whatever session it has made for itself, it has inherited the mark. */
static bool has_mark(const struct kept *k, pid_t pid)
{
    static char variables[1 << 20];
    size_t len = read_proc(pid, "environ", variables, sizeof(variables));
    return memmem(variables, len + 1, k->mark, strlen(k->mark) + 1);
}

/* Does the process belong to one of them? Its group may be its own (pipe commands have one): its
 * session mostly is not. */
static bool is_kept(const struct kept *k, pid_t pid)
{
    char text[1024];
    int group = 0, session = 0;
    read_proc(pid, "stat", text, sizeof(text));
    const char *behind = strrchr(text, ')'); /* the name may hold anything */
    if (!behind || sscanf(behind, ") %*c %*d %d %d", &group, &session) != 2)
        return false;
    for (int i = 0; i < k->n; i++)
        if (k->ids[i] == session || k->ids[i] == group)
            return true;
    return has_mark(k, pid);
}

/* Gives the number of those that were found. */
static int kill_kept(const struct kept *k)
{
    DIR *d = opendir("/proc");
    int found = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid > 0 && is_kept(k, pid)) {
            kill(pid, SIGKILL);
            found++;
        }
    }
    if (d)
        closedir(d);
    return found;
}

/* Reads the ids of processes; when the launcher is gone without a word (0), kills them and all that
 * they have started. */
static void keep(int fd, const char *mark)
{
    static struct kept kept;
    kept.mark = mark;
    pid_t id;
    for (int s = 1; s < 32; s++)
        signal(s, SIG_IGN);
    setpgid(0, 0);
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    for (;;) {
        ssize_t got = read(fd, &id, sizeof(id));
        if (got < 0 && errno == EINTR)
            continue;
        if (got != sizeof(id))
            break;
        if (!id)
            _exit(0);
        if (kept.n < KEPT_MAX)
            kept.ids[kept.n++] = id;
    }
    for (int i = 0; i < kept.n; i++)
        kill(-kept.ids[i], SIGKILL);
    for (int round = 0; round < 50 && kill_kept(&kept); round++)
        clock_sleep(20 * CLOCK_MS); /* one of them may have started another meanwhile */
    _exit(0);
}

static enum skiff_status keeper_start(struct runner *r, struct skiff_error *err)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return error_set_sys(err, "cannot create a socket pair");
    r->keeper = fork();
    if (r->keeper < 0) {
        close(fds[0]);
        close(fds[1]);
        return error_set_sys(err, "cannot start a process");
    }
    if (r->keeper == 0) {
        close(fds[1]);
        keep(fds[0], r->mark);
    }
    close(fds[0]);
    r->keeper_socket = fds[1];
    return SKIFF_OK;
}

/* A socket, not a pipe: a killed supervisor process must not end the launcher by SIGPIPE. */
static void keeper_send(struct runner *r, pid_t id)
{
    if (send(r->keeper_socket, &id, sizeof(id), MSG_NOSIGNAL) != sizeof(id))
        fprintf(stderr, "skiff launch: the supervisor process has ended\n");
}

static void keeper_stop(struct runner *r)
{
    if (!r->keeper)
        return;
    keeper_send(r, 0);
    close(r->keeper_socket);
    while (waitpid(r->keeper, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* ---- starting ---- */

static void set_variable(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* The package that is next to the executable, so that scripts find it. */
static void add_python_path(const char *exe)
{
    static const char *const positions[] = {"python", "../lib/skiff/python"};
    const char *slash = strrchr(exe, '/'), *old = getenv("PYTHONPATH");
    for (size_t i = 0; i < sizeof(positions) / sizeof(positions[0]); i++) {
        char dir[4200], all[8400];
        snprintf(dir, sizeof(dir), "%.*s/%s", (int)(slash ? slash - exe : 0), exe, positions[i]);
        if (!file_is_dir(dir))
            continue;
        snprintf(all, sizeof(all), "%s%s%s", dir, old && *old ? ":" : "", old ? old : "");
        setenv("PYTHONPATH", all, 1);
        return;
    }
}

int launch_exec(const struct launch_args *a)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = 0;
    char **words = mem_alloc_or_die((size_t)(a->ncommand + 4) * sizeof(*words));
    int at = 0;
    if (a->kind == LAUNCH_CONFIG) {
        words[at++] = a->program ? (char *)a->program : exe;
        words[at++] = "train";
    } else if (a->kind == LAUNCH_SCRIPT) {
        words[at++] = exe; /* it knows which Python */
        words[at++] = "python";
        words[at++] = "-u";
    }
    add_python_path(exe);
    for (int i = 0; i < a->ncommand; i++)
        words[at++] = a->command[i];
    execvp(words[0], words);
    fprintf(stderr, "skiff launch: cannot start %s: %s\n", words[0], strerror(errno));
    free(words);
    return 127;
}

/* A session of its own: what it starts belongs to it, whatever groups they make. */
static void child(struct runner *r, struct launch_process *p, int log, int report, pid_t parent)
{
    char number[16];
    int null = open("/dev/null", O_RDONLY);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    close(r->ready[1]);
    sigprocmask(SIG_SETMASK, &r->before, NULL);
    dup2(null, 0);
    dup2(log, 1);
    dup2(log, 2);
    launch_env(r->l, p, set_variable);
    setenv(LAUNCH_MARK, strchr(r->mark, '=') + 1, 1);
    unsetenv(REPORT_FD);
    if (report >= 0) {
        snprintf(number, sizeof(number), "%d", report);
        setenv(REPORT_FD, number, 1);
        fcntl(report, F_SETFD, 0);
    }
    if (r->l->mode->ready)
        r->l->mode->ready(r->l, p);
    _exit(launch_exec(r->l->args));
}

/* Until the child has its session: from then on its group can be sent signals. One that somebody
 * has stopped before that is not waited for. */
static void await_ready(struct runner *r)
{
    struct pollfd ready = {.fd = r->ready[0]};
    if (r->ready[0] < 0)
        return;
    close(r->ready[1]);
    while (poll(&ready, 1, READY_MS) < 0 && errno == EINTR)
        ;
    close(r->ready[0]);
}

static enum skiff_status start(struct runner *r, struct launch_process *p, struct skiff_error *err)
{
    int fds[2] = {-1, -1};
    pid_t parent = getpid();
    int log = open(p->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (r->l->append ? 0 : O_TRUNC),
                   0666);
    if (log < 0)
        return error_set_sys(err, "cannot write %s", p->log);
    p->log_from = (long)lseek(log, 0, SEEK_END);
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
        close(log);
        return error_set_sys(err, "no pipe");
    }
    if (pipe2(r->ready, O_CLOEXEC) < 0)
        r->ready[0] = r->ready[1] = -1;
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0)
        child(r, p, log, fds[1], parent);
    close(log);
    await_ready(r);
    if (fds[1] >= 0)
        close(fds[1]);
    if (p->pid < 0) {
        p->pid = 0;
        if (fds[0] >= 0)
            close(fds[0]);
        return error_set_sys(err, "cannot start a process");
    }
    keeper_send(r, p->pid);
    p->pipe = fds[0];
    p->started = clock_seconds();
    return SKIFF_OK;
}

/* ---- watching ---- */

static int count_live(const struct launch *l, bool server)
{
    int n = 0;
    for (int i = 0; i < l->n; i++)
        n += l->at[i].server == server && launch_is_live(&l->at[i]);
    return n;
}

static void go(struct runner *r, enum stage stage, double seconds)
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

static void notify(struct runner *r, bool servers, int signal_number)
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
static void blame(struct runner *r, struct launch_process *p)
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
static void look_for_hanging(struct runner *r)
{
    double now = clock_seconds();
    if (r->stage > STAGE_DRAIN || r->l->signal)
        return;
    launch_accuse_left_behind(r->l, &r->screen, now);
    struct launch_process *p = launch_accused(r->l, HANG_SECONDS, now);
    if (p && r->l->failed < 0)
        blame(r, p);
}

static void on_end(struct runner *r, struct launch_process *p, const siginfo_t *info)
{
    char name[64];
    p->ended = true;
    p->seconds = clock_seconds() - p->started;
    p->status = info->si_code == CLD_EXITED ? info->si_status : -info->si_status;
    launch_take_reports(r->l, p, &r->screen);
    if (!p->status || p->reported)
        return;
    /* the workers are all done: what a server says of their leaving is no failure of the job */
    if (r->stage == STAGE_DRAIN) {
        launch_screen_clear(&r->screen);
        fprintf(stderr, "skiff launch: %s ended with status %d after all workers were done (%s)\n",
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
static void check_suspect(struct runner *r)
{
    if (r->suspect >= 0 && r->l->failed < 0 &&
        (!count_live(r->l, false) || clock_seconds() >= r->suspected + SUSPECT_SECONDS))
        blame(r, &r->l->at[r->suspect]);
}

/* Ended processes stay zombies until all is over: so their groups keep their numbers. */
static void look_for_ends(struct runner *r)
{
    for (int i = 0; i < r->l->n; i++) {
        struct launch_process *p = &r->l->at[i];
        siginfo_t info = {0};
        if (launch_is_live(p) && !waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
            info.si_pid == p->pid)
            on_end(r, p, &info);
    }
}

static void take_signals(struct runner *r)
{
    struct signalfd_siginfo s;
    while (read(r->signals, &s, sizeof(s)) == sizeof(s)) {
        if (s.ssi_signo == SIGCHLD)
            continue;
        if (r->l->signal) { /* the second one */
            go(r, STAGE_KILL, 0);
            continue;
        }
        r->l->signal = (int)s.ssi_signo;
        launch_screen_clear(&r->screen);
        fprintf(stderr,
                "skiff launch: %s, stopping the job: %ss have %.0f s to save (a second signal "
                "stops it at once and saves nothing)\n",
                s.ssi_signo == SIGINT ? "interrupted" : strsignal((int)s.ssi_signo),
                r->l->mode->process, r->l->save_seconds);
    }
}

/* What follows from what has happened. */
static void decide(struct runner *r)
{
    struct launch *l = r->l;
    int workers = count_live(l, false), servers = count_live(l, true);
    bool failed = l->failed >= 0 && clock_seconds() >= r->failed_at + l->mode->grace_seconds;
    bool trouble = failed || l->signal, had_workers = false;
    for (int i = 0; i < l->n; i++)
        had_workers |= !l->at[i].server;
    if (r->stage <= STAGE_DRAIN && trouble) {
        notify(r, false, SIGTERM);
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
        notify(r, false, SIGKILL); /* those that do not listen */
        notify(r, true, SIGTERM);
        go(r, STAGE_SERVERS, SERVER_SECONDS);
        late = false;
    }
    if (r->stage == STAGE_SERVERS && late)
        go(r, STAGE_KILL, 0);
    if (r->stage == STAGE_KILL && (workers || servers)) {
        notify(r, false, SIGKILL);
        notify(r, true, SIGKILL);
    }
}

static void watch(struct runner *r)
{
    struct launch *l = r->l;
    struct pollfd *polls = mem_alloc_or_die((size_t)(l->n + 1) * sizeof(*polls));
    while (count_live(l, true) + count_live(l, false) > 0) {
        polls[0] = (struct pollfd){.fd = r->signals, .events = POLLIN};
        for (int i = 0; i < l->n; i++)
            polls[i + 1] = (struct pollfd){.fd = l->at[i].pipe, .events = POLLIN};
        poll(polls, (nfds_t)(l->n + 1), 200);
        take_signals(r);
        for (int i = 0; i < l->n; i++)
            launch_take_reports(l, &l->at[i], &r->screen);
        look_for_ends(r);
        check_suspect(r);
        if (clock_seconds() >= r->next_look) {
            r->next_look = clock_seconds() + LOOK_SECONDS;
            launch_look_around(l, &r->screen, clock_seconds());
            look_for_hanging(r);
        }
        decide(r);
        launch_echo_copy(&r->echo);
        launch_screen_tick(&r->screen, l, clock_seconds());
    }
    launch_echo_copy(&r->echo);
    launch_screen_clear(&r->screen);
    free(polls);
}

/* ---- the end ---- */

/* Orphans of the job that have left their groups are our children now. */
static void kill_orphans(const struct runner *r)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    for (int round = 0; round < 50; round++) {
        FILE *f = fopen(path, "r");
        int pid, found = 0;
        while (f && fscanf(f, "%d", &pid) == 1)
            if (pid != r->keeper) {
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
                found++;
            }
        if (f)
            fclose(f);
        if (!found)
            return;
    }
}

static void clean_up(struct runner *r)
{
    for (int i = 0; i < r->l->n; i++) {
        struct launch_process *p = &r->l->at[i];
        if (p->pid) {
            send_signal(p, SIGKILL);
            waitpid(p->pid, NULL, 0);
        }
        if (p->pipe >= 0)
            close(p->pipe);
        p->pipe = -1;
    }
    kill_orphans(r);
    keeper_stop(r);
}

static enum skiff_status start_all(struct runner *r, struct skiff_error *err)
{
    struct buf log = BUF_INIT;
    buf_printf(&log, "%s/x", r->l->args->log_dir);
    enum skiff_status status = file_make_parents(log.data, err);
    buf_deinit(&log);
    for (int i = 0; status == SKIFF_OK && i < r->l->n; i++)
        status = start(r, &r->l->at[i], err);
    return status;
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

enum skiff_status launch_run(struct launch *l, struct skiff_error *err)
{
    struct runner r = {.l = l, .signals = -1, .suspect = -1, .echo = {.fd = -1}};
    snprintf(r.mark, sizeof(r.mark), LAUNCH_MARK "=%d.%lld", (int)getpid(),
             (long long)clock_real());
    sigset_t mask;
    enum skiff_status status;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    if (!interrupt_hangup_ignored()) /* under nohup a signal file would hear it all the same */
        sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_BLOCK, &mask, &r.before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    launch_screen_init(&r.screen, l->args->quiet || l->mode->echoes);
    r.signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
    if (r.signals < 0)
        status = error_set_sys(err, "no signal file");
    else
        status = keeper_start(&r, err);
    if (status == SKIFF_OK) {
        status = start_all(&r, err);
        if (status < 0)
            go(&r, STAGE_KILL, 0);
        else
            launch_echo_open(&r.echo, l);
        if (status == SKIFF_OK && l->args->verbose)
            launch_print_processes(l);
        decide(&r);
        watch(&r);
        clean_up(&r);
        launch_echo_close(&r.echo);
        if (status == SKIFF_OK)
            status = verdict(l, err);
    }
    if (r.signals >= 0)
        close(r.signals);
    sigprocmask(SIG_SETMASK, &r.before, NULL);
    return status;
}
