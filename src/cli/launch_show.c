/* What the launcher prints: the plan, one progress line, the last lines of a log, the final table.
 *
 * A terminal gets one line that is overwritten;
 * otherwise a line is printed at intervals. The hint for --resume is printed only when a restart
 * would find something to resume from. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/launch_show.h"
#include "cli/progress.h"

#define PLAIN_PERIOD 5.0
#define SILENT_SECONDS 3.0 /* workers report four times a second */
#define NAMED_WORKERS 6 /* so many are listed; of more only those that are wrong, and the slowest */
#define TAIL_BYTES 65536

static void print_servers_plan(const struct launch *l)
{
    int servers = 0;
    for (int i = 0; i < l->n; i++)
        servers += l->at[i].server;
    fprintf(stderr, "skiff launch: %d server%s (%s) and %d worker%s, logs in %s/\n", l->nservers,
            l->nservers == 1 ? "" : "s", l->servers_text, l->nworkers, l->nworkers == 1 ? "" : "s",
            l->options->log_dir);
    if (l->elsewhere)
        fprintf(stderr,
                "skiff launch: of these, %d server%s and %d worker%s are on this machine%s\n",
                servers, servers == 1 ? "" : "s", l->n - servers, l->n - servers == 1 ? "" : "s",
                l->secret[0] ? "" : "; no secret: every process that reaches a server can connect");
}

static void print_ranks_plan(const struct launch *l, const struct launch_args *a)
{
    bool gpu_backend = a->backend && (!strcmp(a->backend, "nccl") || !strcmp(a->backend, "bkcl"));
    if ((a->devices || gpu_backend) && !a->options.attempt)
        fprintf(stderr, "skiff launch: ranks use CPUs; device names are ignored\n");
    fprintf(stderr, "skiff launch: %d rank%s (%s), logs in %s/\n", l->nworkers,
            l->nworkers == 1 ? "" : "s", l->workers_text, a->options.log_dir);
    if (l->elsewhere)
        fprintf(stderr,
                "skiff launch: this is machine %d of %d, with %d of them, from rank %d on%s\n",
                l->node, l->nodes, l->n, l->at[0].index,
                l->secret[0] ? "" : "; no secret: every process that reaches a rank can connect");
}

void launch_print_plan(const struct launch *l, const struct launch_args *a)
{
    char weak[256];
    if (a->options.collective)
        print_ranks_plan(l, a);
    else
        print_servers_plan(l);
    if (secret_is_weak(l->secret, weak, sizeof(weak)))
        fprintf(stderr, "skiff launch: %s\n", weak);
}

/* ---- progress ---- */

struct merged {
    int running, servers, epoch, reports;
    double share, samples, rate, loss, auc, loss_weight, auc_weight;
    const char *tables; /* of the job: any worker's word */
};

/* Samples a second of late; of the epoch before that is known. */
static double speed_of(const struct launch_process *p)
{
    const struct report *r = &p->now;
    if (p->health.speed > 0)
        return p->health.speed;
    return r->seconds > 0 ? (double)r->samples / r->seconds : 0;
}

/* Between epochs workers have nothing to report: they wait for each other, or save. */
static bool has_ended_epoch(const struct launch_process *p)
{
    return p->now.share >= 0.9999;
}

static bool is_silent(const struct launch_process *p, double now)
{
    return p->health.accused || (now - p->health.heard > SILENT_SECONDS && !has_ended_epoch(p));
}

static void merge(const struct launch *l, struct merged *m)
{
    double now = clock_seconds();
    *m = (struct merged){.epoch = -1};
    for (int i = 0; i < l->n; i++) {
        const struct launch_process *p = &l->at[i];
        const struct report *r = &p->now;
        if (p->server) {
            m->servers += !p->ended;
            continue;
        }
        m->running += !p->ended && !p->health.accused;
        if (r->epoch < 0)
            continue;
        double weight = (double)r->samples;
        if (r->tables[0])
            m->tables = r->tables;
        if (m->epoch < 0 || r->epoch < m->epoch)
            m->epoch = r->epoch;
        m->reports++;
        m->share += r->share >= 0 ? r->share : 0;
        m->samples += weight;
        bool idle = p->ended || is_silent(p, now) || now - p->health.heard > SILENT_SECONDS;
        m->rate += idle ? 0 : speed_of(p);
        if (!isnan(r->loss)) {
            m->loss += weight * r->loss;
            m->loss_weight += weight;
        }
        if (!isnan(r->auc)) {
            m->auc += weight * r->auc;
            m->auc_weight += weight;
        }
    }
}

