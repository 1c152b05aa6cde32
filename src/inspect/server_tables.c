#include "inspect/server_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

typedef enum skiff_status (*take_fn)(const struct blob *reply, void *out, struct skiff_error *err);

#define FIRST_MS 1000 /* a server that is there has answered by then */

/* Is the port closed? Asked only for servers that do not answer: an idle connection
 * would be logged by the server. */
static enum skiff_status check_there(const char *endpoint, int timeout_ms, struct skiff_error *err)
{
    struct address a;
    TRY(address_parse(endpoint, &a, err));
    int why = observer_reach(&a, timeout_ms);
    if (!why)
        return SKIFF_OK;
    return error_set(err, SKIFF_IO, "no answer: %s%s", strerror(why),
                     why == ECONNREFUSED ? "; is the job running, and is this its list of servers?"
                                         : "");
}

/* A client with another job or secret gets a refusal; no answer at all has other reasons. */
static const char *advice(enum skiff_status status)
{
    return status == SKIFF_TIMEOUT
               ? "its port is open, but there was no answer in time: is it stopped, or very busy "
                 "(--timeout)? otherwise another program uses the port"
               : "is it a server of this job? SKIFF_JOB and SKIFF_SECRET, or --secret_file, must "
                 "be the job's; --pid takes them from a process of the job";
}

/* method, what: as of observer_ask */
static enum skiff_status ask(struct observer *v, const struct observer_identity *who,
                             const char *endpoint, int index, uint32_t method, const char *what,
                             struct blob **out, struct skiff_error *err)
{
    TRY(observer_open(v, who, endpoint, index, err));
    if (rpc_await(v->peer, clock_after(clock_now(), FIRST_MS), NULL) < 0)
        TRY(check_there(endpoint, who->timeout_ms, err));
    enum skiff_status status = observer_ask(v, method, what, out, err);
    return status < 0 ? error_prefix(err, status, "%s", advice(status)) : SKIFF_OK;
}

/* take: reads the reply into out */
static enum skiff_status ask_server(const struct observer_identity *who, const char *endpoint,
                                    int index, uint32_t method, const char *what, take_fn take,
                                    void *out, struct skiff_error *err)
{
    struct observer v;
    struct blob *reply = NULL;
    enum skiff_status status = ask(&v, who, endpoint, index, method, what, &reply, err);
    if (status == SKIFF_OK)
        status = take(reply, out, err);
    blob_unref(reply);
    observer_close(&v);
    return status < 0 ? error_prefix(err, status, "server %d at %s", index, endpoint) : SKIFF_OK;
}

static enum skiff_status take_tables(const struct blob *reply, void *to, struct skiff_error *err)
{
    struct server_tables *out = to;
    return ps_read_tables(reply, &out->tables, &out->n, err);
}

static enum skiff_status take_metrics(const struct blob *reply, void *to, struct skiff_error *err)
{
    if (!snapshot_read(to, (const char *)reply->data, blob_len(reply)))
        return error_set(err, SKIFF_FORMAT,
                         "its metrics are not lines of NAME{LABELS} VALUE; does it run another "
                         "version of Skiff?");
    return SKIFF_OK;
}

void server_tables_deinit(struct server_tables *answers, int n)
{
    for (int i = 0; answers && i < n; i++)
        free(answers[i].tables);
    free(answers);
}

const struct ps_table_info *server_tables_find(const struct server_tables *a, const char *table)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (!strcmp(a->tables[i].table, table))
            return &a->tables[i];
    return NULL;
}

enum skiff_status server_tables_ask(const struct observer_identity *who, char *const *servers,
                                    int n, struct server_tables **out, struct skiff_error *err)
{
    struct server_tables *answers = mem_alloc_or_die((size_t)(n + 1) * sizeof *answers);
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < n && status == SKIFF_OK; i++)
        status =
            ask_server(who, servers[i], i, PS_TABLES, "its tables", take_tables, &answers[i], err);
    for (int i = 0; i < n && status == SKIFF_OK; i++)
        if (!answers[i].n)
            status = error_set(err, SKIFF_NOT_FOUND,
                               "server %d at %s has no tables: the job's program has no "
                               "distributed embedding (sparse_embedding, is_distributed), so its "
                               "parameters are tensors",
                               i, servers[i]);
    if (status < 0)
        server_tables_deinit(answers, n);
    else
        *out = answers;
    return status;
}

enum skiff_status server_metrics_ask(const struct observer_identity *who, char *const *servers,
                                     int n, struct metrics_snapshot *out, struct skiff_error *err)
{
    for (int i = 0; i < n; i++)
        TRY(ask_server(who, servers[i], i, PS_METRICS, "its metrics", take_metrics, out, err));
    return SKIFF_OK;
}
