/* Batches against those that real Paddle 1.8.5 made of the same files (tests/data/dataset), and the
 * documents' Criteo reader against its Python original.
 *
 * Dense slots carry a LoD of element offsets in Paddle (dims [2,3] with [[0,3,6]]); here they have
 * none, and the test writes the offsets that Paddle would show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "data/dataset.h"
#include "data/test_help.h"

#define ROOT "tests/data/dataset"

struct golden_case {
    char name[64];
    struct schema schema;
    char *files[4];
    int nfiles, epochs;
    char *pipe;
    bool ins_id;
};

static char *read_all(const char *path)
{
    struct buf b = BUF_INIT;
    char chunk[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    buf_str(&b, "");
    while ((n = fread(chunk, 1, sizeof chunk, f)))
        buf_add(&b, chunk, n);
    fclose(f);
    return b.data;
}

/* The text between the quotes at or behind p. */
static char *quoted(const char **p)
{
    const char *from = strchr(*p, '"') + 1, *to = strchr(from, '"');
    *p = to + 1;
    return strndup(from, (size_t)(to - from));
}

/* [["ids", "int64", 1, [1]], ...]: fluid.layers.data puts -1 in front unless a -1 is there. */
static void read_slots(struct golden_case *c, const char *json)
{
    const char *p = strstr(json, "\"slots\": [") + 10;
    schema_init(&c->schema);
    while (p[0] == '[' || (p[0] == ',' && (p += 2))) {
        char *name = quoted(&p), *type = quoted(&p);
        struct shape shape = {.ndim = 1, .dims = {-1}};
        int lod = (int)strtol(p + 2, (char **)&p, 10);
        p += 3;
        for (;;) {
            long dim = strtol(p, (char **)&p, 10);
            if (dim > 0)
                shape.dims[shape.ndim++] = dim;
            if (*p == ']')
                break;
            p += 2;
        }
        p += 2;
        enum dtype dtype;
        assert_true(dtype_parse(type, &dtype));
        assert_int_equal(schema_add(&c->schema, name, dtype, lod, &shape, NULL), SKIFF_OK);
        free(name);
        free(type);
    }
}

static void case_read(struct golden_case *c, const char *name)
{
    char path[300];
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(path, sizeof path, ROOT "/%s/case.json", name);
    char *json = read_all(path);
    assert_non_null(json);
    read_slots(c, json);
    const char *p = strstr(json, "\"files\": [") + 10;
    do {
        char *file = quoted(&p);
        snprintf(path, sizeof path, ROOT "/%s/%s", name, file);
        c->files[c->nfiles++] = strdup(path);
        free(file);
    } while (*p == ',');
    if ((p = strstr(json, "\"pipe\": ")))
        p += 7, c->pipe = quoted(&p);
    c->epochs = (p = strstr(json, "\"epochs\": ")) ? atoi(p + 10) : 1;
    c->ins_id = strstr(json, "\"parse_ins_id\": true") != NULL;
    free(json);
}

static void case_free(struct golden_case *c)
{
    schema_deinit(&c->schema);
    for (int i = 0; i < c->nfiles; i++)
        free(c->files[i]);
    free(c->pipe);
}

static void print_batch(const struct batch *b, int number, struct buf *out)
{
    for (int i = 0; i < b->schema->count; i++) {
        const struct tensor *t = batch_tensor(b, i);
        const struct slot *slot = &b->schema->slots[i];
        char text[160];
        buf_printf(out, "batch %d %s %s dims=%s lod=[[0", number, slot->name, dtype_name(t->dtype),
                   shape_text(&t->shape, text));
        for (int64_t row = 1; row <= b->rows; row++)
            buf_printf(out, ", %lld",
                       (long long)(t->lod ? t->lod->level[0].off[row] : row * slot->width));
        buf_str(out, "]] data=");
        for (int64_t k = 0; k < tensor_numel(t); k++)
            if (t->dtype == DTYPE_FP32)
                buf_printf(out, "%s%.9g", k ? " " : "", tensor_f32(t)[k]);
            else
                buf_printf(out, "%s%lld", k ? " " : "", (long long)tensor_i64(t)[k]);
        buf_char(out, '\n');
        if (t->lod)
            assert_int_equal(lod_check(t->lod, t->shape.dims[0], slot->name, NULL), SKIFF_OK);
    }
}

