/* Runs a fuzz target over files, without support of the compiler:
 *   fuzz_x [--hang S] INPUT...
 * INPUTs are files, or folders of files. All inputs run in one child process. If it dies, or spends
 * longer than S seconds (default 60) on one input, the input is named and the status is 1. `fuzz_x
 * --debug FILE` runs in this process, for a debugger. An input ends at an inaccessible page, so
 * that reading past it is noticed without a sanitizer, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fuzz.h"

#define PAGE ((size_t)4096)
#define INPUTS_MAX 65536

static char *inputs[INPUTS_MAX];
static size_t ninputs;

static int note_input(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    if (type == FTW_F && ninputs < INPUTS_MAX)
        inputs[ninputs++] = strdup(path);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The bytes of a file, up to a page that may not be read. */
static uint8_t *read_guarded(const char *path, size_t *out_n)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) < 0)
        return NULL;
    size_t n = (size_t)ftell(f), capacity = (n + PAGE - 1) / PAGE * PAGE;
    uint8_t *area =
        mmap(NULL, capacity + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED || mprotect(area + capacity, PAGE, PROT_NONE) < 0)
        return NULL;
    uint8_t *at = area + capacity - n;
    rewind(f);
    size_t got = fread(at, 1, n, f);
    fclose(f);
    *out_n = n;
    return got == n ? at : NULL;
}

static void drop_guarded(uint8_t *at, size_t n)
{
    size_t capacity = (n + PAGE - 1) / PAGE * PAGE;
    munmap(at + n - capacity, capacity + PAGE);
}

static void limit_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    /* a decoder that believes a size it has read is found before it takes the machine's memory */
    struct rlimit capacity = {(rlim_t)4 << 30, (rlim_t)4 << 30};
    setrlimit(RLIMIT_AS, &capacity);
#endif
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

/* *at: which input runs. */
static void run_inputs(volatile size_t *at)
{
    for (*at = 0; *at < ninputs; ++*at) {
        size_t n = 0;
        uint8_t *bytes = read_guarded(inputs[*at], &n);
        if (!bytes) {
            fprintf(stderr, "%s: cannot read: %s\n", inputs[*at], strerror(errno));
            exit(2);
        }
        LLVMFuzzerTestOneInput(bytes, n);
        drop_guarded(bytes, n);
    }
}

/* Waits for the child; kills it when one input takes too long. Status as of waitpid. */
static int watch(pid_t child, const volatile size_t *at, int hang, bool *out_hung)
{
    size_t last = SIZE_MAX;
    double since = clock_seconds();
    int status;
    *out_hung = false;
    while (waitpid(child, &status, WNOHANG) == 0) {
        clock_sleep(10 * CLOCK_MS);
        if (*at != last) {
            last = *at;
            since = clock_seconds();
        } else if (clock_seconds() - since > hang && !*out_hung) {
            *out_hung = true;
            kill(child, SIGKILL);
        }
    }
    return status;
}

static int run_in_child(const char *name, int hang)
{
    volatile size_t *at =
        mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = at == MAP_FAILED ? -1 : fork();
    if (child < 0) {
        perror(name);
        return 2;
    }
    if (child == 0) {
        limit_memory();
        run_inputs(at);
        exit(0); /* not _exit: leaks are reported at the end */
    }
    bool hung;
    int status = watch(child, at, hang, &hung);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    fprintf(stderr, "%s: %s: ", name, *at < ninputs ? inputs[*at] : "at the end");
    if (hung)
        fprintf(stderr, "hangs\n");
    else if (WIFSIGNALED(status))
        fprintf(stderr, "killed by signal %d\n", WTERMSIG(status));
    else
        fprintf(stderr, "exit with status %d\n", WEXITSTATUS(status));
    return 1;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    int first = 1, hang = 60;
    bool debug = argc > 1 && !strcmp(argv[1], "--debug");
    if (argc > 2 && !strcmp(argv[1], "--hang")) {
        hang = atoi(argv[2]);
        first = 3;
    }
    first += debug;
    if (first >= argc || hang < 1) {
        fprintf(stderr, "usage: %s [--hang S | --debug] INPUT...\n", name);
        return 2;
    }
    for (int i = first; i < argc; i++)
        if (nftw(argv[i], note_input, 16, FTW_PHYS) < 0) {
            fprintf(stderr, "%s: %s: %s\n", name, argv[i], strerror(errno));
            return 2;
        }
    qsort(inputs, ninputs, sizeof *inputs, by_name);
    size_t at;
    if (debug)
        run_inputs(&at);
    else if (run_in_child(name, hang) != 0)
        return 1;
    printf("%s: %zu inputs ok\n", name, ninputs);
    return 0;
}
