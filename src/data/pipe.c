/* Pipe commands (pipe.h): a child process whose output is the stream.
 *
 * What has to hold, and how:
 *   - The command must not wait for us while we wait for it: standard error is drained while
 *     standard output is read, and only its end is kept, for the message.
 *   - Stopping is heard within STREAM_WAIT_MS: all waits are polls.
 *   - Nothing is left behind: the child has a process group, which gets SIGTERM and then SIGKILL;
 *     the child itself is reaped last, so that its number cannot belong to somebody else when the
 *     group gets its signals.
 *   - Nor when we are killed and can do nothing: a keeper in the group reads from a pipe whose
 *     other end only we hold, and kills the group when that ends. (PR_SET_PDEATHSIG would not do:
 *     it tells of the end of the thread that started the child, and is not passed on to children.)
 *   - The exit status decides about success when the output has ended, not when standard error is
 *     closed: something that the command left in the background may hold that open for ever.
 *   - Progress is the offset of the input file, which the child moves, because the descriptor is
 *     shared. */
#define _GNU_SOURCE
#include "data/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "fs/fs.h"

#define TAIL 2048 /* bytes of standard error that are kept */
#define KILL_AFTER_MS 200
#define LIFETIME_FD 3 /* of the keeper: its pipe from us */
#define SIGPIPE_STATUS (128 + SIGPIPE)

extern char **environ;

struct stream_pipe {
    struct stream base;
    char *command; /* owned */
    pid_t pid;     /* 0: reaped */
    int in;        /* the file: its offset, which the child moves, is our progress */
    int out, err;  /* -1: closed */
    int lifetime;  /* when this end of the keeper's pipe closes, the group is killed */
    bool ended;
    const atomic_bool *stop;
    char tail[TAIL]; /* the end of standard error */
    size_t tail_len;
};

bool pipe_is_plain(const char *command)
{
    if (!command)
        return true;
    command += strspn(command, " \t");
    if (strncmp(command, "cat", 3) == 0)
        command += 3;
    return command[strspn(command, " \t")] == '\0';
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* The line given to bash: the keeper, which holds none of the command's descriptors, then the
 * command without the keeper's; the keeper goes with it, and without a word. The command begins in
 * line 1, as bash's messages say; the newline behind it keeps a comment at its end harmless. */
static void pipe_script(const char *command, const char *path, struct buf *script)
{
    const char *decoder = ends_with(path, ".gz")    ? "zcat | "
                          : ends_with(path, ".zst") ? "zstd -dcq | "
                          : ends_with(path, ".lz4") ? "lz4 -dcq | "
                          : ends_with(path, ".xz")  ? "xz -dcq | "
                                                    : "";
    buf_printf(script,
               "( read -r -u %d || kill -KILL 0 ) </dev/null >/dev/null 2>&1 & exec %d<&-; "
               "%s( %s\n); s=$?; { kill -KILL %%1; wait %%1; } 2>/dev/null; exit $s",
               LIFETIME_FD, LIFETIME_FD, decoder, command);
}

static enum skiff_status pipe_input(const char *path, const atomic_bool *stop, int *out,
                                    struct skiff_error *err)
{
    if (fs_is_remote(path)) /* a command wants a descriptor */
        return fs_fetch(NULL, path, stop, out, err);
    *out = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                  : open(path, O_RDONLY | O_CLOEXEC);
    return *out < 0 ? error_set_sys(err, "%s: cannot open", path) : SKIFF_OK;
}

/* Our environment without the job's secret, which is no business of a command that reads files; and
 * with PYTHONHASHSEED, unless it is set: every file has its own process, and Python's hash() of
 * a text would give other ids in each. free() it; the texts are borrowed. */
static char **pipe_environment(void)
{
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **out = mem_alloc_or_die((n + 2) * sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "SKIFF_SECRET", 12))
            out[kept++] = environ[i];
    if (!getenv("PYTHONHASHSEED"))
        out[kept++] = "PYTHONHASHSEED=0";
    return out;
}

/* posix_spawn: a large trainer is not copied. The child has its own process group, so that a
 * complete pipeline can be killed, and default signals, whatever ours are. */
