/* Hellos, messages in parts, the queue and the ring: the building blocks of node and rpc. */
#include "net/net_fixture_test.h"

#include <pthread.h>

#include "base/log.h"
#include "net/assembly.h"
#include "net/hello.h"
#include "net/seq_ring.h"
#include "net/spsc.h"

/* ---- hello ---- */

static struct hello_self self_of(struct net_id id, uint64_t incarnation, const char *name,
                                 const char *job, bool open)
{
    struct hello_self self;
    struct hello_side side = {id, incarnation, ""};
    snprintf(side.name, sizeof side.name, "%s", name);
    hello_self_init(&self, &side, job, open);
    return self;
}

static struct wire_head head_of(const struct hello_self *self, uint64_t tag)
{
    return (struct wire_head){.job = self->job,
                              .sender = self->side.id,
                              .incarnation = self->side.incarnation,
                              .sequence = tag};
}

static void a_good_hello(void **state)
{
    struct hello_self client = self_of(WORKER(1), 11, "worker\n1", "job", false);
    struct hello_self server = self_of(SERVER(0), 22, "server 0", "job", false);
    struct hello at_client, at_server;
    struct blob *hello, *welcome;
    hello_start(&at_client);
    assert_int_equal(hello_write(&client, &hello, NULL), SKIFF_OK);
    struct wire_head head = head_of(&client, at_client.tag);
    assert_int_equal(hello_read(&server, &head, hello, &at_server, NULL), SKIFF_OK);
    assert_true(at_server.tag == at_client.tag && at_server.peer.incarnation == 11);
    assert_true(net_id_equal(at_server.peer.id, WORKER(1)));
    assert_string_equal(at_server.peer.name, "worker?1");
    assert_int_equal(hello_welcome(&server, &welcome, NULL), SKIFF_OK);
    head = head_of(&server, at_client.tag);
    assert_int_equal(hello_accept(&at_client, &head, welcome, NULL), SKIFF_OK);
    assert_string_equal(at_client.peer.name, "server 0");
    assert_true(net_id_equal(at_client.peer.id, SERVER(0)) && at_client.peer.incarnation == 22);
    welcome->len--;
    assert_int_equal(hello_accept(&at_client, &head, welcome, NULL), SKIFF_FORMAT);
    blob_unref(hello);
    blob_unref(welcome);
}

/* With a secret the other side learns the reason; without one, no names are sent. */
static void other_jobs(void **state)
{
    struct hello_self client = self_of(WORKER(1), 11, "worker 1", "other job", false);
    struct skiff_error err;
    struct hello h;
    struct blob *hello;
    struct wire_head head = head_of(&client, 1);
    assert_int_equal(hello_write(&client, &hello, NULL), SKIFF_OK);
    for (int open = 0; open < 2; open++) {
        struct hello_self server = self_of(SERVER(0), 22, "server 0", "job", open);
        assert_int_equal(hello_read(&server, &head, hello, &h, &err), SKIFF_INVALID);
        assert_string_equal(err.message,
                            open ? "this is another job; start all processes of a job with the "
                                   "same SKIFF_JOB and SKIFF_SECRET"
                                 : "worker 1 belongs to job 'other job', server 0 to job 'job'");
    }
    blob_unref(hello);
}

/* A peer without a hello, which sends frames that only servers send. */
struct unauthenticated {
    struct transport *transport;
    transport_peer peer;
};

static void unauthenticated_send(struct unauthenticated *s, enum wire_type type, uint64_t tag,
                                 struct blob *body)
{
    struct packet p = {.head_len = WIRE_HEAD, .body = body, .len = blob_len(body)};
    struct wire_head h = {.type = type,
                          .sender = WORKER(5),
                          .sequence = tag,
                          .job = wire_hash((const uint8_t *)"test", 4),
                          .length = p.len,
                          .total = p.len,
                          .parts = 1};
    wire_head_encode(&h, wire_hash(packet_body(&p), p.len), p.head);
    wait_until(s->transport->kind->send(s->transport, s->peer, &p) == TRANSPORT_SENT);
}

