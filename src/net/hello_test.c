/* Hellos, messages in parts, the queue and the ring: what node and rpc are made of. */
#include "net/net_testing.h"

#include <pthread.h>

#include "base/log.h"
#include "net/assembly.h"
#include "net/hello.h"
#include "net/seq_ring.h"
#include "net/spsc.h"

/* ---- hello ---- */

struct two {
    struct hello_self client, server;
    struct hello at_client, at_server;
    struct wire_head from_client, from_server;
    struct blob *hello, *challenge, *proof;
};

static void two_init(struct two *t, const char *client_secret, const char *client_job)
{
    struct hello_side worker = {WORKER(1), 11, "worker 1"}, server = {SERVER(0), 22, "server 0"};
    memset(t, 0, sizeof *t);
    hello_self_init(&t->client, &worker, client_job, client_secret);
    hello_self_init(&t->server, &server, "job", "secret");
    t->from_client =
        (struct wire_head){.job = t->client.job, .sender = worker.id, .incarnation = 11};
    t->from_server =
        (struct wire_head){.job = t->server.job, .sender = server.id, .incarnation = 22};
    assert_int_equal(hello_open(&t->client, &t->at_client, &t->hello, NULL), SKIFF_OK);
}

static void two_deinit(struct two *t)
{
    blob_unref(t->hello);
    blob_unref(t->challenge);
    blob_unref(t->proof);
}

static enum skiff_status two_challenge(struct two *t, struct skiff_error *err)
{
    return hello_challenge(&t->server, &t->from_client, t->hello, &t->at_server, &t->challenge,
                           err);
}

static enum skiff_status two_prove(struct two *t, struct skiff_error *err)
{
    return hello_prove(&t->client, &t->at_client, &t->from_server, t->challenge, &t->proof, err);
}

static enum skiff_status two_check(struct two *t, struct skiff_error *err)
{
    return hello_check(&t->server, &t->at_server, &t->from_client, t->proof, err);
}

static void a_good_hello(void **state)
{
    struct two t;
    two_init(&t, "secret", "job");
    assert_int_equal(two_challenge(&t, NULL), SKIFF_OK);
    /* the same HELLO again: the same answer */
    struct blob *again;
    assert_int_equal(
        hello_challenge(&t.server, &t.from_client, t.hello, &t.at_server, &again, NULL), SKIFF_OK);
    assert_int_equal(again->len, t.challenge->len);
    assert_memory_equal(again->data, t.challenge->data, again->len);
    blob_unref(again);
    assert_int_equal(two_prove(&t, NULL), SKIFF_OK);
    assert_int_equal(two_check(&t, NULL), SKIFF_OK);
    assert_string_equal(t.at_client.peer.name, "server 0");
    assert_string_equal(t.at_server.peer.name, "worker 1");
    two_deinit(&t);
}

