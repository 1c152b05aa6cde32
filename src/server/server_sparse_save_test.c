/* Saves of sparse tables: Paddle's modes, their effect on counters, interrupted commits. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fs/fs.h"
#include "server/sparse_fixture_test.h"
#include "sparse/shard_files.h"

#define CTR                                          \
    "accessor.accessor_class CtrCommonAccessor\n"    \
    "accessor.ctr_accessor_param.base_threshold 1\n" \
    "accessor.ctr_accessor_param.delta_threshold 0.5\n"

static struct fk one_shard(const char *more)
{
    struct fk k = {.servers = 1, .trainers = 1, .mode = SKIFF_SPLIT_ASYNC, .shard_num = 1};
    snprintf(k.settings, sizeof k.settings, "%s%s", FK_NAIVE, more);
    return k;
}

static void assert_file(struct fk *k, const char *file, const char *text)
{
    char *found = fk_text(k, file);
    if (strcmp(found, text))
        fail_msg("%s:\n%snot:\n%s", file, found, text);
}

#define PLAIN "/part-000-00000"
#define GZ "/part-000-00000.gz"

static void modes_have_their_rows_and_counters(void **state)
{
    struct fk k = one_shard("accessor.ctr_accessor_param.base_threshold 1\n"
                            "accessor.ctr_accessor_param.delta_threshold 0.5\n");
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 1, 1, 0); /* score 1: in base and delta */
    fk_push_one(&k, s, 2, 1, 0, 0); /* score 0.1: in none */
    /* delta: key slot unseen delta show click embed_w embedx */
    assert_int_equal(fk_save(&k, s, 1, "d1").done, 1);
    assert_file(&k, "d1" PLAIN, "1 7 0 1 1 1 0 0 0\n");
    assert_int_equal(fk_save(&k, s, 1, "d2").done, 0); /* its delta_score is 0 now */
    assert_file(&k, "d2" PLAIN, "");
    fk_push_one(&k, s, 1, 1, 1, 0);
    /* base: the column is 0 in the file already, and in the table afterwards */
    assert_int_equal(fk_save(&k, s, 2, "b1").done, 1);
    assert_file(&k, "b1" PLAIN, "1 7 0 0 2 2 0 0 0\n");
    assert_int_equal(fk_save(&k, s, 1, "d3").done, 0);
    /* batch model: all rows, as they are; then a day has passed */
    assert_int_equal(fk_save(&k, s, 3, "m1").done, 2);
    assert_file(&k, "m1" GZ, "1 7 0 0 2 2 0 0 0\n2 7 0 0.1 1 0 0 0 0\n");
    assert_int_equal(fk_save(&k, s, 0, "a1").done, 2);
    assert_file(&k, "a1" GZ, "1 7 1 0 2 2 0 0 0\n2 7 1 0.1 1 0 0 0 0\n");
    /* any other mode: all rows, plain */
    assert_int_equal(fk_save(&k, s, 4, "x").done, 2);
    assert_string_equal(fk_list(&k, "x"), "part-000-00000 ");
    session_close(s);
    fk_close(&k);
}

/* Between SAVE and COMMIT training continues: its updates are not lost, and no day passes for rows
 * that were pushed. Without a COMMIT nothing has changed. */
