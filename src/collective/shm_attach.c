/* How ranks find out whether they can have a shared segment. In one process the first rank creates
 * it and gives the others a pointer. Otherwise the first rank creates anonymous memory (memfd) that
 * contains a random number, and sends its descriptor to the socket of every other rank
 * (segment_fd.c). When all have received it and found the number, they are on one machine and use
 * it. In all other cases - other machines, containers or users, no memory - no rank uses it, and
 * exchanges go by messages. No file is ever left behind. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/secret.h"
#include "collective/shm_parts.h"

#define NAME "skiff-collective"
#define SLOT_MOST ((size_t)2 << 20) /* in steps of half a slot: measured, bench/collective.c */
#define SLOT_LEAST ((size_t)64 << 10)
#define SLOTS_ALL ((size_t)128 << 20)

/* A rank's message to the others. */
struct offer {
    uint8_t made;    /* the first rank: the memory exists */
    uint8_t listens; /* other ranks: a socket of that name exists */
    uint8_t name[SEGMENT_NAME];
    cpu_set_t cores; /* that the rank may use: mpirun and srun bind ranks to some */
    uint64_t bytes;
    uint8_t nonce[16];
    struct shm_shared *shared; /* in one process */
};

/* ---- layout ---- */

static size_t rounded(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

/* Computes everything but the address; returns the length. */
static size_t lay_out(struct shm *h, const struct collective *c)
{
    size_t n = (size_t)c->size;
    h->size = c->size;
    h->direct = c->inbox->kind->one_process;
    h->spins = sysconf(_SC_NPROCESSORS_ONLN) >= c->size;
    h->control_bytes = rounded(sizeof(struct shm_control) + n * sizeof(struct shm_share));
    h->slot_bytes = SLOTS_ALL / (2 * n) & ~(size_t)4095;
    h->slot_bytes = h->slot_bytes > SLOT_MOST ? SLOT_MOST : h->slot_bytes;
    h->slot_bytes = h->slot_bytes < SLOT_LEAST ? SLOT_LEAST : h->slot_bytes;
    h->slot_bytes = h->direct ? 0 : h->slot_bytes;
    return rounded(sizeof(struct shm_shared)) + 2 * n * (h->control_bytes + h->slot_bytes);
}

static void assign_memory(struct shm *h, void *memory, size_t map_bytes)
{
    h->shared = memory;
    h->map_bytes = map_bytes;
    h->controls = (uint8_t *)memory + rounded(sizeof(struct shm_shared));
    h->slots = h->controls + 2 * (size_t)h->size * h->control_bytes;
}

static struct shm *shm_create(const struct collective *c, size_t *out_bytes)
{
    struct shm *h = mem_alloc_or_die(sizeof *h);
    size_t n = (size_t)c->size;
    *out_bytes = lay_out(h, c);
    h->views = mem_alloc_or_die(n * sizeof *h->views);
    h->bytes = mem_alloc_or_die(n * sizeof *h->bytes);
    h->calls = mem_alloc_or_die(n * sizeof *h->calls);
    return h;
}

void shm_detach(struct shm *h)
{
    if (!h)
        return;
    if (h->map_bytes)
        munmap(h->shared, h->map_bytes);
    else if (h->shared && atomic_fetch_sub(&h->shared->refs, 1) == 1)
        free(h->shared);
    free(h->views);
    free(h->bytes);
    free(h->calls);
    free(h);
}

/* ---- creating and finding ---- */

static void look_at_cores(cpu_set_t *out)
{
    CPU_ZERO(out);
    if (sched_getaffinity(0, sizeof *out, out) < 0) /* more cores than it has bits */
        for (int i = 0; i < CPU_SETSIZE; i++)
            CPU_SET(i, out);
}

bool shm_is_crowded(const cpu_set_t *cores, size_t stride, int ranks)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int i = 0; i < ranks; i++)
        CPU_OR(&all, &all, (const cpu_set_t *)((const uint8_t *)cores + (size_t)i * stride));
    return CPU_COUNT(&all) < 2 * ranks;
}

static void *map(int fd, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Returns the descriptor, which stays open until all others have it; -1: not possible. The memory
 * is reserved now: a later shortage would kill the process. */
static int make_shared(struct shm *h, size_t bytes, struct offer *o)
{
    int fd = memfd_create(NAME, MFD_CLOEXEC);
    void *memory = NULL;
    if (fd >= 0 && posix_fallocate(fd, 0, (off_t)bytes) == 0)
        memory = map(fd, bytes);
    if (!memory) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    assign_memory(h, memory, bytes);
    secret_random(o->nonce, sizeof o->nonce);
    memcpy(h->shared->nonce, o->nonce, sizeof o->nonce);
    o->made = 1;
    o->bytes = bytes;
    return fd;
}

static void make_plain(struct shm *h, size_t bytes, struct offer *o)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes))
        abort(); /* a few hundred bytes */
    memset(memory, 0, bytes);
    assign_memory(h, memory, 0);
    atomic_init(&h->shared->refs, 1);
    look_at_cores(&o->cores);
    h->shared->crowded = CPU_COUNT(&o->cores) < 2 * h->size; /* threads share them */
    o->made = 1;
    o->shared = memory;
}

