/* Real processes: good, failing, killed, closed early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "data/pipe.h"
#include "data/test_help.h"

static char dir[256];
static const char *input;

/* All of the command's output. */
static enum skiff_status run(const char *command, const char *path, struct buf *out,
                             struct skiff_error *err)
{
    struct stream *s;
    char chunk[1000];
    size_t got;
    enum skiff_status status = pipe_open(command, path, NULL, &s, err);
    if (status < 0)
        return status;
    buf_reset(out);
    buf_str(out, "");
    while ((status = stream_read(s, chunk, sizeof chunk, &got, err)) == SKIFF_OK && got)
        buf_add(out, chunk, got);
    stream_close(s);
    return status;
}

static void no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void test_good(void **state)
{
    struct buf out = BUF_INIT;
    int before = open_fds();
    assert_int_equal(run("cat", input, &out, NULL), SKIFF_OK);
    assert_string_equal(out.data, "one\ntwo\nthree\n");
    assert_int_equal(run("head -n 2 | tr a-z A-Z  # a comment", input, &out, NULL), SKIFF_OK);
    assert_string_equal(out.data, "ONE\nTWO\n");
    assert_int_equal(run("true", input, &out, NULL), SKIFF_OK);
    assert_string_equal(out.data, "");
    /* stderr of a command that succeeds is dropped, however much it is */
    assert_int_equal(run("yes warning | head -n 100000 >&2; cat", input, &out, NULL), SKIFF_OK);
    assert_string_equal(out.data, "one\ntwo\nthree\n");
    /* SIGPIPE inside the pipeline is no failure: yes is cut by head */
    assert_int_equal(run("yes | head -n 1", input, &out, NULL), SKIFF_OK);
    assert_string_equal(out.data, "y\n");
    /* a name that a shell would take apart */
    const char *odd = temp_text(dir, "a $(b) 'c' \"d\"", "odd name\n");
    assert_int_equal(run("cat", odd, &out, NULL), SKIFF_OK);
    assert_string_equal(out.data, "odd name\n");
    buf_deinit(&out);
    no_children();
    assert_int_equal(open_fds(), before);
}

/* A command sees the environment, but not the job's secret. */
static void test_hash_seed(void **state)
{
    struct buf out = BUF_INIT;
    unsetenv("PYTHONHASHSEED");
    assert_int_equal(run("echo $PYTHONHASHSEED", input, &out, NULL), SKIFF_OK);
    assert_string_equal(out.data, "0\n");
    setenv("PYTHONHASHSEED", "random", 1);
    assert_int_equal(run("echo $PYTHONHASHSEED", input, &out, NULL), SKIFF_OK);
    assert_string_equal(out.data, "random\n");
    unsetenv("PYTHONHASHSEED");
    buf_deinit(&out);
}

static void test_no_secret(void **state)
{
    struct buf out = BUF_INIT;
    setenv("SKIFF_SECRET", "sesame", 1);
    setenv("SKIFF_JOB", "night", 1);
    assert_int_equal(run("echo ${SKIFF_JOB-none} ${SKIFF_SECRET-none}", input, &out, NULL),
                     SKIFF_OK);
    assert_string_equal(out.data, "night none\n");
    unsetenv("SKIFF_SECRET");
    unsetenv("SKIFF_JOB");
    buf_deinit(&out);
}

static void test_compressed(void **state)
{
    struct buf out = BUF_INIT;
    static const char *const files[] = {
        "tests/data/streams/lines.gz", "tests/data/streams/lines.zst",
        "tests/data/streams/lines.lz4", "tests/data/streams/lines.xz"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(run("head -n 1", files[i], &out, NULL), SKIFF_OK);
        assert_string_equal(out.data, "line 1\n");
        assert_int_equal(run("tail -n 1", files[i], &out, NULL), SKIFF_OK);
        assert_string_equal(out.data, "line 5000\n");
    }
    /* zcat fails on what is no gzip, and pipefail tells */
    struct skiff_error err;
    const char *fake = temp_text(dir, "fake.gz", "not compressed");
    assert_int_equal(run("cat", fake, &out, &err), SKIFF_IO);
    assert_non_null(strstr(err.message, "ended with exit status 1"));
    buf_deinit(&out);
}

