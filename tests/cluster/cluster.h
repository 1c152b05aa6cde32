/* Whole jobs of real processes on loopback: servers and trainers are forked, run one program each,
 * and leave their results in shared memory. The forking process itself never computes. */
#ifndef TESTS_CLUSTER_H
#define TESTS_CLUSTER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/types.h>

#include "base/clock.h"
#include "comm/comm.h"
#include "executor/executor.h"
#include "passes/split.h"
#include "server/server.h"

#define CLUSTER_MOST 8
#define CLUSTER_STEPS 256
#define CLUSTER_FETCH 3

struct cluster;

struct cluster_input { /* a slot of the data */
    char name[64];
    bool is_float;
    int lod_level, width;
};

struct cluster_spec {
    const struct skiff_program *main, *startup; /* after minimize */
    int servers, trainers;
    struct skiff_split_config config;
    bool direct; /* bare transpiler */
    int push_nums;
    char init[1024]; /* folder that servers load; "": the startup program's values */
    int steps, batch;
    bool prefetch; /* every step's rows are prefetched while the step before is computed */
    bool turns;    /* trainers take turns, step by step, each after all exchanges are finished */
    char data[CLUSTER_MOST][512];
    struct cluster_input inputs[32];
    int ninputs;
    char fetch[CLUSTER_FETCH][64];
    int nfetch;
    /* settings of the communicator; 0: the defaults */
    int threads, max_merge, queue_size, min_send, is_sgd;
    bool pull_always;      /* no independent_recv_thread: parameters are returned for every push */
    const char *transport; /* of all */
    int shards, pause_ms;  /* after each step */
    enum server_on_death on_death;
    int silence_ms, request_ms;
    bool servers_late; /* they start when the trainers are waiting already */
    /* in the trainer's process, after every step and after the last one */
    void (*at_step)(struct cluster *c, int trainer, int step);
    void (*at_end)(struct cluster *c, int trainer);
    const void *user;
};

struct cluster_seen {  /* results of one process */
    atomic_int status; /* 1: running; else enum skiff_status */
    atomic_int steps;  /* finished */
    uint64_t rows_prefetch;
    char message[1024]; /* of a failure */
    char output[4096];  /* all log lines */
    double ended;       /* seconds since the start of the job */
    float loss[CLUSTER_STEPS][CLUSTER_FETCH];
};

struct cluster_shared {
    atomic_int turn, ready, done, saved;
    atomic_uint_fast64_t digest;
    char complaint[2048]; /* of at_end */
    struct cluster_seen trainer[CLUSTER_MOST], server[CLUSTER_MOST];
};

struct cluster {
    struct cluster_spec spec;
    char pservers[512], endpoint[CLUSTER_MOST][32];
    const char *endpoints[CLUSTER_MOST];
    struct cluster_shared *shared;
    pid_t trainer[CLUSTER_MOST], server[CLUSTER_MOST];
    double started;
    /* in a trainer's process */
    struct skiff_split *split;
    struct job *job;
    struct skiff_scope *scope;
};

/* Reads `settings.txt` and programs of a recorded run. */
void cluster_case(struct cluster_spec *spec, const char *dir, const char *name);
/* Reads a program file; the program lives until the test program ends. */
struct skiff_program *cluster_program(const char *path);
const char *cluster_golden(void); /* the unpacked folder */

void cluster_start(struct cluster *c, const struct cluster_spec *spec);
/* Waits until all processes have ended; after this many seconds it kills them and fails the
 * test. */
void cluster_wait(struct cluster *c, double seconds);
/* Waits until a trainer has finished this many steps. */
void cluster_await_step(struct cluster *c, int trainer, int steps);
void cluster_end(struct cluster *c);                      /* frees; processes must have ended */
void cluster_kill(struct cluster *c, bool server, int i); /* SIGKILL */
/* SIGKILL, and a new process at once, at the same address. */
void cluster_restart_server(struct cluster *c, int i);

/* For at_end: a variable as the servers (for split or distributed ones) or this trainer hold it:
 * all slices in order, floats. The caller frees it. */
float *cluster_value(struct cluster *c, const char *name, size_t *n);
/* Every parameter and accumulator, bit by bit, into shared->digest. */
void cluster_digest(struct cluster *c, int trainer);
/* The first complaint is kept. */
void cluster_complain(struct cluster *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
