/* What the launcher prints: the plan, one progress line, the last lines of a log, the final table.
 *
 * A terminal gets one line that is overwritten;
 * otherwise a line is printed at intervals. The hint for --resume is printed only when a restart
 * would find something to resume from. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "cli/launch_show.h"
#include "cli/progress.h"
#include "launch/view.h"

#define PLAIN_PERIOD 5.0
#define NAMED_WORKERS 6 /* so many are listed; of more only those that are wrong, and the slowest */

static void print_servers_plan(const struct launch *l)
{
    int servers = 0;
    for (int i = 0; i < l->n; i++)
        servers += l->at[i].server;
    fprintf(stderr, "skiff launch: %d server%s (%s) and %d worker%s, logs in %s/\n", l->nservers,
            plural(l->nservers), l->servers_text, l->nworkers, plural(l->nworkers),
            l->options->log_dir);
    if (l->elsewhere)
        fprintf(stderr,
                "skiff launch: of these, %d server%s and %d worker%s are on this machine%s\n",
                servers, plural(servers), l->n - servers, plural(l->n - servers),
                l->secret[0] ? "" : "; no secret: every process that reaches a server can connect");
}

static void print_ranks_plan(const struct launch *l, const struct launch_args *a)
{
    bool gpu_backend = a->backend && (!strcmp(a->backend, "nccl") || !strcmp(a->backend, "bkcl"));
    if ((a->devices || gpu_backend) && !a->options.attempt)
        fprintf(stderr, "skiff launch: ranks use CPUs; device names are ignored\n");
    fprintf(stderr, "skiff launch: %d rank%s (%s), logs in %s/\n", l->nworkers, plural(l->nworkers),
            l->workers_text, a->options.log_dir);
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

static void add_running(struct buf *out, const struct launch *l, const struct launch_view *v,
                        const char *before, const char *between)
{
    buf_printf(out, "%s%d %s%s", before, v->running, launch_process_name(l), plural(v->running));
    if (l->nservers)
        buf_printf(out, "%s%d server%s", between, v->servers, plural(v->servers));
}

/* False: nothing about it stands out. */
static bool add_worker(struct buf *out, const struct launch_process *p, double now, bool first)
{
    char name[64];
    struct launch_worker_view v = launch_worker_view_of(p, now);
    if (v.state == LAUNCH_WORKER_TRAINS)
        return false;
    buf_printf(out, "%s%s ", first ? "; " : ", ", launch_name(p, name));
    if (v.state == LAUNCH_WORKER_DEAD)
        buf_str(out, "dead");
    else if (v.state == LAUNCH_WORKER_STOPPED)
        buf_printf(out, "stopped for %.0f s", v.seconds);
    else if (v.state == LAUNCH_WORKER_SILENT)
        buf_printf(out, "last heard from %.0f s ago", v.seconds);
    else if (v.state == LAUNCH_WORKER_WAITS)
        buf_str(out, "waits at the end of its files");
    else
        buf_printf(out, "has trained nothing for %.0f s", v.seconds);
    return true;
}

/* Each worker's speed and last sign of life; of many workers only what stands out. */
static void add_workers(struct buf *out, const struct launch *l, int n, double now)
{
    int shown = 0;
    const struct launch_process *slowest = NULL;
    double least = 0;
    char name[64];
    for (int i = 0; i < l->n && n > 1; i++) {
        const struct launch_process *p = &l->at[i];
        if (p->server || p->ended || p->now.epoch < 0)
            continue;
        double speed = launch_worker_view_of(p, now).speed;
        if (shown < NAMED_WORKERS && add_worker(out, p, now, !shown))
            shown++;
        else if (n <= NAMED_WORKERS)
            buf_printf(out, "%s%s %.0f/s", shown++ ? ", " : "; ", launch_name(p, name), speed);
        else if (!slowest || speed < least) {
            slowest = p;
            least = speed;
        }
    }
    if (slowest)
        buf_printf(out, "%sslowest %s %.0f/s", shown ? ", " : "; ", launch_name(slowest, name),
                   least);
}

static void describe(const struct launch *l, double spent, char *out, size_t capacity)
{
    char time[32], line[128], span[48];
    double now = clock_seconds();
    struct buf b = BUF_INIT;
    struct launch_view v = launch_view_of(l, now);
    if (v.reports) {
        launch_span_text(&v, span);
        buf_printf(&b, "%s: %.0f %%, %.0f samples/s", span, 100 * v.share, v.rate);
        if (!isnan(v.loss))
            buf_printf(&b, ", loss %.4f", v.loss);
        if (!isnan(v.auc))
            buf_printf(&b, ", auc %.4f", v.auc);
        add_running(&b, l, &v, ", ", ", ");
        buf_printf(&b, ", %s", seconds_text(spent, time));
        if (v.tables)
            buf_printf(&b, ", %s", v.tables);
        add_workers(&b, l, v.reports, now);
    } else {
        launch_last_line(l, line, sizeof(line));
        add_running(&b, l, &v, "", " and ");
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
    char name[64];
    struct buf text = BUF_INIT;
    launch_log_tail(p, lines, &text);
    if (text.len)
        fprintf(stderr, "---- last lines of %s (%s)\n%s\n----\n", p->log, launch_name(p, name),
                text.data);
    else
        fprintf(stderr, "---- %s (%s) is empty\n", p->log, launch_name(p, name));
    buf_deinit(&text);
}

static void number_cell(double v, int width, int digits)
{
    if (isnan(v))
        printf("%*s", width, "-");
    else
        printf("%*.*f", width, digits, v);
}

static void print_row(const char *name, const struct launch_row *row)
{
    printf("%-10s", name);
    number_cell(row->samples, 12, 0);
    number_cell(row->seconds, 10, 1);
    number_cell(row->speed, 12, 0);
    number_cell(row->auc, 9, 4);
}

static void print_process(const struct launch_process *p)
{
    struct launch_row row = launch_row_of(p);
    char name[64], status[128];
    launch_status_text(p, status, sizeof(status));
    print_row(launch_name(p, name), &row);
    printf("  %s\n", status);
}

void launch_print_table(const struct launch *l)
{
    struct launch_row sum;
    printf("\n%-10s%12s%10s%12s%9s  %s\n", "process", "samples", "seconds", "samples/s", "auc",
           "status");
    for (int i = 0; i < l->n; i++)
        if (!l->at[i].server)
            print_process(&l->at[i]);
    if (launch_row_sum(l, &sum)) {
        print_row("together", &sum);
        printf("\n");
    }
    for (int i = 0; i < l->n; i++)
        if (l->at[i].server)
            print_process(&l->at[i]);
    fflush(stdout);
}

void launch_print_warnings(const struct launch *l)
{
    for (int i = 0; i < l->nwarnings; i++)
        fprintf(stderr, "skiff launch: %s%s\n", i ? "" : "warning: ", l->warnings[i].text);
}

/* ---- what to do next ---- */

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
            launch_add_word(line, flags[i][0]);
            launch_add_word(line, flags[i][1]);
        }
    if (a->options.insecure)
        launch_add_word(line, "--insecure");
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
            launch_add_word(&line, a->command[i]);
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
        launch_add_word(out, word);
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
    if (launch_saved_line(l, saved, sizeof(saved)))
        fprintf(stderr, "skiff launch: %s\n", saved);
    else
        fprintf(stderr, "skiff launch: the running epoch is not saved; complete epochs are\n");
    add_command_line(&line);
    fprintf(stderr, "skiff launch: resume with: %s\n", line.data);
    buf_deinit(&line);
}
