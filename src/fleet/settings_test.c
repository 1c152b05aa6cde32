/* Settings from the environment, and the progress lines of workers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fleet/report.h"
#include "fleet/settings.h"

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
    assert_int_equal(settings_set_transport(&s, "zmq", &err), SKIFF_OK);
    assert_string_equal(s.transport, "zmq");
    assert_int_equal(settings_set_transport(&s, "zmx", &err), SKIFF_NOT_FOUND);
    assert_non_null(
        strstr(err.message, "transport: there is no transport zmx, the nearest is zmq"));
    assert_string_equal(s.transport, "zmq");
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
    report_encode(&whole, line, sizeof(line));
    assert_true(report_parse(line, &out));
    assert_true(out.epoch == -1 && out.samples == 5000 && fabs(out.job_auc - 0.76) < 1e-6);
    assert_false(report_parse("", &out));
    assert_false(report_parse("hello", &out));
    assert_false(report_parse("P 1 2", &out));
    assert_false(report_parse("R -5 1 1 1 1", &out));
    assert_false(report_parse("P -1 0 10 1 1 1", &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_set),           cmocka_unit_test(values_are_taken),
        cmocka_unit_test(transports_are_chosen), cmocka_unit_test(wrong_ones_are_named),
        cmocka_unit_test(reports_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
