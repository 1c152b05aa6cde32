/* The promises of every kind of table (src/table/table.h), and those of hash beyond them. Tables of
 * kind tiered have memory for a few hundred rows here, so that most rows are on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "table/table.h"
#include "table/table_snapshot.h"

#define ROWS 5000 /* declared, and more than any test uses */
#define WIDTH 3
#define RECORD (2 * WIDTH) /* weights and one state */

static const struct table_class *const kinds[] = {
#define TABLE(name) &table_##name,
#include "table/table_list.h"
#undef TABLE
};
#define KINDS (sizeof kinds / sizeof *kinds)

static const struct fill weights = {FILL_UNIFORM, -1, 1, 77};

/* ---- a table of weights, and one of click statistics ---- */

static struct accessor *plain(void)
{
    static struct accessor a;
    struct accessor_options o = {.nparts = 2, .parts = {{WIDTH, weights}, {.width = WIDTH}}};
    o.parts[1].fill.a = 0.5f;
    assert_int_equal(accessor_init(&a, &accessor_plain, &o, NULL), SKIFF_OK);
    return &a;
}

static struct accessor *clicks(void)
{
    static struct accessor a;
    struct accessor_options o = {.ctr = ctr_defaults(), .embedx = 2};
    o.ctr.show_click_decay_rate = 0.5f;
    o.ctr.delete_threshold = 0.15f;
    o.embed_rule = o.embedx_rule = &sgd_rule_naive;
    o.embed = o.embedx_params = sgd_rule_defaults(&sgd_rule_naive);
    assert_int_equal(accessor_init(&a, &accessor_ctr_common, &o, NULL), SKIFF_OK);
    return &a;
}

static char folder[] = "/tmp/skiff_table_test_XXXXXX"; /* of tables on disk */

static struct table *make(const struct table_class *kind, const struct accessor *a)
{
    static int made;
    struct table *t;
    struct skiff_error err;
    char slot[64];
    struct table_options o = {.accessor = a, .rows = kind->fixed ? ROWS : 0, .deltas = true};
    snprintf(slot, sizeof slot, "%s/%d", folder, made++);
    if (kind == &table_tiered) {
        o.limit.bytes = (size_t)64 << 10;
        o.folder = slot;
    }
    if (table_create(kind, &o, &t, &err) < 0)
        fail_msg("%s: %s", kind->name, err.message);
    return t;
}

static struct table *make_admitting(const struct admission *a)
{
    struct table *t;
    struct table_options o = {.accessor = plain(), .admission = *a, .seed = 3};
    assert_int_equal(table_create(&table_hash, &o, &t, NULL), SKIFF_OK);
    return t;
}

static const uint8_t *bytes_of(const int64_t *ids)
{
    return (const uint8_t *)ids;
}

static void pull(struct table *t, int64_t id, unsigned how, float *out)
{
    assert_int_equal(table_pull(t, bytes_of(&id), 1, how, out, NULL), SKIFF_OK);
}

static void set(struct table *t, int64_t id, float x)
{
    float row[RECORD];
    for (int i = 0; i < RECORD; i++)
        row[i] = x + (float)i;
    assert_int_equal(table_scatter(t, bytes_of(&id), 1, TABLE_MAKE, 0, RECORD, row, NULL),
                     SKIFF_OK);
}

static float get(struct table *t, int64_t id) /* the last value of the record; 0: none */
{
    float x;
    assert_int_equal(table_gather(t, bytes_of(&id), 1, TABLE_LOOK, RECORD - 1, 1, &x, NULL),
                     SKIFF_OK);
    return x;
}

/* ---- rows ---- */

