/* Sparse tables on servers: rows, rules, shards, steps, shrinks, saves. */
#include <math.h>
#include <sys/stat.h>

#include "server/sparse_fixture_test.h"

static enum skiff_status try_load(struct fk *k, struct session *s, const char *dir,
                                  struct ps_table_state *states, struct skiff_error *err)
{
    struct ps_table x = fk_call(k, PS_TABLE_LOAD, 0, dir);
    return session_table(s, &x, states, err);
}

static void pulls_make_no_rows(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE,
                   .shard_num = 4};
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    int64_t ids[3] = {1, -2, 1};
    float out[9];
    memset(out, 9, sizeof out);
    fk_pull(&k, s, ids, 3, out);
    for (int i = 0; i < 9; i++)
        assert_true(out[i] == 0);
    assert_int_equal(fk_all(&k, s, PS_TABLE_STAT).rows, 0);
    /* the first push creates the row and moves embed_w; embedx learns from the next one on */
    fk_push_one(&k, s, -2, 1, 0, 0.5f);
    fk_assert_row(&k, s, -2, -0.5f, 0, 0);
    fk_push_one(&k, s, -2, 1, 0, 0.25f);
    fk_assert_row(&k, s, -2, -0.75f, -0.25f, -0.25f);
    struct ps_table_state stat = fk_all(&k, s, PS_TABLE_STAT);
    assert_true(stat.rows == 1 && stat.admitted == 1 && stat.bytes > 0);
    session_close(s);
    fk_close(&k);
}

/* 5 shards on 2 servers: 0, 1, 2 and 3, 4. */
static void rows_lie_by_shards(void **state)
{
    struct fk k = {.servers = 2,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE,
                   .shard_num = 5};
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    struct ps_table x = fk_call(&k, PS_TABLE_STAT, 0, NULL);
    struct ps_table_state states[2];
    struct skiff_error err;
    float rows[10][FK_PUSHED], out[10][FK_DIM];
    int64_t ids[10];
    for (int i = 0; i < 10; i++) {
        ids[i] = i - 1; /* id -1 is key 2^64 - 1, which is 0 modulo 5 */
        for (int c = 0; c < FK_PUSHED; c++)
            rows[i][c] = (float)(c == 1 ? 1 : c == 2 ? 0 : i);
    }
    fk_push(&k, s, ids, 10, rows[0]);
    fk_pull(&k, s, ids, 10, out[0]);
    for (int i = 0; i < 10; i++)
        assert_true(out[i][0] == (float)-i && out[i][1] == 0);
    assert_ok(session_table(s, &x, states, &err), err);
    assert_true(states[0].rows == 7 && states[1].rows == 3); /* 0 1 2 5 6 7 -1; 3 4 8 */
    /* the rule of a plain slice would ask the wrong server */
    struct fk_slices plain;
    fk_slices(&k, "emb", &plain);
    plain.s.shards = 0;
    assert_int_equal(session_pull_rows(s, &plain.s, ids + 2, 1, FK_DIM, out[0], &err), SKIFF_RANGE);
    assert_non_null(strstr(err.message, "table emb: id 1 does not belong to server 1"));
    assert_non_null(strstr(err.message, "id modulo shard_num, split for 2 servers"));
    session_close(s);
    fk_close(&k);
}

static void pushes_have_the_accessors_width(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE,
                   .shard_num = 1};
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    struct skiff_error err;
    int64_t id = 1;
    float row[FK_PUSHED] = {0};
    assert_int_equal(fk_try_push(&k, s, &id, 1, FK_DIM, row, 0, &err), SKIFF_SHAPE);
    assert_non_null(strstr(err.message, "table emb expects rows of 6 numbers (slot, show, click, "
                                        "gradients)"));
    assert_int_equal(fk_all(&k, s, PS_TABLE_STAT).rows, 0);
    session_close(s);
    fk_close(&k);
}

