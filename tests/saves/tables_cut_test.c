/* A model with a sparse table that is saved over another one, cut after every file operation:
 * what is loaded afterwards is all of the old model or all of the new one, tables and dense
 * parameters, and nothing is left beside them. Then the same with a disk that is full for a
 * while. */
#include "fleet/fleet_fixture_test.h"

#include <signal.h>
#include <sys/wait.h>

#include "tests/saves/cut.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STRIDE 7
#else
#define STRIDE 1
#endif

static struct job_case job = {.mode = "async",
                              .optimizer = "sgd",
                              .rate = 0.1,
                              .of_2x = true,
                              .steps = STEPS,
                              .sparse = true,
                              .distributed = true};

/* One process with its tables inside, so that a cut is one of the worker or of the server. */
struct worker {
    struct case_net net;
    struct skiff_fleet *fleet;
    struct skiff_scope *scope;
    struct skiff_executor *exe;
};

static void or_die(enum skiff_status status, const struct skiff_error *err)
{
    if (status >= 0)
        return;
    fprintf(stderr, "%s\n", err->message);
    _exit(1);
}

static void worker_open(struct worker *w)
{
    struct skiff_table_settings two = {.table = "embedding_0.w_0", .settings = "shard_num 2\n"};
    struct skiff_strategy strategy = {.mode = "async", .tables = &two, .ntables = 1};
    struct skiff_role role = {.role = SKIFF_WORKER, .worker_num = 1};
    struct skiff_error err;
    w->fleet = skiff_fleet_create();
    w->scope = skiff_scope_create();
    w->exe = skiff_executor_create(w->scope, NULL);
    net_open(&w->net, &job);
    or_die(skiff_fleet_init_user(w->fleet, &role, &err), &err);
    or_die(skiff_fleet_minimize(w->fleet, w->net.opt, w->net.loss, &strategy, NULL, &err), &err);
    or_die(skiff_executor_run(w->exe, skiff_fleet_startup_program(w->fleet), NULL, 0, NULL, 0, NULL,
                              &err),
           &err);
}

static void worker_step(struct worker *w, int step)
{
    struct skiff_error err;
    struct skiff_feed feeds[MAX_FEEDS];
    int n = feeds_fill(feeds, &job, step, 0, BATCH);
    or_die(skiff_executor_run(w->exe, skiff_fleet_main_program(w->fleet), feeds, n, NULL, 0, NULL,
                              &err),
           &err);
    feeds_deinit(feeds);
}

/* ---- what processes of the test do; each ends ---- */

static void save_both(void)
{
    struct worker w;
    struct skiff_error err;
    worker_open(&w);
    worker_step(&w, 0);
    or_die(skiff_fleet_save_model(w.fleet, in_folder("old"), 0, &err), &err);
    worker_step(&w, 1);
    or_die(skiff_fleet_save_model(w.fleet, in_folder("new"), 0, &err), &err);
    _exit(0);
}

/* The new one over what is there; status 2: refused, as the disk is full. */
static void save_cut(enum cut_mode mode, long first, long count)
{
    struct worker w;
    struct skiff_error err;
    worker_open(&w);
    worker_step(&w, 0);
    worker_step(&w, 1);
    cut_arm(mode, first, count);
    enum skiff_status status = skiff_fleet_save_model(w.fleet, in_folder("target"), 0, &err);
    cut_disarm();
    _exit(status < 0 ? 2 : 0);
}

static void load(void)
{
    struct worker w;
    struct skiff_error err;
    worker_open(&w);
    or_die(skiff_fleet_load_model(w.fleet, in_folder("target"), 0, &err), &err);
    or_die(skiff_fleet_save_model(w.fleet, in_folder("again"), 0, &err), &err);
    _exit(0);
}

/* ---- looking ---- */

static int run(const char *text)
{
    char command[1024];
    snprintf(command, sizeof command, "cd %s && %s", folder, text);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool is_all_of(const char *side)
{
    char command[512];
    snprintf(command, sizeof command,
             "cmp -s target/000/part-000-00000.gz %s/000/part-000-00000.gz && "
             "cmp -s target/000/part-000-00001.gz %s/000/part-000-00001.gz && "
             "cmp -s target/001/part-000.gz %s/001/part-000.gz",
             side, side, side);
    return run(command) == 0;
}

static int ended(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Gives whether it is the new one. */
static bool load_and_look(long at)
{
    pid_t pid = fork();
    if (!pid)
        load();
    if (ended(pid) != 0)
        fail_msg("cut at operation %ld: what is left cannot be loaded", at);
    bool new = is_all_of("new");
    if (!new && !is_all_of("old"))
        fail_msg("cut at operation %ld: a mixture of the old and the new model", at);
    return new;
}

static void begin(void)
{
    assert_int_equal(run("rm -rf target again && cp -r old target"), 0);
}

static void save_first(void)
{
    pid_t pid = fork();
    if (!pid)
        save_both();
    assert_int_equal(ended(pid), 0);
    assert_int_equal(run("! cmp -s old/001/part-000.gz new/001/part-000.gz"), 0);
    assert_int_equal(run("! cmp -s old/000/part-000-00000.gz new/000/part-000-00000.gz"), 0);
}

/* ---- the tests ---- */

static void killed(void **state)
{
    int olds = 0, news = 0;
    save_first();
    for (long at = 1;; at += STRIDE) {
        begin();
        pid_t pid = fork();
        if (!pid)
            save_cut(CUT_KILL, at, 0);
        int status = ended(pid);
        if (status == 0)
            break; /* so many operations are not made */
        assert_int_equal(status, -SIGKILL);
        *(load_and_look(at) ? &news : &olds) += 1;
        pid = fork(); /* the next save takes away what is left */
        if (!pid)
            save_cut(CUT_NOTHING, 0, 0);
        assert_int_equal(ended(pid), 0);
        assert_true(is_all_of("new"));
        assert_int_equal(run("test -z \"$(find target -name '*skiff-*')\""), 0);
    }
    assert_true(olds > 20 / STRIDE);
    assert_true(news > 5 / STRIDE);
}

/* Full at one operation: the save succeeds or is refused, and is all of one of them. */
static void full(void **state)
{
    int refused = 0;
    for (long at = 1; at < 60; at += 3 * STRIDE) {
        begin();
        pid_t pid = fork();
        if (!pid)
            save_cut(CUT_FULL, at, 1);
        int status = ended(pid);
        assert_true(status == 0 || status == 2);
        refused += status == 2;
        bool new = load_and_look(at);
        assert_true(new || status == 2);
    }
    assert_true(refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed), cmocka_unit_test(full)};
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
