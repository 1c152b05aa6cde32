#include "store/manifest.h"

#include "base/hash.h"
#include "store/test_help.h"

static void fill(struct manifest *m)
{
    const char *const names[] = {"fc_0.w_0", "a/b/c", "with \"quotes\" and \\", "\xc3\xa9\n\x01",
                                 "@LR_DECAY_COUNTER@"};
    for (int i = 0; i < 5; i++)
        manifest_add(m, names[i])->sum =
            (struct file_sum){(int64_t)1 << (10 * i), UINT64_MAX / (uint64_t)(i + 1)};
    m->note = (struct model_info){.steps = 12,
                                  .samples = INT64_MAX,
                                  .epoch = 3,
                                  .complete = true,
                                  .run = "0123456789abcdef0123456789abcdef",
                                  .known = true};
}

static void round_trip(void **state)
{
    struct manifest m = MANIFEST_INIT, back = MANIFEST_INIT;
    struct buf text = BUF_INIT;
    fill(&m);
    manifest_encode(&m, &text);
    assert_int_equal(manifest_decode(text.data, text.len, "m", &back, NULL), SKIFF_OK);
    assert_int_equal(back.n, m.n);
    for (int i = 0; i < m.n; i++) {
        assert_string_equal(back.files[i]->name, m.files[i]->name);
        assert_int_equal(back.files[i]->sum.bytes, m.files[i]->sum.bytes);
        assert_int_equal(back.files[i]->sum.xxh3, m.files[i]->sum.xxh3);
    }
    assert_memory_equal(&back.note.run, &m.note.run, sizeof m.note.run);
    assert_int_equal(back.note.steps, 12);
    assert_int_equal(back.note.samples, INT64_MAX);
    assert_int_equal(back.note.epoch, 3);
    assert_true(back.note.complete && back.note.known);
    /* nothing was described: nothing is known; every manifest has another number */
    uint64_t save = back.save;
    m.note.known = false;
    manifest_encode(&m, &text);
    assert_int_equal(manifest_decode(text.data, text.len, "m", &back, NULL), SKIFF_OK);
    assert_false(back.note.known);
    assert_true(back.save != save);
    manifest_drop(&back, "a/b/c");
    assert_int_equal(back.n, 4);
    assert_null(manifest_find(&back, "a/b/c"));
    assert_non_null(manifest_find(&back, "fc_0.w_0"));
    manifest_deinit(&m);
    manifest_deinit(&back);
    buf_deinit(&text);
}

/* Small parts are lines; those of a newer version are kept, too. */
static void notes(void **state)
{
    struct manifest m = MANIFEST_INIT, back = MANIFEST_INIT;
    struct buf text = BUF_INIT;
    fill(&m);
    manifest_note(&m, "position", "{epoch: 1}");
    manifest_note(&m, "members", "{workers: 2}");
    manifest_note(&m, "position", "{epoch: 2, text: \"a: b\"}");
    manifest_encode(&m, &text);
    assert_int_equal(manifest_decode(text.data, text.len, "m", &back, NULL), SKIFF_OK);
    char *position = manifest_note_find(&back, "position");
    char *members = manifest_note_find(&back, "members");
    assert_string_equal(position, "{epoch: 2, text: \"a: b\"}");
    assert_string_equal(members, "{workers: 2}");
    assert_null(manifest_note_find(&back, "posit"));
    assert_null(manifest_note_find(&back, "run"));
    assert_int_equal(back.notes.len, m.notes.len);
    assert_int_equal(back.n, m.n);
    free(position);
    free(members);
    manifest_deinit(&m);
    manifest_deinit(&back);
    buf_deinit(&text);
}