/* The last complete line that worker 0 of this machine has written. */
static void last_line(const struct launch *l, char *out, size_t capacity)
{
    char tail[512];
    out[0] = 0;
    for (int i = 0; i < l->n; i++) {
        if (l->at[i].server)
            continue;
        FILE *f = fopen(l->at[i].log, "rb");
        if (!f)
            return;
        struct stat st;
        long at = !fstat(fileno(f), &st) && st.st_size > 511 ? (long)st.st_size - 511 : 0;
        fseek(f, at > l->at[i].log_from ? at : l->at[i].log_from, SEEK_SET);
        size_t n = fread(tail, 1, sizeof(tail) - 1, f);
        fclose(f);
        while (n && (tail[n - 1] == '\n' || tail[n - 1] == '\r'))
            n--;
        tail[n] = 0;
        char *line = strrchr(tail, '\n');
        for (char *c = line ? ++line : (line = tail); *c; c++)
            if ((unsigned char)*c < 32)
                *c = ' ';
        snprintf(out, capacity, "%.100s", line);
        return;
    }
}

static void add_running(struct buf *out, const struct launch *l, const struct merged *m,
                        const char *before, const char *between)
{
    buf_printf(out, "%s%d %s%s", before, m->running, launch_process_name(l),
               m->running == 1 ? "" : "s");
    if (l->nservers)
        buf_printf(out, "%s%d server%s", between, m->servers, m->servers == 1 ? "" : "s");
}

static bool add_worker(struct buf *out, const struct launch_process *p, double now, bool first)
{
    char name[64];
    const struct launch_health *health = &p->health;
    const char *before = first ? "; " : ", ";
    launch_name(p, name);
    if (health->accused)
        buf_printf(out, "%s%s dead", before, name);
    else if (health->stopped)
        buf_printf(out, "%s%s stopped for %.0f s", before, name, now - health->stopped);
    else if (is_silent(p, now))
        buf_printf(out, "%s%s last heard from %.0f s ago", before, name, now - health->heard);
    else if (has_ended_epoch(p) && now - health->heard > SILENT_SECONDS)
        buf_printf(out, "%s%s waits at the end of its files", before, name);
    else if (!has_ended_epoch(p) && now - health->moved > SILENT_SECONDS)
        buf_printf(out, "%s%s has trained nothing for %.0f s", before, name, now - health->moved);
    else
        return false;
    return true;
}

/* Each worker's speed and last sign of life; of many workers only what stands out. */
static void add_workers(struct buf *out, const struct launch *l)
{
    double now = clock_seconds();
    int n = 0, shown = 0;
    const struct launch_process *slowest = NULL;
    char name[64];
    for (int i = 0; i < l->n; i++)
        n += !l->at[i].server && l->at[i].now.epoch >= 0;
    for (int i = 0; i < l->n && n > 1; i++) {
        const struct launch_process *p = &l->at[i];
        if (p->server || p->ended || p->now.epoch < 0)
            continue;
        if (shown < NAMED_WORKERS && add_worker(out, p, now, !shown))
            shown++;
        else if (n <= NAMED_WORKERS)
            buf_printf(out, "%s%s %.0f/s", shown++ ? ", " : "; ", launch_name(p, name),
                       speed_of(p));
        else if (!slowest || speed_of(p) < speed_of(slowest))
            slowest = p;
    }
    if (slowest)
        buf_printf(out, "%sslowest %s %.0f/s", shown ? ", " : "; ", launch_name(slowest, name),
                   speed_of(slowest));
}

