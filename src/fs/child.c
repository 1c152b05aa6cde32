#define _GNU_SOURCE
#include "fs/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

extern char **environ;

enum skiff_status child_start(struct child *c, char *const argv[], struct skiff_error *err)
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    *c = (struct child){0, -1, -1};
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set_sys(err, "%s: cannot make a pipe", argv[0]);
    c->err = memfd_create("errors", MFD_CLOEXEC);
    c->out = ends[0];
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, c->err, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0); /* a shell script around Java: all of it ends */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    int fault =
        c->err < 0 ? errno : posix_spawnp(&c->pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (fault == 0)
        return SKIFF_OK;
    c->pid = 0;
    child_close(c);
    errno = fault;
    (void)error_set_sys(err, "cannot run %s", argv[0]);
    return fault == ENOENT ? SKIFF_NOT_FOUND : SKIFF_IO;
}

enum skiff_status child_read(struct child *c, const char *what, int seconds,
                             const atomic_bool *stop, void *buf, size_t n, size_t *got,
                             struct skiff_error *err)
{
    int64_t end = clock_after(clock_now(), seconds * INT64_C(1000));
    for (;;) {
        struct pollfd p = {.fd = c->out, .events = POLLIN};
        int ready = poll(&p, 1, 50);
        if (stop && atomic_load(stop))
            return error_set(err, SKIFF_STATE, "%s: reading was stopped", what);
        if (ready == 0 && clock_now() > end)
            return error_set(
                err, SKIFF_TIMEOUT,
                "%s: the command gives nothing for %d s; it was ended (SKIFF_FS_TIMEOUT)", what,
                seconds);
        if (ready <= 0)
            continue;
        ssize_t r = read(c->out, buf, n);
        if (r >= 0) {
            *got = (size_t)r;
            return SKIFF_OK;
        }
        if (errno != EINTR)
            return error_set_sys(err, "%s: cannot read from the command", what);
    }
}

#define OUTPUT_BYTES 65536

static void add_last_lines(int fd, struct buf *errors)
{
    char *text = mem_alloc_or_die(OUTPUT_BYTES), *rest = NULL;
    off_t size = lseek(fd, 0, SEEK_END), most = OUTPUT_BYTES - 1;
    ssize_t n = pread(fd, text, (size_t)most, size > most ? size - most : 0);
    text[n < 0 ? 0 : n] = 0;
    for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        char *word = line + strspn(line, " \t");
        if (*word && strncmp(word, "at ", 3) != 0 && strncmp(word, "... ", 4) != 0)
            buf_printf(errors, "%s%s", errors->len ? CHILD_LINE : "", word);
    }
    free(text);
}

int child_end(struct child *c, struct buf *errors)
{
    int status = 0;
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    c->pid = 0;
    add_last_lines(c->err, errors);
    child_close(c);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void child_close(struct child *c)
{
    if (c->pid) {
        kill(-c->pid, SIGKILL);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (c->out >= 0)
        close(c->out);
    if (c->err >= 0)
        close(c->err);
    *c = (struct child){0, -1, -1};
}
