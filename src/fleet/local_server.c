#include "fleet/local_server.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/thread.h"
#include "net/transport.h"

struct local_server {
    struct job *job; /* job_server's */
    struct inproc_hub *hub;
    struct thread thread;
    bool started;
    void (*on_log)(void *user, enum log_level level, const char *line);
    void *user;
};

/* A server that fails is silent from then on; this line says why. */
static void *serve(void *self)
{
    struct local_server *s = self;
    struct skiff_error err;
    if (job_server_run(s->job, &err) < 0 && s->on_log)
        s->on_log(s->user, LOG_WARN, err.message);
    return NULL;
}

/* On the first use: the parameters get their first values here, so that a failure is reported. */
static enum skiff_status open_host(void *self, struct skiff_error *err)
{
    struct local_server *s = self;
    if (s->started)
        return SKIFF_OK;
    TRY(job_server_init(s->job, NULL, err));
    TRY(thread_start(&s->thread, "tables", -1, serve, s, err));
    s->started = true;
    return SKIFF_OK;
}

/* Nobody asks for its tables any more: their memory goes, and their rows on disk. */
static void end_host(void *self)
{
    struct local_server *s = self;
    if (!s->started)
        return;
    job_server_stop(s->job);
    thread_join(&s->thread);
    job_server_drop(s->job);
    s->started = false;
}

static void close_host(void *self)
{
    struct local_server *s = self;
    end_host(s);
    job_unref(s->job);
    inproc_hub_destroy(s->hub);
    free(s);
}

enum skiff_status local_server_create(const struct job_server_options *options,
                                      struct comm_host *out, struct skiff_error *err)
{
    struct local_server *s = mem_alloc_or_die(sizeof(*s));
    struct job_server_options o = *options;
    s->hub = inproc_hub_create();
    s->on_log = o.on_log;
    s->user = o.user;
    o.hub = s->hub;
    o.keeps_values = true;
    enum skiff_status status = job_server_create(&o, &s->job, err);
    if (status < 0) {
        inproc_hub_destroy(s->hub);
        free(s);
        return status;
    }
    *out = (struct comm_host){
        .self = s,
        .open = open_host,
        .end = end_host,
        .close = close_host,
        .hub = s->hub,
        .metrics = job_server_metrics(s->job),
    };
    return SKIFF_OK;
}
