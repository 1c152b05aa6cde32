/* skiff launch: a whole job, or this machine's part of it, from one command.
 *
 * The arguments become a plan (launch_args.h), src/launch starts and watches the processes, and
 * launch_show.h prints its events. Signals are read from a descriptor in the same loop, so that no
 * handler runs between the launcher's steps: the first one asks the processes to stop, the second
 * kills them. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/launch_show.h"
#include "cli/task_flags.h"
#include "task/task.h"
#include "config/config.h"
#include "fleet/role.h"

#define STATUS_LOST 3 /* every worker ended well, but something was lost: the notes say what */

/* On PaddleCloud every process has its role already: the command is run as it is. */
static int run_here(struct launch_args *a, const char *name)
{
    struct skiff_error err = {0};
    struct role role;
    if (role_from_env(&role, SKIFF_ROLE_ENV_AUTO, NULL, NULL, &err) < 0)
        return command_fail(name, &err);
    role_deinit(&role);
    launch_args_fill(a);
    launch_exec(&a->options, &err);
    fprintf(stderr, "skiff launch: %s\n", err.message);
    return 127;
}

/* ---- the plan ---- */

static enum skiff_status make_plan(struct launch_args *a, struct launch_screen *screen,
                                   struct launch **out, struct skiff_error *err)
{
    struct launch_options *o = &a->options;
    struct launch_events events = launch_screen_events(screen);
    struct task_args given = {
        .encrypt = o->encrypt, .secret_file = a->secret_file, .insecure = o->insecure};
    struct config *c = NULL;
    launch_args_fill(a);
    o->security = (struct settings_security){o->encrypt, a->secret_file, o->insecure};
    const char *path = launch_config(a);
    if (path && config_open(path, &c, NULL) == SKIFF_OK)
        task_security(&given, c, &o->security);
    enum skiff_status status = launch_create(o, &events, out, err);
    config_close(c);
    return status;
}

/* ---- running ---- */

/* Signals that stop the job come by a descriptor. Under nohup it would hear a hangup, too. */
static int open_signals(sigset_t *before)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    if (!interrupt_hangup_ignored())
        sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_BLOCK, &mask, before);
    return signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void take_signals(struct launch *l, int signals, struct launch_screen *screen)
{
    struct signalfd_siginfo s;
    while (read(signals, &s, sizeof(s)) == sizeof(s)) {
        if (!l->signal) {
            launch_screen_clear(screen);
            fprintf(stderr,
                    "skiff launch: %s, stopping the job: %ss have %.0f s to save (a second signal "
                    "stops it at once and saves nothing)\n",
                    s.ssi_signo == SIGINT ? "interrupted" : strsignal((int)s.ssi_signo),
                    launch_process_name(l), l->save_seconds);
        }
        launch_stop(l, (int)s.ssi_signo);
    }
}

static void watch(struct launch *l, const struct launch_args *a, int signals,
                  struct launch_screen *screen)
{
    struct launch_echo echo = {.fd = -1};
    if (a->options.collective && !a->quiet)
        launch_echo_open(&echo, l);
    while (launch_is_running(l)) {
        launch_step(l, signals);
        take_signals(l, signals, screen);
        launch_echo_copy(&echo);
        launch_screen_tick(screen, l, clock_seconds());
    }
    launch_screen_clear(screen);
    launch_echo_close(&echo);
}