static enum skiff_status run_epochs(const struct golden_case *c, struct dataset *d, struct buf *out,
                                    struct skiff_error *err)
{
    int threads, number = 0;
    for (int epoch = 0; epoch < c->epochs; epoch++) {
        const struct batch *b;
        enum skiff_status status;
        if (epoch)
            buf_str(out, "-- end of epoch\n");
        TRY(dataset_start(d, &threads, err));
        assert_int_equal(threads, 1);
        while ((status = dataset_next(d, 0, &b, err)) == SKIFF_OK)
            print_batch(b, number++, out);
        if (status < 0)
            return status;
    }
    return SKIFF_OK;
}

/* What Skiff makes of the case. ahead: see dataset_config. */
static enum skiff_status run_case(const struct golden_case *c, enum dataset_kind kind, int prefetch,
                                  struct buf *out, struct skiff_error *err)
{
    struct dataset_config config;
    struct dataset *d;
    dataset_config_init(&config);
    config.kind = kind;
    config.schema = &c->schema;
    config.batch_size = 4;
    config.pipe_command = c->pipe;
    config.prefetch = prefetch;
    config.reader.parse_ins_id = c->ins_id;
    buf_str(out, "");
    TRY(dataset_create(&config, &d, err));
    enum skiff_status status = dataset_set_files(d, (const char *const *)c->files, c->nfiles, err);
    if (status == SKIFF_OK && kind == DATASET_MEMORY)
        status = dataset_load(d, err);
    if (status == SKIFF_OK)
        status = run_epochs(c, d, out, err);
    dataset_destroy(d);
    return status;
}

static void check_good(const char *name)
{
    static const char *const kinds[] = {"queue", "memory"};
    struct golden_case c;
    case_read(&c, name);
    for (int k = 0; k < 3; k++) {
        char path[300];
        enum dataset_kind kind = k == 1 ? DATASET_MEMORY : DATASET_QUEUE;
        snprintf(path, sizeof path, ROOT "/%s/%s.batches.txt", name, kinds[kind]);
        char *want = read_all(path);
        if (!want)
            continue;
        struct buf got = BUF_INIT;
        struct skiff_error err = {0};
        if (run_case(&c, kind, k == 2 ? -1 : 0, &got, &err) != SKIFF_OK)
            fail_msg("%s: %s", path, err.message);
        if (strcmp(got.data, want) != 0)
            fail_msg("%s: expected\n%s\nfound\n%s", path, want, got.data);
        buf_deinit(&got);
        free(want);
    }
    case_free(&c);
}

