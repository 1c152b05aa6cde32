/* A process of a job that is stopped before it has a session of its own: the launcher continues,
 * can be signalled to end, and leaves nothing behind. setsid is taken from the launcher here. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"
#include "store/file.h"

static int stops[2] = {-1, -1}; /* a pipe: who takes a byte of it is stopped */

pid_t setsid(void)
{
    char byte;
    if (read(stops[0], &byte, 1) == 1)
        raise(SIGSTOP);
    return (pid_t)syscall(SYS_setsid);
}

/* A child of the process that is stopped; 0: none yet. */
static pid_t stopped_child(pid_t parent)
{
    char path[96], state;
    int pid = 0, found = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *children = fopen(path, "r");
    while (children && !found && fscanf(children, "%d", &pid) == 1) {
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *f = fopen(path, "r");
        if (f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1 && state == 'T')
            found = pid;
        if (f)
            fclose(f);
    }
    if (children)
        fclose(children);
    return found;
}

static void test_a_child_is_stopped_before_its_session(void **state)
{
    (void)state;
    char dir[] = "/tmp/launch_run_test.XXXXXX";
    int status = 0;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(pipe2(stops, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(write(stops[1], "x", 1), 1);
    alarm(120); /* instead of waiting for ever */
    pid_t launcher = fork();
    if (launcher == 0) {
        char *words[] = {"skiff",     "launch", "--server_num", "1",     "--worker_num", "1",
                         "--log_dir", dir,      "--",           "sleep", "1000",         NULL};
        _exit(command_main(11, words));
    }
    pid_t stopped = 0;
    while (!(stopped = stopped_child(launcher))) {
        assert_int_equal(waitpid(launcher, &status, WNOHANG), 0);
        clock_sleep(5 * CLOCK_MS);
    }
    kill(launcher, SIGINT); /* both: at once */
    kill(launcher, SIGTERM);
    assert_int_equal(waitpid(launcher, &status, 0), launcher);
    alarm(0);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 0);
    assert_int_equal(kill(stopped, 0), -1);
    assert_int_equal(errno, ESRCH);
    file_remove_tree(dir);
    close(stops[0]);
    close(stops[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_is_stopped_before_its_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