static void other_secrets_and_jobs(void **state)
{
    struct two t;
    struct skiff_error err;
    two_init(&t, "another", "job");
    assert_int_equal(two_challenge(&t, NULL), SKIFF_OK);
    assert_int_equal(two_prove(&t, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "server 0 and worker 1 do not have the same secret"));
    two_deinit(&t);
    two_init(&t, "secret", "other job");
    assert_int_equal(two_challenge(&t, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "worker 1 belongs to job 'other job', server 0 to job 'job'");
    two_deinit(&t);
}

/* Neither a changed bit, nor another hello's proof, nor the server's own proof is taken. */
static void proofs_that_prove_nothing(void **state)
{
    struct two t, other;
    struct skiff_error err;
    two_init(&t, "secret", "job");
    two_init(&other, "secret", "job");
    assert_int_equal(two_challenge(&t, NULL), SKIFF_OK);
    assert_int_equal(two_challenge(&other, NULL), SKIFF_OK);
    t.challenge->data[t.challenge->len - 1] ^= 1;
    assert_int_equal(two_prove(&t, &err), SKIFF_INVALID);
    t.challenge->data[t.challenge->len - 1] ^= 1;
    assert_int_equal(two_prove(&t, NULL), SKIFF_OK);
    assert_int_equal(hello_check(&t.server, &other.at_server, &t.from_client, t.proof, &err),
                     SKIFF_INVALID);
    t.proof->data[0] ^= 128;
    assert_int_equal(two_check(&t, &err), SKIFF_INVALID);
    t.proof->data[0] ^= 128;
    t.from_client.incarnation++; /* under another name */
    assert_int_equal(two_check(&t, &err), SKIFF_FORMAT);
    t.from_client.incarnation--;
    memcpy(t.proof->data, t.challenge->data + t.challenge->len - 32, 32);
    assert_int_equal(two_check(&t, &err), SKIFF_INVALID);
    two_deinit(&t);
    two_deinit(&other);
}

/* A stranger who does not have the secret, in front of a running node: HELLO, wrong PROOF. Another
 * one who begins and says nothing more. */
struct stranger {
    struct transport *transport;
    transport_peer peer;
};

static void stranger_say(struct stranger *s, enum wire_type type, uint64_t tag, struct blob *body)
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

static void stranger_hear(struct stranger *s, enum wire_type type)
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

static void strangers_at_the_door(void **state)
{
    struct node_options o = test_options("inproc", SERVER(0), NULL);
    struct transport_options to = {.hub = test_hub};
    char address[ADDRESS_TEXT];
    o.hello_ms = 50;
    struct node *node = test_node(&o);
    test_listen(node, "127.0.0.1:0", address);
    test_start(node);
    struct stranger s;
    assert_int_equal(transport_find("inproc")->open(&to, &s.transport, NULL), SKIFF_OK);
    assert_int_equal(s.transport->kind->connect(s.transport, address, &s.peer, NULL), SKIFF_OK);

    struct hello_self me;
    struct hello h;
    struct hello_side side = {WORKER(5), 0, "somebody"};
    struct blob *body;
    uint8_t guess[32] = {1, 2, 3};
    hello_self_init(&me, &side, "test", "a guess");
    assert_int_equal(hello_open(&me, &h, &body, NULL), SKIFF_OK);
    stranger_say(&s, WIRE_HELLO, hello_tag(&h), body);
    stranger_hear(&s, WIRE_CHALLENGE);
    struct blob *proof = test_block(guess, sizeof guess);
    stranger_say(&s, WIRE_PROOF, hello_tag(&h), proof);
    stranger_hear(&s, WIRE_REFUSE);
    struct stats *stats = node_stats(node);
    assert_int_equal(stats_value(stats, "net_other_secret"), 1);
    stranger_say(&s, WIRE_PROOF, hello_tag(&h), proof); /* without a HELLO: no answer */
    stranger_say(&s, WIRE_REQUEST, 1, NULL);
    stranger_hear(&s, WIRE_WHO);
    stranger_say(&s, WIRE_HELLO, hello_tag(&h), body); /* and then silence */
    stranger_hear(&s, WIRE_CHALLENGE);
    wait_until(stats_value(stats, "net_slow") == 1);
    stranger_say(&s, WIRE_PROOF, hello_tag(&h), proof); /* too late: unknown */
    stranger_say(&s, WIRE_WELCOME, hello_tag(&h), NULL);
    wait_until(stats_value(stats, "net_nonsense") == 1);
    assert_int_equal(stats_value(stats, "net_links_up"), 0);
    blob_unref(body);
    blob_unref(proof);
    s.transport->kind->close(s.transport);
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
    assert_string_equal(err.message, "message of 51 bytes; at most 50 are taken");
    char text[64] = {0};
    assert_int_equal(add(&set, part_of(1, 0, 2, 30, 40), text, 0, &out, NULL), SKIFF_OK);
    assert_int_equal(add(&set, part_of(2, 0, 2, 20, 30), text, 0, &out, &err), SKIFF_RANGE);
    assert_non_null(strstr(err.message, "40 of 60 bytes for unfinished messages"));
    /* of the same message, but with other lengths */
    assert_int_equal(add(&set, part_of(1, 1, 2, 12, 40), text, 0, &out, &err), SKIFF_FORMAT);
    assert_int_equal(add(&set, part_of(1, 1, 3, 15, 40), text, 0, &out, &err), SKIFF_FORMAT);
    /* lengths that no cutting gives */
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
        cmocka_unit_test(other_secrets_and_jobs),
        cmocka_unit_test(proofs_that_prove_nothing),
        cmocka_unit_test(strangers_at_the_door),
        cmocka_unit_test(parts_in_any_order),
        cmocka_unit_test(parts_that_do_not_fit),
        cmocka_unit_test(rings_grow),
        cmocka_unit_test(queues_keep_the_order),
    };
    return cmocka_run_group_tests(tests, make_hub, drop_hub);
}