static void describe(const struct launch *l, double spent, char *out, size_t capacity)
{
    struct merged m;
    char time[32], line[128];
    struct buf b = BUF_INIT;
    merge(l, &m);
    if (m.reports) {
        double share = m.share / m.reports;
        buf_printf(&b, "epoch %d: %.0f %%, %.0f samples/s", m.epoch, 100 * share, m.rate);
        if (m.loss_weight > 0)
            buf_printf(&b, ", loss %.4f", m.loss / m.loss_weight);
        if (m.auc_weight > 0)
            buf_printf(&b, ", auc %.4f", m.auc / m.auc_weight);
        add_running(&b, l, &m, ", ", ", ");
        buf_printf(&b, ", %s", seconds_text(spent, time));
        if (m.tables)
            buf_printf(&b, ", %s", m.tables);
        add_workers(&b, l);
    } else {
        last_line(l, line, sizeof(line));
        add_running(&b, l, &m, "", " and ");
        buf_printf(&b, " run, %s%s%s", seconds_text(spent, time), line[0] ? "; " : "", line);
    }
    snprintf(out, capacity, "%s", b.data);
    buf_deinit(&b);
}

/* Ranks' progress is in their log, which is shown. */
void launch_screen_init(struct launch_screen *s, const struct launch_args *a)
{
    *s = (struct launch_screen){
        .quiet = a->quiet || a->options.collective, .waits = !a->quiet, .started = clock_seconds()};
    s->terminal = isatty(STDERR_FILENO);
}

static void print_event(void *arg, const struct launch_event *event)
{
    struct launch_screen *s = arg;
    if (!event->text || (event->kind == LAUNCH_EVENT_WAITING && !s->waits))
        return;
    launch_screen_clear(s);
    fprintf(stderr, "skiff launch: %s\n", event->text);
}

struct launch_events launch_screen_events(struct launch_screen *s)
{
    return (struct launch_events){.on_event = print_event, .arg = s};
}

/* One less than there are: a line that is full continues in the next. */
static int columns(void)
{
    struct winsize size;
    return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col > 1 ? size.ws_col - 1 : 150;
}

void launch_screen_tick(struct launch_screen *s, const struct launch *l, double now)
{
    char text[512];
    if (s->quiet || now < s->next || now - s->started < 1)
        return;
    s->next = now + (s->terminal ? 0.25 : PLAIN_PERIOD);
    describe(l, now - s->started, text, sizeof(text));
    if (s->terminal)
        fprintf(stderr, "\r%.*s\033[K", columns(), text);
    else if (strcmp(text, s->last))
        fprintf(stderr, "skiff launch: %s\n", text);
    fflush(stderr);
    snprintf(s->last, sizeof(s->last), "%s", text);
}

void launch_screen_clear(struct launch_screen *s)
{
    if (s->terminal && s->last[0])
        fprintf(stderr, "\r\033[K");
    s->last[0] = 0;
}

/* ---- the first rank's log ---- */

void launch_echo_open(struct launch_echo *e, const struct launch *l)
{
    e->fd = -1;
    e->fd = open(l->at[0].log, O_RDONLY | O_CLOEXEC);
    if (e->fd >= 0)
        lseek(e->fd, l->at[0].log_from, SEEK_SET);
}

static bool echo_some(struct launch_echo *e)
{
    char bytes[16384];
    ssize_t n = e->fd >= 0 ? read(e->fd, bytes, sizeof(bytes)) : 0;
    if (n > 0)
        fwrite(bytes, 1, (size_t)n, stdout);
    return n > 0;
}

void launch_echo_copy(struct launch_echo *e)
{
    for (int i = 0; i < 64 && echo_some(e); i++)
        ; /* no more: the job is to be looked after, too */
    fflush(stdout);
}

void launch_echo_close(struct launch_echo *e)
{
    while (echo_some(e))
        ;
    fflush(stdout);
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
}

/* ---- the end ---- */

static void print_tail(const struct launch_process *p, int lines)
{
    char name[64], *text = mem_alloc_or_die(TAIL_BYTES + 1);
    struct stat st;
    FILE *f = fopen(p->log, "rb");
    size_t n = 0;
    if (f) {
        long at = !fstat(fileno(f), &st) ? (long)st.st_size - TAIL_BYTES : 0;
        fseek(f, at > p->log_from ? at : p->log_from, SEEK_SET);
        n = fread(text, 1, TAIL_BYTES, f);
        fclose(f);
    }
    while (n && text[n - 1] == '\n')
        n--;
    text[n] = 0;
    char *from = text + n;
    for (int left = lines; from > text; from--)
        if (from[-1] == '\n' && --left == 0)
            break;
    if (n)
        fprintf(stderr, "---- last lines of %s (%s)\n%s\n----\n", p->log, launch_name(p, name),
                from);
    else
        fprintf(stderr, "---- %s (%s) is empty\n", p->log, launch_name(p, name));
    free(text);
}