/* To all other ranks; false: not all can have it. */
static bool send_shared(int fd, const struct offer *all, int size)
{
    for (int i = 1; i < size; i++)
        if (!all[i].listens || !segment_send(fd, all[i].name))
            return false;
    return true;
}

static bool find_shared(struct shm *h, size_t bytes, const struct offer *o, int listener)
{
    int fd = o->bytes == bytes ? segment_receive(listener, bytes) : -1;
    void *memory = fd >= 0 ? map(fd, bytes) : NULL;
    if (fd >= 0)
        close(fd);
    if (!memory)
        return false;
    assign_memory(h, memory, bytes);
    return memcmp(h->shared->nonce, o->nonce, sizeof o->nonce) == 0;
}

/* ---- agreement ---- */

struct answers {
    const struct collective *c;
    uint8_t *out; /* `bytes` of every rank */
    size_t bytes;
};

static void keep_answers(void *arg, size_t at, const uint8_t *const *views, const size_t *bytes)
{
    struct answers *a = arg;
    for (int i = 0; i < a->c->size; i++)
        memcpy(a->out + (size_t)i * a->bytes, views[i], bytes[i]);
}

static enum skiff_status report_all(struct collective *c, const void *mine, void *out, size_t bytes,
                                    struct skiff_error *err)
{
    size_t each[c->size];
    struct answers a = {.c = c, .out = out, .bytes = bytes};
    struct collective_exchange x = {
        .call = {.kind = CALL_OPEN, .root = -1, .count = (int64_t)bytes},
        .mine = mine,
        .out_bytes = each,
        .in_bytes = each,
        .take = keep_answers,
        .arg = &a};
    for (int i = 0; i < c->size; i++)
        each[i] = bytes;
    return exchange_by_messages(c, &x, err);
}

/* Collects the ranks' results; sets *out_all when all found the segment. */
static enum skiff_status agree(struct collective *c, bool found, bool *out_all,
                               struct skiff_error *err)
{
    uint8_t mine = found, all[c->size];
    TRY(report_all(c, &mine, all, 1, err));
    *out_all = true;
    for (int i = 0; i < c->size; i++)
        *out_all = *out_all && all[i];
    return SKIFF_OK;
}

static void take_plain(struct shm *h, const struct offer *o)
{
    assign_memory(h, o->shared, 0);
    atomic_fetch_add(&h->shared->refs, 1);
}

/* `fd`: the first rank's is that of the memory, another one's listens for it. */
static enum skiff_status agree_on_offer(struct collective *c, struct shm *h, size_t bytes, int fd,
                                        const struct offer *all, bool *out_all,
                                        struct skiff_error *err)
{
    bool first = c->rank == 0;
    if (h->direct) {
        if (!first)
            take_plain(h, &all[0]);
        return agree(c, true, out_all, err);
    }
    TRY(agree(c, !first || (all[0].made && send_shared(fd, all, c->size)), out_all, err));
    if (!*out_all)
        return SKIFF_OK;
    return agree(c, first || find_shared(h, bytes, &all[0], fd), out_all, err);
}

/* Prepares a rank's offer; returns its descriptor, or -1. */
static int make_offer(const struct collective *c, struct shm *h, size_t bytes, struct offer *o)
{
    look_at_cores(&o->cores);
    if (h->direct && c->rank == 0)
        make_plain(h, bytes, o);
    if (h->direct || getenv("SKIFF_NO_SHARED_MEMORY"))
        return -1;
    if (c->rank == 0)
        return make_shared(h, bytes, o);
    int fd = segment_listen(o->name);
    o->listens = fd >= 0;
    return fd;
}

enum skiff_status shm_attach(struct collective *c, struct shm **out, struct skiff_error *err)
{
    struct offer mine = {0}, *all = mem_alloc_or_die((size_t)c->size * sizeof *all);
    size_t bytes;
    struct shm *h = shm_create(c, &bytes);
    int fd = make_offer(c, h, bytes, &mine);
    bool everybody = false;
    enum skiff_status status = report_all(c, &mine, all, sizeof mine, err);
    if (status == SKIFF_OK) {
        if (mine.made) /* before the others use it: they agree below */
            h->shared->crowded = shm_is_crowded(&all[0].cores, sizeof *all, c->size);
        status = agree_on_offer(c, h, bytes, fd, all, &everybody, err);
    }
    if (fd >= 0)
        close(fd);
    free(all);
    *out = NULL;
    if (status == SKIFF_OK && everybody)
        *out = h;
    else
        shm_detach(h);
    return status;
}

void shm_give(struct collective **ranks, int size)
{
    struct offer o = {0};
    for (int i = 0; i < size && size > 1; i++) {
        size_t bytes;
        struct shm *h = shm_create(ranks[i], &bytes);
        if (i == 0)
            make_plain(h, bytes, &o);
        else
            take_plain(h, &o);
        ranks[i]->shm = h;
    }
}
