/* Launch: starts the processes of a job on this machine and looks after them.
 *
 * There are two modes: servers and workers (launch_ps.c), and ranks that hold all parameters each
 * (launch_collective.c, whose rendezvous of machines is launch_rendezvous.c). A mode decides which
 * processes run here and with what environment; launch_plan.c has what both need. launch_args.c
 * reads the flags and chooses the mode, launch_run.c starts, watches and stops, launch_show.c
 * prints, launch_news.c reads what processes report, launch_again.c knows from what a restart
 * continues.
 *
 * Nothing is left behind: every process has a session of its own, whose group is killed before its
 * leader is reaped; the launcher is the reaper of orphans; the kernel kills the processes when the
 * launcher dies; and a keeper process, which holds nothing but a pipe, then kills all that is left
 * of their sessions (pipe commands, say, which have groups of their own) and all that has
 * inherited the launch's mark, a variable of the environment. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/command.h"
#include "fleet/report.h"
#include "fleet/secret_file.h"

#define LAUNCH_MARK "SKIFF_LAUNCH" /* a variable that all processes of one launch inherit */

#define LAUNCH_RUN 40

enum launch_kind { LAUNCH_COMMAND, LAUNCH_SCRIPT, LAUNCH_CONFIG };

struct launch_args {
    int server_num, worker_num; /* 0: not given */
    int start_port;             /* 0: free ports */
    const char *servers, *workers, *log_dir, *transport, *encrypt, *secret_file;
    size_t server_memory; /* 0: no limit */
    bool quiet, verbose, config, insecure, share_secret, resume;
    /* of collective jobs */
    bool collective, log_overwrite;
    int nproc, nnodes, rank, restarts, max_restart, elastic_level;
    const char *ips, *master, *devices, *host, *job_id, *run_mode, *log_level, *backend;
    const struct launch_mode *mode;
    int attempt;                 /* 0, or the restart that this is */
    char run_before[LAUNCH_RUN]; /* whose epochs lay in the folder at the start */
    enum launch_kind kind;
    char **command; /* n words and NULL; borrowed, or `longer` */
    int ncommand;
    char **longer;       /* the command with --resume; free it */
    const char *program; /* LAUNCH_CONFIG: the skiff that was named; NULL: this one */
};

extern const struct options launch_options;
/* Paddle's variables, which count more than flags; before launch_args_check. 0, or 2 after a
 * message. */
int launch_args_environment(struct launch_args *a, const char *name);
/* Adds what follows from the rest; returns 0, or 2 after a message. launch_ps: with the defaults of
 * that module. */
int launch_args_check(struct launch_args *a, const struct command_call *call, bool launch_ps);
/* From now on every process resumes from the newest epoch. */
void launch_args_resume(struct launch_args *a);
/* Flags and config of `skiff train`, once, before processes are started; 0, or an exit status after
 * a message. */
int launch_check_config(const struct launch_args *a, const char *name);
/* Before the first start; before each further one, which then resumes from what this job has saved.
 */
void launch_again_begin(struct launch_args *a);
void launch_again(struct launch_args *a);
/* Do the flags or the environment name the members? */
bool launch_args_parts(const struct launch_args *a);

/* The state of a process besides its status: from its own reports and from others'. */
struct launch_health {
    double heard;  /* when it last reported anything; 0: never */
    double moved;  /* when its number of samples last changed */
    double window; /* start of the window in which `speed` is measured */
    int64_t window_samples;
    int64_t before;  /* samples of epochs that it has ended */
    double speed;    /* samples a second, over the last few seconds */
    char member[16]; /* "", "here", "left", "dead": as members of the job say */
    uint64_t incarnation;
    double fails;     /* when it reported its failure: it should end soon; 0: none */
    double accused;   /* when others reported it dead or hanging; 0: none */
    char reason[512]; /* "has been silent for 10.1 s" */
    bool hangs;       /* the job ends because of it, and its process had not ended */
    double late;      /* when a process last reported waiting for it */
    double stopped;   /* since when its process is stopped (SIGSTOP); 0: it is not */
};

struct launch_process {
    bool server;
    const char *called; /* "server", "worker", "rank" */
    int index;
    int local_rank;       /* among the ranks of this machine */
    const char *endpoint; /* "": a worker without one; borrowed from the launch */
    char *log;            /* path; owned */
    long log_from;        /* where what this process writes begins */
    pid_t pid;            /* 0: not started */
    bool ended;
    int status; /* of waitid: exit code, or -signal */
    double started, seconds;
    int pipe; /* reports; -1: none */
    struct buf line;
    struct report now, total; /* total.samples -1: none came */
    bool reported;            /* it was stopped by us */
    struct launch_health health;
};

#define LAUNCH_WARNINGS 16

/* A warning for the end of the launch. */
struct launch_warning {
    char text[560];
};

struct launch {
    const struct launch_args *args;
    const struct launch_mode *mode;
    char **servers, **workers; /* addresses; workers may be NULL: without addresses */
    int nservers, nworkers;
    char *servers_text, *workers_text;
    bool elsewhere;      /* other machines have a part, too */
    int nodes, node;     /* collective: machines, and which one this is */
    char *master;        /* PADDLE_MASTER of the ranks; NULL: none */
    char *log_dir;       /* collective: its absolute path */
    char pod[8];         /* a random name */
    bool append;         /* to the logs that are there */
    double save_seconds; /* after a signal processes may save for so long */
    char job[64], secret[SECRET_TEXT];
    struct launch_process *at;
    int n;
    int failed;         /* index of the first one that failed; -1: none */
    int signal;         /* that ended the launch; 0: none */
    double silence;     /* seconds after which members call each other dead: SKIFF_SILENCE_MS */
    bool *workers_here; /* by number: members of the job, on any machine */
    bool members_known; /* somebody has reported on members */
    struct launch_warning notes[LAUNCH_WARNINGS];
    int nnotes; /* not 0: something was lost, and the exit status is not 0 */
};

