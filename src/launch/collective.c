/* Collective jobs: ranks, each of which holds all parameters.
 *
 * On one machine ports are free ones. On several machines either every launcher is given the
 * same list of addresses (--ips), and ports are counted from --start_port; or the launchers find
 * each other at a rendezvous (--master, rendezvous.h) and exchange their free ports. A
 * restart uses ports after those of the last start, so that ranks of two starts cannot connect. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/secret.h"
#include "fleet/role.h"
#include "fleet/settings.h"
#include "launch/launch_parts.h"
#include "launch/rendezvous.h"
#include "net/host.h"

#define START_PORT 6070 /* Paddle's */
#define START_MS (30 * 60 * 1000)
#define SAVE_SECONDS 60 /* of skiff train, which saves its part */
#define LEAVE_SECONDS 10
#define GRACE_SECONDS 4 /* ranks notice within about a second that another was killed */

/* ---- addresses ---- */

/* "host:port" with brackets where they are needed. */
static void add_address(struct buf *out, const char *host, int port)
{
    bool bare6 = strchr(host, ':') && host[0] != '[';
    buf_printf(out, bare6 ? "%s[%s]:%d" : "%s%s:%d", out->len ? "," : "", host, port);
}

static enum skiff_status check_ports(int start, int n, struct skiff_error *err)
{
    if (start + n - 1 > 65535)
        return error_set(err, SKIFF_RANGE, "--start_port %d leaves too few ports for %d ranks",
                         start, n);
    return SKIFF_OK;
}

/* The first port of this start; 0: free ones. */
static enum skiff_status first_port(const struct launch *l, int *out, struct skiff_error *err)
{
    *out = l->options->start_port;
    if (!*out)
        TRY(launch_start_flag(out, err));
    if (!*out && l->nodes > 1 && l->options->ips)
        *out = START_PORT;
    if (*out)
        *out += l->options->attempt * l->options->nproc;
    return check_ports(*out, l->options->nproc, err);
}

/* Addresses of the ranks of this machine, and one more for PADDLE_MASTER. */
static enum skiff_status own_addresses(struct launch *l, const char *host, struct buf *out,
                                       struct skiff_error *err)
{
    int n = l->options->nproc, start = 0;
    struct buf master = BUF_INIT;
    TRY(first_port(l, &start, err));
    int *ports = mem_alloc_or_die((size_t)(n + 1) * sizeof(*ports));
    enum skiff_status status = host_free_ports(n + 1, ports, err);
    for (int i = 0; status == SKIFF_OK && i < n; i++)
        add_address(out, host, start ? start + i : ports[i]);
    if (status == SKIFF_OK)
        add_address(&master, host, ports[n]);
    free(ports);
    l->master = master.data;
    return status;
}

/* ---- by a list ---- */

static enum skiff_status ambiguous(const struct launch *l, char *const *ips, int second,
                                   struct skiff_error *err)
{
    return error_set(err, SKIFF_INVALID,
                     "--ips: both %s and %s are this machine; choose one with --host or POD_IP",
                     ips[l->node], ips[second]);
}

/* Which of the addresses is ours. */
static enum skiff_status find_node(struct launch *l, char *const *ips, struct skiff_error *err)
{
    const char *own = launch_own_host(l->options);
    int loopback = 0;
    l->node = -1;
    for (int i = 0; i < l->nodes; i++) {
        loopback += !host_is_reachable(ips[i]);
        if (!launch_is_here(l->options, ips[i]))
            continue;
        if (l->node >= 0)
            return ambiguous(l, ips, i, err);
        l->node = i;
    }
    if (loopback && loopback < l->nodes)
        return error_set(err, SKIFF_INVALID,
                         "--ips %s: a loopback address means a different machine on each machine; "
                         "give addresses that all of them reach",
                         l->options->ips);
    if (l->node < 0)
        return error_set(
            err, SKIFF_NOT_FOUND, "--ips: none of %s is %s%s; correct the list%s", l->options->ips,
            own ? "POD_IP or --host, which is " : "an address of this machine", own ? own : "",
            own ? " or that" : ", or name this machine with --host or POD_IP");
    return SKIFF_OK;
}