static void first_values_hang_on_the_id(void **state)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct table *t = make(kinds[k], plain());
        int64_t ids[200];
        uint8_t bytes[sizeof ids + 1];
        float out[200 * WIDTH], want[WIDTH];
        for (int i = 0; i < 200; i++)
            ids[i] = i * 23 % 150; /* some of them twice */
        memcpy(bytes + 1, ids, sizeof ids);
        assert_int_equal(table_pull(t, bytes + 1, 200, TABLE_MAKE, out, NULL), SKIFF_OK);
        for (int i = 0; i < 200; i++) {
            fill_row(&weights, ids[i], want, WIDTH);
            assert_memory_equal(out + i * WIDTH, want, sizeof want);
        }
        assert_int_equal(table_count(t), kinds[k]->fixed ? ROWS : 150);
        assert_true(get(t, ids[0]) == 0.5f);
        table_destroy(t);
    }
}

static void looking_makes_nothing(void **state)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct table *t = make(kinds[k], plain());
        float out[WIDTH] = {9, 9, 9}, want[WIDTH] = {0};
        if (kinds[k]->fixed)
            fill_row(&weights, 8, want, WIDTH);
        pull(t, 8, TABLE_LOOK, out);
        assert_memory_equal(out, want, sizeof want);
        assert_int_equal(table_count(t), kinds[k]->fixed ? ROWS : 0);
        assert_int_equal(table_pull(t, NULL, 0, TABLE_MAKE, out, NULL), SKIFF_OK);
        table_destroy(t);
    }
}

static void parts_are_gathered_and_scattered(void **state)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct table *t = make(kinds[k], plain());
        struct skiff_error err;
        int64_t ids[3] = {4, 1, 7};
        float state_of[3 * WIDTH], row[RECORD], before[WIDTH];
        for (int i = 0; i < 3 * WIDTH; i++)
            state_of[i] = (float)i;
        pull(t, 1, TABLE_MAKE, before);
        assert_int_equal(
            table_scatter(t, bytes_of(ids), 3, TABLE_MAKE, WIDTH, WIDTH, state_of, NULL), SKIFF_OK);
        assert_int_equal(table_gather(t, bytes_of(ids + 1), 1, TABLE_LOOK, 0, RECORD, row, NULL),
                         SKIFF_OK);
        assert_memory_equal(row, before, sizeof before);
        assert_memory_equal(row + WIDTH, state_of + WIDTH, sizeof before);
        assert_int_equal(table_gather(t, bytes_of(ids), 1, TABLE_LOOK, 4, 3, row, &err),
                         SKIFF_RANGE);
        assert_string_equal(err.message, "values 4 to 7 of records of 6");
        assert_int_equal(table_push(t, bytes_of(ids), 1, 0, row, &err), SKIFF_INVALID);
        assert_string_equal(err.message,
                            "accessor plain has no rule of its own for pushed gradients");
        table_destroy(t);
    }
}

static void ids_out_of_range(void **state)
{
    struct table *t = make(&table_array, plain());
    struct skiff_error err;
    int64_t ids[2] = {ROWS, -1};
    float out[2 * WIDTH];
    assert_int_equal(table_pull(t, bytes_of(ids), 1, TABLE_MAKE, out, &err), SKIFF_RANGE);
    assert_string_equal(err.message, "id 5000 of a table of 5000 rows");
    assert_int_equal(table_pull(t, bytes_of(ids + 1), 1, TABLE_LOOK, out, &err), SKIFF_RANGE);
    assert_string_equal(err.message, "id -1 of a table of 5000 rows");
    table_destroy(t);
    t = make(&table_hash, plain());
    int64_t any[4] = {INT64_MIN, INT64_MAX, -1, 0};
    for (int i = 0; i < 4; i++)
        set(t, any[i], (float)(10 * i));
    for (int i = 0; i < 4; i++)
        assert_true(get(t, any[i]) == (float)(10 * i + RECORD - 1));
    table_destroy(t);
}

