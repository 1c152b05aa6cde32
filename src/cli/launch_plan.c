/* Which processes run here, and what they are told.
 *
 * On one machine ports are chosen and a job's name and secret are drawn at random, so that two jobs
 * cannot meet. On several machines every launcher gets the same lists and must come to the same
 * answer without asking the others: a process is ours when its address is (POD_IP, or an address of
 * this machine), and the job's name is the hash of the lists; the secret is the user's. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "cli/launch.h"
#include "cli/secret_share.h"
#include "cli/task.h"
#include "fleet/role.h"
#include "fleet/settings.h"
#include "net/host.h"
#include "net/transport.h"
#include "base/secret.h"

const char *launch_name(const struct launch_process *p, char out[static 64])
{
    snprintf(out, 64, "%s %d", p->server ? "server" : "worker", p->index);
    return out;
}

void launch_deinit(struct launch *l)
{
    for (int i = 0; i < l->n; i++) {
        free(l->at[i].log);
        buf_deinit(&l->at[i].line);
    }
    free(l->at);
    role_list_free(l->servers, l->nservers);
    role_list_free(l->workers, l->workers ? l->nworkers : 0);
    free(l->servers_text);
    free(l->workers_text);
    secret_wipe(l->secret, sizeof(l->secret));
}

/* ---- addresses ---- */

/* FLAGS_START_PORT, as in Paddle's launchers; 0: not set. */
static enum skiff_status start_flag(int *out, struct skiff_error *err)
{
    const char *text = getenv("FLAGS_START_PORT");
    int64_t v;
    if (!text || !*text)
        return SKIFF_OK;
    if (!option_int(text, 1, 65535, &v))
        return error_set(err, SKIFF_INVALID,
                         "FLAGS_START_PORT is '%s'; expected the servers' first port, from 1 to "
                         "65535; unset it for free ports",
                         text);
    *out = (int)v;
    return SKIFF_OK;
}

static enum skiff_status local_servers(struct launch *l, int n, struct skiff_error *err)
{
    int start = l->args->start_port;
    int *ports = mem_must((size_t)n * sizeof(*ports));
    enum skiff_status status = start ? SKIFF_OK : start_flag(&start, err);
    if (status == SKIFF_OK && start <= 0)
        status = host_free_ports(n, ports, err);
    else if (status == SKIFF_OK && start + n - 1 > 65535)
        status =
            error_set(err, SKIFF_RANGE, "--start_port %d leaves no room for %d servers", start, n);
    l->servers = mem_must((size_t)(n + 1) * sizeof(*l->servers));
    l->nservers = status < 0 ? 0 : n;
    for (int i = 0; i < l->nservers; i++) {
        char text[64];
        snprintf(text, sizeof(text), "127.0.0.1:%d", start > 0 ? start + i : ports[i]);
        l->servers[i] = mem_must_strdup(text);
    }
    free(ports);
    return status;
}

