/* Requirements for every row of <skiff/mode_list.h>: a number and a name of its own, a class in
 * src/comm whose slots fit together and match the row's flags, and an entry in the documents. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <skiff/skiff.h>

#include "comm/mode.h"
#include "passes/split.h"
#include "store/file.h"

static const enum skiff_split_mode modes[] = {
#define SKIFF_MODE(constant, number, name, flags, promise) SKIFF_SPLIT_##constant,
#include <skiff/mode_list.h>
#undef SKIFF_MODE
};
enum { MODES = sizeof modes / sizeof modes[0] };

static void names_and_numbers(void **state)
{
    const char *at = skiff_mode_names();
    for (int i = 0; i < MODES; i++) {
        const char *name = skiff_mode_name(modes[i]);
        enum skiff_split_mode found;
        assert_true(skiff_mode_find(name, &found));
        assert_int_equal(found, modes[i]);
        assert_true(mode_is_known((uint32_t)modes[i]));
        assert_true(strlen(skiff_mode_promise(modes[i])) > 20);
        at = strstr(at, name); /* in their order */
        if (!at)
            fail_msg("%s is not in \"%s\", or in another place", name, skiff_mode_names());
        at += strlen(name);
        for (int k = 0; k < i; k++) {
            assert_int_not_equal(modes[k], modes[i]);
            assert_string_not_equal(skiff_mode_promise(modes[k]), skiff_mode_promise(modes[i]));
        }
    }
    assert_string_equal(at, ""); /* the last one */
    at -= strlen(skiff_mode_name(modes[MODES - 1])) + strlen(" or ");
    assert_int_equal(strncmp(at, " or ", 4), 0);
}

/* They are in programs that Paddle has written, and on the wire. */
static void numbers_are_paddles(void **state)
{
    assert_int_equal(SKIFF_SPLIT_SYNC, 0);
    assert_int_equal(SKIFF_SPLIT_ASYNC, 1);
    assert_int_equal(SKIFF_SPLIT_HALF_ASYNC, 2);
    assert_int_equal(SKIFF_SPLIT_GEO, 3);
}

