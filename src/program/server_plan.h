/* The plan of one server: what the blocks of its server program are for. The split, which writes
 * the program, says it (passes/split.h: split_server); of a program that comes from elsewhere it is
 * read back (server/foreign.c). Either way a server is built from this, and looks at ops only to
 * run them.
 *
 * Nobody changes a plan once it is made. */
#ifndef PROGRAM_SERVER_PLAN_H
#define PROGRAM_SERVER_PLAN_H

#include "program/job_plan.h"

struct plan_names {
    int n;
    const char **v;
};

/* A parameter slice or keyed table, and the block that updates it. Names are the program's. */
struct plan_unit {
    const char *param;
    const char *grad; /* what the block reads: what has arrived (GEO: a difference), or its sum */
    int block;        /* in the server program */
    bool sparse;      /* gradients come as rows */
    bool keyed;       /* a distributed table: rows by id, made when they are first touched */
    /* Names under which gradients arrive: grad, and one per trainer where they are merged. */
    struct plan_names pushed;
    const char *delta; /* one more: differences of rows, which are added; NULL: none */
    /* So many ops at the head of the block add up what the trainers have sent (1), and divide by
     * their number (2). The server does this itself, for those trainers that are there. */
    int merge_ops;
    /* DC-ASGD: the gradient is corrected by what its sender pulled last. Dense ones by ops of the
     * block, which find that in `base`; an op fills it from `backups`, one per trainer. The server
     * keeps the backups elsewhere and fills base itself. Rows: base NULL. */
    bool compensate;
    const char *base;
    struct plan_names backups;
    struct plan_names
        vars; /* of the update, but the learning rate: param, gradient, accumulators */
    struct plan_names rows; /* keyed: those of vars that have a row per id */
    const char *features; /* keyed: settings of a table of features, which has no block (-1) and is
                             updated by its own rules (table/table_config.h); NULL: a plain table */
    const struct skiff_placement *placed; /* in the job's plan; keyed: NULL */
};

struct server_plan {
    const struct job_plan *job; /* a reference */
    int index;                  /* which of its servers */
    struct plan_unit *units;
    int nunits;
    int rate_block;             /* computes the learning rate; -1: none, it does not change */
    struct plan_names counters; /* steps that trainers report, which the rate's block adds up */
    struct arena arena;
};

/* Without units yet. */
struct server_plan *server_plan_create(const struct job_plan *job, int index);
void server_plan_destroy(struct server_plan *p); /* NULL is fine */

/* One more unit; earlier pointers to units are invalid afterwards. Names are copied, here and
 * below. */
struct plan_unit *server_plan_add(struct server_plan *p, const char *param, const char *grad,
                                  int block, bool keyed);
void plan_names_add(struct server_plan *p, struct plan_names *list, const char *name);

#endif
