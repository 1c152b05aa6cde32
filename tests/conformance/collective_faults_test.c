/* Ranks as real processes that are killed, stopped, missing or started with other settings: every
 * other rank names them in time, none hangs, nothing is left behind. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <sys/mman.h>

#include "tests/conformance/collective_fixture_test.h"

#define VICTIM 1
#define LIMIT 10.0 /* seconds by which a dead rank has been named */

static struct timespec *struck_at; /* shared by all processes: when the victim was hit */

static double since_strike(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - struck_at->tv_sec) +
           (double)(now.tv_nsec - struck_at->tv_nsec) / 1e9;
}

static void strike(int signal_number)
{
    clock_gettime(CLOCK_MONOTONIC, struck_at);
    kill(getpid(), signal_number);
}

static int fault_signal;
static int64_t fault_count;

/* Sums until the victim is hit: between two calls when fault_count is small, and in the middle of
 * the others' call in any case. */
static void sum_until_fault(struct job *j, int rank)
{
    struct collective *c = job_join(j, rank);
    float *data = calloc((size_t)fault_count, sizeof *data);
    enum skiff_status status = SKIFF_OK;
    struct skiff_error first;
    for (int step = 0; status == SKIFF_OK; step++) {
        if (rank == VICTIM && step == 20)
            strike(fault_signal);
        status = collective_all_reduce(c, data, fault_count, DTYPE_FP32, COLLECTIVE_SUM, &first);
        CHECK(step < 1000);
    }
    CHECK(since_strike() < LIMIT);
    const char *how = fault_signal == SIGKILL ? " is dead: its process has ended without notice"
                                              : " is dead: it has been silent for";
    if (!strstr(first.message, "rank 1 (127.0.0.1:") || !strstr(first.message, how)) {
        fprintf(stderr, "rank %d says: %s\n", rank, first.message);
        _exit(1);
    }
    CHECK_FAILS(collective_barrier(c, &err), first.message); /* and it stays failed */
    collective_destroy(c);
    free(data);
}

/* silence_ms 0: the users' default */
static void strike_one(int size, int signal_number, int64_t count, int64_t silence_ms)
{
    struct job j;
    job_init(&j, size);
    fault_signal = signal_number;
    fault_count = count;
    j.options.silence_ms = silence_ms;
    for (int i = 0; i < size; i++)
        job_start_rank(&j, i, sum_until_fault);
    for (int i = 0; i < size; i++)
        if (i != VICTIM)
            CHECK(job_wait(&j, i) == 0);
    kill(j.pids[VICTIM], SIGKILL); /* a stopped one */
    CHECK(job_wait(&j, VICTIM) == -SIGKILL);
}

static void a_killed_rank_is_named(void **state)
{
    strike_one(2, SIGKILL, 10, 0);
    strike_one(4, SIGKILL, 500000, 0);
    setenv("SKIFF_NO_SHARED_MEMORY", "1", 1);
    strike_one(3, SIGKILL, 500000, 0);
    unsetenv("SKIFF_NO_SHARED_MEMORY");
}

static void a_stopped_rank_is_named(void **state)
{
    strike_one(3, SIGSTOP, 500000, 0);
    setenv("SKIFF_NO_SHARED_MEMORY", "1", 1);
    strike_one(2, SIGSTOP, 10, 3000);
    unsetenv("SKIFF_NO_SHARED_MEMORY");
}

/* ---- a rank that ends without notice ---- */

static void ends_early(struct job *j, int rank)
{
    struct collective *c = job_join(j, rank);
    float x = 1;
    CHECK_OK(collective_all_reduce(c, &x, 1, DTYPE_FP32, COLLECTIVE_SUM, &err));
    if (rank == VICTIM)
        _exit(3);
    CHECK_FAILS(collective_recv(c, VICTIM, &x, sizeof x, &err), "rank 1 (",
                " is dead: its process has ended");
    collective_destroy(c);
}

static void a_rank_that_ends_is_named(void **state)
{
    struct job j;
    job_init(&j, 3);
    for (int i = 0; i < 3; i++)
        job_start_rank(&j, i, ends_early);
    CHECK(job_wait(&j, 0) == 0);
    CHECK(job_wait(&j, 1) == 3);
    CHECK(job_wait(&j, 2) == 0);
}

