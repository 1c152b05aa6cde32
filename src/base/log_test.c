#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/log.h"

/* Runs the calls with stderr going to a file; gives back what was written. */
static void capture(void (*calls)(void), char *out, size_t capacity)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    int saved = dup(STDERR_FILENO);
    dup2(fileno(f), STDERR_FILENO);
    calls();
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(f);
    size_t n = fread(out, 1, capacity - 1, f);
    out[n] = '\0';
    fclose(f);
}

static void on_log(void)
{
    log_set_role("trainer.0");
    log_set_level(LOG_INFO);
    log_debug("not seen");
    log_info("epoch=%d auc=%.2f", 3, 0.75);
    log_set_level(LOG_ERROR);
    log_warn("not seen either");
    log_error("lost");
}

static void line_has_level_role_text(void **state)
{
    char out[4096];
    capture(on_log, out, sizeof out);
    assert_non_null(strstr(out, " INFO trainer.0 epoch=3 auc=0.75\n"));
    assert_non_null(strstr(out, " ERROR trainer.0 lost\n"));
    assert_null(strstr(out, "not seen"));
    int y, mo, d, h, mi, s, ms;
    assert_int_equal(sscanf(out, "%d-%d-%d %d:%d:%d.%d", &y, &mo, &d, &h, &mi, &s, &ms), 7);
}

static char heard[256];

static void hear(void *user, enum log_level level, const char *text)
{
    size_t n = strlen(heard);
    snprintf(heard + n, sizeof heard - n, "%s%d:%s;", (const char *)user, (int)level, text);
}

static void log_to_listener(void)
{
    log_set_level(LOG_ERROR);
    log_listen(hear, ">");
    log_warn("one %d", 1);
    log_error("two");
    log_listen(NULL, NULL);
    log_error("three");
}

/* Every line, also those that are not written. */
static void a_listener_hears_all(void **state)
{
    char out[4096];
    capture(log_to_listener, out, sizeof out);
    assert_string_equal(heard, ">2:one 1;>3:two;");
    assert_null(strstr(out, "one 1"));
    assert_non_null(strstr(out, "three"));
}

static void log_much(void)
{
    char big[10000];
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = '\0';
    log_set_role(big);
    log_error("%s", big);
}

static void long_lines_are_cut(void **state)
{
    char out[20000];
    capture(log_much, out, sizeof out);
    size_t n = strlen(out);
    assert_in_range(n, 1900, 2048);
    assert_int_equal(out[n - 1], '\n');
    char *role = strstr(out, "ERROR ") + 6;
    assert_int_equal(strcspn(role, " "), 31);
}

static void levels_and_colours(void **state)
{
    log_set_level(LOG_WARN);
    assert_false(log_shows(LOG_INFO));
    assert_true(log_shows(LOG_WARN));
    log_set_level(LOG_INFO);
    setenv("NO_COLOR", "1", 1);
    assert_string_equal(log_colour(LOG_ERROR), "");
    assert_string_equal(log_plain(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_has_level_role_text),
        cmocka_unit_test(a_listener_hears_all),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(levels_and_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
