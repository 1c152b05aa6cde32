/* Settings from the environment, and the progress lines of workers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/report.h"
#include "fleet/settings.h"
#include "metrics/metrics.h"

struct one {
    const char *name, *value;
};

static const char *lookup(void *self, const char *name)
{
    const struct one *o = self;
    return o->name && !strcmp(o->name, name) ? o->value : NULL;
}

static void nothing_set(void **state)
{
    struct one none = {0};
    struct settings s;
    (void)state;
    assert_int_equal(settings_read(&s, lookup, &none, NULL), SKIFF_OK);
    assert_true(!s.job[0] && !s.secret[0] && !s.listen[0] && !s.transport[0]);
    assert_true(!s.rpc_ms && !s.silence_ms && !s.start_ms && !s.shards && s.cpu_num == 1);
    assert_int_equal(s.max_merge_var_num, -1);
    assert_int_equal(s.is_sgd_optimizer, -1);
}

static void values_are_taken(void **state)
{
    struct one deadline = {"FLAGS_rpc_deadline", "5000"}, job = {"SKIFF_JOB", "night"};
    struct one sgd = {"FLAGS_communicator_is_sgd_optimizer", "0"};
    struct one recv = {"FLAGS_communicator_independent_recv_thread", "True"};
    struct settings s;
    (void)state;
    assert_int_equal(settings_read(&s, lookup, &deadline, NULL), SKIFF_OK);
    assert_int_equal(s.rpc_ms, 5000);
    assert_int_equal(settings_read(&s, lookup, &job, NULL), SKIFF_OK);
    assert_string_equal(s.job, "night");
    assert_int_equal(settings_read(&s, lookup, &sgd, NULL), SKIFF_OK);
    assert_int_equal(s.is_sgd_optimizer, 0);
    assert_int_equal(settings_read(&s, lookup, &recv, NULL), SKIFF_OK);
    assert_int_equal(s.independent_recv_thread, 1);
}

static void transports_are_chosen(void **state)
{
    struct one chosen = {"SKIFF_TRANSPORT", "ipc peer_bytes=1M"};
    struct settings s;
    struct skiff_error err;
    assert_int_equal(settings_read(&s, lookup, &chosen, &err), SKIFF_OK);
    assert_string_equal(s.transport, "ipc peer_bytes=1M");
    assert_int_equal(settings_set_transport(&s, NULL, &err), SKIFF_OK);
    assert_string_equal(s.transport, "ipc peer_bytes=1M");
    assert_int_equal(settings_set_transport(&s, "tcp", &err), SKIFF_OK);
    assert_string_equal(s.transport, "tcp");
    assert_int_equal(settings_set_transport(&s, "tcq", &err), SKIFF_NOT_FOUND);
    assert_non_null(
        strstr(err.message, "transport: there is no transport tcq, the nearest is tcp"));
    assert_string_equal(s.transport, "tcp");
}

static void encryption_is_chosen(void **state)
{
    struct one on = {"SKIFF_ENCRYPT", "on"};
    struct settings s;
    struct skiff_error err;
    assert_int_equal(settings_read(&s, lookup, &on, &err), SKIFF_OK);
    assert_string_equal(s.links, "tcp encrypt=on");
    assert_int_equal(settings_set_transport(&s, "ipc peer_bytes=1M", &err), SKIFF_OK);
    assert_string_equal(s.links, "ipc peer_bytes=1M encrypt=on");
    struct settings_security off = {.encrypt = "off"}, wrong = {.encrypt = "perhaps"};
    assert_int_equal(settings_set_security(&s, &off, &err), SKIFF_OK);
    assert_string_equal(s.links, "ipc peer_bytes=1M encrypt=off");
    assert_int_equal(settings_set_security(&s, &wrong, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "expected auto, on or off"));
}

/* Files with secrets: one line, for the owner's eyes alone. */
static void secrets_in_files(void **state)
{
    char folder[] = "/tmp/skiff-fifo-XXXXXX", fifo[64], nothing[SECRET_TEXT];
    struct skiff_error fifo_err;
    assert_non_null(mkdtemp(folder));
    snprintf(fifo, sizeof(fifo), "%s/secret", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(secret_file_read(fifo, nothing, &fifo_err), SKIFF_INVALID); /* at once */
    unlink(fifo);
    rmdir(folder);
    static const struct {
        const char *text, *message;
        unsigned mode;
    } rows[] = {{"open sesame\n", NULL, 0600},
                {"open sesame", NULL, 0400},
                {"open sesame\n", "can be used by others (mode 640): chmod 600", 0640},
                {"open sesame\n", "can be used by others (mode 604): chmod 600", 0604},
                {"", "expected one line", 0600},
                {"one\ntwo\n", "expected one line", 0600}};
    char path[] = "/tmp/skiff-secret-XXXXXX", found[SECRET_TEXT];
    struct skiff_error err;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        strcpy(path + strlen(path) - 6, "XXXXXX");
        int fd = mkstemp(path);
        assert_int_equal(write(fd, rows[i].text, strlen(rows[i].text)), strlen(rows[i].text));
        assert_int_equal(fchmod(fd, rows[i].mode), 0);
        close(fd);
        enum skiff_status status = secret_file_read(path, found, &err);
        struct one file = {"SKIFF_SECRET_FILE", path};
        struct settings s;
        assert_int_equal(settings_read(&s, lookup, &file, NULL) == SKIFF_OK, !rows[i].message);
        unlink(path);
        if (!rows[i].message) {
            assert_int_equal(status, SKIFF_OK);
            assert_string_equal(found, "open sesame");
            assert_string_equal(s.secret, "open sesame");
        } else if (status == SKIFF_OK || !strstr(err.message, rows[i].message)) {
            fail_msg("row %zu: %s", i, status == SKIFF_OK ? "taken" : err.message);
        }
    }
    char made[SECRET_TEXT], again[SECRET_TEXT], weak[256];
    secret_create(made);
    secret_create(again);
    assert_true(strlen(made) == 64 && strcmp(made, again));
    assert_false(secret_is_weak(made, weak, sizeof(weak)));
    assert_true(secret_is_weak("aaaaaaaaaaaaaaaaaaaa", weak, sizeof(weak)));
    assert_true(secret_is_weak("sesame", weak, sizeof(weak)));
    assert_non_null(strstr(weak, "has only 6 characters, 4 of them different, and may be guessed"));
}

