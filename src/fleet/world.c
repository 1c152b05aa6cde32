/* The world of a collective job (include/skiff/collective.h): this rank's number, the engine that
 * connects it to the others (net, or MPI under mpirun), and its rings. Programs and calls use them
 * through collective/rings.h.
 *
 * One world a process: it is ring 0. A forked child inherits the memory but not the connections, so
 * the opener's process id is kept (skiff_world_is_inherited). Late ranks are reported from any
 * thread. */
#include <skiff/collective.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/secret.h"
#include "collective/rings.h"
#include "fleet/report.h"
#include "fleet/role.h"
#include "fleet/settings.h"

#define START_MS 120000

static pid_t opener; /* of the world */

/* NULL: none is chosen. */
static const char *chosen_engine(const struct skiff_world_options *o)
{
    const char *engine = o->engine ? o->engine : getenv("SKIFF_COLLECTIVE");
    return engine && *engine ? engine : NULL;
}

/* Ranks of mpirun use MPI where it can be loaded; without it they need addresses. */
static enum skiff_status choose_mpi(const struct skiff_world_options *o, const struct role *r,
                                    bool *out, struct skiff_error *err)
{
    const char *engine = chosen_engine(o);
    bool by_mpirun = r->launcher && !strcmp(r->launcher, "mpirun");
    struct skiff_error why = {0};
    *out = engine ? !strcmp(engine, "mpi") : by_mpirun && collective_mpi_loads(&why) == SKIFF_OK;
    if (*out || !by_mpirun || r->worker_endpoints)
        return SKIFF_OK;
    return error_set(err, SKIFF_UNSUPPORTED,
                     "mpirun has started %d ranks on several machines, whose addresses it does not "
                     "give, and %s; start the job with srun or `skiff launch --collective --ips`, "
                     "or set PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM and PADDLE_TRAINER_ENDPOINTS",
                     r->workers, engine ? "the engine net is chosen" : why.message);
}

/* Each process for itself would be a run of its own. */
static enum skiff_status check_size(const struct role *r, const struct collective *c,
                                    struct skiff_error *err)
{
    if (!r->launcher || collective_size(c) == r->workers)
        return SKIFF_OK;
    return error_set(err, SKIFF_UNSUPPORTED,
                     "MPI has %d ranks, but %s has started %d: the launcher and the MPI library do "
                     "not fit together; choose the engine net (SKIFF_COLLECTIVE=net)",
                     collective_size(c), r->launcher, r->workers);
}

static enum skiff_status check_engine(const struct skiff_world_options *o, struct skiff_error *err)
{
    const char *engine = chosen_engine(o);
    if (!engine || !strcmp(engine, "net") || !strcmp(engine, "mpi"))
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID, "%s is '%s'; expected net or mpi",
                     o->engine ? "the engine" : "SKIFF_COLLECTIVE", engine);
}

static enum skiff_status take_given(const struct skiff_world_options *o, struct role *r,
                                    struct skiff_error *err)
{
    if (o->rank < 0 || o->rank >= o->size)
        return error_set(err, SKIFF_RANGE, "rank %d in a world of %d: ranks go from 0 to %d",
                         o->rank, o->size, o->size - 1);
    *r = (struct role){.kind = SKIFF_WORKER, .id = o->rank, .workers = o->size};
    char *text = role_list_join((char *const *)o->endpoints, o->size);
    enum skiff_status status =
        role_list_parse("endpoints", text, &r->worker_endpoints, &r->nworker_endpoints, err);
    free(text);
    return status;
}

/* ---- ranks that are late ---- */

/* Who hears of them; the world is the process's, and so is this. */
static struct {
    void (*on_log)(void *user, const char *line);
    void *user;
} listener;

/* Any thread. */
static void on_late(void *user, int rank, const char *text, bool given_up)
{
    struct report_news n = {.kind = given_up ? NEWS_ACCUSED : NEWS_LATE, .index = rank};
    char line[640];
    (void)user;
    snprintf(n.role, sizeof n.role, "rank");
    snprintf(n.text, sizeof n.text, "%s", text);
    report_news_send(&n);
    snprintf(line, sizeof line, "rank %d %s", rank, text);
    if (listener.on_log && !given_up) /* then the error says it */
        listener.on_log(listener.user, line);
}

static enum skiff_status watch_others(struct collective *c, const struct skiff_world_options *o,
                                      struct skiff_error *err)
{
    struct settings s;
    TRY(settings_read(&s, NULL, NULL, err));
    secret_wipe(&s.secret, sizeof s.secret);
    listener.on_log = o->on_log;
    listener.user = o->user;
    collective_set_watch(c, &(struct collective_watch){
                                .late_ms = s.silence_ms, .wait_ms = s.wait_ms, .on_late = on_late});
    return SKIFF_OK;
}