static void shrinks_take_old_rows(void **state)
{
    struct fk k = {.servers = 2,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .shard_num = 4,
                   .settings = FK_NAIVE "accessor.ctr_accessor_param.show_click_decay_rate 0.5\n"
                                        "accessor.ctr_accessor_param.delete_threshold 0.3\n"};
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 4, 0, 1); /* score 0.4; after a shrink 0.2 */
    fk_push_one(&k, s, 2, 4, 2, 1); /* score 2.2; then 1.1 */
    fk_push_one(&k, s, 3, 8, 0, 1); /* score 0.8; then 0.4, then 0.2 */
    struct ps_table_state stat = fk_all(&k, s, PS_TABLE_SHRINK);
    assert_true(stat.done == 1 && stat.rows == 2 && stat.expired == 1);
    fk_assert_row(&k, s, 1, 0, 0, 0);
    fk_assert_row(&k, s, 2, -1, 0, 0);
    stat = fk_all(&k, s, PS_TABLE_SHRINK);
    assert_true(stat.done == 1 && stat.rows == 1 && stat.expired == 2);
    session_close(s);
    fk_close(&k);
}

static void saves_write_every_shard(void **state)
{
    struct fk k = {.servers = 2,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE,
                   .shard_num = 3};
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 1, 0, 0.5f);
    fk_push_one(&k, s, 1, 1, 1, 0.25f);
    fk_push_one(&k, s, -2, 1, 0, 1e-7f); /* 2^64 - 2 is 2 modulo 3 */
    assert_int_equal(fk_save(&k, s, 0, "000").done, 2);
    assert_string_equal(fk_list(&k, "000"),
                        "part-000-00000.gz part-000-00001.gz part-001-00002.gz ");
    assert_string_equal(fk_list(&k, "."), "000 ");
    assert_string_equal(fk_text(&k, "000/part-000-00000.gz"), "");
    assert_string_equal(fk_text(&k, "000/part-000-00001.gz"), "1 7 0 1.1 2 1 -0.75 -0.25 -0.25\n");
    assert_string_equal(fk_text(&k, "000/part-001-00002.gz"),
                        "18446744073709551614 7 0 0.1 1 0 -1e-07 0 0\n");
    /* again to the same folder: old shard files are removed, other files stay */
    char path[128];
    struct skiff_error err;
    snprintf(path, sizeof path, "%s/000/part-000-00077", k.root);
    assert_ok(file_write(path, "old", 3, &err), err);
    snprintf(path, sizeof path, "%s/000/readme", k.root);
    assert_ok(file_write(path, "mine", 4, &err), err);
    fk_push_one(&k, s, 1, 1, 0, -0.75f);
    assert_int_equal(fk_save(&k, s, 0, "000/").done, 2);
    assert_string_equal(fk_list(&k, "000"),
                        "part-000-00000.gz part-000-00001.gz part-001-00002.gz readme ");
    assert_string_equal(fk_list(&k, "."), "000 ");
    assert_string_equal(fk_text(&k, "000/part-000-00001.gz"), "1 7 0 1.2 3 1 0 0.5 0.5\n");
    session_close(s);
    fk_close(&k);
}

static void put_file(struct fk *k, const char *name, const char *text)
{
    char path[128];
    struct skiff_error err;
    snprintf(path, sizeof path, "%s/%s", k->root, name);
    assert_ok(file_write(path, text, strlen(text), &err), err);
}

static void loads_bring_rows_back(void **state)
{
    struct fk k = {.servers = 2,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE,
                   .shard_num = 3};
    struct ps_table_state states[2];
    struct skiff_error err;
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    /* an empty table; plain files, as users write them; a row in the wrong file */
    put_file(&k, "000/part-000-00000", "3 7 0 0.5 2 1 -0.75 -0.25 -0.5\n4 1 2 3 4 1 0.5\n");
    put_file(&k, "000/part-000-00001", "");
    put_file(&k, "000/part-001-00002", "5 1 0 0 1 0 2 3 4");
    assert_ok(try_load(&k, s, "000", states, &err), err);
    assert_true(states[0].done == 2 && states[0].rows == 2);
    assert_true(states[1].done == 1 && states[1].rows == 1);
    fk_assert_row(&k, s, 3, -0.75f, -0.25f, -0.5f);
    fk_assert_row(&k, s, 4, 0.5f, 0, 0);
    fk_assert_row(&k, s, 5, 2, 3, 4);
    put_file(&k, "001/part-000-00000", "5 1 0 0 1 0 7 8 9\n");
    put_file(&k, "001/part-000-00001", "");
    put_file(&k, "001/part-001-00002", "6 1 0 0 1 0 1 1 1\n");
    assert_ok(try_load(&k, s, "001", states, &err), err);
    fk_assert_row(&k, s, 5, 7, 8, 9);
    fk_assert_row(&k, s, 6, 1, 1, 1);
    fk_assert_row(&k, s, 3, -0.75f, -0.25f, -0.5f); /* rows that are not in the files stay */
    /* a save can be loaded again */
    fk_save(&k, s, 0, "002");
    fk_push_one(&k, s, 3, 1, 0, 10);
    assert_ok(try_load(&k, s, "002", states, &err), err);
    fk_assert_row(&k, s, 3, -0.75f, -0.25f, -0.5f);
    session_close(s);
    fk_close(&k);
}

