/* Meeting: launchers of several machines find each other at an address that all were given.
 *
 * Whoever has that address and is the first to listen there is the host; the others ask it, and are
 * answered when all have come. Then every launcher knows which machine it is and the addresses of
 * all ranks. Peers without the job's secret are refused, and so are launchers of another job. */
#ifndef LAUNCH_RENDEZVOUS_H
#define LAUNCH_RENDEZVOUS_H

#include <stdbool.h>

#include "net/address.h"

struct rendezvous {
    const char *address; /* "10.0.0.1:6170": the rendezvous */
    const char *job;     /* who has another name here is refused */
    const char *secret;  /* "": none */
    const char *transport;
    int nodes, node;     /* how many are to come; which one this is, -1: by arrival */
    int64_t patience_ms; /* so long they may be late */
    /* what the others are to know of this machine */
    const char *endpoints; /* of its ranks, with commas */
    int nranks;
    const char *master; /* a free address of it, PADDLE_MASTER if it is the first machine */
    const char *name;   /* of this start of the job, if it is the first */
    /* every few seconds: for whom it waits; in the caller's thread. NULL: nobody is to know */
    void (*on_wait)(void *arg, const char *text);
    void *arg;
};

struct rendezvous_result {
    int node, first_rank, nranks; /* of all */
    char master[ADDRESS_TEXT], name[64];
    char *endpoints; /* of all ranks; free() it */
};

/* The address of this machine that others of the meeting know it by; ADDRESS_TEXT bytes. */
enum skiff_status launch_rendezvous_leader(const char *address, char *out, struct skiff_error *err);
/* May take as long as the patience. */
enum skiff_status launch_rendezvous(const struct rendezvous *m, struct rendezvous_result *out,
                                    struct skiff_error *err);

#endif
