#include "save/contents.h"

#include "base/mem.h"
#include "save/epochs.h"
#include "store/test_help.h"

static void touch(const char *dir, const char *name, const char *text)
{
    struct skiff_error err;
    char *path = path_join(dir, name);
    if (file_write(path, text, strlen(text), &err) < 0)
        fail_msg("%s", err.message);
    free(path);
}

static enum save_layout layout_of(const char *path)
{
    struct save_contents c;
    struct skiff_error err;
    if (save_open(&c, path, &err) < 0)
        fail_msg("%s", err.message);
    enum save_layout layout = c.layout;
    save_close(&c);
    return layout;
}

/* What Paddle 1.8.5 wrote. */
static void recorded_models(void **state)
{
    (void)state;
    assert_int_equal(layout_of(SAVED "inference_default"), SAVE_LAYOUT_FOLDER);
    assert_int_equal(layout_of(SAVED "inference_default/"), SAVE_LAYOUT_FOLDER);
    assert_int_equal(layout_of(SAVED "persistables_separate"), SAVE_LAYOUT_VARIABLES);
    assert_int_equal(layout_of(SAVED "params_separate"), SAVE_LAYOUT_VARIABLES);
    assert_int_equal(layout_of(SAVED "persistables_combined/all"), SAVE_LAYOUT_COMBINED);
    assert_int_equal(layout_of(SAVED "fluid_save"), SAVE_LAYOUT_STATE);
    assert_int_equal(layout_of(SAVED "fluid_save/ctr"), SAVE_LAYOUT_STATE);
    assert_int_equal(layout_of(SAVED "fluid_save/ctr.pdopt"), SAVE_LAYOUT_STATE);
    assert_int_equal(layout_of(SAVED "nothing"), SAVE_LAYOUT_NONE);
    assert_int_equal(layout_of("src/save"), SAVE_LAYOUT_NONE);
}

static void parts_by_name(void **state)
{
    (void)state;
    struct save_contents c;
    assert_int_equal(save_open(&c, SAVED "fluid_save/ctr.pdmodel", NULL), SKIFF_OK);
    assert_string_equal(c.stem, "ctr");
    assert_string_equal(save_part(&c, SAVE_PART_STATE)->name, "ctr.pdparams");
    assert_string_equal(save_part(&c, SAVE_PART_OPTIMIZER)->name, "ctr.pdopt");
    assert_string_equal(save_part_only(&c, SAVE_PART_PROGRAM)->name, "ctr.pdmodel");
    assert_null(save_part(&c, SAVE_PART_COMBINED));
    assert_int_equal(c.nparts, 3);
    save_close(&c);
    assert_int_equal(save_open(&c, SAVED "params_separate", NULL), SKIFF_OK);
    assert_int_equal(save_part_count(&c, SAVE_PART_FILE), 9);
    assert_null(save_part_only(&c, SAVE_PART_FILE));
    assert_null(c.stem);
    assert_true(save_names(&c, "fc_0.w_0"));
    assert_false(save_names(&c, "fc_9.w_0"));
    save_close(&c);
}

static void folders_of_models(void **state)
{
    (void)state;
    const char *model = temp_path("model"), *online = temp_path("online");
    assert_int_equal(layout_of(model), SAVE_LAYOUT_NONE);
    touch(model, "0/rec_static.pdparams", "x");
    touch(model, "1/__model__", "x");
    touch(model, "2/000/part-000-00000", "x");
    touch(model, "2/001/part-000", "x");
    touch(model, "2/dnn_plugin/__model__", "x");
    touch(model, "best/x.pdparams", "x");
    touch(model, "report.json", "{}");
    assert_int_equal(layout_of(model), SAVE_LAYOUT_EPOCHS);
    assert_int_equal(layout_of(temp_path("model/0")), SAVE_LAYOUT_STATE);
    assert_int_equal(layout_of(temp_path("model/1")), SAVE_LAYOUT_FOLDER);
    assert_int_equal(layout_of(temp_path("model/2")), SAVE_LAYOUT_TABLES);
    assert_int_equal(layout_of(temp_path("model/2/000")), SAVE_LAYOUT_TABLE);
    touch(online, "donefile.txt", "");
    touch(online, "20190720/0/000/part-000-00000", "x");
    assert_int_equal(layout_of(online), SAVE_LAYOUT_PASSES);
    struct save_contents c;
    assert_int_equal(save_open(&c, model, NULL), SKIFF_OK);
    assert_int_equal(save_part_count(&c, SAVE_PART_EPOCH), 3);
    save_close(&c);
    assert_int_equal(save_open(&c, temp_path("model/2"), NULL), SKIFF_OK);
    assert_int_equal(save_part_count(&c, SAVE_PART_TABLE), 2);
    assert_string_equal(save_part(&c, SAVE_PART_NETWORK)->name, "dnn_plugin");
    save_close(&c);
}

