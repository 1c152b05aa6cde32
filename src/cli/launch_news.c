/* What the processes of a launch report on their pipes (fleet/report.h): their own progress, and
 * what they know of each other. Servers and workers tell who has joined, left and died, so the
 * launcher knows of a worker that hangs for good although its process has not ended, and of deaths
 * on other machines; ranks and workers name whom they wait for. */
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
#include "cli/launch.h"

#define SPEED_SECONDS 2.0
#define LATE_SECONDS 10.0     /* between two lines about one process */
#define LEAST_DISK (64 << 10) /* bytes that logs need */

bool launch_is_live(const struct launch_process *p)
{
    return p->pid && !p->ended;
}

void launch_note(struct launch *l, struct launch_screen *s, const struct launch_process *from,
                 const char *format, ...)
{
    struct launch_note note;
    char name[64];
    va_list args;
    va_start(args, format);
    vsnprintf(note.text, sizeof note.text, format, args);
    va_end(args);
    for (int i = 0; i < l->nnotes; i++) /* several processes may report the same */
        if (!strcmp(l->notes[i].text, note.text))
            return;
    launch_screen_clear(s);
    fprintf(stderr, "skiff launch: %s%s%s\n", from ? launch_name(from, name) : "", from ? ": " : "",
            note.text);
    if (l->nnotes < LAUNCH_NOTES)
        l->notes[l->nnotes++] = note;
}

/* ---- accusations ---- */

static struct launch_process *find(struct launch *l, const char *role, int index)
{
    for (int i = 0; i < l->n; i++)
        if (!strcmp(l->at[i].called, role) && l->at[i].index == index)
            return &l->at[i];
    return NULL;
}

static void accuse(struct launch *l, struct launch_process *p, struct launch_screen *s,
                   const char *reason)
{
    char name[64];
    if (p->life.accused || l->signal)
        return;
    p->life.accused = clock_seconds();
    snprintf(p->life.reason, sizeof p->life.reason, "%s", reason);
    launch_screen_clear(s);
    fprintf(stderr, "skiff launch: %s (process %d) %s%s\n", launch_name(p, name), (int)p->pid,
            reason, strcmp(p->called, "worker") ? "" : "; its files are no longer trained");
}

struct launch_process *launch_accused(struct launch *l, double seconds, double now)
{
    for (int i = 0; i < l->n; i++) {
        struct launch_process *p = &l->at[i];
        if (launch_is_live(p) && p->life.accused && now >= p->life.accused + seconds)
            return p;
        if (launch_is_live(p) && p->life.fails && seconds > 0 && now >= p->life.fails + 6 * seconds)
            return p;
    }
    return NULL;
}

void launch_accuse_left_behind(struct launch *l, struct launch_screen *s, double now)
{
    int servers = 0;
    for (int i = 0; i < l->n; i++) {
        if (l->at[i].server && launch_is_live(&l->at[i]))
            return;
        servers += l->at[i].server;
    }
    (void)now;
    if (!servers || servers < l->nservers)
        return;
    for (int i = 0; i < l->n; i++) {
        struct launch_process *p = &l->at[i];
        bool is_member = !strcmp(p->life.member, "here") || !strcmp(p->life.member, "dead");
        if (!p->server && launch_is_live(p) && is_member)
            accuse(l, p, s, "has not left the job, and all servers have ended");
    }
}

/* ---- news ---- */

/* What we have started is alive and has started the member itself, which has ended: a script may
 * start it again. */
static bool may_come_back(const struct launch_process *p, const struct report_news *n)
{
    return n->process && n->process != (int)p->pid && kill(n->process, 0) < 0 && errno == ESRCH;
}

static void on_death(struct launch *l, struct launch_process *p, struct launch_screen *s,
                     const struct report_news *n)
{
    char reason[600];
    const char *why = n->text[0] ? n->text : "gives no sign of life";
    bool own_words = !strncmp(why, "has failed", 10) || !strncmp(why, "has ended", 9);
    if (p && launch_is_live(p) && may_come_back(p, n)) {
        launch_screen_clear(s);
        fprintf(stderr,
                "skiff launch: %s %d has ended (process %d); its files are no longer trained until "
                "it is started again\n",
                n->role, n->index, n->process);
    } else if (p && launch_is_live(p) && own_words) {
        p->life.fails = clock_seconds();
        snprintf(p->life.reason, sizeof p->life.reason, "%s", why);
    } else if (p && launch_is_live(p)) {
        snprintf(reason, sizeof reason, "is dead, as other processes say: it %s", why);
        accuse(l, p, s, reason);
    } else if (!p && !l->signal && l->failed < 0) {
        launch_note(l, s, NULL, "%s %d, on another machine, is dead: it %s%s", n->role, n->index,
                    why, strcmp(n->role, "server") ? "; its files are no longer trained" : "");
    }
}

