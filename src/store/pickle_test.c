#include "store/pickle.h"

#include "base/mem.h"
#include "store/tensor_file.h"
#include "store/test_help.h"

#define PICKLES "tests/data/pickle/"

static const struct tensor *tensor_of(const struct state *s, const char *name)
{
    const struct state_entry *e = state_find(s, name);
    assert_non_null(e);
    assert_null(e->text);
    return &e->tensor;
}

static void check_arrays(const struct state *s)
{
    assert_int_equal(s->count, 14);
    const struct tensor *t = tensor_of(s, "f4");
    const float f4[] = {1.5f, -2.25f, 3e20f, 0.1f, -0.0f, 1e-30f};
    assert_int_equal(t->dtype, DTYPE_FP32);
    assert_true(shape_equal(&t->shape, SHAPE_PTR(2, 3)));
    assert_memory_equal(t->data, f4, sizeof f4);
    const double f8[] = {0.1, 255.5};
    assert_memory_equal(tensor_of(s, "f8")->data, f8, sizeof f8);
    const uint16_t f2[] = {0x3e00, 0xc000};
    assert_int_equal(tensor_of(s, "f2")->dtype, DTYPE_FP16);
    assert_memory_equal(tensor_of(s, "f2")->data, f2, sizeof f2);
    assert_memory_equal(tensor_of(s, "i1")->data, ((int8_t[]){-128, 127}), 2);
    assert_int_equal(tensor_of(s, "i1")->dtype, DTYPE_INT8);
    assert_memory_equal(tensor_of(s, "i2")->data, ((int16_t[]){-300, 300}), 4);
    assert_memory_equal(tensor_of(s, "i4")->data, ((int32_t[]){-70000, 70000}), 8);
    assert_memory_equal(tensor_of(s, "i8")->data, ((int64_t[]){-(1ll << 40), 1ll << 40}), 16);
    assert_memory_equal(tensor_of(s, "u1")->data, ((uint8_t[]){0, 128, 255}), 3);
    assert_int_equal(tensor_of(s, "b1")->dtype, DTYPE_BOOL);
    assert_memory_equal(tensor_of(s, "b1")->data, ((uint8_t[]){1, 0, 1}), 3);
    t = tensor_of(s, "fortran");
    assert_true(shape_equal(&t->shape, SHAPE_PTR(2, 3, 4)));
    for (int i = 0; i < 24; i++)
        assert_true(tensor_f32(t)[i] == (float)i);
    t = tensor_of(s, "zero_d");
    assert_int_equal(t->shape.ndim, 0);
    assert_true(*tensor_f32(t) == 2.5f);
    t = tensor_of(s, "scalar");
    assert_int_equal(t->shape.ndim, 0);
    assert_true(*tensor_f32(t) == 7.25f);
    assert_true(shape_equal(&tensor_of(s, "empty")->shape, SHAPE_PTR(0, 3)));
    assert_memory_equal(tensor_of(s, "big_endian")->data, ((int32_t[]){1, -2, 300}), 12);
}

static void reads_what_numpy_wrote(void **state)
{
    const char *names[] = {"py37_p2",  "py37_p3",  "py37_p4",  "py37_ordered", "py311_p2",
                           "py311_p3", "py311_p4", "py311_p5", "py311_ordered"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, PICKLES "%s.pkl", names[i]);
        struct state s;
        struct skiff_error err = {0};
        state_init(&s);
        if (pickle_file_read(path, &s, &err) < 0)
            fail_msg("%s", err.message);
        check_arrays(&s);
        assert_string_equal(s.entries[0]->name, "f4");
        assert_string_equal(s.entries[13]->name, "big_endian");
        state_deinit(&s);
    }
}

static void read_and_write_back(const char *path)
{
    struct state s;
    struct skiff_error err = {0};
    state_init(&s);
    if (pickle_file_read(path, &s, &err) < 0 ||
        pickle_file_write(temp_path("again.pkl"), &s, &err) < 0)
        fail_msg("%s", err.message);
    assert_files_equal(path, temp_path("again.pkl"));
    state_deinit(&s);
}

