/* See cut.h. Real operations are those of whatever comes behind us (libc, or a sanitizer). */
#define _GNU_SOURCE
#include "tests/saves/cut.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <unistd.h>

#define MAX_FDS 1024

/* The functions that are ours to take must be seen from outside. */
#pragma GCC visibility push(default)

static struct {
    enum cut_mode mode;
    long first, count, seen;
    const char *below;
    int log;
    bool skip_flush, no_exchange;
    bool counts[MAX_FDS]; /* by descriptor: was it opened below? */
} cut = {.log = -1};

void cut_arm(enum cut_mode mode, long first, long count)
{
    cut.mode = mode;
    cut.first = first;
    cut.count = count;
    cut.seen = 0;
}

long cut_disarm(void)
{
    cut.mode = CUT_NOTHING;
    return cut.seen;
}

void cut_no_exchange(bool refused)
{
    cut.no_exchange = refused;
}

void cut_skip_flush(void)
{
    cut.skip_flush = true;
}

__attribute__((constructor)) static void read_environment(void)
{
    const char *reported = getenv("SKIFF_TEST_CUT"), *log = getenv("SKIFF_TEST_CUT_LOG");
    char mode[8];
    long first, count = 0;
    cut.below = getenv("SKIFF_TEST_CUT_BELOW");
    if (log)
        cut.log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (reported && sscanf(reported, "%7[a-z]:%ld:%ld", mode, &first, &count) >= 2)
        cut_arm(!strcmp(mode, "kill") ? CUT_KILL : CUT_FULL, first, count);
}

static void note(const char *what, const char *path)
{
    char line[600];
    int n = snprintf(line, sizeof line, "%ld %s %s\n", cut.seen, what, path ? path : "");
    if (cut.log >= 0 && n > 0) {
        int saved = errno;
        ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
        if (real(cut.log, line, (size_t)n) < 0)
            errno = saved;
    }
}

/* Saves are counted, not what lies beside them: a report is written when time has come. */
static bool path_counts(const char *path)
{
    return (!cut.below || strstr(path, cut.below)) && !strstr(path, "report.") &&
           !strstr(path, "/.skiff_lock");
}

/* The operation's turn: true when it must fail for a full disk. *half: die in the middle. */
static bool turn(const char *what, const char *path, bool needs_space, bool *half)
{
    if (half)
        *half = false;
    if (cut.mode == CUT_NOTHING && cut.log < 0)
        return false;
    if (path && !path_counts(path))
        return false;
    cut.seen++;
    note(what, path);
    if (cut.mode == CUT_KILL && cut.seen >= cut.first) {
        if (!half)
            kill(getpid(), SIGKILL);
        else
            *half = true;
        return false;
    }
    if (cut.mode != CUT_FULL || !needs_space || cut.seen < cut.first ||
        (cut.count && cut.seen >= cut.first + cut.count))
        return false;
    errno = ENOSPC;
    return true;
}

static bool fd_counts(int fd)
{
    return !cut.below || (fd >= 0 && fd < MAX_FDS && cut.counts[fd]);
}

static void fd_opened(int fd, const char *path)
{
    if (fd >= 0 && fd < MAX_FDS)
        cut.counts[fd] = cut.below && path_counts(path);
}

#define REAL(name) __typeof__(name) *real = dlsym(RTLD_NEXT, #name)

static bool writes(int flags)
{
    return flags & (O_CREAT | O_TRUNC);
}

#define OPEN(name)                                                \
    int name(const char *path, int flags, ...)                    \
    {                                                             \
        REAL(name);                                               \
        va_list more;                                             \
        va_start(more, flags);                                    \
        mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0; \
        va_end(more);                                             \
        if (writes(flags) && turn("open", path, true, NULL))      \
            return -1;                                            \
        int fd = real(path, flags, mode);                         \
        fd_opened(fd, path);                                      \
        return fd;                                                \
    }
OPEN(open)
OPEN(open64)

/* The number may be that of something else next, as of an eventfd. */
int close(int fd)
{
    REAL(close);
    if (fd >= 0 && fd < MAX_FDS)
        cut.counts[fd] = false;
    return real(fd);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    REAL(write);
    bool half = false;
    if (fd_counts(fd) && turn("write", NULL, true, &half))
        return -1;
    if (half) {
        if (n > 1 && real(fd, bytes, n / 2) < 0)
            _exit(3);
        kill(getpid(), SIGKILL);
    }
    return real(fd, bytes, n);
}

int fsync(int fd)
{
    REAL(fsync);
    if (fd_counts(fd) && turn("fsync", NULL, true, NULL))
        return -1;
    return cut.skip_flush ? 0 : real(fd);
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    return turn("rename", to, true, NULL) ? -1 : real(from, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    REAL(renameat2);
    if (cut.no_exchange && flags & RENAME_EXCHANGE) {
        errno = EINVAL;
        return -1;
    }
    return turn("renameat2", to, true, NULL) ? -1 : real(from_dir, from, to_dir, to, flags);
}

int link(const char *from, const char *to)
{
    REAL(link);
    return turn("link", to, true, NULL) ? -1 : real(from, to);
}

int statvfs(const char *path, struct statvfs *out)
{
    REAL(statvfs);
    int result = real(path, out);
    const char *reported = getenv("SKIFF_TEST_CUT_FREE");
    FILE *f = reported ? fopen(reported, "re") : NULL;
    unsigned long long bytes;
    if (f && fscanf(f, "%llu", &bytes) == 1)
        out->f_bavail = bytes / out->f_frsize;
    if (f)
        fclose(f);
    return result;
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir);
    return turn("mkdir", path, true, NULL) ? -1 : real(path, mode);
}

int unlink(const char *path)
{
    REAL(unlink);
    return turn("unlink", path, false, NULL) ? -1 : real(path);
}

int rmdir(const char *path)
{
    REAL(rmdir);
    return turn("rmdir", path, false, NULL) ? -1 : real(path);
}

int chmod(const char *path, mode_t mode)
{
    REAL(chmod);
    return turn("chmod", path, true, NULL) ? -1 : real(path, mode);
}
