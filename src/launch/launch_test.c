/* A launch as an object: what it starts are real processes, what is asserted are their ends, the
 * events and that nothing is left. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "launch/launch.h"
#include "store/file.h"

struct seen {
    int started, ended, warnings, notices;
    char text[256]; /* of the last warning or notice */
};

static void on_event(void *arg, const struct launch_event *event)
{
    struct seen *s = arg;
    s->started += event->kind == LAUNCH_EVENT_STARTED;
    s->ended += event->kind == LAUNCH_EVENT_ENDED;
    s->warnings += event->kind == LAUNCH_EVENT_WARNING;
    s->notices += event->kind == LAUNCH_EVENT_NOTICE;
    if (event->text)
        snprintf(s->text, sizeof s->text, "%s", event->text);
    else
        assert_non_null(event->process);
}

struct fixture {
    char dir[64], log[80];
    char *words[4];
    struct launch_options options;
    struct seen seen;
    struct launch_events events;
    struct launch *l;
    struct skiff_error err;
};

/* One server and two workers that run a line of shell. */
static void fixture_init(struct fixture *f, char *line)
{
    *f = (struct fixture){.words = {"sh", "-c", line, NULL}};
    snprintf(f->dir, sizeof f->dir, "/tmp/launch_test.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->log, sizeof f->log, "%s/log", f->dir);
    f->events = (struct launch_events){.on_event = on_event, .arg = &f->seen};
    f->options = (struct launch_options){.server_num = 1,
                                         .worker_num = 2,
                                         .log_dir = f->log,
                                         .rank = -1,
                                         .nproc = 2,
                                         .command = f->words};
    alarm(120); /* instead of waiting for ever */
}

static void start(struct fixture *f)
{
    assert_int_equal(launch_create(&f->options, &f->events, &f->l, &f->err), SKIFF_OK);
    assert_int_equal(launch_start(f->l, NULL, &f->err), SKIFF_OK);
    assert_int_equal(f->seen.started, f->l->n);
}

static enum skiff_status finish(struct fixture *f)
{
    while (launch_is_running(f->l))
        launch_step(f->l, -1);
    enum skiff_status status = launch_finish(f->l, &f->err);
    for (int i = 0; i < f->l->n; i++) {
        assert_true(f->l->at[i].ended);
        assert_int_equal(kill(f->l->at[i].pid, 0), -1);
        assert_int_equal(errno, ESRCH);
    }
    assert_int_equal(f->seen.ended, f->l->n);
    return status;
}

static void fixture_deinit(struct fixture *f)
{
    launch_destroy(f->l);
    file_remove_tree(f->dir);
    alarm(0);
}

static char *log_of(const struct fixture *f, int i, struct buf *out)
{
    buf_reset(out);
    assert_int_equal(file_read(f->l->at[i].log, out, NULL), SKIFF_OK);
    buf_char(out, 0);
    return out->data;
}

/* Steps until all logs hold this line. */
static void await_line(struct fixture *f, const char *line)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < f->l->n;) {
        launch_step(f->l, -1);
        assert_true(launch_is_running(f->l));
        i += strstr(log_of(f, i, &text), line) != NULL;
    }
    buf_deinit(&text);
}