static void assert_refused(struct fk *k, struct session *s, const char *dir, const char *text)
{
    struct ps_table_state states[2];
    struct skiff_error err;
    if (try_load(k, s, dir, states, &err) >= 0)
        fail_msg("%s was loaded", dir);
    if (!strstr(err.message, text))
        fail_msg("\"%s\" is not in: %s", text, err.message);
    fk_assert_row(k, s, 1, -0.5f, 0, 0);
    fk_assert_row(k, s, 2, -0.5f, 0, 0);
    assert_int_equal(fk_all(k, s, PS_TABLE_STAT).rows, 2);
}

/* A bad file on one server leaves all servers unchanged. */
static void loads_with_faults_change_nothing(void **state)
{
    struct fk k = {.servers = 2,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE,
                   .shard_num = 2};
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 1, 0, 0.5f);
    fk_push_one(&k, s, 2, 1, 0, 0.5f);
    assert_refused(&k, s, "none", "/none");
    put_file(&k, "few/part-000-00000", "2 1 0 0 1 0 7 8 9\n");
    assert_refused(&k, s, "few",
                   "/few has 1 files part-*, table emb has shard_num 2: there must be "
                   "one file for each shard");
    put_file(&k, "bad/part-000-00000", "2 1 0 0 1 0 7 8 9\n");
    put_file(&k, "bad/part-001-00001", "1 1 0 0 1 0 7 8 9\n3 1 0 x 1 0 7 8 9\n");
    assert_refused(&k, s, "bad", "/bad/part-001-00001:2: key 3, number 3: \"x\" is not a number");
    put_file(&k, "wide/part-000-00000", "2 1 0 0 1 0 7 8\n");
    put_file(&k, "wide/part-001-00001", "");
    assert_refused(&k, s, "wide",
                   "/wide/part-000-00000:1: key 2: 7 numbers; accessor sparse has 6");
    put_file(&k, "gz/part-000-00000.gz", "\x1f\x8b\x08 cut");
    put_file(&k, "gz/part-001-00001.gz", "");
    assert_refused(&k, s, "gz", "/gz/part-000-00000.gz: ");
    put_file(&k, ".cut.skiff-save-0123/part-000-00000", "");
    assert_refused(&k, s, "cut", "a save was interrupted while it replaced it");
    session_close(s);
    fk_close(&k);
}

/* Trainer 1's push arrives first; trainer 0's is applied first all the same, and nothing is
 * averaged. */
static void steps_are_in_trainer_order(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 2,
                   .mode = SKIFF_SPLIT_SYNC,
                   .settings = FK_NAIVE,
                   .shard_num = 1};
    fk_open(&k);
    struct fk_trainer t[2];
    for (int i = 0; i < 2; i++)
        t[i] = (struct fk_trainer){.k = &k, .s = fk_session(&k, i)};
    float rows[2][FK_PUSHED] = {{3, 1, 0, 1, 4, 4}, {4, 1, 1, 2, 5, 5}};
    for (int i = 1; i >= 0; i--) {
        memcpy(t[i].row, rows[i], sizeof rows[i]);
        assert_int_equal(pthread_create(&t[i].thread, NULL, fk_trainer_step, &t[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i].thread, NULL);
        assert_ok(t[i].status, t[i].err);
    }
    /* trainer 0 created the row and lost its embedx gradient; trainer 1's counted, and its slot */
    fk_assert_row(&k, t[0].s, 1, -3, -5, -5);
    fk_save(&k, t[0].s, 0, "000");
    assert_string_equal(fk_text(&k, "000/part-000-00000.gz"), "1 4 0 1.1 2 1 -3 -5 -5\n");
    session_close(t[0].s);
    session_close(t[1].s);
    fk_close(&k);
}

