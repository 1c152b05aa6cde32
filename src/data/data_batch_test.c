#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/record.h"
#include "data/test_help.h"

static void test_schema(void **state)
{
    struct schema s, copy;
    struct skiff_error err;
    schema_init(&s);
    struct shape wide = SHAPE(-1, 2, 3), fixed = SHAPE(8, 4), flat = SHAPE(-1),
                 unknown = SHAPE(-1, -1);
    assert_int_equal(schema_add(&s, "m", DTYPE_FP32, 0, &wide, &err), SKIFF_OK);
    assert_int_equal(schema_add(&s, "ids", DTYPE_INT64, 1, &wide, &err), SKIFF_OK);
    assert_int_equal(schema_add(&s, "f", DTYPE_INT64, 0, &fixed, &err), SKIFF_OK);
    assert_int_equal(schema_add(&s, "y", DTYPE_FP32, 0, &flat, &err), SKIFF_OK);
    assert_int_equal(s.slots[0].width, 6);
    assert_int_equal(s.slots[0].shape.ndim, 3);
    assert_true(s.slots[1].ragged);
    assert_int_equal(s.slots[1].shape.dims[1], 1);
    assert_int_equal(s.slots[2].shape.dims[0], -1);
    assert_int_equal(s.slots[3].width, 1);
    assert_int_equal(schema_find(&s, "f"), 2);
    assert_int_equal(schema_find(&s, "nothing"), -1);
    assert_int_equal(schema_label(&s), 3);

    assert_int_equal(schema_add(&s, "m", DTYPE_FP32, 0, &wide, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "m is given twice"));
    assert_int_equal(schema_add(&s, "", DTYPE_FP32, 0, &wide, &err), SKIFF_INVALID);
    assert_int_equal(schema_add(&s, "d", DTYPE_FP64, 0, &wide, &err), SKIFF_DTYPE);
    assert_non_null(
        strstr(err.message, "only float32 and int64 can be read from data, found float64"));
    assert_int_equal(schema_add(&s, "u", DTYPE_FP32, 0, &unknown, &err), SKIFF_SHAPE);
    struct shape huge = SHAPE(-1, 1 << 20, 1 << 20);
    assert_int_equal(schema_add(&s, "h", DTYPE_FP32, 0, &huge, &err), SKIFF_RANGE);
    assert_int_equal(s.count, 4);

    assert_int_equal(schema_copy(&copy, &s, &err), SKIFF_OK);
    assert_int_equal(copy.count, s.count);
    for (int i = 0; i < s.count; i++) {
        assert_ptr_not_equal(copy.slots[i].name, s.slots[i].name);
        assert_string_equal(copy.slots[i].name, s.slots[i].name);
        assert_int_equal(copy.slots[i].dtype, s.slots[i].dtype);
        assert_int_equal(copy.slots[i].ragged, s.slots[i].ragged);
        assert_int_equal(copy.slots[i].width, s.slots[i].width);
    }
    schema_deinit(&copy);
    schema_deinit(&s);
}

static void fill_row(struct batch *b, int n)
{
    for (int i = 0; i < n; i++)
        assert_true(column_add_i64(&b->columns[0], b->rows * 100 + i));
    for (int i = 0; i < 3; i++)
        batch_dense_f32(b, 1)[i] = (float)(b->rows + i);
    assert_true(column_add_f32(&b->columns[2], 0.5f));
    *batch_dense_i64(b, 3) = b->rows & 1;
    assert_int_equal(batch_row_end(b, NULL), SKIFF_OK);
}