static void options_that_do_not_fit(void **state)
{
    struct table *t;
    struct skiff_error err;
    struct accessor a;
    struct table_options o = {.accessor = plain()};
    assert_int_equal(table_create(&table_array, &o, &t, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "a table of kind array needs 1 to 4294967295 rows, not 0");
    o.rows = 5;
    assert_int_equal(table_create(&table_hash, &o, &t, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "a table of kind hash has no declared number of rows");
    o.admission.kind = ADMISSION_COUNT;
    assert_int_equal(table_create(&table_array, &o, &t, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "a table of 5 declared rows has no admission: all its rows "
                                     "exist; use kind hash");
    struct accessor_options none = {0}, wide = {.nparts = 1, .parts = {{.width = 20000}}};
    assert_int_equal(accessor_init(&a, &accessor_plain, &none, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "accessor plain: 0 parts; the range is 1 to 8");
    assert_int_equal(accessor_init(&a, &accessor_plain, &wide, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "accessor plain: part 0 of 20000 numbers");
    assert_int_equal(accessor_init(&a, &accessor_sparse, &none, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "accessor sparse: no rule for embed");
    none.embedx = -1;
    assert_int_equal(accessor_init(&a, &accessor_sparse, &none, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "accessor sparse: embedx_dim -1; the range is 0 to 2048");
    assert_null(accessor_find("CtrDymfAccessor"));
}

/* ---- creating and removing ---- */

static void removed_rows_are_gone_and_their_places_used_again(void **state)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct table *t = make(kinds[k], plain());
        struct skiff_error err;
        bool was;
        for (int64_t id = 0; id < 1000; id++)
            set(t, id, (float)id);
        size_t bytes = table_bytes(t);
        if (kinds[k]->fixed) {
            assert_int_equal(table_remove(t, 3, &was, &err), SKIFF_UNSUPPORTED);
            assert_string_equal(err.message, "rows of a table of kind array cannot be removed");
            table_destroy(t);
            continue;
        }
        for (int64_t id = 0; id < 1000; id += 2) {
            assert_int_equal(table_remove(t, id, &was, &err), SKIFF_OK);
            assert_true(was);
        }
        assert_int_equal(table_remove(t, 0, &was, &err), SKIFF_OK);
        assert_false(was);
        assert_int_equal(table_count(t), 500);
        assert_int_equal(t->counts.removed, 500);
        for (int64_t id = 0; id < 1000; id++)
            assert_true(get(t, id) == (id % 2 ? (float)(id + RECORD - 1) : 0));
        for (int64_t id = 2000; id < 2500; id++)
            set(t, id, 1);
        if (kinds[k] != &table_tiered) /* RocksDB's memory varies */
            assert_int_equal(table_bytes(t), bytes);
        assert_int_equal(t->counts.admitted, 1500);
        table_destroy(t);
    }
}

/* Half a million ids: none is lost while the index is split, and bytes are counted. */
static void growing_keeps_all(void **state)
{
    enum { N = 500000, BATCH = 1000 };
    size_t before = mem_in_use();
    struct table *t = make(&table_hash, plain());
    struct skiff_error err;
    static int64_t ids[BATCH];
    static float out[BATCH * WIDTH], want[WIDTH];
    for (int64_t first = 0; first < N; first += BATCH) {
        for (int64_t i = 0; i < BATCH; i++)
            ids[i] = (first + i) * 12 + 5; /* as one of 12 servers sees them */
        assert_int_equal(table_pull(t, bytes_of(ids), BATCH, TABLE_MAKE, out, &err), SKIFF_OK);
    }
    assert_int_equal(table_count(t), N);
    for (int64_t i = 0; i < N; i += 7) {
        int64_t id = i * 12 + 5;
        pull(t, id, TABLE_LOOK, out);
        fill_row(&weights, id, want, WIDTH);
        assert_memory_equal(out, want, sizeof want);
        pull(t, id + 1, TABLE_LOOK, out);
        assert_true(out[0] == 0 && out[1] == 0);
    }
    double each = (double)table_bytes(t) / N, row = (double)t->stride;
    assert_true(each >= row && each <= row + 24);
    assert_true(mem_in_use() - before <= table_bytes(t));
    table_destroy(t);
    assert_int_equal(mem_in_use(), before);
}

static void without_memory_nothing_is_lost(void **state)
{
    struct table *t = make(&table_hash, plain());
    struct skiff_error err = {0};
    int64_t id = 0;
    float out[WIDTH];
    enum skiff_status status = SKIFF_OK;
    mem_set_limit(mem_in_use() + (1 << 20));
    for (; status == SKIFF_OK && id < 10000000; id++)
        status = table_pull(t, bytes_of(&id), 1, TABLE_MAKE, out, &err);
    mem_set_limit(SIZE_MAX);
    assert_int_equal(status, SKIFF_NOMEM);
    assert_non_null(strstr(err.message, "a table"));
    size_t count = table_count(t);
    assert_int_equal(count, id - 1);
    for (id = 0; id < (int64_t)count; id++)
        assert_true(get(t, id) == 0.5f);
    set(t, (int64_t)count, 4); /* and the table stays usable */
    assert_int_equal(table_count(t), count + 1);
    table_destroy(t);
}

static void shrink_all(struct table *t)
{
    struct table_cursor at = {0};
    enum skiff_status status;
    do
        status = table_shrink(t, &at, 37, NULL);
    while (status == SKIFF_OK);
    assert_int_equal(status, SKIFF_END);
}

/* Scores 0.1 (one show) and 1.1 (and a click), halved by each shrink; rows below 0.15 are
 * removed. */
static void rows_expire_by_score(void **state)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct table *t = make(kinds[k], clicks());
        float out[5];
        for (int64_t id = 0; id < 300; id++) {
            float row[6] = {0, 1 + (float)(id % 2), (float)(id % 2), 0.5f, 1, 1};
            assert_int_equal(table_push(t, bytes_of(&id), 1, TABLE_MAKE, row, NULL), SKIFF_OK);
        }
        shrink_all(t);
        assert_int_equal(t->counts.expired, kinds[k]->fixed ? 0 : 150);
        assert_int_equal(table_count(t), kinds[k]->fixed ? ROWS : 150);
        pull(t, 1, TABLE_LOOK, out);
        assert_true(out[0] == 1 && out[1] == 0.5f && out[2] == -0.025f);
        shrink_all(t);
        shrink_all(t);
        assert_int_equal(table_count(t), kinds[k]->fixed ? ROWS : 0);
        table_destroy(t);
    }
}

/* ---- admission ---- */

static void counted_ids_come_in_late(void **state)
{
    struct admission a;
    assert_int_equal(admission_parse("count_filter_entry:3", &a, NULL), SKIFF_OK);
    a.forget = 2;
    struct table *t = make_admitting(&a);
    float out[2 * WIDTH], want[WIDTH];
    int64_t twice[2] = {9, 9};
    fill_row(&weights, 9, want, WIDTH);
    assert_int_equal(table_pull(t, bytes_of(twice), 2, TABLE_MAKE, out, NULL), SKIFF_OK);
    assert_true(out[0] == 0 && out[WIDTH] == 0);
    assert_int_equal(table_count(t), 0);
    pull(t, 9, TABLE_LOOK, out); /* does not count */
    assert_true(out[0] == 0);
    pull(t, 9, TABLE_MAKE, out);
    assert_memory_equal(out, want, sizeof want);
    assert_int_equal(t->counts.refused, 2);
    assert_int_equal(t->counts.admitted, 1);
    pull(t, 5, TABLE_MAKE, out);
    pull(t, 5, TABLE_MAKE, out);
    assert_int_equal(waiting_count(t->waiting), 1);
    for (int i = 0; i < 3; i++)
        shrink_all(t); /* not requested any more: forgotten */
    assert_int_equal(waiting_count(t->waiting), 0);
    pull(t, 5, TABLE_MAKE, out);
    assert_true(out[0] == 0);
    set(t, 5, 1); /* the third request counts from the start */
    assert_true(get(t, 5) == 0);
    table_destroy(t);
}

static void chance_lets_in_as_many_as_it_says(void **state)
{
    struct admission a;
    assert_int_equal(admission_parse("probability_entry:0.75", &a, NULL), SKIFF_OK);
    struct table *t = make_admitting(&a);
    float out[WIDTH];
    for (int64_t id = 0; id < 20000; id++)
        pull(t, id, TABLE_MAKE, out);
    size_t first = table_count(t);
    assert_true(first > 4700 && first < 5300);
    for (int64_t id = 0; id < 20000; id++)
        pull(t, id, TABLE_MAKE, out);
    size_t second = table_count(t) - first;
    assert_true(second > 3500 && second < 4000); /* a quarter of those that wait */
    assert_int_equal(waiting_count(t->waiting), 20000 - first - second);
    table_destroy(t);
}

static void entries_are_read_as_paddle_writes_them(void **state)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"count_filter_entry:-1", "count_filter_entry:-1: expected a count of 0 or more"},
        {"count_filter_entry:x", "count_filter_entry:x: expected a count of 0 or more"},
        {"probability_entry:1", "probability_entry:1: expected a probability between 0 and 1"},
        {"show_click_entry:a", "show_click_entry:a: expected the names of two variables, "
                               "show_click_entry:SHOW:CLICK"},
        {"what:3", "entry \"what:3\" is unknown; known are count_filter_entry:N, "
                   "probability_entry:P and show_click_entry:SHOW:CLICK"},
    };
    struct admission a;
    struct skiff_error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(admission_parse(wrong[i].text, &a, &err), SKIFF_FORMAT);
        assert_string_equal(err.message, wrong[i].message);
    }
    assert_int_equal(admission_parse("show_click_entry:show:clk", &a, &err), SKIFF_OK);
    assert_int_equal(a.kind, ADMISSION_SHOW_CLICK);
    assert_string_equal(a.show, "show");
    assert_string_equal(a.click, "clk");
    assert_int_equal(admission_parse("none", &a, &err), SKIFF_OK);
    assert_int_equal(a.kind, ADMISSION_ALL);
}

