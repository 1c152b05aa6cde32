/* What the processes of a launch report on their pipes (fleet/report.h): their own progress, and
 * the state of other members. Servers and workers report members that joined, left or died, so the
 * launcher knows of a worker that hangs although its process has not ended, and of failures on
 * other machines; ranks and workers name the members they wait for. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launch/launch_parts.h"

#define SPEED_SECONDS 2.0
#define LATE_SECONDS 10.0     /* between two lines about one process */
#define LEAST_DISK (64 << 10) /* bytes that logs need */

bool launch_is_live(const struct launch_process *p)
{
    return p->pid && !p->ended;
}

void launch_notify(const struct launch *l, enum launch_event_kind kind,
                   const struct launch_process *p, const char *format, ...)
{
    char text[1200] = "";
    struct launch_event event = {.kind = kind, .process = p, .text = format ? text : NULL};
    va_list args;
    va_start(args, format);
    if (format)
        vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (l->events.on_event)
        l->events.on_event(l->events.arg, &event);
}

void launch_warn(struct launch *l, const struct launch_process *from, const char *format, ...)
{
    struct launch_warning warning;
    char name[64];
    va_list args;
    va_start(args, format);
    vsnprintf(warning.text, sizeof warning.text, format, args);
    va_end(args);
    for (int i = 0; i < l->nwarnings; i++) /* several processes may report the same */
        if (!strcmp(l->warnings[i].text, warning.text))
            return;
    launch_notify(l, LAUNCH_EVENT_WARNING, from, "%s%s%s", from ? launch_name(from, name) : "",
                  from ? ": " : "", warning.text);
    if (l->nwarnings < LAUNCH_WARNINGS)
        l->warnings[l->nwarnings++] = warning;
}

/* ---- accusations ---- */

static struct launch_process *find(struct launch *l, const char *role, int index)
{
    for (int i = 0; i < l->n; i++)
        if (!strcmp(l->at[i].called, role) && l->at[i].index == index)
            return &l->at[i];
    return NULL;
}

static void accuse(struct launch *l, struct launch_process *p, const char *reason)
{
    char name[64];
    if (p->health.accused || l->signal)
        return;
    p->health.accused = clock_seconds();
    snprintf(p->health.reason, sizeof p->health.reason, "%s", reason);
    launch_notify(l, LAUNCH_EVENT_NOTICE, p, "%s (process %d) %s%s", launch_name(p, name),
                  (int)p->pid, reason,
                  strcmp(p->called, "worker") ? "" : "; its files are not trained");
}

struct launch_process *launch_accused(struct launch *l, double seconds, double now)
{
    for (int i = 0; i < l->n; i++) {
        struct launch_process *p = &l->at[i];
        if (launch_is_live(p) && p->health.accused && now >= p->health.accused + seconds)
            return p;
        if (launch_is_live(p) && p->health.fails && seconds > 0 &&
            now >= p->health.fails + 6 * seconds)
            return p;
    }
    return NULL;
}

void launch_accuse_left_behind(struct launch *l)
{
    int servers = 0;
    for (int i = 0; i < l->n; i++) {
        if (l->at[i].server && launch_is_live(&l->at[i]))
            return;
        servers += l->at[i].server;
    }
    if (!servers || servers < l->nservers)
        return;
    for (int i = 0; i < l->n; i++) {
        struct launch_process *p = &l->at[i];
        bool is_member = !strcmp(p->health.member, "here") || !strcmp(p->health.member, "dead");
        if (!p->server && launch_is_live(p) && is_member)
            accuse(l, p, "has not left the job, and all servers have ended");
    }
}

/* ---- news ---- */

/* What we have started is alive and has started the member itself, which has ended: a script may
 * start it again. */
static bool may_come_back(const struct launch_process *p, const struct report_news *n)
{
    return n->process && n->process != (int)p->pid && kill(n->process, 0) < 0 && errno == ESRCH;
}

static void on_death(struct launch *l, struct launch_process *p, const struct report_news *n)
{
    char reason[600];
    const char *why = n->text[0] ? n->text : "does not respond";
    bool own_words = !strncmp(why, "has failed", 10) || !strncmp(why, "has ended", 9);
    if (p && launch_is_live(p) && may_come_back(p, n)) {
        launch_notify(l, LAUNCH_EVENT_NOTICE, p,
                      "%s %d has ended (process %d); its files are not trained until it is "
                      "restarted",
                      n->role, n->index, n->process);
    } else if (p && launch_is_live(p) && own_words) {
        p->health.fails = clock_seconds();
        snprintf(p->health.reason, sizeof p->health.reason, "%s", why);
    } else if (p && launch_is_live(p)) {
        snprintf(reason, sizeof reason, "is dead according to other processes: it %s", why);
        accuse(l, p, reason);
    } else if (!p && !l->signal && l->failed < 0) {
        launch_warn(l, NULL, "%s %d, on another machine, is dead: it %s%s", n->role, n->index, why,
                    strcmp(n->role, "server") ? "; its files are not trained" : "");
    }
}

static void on_member(struct launch *l, struct launch_process *p, const struct report_news *n)
{
    bool here = !strcmp(n->state, "here"), dead = !strcmp(n->state, "dead");
    char name[64];
    l->members_known = true;
    if (!strcmp(n->role, "worker") && n->index < l->nworkers)
        l->workers_here[n->index] = here;
    if (!p) {
        if (dead)
            on_death(l, NULL, n);
        return;
    }
    struct launch_health *health = &p->health;
    if (dead && health->incarnation && n->incarnation && n->incarnation != health->incarnation)
        return; /* of a process that was there before */
    if (!strcmp(health->member, n->state) &&
        (!n->incarnation || n->incarnation == health->incarnation))
        return; /* everybody reports it */
    if (here && health->accused && n->incarnation != health->incarnation) {
        launch_notify(l, LAUNCH_EVENT_NOTICE, p, "%s was restarted and has joined the job",
                      launch_name(p, name));
        health->accused = 0;
    }
    if (n->incarnation)
        health->incarnation = n->incarnation;
    snprintf(health->member, sizeof health->member, "%s", n->state);
    if (dead)
        on_death(l, p, n);
}

