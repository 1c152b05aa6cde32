/* Processes of trials (tune_process.h). The child is made by fork alone: the parent has no other
 * threads. It writes one struct to a pipe, which holds it until the parent reads; a child that has
 * written none was killed, or has crashed. */
#include "analysis/tune_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <skiff/trainer.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "save/runs.h"
#include "train/valid.h"

struct outcome {
    struct skiff_error error; /* code 0: none */
    int epochs, best_epoch;
    double value, seconds;
    char metric[16];
};

/* ---- the child ---- */

/* To the trial's log. */
static void write_line(void *log, const char *line)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "%s\n", line);
    ssize_t wrote = write(*(const int *)log, text.data, text.len);
    (void)wrote; /* a disk that is full does not end the trial */
    buf_deinit(&text);
}

static enum skiff_status read_best(const struct tune_run *run, struct outcome *out,
                                   struct skiff_error *err)
{
    struct valid_best best;
    TRY(valid_best_read(run->folder, &best, err));
    if (best.epoch < 0 || !isfinite(best.value))
        return error_set(err, SKIFF_INVALID, "validation has found no number to compare");
    out->value = best.value;
    out->best_epoch = best.epoch;
    snprintf(out->metric, sizeof out->metric, "%s", valid_metric_name(best.metric));
    return SKIFF_OK;
}

/* Of all its parts: a trial that resumes, or a further rung, trains only what is left. */
static enum skiff_status count_epochs(const struct tune_run *run, struct outcome *out,
                                      struct skiff_error *err)
{
    struct run_list list;
    enum skiff_status status = run_list_read(&list, run->folder, NULL, err);
    if (status == SKIFF_OK)
        out->epochs = run_list_before(&list, INT_MAX) + 1;
    run_list_deinit(&list);
    return status;
}

static enum skiff_status train(const struct tune_run *run, int *log, struct outcome *out,
                               struct skiff_error *err)
{
    const struct skiff_trainer_observer lines = {.line = write_line, .user = log};
    struct skiff_trainer *t =
        skiff_trainer_create(&(struct skiff_trainer_config){.config = run->config,
                                                            .options = run->options,
                                                            .noptions = run->noptions,
                                                            .resume = true,
                                                            .on_log = write_line,
                                                            .user = log},
                             err);
    enum skiff_status status = t ? skiff_trainer_add_observer(t, &lines, err) : err->code;
    if (status == SKIFF_OK)
        status = skiff_trainer_run(t, err);
    skiff_trainer_destroy(t);
    if (status == SKIFF_OK)
        status = count_epochs(run, out, err);
    return status == SKIFF_OK ? read_best(run, out, err) : status;
}

static void be_child(const struct tune_run *run, pid_t parent, int fd)
{
    struct outcome out = {.best_epoch = -1, .value = NAN};
    double started = clock_seconds();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it has ended meanwhile */
        _exit(1);
    signal(SIGINT, SIG_IGN); /* the parent decides */
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    int log = open(run->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(log >= 0 ? log : null, STDOUT_FILENO);
    dup2(log >= 0 ? log : null, STDERR_FILENO);
    if (train(run, &log, &out, &out.error) == SKIFF_OK)
        out.error.code = SKIFF_OK;
    else
        write_line(&log, out.error.message);
    out.seconds = clock_seconds() - started;
    ssize_t wrote = write(fd, &out, sizeof out);
    fflush(NULL);
    _exit(wrote == (ssize_t)sizeof out ? 0 : 1);
}

/* ---- the parent ---- */

enum skiff_status tune_process_start(struct tune_process *p, const struct tune_run *run,
                                     const struct tune_part *part, struct skiff_error *err)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe(ends) < 0)
        return error_set_sys(err, "a pipe for trial %d", part->trial);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC); /* pipe commands of the trial do not hold it */
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    fflush(NULL); /* or the child would write it, too */
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_child(run, parent, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return error_set_sys(err, "a process for trial %d", part->trial);
    }
    *p = (struct tune_process){.pid = pid, .fd = ends[0], .part = *part};
    return SKIFF_OK;
}

static ssize_t read_whole(int fd, void *to, size_t n)
{
    ssize_t got;
    do
        got = read(fd, to, n);
    while (got < 0 && errno == EINTR);
    return got;
}

static int reap(struct tune_process *p)
{
    int how = 0;
    while (waitpid(p->pid, &how, 0) < 0 && errno == EINTR)
        ;
    close(p->fd);
    p->pid = 0;
    return how;
}

void tune_process_end(struct tune_process *p, char metric[static 16])
{
    struct outcome out = {.best_epoch = -1, .value = NAN};
    char text[200];
    bool complete = read_whole(p->fd, &out, sizeof out) == (ssize_t)sizeof out;
    int how = reap(p);
    *metric = '\0';
    p->part.value = complete && out.error.code == SKIFF_OK ? out.value : NAN;
    p->part.epochs = complete ? out.epochs : 0;
    p->part.best_epoch = complete ? out.best_epoch : -1;
    p->part.seconds = complete ? out.seconds : NAN;
    p->part.error = NULL;
    if (complete && out.error.code == SKIFF_OK) {
        snprintf(metric, 16, "%s", out.metric);
        return;
    }
    if (!complete && WIFSIGNALED(how))
        snprintf(text, sizeof text, "its process was ended by signal %d (%s)", WTERMSIG(how),
                 strsignal(WTERMSIG(how)));
    else if (!complete)
        snprintf(text, sizeof text, "its process ended with status %d", WEXITSTATUS(how));
    p->part.error = mem_strdup_or_die(complete ? out.error.message : text);
}

void tune_process_kill(struct tune_process *p)
{
    if (!p->pid)
        return;
    kill(p->pid, SIGKILL);
    (void)reap(p);
}