/* ---- snapshots ---- */

/* Reads a snapshot to its end into another table, which gets the changes; `between` is called after
 * each piece. */
static uint32_t copy_changes(struct table *from, struct table *to, uint32_t since,
                             void (*between)(struct table *t, int piece))
{
    uint32_t version;
    size_t n, max = 100;
    const int64_t *gone = NULL;
    char *row_list = mem_alloc_or_die(max * from->stride);
    enum skiff_status status = table_snapshot_begin(from, since, &version, NULL);
    assert_int_equal(status, SKIFF_OK);
    size_t ngone = table_snapshot_gone(from, &gone);
    for (size_t i = 0; i < ngone; i++) {
        bool was;
        assert_int_equal(table_remove(to, gone[i], &was, NULL), SKIFF_OK);
    }
    for (int piece = 0; status == SKIFF_OK; piece++) {
        if (between)
            between(from, piece);
        status = table_snapshot_next(from, max, row_list, &n, NULL);
        for (size_t i = 0; status >= 0 && i < n; i++)
            assert_int_equal(
                table_put(to, (struct table_row *)(void *)(row_list + i * from->stride), NULL),
                SKIFF_OK);
    }
    assert_int_equal(status, SKIFF_END);
    table_snapshot_end(from, true);
    free(row_list);
    return version;
}

