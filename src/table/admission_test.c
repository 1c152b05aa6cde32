/* Ids that wait for admission: snapshots of one instant, and their form in files. The admission
 * rules: tests/conformance/table_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "table/admission.h"

#define IDS 1000

static struct waiting *open_waiting(int forget)
{
    struct admission a = {.kind = ADMISSION_COUNT, .count = 5, .forget = forget};
    struct waiting *w;
    assert_int_equal(waiting_create(&a, 1, SIZE_MAX, &w, NULL), SKIFF_OK);
    return w;
}

static bool ask(struct waiting *w, int64_t id, uint32_t times)
{
    bool in;
    assert_int_equal(waiting_ask(w, id, times, &in, NULL), SKIFF_OK);
    return in;
}

/* The ids of the snapshot, requests and unseen shrinks; 0: not there. */
struct seen {
    uint32_t asked[2 * IDS], unseen[2 * IDS];
};

/* meanwhile: called after every piece. */
static void read_all(struct waiting *w, struct seen *out, void (*meanwhile)(struct waiting *, int))
{
    struct waiting_id some[64];
    uint64_t cursor = 0;
    size_t n;
    int piece = 0;
    enum skiff_status status = SKIFF_OK;
    memset(out, 0, sizeof *out);
    while (status == SKIFF_OK) {
        status = waiting_snapshot_list(w, &cursor, 64, some, &n, NULL);
        assert_true(status >= 0);
        for (size_t i = 0; i < n; i++) {
            assert_true(some[i].id >= 0 && some[i].id < 2 * IDS && some[i].asked);
            uint32_t before = out->asked[some[i].id];
            assert_true(!before || before == some[i].asked); /* returned twice, but unchanged */
            out->asked[some[i].id] = some[i].asked;
            out->unseen[some[i].id] = some[i].unseen;
        }
        if (meanwhile && status == SKIFF_OK && piece < 30)
            meanwhile(w, piece++);
    }
}

/* Some ids are requested again, some are admitted, some are forgotten, others are new in their
 * slots; a shrink passes. */
static void disturb(struct waiting *w, int piece)
{
    for (int i = 0; i < 60; i++) {
        int id = (piece * 131 + i * 17) % IDS;
        if (i % 3 == 0)
            waiting_forget(w, id);
        else
            ask(w, id, i % 3 == 1 ? 1 : 9);
        ask(w, IDS + (piece * 61 + i) % IDS, 2);
    }
    if (piece == 5) {
        uint64_t at = 0;
        while (!waiting_age(w, &at, 100))
            ;
    }
}

static void snapshots_are_of_one_instant(void **state)
{
    struct waiting *w = open_waiting(0);
    static struct seen seen;
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int id = 0; id < 2 * IDS; id++)
            waiting_forget(w, id);
        uint64_t at = 0;
        for (int id = 0; id < IDS; id++) {
            ask(w, id, 1 + (uint32_t)(id + round) % 4);
            if (id == IDS / 2)
                waiting_age(w, &at, SIZE_MAX);
        }
        struct waiting_snapshot *s = waiting_snapshot_begin(w);
        read_all(w, &seen, disturb);
        assert_true(waiting_snapshot_bytes(s) > 0);
        for (int id = 0; id < 2 * IDS; id++) {
            assert_int_equal(seen.asked[id], id < IDS ? 1 + (id + round) % 4 : 0);
            assert_int_equal(seen.unseen[id], id <= IDS / 2);
        }
        waiting_snapshot_take_off(w);
        waiting_snapshot_destroy(s);
        disturb(w, 0);
    }
    waiting_destroy(w);
}

/* A version has 16 bits. */
static void moments_come_round(void **state)
{
    struct waiting *w = open_waiting(0);
    static struct seen seen;
    (void)state;
    ask(w, 3, 2);
    for (int i = 0; i <= UINT16_MAX; i++) {
        struct waiting_snapshot *s = waiting_snapshot_begin(w);
        if (i == UINT16_MAX) {
            ask(w, 3, 1);
            ask(w, 4, 1);
            read_all(w, &seen, NULL);
            assert_int_equal(seen.asked[3], 3);
            assert_int_equal(seen.asked[4], 0);
        } else if (i == 0) {
            ask(w, 3, 1); /* its version is the first */
        }
        waiting_snapshot_take_off(w);
        waiting_snapshot_destroy(s);
    }
    waiting_destroy(w);
}

static void what_is_put_goes_on(void **state)
{
    struct waiting *w = open_waiting(3);
    uint64_t at = 0;
    (void)state;
    assert_int_equal(waiting_put(w, &(struct waiting_id){7, 4, 2}, NULL), SKIFF_OK);
    assert_int_equal(waiting_put(w, &(struct waiting_id){8, 4, 3}, NULL), SKIFF_OK);
    assert_int_equal(waiting_put(w, &(struct waiting_id){9, 1, 0}, NULL), SKIFF_OK);
    assert_int_equal(waiting_put(w, &(struct waiting_id){9, 3, 0}, NULL), SKIFF_OK);
    assert_int_equal(waiting_count(w), 3);
    waiting_age(w, &at, SIZE_MAX);
    assert_int_equal(waiting_count(w), 2); /* 8 was unseen for too long */
    assert_true(ask(w, 7, 1));
    assert_false(ask(w, 8, 1));
    assert_false(ask(w, 9, 1));
    assert_true(ask(w, 9, 1));
    waiting_destroy(w);
}

static void rows_are_exact(void **state)
{
    static const uint32_t counts[] = {1, 2, 65535, 65536, (1u << 24) + 1, UINT32_MAX};
    struct waiting_id x, y;
    float row[WAITING_WIDTH];
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        x = (struct waiting_id){-5, counts[i], 65534};
        waiting_pack(&x, row);
        assert_true(waiting_unpack(-5, row, &y));
        assert_true(y.id == x.id && y.asked == x.asked && y.unseen == x.unseen);
    }
    static const float bad[][WAITING_WIDTH] = {{0, 0, 1},     {0.5f, 1, 0},    {0, -1, 0},
                                               {65536, 1, 0}, {0, 1, 1e9f},    {NAN, 1, 0},
                                               {0, 1, NAN},   {INFINITY, 1, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(waiting_unpack(1, bad[i], &y));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_are_of_one_instant),
        cmocka_unit_test(moments_come_round),
        cmocka_unit_test(what_is_put_goes_on),
        cmocka_unit_test(rows_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