static void on_late(struct launch *l, struct launch_process *p, const struct report_news *n)
{
    double now = clock_seconds();
    if (l->signal || (p && p->health.late && now - p->health.late < LATE_SECONDS))
        return;
    if (p)
        p->health.late = now;
    launch_notify(l, LAUNCH_EVENT_NOTICE, p, "%s %d %s", n->role, n->index, n->text);
}

static void take_news(struct launch *l, struct launch_process *from, const struct report_news *n)
{
    struct launch_process *p = find(l, n->role, n->index);
    if (n->kind == NEWS_MEMBER)
        on_member(l, p, n);
    else if (n->kind == NEWS_LATE)
        on_late(l, p, n);
    else if (n->kind == NEWS_WARNING)
        launch_warn(l, from, "%s", n->text);
    else if (p && launch_is_live(p))
        accuse(l, p, n->text);
    else if (!p && l->failed < 0)
        launch_warn(l, NULL, "%s %d, on another machine, %s", n->role, n->index, n->text);
}

bool launch_workers_elsewhere(const struct launch *l)
{
    if (!l->members_known)
        return l->elsewhere;
    for (int i = 0; i < l->nworkers; i++) {
        bool here = false;
        for (int k = 0; k < l->n; k++)
            here |= !l->at[k].server && l->at[k].index == i;
        if (!here && l->workers_here[i])
            return true;
    }
    return false;
}

/* ---- progress ---- */

static void measure_speed(struct launch_process *p, bool begins, double now)
{
    struct launch_health *health = &p->health;
    double seconds = now - health->window;
    if (!begins && seconds < SPEED_SECONDS)
        return;
    int64_t samples = snapshot_since(&p->counted, &p->at_window, METRIC_TRAIN_SAMPLES, "train");
    if (!begins && samples >= 0)
        health->speed = (double)samples / seconds;
    health->window = now;
    snapshot_update(&p->at_window, &p->counted);
}

static void take_progress(struct launch_process *p, const struct report *r, double now)
{
    if (r->epoch < 0) {
        p->total = *r;
        return;
    }
    bool same = r->day == p->now.day && r->epoch == p->now.epoch && r->samples >= p->now.samples;
    if (!same || r->samples != p->now.samples)
        p->health.moved = now;
    measure_speed(p, !same, now);
    p->now = *r;
}

static void take_line(struct launch *l, struct launch_process *p, const char *line)
{
    struct report r;
    struct report_news n;
    p->health.heard = clock_seconds();
    if (report_parse(line, &r))
        take_progress(p, &r, p->health.heard);
    else if (report_metric_parse(line, &p->counted))
        return;
    else if (report_news_parse(line, &n))
        take_news(l, p, &n);
}

void launch_take_reports(struct launch *l, struct launch_process *p)
{
    char bytes[4096];
    ssize_t n = -1;
    while (p->pipe >= 0 && (n = read(p->pipe, bytes, sizeof(bytes))) > 0)
        buf_add(&p->line, bytes, (size_t)n);
    if (p->pipe >= 0 && n == 0) {
        close(p->pipe);
        p->pipe = -1;
    }
    char *from = p->line.data, *end;
    while (from && (end = memchr(from, '\n', (size_t)(p->line.data + p->line.len - from)))) {
        *end = 0;
        take_line(l, p, from);
        from = end + 1;
    }
    size_t left = from ? (size_t)(p->line.data + p->line.len - from) : 0;
    if (left > 1024)
        left = 0; /* not a line of ours */
    if (left)
        memmove(p->line.data, from, left);
    p->line.len = left;
}

/* ---- what can be seen from here ---- */

static bool is_stopped(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *behind = strrchr(text, ')');
    return behind && behind[1] && behind[2] == 'T';
}

/* Where no server is on this machine nobody may tell that a worker was declared dead; that it is
 * stopped can be seen. */
static void look_for_stopped(struct launch *l, double now)
{
    char reason[128];
    for (int i = 0; i < l->n; i++) {
        struct launch_process *p = &l->at[i];
        if (!launch_is_live(p) || !is_stopped(p->pid)) {
            p->health.stopped = 0;
            continue;
        }
        if (!p->health.stopped)
            p->health.stopped = now;
        double seconds = now - p->health.stopped;
        snprintf(reason, sizeof reason, "has been stopped (SIGSTOP) for %.0f s", seconds);
        bool takes_part = p->health.member[0] == 'h' || p->now.epoch >= 0;
        if (seconds > 1.5 * l->silence && takes_part)
            accuse(l, p, reason);
    }
}

static void look_at_disk(struct launch *l)
{
    struct statvfs disk;
    if (statvfs(l->options->log_dir, &disk) < 0 || !disk.f_blocks ||
        disk.f_bavail * disk.f_frsize >= LEAST_DISK)
        return;
    launch_warn(l, NULL, "the disk of the logs (%s) is full: further output of processes is lost",
                l->options->log_dir);
}

void launch_look_around(struct launch *l, double now)
{
    look_for_stopped(l, now);
    look_at_disk(l);
}
