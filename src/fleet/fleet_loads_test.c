/* Sparse tables and dense parameters together: one job saves to a folder at a time; a load
 * counts as a whole or not at all. */
#include <signal.h>
#include <sys/wait.h>

#include "fleet/epochs.h"
#include "fleet/fleet_tables_fixture_test.h"

/* ---- two jobs do not save to one folder at the same time ---- */

static void slow_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                      struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    static const int64_t ids[SAMPLES] = {7, 9};
    step(exe, skiff_fleet_main_program(f), ids, 0, 0);
    or_die(skiff_fleet_save_model(f, in_folder("shared"), 1, &err), &err); /* waits for "hold" */
    or_die(skiff_fleet_save_model(f, in_folder("slow"), 0, &err), &err);
}

static void *slow_job(void *arg)
{
    table_job_run(arg);
    return NULL;
}

static void second_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                        struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    char text[400], host[200] = "";
    while (file_size(in_folder("shared"), ".skiff_lock") < 1)
        usleep(1000);
    gethostname(host, sizeof(host) - 1);
    snprintf(text, sizeof(text),
             "%s is being saved to by another job: process %d on %s, worker 0, since ",
             in_folder("shared"), (int)getpid(), host);
    reported(skiff_fleet_save_model(f, in_folder("shared"), 1, &err), &err, text);
    reported(skiff_fleet_save_cache(f, 0, in_folder("shared"), 1, NULL, &err), &err, text);
    reported(skiff_fleet_begin_save(f, in_folder("shared"), &err), &err, text);
    or_die(skiff_fleet_save_model(f, in_folder("other"), 1, &err), &err);
    shell("rm %s/hold", folder);
    while (skiff_fleet_begin_save(f, in_folder("shared"), &err) < 0)
        usleep(1000);
    or_die(skiff_fleet_save_table(f, 0, in_folder("shared"), 1, &err), &err);
    assert_true(file_size(in_folder("shared"), ".skiff_lock") > 0);
    skiff_fleet_end_save(f);
    assert_true(file_size(in_folder("shared"), ".skiff_lock") < 0);
}

static void one_job_saves_at_a_time(void **state)
{
    char waits[2048];
    snprintf(waits, sizeof(waits),
             "%saccessor.table_accessor_save_param.0.param 1\n"
             "accessor.table_accessor_save_param.0.converter while test -e %s; do sleep 0.01; "
             "done; cat\n",
             settings, in_folder("hold"));
    struct table_job slow = {.mode = "async",
                             .optimizer = "adam",
                             .servers = 2,
                             .workers = 1,
                             .work = slow_work,
                             .settings = waits};
    struct table_job other = {
        .mode = "async", .optimizer = "adam", .servers = 1, .workers = 1, .work = second_work};
    pthread_t thread;
    (void)state;
    shell("touch %s/hold", folder);
    pthread_create(&thread, NULL, slow_job, &slow);
    table_job_run(&other);
    pthread_join(thread, NULL);
    shell("test \"$(cd %s/shared && ls -A | tr '\\n' ' ')\" = '000 001 '", folder);
}

/* ---- a load that fails has changed nothing ---- */

/* What the job holds is what `name` has, in all tables. */
static void holds(struct skiff_fleet *f, const char *name)
{
    struct skiff_error err = {0};
    or_die(skiff_fleet_save_model(f, in_folder("held"), 0, &err), &err);
    for (int t = 0; t < 3; t++) {
        char number[8];
        snprintf(number, sizeof(number), "%03d", t);
        if (!same_text(in_folder(name), in_folder("held"), number))
            fail_msg("table %s is not that of %s", number, name);
    }
}

static void damaged(struct skiff_fleet *f, const char *command, const char *text)
{
    struct skiff_error err = {0};
    shell("cd %s && rm -rf hurt && cp -r good hurt", folder);
    char in[400];
    snprintf(in, sizeof(in), "cd %s/hurt && %s", folder, command);
    assert_int_equal(system(in), 0);
    reported(skiff_fleet_load_model(f, in_folder("hurt"), 0, &err), &err, text);
    holds(f, "now");
}

static void whole_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                       struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    static const int64_t ids[SAMPLES] = {7, 9};
    step(exe, skiff_fleet_main_program(f), ids, 0, 0);
    or_die(skiff_fleet_save_model(f, in_folder("good"), 0, &err), &err);
    step(exe, skiff_fleet_main_program(f), ids, 9, 0);
    or_die(skiff_fleet_save_model(f, in_folder("now"), 0, &err), &err);
    damaged(f, "p=001/part-000-00001.gz; head -c 30 $p >x; mv x $p", "001/part-000-00001.gz");
    damaged(f, "zcat 001/part-000-00001.gz >x; echo 3 1 2 x >>x; gzip -c x >001/part-000-00001.gz",
            "001/part-000-00001.gz:2: ");
    damaged(f, "rm 001/part-001-00002.gz",
            "/hurt/001 has 2 files part-*, table emb2 has shard_num");
    damaged(f, "rm -r 001", "load of table emb2: cannot read the folder");
    damaged(f, "rm -r 002", "expected the files of dense parameters");
    damaged(f, "echo 1 2 3 4 >002/part-000; rm 002/*.gz", "002/part-000, line 1: 4 numbers");
    damaged(f, "echo 5 | gzip >>002/part-001.gz", "002/part-001.gz, line 1: the program has only");
    or_die(skiff_fleet_load_model(f, in_folder("good"), 0, &err), &err);
    holds(f, "good");
    or_die(skiff_fleet_load_table(f, 2, in_folder("now"), 0, &err), &err); /* one server's alone */
    or_die(skiff_fleet_load_table(f, 1, in_folder("now"), 0, &err), &err);
    or_die(skiff_fleet_load_table(f, 0, in_folder("now"), 0, &err), &err);
    holds(f, "now");
}

