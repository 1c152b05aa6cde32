/* Runs a fuzz target without any help of the compiler:
 *   fuzz_x [--seconds S] [--runs N] [--seed K] [--hang S] [SEED...]
 * SEEDs (files or folders) are taken in place of the target's own list. Every seed is run as it is,
 * then mutants of the seeds and of accepted mutants, N of them (default 2000; without limit when
 * only --seconds is given). The same seed K gives the same inputs.
 *
 * The target runs in a child process; the input lies in memory shared with the parent, which writes
 * it to crash-<name> beside the program when the child dies or stays in one input for too long.
 * `fuzz_x --runs 0 FILE` runs that file again, in this process, for a debugger. The input ends at a
 * page that may not be touched, so that reading past it is noticed without a sanitizer, too.
 *
 * With -DFUZZ_LIBFUZZER this file only hands libFuzzer's inputs to the target. */
#include "base/clock.h"
#include "fuzz.h"

#ifdef FUZZ_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_one(data, n);
    return 0;
}

#else

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define INPUT_MAX ((size_t)256 << 10)
#define SEEDS_MAX 512
#define POOL_MAX 1024
#define PAGE ((size_t)4096)

struct input {
    uint8_t *bytes;
    size_t n;
};

struct options {
    double seconds;
    uint64_t runs, seed;
    int hang;
    bool runs_given;
};

/* What parent and child share. */
struct shared {
    volatile uint64_t run;
    volatile uint64_t accepted;
    volatile size_t n;
    uint8_t bytes[INPUT_MAX];
};

struct fuzzer {
    const char *name;
    struct options options;
    struct input pool[POOL_MAX]; /* seeds first, then accepted mutants */
    size_t nseeds, npool, next_slot;
    uint64_t rng;
    struct shared *shared;
    uint8_t *guarded_end; /* inputs end here; the next byte may not be read */
    uint8_t work[INPUT_MAX];
};

static uint64_t draw(struct fuzzer *f)
{
    uint64_t z = f->rng += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static size_t below(struct fuzzer *f, size_t n)
{
    return n ? (size_t)(draw(f) % n) : 0;
}

/* ---- seeds ---- */

static int seed_file(struct fuzzer *f, const char *path, size_t size)
{
    if (f->nseeds == SEEDS_MAX || size > INPUT_MAX)
        return 0; /* large files make slow runs and no new paths */
    FILE *in = fopen(path, "rb");
    uint8_t *bytes = malloc(size ? size : 1);
    if (!in || !bytes || fread(bytes, 1, size, in) != size) {
        fprintf(stderr, "%s: cannot read %s\n", f->name, path);
        return -1;
    }
    fclose(in);
    f->pool[f->nseeds++] = (struct input){bytes, size};
    return 0;
}

static int seed_path(struct fuzzer *f, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        fprintf(stderr, "%s: %s: %s\n", f->name, path, strerror(errno));
        return -1;
    }
    if (!S_ISDIR(st.st_mode))
        return seed_file(f, path, (size_t)st.st_size);
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort), failed = n < 0 ? -1 : 0;
    for (int i = 0; i < n; i++) {
        char below_path[4096];
        snprintf(below_path, sizeof below_path, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && !failed)
            failed = seed_path(f, below_path);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return failed;
}

/* ---- mutations: each changes the n bytes of work and gives back the new length ---- */

static size_t flip_bit(struct fuzzer *f, uint8_t *b, size_t n)
{
    if (n)
        b[below(f, n)] ^= (uint8_t)(1u << below(f, 8));
    return n;
}

static size_t set_byte(struct fuzzer *f, uint8_t *b, size_t n)
{
    if (n)
        b[below(f, n)] = (uint8_t)draw(f);
    return n;
}

static size_t cut_end(struct fuzzer *f, uint8_t *b, size_t n)
{
    return below(f, n + 1);
}

static size_t cut_middle(struct fuzzer *f, uint8_t *b, size_t n)
{
    size_t at = below(f, n), len = below(f, (n - at) / (1 + below(f, 8)) + 1);
    memmove(b + at, b + at + len, n - at - len);
    return n - len;
}

static size_t insert_bytes(struct fuzzer *f, uint8_t *b, size_t n)
{
    size_t at = below(f, n + 1), len = 1 + below(f, below(f, 8) ? 8 : 256);
    if (len > INPUT_MAX - n)
        return n;
    memmove(b + at + len, b + at, n - at);
    uint8_t fill = (uint8_t)draw(f);
    bool same = below(f, 2);
    for (size_t i = 0; i < len; i++)
        b[at + i] = same ? fill : (uint8_t)draw(f);
    return n + len;
}

static size_t repeat_part(struct fuzzer *f, uint8_t *b, size_t n)
{
    size_t from = below(f, n), len = below(f, n - from + 1), to = below(f, n + 1);
    if (len > INPUT_MAX - n || !len)
        return n;
    uint8_t *part = malloc(len);
    if (!part)
        return n;
    memcpy(part, b + from, len);
    memmove(b + to + len, b + to, n - to);
    memcpy(b + to, part, len);
    free(part);
    return n + len;
}

