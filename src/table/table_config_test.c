#include "table/table_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct table_config parsed(const char *text)
{
    struct table_config c;
    struct skiff_error err;
    if (table_config_parse("embedding", text, &c, &err) < 0)
        fail_msg("%s", err.message);
    return c;
}

static void assert_refused(const char *text, const char *why)
{
    struct table_config c;
    struct skiff_error err;
    assert_int_equal(table_config_parse("embedding", text, &c, &err), SKIFF_INVALID);
    assert_string_equal(err.message, why);
}

/* No rule given: adam with the optimizer's rate, also under SGD. */
static void test_defaults_are_fleets(void **state)
{
    struct table_config c = parsed("hint.dim 5\nhint.optimizer sgd\nhint.learning_rate 0.1\n"
                                   "hint.initial_range 0.25\n");
    assert_ptr_equal(c.accessor, &accessor_sparse);
    assert_int_equal(c.options.embedx, 4);
    assert_int_equal(c.shard_num, 1000);
    assert_ptr_equal(c.options.embed_rule, &sgd_rule_adam);
    assert_true(c.options.embed.rate == 0.1f);
    assert_true(c.options.embed.initial_range == 0.25f);
    assert_true(c.options.embed.low == -10 && c.options.embed.high == 10);
    assert_true(c.options.ctr.show_click_decay_rate == 1);
    assert_true(c.options.ctr.base_threshold == 0);
    assert_true(c.options.ctr.zero_init && c.options.ctr.show_scale);
    assert_true(c.cache_rate == 0.00055);
    assert_int_equal(c.cache_files, 16);
    table_config_deinit(&c);
}

static void test_betas(void **state)
{
    struct table_config c = parsed("hint.dim 2\nhint.optimizer adam\nhint.beta1 0.8\n");
    assert_true(c.options.embed.beta1 == 0.8f);
    table_config_deinit(&c);
    /* a user's beta is overwritten, as in 2.6 */
    c = parsed("hint.dim 2\nhint.optimizer adam\nhint.beta1 0.8\n"
               "accessor.embed_sgd_param.adam.beta1_decay_rate 0.5\n");
    assert_true(c.options.embed.beta1 == 0.9f);
    assert_true(c.options.embedx_params.beta1 == 0.8f);
    table_config_deinit(&c);
}

static void test_a_users_settings(void **state)
{
    struct table_config c = parsed(
        "table_class SSDSparseTable\nshard_num 7\naccessor.accessor_class CtrCommonAccessor\n"
        "accessor.fea_dim 9\naccessor.embedx_dim 6\naccessor.embedx_threshold 10\n"
        "accessor.embed_sgd_param.name SparseAdaGradSGDRule\n"
        "accessor.embed_sgd_param.adagrad.learning_rate 0.3\n"
        "accessor.embed_sgd_param.adagrad.weight_bounds -1,2\n"
        "accessor.embedx_sgd_param.name adagrad_v2\n"
        "accessor.ctr_accessor_param.nonclk_coeff 0.5\n"
        "accessor.ctr_accessor_param.show_scale False\n"
        "accessor.table_accessor_save_param.num 2\n"
        "accessor.table_accessor_save_param.param 1,2\n"
        "accessor.table_accessor_save_param.converter sed s/a/b/\n"
        "accessor.table_accessor_save_param.1.deconverter cat -\n"
        "something.else 3\nentry count_filter_entry:5\nmemory_limit 2G\nhint.dim 9\n");
    assert_ptr_equal(c.accessor, &accessor_ctr_common);
    assert_int_equal(c.policy, MEMORY_DISK);
    assert_int_equal(c.shard_num, 7);
    assert_int_equal(c.options.embedx, 6);
    assert_true(c.options.ctr.embedx_threshold == 10);
    assert_true(c.options.ctr.nonclk_coeff == 0.5f);
    assert_false(c.options.ctr.show_scale);
    assert_ptr_equal(c.options.embed_rule, &sgd_rule_adagrad);
    assert_true(c.options.embed.rate == 0.3f);
    assert_true(c.options.embed.low == -1 && c.options.embed.high == 2);
    assert_ptr_equal(c.options.embedx_rule, &sgd_rule_adagrad_v2);
    assert_true(c.options.embedx_params.high > 1e30f);
    assert_int_equal(c.nconverters, 2);
    assert_int_equal(c.converters[1].mode, 2);
    assert_string_equal(c.converters[1].converter, "sed s/a/b/");
    assert_null(c.converters[0].deconverter);
    assert_string_equal(c.converters[1].deconverter, "cat -");
    assert_int_equal(c.admission.kind, ADMISSION_COUNT);
    assert_int_equal(c.admission.count, 5);
    assert_int_equal(c.memory_limit, 2ull << 30);
    assert_string_equal(c.unknown, "something.else");
    table_config_deinit(&c);
}