static int pipe_spawn(const char *script, int in, int out, int errors, int lifetime, pid_t *pid)
{
    char *argv[] = {"bash", "-o", "pipefail", "-c", (char *)script, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&files, lifetime, LIFETIME_FD);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    char **environment = pipe_environment();
    int r = posix_spawnp(pid, "bash", &files, &attr, argv, environment);
    free(environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return r;
}

/* Reads the available standard error; keeps the end of it. */
static void pipe_drain_errors(struct stream_pipe *s)
{
    char buf[4096];
    while (s->err >= 0) {
        ssize_t n = read(s->err, buf, sizeof buf); /* does not block */
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            close_fd(&s->err);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        const char *from = buf;
        size_t add = (size_t)n;
        if (add > TAIL) {
            from += add - TAIL;
            add = TAIL;
        }
        size_t keep = s->tail_len + add > TAIL ? TAIL - add : s->tail_len;
        memmove(s->tail, s->tail + (s->tail_len - keep), keep);
        memcpy(s->tail + keep, from, add);
        s->tail_len = keep + add;
    }
}

static enum skiff_status pipe_stopped(struct stream_pipe *s, struct skiff_error *err)
{
    if (s->stop && atomic_load(s->stop))
        return error_set(err, SKIFF_STATE, "%s: reading was stopped", s->base.name);
    return SKIFF_OK;
}

/* The last lines of standard error, on one line: " | " between them; cut in front to 600 bytes. */
static const char *pipe_last_words(struct stream_pipe *s, struct buf *out)
{
    size_t from = s->tail_len > 600 ? s->tail_len - 600 : 0, end = s->tail_len;
    if (from)
        while (from < end && s->tail[from - 1] != '\n')
            from++;
    if (from == end)
        from = s->tail_len > 600 ? s->tail_len - 600 : 0;
    while (end > from && (s->tail[end - 1] == '\n' || s->tail[end - 1] == '\r'))
        end--;
    for (size_t i = from; i < end; i++) {
        char c = s->tail[i];
        if (c == '\n')
            buf_str(out, " | ");
        else if ((unsigned char)c >= 0x20 && c != 0x7f)
            buf_char(out, c);
    }
    return out->len ? out->data : "(nothing)";
}

static enum skiff_status pipe_verdict(struct stream_pipe *s, int status, struct skiff_error *err)
{
    struct buf words = BUF_INIT;
    enum skiff_status code = SKIFF_OK;
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGPIPE)
        code = error_set(
            err, SKIFF_IO,
            "%s: pipe command `%s` was killed by signal %d (%s); the end of its standard error: %s",
            s->base.name, s->command, WTERMSIG(status), strsignal(WTERMSIG(status)),
            pipe_last_words(s, &words));
    else if (WIFEXITED(status) && WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != SIGPIPE_STATUS)
        code = error_set(
            err, SKIFF_IO,
            "%s: pipe command `%s` ended with exit status %d; the end of its standard error: %s",
            s->base.name, s->command, WEXITSTATUS(status), pipe_last_words(s, &words));
    buf_deinit(&words);
    return code;
}

/* Standard output has ended: waits for the process and checks its exit status. Something that it
 * left in the background may still hold standard error open, so that is not waited for. */
static enum skiff_status pipe_finish(struct stream_pipe *s, struct skiff_error *err)
{
    int status;
    for (;;) {
        pid_t r = waitpid(s->pid, &status, s->err >= 0 || s->stop ? WNOHANG : 0);
        if (r == s->pid)
            break;
        if (r < 0 && errno != EINTR) {
            s->pid = 0;
            return error_set_sys(err, "%s: cannot wait for pipe command `%s`", s->base.name,
                                 s->command);
        }
        TRY(pipe_stopped(s, err));
        struct pollfd p = {.fd = s->err, .events = POLLIN};
        if (poll(&p, 1, s->err >= 0 ? 10 : 1) > 0)
            pipe_drain_errors(s);
    }
    s->pid = 0;
    pipe_drain_errors(s);
    return pipe_verdict(s, status, err);
}

