/* The flags of `skiff launch`: launch_args.c reads them and chooses the mode, launch_again.c knows
 * from what a restart continues, launch_show.c prints. */
#ifndef CLI_LAUNCH_ARGS_H
#define CLI_LAUNCH_ARGS_H

#include "cli/command.h"
#include "launch/launch.h"

#define LAUNCH_RUN 40

enum launch_kind { LAUNCH_COMMAND, LAUNCH_SCRIPT, LAUNCH_CONFIG };

struct launch_args {
    struct launch_options options;
    const char *secret_file;
    bool quiet, verbose, config, resume;
    int log_format; /* enum log_format */
    bool has_log_format;
    int restarts, max_restart, elastic_level;
    const char *devices, *run_mode, *log_level, *backend;
    char run_before[LAUNCH_RUN]; /* whose epochs lay in the folder at the start */
    enum launch_kind kind;
    char **command; /* n words and NULL, as the user gave them; borrowed, or `longer` */
    int ncommand;
    char **longer;       /* the command with --resume; free it */
    const char *program; /* LAUNCH_CONFIG: the skiff that was named; NULL: this one */
    char exe[4096], python_path[4200];
};

extern const struct options launch_options_table;
/* Paddle's variables, which count more than flags; before launch_args_check. 0, or 2 after a
 * message. */
int launch_args_environment(struct launch_args *a, const char *name);
/* Adds what follows from the rest; returns 0, or 2 after a message. launch_ps: with the defaults of
 * that module. */
int launch_args_check(struct launch_args *a, const struct command_call *call, bool launch_ps);
/* From now on every process resumes from the newest epoch. */
void launch_args_resume(struct launch_args *a);
/* options.command and options.python_path, from the rest. */
void launch_args_fill(struct launch_args *a);
void launch_args_deinit(struct launch_args *a);
/* Flags and config of `skiff train`, once, before processes are started; 0, or an exit status after
 * a message. */
int launch_check_config(const struct launch_args *a, const char *name);
/* The path of the config of LAUNCH_CONFIG, or NULL; part of the command. */
const char *launch_config(const struct launch_args *a);
/* Before the first start; before each further one, which then resumes from what this job has saved.
 */
void launch_again_begin(struct launch_args *a);
void launch_again(struct launch_args *a);
/* Do the flags or the environment name the members? */
bool launch_args_parts(const struct launch_args *a);

#endif
