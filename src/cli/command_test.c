#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"

static void check_rows(const struct command *c, struct buf *help)
{
    for (const struct option *row = c->options->rows; row->name; row++) {
        struct buf flag = BUF_INIT;
        option_flag(row, &flag);
        if (row->kind != OPTION_IGNORED && (!row->help || !*row->help))
            fail_msg("%s --%s has no help", c->name, row->name);
        if (option_shown(row) && !strstr(help->data, flag.data))
            fail_msg("the help of %s does not have %s", c->name, flag.data);
        if (row->kind == OPTION_CHOICE && !row->words)
            fail_msg("%s --%s has no words", c->name, row->name);
        for (const struct option *other = c->options->rows; other != row; other++)
            if (!strcmp(other->name, row->name) || (row->also && !strcmp(other->name, row->also)) ||
                (row->letter && row->letter == other->letter))
                fail_msg("%s: --%s and --%s are the same", c->name, row->name, other->name);
        buf_deinit(&flag);
    }
    void *args =
        mem_alloc_or_die(c->args_size + 1); /* every standard value is one that the row takes */
    options_init(c->options, args);
    options_deinit(c->options, args);
    free(args);
}

static void check_command(const struct command *c)
{
    struct buf help = BUF_INIT;
    command_help(c, c->name, &help);
    assert_non_null(strstr(help.data, "usage: skiff "));
    assert_true(help.data[help.len - 1] == '\n');
    assert_non_null(c->text);
    for (const struct command *p = c->parts; p && p->name; p++)
        check_command(p);
    if (c->parts) {
        assert_null(c->run);
    } else {
        assert_non_null(c->usage);
        assert_non_null(c->run);
    }
    if (c->options)
        check_rows(c, &help);
    buf_deinit(&help);
}

static void every_command_is_whole(void **state)
{
    int n = 0;
    for (const struct command *const *c = command_all(); *c; c++, n++)
        check_command(*c);
    assert_true(n > 10);
}

static void commands_are_found(void **state)
{
    assert_ptr_equal(command_find("train"), &command_train);
    assert_ptr_equal(command_find("check-data"), &command_check_data);
    assert_ptr_equal(command_find("check_data"), &command_check_data);
    assert_null(command_find("check"));
    assert_null(command_find(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_is_whole),
        cmocka_unit_test(commands_are_found),
    };
    return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