static void test_failing(void **state)
{
    struct buf out = BUF_INIT;
    struct skiff_error err;
    int before = open_fds();
    assert_int_equal(run("echo reason one >&2; echo reason two >&2; exit 3", input, &out, &err),
                     SKIFF_IO);
    assert_non_null(strstr(err.message, input));
    assert_non_null(strstr(
        err.message, "pipe command `echo reason one >&2; echo reason two >&2; exit "
                     "3` ended with exit status 3; the end of its standard error: reason one | "
                     "reason two"));
    assert_int_equal(run("cat; kill -9 $$", input, &out, &err), SKIFF_IO);
    assert_string_equal(out.data, "one\ntwo\nthree\n");
    assert_non_null(strstr(err.message, "killed by signal 9"));
    /* only the end of a long stderr is reported */
    assert_int_equal(run("seq 100000 >&2; exit 1", input, &out, &err), SKIFF_IO);
    assert_non_null(strstr(err.message, "99999 | 100000"));
    assert_null(strstr(err.message, "| 5 |"));
    assert_int_equal(run("no-such-command-here", input, &out, &err), SKIFF_IO);
    assert_non_null(strstr(err.message, "127"));
    assert_non_null(strstr(err.message, "command not found"));
    assert_int_equal(run("(", input, &out, &err), SKIFF_IO);
    assert_true(run("cat", "/no/such/file", &out, &err) < 0);
    assert_non_null(strstr(err.message, "/no/such/file: cannot open"));
    assert_int_equal(run("cat", "/tmp", &out, &err), SKIFF_IO);
    buf_deinit(&out);
    no_children();
    assert_int_equal(open_fds(), before);
}

/* Processes whose command line begins with `mark`. Zombies have none. */
static int count_processes(const char *mark)
{
    int found = 0;
    DIR *d = opendir("/proc");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[300], line[200] = "";
        if (e->d_name[0] < '0' || e->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
        FILE *f = fopen(path, "r");
        size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
        if (f)
            fclose(f);
        for (size_t i = 0; i + 1 < n; i++)
            if (line[i] == '\0')
                line[i] = ' ';
        found += strncmp(line, mark, strlen(mark)) == 0;
    }
    closedir(d);
    return found;
}

/* Killed, but on a busy machine the kernel may take a moment to clear grandchildren away. */
static int processes_left(const char *mark)
{
    double start = clock_seconds();
    int left = count_processes(mark);
    while (left && clock_seconds() - start < 10) {
        usleep(20000);
        left = count_processes(mark);
    }
    return left;
}

static void test_closed_early(void **state)
{
    struct stream *s;
    char chunk[10], mark[64];
    size_t got;
    int before = open_fds();
    /* a pipeline that would never end */
    snprintf(mark, sizeof mark, "sleep 12345.%d", (int)getpid());
    char command[200];
    snprintf(command, sizeof command, "echo x; %s | cat", mark);
    assert_int_equal(pipe_open(command, input, NULL, &s, NULL), SKIFF_OK);
    assert_int_equal(stream_read(s, chunk, sizeof chunk, &got, NULL), SKIFF_OK);
    assert_int_equal(got, 2);
    double start = clock_seconds();
    stream_close(s);
    assert_true(clock_seconds() - start < 5);
    no_children();
    assert_int_equal(processes_left(mark), 0);
    /* one that does not listen to SIGTERM */
    snprintf(command, sizeof command, "trap '' TERM; echo x; while :; do %s; done", mark);
    assert_int_equal(pipe_open(command, input, NULL, &s, NULL), SKIFF_OK);
    assert_int_equal(stream_read(s, chunk, sizeof chunk, &got, NULL), SKIFF_OK);
    stream_close(s);
    no_children();
    assert_int_equal(processes_left(mark), 0);
    /* one that is closed before anything was read */
    assert_int_equal(pipe_open("yes", input, NULL, &s, NULL), SKIFF_OK);
    stream_close(s);
    no_children();
    assert_int_equal(open_fds(), before);
}

struct stopper {
    atomic_bool stop;
};

static void *stop_later(void *arg)
{
    const struct timespec t = {0, 100000000};
    nanosleep(&t, NULL);
    atomic_store(&((struct stopper *)arg)->stop, true);
    return NULL;
}

static void test_stopped_while_waiting(void **state)
{
    struct stopper stopper = {false};
    struct stream *s;
    struct skiff_error err;
    char chunk[10];
    size_t got;
    pthread_t thread;
    assert_int_equal(pipe_open("sleep 1000", input, &stopper.stop, &s, NULL), SKIFF_OK);
    pthread_create(&thread, NULL, stop_later, &stopper);
    double start = clock_seconds();
    assert_int_equal(stream_read(s, chunk, sizeof chunk, &got, &err), SKIFF_STATE);
    assert_true(clock_seconds() - start < 5);
    pthread_join(thread, NULL);
    stream_close(s);
    no_children();
}

/* Something left in the background holds stdout's sibling open; the end is reported all the
 * same. */
/* Processes of the group that are more than zombies. (Who reaps orphans is not ours.) */
static int group_incarnations(pid_t group)
{
    glob_t all;
    int alive = 0;
    assert_int_equal(glob("/proc/[0-9]*/stat", 0, NULL, &all), 0);
    for (size_t i = 0; i < all.gl_pathc; i++) {
        char text[512] = "", mode = 'Z';
        int parent, pgrp = 0;
        FILE *f = fopen(all.gl_pathv[i], "r");
        const char *name_end = f && fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
        if (name_end && sscanf(name_end, ") %c %d %d", &mode, &parent, &pgrp) == 3)
            alive += pgrp == group && mode != 'Z';
        if (f)
            fclose(f);
    }
    globfree(&all);
    return alive;
}