/* Cut anywhere, or one bit other: found. */
static void damage(void **state)
{
    struct manifest m = MANIFEST_INIT, back = MANIFEST_INIT;
    struct buf text = BUF_INIT;
    struct skiff_error err;
    fill(&m);
    manifest_encode(&m, &text);
    for (size_t n = 0; n < text.len; n++) {
        char *cut = malloc(n + 1);
        memcpy(cut, text.data, n);
        assert_int_equal(manifest_decode(cut, n, "m", &back, &err), SKIFF_FORMAT);
        free(cut);
    }
    assert_message_has(&err, "m: it is damaged or was changed");
    assert_message_has(&err, "remove it");
    for (size_t i = 0; i < text.len * 8; i++) {
        text.data[i / 8] ^= (char)(1 << i % 8);
        assert_int_equal(manifest_decode(text.data, text.len, "m", &back, &err), SKIFF_FORMAT);
        text.data[i / 8] ^= (char)(1 << i % 8);
    }
    assert_int_equal(manifest_decode(text.data, text.len, "m", &back, &err), SKIFF_OK);
    manifest_deinit(&m);
    manifest_deinit(&back);
    buf_deinit(&text);
}

static enum skiff_status decode(const char *body, struct skiff_error *err)
{
    struct manifest m = MANIFEST_INIT;
    struct buf text = BUF_INIT;
    buf_printf(&text, "%swhole: \"%016llx\"\n", body,
               (unsigned long long)hash_xxh3(body, strlen(body), 0));
    enum skiff_status status = manifest_decode(text.data, text.len, "m", &m, err);
    manifest_deinit(&m);
    buf_deinit(&text);
    return status;
}

/* The checksum fits, the rest is made to hurt. */
static void hostile(void **state)
{
    struct skiff_error err;
    const char *const bad[] = {
        "files:\nx\n",
        "files:\n  \"a\": {bytes: -1, xxh3: \"0000000000000000\"}\n",
        "files:\n  \"a\": {bytes: 99999999999999999999, xxh3: \"0000000000000000\"}\n",
        "files:\n  \"a\": {bytes: 1, xxh3: \"0\"}\n",
        "files:\n  \"a\n",
        "files:\n  \"a\\",
        "files:\n  \"a\\x0",
    };
    assert_int_equal(decode("files:\n  \"a\": {bytes: 1, xxh3: \"0000000000000000\"}\n", &err), 0);
    assert_int_equal(decode("new: 1\nepoch: x\nfiles:\n", &err), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(decode(bad[i], &err), SKIFF_FORMAT);
    const char *const out[] = {"../a", "/etc/passwd", "", "a/../../b"};
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
        char body[120];
        snprintf(body, sizeof body, "files:\n  \"%s\": {bytes: 1, xxh3: \"0000000000000000\"}\n",
                 out[i]);
        assert_int_equal(decode(body, &err), SKIFF_INVALID);
        assert_message_has(&err, "m:2: '");
    }
}

/* As many names as fit into a few megabytes: finding them takes no time to speak of. */
static void many_files(void **state)
{
    struct manifest m = MANIFEST_INIT, back = MANIFEST_INIT;
    struct buf text = BUF_INIT;
    char name[20];
    int n = 200000;
    alarm(60);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "v%d", i);
        manifest_add(&m, name)->sum = (struct file_sum){i, 1};
    }
    manifest_encode(&m, &text);
    assert_int_equal(manifest_decode(text.data, text.len, "m", &back, NULL), SKIFF_OK);
    for (int i = n - 1; i >= 0; i--) {
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(manifest_find(&back, name)->sum.bytes, i);
    }
    manifest_drop(&back, "v7");
    assert_null(manifest_find(&back, "v7"));
    assert_int_equal(back.n, n - 1);
    alarm(0);
    manifest_deinit(&m);
    manifest_deinit(&back);
    buf_deinit(&text);
}

static void named(void **state)
{
    assert_true(manifest_named("__skiff_manifest__"));
    assert_true(manifest_named("skiff_manifest.yaml"));
    assert_true(manifest_named("x.skiff_manifest.yaml"));
    assert_false(manifest_named("xskiff_manifest.yaml"));
    assert_false(manifest_named(".skiff_manifest.yaml"));
    assert_false(manifest_named("x.__skiff_manifest__"));
    assert_false(manifest_named("skiff_manifest.yaml.old"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip), cmocka_unit_test(notes),      cmocka_unit_test(damage),
        cmocka_unit_test(hostile),    cmocka_unit_test(many_files), cmocka_unit_test(named),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