static enum skiff_status parse_ips(const struct launch *l, char ***out, int *out_n,
                                   struct skiff_error *err)
{
    char *text = launch_with_ports(l->options->ips, START_PORT); /* so that they are addresses */
    enum skiff_status status = role_list_parse("--ips", text, out, out_n, err);
    free(text);
    return status;
}

static enum skiff_status add_listed(struct launch *l, char *const *ips, struct buf *out,
                                    struct skiff_error *err)
{
    struct address a;
    int start;
    TRY(find_node(l, ips, err));
    TRY(first_port(l, &start, err));
    for (int i = 0; i < l->nodes; i++) {
        TRY(address_parse(ips[i], &a, err));
        for (int k = 0; k < l->options->nproc; k++)
            add_address(out, a.host, start + k);
    }
    return SKIFF_OK;
}

static enum skiff_status by_list(struct launch *l, struct buf *out, int *out_first,
                                 struct skiff_error *err)
{
    struct address a;
    char **ips = NULL;
    TRY(parse_ips(l, &ips, &l->nodes, err));
    enum skiff_status status = SKIFF_OK;
    if (l->nodes == 1) {
        status = find_node(l, ips, err);
        if (status == SKIFF_OK && address_parse(ips[0], &a, err) == SKIFF_OK)
            status = own_addresses(l, a.host, out, err);
    } else {
        status = add_listed(l, ips, out, err);
    }
    *out_first = status == SKIFF_OK ? l->node * l->options->nproc : 0;
    role_list_deinit(ips, l->nodes);
    return status;
}

/* ---- by meeting ---- */

static enum skiff_status check_master(const struct launch_options *a, struct address *out,
                                      struct skiff_error *err)
{
    if (strstr(a->master, "://"))
        return error_set(
            err, SKIFF_UNSUPPORTED,
            "--master %s: expected HOST:PORT of one of the machines; etcd is not supported",
            a->master);
    return address_parse(a->master, out, err) < 0 ? error_prefix(err, SKIFF_INVALID, "--master")
                                                  : SKIFF_OK;
}

static void on_wait(void *arg, const char *text)
{
    launch_notify(arg, LAUNCH_EVENT_WAITING, NULL, "%s", text);
}

static enum skiff_status meet(struct launch *l, const char *endpoints,
                              struct rendezvous_result *got, struct skiff_error *err)
{
    const struct launch_options *a = l->options;
    struct settings s;
    char job[128];
    TRY(settings_read(&s, NULL, NULL, err));
    secret_wipe(&s.secret, sizeof(s.secret));
    snprintf(job, sizeof(job), "meeting of %.100s", a->job_id ? a->job_id : "default");
    struct rendezvous m = {.address = a->master,
                           .job = job,
                           .secret = l->secret,
                           .transport = a->transport,
                           .nodes = l->nodes,
                           .node = a->rank,
                           .patience_ms = s.start_ms ? s.start_ms : START_MS,
                           .endpoints = endpoints,
                           .nranks = a->nproc,
                           .master = l->master,
                           .name = l->job,
                           .on_wait = on_wait,
                           .arg = l};
    return launch_rendezvous(&m, got, err);
}

static enum skiff_status by_meeting(struct launch *l, struct buf *out, int *out_first,
                                    struct skiff_error *err)
{
    struct address at;
    struct rendezvous_result got = {0};
    char host[ADDRESS_TEXT];
    const char *own = launch_own_host(l->options);
    TRY(check_master(l->options, &at, err));
    if (own)
        snprintf(host, sizeof(host), "%s", own);
    else
        TRY(launch_rendezvous_leader(l->options->master, host, err));
    TRY(own_addresses(l, host, out, err));
    l->elsewhere = true;
    TRY(launch_take_secret(l, host_is_reachable(l->options->master), err));
    l->elsewhere = false; /* the first machine names this start: others cannot know it */
    launch_name_job(l);
    l->elsewhere = true;
    TRY(meet(l, out->data, &got, err));
    l->node = got.node;
    *out_first = got.first_rank;
    snprintf(l->job, sizeof(l->job), "%s", got.name);
    free(l->master);
    l->master = mem_strdup_or_die(got.master);
    buf_reset(out);
    buf_str(out, got.endpoints);
    free(got.endpoints);
    return SKIFF_OK;
}

