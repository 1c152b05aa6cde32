/* The plan of one server: the purpose of each block of its server program. The split, which writes
 * the program, makes the plan (passes/split.h: split_server). For a program from elsewhere it is
 * reconstructed (server/foreign.c). A server is built from the plan and looks at ops only to run
 * them.
 *
 * A plan does not change once it is made. */
#ifndef PROGRAM_SERVER_PLAN_H
#define PROGRAM_SERVER_PLAN_H

#include "program/job_plan.h"

struct plan_names {
    int n;
    const char **v;
};

/* A parameter slice or hash-backed table, and the block that updates it. Names are the
 * program's. */
struct plan_slice {
    const char *param;
    /* variable that the block reads: the received gradient (GEO: a difference), or the sum of
     * gradients */
    const char *grad;
    int block;   /* in the server program */
    bool sparse; /* gradients are rows */
    bool keyed;  /* a distributed table: rows by id, created on first use */
    /* Names under which gradients arrive: grad, and one per trainer where they are merged. */
    struct plan_names pushed;
    const char *delta; /* one more name: row differences, which are added; NULL: none */
    /* The first ops of the block sum what the trainers have sent (1) and divide by their number
     * (2). The server does this itself, for the trainers that are present. */
    int merge_ops;
    /* DC-ASGD: the gradient is corrected by the value that its sender pulled last. Dense parameters
     * are corrected by ops of the block, which find that value in `base`; an op fills it from
     * `backups`, one per trainer. The server keeps the backups elsewhere and fills `base` itself.
     * Rows: base is NULL. */
    bool compensate;
    const char *base;
    struct plan_names backups;
    struct plan_names
        vars; /* variables of the update except the learning rate: param, gradient, accumulators */
    struct plan_names rows; /* hash-backed: those of vars that have a row per id */
    /* hash-backed: settings of a sparse table, which has no block (-1) and is updated by
     * its own rules (table/table_config.h); otherwise NULL */
    const char *sparse_table;
    const struct skiff_placement *placed; /* in the job's plan; NULL for hash-backed tables */
};

struct server_plan {
    const struct job_plan *job; /* owned reference */
    int index;                  /* index of this server */
    struct plan_slice *slices;
    int nslices;
    int rate_block;             /* computes the learning rate; -1: none, it does not change */
    struct plan_names counters; /* steps that trainers report, which the rate's block adds up */
    struct arena arena;
};

/* Without units at first. */
struct server_plan *server_plan_create(const struct job_plan *job, int index);
void server_plan_destroy(struct server_plan *p); /* NULL is fine */

/* Adds a unit; earlier pointers to units are invalid afterwards. Names are copied, here and
 * below. */
struct plan_slice *server_plan_add(struct server_plan *p, const char *param, const char *grad,
                                   int block, bool keyed);
void plan_names_add(struct server_plan *p, struct plan_names *list, const char *name);

#endif