static void counters_change_at_the_commit(void **state)
{
    struct fk k = one_shard("");
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    struct ps_table x = fk_call(&k, PS_TABLE_SAVE, 1, "d");
    struct ps_table_state t;
    struct skiff_error err;
    fk_push_one(&k, s, 1, 1, 1, 0);
    fk_push_one(&k, s, 2, 1, 1, 0);
    x.token = 5;
    assert_ok(session_table(s, &x, &t, &err), err);
    assert_int_equal(t.done, 2);
    assert_string_equal(fk_list(&k, "."), ".d.skiff-save-0000000000000005 ");
    x.call = PS_TABLE_ABORT;
    x.token = 4; /* another worker's */
    assert_ok(session_table(s, &x, &t, &err), err);
    assert_string_equal(fk_list(&k, "."), ".d.skiff-save-0000000000000005 ");
    x.token = 5;
    assert_ok(session_table(s, &x, &t, &err), err);
    assert_string_equal(fk_list(&k, "."), "");
    x.call = PS_TABLE_COMMIT;
    assert_int_equal(session_table(s, &x, &t, &err), SKIFF_STATE);
    assert_non_null(
        strstr(err.message, "there is no such save or load to commit (it was aborted)"));
    x.call = PS_TABLE_SAVE;
    assert_ok(session_table(s, &x, &t, &err), err);
    assert_int_equal(t.done, 2); /* still there: nothing was committed */
    fk_push_one(&k, s, 2, 4, 2, 0);
    x.call = PS_TABLE_COMMIT;
    assert_ok(session_table(s, &x, &t, &err), err);
    assert_file(&k, "d" PLAIN, "1 7 0 1 1 1 0 0 0\n2 7 0 1 1 1 0 0 0\n");
    fk_save(&k, s, 0, "a");
    assert_file(&k, "a" GZ, "1 7 0 0 1 1 0 0 0\n2 7 0 2.2 5 3 0 0 0\n");
    x = fk_call(&k, PS_TABLE_SAVE, 3, "m");
    x.token = 6;
    assert_ok(session_table(s, &x, &t, &err), err);
    fk_push_one(&k, s, 2, 1, 0, 0);
    fk_push_one(&k, s, 3, 1, 0, 0); /* new since */
    x.call = PS_TABLE_COMMIT;
    assert_ok(session_table(s, &x, &t, &err), err);
    fk_save(&k, s, 0, "a2");
    assert_file(&k, "a2" GZ, "1 7 1 0 1 1 0 0 0\n2 7 0 2.3 6 3 0 0 0\n3 7 0 0.1 1 0 0 0 0\n");
    session_close(s);
    fk_close(&k);
}

/* Row 2 is removed and created again between SAVE and COMMIT: what it has learnt since is not
 * saved. */
static void rows_that_come_back_owe_nothing(void **state)
{
    struct fk k = one_shard("accessor.ctr_accessor_param.show_click_decay_rate 0.5\n"
                            "accessor.ctr_accessor_param.delete_threshold 4\n");
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    struct ps_table x = fk_call(&k, PS_TABLE_SAVE, 1, "d"), shrink = x;
    struct ps_table_state t;
    struct skiff_error err;
    fk_push_one(&k, s, 1, 8, 8, 0);
    fk_push_one(&k, s, 2, 6, 6, 0);
    x.token = 5;
    assert_ok(session_table(s, &x, &t, &err), err);
    assert_int_equal(t.done, 2);
    shrink.call = PS_TABLE_SHRINK;
    assert_ok(session_table(s, &shrink, &t, &err), err);
    assert_int_equal(t.done, 1);
    fk_push_one(&k, s, 1, 1, 1, 0);
    fk_push_one(&k, s, 2, 2, 2, 0);
    x.call = PS_TABLE_COMMIT;
    assert_ok(session_table(s, &x, &t, &err), err);
    assert_file(&k, "d" PLAIN, "1 7 0 8 8 8 0 0 0\n2 7 0 6 6 6 0 0 0\n");
    assert_int_equal(fk_save(&k, s, 1, "d2").done, 2);
    assert_file(&k, "d2" PLAIN, "1 7 0 1 5 5 0 0 0\n2 7 0 2 2 2 0 0 0\n");
    session_close(s);
    fk_close(&k);
}

/* 900 lines for each file; of 100,000 files no more than 4 KB each are buffered. */
static void many_files_take_bounded_memory(void **state)
{
    enum { FILES = 100000, USED = 1000, LINES = 900 };
    static const char line[] = "a line of forty bytes, without an end...";
    struct shard_files f;
    struct skiff_error err;
    char dir[] = "/tmp/skiff-features-XXXXXX", name[32];
    size_t gathered = 0;
    assert_non_null(mkdtemp(dir));
    shard_files_open(&f, FILES, false, NULL, NULL);
    for (int i = 0; i < USED; i++) {
        snprintf(name, sizeof name, "part-%05d", i);
        shard_files_name(&f, i, dir, name);
        for (int k = 0; k < LINES; k++)
            assert_ok(shard_files_add(&f, i, line, strlen(line), &err), err);
        gathered += f.files[i].text.cap;
    }
    assert_true(gathered <= (size_t)USED * 4096);
    shard_files_close(&f);
    file_remove_tree(dir);
}

