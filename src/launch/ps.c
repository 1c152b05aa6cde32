/* Servers and workers: which of them run here, and their environment.
 *
 * On one machine ports are chosen. On several machines every launcher gets the same lists and must
 * come to the same answer without asking the others: a process is local if its address is (POD_IP,
 * or an address of this machine). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fleet/role.h"
#include "launch/launch_parts.h"
#include "net/host.h"

/* ---- addresses ---- */

static enum skiff_status local_servers(struct launch *l, int n, struct skiff_error *err)
{
    int start = l->options->start_port;
    int *ports = mem_alloc_or_die((size_t)n * sizeof(*ports));
    enum skiff_status status = start ? SKIFF_OK : launch_start_flag(&start, err);
    if (status == SKIFF_OK && start <= 0)
        status = host_free_ports(n, ports, err);
    else if (status == SKIFF_OK && start + n - 1 > 65535)
        status = error_set(err, SKIFF_RANGE, "--start_port %d leaves too few ports for %d servers",
                           start, n);
    l->servers = mem_alloc_or_die((size_t)(n + 1) * sizeof(*l->servers));
    l->nservers = status < 0 ? 0 : n;
    for (int i = 0; i < l->nservers; i++) {
        char text[64];
        snprintf(text, sizeof(text), "127.0.0.1:%d", start > 0 ? start + i : ports[i]);
        l->servers[i] = mem_strdup_or_die(text);
    }
    free(ports);
    return status;
}

char *launch_with_ports(const char *text, int first)
{
    struct buf out = BUF_INIT;
    char *copy = mem_strdup_or_die(text), *rest = copy;
    for (int i = 0; rest; i++) {
        char *part = rest, *comma = strchr(rest, ',');
        rest = comma ? comma + 1 : NULL;
        if (comma)
            *comma = 0;
        const char *colon = strchr(part, ':');
        bool six = part[0] == '[', bare6 = !six && colon && strchr(colon + 1, ':');
        bool has = six ? strstr(part, "]:") != NULL : colon && !bare6;
        buf_printf(&out, bare6 ? "%s[%s]" : "%s%s", i ? "," : "", part);
        if (!has && *part)
            buf_printf(&out, ":%d", first + i);
    }
    free(copy);
    return out.data;
}

static enum skiff_status check_count(const char *list, int found, const char *flag, int given,
                                     struct skiff_error *err)
{
    if (given && given != found)
        return error_set(err, SKIFF_INVALID, "%s lists %d, but %s is %d; give only one of them",
                         list, found, flag, given);
    return SKIFF_OK;
}

static enum skiff_status take_servers(struct launch *l, struct skiff_error *err)
{
    const struct launch_options *a = l->options;
    if (!a->servers) {
        if (!a->server_num)
            return error_set(err, SKIFF_INVALID,
                             "the number of servers is missing: give --server_num N (on this "
                             "machine) or --servers host:port,host:port");
        return local_servers(l, a->server_num, err);
    }
    TRY(role_list_parse("--servers", a->servers, &l->servers, &l->nservers, err));
    return check_count("--servers", l->nservers, "--server_num", a->server_num, err);
}

static enum skiff_status take_workers(struct launch *l, struct skiff_error *err)
{
    const struct launch_options *a = l->options;
    if (!a->workers) {
        if (!a->worker_num)
            return error_set(err, SKIFF_INVALID,
                             "the number of workers is missing: give --worker_num N (on this "
                             "machine) or --workers host,host");
        l->nworkers = a->worker_num;
        return SKIFF_OK;
    }
    char *text = launch_with_ports(a->workers, 6170 + l->nservers);
    enum skiff_status status = role_list_parse("--workers", text, &l->workers, &l->nworkers, err);
    free(text);
    if (status == SKIFF_OK)
        status = check_count("--workers", l->nworkers, "--worker_num", a->worker_num, err);
    return status;
}

/* ---- processes ---- */

static void add_process(struct launch *l, bool server, int index, const char *endpoint)
{
    char log[64];
    snprintf(log, sizeof(log), "%slog.%d", server ? "server" : "worker", index);
    launch_add(l, server ? "server" : "worker", index, endpoint, log)->server = server;
}

