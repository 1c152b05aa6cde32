/* Networks in YAML: those of examples/networks give the programs of the ready models, op for op;
 * what is wrong is reported with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "config/config.h"
#include "config/yaml.h"
#include "task/net_text.h"
#include "task/task.h"

/* ---- the same programs as in C ---- */

static void open_model(struct task *j, const char *config, const char *model, const char *setting)
{
    char name[128];
    struct skiff_error err = {0};
    snprintf(name, sizeof(name), "runner.model=%s", model);
    const char *overrides[] = {name, setting};
    struct task_args args = {.config = config, .overrides = {overrides, setting ? 2 : 1}};
    if (task_open(j, &args, TASK_TRAINS, &err) < 0)
        fail_msg("%s %s: %s", config, model, err.message);
}

static void same_text(const struct skiff_program *want, const struct skiff_program *got)
{
    char *a = skiff_program_text(want), *b = skiff_program_text(got);
    assert_true(strlen(a) > 1000);
    assert_string_equal(b, a);
    free(a);
    free(b);
}

static void same_name(const struct skiff_var *want, const struct skiff_var *got)
{
    assert_int_equal(!want, !got);
    if (want)
        assert_string_equal(skiff_var_name(got), skiff_var_name(want));
}

static void check_twin(const char *model, const char *setting)
{
    char config[128], yaml[128];
    struct task ready, text;
    snprintf(config, sizeof(config), "models/rank/%s/config.yaml", model);
    snprintf(yaml, sizeof(yaml), "../../../examples/networks/%s.yaml", model);
    open_model(&ready, config, model, setting);
    open_model(&text, config, yaml, setting);
    same_text(ready.main, text.main);
    same_text(ready.startup, text.startup);
    assert_int_equal(text.vars.ninputs, ready.vars.ninputs);
    for (int i = 0; i < ready.vars.ninputs; i++)
        same_name(ready.vars.inputs[i], text.vars.inputs[i]);
    same_name(ready.vars.loss, text.vars.loss);
    same_name(ready.vars.predict, text.vars.predict);
    same_name(ready.vars.label, text.vars.label);
    same_name(ready.vars.auc.auc, text.vars.auc.auc);
    same_name(ready.vars.auc.states[3], text.vars.auc.states[3]);
    task_close(&ready);
    task_close(&text);
}

static void twins_of_ready_models(void **state)
{
    (void)state;
    const char *const models[] = {"dnn", "wide_deep", "deepfm"};
    for (int i = 0; i < 3; i++) {
        check_twin(models[i], NULL);
        check_twin(models[i], "hyper_parameters.fc_sizes=[7]");
        check_twin(models[i], "hyper_parameters.fc_sizes=[]");
        check_twin(models[i], "hyper_parameters.sparse_inputs_slots=3");
        check_twin(models[i], "hyper_parameters.sparse_feature_dim=4");
    }
    check_twin("dnn", "hyper_parameters.multi_value=True");
}

/* ---- pieces ---- */

#define NO_SETTINGS "runner: {epochs: 1}"

struct built {
    struct config *config;
    struct skiff_net *net;
    struct skiff_model_net vars;
    struct arena arena;
    struct skiff_error err;
    enum skiff_status status;
};

/* A network of inputs x (float32 [4]), ids C1..C3, and these layers, whose first line is line 8. */
static void build(struct built *b, const char *settings, const char *layers)
{
    char text[4096];
    const struct yaml_node *root = NULL;
    *b = (struct built){.net = skiff_net_create()};
    arena_init(&b->arena);
    snprintf(text, sizeof(text),
             "hyper_parameters: {width: 5, half: 0.5, sizes: [3, 2], word: tanh}\n"
             "loss: out\n"
             "inputs:\n"
             "  - x: {shape: [4]}\n"
             "  - C: {count: 3, dtype: int64, lod_level: 1}\n"
             "  - y: {dtype: int64}\n"
             "layers:\n%s",
             layers);
    assert_int_equal(config_parse(settings, strlen(settings), "config.yaml", &b->config, NULL), 0);
    assert_int_equal(yaml_read(text, strlen(text), "net.yaml", &b->arena, &root, NULL), 0);
    b->status = net_text_build(root, "net.yaml", b->config, b->net, &b->vars, &b->err);
}

static void end(struct built *b)
{
    skiff_net_destroy(b->net);
    config_close(b->config);
    arena_deinit(&b->arena);
}