static size_t splice(struct fuzzer *f, uint8_t *b, size_t n)
{
    const struct input *other = &f->pool[below(f, f->npool)];
    size_t keep = below(f, n + 1), from = below(f, other->n + 1), len = other->n - from;
    len = len > INPUT_MAX - keep ? INPUT_MAX - keep : len;
    memcpy(b + keep, other->bytes + from, len);
    return keep + len;
}

static size_t put_le(struct fuzzer *f, uint8_t *b, size_t n, uint64_t v)
{
    size_t width = (size_t)1 << below(f, 4);
    if (width > n)
        return n;
    size_t at = below(f, n - width + 1);
    for (size_t i = 0; i < width; i++)
        b[at + i] = (uint8_t)(v >> (8 * i));
    return n;
}

static size_t put_interesting(struct fuzzer *f, uint8_t *b, size_t n)
{
    static const uint64_t values[] = {0,
                                      1,
                                      UINT64_MAX,
                                      0x7f,
                                      0x80,
                                      0xff,
                                      0x100,
                                      0x7fff,
                                      0x8000,
                                      0xffff,
                                      0x7fffffff,
                                      0x80000000u,
                                      0xffffffffu,
                                      0x100000000ull,
                                      0x7fffffffffffffffull,
                                      0x8000000000000000ull,
                                      0x2000000000000000ull,
                                      0x4000000000000001ull};
    return put_le(f, b, n, values[below(f, sizeof values / sizeof *values)]);
}

/* A number that counts the bytes from somewhere to the end, or a little more or less. */
static size_t put_length(struct fuzzer *f, uint8_t *b, size_t n)
{
    return put_le(f, b, n, n - below(f, n + 1) + below(f, 9) - 4);
}

static size_t add_small(struct fuzzer *f, uint8_t *b, size_t n)
{
    size_t width = (size_t)1 << below(f, 4);
    if (width > n)
        return n;
    size_t at = below(f, n - width + 1);
    uint64_t v = 0;
    for (size_t i = 0; i < width; i++)
        v |= (uint64_t)b[at + i] << (8 * i);
    v += below(f, 33) - 16;
    for (size_t i = 0; i < width; i++)
        b[at + i] = (uint8_t)(v >> (8 * i));
    return n;
}

/* A protobuf number of up to ten bytes. */
static size_t put_varint(struct fuzzer *f, uint8_t *b, size_t n)
{
    uint64_t v = draw(f) >> below(f, 64);
    for (size_t at = below(f, n); at < n; at++, v >>= 7) {
        b[at] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        if (v <= 0x7f)
            break;
    }
    return n;
}

static size_t swap_digit(struct fuzzer *f, uint8_t *b, size_t n)
{
    static const char text[] = "0123456789-+.eE[]{}(),:;\"'\\ \n\t@/";
    if (n)
        b[below(f, n)] = (uint8_t)text[below(f, sizeof text - 1)];
    return n;
}

typedef size_t (*mutation)(struct fuzzer *f, uint8_t *b, size_t n);

static const mutation mutations[] = {flip_bit,     set_byte,    cut_end,    cut_middle,
                                     insert_bytes, repeat_part, splice,     put_interesting,
                                     put_length,   add_small,   put_varint, swap_digit};

static size_t mutate(struct fuzzer *f)
{
    size_t n = 0;
    if (f->npool) {
        const struct input *from = &f->pool[below(f, f->npool)];
        n = from->n;
        memcpy(f->work, from->bytes, n);
    }
    for (size_t left = 1 + below(f, below(f, 3) ? 3 : 12); left; left--)
        n = mutations[below(f, sizeof mutations / sizeof *mutations)](f, f->work, n);
    return n;
}

/* ---- running ---- */

static int run_input(struct fuzzer *f, const uint8_t *bytes, size_t n)
{
    struct shared *s = f->shared;
    if (n)
        memcpy(s->bytes, bytes, n);
    s->n = n;
    s->run++;
    uint8_t *at = f->guarded_end - n;
    if (n)
        memcpy(at, bytes, n);
    int accepted = fuzz_one(at, n) == 1;
    s->accepted += (uint64_t)accepted;
    return accepted;
}

/* Accepted mutants take turns in the places behind the seeds. */
static void keep(struct fuzzer *f, size_t n)
{
    uint8_t *bytes = malloc(n ? n : 1);
    if (!bytes)
        return;
    memcpy(bytes, f->work, n);
    size_t slot =
        f->npool < POOL_MAX ? f->npool++ : f->nseeds + f->next_slot++ % (POOL_MAX - f->nseeds);
    free(f->pool[slot].bytes);
    f->pool[slot] = (struct input){bytes, n};
}

static void run_all(struct fuzzer *f)
{
    double end = f->options.seconds > 0 ? clock_seconds() + f->options.seconds : 0;
    uint64_t runs = f->options.runs_given || end == 0 ? f->options.runs : UINT64_MAX;
    for (size_t i = 0; i < f->nseeds; i++)
        run_input(f, f->pool[i].bytes, f->pool[i].n);
    for (uint64_t i = 0; i < runs && (end == 0 || clock_seconds() < end); i++) {
        size_t n = mutate(f);
        if (run_input(f, f->work, n))
            keep(f, n);
    }
}

