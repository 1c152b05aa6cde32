#include "store/model_dir.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "store/pickle.h"
#include "store/tensor_file.h"
#include "store/test_help.h"

static struct skiff_tensor make(float first, int n)
{
    struct skiff_tensor v = {0};
    assert_int_equal(value_as_tensor(&v, DTYPE_FP32, SHAPE_PTR(n), NULL), SKIFF_OK);
    for (int i = 0; i < n; i++)
        tensor_f32(&v.tensor)[i] = first + (float)i;
    return v;
}

static enum skiff_status read_separate(const char *dir, int n, const char *const *list,
                                       struct skiff_tensor *out, struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    TRY(model_reader_open(&r, dir, NULL, err));
    enum skiff_status status = model_read_separate(&r, n, list, out, err);
    assert_false(model_reader_close(&r, status));
    return status;
}

static enum skiff_status read_combined(const char *dir, const char *file, int n,
                                       const char *const *list, struct skiff_tensor *out,
                                       struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    TRY(model_reader_open(&r, dir, file, err));
    enum skiff_status status = model_read_combined(&r, file, n, list, out, err);
    assert_false(model_reader_close(&r, status));
    return status;
}

static enum skiff_status write_combined(const char *dir, const char *file, int n,
                                        const char *const *list,
                                        const struct skiff_tensor *const *values,
                                        struct skiff_error *err)
{
    struct model_writer w;
    TRY(model_writer_open(&w, dir, err));
    enum skiff_status status = model_writer_combined(&w, file, n, list, values, err);
    if (status == SKIFF_OK)
        return model_writer_commit(&w, err);
    model_writer_close(&w);
    return status;
}

