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

static struct blob *sample_exchange(void)
{
    struct ps_item items[2] = {dense(), rows()};
    char want[2][PS_NAME] = {"fc_0.w_0.block1", "emb"};
    struct ps_exchange x = {.trainer = 3,
                            .flags = PS_END_STEP,
                            .step = UINT64_C(1) << 50,
                            .nitems = 2,
                            .nwant = 2,
                            .items = items,
                            .want = want};
    struct wire_writer w;
    writer_init(&w);
    ps_write_exchange(&w, &x);
    return finish(&w);
}

static void exchanges_come_back(void **state)
{
    struct blob *b = sample_exchange();
    struct ps_item a = dense(), r = rows();
    struct ps_exchange x;
    struct skiff_error err;
    assert_int_equal(ps_read_exchange(b, &x, &err), SKIFF_OK);
    assert_true(x.trainer == 3 && x.flags == PS_END_STEP && x.step == UINT64_C(1) << 50);
    assert_int_equal(x.nitems, 2);
    assert_item(&x.items[0], &a);
    assert_item(&x.items[1], &r);
    assert_int_equal(x.nwant, 2);
    assert_string_equal(x.want[0], "fc_0.w_0.block1");
    assert_string_equal(x.want[1], "emb");
    ps_exchange_deinit(&x);
    /* Without its last byte, or with one more, it is invalid. */
    for (size_t n = 0; n < b->len; n++) {
        struct blob *part = NULL;
        assert_int_equal(blob_copy(b->data, n, "test", &part, NULL), SKIFF_OK);
        assert_int_equal(ps_read_exchange(part, &x, &err), SKIFF_FORMAT);
        blob_unref(part);
    }
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
    ps_write_pull_rows(&w, "emb.block0", 4, 7, ids, 3);
    b = finish(&w);
    assert_int_equal(ps_read_pull_rows(b, &p, NULL), SKIFF_OK);
    assert_string_equal(p.name, "emb.block0");
    assert_true(p.trainer == 4 && p.after == 7 && p.n == 3 && memcmp(p.ids, ids, sizeof ids) == 0);
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
        cmocka_unit_test(exchanges_come_back),
        cmocka_unit_test(lists_and_scans_come_back),
        cmocka_unit_test(shapes_fit),
        cmocka_unit_test(small_bodies_come_back),
        cmocka_unit_test(calls_for_tables_come_back),
        cmocka_unit_test(values_to_put_come_back),
        cmocka_unit_test(shards_of_a_variable_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
