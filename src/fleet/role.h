/* Role: whether this process of a job is a trainer or a parameter server, its number, and the other
 * members.
 *
 * Three sets of variables are known: those of PaddleCloud and of the launchers (TRAINING_ROLE,
 * ...), those that older scripts read directly (PADDLE_TRAINING_ROLE, PADDLE_PSERVER_IPS, ...), and
 * none at all: a single trainer. docs/guide/distributed.md lists them. Every wrong or missing value
 * has a message of its own: which variable, what was found, what was expected, what to do. */
#ifndef FLEET_ROLE_H
#define FLEET_ROLE_H

#include <stdbool.h>

#include <skiff/fleet.h>

#include "base/error.h"

struct role {
    enum skiff_role_kind kind;
    int id, workers;
    char **servers;          /* "host:port" in one spelling; owned */
    int nservers;            /* 0: one trainer alone */
    char **worker_endpoints; /* owned; may be NULL */
    int nworker_endpoints;
    char *servers_text, *workers_text; /* joined by commas; owned */
    /* "srun" or "mpirun" when ranks are known by what these set, else NULL. Ranks that mpirun has
     * started on several machines have no endpoints. */
    const char *launcher;
};

/* Gives the value of a variable, or NULL. */
typedef const char *(*role_lookup)(void *self, const char *name);

/* get NULL: the environment of the process. */
enum skiff_status role_from_env(struct role *out, enum skiff_role_env env, role_lookup get,
                                void *self, struct skiff_error *err);
enum skiff_status role_from_user(struct role *out, const struct skiff_role *given,
                                 struct skiff_error *err);
/* Of a collective job, which has no servers: PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM,
 * PADDLE_TRAINER_ENDPOINTS, PADDLE_CURRENT_ENDPOINT; without them what srun or mpirun set
 * (rank_env.h). None at all: one rank alone. */
enum skiff_status role_from_ranks(struct role *out, role_lookup get, void *self,
                                  struct skiff_error *err);
void role_deinit(struct role *r);

/* Is one of the sets present? */
bool role_env_is_set(role_lookup get, void *self);
const char *role_environment(void *self, const char *name); /* getenv as a role_lookup */

/* A comma list of addresses, each checked, spelt in one way, no two the same. what names the list
 * in messages. *out: n + 1 strings, the last NULL; free each and the array. */
enum skiff_status role_list_parse(const char *what, const char *text, char ***out, int *out_n,
                                  struct skiff_error *err);
void role_list_deinit(char **list, int n);
char *role_list_join(char *const *list, int n); /* free() it */

/* split_files: the block of worker `id`: contiguous, the first blocks get one more. */
void role_split(int n, int workers, int id, int *out_first, int *out_count);

#endif
