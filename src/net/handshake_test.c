/* The handshake: peers with the secret get keys, others do not, and a man in the middle cannot
 * change the agreed settings. Seals: bytes that were changed, left out or moved are not
 * accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/seal.h"
#include "net/handshake.h"

struct two {
    uint8_t base[2][SECRET_BYTES]; /* client, server */
    struct handshake_wish wish[2];
    struct handshake client, server;
    uint8_t first[HANDSHAKE_OPEN], answer[HANDSHAKE_OPEN];
    uint8_t proof[HANDSHAKE_PROOF], welcome[HANDSHAKE_PROOF];
};

static void two_init(struct two *t, const char *client_secret, const char *server_secret)
{
    const char *secrets[] = {client_secret, server_secret};
    memset(t, 0, sizeof *t);
    for (int i = 0; i < 2; i++) {
        uint8_t key[SECRET_BYTES];
        secret_derive(secrets[i], "skiff transport", "", key);
        pake_base(key, t->base[i]);
        t->wish[i].aes = true;
    }
}

/* Runs the handshake; `change` may modify a message on its way (0 .. 3). */
static enum skiff_status run(struct two *t, int message, int byte, struct skiff_error *err)
{
    uint8_t *sent[] = {t->first, t->answer, t->proof, t->welcome};
    handshake_first(&t->client, t->base[0], &t->wish[0], NULL, t->first);
    if (message == 0)
        sent[0][byte] ^= 1;
    TRY(handshake_answer(&t->server, t->base[1], &t->wish[1], t->first, t->answer, err));
    if (message == 1)
        sent[1][byte] ^= 1;
    TRY(handshake_prove(&t->client, t->answer, t->proof, err));
    if (message == 2)
        sent[2][byte] ^= 1;
    TRY(handshake_check(&t->server, t->proof, t->welcome, err));
    if (message == 3)
        sent[3][byte] ^= 1;
    return handshake_end(&t->client, t->welcome, err);
}

static void same_secrets_give_same_keys(void **state)
{
    struct two t;
    struct handshake_keys a, b;
    two_init(&t, "open sesame", "open sesame");
    assert_int_equal(run(&t, -1, 0, NULL), SKIFF_OK);
    assert_int_equal(handshake_keys(&t.client, &a, NULL), SKIFF_OK);
    assert_int_equal(handshake_keys(&t.server, &b, NULL), SKIFF_OK);
    assert_memory_equal(a.to_server, b.to_server, SEAL_KEY);
    assert_memory_equal(a.to_client, b.to_client, SEAL_KEY);
    assert_memory_not_equal(a.to_client, a.to_server, SEAL_KEY);
    assert_true(a.cipher == SEAL_AES && b.cipher == SEAL_AES && !a.encrypt && !b.encrypt);
    struct handshake_keys before = a;
    assert_int_equal(run(&t, -1, 0, NULL), SKIFF_OK); /* each connection has keys of its own */
    assert_int_equal(handshake_keys(&t.client, &a, NULL), SKIFF_OK);
    assert_memory_not_equal(a.to_server, before.to_server, SEAL_KEY);
}

