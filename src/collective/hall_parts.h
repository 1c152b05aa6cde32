/* What lies in a hall (hall.c), for the file that makes it. */
#ifndef COLLECTIVE_HALL_PARTS_H
#define COLLECTIVE_HALL_PARTS_H

#include <sched.h>

#include "collective/collective_parts.h"

struct hall_share {
    uint64_t bytes; /* that it gives */
    uint64_t sent;  /* messages before */
};

/* Where a rank says what it does. */
struct hall_seat {
    _Alignas(64) atomic_uint_fast64_t round;
    struct call call;
    uint64_t longest;       /* of what it gives to one rank */
    const uint8_t *mine;    /* in one process */
    struct hall_share to[]; /* by receiver */
};

/* All of it is zero at first. */
struct hall_shared {
    uint8_t nonce[16];
    _Alignas(64) atomic_uint_fast64_t count; /* comings to meetings so far */
    _Alignas(64) atomic_uint wake;
    atomic_uint sleepers;
    bool crowded;    /* no core to spare beside those of the ranks */
    atomic_int refs; /* in one process: who has it open */
};

struct hall { /* one rank's view of it */
    struct hall_shared *shared;
    size_t map_bytes; /* 0: plain memory */
    uint8_t *seats, *slots;
    size_t seat_bytes, slot_bytes;
    int size;
    bool direct; /* one process: ranks read each other's buffers */
    bool spins;  /* there is a core for every rank */
    int crowded; /* so many waits more sleep at once */
    uint64_t round, meetings;
    const uint8_t **views; /* for exchanges, by rank */
    size_t *bytes;
    struct call *calls;
};

/* Have the ranks fewer than two cores each? cores[i]: those that rank i may use, `stride` bytes
 * apart. */
bool hall_is_crowded(const cpu_set_t *cores, size_t stride, int ranks);

/* ---- segment_fd.c: the descriptor of the shared memory, from the first rank to the others ---- */

#define SEGMENT_NAME 16 /* random bytes */

/* Opens a socket to which the descriptor can be sent; gives it and its name, or -1. */
int segment_listen(uint8_t out_name[SEGMENT_NAME]);
/* Does not wait. False: there is no such socket here, or it is another user's. */
bool segment_send(int fd, const uint8_t name[SEGMENT_NAME]);
/* What was sent before: a file of so many bytes, from a process of this user; else -1. Does not
 * wait. */
int segment_receive(int listener, size_t bytes);

static inline struct hall_seat *hall_seat(const struct hall *h, int rank, uint64_t round)
{
    size_t i = (size_t)rank * 2 + (round & 1);
    return (struct hall_seat *)(h->seats + i * h->seat_bytes);
}

static inline uint8_t *hall_slot(const struct hall *h, int rank, uint64_t round)
{
    return h->slots + ((size_t)rank * 2 + (round & 1)) * h->slot_bytes;
}

#endif