/* A base or a delta of online training without tables is the model in its folder 000. */
static void models_within(void **state)
{
    (void)state;
    struct save_contents c;
    const char *base = temp_path("online/20190721/base");
    touch(base, "000/__model__", "x");
    touch(base, "000/fc_0.w_0", "x");
    assert_int_equal(save_open(&c, base, NULL), SKIFF_OK);
    assert_int_equal(c.layout, SAVE_LAYOUT_FOLDER);
    assert_string_equal(strrchr(c.dir, '/'), "/000");
    assert_true(save_names(&c, "fc_0.w_0"));
    save_close(&c);
    touch(base, "001/__model__", "x"); /* epochs with three digits, as somebody may copy them */
    assert_int_equal(layout_of(base), SAVE_LAYOUT_NONE);
    touch(temp_path("numbered"), "000/notes.txt", "x");
    assert_int_equal(layout_of(temp_path("numbered")), SAVE_LAYOUT_NONE);
}

static void save(const char *dir, const char *first, const char *second)
{
    struct model_writer w;
    struct skiff_error err;
    if (model_writer_open(&w, dir, &err) < 0 || model_writer_bytes(&w, first, "one", 3, &err) < 0 ||
        model_writer_bytes(&w, second, "two", 3, &err) < 0)
        fail_msg("%s", err.message);
    model_writer_describe(&w, &(struct model_info){.epoch = 4, .complete = true, .known = true});
    assert_int_equal(model_writer_commit(&w, &err), SKIFF_OK);
}

static void assert_damaged(const char *dir, bool sums, const char *text)
{
    struct save_contents c;
    struct skiff_error err = {0};
    assert_int_equal(save_open(&c, dir, NULL), SKIFF_OK);
    assert_int_equal(c.layout, SAVE_LAYOUT_STATE);
    if (save_epoch_complete(&c, sums, &err) == SKIFF_OK || !strstr(err.message, text))
        fail_msg("expected \"%s\", found \"%s\"", text, err.message);
    save_close(&c);
}

/* The layout stays what the manifest says; the check names what is wrong. */
static void incomplete_ones(void **state)
{
    (void)state;
    const char *dir = temp_path("epoch");
    struct save_contents c;
    save(dir, "rec_static.pdparams", "rec_static.pdopt");
    touch(dir, "__model__", "unlisted");
    assert_int_equal(save_open(&c, dir, NULL), SKIFF_OK);
    assert_int_equal(c.layout, SAVE_LAYOUT_STATE);
    assert_int_equal(c.files.note.epoch, 4);
    assert_int_equal(save_check(&c, true, NULL), SKIFF_OK);
    save_close(&c);
    touch(dir, "rec_static.pdopt", "ten");
    assert_int_equal(save_open(&c, dir, NULL), SKIFF_OK);
    assert_int_equal(save_check(&c, false, NULL), SKIFF_OK);
    save_close(&c);
    assert_damaged(dir, true, "rec_static.pdopt: checksum");
    touch(dir, "rec_static.pdopt", "three");
    assert_damaged(dir, false, "3 bytes by its manifest, 5 bytes found");
    assert_int_equal(remove(temp_path("epoch/rec_static.pdparams")), 0);
    assert_damaged(dir, false, "rec_static.pdparams is missing");
    touch(dir, "rec_static.pdparams", "one");
    touch(dir, MANIFEST_FILE, "skiff_manifest: 1\n");
    assert_damaged(dir, false, MANIFEST_FILE);
    assert_int_equal(remove(temp_path("epoch/" MANIFEST_FILE)), 0);
    assert_int_equal(remove(temp_path("epoch/rec_static.pdopt")), 0);
    assert_damaged(dir, false, "rec_static.pdopt is missing");
}

/* Of a prefix, its own manifest counts, or that of the folder that lists its files. */
static void prefixes(void **state)
{
    (void)state;
    struct save_contents c;
    save(temp_path("pair"), "x.pdmodel", "x.pdiparams");
    assert_int_equal(layout_of(temp_path("pair")), SAVE_LAYOUT_PREFIX);
    assert_int_equal(layout_of(temp_path("pair/x")), SAVE_LAYOUT_PREFIX);
    assert_int_equal(layout_of(temp_path("pair/y")), SAVE_LAYOUT_NONE);
    assert_int_equal(save_open(&c, temp_path("pair/x"), NULL), SKIFF_OK);
    assert_int_equal(c.files.n, 2);
    save_close(&c);
    touch(temp_path("pair"), "x.pdparams", "x");
    assert_int_equal(layout_of(temp_path("pair/x")), SAVE_LAYOUT_PREFIX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_models),   cmocka_unit_test(parts_by_name),
        cmocka_unit_test(folders_of_models), cmocka_unit_test(incomplete_ones),
        cmocka_unit_test(models_within),     cmocka_unit_test(prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
