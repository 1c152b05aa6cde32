#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/metrics.h"

/* One of each kind, as a server has them. */
static struct metrics *filled(void)
{
    struct metrics *r = metrics_create("server", 1);
    metric_add(metrics_get(r, METRIC_SERVER_STEPS), 12);
    metric_set(metrics_get(r, METRIC_TABLE_ROWS, "a\"b\\c\n"), 3);
    metric_set(metrics_get(r, METRIC_TABLE_ROWS, "emb"), 4);
    struct metric *h = metrics_get(r, METRIC_RPC_CALL_SECONDS);
    metric_observe(h, 500);
    metric_observe(h, 1023);
    metric_observe(h, 1024);
    metric_observe(h, UINT64_C(1500000000));
    metric_observe(h, UINT64_C(200000000000)); /* beyond the last bound */
    return r;
}

static char *text_of(struct metrics *r)
{
    struct metrics_snapshot s = {0};
    struct buf out = BUF_INIT;
    snapshot_add(&s, r);
    snapshot_prometheus(&s, &out);
    snapshot_deinit(&s);
    return out.data;
}

static void has(const char *text, const char *line)
{
    const char *at = strstr(text, line);
    if (!at || (at != text && at[-1] != '\n'))
        fail_msg("expected %sin:\n%s", line, text);
}

static void the_text_of_a_server(void **state)
{
    struct metrics *r = filled();
    char *text = text_of(r);
    has(text, "# HELP skiff_server_steps_total sync steps finished\n"
              "# TYPE skiff_server_steps_total counter\n"
              "skiff_server_steps_total{server=\"1\"} 12\n"
              "# HELP skiff_table_rows rows of sparse tables\n"
              "# TYPE skiff_table_rows gauge\n"
              "skiff_table_rows{table=\"a\\\"b\\\\c\\n\",server=\"1\"} 3\n"
              "skiff_table_rows{table=\"emb\",server=\"1\"} 4\n"
              "# HELP skiff_rpc_call_seconds time from a request to its reply\n"
              "# TYPE skiff_rpc_call_seconds histogram\n"
              "skiff_rpc_call_seconds_bucket{server=\"1\",le=\"0.000001023\"} 2\n"
              "skiff_rpc_call_seconds_bucket{server=\"1\",le=\"0.000002047\"} 3\n");
    has(text, "skiff_rpc_call_seconds_bucket{server=\"1\",le=\"1.073741823\"} 3\n"
              "skiff_rpc_call_seconds_bucket{server=\"1\",le=\"2.147483647\"} 4\n");
    has(text, "skiff_rpc_call_seconds_bucket{server=\"1\",le=\"68.719476735\"} 4\n"
              "skiff_rpc_call_seconds_bucket{server=\"1\",le=\"+Inf\"} 5\n"
              "skiff_rpc_call_seconds_sum{server=\"1\"} 201.500002547\n"
              "skiff_rpc_call_seconds_count{server=\"1\"} 5\n");
    free(text);
    metrics_destroy(r);
}

static void without_labels(void **state)
{
    struct metrics *r = metrics_create(NULL, 0);
    metric_add(metrics_get(r, METRIC_NET_BYTES_IN), INT64_C(1) << 40);
    metric_observe(metrics_get(r, METRIC_RPC_CALL_SECONDS), 0);
    char *text = text_of(r);
    has(text, "skiff_net_bytes_in_total 1099511627776\n");
    has(text, "skiff_rpc_call_seconds_bucket{le=\"0.000001023\"} 1\n");
    has(text, "skiff_rpc_call_seconds_sum 0.000000000\n");
    free(text);
    metrics_destroy(r);
}

/* ---- the form, read by a parser of its own ---- */

static const char *read_name(const char *c)
{
    const char *start = c;
    while ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' ||
           (c > start && *c >= '0' && *c <= '9'))
        c++;
    return c > start ? c : NULL;
}