static void disturb(struct table *t, int piece)
{
    bool was;
    for (int64_t id = piece; id < 1000; id += 13)
        set(t, id, -5);
    for (int64_t id = 0; id < 30; id++)
        set(t, 2000 + piece * 30 + id, 3);
    for (int64_t id = piece * 17; !t->class->fixed && id < 1000; id += 97)
        assert_int_equal(table_remove(t, id, &was, NULL), SKIFF_OK);
}

static void snapshots_are_of_one_instant(void **state)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct table *t = make(kinds[k], plain()), *copy = make(kinds[k], plain());
        for (int64_t id = 0; id < 1000; id++)
            set(t, id, (float)id);
        copy_changes(t, copy, 0, disturb);
        for (int64_t id = 0; id < 1000; id++)
            assert_true(get(copy, id) == (float)(id + RECORD - 1));
        assert_int_equal(table_count(copy), kinds[k]->fixed ? ROWS : 1000);
        for (int64_t id = 2000; id < 2300; id++)
            assert_true(get(copy, id) == (kinds[k]->fixed ? 0.5f : 0));
        table_destroy(t);
        table_destroy(copy);
    }
}

struct looking {
    struct table *t;
    const int64_t *ids;
    bool made; /* the table creates rows when they are read */
};

static void look(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    const struct looking *x = self;
    for (size_t i = 0; i < n; i++) {
        int64_t id = x->ids[first + i];
        const struct table_row *was = table_snapshot_was(x->t, id, row_list[i]);
        if (id >= 1000 && !x->made)
            assert_null(was);
        else
            assert_true(was->id == id &&
                        was->values[RECORD - 1] == (id < 1000 ? (float)(id + RECORD - 1) : 0.5f));
    }
}

