/* Every row of optimizer_list.h: it fits its rule, its op and the arguments of Paddle's class. What
 * the rows say is compared with Paddle in tests/python (optimizers.json) and tests/golden. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program/op_kind.h"
#include "rules/optimizer.h"

#define FOR_EACH_KIND(kind, generation)                                                        \
    for (int generation = 1; generation <= 2; generation++)                                    \
        for (const struct optimizer_kind *kind = optimizer_kinds(generation); kind->info.type; \
             kind++)

/* As many accumulators as the rule has states and scalars, states first. */
static void accumulators_fit_the_rule(void **unused)
{
    FOR_EACH_KIND(kind, generation)
    {
        int states = 0, scalars = 0;
        for (const struct optimizer_accumulator *a = kind->accumulators; a->name; a++) {
            if (!a->scalar && scalars)
                fail_msg("%s: %s comes after a scalar", kind->info.type, a->name);
            states += !a->scalar;
            scalars += a->scalar;
            assert_true(optimizer_kind_holds(kind, a->in));
        }
        if (states != kind->rule->states || scalars != kind->rule->scalars)
            fail_msg("%s of %d.x has %d and %d accumulators, its rule %d and %d", kind->info.type,
                     generation, states, scalars, kind->rule->states, kind->rule->scalars);
        assert_false(optimizer_kind_holds(kind, "Param"));
        assert_false(optimizer_kind_holds(kind, "LearningRate"));
    }
}

static bool has_attr(const struct op_kind *op, const struct optimizer_attr *a)
{
    int at = op_kind_attr(op, a->name);
    if (at < 0)
        return false;
    enum attr_type type = op->attrs[at].type;
    return a->kind == OPTIMIZER_NUMBER ? type == ATTR_FLOAT || type == ATTR_FLOATS
                                       : type == ATTR_BOOLEAN;
}

static void ops_have_the_slots_and_attributes(void **unused)
{
    FOR_EACH_KIND(kind, generation)
    {
        const struct op_kind *op = op_kind_find(kind->info.type, generation == 2 ? GEN_2X : GEN_1X);
        assert_non_null(op);
        assert_true(op->flags & OP_OPTIMIZER);
        assert_int_equal(!!(op->flags & OP_ROWS_OK), !!(kind->flags & OPTIMIZER_SPARSE));
        for (const struct optimizer_accumulator *a = kind->accumulators; a->name; a++)
            if (op_kind_slot(op->ins, a->in) < 0 || (a->out && op_kind_slot(op->outs, a->out) < 0))
                fail_msg("op %s has no slots for %s", op->type, a->name);
        for (const struct optimizer_attr *a = kind->attrs; a->name; a++)
            if (!has_attr(op, a))
                fail_msg("op %s has no attribute %s of that type", op->type, a->name);
    }
    for (int i = 0; i < op_kind_count(); i++) /* and there is no op without a row */
        if (op_kind_at(i)->flags & OP_OPTIMIZER)
            assert_non_null(
                optimizer_kind_find(op_kind_at(i)->type, (int)op_kind_at(i)->generations));
}

static bool is_word_of(const char *word, const char *text)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

/* What can be set is an argument of the class, once. */
static void settings_are_arguments(void **unused)
{
    FOR_EACH_KIND(kind, generation)
    {
        for (const struct skiff_optimizer_setting *s = kind->info.settings; s->name; s++) {
            const char *argument = s->argument ? s->argument : s->name;
            assert_true(s->offset < sizeof(struct skiff_optimizer_options));
            if (kind->info.arguments && !is_word_of(argument, kind->info.arguments))
                fail_msg("%s of %d.x: %s is no argument", kind->info.type, generation, argument);
            for (const struct skiff_optimizer_setting *t = s + 1; t->name; t++)
                if (t->offset == s->offset)
                    fail_msg("%s: %s stands twice", kind->info.type, s->name);
        }
        for (const struct optimizer_kind *other = kind + 1; other->info.type; other++)
            assert_string_not_equal(kind->info.type, other->info.type);
    }
}

static const struct skiff_optimizer_setting *setting_of(const char *type, int generation,
                                                        const char *name)
{
    const struct optimizer_kind *kind = optimizer_kind_find(type, generation);
    for (const struct skiff_optimizer_setting *s = kind->info.settings; s->name; s++)
        if (!strcmp(s->name, name))
            return s;
    return NULL;
}

static void generations_differ(void **unused)
{
    assert_null(optimizer_kind_find("adamw", 1));
    assert_non_null(optimizer_kind_find("adamw", 2));
    assert_null(optimizer_kind_find("relu", 1));
    assert_true(isnan(setting_of("momentum", 1, "momentum")->preset));
    assert_true(setting_of("momentum", 2, "momentum")->preset == 0.9);
    assert_null(setting_of("momentum", 1, "rescale_grad"));
    assert_true(setting_of("momentum", 2, "rescale_grad")->preset == 1);
    assert_int_equal(setting_of("adam", 1, "beta1")->range, SKIFF_RANGE_ANY);
    assert_int_equal(setting_of("adam", 2, "beta1")->range, SKIFF_RANGE_SHARE);
}

/* What users are shown: those with a class, in order, to the end. */
static void public_rows(void **unused)
{
    FOR_EACH_KIND(kind, generation)
    {
        bool shown = false;
        const struct skiff_optimizer_info *info;
        for (int i = 0; (info = skiff_optimizer_info(i, generation)); i++)
            shown |= info == &kind->info;
        assert_int_equal(shown, kind->info.class_name != NULL);
        assert_int_equal(kind->info.about != NULL, shown);
    }
    assert_null(skiff_optimizer_info(-1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accumulators_fit_the_rule),
        cmocka_unit_test(ops_have_the_slots_and_attributes),
        cmocka_unit_test(settings_are_arguments),
        cmocka_unit_test(generations_differ),
        cmocka_unit_test(public_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