/* Another server takes the folder for a stale temporary folder, and removes it only after this
 * process has opened it. */
static pid_t lock_until_opened(const char *folder)
{
    int reported[2];
    char ready;
    assert_int_equal(pipe(reported), 0);
    pid_t child = fork();
    if (!child) {
        int fd = mkdir(folder, 0777) < 0 ? -1 : open(folder, O_RDONLY | O_DIRECTORY);
        int watch = inotify_init1(IN_CLOEXEC);
        char event[sizeof(struct inotify_event) + NAME_MAX + 1];
        bool opened = fd >= 0 && flock(fd, LOCK_EX) == 0 &&
                      inotify_add_watch(watch, folder, IN_OPEN) >= 0 &&
                      write(reported[1], "x", 1) == 1 && read(watch, event, sizeof event) > 0;
        _exit(opened && rmdir(folder) == 0 ? 0 : 1);
    }
    close(reported[1]);
    assert_int_equal(read(reported[0], &ready, 1), 1);
    close(reported[0]);
    return child;
}

static void save_waits_for_who_sweeps(void **state)
{
    struct fk k = one_shard("");
    struct ps_table_state t;
    struct skiff_error err;
    char folder[2 * PATH_MAX];
    int status;
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 1, 1, 0);
    struct ps_table x = fk_call(&k, PS_TABLE_SAVE, 0, "d");
    x.token = 5;
    snprintf(folder, sizeof folder, "%s/.d.skiff-save-0000000000000005", k.root);
    pid_t child = lock_until_opened(folder);
    assert_ok(session_table(s, &x, &t, &err), err);
    assert_int_equal(t.done, 1);
    x.call = PS_TABLE_COMMIT;
    assert_ok(session_table(s, &x, &t, &err), err);
    assert_string_equal(fk_list(&k, "."), "d ");
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    session_close(s);
    fk_close(&k);
}

static void patches_have_what_was_pushed(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .shard_num = 4,
                   .settings = FK_NAIVE "enable_revert true\nshard_merge_rate 0.3\n"};
    struct ps_table x = fk_call(&k, PS_TABLE_REVERT, 0, NULL);
    struct ps_table_state t;
    struct skiff_error err;
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    for (int id = 0; id < 4; id++)
        fk_push_one(&k, s, id, 1, 0, 1);
    assert_int_equal(fk_save(&k, s, 5, "p1").done, 4);
    /* 4 shards in ceil(4 * 0.3) files: 0 and 2, 1 and 3 */
    assert_string_equal(fk_list(&k, "p1"), "part-000-00000 part-000-00001 ");
    assert_file(&k, "p1/part-000-00001", "1 7 0 0.1 1 0 -1 0 0\n3 7 0 0.1 1 0 -1 0 0\n");
    fk_push_one(&k, s, 2, 1, 0, 1);
    assert_int_equal(fk_save(&k, s, 5, "p2").done, 1);
    assert_file(&k, "p2/part-000-00000", "2 7 0 0.2 2 0 -2 -1 -1\n");
    fk_push_one(&k, s, 3, 1, 0, 1);
    assert_ok(session_table(s, &x, &t, &err), err);
    assert_int_equal(fk_save(&k, s, 5, "p3").done, 0);
    session_close(s);
    fk_close(&k);
    /* without enable_revert nothing is written */
    k = one_shard("");
    fk_open(&k);
    s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 1, 0, 1);
    assert_int_equal(fk_save(&k, s, 5, "p").done, 0);
    assert_string_equal(fk_list(&k, "."), "");
    session_close(s);
    fk_close(&k);
}