static enum skiff_status open_net(const struct skiff_world_options *o, const struct role *r,
                                  struct collective **out, struct skiff_error *err)
{
    struct settings s;
    TRY(settings_read(&s, NULL, NULL, err));
    TRY(settings_set_security(
        &s, &(struct settings_security){.secret_file = o->secret_file, .insecure = o->insecure},
        err));
    static const char *const alone[] = {"127.0.0.1:1"};
    return collective_net(
        &(struct collective_net_options){
            .endpoints = r->worker_endpoints ? (const char *const *)r->worker_endpoints : alone,
            .size = r->workers,
            .rank = r->id,
            .secret = s.secret,
            .insecure = s.insecure,
            .start_ms = o->start_ms  ? o->start_ms
                        : s.start_ms ? s.start_ms
                                     : START_MS,
            .silence_ms = s.silence_ms,
            .on_log = o->on_log,
            .user = o->user},
        out, err);
}

static enum skiff_status open_ranks(const struct skiff_world_options *o, const struct role *r,
                                    struct collective **out, struct skiff_error *err)
{
    bool mpi;
    TRY(choose_mpi(o, r, &mpi, err));
    if (!mpi)
        return open_net(o, r, out, err);
    TRY(collective_mpi(out, err));
    enum skiff_status status = check_size(r, *out, err);
    if (status < 0)
        collective_destroy(*out);
    return status;
}

enum skiff_status skiff_world_open(const struct skiff_world_options *options,
                                   struct skiff_error *err)
{
    static const struct skiff_world_options nothing;
    const struct skiff_world_options *o = options ? options : &nothing;
    if (skiff_world_is_open())
        return SKIFF_OK;
    TRY(reserved_check(o->reserved, "skiff_world_options", err));
    TRY(check_engine(o, err));
    struct role r;
    struct collective *c = NULL;
    TRY(o->endpoints ? take_given(o, &r, err) : role_from_ranks(&r, NULL, NULL, err));
    enum skiff_status status = open_ranks(o, &r, &c, err);
    role_deinit(&r);
    opener = getpid();
    if (status == SKIFF_OK && (status = watch_others(c, o, err)) < 0)
        collective_destroy(c);
    return status < 0 ? status : rings_put(0, c, err);
}

bool skiff_world_is_inherited(void)
{
    return rings_has(0) && opener != getpid();
}

bool skiff_world_is_open(void)
{
    return rings_has(0);
}

/* Before the world is open only the environment knows; open reports a wrong one. */
static int by_environment(bool rank)
{
    struct role r;
    if (role_from_ranks(&r, NULL, NULL, NULL) < 0)
        return rank ? 0 : 1;
    int n = rank ? r.id : r.workers;
    role_deinit(&r);
    return n;
}

int skiff_world_rank(void)
{
    return rings_has(0) ? collective_rank(rings_get(0)) : by_environment(true);
}

int skiff_world_size(void)
{
    return rings_has(0) ? collective_size(rings_get(0)) : by_environment(false);
}

const char *skiff_world_engine(void)
{
    if (!rings_has(0))
        return "";
    return collective_size(rings_get(0)) == 1 ? "alone" : collective_engine(rings_get(0));
}

void skiff_world_close(void)
{
    rings_clear();
}

void skiff_world_abandon(const char *reason)
{
    struct collective *c = rings_get(0);
    if (c)
        collective_abandon(c, reason);
}

/* ---- rings ---- */

static enum skiff_status check_ranks(const int *ranks, int n, int size, struct skiff_error *err)
{
    if (n < 1 || n > size)
        return error_set(err, SKIFF_INVALID,
                         "a ring of %d ranks in a world of %d; expected 1 to %d", n, size, size);
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= size)
            return error_set(err, SKIFF_RANGE, "rank %d is not in the world: it has ranks 0 to %d",
                             ranks[i], size - 1);
        for (int k = 0; k < i; k++)
            if (ranks[k] == ranks[i])
                return error_set(err, SKIFF_INVALID, "rank %d stands twice in the list of a ring",
                                 ranks[i]);
    }
    return SKIFF_OK;
}

enum skiff_status skiff_world_group(const int *ranks, int n, int *out, struct skiff_error *err)
{
    struct collective *world, *c = NULL;
    TRY(rings_need(0, "a ring of some ranks", &world, err));
    TRY(check_ranks(ranks, n, collective_size(world), err));
    int id = rings_free_id();
    TRY(collective_split(world, ranks, n, &c, err));
    enum skiff_status status = rings_put(id, c, err);
    if (status < 0)
        collective_destroy(c);
    else
        *out = id;
    return status;
}

int skiff_ring_rank(int ring)
{
    struct collective *c = rings_get(ring);
    return c ? collective_rank(c) : -1;
}

int skiff_ring_size(int ring)
{
    struct collective *c = rings_get(ring);
    return c ? collective_size(c) : -1;
}

void skiff_ring_destroy(int ring)
{
    if (ring != 0)
        rings_remove(ring);
}