static void what_is_no_mode(void **state)
{
    enum skiff_split_mode found = SKIFF_SPLIT_GEO;
    static const char *const others[] = {"", "Sync", "sync ", "half-async", "fast", "unknown"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(skiff_mode_find(others[i], &found));
    assert_int_equal(found, SKIFF_SPLIT_GEO);
    assert_false(mode_is_known(UINT32_MAX));
    assert_string_equal(skiff_mode_name((enum skiff_split_mode)99), "unknown");
    assert_string_equal(skiff_mode_promise((enum skiff_split_mode)99), "");
    assert_int_equal(skiff_mode_flags((enum skiff_split_mode)99), 0);
}

static void slots_fit(const struct comm_mode *m, const char *name)
{
    const struct job_class *c = m->class;
    assert_non_null(c);
    if (!c->recv || !c->lookup || !c->save_table || !c->close || !c->destroy || c->serve)
        fail_msg("%s: the class lacks what every trainer's job has", name);
    assert_int_equal(!m->create, !m->destroy);
    assert_int_equal(!m->start, !m->stop);
    assert_int_equal(!m->start, !m->flush); /* a thread of its own: exchanges can be in flight */
    assert_int_equal(!m->threads_begin, !m->thread_end);
    assert_int_equal(!m->send, !c->send);
    assert_int_equal(!m->send_ids, !c->send_ids);
    assert_non_null(m->send);
    assert_int_equal(!m->send_ids, !m->lookup); /* the ids of batches: rows are in the worker */
    assert_int_equal(!m->prefetch, !c->lookup_prefetch);
    assert_int_equal(!m->prefetch, !c->lookup_take);
    assert_int_equal(!m->prefetch, !c->lookup_drop);
}

static void classes(void **state)
{
    for (int i = 0; i < MODES; i++) {
        const struct comm_mode *m = comm_mode_of(modes[i]);
        const char *name = skiff_mode_name(modes[i]);
        assert_non_null(m);
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(m, comm_mode_of(modes[k]));
        slots_fit(m, name);
        if (!m->class->communicates)
            fail_msg("%s: recv ops would pull what the mode has brought", name);
        if (mode_waits(modes[i]) && !mode_joins_threads(modes[i]))
            fail_msg("%s: a step that waits for all trainers is one step of each of them", name);
        assert_int_equal(mode_joins_threads(modes[i]), m->threads_begin && m->send_barrier);
        assert_int_equal(mode_adds(modes[i]), m->send_ids != NULL);
    }
    slots_fit(&mode_direct, "direct");
    assert_false(mode_direct.class->communicates);
}

/* ---- a trainer's job, before it has connected to a server ---- */

static struct skiff_split *split_for(const struct skiff_net *net, enum skiff_split_mode mode)
{
    struct skiff_error err;
    struct skiff_split *s = NULL;
    struct skiff_split_config config = split_config_fleet(mode);
    struct skiff_split_job job = {.main = skiff_net_main(net),
                                  .startup = skiff_net_startup(net),
                                  .pservers = "127.0.0.1:6170,127.0.0.1:6171",
                                  .trainers = 2};
    if (split_create(&job, &config, &s, &err) < 0)
        fail_msg("%s", err.message);
    return s;
}

static enum skiff_status send_early(struct job *j, struct skiff_error *err)
{
    const char *name = "w", *server = "127.0.0.1:6170";
    struct skiff_tensor x = {0};
    struct job_slices to = {.origin = name, .n = 1, .names = &name, .endpoints = &server};
    const struct tensor *ids = &x.tensor;
    if (j->class->send_ids)
        return j->class->send_ids(j, 1, &name, &ids, err);
    return j->class->send(j, &to, &x, false, err);
}

/* Fleet's strategy of the mode gives trainers of this mode; a send before init_worker is refused; a
 * job that was never started ends at once. */
static void lives(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4));
    struct skiff_var *loss =
        skiff_mean(net, skiff_fc(net, x, 1, .param_attr = SKIFF_PARAM(.name = "w")));
    struct skiff_error err;
    assert_int_equal(skiff_minimize(net, loss, &err, "sgd", .learning_rate = 0.1), SKIFF_OK);
    for (int i = 0; i < MODES; i++) {
        struct skiff_split *s = split_for(net, modes[i]);
        struct comm_options o = {.plan = split_plan(s)};
        struct job *j;
        assert_int_equal(split_plan(s)->trainer_mode, modes[i]);
        assert_int_equal(mode_waits(split_plan(s)->mode), mode_waits(modes[i]));
        assert_int_equal(mode_adds(split_plan(s)->mode), mode_adds(modes[i]));
        assert_int_equal(comm_create(&o, &j, &err), SKIFF_OK);
        split_destroy(s); /* the job keeps the plan */
        assert_ptr_equal(j->class, comm_mode_of(modes[i])->class);
        assert_int_equal(send_early(j, &err), SKIFF_STATE);
        assert_non_null(strstr(err.message, "init_worker"));
        assert_int_equal(comm_flush(j, &err), SKIFF_OK);
        assert_int_equal(j->class->close(j, &err), SKIFF_OK);
        assert_int_equal(j->class->close(j, &err), SKIFF_OK);
        job_unref(j);
    }
    skiff_net_destroy(net);
}

static void should_name(const char *path, const char *name)
{
    struct buf text = BUF_INIT;
    struct skiff_error err;
    if (file_read(path, &text, &err) < 0)
        fail_msg("%s", err.message);
    buf_add(&text, "", 1);
    if (!strcasestr(text.data, name))
        fail_msg("%s does not say %s", path, name);
    buf_deinit(&text);
}

static void documents(void **state)
{
    for (int i = 0; i < MODES; i++) {
        const char *name = skiff_mode_name(modes[i]);
        char file[64], spoken[32];
        snprintf(file, sizeof file, "mode_%s.c", name);
        should_name("src/comm/README.md", file);
        should_name("docs/reference/configuration.md", name);
        snprintf(spoken, sizeof spoken, "%s", name);
        for (char *c = spoken; *c; c++)
            *c = *c == '_' ? '-' : *c;
        should_name("docs/internals/consistency.md", spoken);
        should_name("README.md", spoken);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_numbers),
        cmocka_unit_test(numbers_are_paddles),
        cmocka_unit_test(what_is_no_mode),
        cmocka_unit_test(classes),
        cmocka_unit_test(lives),
        cmocka_unit_test(documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