/* Byte for byte what Python 3.7 wrote: the files of fluid.save, no entry, one,
 * more than a batch. */
static void writes_what_python_wrote(void **state)
{
    read_and_write_back(SAVED "fluid_save/ctr.pdparams");
    read_and_write_back(SAVED "fluid_save/ctr.pdopt");
    read_and_write_back(PICKLES "py37_empty.pkl");
    read_and_write_back(PICKLES "py37_one.pkl");
    read_and_write_back(PICKLES "py37_many.pkl");
}

struct pieces {
    struct state_stream stream;
    const struct tensor *of;
    size_t size;
};

static enum skiff_status pour_pieces(const struct state_stream *self, const struct byte_sink *to,
                                     struct skiff_error *err)
{
    const struct pieces *p = (const struct pieces *)self;
    size_t n = tensor_bytes(p->of);
    for (size_t at = 0; at < n; at += p->size)
        TRY(to->add(to->user, (const char *)p->of->data + at, n - at < p->size ? n - at : p->size,
                    err));
    return SKIFF_OK;
}

/* The same bytes, whether arrays are in memory or come in pieces, which cut elements. */
static void write_in_pieces(bool newer)
{
    struct state s, poured;
    struct pieces pieces[16];
    state_init(&s);
    state_init(&poured);
    assert_int_equal(pickle_file_read(SAVED "fluid_save/ctr.pdparams", &s, NULL), SKIFF_OK);
    s.newer = poured.newer = newer;
    assert_in_range(s.count, 1, 16);
    for (int i = 0; i < s.count; i++) {
        const struct tensor *t = &s.entries[i]->tensor;
        struct state_entry *e = state_add(&poured, s.entries[i]->name);
        pieces[i] = (struct pieces){{pour_pieces}, t, 1000 + (size_t)i};
        e->tensor = (struct tensor){.dtype = t->dtype, .shape = t->shape};
        e->stream = &pieces[i].stream;
    }
    assert_int_equal(pickle_file_write(temp_path("whole.pkl"), &s, NULL), SKIFF_OK);
    assert_int_equal(pickle_file_write(temp_path("pieces.pkl"), &poured, NULL), SKIFF_OK);
    assert_files_equal(temp_path("whole.pkl"), temp_path("pieces.pkl"));
    state_deinit(&s);
    state_deinit(&poured);
}

static void arrays_in_pieces(void **state)
{
    write_in_pieces(false);
    write_in_pieces(true);
}

/* Arrays that are asked for one at a time are those of the whole file, in any order. */
static void same_one_at_a_time(const char *path, const char *const *absent)
{
    struct state s;
    struct pickle_file *f;
    const struct state_entry *e;
    state_init(&s);
    assert_int_equal(pickle_file_read(path, &s, NULL), SKIFF_OK);
    assert_int_equal(pickle_file_open(path, &f, NULL), SKIFF_OK);
    for (int i = s.count; i-- > 0;)
        for (int again = 0; again < 2; again++) {
            assert_int_equal(pickle_file_find(f, s.entries[i]->name, &e, NULL), SKIFF_OK);
            assert_non_null(e);
            assert_string_equal(e->name, s.entries[i]->name);
            assert_true(shape_equal(&e->tensor.shape, &s.entries[i]->tensor.shape));
            assert_int_equal(tensor_bytes(&e->tensor), tensor_bytes(&s.entries[i]->tensor));
            if (tensor_bytes(&e->tensor))
                assert_memory_equal(e->tensor.data, s.entries[i]->tensor.data,
                                    tensor_bytes(&e->tensor));
        }
    for (; *absent; absent++) {
        assert_int_equal(pickle_file_find(f, *absent, &e, NULL), SKIFF_OK);
        assert_null(e);
    }
    pickle_file_close(f);
    state_deinit(&s);
}