static void names(void **state)
{
    struct skiff_error err;
    const char *good[] = {"fc_0.w_0", "a/b/c",  "@LR_DECAY_COUNTER@", "..a", "a..",
                          "...",      ".hidden"};
    const char *bad[] = {"", "/etc/passwd", "..", ".", "a/../b", "a/..", "a//b", "a/", "./a"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(model_name_check(good[i], &err), SKIFF_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(model_name_check(bad[i], &err), SKIFF_INVALID);
    const char *list[] = {"b", "a", "B", "_", "a.1", "\xc3\xa9"};
    int order[6];
    model_name_order(6, list, order);
    assert_memory_equal(order, ((int[]){2, 3, 1, 4, 0, 5}), sizeof order);
}

static void new_folder_appears_at_once(void **state)
{
    struct model_writer w;
    struct skiff_tensor a = make(1, 3), b = make(10, 2);
    const char *dir = temp_path("models/new");
    assert_int_equal(model_writer_open(&w, temp_path("models/new//"), NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "a", &a, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "sub/dir/b", &b, NULL), SKIFF_OK);
    assert_int_equal(model_writer_bytes(&w, "__model__", "prog", 4, NULL), SKIFF_OK);
    assert_false(file_exists(dir));
    assert_int_equal(model_writer_commit(&w, NULL), SKIFF_OK);
    assert_int_equal(count_files(temp_path("models")), 1);
    assert_int_equal(count_files(dir), 3 + 1 /* manifest */);
    const char *list[] = {"sub/dir/b", "a"};
    struct skiff_tensor out[2] = {{0}, {0}};
    assert_int_equal(read_separate(dir, 2, list, out, NULL), SKIFF_OK);
    assert_true(tensor_f32(&out[0].tensor)[1] == 11);
    assert_true(tensor_f32(&out[1].tensor)[2] == 3);
    struct skiff_error err;
    const char *missing[] = {"a", "nothing"};
    assert_int_equal(read_separate(dir, 2, missing, out, &err), SKIFF_NOT_FOUND);
    assert_message_has(&err, "variable nothing");
    assert_true(tensor_f32(&out[0].tensor)[1] == 11); /* untouched */
    const char *evil[] = {"../new/a"};
    assert_int_equal(read_separate(dir, 1, evil, out, &err), SKIFF_INVALID);
    for (int i = 0; i < 2; i++)
        value_deinit(&out[i]);
    value_deinit(&a);
    value_deinit(&b);
}

static void existing_folder_is_updated(void **state)
{
    const char *dir = temp_path("old");
    assert_int_equal(file_write(temp_path("old/keep"), "k", 1, NULL), SKIFF_OK);
    assert_int_equal(file_write(temp_path("old/a"), "old", 3, NULL), SKIFF_OK);
    struct model_writer w;
    struct skiff_tensor a = make(5, 1);
    assert_int_equal(model_writer_open(&w, dir, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "a", &a, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "x/y", &a, NULL), SKIFF_OK);
    struct buf b = BUF_INIT;
    assert_int_equal(file_read(temp_path("old/a"), &b, NULL), SKIFF_OK);
    assert_string_equal(b.data, "old");
    buf_deinit(&b);
    assert_int_equal(model_writer_commit(&w, NULL), SKIFF_OK);
    assert_int_equal(count_files(dir), 3 + 1 /* manifest */);
    struct tensor t = {0};
    assert_int_equal(tensor_file_read(temp_path("old/x/y"), &t, NULL), SKIFF_OK);
    assert_true(tensor_f32(&t)[0] == 5);
    tensor_deinit(&t);
    value_deinit(&a);
}

static void failure_leaves_nothing(void **state)
{
    struct model_writer w;
    struct skiff_error err;
    struct skiff_tensor a = make(5, 1), none = {0};
    assert_int_equal(model_writer_open(&w, temp_path("fails/new"), NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "a", &a, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "b/c", &a, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "none", &none, &err), SKIFF_STATE);
    assert_int_equal(model_writer_value(&w, "../out", &a, &err), SKIFF_INVALID);
    assert_int_equal(model_writer_value(&w, "a", &a, &err), SKIFF_INVALID);
    assert_message_has(&err, "file name 'a'");
    model_writer_close(&w);
    assert_int_equal(count_files(temp_path("fails")), 0);

    assert_int_equal(file_write(temp_path("plain"), "x", 1, NULL), SKIFF_OK);
    assert_true(model_writer_open(&w, temp_path("plain"), &err) < 0);
    assert_true(model_writer_open(&w, temp_path("plain/below"), &err) < 0);
    assert_message_has(&err, "plain");
    value_deinit(&a);
}

static void combined(void **state)
{
    struct skiff_tensor a = make(1, 2), b = make(10, 3), rows = {0}, out[3] = {{0}, {0}, {0}};
    const char *list[] = {"z", "a"};
    const struct skiff_tensor *values[] = {&a, &b};
    struct skiff_error err;
    const char *path = temp_path("all");
    assert_int_equal(write_combined(temp_root(), "all", 2, list, values, NULL), SKIFF_OK);
    assert_int_equal(read_combined(temp_root(), "all", 2, list, out, NULL), SKIFF_OK);
    assert_true(tensor_f32(&out[0].tensor)[1] == 2);
    assert_true(tensor_f32(&out[1].tensor)[2] == 12);
    struct tensor first = {0}, second = {0};
    assert_int_equal(combined_file_read(path, 2, (struct tensor *[]){&first, &second}, NULL), 0);
    assert_true(tensor_f32(&first)[0] == 10); /* a comes first */
    tensor_deinit(&first);
    tensor_deinit(&second);
    const char *three[] = {"z", "a", "q"};
    assert_int_equal(read_combined(temp_root(), "all", 3, three, out, &err), SKIFF_FORMAT);
    assert_message_has(&err, "variable z");
    assert_int_equal(value_as_rows(&rows, DTYPE_FP32, 1, 1, 5, NULL), SKIFF_OK);
    values[1] = &rows;
    assert_int_equal(write_combined(temp_root(), "all", 2, list, values, &err), SKIFF_STATE);
    assert_message_has(&err, "selected rows");
    for (int i = 0; i < 3; i++)
        value_deinit(&out[i]);
    value_deinit(&a);
    value_deinit(&b);
    value_deinit(&rows);
}

/* What Paddle wrote: order.txt lists the names of the combined file. */
static void combined_of_paddle(void **state)
{
    struct buf b = BUF_INIT;
    assert_int_equal(file_read(SAVED "persistables_combined/order.txt", &b, NULL), SKIFF_OK);
    const char *list[64];
    int n = 0;
    for (char *save = NULL, *s = strtok_r(b.data, "\n", &save); s; s = strtok_r(NULL, "\n", &save))
        list[n++] = s;
    assert_int_equal(n, 50);
    struct skiff_tensor *separate = mem_alloc_or_die(sizeof *separate * 64),
                        *all = mem_alloc_or_die(sizeof *all * 64);
    const struct skiff_tensor *values[64];
    assert_int_equal(read_separate(SAVED "persistables_separate", n, list, separate, NULL), 0);
    assert_int_equal(read_combined(SAVED "persistables_combined", "all", n, list, all, NULL), 0);
    for (int i = 0; i < n; i++) {
        assert_true(shape_equal(&all[i].tensor.shape, &separate[i].tensor.shape));
        assert_memory_equal(all[i].tensor.data, separate[i].tensor.data,
                            tensor_bytes(&all[i].tensor));
        values[i] = &separate[i];
    }
    assert_int_equal(write_combined(temp_path("again"), "all", n, list, values, NULL), SKIFF_OK);
    assert_files_equal(temp_path("again/all"), SAVED "persistables_combined/all");
    for (int i = 0; i < n; i++) {
        value_deinit(&all[i]);
        value_deinit(&separate[i]);
    }
    free(all);
    free(separate);
    buf_deinit(&b);
}

/* ------------------------------------------------------------------ the manifest */

/* dir/a: a tensor, dir/sub/r: selected rows, dir/all: combined, dir/p: a pickle. */
static void save_some(const char *dir, float first, const struct model_info *note)
{
    struct model_writer w;
    struct skiff_tensor a = make(first, 3000), rows = {0};
    struct state pickle;
    assert_int_equal(value_as_rows(&rows, DTYPE_FP32, 1000, 5, 7000, NULL), SKIFF_OK);
    for (int i = 0; i < 1000; i++)
        rows.sel.rows[i] = 3 * i;
    state_init(&pickle);
    assert_int_equal(tensor_copy(&state_add(&pickle, "a")->tensor, &a.tensor, NULL), SKIFF_OK);
    assert_int_equal(model_writer_open(&w, dir, NULL), SKIFF_OK);
    if (note)
        model_writer_describe(&w, note);
    assert_int_equal(model_writer_value(&w, "a", &a, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "sub/r", &rows, NULL), SKIFF_OK);
    const char *name = "a";
    const struct skiff_tensor *value = &a;
    assert_int_equal(model_writer_combined(&w, "all", 1, &name, &value, NULL), SKIFF_OK);
    assert_int_equal(model_writer_pickle(&w, "p", &pickle, NULL), SKIFF_OK);
    assert_true(model_writer_has(&w, "sub/r") && !model_writer_has(&w, "r"));
    assert_int_equal(model_writer_commit(&w, NULL), SKIFF_OK);
    state_deinit(&pickle);
    value_deinit(&a);
    value_deinit(&rows);
}

static enum skiff_status read_some(const char *dir, const char *file, struct skiff_error *err)
{
    struct model_reader r = MODEL_READER_INIT;
    struct skiff_tensor v = {0};
    struct state pickle;
    const struct file_sum *want;
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    state_init(&pickle);
    TRY(model_reader_open(&r, dir, file, err));
    enum skiff_status status;
    if (!strcmp(file, "all")) {
        status = model_read_combined(&r, file, 1, &(const char *){"a"}, &v, err);
    } else if (!strcmp(file, "p")) {
        status = model_reader_sum(&r, file, &want, err);
        if (status == SKIFF_OK)
            status = pickle_file_read_checked(path, want, &pickle, err);
    } else {
        status = model_read_separate(&r, 1, &file, &v, err);
    }
    state_deinit(&pickle);
    value_deinit(&v);
    assert_false(model_reader_close(&r, status));
    return status;
}

static const char *const some[] = {"a", "sub/r", "all", "p"};

static void flip(const char *path, long at)
{
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    int c = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(c ^ 1, f);
    fclose(f);
}

/* A bit at the beginning, in the middle, at the end; cut short; gone: named, whatever the form. */
static void damage_is_found(void **state)
{
    char dir[200], path[300];
    struct skiff_error err;
    struct model_info note;
    snprintf(dir, sizeof dir, "%s", temp_path("damage"));
    for (int i = 0; i < 4; i++) {
        const long sizes[] = {0, 30, 6000, -1};
        for (int k = 0; k < 6; k++) {
            save_some(dir, 1, NULL);
            snprintf(path, sizeof path, "%s/%s", dir, some[i]);
            assert_int_equal(read_some(dir, some[i], &err), SKIFF_OK);
            if (k < 4)
                flip(path, sizes[k]);
            else if (k == 4)
                assert_int_equal(truncate(path, 40), 0);
            else
                unlink(path);
            assert_int_equal(read_some(dir, some[i], &err), k < 5 ? SKIFF_FORMAT : SKIFF_NOT_FOUND);
            assert_message_has(&err, path);
            assert_message_has(&err, k < 4 ? "checksum" : k == 4 ? "40 bytes found" : "missing");
            assert_message_has(&err, "purpose, remove the manifest that lists it (" MANIFEST_FILE);
            assert_int_equal(model_check(dir, &note, &err), k < 5 ? SKIFF_FORMAT : SKIFF_NOT_FOUND);
            assert_message_has(&err, path);
            for (int other = 0; other < 4; other++) /* what is whole is read */
                assert_int_equal(read_some(dir, some[other], &err) == SKIFF_OK, other != i);
        }
    }
    unlink(temp_path("damage/" MANIFEST_FILE));
    assert_int_equal(model_check(dir, &note, &err), SKIFF_OK); /* nobody knows */
    assert_false(note.known);
    assert_int_equal(read_some(dir, "a", &err), SKIFF_OK);
}

/* Bytes that this process has read so far. */
static long long bytes_read(void)
{
    long long n = -1;
    FILE *f = fopen("/proc/self/io", "r");
    if (f && fscanf(f, "rchar: %lld", &n) != 1)
        n = -1;
    if (f)
        fclose(f);
    return n;
}

/* Compared while they are read: large files are not read a second time. */
static void files_are_read_once(void **state)
{
    struct model_writer w;
    struct skiff_tensor dense = make(1, 300000), rows = {0}, out[2] = {{0}, {0}};
    const char *list[] = {"dense", "rows"};
    assert_int_equal(value_as_rows(&rows, DTYPE_FP32, 60000, 5, 70000, NULL), SKIFF_OK);
    for (int i = 0; i < 60000; i++)
        rows.sel.rows[i] = i;
    assert_int_equal(model_writer_open(&w, temp_path("once"), NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "dense", &dense, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "rows", &rows, NULL), SKIFF_OK);
    assert_int_equal(model_writer_commit(&w, NULL), SKIFF_OK);
    long long before = bytes_read();
    assert_int_equal(read_separate(temp_path("once"), 2, list, out, NULL), SKIFF_OK);
    long long got = bytes_read() - before, size = 300000 * 4 + 60000 * (8 + 5 * 4);
    if (before >= 0 && (got < size || got > size + 50000))
        fail_msg("%lld bytes read of files of %lld", got, size);
    for (int i = 0; i < 2; i++)
        value_deinit(&out[i]);
    value_deinit(&dense);
    value_deinit(&rows);
}

static void notes(void **state)
{
    struct model_info note = {.steps = 5,
                              .samples = 50,
                              .epoch = 2,
                              .complete = true,
                              .run = "r1",
                              .known = true},
                      back;
    save_some(temp_path("note"), 1, &note);
    assert_int_equal(model_check(temp_path("note"), &back, NULL), SKIFF_OK);
    assert_true(back.known && back.complete && back.epoch == 2 && back.steps == 5);
    assert_int_equal(back.samples, 50);
    assert_string_equal(back.run, "r1");
    assert_int_equal(model_info_read(temp_path("note"), &back, NULL), SKIFF_OK);
    assert_true(back.known);
    save_some(temp_path("note"), 2, NULL); /* another model, of which nothing is reported */
    assert_int_equal(model_check(temp_path("note"), &back, NULL), SKIFF_OK);
    assert_false(back.known);
    assert_int_equal(model_check(temp_path("nowhere"), &back, NULL), SKIFF_OK);
    assert_false(back.known);
}

static void add_file(const char *dir, const char *prefix, const char *file, const char *text,
                     bool replaces)
{
    struct model_writer w;
    assert_int_equal(prefix ? model_writer_open_prefix(&w, prefix, NULL)
                            : model_writer_open(&w, dir, NULL),
                     SKIFF_OK);
    if (replaces)
        model_writer_replace(&w, NULL);
    assert_int_equal(model_writer_bytes(&w, file, text, strlen(text), NULL), SKIFF_OK);
    assert_int_equal(model_writer_commit(&w, NULL), SKIFF_OK);
}

/* Two saves in one folder: both stay listed; one that replaces is alone afterwards. */
static void saves_share_a_folder(void **state)
{
    struct skiff_error err;
    struct model_info note;
    const char *dir = temp_path("shared");
    add_file(dir, NULL, "one", "1", false);
    add_file(dir, NULL, "two", "2", false);
    assert_int_equal(count_files(dir), 3);
    flip(temp_path("shared/one"), 0);
    assert_int_equal(model_check(dir, &note, &err), SKIFF_FORMAT);
    assert_message_has(&err, "shared/one");
    add_file(dir, NULL, "one", "1", false);
    assert_int_equal(model_check(dir, &note, &err), SKIFF_OK);
    /* the same file in a prefix's save: the folder's manifest lets it go */
    add_file(dir, NULL, "x.pdparams", "old", false);
    add_file(NULL, temp_path("shared/x"), "x.pdparams", "newer", false);
    assert_int_equal(model_check(dir, &note, &err), SKIFF_OK);
    assert_int_equal(model_check(temp_path("shared/x"), &note, &err), SKIFF_OK);
    add_file(dir, NULL, "x.pdparams", "newest", false);
    assert_int_equal(model_check(temp_path("shared/x"), &note, &err), SKIFF_OK);
    flip(temp_path("shared/x.pdparams"), 0);
    assert_int_equal(model_check(temp_path("shared/x"), &note, &err), SKIFF_OK);
    assert_int_equal(model_check(dir, &note, &err), SKIFF_FORMAT);
    add_file(temp_path("alone"), NULL, "one", "1", false);
    add_file(temp_path("alone"), NULL, "three", "3", true);
    assert_int_equal(count_files(temp_path("alone")), 2);
    assert_true(file_exists(temp_path("alone/three")));
}

static void rename_manifest(const char *from, const char *to)
{
    char old[300], new[300];
    snprintf(old, sizeof old, "%s", temp_path(from));
    snprintf(new, sizeof new, "%s", temp_path(to));
    assert_int_equal(rename(old, new), 0);
}

/* Folders of earlier saves, with the manifest's old name: compared as others, and the next save
 * there leaves the new name alone. */
static void manifest_of_the_old_name(void **state)
{
    struct skiff_error err;
    struct model_info note;
    char dir[200];
    snprintf(dir, sizeof dir, "%s", temp_path("earlier"));
    for (int shared = 0; shared < 2; shared++) { /* by one rename; file by file */
        save_some(dir, 1, NULL);
        rename_manifest("earlier/" MANIFEST_FILE, "earlier/" MANIFEST_OLD);
        int files = count_files(dir);
        assert_int_equal(read_some(dir, "a", &err), SKIFF_OK);
        flip(temp_path("earlier/a"), 0);
        assert_int_equal(read_some(dir, "a", &err), SKIFF_FORMAT);
        assert_int_equal(model_check(dir, &note, &err), SKIFF_FORMAT);
        if (shared)
            assert_int_equal(file_write(temp_path("earlier/other"), "x", 1, NULL), SKIFF_OK);
        save_some(dir, 2, NULL);
        assert_int_equal(count_files(dir), files + shared);
        assert_false(file_exists(temp_path("earlier/" MANIFEST_OLD)));
        assert_int_equal(model_check(dir, &note, &err), SKIFF_OK);
        flip(temp_path("earlier/a"), 0);
        assert_int_equal(model_check(dir, &note, &err), SKIFF_FORMAT);
    }
}

/* Saves that replace a part of such a folder. */
static void parts_of_the_old_name(void **state)
{
    struct skiff_error err;
    struct model_info note;
    char dir[200];
    snprintf(dir, sizeof dir, "%s", temp_path("parts"));
    add_file(dir, NULL, "x.pdparams", "old", false);
    add_file(dir, NULL, "kept", "k", false);
    rename_manifest("parts/" MANIFEST_FILE, "parts/" MANIFEST_OLD);
    add_file(NULL, temp_path("parts/x"), "x.pdparams", "newer", false);
    assert_int_equal(model_check(dir, &note, &err), SKIFF_OK);
    assert_int_equal(model_file_close(temp_path("parts/kept"), &err), SKIFF_OK);
    assert_int_equal(file_write(temp_path("parts/kept"), "newer", 5, NULL), SKIFF_OK);
    assert_int_equal(model_check(dir, &note, &err), SKIFF_OK);
    add_file(dir, NULL, "one", "1", false);
    rename_manifest("parts/" MANIFEST_FILE, "parts/" MANIFEST_OLD);
    add_file(dir, NULL, "two", "2", false); /* what was listed stays listed */
    flip(temp_path("parts/one"), 0);
    assert_int_equal(model_check(dir, &note, &err), SKIFF_FORMAT);
    /* cut between the new manifest's move and the old one's end */
    add_file(dir, NULL, "one", "1", false);
    assert_int_equal(file_write(temp_path("parts/" MANIFEST_OLD), "stale", 5, NULL), SKIFF_OK);
    assert_int_equal(mkdir(temp_path("parts/.skiff-commit-7"), 0777), 0);
    assert_int_equal(model_check(dir, &note, &err), SKIFF_OK);
    assert_false(file_exists(temp_path("parts/" MANIFEST_OLD)));
}

static void manifest_is_removed(void **state)
{
    struct model_info note;
    const char *dir = temp_path("bare");
    add_file(dir, NULL, "a", "1", false);
    add_file(NULL, temp_path("bare/x"), "x.pdparams", "1", false);
    assert_int_equal(file_write(temp_path("bare/" MANIFEST_OLD), "stale", 5, NULL), SKIFF_OK);
    assert_int_equal(manifest_remove(dir, NULL), SKIFF_OK);
    assert_int_equal(count_files(dir), 3);
    flip(temp_path("bare/a"), 0);
    assert_int_equal(model_check(dir, &note, NULL), SKIFF_OK);
    assert_int_equal(manifest_remove_prefix(temp_path("bare/x"), NULL), SKIFF_OK);
    assert_int_equal(count_files(dir), 2);
    assert_int_equal(manifest_remove(dir, NULL), SKIFF_OK); /* nothing there */
}

/* Written alone, by a save op say: its writer's care from now on. */
static void file_written_alone(void **state)
{
    struct skiff_error err;
    struct model_info note;
    struct skiff_tensor other = make(7, 2);
    const char *dir = temp_path("single");
    save_some(dir, 1, NULL);
    assert_int_equal(value_file_write(temp_path("single/a"), &other, &err), SKIFF_OK);
    assert_int_equal(model_check(dir, &note, &err), SKIFF_OK);
    assert_int_equal(read_some(dir, "a", &err), SKIFF_OK);
    flip(temp_path("single/all"), 0);
    assert_int_equal(model_check(dir, &note, &err), SKIFF_FORMAT);
    value_deinit(&other);
}

/* By many at the same time: all of them come off the list. */
static void files_written_alone_by_many(void **state)
{
    struct model_info note;
    struct skiff_error err;
    struct model_writer w;
    enum { N = 8 };
    char name[N][40];
    pid_t pid[N];
    int how;
    const char *dir = temp_path("many");
    assert_int_equal(model_writer_open(&w, dir, NULL), SKIFF_OK);
    for (int i = 0; i < N; i++) {
        snprintf(name[i], sizeof name[i], "v%d", i);
        assert_int_equal(model_writer_bytes(&w, name[i], "old", 3, NULL), SKIFF_OK);
    }
    assert_int_equal(model_writer_commit(&w, NULL), SKIFF_OK);
    for (int i = 0; i < N; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", dir, name[i]);
        if (!(pid[i] = fork()))
            _exit(model_file_close(path, NULL) < 0 || file_write(path, "newer", 5, NULL) < 0);
    }
    for (int i = 0; i < N; i++)
        assert_true(waitpid(pid[i], &how, 0) == pid[i] && how == 0);
    assert_int_equal(model_check(dir, &note, &err), SKIFF_OK);
}

/* Places that cannot change names with another folder: the files are replaced all the same. */
static void places_of_all_kinds(void **state)
{
    struct model_info note;
    struct stat before, after;
    char here[300];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(mkdir(temp_path("cwd"), 0700), 0);
    assert_int_equal(chdir(temp_path("cwd")), 0);
    for (int i = 0; i < 2; i++)
        add_file(".", NULL, "a", i ? "new" : "old", false);
    assert_int_equal(model_check(".", &note, NULL), SKIFF_OK);
    assert_int_equal(count_files(temp_path("cwd")), 2); /* it is still this folder */
    assert_int_equal(chdir(here), 0);
    add_file(temp_path("real"), NULL, "a", "old", false);
    assert_int_equal(symlink(temp_path("real"), temp_path("link")), 0);
    add_file(temp_path("link"), NULL, "a", "new", false);
    assert_int_equal(lstat(temp_path("link"), &after), 0);
    assert_true(S_ISLNK(after.st_mode));
    assert_int_equal(model_check(temp_path("real"), &note, NULL), SKIFF_OK);
    /* a link to nowhere is no folder yet */
    struct model_writer w;
    struct skiff_error err;
    assert_int_equal(symlink("nowhere", temp_path("lost")), 0);
    assert_int_equal(model_writer_open(&w, temp_path("lost"), &err), SKIFF_IO);
    assert_message_has(&err, "lost: it is a link to nowhere");
    /* a folder of our own changes names, and keeps its mode and group */
    assert_int_equal(geteuid() ? 0 : chown(temp_path("real"), (uid_t)-1, 1), 0);
    assert_int_equal(chmod(temp_path("real"), 0751), 0);
    assert_int_equal(stat(temp_path("real"), &before), 0);
    add_file(temp_path("real"), NULL, "a", "newer", false);
    assert_int_equal(stat(temp_path("real"), &after), 0);
    assert_true(before.st_ino != after.st_ino);
    assert_int_equal(after.st_mode & 07777, 0751);
    assert_int_equal(after.st_gid, before.st_gid);
}

/* A folder from elsewhere may hold a commit that was never ours, and links: nothing is written
 * outside of it. */
static void commits_stay_inside(void **state)
{
    struct skiff_error err;
    struct model_writer w;
    assert_int_equal(mkdir(temp_path("outside"), 0777), 0);
    add_file(temp_path("evil"), NULL, "a", "1", false);
    assert_int_equal(symlink(temp_path("outside"), temp_path("evil/sub")), 0);
    assert_int_equal(file_write(temp_path("evil/.skiff-commit-7/sub/x"), "x", 1, NULL), SKIFF_OK);
    assert_int_equal(model_recover(temp_path("evil"), &err), SKIFF_IO);
    assert_message_has(&err, "evil/sub: it is a link to another folder");
    assert_int_equal(count_files(temp_path("outside")), 0);
    file_remove_tree(temp_path("evil/.skiff-commit-7"));
    assert_int_equal(model_writer_open(&w, temp_path("evil"), NULL), SKIFF_OK);
    assert_int_equal(model_writer_bytes(&w, "sub/x", "x", 1, NULL), SKIFF_OK);
    assert_int_equal(model_writer_commit(&w, &err), SKIFF_IO);
    assert_message_has(&err, "evil/sub: it is a link to another folder");
    assert_int_equal(count_files(temp_path("outside")), 0);
    assert_int_equal(count_files(temp_path("evil")), 3); /* a, sub, manifest */
    /* nor is anything taken from outside */
    assert_int_equal(file_write(temp_path("outside/key"), "k", 1, NULL), SKIFF_OK);
    assert_int_equal(symlink(temp_path("outside"), temp_path("evil/.skiff-commit-8")), 0);
    assert_int_equal(model_recover(temp_path("evil"), &err), SKIFF_OK);
    add_file(temp_path("evil"), NULL, "a", "2", false);
    assert_int_equal(count_files(temp_path("outside")), 1);
    assert_int_equal(unlink(temp_path("evil/.skiff-commit-8")), 0);
    /* nor do variables take names that mean something here */
    const char *const kept[] = {MANIFEST_FILE,       MANIFEST_OLD,    ("x" MANIFEST_ENDING),
                                ".skiff-commit-1/a", ".skiff-save-0", ".a.skiff-save-0/b"};
    assert_int_equal(model_writer_open(&w, temp_path("evil"), NULL), SKIFF_OK);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_int_equal(model_writer_bytes(&w, kept[i], "x", 1, &err), SKIFF_INVALID);
        assert_message_has(&err, "for files of Skiff's own");
    }
    model_writer_close(&w);
}

/* Killed between the last move and removing the commit; then read by somebody who may only read. */
static void empty_commit_of_others(void **state)
{
    struct skiff_error err = {0};
    struct model_info note;
    const char *dir = temp_path("theirs");
    uid_t me = geteuid();
    add_file(dir, NULL, "a", "1", false);
    assert_int_equal(mkdir(temp_path("theirs/.skiff-commit-7"), 0755), 0);
    assert_int_equal(chmod(dir, 0555), 0);
    assert_int_equal(chmod(temp_root(), 0755), 0);
    assert_int_equal(me ? 0 : seteuid(65534), 0);
    alarm(30);
    enum skiff_status status = model_check(dir, &note, &err);
    alarm(0);
    assert_int_equal(me ? 0 : seteuid(me), 0);
    assert_int_equal(status, SKIFF_OK);
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(model_recover(dir, &err), SKIFF_OK);
    assert_int_equal(count_files(dir), 2); /* a, manifest */
}

/* In a folder from elsewhere: devices are not read without end, pipes not waited for. */
static void no_regular_files(void **state)
{
    struct skiff_error err;
    struct model_info note;
    for (int i = 0; i < 4; i++) {
        char dir[300], path[330];
        snprintf(dir, sizeof dir, "%s/odd%d", temp_root(), i);
        snprintf(path, sizeof path, "%s/%s", dir, i % 2 ? MANIFEST_FILE : "a");
        save_some(dir, 1, NULL);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(i < 2 ? symlink("/dev/zero", path) : mkfifo(path, 0600), 0);
        alarm(60);
        assert_int_equal(model_check(dir, &note, &err), SKIFF_IO);
        assert_message_has(&err, path);
        assert_message_has(&err, "it is no regular file");
        assert_int_equal(read_some(dir, "a", &err), SKIFF_IO);
        assert_message_has(&err, "it is no regular file");
        alarm(0);
    }
}

/* A process that was forked during a save does not keep its locks. */
static void forked_meanwhile(void **state)
{
    struct skiff_error err;
    struct model_writer w;
    const char *dir = temp_path("forked");
    assert_int_equal(model_writer_open(&w, dir, NULL), SKIFF_OK);
    assert_int_equal(model_writer_bytes(&w, "a", "1", 1, NULL), SKIFF_OK);
    pid_t child = fork();
    if (!child) {
        alarm(120);
        for (;;)
            pause();
    }
    assert_int_equal(model_writer_commit(&w, NULL), SKIFF_OK);
    enum skiff_status status = model_writer_open(&w, dir, &err);
    if (status == SKIFF_OK)
        model_writer_close(&w);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(status, SKIFF_OK);
}

static void folder_in_the_way(void **state)
{
    struct skiff_error err;
    struct model_writer w;
    struct model_info note;
    const char *dir = temp_path("way");
    add_file(dir, NULL, "a", "old", false);
    assert_int_equal(mkdir(temp_path("way/b"), 0777), 0);
    assert_int_equal(model_writer_open(&w, dir, NULL), SKIFF_OK);
    assert_int_equal(model_writer_bytes(&w, "a", "new", 3, NULL), SKIFF_OK);
    assert_int_equal(model_writer_bytes(&w, "b", "new", 3, NULL), SKIFF_OK);
    assert_int_equal(model_writer_commit(&w, &err), SKIFF_IO);
    assert_message_has(&err, "way/b: there is a folder of that name");
    assert_int_equal(model_check(dir, &note, &err), SKIFF_OK);
    assert_int_equal(count_files(dir), 3); /* a, b, manifest */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(new_folder_appears_at_once),
        cmocka_unit_test(existing_folder_is_updated),
        cmocka_unit_test(failure_leaves_nothing),
        cmocka_unit_test(combined),
        cmocka_unit_test(combined_of_paddle),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(files_are_read_once),
        cmocka_unit_test(notes),
        cmocka_unit_test(saves_share_a_folder),
        cmocka_unit_test(manifest_of_the_old_name),
        cmocka_unit_test(parts_of_the_old_name),
        cmocka_unit_test(manifest_is_removed),
        cmocka_unit_test(file_written_alone),
        cmocka_unit_test(files_written_alone_by_many),
        cmocka_unit_test(places_of_all_kinds),
        cmocka_unit_test(commits_stay_inside),
        cmocka_unit_test(empty_commit_of_others),
        cmocka_unit_test(no_regular_files),
        cmocka_unit_test(forked_meanwhile),
        cmocka_unit_test(folder_in_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