static void loss_shape(const char *settings, const char *layers, int64_t columns)
{
    struct built b;
    build(&b, settings, layers);
    if (b.status < 0)
        fail_msg("%s", b.err.message);
    assert_int_equal(skiff_var_dim(b.vars.loss, skiff_var_ndim(b.vars.loss) - 1), columns);
    end(&b);
}

static void numbers_and_names(void **state)
{
    (void)state;
    const char *fc = "- out: {layer: fc, input: x, size: width * 2 - (3 - 1) / half}\n";
    loss_shape(NO_SETTINGS, fc, 6);
    loss_shape("hyper_parameters: {width: 1_0}", fc, 16);
    loss_shape(NO_SETTINGS,
               "- out: {layer: fc, input: x, size: count(C) + columns(x) + sqrt(16)}\n", 11);
    loss_shape(NO_SETTINGS,
               "- out: {layer: fc, input: x, size: \"- -3\", act: $word, bias_attr: False}\n", 3);
    loss_shape(NO_SETTINGS,
               "- out: {layer: fc, input: x, size: 3, act: null, name: \"a_${width}_b\"}\n", 3);
}

static void repeating(void **state)
{
    (void)state;
    loss_shape(NO_SETTINGS,
               "- out: {layer: fc, input: x, size: 9}\n"
               "- for: {n: sizes}\n"
               "  layers: [{out: {layer: fc, input: out, size: n}}]\n",
               2);
    loss_shape(NO_SETTINGS,
               "- rows: {layer: embedding, input: C, rows: 10, width: width}\n"
               "- rows: {layer: sequence_pool, x: rows, pool_type: sum}\n"
               "- out: {layer: concat, input: [rows, x, rows.2], axis: 1}\n",
               24);
    loss_shape(NO_SETTINGS,
               "- for: {i: 1..width}\n"
               "  collect: {all: part}\n"
               "  layers: [{part: {layer: fc, input: x, size: i, name: part_$i}}]\n"
               "- out: {layer: concat, input: all, axis: 1}\n",
               15);
    loss_shape(NO_SETTINGS,
               "- parts: {layer: split, x: x, num: 2, sections: [], dim: 1}\n"
               "- out: {layer: concat, input: [parts.1, parts], axis: 1}\n"
               "- out: {layer: fc, input: x, size: 100, when: width > 5}\n",
               6);
    loss_shape(NO_SETTINGS,
               "- when: width == 5\n"
               "  layers: [{out: {layer: fc, input: x, size: 8}}]\n"
               "- for: {a: [relu, tanh]}\n"
               "  layers: [{out: {layer: fc, input: out, size: 7, act: $a}}]\n",
               7);
}

/* Layers with several results have parts with names. */
static void parts_of_results(void **state)
{
    (void)state;
    loss_shape(NO_SETTINGS,
               "- p: {layer: fc, input: x, size: 2, act: softmax}\n"
               "- m: {layer: auc, input: p, label: y}\n"
               "- out: {layer: scale, x: m.batch_auc, scale: 2}\n",
               1);
    loss_shape(NO_SETTINGS,
               "- p: {layer: fc, input: x, size: 3}\n"
               "- s: {layer: softmax_with_cross_entropy, logits: p, label: y, softmax: True}\n"
               "- out: {layer: scale, x: s.softmax, scale: 2}\n",
               3);
}

/* ---- what is wrong ---- */

static void refused(const char *layers, const char *want)
{
    struct built b;
    build(&b, NO_SETTINGS, layers);
    assert_true(b.status < 0);
    if (!strstr(b.err.message, want))
        fail_msg("\"%s\" does not hold \"%s\"", b.err.message, want);
    end(&b);
}

static void wrong_layers(void **state)
{
    (void)state;
    refused("- out: {layer: embeding, input: C}\n",
            "net.yaml:8: no layer embeding (did you mean embedding?); skiff inspect "
            "layers lists them");
    refused("- out: {layer: fc, input: x, sise: 3}\n",
            "net.yaml:8: fc has no sise (did you mean size?); it takes input, size, "
            "num_flatten_dims, param_attr, bias_attr, act, name, layer, when");
    refused("- out: {layer: fc, input: x}\n",
            "net.yaml:8: fc needs size (it must have: input, size)");
    refused("- out: {input: x}\n", "net.yaml:8: out: the layer is missing; expected \"layer: fc\"");
    refused("- out: {layer: fc, input: x, size: 3, size: 4}\n", "fc: size occurs twice");
    refused("- out: {layer: fc, input: x, size: 3}\n  also: {layer: fc}\n",
            "net.yaml:8: expected \"- result: {layer: fc, ...}\"; is the indentation right?");
    refused("- fc\n", "expected \"- result: {layer: fc, ...}\"");
    refused("  out: {layer: fc}\n", "layers must be a list: lines that begin with \"- \"");
    refused("- a.b: {layer: fc, input: x, size: 3}\n", "\"a.b\" is not a name");
    refused("- out: {layer: assign_value, shape: [1], dtype: float32, values: [1]}\n",
            "no layer assign_value");
}