/* {name="value",...}; values with \\, \" and \n only. NULL: not that. */
static const char *read_labels(const char *c)
{
    do {
        c = read_name(c + 1);
        if (!c || c[0] != '=' || c[1] != '"')
            return NULL;
        for (c += 2; *c && *c != '"'; c++)
            if (*c == '\n' || (*c == '\\' && !strchr("\\\"n", *++c)))
                return NULL;
        if (*c++ != '"')
            return NULL;
    } while (*c == ',');
    return *c == '}' ? c + 1 : NULL;
}

/* "name{labels} number"; the end of the name goes to out_end. */
static bool is_sample(const char *line, const char **out_end)
{
    char *end;
    const char *c = *out_end = read_name(line);
    if (c && *c == '{')
        c = read_labels(c);
    if (!c || *c != ' ')
        return false;
    (void)strtod(c + 1, &end);
    return end > c + 1 && *end == '\n';
}

/* Number of samples; fails at the first line that the format does not have. */
static int parse(const char *text)
{
    char family[80] = "";
    int samples = 0, typed = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const char *end;
        assert_non_null(strchr(line, '\n'));
        if (!strncmp(line, "# HELP ", 7)) {
            end = read_name(line + 7);
            assert_true(end && *end == ' ');
            snprintf(family, sizeof family, "%.*s", (int)(end - line - 7), line + 7);
            typed = 0;
        } else if (!strncmp(line, "# TYPE ", 7)) {
            assert_int_equal(strncmp(line + 7, family, strlen(family)), 0);
            assert_int_equal(typed++, 0);
        } else {
            if (!is_sample(line, &end))
                fail_msg("not a sample: %.80s", line);
            assert_int_equal(typed, 1);
            assert_int_equal(strncmp(line, family, strlen(family)), 0);
            samples++;
        }
    }
    return samples;
}

static void every_metric_is_readable(void **state)
{
    struct metrics *r = metrics_create("worker", 0);
    int expected = 0;
    for (int i = 0; i < METRIC_IDS; i++) {
        metrics_get(r, (enum metric_id)i, "x{\"\\\n", "y", "z");
        expected += metric_def((enum metric_id)i)->kind != METRIC_KIND_HISTOGRAM ? 1
                    : !strcmp(metric_def((enum metric_id)i)->unit, "seconds")    ? 27 + 3
                                                                                 : 31 + 3;
    }
    char *text = text_of(r);
    assert_int_equal(parse(text), expected);
    free(text);
    metrics_destroy(r);
}

static void the_parser_refuses(void **state)
{
    static const char *const bad[] = {"a{b=\"c} 1\n", "a{b=c} 1\n",   "a{b=\"\\x\"} 1\n",
                                      "a{} 1\n",      "a\n",          "a x\n",
                                      "1a 1\n",       "a{b=\"c\"}1\n"};
    const char *end;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (is_sample(bad[i], &end))
            fail_msg("taken for a sample: %s", bad[i]);
    assert_true(is_sample("a{b=\"c\",d=\"\\\\\"} 1.5\n", &end));
}

/* promtool is part of Debian's package prometheus. */
static void promtool_agrees(void **state)
{
    struct metrics *r = filled();
    char *text = text_of(r);
    if (system("command -v promtool >/dev/null 2>&1") != 0) {
        printf("skipped: promtool is not installed\n");
    } else {
        FILE *p = popen("promtool check metrics", "w");
        assert_non_null(p);
        assert_int_equal(fwrite(text, 1, strlen(text), p), strlen(text));
        assert_int_equal(pclose(p), 0);
    }
    free(text);
    metrics_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_of_a_server),     cmocka_unit_test(without_labels),
        cmocka_unit_test(every_metric_is_readable), cmocka_unit_test(the_parser_refuses),
        cmocka_unit_test(promtool_agrees),
    };
    return cmocka_run_group_tests_name("prometheus", tests, NULL, NULL);
}