static void on_member(struct launch *l, struct launch_process *p, struct launch_screen *s,
                      const struct report_news *n)
{
    bool here = !strcmp(n->state, "here"), dead = !strcmp(n->state, "dead");
    char name[64];
    l->members_known = true;
    if (!strcmp(n->role, "worker") && n->index < l->nworkers)
        l->workers_here[n->index] = here;
    if (!p) {
        if (dead)
            on_death(l, NULL, s, n);
        return;
    }
    struct launch_life *life = &p->life;
    if (dead && life->incarnation && n->incarnation && n->incarnation != life->incarnation)
        return; /* of a process that was there before */
    if (!strcmp(life->member, n->state) && (!n->incarnation || n->incarnation == life->incarnation))
        return; /* everybody reports it */
    if (here && life->accused && n->incarnation != life->incarnation) {
        launch_screen_clear(s);
        fprintf(stderr, "skiff launch: %s was started again and takes part\n",
                launch_name(p, name));
        life->accused = 0;
    }
    if (n->incarnation)
        life->incarnation = n->incarnation;
    snprintf(life->member, sizeof life->member, "%s", n->state);
    if (dead)
        on_death(l, p, s, n);
}

static void on_late(struct launch *l, struct launch_process *p, struct launch_screen *s,
                    const struct report_news *n)
{
    double now = clock_seconds();
    if (l->signal || (p && p->life.late && now - p->life.late < LATE_SECONDS))
        return;
    if (p)
        p->life.late = now;
    launch_screen_clear(s);
    fprintf(stderr, "skiff launch: %s %d %s\n", n->role, n->index, n->text);
}

static void take_news(struct launch *l, struct launch_process *from, struct launch_screen *s,
                      const struct report_news *n)
{
    struct launch_process *p = find(l, n->role, n->index);
    if (n->kind == NEWS_MEMBER)
        on_member(l, p, s, n);
    else if (n->kind == NEWS_LATE)
        on_late(l, p, s, n);
    else if (n->kind == NEWS_NOTE)
        launch_note(l, s, from, "%s", n->text);
    else if (p && launch_is_live(p))
        accuse(l, p, s, n->text);
    else if (!p && l->failed < 0)
        launch_note(l, s, NULL, "%s %d, on another machine, %s", n->role, n->index, n->text);
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

static void take_progress(struct launch_process *p, const struct report *r, double now)
{
    struct launch_life *life = &p->life;
    if (r->epoch < 0) {
        p->total = *r;
        return;
    }
    bool same = r->epoch == p->now.epoch && r->samples >= p->now.samples;
    if (!same || r->samples != p->now.samples)
        life->moved = now;
    if (r->epoch != p->now.epoch && p->now.epoch >= 0)
        life->before += p->now.samples;
    if (!same) {
        life->window = now;
        life->window_samples = r->samples;
    } else if (now - life->window >= SPEED_SECONDS) {
        life->speed = (double)(r->samples - life->window_samples) / (now - life->window);
        life->window = now;
        life->window_samples = r->samples;
    }
    p->now = *r;
}

static void take_line(struct launch *l, struct launch_process *p, struct launch_screen *s,
                      const char *line)
{
    struct report r;
    struct report_news n;
    p->life.heard = clock_seconds();
    if (report_parse(line, &r))
        take_progress(p, &r, p->life.heard);
    else if (report_news_parse(line, &n))
        take_news(l, p, s, &n);
}

void launch_take_reports(struct launch *l, struct launch_process *p, struct launch_screen *s)
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
        take_line(l, p, s, from);
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
static void look_for_stopped(struct launch *l, struct launch_screen *s, double now)
{
    char reason[128];
    for (int i = 0; i < l->n; i++) {
        struct launch_process *p = &l->at[i];
        if (!launch_is_live(p) || !is_stopped(p->pid)) {
            p->life.stopped = 0;
            continue;
        }
        if (!p->life.stopped)
            p->life.stopped = now;
        double seconds = now - p->life.stopped;
        snprintf(reason, sizeof reason, "has been stopped (SIGSTOP) for %.0f s", seconds);
        bool takes_part = p->life.member[0] == 'h' || p->now.epoch >= 0;
        if (seconds > 1.5 * l->silence && takes_part)
            accuse(l, p, s, reason);
    }
}

static void look_at_disk(struct launch *l, struct launch_screen *s)
{
    struct statvfs disk;
    if (statvfs(l->args->log_dir, &disk) < 0 || !disk.f_blocks ||
        disk.f_bavail * disk.f_frsize >= LEAST_DISK)
        return;
    launch_note(l, s, NULL,
                "the disk of the logs (%s) is full: what processes write from now on is lost",
                l->args->log_dir);
}

void launch_look_around(struct launch *l, struct launch_screen *s, double now)
{
    look_for_stopped(l, s, now);
    look_at_disk(l, s);
}