static void loads_are_whole(void **state)
{
    struct table_job j = {.mode = "async",
                          .optimizer = "adam",
                          .servers = 2,
                          .workers = 1,
                          .work = whole_work,
                          .second = settings};
    (void)state;
    table_job_run(&j);
}

/* ... and with dense parameters of a scope. */
static void scope_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                       struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    static const int64_t ids[SAMPLES] = {7, 9};
    struct skiff_scope *given = skiff_scope_create();
    step(exe, skiff_fleet_main_program(f), ids, 0, 0);
    or_die(skiff_fleet_save_model(f, in_folder("good"), 0, &err), &err);
    step(exe, skiff_fleet_main_program(f), ids, 9, 0);
    or_die(skiff_fleet_save_model(f, in_folder("now"), 0, &err), &err);
    struct skiff_tensor *w = skiff_scope_var(given, "w");
    assert_int_equal(skiff_tensor_resize(w, "float32", 2, (int64_t[]){3, 1}, &err), SKIFF_OK);
    reported(skiff_fleet_load_features(f, in_folder("good"), 0, given, &err), &err,
             "w has 3 elements of float32, not 2");
    assert_int_equal(skiff_tensor_resize(w, "float32", 2, (int64_t[]){2, 1}, &err), SKIFF_OK);
    ((float *)skiff_tensor_data(w))[0] = ((float *)skiff_tensor_data(w))[1] = 64;
    shell("cd %s && rm -rf hurt && cp -r good hurt && rm hurt/001/part-000-00001.gz", folder);
    reported(skiff_fleet_load_features(f, in_folder("hurt"), 0, given, &err), &err, "has 2 files");
    holds(f, "now");
    or_die(skiff_fleet_load_features(f, in_folder("good"), 0, given, &err), &err);
    or_die(skiff_fleet_save_model(f, in_folder("held"), 0, &err), &err);
    assert_true(same_text(in_folder("good"), in_folder("held"), "000"));
    assert_true(same_text(in_folder("good"), in_folder("held"), "001"));
    shell("test \"$(zcat %s/held/002/part-* | cut -d' ' -f1 | uniq -c | xargs)\" = '2 64'", folder);
    skiff_scope_destroy(given);
}

static void loads_with_a_scope_are_whole(void **state)
{
    struct table_job j = {.mode = "async",
                          .optimizer = "adam",
                          .servers = 2,
                          .workers = 1,
                          .work = scope_work,
                          .second = settings};
    (void)state;
    table_job_run(&j);
}

/* ---- servers that begin with a save of one table of two say so ---- */

static void one_of_two_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                            struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    struct skiff_table_state state[2];
    static const int64_t ids[SAMPLES] = {7, 9};
    for (int i = 0; i < 2 && j->load; i++)
        or_die(skiff_fleet_table_state(f, i, &state[i], &err), &err);
    if (j->load) {
        assert_int_equal(state[0].rows, 2);
        assert_int_equal(state[1].rows, 0);
        return;
    }
    step(exe, skiff_fleet_main_program(f), ids, 0, 0);
    or_die(skiff_fleet_save_table(f, 0, in_folder("one"), 0, &err), &err);
}

static void record_warning(void *j, enum log_level level, const char *line)
{
    char want[256];
    snprintf(want, sizeof(want), "%s has folders of tables, but no 001: table emb2 starts empty",
             in_folder("one"));
    if (level == LOG_WARN && strstr(line, want))
        ((struct table_job *)j)->user = "called";
}

static void a_missing_table_is_reported(void **state)
{
    struct table_job j = {.mode = "async",
                          .optimizer = "adam",
                          .servers = 1,
                          .workers = 1,
                          .work = one_of_two_work,
                          .second = settings,
                          .on_log = record_warning};
    (void)state;
    table_job_run(&j);
    assert_null(j.user);
    j.load = in_folder("one");
    table_job_run(&j);
    assert_non_null(j.user);
}

/* ---- ids that wait for admission are in the job's own saves ---- */