static void test_good_cases(void **state)
{
    static const char *const names[] = {"basic",
                                        "basic_infer",
                                        "big_ids",
                                        "crlf",
                                        "dense_2x3",
                                        "dense_int",
                                        "dense_minus_one",
                                        "double_space",
                                        "empty_and_full_file",
                                        "empty_file",
                                        "exact_batches",
                                        "float_forms",
                                        "gz",
                                        "ins_id",
                                        "leading_space",
                                        "no_final_newline",
                                        "one_batch",
                                        "pipe_head",
                                        "tabs",
                                        "trailing_space",
                                        "two_epochs",
                                        "two_files",
                                        "zero_ids",
                                        "bad_extra_slot",
                                        "bad_pipe_silent",
                                        "bad_value_negative_id"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_good(names[i]);
}

/* Where Paddle dies, hangs or cuts the batch anew: an error that names file, line and slot. */
static void test_bad_cases(void **state)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"bad_binary", ":1: slot \"ids\" (1 of 4): expected the number of its values (1 or more), "
                       "found \"\\x01\\x02\\x03\""},
        {"bad_blank_line",
         ":2: slot \"ids\" (1 of 4): expected the number of its values, found the "
         "end of the line"},
        {"bad_space_line",
         ":2: slot \"ids\" (1 of 4): expected the number of its values, found the "
         "end of the line"},
        {"bad_count_float", ":2: slot \"ids\" (1 of 4): expected the number of its values (1 or "
                            "more), found \"1.5\""},
        {"bad_count_negative", ":2: slot \"ids\" (1 of 4): expected the number of its values (1 or "
                               "more), found \"-1\""},
        {"bad_count_over_int", ":2: slot \"ids\" (1 of 4): expected the number of its values (1 or "
                               "more), found \"99999999999\""},
        {"bad_count_too_large",
         ":2: slot \"dense\" (2 of 4): expected the number of its values (1 or more), found \"0\""},
        {"bad_count_word",
         ":2: slot \"ids\" (1 of 4): expected the number of its values (1 or more), "
         "found \"x\""},
        {"bad_count_zero",
         ":2: slot \"ids\" (1 of 4): expected the number of its values (1 or more), "
         "found \"0\""},
        {"bad_count_zero_dense",
         ":2: slot \"dense\" (2 of 4): expected the number of its values (1 "
         "or more), found \"0\""},
        {"bad_dense_long", ":2: slot \"dense\" (2 of 4): expected 3 values (it is dense), found a "
                           "count of 4"},
        {"bad_dense_short", ":2: slot \"dense\" (2 of 4): expected 3 values (it is dense), found a "
                            "count of 2"},
        {"bad_missing_last_slot", ":2: slot \"label\" (4 of 4): expected the number of its values, "
                                  "found the end of the line"},
        {"bad_value_float_in_int",
         ":2: slot \"ids\" (1 of 4): expected a whole number as value 1 of "
         "1, found \"5.75\""},
        {"bad_value_word",
         ":2: slot \"ids\" (1 of 4): expected a whole number as value 1 of 1, found "
         "\"abc\""},
        {"bad_value_word_float", ":2: slot \"dense\" (2 of 4): expected a number as value 2 of 3, "
                                 "found \"q\""},
        {"bad_file_missing", "no-such-file.txt: there is no such file or folder"},
        {"bad_pipe_exit1",
         "pipe command `cat; exit 1` ended with exit status 1; the end of its standard error: "
         "(nothing)"},
        {"bad_pipe_missing",
         "pipe command `no-such-command-here` ended with exit status 127; the end of its "
         "standard error: bash: line 1: no-such-command-here: command not found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct golden_case c;
        case_read(&c, cases[i].name);
        for (int k = 0; k < 3; k++) {
            struct buf got = BUF_INIT;
            struct skiff_error err = {0};
            enum skiff_status status =
                run_case(&c, k == 1 ? DATASET_MEMORY : DATASET_QUEUE, k == 2 ? -1 : 0, &got, &err);
            if (status >= 0)
                fail_msg("%s: accepted", cases[i].name);
            if (!strstr(err.message, cases[i].want) || !strstr(err.message, cases[i].name))
                fail_msg("%s: expected %s, found %s", cases[i].name, cases[i].want, err.message);
            buf_deinit(&got);
        }
        case_free(&c);
    }
}

/* input.tsv through the criteo reader with hash=python = output.txt
 * through the multislot reader. */
static void test_documents_criteo_reader(void **state)
{
    struct buf text = BUF_INIT, got = BUF_INIT, want = BUF_INIT;
    struct skiff_error err = {0};
    struct schema schema;
    buf_str(&text, "dense_feature:f13");
    for (int i = 1; i <= 26; i++)
        buf_printf(&text, " C%d:i", i);
    buf_str(&text, " label:i1");
    schema_create(&schema, text.data);
    for (int k = 0; k < 2; k++) {
        struct reader_config config;
        struct scan_plan plan = {.schema = &schema, .reader = &config};
        struct scan scan;
        struct batch b;
        struct file_list files;
        reader_config_init(&config);
        assert_int_equal(reader_config_set(&config, "format", k ? "multislot" : "criteo", &err),
                         SKIFF_OK);
        assert_int_equal(reader_config_set(&config, "hash", "python", &err), SKIFF_OK);
        file_list_init(&files);
        file_list_add(&files,
                      k ? ROOT "/data_generator/output.txt" : ROOT "/data_generator/input.tsv");
        struct file_cursor cursor = {.files = &files};
        assert_int_equal(scan_open(&scan, &plan, &err), SKIFF_OK);
        assert_int_equal(batch_init(&b, &schema, 1000, &err), SKIFF_OK);
        if (scan_fill(&scan, &cursor, &b, 1000, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(b.rows, 100);
        batch_text(&b, k ? &want : &got);
        batch_deinit(&b);
        scan_close(&scan);
        file_list_deinit(&files);
        reader_config_deinit(&config);
    }
    assert_string_equal(got.data, want.data);
    buf_deinit(&text);
    buf_deinit(&got);
    buf_deinit(&want);
    schema_deinit(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_cases),
        cmocka_unit_test(test_bad_cases),
        cmocka_unit_test(test_documents_criteo_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
