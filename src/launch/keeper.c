/* The process that watches the launcher (keeper.h).
 *
 * It is forked before any other process and holds one end of a socket pair. The launcher sends it
 * the id of each process that it starts, and 0 when all is well; the end of the socket without a 0
 * means that the launcher was killed. Then sessions, groups and inherited marks are looked up in
 * /proc until nothing is found, because a process may start another one meanwhile. */
#define _GNU_SOURCE
#include "launch/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

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

enum skiff_status keeper_start(struct keeper *k, const char *mark, struct skiff_error *err)
{
    int fds[2];
    *k = (struct keeper){.socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return error_set_sys(err, "cannot create a socket pair");
    pid_t pid = fork();
    if (pid < 0) {
        close(fds[0]);
        close(fds[1]);
        return error_set_sys(err, "cannot start a process");
    }
    if (pid == 0) {
        close(fds[1]);
        keep(fds[0], mark);
    }
    close(fds[0]);
    *k = (struct keeper){.pid = pid, .socket = fds[1]};
    return SKIFF_OK;
}

/* A socket, not a pipe: a killed keeper must not end the launcher by SIGPIPE. */
bool keeper_add(const struct keeper *k, pid_t pid)
{
    return send(k->socket, &pid, sizeof(pid), MSG_NOSIGNAL) == sizeof(pid);
}

bool keeper_stop(struct keeper *k)
{
    if (!k->pid)
        return true;
    bool there = keeper_add(k, 0);
    close(k->socket);
    while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    k->pid = 0;
    return there;
}