static void one_array_at_a_time(void **state)
{
    struct pickle_file *f;
    struct skiff_error err = {0};
    const char *const absent[] = {"no such", "", NULL};
    same_one_at_a_time(SAVED "fluid_save/ctr.pdparams", absent);
    same_one_at_a_time(SAVED "fluid_save/ctr.pdopt", absent);
    same_one_at_a_time(PICKLES "py37_empty.pkl", absent);
    same_one_at_a_time(PICKLES "py37_many.pkl", absent);
    assert_int_equal(file_write(temp_path("none.pkl"), "", 0, NULL), SKIFF_OK);
    assert_int_equal(pickle_file_open(temp_path("none.pkl"), &f, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "not a pickle"));
}

static void values_equal_the_tensor_files(void **state)
{
    struct state s;
    state_init(&s);
    assert_int_equal(pickle_file_read(SAVED "fluid_save/ctr.pdparams", &s, NULL), SKIFF_OK);
    assert_int_equal(s.count, 9);
    for (int i = 0; i < s.count; i++) {
        char path[128];
        snprintf(path, sizeof path, SAVED "params_separate/%s", s.entries[i]->name);
        struct tensor t = {0};
        assert_int_equal(tensor_file_read(path, &t, NULL), SKIFF_OK);
        assert_true(shape_equal(&t.shape, &s.entries[i]->tensor.shape));
        assert_memory_equal(t.data, s.entries[i]->tensor.data, tensor_bytes(&t));
        tensor_deinit(&t);
    }
    state_deinit(&s);
}

static void all_types_round_trip(void **state)
{
    struct state s, back;
    state_init(&s);
    state_init(&back);
    assert_int_equal(pickle_file_read(PICKLES "py37_p4.pkl", &s, NULL), SKIFF_OK);
    state_add_structured(&s, "a.weight", "a_0.w_0");
    assert_int_equal(pickle_file_write(temp_path("all.pkl"), &s, NULL), SKIFF_OK);
    assert_int_equal(pickle_file_read(temp_path("all.pkl"), &back, NULL), SKIFF_OK);
    check_arrays(&back);
    assert_int_equal(back.nstructured, 1);
    assert_string_equal(back.structured[0].key, "a.weight");
    assert_string_equal(back.structured[0].value, "a_0.w_0");
    state_deinit(&s);
    state_deinit(&back);
}

static void what_paddle_2_wrote(void **state)
{
    struct state s;
    state_init(&s);
    assert_int_equal(pickle_file_read(PICKLES "paddle_save_layer.pdparams", &s, NULL), SKIFF_OK);
    const struct state_entry *e = state_find(&s, "weight");
    assert_non_null(e);
    assert_true(tensor_f32(&e->tensor)[5] == 5);
    assert_int_equal(s.nstructured, 2);
    assert_string_equal(s.structured[0].key, "weight");
    assert_string_equal(s.structured[0].value, "linear_0.w_0");
    assert_int_equal(pickle_file_read(PICKLES "py311_named.pkl", &s, NULL), SKIFF_OK);
    e = state_find(&s, "w");
    assert_string_equal(e->param_name, "linear_0.w_0");
    assert_true(tensor_f32(&e->tensor)[5] == 5);
    assert_int_equal(pickle_file_read(PICKLES "static_save.pdparams", &s, NULL), SKIFF_OK);
    assert_true(tensor_f32(tensor_of(&s, "fc_0.w_0"))[5] == 0.5f);
    assert_int_equal(pickle_file_read(PICKLES "static_save.pdopt", &s, NULL), SKIFF_OK);
    assert_int_equal(s.count, 0);
    assert_int_equal(pickle_file_read(PICKLES "py37_structured.pkl", &s, NULL), SKIFF_OK);
    assert_int_equal(s.count, 1);
    assert_string_equal(s.structured[0].value, "linear_0.w_0");
    assert_int_equal(pickle_file_read(PICKLES "py37_sliced.pkl", &s, NULL), SKIFF_OK);
    assert_int_equal(s.count, 2);
    assert_true(shape_equal(&tensor_of(&s, "big")->shape, SHAPE_PTR(2, 3)));
    assert_true(tensor_f32(tensor_of(&s, "big"))[5] == 5);
    assert_int_equal(pickle_file_read(PICKLES "py311_scheduler.pkl", &s, NULL), SKIFF_OK);
    assert_string_equal(state_find(&s, "LR_Scheduler")->text, "{'last_epoch': 3, 'last_lr': 0.5}");
    assert_string_equal(state_find(&s, "n")->text, "-5");
    struct skiff_error err;
    assert_int_equal(pickle_file_write(temp_path("no.pkl"), &s, &err), SKIFF_UNSUPPORTED);
    assert_message_has(&err, "LR_Scheduler");
    assert_false(file_exists(temp_path("no.pkl")));
    state_deinit(&s);
}