/* The server detects it first, and answers one constant line; no byte of it depends on anything. */
static void other_secrets(void **state)
{
    struct two t;
    struct skiff_error err;
    two_init(&t, "open barley", "open sesame");
    assert_int_equal(run(&t, -1, 0, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "it does not have this job's secret");
    assert_memory_equal(t.welcome, handshake_refusal, HANDSHAKE_PROOF);
    assert_string_equal((const char *)handshake_refusal, "skiff: authentication required\n");
    assert_int_equal(handshake_end(&t.client, t.welcome, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "does not have the same secret as this process"));
}

/* A change of any byte of any message ends the handshake. */
static void changed_on_the_way(void **state)
{
    static const int lengths[] = {HANDSHAKE_OPEN, HANDSHAKE_OPEN, HANDSHAKE_PROOF, HANDSHAKE_PROOF};
    struct two t;
    two_init(&t, "open sesame", "open sesame");
    for (int message = 0; message < 4; message++)
        for (int byte = 0; byte < lengths[message]; byte++)
            if (run(&t, message, byte, NULL) == SKIFF_OK)
                fail_msg("byte %d of message %d was changed, and nobody noticed", byte, message);
}

/* A server's own message sent back by a fake client: reflection proves nothing. */
static void sent_back(void **state)
{
    struct two t;
    two_init(&t, "open sesame", "open sesame");
    handshake_first(&t.client, t.base[0], &t.wish[0], NULL, t.first);
    assert_int_equal(handshake_prove(&t.client, t.first, t.proof, NULL), SKIFF_OK);
    assert_int_equal(handshake_end(&t.client, t.proof, NULL), SKIFF_INVALID);
    uint8_t zero[HANDSHAKE_OPEN];
    memcpy(zero, t.first, sizeof zero);
    memset(zero + 32, 0, 32); /* the neutral point: its multiples are publicly known */
    assert_int_equal(handshake_prove(&t.client, zero, t.proof, NULL), SKIFF_FORMAT);
    assert_int_equal(handshake_answer(&t.server, t.base[1], &t.wish[1], zero, t.answer, NULL),
                     SKIFF_FORMAT);
}

/* A ticket of one connection, shown in the next. */
static void tickets(void **state)
{
    struct two t;
    struct handshake_ticket mine, theirs;
    uint8_t first[HANDSHAKE_OPEN];
    two_init(&t, "a", "a");
    assert_int_equal(run(&t, -1, 0, NULL), SKIFF_OK);
    assert_int_equal(handshake_shows(t.first), 0);
    handshake_ticket(&t.client, &mine);
    handshake_ticket(&t.server, &theirs);
    assert_true(mine.number && mine.number == theirs.number);
    handshake_first(&t.client, t.base[0], &t.wish[0], &mine, first);
    assert_int_equal(handshake_shows(first), mine.number);
    assert_true(handshake_fits(first, &theirs));
    assert_int_equal(handshake_answer(&t.server, t.base[1], &t.wish[1], first, t.answer, NULL),
                     SKIFF_OK);
    for (int i = 0; i < HANDSHAKE_OPEN; i++) {
        first[i] ^= 1;
        assert_false(handshake_fits(first, &theirs));
        first[i] ^= 1;
    }
    theirs.key[0] ^= 1;
    assert_false(handshake_fits(first, &theirs));
}

static void versions(void **state)
{
    struct two t;
    struct skiff_error err;
    two_init(&t, "a", "a");
    handshake_first(&t.client, t.base[0], &t.wish[0], NULL, t.first);
    t.first[6] = 9;
    assert_int_equal(handshake_answer(&t.server, t.base[1], &t.wish[1], t.first, t.answer, &err),
                     SKIFF_UNSUPPORTED);
    assert_string_equal(err.message, "the other side has handshake version 9, this process version "
                                     "1: use the same release everywhere");
    assert_true(handshake_begins(t.answer, HANDSHAKE_OPEN)); /* the client learns this version */
    assert_int_equal(t.answer[6], HANDSHAKE_VERSION);
    assert_false(handshake_begins((const uint8_t *)"GET / HTTP/1.1", 6));
    assert_true(handshake_begins((const uint8_t *)"SKI", 3));
}

static void what_is_agreed_upon(void **state)
{
    static const struct {
        enum handshake_encrypt client, server;
        bool apart, encrypt;
    } rows[] = {
        {HANDSHAKE_AUTO, HANDSHAKE_AUTO, false, false},
        {HANDSHAKE_AUTO, HANDSHAKE_AUTO, true, true},
        {HANDSHAKE_ON, HANDSHAKE_AUTO, false, true},
        {HANDSHAKE_AUTO, HANDSHAKE_OFF, true, false},
        {HANDSHAKE_OFF, HANDSHAKE_OFF, true, false},
        {HANDSHAKE_ON, HANDSHAKE_ON, false, true},
    };
    struct two t;
    struct handshake_keys keys;
    struct skiff_error err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        two_init(&t, "a", "a");
        t.wish[0].encrypt = rows[i].client;
        t.wish[1] = (struct handshake_wish){.encrypt = rows[i].server, .apart = rows[i].apart};
        assert_int_equal(run(&t, -1, 0, NULL), SKIFF_OK);
        assert_int_equal(handshake_keys(&t.client, &keys, NULL), SKIFF_OK);
        assert_int_equal(keys.encrypt, rows[i].encrypt);
        assert_int_equal(keys.cipher, SEAL_CHACHA); /* the server has no AES */
    }
    for (int chacha = 0; chacha < 4; chacha++) { /* bits: client, server; with fast AES both */
        for (int encrypt = 0; encrypt < 2; encrypt++) {
            two_init(&t, "a", "a");
            t.wish[0].chacha = chacha & 1;
            t.wish[1].chacha = chacha >> 1;
            t.wish[0].encrypt = encrypt ? HANDSHAKE_ON : HANDSHAKE_AUTO;
            assert_int_equal(run(&t, -1, 0, NULL), SKIFF_OK);
            assert_int_equal(handshake_keys(&t.client, &keys, NULL), SKIFF_OK);
            assert_int_equal(keys.cipher, chacha == 3 && !encrypt ? SEAL_CHACHA : SEAL_AES);
        }
    }
    t.wish[0].encrypt = HANDSHAKE_ON;
    t.wish[1].encrypt = HANDSHAKE_OFF;
    assert_int_equal(run(&t, -1, 0, NULL), SKIFF_OK);
    assert_int_equal(handshake_keys(&t.server, &keys, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "one side has encryption on, the other off"));
}