static void rare_ids_have_to_wait(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE "entry count_filter_entry:5\n",
                   .shard_num = 1};
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 4, 0, 1); /* seen four times */
    fk_push_one(&k, s, 2, 5, 0, 1); /* five times */
    fk_assert_row(&k, s, 1, 0, 0, 0);
    fk_assert_row(&k, s, 2, -1, 0, 0);
    struct ps_table_state stat = fk_all(&k, s, PS_TABLE_STAT);
    assert_true(stat.rows == 1 && stat.admitted == 1 && stat.refused == 1);
    fk_push_one(&k, s, 1, 1, 0, 1); /* the fifth */
    fk_assert_row(&k, s, 1, -1, 0, 0);
    session_close(s);
    fk_close(&k);
}

/* A worker may send any number: the reply does not take longer for that. */
static void any_show_is_counted(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE "entry count_filter_entry:4000000000000\n",
                   .shard_num = 1};
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 1e30f, 0, 1);
    fk_push_one(&k, s, 1, 1e30f, 0, 1);
    fk_push_one(&k, s, 2, INFINITY, 0, 1);
    fk_push_one(&k, s, 3, -NAN, 0, 1);
    struct ps_table_state stat = fk_all(&k, s, PS_TABLE_STAT);
    assert_true(stat.rows == 0 && stat.refused == 4);
    session_close(s);
    fk_close(&k);
}

static void push_many(struct fk *k, struct session *s, int64_t first, int n, float clicks)
{
    int64_t ids[1000];
    float rows[1000][FK_PUSHED];
    for (int i = 0; i < n; i++) {
        ids[i] = first + i;
        memcpy(rows[i], (float[FK_PUSHED]){7, 2 + clicks, clicks, 1, 1, 1}, sizeof *rows);
    }
    fk_push(k, s, ids, (size_t)n, rows[0]);
}

/* At a limit the rows with the lowest score are evicted: not the newly admitted ones, whose clicks
 * are in the same push. */
static void admitted_rows_learn_before_they_are_scored(void **state)
{
    struct fk k = {.servers = 1, .trainers = 1, .mode = SKIFF_SPLIT_ASYNC, .shard_num = 1};
    snprintf(k.settings, sizeof k.settings,
             FK_NAIVE "entry count_filter_entry:2\nmemory_limit 160K\n");
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    for (int i = 0; i < 5; i++)
        push_many(&k, s, 1000 * i, 1000, 0);
    assert_true(fk_all(&k, s, PS_TABLE_STAT).rows < 4000); /* it is full */
    push_many(&k, s, 10000, 200, 5);
    for (int i = 0; i < 200; i++)
        fk_assert_row(&k, s, 10000 + i, -1, 0, 0);
    session_close(s);
    fk_close(&k);
}

/* ---- our own saves ---- */

/* Copies all records of a snapshot, through rows of a file, to another server. */
static size_t pull_records(struct session *s, int server, int64_t *ids, float (*rows)[16],
                           size_t max)
{
    struct skiff_tensor some = {0};
    struct skiff_error err;
    uint64_t cursor = 0;
    size_t n = 0;
    do {
        assert_ok(session_pull_records(s, "mark", server, "emb", &cursor, 3, &some, &err), err);
        size_t width = (size_t)some.tensor.shape.dims[1];
        assert_int_equal(width, 9); /* stamp; show click embed_w embedx_w[2] slot unseen delta */
        for (size_t i = 0; i < some.sel.nrows; i++, n++) {
            assert_true(n < max);
            ids[n] = some.sel.rows[i];
            memcpy(rows[n], tensor_f32(&some.tensor) + i * width, width * sizeof(float));
        }
    } while (cursor);
    value_deinit(&some);
    return n;
}

static void snapshots_have_whole_records(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE "accessor.ctr_accessor_param.delete_threshold 0.3\n",
                   .shard_num = 2};
    struct skiff_error err;
    int64_t ids[64];
    float rows[64][16];
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    for (int id = 1; id <= 10; id++)
        fk_push_one(&k, s, id, (float)id, 0, 0.5f);
    assert_ok(session_tag(s, "mark", &err), err);
    fk_push_one(&k, s, 4, 1, 0, 0.25f);                       /* changed since */
    fk_push_one(&k, s, 77, 9, 0, 0);                          /* new since */
    assert_int_equal(fk_all(&k, s, PS_TABLE_SHRINK).done, 2); /* 1 and 2 were removed since */
    size_t n = pull_records(s, 0, ids, rows, 64);
    assert_int_equal(n, 10);
    bool seen[11] = {false};
    for (size_t i = 0; i < n; i++) {
        assert_in_range(ids[i], 1, 10);
        assert_false(seen[ids[i]]);
        seen[ids[i]] = true;
        float delta = rows[i][8];
        assert_true(rows[i][0] == 3 && rows[i][1] == (float)ids[i] && rows[i][2] == 0);
        assert_true(rows[i][3] == -0.5f && rows[i][4] == 0 && rows[i][5] == 0);
        assert_true(rows[i][6] == 7 && rows[i][7] == 0 && delta == (float)ids[i] * 0.1f);
    }
    assert_ok(session_untag(s, "mark", &err), err);
    session_close(s);
    fk_close(&k);
}

