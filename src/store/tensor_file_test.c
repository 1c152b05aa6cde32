#include "store/tensor_file.h"

#include "base/mem.h"
#include "store/test_help.h"

static struct tensor make_f32(const struct shape *shape, float first)
{
    struct tensor t = {0};
    assert_int_equal(tensor_resize(&t, DTYPE_FP32, shape, NULL), SKIFF_OK);
    for (int64_t i = 0; i < tensor_numel(&t); i++)
        tensor_f32(&t)[i] = first + (float)i;
    return t;
}

/* Without file_write's flush to the disk: thousands of them. */
static void put_bytes(const char *path, const void *bytes, size_t n)
{
    unlink(path); /* ext4 flushes a file that was truncated and written again */
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static enum skiff_status read_rows(const char *name, const void *bytes, size_t n,
                                   struct skiff_tensor *out, struct skiff_error *err)
{
    put_bytes(temp_path(name), bytes, n);
    return rows_file_read(temp_path(name), out, err);
}

/* Bytes of a bool may be anything in a file; here they are 0 or 1. */
static void bools_of_files(void **state)
{
    struct tensor t = {0}, back = {0};
    struct buf b = BUF_INIT;
    size_t pos = 0;
    assert_int_equal(tensor_resize(&t, DTYPE_BOOL, SHAPE_PTR(3), NULL), SKIFF_OK);
    memcpy(t.data, (uint8_t[]){0, 7, 1}, 3);
    tensor_encode(&t, &b);
    assert_int_equal(tensor_decode((uint8_t *)b.data, b.len, &pos, "bools", &back, NULL), SKIFF_OK);
    assert_memory_equal(back.data, ((uint8_t[]){0, 1, 1}), 3);
    buf_deinit(&b);
    tensor_deinit(&t);
    tensor_deinit(&back);
}

static void reads_what_paddle_wrote(void **state)
{
    struct skiff_tensor v = {0};
    assert_int_equal(value_file_read(SAVED "save_op/lod_tensor", &v, NULL), SKIFF_OK);
    assert_int_equal(v.kind, VALUE_TENSOR);
    assert_int_equal(v.tensor.dtype, DTYPE_FP32);
    assert_true(shape_equal(&v.tensor.shape, SHAPE_PTR(5, 2)));
    for (int i = 0; i < 10; i++)
        assert_true(tensor_f32(&v.tensor)[i] == (float)i);
    assert_int_equal(v.tensor.lod->nlevels, 2);
    const int64_t a[] = {0, 1, 3}, b[] = {0, 2, 2, 5};
    assert_int_equal(v.tensor.lod->level[0].n, 3);
    assert_memory_equal(v.tensor.lod->level[0].off, a, sizeof a);
    assert_int_equal(v.tensor.lod->level[1].n, 4);
    assert_memory_equal(v.tensor.lod->level[1].off, b, sizeof b);

    assert_int_equal(value_file_read(SAVED "save_op/selected_rows", &v, NULL), SKIFF_OK);
    assert_int_equal(v.kind, VALUE_ROWS);
    assert_int_equal(v.sel.nrows, 3);
    const int64_t ids[] = {4, 1, 4};
    assert_memory_equal(v.sel.rows, ids, sizeof ids);
    assert_int_equal(v.sel.height, 6);
    assert_true(shape_equal(&v.tensor.shape, SHAPE_PTR(3, 2)));
    assert_true(tensor_f32(&v.tensor)[5] == 5);
    value_deinit(&v);

    struct tensor t = {0};
    assert_int_equal(tensor_file_read(SAVED "save_op/int64", &t, NULL), SKIFF_OK);
    assert_int_equal(t.dtype, DTYPE_INT64);
    assert_int_equal(tensor_i64(&t)[1], -2);
    assert_int_equal(tensor_file_read(SAVED "save_op/double", &t, NULL), SKIFF_OK);
    assert_int_equal(t.dtype, DTYPE_FP64);
    assert_true(tensor_f64(&t)[1] == 0.2);
    assert_null(t.lod);
    tensor_deinit(&t);
}

static void writes_the_same_bytes(void **state)
{
    const char *names[] = {"lod_tensor", "selected_rows", "int64", "double"};
    for (int i = 0; i < 4; i++) {
        char from[128];
        snprintf(from, sizeof from, SAVED "save_op/%s", names[i]);
        struct skiff_tensor v = {0};
        assert_int_equal(value_file_read(from, &v, NULL), SKIFF_OK);
        assert_int_equal(value_file_write(temp_path("again"), &v, NULL), SKIFF_OK);
        assert_files_equal(from, temp_path("again"));
        struct buf b = BUF_INIT, file = BUF_INIT;
        assert_int_equal(file_read(from, &file, NULL), SKIFF_OK);
        if (v.kind == VALUE_TENSOR) {
            tensor_encode(&v.tensor, &b);
            assert_int_equal(b.len, file.len);
            assert_memory_equal(b.data, file.data, b.len);
        }
        buf_deinit(&b);
        buf_deinit(&file);
        value_deinit(&v);
    }
}

static void shapes_round_trip(void **state)
{
    const struct shape shapes[] = {
        SHAPE(7),    {.ndim = 0},         SHAPE(0, 4),
        SHAPE(4, 0), SHAPE(2, 300, 1, 3), SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 2)};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct tensor t = make_f32(&shapes[i], 0.5f), back = {0};
        struct buf b = BUF_INIT;
        tensor_encode(&t, &b);
        size_t pos = 0;
        assert_int_equal(tensor_decode((uint8_t *)b.data, b.len, &pos, "mem", &back, NULL),
                         SKIFF_OK);
        assert_int_equal(pos, b.len);
        assert_true(shape_equal(&t.shape, &back.shape));
        assert_memory_equal(t.data ? t.data : "", back.data ? back.data : "", tensor_bytes(&t));
        tensor_deinit(&t);
        tensor_deinit(&back);
        buf_deinit(&b);
    }
}

