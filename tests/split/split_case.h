/* A recorded case of DistributeTranspiler or fleet (tests/golden/transpile.tar.xz): settings.txt,
 * blocks.txt, and the programs of trainer 0 (sometimes 1) and of every server. */
#ifndef TESTS_SPLIT_CASE_H
#define TESTS_SPLIT_CASE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/split.h"
#include "program/op_kind.h"
#include "store/file.h"

#define PATH_LEN 1024
#define CONTROL "__control_var@"

static char golden[512]; /* the unpacked archive */

struct split_case {
    const char *name;
    struct skiff_program *main, *startup; /* before */
    struct skiff_split_config config;
    struct skiff_split_job job;
    char pservers[256];
};

static inline int case_unpack(void **state)
{
    const char *build = getenv("BUILD") ? getenv("BUILD") : "build";
    const char *elsewhere = getenv("GOLDEN");
    snprintf(golden, sizeof golden, "%s%s/transpile", elsewhere ? elsewhere : build,
             elsewhere ? "" : "/golden");
    return elsewhere ? 0 : system("tests/golden/unpack.sh");
}

static inline void case_path(char out[static PATH_LEN], const char *dir, const char *file)
{
    assert_true(snprintf(out, PATH_LEN, "%s/%s/%s", golden, dir, file) < PATH_LEN);
}

static inline bool case_has(const char *dir, const char *file)
{
    char path[PATH_LEN];
    case_path(path, dir, file);
    return file_exists(path);
}

static inline struct buf case_read(const char *dir, const char *file)
{
    char path[PATH_LEN];
    struct buf b = BUF_INIT;
    struct skiff_error err;
    case_path(path, dir, file);
    if (file_read(path, &b, &err) < 0)
        fail_msg("%s", err.message);
    buf_char(&b, '\0');
    b.len--;
    return b;
}

static inline struct skiff_program *case_program(const char *dir, const char *file)
{
    struct buf b = case_read(dir, file);
    struct skiff_program *p = NULL;
    struct skiff_error err;
    if (program_decode(b.data, b.len, file, &p, &err) < 0)
        fail_msg("%s/%s: %s", dir, file, err.message);
    buf_deinit(&b);
    return p;
}

/* The value of a `key value` line. */
static inline void case_setting(const struct buf *text, const char *key, char *out, size_t n)
{
    size_t len = strlen(key);
    for (const char *line = text->data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, len) && line[len] == ' ') {
            snprintf(out, n, "%.*s", (int)strcspn(line + len + 1, "\n"), line + len + 1);
            return;
        }
    }
    fail_msg("settings.txt has no %s", key);
}

static inline long case_number(const struct buf *text, const char *key)
{
    char value[64];
    case_setting(text, key, value, sizeof value);
    return strtol(value, NULL, 10);
}

static inline struct skiff_split_config case_config(const char *api, const char *mode)
{
    struct skiff_split_config c = split_config_default();
    enum skiff_split_mode known;
    if (!strcmp(api, "fleet")) {
        assert_true(skiff_mode_find(mode, &known));
        return split_config_fleet(known);
    }
    c.sync_mode = !strcmp(mode, "sync") || !strcmp(mode, "sync_arg_false");
    c.geo_sgd_mode = !strcmp(mode, "geo");
    c.half_async = !strcmp(mode, "half_async");
    c.runtime_split_send_recv = c.geo_sgd_mode || c.half_async || !strcmp(mode, "async");
    c.enable_dc_asgd = !strcmp(mode, "dc_asgd");
    return c;
}

/* Programs were stored once, with seed 0; initializers copy the program's seed. */
static inline void set_seed(struct split_case *c, int32_t seed)
{
    struct skiff_block *b = program_root(c->startup);
    c->main->random_seed = c->startup->random_seed = seed;
    for (int i = 0; i < b->nops; i++)
        if (op_attr(b->ops[i], "seed"))
            op_set_int(c->startup, b->ops[i], "seed", seed);
}