static void unauthenticated_hear(struct unauthenticated *s, enum wire_type type)
{
    struct packet p;
    transport_peer from;
    struct wire_head h;
    uint16_t version;
    enum skiff_status status = SKIFF_END;
    for (int64_t end = clock_now() + 5 * CLOCK_SECOND; status == SKIFF_END && clock_now() < end;)
        status = s->transport->kind->receive(s->transport, end, &from, &p, NULL);
    assert_int_equal(status, SKIFF_OK);
    assert_int_equal(wire_head_decode(p.head, p.head_len, &h, &version, NULL), SKIFF_OK);
    assert_string_equal(wire_type_text(h.type), wire_type_text(type));
    packet_deinit(&p);
}

static void no_hello(void **state)
{
    struct node_options o = test_options("inproc", SERVER(0), NULL);
    struct metrics *counted = metrics_create(NULL, 0);
    struct transport_options to = {.hub = test_hub, .metrics = counted};
    char address[ADDRESS_TEXT];
    struct node *node = test_node(&o);
    test_listen(node, "127.0.0.1:0", address);
    test_start(node);
    struct unauthenticated s;
    assert_int_equal(transport_find("inproc")->open(&to, &s.transport, NULL), SKIFF_OK);
    assert_int_equal(s.transport->kind->connect(s.transport, address, &s.peer, NULL), SKIFF_OK);

    struct metrics *metrics = node_metrics(node);
    unauthenticated_send(&s, WIRE_REQUEST, 1, NULL);
    unauthenticated_hear(&s, WIRE_WHO);
    unauthenticated_send(&s, WIRE_WELCOME, 1, NULL);
    wait_until(metrics_value(metrics, METRIC_NET_NONSENSE) == 1);
    unauthenticated_send(&s, WIRE_HELLO, 1, NULL); /* without the names that belong there */
    wait_until(metrics_value(metrics, METRIC_NET_NONSENSE) == 2);
    assert_int_equal(metrics_value(metrics, METRIC_NET_LINKS_UP), 0);
    s.transport->kind->close(s.transport);
    metrics_destroy(counted);
    node_destroy(node);
}

/* ---- parts ---- */

static struct wire_head part_of(uint64_t seq, uint32_t part, uint32_t parts, uint64_t length,
                                uint64_t total)
{
    return (struct wire_head){.type = WIRE_REQUEST,
                              .sequence = seq,
                              .part = part,
                              .parts = parts,
                              .length = length,
                              .total = total};
}

static enum skiff_status add(struct assembly_set *set, struct wire_head h, const char *text,
                             int64_t now, struct blob **out, struct skiff_error *err)
{
    return assembly_add(set, &h, (const uint8_t *)text, now, out, err);
}

static void parts_in_any_order(void **state)
{
    struct assembly_budget budget = {.message_max = 100, .limit = 100, .idle = 10};
    struct assembly_set set;
    struct blob *out;
    assembly_init(&set, &budget);
    assert_int_equal(add(&set, part_of(1, 2, 3, 2, 10), "ij", 0, &out, NULL), SKIFF_OK);
    assert_null(out);
    assert_int_equal(add(&set, part_of(1, 2, 3, 2, 10), "ij", 0, &out, NULL), SKIFF_OK);
    assert_int_equal(add(&set, part_of(2, 0, 2, 1, 2), "x", 0, &out, NULL), SKIFF_OK);
    assert_int_equal(add(&set, part_of(1, 0, 3, 4, 10), "abcd", 0, &out, NULL), SKIFF_OK);
    assert_int_equal(budget.used, 12);
    assert_int_equal(add(&set, part_of(1, 1, 3, 4, 10), "efgh", 0, &out, NULL), SKIFF_OK);
    assert_non_null(out);
    assert_int_equal(out->len, 10);
    assert_memory_equal(out->data, "abcdefghij", 10);
    blob_unref(out);
    assert_int_equal(budget.used, 2);
    assert_int_equal(assembly_expire(&set, 11), 1);
    assert_int_equal(budget.used, 0);
    assembly_deinit(&set);
}

