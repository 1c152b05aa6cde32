/* What `skiff train` in every process will find: whether its flags and its config are right, before
 * anything is started; and from what a restart continues: the epochs that this job has saved, not
 * those that another run had left in the folder before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/config.h"
#include "train/job.h"
#include "cli/launch_args.h"
#include "save/runs.h"
#include "cli/task_flags.h"

/* The flags of the command, as `skiff train` reads them; flags and words are the caller's. */
static enum skiff_status read_flags(const struct launch_args *a, struct task_args *flags,
                                    struct option_words *words, struct skiff_error *err)
{
    /* as if the first word were the program's name: options_parse begins behind it */
    char **argv = mem_alloc_or_die(((size_t)a->ncommand + 2) * sizeof(*argv));
    memcpy(argv + 1, a->command, (size_t)a->ncommand * sizeof(*argv));
    options_init(command_train.options, flags);
    enum skiff_status status =
        options_parse(command_train.options, flags, a->ncommand + 1, argv, words, err);
    free(argv);
    return status;
}

const char *launch_config(const struct launch_args *a)
{
    struct task_args flags = {0};
    struct option_words words = {0};
    if (a->kind != LAUNCH_CONFIG)
        return NULL;
    (void)read_flags(a, &flags, &words, NULL); /* launch_check_config has reported what is wrong */
    const char *path = flags.config;
    options_deinit(command_train.options, &flags);
    free(words.at);
    return path;
}

/* The network is built as every process will build it; data are not looked at: they may be on other
 * machines only. */
int launch_check_config(const struct launch_args *a, const char *name)
{
    struct task_args flags = {0};
    struct option_words words = {0};
    struct task task;
    struct skiff_error err = {0};
    int code = 0;
    task_args_print(&flags, "train");
    if (a->kind != LAUNCH_CONFIG)
        return 0;
    if (read_flags(a, &flags, &words, &err) < 0)
        code = command_usage(name, "%s", err.message);
    else if (flags.config && task_open(&task, &flags, TASK_TRAINS, &err) < 0)
        code = command_fail(name, &err);
    else if (flags.config) {
        if (!a->options.collective && job_check(&task, &flags, &err) < 0)
            code = command_fail(name, &err);
        task_close(&task);
    }
    options_deinit(command_train.options, &flags);
    free(words.at);
    return code;
}

/* The id of the run that has saved last where the command saves; "": none. */
static void newest_run(const struct launch_args *a, char out[static LAUNCH_RUN])
{
    struct task_args flags = {0};
    struct option_words words = {0};
    struct task task = {0};
    struct run_list runs = {0};
    out[0] = 0;
    bool ok = read_flags(a, &flags, &words, NULL) == SKIFF_OK && flags.config &&
              config_open(flags.config, &task.config, NULL) == SKIFF_OK;
    for (int i = 0; ok && i < flags.overrides.n; i++)
        ok = config_override(task.config, flags.overrides.at[i], NULL) == SKIFF_OK;
    task.name = flags.name;
    if (ok && run_list_read(&runs, task_save_path(&task), NULL, NULL) == SKIFF_OK)
        snprintf(out, LAUNCH_RUN, "%s", runs.run);
    run_list_deinit(&runs);
    buf_deinit(&task.model_path);
    config_close(task.config);
    options_deinit(command_train.options, &flags);
    free(words.at);
}

void launch_again_begin(struct launch_args *a)
{
    if (a->restarts && a->kind == LAUNCH_CONFIG)
        newest_run(a, a->run_before);
}

void launch_again(struct launch_args *a)
{
    char run[LAUNCH_RUN] = "";
    a->options.attempt++;
    if (a->kind != LAUNCH_CONFIG)
        return;
    newest_run(a, run);
    /* other machines may not see the folder: there all must decide alike */
    bool several = a->options.nnodes > 1 || (a->options.ips && strchr(a->options.ips, ','));
    if (several || a->resume || strcmp(run, a->run_before) != 0)
        launch_args_resume(a);
}