/* ---- a rank that is slow is not dead ---- */

static void computes(struct job *j, int rank)
{
    struct collective *c = job_join(j, rank);
    float x = 1;
    if (rank == VICTIM)
        clock_sleep(3 * CLOCK_SECOND); /* longer than the silence below */
    CHECK_OK(collective_all_reduce(c, &x, 1, DTYPE_FP32, COLLECTIVE_SUM, &err));
    CHECK(x == 2);
    collective_destroy(c);
}

static void a_slow_rank_is_waited_for(void **state)
{
    struct job j;
    job_init(&j, 2);
    j.options.silence_ms = 2500;
    for (int i = 0; i < 2; i++)
        job_start_rank(&j, i, computes);
    CHECK(job_wait(&j, 0) == 0 && job_wait(&j, 1) == 0);
}

/* ---- a rendezvous that fails ---- */

static void expects_missing(struct job *j, int rank)
{
    struct collective *c;
    j->options.rank = rank;
    j->options.start_ms = 1500;
    char first[128];
    snprintf(first, sizeof first, "rank 1 (%s) did not join within 1.5 s", j->endpoints[1]);
    CHECK_FAILS(collective_net(&j->options, &c, &err), first, "is it started");
}

static void keep_first(void *user, const char *line)
{
    char *kept = user;
    if (!*kept)
        snprintf(kept, 256, "%s", line);
}

/* Long before the deadline, the missing ranks are logged. */
static void expects_a_report(struct job *j, int rank)
{
    struct collective *c;
    char reported[256] = "", expected[256];
    j->options.rank = rank;
    j->options.start_ms = 7500;
    j->options.on_log = keep_first;
    j->options.user = reported;
    CHECK_FAILS(collective_net(&j->options, &c, &err), "rank 1", "did not join within 7.5 s");
    snprintf(expected, sizeof expected,
             "rank %d has waited 5 s for rank 1 (%s); it gives up after 7.5 s", rank,
             j->endpoints[1]);
    CHECK(strcmp(reported, expected) == 0);
}

static void a_rank_that_is_late_is_waited_for_aloud(void **state)
{
    struct job j;
    job_init(&j, 3);
    job_start_rank(&j, 0, expects_a_report);
    job_start_rank(&j, 2, expects_a_report);
    CHECK(job_wait(&j, 0) == 0 && job_wait(&j, 2) == 0);
}

static void a_rank_that_never_comes_is_named(void **state)
{
    struct job j;
    job_init(&j, 3);
    job_start_rank(&j, 0, expects_missing);
    job_start_rank(&j, 2, expects_missing);
    CHECK(job_wait(&j, 0) == 0 && job_wait(&j, 2) == 0);
}

static const char *expected_words[RANKS];

static void expects_difference(struct job *j, int rank)
{
    struct collective *c;
    j->options.rank = rank;
    struct skiff_error e;
    CHECK(collective_net(&j->options, &c, &e) < 0);
    if (!strstr(e.message, expected_words[0]) && !strstr(e.message, expected_words[1])) {
        fprintf(stderr, "rank %d says: %s\n", rank, e.message);
        _exit(1);
    }
}

static void meet_differently(int ranks, void (*change)(struct job *, int))
{
    struct job j;
    job_init(&j, 3);
    j.options.start_ms = 30000;
    for (int i = 0; i < ranks; i++) {
        struct job own = j;
        own.options.endpoints = own.endpoints;
        for (int k = 0; k < 3; k++)
            own.endpoints[k] = own.text[k];
        change(&own, i);
        job_start_rank(&own, i, expects_difference);
        j.pids[i] = own.pids[i];
    }
    for (int i = 0; i < ranks; i++)
        CHECK(job_wait(&j, i) == 0);
}

static void other_size(struct job *j, int rank)
{
    j->options.size = rank == 1 ? 3 : 2;
}

static void other_program(struct job *j, int rank)
{
    j->options.describe = rank == 1 ? "program 222" : "program 111";
}

static void other_secret(struct job *j, int rank)
{
    if (rank == 1)
        j->options.secret = "another one";
}