static void parts_that_do_not_fit(void **state)
{
    struct assembly_budget budget = {.message_max = 50, .limit = 60, .idle = 10};
    struct assembly_set set;
    struct blob *out;
    struct skiff_error err;
    assembly_init(&set, &budget);
    assert_int_equal(add(&set, part_of(1, 0, 2, 40, 51), "", 0, &out, &err), SKIFF_RANGE);
    assert_string_equal(err.message, "message of 51 bytes; the limit is 50");
    char text[64] = {0};
    assert_int_equal(add(&set, part_of(1, 0, 2, 30, 40), text, 0, &out, NULL), SKIFF_OK);
    assert_int_equal(add(&set, part_of(2, 0, 2, 20, 30), text, 0, &out, &err), SKIFF_RANGE);
    assert_non_null(strstr(err.message, "40 of 60 bytes for unfinished messages"));
    /* of the same message, but with other lengths */
    assert_int_equal(add(&set, part_of(1, 1, 2, 12, 40), text, 0, &out, &err), SKIFF_FORMAT);
    assert_int_equal(add(&set, part_of(1, 1, 3, 15, 40), text, 0, &out, &err), SKIFF_FORMAT);
    /* lengths that no splitting produces */
    assert_int_equal(add(&set, part_of(3, 0, 3, 2, 10), text, 0, &out, &err), SKIFF_FORMAT);
    assert_int_equal(add(&set, part_of(3, 2, 3, 3, 10), text, 0, &out, &err), SKIFF_FORMAT);
    assert_int_equal(add(&set, part_of(3, 1, 2, 8, 10), text, 0, &out, &err), SKIFF_FORMAT);
    assert_int_equal(add(&set, part_of(1, 1, 2, 10, 40), text, 0, &out, NULL), SKIFF_OK);
    assert_non_null(out);
    blob_unref(out);
    for (uint64_t seq = 10; seq < 10 + 2 * ASSEMBLIES_MAX; seq++) { /* never finished */
        budget.limit = 1000;
        assert_int_equal(add(&set, part_of(seq, 0, 2, 1, 2), text, (int64_t)seq, &out, NULL),
                         SKIFF_OK);
    }
    assert_int_equal(set.count, ASSEMBLIES_MAX);
    assembly_deinit(&set);
    assert_int_equal(budget.used, 0);
}

/* ---- ring and queue ---- */

static void rings_grow(void **state)
{
    struct seq_ring r = {.low = 5, .next = 5};
    static int things[1000];
    for (uint64_t s = 5; s < 905; s++)
        seq_ring_put(&r, s, &things[s]);
    for (uint64_t s = 5; s < 905; s++)
        assert_ptr_equal(seq_ring_get(&r, s), &things[s]);
    assert_null(seq_ring_get(&r, 4));
    assert_null(seq_ring_get(&r, 905));
    for (uint64_t s = 5; s < 800; s++)
        seq_ring_put(&r, s, NULL);
    seq_ring_advance(&r, 800);
    seq_ring_put(&r, 1800, &things[0]);
    assert_ptr_equal(seq_ring_get(&r, 900), &things[900]);
    assert_null(seq_ring_get(&r, 1000));
    assert_ptr_equal(seq_ring_get(&r, 1800), &things[0]);
    seq_ring_deinit(&r);
}

#define ITEMS 20000

static void *pop_all(void *arg)
{
    struct spsc *q = arg;
    uintptr_t last = 0;
    for (uintptr_t p; (p = (uintptr_t)spsc_pop(q)) != 0; last = p)
        if (p != last + 1)
            return NULL;
    return (void *)last;
}

static void queues_keep_the_order(void **state)
{
    struct spsc q;
    pthread_t thread;
    void *last;
    spsc_init(&q, 64);
    for (uintptr_t i = 1; i <= 64; i++)
        assert_true(spsc_push(&q, (void *)i));
    assert_false(spsc_push(&q, (void *)65));
    assert_int_equal(pthread_create(&thread, NULL, pop_all, &q), 0);
    for (uintptr_t i = 65; i <= ITEMS;)
        if (spsc_push(&q, (void *)i))
            i++;
    while (!spsc_push(&q, NULL))
        ;
    pthread_join(thread, &last);
    assert_int_equal((uintptr_t)last, ITEMS);
    spsc_deinit(&q);
}

static int make_hub(void **state)
{
    test_hub = inproc_hub_create();
    return 0;
}

static int drop_hub(void **state)
{
    inproc_hub_destroy(test_hub);
    return 0;
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_hello),
        cmocka_unit_test(other_jobs),
        cmocka_unit_test(no_hello),
        cmocka_unit_test(parts_in_any_order),
        cmocka_unit_test(parts_that_do_not_fit),
        cmocka_unit_test(rings_grow),
        cmocka_unit_test(queues_keep_the_order),
    };
    return cmocka_run_group_tests(tests, make_hub, drop_hub);
}