/* value NULL: the variable must not be there */
typedef void (*launch_set)(const char *name, const char *value);

struct launch_mode {
    const char *process;  /* what a process is called that trains */
    const char *listener; /* what unauthenticated peers could reach: "a server" */
    const char *first;    /* whose machine shares secrets: "server 0" */
    /* After the first failure others may end by themselves for so long: they say what they saw. */
    double grace_seconds;
    bool echoes; /* the first one's log is shown, instead of progress */
    enum skiff_status (*plan)(struct launch *l, struct skiff_error *err);
    void (*env)(const struct launch *l, const struct launch_process *p, launch_set set);
    /* In the process, when it has its environment; may be NULL. */
    void (*ready)(const struct launch *l, const struct launch_process *p);
    void (*print_plan)(const struct launch *l);
    int (*exit_status)(const struct launch *l); /* of a job that has failed or was stopped */
};

extern const struct launch_mode launch_ps_mode, launch_collective_mode;

enum skiff_status launch_plan(struct launch *l, const struct launch_args *a,
                              struct skiff_error *err);
void launch_deinit(struct launch *l);
/* The variables of a process, by calls of set. */
void launch_env(const struct launch *l, const struct launch_process *p, launch_set set);

/* ---- for modes ---- */
/* POD_IP, or --host; NULL: not set. */
const char *launch_own_host(const struct launch_args *a);
/* Is it an address of this machine, by launch_own_host if that is set? */
bool launch_is_here(const struct launch_args *a, const char *endpoint);
/* log: "workerlog.0" */
struct launch_process *launch_add(struct launch *l, const char *called, int index,
                                  const char *endpoint, const char *log);
/* The job's name: of the lists when other machines have a part, else random. */
void launch_name_job(struct launch *l);
/* The user's secret, or one that we make. reachable: other machines can come in. */
enum skiff_status launch_take_secret(struct launch *l, bool reachable, struct skiff_error *err);
/* FLAGS_START_PORT, as in Paddle's launchers; 0: not set. */
enum skiff_status launch_start_flag(int *out, struct skiff_error *err);
/* --workers, where ports may be left out: those without one get first + i, as Paddle's do. free()
 * it. */
char *launch_with_ports(const char *text, int first);
const char *launch_name(const struct launch_process *p, char out[static 64]); /* "worker 0" */

/* Becomes the command; returns an exit status only when it cannot be started (after a message). */
int launch_exec(const struct launch_args *a);
/* Runs all of it; OK: all workers ended well. */
enum skiff_status launch_run(struct launch *l, struct skiff_error *err);

/* ---- what processes report (launch_news.c) ---- */
struct launch_screen;
/* Lines of its pipe that have come. */
void launch_take_reports(struct launch *l, struct launch_process *p, struct launch_screen *s);
/* Looks for processes that are stopped, for a full disk of the logs; once a second. */
void launch_look_around(struct launch *l, struct launch_screen *s, double now);
/* Live processes that others call dead or hanging, for `seconds` at least; NULL: none. */
struct launch_process *launch_accused(struct launch *l, double seconds, double now);
/* Others have ended: workers that are still members of the job will never end. */
void launch_accuse_left_behind(struct launch *l, struct launch_screen *s, double now);
bool launch_is_live(const struct launch_process *p);
/* Are workers of other machines members of the job, as far as is known? */
bool launch_workers_elsewhere(const struct launch *l);
/* A warning, now and at the end; the launch ends with another status than 0. from: whose it is;
 * NULL: the launcher's own. */
void launch_warning(struct launch *l, struct launch_screen *s, const struct launch_process *from,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* ---- what is seen ---- */
/* The first rank's log, on the console. */
struct launch_echo {
    int fd; /* -1: none */
};
void launch_echo_open(struct launch_echo *e, const struct launch *l);
void launch_echo_copy(struct launch_echo *e); /* what is new */
void launch_echo_close(struct launch_echo *e);

struct launch_screen {
    bool terminal, quiet;
    double started, next;
    char last[512];
};
void launch_screen_init(struct launch_screen *s, bool quiet);
void launch_screen_tick(struct launch_screen *s, const struct launch *l, double now);
void launch_screen_clear(struct launch_screen *s);
void launch_print_plan(const struct launch *l);
void launch_print_tail(const struct launch_process *p, int lines);
void launch_print_warnings(const struct launch *l);
/* Of all that have failed by themselves. */
void launch_print_failed(const struct launch *l);
void launch_print_table(const struct launch *l);
/* Every process, and the command of `skiff doctor`. */
void launch_print_processes(const struct launch *l);
/* The command of `skiff doctor` for this job: while it runs, or when it has failed. */
void launch_print_doctor(const struct launch *l);
/* After a signal: where the part is that was trained, and the command that continues. */
void launch_print_go_on(const struct launch *l);

#endif