static enum skiff_status run_launch(struct launch *l, const struct launch_args *a,
                                    struct launch_screen *screen, struct skiff_error *err)
{
    sigset_t before;
    int signals = open_signals(&before);
    if (signals < 0)
        return error_set_sys(err, "no signal file");
    launch_screen_init(screen, a);
    if (launch_start(l, &before, NULL) == SKIFF_OK && a->verbose)
        launch_print_processes(l, a);
    watch(l, a, signals, screen);
    enum skiff_status status = launch_finish(l, err);
    close(signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* After the job: what came out of it. */
static void print_end(const struct launch *l, const struct launch_args *a)
{
    bool reported = !a->options.collective; /* else the log has it, unless ranks have reported */
    for (int i = 0; i < l->n; i++)
        reported |= l->at[i].total.samples >= 0;
    if (reported)
        launch_print_table(l);
    launch_print_warnings(l);
    if (l->failed >= 0)
        launch_print_failed(l, a);
    else if (l->signal)
        launch_print_resume(l, a);
}

/* One start of the job. *out_again: it has failed in a way that another start may mend. */
static int run_once(struct launch_args *a, const char *name, bool *out_again)
{
    struct launch *l;
    struct launch_screen screen;
    struct skiff_error err = {0};
    int code = 0;
    *out_again = false;
    launch_screen_init(&screen, a);
    if (make_plan(a, &screen, &l, &err) < 0) {
        command_fail(name, &err);
        return 1;
    }
    if (!a->quiet)
        launch_print_plan(l, a);
    enum skiff_status status = run_launch(l, a, &screen, &err);
    print_end(l, a);
    if (status < 0) {
        command_fail(name, &err);
        code = l->failed >= 0 || l->signal ? launch_exit_status(l) : 1;
    }
    if (!code && l->nwarnings)
        code = STATUS_LOST;
    *out_again = l->failed >= 0 && !l->signal;
    launch_destroy(l);
    return code;
}

static int run_job(struct launch_args *a, const char *name)
{
    bool again = false;
    int code = launch_check_config(a, name);
    if (code)
        return code;
    launch_again_begin(a);
    code = run_once(a, name, &again);
    while (again && a->options.attempt < a->restarts) {
        launch_again(a);
        fprintf(stderr, "skiff launch: restarting the job (restart %d of %d)\n", a->options.attempt,
                a->restarts);
        code = run_once(a, name, &again);
    }
    return code;
}

static int check_and_run(const struct command_call *call, bool launch_ps)
{
    struct launch_args *a = call->args;
    bool here = !launch_ps && !launch_args_parts(a) && role_env_is_set(NULL, NULL);
    int status = launch_ps ? 0 : launch_args_environment(a, call->name);
    status = status ? status : launch_args_check(a, call, launch_ps);
    if (!status)
        status = here ? run_here(a, call->name) : run_job(a, call->name);
    launch_args_deinit(a);
    return status;
}

static int run(const struct command_call *call)
{
    return check_and_run(call, false);
}

static int run_ps(const struct command_call *call)
{
    return check_and_run(call, true);
}

#define FORMS                                             \
    "[FLAGS] config.yaml [-o key=value ...] [--resume]\n" \
    "[FLAGS] script.py [ARGUMENTS]\n"                     \
    "[FLAGS] -- any command"
#define TEXT                                                                                    \
    "Starts the processes of a job, shows its progress, and ends with the job. When a process " \
    "fails, skiff launch names it and stops the others. No process outlives skiff launch. "     \
    "docs/guide/distributed.md describes jobs.\n\n"                                             \
    "With --server_num, --worker_num, --servers or --workers it starts parameter servers and "  \
    "workers. Without them it starts ranks, each of which holds all parameters (collective "    \
    "training).\n\n"                                                                            \
    "With a config it runs `skiff train` in every process; a script runs with Python.\n\n"      \
    "Ctrl-C stops the job and saves what it learned of the running epoch; --resume continues."
#define EXAMPLES                                                        \
    "skiff launch --server_num 2 --worker_num 4 config.yaml\n"          \
    "skiff launch --nproc_per_node 4 config.yaml\n"                     \
    "skiff launch --server_num 1 --worker_num 2 config.yaml --resume\n" \
    "skiff launch --servers a:7000,b:7000 --workers a,b --secret_file ~/.skiff/secret train.py"

const struct command command_launch = {
    .name = "launch",
    .summary = "start a job of servers and workers, or of ranks, on one or several machines",
    .usage = FORMS,
    .text = TEXT,
    .examples = EXAMPLES,
    .group = COMMAND_TRAIN,
    .options = &launch_options_table,
    .args_size = sizeof(struct launch_args),
    .run = run};

const struct command command_launch_ps = {
    .name = "launch-ps",
    .summary = "like launch, with the defaults of paddle.distributed.launch_ps",
    .usage = FORMS,
    .text = TEXT,
    .examples = EXAMPLES,
    .group = COMMAND_TRAIN,
    .options = &launch_options_table,
    .args_size = sizeof(struct launch_args),
    .run = run_ps};