char *launch_with_ports(const char *text, int first)
{
    struct buf out = BUF_INIT;
    char *copy = mem_must_strdup(text), *rest = copy;
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

static enum skiff_status check_count(const char *list, int found, const char *flag, int said,
                                     struct skiff_error *err)
{
    if (said && said != found)
        return error_set(err, SKIFF_INVALID, "%s lists %d, but %s says %d; give one of them only",
                         list, found, flag, said);
    return SKIFF_OK;
}

static enum skiff_status take_servers(struct launch *l, struct skiff_error *err)
{
    const struct launch_args *a = l->args;
    if (!a->servers) {
        if (!a->server_num)
            return error_set(err, SKIFF_INVALID,
                             "how many servers? --server_num N for servers on this machine, or "
                             "--servers host:port,host:port");
        return local_servers(l, a->server_num, err);
    }
    TRY(role_list_parse("--servers", a->servers, &l->servers, &l->nservers, err));
    return check_count("--servers", l->nservers, "--server_num", a->server_num, err);
}

static enum skiff_status take_workers(struct launch *l, struct skiff_error *err)
{
    const struct launch_args *a = l->args;
    if (!a->workers) {
        if (!a->worker_num)
            return error_set(err, SKIFF_INVALID,
                             "how many workers? --worker_num N for workers on this machine, or "
                             "--workers host,host");
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

static bool is_here(const char *endpoint)
{
    struct address a;
    const char *own = getenv("POD_IP");
    if (address_parse(endpoint, &a, NULL) < 0)
        return false;
    if (own && *own)
        return !strcasecmp(a.host, own) || host_same(a.host, own);
    return host_is_here(a.host);
}

static void add_process(struct launch *l, bool server, int index, const char *endpoint)
{
    struct launch_process *p = &l->at[l->n++];
    struct buf log = BUF_INIT;
    buf_printf(&log, "%s/%slog.%d", l->args->log_dir, server ? "server" : "worker", index);
    *p = (struct launch_process){.server = server,
                                 .index = index,
                                 .endpoint = endpoint,
                                 .log = log.data,
                                 .pipe = -1,
                                 .now = {.epoch = -1},
                                 .total = {.samples = -1}};
}

static enum skiff_status choose(struct launch *l, struct skiff_error *err)
{
    bool given = l->args->servers || l->workers;
    l->at = mem_must((size_t)(l->nservers + l->nworkers) * sizeof(*l->at));
    for (int i = 0; i < l->nservers; i++) {
        if (!l->args->servers || is_here(l->servers[i]))
            add_process(l, true, i, l->servers[i]);
        else
            l->elsewhere = true;
    }
    for (int i = 0; i < l->nworkers; i++) {
        if (!l->workers || is_here(l->workers[i]))
            add_process(l, false, i, l->workers ? l->workers[i] : "");
        else
            l->elsewhere = true;
    }
    if (l->n)
        return SKIFF_OK;
    const char *own = getenv("POD_IP");
    return error_set(err, SKIFF_NOT_FOUND,
                     "none of the %s (%.300s%s%.300s) is %s%s; correct the lists%s",
                     given ? "given addresses" : "servers and workers", l->servers_text,
                     l->workers_text[0] ? ", " : "", l->workers_text,
                     own ? "POD_IP, which is " : "an address of this machine", own ? own : "",
                     own ? ", or POD_IP" : ", or say with POD_IP which one this machine is");
}

/* A job on one machine gets a name that nobody else has; one on several machines needs the same on
 * all: it comes from the lists. */
static void name_job(struct launch *l)
{
    const char *job = getenv("SKIFF_JOB");
    struct buf lists = BUF_INIT;
    uint32_t random;
    secret_random(&random, sizeof(random));
    buf_printf(&lists, "%s|%s|%d", l->servers_text, l->workers_text, l->nworkers);
    if (job && *job)
        snprintf(l->job, sizeof(l->job), "%s", job);
    else if (l->elsewhere)
        snprintf(l->job, sizeof(l->job), "job-%016llx",
                 (unsigned long long)hash_bytes(lists.data, lists.len));
    else
        snprintf(l->job, sizeof(l->job), "job-%08x", random);
    buf_deinit(&lists);
}

/* The path behind -m, or NULL. */
static const char *config_of(const struct launch_args *a)
{
    for (int i = 0; a->kind == LAUNCH_CONFIG && i + 1 < a->ncommand; i++)
        if (!strcmp(a->command[i], "-m") || !strncmp(a->command[i], "--config", 8))
            return a->command[i + 1];
    return NULL;
}

static bool is_reachable(const struct launch *l)
{
    bool reachable = false;
    for (int i = 0; i < l->nservers; i++)
        reachable = reachable || host_is_reachable(l->servers[i]);
    return reachable;
}

/* The user's; on one machine, or with --share_secret, one that we make. */
static enum skiff_status take_secret(struct launch *l, struct skiff_error *err)
{
    struct settings s;
    struct task_args said = {.encrypt = l->args->encrypt,
                             .secret_file = l->args->secret_file,
                             .insecure = l->args->insecure};
    struct settings_security security = {said.encrypt, said.secret_file, said.insecure};
    struct config *c = NULL;
    if (config_of(l->args) && config_open(config_of(l->args), &c, NULL) == SKIFF_OK)
        task_security(&said, c, &security);
    enum skiff_status status = settings_read(&s, NULL, NULL, err);
    if (status == SKIFF_OK)
        status = settings_set_security(&s, &security, err);
    config_close(c);
    TRY(status);
    snprintf(l->secret, sizeof(l->secret), "%s", s.secret);
    secret_wipe(&s.secret, sizeof(s.secret));
    secret_guard();
    if (l->secret[0])
        return SKIFF_OK;
    if (l->args->share_secret && l->elsewhere)
        return secret_share(l, l->secret, err);
    if (!l->elsewhere)
        secret_make(l->secret);
    else if (!s.insecure && is_reachable(l))
        return error_set(
            err, SKIFF_INVALID,
            "a job of several machines needs a secret, or whoever reaches a server "
            "could read and change its parameters: `skiff secret new --out FILE` makes "
            "one; give it to skiff launch on all machines with --secret_file FILE, or "
            "let the machine of server 0 hand one out by ssh with --share_secret; "
            "--insecure goes without (docs/security.md)");
    return SKIFF_OK;
}

enum skiff_status launch_plan(struct launch *l, const struct launch_args *a,
                              struct skiff_error *err)
{
    const struct transport_kind *kind;
    struct transport_options options;
    *l = (struct launch){.args = a, .failed = -1};
    if (transport_choose(a->transport, &kind, &options, err) < 0)
        return error_prefix(err, SKIFF_INVALID, "--transport");
    TRY(take_servers(l, err));
    TRY(take_workers(l, err));
    l->servers_text = role_list_join(l->servers, l->nservers);
    l->workers_text = role_list_join(l->workers, l->workers ? l->nworkers : 0);
    TRY(choose(l, err));
    for (int i = 0; i < l->n; i++)
        if (l->at[i].server)
            TRY(host_port_check(l->at[i].endpoint, err));
    name_job(l);
    return take_secret(l, err);
}

/* ---- environment ---- */

void launch_env(const struct launch *l, const struct launch_process *p,
                void (*set)(const char *name, const char *value))
{
    static const char *const proxies[] = {"http_proxy",  "https_proxy", "HTTP_PROXY",
                                          "HTTPS_PROXY", "all_proxy",   "ALL_PROXY"};
    static const char *const other_set[] = {"PADDLE_TRAINING_ROLE", "PADDLE_PSERVER_IPS",
                                            "PADDLE_PSERVER_ID",
                                            "PADDLE_HETER_TRAINER_IP_PORT_LIST"};
    char number[32];
    struct address a;
    for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
        set(proxies[i], NULL);
    for (size_t i = 0; i < sizeof(other_set) / sizeof(other_set[0]); i++)
        set(other_set[i], NULL);
    set("PADDLE_PSERVERS_IP_PORT_LIST", l->servers_text);
    snprintf(number, sizeof(number), "%d", l->nworkers);
    set("PADDLE_TRAINERS_NUM", number);
    set("PADDLE_TRAINER_ENDPOINTS", l->workers ? l->workers_text : NULL);
    set("PADDLE_WITH_GLOO", "0");
    set("PYTHONUNBUFFERED", "1");
    set("SKIFF_JOB", l->job);
    set("SKIFF_SECRET", l->secret[0] ? l->secret : NULL);
    if (l->args->transport) /* else they have ours */
        set("SKIFF_TRANSPORT", l->args->transport);
    if (l->args->encrypt)
        set("SKIFF_ENCRYPT", l->args->encrypt);
    if (l->args->insecure)
        set("SKIFF_INSECURE", "1");
    set("SKIFF_SECRET_FILE", NULL);
    set("TRAINING_ROLE", p->server ? "PSERVER" : "TRAINER");
    bool has = p->endpoint[0] && address_parse(p->endpoint, &a, NULL) >= 0;
    snprintf(number, sizeof(number), "%u", has ? a.port : 0);
    set("POD_IP", has ? a.host : "127.0.0.1");
    set("PADDLE_PORT", has ? number : NULL);
    snprintf(number, sizeof(number), "%d", p->index);
    set("PADDLE_TRAINER_ID", p->server ? NULL : number);
}