static void test_all_end_well(void **state)
{
    struct fixture f;
    struct buf text = BUF_INIT;
    fixture_init(&f, "echo $TRAINING_ROLE ${PADDLE_TRAINER_ID-none} $PADDLE_TRAINERS_NUM");
    start(&f);
    assert_int_equal(finish(&f), SKIFF_OK);
    assert_int_equal(f.l->n, 3);
    assert_int_equal(f.l->failed, -1);
    assert_int_equal(f.l->nwarnings, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(f.l->at[i].status, 0);
    assert_string_equal(log_of(&f, 0, &text), "PSERVER none 2\n");
    assert_string_equal(log_of(&f, 1, &text), "TRAINER 0 2\n");
    assert_string_equal(log_of(&f, 2, &text), "TRAINER 1 2\n");
    assert_null(getenv("TRAINING_ROLE")); /* our own environment is as it was */
    buf_deinit(&text);
    fixture_deinit(&f);
}

static void test_a_worker_fails(void **state)
{
    struct fixture f;
    fixture_init(&f, "[ \"$PADDLE_TRAINER_ID\" = 1 ] && exit 7; exec sleep 1000");
    start(&f);
    assert_int_equal(finish(&f), SKIFF_PEER);
    assert_non_null(strstr(f.err.message, "worker 1 failed with status 7 after "));
    assert_int_equal(f.l->failed, 2);
    assert_int_equal(f.l->at[2].status, 7);
    for (int i = 0; i < 2; i++) { /* the server and worker 0 were stopped */
        assert_true(f.l->at[i].reported);
        assert_int_equal(f.l->at[i].status, -SIGTERM);
    }
    assert_int_equal(launch_exit_status(f.l), 1);
    fixture_deinit(&f);
}

static void test_a_rank_fails(void **state)
{
    struct fixture f;
    char path[128];
    struct buf text = BUF_INIT;
    fixture_init(&f, "[ $PADDLE_TRAINER_ID = 0 ] && exit 3; sleep 1000");
    f.options.collective = true;
    start(&f);
    assert_int_equal(f.l->n, 2);
    assert_int_equal(finish(&f), SKIFF_PEER);
    assert_non_null(strstr(f.err.message, "rank 0 failed with status 3 after "));
    assert_int_equal(launch_exit_status(f.l), 3);
    snprintf(path, sizeof path, "%s/envlog.1", f.log);
    assert_int_equal(file_read(path, &text, NULL), SKIFF_OK);
    buf_char(&text, 0);
    assert_non_null(strstr(text.data, "PADDLE_TRAINER_ID=1\n"));
    assert_null(strstr(text.data, "SKIFF_SECRET="));
    buf_deinit(&text);
    fixture_deinit(&f);
}

static void test_stopped_by_a_signal(void **state)
{
    struct fixture f;
    fixture_init(&f, "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
    start(&f);
    await_line(&f, "ready");
    launch_stop(f.l, SIGTERM);
    assert_int_equal(finish(&f), SKIFF_STATE);
    assert_non_null(strstr(f.err.message, "stopped by signal 15"));
    assert_int_equal(launch_exit_status(f.l), 128 + SIGTERM);
    struct buf text = BUF_INIT;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f.l->at[i].status, 0);
        assert_non_null(strstr(log_of(&f, i, &text), "saved\n"));
    }
    buf_deinit(&text);
    fixture_deinit(&f);
}

static void test_the_second_stop_kills(void **state)
{
    struct fixture f;
    fixture_init(&f, "trap '' TERM; echo ready; while :; do sleep 0.05; done");
    start(&f);
    await_line(&f, "ready");
    launch_stop(f.l, SIGINT);
    assert_int_equal(f.l->signal, SIGINT);
    for (int i = 0; i < 3; i++)
        launch_step(f.l, -1);
    assert_true(launch_is_running(f.l));
    launch_stop(f.l, SIGTERM);
    assert_int_equal(finish(&f), SKIFF_STATE);
    assert_int_equal(f.l->signal, SIGINT);
    for (int i = 0; i < 3; i++)
        assert_int_equal(f.l->at[i].status, -SIGKILL);
    fixture_deinit(&f);
}

/* A process with a session of its own, which no signal of a group reaches. */
static void test_orphans_are_killed_and_other_children_are_not(void **state)
{
    struct fixture f;
    struct buf text = BUF_INIT;
    pid_t mine = fork();
    if (mine == 0) {
        execlp("sleep", "sleep", "1000", (char *)NULL);
        _exit(127);
    }
    fixture_init(&f, "setsid sleep 1000 & echo $!");
    start(&f);
    assert_int_equal(finish(&f), SKIFF_OK);
    for (int i = 0; i < 3; i++) {
        pid_t orphan = (pid_t)atoi(log_of(&f, i, &text));
        assert_true(orphan > 0);
        assert_int_equal(kill(orphan, 0), -1);
        assert_int_equal(errno, ESRCH);
    }
    assert_int_equal(waitpid(mine, NULL, WNOHANG), 0); /* it lives */
    kill(mine, SIGKILL);
    assert_int_equal(waitpid(mine, NULL, 0), mine);
    buf_deinit(&text);
    fixture_deinit(&f);
}