/* init_server(folder): shard files of a save, by any number of servers */
static void servers_start_from_shard_files(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE,
                   .shard_num = 3};
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    for (int id = 1; id <= 10; id++)
        fk_push_one(&k, s, id, 1, 0, (float)id / 16);
    fk_save(&k, s, 0, "model/000");
    char model[128], saved[64];
    snprintf(model, sizeof model, "%s/model", k.root);
    strcpy(saved, k.root);
    struct fk k2 = {.servers = 2,
                    .trainers = 1,
                    .mode = SKIFF_SPLIT_ASYNC,
                    .settings = FK_NAIVE,
                    .load = model,
                    .shard_num = 3};
    fk_open(&k2);
    struct session *s2 = fk_session(&k2, 0);
    for (int id = 1; id <= 10; id++)
        fk_assert_row(&k2, s2, id, (float)-id / 16, 0, 0);
    assert_int_equal(fk_all(&k2, s2, PS_TABLE_STAT).rows, 10);
    session_close(s2);
    fk_close(&k2);
    session_close(s);
    fk_close(&k);
}

/* The files of our own saves: other servers have exactly the same records afterwards. */
static void servers_start_from_records(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE "accessor.embedx_threshold 1\n",
                   .shard_num = 3};
    struct skiff_error err;
    struct skiff_tensor rows = {0};
    uint64_t cursor = 0;
    char path[128], model[128];
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    for (int i = 0; i < 100; i++) /* some have embedx, some have none yet */
        fk_push_one(&k, s, i % 10, (float)(i % 10), 0, (float)i / 777);
    assert_ok(session_tag(s, "mark", &err), err);
    for (int piece = 0; !piece || cursor; piece++) {
        assert_ok(session_pull_records(s, "mark", 0, "emb", &cursor, 4, &rows, &err), err);
        snprintf(path, sizeof path, "%s/m/__lookup_table__/emb.pserver_0.%05d", k.root, piece);
        assert_ok(value_file_write(path, &rows, &err), err);
    }
    value_deinit(&rows);
    snprintf(model, sizeof model, "%s/m", k.root);
    struct fk k2 = {.servers = 2,
                    .trainers = 1,
                    .mode = SKIFF_SPLIT_ASYNC,
                    .settings = FK_NAIVE "accessor.embedx_threshold 1\n",
                    .load = model,
                    .shard_num = 3};
    fk_open(&k2);
    struct session *s2 = fk_session(&k2, 0);
    int64_t ids[10];
    float a[10][FK_DIM], b[10][FK_DIM];
    for (int more = 0; more < 2; more++) {
        for (int i = 0; i < 10; i++)
            ids[i] = i;
        fk_pull(&k, s, ids, 10, a[0]);
        fk_pull(&k2, s2, ids, 10, b[0]);
        assert_memory_equal(a, b, sizeof a);
        for (int i = 0; i < 10; i++) { /* and train on in the same way */
            fk_push_one(&k, s, i, 1, 0, 0.3f);
            fk_push_one(&k2, s2, i, 1, 0, 0.3f);
        }
    }
    assert_true(a[9][1] != 0 && a[0][0] != 0 && a[0][1] == 0);
    session_close(s2);
    fk_close(&k2);
    session_close(s);
    fk_close(&k);
}

