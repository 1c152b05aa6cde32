/* Layout of a shared segment (shm.c), for the file that creates it. */
#ifndef COLLECTIVE_SHM_PARTS_H
#define COLLECTIVE_SHM_PARTS_H

#include <sched.h>

#include "collective/collective_parts.h"

struct shm_share {
    uint64_t bytes; /* bytes that it sends */
    uint64_t sent;  /* point-to-point messages before */
};

/* A rank's control block: describes what the rank does. */
struct shm_control {
    _Alignas(64) atomic_uint_fast64_t round;
    struct collective_call call;
    uint64_t longest;      /* most bytes that it sends to one rank */
    const uint8_t *mine;   /* in one process */
    struct shm_share to[]; /* by receiver */
};

/* All of it is zero at first. */
struct shm_shared {
    uint8_t nonce[16];
    _Alignas(64) atomic_uint_fast64_t count; /* arrivals at barriers so far */
    _Alignas(64) atomic_uint wake;
    atomic_uint sleepers;
    bool crowded;    /* no core to spare beyond those of the ranks */
    atomic_int refs; /* in one process: how many have it open */
};

struct shm { /* one rank's view of it */
    struct shm_shared *shared;
    size_t map_bytes; /* 0: plain memory */
    uint8_t *controls, *slots;
    size_t control_bytes, slot_bytes;
    int size;
    bool direct; /* one process: ranks read each other's buffers */
    bool spins;  /* there is a core for every rank */
    int crowded; /* this many further waits sleep at once */
    uint64_t round, barriers;
    const uint8_t **views; /* for exchanges, by rank */
    size_t *bytes;
    struct collective_call *calls;
};

/* Have the ranks fewer than two cores each? cores[i]: those that rank i may use, `stride` bytes
 * apart. */
bool shm_is_crowded(const cpu_set_t *cores, size_t stride, int ranks);

/* ---- segment_fd.c: the descriptor of the shared memory, from the first rank to the others ---- */

#define SEGMENT_NAME 16 /* random bytes */

/* Opens a socket to which the descriptor can be sent; returns it and its name, or -1. */
int segment_listen(uint8_t out_name[SEGMENT_NAME]);
/* Does not wait. False: there is no such socket here, or it is another user's. */
bool segment_send(int fd, const uint8_t name[SEGMENT_NAME]);
/* A descriptor that was sent before: a file of this many bytes, from a process of this user; else
 * -1. Does not wait. */
int segment_receive(int listener, size_t bytes);

static inline struct shm_control *shm_control(const struct shm *h, int rank, uint64_t round)
{
    size_t i = (size_t)rank * 2 + (round & 1);
    return (struct shm_control *)(h->controls + i * h->control_bytes);
}

static inline uint8_t *shm_slot(const struct shm *h, int rank, uint64_t round)
{
    return h->slots + ((size_t)rank * 2 + (round & 1)) * h->slot_bytes;
}

#endif