static void wrong_variables(void **state)
{
    (void)state;
    refused(
        "- hid: {layer: fc, input: x, size: 3}\n- out: {layer: fc, input: hdi, size: 3}\n",
        "net.yaml:9: no input or result above this line has the name hdi; did you mean hid? (there "
        "are x, C1, C2, C3, C, y, hid)");
    refused("- rows: {layer: embedding, input: C, rows: 9, width: 2}\n"
            "- out: {layer: elementwise_add, x: C1, y: rows.7}\n",
            "net.yaml:9: rows has no part 7; there are rows.0 to rows.2");
    refused("- p: {layer: fc, input: x, size: 2}\n"
            "- m: {layer: auc, input: p, label: y}\n"
            "- out: {layer: scale, x: m}\n",
            "net.yaml:10: m has several parts, name one: m.auc, m.batch_auc, m.states");
    refused("- p: {layer: split, x: x, num: 2, sections: [], dim: 1}\n"
            "- out: {layer: elementwise_add, x: C, y: p}\n",
            "net.yaml:9: y: groups of 3 and 2 variables; they must be as large");
    refused("- out: {layer: auc, input: C, label: y}\n",
            "auc has several results and cannot be repeated for a group");
    refused("- out: {layer: embedding, input: C, rows: 9, width: 2}\n",
            "net.yaml:2: loss: out is a group of 3; expected one variable");
    refused("- out: {layer: concat, input: {a: b}, axis: 1}\n",
            "input must be names of variables, found a map");
    /* what the layer itself says */
    refused("- out: {layer: embedding, input: x, rows: 9, width: 2}\n",
            "net.yaml:8: out: embedding: ");
    refused("- out: {layer: fc, input: x, size: 0}\n", "net.yaml:8: out: fc: ");
}

static void wrong_numbers(void **state)
{
    (void)state;
    refused("- out: {layer: fc, input: x, size: widht}\n",
            "net.yaml:8: no number has the name widht (did you mean width?); define it under "
            "hyper_parameters, here with its default or in the config (here: width, half, sizes, "
            "word)");
    refused("- out: {layer: fc, input: x, size: half}\n",
            "size: \"half\" is 0.5; expected a whole number");
    refused(
        "- out: {layer: fc, input: x, size: sizes}\n",
        "sizes is a list of 2; expected one number (for: repeats layers for each item of a list)");
    refused("- out: {layer: fc, input: x, size: word}\n", "word is \"tanh\"; expected a number");
    refused("- out: {layer: fc, input: x, size: 3 +}\n", "\"3 +\" is not a number");
    refused("- out: {layer: fc, input: x, size: 3 4}\n", "\"3 4\" is not a number");
    refused("- out: {layer: fc, input: x, size: 1 / 0}\n", "\"1 / 0\" is inf, which is not finite");
    refused("- out: {layer: fc, input: x, size: log(3)}\n",
            "no function log; expected sqrt, columns or count");
    refused("- out: {layer: fc, input: x, size: [3]}\n", "size must be a number, found a list");
    refused("- out: {layer: concat, input: C, axis: 3000000000}\n",
            "axis: 3000000000 does not fit into 32 bits");
    refused("- out: {layer: fc, input: x, size: 3, act: [a]}\n",
            "act must be one word, found a list");
    refused("- out: {layer: fc, input: x, size: 3, act: $}\n", "expected a name after $");
    refused("- out: {layer: fc, input: x, size: 3, act: $sizes}\n",
            "$sizes is a list of 2; expected a text");
    char deep[600] = "- out: {layer: fc, input: x, size: ";
    memset(deep + strlen(deep), '(', 400);
    strcat(deep, "}\n");
    refused(deep, "more than 64 nested signs or parentheses");
}