/* dim 3 of CtrCommonAccessor: show, click, embed_w */
static void caches_have_the_most_shown(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .shard_num = 2,
                   .settings = FK_NAIVE CTR "sparse_table_cache_rate 0.5\n"};
    struct skiff_error err;
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    for (int id = 0; id < 8; id++) {
        float row[4] = {7, (float)(10 * id + 10), 0, 0};
        int64_t key = id;
        assert_ok(fk_try_push(&k, s, &key, 1, 4, row, 0, &err), err);
    }
    /* 8 rows * 0.5 / 2 shards = 2 each: shows 50 and 70 of shard 0, 60 and 80 of shard 1 */
    struct ps_table_state t = fk_save(&k, s, 2, "b");
    assert_true(t.threshold == 55);
    struct ps_table x = fk_call(&k, PS_TABLE_CACHE, 2, "000_cache");
    x.threshold = t.threshold;
    assert_ok(session_table_save(s, &x, &t, &err), err);
    assert_int_equal(t.done, 3);
    assert_string_equal(fk_list(&k, "000_cache"), "part-000 ");
    assert_file(&k, "000_cache/part-000", "5 7 0 0 60 0 0\n6 7 0 0 70 0 0\n7 7 0 0 80 0 0\n");
    session_close(s);
    fk_close(&k);
}

/* Three servers for four shards: two have two each, the third has none, and no part in the mean.
 * 4 rows * 0.5 / 2 shards = 1 of each shard: shows 50 and 60 of ids 4 and 5 on server 0, 70 and 80
 * on server 1; the threshold is the mean of 55 and 75. */
static void caches_do_not_count_servers_without_shards(void **state)
{
    struct fk k = {.servers = 3,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .shard_num = 4,
                   .settings = FK_NAIVE CTR "sparse_table_cache_rate 0.5\n"};
    struct skiff_error err;
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    for (int64_t id = 0; id < 8; id++) {
        float row[4] = {7, (float)(10 * id + 10), 0, 0};
        assert_ok(fk_try_push(&k, s, &id, 1, 4, row, 0, &err), err);
    }
    struct ps_table_state t = fk_save(&k, s, 2, "b");
    assert_true(t.threshold == 65 && t.shards == 4);
    struct ps_table x = fk_call(&k, PS_TABLE_CACHE, 2, "000_cache");
    x.threshold = t.threshold;
    assert_ok(session_table_save(s, &x, &t, &err), err);
    assert_int_equal(t.done, 2);
    assert_file(&k, "000_cache/part-000", "");
    assert_file(&k, "000_cache/part-001", "6 7 0 0 70 0 0\n7 7 0 0 80 0 0\n");
    session_close(s);
    fk_close(&k);
}

/* Two servers, one file: it has lines of both. With a converter, which needs a file of its own,
 * each server has its own. */
static void caches_have_rows_of_all_servers(void **state)
{
    static const char *const settings[] = {
        FK_NAIVE CTR "sparse_table_cache_file_num 1\nenable_sparse_table_cache false\n",
        FK_NAIVE CTR "sparse_table_cache_file_num 1\n"
                     "accessor.table_accessor_save_param.param 2\n"
                     "accessor.table_accessor_save_param.converter cat\n"};
    for (int i = 0; i < 2; i++) {
        struct fk k = {.servers = 2, .trainers = 1, .mode = SKIFF_SPLIT_ASYNC, .shard_num = 2};
        struct skiff_error err;
        struct ps_table_state t;
        snprintf(k.settings, sizeof k.settings, "%s", settings[i]);
        fk_open(&k);
        struct session *s = fk_session(&k, 0);
        for (int64_t id = 0; id < 2; id++) {
            float row[4] = {7, 10, 0, 0};
            assert_ok(fk_try_push(&k, s, &id, 1, 4, row, 0, &err), err);
        }
        assert_true(fk_save(&k, s, 2, "b").threshold == (i ? 10 : 0)); /* not looked for */
        struct ps_table x = fk_call(&k, PS_TABLE_CACHE, 2, "000_cache");
        assert_ok(session_table_save(s, &x, &t, &err), err);
        assert_int_equal(t.done, 2);
        assert_string_equal(fk_list(&k, "000_cache"), i ? "part-000 part-001 " : "part-000 ");
        if (i) {
            assert_file(&k, "000_cache/part-000", "0 7 0 0 10 0 0\n");
            assert_file(&k, "000_cache/part-001", "1 7 0 0 10 0 0\n");
        } else {
            assert_int_equal(strlen(fk_text(&k, "000_cache/part-000")),
                             strlen("0 7 0 0 10 0 0\n1 7 0 0 10 0 0\n"));
        }
        session_close(s);
        fk_close(&k);
    }
}