static void test_background_child(void **state)
{
    struct buf out = BUF_INIT;
    double start = clock_seconds();
    assert_int_equal(run("sleep 8 >/dev/null & cat", input, &out, NULL), SKIFF_OK);
    assert_string_equal(out.data, "one\ntwo\nthree\n");
    assert_true(clock_seconds() - start < 7);
    buf_deinit(&out);
}

/* Our own SIGPIPE and mask settings do not reach the child. */
static void test_signals_are_default(void **state)
{
    struct buf out = BUF_INIT;
    sigset_t all, old;
    void (*old_handler)(int) = signal(SIGPIPE, SIG_IGN);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    assert_int_equal(run("grep -E 'Sig(Blk|Ign)' /proc/self/status", input, &out, NULL), SKIFF_OK);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    signal(SIGPIPE, old_handler);
    unsigned long long blocked = 1, ignored = ~0ull;
    assert_int_equal(sscanf(out.data, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
    assert_int_equal(blocked, 0);
    assert_int_equal(ignored & 1ull << (SIGPIPE - 1), 0);
    buf_deinit(&out);
}

/* A process that reads from a pipe command is killed and can do nothing any more: the command and
 * its children, which would run for long and never notice a closed pipe, are gone soon after. */
static void test_reader_is_killed(void **state)
{
    static const char *const commands[] = {"sleep 1000", "sh -c 'sleep 1000 | cat'",
                                           "sleep 1000 & trap '' TERM; sleep 1000",
                                           "exec 3</dev/null; sleep 1000 | (sleep 1000; cat)"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        int report[2];
        char line[64] = "", command[256];
        struct stream *s;
        snprintf(command, sizeof command, "echo $$; %s", commands[i]); /* the group's number */
        assert_int_equal(pipe(report), 0);
        pid_t reader = fork();
        if (reader == 0) {
            size_t got = 0;
            if (pipe_open(command, input, NULL, &s, NULL) < 0 ||
                stream_read(s, line, sizeof line - 1, &got, NULL) < 0 ||
                write(report[1], line, got) != (ssize_t)got)
                _exit(1);
            pause();
        }
        close(report[1]);
        assert_true(read(report[0], line, sizeof line - 1) > 0);
        close(report[0]);
        pid_t group = (pid_t)atoi(line);
        assert_true(group > 1 && group != getpgrp());
        assert_int_equal(kill(-group, 0), 0);
        kill(reader, SIGKILL);
        assert_int_equal(waitpid(reader, NULL, 0), reader);
        int64_t end = clock_now() + 5 * CLOCK_SECOND;
        while (group_incarnations(group) && clock_now() < end)
            clock_sleep(5 * CLOCK_MS);
        if (group_incarnations(group)) {
            kill(-group, SIGKILL);
            fail_msg("`%s` lives on 5 s after its reader was killed", commands[i]);
        }
    }
}

/* The keeper goes when the command ends, well or not. */
static void test_keeper_leaves(void **state)
{
    static const char *const commands[] = {"echo $$", "echo $$; exit 3", "echo $$; kill -9 $$"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct buf out = BUF_INIT;
        run(commands[i], input, &out, NULL);
        pid_t group = (pid_t)atoi(out.data);
        assert_true(group > 1);
        int64_t end = clock_now() + 5 * CLOCK_SECOND;
        while (group_incarnations(group) && clock_now() < end)
            clock_sleep(5 * CLOCK_MS);
        assert_int_equal(group_incarnations(group), 0);
        buf_deinit(&out);
    }
}

static void test_plain(void **state)
{
    assert_true(pipe_is_plain(NULL));
    assert_true(pipe_is_plain(""));
    assert_true(pipe_is_plain("cat"));
    assert_true(pipe_is_plain(" cat "));
    assert_false(pipe_is_plain("catalog"));
    assert_false(pipe_is_plain("cat x"));
    assert_false(pipe_is_plain("python reader.py"));
}

static int setup(void **state)
{
    temp_create(dir);
    input = strdup(temp_text(dir, "input", "one\ntwo\nthree\n"));
    return 0;
}

static int teardown(void **state)
{
    temp_remove(dir);
    free((char *)input);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_no_secret),
        cmocka_unit_test(test_hash_seed),
        cmocka_unit_test(test_failing),
        cmocka_unit_test(test_closed_early),
        cmocka_unit_test(test_stopped_while_waiting),
        cmocka_unit_test(test_background_child),
        cmocka_unit_test(test_signals_are_default),
        cmocka_unit_test(test_reader_is_killed),
        cmocka_unit_test(test_keeper_leaves),
        cmocka_unit_test(test_plain),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