static enum skiff_status decode(const char *bytes, size_t n, struct state *s,
                                struct skiff_error *err)
{
    return pickle_decode((const uint8_t *)bytes, n, "p.pkl", s, err);
}

#define DECODE(text, s, err) decode(text, sizeof(text) - 1, s, err)

static void nothing_is_executed(void **state)
{
    struct state s;
    struct skiff_error err;
    state_init(&s);
    assert_int_equal(pickle_file_read(PICKLES "py37_evil.pkl", &s, &err), SKIFF_UNSUPPORTED);
    assert_message_has(&err, "posix.system");
    assert_int_equal(pickle_file_read(PICKLES "py37_objects.pkl", &s, &err), SKIFF_DTYPE);
    assert_int_equal(pickle_file_read(PICKLES "py37_list.pkl", &s, &err), SKIFF_FORMAT);
    assert_message_has(&err, "holds a list");
    assert_int_equal(DECODE("\x80\x02"
                            "cos\nsystem\nX\x02\0\0\0ls\x85R.",
                            &s, &err),
                     SKIFF_UNSUPPORTED);
    assert_message_has(&err, "os.system");
    assert_int_equal(DECODE("\x80\x02"
                            "cbuiltins\neval\nX\x03\0\0\0"
                            "1+1}\x86R.",
                            &s, &err),
                     SKIFF_UNSUPPORTED);
    assert_message_has(&err, "evaluate");
    /* the one form that paddle.save writes: eval('data', {'data': x}) */
    assert_int_equal(
        DECODE("\x80\x02}X\x01\0\0\0wcbuiltins\neval\nX\x04\0\0\0data}X\x04\0\0\0dataK\x07s"
               "\x86Rs.",
               &s, &err),
        SKIFF_OK);
    assert_string_equal(state_find(&s, "w")->text, "7");
    assert_int_equal(s.count, 1);
    state_deinit(&s);
}

