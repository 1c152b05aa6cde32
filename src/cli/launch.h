/* Launch: starts the servers and workers of a job on this machine and looks after them.
 *
 * launch_args.c reads the flags, launch_plan.c decides which processes run here and with what
 * environment, launch_run.c starts, watches and stops them, launch_show.c prints.
 *
 * Nothing is left behind: every process has a session of its own, whose group is killed before its
 * leader is reaped; the launcher is the reaper of orphans; the kernel kills the processes when the
 * launcher dies; and a keeper process, which holds nothing but a pipe, then kills all that is left
 * of their sessions (pipe commands, say, which have groups of their own) and all that has inherited
 * the launch's mark, a variable of the environment. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/command.h"
#include "fleet/report.h"
#include "fleet/secret_file.h"

enum launch_kind { LAUNCH_COMMAND, LAUNCH_SCRIPT, LAUNCH_CONFIG };

struct launch_args {
    int server_num, worker_num; /* 0: not given */
    int start_port;             /* 0: free ports */
    const char *servers, *workers, *log_dir, *transport, *encrypt, *secret_file;
    bool quiet, verbose, config, insecure, share_secret, resume;
    enum launch_kind kind;
    char **command; /* n words and NULL; borrowed, or `longer` */
    int ncommand;
    char **longer; /* the command with --resume; free it */
};

extern const struct options launch_options;
/* Adds what follows from the rest; returns 0, or 2 after a message. launch_ps: with the defaults of
 * that module. */
int launch_args_check(struct launch_args *a, const struct command_call *call, bool launch_ps);

struct launch_process {
    bool server;
    int index;
    const char *endpoint; /* "": a worker without one; borrowed from the launch */
    char *log;            /* path; owned */
    pid_t pid;            /* 0: not started */
    bool ended;
    int status; /* of waitid: exit code, or -signal */
    double started, seconds;
    int pipe; /* reports; -1: none */
    struct buf line;
    struct report now, total; /* total.samples -1: none came */
    bool told;                /* it was stopped by us */
};

struct launch {
    const struct launch_args *args;
    char **servers, **workers; /* addresses; workers may be NULL: without addresses */
    int nservers, nworkers;
    char *servers_text, *workers_text;
    bool elsewhere; /* other machines have a part, too */
    char job[64], secret[SECRET_TEXT];
    struct launch_process *at;
    int n;
    int failed; /* index of the first one that failed; -1: none */
    int signal; /* that ended the launch; 0: none */
};

enum skiff_status launch_plan(struct launch *l, const struct launch_args *a,
                              struct skiff_error *err);
void launch_deinit(struct launch *l);
/* The variables of a process, by calls of set (value NULL: must not be there). */
void launch_env(const struct launch *l, const struct launch_process *p,
                void (*set)(const char *name, const char *value));
/* --workers, where ports may be left out: those without one get first + i, as Paddle's do. free()
 * it. */
char *launch_with_ports(const char *text, int first);
const char *launch_name(const struct launch_process *p, char out[static 64]); /* "worker 0" */

/* Becomes the command; returns an exit status only when it cannot be started (after a message). */
int launch_exec(const struct launch_args *a);
/* Runs all of it; OK: all workers ended well. */
enum skiff_status launch_run(struct launch *l, struct skiff_error *err);

/* ---- what is seen ---- */
struct launch_screen {
    bool terminal, quiet;
    double started, next;
    char last[256];
};
void launch_screen_init(struct launch_screen *s, bool quiet);
void launch_screen_tick(struct launch_screen *s, const struct launch *l, double now);
void launch_screen_clear(struct launch_screen *s);
void launch_print_plan(const struct launch *l);
void launch_print_tail(const struct launch_process *p, int lines);
void launch_print_table(const struct launch *l);
/* Every process, and the command of `skiff doctor`. */
void launch_print_processes(const struct launch *l);
/* The command of `skiff doctor` for this job: while it runs, or when it has failed. */
void launch_print_doctor(const struct launch *l);
/* After a signal: where the part is that was trained, and the command that goes on. */
void launch_print_go_on(const struct launch *l);

#endif