static void converters_are_gone_through(void **state)
{
    struct fk k = one_shard("accessor.table_accessor_save_param.num 2\n"
                            "accessor.table_accessor_save_param.param 0,1\n"
                            "accessor.table_accessor_save_param.converter tr 0-9 a-j\n"
                            "accessor.table_accessor_save_param.deconverter tr a-j 0-9\n");
    struct ps_table_state t;
    struct skiff_error err;
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    fk_push_one(&k, s, 12, 1, 0, 1);
    fk_save(&k, s, 1, "d");
    assert_file(&k, "d" PLAIN, "bc h a a.b b a -b a a\n");
    assert_string_equal(fk_list(&k, "d"), "part-000-00000 ");
    fk_save(&k, s, 0, "a");
    assert_file(&k, "a" GZ, "bc h a a b a -b a a\n");
    fk_push_one(&k, s, 12, 1, 0, 1);
    struct ps_table x = fk_call(&k, PS_TABLE_LOAD, 0, "a");
    assert_ok(session_table(s, &x, &t, &err), err);
    fk_assert_row(&k, s, 12, -1, 0, 0);
    session_close(s);
    fk_close(&k);
    k = one_shard("accessor.table_accessor_save_param.param 0\n"
                  "accessor.table_accessor_save_param.converter echo no >&2; exit 3\n");
    fk_open(&k);
    s = fk_session(&k, 0);
    x = fk_call(&k, PS_TABLE_SAVE, 0, "a");
    assert_int_equal(session_table_save(s, &x, &t, &err), SKIFF_IO);
    assert_non_null(strstr(err.message, "converter: "));
    assert_non_null(strstr(err.message,
                           "part-000-00000.gz.text: pipe command `echo no >&2; exit 3` "
                           "ended with exit status 3; the end of its standard error: no"));
    assert_string_equal(fk_list(&k, "."), "");
    session_close(s);
    fk_close(&k);
}

/* A server that was killed between SAVE and COMMIT leaves the old folder, and a hidden one that the
 * next save removes. */
static void cut_saves_leave_the_old_folder(void **state)
{
    struct fk k = one_shard("");
    struct ps_table_state t;
    struct skiff_error err;
    char path[128];
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 1, 0, 1);
    fk_save(&k, s, 0, "000");
    snprintf(path, sizeof path, "%s/.000.skiff-save-00000000000000aa/part-000-00000.gz", k.root);
    assert_ok(file_write(path, "half", 4, &err), err);
    struct ps_table x = fk_call(&k, PS_TABLE_LOAD, 0, "000");
    assert_ok(session_table(s, &x, &t, &err), err);
    assert_int_equal(t.done, 1);
    fk_push_one(&k, s, 2, 1, 0, 1);
    fk_save(&k, s, 0, "000");
    assert_string_equal(fk_list(&k, "."), "000 ");
    assert_file(&k, "000" GZ, "1 7 0 0.1 1 0 -1 0 0\n2 7 0 0.1 1 0 -1 0 0\n");
    /* to a folder that cannot be written */
    snprintf(path, sizeof path, "%s/file", k.root);
    assert_ok(file_write(path, "x", 1, &err), err);
    x = fk_call(&k, PS_TABLE_SAVE, 0, "file/000");
    assert_true(session_table_save(s, &x, &t, &err) < 0);
    assert_non_null(strstr(err.message, "save of table emb: "));
    assert_non_null(strstr(err.message, "/file"));
    session_close(s);
    fk_close(&k);
}