/* Requested by id, in any order, twice: rows that have changed, were removed or were added
 * since. */
static void snapshots_are_read_by_id(void **state)
{
    static int64_t ids[2000];
    for (size_t k = 0; k < KINDS; k++) {
        struct table *t = make(kinds[k], plain());
        uint32_t version;
        size_t n;
        char out[256];
        for (int64_t id = 0; id < 1000; id++)
            set(t, id, (float)id);
        for (int64_t i = 0; i < 2000; i++)
            ids[i] = (i * 617) % 1000 + (i % 2 ? 1100 : 0);
        size_t before = table_bytes(t);
        assert_int_equal(table_snapshot_begin(t, 0, &version, NULL), SKIFF_OK);
        assert_int_equal(table_snapshot_by_id(t, NULL), SKIFF_OK);
        assert_int_equal(table_snapshot_next(t, 1, out, &n, NULL), SKIFF_STATE);
        for (int round = 0; round < 5; round++) {
            struct looking x = {t, ids, kinds[k]->fixed};
            disturb(t, round);
            assert_int_equal(
                table_each(t, (const uint8_t *)ids, 2000, TABLE_LOOK, t->stride, look, &x, NULL),
                SKIFF_OK);
            assert_false(table_snapshot_lost(t));
        }
        assert_true(table_bytes(t) > before + 300 * t->stride);
        struct table_snapshot *ended = table_snapshot_take_off(t);
        assert_int_equal(table_snapshot_begin(t, 0, &version, NULL), SKIFF_OK);
        table_snapshot_destroy(ended);
        table_snapshot_end(t, false);
        table_destroy(t);
    }
}

static size_t differing(struct table *a, struct table *b, int64_t ids)
{
    size_t n = 0;
    for (int64_t id = 0; id < ids; id++)
        n += get(a, id) != get(b, id);
    return n;
}

static void deltas_bring_a_copy_up_to_date(void **state)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct table *t = make(kinds[k], plain()), *copy = make(kinds[k], plain());
        for (int64_t id = 0; id < 1000; id++)
            set(t, id, (float)id);
        uint32_t version = copy_changes(t, copy, 0, NULL);
        for (int round = 0; round < 5; round++) {
            disturb(t, round);
            assert_true(differing(t, copy, 3000) > 50);
            uint64_t before = copy->counts.admitted;
            version = copy_changes(t, copy, version, NULL);
            assert_int_equal(differing(t, copy, 3000), 0);
            assert_int_equal(table_count(t), table_count(copy));
            assert_true(copy->counts.admitted - before < 200);
        }
        /* changes while a delta is read are in the next one */
        version = copy_changes(t, copy, version, disturb);
        copy_changes(t, copy, version, NULL);
        assert_int_equal(differing(t, copy, 3000), 0);
        table_destroy(t);
        table_destroy(copy);
    }
}