static enum skiff_status choose(struct launch *l, struct skiff_error *err)
{
    bool given = l->options->servers || l->workers;
    l->at = mem_alloc_or_die((size_t)(l->nservers + l->nworkers) * sizeof(*l->at));
    for (int i = 0; i < l->nservers; i++) {
        if (!l->options->servers || launch_is_here(l->options, l->servers[i]))
            add_process(l, true, i, l->servers[i]);
        else
            l->elsewhere = true;
    }
    for (int i = 0; i < l->nworkers; i++) {
        if (!l->workers || launch_is_here(l->options, l->workers[i]))
            add_process(l, false, i, l->workers ? l->workers[i] : "");
        else
            l->elsewhere = true;
    }
    if (l->n)
        return SKIFF_OK;
    const char *own = launch_own_host(l->options);
    return error_set(err, SKIFF_NOT_FOUND,
                     "none of the %s (%.300s%s%.300s) is %s%s; correct the lists%s",
                     given ? "given addresses" : "servers and workers", l->servers_text,
                     l->workers_text[0] ? ", " : "", l->workers_text,
                     own ? "POD_IP, which is " : "an address of this machine", own ? own : "",
                     own ? ", or POD_IP" : ", or name this machine with POD_IP");
}

static bool is_reachable(const struct launch *l)
{
    bool reachable = false;
    for (int i = 0; i < l->nservers; i++)
        reachable = reachable || host_is_reachable(l->servers[i]);
    return reachable;
}

static enum skiff_status plan(struct launch *l, struct skiff_error *err)
{
    l->save_seconds = 60; /* workers save their part, which may be large */
    TRY(take_servers(l, err));
    TRY(take_workers(l, err));
    l->servers_text = role_list_join(l->servers, l->nservers);
    l->workers_text = role_list_join(l->workers, l->workers ? l->nworkers : 0);
    TRY(choose(l, err));
    for (int i = 0; i < l->n; i++)
        if (l->at[i].server)
            TRY(host_port_check(l->at[i].endpoint, err));
    launch_name_job(l);
    return launch_take_secret(l, is_reachable(l), err);
}

static void env(const struct launch *l, const struct launch_process *p, struct launch_env *e)
{
    static const char *const other_set[] = {"PADDLE_TRAINING_ROLE", "PADDLE_PSERVER_IPS",
                                            "PADDLE_PSERVER_ID",
                                            "PADDLE_HETER_TRAINER_IP_PORT_LIST"};
    struct address a;
    for (size_t i = 0; i < sizeof(other_set) / sizeof(other_set[0]); i++)
        launch_env_set(e, other_set[i], NULL);
    launch_env_set(e, "PADDLE_PSERVERS_IP_PORT_LIST", l->servers_text);
    launch_env_set_number(e, "PADDLE_TRAINERS_NUM", l->nworkers);
    launch_env_set(e, "PADDLE_TRAINER_ENDPOINTS", l->workers ? l->workers_text : NULL);
    launch_env_set(e, "PADDLE_WITH_GLOO", "0");
    launch_env_set(e, "TRAINING_ROLE", p->server ? "PSERVER" : "TRAINER");
    bool has = p->endpoint[0] && address_parse(p->endpoint, &a, NULL) >= 0;
    launch_env_set(e, "POD_IP", has ? a.host : "127.0.0.1");
    launch_env_set(e, "PADDLE_PORT", NULL);
    if (has)
        launch_env_set_number(e, "PADDLE_PORT", a.port);
    launch_env_set(e, "PADDLE_TRAINER_ID", NULL);
    if (!p->server)
        launch_env_set_number(e, "PADDLE_TRAINER_ID", p->index);
}

static int exit_status(const struct launch *l)
{
    return l->failed < 0 && l->signal ? 128 + l->signal : 1;
}

const struct launch_mode launch_ps_mode = {.process = "worker",
                                           .listener = "a server",
                                           .first = "server 0",
                                           .plan = plan,
                                           .env = env,
                                           .exit_status = exit_status};
