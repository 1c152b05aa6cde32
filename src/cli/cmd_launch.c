/* skiff launch: a whole job, or this machine's part of it, from one command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/launch.h"
#include "fleet/role.h"

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

static int run_job(const struct launch_args *a, const char *name, bool launch_ps)
{
    struct launch l;
    struct skiff_error err = {0};
    bool any = a->servers || a->workers || a->server_num || a->worker_num;
    if (!launch_ps && !any && role_env_is_set(NULL, NULL))
        return run_here(a, name);
    enum skiff_status status = launch_plan(&l, a, &err);
    if (status == SKIFF_OK) {
        if (!a->quiet)
            launch_print_plan(&l);
        status = launch_run(&l, &err);
        launch_print_table(&l);
        if (l.failed >= 0) {
            launch_print_tail(&l.at[l.failed], 20);
            launch_print_doctor(&l);
        } else if (l.signal) {
            launch_print_go_on(&l);
        }
    }
    int code = status == SKIFF_OK ? 0 : command_fail(name, &err);
    if (code && l.failed < 0 && l.signal)
        code = 128 + l.signal;
    launch_deinit(&l);
    return code;
}

static int check_and_run(const struct command_call *call, bool launch_ps)
{
    struct launch_args *a = call->args;
    int status = launch_args_check(a, call, launch_ps);
    status = status ? status : run_job(a, call->name, launch_ps);
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
#define TEXT                                                                                       \
    "Starts parameter servers and workers, shows their progress, and ends when the job ends. The " \
    "first process that fails is named and the others are stopped; nothing is left behind, "       \
    "however the launch ends. docs/launch.md tells more.\n\n"                                      \
    "-m runs `skiff train` in every process, a script runs with python.\n\n"                       \
    "Ctrl-C stops the job; what was learnt of the running epoch is saved, and --resume goes on."

const struct command command_launch = {
    .name = "launch",
    .summary = "start servers and workers, here or on many machines, and look after them",
    .usage = FORMS,
    .text = TEXT,
    .options = &launch_options,
    .args_size = sizeof(struct launch_args),
    .run = run};

const struct command command_launch_ps = {
    .name = "launch-ps",
    .summary = "the same with the defaults of paddle.distributed.launch_ps",
    .usage = FORMS,
    .text = TEXT,
    .options = &launch_options,
    .args_size = sizeof(struct launch_args),
    .run = run_ps};