/* ---- the plan ---- */

static void set_log_dir(struct launch *l)
{
    char here[4096];
    struct buf path = BUF_INIT;
    const char *dir = l->options->log_dir;
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    while (n > 2 && dir[0] == '.' && dir[1] == '/')
        dir += 2, n -= 2;
    if (dir[0] != '/')
        buf_printf(&path, "%s/", getcwd(here, sizeof(here)) ? here : ".");
    buf_add(&path, dir, n);
    buf_char(&path, 0);
    l->log_dir = path.data;
}

static void draw_pod(struct launch *l)
{
    unsigned char random[6];
    secret_random(random, sizeof(random));
    for (size_t i = 0; i < sizeof(random); i++)
        l->pod[i] = (char)('a' + random[i] % 26);
}

static enum skiff_status find_addresses(struct launch *l, struct buf *out, int *out_first,
                                        struct skiff_error *err)
{
    if (l->options->ips)
        return by_list(l, out, out_first, err);
    if (l->nodes > 1)
        return by_meeting(l, out, out_first, err);
    return own_addresses(l, "127.0.0.1", out, err);
}

static bool any_reachable(const struct launch *l)
{
    bool found = false;
    for (int i = 0; i < l->nworkers && !found; i++)
        found = host_is_reachable(l->workers[i]);
    return found;
}

static enum skiff_status add_ranks(struct launch *l, int first, struct skiff_error *err)
{
    int n = l->options->nproc;
    l->at = mem_alloc_or_die((size_t)n * sizeof(*l->at));
    for (int i = 0; i < n; i++) {
        char log[64];
        snprintf(log, sizeof(log), "workerlog.%d", i);
        launch_add(l, "rank", first + i, l->workers[first + i], log)->local_rank = i;
        TRY(host_port_check(l->workers[first + i], err));
    }
    return SKIFF_OK;
}

static enum skiff_status plan(struct launch *l, struct skiff_error *err)
{
    const struct launch_options *a = l->options;
    struct buf list = BUF_INIT;
    int first = 0;
    l->nodes = a->nnodes ? a->nnodes : 1;
    l->append = !a->log_overwrite || a->attempt > 0;
    l->save_seconds = a->saves ? SAVE_SECONDS : LEAVE_SECONDS;
    set_log_dir(l);
    draw_pod(l);
    enum skiff_status status = find_addresses(l, &list, &first, err);
    if (status == SKIFF_OK)
        status = role_list_parse("the ranks' addresses", list.data, &l->workers, &l->nworkers, err);
    buf_deinit(&list);
    TRY(status);
    l->workers_text = role_list_join(l->workers, l->nworkers);
    l->elsewhere = l->nodes > 1;
    TRY(add_ranks(l, first, err));
    if (l->secret[0] || (l->elsewhere && !a->ips)) /* they have met */
        return SKIFF_OK;
    launch_name_job(l);
    return launch_take_secret(l, any_reachable(l), err);
}

/* ---- the environment of ranks ---- */