static void wrong_parameters(void **state)
{
    (void)state;
    refused(
        "- out: {layer: fc, input: x, size: 3, param_attr: {initialiser: xavier}}\n",
        "param_attr has no initialiser (did you mean initializer?); it takes name, initializer, "
        "regularizer, learning_rate, trainable");
    refused("- out: {layer: fc, input: x, size: 3, param_attr: {initializer: {gauss: 1}}}\n",
            "initializer has no gauss; it takes constant, uniform, normal, truncated_normal, "
            "xavier, msra");
    refused("- out: {layer: fc, input: x, size: 3, param_attr: {initializer: 0.1}}\n",
            "initializer must be one of constant, uniform");
    refused(
        "- out: {layer: fc, input: x, size: 3, param_attr: {initializer: {normal: {std: 1}}}}\n",
        "normal has no std (did you mean seed?); it takes scale, loc, seed");
    refused("- out: {layer: fc, input: x, size: 3, param_attr: {regularizer: 1}}\n",
            "regularizer must be {l1: number} or {l2: number}");
}

static void wrong_loops(void **state)
{
    (void)state;
    const char *body = "  layers: [{out: {layer: fc, input: x, size: 3}}]\n";
    char text[512];
    const struct {
        const char *over, *want;
    } cases[] = {
        {"{i: 1..99999}", "i: 99999 repetitions; the limit is 4096"},
        {"{i: nothing}",
         "i: \"nothing\" is not a group of variables, a list under hyper_parameters"},
        {"{x: 1..2}", "the name x is already used; choose another name"},
        {"3", "expected \"for: {i: 1..3}\""},
        {"{i: {a: b}}", "i: expected a range, a list or a group"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "- for: %s\n%s", cases[i].over, body);
        refused(text, cases[i].want);
    }
    refused("- for: {i: 1..2}\n", "\"layers:\", with the layers to repeat, is missing");
    refused("- for: {i: 1..2}\n  colect: {a: b}\n  layers: []\n",
            "for has no colect (did you mean collect?)");
}

static void wrong_networks(void **state)
{
    (void)state;
    const struct {
        const char *text, *want;
    } cases[] = {
        {"layers: []\nloss: x", "net.yaml:1: a network needs \"inputs:\""},
        {"inputs: []\nlayers: []\nlos: x", "net.yaml:3: a network has no los (did you mean loss?)"},
        {"- a", "a network: expected a map (key: value)"},
        {"inputs: [{a: {dtpe: int64}}]\nlayers: []\nloss: a",
         "a has no dtpe (did you mean dtype?)"},
        {"inputs: [{a: {dtype: int65}}]\nlayers: []\nloss: a", "net.yaml:1: input a: "},
        {"inputs: [{a b: {}}]\nlayers: []\nloss: a", "\"a b\" cannot be the name of an input"},
        {"inputs: [{6.a: {}}]\nlayers: []\nloss: 6.a\nauc: 7", "auc: 7 is not the result"},
        {"inputs: [{a: {}}, {a: {}}]\nlayers: []\nloss: a", "a second input a"},
        {"inputs: [{a: {count: 600}}]\nlayers: []\nloss: a", "count: 600 inputs; expected 0 to"},
        {"inputs: [{a: {names: [a]}}]\nlayers: []\nloss: a", "the group a is called as one of"},
        {"inputs: [{a: {lod_level: 9}}]\nlayers: []\nloss: a", "lod_level must be 0"},
        {"inputs: [{a: {}}]\nlayers: []\nloss: b",
         "net.yaml:3: no input or result above this line"},
        {"inputs: [{a: {}}]\nlayers: []\nloss: a\nauc: a",
         "auc: a is not the result of a layer auc"},
        {"inputs: [{a: {}}]\nlayers: []\nloss: a\npredict: a", "predict needs \"label: name\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built b = {.net = skiff_net_create()};
        const struct yaml_node *root = NULL;
        const char *text = cases[i].text;
        arena_init(&b.arena);
        assert_int_equal(config_parse(NO_SETTINGS, strlen(NO_SETTINGS), "c.yaml", &b.config, NULL),
                         SKIFF_OK);
        assert_int_equal(yaml_read(text, strlen(text), "net.yaml", &b.arena, &root, NULL), 0);
        assert_true(net_text_build(root, "net.yaml", b.config, b.net, &b.vars, &b.err) < 0);
        if (!strstr(b.err.message, cases[i].want))
            fail_msg("\"%s\" does not hold \"%s\"", b.err.message, cases[i].want);
        end(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twins_of_ready_models),
        cmocka_unit_test(numbers_and_names),
        cmocka_unit_test(repeating),
        cmocka_unit_test(parts_of_results),
        cmocka_unit_test(wrong_layers),
        cmocka_unit_test(wrong_variables),
        cmocka_unit_test(wrong_numbers),
        cmocka_unit_test(wrong_parameters),
        cmocka_unit_test(wrong_loops),
        cmocka_unit_test(wrong_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
