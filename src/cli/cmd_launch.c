/* skiff launch: a whole job, or this machine's part of it, from one command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/launch.h"
#include "fleet/role.h"

#define STATUS_LOST 3 /* every worker ended well, but something was lost: the notes say what */

/* On PaddleCloud every process has its role already: the command is run as it is. */
static int run_here(const struct launch_args *a, const char *name)
{
    struct skiff_error err = {0};
    struct role role;
    if (role_from_env(&role, SKIFF_ROLE_ENV_AUTO, NULL, NULL, &err) < 0)
        return command_fail(name, &err);
    role_deinit(&role);
    return launch_exec(a);
}

/* After the job: what came out of it. */
static void print_end(const struct launch *l)
{
    bool reported = !l->mode->echoes; /* else the log has it, unless ranks have told us more */
    for (int i = 0; i < l->n; i++)
        reported |= l->at[i].total.samples >= 0;
    if (reported)
        launch_print_table(l);
    launch_print_warnings(l);
    if (l->failed >= 0)
        launch_print_failed(l);
    else if (l->signal)
        launch_print_go_on(l);
}

/* One start of the job. *out_again: it has failed in a way that another start may mend. */
static int run_once(struct launch_args *a, const char *name, bool *out_again)
{
    struct launch l;
    struct skiff_error err = {0};
    int code = 0;
    bool planned = launch_plan(&l, a, &err) == SKIFF_OK;
    if (planned && !a->quiet)
        launch_print_plan(&l);
    enum skiff_status status = planned ? launch_run(&l, &err) : err.code;
    if (planned)
        print_end(&l);
    if (status < 0) {
        command_fail(name, &err);
        code = l.failed >= 0 || l.signal ? l.mode->exit_status(&l) : 1;
    }
    if (planned && !code && l.nnotes)
        code = STATUS_LOST;
    *out_again = l.failed >= 0 && !l.signal;
    launch_deinit(&l);
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
    while (again && a->attempt < a->restarts) {
        launch_again(a);
        fprintf(stderr, "skiff launch: restarting the job (restart %d of %d)\n", a->attempt,
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
    free(a->longer);
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

#define FORMS                                                \
    "[FLAGS] -m config.yaml [-o key=value ...] [--resume]\n" \
    "[FLAGS] script.py [ARGUMENTS]\n"                        \
    "[FLAGS] -- any command"
#define TEXT                                                                                    \
    "Starts the processes of a job, shows its progress, and ends with the job. When a process " \
    "fails, skiff launch names it and stops the others. No process outlives skiff launch. "     \
    "docs/guide/distributed.md describes jobs.\n\n"                                             \
    "With --server_num, --worker_num, --servers or --workers it starts parameter servers and "  \
    "workers. Without them it starts ranks, each of which holds all parameters (collective "    \
    "training).\n\n"                                                                            \
    "-m runs `skiff train` in every process; a script runs with Python.\n\n"                    \
    "Ctrl-C stops the job and saves what it learned of the running epoch; --resume continues."
#define EXAMPLES                                                           \
    "skiff launch --server_num 2 --worker_num 4 -m config.yaml\n"          \
    "skiff launch --nproc_per_node 4 -m config.yaml\n"                     \
    "skiff launch --server_num 1 --worker_num 2 -m config.yaml --resume\n" \
    "skiff launch --servers a:7000,b:7000 --workers a,b --secret_file ~/.skiff/secret train.py"

const struct command command_launch = {
    .name = "launch",
    .summary = "start a job of servers and workers, or of ranks, on one or several machines",
    .usage = FORMS,
    .text = TEXT,
    .examples = EXAMPLES,
    .group = COMMAND_TRAIN,
    .options = &launch_options,
    .args_size = sizeof(struct launch_args),
    .run = run};

const struct command command_launch_ps = {
    .name = "launch-ps",
    .summary = "like launch, with the defaults of paddle.distributed.launch_ps",
    .usage = FORMS,
    .text = TEXT,
    .examples = EXAMPLES,
    .group = COMMAND_TRAIN,
    .options = &launch_options,
    .args_size = sizeof(struct launch_args),
    .run = run_ps};