/* A hadoop command of a few lines: afs:/... is a folder of this machine. */
static void use_hadoop(struct fk *k)
{
    struct fs_settings settings = {.uri = "afs://h:1", .user = "me", .passwd = "x"};
    struct skiff_error err;
    char script[2048], path[128];
    snprintf(script, sizeof script,
             "#!/bin/bash\nroot=%s\nshift 3; c=$1; shift\n"
             "for w; do case $w in afs:/*) set -- \"$@\" \"$root${w#afs:}\" ;;"
             " *) set -- \"$@\" \"$w\" ;; esac; shift; done\n"
             "case $c in -test) test \"$@\" ;; -mkdir) mkdir \"$@\" ;; -rm) rm \"$@\" ;;"
             " -cat) cat \"$@\" ;;"
             " -mv) case $2 in */000) [ ! -e $root/stuck ] || { rm $root/stuck; exit 1; } ;; esac;"
             " mv \"$@\" ;; -put) cp \"$@\" ;;"
             " -ls) [ -d \"$1\" ] && set -- \"$1\"/*; ls -ld --time-style=long-iso \"$@\" ;;"
             " *) exit 3 ;; esac\n",
             k->root);
    snprintf(path, sizeof path, "%s/hadoop", k->root);
    assert_ok(file_write(path, script, strlen(script), &err), err);
    assert_int_equal(chmod(path, 0755), 0);
    snprintf(settings.hadoop_bin, sizeof settings.hadoop_bin, "%s", path);
    assert_ok(fs_configure("hdfs", &settings, &err), err);
}

static void saves_go_to_other_file_systems(void **state)
{
    struct fk k = {.servers = 2,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE,
                   .shard_num = 2};
    struct ps_table x = {.call = PS_TABLE_SAVE, .table = "emb", .dir = "afs:/m/000"};
    struct ps_table_state t, states[2];
    struct skiff_error err;
    char path[128];
    fk_open(&k);
    use_hadoop(&k);
    snprintf(path, sizeof path, "%s/m", k.root);
    assert_int_equal(mkdir(path, 0777), 0);
    struct session *s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 1, 0, 0.5f);
    for (int again = 0; again < 2; again++) {
        fk_push_one(&k, s, 2, 1, 0, 0.5f);
        assert_ok(session_table_save(s, &x, &t, &err), err);
        assert_int_equal(t.done, 2);
        assert_string_equal(fk_list(&k, "m"), "000 ");
        assert_string_equal(fk_list(&k, "m/000"), "part-000-00000.gz part-001-00001.gz ");
    }
    assert_file(&k, "m/000/part-000-00000.gz", "2 7 0 0.2 2 0 -1 -0.5 -0.5\n");
    fk_push_one(&k, s, 2, 1, 0, 1);
    snprintf(path, sizeof path, "%s/stuck", k.root); /* the new folder cannot replace it, once */
    assert_ok(file_write(path, "", 0, &err), err);
    assert_true(session_table_save(s, &x, &t, &err) < 0);
    assert_string_equal(fk_list(&k, "m"), "000 ");
    assert_file(&k, "m/000/part-000-00000.gz", "2 7 0 0.2 2 0 -1 -0.5 -0.5\n");
    x.call = PS_TABLE_LOAD;
    assert_ok(session_table(s, &x, states, &err), err);
    fk_assert_row(&k, s, 2, -1, -0.5f, -0.5f);
    session_close(s);
    fk_close(&k);
}

struct saving {
    struct fk *k;
    struct session *s;
    pthread_t thread;
    enum skiff_status status;
    struct skiff_error err;
};

static void *save_in_thread(void *arg)
{
    struct saving *v = arg;
    struct ps_table x = fk_call(v->k, PS_TABLE_SAVE, 0, "a");
    struct ps_table_state t;
    v->status = session_table_save(v->s, &x, &t, &v->err);
    return NULL;
}