/* YAML files have their keys in any order. */
static void test_converters_of_all_modes(void **state)
{
    struct table_config c = parsed("accessor.table_accessor_save_param.1.converter gzip\n"
                                   "accessor.table_accessor_save_param.converter sort\n"
                                   "accessor.table_accessor_save_param.deconverter tac\n"
                                   "accessor.table_accessor_save_param.param 1,2\nhint.dim 9\n");
    assert_int_equal(c.nconverters, 2);
    assert_int_equal(c.converters[0].mode, 1);
    assert_string_equal(c.converters[0].converter, "sort");
    assert_string_equal(c.converters[0].deconverter, "tac");
    assert_int_equal(c.converters[1].mode, 2);
    assert_string_equal(c.converters[1].converter, "gzip");
    assert_string_equal(c.converters[1].deconverter, "tac");
    table_config_deinit(&c);
    c = parsed("accessor.table_accessor_save_param.converter \n"
               "accessor.table_accessor_save_param.param 1\nhint.dim 9\n");
    assert_int_equal(c.nconverters, 1);
    assert_null(c.converters[0].converter);
    assert_null(c.converters[0].deconverter);
    table_config_deinit(&c);
}

static void test_an_ssd_table_is_on_disk(void **state)
{
    struct table_config c =
        parsed("memory_policy drop_oldest\ntable_class SSDSparseTable\nhint.dim 9\n");
    assert_int_equal(c.policy, MEMORY_DISK);
    table_config_deinit(&c);
    c = parsed("memory_policy drop_oldest\nhint.dim 9\n");
    assert_int_equal(c.policy, MEMORY_DROP_OLDEST);
    table_config_deinit(&c);
}

static void test_mistakes_are_named(void **state)
{
    assert_refused("accessor.fea_dim 9\nhint.dim 5\n",
                   "table embedding: The fea_dim is wrong, it will be sparse_embedding_dim + 2: 7, "
                   "but got 9");
    assert_refused("accessor.embedx_dim 2\nhint.dim 5\n",
                   "table embedding: The embedx_dim is wrong, it will be sparse_embedding_dim - 1: "
                   "4, but got 2");
    assert_refused("shard_nun 4\nhint.dim 5\n",
                   "table embedding: there is no setting shard_nun; did you mean shard_num?");
    assert_refused("accessor.accessor_class Sparse\nhint.dim 5\n",
                   "table embedding: accessor.accessor_class is 'Sparse'; expected one of "
                   "SparseAccessor, CtrCommonAccessor, CtrDoubleAccessor");
    assert_refused("accessor.accessor_class CtrCommonAccessor\nhint.dim 2\n",
                   "table embedding: rows of 2 numbers; CtrCommonAccessor has at least 3");
    assert_refused(
        "shard_num 100001\nhint.dim 5\n",
        "table embedding: setting shard_num is '100001'; expected a whole number from 1 to "
        "100000");
    assert_refused(
        "sparse_table_cache_rate 1e30\nhint.dim 5\n",
        "table embedding: setting sparse_table_cache_rate is '1e30'; expected a number from 0 "
        "to 1");
    assert_refused(
        "shard_merge_rate -1\nhint.dim 5\n",
        "table embedding: setting shard_merge_rate is '-1'; expected a number from 0 to 1");
    assert_refused("table_class Tensor\nhint.dim 2\n",
                   "table embedding: table_class is 'Tensor'; expected MemorySparseTable or "
                   "SSDSparseTable");
    assert_refused("accessor.table_accessor_save_param.param x\nhint.dim 2\n",
                   "table embedding: accessor.table_accessor_save_param.param is 'x'; expected "
                   "modes of saves: 1,2");
}

static void test_place_of_keys(void **state)
{
    /* 5 shards on 2 servers: 3 and 2; on 4: 2, 2, 1, 0 */
    assert_int_equal(table_server_of(7, 5, 2), 0);
    assert_int_equal(table_server_of(8, 5, 2), 1);
    assert_int_equal(table_server_of(-1, 5, 2), 0); /* 2^64 - 1 is a multiple of 5 */
    assert_int_equal(table_server_of(4, 5, 4), 2);
    assert_int_equal(table_server_of(INT32_MAX - 1, INT32_MAX, 2), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_fleets),
        cmocka_unit_test(test_betas),
        cmocka_unit_test(test_a_users_settings),
        cmocka_unit_test(test_mistakes_are_named),
        cmocka_unit_test(test_converters_of_all_modes),
        cmocka_unit_test(test_an_ssd_table_is_on_disk),
        cmocka_unit_test(test_place_of_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