/* ---- seals ---- */

#define N 1000

static void make(struct seal *s, bool hide, const uint8_t *text, uint8_t *out, uint8_t *tag)
{
    seal_begin(s);
    seal_see(s, "head", 4);
    for (size_t i = 0; i < N; i += 300) { /* pieces that are not complete blocks */
        size_t n = N - i < 300 ? N - i : 300;
        if (hide)
            seal_code(s, text + i, out + i, n);
        else
            seal_see(s, text + i, n);
    }
    seal_end(s, tag);
}

static bool opens(struct seal *s, bool hidden, uint8_t *bytes, const uint8_t *tag)
{
    seal_begin(s);
    seal_see(s, "head", 4);
    for (size_t i = 0; i < N; i += 7) {
        size_t n = N - i < 7 ? N - i : 7;
        if (hidden)
            seal_code(s, bytes + i, bytes + i, n);
        else
            seal_see(s, bytes + i, n);
    }
    return seal_check(s, tag);
}

static void try_seals(enum seal_cipher cipher, bool hide)
{
    struct seal *maker, *opener, *second;
    uint8_t key[SEAL_KEY] = {1, 2, 3}, text[N], hidden[N], copy[N], tag[2][SEAL_TAG];
    for (size_t i = 0; i < N; i++)
        text[i] = (uint8_t)(i * 7);
    assert_int_equal(seal_create(cipher, key, false, &maker, NULL), SKIFF_OK);
    assert_int_equal(seal_create(cipher, key, true, &opener, NULL), SKIFF_OK);
    assert_int_equal(seal_create(cipher, key, true, &second, NULL), SKIFF_OK);
    for (int record = 0; record < 2; record++) {
        memcpy(hidden, text, N);
        make(maker, hide, text, hidden, tag[record]);
        assert_int_equal(memcmp(hidden, text, N) != 0, hide);
        memcpy(copy, hidden, N);
        if (record == 1) { /* the second record first: as if the first had been left out */
            assert_false(opens(second, hide, copy, tag[record]));
            memcpy(copy, hidden, N);
        }
        assert_true(opens(opener, hide, copy, tag[record]));
        assert_memory_equal(copy, text, N);
    }
    assert_memory_not_equal(tag[0], tag[1], SEAL_TAG); /* the same bytes, another number */
    memcpy(copy, hidden, N);
    make(maker, hide, text, copy, tag[0]);
    copy[500] ^= 4;
    assert_false(opens(opener, hide, copy, tag[0]));
    seal_destroy(maker);
    seal_destroy(opener);
    seal_destroy(second);
}

static void seals(void **state)
{
    for (int hide = 0; hide < 2; hide++) {
        try_seals(SEAL_AES, hide);
        try_seals(SEAL_CHACHA, hide);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_secrets_give_same_keys),
        cmocka_unit_test(other_secrets),
        cmocka_unit_test(changed_on_the_way),
        cmocka_unit_test(sent_back),
        cmocka_unit_test(versions),
        cmocka_unit_test(tickets),
        cmocka_unit_test(what_is_agreed_upon),
        cmocka_unit_test(seals),
    };
    return cmocka_run_group_tests_name("handshake", tests, NULL, NULL);
}
