/* Who a process is, from three sets of variables that Paddle's versions and launchers set.
 *
 * Paddle takes what it finds and fails later, far from the cause; here everything that does not fit
 * together is refused at once, with variable, value and what was expected. Addresses are brought
 * into one spelling first, because a server finds itself in the list by comparing them. The
 * environment is read through a function, so that tests have their own. */
#include "fleet/role.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/plural.h"
#include "fleet/rank_env.h"
#include "net/host.h"

#define LIST "PADDLE_PSERVERS_IP_PORT_LIST"

void role_deinit(struct role *r)
{
    role_list_deinit(r->servers, r->nservers);
    role_list_deinit(r->worker_endpoints, r->nworker_endpoints);
    free(r->servers_text);
    free(r->workers_text);
    *r = (struct role){0};
}

void role_split(int n, int workers, int id, int *out_first, int *out_count)
{
    int base = n / workers, rest = n % workers;
    *out_count = base + (id < rest);
    *out_first = id * base + (id < rest ? id : rest);
}

/* ---- lists of addresses ---- */

void role_list_deinit(char **list, int n)
{
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

char *role_list_join(char *const *list, int n)
{
    struct buf b = BUF_INIT;
    buf_str(&b, "");
    for (int i = 0; i < n; i++)
        buf_printf(&b, "%s%s", i ? "," : "", list[i]);
    return b.data;
}

/* "host:port" in one spelling: names in small letters. */
static enum skiff_status normalise(const char *what, const char *text, char out[ADDRESS_TEXT],
                                   struct skiff_error *err)
{
    struct address a;
    enum skiff_status status = address_parse(text, &a, err);
    if (status < 0)
        return error_prefix(err, status, "%s", what);
    if (a.family == ADDRESS_ANY)
        return error_set(err, SKIFF_INVALID,
                         "%s: '%s' names no machine; give the address that the others reach it by",
                         what, text);
    if (a.port == 0)
        return error_set(err, SKIFF_INVALID,
                         "%s: '%s' has port 0; all processes of the job must know the port: choose "
                         "one from 1 to 65535",
                         what, text);
    for (char *c = a.host; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    address_print(&a, out);
    return SKIFF_OK;
}

struct list {
    char **at;
    int n;
};

static enum skiff_status list_add(struct list *l, const char *what, const char *text,
                                  struct skiff_error *err)
{
    char clean[ADDRESS_TEXT];
    TRY(normalise(what, text, clean, err));
    for (int i = 0; i < l->n; i++)
        if (!strcmp(l->at[i], clean))
            return error_set(err, SKIFF_INVALID,
                             "%s: %s stands there twice (numbers %d and %d); every process needs "
                             "an address of its own",
                             what, clean, i, l->n);
    l->at = mem_grow_or_die(l->at, (size_t)(l->n + 2) * sizeof(*l->at));
    l->at[l->n++] = mem_strdup_or_die(clean);
    l->at[l->n] = NULL;
    return SKIFF_OK;
}

/* Cuts the next part at a comma, blanks around it are dropped. NULL: there is no more. */
static char *next_part(char **rest)
{
    if (!*rest)
        return NULL;
    char *part = *rest, *comma = strchr(part, ',');
    *rest = comma ? comma + 1 : NULL;
    if (comma)
        *comma = 0;
    part += strspn(part, " \t\r\n");
    size_t n = strlen(part);
    while (n && isspace((unsigned char)part[n - 1]))
        part[--n] = 0;
    return part;
}

enum skiff_status role_list_parse(const char *what, const char *text, char ***out, int *out_n,
                                  struct skiff_error *err)
{
    struct list l = {0};
    char *copy = mem_strdup_or_die(text), *rest = copy;
    enum skiff_status status = SKIFF_OK;
    for (char *part; status == SKIFF_OK && (part = next_part(&rest));)
        status = *part ? list_add(&l, what, part, err)
                       : error_set(err, SKIFF_INVALID,
                                   "%s is '%s': there is nothing between two commas or at an end; "
                                   "expected host:port,host:port",
                                   what, text);
    free(copy);
    if (status < 0) {
        role_list_deinit(l.at, l.n);
        return status;
    }
    *out = l.at;
    *out_n = l.n;
    return SKIFF_OK;
}

/* ---- single values ---- */

struct env {
    role_lookup get;
    void *self;
    struct skiff_error *err;
};

const char *role_environment(void *self, const char *name)
{
    (void)self;
    return getenv(name);
}

/* Absent and empty are the same: launchers export empty ones. */
static const char *look(const struct env *e, const char *name)
{
    const char *v = e->get(e->self, name);
    return v && v[strspn(v, " \t")] ? v : NULL;
}

static enum skiff_status need(const struct env *e, const char *name, const char *expected,
                              const char **out)
{
    *out = look(e, name);
    if (*out)
        return SKIFF_OK;
    return error_set(e->err, SKIFF_NOT_FOUND,
                     "the environment variable %s is not set; expected %s. Start the job with "
                     "`skiff launch`, which sets it, or set it yourself",
                     name, expected);
}

static enum skiff_status parse_int(const struct env *e, const char *name, const char *expected,
                                   const char *text, int *out)
{
    char *end;
    long v = strtol(text, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    if (*end || end == text || v < INT_MIN || v > INT_MAX)
        return error_set(e->err, SKIFF_INVALID, "%s is '%s'; expected %s, a whole number", name,
                         text, expected);
    *out = (int)v;
    return SKIFF_OK;
}

static enum skiff_status take_workers(const struct env *e, struct role *r, const char *name)
{
    const char *text = look(e, name);
    if (!text && r->worker_endpoints) {
        r->workers = r->nworker_endpoints;
        return SKIFF_OK;
    }
    static const char expected[] = "the number of trainers of the job";
    TRY(need(e, name, expected, &text));
    TRY(parse_int(e, name, expected, text, &r->workers));
    if (r->workers < 1)
        return error_set(e->err, SKIFF_RANGE, "%s is %d; a job has at least 1 trainer", name,
                         r->workers);
    if (r->worker_endpoints && r->nworker_endpoints != r->workers)
        return error_set(e->err, SKIFF_INVALID,
                         "PADDLE_TRAINER_ENDPOINTS lists %d trainer%s, but %s says %d; make them "
                         "agree, or leave PADDLE_TRAINER_ENDPOINTS out",
                         r->nworker_endpoints, plural(r->nworker_endpoints), name, r->workers);
    return SKIFF_OK;
}

static enum skiff_status take_worker_id(const struct env *e, struct role *r, const char *fallback,
                                        const char *count_name)
{
    static const char expected[] = "this trainer's number, from 0 on";
    const char *text = look(e, "PADDLE_TRAINER_ID");
    if (!text && fallback)
        text = fallback;
    if (!text)
        TRY(need(e, "PADDLE_TRAINER_ID", expected, &text));
    TRY(parse_int(e, "PADDLE_TRAINER_ID", expected, text, &r->id));
    if (r->id < 0 || r->id >= r->workers)
        return error_set(e->err, SKIFF_RANGE,
                         "PADDLE_TRAINER_ID is %d, but the job has %d trainer%s (%s): numbers go "
                         "from 0 to %d. Correct the one that is wrong",
                         r->id, r->workers, plural(r->workers), count_name, r->workers - 1);
    return SKIFF_OK;
}

static enum skiff_status take_kind(const struct env *e, struct role *r, const char *name)
{
    const char *text;
    TRY(need(e, name, "TRAINER or PSERVER", &text));
    if (!strcmp(text, "TRAINER"))
        r->kind = SKIFF_WORKER;
    else if (!strcmp(text, "PSERVER"))
        r->kind = SKIFF_SERVER;
    else if (!strcmp(text, "HETER_TRAINER"))
        return error_set(e->err, SKIFF_UNSUPPORTED,
                         "%s is HETER_TRAINER; there are no heterogeneous trainers here: use "
                         "TRAINER or PSERVER",
                         name);
    else
        return error_set(e->err, SKIFF_INVALID,
                         "%s is '%s'; expected TRAINER or PSERVER, in capital letters", name, text);
    return SKIFF_OK;
}

/* ---- which server am I ---- */

/* By text; then, for the names among those with the same port, by what they stand for. */
static int find_server(const struct role *r, const char *own)
{
    struct address me, it;
    for (int i = 0; i < r->nservers; i++)
        if (!strcmp(r->servers[i], own))
            return i;
    address_parse(own, &me, NULL);
    for (int i = 0; i < r->nservers; i++) {
        address_parse(r->servers[i], &it, NULL);
        bool name = it.family == ADDRESS_NAME || me.family == ADDRESS_NAME;
        if (it.port == me.port && name && host_same(it.host, me.host))
            return i;
    }
    return -1;
}

static enum skiff_status take_server_id(const struct env *e, struct role *r, const char *host_name,
                                        const char *port_name, const char *port_fallback,
                                        const char *list_name)
{
    const char *host, *port = look(e, port_name);
    char text[600], own[ADDRESS_TEXT], what[128];
    TRY(need(e, host_name, "this server's own host, as the list of servers has it", &host));
    if (!port)
        port = port_fallback;
    if (!port)
        TRY(need(e, port_name, "this server's own port", &port));
    bool bare6 = strchr(host, ':') && host[0] != '[';
    if (bare6 && strchr(host, ':') == strrchr(host, ':'))
        return error_set(e->err, SKIFF_INVALID,
                         "%s is '%s'; expected this server's own host without a port: the port is "
                         "%s",
                         host_name, host, port_name);
    snprintf(text, sizeof(text), bare6 ? "[%.270s]:%.270s" : "%.270s:%.270s", host, port);
    snprintf(what, sizeof(what), "%s and %s", host_name, port_name);
    TRY(normalise(what, text, own, e->err));
    r->id = find_server(r, own);
    if (r->id < 0)
        return error_set(e->err, SKIFF_NOT_FOUND,
                         "this server is %s (%s, %s), which is not in %s: %.500s. Correct the "
                         "address, or add it to the list on every machine",
                         own, host_name, port_name, list_name, r->servers_text);
    return SKIFF_OK;
}

/* PADDLE_PSERVER_ID of the older general role maker. */
static enum skiff_status take_server_number(const struct env *e, struct role *r, const char *text)
{
    TRY(parse_int(e, "PADDLE_PSERVER_ID", "this server's place in the list, from 0 on", text,
                  &r->id));
    if (r->id < 0 || r->id >= r->nservers)
        return error_set(e->err, SKIFF_RANGE,
                         "PADDLE_PSERVER_ID is %d, but " LIST " has %d entries: numbers go from 0 "
                         "to %d",
                         r->id, r->nservers, r->nservers - 1);
    return SKIFF_OK;
}

/* ---- the sets ---- */

static enum skiff_status take_trainer_endpoints(const struct env *e, struct role *r)
{
    const char *text = look(e, "PADDLE_TRAINER_ENDPOINTS");
    if (!text)
        return SKIFF_OK;
    TRY(role_list_parse("PADDLE_TRAINER_ENDPOINTS", text, &r->worker_endpoints,
                        &r->nworker_endpoints, e->err));
    r->workers_text = role_list_join(r->worker_endpoints, r->nworker_endpoints);
    return SKIFF_OK;
}

static enum skiff_status from_cloud(const struct env *e, struct role *r)
{
    const char *text;
    if (look(e, "PADDLE_HETER_TRAINER_IP_PORT_LIST"))
        return error_set(e->err, SKIFF_UNSUPPORTED,
                         "PADDLE_HETER_TRAINER_IP_PORT_LIST is set; there are no heterogeneous "
                         "trainers here: leave it out");
    TRY(need(e, LIST, "the servers' addresses, host:port,host:port", &text));
    TRY(role_list_parse(LIST, text, &r->servers, &r->nservers, e->err));
    r->servers_text = role_list_join(r->servers, r->nservers);
    TRY(take_trainer_endpoints(e, r));
    TRY(take_kind(e, r, "TRAINING_ROLE"));
    TRY(take_workers(e, r, "PADDLE_TRAINERS_NUM"));
    if (r->kind == SKIFF_WORKER)
        return take_worker_id(e, r, NULL, "PADDLE_TRAINERS_NUM");
    const char *number = look(e, "PADDLE_PSERVER_ID");
    if (number && !look(e, "POD_IP"))
        return take_server_number(e, r, number);
    return take_server_id(e, r, "POD_IP", "PADDLE_PORT", NULL, LIST);
}

/* Hosts that share one port become a list of addresses. */
static enum skiff_status join_hosts(const struct env *e, const char *hosts, const char *port,
                                    struct role *r)
{
    struct list l = {0};
    char *copy = mem_strdup_or_die(hosts), *rest = copy;
    enum skiff_status status = SKIFF_OK;
    for (char *part; status == SKIFF_OK && (part = next_part(&rest));) {
        char text[600];
        bool six = strchr(part, ':') != NULL && part[0] != '[';
        if (!*part)
            status = error_set(e->err, SKIFF_INVALID,
                               "PADDLE_PSERVER_IPS is '%s': there is nothing between two commas or "
                               "at an end; expected host,host",
                               hosts);
        else if (six && strchr(part, ':') == strrchr(part, ':'))
            status =
                error_set(e->err, SKIFF_INVALID,
                          "PADDLE_PSERVER_IPS has '%s'; expected hosts without a port: "
                          "PADDLE_PSERVER_PORT is the port of all of them. With ports of their "
                          "own use " LIST,
                          part);
        else {
            snprintf(text, sizeof(text), six ? "[%.270s]:%.270s" : "%.270s:%.270s", part, port);
            status = list_add(&l, "PADDLE_PSERVER_IPS and PADDLE_PSERVER_PORT", text, e->err);
        }
    }
    free(copy);
    r->servers = l.at;
    r->nservers = l.n;
    return status;
}

static enum skiff_status from_manual(const struct env *e, struct role *r)
{
    const char *hosts, *port = look(e, "PADDLE_PSERVER_PORT");
    TRY(take_kind(e, r, "PADDLE_TRAINING_ROLE"));
    TRY(need(e, "PADDLE_PSERVER_IPS", "the servers' hosts, host,host", &hosts));
    TRY(join_hosts(e, hosts, port ? port : "6174", r));
    r->servers_text = role_list_join(r->servers, r->nservers);
    TRY(take_workers(e, r, "PADDLE_TRAINERS"));
    if (r->kind == SKIFF_WORKER)
        return take_worker_id(e, r, "0", "PADDLE_TRAINERS");
    return take_server_id(e, r, "PADDLE_CURRENT_IP", "PADDLE_PSERVER_PORT", "6174",
                          "PADDLE_PSERVER_IPS");
}

static bool has_cloud(const struct env *e)
{
    return look(e, "TRAINING_ROLE") || look(e, LIST);
}

static bool has_manual(const struct env *e)
{
    return look(e, "PADDLE_TRAINING_ROLE") || look(e, "PADDLE_PSERVER_IPS");
}

bool role_env_is_set(role_lookup get, void *self)
{
    struct env e = {get ? get : role_environment, self, NULL};
    return has_cloud(&e) || has_manual(&e);
}

enum skiff_status role_from_env(struct role *out, enum skiff_role_env set, role_lookup get,
                                void *self, struct skiff_error *err)
{
    struct env e = {get ? get : role_environment, self, err};
    struct role r = {.kind = SKIFF_WORKER, .workers = 1};
    enum skiff_status status = SKIFF_OK;
    if (set == SKIFF_ROLE_ENV_CLOUD || (set == SKIFF_ROLE_ENV_AUTO && has_cloud(&e)))
        status = from_cloud(&e, &r);
    else if (set == SKIFF_ROLE_ENV_MANUAL || has_manual(&e))
        status = from_manual(&e, &r);
    if (status < 0) {
        role_deinit(&r);
        return status;
    }
    if (!r.servers_text)
        r.servers_text = mem_strdup_or_die("");
    if (!r.workers_text)
        r.workers_text = mem_strdup_or_die("");
    *out = r;
    return SKIFF_OK;
}

/* A rank's own address is known by its number; a second opinion must be the same one. */
static enum skiff_status check_own_endpoint(const struct env *e, const struct role *r)
{
    const char *own = look(e, "PADDLE_CURRENT_ENDPOINT");
    char clean[ADDRESS_TEXT];
    if (!own)
        return SKIFF_OK;
    TRY(normalise("PADDLE_CURRENT_ENDPOINT", own, clean, e->err));
    if (!strcmp(clean, r->worker_endpoints[r->id]))
        return SKIFF_OK;
    return error_set(e->err, SKIFF_INVALID,
                     "PADDLE_CURRENT_ENDPOINT is %s, but PADDLE_TRAINER_ID is %d, and "
                     "PADDLE_TRAINER_ENDPOINTS has %s there; make them agree",
                     clean, r->id, r->worker_endpoints[r->id]);
}

static enum skiff_status from_ranks(const struct env *e, struct role *r)
{
    if (!look(e, "PADDLE_TRAINERS_NUM") && !look(e, "PADDLE_TRAINER_ENDPOINTS"))
        return rank_env_read(r, e->get, e->self, e->err);
    TRY(take_trainer_endpoints(e, r));
    TRY(take_workers(e, r, "PADDLE_TRAINERS_NUM"));
    TRY(take_worker_id(e, r, r->workers == 1 ? "0" : NULL, "PADDLE_TRAINERS_NUM"));
    if (r->worker_endpoints)
        return check_own_endpoint(e, r);
    if (r->workers == 1)
        return SKIFF_OK;
    return error_set(e->err, SKIFF_NOT_FOUND,
                     "PADDLE_TRAINERS_NUM is %d, but PADDLE_TRAINER_ENDPOINTS is not set; expected "
                     "the addresses of all ranks, host:port,host:port. Start the job with `skiff "
                     "launch --collective`, which sets it, or set it yourself",
                     r->workers);
}

enum skiff_status role_from_ranks(struct role *out, role_lookup get, void *self,
                                  struct skiff_error *err)
{
    struct env e = {get ? get : role_environment, self, err};
    struct role r = {.kind = SKIFF_WORKER, .workers = 1};
    enum skiff_status status = from_ranks(&e, &r);
    if (status < 0)
        role_deinit(&r);
    else
        *out = r;
    return status;
}

/* ---- given by the user ---- */

static enum skiff_status user_lists(struct role *r, const struct skiff_role *given,
                                    struct skiff_error *err)
{
    struct list servers = {0}, workers = {0};
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; status == SKIFF_OK && i < given->nservers; i++)
        status = list_add(&servers, "server_endpoints", given->server_endpoints[i], err);
    for (int i = 0; status == SKIFF_OK && i < given->nworker_endpoints; i++)
        status = list_add(&workers, "worker_endpoints", given->worker_endpoints[i], err);
    r->servers = servers.at;
    r->nservers = servers.n;
    r->worker_endpoints = workers.at;
    r->nworker_endpoints = workers.n;
    return status;
}

static enum skiff_status user_check(struct role *r, const struct skiff_role *given,
                                    struct skiff_error *err)
{
    if (given->role != SKIFF_WORKER && given->role != SKIFF_SERVER)
        return error_set(err, SKIFF_INVALID,
                         "role is %d; expected Role.WORKER (1) or Role.SERVER "
                         "(2)",
                         (int)given->role);
    if (given->nservers < 1 && (given->role != SKIFF_WORKER || given->worker_num != 1))
        return error_set(err, SKIFF_INVALID,
                         "server_endpoints is empty; expected the addresses of all servers, "
                         "host:port each");
    TRY(user_lists(r, given, err));
    r->workers = given->worker_num ? given->worker_num : given->nworker_endpoints;
    if (r->workers < 1)
        return error_set(err, SKIFF_RANGE, "worker_num is %d; a job has at least 1 trainer",
                         given->worker_num);
    if (r->nworker_endpoints && r->nworker_endpoints != r->workers)
        return error_set(err, SKIFF_INVALID,
                         "worker_num is %d, but worker_endpoints has %d entries", r->workers,
                         r->nworker_endpoints);
    int limit = given->role == SKIFF_WORKER ? r->workers : r->nservers;
    if (given->current_id < 0 || given->current_id >= limit)
        return error_set(
            err, SKIFF_RANGE, "current_id is %d, but the job has %d %s%s: numbers go from 0 to %d",
            given->current_id, limit, given->role == SKIFF_WORKER ? "trainer" : "server",
            plural(limit), limit - 1);
    return SKIFF_OK;
}

enum skiff_status role_from_user(struct role *out, const struct skiff_role *given,
                                 struct skiff_error *err)
{
    TRY(reserved_check(given->reserved, "skiff_role", err));
    struct role r = {.kind = given->role, .id = given->current_id};
    enum skiff_status status = user_check(&r, given, err);
    if (status < 0) {
        role_deinit(&r);
        return status;
    }
    r.servers_text = role_list_join(r.servers, r.nservers);
    r.workers_text = role_list_join(r.worker_endpoints, r.nworker_endpoints);
    *out = r;
    return SKIFF_OK;
}