static void wait_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                      struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    struct skiff_table_state state;
    static const int64_t twice[SAMPLES] = {7, 7}, once[SAMPLES] = {8, 9}, never[SAMPLES] = {5, 5};
    bool again = j->load || j->user;
    if (j->user)
        or_die(skiff_fleet_load_model(f, j->user, 0, &err), &err);
    if (again) { /* 7 has been seen twice, 8 and 9 once: the third time lets 7 in */
        step(exe, skiff_fleet_main_program(f), (int64_t[]){7, 8}, 0, 0);
        or_die(skiff_fleet_flush(f, &err), &err);
        or_die(skiff_fleet_table_state(f, 0, &state, &err), &err);
        assert_int_equal(state.rows, j->apart ? 1 : 2); /* 5 and 7 */
        step(exe, skiff_fleet_main_program(f), (int64_t[]){8, 9}, 0, 0);
        or_die(skiff_fleet_flush(f, &err), &err);
        or_die(skiff_fleet_table_state(f, 0, &state, &err), &err);
        assert_int_equal(state.rows, j->apart ? 1 : 3); /* and 8, at its third time, too */
        return;
    }
    step(exe, skiff_fleet_main_program(f), twice, 0, 0);
    step(exe, skiff_fleet_main_program(f), once, 0, 0);
    for (int i = 0; i < 2; i++) /* 5 comes in */
        step(exe, skiff_fleet_main_program(f), never, 0, 0);
    or_die(skiff_fleet_flush(f, &err), &err);
    or_die(skiff_fleet_table_state(f, 0, &state, &err), &err);
    assert_int_equal(state.rows, 1);
    or_die(skiff_fleet_save_persistables(f, scope, in_folder("waiting"), &err), &err);
    or_die(skiff_fleet_save_model(f, in_folder("shards"), 0, &err), &err);
    or_die(epochs_save_waiting(f, in_folder("shards"), &err), &err);
    kill(getpid(), SIGKILL);
}

/* What stands in files of those who wait may be anything. */
static void bad_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                     struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    struct skiff_table_state state;
    shell("cd %s && cp waiting/__lookup_table__/emb.pserver_1.00000 "
          "shards/__lookup_table__/emb.waiting.pserver_7.00000",
          folder);
    reported(skiff_fleet_load_model(f, in_folder("shards"), 0, &err), &err,
             "emb.waiting.pserver_7.00000: ids that wait for table emb have 3 float32 numbers");
    shell("cp tests/fuzz/corpus/waiting/odd %s/shards/__lookup_table__/emb.waiting.pserver_7.00000",
          folder);
    reported(skiff_fleet_load_model(f, in_folder("shards"), 0, &err), &err,
             "emb.waiting.pserver_7.00000: id 7 of table emb waits with numbers that no save has");
    shell("echo no >%s/shards/__lookup_table__/emb.waiting.pserver_7.00000", folder);
    reported(skiff_fleet_load_model(f, in_folder("shards"), 0, &err), &err,
             "emb.waiting.pserver_7.00000");
    or_die(skiff_fleet_table_state(f, 0, &state, &err), &err);
    assert_int_equal(state.rows, 0);
    shell("rm %s/shards/__lookup_table__/emb.waiting.pserver_7.00000", folder);
}

/* forgets: the save says nothing of those who waited. */
static void run_waiting(int servers, const char *load, const char *model, bool forgets,
                        table_work doing)
{
    char three[1024];
    snprintf(three, sizeof(three), "%sentry count_filter_entry:3\n", settings);
    struct table_job j = {.mode = "async",
                          .optimizer = "adam",
                          .servers = servers,
                          .workers = 1,
                          .work = doing,
                          .settings = three,
                          .apart = forgets,
                          .load = load,
                          .user = model};
    table_job_run(&j);
}

static void who_waits_is_not_forgotten(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (!pid) {
        run_waiting(2, NULL, NULL, false, wait_work);
        _exit(1);
    }
    int status = 0;
    assert_true(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
                WTERMSIG(status) == SIGKILL);
    assert_true(file_size(in_folder("waiting"), "__lookup_table__/emb.waiting.pserver_0.00000") >
                0);
    for (int servers = 1; servers <= 3; servers++) {
        run_waiting(servers, in_folder("waiting"), NULL, false, wait_work);
        run_waiting(servers, in_folder("shards"), NULL, false, wait_work);
        run_waiting(servers, NULL, in_folder("shards"), false, wait_work);
    }
    run_waiting(2, NULL, NULL, false, bad_work);
    shell("rm -r %s/waiting/__skiff_manifest__", folder);
    shell("rm %s/*/__lookup_table__/emb.waiting.*", folder); /* older saves have none */
    run_waiting(2, in_folder("waiting"), NULL, true, wait_work);
    run_waiting(2, NULL, in_folder("shards"), true, wait_work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_job_saves_at_a_time),
        cmocka_unit_test(loads_are_whole),
        cmocka_unit_test(loads_with_a_scope_are_whole),
        cmocka_unit_test(a_missing_table_is_reported),
        cmocka_unit_test(who_waits_is_not_forgotten),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
