/* The inside of struct skiff_net. */
#ifndef LAYERS_NET_H
#define LAYERS_NET_H

#include <skiff/net.h>

#include "base/arena.h"
#include "base/map.h"
#include "program/names.h"
#include "program/program.h"

/* One node of the tree of name scopes. Scopes of one parent with one name are distinguished by a
 * suffix: a, a_1, a_2. */
struct name_scope {
    const char *path;         /* "/", "/optimizer/" */
    struct name_scope *outer; /* NULL at the root */
    struct str_map used;      /* name -> how often, as an integer in the pointer */
};

struct net_frame { /* what one program guard sets */
    struct skiff_program *main, *startup;
    struct skiff_block *block; /* where layers append: a block of main */
    struct net_frame *outer;
};

struct net_grad_count { /* how often gradients were appended to a program */
    const struct skiff_program *program;
    int times;
    struct net_grad_count *next;
};

struct net_cleanup { /* run when the net is destroyed */
    void (*run)(void *what);
    void *what;
    struct net_cleanup *next;
};

struct skiff_net {
    struct arena arena;
    struct skiff_program *main, *startup; /* owned */
    struct net_frame root, *frame;
    struct names root_names, *names;
    struct name_scope root_scope, *scope;
    struct net_grad_count *grad_counts;
    struct net_cleanup *cleanups;
    struct skiff_error error; /* the first one; code 0: none */
    const char *warning;      /* of the last backward; NULL: none */
};

/* Records the first error; always returns NULL, so that layers can `return net_fail(...)`. */
void *net_fail_at(struct skiff_net *net, const char *file, int line, enum skiff_status code,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
#define net_fail(net, code, ...) net_fail_at((net), __FILE__, __LINE__, (code), __VA_ARGS__)
/* Records an error that a callee has filled. */
void *net_fail_with(struct skiff_net *net, const struct skiff_error *err);
static inline bool net_failed(const struct skiff_net *net)
{
    return net->error.code != SKIFF_OK;
}

/* Calls `run(what)` when the net is destroyed, for objects in its arena that own memory. */
void net_at_end(struct skiff_net *net, void (*run)(void *what), void *what);

/* Number of the append_backward / gradients call that begins now on this program: 1, 2, ... */
int net_next_grad_time(struct skiff_net *net, const struct skiff_program *p);

/* Opens / closes a sub-block of the main program; layers append to it in between. */
struct skiff_block *net_enter_block(struct skiff_net *net);
void net_leave_block(struct skiff_net *net);

/* op_role and op_role_var given to ops appended to p, until restored. */
struct role_guard {
    struct skiff_program *program;
    int role;
    const char *const *role_var;
    int nrole_var;
};
struct role_guard role_push(struct skiff_program *p, int role, const char *const *role_var,
                            int nrole_var);
void role_pop(struct role_guard saved);

#endif