static void limit_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    /* a decoder that believes a size it has read is found before it takes the machine's memory */
    struct rlimit room = {(rlim_t)4 << 30, (rlim_t)4 << 30};
    setrlimit(RLIMIT_AS, &room);
#endif
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

/* Waits for the child; kills it when one input takes longer than the limit.
 * Status as of waitpid. */
static int watch(struct fuzzer *f, pid_t child, bool *out_hung)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    uint64_t last = 0;
    double since = clock_seconds();
    int status;
    *out_hung = false;
    while (waitpid(child, &status, WNOHANG) == 0) {
        sigtimedwait(&set, NULL, &(struct timespec){.tv_sec = 1});
        if (f->shared->run != last) {
            last = f->shared->run;
            since = clock_seconds();
        } else if (clock_seconds() - since > f->options.hang && !*out_hung) {
            *out_hung = true;
            kill(child, SIGKILL);
        }
    }
    return status;
}

static void leave_input(struct fuzzer *f, const char *program, const char *how)
{
    char path[4096];
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*scrash-%s", slash ? (int)(slash - program + 1) : 0, program,
             f->name);
    FILE *out = fopen(path, "wb");
    size_t n = f->shared->n;
    bool written = out && fwrite(f->shared->bytes, 1, n, out) == n;
    if (out && fclose(out) != 0)
        written = false;
    fprintf(stderr, "%s: %s in run %" PRIu64 " (seed %" PRIu64 "), input of %zu bytes %s %s\n",
            f->name, how, f->shared->run, f->options.seed, n,
            written ? "is in" : "could not be written to", path);
    fprintf(stderr, "%s: again: %s --runs 0 %s\n", f->name, program, path);
}

static int run_in_child(struct fuzzer *f, const char *program)
{
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &before);
    pid_t child = fork();
    if (child < 0) {
        perror(f->name);
        return 1;
    }
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        limit_memory();
        run_all(f);
        _exit(0);
    }
    bool hung;
    int status = watch(f, child, &hung);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    char how[64] = "hang";
    if (!hung && WIFSIGNALED(status))
        snprintf(how, sizeof how, "killed by signal %d", WTERMSIG(status));
    else if (!hung)
        snprintf(how, sizeof how, "exit with status %d", WEXITSTATUS(status));
    leave_input(f, program, how);
    return 1;
}

/* ---- command line ---- */

/* Returns the index of the first seed, or -1. */
static int parse(struct options *o, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        char *end = NULL;
        if (i + 1 == argc)
            return -1;
        if (strcmp(argv[i], "--seconds") == 0) {
            o->seconds = strtod(argv[i + 1], &end);
        } else if (strcmp(argv[i], "--runs") == 0) {
            o->runs = strtoull(argv[i + 1], &end, 10);
            o->runs_given = true;
        } else if (strcmp(argv[i], "--seed") == 0) {
            o->seed = strtoull(argv[i + 1], &end, 10);
        } else if (strcmp(argv[i], "--hang") == 0) {
            o->hang = (int)strtol(argv[i + 1], &end, 10);
        }
        if (!end || end == argv[i + 1] || *end)
            return -1;
    }
    return i;
}

static int prepare(struct fuzzer *f)
{
    f->shared =
        mmap(NULL, sizeof *f->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint8_t *area =
        mmap(NULL, INPUT_MAX + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->shared == MAP_FAILED || area == MAP_FAILED ||
        mprotect(area + INPUT_MAX, PAGE, PROT_NONE) != 0) {
        perror(f->name);
        return -1;
    }
    f->guarded_end = area + INPUT_MAX;
    return 0;
}

int main(int argc, char **argv)
{
    static struct fuzzer f = {.options = {.runs = 2000, .seed = 1, .hang = 30}};
    const char *slash = strrchr(argv[0], '/');
    f.name = slash ? slash + 1 : argv[0];
    int first = parse(&f.options, argc, argv);
    if (first < 0) {
        fprintf(stderr, "usage: %s [--seconds S] [--runs N] [--seed K] [--hang S] [SEED...]\n",
                f.name);
        return 2;
    }
    for (int i = first; i < argc; i++)
        if (seed_path(&f, argv[i]) < 0)
            return 2;
    for (int i = 0; first == argc && fuzz_seeds && fuzz_seeds[i]; i++)
        if (seed_path(&f, fuzz_seeds[i]) < 0)
            return 2;
    f.npool = f.nseeds;
    f.rng = f.options.seed;
    if (prepare(&f) < 0)
        return 2;
    if (f.options.runs_given && f.options.runs == 0)
        run_all(&f);
    else if (run_in_child(&f, argv[0]))
        return 1;
    printf("%s: %" PRIu64 " runs ok, %" PRIu64 " accepted, %zu seeds\n", f.name, f.shared->run,
           f.shared->accepted, f.nseeds);
    return 0;
}

#endif
