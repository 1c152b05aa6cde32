/* all_reduce of float32 between two ranks of this machine, against the least that it can take: the
 * bytes that must be moved, by memcpy, in the same two processes and in turns with it. Of S bytes a
 * rank gives half to the other, adds up its own half, gives the sum and takes the other's: four
 * copies of S/2, two of them out of memory that the other one has written.
 *
 *   collective [SECONDS]
 *
 * Also MPI_Allreduce of the same sizes, when there is an mpirun (bench/mpi/allreduce.c). Times are
 * the best and the median of all rounds: machines are shared. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "collective/collective.h"
#include "net/host.h"

#define ROUNDS 4000

static const size_t sizes[] = {4096, 1700000, (size_t)64 << 20};
enum { SIZES = 3 };

static uint8_t *shared; /* two halves for each rank */
static double seconds = 6;

static void or_die(enum skiff_status status, const struct skiff_error *err)
{
    if (status < 0) {
        fprintf(stderr, "collective: %s\n", err->message);
        exit(1);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The moves alone, without arithmetic and without waiting. */
static void move(int rank, uint8_t *data, size_t bytes)
{
    size_t half = bytes / 2, capacity = sizes[SIZES - 1];
    uint8_t *mine = shared + (size_t)rank * capacity,
            *other = shared + (size_t)(1 - rank) * capacity;
    uint8_t *own = data + (size_t)rank * half, *theirs = data + (size_t)(1 - rank) * half;
    memcpy(mine, theirs, half);
    memcpy(own, other, half);
    memcpy(mine + half, own, half);
    memcpy(theirs, other + half, half);
}

static void report(size_t bytes, double *sum, double *limit, int n)
{
    qsort(sum, (size_t)n, sizeof *sum, compare);
    qsort(limit, (size_t)n, sizeof *limit, compare);
    printf("%9zu bytes: all_reduce %9.1f us (median %9.1f), moves %9.1f us (median %9.1f): %.2f x "
           "(median %.2f x)\n",
           bytes, sum[0] * 1e6, sum[n / 2] * 1e6, limit[0] * 1e6, limit[n / 2] * 1e6,
           sum[0] / limit[0], sum[n / 2] / limit[n / 2]);
    fflush(stdout);
}

static void measure(struct collective *c, size_t bytes)
{
    static double sum[ROUNDS], limit[ROUNDS];
    int rank = collective_rank(c), n = 0, repeat = bytes < 65536 ? 20 : 1;
    float *data = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    struct skiff_error err;
    int32_t more = 1;
    double start = clock_seconds();
    memset(data, 0, bytes);
    while (more) {
        or_die(collective_barrier(c, &err), &err);
        double a = clock_seconds();
        for (int k = 0; k < repeat; k++)
            or_die(collective_all_reduce(c, data, (int64_t)(bytes / 4), DTYPE_FP32, COLLECTIVE_SUM,
                                         &err),
                   &err);
        double b = clock_seconds();
        or_die(collective_barrier(c, &err), &err);
        double d = clock_seconds();
        for (int k = 0; k < repeat; k++)
            move(rank, (uint8_t *)data, bytes);
        double e = clock_seconds();
        if (n > 0 || bytes < sizes[SIZES - 1]) { /* the first round touches memory */
            sum[n] = (b - a) / repeat;
            limit[n] = (e - d) / repeat;
        }
        more = ++n < ROUNDS && (n < 5 || clock_seconds() - start < seconds / SIZES);
        or_die(collective_broadcast(c, &more, sizeof more, 0, &err), &err);
    }
    if (rank == 0)
        report(bytes, sum + 1, limit + 1, n - 1);
    free(data);
}

/* A core for each, as mpirun does it. */
static void stay_on_core(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void run_rank(int rank, const char *const *endpoints)
{
    struct skiff_error err;
    struct collective *c;
    struct collective_net_options o = {
        .endpoints = endpoints, .size = 2, .rank = rank, .secret = "bench"};
    stay_on_core(rank);
    or_die(collective_net(&o, &c, &err), &err);
    for (int i = 0; i < SIZES; i++)
        measure(c, sizes[i]);
    collective_destroy(c);
}

static void run_mpi(const char *self)
{
    char command[4096];
    const char *slash = strrchr(self, '/');
    snprintf(
        command, sizeof command,
        "p='%.*s/mpi_allreduce'; if [ -x \"$p\" ] && command -v mpirun >/dev/null; then "
        "mpirun --allow-run-as-root --oversubscribe -n 2 \"$p\" %g; else echo 'no MPI here'; fi",
        slash ? (int)(slash - self) : 1, slash ? self : ".", seconds);
    if (system(command) != 0)
        fprintf(stderr, "collective: mpirun failed\n");
}

int main(int argc, char **argv)
{
    int ports[2], status;
    char text[2][32];
    const char *endpoints[] = {text[0], text[1]};
    struct skiff_error err;
    if (argc > 1)
        seconds = atof(argv[1]);
    or_die(host_free_ports(2, ports, &err), &err);
    for (int i = 0; i < 2; i++)
        snprintf(text[i], sizeof text[i], "127.0.0.1:%d", ports[i]);
    shared =
        mmap(NULL, 2 * sizes[SIZES - 1], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    run_rank(child ? 0 : 1, endpoints);
    if (!child)
        _exit(0);
    waitpid(child, &status, 0);
    run_mpi(argv[0]);
    return status != 0;
}
