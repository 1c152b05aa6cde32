/* What both modes of a launch need: the job's name and secret, and whose an address is.
 *
 * On one machine a job's name and secret are drawn at random, so that two jobs cannot connect. On
 * several machines the name comes from the lists that all launchers have been given, or from the
 * rendezvous address; the user supplies the secret. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/secret.h"
#include "fleet/role.h"
#include "fleet/settings.h"
#include "launch/launch_parts.h"
#include "launch/secret_share.h"
#include "net/host.h"
#include "net/transport.h"

const char *launch_name(const struct launch_process *p, char out[static 64])
{
    snprintf(out, 64, "%s %d", p->called, p->index);
    return out;
}

const char *launch_process_name(const struct launch *l)
{
    return l->mode->process;
}

int launch_exit_status(const struct launch *l)
{
    return l->mode->exit_status(l);
}

enum skiff_status launch_start_flag(int *out, struct skiff_error *err)
{
    const char *text = getenv("FLAGS_START_PORT");
    int64_t v;
    if (!text || !*text)
        return SKIFF_OK;
    if (!option_int(text, 1, 65535, &v))
        return error_set(err, SKIFF_INVALID,
                         "FLAGS_START_PORT is '%s'; expected the first port, from 1 to "
                         "65535; unset it for free ports",
                         text);
    *out = (int)v;
    return SKIFF_OK;
}

const char *launch_own_host(const struct launch_options *o)
{
    const char *pod = getenv("POD_IP");
    return pod && *pod ? pod : o->host;
}

bool launch_is_here(const struct launch_options *o, const char *endpoint)
{
    struct address at;
    const char *own = launch_own_host(o);
    if (address_parse(endpoint, &at, NULL) < 0)
        return false;
    if (own)
        return !strcasecmp(at.host, own) || host_same(at.host, own);
    return host_is_here(at.host);
}

struct launch_process *launch_add(struct launch *l, const char *called, int index,
                                  const char *endpoint, const char *log)
{
    struct launch_process *p = &l->at[l->n++];
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", l->options->log_dir, log);
    *p = (struct launch_process){.called = called,
                                 .index = index,
                                 .endpoint = endpoint,
                                 .log = path.data,
                                 .end = -1,
                                 .pipe = -1,
                                 .now = {.epoch = -1},
                                 .total = {.samples = -1}};
    return p;
}

/* A job on one machine gets a name that no one else has; one on several machines needs the same on
 * all: it comes from the lists. */
void launch_name_job(struct launch *l)
{
    const char *job = getenv("SKIFF_JOB");
    struct buf lists = BUF_INIT;
    uint32_t random;
    secret_random(&random, sizeof(random));
    buf_printf(&lists, "%s|%s|%d", l->servers_text ? l->servers_text : "", l->workers_text,
               l->nworkers);
    if (job && *job)
        snprintf(l->job, sizeof(l->job), "%s", job);
    else if (l->elsewhere)
        snprintf(l->job, sizeof(l->job), "job-%016llx",
                 (unsigned long long)hash_bytes(lists.data, lists.len));
    else
        snprintf(l->job, sizeof(l->job), "job-%08x", random);
    buf_deinit(&lists);
}

/* The user's; on one machine, or with --share_secret, one that we make. */
enum skiff_status launch_take_secret(struct launch *l, bool reachable, struct skiff_error *err)
{
    struct settings s;
    enum skiff_status status = settings_read(&s, NULL, NULL, err);
    if (status == SKIFF_OK)
        status = settings_set_security(&s, &l->options->security, err);
    TRY(status);
    snprintf(l->secret, sizeof(l->secret), "%s", s.secret);
    secret_wipe(&s.secret, sizeof(s.secret));
    secret_guard();
    if (l->secret[0])
        return SKIFF_OK;
    if (l->options->share_secret && l->elsewhere)
        return secret_share(l, l->secret, err);
    if (!l->elsewhere)
        secret_create(l->secret);
    else if (!s.insecure && reachable)
        return error_set(
            err, SKIFF_INVALID,
            "a job of several machines needs a secret; without one, any process that can "
            "connect to %s can read and change its parameters. Make one with `skiff secret new "
            "--out FILE` and give it to "
            "skiff launch on all machines with --secret_file FILE; or let the machine of %s send "
            "one by ssh with --share_secret. --insecure runs without a secret "
            "(docs/guide/security.md)",
            l->mode->listener, l->mode->first);
    return SKIFF_OK;
}

static enum skiff_status plan(struct launch *l, struct skiff_error *err)
{
    const struct transport_kind *kind;
    struct transport_options options;
    int silence_ms;
    if (transport_choose(l->options->transport, &kind, &options, err) < 0)
        return error_prefix(err, SKIFF_INVALID, "--transport");
    TRY(settings_silence(&silence_ms, err));
    l->silence = silence_ms / 1e3;
    TRY(l->mode->plan(l, err));
    l->workers_here = mem_alloc_or_die((size_t)(l->nworkers + 1) * sizeof *l->workers_here);
    return SKIFF_OK;
}

enum skiff_status launch_create(const struct launch_options *options,
                                const struct launch_events *events, struct launch **out,
                                struct skiff_error *err)
{
    struct launch *l = mem_alloc_or_die(sizeof(*l));
    *l = (struct launch){.options = options,
                         .mode = options->collective ? &launch_collective_mode : &launch_ps_mode,
                         .failed = -1};
    if (events)
        l->events = *events;
    enum skiff_status status = plan(l, err);
    *out = status == SKIFF_OK ? l : NULL;
    if (status < 0)
        launch_destroy(l);
    return status;
}

void launch_destroy(struct launch *l)
{
    if (!l)
        return;
    launch_runner_destroy(l->runner);
    for (int i = 0; i < l->n; i++) {
        free(l->at[i].log);
        buf_deinit(&l->at[i].line);
        snapshot_deinit(&l->at[i].counted);
        snapshot_deinit(&l->at[i].at_window);
    }
    free(l->at);
    role_list_deinit(l->servers, l->nservers);
    role_list_deinit(l->workers, l->workers ? l->nworkers : 0);
    free(l->servers_text);
    free(l->workers_text);
    free(l->master);
    free(l->log_dir);
    free(l->workers_here);
    secret_wipe(l->secret, sizeof(l->secret));
    free(l);
}
