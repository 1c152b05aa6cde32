#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/ps.h"

static struct blob *finish(struct wire_writer *w)
{
    struct blob *b = NULL;
    assert_int_equal(writer_finish(w, &b, NULL), SKIFF_OK);
    return b;
}

static const float numbers[6] = {1, -2, 3.5f, 4, 5, 6};
static const int64_t ids[3] = {7, -1, INT64_C(1) << 40};

static struct ps_item dense(void)
{
    struct ps_item item = {.name = "fc_0.w_0@GRAD.block1", .dtype = 5, .ndim = 2, .dims = {2, 3}};
    item.data = (const unsigned char *)numbers;
    item.bytes = sizeof numbers;
    return item;
}

static struct ps_item rows(void)
{
    struct ps_item item = dense();
    item.has_rows = true;
    item.dims[0] = item.nrows = 3;
    item.dims[1] = 2;
    item.rows = (const unsigned char *)ids;
    return item;
}

static void assert_item(const struct ps_item *a, const struct ps_item *b)
{
    assert_string_equal(a->name, b->name);
    assert_true(a->dtype == b->dtype && a->ndim == b->ndim && a->has_rows == b->has_rows);
    assert_memory_equal(a->dims, b->dims, sizeof a->dims);
    assert_true(a->nrows == b->nrows && a->bytes == b->bytes);
    assert_memory_equal(a->data, b->data, a->bytes);
    if (a->has_rows)
        assert_memory_equal(a->rows, b->rows, (size_t)a->nrows * 8);
}

static const uint32_t wanted[2] = {9, 70000};

/* Dense values, rows in the order of pick, no rows at all. */
static struct blob *sample_exchange(void)
{
    static const size_t pick[2] = {2, 0};
    struct ps_piece pieces[3] = {
        {.number = 4, .data = (const unsigned char *)numbers, .bytes = sizeof numbers},
        {.number = 7,
         .has_rows = true,
         .nrows = 2,
         .rows = (const unsigned char *)ids,
         .data = (const unsigned char *)numbers,
         .bytes = 16,
         .pick = pick},
        {.number = 8, .has_rows = true}};
    struct ps_exchange x = {.trainer = 3,
                            .flags = PS_END_STEP,
                            .step = UINT64_C(1) << 50,
                            .push = 5,
                            .acked = 6,
                            .parts = 2,
                            .nwant = 2,
                            .want = (const uint8_t *)wanted};
    struct wire_writer w;
    writer_init(&w);
    ps_write_exchange(&w, &x, pieces, 3);
    return finish(&w);
}

static void exchanges_come_back(void **state)
{
    static const float picked[4] = {5, 6, 1, -2};
    struct blob *b = sample_exchange();
    struct ps_exchange x;
    struct skiff_error err;
    assert_int_equal(ps_read_exchange(b, &x, &err), SKIFF_OK);
    assert_true(x.trainer == 3 && x.flags == PS_END_STEP && x.step == UINT64_C(1) << 50);
    assert_true(x.push == 5 && x.acked == 6 && x.parts == 2);
    assert_int_equal(x.pieces.n, 3);
    struct ps_piece dense_one = ps_piece_at(&x.pieces, 0), some = ps_piece_at(&x.pieces, 1),
                    none = ps_piece_at(&x.pieces, 2);
    assert_true(dense_one.number == 4 && !dense_one.has_rows && dense_one.bytes == sizeof numbers);
    assert_memory_equal(dense_one.data, numbers, sizeof numbers);
    assert_true((size_t)(dense_one.data - b->data) % PS_ALIGN == 0);
    assert_true(some.number == 7 && some.has_rows && some.nrows == 2 && some.bytes == 16);
    assert_memory_equal(some.rows, ids, 16);
    assert_memory_equal(some.data, picked, sizeof picked);
    assert_true(none.number == 8 && none.has_rows && none.nrows == 0 && none.bytes == 0);
    assert_int_equal(x.nwant, 2);
    assert_true(ps_want_at(&x, 0) == 9 && ps_want_at(&x, 1) == 70000);
    /* Without its last byte, or with one more, it is invalid. */
    for (size_t n = 0; n < b->len; n++) {
        struct blob *part = NULL;
        assert_int_equal(blob_copy(b->data, n, "test", &part, NULL), SKIFF_OK);
        assert_int_equal(ps_read_exchange(part, &x, &err), SKIFF_FORMAT);
        blob_unref(part);
    }
    blob_unref(b);
}

