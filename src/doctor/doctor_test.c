/* Findings for lists of servers that are wrong, not started yet, or something else's ports; for a
 * config whose values only training reads. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "doctor/doctor.h"
#include "store/file.h"

static void add(void *arg, const struct doctor_finding *f)
{
    buf_printf(arg, "%d %s -> %s\n", f->level, f->text, f->advice ? f->advice : "");
}

static struct doctor_result examine(const char *servers, struct buf *text)
{
    struct task_args args = {0};
    struct doctor_options o = {
        .task = &args, .servers = servers, .worker_num = 1, .timeout_ms = 200};
    buf_reset(text);
    return doctor_run(&o, add, text);
}

static void expect(const struct buf *text, const char *part)
{
    if (!strstr(text->data, part))
        fail_msg("\"%s\" is not in:\n%s", part, text->data);
}

/* A port of this machine that nobody has; listening: somebody has it, but answers nothing. */
static int open_port(bool listening, char endpoint[static 32])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    snprintf(endpoint, 32, "127.0.0.1:%d", ntohs(a.sin_port));
    if (listening)
        assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static void ports_are_tried(void **state)
{
    char endpoint[32];
    struct buf text = BUF_INIT;
    close(open_port(false, endpoint));
    struct doctor_result r = examine(endpoint, &text);
    assert_int_equal(r.count[DOCTOR_FAULT], 0);
    expect(&text, "0 server 0: the port of 127.0.0.1:");
    int fd = open_port(true, endpoint);
    r = examine(endpoint, &text);
    assert_int_equal(r.count[DOCTOR_FAULT], 1);
    expect(&text, "2 server 0: a process listens on 127.0.0.1:");
    expect(&text, "-> is it stopped, or very busy? otherwise another program uses the port");
    close(fd);
    buf_deinit(&text);
}

static void names_are_looked_up(void **state)
{
    struct buf text = BUF_INIT;
    struct doctor_result r = examine("127.0.0.1", &text);
    assert_int_equal(r.count[DOCTOR_FAULT], 1);
    expect(&text, "2 --servers");
    r = examine("no.such.host.invalid:7000", &text);
    assert_int_equal(r.count[DOCTOR_FAULT], 1);
    expect(&text, "no.such.host.invalid cannot be found");
    expect(&text, "-> correct the name, add it to /etc/hosts or DNS, or use an address");
    buf_deinit(&text);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static struct doctor_result examine_config(const char *folder, const char *keys, struct buf *text)
{
    struct buf path = BUF_INIT, config = BUF_INIT;
    buf_printf(&path, "%s/config.yaml", folder);
    buf_printf(&config,
               "runner:\n  model: rank/dnn\n  train_data_dir: part\n  model_save_path: out\n%s"
               "hyper_parameters:\n  sparse_feature_number: 100\n",
               keys);
    write_file(path.data, config.data);
    struct task_args args = {.config = path.data};
    struct doctor_options o = {.task = &args, .timeout_ms = 200};
    buf_reset(text);
    struct doctor_result r = doctor_run(&o, add, text);
    buf_deinit(&path);
    buf_deinit(&config);
    return r;
}

static void values_that_only_training_reads_are_checked(void **state)
{
    char folder[] = "/tmp/skiff-doctor-XXXXXX";
    struct buf text = BUF_INIT, path = BUF_INIT;
    assert_non_null(mkdtemp(folder));
    buf_printf(&path, "%s/part", folder);
    write_file(path.data, "click:0\n");
    struct doctor_result r = examine_config(folder, "  valid_data_dir: part\n", &text);
    assert_int_equal(r.count[DOCTOR_FAULT], 0);
    expect(&text, "0 validation data: 1 file ->");
    r = examine_config(folder, "  epochs: many\n", &text);
    assert_int_equal(r.count[DOCTOR_FAULT], 1);
    expect(&text, "config.yaml:5: runner.epochs must be an integer, found \"many\" -> docs/");
    r = examine_config(folder, "  valid_data_dir: nowhere\n", &text);
    assert_int_equal(r.count[DOCTOR_FAULT], 1);
    expect(&text, "/nowhere: there is no such file or folder -> correct runner.valid_data_dir");
    file_remove_tree(folder);
    buf_deinit(&path);
    buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_are_tried),
        cmocka_unit_test(names_are_looked_up),
        cmocka_unit_test(values_that_only_training_reads_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