static void malformed(void **state)
{
    struct state s;
    struct skiff_error err;
    state_init(&s);
    assert_int_equal(DECODE("", &s, &err), SKIFF_FORMAT);
    assert_int_equal(DECODE("(dp0\n.", &s, &err), SKIFF_FORMAT); /* protocol 0 */
    assert_int_equal(DECODE("\x80\x02.", &s, &err), SKIFF_FORMAT);
    assert_int_equal(DECODE("\x80\x02}", &s, &err), SKIFF_FORMAT);
    assert_message_has(&err, "ends inside");
    assert_int_equal(DECODE("\x80\x02}}.", &s, &err), SKIFF_FORMAT);
    assert_message_has(&err, "left on the stack");
    assert_int_equal(DECODE("\x80\x02}.x", &s, &err), SKIFF_FORMAT);
    assert_message_has(&err, "extra bytes");
    assert_int_equal(DECODE("\x80\x02}h\x05.", &s, &err), SKIFF_FORMAT);
    assert_int_equal(DECODE("\x80\x02}r\xff\xff\xff\xff.", &s, &err), SKIFF_FORMAT);
    assert_message_has(&err, "memo number");
    assert_int_equal(DECODE("\x80\x02}X\xff\xff\xff\xff.", &s, &err), SKIFF_FORMAT);
    assert_int_equal(DECODE("\x80\x02}\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", &s, &err),
                     SKIFF_FORMAT);
    assert_int_equal(DECODE("\x80\x02]s.", &s, &err), SKIFF_FORMAT);
    assert_int_equal(DECODE("\x80\x02]K\1K\2s.", &s, &err), SKIFF_FORMAT);
    assert_int_equal(DECODE("\x80\x02}(K\1u.", &s, &err), SKIFF_FORMAT);
    assert_int_equal(DECODE("\x80\x02}K\1K\2s.", &s, &err), SKIFF_FORMAT); /* key is an int */
    assert_message_has(&err, "expected a name");
    assert_int_equal(DECODE("\x80\x02(u.", &s, &err), SKIFF_FORMAT);
    assert_int_equal(DECODE("\x80\x02\xff.", &s, &err), SKIFF_FORMAT);
    assert_message_has(&err, "opcode 0xff");
    assert_int_equal(DECODE("\x80\x07}.", &s, &err), SKIFF_FORMAT);
    assert_int_equal(DECODE("\x80\x02}q\0X\1\0\0\0ah\0s.", &s, &err), SKIFF_OK); /* holds itself */
    assert_int_equal(s.count, 1);
    state_deinit(&s);
}

/* An array of the given dims (as pickled tuple) with 4 bytes of data. */
static enum skiff_status decode_dims(const char *tuple, size_t n, struct skiff_error *err)
{
    struct buf b = BUF_INIT;
    buf_str(&b, "\x80\x03}X\x01");
    buf_add(&b, "\0\0\0w", 4);
    buf_str(&b, "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK");
    buf_add(&b, "\0\x85\x43\x01\x62\x87R(K\1", 10);
    buf_add(&b, tuple, n);
    buf_str(&b, "cnumpy\ndtype\nX\x02");
    buf_add(&b, "\0\0\0f4K", 6);
    buf_add(&b, "\0K\1\x87R\x89\x43\4abcdtbs.", 16);
    struct state s;
    state_init(&s);
    enum skiff_status status = decode(b.data, b.len, &s, err);
    buf_deinit(&b);
    state_deinit(&s);
    return status;
}

static void dims_that_do_not_fit(void **state)
{
    struct skiff_error err = {0};
    assert_int_equal(decode_dims("K\1\x85", 3, &err), SKIFF_OK);
    assert_int_equal(decode_dims("K\2\x85", 3, &err), SKIFF_FORMAT);
    assert_message_has(&err, "float32 [2], but has 4 bytes");
    assert_int_equal(decode_dims("J\xff\xff\xff\xff\x85", 6, &err), SKIFF_FORMAT);
    assert_message_has(&err, "-1");
    assert_int_equal(decode_dims("K\0\x85", 3, &err), SKIFF_FORMAT);
    assert_int_equal(decode_dims("J\0\0\0\x40J\0\0\0\x40J\0\0\0\x40\x87", 16, &err), SKIFF_FORMAT);
    assert_int_equal(decode_dims("\x8a\x09\1\1\1\1\1\1\1\1\1\x85", 12, &err), SKIFF_FORMAT);
    assert_int_equal(decode_dims("(K\1K\1K\1K\1K\1K\1K\1K\1K\1K\1t", 22, &err), SKIFF_FORMAT);
    assert_message_has(&err, "10 dims");
    assert_int_equal(decode_dims("N\x85", 2, &err), SKIFF_FORMAT);
    assert_int_equal(decode_dims("]", 1, &err), SKIFF_FORMAT);
}