static enum skiff_status pipe_read(struct stream *base, void *buf, size_t n, size_t *got,
                                   struct skiff_error *err)
{
    struct stream_pipe *s = (struct stream_pipe *)base;
    *got = 0;
    while (!s->ended) {
        TRY(pipe_stopped(s, err));
        struct pollfd p[2] = {{.fd = s->out, .events = POLLIN}, {.fd = s->err, .events = POLLIN}};
        int r = poll(p, 2, STREAM_WAIT_MS);
        if (r < 0 && errno != EINTR)
            return error_set_sys(err, "%s: cannot wait for pipe command `%s`", s->base.name,
                                 s->command);
        if (r <= 0)
            continue;
        if (p[1].revents)
            pipe_drain_errors(s);
        if (!p[0].revents)
            continue;
        ssize_t got_now = read(s->out, buf, n);
        if (got_now > 0) {
            *got = (size_t)got_now;
            return SKIFF_OK;
        }
        if (got_now < 0 && errno == EINTR)
            continue;
        if (got_now < 0)
            return error_set_sys(err, "%s: cannot read from pipe command `%s`", s->base.name,
                                 s->command);
        close_fd(&s->out);
        s->ended = true;
        return pipe_finish(s, err);
    }
    return SKIFF_OK;
}

/* Ends the process group and reaps the process we started; it is reaped last, so that its number
 * cannot have gone to somebody else when the group gets its signals. */
static void pipe_kill(struct stream_pipe *s)
{
    siginfo_t info;
    kill(-s->pid, SIGTERM);
    for (int waited = 0; waited < KILL_AFTER_MS; waited += 2) {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
            break;
        clock_sleep(2 * CLOCK_MS);
    }
    kill(-s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
}

static void pipe_close(struct stream *base)
{
    struct stream_pipe *s = (struct stream_pipe *)base;
    close_fd(&s->in);
    close_fd(&s->out);
    close_fd(&s->err);
    if (s->pid > 0)
        pipe_kill(s);
    close_fd(&s->lifetime);
    free(s->command);
    free(s->base.name);
    free(s);
}

static int64_t pipe_report(struct stream *base)
{
    off_t at = lseek(((struct stream_pipe *)base)->in, 0, SEEK_CUR);
    return at < 0 ? 0 : at;
}

static bool pipe_ready(struct stream *base)
{
    const struct stream_pipe *s = (const struct stream_pipe *)base;
    struct pollfd p = {.fd = s->out, .events = POLLIN};
    return s->out < 0 || poll(&p, 1, 0) != 0;
}

static const struct stream_class pipe_class = {"pipe",      pipe_read, pipe_close,
                                               pipe_report, false,     pipe_ready};

enum skiff_status pipe_open(const char *command, const char *path, const atomic_bool *stop,
                            struct stream **out, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct buf script = BUF_INIT;
    struct stat st;
    int to[2] = {-1, -1}, errors[2] = {-1, -1}, lifetime[2] = {-1, -1}, in = -1, r;
    pid_t pid = 0;
    TRY_OUT(pipe_input(path, stop, &in, err));
    if (fstat(in, &st) == 0 && S_ISDIR(st.st_mode)) {
        status = error_set(err, SKIFF_IO, "%s: is a folder, a file was expected", path);
        goto out;
    }
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0 ||
        pipe2(lifetime, O_CLOEXEC) < 0 || fcntl(errors[0], F_SETFL, O_NONBLOCK) < 0) {
        status = error_set_sys(err, "%s: cannot make a pipe for `%s`", path, command);
        goto out;
    }
    pipe_script(command, path, &script);
    r = pipe_spawn(script.data, in, to[1], errors[1], lifetime[0], &pid);
    if (r != 0) {
        errno = r;
        status = error_set_sys(err, "%s: cannot start bash for pipe command `%s`", path, command);
        goto out;
    }
    struct stream_pipe *s = mem_alloc_or_die(sizeof *s);
    s->base = (struct stream){&pipe_class, mem_strdup_or_die(path)};
    s->command = mem_strdup_or_die(command);
    s->pid = pid;
    s->in = in;
    s->out = to[0];
    s->err = errors[0];
    s->lifetime = lifetime[1];
    s->stop = stop;
    in = to[0] = errors[0] = lifetime[1] = -1;
    *out = &s->base;
out:
    close_fd(&in);
    close_fd(&to[0]);
    close_fd(&to[1]);
    close_fd(&errors[0]);
    close_fd(&errors[1]);
    close_fd(&lifetime[0]);
    close_fd(&lifetime[1]);
    buf_deinit(&script);
    return status;
}
