/* Which ranks get shared memory: those of one user on one machine, even if the processes are not
 * dumpable, as those that hold a job's secret are. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "collective/shm_parts.h"
#include "tests/conformance/collective_fixture_test.h"

#define USER 65534       /* nobody */
#define OTHER_USER 65533 /* need not have a name */
#define BYTES 8192

static void become(uid_t user)
{
    CHECK(setgroups(0, NULL) == 0 && setgid(user) == 0 && setuid(user) == 0);
}

static bool is_root(void)
{
    return geteuid() == 0;
}

/* Sums that depend on the order of ranks. */
static void check_sums(struct collective *c)
{
    enum { N = 300001 };
    static const float scale[] = {1e7f, 1.25f, -1e7f};
    static float data[N];
    for (int i = 0; i < N; i++)
        data[i] = scale[collective_rank(c)] + (float)(i % 7);
    CHECK_OK(collective_all_reduce(c, data, N, DTYPE_FP32, COLLECTIVE_SUM, &err));
    for (int i = 0; i < N; i++) {
        float sum = scale[0] + (float)(i % 7);
        for (int r = 1; r < collective_size(c); r++)
            sum += scale[r] + (float)(i % 7);
        CHECK(memcmp(&data[i], &sum, sizeof sum) == 0);
    }
}

/* The group of all ranks, and that of the first two, which always belong to one user. */
static void check_groups(struct collective *c, bool all_share)
{
    struct collective *two;
    CHECK(collective_shares_memory(c) == all_share);
    check_sums(c);
    CHECK_OK(collective_split(c, (const int[]){0, 1}, 2, &two, &err));
    if (!two)
        return;
    CHECK(collective_shares_memory(two));
    check_sums(two);
    collective_destroy(two);
}

static void run_guarded(struct job *j, int rank)
{
    if (is_root())
        become(USER);
    CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
    struct collective *c = job_join(j, rank);
    check_groups(c, true);
    collective_destroy(c);
}

static void run_users(struct job *j, int rank)
{
    become(rank == 2 ? OTHER_USER : USER);
    struct collective *c = job_join(j, rank);
    check_groups(c, false);
    collective_destroy(c);
}

static void run_job(void (*run)(struct job *, int))
{
    struct job j;
    job_init(&j, 3);
    for (int i = 0; i < j.size; i++)
        job_start_rank(&j, i, run);
    for (int i = 0; i < j.size; i++)
        assert_int_equal(job_wait(&j, i), 0);
}

static void an_ordinary_user_has_it(void **state)
{
    run_job(run_guarded);
}

static void two_users_do_not(void **state)
{
    if (!is_root())
        skip();
    run_job(run_users);
}

/* ---- the descriptor ---- */

static int file_of(size_t bytes)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    return fd;
}

static void received_is_what_was_sent(void **state)
{
    uint8_t name[SEGMENT_NAME], nobody[SEGMENT_NAME] = {0};
    int listener = segment_listen(name), sent = file_of(BYTES), other = file_of(BYTES - 1);
    assert_true(listener >= 0);
    assert_int_equal(segment_receive(listener, BYTES), -1); /* does not wait */
    assert_false(segment_send(sent, nobody));
    assert_int_equal(pwrite(sent, "here", 4, 100), 4);
    assert_true(segment_send(other, name)); /* of another length: skipped */
    assert_true(segment_send(sent, name));
    close(sent);
    int fd = segment_receive(listener, BYTES);
    char text[5] = "";
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, text, 4, 100), 4);
    assert_string_equal(text, "here");
    assert_int_equal(segment_receive(listener, BYTES), -1);
    close(fd);
    close(other);
    close(listener);
    assert_false(segment_send(STDERR_FILENO, name)); /* its name ends with it */
}

/* Runs in a process of another user; its return value is the exit status. */
static int as_other_user(int fd, const uint8_t *name)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        become(OTHER_USER);
        _exit(segment_send(fd, name));
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void connect_as_other_user(const struct sockaddr_un *a, socklen_t n)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        become(OTHER_USER);
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        _exit(connect(fd, (const struct sockaddr *)a, n) != 0 || send(fd, "x", 1, 0) != 1);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void other_users_are_refused(void **state)
{
    if (!is_root())
        skip();
    uint8_t name[SEGMENT_NAME];
    int listener = segment_listen(name), fd = file_of(BYTES);
    struct sockaddr_un a;
    socklen_t n = sizeof a;
    assert_true(listener >= 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &n), 0);
    assert_int_equal(as_other_user(fd, name), 0); /* the sender refuses */
    connect_as_other_user(&a, n);
    assert_int_equal(segment_receive(listener, BYTES), -1);
    connect_as_other_user(&a, n); /* in the queue before the right one */
    assert_true(segment_send(fd, name));
    int got = segment_receive(listener, BYTES);
    assert_true(got >= 0);
    close(got);
    close(fd);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_user_has_it),
        cmocka_unit_test(two_users_do_not),
        cmocka_unit_test(received_is_what_was_sent),
        cmocka_unit_test(other_users_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