static void env(const struct launch *l, const struct launch_process *p, struct launch_env *e)
{
    static const char *const other_sets[] = {"TRAINING_ROLE",        "PADDLE_PSERVERS_IP_PORT_LIST",
                                             "PADDLE_PORT",          "PADDLE_PSERVER_IPS",
                                             "PADDLE_TRAINING_ROLE", "PADDLE_PSERVER_ID"};
    struct buf path = BUF_INIT;
    for (size_t i = 0; i < sizeof(other_sets) / sizeof(other_sets[0]); i++)
        launch_env_set(e, other_sets[i], NULL);
    launch_env_set_number(e, "PADDLE_TRAINER_ID", p->index);
    launch_env_set_number(e, "PADDLE_GLOBAL_RANK", p->index);
    launch_env_set_number(e, "PADDLE_TRAINERS_NUM", l->nworkers);
    launch_env_set_number(e, "PADDLE_GLOBAL_SIZE", l->nworkers);
    launch_env_set_number(e, "PADDLE_LOCAL_RANK", p->local_rank);
    launch_env_set_number(e, "PADDLE_RANK_IN_NODE", p->local_rank);
    launch_env_set_number(e, "PADDLE_LOCAL_SIZE", l->n);
    launch_env_set_number(e, "PADDLE_NNODES", l->nodes);
    launch_env_set(e, "PADDLE_CURRENT_ENDPOINT", p->endpoint);
    launch_env_set(e, "PADDLE_TRAINER_ENDPOINTS", l->workers_text);
    launch_env_set(e, "PADDLE_MASTER", l->master);
    launch_env_set(e, "PADDLE_DISTRI_BACKEND", "gloo");
    launch_env_set(e, "PADDLE_LOG_DIR", l->log_dir);
    launch_env_set(e, "POD_NAME", l->pod);
    launch_env_set_number(e, "SKIFF_RESTART", l->options->attempt);
    if (!launch_env_get(e, "OMP_NUM_THREADS"))
        launch_env_set(e, "OMP_NUM_THREADS", "1");
    buf_printf(&path, "%s/backup_env.%d.json", l->log_dir, p->local_rank);
    launch_env_set(e, "PADDLE_BACKUP_ENV_PATH", path.data);
    buf_deinit(&path);
}

/* ---- the environment in files ---- */

static bool is_kept_quiet(const char *variable)
{
    return !strncmp(variable, "SKIFF_SECRET=", 13);
}

static void add_json(struct buf *out, const char *text, size_t n)
{
    buf_char(out, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < 32)
            buf_printf(out, "\\u%04x", c);
        else
            buf_char(out, (char)c);
    }
    buf_char(out, '"');
}

static void write_file(const struct launch *l, const char *name, int local_rank, const char *ext,
                       const struct buf *text)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s.%d%s", l->log_dir, name, local_rank, ext);
    int fd = open(path.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text->data, text->len) != (ssize_t)text->len)
        launch_notify(l, LAUNCH_EVENT_NOTICE, NULL, "cannot write %s", path.data);
    if (fd >= 0)
        close(fd);
    buf_deinit(&path);
}

/* As Paddle's: envlog.N and a copy as JSON; here only for the user's own eyes, and without the
 * secret. */
static void ready(const struct launch *l, const struct launch_process *p,
                  const struct launch_env *e)
{
    struct buf lines = BUF_INIT, json = BUF_INIT;
    for (char **v = e->at; *v; v++) {
        size_t n = strcspn(*v, "=");
        if (is_kept_quiet(*v) || !(*v)[n])
            continue;
        buf_printf(&lines, "%s\n", *v);
        buf_str(&json, json.len ? ", " : "{");
        add_json(&json, *v, n);
        buf_str(&json, ": ");
        add_json(&json, *v + n + 1, strlen(*v + n + 1));
    }
    buf_str(&json, "}\n");
    write_file(l, "envlog", p->local_rank, "", &lines);
    write_file(l, "backup_env", p->local_rank, ".json", &json);
    buf_deinit(&lines);
    buf_deinit(&json);
}

/* As Paddle's where that says something: the failed rank's own, and the number of a signal. */
static int exit_status(const struct launch *l)
{
    if (l->failed < 0)
        return l->signal;
    if (l->at[l->failed].health.hangs)
        return 1;
    int status = l->at[l->failed].status;
    return status < 0 ? 128 - status : status;
}

const struct launch_mode launch_collective_mode = {.process = "rank",
                                                   .listener = "a rank",
                                                   .first = "rank 0",
                                                   .grace_seconds = GRACE_SECONDS,
                                                   .plan = plan,
                                                   .env = env,
                                                   .ready = ready,
                                                   .exit_status = exit_status};
