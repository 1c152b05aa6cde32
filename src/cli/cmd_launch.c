/* skiff launch: a whole job, or this machine's part of it, from one command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/launch.h"
#include "fleet/role.h"

static void help(const char *name)
{
    printf(
        "usage: skiff %s [FLAGS] -m config.yaml [-o key=value ...]\n"
        "       skiff %s [FLAGS] script.py [ARGUMENTS]\n"
        "       skiff %s [FLAGS] -- any command\n\n"
        "Starts parameter servers and workers, shows their progress, and ends when the job ends.\n"
        "The first process that fails is named and the others are stopped; nothing is left\n"
        "behind, however the launch ends. docs/launch.md tells more.\n\n"
        "  --server_num N --worker_num N   so many on this machine, on free ports\n"
        "  --servers host:port,host:port   servers; every machine starts those with its own\n"
        "  --workers host,host             addresses (POD_IP says which one it is)\n"
        "  --endpoints host:port,...       the same as --servers\n"
        "  --start_port N                  ports of --server_num: N, N + 1, ...\n"
        "  --log_dir DIR                   serverlog.N and workerlog.N; log (launch-ps: logs)\n"
        "  -q, --quiet                     no progress\n\n"
        "-m runs `skiff train` in every process, a script runs with python. Flags of Paddle's\n"
        "launchers that mean nothing here are taken and not used.\n",
        name, name, name);
}

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

static int run(const struct launch_args *a, const char *name, bool launch_ps)
{
    struct launch l;
    struct skiff_error err = {0};
    bool any = a->servers || a->workers || a->server_num >= 0 || a->worker_num >= 0;
    if (!launch_ps && !any && role_env_is_set(NULL, NULL))
        return run_here(a, name);
    enum skiff_status status = launch_plan(&l, a, &err);
    if (status == SKIFF_OK) {
        if (!a->quiet)
            launch_print_plan(&l);
        status = launch_run(&l, &err);
        launch_print_table(&l);
        if (l.failed >= 0)
            launch_print_tail(&l.at[l.failed], 20);
    }
    int code = status == SKIFF_OK ? 0 : command_fail(name, &err);
    if (code && l.failed < 0 && l.signal)
        code = 128 + l.signal;
    launch_deinit(&l);
    return code;
}

static int launch_main(int argc, char **argv, bool launch_ps)
{
    struct launch_args a;
    int status = launch_args_parse(&a, argc, argv, launch_ps);
    if (a.help)
        help(launch_ps ? "launch-ps" : "launch");
    else if (!status)
        status = run(&a, argv[0], launch_ps);
    launch_args_deinit(&a);
    return status;
}

int cmd_launch(int argc, char **argv)
{
    return launch_main(argc, argv, false);
}

int cmd_launch_ps(int argc, char **argv)
{
    return launch_main(argc, argv, true);
}