static void packed_dims_and_unknown_fields(void **state)
{
    /* data_type int32; field 9 (varint), field 10 (4 bytes), field 11
     * (string) unknown; packed dims */
    const uint8_t desc[] = {0x08, 2,    0x48, 0x85, 1,   0x55, 1, 2, 3,
                            4,    0x5a, 2,    'a',  'b', 0x12, 2, 1, 3};
    struct buf b = BUF_INIT;
    buf_u32(&b, 0);
    buf_u64(&b, 0);
    buf_u32(&b, 0);
    buf_u32(&b, sizeof desc);
    buf_add(&b, desc, sizeof desc);
    const int32_t data[] = {7, -8, 9};
    buf_add(&b, data, sizeof data);
    struct tensor t = {0};
    size_t pos = 0;
    assert_int_equal(tensor_decode((uint8_t *)b.data, b.len, &pos, "mem", &t, NULL), SKIFF_OK);
    assert_true(shape_equal(&t.shape, SHAPE_PTR(1, 3)));
    assert_int_equal(tensor_i32(&t)[1], -8);
    tensor_deinit(&t);
    buf_deinit(&b);
}

/* A stream with the given TensorDesc and n bytes of data. */
static enum skiff_status decode_desc(const uint8_t *desc, size_t len, size_t data,
                                     struct skiff_error *err)
{
    struct buf b = BUF_INIT;
    buf_u32(&b, 0);
    buf_u64(&b, 0);
    buf_u32(&b, 0);
    buf_u32(&b, (uint32_t)len);
    buf_add(&b, desc, len);
    for (size_t i = 0; i < data; i++)
        buf_char(&b, 1);
    struct tensor t = {0};
    size_t pos = 0;
    enum skiff_status s = tensor_decode((uint8_t *)b.data, b.len, &pos, "the_file", &t, err);
    assert_int_equal(s < 0, pos == 0);
    assert_true(s == 0 || !t.data);
    tensor_deinit(&t);
    buf_deinit(&b);
    return s;
}