/* An epoch's snapshot and a save need the same table: the save waits, and both succeed. */
static void saves_wait_for_snapshots(void **state)
{
    struct fk k = one_shard("");
    struct skiff_error err;
    struct saving v = {.k = &k};
    fk_open(&k);
    struct session *s = v.s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 1, 0, 1);
    assert_ok(session_tag(s, "mark", &err), err);
    fk_push_one(&k, s, 1, 1, 0, 1);
    assert_int_equal(pthread_create(&v.thread, NULL, save_in_thread, &v), 0);
    struct skiff_tensor rows = {0};
    uint64_t cursor = 0;
    assert_ok(session_pull_records(s, "mark", 0, "emb", &cursor, 100, &rows, &err), err);
    assert_ok(session_untag(s, "mark", &err), err);
    pthread_join(v.thread, NULL);
    assert_ok(v.status, v.err);
    assert_file(&k, "a" GZ, "1 7 0 0.2 2 0 -2 -1 -1\n");
    value_deinit(&rows);
    assert_ok(session_tag(s, "again", &err), err);
    assert_ok(session_untag(s, "again", &err), err);
    session_close(s);
    fk_close(&k);
}

static void *save_token_five(void *arg)
{
    struct saving *v = arg;
    struct ps_table x = fk_call(v->k, PS_TABLE_SAVE, 0, "a");
    struct ps_table_state t;
    x.token = 5;
    v->status = session_table(v->s, &x, &t, &v->err);
    return NULL;
}

static void converters_end_with_the_server(void **state)
{
    struct fk k = one_shard("accessor.table_accessor_save_param.param 0\n"
                            "accessor.table_accessor_save_param.converter sleep 1000\n");
    struct saving v = {.k = &k};
    fk_open(&k);
    v.s = fk_session(&k, 0);
    assert_int_equal(pthread_create(&v.thread, NULL, save_token_five, &v), 0);
    while (!strstr(fk_list(&k, ".a.skiff-save-0000000000000005"), ".text"))
        ; /* popen takes a millisecond */
    server_stop(k.server[0]);
    pthread_join(v.thread, NULL);
    assert_true(v.status < 0);
    pthread_join(k.thread[0], NULL);
    k.thread[0] = 0;
    assert_string_equal(fk_list(&k, "."), "");
    session_close(v.s);
    fk_close(&k);
}

struct training {
    struct fk *k;
    struct session *s;
    atomic_bool stop;
    int pushes;
};

static void *train(void *arg)
{
    struct training *x = arg;
    for (; !atomic_load(&x->stop); x->pushes++) {
        int64_t ids[200];
        float rows[200][FK_PUSHED];
        for (int i = 0; i < 200; i++) {
            ids[i] = i * 7;
            for (int c = 0; c < FK_PUSHED; c++)
                rows[i][c] = 1;
        }
        fk_push(x->k, x->s, ids, 200, rows[0]);
    }
    return NULL;
}

/* All rows of a save have seen the same pushes. */
static void saves_are_of_one_instant(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 2,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE,
                   .shard_num = 1};
    fk_open(&k);
    struct training x = {.k = &k, .s = fk_session(&k, 0)};
    struct session *s = fk_session(&k, 1);
    pthread_t thread;
    for (int i = 0; i < 10; i++) /* rows of other trainers, which have another slot */
        fk_push_one(&k, s, i * 14000 + 1, 1, 0, 1);
    assert_int_equal(pthread_create(&thread, NULL, train, &x), 0);
    while (fk_all(&k, s, PS_TABLE_STAT).rows < 210)
        ;
    for (int n = 0; n < 10; n++) {
        fk_save(&k, s, 0, "a");
        const char *at = fk_text(&k, "a" GZ);
        float first = 0;
        for (int rows = 0; *at; at = strchr(at, '\n') + 1) {
            unsigned long long key;
            float slot, unseen, delta, show;
            assert_int_equal(sscanf(at, "%llu %f %f %f %f", &key, &slot, &unseen, &delta, &show),
                             5);
            if (slot != 1)
                continue; /* not one of those */
            first = rows++ ? first : show;
            assert_true(show == first);
        }
        assert_true(first > 0);
    }
    atomic_store(&x.stop, true);
    pthread_join(thread, NULL);
    session_close(s);
    session_close(x.s);
    fk_close(&k);
}

