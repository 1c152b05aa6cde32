/* A test fixture for collective groups: a case is a function that every rank runs; the fixture runs
 * it as threads and as processes that connect at ports of this machine. */
#ifndef COLLECTIVE_FIXTURE_TEST_H
#define COLLECTIVE_FIXTURE_TEST_H

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "collective/collective.h"
#include "net/host.h"

#define RANKS 5
#define PATIENCE 120 /* seconds after which a case is ended */

/* In any rank, thread or process: prints the failure and ends the process. */
#define CHECK(what)                                                                               \
    do {                                                                                          \
        if (!(what)) {                                                                            \
            fprintf(stderr, "%s:%d: process %d: failed: %s\n", __FILE__, __LINE__, (int)getpid(), \
                    #what);                                                                       \
            _exit(1);                                                                             \
        }                                                                                         \
    } while (0)

#define CHECK_OK(call)                                                                        \
    do {                                                                                      \
        struct skiff_error err = {0};                                                         \
        if ((call) < 0) {                                                                     \
            fprintf(stderr, "%s:%d: process %d: %s: %s\n", __FILE__, __LINE__, (int)getpid(), \
                    #call, err.message);                                                      \
            _exit(1);                                                                         \
        }                                                                                     \
    } while (0)

/* The call fails, and the error contains all of these texts. */
#define CHECK_FAILS(call, ...)                                                                  \
    do {                                                                                        \
        struct skiff_error err = {0};                                                           \
        CHECK((call) < 0);                                                                      \
        const char *const words[] = {__VA_ARGS__};                                              \
        for (size_t w_ = 0; w_ < sizeof words / sizeof words[0]; w_++)                          \
            if (!strstr(err.message, words[w_])) {                                              \
                fprintf(stderr, "%s:%d: \"%s\" is not in: %s\n", __FILE__, __LINE__, words[w_], \
                        err.message);                                                           \
                _exit(1);                                                                       \
            }                                                                                   \
    } while (0)

typedef void (*rank_run)(struct collective *c);

/* ---- threads ---- */

struct rank_thread {
    struct collective *c;
    rank_run run;
    struct thread thread;
};

static void *run_rank(void *arg)
{
    struct rank_thread *r = arg;
    r->run(r->c);
    collective_destroy(r->c);
    return NULL;
}

__attribute__((unused)) static void run_threads(int size, rank_run run)
{
    struct collective *groups[RANKS];
    struct rank_thread ranks[RANKS] = {0};
    CHECK_OK(collective_thread(size, groups, &err));
    for (int i = 0; i < size; i++) {
        ranks[i] = (struct rank_thread){.c = groups[i], .run = run};
        CHECK_OK(thread_start(&ranks[i].thread, "rank", i, run_rank, &ranks[i], &err));
    }
    for (int i = 0; i < size; i++)
        thread_join(&ranks[i].thread);
}

/* ---- processes ---- */

struct job {
    int size;
    char text[RANKS][32];
    const char *endpoints[RANKS];
    pid_t pids[RANKS];
    struct collective_net_options options; /* the fixture sets the rank */
};

static void job_init(struct job *j, int size)
{
    int ports[RANKS];
    *j = (struct job){.size = size};
    CHECK_OK(host_free_ports(size, ports, &err));
    for (int i = 0; i < size; i++) {
        snprintf(j->text[i], sizeof j->text[i], "127.0.0.1:%d", ports[i]);
        j->endpoints[i] = j->text[i];
    }
    j->options = (struct collective_net_options){
        .endpoints = j->endpoints, .size = size, .secret = "a secret of tests", .start_ms = 60000};
}

/* run gets the options of its rank: the child's whole life. */
static void job_start_rank(struct job *j, int rank, void (*run)(struct job *, int))
{
    fflush(NULL);
    j->pids[rank] = fork();
    CHECK(j->pids[rank] >= 0);
    if (j->pids[rank])
        return;
    alarm(PATIENCE);
    run(j, rank);
    _exit(0);
}

static struct collective *job_join(struct job *j, int rank)
{
    struct collective *c;
    j->options.rank = rank;
    CHECK_OK(collective_net(&j->options, &c, &err));
    return c;
}

/* Returns the exit status; negative: ended by that signal. */
static int job_wait(struct job *j, int rank)
{
    int status;
    CHECK(waitpid(j->pids[rank], &status, 0) == j->pids[rank]);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static rank_run job_case; /* of the processes that are being started */

static void run_case(struct job *j, int rank)
{
    struct collective *c = job_join(j, rank);
    job_case(c);
    collective_destroy(c);
}

__attribute__((unused)) static void run_processes(int size, rank_run run)
{
    struct job j;
    job_init(&j, size);
    job_case = run;
    for (int i = 0; i < size; i++)
        job_start_rank(&j, i, run_case);
    for (int i = 0; i < size; i++)
        CHECK(job_wait(&j, i) == 0);
}

#endif