static inline void case_open(struct split_case *c, const char *name)
{
    char api[32], mode[32], orig[128] = "orig/", split[32], slice[32];
    struct buf text = case_read(name, "settings.txt");
    case_setting(&text, "api", api, sizeof api);
    case_setting(&text, "mode", mode, sizeof mode);
    case_setting(&text, "orig", orig + 5, sizeof orig - 5);
    case_setting(&text, "split", split, sizeof split);
    case_setting(&text, "slice_var_up", slice, sizeof slice);
    case_setting(&text, "pservers", c->pservers, sizeof c->pservers);
    c->name = name;
    c->main = case_program(orig, "main.pb");
    c->startup = case_program(orig, "startup.pb");
    set_seed(c, (int32_t)case_number(&text, "seed"));
    c->config = case_config(api, mode);
    c->config.slice_var_up = !strcmp(slice, "True");
    c->config.min_block_size = case_number(&text, "min_block_size");
    c->config.split_method = split_dispatcher_find(split)->name;
    c->config.wait_port = false;
    c->job = (struct skiff_split_job){.main = c->main,
                                      .startup = c->startup,
                                      .pservers = c->pservers,
                                      .trainers = (int)case_number(&text, "trainers"),
                                      .sync_mode = !strcmp(mode, "sync")};
    buf_deinit(&text);
}

/* Calls `each` for every recorded case. */
static inline void each_case(void (*each)(const char *name))
{
    struct dirent **list;
    int n = scandir(golden, &list, NULL, alphasort), count = 0;
    for (int i = 0; i < n; i++) {
        if (list[i]->d_name[0] != '.' && strcmp(list[i]->d_name, "orig")) {
            each(list[i]->d_name);
            count++;
        }
        free(list[i]);
    }
    free(list);
    assert_int_equal(count, 181); /* as src/passes/README.md says */
}

static inline void case_close(struct split_case *c)
{
    program_destroy(c->main);
    program_destroy(c->startup);
}

static inline struct skiff_split *case_split(const struct split_case *c, int trainer_id)
{
    struct skiff_split_job job = c->job;
    struct skiff_split *s = NULL;
    struct skiff_error err;
    job.trainer_id = trainer_id;
    if (split_create(&job, &c->config, &s, &err) < 0)
        fail_msg("%s: %s", c->name, err.message);
    return s;
}

/* ---- what Paddle leaves to chance ---- */

static inline void rename_everywhere(struct skiff_program *p, const char *from, const char *to)
{
    struct skiff_block *b = program_root(p);
    struct skiff_var *v = block_own_var(b, from), *n = block_add_var(b, to);
    const char *name = n->name;
    *n = *v;
    n->name = name;
    block_remove_var(b, from);
    for (int i = 0; i < b->nops; i++) {
        op_rename_in(p, b->ops[i], from, to);
        op_rename_out(p, b->ops[i], from, to);
    }
}

static inline void number_controls(struct skiff_program *p, const struct op_arg *args, int n,
                                   int *count)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < args[i].n; k++)
            if (!strncmp(args[i].names[k], CONTROL, strlen(CONTROL)))
                rename_everywhere(p, args[i].names[k],
                                  arena_printf(&p->arena, "control %d", (*count)++));
}

static inline int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* fake_init ops stand at the end, in the order of a Python set. */
static inline void sort_fake_inits(struct skiff_block *b)
{
    int first = b->nops;
    while (first > 0 && !strcmp(b->ops[first - 1]->type, "fake_init"))
        first--;
    for (int i = first; i < b->nops; i++)
        for (int k = i + 1; k < b->nops; k++)
            if (strcmp(op_out1(b->ops[k], "Out"), op_out1(b->ops[i], "Out")) < 0) {
                struct skiff_op *kept = b->ops[i];
                b->ops[i] = b->ops[k];
                b->ops[k] = kept;
            }
}

/* Control variables have random names: they are numbered as ops name them, and those that no op
 * names are dropped. grad_to_block_id has the order of a Python set. */
static inline void normalise(struct skiff_program *p)
{
    struct skiff_block *b = program_root(p);
    int count = 0;
    sort_fake_inits(b);
    for (int i = 0; i < b->nops; i++) {
        struct skiff_op *op = b->ops[i];
        number_controls(p, op->ins, op->nins, &count);
        number_controls(p, op->outs, op->nouts, &count);
        const struct op_attr_value *a = op_attr(op, "grad_to_block_id");
        if (!a || !a->value.n)
            continue;
        const char **sorted = arena_memdup(&p->arena, (const void *)a->value.strings,
                                           (size_t)a->value.n * sizeof *sorted);
        qsort(sorted, (size_t)a->value.n, sizeof *sorted, by_text);
        op_set_strings(p, op, "grad_to_block_id", a->value.n, sorted);
    }
    for (size_t i = b->vars.count; i-- > 0;)
        if (!strncmp(b->vars.entries[i].key, CONTROL, strlen(CONTROL)))
            block_remove_var(b, b->vars.entries[i].key);
}

#endif