static void snapshots_at_the_wrong_time(void **state)
{
    struct table *t = make(&table_hash, plain());
    struct skiff_error err;
    uint32_t first, second;
    char out[RECORD * 4 + 64];
    size_t n;
    assert_int_equal(table_snapshot_next(t, 1, out, &n, &err), SKIFF_STATE);
    assert_string_equal(err.message, "no snapshot of the table is being read");
    assert_int_equal(table_snapshot_begin(t, 1, &first, &err), SKIFF_STATE);
    assert_string_equal(err.message, "changes since snapshot 1: the table's last is 0");
    assert_int_equal(table_snapshot_begin(t, 0, &first, &err), SKIFF_OK);
    assert_int_equal(table_snapshot_begin(t, 0, &second, &err), SKIFF_STATE);
    assert_string_equal(err.message, "a snapshot of the table is being read already");
    assert_int_equal(table_snapshot_next(t, 1, out, &n, &err), SKIFF_END);
    assert_int_equal(n, 0);
    table_snapshot_end(t, true);
    assert_int_equal(table_snapshot_begin(t, 0, &second, &err), SKIFF_OK);
    table_snapshot_end(t, true);
    assert_int_equal(table_snapshot_begin(t, first, &second, &err), SKIFF_STATE);
    assert_string_equal(err.message,
                        "changes since snapshot 1: the rows removed then are no longer known; "
                        "take a full snapshot");
    table_destroy(t);
}

/* Servers take none: they would cost 12 bytes for each removed row. */
static void without_deltas_nobody_notes_who_went(void **state)
{
    struct table *t;
    struct skiff_error err;
    uint32_t first, second;
    bool was;
    assert_int_equal(
        table_create(&table_hash, &(struct table_options){.accessor = plain()}, &t, NULL),
        SKIFF_OK);
    for (int64_t id = 0; id < 100000; id++)
        set(t, id, 1);
    assert_int_equal(table_snapshot_begin(t, 0, &first, &err), SKIFF_OK);
    table_snapshot_end(t, true);
    size_t before = table_bytes(t);
    for (int64_t id = 0; id < 50000; id++)
        assert_int_equal(table_remove(t, id, &was, NULL), SKIFF_OK);
    assert_int_equal(table_bytes(t), before);
    assert_int_equal(table_snapshot_begin(t, first, &second, &err), SKIFF_STATE);
    assert_string_equal(err.message, "changes since snapshot 1 of a table without deltas");
    table_destroy(t);
}

static void a_snapshot_without_memory_says_so(void **state)
{
    struct table *t = make(&table_hash, plain());
    struct skiff_error err;
    uint32_t version;
    size_t n;
    char *out = mem_alloc_or_die(100 * t->stride);
    for (int64_t id = 0; id < 1000; id++)
        set(t, id, 1);
    assert_int_equal(table_snapshot_begin(t, 0, &version, &err), SKIFF_OK);
    mem_set_limit(mem_in_use());
    set(t, 999, 2);
    mem_set_limit(SIZE_MAX);
    assert_true(get(t, 999) == 2 + RECORD - 1); /* training continues */
    assert_int_equal(table_snapshot_next(t, 100, out, &n, &err), SKIFF_NOMEM);
    assert_string_equal(err.message, "no memory for copies of records while a snapshot is "
                                     "read");
    table_snapshot_end(t, false);
    table_destroy(t);
    free(out);
}

/* ---- files ---- */

static enum skiff_status import(void *self, int64_t id, const char *line, size_t n,
                                struct skiff_error *err)
{
    return table_import(self, line, n, err);
}

