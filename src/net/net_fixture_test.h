/* What the tests of this module share: nodes of a job "test" on any transport, with or without
 * faults. */
#ifndef NET_NET_FIXTURE_TEST_H
#define NET_NET_FIXTURE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/node.h"
#include "net/rpc.h"

static struct inproc_hub *test_hub;

/* kind: "tcp", "inproc"; plan NULL: no faults. */
static inline struct node_options test_options(const char *kind, struct net_id id,
                                               const struct fault_plan *plan)
{
    struct node_options o = {.kind = transport_find(plan ? "fault" : kind),
                             .id = id,
                             .job = "test",
                             .secret = "open sesame"};
    o.transport.hub = test_hub;
    o.transport.linger_ms = 100;
    o.transport.inner = plan ? transport_find(kind) : NULL;
    if (plan)
        o.transport.faults = *plan;
    return o;
}

static inline struct node *test_node(const struct node_options *options)
{
    struct node *node = NULL;
    struct skiff_error err;
    if (node_create(options, &node, &err) < 0)
        fail_msg("%s", err.message);
    return node;
}

static inline void test_start(struct node *node)
{
    assert_int_equal(node_start(node, NULL), SKIFF_OK);
}

static inline void test_listen(struct node *node, const char *address, char *bound)
{
    struct skiff_error err;
    if (node_listen(node, address, bound, &err) < 0)
        fail_msg("%s", err.message);
}

static inline struct blob *test_block(const void *bytes, size_t n)
{
    struct blob *b = NULL;
    assert_int_equal(blob_copy(bytes, n, "test", &b, NULL), SKIFF_OK);
    return b;
}

static inline int count_entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* Waits until a condition holds; fails the test when it does not for 5 s. */
#define wait_until(condition)                               \
    do {                                                    \
        int64_t wait_end_ = clock_now() + 5 * CLOCK_SECOND; \
        while (!(condition)) {                              \
            if (clock_now() > wait_end_)                    \
                fail_msg("not within 5 s: %s", #condition); \
            usleep(1000);                                   \
        }                                                   \
    } while (0)

#define WORKER(i) ((struct net_id){NET_WORKER, (i)})
#define SERVER(i) ((struct net_id){NET_SERVER, (i)})

#endif
