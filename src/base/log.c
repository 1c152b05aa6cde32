#include "base/clock.h"
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int lowest = LOG_INFO;
/* a leaf: nothing is locked under it */
static pthread_mutex_t role_lock = PTHREAD_MUTEX_INITIALIZER;
static char role[32] = "-";

/* held while the listener is called, so that it can be taken away */
static pthread_mutex_t listener_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*listener)(void *user, enum log_level level, const char *text);
static void *listener_user;

void log_listen(void (*report)(void *user, enum log_level level, const char *text), void *user)
{
    pthread_mutex_lock(&listener_lock);
    listener = report;
    listener_user = user;
    pthread_mutex_unlock(&listener_lock);
}

static void report_listener(enum log_level level, const char *text)
{
    pthread_mutex_lock(&listener_lock);
    if (listener)
        listener(listener_user, level, text);
    pthread_mutex_unlock(&listener_lock);
}

void log_set_level(enum log_level level)
{
    atomic_store(&lowest, (int)level);
}

bool log_shows(enum log_level level)
{
    return (int)level >= atomic_load(&lowest);
}

static bool has_colours(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

const char *log_colour(enum log_level level)
{
    static const char *const codes[] = {"\033[2m", "", "\033[33m", "\033[31m"};
    return has_colours() ? codes[level] : "";
}

const char *log_plain(void)
{
    return has_colours() ? "\033[0m" : "";
}

void log_set_role(const char *text)
{
    pthread_mutex_lock(&role_lock);
    snprintf(role, sizeof role, "%s", text);
    pthread_mutex_unlock(&role_lock);
}

/* "2024-05-01 10:11:12.345 INFO trainer.0 " */
static size_t log_head(enum log_level level, char *out, size_t capacity)
{
    static const char *const names[] = {"DEBUG", "INFO", "WARN", "ERROR"};
    struct timespec now = clock_timespec(clock_real());
    struct tm tm;
    localtime_r(&now.tv_sec, &tm);
    size_t n = strftime(out, capacity, "%Y-%m-%d %H:%M:%S", &tm);
    char who[sizeof role];
    pthread_mutex_lock(&role_lock);
    memcpy(who, role, sizeof who);
    pthread_mutex_unlock(&role_lock);
    const char *colour = log_colour(level);
    n += (size_t)snprintf(out + n, capacity - n, ".%03ld %s%s%s %s ", now.tv_nsec / 1000000, colour,
                          names[level], *colour ? log_plain() : "", who);
    return n;
}

/* One write a line, so that lines of several threads and processes do not mix. */
void log_line(enum log_level level, const char *format, ...)
{
    char line[2048];
    size_t n = log_head(level, line, sizeof line), head = n;
    va_list args;
    va_start(args, format);
    int text = vsnprintf(line + n, sizeof line - n - 1, format, args);
    va_end(args);
    if (text > 0)
        n += strlen(line + n);
    report_listener(level, line + head);
    if ((int)level < atomic_load(&lowest))
        return;
    line[n++] = '\n';
    for (size_t done = 0; done < n;) {
        ssize_t w = write(STDERR_FILENO, line + done, n - done);
        if (w <= 0)
            break;
        done += (size_t)w;
    }
}
