/* One thread per name that is being looked up. getaddrinfo cannot be interrupted, so the thread is
 * not joined: it and the caller share the request, and the last of both frees it. */
#include "net/resolve.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"

struct resolve {
    struct address address;
    int wake_fd;
    struct addrinfo *list;
    atomic_bool done;
    atomic_int holders;
};

static void let_go(struct resolve *r)
{
    if (atomic_fetch_sub(&r->holders, 1) > 1)
        return;
    if (r->list)
        freeaddrinfo(r->list);
    close(r->wake_fd);
    free(r);
}

static void look_up(struct resolve *r, int flags)
{
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
    snprintf(port, sizeof port, "%u", r->address.port);
    if (getaddrinfo(r->address.host, port, &hints, &r->list) != 0)
        r->list = NULL;
    atomic_store(&r->done, true);
}

static void *run(void *arg)
{
    struct resolve *r = arg;
    uint64_t one = 1;
    look_up(r, 0);
    ssize_t n = write(r->wake_fd, &one, sizeof one);
    (void)n;
    let_go(r);
    return NULL;
}

static bool start_thread(struct resolve *r)
{
    struct thread thread = {0};
    if (thread_start(&thread, "resolve", -1, run, r, NULL) < 0)
        return false;
    pthread_detach(thread.id);
    return true;
}

struct resolve *resolve_start(const struct address *a, int wake_fd)
{
    struct resolve *r = mem_alloc_or_die(sizeof *r);
    r->address = *a;
    r->wake_fd = dup(wake_fd);
    atomic_store(&r->holders, 1);
    if (a->family != ADDRESS_NAME) {
        look_up(r, AI_NUMERICHOST);
        return r;
    }
    atomic_store(&r->holders, 2);
    if (r->wake_fd < 0 || !start_thread(r)) {
        atomic_store(&r->holders, 1);
        let_go(r);
        return NULL;
    }
    return r;
}

bool resolve_done(struct resolve *r, struct addrinfo **out_list)
{
    if (!atomic_load(&r->done))
        return false;
    *out_list = r->list;
    r->list = NULL;
    let_go(r);
    return true;
}

void resolve_forget(struct resolve *r)
{
    if (r)
        let_go(r);
}