/* 40,000 rows with memory for some thousands: the others are on disk, and nothing is lost. */
static void lie_on_disk(const char *limit)
{
    enum { ROWS = 40000, SOME = 4000 };
    struct fk k = {.servers = 1,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE "memory_policy disk\n",
                   .shard_num = 2};
    struct ps_table_state states[1];
    struct skiff_error err;
    static float rows[SOME][FK_PUSHED], out[SOME][FK_DIM];
    static int64_t ids[SOME];
    char path[64] = "/tmp/skiff-features-XXXXXX";
    assert_non_null(mkdtemp(path));
    snprintf(k.settings + strlen(k.settings), sizeof k.settings - strlen(k.settings),
             "memory_limit %s\npath %s\n", limit, path);
    char left[96]; /* left by a process that was killed during a load */
    snprintf(left, sizeof left, "%s/emb.server_0.load", path);
    assert_int_equal(mkdir(left, 0777), 0);
    fk_open(&k);
    assert_false(file_exists(left));
    struct session *s = fk_session(&k, 0);
    for (int64_t at = 0; at < ROWS; at += SOME) {
        for (int i = 0; i < SOME; i++) {
            ids[i] = at + i;
            rows[i][1] = 1;
            rows[i][3] = (float)(at + i) / ROWS;
        }
        fk_push(&k, s, ids, SOME, rows[0]);
    }
    fk_save(&k, s, 0, "000");
    assert_ok(try_load(&k, s, "000", states, &err), err);
    assert_true(states[0].done == ROWS && states[0].rows == ROWS && states[0].disk_rows > 0);
    for (int64_t at = 0; at < ROWS; at += SOME) {
        for (int i = 0; i < SOME; i++)
            ids[i] = at + i;
        fk_pull(&k, s, ids, SOME, out[0]);
        for (int i = 0; i < SOME; i++) {
            float expected = -(float)(at + i) / ROWS, was = out[i][0];
            assert_true(was - expected < 1e-6f &&
                        expected - was < 1e-6f); /* six digits are saved */
        }
    }
    session_close(s);
    fk_close(&k);
    file_remove_tree(path);
}

static void rows_beyond_memory_are_on_disk(void **state)
{
    lie_on_disk("1M");
}

/* A limit whose share for a load would be less than a table needs. */
static void a_small_limit_is_enough_for_loads(void **state)
{
    lie_on_disk("100K");
}

static void numbers_stand_in_the_registry(void **state)
{
    struct fk k = {.servers = 1,
                   .trainers = 1,
                   .mode = SKIFF_SPLIT_ASYNC,
                   .settings = FK_NAIVE "accessor.ctr_accessor_param.delete_threshold 0.3\n",
                   .shard_num = 1};
    fk_open(&k);
    struct session *s = fk_session(&k, 0);
    fk_push_one(&k, s, 1, 1, 0, 1);
    fk_push_one(&k, s, 2, 9, 0, 1);
    fk_push_one(&k, s, 3, 9, 0, 1);
    struct ps_table_state stat = fk_all(&k, s, PS_TABLE_SHRINK);
    struct metrics_snapshot now = {0};
    struct buf text = BUF_INIT;
    char bytes[64];
    snapshot_add(&now, server_metrics(k.server[0]));
    snapshot_text(&now, &text);
    snapshot_deinit(&now);
    snprintf(bytes, sizeof bytes, "table_bytes=%llu ", (unsigned long long)stat.bytes);
    assert_non_null(strstr(text.data, "table_rows=2 "));
    assert_non_null(strstr(text.data, bytes));
    assert_non_null(strstr(text.data, "table_admitted=3 "));
    assert_non_null(strstr(text.data, "table_expired=1"));
    buf_deinit(&text);
    session_close(s);
    fk_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pulls_make_no_rows),
        cmocka_unit_test(rows_lie_by_shards),
        cmocka_unit_test(pushes_have_the_accessors_width),
        cmocka_unit_test(shrinks_take_old_rows),
        cmocka_unit_test(steps_are_in_trainer_order),
        cmocka_unit_test(rare_ids_have_to_wait),
        cmocka_unit_test(any_show_is_counted),
        cmocka_unit_test(saves_write_every_shard),
        cmocka_unit_test(snapshots_have_whole_records),
        cmocka_unit_test(servers_start_from_shard_files),
        cmocka_unit_test(servers_start_from_records),
        cmocka_unit_test(rows_beyond_memory_are_on_disk),
        cmocka_unit_test(a_small_limit_is_enough_for_loads),
        cmocka_unit_test(numbers_stand_in_the_registry),
        cmocka_unit_test(admitted_rows_learn_before_they_are_scored),
        cmocka_unit_test(loads_bring_rows_back),
        cmocka_unit_test(loads_with_faults_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