static void wrong_ones_are_named(void **state)
{
    static const struct one cases[] = {
        {"FLAGS_rpc_deadline", "soon"},
        {"FLAGS_rpc_deadline", "0"},
        {"SKIFF_SILENCE_MS", "5"},
        {"CPU_NUM", "0"},
        {"CPU_NUM", "2x"},
        {"SKIFF_SHARDS", "1000"},
        {"SKIFF_TRANSPORT", "pigeon"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct one c = cases[i];
        struct settings s;
        struct skiff_error err = {0};
        assert_true(settings_read(&s, lookup, &c, &err) < 0);
        assert_non_null(strstr(err.message, c.name));
        assert_non_null(strstr(err.message, c.value));
    }
}

/* The launcher, doctor and late workers read it by itself. */
static void silence_alone(void **state)
{
    struct skiff_error err = {0};
    int ms = 0;
    unsetenv("SKIFF_SILENCE_MS");
    assert_int_equal(settings_silence(&ms, &err), SKIFF_OK);
    assert_int_equal(ms, 10000);
    setenv("SKIFF_SILENCE_MS", "2500", 1);
    assert_int_equal(settings_silence(&ms, &err), SKIFF_OK);
    assert_int_equal(ms, 2500);
    setenv("SKIFF_SILENCE_MS", "5", 1);
    assert_int_equal(settings_silence(&ms, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "SKIFF_SILENCE_MS is '5'"));
    assert_int_equal(ms, 10000);
    unsetenv("SKIFF_SILENCE_MS");
}

static void reports_come_back(void **state)
{
    struct report running = {
        .epoch = 3, .share = 0.25, .samples = 1000, .seconds = 2.5, .loss = 0.5, .auc = NAN};
    struct report whole = {
        .epoch = -1, .samples = 5000, .seconds = 9, .loss = 0.4, .auc = 0.75, .job_auc = 0.76};
    struct report out;
    char line[256];
    (void)state;
    report_encode(&running, line, sizeof(line));
    assert_true(report_parse(line, &out));
    assert_true(out.epoch == 3 && out.samples == 1000 && isnan(out.auc));
    assert_true(fabs(out.share - 0.25) < 1e-6 && fabs(out.seconds - 2.5) < 1e-6);
    assert_int_equal(out.day, 0);
    running.day = 20260131;
    strcpy(running.tables, "tables 7 rows");
    report_encode(&running, line, sizeof(line));
    assert_true(report_parse(line, &out));
    assert_true(out.day == 20260131 && out.epoch == 3 && out.samples == 1000);
    assert_memory_equal(out.tables, "tables 7 rows", 13);
    report_encode(&whole, line, sizeof(line));
    assert_true(report_parse(line, &out));
    assert_true(out.epoch == -1 && out.samples == 5000 && fabs(out.job_auc - 0.76) < 1e-6);
    assert_false(report_parse("", &out));
    assert_false(report_parse("hello", &out));
    assert_false(report_parse("P 1 2", &out));
    assert_false(report_parse("D 20260131 1 0.5 10 1 1", &out));
    assert_false(report_parse("R -5 1 1 1 1", &out));
    assert_false(report_parse("P -1 0 10 1 1 1", &out));
}

/* Values, not histograms; a later one replaces the earlier. */
static void metrics_come_back(void **state)
{
    struct metrics *r = metrics_create(NULL, 0);
    struct metrics_snapshot got = {0};
    struct metric *samples = metrics_get(r, METRIC_TRAIN_SAMPLES, "train");
    int ends[2];
    char fd[16], text[512];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(fd, sizeof fd, "%d", ends[1]);
    setenv(REPORT_FD, fd, 1);
    metric_observe(metrics_get(r, METRIC_STEP_SECONDS, "read"), 5);
    for (int i = 0; i < 2; i++) {
        struct metrics_snapshot now = {0};
        metric_add(samples, 40);
        snapshot_add(&now, r);
        report_metrics(&now);
        snapshot_deinit(&now);
    }
    unsetenv(REPORT_FD);
    close(ends[1]);
    ssize_t n = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    assert_true(n > 0);
    text[n] = '\0';
    assert_string_equal(text, "S skiff_train_samples_total{work=\"train\"} 40\n"
                              "S skiff_train_samples_total{work=\"train\"} 80\n");
    for (char *at = text, *line; (line = strsep(&at, "\n")) && *line;)
        assert_true(report_metric_parse(line, &got));
    assert_int_equal(snapshot_value(&got, METRIC_TRAIN_SAMPLES, "train"), 80);
    assert_false(report_metric_parse("S skiff_train_samples_total 80", &got));
    assert_false(report_metric_parse("P 1 0.5 10 1 1 1", &got));
    snapshot_deinit(&got);
    metrics_destroy(r);
}

static void check_news(const struct report_news *n, const char *expected)
{
    struct report_news out;
    char line[1024];
    report_news_encode(n, line, sizeof(line));
    assert_string_equal(line, expected);
    line[strcspn(line, "\n")] = 0;
    assert_true(report_news_parse(line, &out));
    assert_int_equal(out.kind, n->kind);
    assert_string_equal(out.role, n->role);
    assert_int_equal(out.index, n->index);
    assert_string_equal(out.state, n->state);
    assert_true(out.incarnation == n->incarnation && out.process == n->process);
}

static void news_come_back(void **state)
{
    struct report_news out;
    (void)state;
    check_news(&(struct report_news){.kind = NEWS_MEMBER,
                                     .role = "worker",
                                     .index = 1,
                                     .state = "dead",
                                     .incarnation = UINT64_MAX,
                                     .process = 4711,
                                     .text = "has been silent for 10.1 s"},
               "M worker 1 dead 18446744073709551615 4711 has been silent for 10.1 s\n");
    check_news(&(struct report_news){.kind = NEWS_MEMBER, .role = "server", .state = "here"},
               "M server 0 here 0 0 \n");
    check_news(&(struct report_news){.kind = NEWS_LATE, .role = "rank", .index = 3, .text = "a b"},
               "L rank 3 a b\n");
    check_news(&(struct report_news){.kind = NEWS_ACCUSED, .role = "rank", .text = "two\nlines"},
               "A rank 0 two lines\n");
    check_news(&(struct report_news){.kind = NEWS_WARNING, .text = "M worker 1"}, "N M worker 1\n");
    assert_true(report_news_parse("L rank 3 a b", &out));
    assert_string_equal(out.text, "a b");
    assert_true(report_news_parse("N the disk is full", &out));
    assert_string_equal(out.text, "the disk is full");
    static const char *const wrong[] = {"",
                                        "M",
                                        "M worker",
                                        "M worker x dead 1 y",
                                        "L rank",
                                        "A rank -1 text",
                                        "N",
                                        "X rank 1 text",
                                        "P 0 1 2 3 4 5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(report_news_parse(wrong[i], &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_set),           cmocka_unit_test(values_are_taken),
        cmocka_unit_test(transports_are_chosen), cmocka_unit_test(encryption_is_chosen),
        cmocka_unit_test(secrets_in_files),      cmocka_unit_test(silence_alone),
        cmocka_unit_test(wrong_ones_are_named),  cmocka_unit_test(reports_come_back),
        cmocka_unit_test(metrics_come_back),     cmocka_unit_test(news_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