/* Small files that ask for much memory: one string used by many arrays. */
static void shared_data_is_bounded(void **state)
{
    struct buf b = BUF_INIT;
    const size_t n = 1 << 20;
    buf_str(&b, "\x80\x03(B");
    buf_u32(&b, (uint32_t)n);
    buf_reserve(&b, n);
    for (size_t i = 0; i < n; i++)
        buf_char(&b, 'x');
    buf_add(&b,
            "q\0cnumpy\ndtype\nC\2u1\x85Rq\1cnumpy.core.multiarray\nscalar\nq\2"
            "1}",
            sizeof "q\0cnumpy\ndtype\nC\2u1\x85Rq\1cnumpy.core.multiarray\nscalar\nq\2"
                   "1}" -
                1);
    for (int i = 0; i < 100; i++) {
        char key[3] = {(char)('0' + i / 10), (char)('0' + i % 10), 0};
        buf_str(&b, "C\2");
        buf_str(&b, key);
        buf_str(&b, "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n\x85R(K\1J");
        buf_u32(&b, (uint32_t)n);
        buf_add(&b, "\x85h\1\x89h\0tbs", 9);
    }
    buf_char(&b, '.');
    struct state s;
    struct skiff_error err;
    state_init(&s);
    assert_int_equal(decode(b.data, b.len, &s, &err), SKIFF_FORMAT);
    assert_message_has(&err, "more bytes than the file can hold");
    buf_deinit(&b);
    state_deinit(&s);
}

static void many_objects_are_bounded(void **state)
{
    struct buf b = BUF_INIT;
    buf_str(&b, "\x80\x02");
    for (int i = 0; i < 5 << 20; i++)
        buf_char(&b, i % 2 ? ']' : '}');
    struct state s;
    struct skiff_error err;
    state_init(&s);
    assert_int_equal(decode(b.data, b.len, &s, &err), SKIFF_FORMAT);
    assert_message_has(&err, "too many objects");
    buf_deinit(&b);
    state_deinit(&s);
}

static void truncated_and_flipped(void **state)
{
    const char *names[] = {PICKLES "py37_p2.pkl", PICKLES "py311_p4.pkl",
                           PICKLES "py37_sliced.pkl"};
    for (int i = 0; i < 3; i++) {
        struct buf b = BUF_INIT;
        assert_int_equal(file_read(names[i], &b, NULL), SKIFF_OK);
        for (size_t n = 0; n < b.len; n++) {
            struct state s;
            state_init(&s);
            char *exact = mem_alloc_or_die(n + 1);
            memcpy(exact, b.data, n);
            assert_true(decode(exact, n, &s, NULL) < 0);
            free(exact);
        }
        for (size_t bit = 0; bit < b.len * 8; bit++) {
            struct state s;
            state_init(&s);
            b.data[bit / 8] ^= (char)(1 << bit % 8);
            decode(b.data, b.len, &s, NULL);
            b.data[bit / 8] ^= (char)(1 << bit % 8);
            state_deinit(&s);
        }
        buf_deinit(&b);
    }
}

static void unwritable(void **state)
{
    struct state s;
    struct skiff_error err;
    state_init(&s);
    assert_int_equal(file_write(temp_path("plain"), "x", 1, NULL), SKIFF_OK);
    assert_true(pickle_file_write(temp_path("plain/p.pdparams"), &s, &err) < 0);
    assert_message_has(&err, "plain");
    state_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_numpy_wrote),
        cmocka_unit_test(writes_what_python_wrote),
        cmocka_unit_test(arrays_in_pieces),
        cmocka_unit_test(one_array_at_a_time),
        cmocka_unit_test(values_equal_the_tensor_files),
        cmocka_unit_test(all_types_round_trip),
        cmocka_unit_test(what_paddle_2_wrote),
        cmocka_unit_test(nothing_is_executed),
        cmocka_unit_test(malformed),
        cmocka_unit_test(dims_that_do_not_fit),
        cmocka_unit_test(shared_data_is_bounded),
        cmocka_unit_test(many_objects_are_bounded),
        cmocka_unit_test(truncated_and_flipped),
        cmocka_unit_test(unwritable),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