/* ---- kill -9 ---- */

#define KILLED_ROWS 5000

/* A job whose rows all have the save's number as their slot; saves without end. */
static _Noreturn void save_for_ever(const char *root, int number)
{
    struct fk k = {.servers = 2,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE,
                   .shard_num = 4};
    static int64_t ids[KILLED_ROWS];
    static float rows[KILLED_ROWS][FK_PUSHED];
    struct ps_table x = {.call = PS_TABLE_SAVE, .table = "emb"};
    struct ps_table_state t;
    struct skiff_error err;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* not longer than the test */
    fk_open(&k);
    rmdir(k.root); /* no process will close it */
    struct session *s = fk_session(&k, 0);
    snprintf(x.dir, sizeof x.dir, "%s/000", root);
    for (;; number++) {
        for (int i = 0; i < KILLED_ROWS; i++) {
            ids[i] = i;
            rows[i][0] = (float)number;
            rows[i][1] = 1;
        }
        fk_push(&k, s, ids, KILLED_ROWS, rows[0]);
        if (session_table_save(s, &x, &t, &err) < 0)
            _exit(1);
    }
}

/* All rows, of one save. */
static void assert_one_save(struct fk *k)
{
    int rows = 0;
    float first = 0;
    assert_string_equal(fk_list(k, "000"),
                        "part-000-00000.gz part-000-00001.gz part-001-00002.gz part-001-00003.gz ");
    for (int i = 0; i < 4; i++) {
        char file[64];
        snprintf(file, sizeof file, "000/part-%03d-%05d.gz", i / 2, i);
        for (const char *at = fk_text(k, file); *at; at = strchr(at, '\n') + 1, rows++) {
            unsigned long long key;
            float slot;
            assert_int_equal(sscanf(at, "%llu %f", &key, &slot), 2);
            first = rows ? first : slot;
            assert_true(slot == first);
        }
    }
    assert_int_equal(rows, KILLED_ROWS);
}

static void killed_servers_leave_old_or_new(void **state)
{
    struct fk k = {0};
    char path[128];
    strcpy(k.root, "/tmp/skiff-features-XXXXXX");
    assert_non_null(mkdtemp(k.root));
    snprintf(path, sizeof path, "%s/000", k.root);
    for (int step = 0; step < 5; step++) {
        struct stat before = {0}, now = {0};
        stat(path, &before);
        pid_t pid = fork();
        if (!pid)
            save_for_ever(k.root, 1000 * (step + 1));
        while (stat(path, &now) < 0 || now.st_ino == before.st_ino) /* its first save is there */
            assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
        usleep((useconds_t)step * 7000); /* somewhere in a later one */
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_one_save(&k);
    }
    file_remove_tree(k.root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_have_their_rows_and_counters),
        cmocka_unit_test(counters_change_at_the_commit),
        cmocka_unit_test(rows_that_come_back_owe_nothing),
        cmocka_unit_test(many_files_take_bounded_memory),
        cmocka_unit_test(save_waits_for_who_sweeps),
        cmocka_unit_test(patches_have_what_was_pushed),
        cmocka_unit_test(caches_have_the_most_shown),
        cmocka_unit_test(caches_do_not_count_servers_without_shards),
        cmocka_unit_test(caches_have_rows_of_all_servers),
        cmocka_unit_test(converters_are_gone_through),
        cmocka_unit_test(cut_saves_leave_the_old_folder),
        cmocka_unit_test(saves_go_to_other_file_systems),
        cmocka_unit_test(saves_wait_for_snapshots),
        cmocka_unit_test(converters_end_with_the_server),
        cmocka_unit_test(saves_are_of_one_instant),
        cmocka_unit_test(killed_servers_leave_old_or_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
