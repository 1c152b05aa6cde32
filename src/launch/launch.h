/* Launch: starts the processes of a job on this machine and looks after them. A plan goes in,
 * events come out.
 *
 *   launch_create    the plan: addresses, the job's name and secret, the processes of this machine
 *   launch_start     starts them
 *   launch_step      while launch_is_running: waits a moment, takes what they report, decides
 *   launch_stop      from outside, or by a signal: they may save; the second time they are killed
 *   launch_finish    the result, when nothing is left of them
 *
 * There are two modes: servers and workers (ps.c), and ranks that hold all parameters each
 * (collective.c, whose rendezvous of machines is rendezvous.c). A mode decides which processes run
 * here and with what environment; plan.c has what both need. run.c starts, watches and stops,
 * reports.c reads what processes report.
 *
 * Nothing is left behind: every process has a session of its own, whose group is killed before its
 * leader is reaped; the launcher is the reaper of orphans; the kernel kills the processes when the
 * launcher dies; and a keeper process (keeper.h) then kills all that is left.
 *
 * Threads: one user at a time; the thread that starts processes must outlive them. Children that
 * the caller had before launch_start are left alone; those that it starts meanwhile are not. */
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "fleet/report.h"
#include "metrics/metrics.h"
#include "fleet/secret_file.h"
#include "fleet/settings.h"

#define LAUNCH_MARK "SKIFF_LAUNCH" /* a variable that all processes of one launch inherit */

/* What is to be started. Texts are borrowed; they must outlive the launch. */
struct launch_options {
    bool collective;            /* ranks; else servers and workers */
    int server_num, worker_num; /* 0: not given */
    int start_port;             /* 0: free ports */
    const char *servers, *workers, *log_dir, *transport, *encrypt;
    size_t server_memory; /* 0: no limit */
    bool share_secret, insecure;
    struct settings_security security; /* where a secret comes from; only for launch_create */
    /* of collective jobs */
    bool log_overwrite;
    int nproc, nnodes, rank; /* rank -1: by arrival */
    const char *ips, *master, *host, *job_id;
    int attempt;             /* 0, or the restart that this is */
    char **command;          /* words and NULL */
    const char *python_path; /* a folder that PYTHONPATH begins with; NULL: none */
    bool saves;              /* processes save their part when they are stopped */
};

/* The state of a process besides its status: from its own reports and from others'. */
struct launch_health {
    double heard;    /* when it last reported anything; 0: never */
    double moved;    /* when its number of samples last changed */
    double window;   /* start of the window in which `speed` is measured */
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
    int end;              /* readable when it has ended; -1: it is looked at now and then */
    bool ended;
    int status; /* of waitid: exit code, or -signal */
    double started, seconds;
    int pipe; /* reports; -1: none */
    struct buf line;
    struct report now, total;                   /* total.samples -1: none came */
    struct metrics_snapshot counted, at_window; /* by it; at health.window */
    bool reported;                              /* it was stopped by us */
    struct launch_health health;
};

enum launch_event_kind {
    LAUNCH_EVENT_STARTED, /* a process */
    LAUNCH_EVENT_ENDED,   /* a process; see its status */
    LAUNCH_EVENT_WAITING, /* for other machines, every few seconds */
    LAUNCH_EVENT_NOTICE,  /* something to know */
    LAUNCH_EVENT_WARNING, /* something was lost; it is among the launch's warnings, too */
};

struct launch_event {
    enum launch_event_kind kind;
    const struct launch_process *process; /* NULL: not of one */
    const char *text;                     /* of the last three kinds */
};

/* Called by the thread that calls the launch. */
struct launch_events {
    void (*on_event)(void *arg, const struct launch_event *event); /* NULL: nobody hears of it */
    void *arg;
};

#define LAUNCH_WARNINGS 16

struct launch_warning {
    char text[560];
};

/* Read it, and leave writing to the functions. */
struct launch {
    const struct launch_options *options;
    struct launch_events events;
    const struct launch_mode *mode;
    struct launch_runner *runner;
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
    struct launch_warning warnings[LAUNCH_WARNINGS];
    int nwarnings; /* not 0: something was lost */
};

/* With --master it waits for the launchers of other machines. options and *events are borrowed and
 * copied. */
enum skiff_status launch_create(const struct launch_options *options,
                                const struct launch_events *events, struct launch **out,
                                struct skiff_error *err);
/* Starts all processes, which get this mask of signals (NULL: the caller's). After a failure those
 * that were started are stopped by the following steps. */
enum skiff_status launch_start(struct launch *l, const sigset_t *mask, struct skiff_error *err);
bool launch_is_running(const struct launch *l); /* is a process of this machine left? */
/* At most 0.2 s; less when a process reports or ends, or when `wake` (-1: none) can be read. */
void launch_step(struct launch *l, int wake);
/* Stops the job as if by this signal: workers end first and may save. The second call kills all. */
void launch_stop(struct launch *l, int number);
/* Kills what is left, and gives the result of the launch: OK if all workers ended well. */
enum skiff_status launch_finish(struct launch *l, struct skiff_error *err);
/* Finishes it if that is still to be done. NULL: nothing. */
void launch_destroy(struct launch *l);

/* What a process that trains is called: "worker" or "rank". */
const char *launch_process_name(const struct launch *l);
/* As Paddle's launchers, after a failure or a signal. */
int launch_exit_status(const struct launch *l);
const char *launch_name(const struct launch_process *p, char out[static 64]); /* "worker 0" */
/* Becomes the command, with python_path in the environment; returns only after a failure. */
enum skiff_status launch_exec(const struct launch_options *options, struct skiff_error *err);
/* --workers, where ports may be left out: those without one get first + i, as Paddle's do. free()
 * it. */
char *launch_with_ports(const char *text, int first);

#endif