static void test_destroyed_while_it_runs(void **state)
{
    struct fixture f;
    pid_t pids[3];
    fixture_init(&f, "exec sleep 1000");
    start(&f);
    for (int i = 0; i < 3; i++) {
        pids[i] = f.l->at[i].pid;
        assert_int_equal(kill(pids[i], 0), 0);
    }
    fixture_deinit(&f);
    for (int i = 0; i < 3; i++)
        assert_int_equal(kill(pids[i], 0), -1);
}

static void test_reports_of_processes(void **state)
{
    struct fixture f;
    fixture_init(&f, "[ \"$PADDLE_TRAINER_ID\" = 0 ] || exit 0; "
                     "exec 9>/dev/fd/$SKIFF_PROGRESS_FD; "
                     "echo 'S skiff_train_samples_total{work=\"train\"} 300' >&9; "
                     "echo 'P 2 0.5 100 1.5 0.25 0.75 ' >&9; echo 'N a file was lost' >&9; "
                     "echo 'N a file was lost' >&9");
    start(&f);
    assert_int_equal(finish(&f), SKIFF_OK);
    const struct launch_process *p = &f.l->at[1];
    assert_int_equal(p->now.epoch, 2);
    assert_int_equal(p->now.samples, 100);
    assert_true(p->now.auc == 0.75);
    assert_int_equal(snapshot_value(&p->counted, METRIC_TRAIN_SAMPLES, "train"), 300);
    assert_int_equal(f.l->at[2].now.epoch, -1);
    assert_int_equal(f.seen.warnings, 1);
    assert_string_equal(f.seen.text, "worker 0: a file was lost");
    assert_int_equal(f.l->nwarnings, 1);
    assert_string_equal(f.l->warnings[0].text, "a file was lost");
    fixture_deinit(&f);
}

static void test_a_command_that_is_not_there(void **state)
{
    struct fixture f;
    struct buf text = BUF_INIT;
    fixture_init(&f, NULL);
    f.words[0] = "/no/such/command";
    start(&f);
    assert_int_equal(finish(&f), SKIFF_PEER);
    assert_int_equal(f.l->at[f.l->failed].status, 127);
    assert_non_null(
        strstr(log_of(&f, f.l->failed, &text), "cannot start /no/such/command: No such file"));
    assert_int_equal(launch_exec(&f.options, &f.err), SKIFF_IO);
    assert_string_equal(f.err.message, "cannot start /no/such/command: No such file or directory");
    buf_deinit(&text);
    fixture_deinit(&f);
}

static void test_plans_that_are_refused(void **state)
{
    struct fixture f;
    fixture_init(&f, "exit 0");
    f.options.server_num = 0;
    assert_int_equal(launch_create(&f.options, NULL, &f.l, &f.err), SKIFF_INVALID);
    assert_null(f.l);
    assert_non_null(strstr(f.err.message, "the number of servers is missing"));
    f.options.server_num = 3;
    f.options.start_port = 65534;
    assert_int_equal(launch_create(&f.options, NULL, &f.l, &f.err), SKIFF_RANGE);
    assert_non_null(strstr(f.err.message, "--start_port 65534 leaves too few ports"));
    f.options.start_port = 0;
    f.options.servers = "203.0.113.9:6000";
    f.options.server_num = 0;
    f.options.workers = "203.0.113.9";
    f.options.worker_num = 0;
    assert_int_equal(launch_create(&f.options, NULL, &f.l, &f.err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(f.err.message, "none of the given addresses"));
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_end_well),
        cmocka_unit_test(test_a_worker_fails),
        cmocka_unit_test(test_a_rank_fails),
        cmocka_unit_test(test_stopped_by_a_signal),
        cmocka_unit_test(test_the_second_stop_kills),
        cmocka_unit_test(test_orphans_are_killed_and_other_children_are_not),
        cmocka_unit_test(test_destroyed_while_it_runs),
        cmocka_unit_test(test_reports_of_processes),
        cmocka_unit_test(test_a_command_that_is_not_there),
        cmocka_unit_test(test_plans_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