static void lines_come_back_to_the_bit(void **state)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct table *t = make(kinds[k], plain()), *copy = make(kinds[k], plain());
        struct table_cursor at = {0};
        float row[RECORD], again[RECORD];
        enum skiff_status status;
        for (int64_t id = 0; id < 500; id++)
            set(t, id, 1.0f / (float)(id + 3));
        do
            status = table_export(t, SAVE_ALL, &at, 100, import, copy, NULL);
        while (status == SKIFF_OK);
        assert_int_equal(status, SKIFF_END);
        for (int64_t id = 0; id < 500; id++) {
            table_gather(t, bytes_of(&id), 1, TABLE_LOOK, 0, RECORD, row, NULL);
            table_gather(copy, bytes_of(&id), 1, TABLE_LOOK, 0, RECORD, again, NULL);
            assert_memory_equal(row, again, sizeof row);
        }
        assert_int_equal(table_count(t), table_count(copy));
        table_destroy(t);
        table_destroy(copy);
    }
}

static enum skiff_status refuse(void *self, int64_t id, const char *line, size_t n,
                                struct skiff_error *err)
{
    return error_set(err, SKIFF_IO, "the disk is full");
}

static void lines_that_are_none(void **state)
{
    static const struct {
        const char *line, *message;
    } wrong[] = {
        {"\n", "an empty line; expected a key and numbers"},
        {"x 1 2 3", "key \"x\": expected an integer of 64 bits"},
        {"18446744073709551616 1 2 3",
         "key \"18446744073709551616\": expected an integer of 64 bits"},
        {"7 1 b 3", "key 7, number 2: \"b\" is not a number"},
        {"7 1 2", "key 7: 2 numbers; 3 (weights) or 6 (with the optimizer's state) are needed"},
        {"7 1 2 3 4 5 6 7", "key 7: more than 6 numbers, which is all that accessor plain has with "
                            "these settings"},
    };
    struct table *t = make(&table_hash, plain()), *c = make(&table_hash, clicks());
    struct table_cursor at = {0};
    struct skiff_error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(table_import(t, wrong[i].line, strlen(wrong[i].line), &err), SKIFF_FORMAT);
        assert_string_equal(err.message, wrong[i].message);
    }
    assert_int_equal(table_import(c, "7 1 2 3 4 5 6 7", 15, &err), SKIFF_FORMAT);
    assert_string_equal(err.message,
                        "key 7: 7 numbers; accessor ctr_common has 6, or 8 with embedx: the file "
                        "was written with another dimension or rule");
    assert_int_equal(table_count(t), 0);
    assert_int_equal(table_import(t, "18446744073709551614 1 2 3\r\n", 28, &err), SKIFF_OK);
    assert_true(get(t, -2) == 0.5f);
    assert_int_equal(table_export(t, SAVE_ALL, &at, 100, refuse, NULL, &err), SKIFF_IO);
    assert_string_equal(err.message, "the disk is full");
    table_destroy(t);
    table_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_values_hang_on_the_id),
        cmocka_unit_test(looking_makes_nothing),
        cmocka_unit_test(parts_are_gathered_and_scattered),
        cmocka_unit_test(ids_out_of_range),
        cmocka_unit_test(options_that_do_not_fit),
        cmocka_unit_test(removed_rows_are_gone_and_their_places_used_again),
        cmocka_unit_test(growing_keeps_all),
        cmocka_unit_test(without_memory_nothing_is_lost),
        cmocka_unit_test(rows_expire_by_score),
        cmocka_unit_test(counted_ids_come_in_late),
        cmocka_unit_test(chance_lets_in_as_many_as_it_says),
        cmocka_unit_test(entries_are_read_as_paddle_writes_them),
        cmocka_unit_test(snapshots_are_of_one_instant),
        cmocka_unit_test(deltas_bring_a_copy_up_to_date),
        cmocka_unit_test(snapshots_are_read_by_id),
        cmocka_unit_test(snapshots_at_the_wrong_time),
        cmocka_unit_test(without_deltas_nobody_notes_who_went),
        cmocka_unit_test(a_snapshot_without_memory_says_so),
        cmocka_unit_test(lines_come_back_to_the_bit),
        cmocka_unit_test(lines_that_are_none),
    };
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(folder) < 0 ? 1 : failed; /* tables leave no files behind */
}
