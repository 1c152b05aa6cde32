#include "fleet/observer.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "store/file.h"

enum skiff_status observer_open(struct observer *v, const struct observer_identity *who,
                                const char *endpoint, int index, struct skiff_error *err)
{
    struct node_owner owner = {.job = who->job,
                               .secret = who->secret,
                               .transport = who->transport,
                               .on_log = who->on_log,
                               .user = who->user};
    struct net_id self = {.role = NET_NOBODY, .index = (uint32_t)getpid()};
    struct net_id expected = {.role = NET_SERVER, .index = (uint32_t)index};
    *v = (struct observer){.deadline = clock_now() + (int64_t)who->timeout_ms * CLOCK_MS};
    TRY(node_open(&owner, self, who->name, &v->node, err));
    v->client = rpc_client_create(v->node, &(struct rpc_client_options){0});
    TRY(rpc_connect(v->client, endpoint, expected, &v->peer, err));
    return node_start(v->node, err);
}

void observer_close(struct observer *v)
{
    if (v->node)
        node_stop(v->node);
    rpc_client_destroy(v->client);
    node_destroy(v->node);
}

enum skiff_status observer_ask(struct observer *v, uint32_t method, const char *what,
                               struct blob **out, struct skiff_error *err)
{
    struct rpc_ask ask = {
        .what = what, .method = method, .flags = RPC_READ, .deadline = v->deadline};
    TRY(rpc_await(v->peer, v->deadline, err));
    return rpc_ask(v->peer, &ask, out, err);
}

static struct addrinfo *resolve(const struct address *a)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    char port[16];
    snprintf(port, sizeof(port), "%u", a->port);
    return getaddrinfo(a->host, port, &hints, &list) ? NULL : list;
}

int observer_reach(const struct address *a, int timeout_ms)
{
    int why = EHOSTUNREACH;
    struct addrinfo *list = resolve(a);
    for (struct addrinfo *x = list; x; x = x->ai_next) {
        int fd = socket(x->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        why = connect(fd, x->ai_addr, x->ai_addrlen) ? errno : 0;
        if (why == EINPROGRESS) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            socklen_t len = sizeof(why);
            if (poll(&p, 1, timeout_ms) != 1)
                why = ETIMEDOUT;
            else
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len);
        }
        close(fd);
        if (!why)
            break;
    }
    if (list)
        freeaddrinfo(list);
    return why;
}

enum skiff_status observer_environment(int pid, struct skiff_error *err)
{
    static const char *const ours[] = {"SKIFF_", "PADDLE_", "TRAINING_ROLE=", "POD_IP=", NULL};
    char path[64];
    struct buf text = BUF_INIT;
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    if (file_read(path, &text, err) < 0) {
        buf_deinit(&text);
        return error_prefix(err, err->code, "--pid %d is not a running process of yours", pid);
    }
    for (char *at = text.data; at && at < text.data + text.len; at += strlen(at) + 1)
        for (int i = 0; ours[i]; i++)
            if (!strncmp(at, ours[i], strlen(ours[i])) && strchr(at, '=')) {
                char *value = strchr(at, '=');
                *value = '\0';
                setenv(at, value + 1, 1);
                *value = '=';
            }
    buf_deinit(&text);
    return SKIFF_OK;
}