static void status_text(const struct launch_process *p, char *out, size_t capacity)
{
    if (!p->ended)
        snprintf(out, capacity, "not started");
    else if (p->health.hangs)
        snprintf(out, capacity,
                 p->status < 0 ? "did not respond, killed" : "did not respond, ended");
    else if (p->reported)
        snprintf(out, capacity, "stopped");
    else if (p->status < 0)
        snprintf(out, capacity, "killed by signal %d (%s)", -p->status, strsignal(-p->status));
    else if (p->status)
        snprintf(out, capacity, "failed, status %d", p->status);
    else
        snprintf(out, capacity, "done");
}

static void number_cell(double v, int width, int digits)
{
    if (isnan(v))
        printf("%*s", width, "-");
    else
        printf("%*.*f", width, digits, v);
}

/* One that died: as it reported last. NAN: it never did. */
static double samples_of(const struct launch_process *p)
{
    return p->total.samples >= 0 ? (double)p->total.samples
           : p->now.epoch >= 0   ? (double)(p->health.before + p->now.samples)
                                 : NAN;
}

static void print_worker(const struct launch_process *p)
{
    const struct report *r = &p->total;
    char name[64], status[128];
    bool has = r->samples >= 0;
    status_text(p, status, sizeof(status));
    printf("%-10s", launch_name(p, name));
    number_cell(samples_of(p), 12, 0);
    number_cell(has ? r->seconds : p->seconds, 10, 1);
    number_cell(has && r->seconds > 0 ? (double)r->samples / r->seconds : NAN, 12, 0);
    number_cell(has ? r->auc : NAN, 9, 4);
    printf("  %s\n", status);
}

static void print_sum(const struct launch *l)
{
    double samples = 0, seconds = 0, auc = NAN;
    for (int i = 0; i < l->n; i++) {
        const struct report *r = &l->at[i].total;
        if (l->at[i].server || isnan(samples_of(&l->at[i])))
            continue;
        samples += samples_of(&l->at[i]);
        if (r->samples < 0)
            continue;
        seconds = fmax(seconds, r->seconds);
        auc = isnan(auc) ? r->job_auc : auc;
    }
    if (samples <= 0 || seconds <= 0)
        return;
    printf("%-10s%12.0f%10.1f%12.0f", "together", samples, seconds, samples / seconds);
    number_cell(auc, 9, 4);
    printf("\n");
}

void launch_print_table(const struct launch *l)
{
    char name[64], status[128];
    printf("\n%-10s%12s%10s%12s%9s  %s\n", "process", "samples", "seconds", "samples/s", "auc",
           "status");
    for (int i = 0; i < l->n; i++)
        if (!l->at[i].server)
            print_worker(&l->at[i]);
    print_sum(l);
    for (int i = 0; i < l->n; i++) {
        if (!l->at[i].server)
            continue;
        status_text(&l->at[i], status, sizeof(status));
        printf("%-10s%12s%10.1f%12s%9s  %s\n", launch_name(&l->at[i], name), "-", l->at[i].seconds,
               "-", "-", status);
    }
    fflush(stdout);
}

void launch_print_warnings(const struct launch *l)
{
    for (int i = 0; i < l->nwarnings; i++)
        fprintf(stderr, "skiff launch: %s%s\n", i ? "" : "warning: ", l->warnings[i].text);
}

/* ---- what to do next ---- */

static void add_word(struct buf *out, const char *word)
{
    bool plain = *word && !word[strcspn(word, " \t\n'\"\\$*?[]{}()<>|&;`#~!")];
    if (out->len)
        buf_char(out, ' ');
    if (plain) {
        buf_str(out, word);
        return;
    }
    buf_char(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            buf_str(out, "'\\''");
        else
            buf_char(out, *word);
    buf_char(out, '\'');
}

/* Words behind -m that doctor does not have. */
static bool only_trains(const char *word)
{
    static const char *const words[] = {"--resume", "-q", "--quiet", "-v", "--verbose", NULL};
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], word))
            return true;
    return false;
}