static void another_program_is_reported(void **state)
{
    expected_words[0] = "rank 1 was started as one of 3 ranks, rank 0 as one of 2";
    expected_words[1] = "rank 0 was started as one of 2 ranks, rank 1 as one of 3";
    meet_differently(2, other_size);
    expected_words[0] = "runs something else than rank";
    expected_words[1] = "'program 222'";
    meet_differently(3, other_program);
    expected_words[0] = "does not have the same secret";
    expected_words[1] = "refuse";
    meet_differently(2, other_secret);
}

static void wrong_options(void **state)
{
    const char *same[] = {"127.0.0.1:5", "127.0.0.1:5"}, *open[] = {"0.0.0.0:0", "127.0.0.1:5"};
    struct collective *c;
    struct collective_net_options o = {.endpoints = same, .size = 2, .rank = 2};
    CHECK_FAILS(collective_net(&o, &c, &err), "rank 2 of 2: ranks are 0 to 1");
    o.rank = 0;
    CHECK_FAILS(collective_net(&o, &c, &err), "ranks 0 and 1 are both at 127.0.0.1:5");
    o.endpoints = open;
    CHECK_FAILS(collective_net(&o, &c, &err), "rank 0 is at 0.0.0.0:0", "has no secret");
    o.size = 0;
    CHECK_FAILS(collective_net(&o, &c, &err), "a job of 0 ranks");
    CHECK_FAILS(collective_thread(0, &c, &err), "a group of 0 threads");
}

static void listens_in_vain(struct job *j, int rank)
{
    struct collective *c;
    j->options.rank = 0;
    CHECK_FAILS(collective_net(&j->options, &c, &err),
                "rank 0 of 2 cannot listen at 127.0.0.1:", "choose another one");
}

static void waits_for_nobody(struct job *j, int rank)
{
    struct collective *c;
    j->options.rank = 0;
    j->options.start_ms = 3000;
    CHECK_FAILS(collective_net(&j->options, &c, &err), "rank 1 (");
}

static void a_port_in_use_is_reported(void **state)
{
    struct job j;
    job_init(&j, 2);
    job_start_rank(&j, 0, waits_for_nobody);
    while (host_port_check(j.endpoints[0], NULL) == SKIFF_OK)
        clock_sleep(10 * CLOCK_MS);
    job_start_rank(&j, 1, listens_in_vain);
    CHECK(job_wait(&j, 1) == 0);
    CHECK(job_wait(&j, 0) == 0);
}

/* ---- nothing is left behind ---- */

static int entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static void leaves_nothing(struct job *j, int rank)
{
    int fds = 0, threads = 0;
    for (int k = 0; k < 3; k++) {
        struct collective *c = job_join(j, rank), *g;
        int all[] = {0, 1};
        float x = 1;
        struct skiff_error e;
        CHECK_OK(collective_split(c, all, 2, &g, &err));
        struct collective_work *w =
            collective_start_all_reduce(g, &x, 1, DTYPE_FP32, COLLECTIVE_SUM, &e);
        CHECK_OK(collective_wait(w, &err));
        CHECK(x == 2);
        collective_destroy(g);
        collective_destroy(c);
        if (k == 0) { /* allocations that the process keeps for good exist now */
            fds = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
        }
        CHECK(entries("/proc/self/fd") == fds);
        CHECK(entries("/proc/self/task") == threads);
    }
    CHECK(mem_in_use() == 0);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    while (fgets(line, sizeof line, maps))
        CHECK(!strstr(line, "skiff-collective"));
    fclose(maps);
}

static void nothing_is_left_behind(void **state)
{
    struct job j;
    job_init(&j, 2);
    for (int i = 0; i < 2; i++)
        job_start_rank(&j, i, leaves_nothing);
    CHECK(job_wait(&j, 0) == 0 && job_wait(&j, 1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_rank_is_named),
        cmocka_unit_test(a_stopped_rank_is_named),
        cmocka_unit_test(a_rank_that_ends_is_named),
        cmocka_unit_test(a_slow_rank_is_waited_for),
        cmocka_unit_test(a_rank_that_never_comes_is_named),
        cmocka_unit_test(a_rank_that_is_late_is_waited_for_aloud),
        cmocka_unit_test(another_program_is_reported),
        cmocka_unit_test(wrong_options),
        cmocka_unit_test(a_port_in_use_is_reported),
        cmocka_unit_test(nothing_is_left_behind),
    };
    struck_at =
        mmap(NULL, sizeof *struck_at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