static void test_batch(void **state)
{
    struct schema s;
    struct batch b;
    schema_create(&s, "ids:i dense:f3 w:f label:i1");
    assert_int_equal(batch_init(&b, &s, 4, NULL), SKIFF_OK);
    fill_row(&b, 2);
    fill_row(&b, 0); /* gets one 0 */
    fill_row(&b, 5);
    /* a row that is given up leaves nothing */
    column_add_i64(&b.columns[0], 7);
    batch_row_abort(&b);
    batch_finish(&b);
    struct buf text = BUF_INIT;
    batch_text(&b, &text);
    assert_string_equal(text.data,
                        "0,1 0,1,2 0.5 0\n0 1,2,3 0.5 1\n200,201,202,203,204 2,3,4 0.5 0\n");
    buf_deinit(&text);
    const struct tensor *ids = batch_tensor(&b, 0), *dense = batch_tensor(&b, 1);
    assert_int_equal(ids->shape.dims[0], 8);
    assert_int_equal(ids->shape.dims[1], 1);
    assert_int_equal(ids->lod->level[0].n, 4);
    assert_int_equal(lod_check(ids->lod, 8, "ids", NULL), SKIFF_OK);
    assert_int_equal(dense->shape.dims[0], 3);
    assert_null(dense->lod);
    assert_int_equal(batch_init(&(struct batch){0}, &s, 0, NULL), SKIFF_RANGE);
    batch_deinit(&b);
    schema_deinit(&s);
}

/* A batch that has seen its largest contents allocates nothing, not even when the lod of the batch
 * before the last is still held. */
static void test_no_allocation(void **state)
{
    struct schema s;
    struct batch b[2];
    schema_create(&s, "ids:i dense:f3 w:f label:i1");
    struct lod *held = NULL;
    uint64_t before = 0;
    for (int k = 0; k < 2; k++)
        assert_int_equal(batch_init(&b[k], &s, 8, NULL), SKIFF_OK);
    for (int round = 0; round < 20; round++) {
        struct batch *now = &b[round % 2];
        if (round == 4)
            before = mem_alloc_count();
        assert_int_equal(batch_reset(now, NULL), SKIFF_OK);
        for (int row = 0; row < 8; row++)
            fill_row(now, 6);
        batch_finish(now);
        lod_unref(held);
        held = lod_ref(batch_tensor(now, 0)->lod);
    }
    assert_int_equal(mem_alloc_count(), before);
    /* a lod that is held for longer keeps its contents */
    int64_t last = held->level[0].off[held->level[0].n - 1];
    assert_int_equal(batch_reset(&b[1], NULL), SKIFF_OK);
    fill_row(&b[1], 1);
    assert_int_equal(held->level[0].off[held->level[0].n - 1], last);
    lod_unref(held);
    for (int k = 0; k < 2; k++)
        batch_deinit(&b[k]);
    schema_deinit(&s);
}

static void test_records(void **state)
{
    struct schema s;
    struct batch b, back;
    char bytes[512];
    schema_create(&s, "ids:i dense:f3 w:f label:i1");
    batch_init(&b, &s, 4, NULL);
    batch_init(&back, &s, 4, NULL);
    fill_row(&b, 3);
    fill_row(&b, 0);
    size_t n = record_bytes(&b, 0);
    assert_int_equal(n, 4 + 3 * 8 + 3 * 4 + 4 + 4 + 8);
    for (int64_t row = 0; row < 2; row++) {
        size_t got = record_write(&b, row, false, bytes);
        assert_int_equal(got, record_bytes(&b, row));
        assert_int_equal(record_read(bytes, got, &back, NULL), SKIFF_OK);
    }
    struct buf x = BUF_INIT, y = BUF_INIT;
    batch_text(&b, &x);
    batch_text(&back, &y);
    assert_string_equal(x.data, y.data);
    /* every cut and every byte too many is noticed, and leaves no row */
    n = record_write(&b, 0, false, bytes);
    for (size_t cut = 0; cut < n; cut++)
        assert_int_equal(record_read(bytes, cut, &back, NULL), SKIFF_FORMAT);
    assert_int_equal(record_read(bytes, n + 1, &back, NULL), SKIFF_FORMAT);
    memset(bytes, 0xff, 4); /* a count of 2^32-1 */
    assert_int_equal(record_read(bytes, n, &back, NULL), SKIFF_FORMAT);
    assert_int_equal(back.rows, 2);
    buf_reset(&y);
    batch_text(&back, &y);
    assert_string_equal(x.data, y.data);
    buf_deinit(&x);
    buf_deinit(&y);
    batch_deinit(&b);
    batch_deinit(&back);
    schema_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