/* Who takes part, and how they reach each other. */
static void add_parts(const struct launch *l, const struct launch_args *a, struct buf *line)
{
    const char *const flags[][2] = {{"--transport", a->options.transport},
                                    {"--encrypt", a->options.encrypt},
                                    {"--secret_file", a->secret_file}};
    buf_printf(line, " --servers %s", l->servers_text);
    if (l->workers)
        buf_printf(line, " --workers %s", l->workers_text);
    else
        buf_printf(line, " --worker_num %d", l->nworkers);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (flags[i][1]) {
            add_word(line, flags[i][0]);
            add_word(line, flags[i][1]);
        }
    if (a->options.insecure)
        add_word(line, "--insecure");
}

/* The command of `skiff doctor` for this job: while it runs, or when it has failed. */
static void print_doctor(const struct launch *l, const struct launch_args *a)
{
    struct buf line = BUF_INIT;
    int pid = 0; /* of a worker, or of any process here */
    for (int i = 0; i < l->n && l->failed < 0; i++)
        if (!pid || !l->at[i].server)
            pid = (int)l->at[i].pid;
    buf_str(&line, "skiff doctor");
    for (int i = 0; a->kind == LAUNCH_CONFIG && i < a->ncommand; i++)
        if (!only_trains(a->command[i]))
            add_word(&line, a->command[i]);
    if (pid)
        buf_printf(&line, " --pid %d", pid);
    else
        add_parts(l, a, &line);
    fprintf(stderr, "skiff launch: check this job with: %s\n", line.data);
    buf_deinit(&line);
}

void launch_print_failed(const struct launch *l, const struct launch_args *a)
{
    int others = a->options.collective ? 3 : 0; /* they may say what they saw */
    for (int i = 0; i < l->n && others > 0; i++)
        if (i != l->failed && l->at[i].ended && l->at[i].status && !l->at[i].reported) {
            print_tail(&l->at[i], 10);
            others--;
        }
    print_tail(&l->at[l->failed], 20);
    if (l->nservers)
        print_doctor(l, a);
}

void launch_print_processes(const struct launch *l, const struct launch_args *a)
{
    char name[64];
    for (int i = 0; i < l->n; i++) {
        const struct launch_process *p = &l->at[i];
        fprintf(stderr, "skiff launch: %s%s%s: process %d, log %s\n", launch_name(p, name),
                p->endpoint[0] ? " at " : "", p->endpoint, (int)p->pid, p->log);
    }
    if (l->nservers)
        print_doctor(l, a);
}

/* The line in which a worker says that it has saved the part, or else where it stopped; false: none
 * does. */
static bool find_saved(const struct launch *l, char *out, size_t capacity)
{
    static const char mark[] = "skiff train: stopped ";
    bool found = false, saved = false;
    for (int i = 0; i < l->n && !saved; i++) {
        FILE *f = l->at[i].server ? NULL : fopen(l->at[i].log, "r");
        char line[1024];
        if (f)
            fseek(f, l->at[i].log_from, SEEK_SET);
        while (f && fgets(line, sizeof(line), f))
            if (strstr(line, mark) &&
                (strstr(line, "saved in") || (!found && strstr(line, "is complete")))) {
                line[strcspn(line, "\n")] = 0;
                snprintf(out, capacity, "%s", strstr(line, mark) + strlen("skiff train: "));
                found = true;
                saved |= strstr(line, "saved in") != NULL;
            }
        if (f)
            fclose(f);
    }
    return found;
}

/* Our own command line, with --resume. */
static void add_command_line(struct buf *out)
{
    char text[65536];
    bool resumes = false;
    FILE *f = fopen("/proc/self/cmdline", "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    for (const char *word = text; word < text + n; word += strlen(word) + 1) {
        add_word(out, word);
        resumes |= !strcmp(word, "--resume");
    }
    if (!resumes)
        buf_str(out, " --resume");
}

void launch_print_resume(const struct launch *l, const struct launch_args *a)
{
    char saved[1024];
    struct buf line = BUF_INIT;
    if (a->kind != LAUNCH_CONFIG)
        return;
    if (find_saved(l, saved, sizeof(saved)))
        fprintf(stderr, "skiff launch: %s\n", saved);
    else
        fprintf(stderr, "skiff launch: the running epoch is not saved; complete epochs are\n");
    add_command_line(&line);
    fprintf(stderr, "skiff launch: resume with: %s\n", line.data);
    buf_deinit(&line);
}