/* Pieces that do not fit into the message; the first piece's entry begins at byte 48. */
static void misplaced_pieces(void **state)
{
    static const struct {
        size_t at;
        uint64_t value;
        const char *reason;
    } cases[] = {
        {48 + 8, 0, "a piece lies outside the message"},
        {48 + 8, UINT64_MAX - 3, "a piece lies outside the message"},
        {48 + 16, UINT64_MAX, "a piece lies outside the message"},
        {48 + 24 + 16, 8, "a piece is too short for its ids"},
        {48 + 8, 132, "a piece does not begin at a multiple of 8"},
        {48 + 48 + 8, 152, "the message does not end with its last piece"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct blob *b = sample_exchange();
        struct ps_exchange x;
        struct skiff_error err;
        memcpy(b->data + cases[i].at, &cases[i].value, 8);
        assert_int_equal(ps_read_exchange(b, &x, &err), SKIFF_FORMAT);
        assert_non_null(strstr(err.message, cases[i].reason));
        blob_unref(b);
    }
}

static void values_come_back(void **state)
{
    struct ps_piece in = {
        .number = 11, .data = (const unsigned char *)numbers, .bytes = sizeof numbers};
    struct ps_pieces out;
    struct skiff_error err;
    struct wire_writer w;
    writer_init(&w);
    ps_write_values(&w, &in, 1);
    struct blob *b = finish(&w), *part;
    assert_int_equal(ps_read_values(b, &out, &err), SKIFF_OK);
    struct ps_piece got = ps_piece_at(&out, 0);
    assert_true(out.n == 1 && got.number == 11 && got.bytes == sizeof numbers);
    assert_memory_equal(got.data, numbers, sizeof numbers);
    assert_int_equal(blob_copy(b->data, b->len - 1, "test", &part, NULL), SKIFF_OK);
    assert_int_equal(ps_read_values(part, &out, &err), SKIFF_FORMAT);
    blob_unref(part);
    blob_unref(b);
}

static void numbers_come_back(void **state)
{
    static const struct ps_bound in[2] = {
        {.name = "w@GRAD", .use = PS_PUSH_DENSE, .shard = 3, .dtype = 5, .ndim = 2, .dims = {2, 3}},
        {.name = "emb", .use = PS_PULL_ROWS_OF, .dtype = 5, .ndim = 2, .dims = {-1, 10}}};
    struct ps_bound *out, bad = in[0];
    struct skiff_error err;
    struct wire_writer w;
    uint32_t n;
    writer_init(&w);
    ps_write_bound(&w, in, 2);
    struct blob *b = finish(&w);
    assert_int_equal(ps_read_bound(b, &out, &n, &err), SKIFF_OK);
    assert_int_equal(n, 2);
    assert_memory_equal(out, in, sizeof in);
    free(out);
    blob_unref(b);
    bad.dims[1] = -1;
    ps_write_bound(&w, &bad, 1);
    b = finish(&w);
    assert_int_equal(ps_read_bound(b, &out, &n, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "a negative dimension"));
    blob_unref(b);
}

static void lists_and_scans_come_back(void **state)
{
    struct ps_item in[2] = {rows(), dense()}, *out, one;
    struct wire_writer w;
    uint32_t n;
    uint64_t next;
    writer_init(&w);
    ps_write_items(&w, in, 2);
    struct blob *b = finish(&w);
    assert_int_equal(ps_read_items(b, &out, &n, NULL), SKIFF_OK);
    assert_int_equal(n, 2);
    assert_item(&out[0], &in[0]);
    assert_item(&out[1], &in[1]);
    free(out);
    blob_unref(b);

    ps_write_scan(&w, &in[0], 77);
    b = finish(&w);
    assert_int_equal(ps_read_scan(b, &one, &next, NULL), SKIFF_OK);
    assert_item(&one, &in[0]);
    assert_true(next == 77);
    blob_unref(b);
    ps_write_scan(&w, &in[1], 77);
    b = finish(&w);
    assert_int_equal(ps_read_scan(b, &one, &next, NULL), SKIFF_FORMAT);
    blob_unref(b);
}

static void shapes_fit(void **state)
{
    struct {
        int ndim;
        int64_t dims[3];
        int64_t nrows;
        enum skiff_status expected;
    } cases[] = {
        {2, {2, 3}, -1, SKIFF_OK},
        {1, {24}, -1, SKIFF_OK},
        {1, {25}, -1, SKIFF_FORMAT},
        {1, {-1}, -1, SKIFF_FORMAT},
        {3, {INT64_C(1) << 32, INT64_C(1) << 32, 16}, -1, SKIFF_FORMAT},
        {2, {3, 2}, 3, SKIFF_OK},
        {2, {2, 3}, 3, SKIFF_FORMAT},
        {0, {0}, 3, SKIFF_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ps_item item = dense(), *out = NULL;
        struct wire_writer w;
        uint32_t n;
        item.ndim = cases[i].ndim;
        memcpy(item.dims, cases[i].dims, sizeof cases[i].dims);
        item.has_rows = cases[i].nrows >= 0;
        item.nrows = cases[i].nrows;
        item.rows = (const unsigned char *)ids;
        writer_init(&w);
        ps_write_items(&w, &item, 1);
        struct blob *b = finish(&w);
        assert_int_equal(ps_read_items(b, &out, &n, NULL), cases[i].expected);
        free(out);
        blob_unref(b);
    }
}

static void small_bodies_come_back(void **state)
{
    struct wire_writer w;
    struct blob *b;
    writer_init(&w);

    struct ps_pull_rows p;
    ps_write_pull_rows(&w, 70000, 4, 7, ids, 3);
    b = finish(&w);
    assert_int_equal(ps_read_pull_rows(b, &p, NULL), SKIFF_OK);
    assert_true(p.number == 70000 && p.trainer == 4 && p.after == 7 && p.n == 3 &&
                memcmp(p.ids, ids, sizeof ids) == 0);
    blob_unref(b);

    char name[PS_NAME];
    uint64_t first, count;
    ps_write_range(&w, "x", UINT64_MAX, 5);
    b = finish(&w);
    assert_int_equal(ps_read_range(b, name, &first, &count, NULL), SKIFF_OK);
    assert_true(strcmp(name, "x") == 0 && first == UINT64_MAX && count == 5);
    blob_unref(b);

    struct ps_describe d = {1, 2, 3, SKIFF_SPLIT_GEO, 4, 5}, d2;
    ps_write_describe(&w, &d);
    b = finish(&w);
    assert_int_equal(ps_read_describe(b, &d2, NULL), SKIFF_OK);
    assert_true(d2.server == 1 && d2.servers == 2 && d2.trainers == 3 &&
                d2.mode == SKIFF_SPLIT_GEO && d2.shards == 4 && d2.program_hash == 5);
    blob_unref(b);
    d.server = 2;
    ps_write_describe(&w, &d);
    b = finish(&w);
    assert_int_equal(ps_read_describe(b, &d2, NULL), SKIFF_FORMAT);
    blob_unref(b);

    struct ps_reduce r = {"auc", "sum", 1, 6, (const uint8_t *)ids, 3}, r2;
    ps_write_reduce(&w, &r);
    b = finish(&w);
    assert_int_equal(ps_read_reduce(b, &r2, NULL), SKIFF_OK);
    assert_string_equal(r2.tag, "auc");
    assert_string_equal(r2.op, "sum");
    assert_true(r2.worker == 1 && r2.dtype == 6 && r2.n == 3 && !memcmp(r2.data, ids, 24));
    blob_unref(b);
    strcpy(r.op, "avg");
    ps_write_reduce(&w, &r);
    b = finish(&w);
    assert_int_equal(ps_read_reduce(b, &r2, NULL), SKIFF_FORMAT);
    blob_unref(b);

    struct ps_message m = {"shuffle", 0, 1, (const uint8_t *)"hello", 5}, m2;
    ps_write_message(&w, &m);
    b = finish(&w);
    assert_int_equal(ps_read_message(b, &m2, NULL), SKIFF_OK);
    assert_string_equal(m2.tag, "shuffle");
    assert_true(m2.from == 0 && m2.to == 1 && m2.bytes == 5 && !memcmp(m2.data, "hello", 5));
    blob_unref(b);

    struct ps_save_table s = {"emb", "/data/model"}, s2;
    ps_write_save_table(&w, &s);
    b = finish(&w);
    assert_int_equal(ps_read_save_table(b, &s2, NULL), SKIFF_OK);
    assert_string_equal(s2.table, "emb");
    assert_string_equal(s2.dir, "/data/model");
    blob_unref(b);
}

static void calls_for_tables_come_back(void **state)
{
    struct wire_writer w;
    struct ps_table in = {.call = PS_TABLE_SAVE,
                          .mode = -3,
                          .all = true,
                          .threshold = 0.1,
                          .token = UINT64_MAX - 1,
                          .table = "emb",
                          .dir = "/data/model/000"},
                    out;
    struct ps_table_state s = {.rows = 1,
                               .bytes = 2,
                               .admitted = 3,
                               .refused = 4,
                               .expired = 5,
                               .evicted = 6,
                               .hits = 7,
                               .misses = 8,
                               .disk_rows = 9,
                               .disk_bytes = 10,
                               .written_bytes = 11,
                               .done = UINT64_MAX,
                               .elsewhere = 12,
                               .threshold = -2.5},
                          s2;
    struct skiff_error err;
    writer_init(&w);
    ps_write_table(&w, &in);
    struct blob *b = finish(&w);
    assert_int_equal(ps_read_table(b, &out, NULL), SKIFF_OK);
    assert_true(out.call == PS_TABLE_SAVE && out.mode == -3 && out.all && out.threshold == 0.1);
    assert_true(out.token == UINT64_MAX - 1);
    assert_string_equal(out.table, "emb");
    assert_string_equal(out.dir, "/data/model/000");
    blob_unref(b);
    in.call = PS_TABLE_DAY + 1;
    ps_write_table(&w, &in);
    b = finish(&w);
    assert_int_equal(ps_read_table(b, &out, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "an unknown call"));
    blob_unref(b);

    ps_write_table_state(&w, &s);
    b = finish(&w);
    assert_int_equal(ps_read_table_state(b, &s2, NULL), SKIFF_OK);
    assert_memory_equal(&s, &s2, sizeof s);
    blob_unref(b);
}

static void values_to_put_come_back(void **state)
{
    struct wire_writer w;
    struct ps_put in = {.token = 1ull << 60, .first = 12, .item = dense()}, out;
    struct skiff_error err;
    writer_init(&w);
    ps_write_put(&w, &in);
    struct blob *b = finish(&w);
    assert_int_equal(ps_read_put(b, &out, NULL), SKIFF_OK);
    assert_true(out.first == 12 && out.token == 1ull << 60);
    assert_item(&out.item, &in.item);
    blob_unref(b);
    in.item = rows();
    ps_write_put(&w, &in);
    b = finish(&w);
    assert_int_equal(ps_read_put(b, &out, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "rows instead of elements"));
    blob_unref(b);
}

/* A gradient goes to its parameter's shard; and names are spread over the shards. */
static void shards_of_a_variable_agree(void **state)
{
    int used[4] = {0};
    for (int i = 0; i < 64; i++) {
        char p[64], g[64], d[64], t[64];
        snprintf(p, sizeof p, "fc_%d.w_0.block3", i);
        snprintf(g, sizeof g, "fc_%d.w_0@GRAD.block3", i);
        snprintf(d, sizeof d, "fc_%d.w_0.block3.delta", i);
        snprintf(t, sizeof t, "fc_%d.w_0@GRAD.block3.trainer_12", i);
        int shard = ps_shard(p, 4);
        assert_in_range(shard, 0, 3);
        used[shard]++;
        assert_int_equal(ps_shard(g, 4), shard);
        assert_int_equal(ps_shard(d, 4), shard);
        assert_int_equal(ps_shard(t, 4), shard);
        assert_int_equal(ps_shard(p, 1), 0);
    }
    for (int i = 0; i < 4; i++)
        assert_true(used[i] > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanges_come_back),       cmocka_unit_test(misplaced_pieces),
        cmocka_unit_test(values_come_back),          cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(lists_and_scans_come_back), cmocka_unit_test(shapes_fit),
        cmocka_unit_test(small_bodies_come_back),    cmocka_unit_test(calls_for_tables_come_back),
        cmocka_unit_test(values_to_put_come_back),   cmocka_unit_test(shards_of_a_variable_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