static void bad_descriptions(void **state)
{
    struct skiff_error err;
    const uint8_t minus_one[] = {8,    5,    0x10, 0xff, 0xff, 0xff, 0xff,
                                 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    assert_int_equal(decode_desc(minus_one, sizeof minus_one, 4, &err), SKIFF_FORMAT);
    assert_message_has(&err, "the_file");
    assert_message_has(&err, "-1");
    const uint8_t large[] = {8,    5,    0x10, 0xff, 0xff, 0xff, 0xff,
                             0x7f, 0x10, 0xff, 0xff, 0xff, 0xff, 0x7f};
    assert_int_equal(decode_desc(large, sizeof large, 4, &err), SKIFF_FORMAT);
    assert_message_has(&err, "too large");
    const uint8_t many[] = {8, 5,    0x10, 1,    0x10, 1,    0x10, 1,    0x10, 1,    0x10,
                            1, 0x10, 1,    0x10, 1,    0x10, 1,    0x10, 1,    0x10, 1};
    assert_int_equal(decode_desc(many, sizeof many, 4, &err), SKIFF_FORMAT);
    assert_message_has(&err, "10 dims");
    const uint8_t type[] = {8, 77, 0x10, 1};
    assert_int_equal(decode_desc(type, sizeof type, 4, &err), SKIFF_FORMAT);
    assert_message_has(&err, "77");
    const uint8_t container[] = {8, 7, 0x10, 1}; /* LOD_TENSOR is no element type */
    assert_int_equal(decode_desc(container, sizeof container, 4, &err), SKIFF_FORMAT);
    const uint8_t none[] = {0x10, 1};
    assert_int_equal(decode_desc(none, sizeof none, 4, &err), SKIFF_FORMAT);
    assert_message_has(&err, "no data type");
    const uint8_t cut[] = {8, 5, 0x10, 0x80};
    assert_int_equal(decode_desc(cut, sizeof cut, 4, &err), SKIFF_FORMAT);
    assert_message_has(&err, "malformed");
    const uint8_t two_three[] = {8, 5, 0x10, 2, 0x10, 3};
    assert_int_equal(decode_desc(two_three, sizeof two_three, 23, &err), SKIFF_FORMAT);
    assert_message_has(&err, "[2, 3] needs 24 bytes of data, 23 found");
    assert_int_equal(decode_desc(two_three, sizeof two_three, 24, &err), SKIFF_OK);
}

static void every_truncation_fails(void **state)
{
    const char *names[] = {"lod_tensor", "selected_rows"};
    for (int i = 0; i < 2; i++) {
        char from[128];
        snprintf(from, sizeof from, SAVED "save_op/%s", names[i]);
        struct buf b = BUF_INIT;
        assert_int_equal(file_read(from, &b, NULL), SKIFF_OK);
        for (size_t n = 0; n < b.len; n++) {
            struct skiff_tensor v = {0};
            struct skiff_error err = {0};
            size_t pos = 0;
            uint8_t *exact = mem_alloc_or_die(n + 1); /* so that a read beyond the end is seen */
            memcpy(exact, b.data, n);
            if (i)
                assert_int_equal(read_rows("cut", exact, n, &v, &err), SKIFF_FORMAT);
            else
                assert_int_equal(tensor_decode(exact, n, &pos, "cut", &v.tensor, &err),
                                 SKIFF_FORMAT);
            assert_message_has(&err, "cut");
            assert_int_equal(pos, 0);
            free(exact);
            value_deinit(&v);
        }
        buf_deinit(&b);
    }
}

static void every_flipped_bit_is_survived(void **state)
{
    const char *names[] = {"lod_tensor", "selected_rows", "double"};
    for (int i = 0; i < 3; i++) {
        char from[128];
        snprintf(from, sizeof from, SAVED "save_op/%s", names[i]);
        struct buf b = BUF_INIT;
        assert_int_equal(file_read(from, &b, NULL), SKIFF_OK);
        for (size_t bit = 0; bit < b.len * 8; bit++) {
            b.data[bit / 8] ^= (char)(1 << bit % 8);
            struct skiff_tensor v = {0};
            size_t pos = 0;
            tensor_decode((uint8_t *)b.data, b.len, &pos, "flip", &v.tensor, NULL);
            value_deinit(&v);
            read_rows("flip", b.data, b.len, &v, NULL);
            value_deinit(&v);
            b.data[bit / 8] ^= (char)(1 << bit % 8);
        }
        buf_deinit(&b);
    }
}

/* A [3, 1] float tensor with one lod level. */
static enum skiff_status decode_lod(int n, const uint64_t *off, uint64_t size, bool whole_file,
                                    struct skiff_tensor *out, struct skiff_error *err)
{
    struct buf b = BUF_INIT;
    buf_u32(&b, 0);
    buf_u64(&b, 1);
    buf_u64(&b, size);
    buf_add(&b, off, (size_t)n * 8);
    buf_u32(&b, 0);
    buf_u32(&b, 6);
    buf_add(&b, "\x08\x05\x10\x03\x10\x01", 6);
    buf_add(&b, (float[]){1, 2, 3}, 12);
    enum skiff_status s;
    size_t pos = 0;
    if (whole_file) {
        assert_int_equal(file_write(temp_path("lod"), b.data, b.len, NULL), SKIFF_OK);
        s = value_file_read_recorded(temp_path("lod"), out, err);
    } else {
        s = tensor_decode((uint8_t *)b.data, b.len, &pos, "lodfile", &out->tensor, err);
    }
    buf_deinit(&b);
    return s;
}

static void bad_lods(void **state)
{
    struct skiff_tensor v = {0};
    struct skiff_error err;
    assert_int_equal(decode_lod(3, (uint64_t[]){0, 1, 3}, 24, false, &v, &err), SKIFF_OK);
    assert_int_equal(v.tensor.lod->level[0].off[1], 1);
    value_deinit(&v);
    assert_int_equal(decode_lod(3, (uint64_t[]){0, 1, 4}, 24, false, &v, &err), SKIFF_FORMAT);
    assert_message_has(&err, "lod ends at row 4, but the tensor has 3 rows");
    assert_int_equal(decode_lod(3, (uint64_t[]){0, 5, 3}, 24, false, &v, &err), SKIFF_FORMAT);
    assert_message_has(&err, "less than the one before");
    assert_int_equal(decode_lod(2, (uint64_t[]){1, 3}, 16, false, &v, &err), SKIFF_FORMAT);
    assert_int_equal(decode_lod(1, (uint64_t[]){0}, 8, false, &v, &err), SKIFF_FORMAT);
    assert_int_equal(decode_lod(0, NULL, 0, false, &v, &err), SKIFF_FORMAT);
    assert_int_equal(decode_lod(2, (uint64_t[]){0, 3}, 15, false, &v, &err), SKIFF_FORMAT);
    assert_int_equal(decode_lod(2, (uint64_t[]){0, 3}, 1ull << 60, false, &v, &err), SKIFF_FORMAT);
    assert_int_equal(decode_lod(2, (uint64_t[]){0, ~0ull}, 16, false, &v, &err), SKIFF_FORMAT);
    assert_null(v.tensor.data);
    /* looked at only: need not fit the rows, but must make sense in itself */
    assert_int_equal(decode_lod(2, (uint64_t[]){0, 16}, 16, true, &v, &err), SKIFF_OK);
    assert_int_equal(v.tensor.lod->level[0].off[1], 16);
    assert_int_equal(value_file_read(temp_path("lod"), &v, &err), SKIFF_FORMAT);
    value_deinit(&v);
    assert_int_equal(decode_lod(3, (uint64_t[]){0, 5, 3}, 24, true, &v, &err), SKIFF_FORMAT);
}

static void bad_rows(void **state)
{
    struct buf b = BUF_INIT;
    assert_int_equal(file_read(SAVED "save_op/selected_rows", &b, NULL), SKIFF_OK);
    struct skiff_tensor v = {0};
    struct skiff_error err;
    uint8_t *bytes = (uint8_t *)b.data;
    bytes[4] = 4; /* one row id more than there is: the height is taken for it */
    assert_int_equal(read_rows("rows", bytes, b.len, &v, &err), SKIFF_FORMAT);
    memset(bytes + 4, 0xff, 8); /* 2^64 - 1 rows */
    assert_int_equal(read_rows("rows", bytes, b.len, &v, &err), SKIFF_FORMAT);
    assert_message_has(&err, "row ids need more");
    memset(bytes + 4, 0, 8);
    bytes[4] = 3;
    bytes[55] = 2; /* value [2, 2] for three ids */
    assert_int_equal(read_rows("rows", bytes, b.len, &v, &err), SKIFF_FORMAT);
    assert_message_has(&err, "[2, 2]");
    bytes[55] = 3;
    memset(bytes + 36, 0xff, 8);
    assert_int_equal(read_rows("rows", bytes, b.len, &v, &err), SKIFF_FORMAT);
    assert_message_has(&err, "height is -1");
    buf_deinit(&b);
}

static void more_space_than_rows(void **state)
{
    struct skiff_tensor v = {0}, back = {0};
    assert_int_equal(value_as_rows(&v, DTYPE_FP32, 3, 2, 10, NULL), SKIFF_OK);
    for (int i = 0; i < 6; i++)
        tensor_f32(&v.tensor)[i] = (float)i;
    for (int i = 0; i < 3; i++)
        v.sel.rows[i] = i * 2;
    v.sel.nrows = 2; /* a table that has room for one row more */
    assert_int_equal(value_file_write(temp_path("rows"), &v, NULL), SKIFF_OK);
    assert_int_equal(rows_file_read(temp_path("rows"), &back, NULL), SKIFF_OK);
    assert_int_equal(back.sel.nrows, 2);
    assert_true(shape_equal(&back.tensor.shape, SHAPE_PTR(2, 2)));
    assert_true(tensor_f32(&back.tensor)[3] == 3);
    value_deinit(&v);
    value_deinit(&back);
}

static void combined_files(void **state)
{
    struct tensor a = make_f32(SHAPE_PTR(2, 3), 1), b = make_f32(SHAPE_PTR(4), 10), x = {0},
                  y = {0}, z = {0};
    const struct tensor *in[] = {&a, &b};
    struct tensor *out[] = {&x, &y, &z};
    const char *path = temp_path("dir/combined");
    struct skiff_error err;
    assert_int_equal(combined_file_write(path, 2, in, NULL), SKIFF_OK);
    assert_int_equal(combined_file_read(path, 2, out, NULL), SKIFF_OK);
    assert_true(tensor_f32(&x)[5] == 6 && tensor_f32(&y)[3] == 13);
    assert_int_equal(combined_file_read(path, 3, out, &err), SKIFF_FORMAT);
    assert_message_has(&err, "3 tensors expected, 2 found");
    assert_int_equal(combined_file_read(path, 1, out, &err), SKIFF_FORMAT);
    assert_message_has(&err, "extra bytes");
    assert_null(z.data);
    assert_int_equal(combined_file_write(path, 0, NULL, NULL), SKIFF_OK);
    assert_int_equal(combined_file_read(path, 0, NULL, NULL), SKIFF_OK);
    tensor_deinit(&a);
    tensor_deinit(&b);
    tensor_deinit(&x);
    tensor_deinit(&y);
}

static void extra_bytes(void **state)
{
    struct buf b = BUF_INIT;
    assert_int_equal(file_read(SAVED "save_op/double", &b, NULL), SKIFF_OK);
    buf_char(&b, 'x');
    assert_int_equal(file_write(temp_path("extra"), b.data, b.len, NULL), SKIFF_OK);
    struct tensor t = {0};
    struct skiff_tensor v = {0};
    struct skiff_error err;
    assert_int_equal(tensor_file_read(temp_path("extra"), &t, &err), SKIFF_FORMAT);
    assert_message_has(&err, "1 extra bytes");
    assert_message_has(&err, "/extra");
    assert_int_equal(value_file_read(temp_path("extra"), &v, &err), SKIFF_FORMAT);
    assert_message_has(&err, "neither a LoDTensor");
    assert_int_equal(tensor_file_read(temp_path("absent"), &t, &err), SKIFF_NOT_FOUND);
    assert_int_equal(tensor_file_read(temp_root(), &t, &err), SKIFF_IO);
    assert_null(t.data);
    buf_deinit(&b);
}

/* What recv_save leaves of Adam's beta powers: the one element once per slice. */
static void repeated_element(void **state)
{
    struct tensor a = make_f32(SHAPE_PTR(1), 0.5f), t = {0};
    struct skiff_tensor v = {0};
    struct buf b = BUF_INIT;
    struct skiff_error err;
    tensor_encode(&a, &b);
    buf_add(&b, a.data, 4);
    buf_add(&b, a.data, 4);
    assert_int_equal(file_write(temp_path("pow"), b.data, b.len, NULL), SKIFF_OK);
    assert_int_equal(tensor_file_read(temp_path("pow"), &t, NULL), SKIFF_OK);
    assert_true(tensor_f32(&t)[0] == 0.5f);
    assert_int_equal(value_file_read(temp_path("pow"), &v, NULL), SKIFF_OK);
    assert_true(shape_equal(&v.tensor.shape, SHAPE_PTR(1)));
    b.data[b.len - 1] ^= 1; /* another element: not that */
    assert_int_equal(file_write(temp_path("pow"), b.data, b.len, NULL), SKIFF_OK);
    assert_int_equal(tensor_file_read(temp_path("pow"), &t, &err), SKIFF_FORMAT);
    assert_message_has(&err, "8 extra bytes");
    assert_int_equal(value_file_read(temp_path("pow"), &v, &err), SKIFF_FORMAT);
    tensor_deinit(&a);
    tensor_deinit(&t);
    value_deinit(&v);
    buf_deinit(&b);
}

static void slices(void **state)
{
    struct tensor a = make_f32(SHAPE_PTR(4, 3), 0), t = {0};
    struct skiff_tensor v = {.kind = VALUE_TENSOR, .tensor = a};
    const char *path = temp_path("whole");
    struct skiff_error err;
    assert_int_equal(value_file_write(path, &v, NULL), SKIFF_OK);
    assert_int_equal(tensor_file_read_slice(path, 3, SHAPE_PTR(2, 3), &t, NULL), SKIFF_OK);
    assert_true(shape_equal(&t.shape, SHAPE_PTR(2, 3)));
    assert_true(tensor_f32(&t)[0] == 3 && tensor_f32(&t)[5] == 8);
    assert_int_equal(tensor_file_read_slice(path, 6, SHAPE_PTR(2, 3), &t, NULL), SKIFF_OK);
    assert_int_equal(tensor_file_read_slice(path, 7, SHAPE_PTR(2, 3), &t, &err), SKIFF_RANGE);
    assert_message_has(&err, "[4, 3]");
    assert_int_equal(tensor_file_read_slice(path, INT64_MAX, SHAPE_PTR(2, 3), &t, &err),
                     SKIFF_RANGE);
    assert_int_equal(tensor_file_read_slice(SAVED "save_op/lod_tensor", 0, SHAPE_PTR(1), &t, &err),
                     SKIFF_FORMAT);
    tensor_deinit(&a);
    tensor_deinit(&t);
}

static void nothing_half_written(void **state)
{
    struct skiff_error err;
    struct skiff_tensor empty = {0};
    assert_int_equal(value_file_write(temp_path("w/f"), &empty, &err), SKIFF_STATE);
    assert_int_equal(count_files(temp_path("w")), 0);
    struct tensor a = make_f32(SHAPE_PTR(2), 0);
    struct skiff_tensor v = {.kind = VALUE_TENSOR, .tensor = a};
    assert_int_equal(file_write(temp_path("regular"), "x", 1, NULL), SKIFF_OK);
    assert_true(value_file_write(temp_path("regular/f"), &v, &err) < 0);
    assert_message_has(&err, "regular");
    tensor_deinit(&a);
}

/* Heads without data: types, shapes and places; every truncation is seen, no
 * flipped bit does harm. */
static void combined_is_scanned(void **state)
{
    struct tensor t[3] = {make_f32(SHAPE_PTR(2, 3), 1), make_f32(SHAPE_PTR(4), 50), {0}};
    struct skiff_tensor with_lod = {0};
    struct buf b = BUF_INIT;
    struct tensor_location *locations = NULL;
    size_t ends[3];
    int n = 0;
    assert_int_equal(value_file_read(SAVED "save_op/lod_tensor", &with_lod, NULL), SKIFF_OK);
    t[2] = with_lod.tensor;
    for (int i = 0; i < 3; i++) {
        tensor_encode(&t[i], &b);
        ends[i] = b.len;
    }
    const char *path = temp_path("scanned");
    put_bytes(path, b.data, b.len);
    assert_int_equal(combined_file_scan(path, &locations, &n, NULL), SKIFF_OK);
    assert_int_equal(n, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(locations[i].dtype, DTYPE_FP32);
        assert_true(shape_equal(&locations[i].shape, &t[i].shape));
        assert_int_equal(locations[i].has_lod, i == 2);
        assert_int_equal(locations[i].at + locations[i].bytes, ends[i]);
        assert_memory_equal(b.data + locations[i].at, t[i].data, locations[i].bytes);
    }
    free(locations);
    for (size_t cut = 0; cut < b.len; cut++) {
        struct skiff_error err = {0};
        bool whole = cut == ends[0] || cut == ends[1];
        put_bytes(path, b.data, cut);
        assert_int_equal(combined_file_scan(path, &locations, &n, &err),
                         whole ? SKIFF_OK : SKIFF_FORMAT);
        if (whole)
            free(locations);
        else
            assert_message_has(&err, cut < ends[0]   ? "tensor 1: "
                                     : cut < ends[1] ? "tensor 2: "
                                                     : "tensor 3: ");
    }
    for (size_t bit = 0; bit < 8 * b.len; bit++) {
        b.data[bit / 8] ^= (char)(1 << bit % 8);
        put_bytes(path, b.data, b.len);
        if (combined_file_scan(path, &locations, &n, NULL) == SKIFF_OK) {
            assert_true(locations[n - 1].at + locations[n - 1].bytes == b.len);
            free(locations);
        }
        b.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    tensor_deinit(&t[0]);
    tensor_deinit(&t[1]);
    value_deinit(&with_lod);
    buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_paddle_wrote),
        cmocka_unit_test(bools_of_files),
        cmocka_unit_test(writes_the_same_bytes),
        cmocka_unit_test(shapes_round_trip),
        cmocka_unit_test(packed_dims_and_unknown_fields),
        cmocka_unit_test(bad_descriptions),
        cmocka_unit_test(every_truncation_fails),
        cmocka_unit_test(every_flipped_bit_is_survived),
        cmocka_unit_test(bad_lods),
        cmocka_unit_test(bad_rows),
        cmocka_unit_test(more_space_than_rows),
        cmocka_unit_test(combined_files),
        cmocka_unit_test(extra_bytes),
        cmocka_unit_test(repeated_element),
        cmocka_unit_test(slices),
        cmocka_unit_test(nothing_half_written),
        cmocka_unit_test(combined_is_scanned),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
