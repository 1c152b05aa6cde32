/* Trainers and servers of one job agree, in every recorded case and for every trainer: servers wait
 * for exactly what trainers send; received and looked-up values exist with the right shape; every
 * variable that is read has been written. */
#include "split_case.h"

enum { SERVERS = 16 };

struct job {
    const char *name;
    int servers, trainers;
    const char *const *endpoints;
    struct skiff_program *main[SERVERS], *startup[SERVERS];
    struct str_map sent[SERVERS]; /* name -> how many trainers sent it */
    bool geo;
};

static int failures;

static void complain(const struct job *j, const char *what, const char *name)
{
    failures++;
    printf("%s: %s: %s\n", j->name, what, name);
}

static int server_of(const struct job *j, const char *endpoint)
{
    for (int i = 0; i < j->servers; i++)
        if (!strcmp(j->endpoints[i], endpoint))
            return i;
    complain(j, "no such server", endpoint);
    return 0;
}

static const struct attr_value *list_attr(const struct skiff_op *op, const char *name)
{
    const struct op_attr_value *a = op_attr(op, name);
    assert_non_null(a);
    return &a->value;
}

/* The slice of a variable on its server; its kind and width must be the trainer's. */
static void check_slice(const struct job *j, const char *name, const char *endpoint, int64_t rows)
{
    const struct skiff_block *b = program_root(j->main[server_of(j, endpoint)]);
    const struct skiff_var *v = block_own_var(b, name);
    if (!v || !var_persistable(v))
        complain(j, "asked for, but not on that server", name);
    else if (rows >= 0 && v->shape.dims[0] != rows)
        complain(j, "has another number of rows on its server", name);
}

static void note_send(struct job *j, const struct skiff_op *op)
{
    const struct attr_value *endpoints = list_attr(op, "epmap");
    const struct attr_value *names = list_attr(op, "send_varnames");
    const struct op_arg *x = op_in(op, "X");
    int n = names->n ? names->n : x->n;
    bool counter = !op_attr(op, "use_send_handler")->value.b;
    if (n != endpoints->n && !counter)
        complain(j, "send: names and servers differ in number", op->ins[0].names[0]);
    for (int i = 0; i < endpoints->n; i++) {
        const char *name = counter ? x->names[0] : names->n ? names->strings[i] : x->names[i];
        struct str_map *m = &j->sent[server_of(j, endpoints->strings[i])];
        const char *key = arena_strdup(&j->main[0]->arena, name);
        str_map_put(m, key, (void *)((uintptr_t)str_map_get(m, name) + 1));
        if (!block_own_var(program_root(j->main[server_of(j, endpoints->strings[i])]), name))
            complain(j, "sent, but unknown to its server", name);
    }
}

static void check_recv(const struct job *j, const struct skiff_program *p,
                       const struct skiff_op *op)
{
    const struct attr_value *endpoints = list_attr(op, "epmap");
    const struct attr_value *names = list_attr(op, "recv_varnames");
    const struct op_arg *out = op_out(op, "Out");
    if (endpoints->n != (names->n ? names->n : out->n))
        complain(j, "recv: names and servers differ in number", out->names[0]);
    for (int i = 0; i < endpoints->n; i++) {
        const char *name = names->n ? names->strings[i] : out->names[i];
        const struct skiff_var *v = block_own_var(program_root(p), name);
        check_slice(j, name, endpoints->strings[i], names->n || !v ? -1 : v->shape.dims[0]);
    }
}

static void check_lookup(const struct job *j, const struct skiff_op *op)
{
    const struct attr_value *endpoints = list_attr(op, "endpoints");
    const struct attr_value *names = list_attr(op, "table_names");
    const struct attr_value *rows = list_attr(op, "height_sections");
    assert_int_equal(names->n, endpoints->n);
    assert_int_equal(names->n, rows->n);
    for (int i = 0; i < names->n; i++)
        check_slice(j, names->strings[i], endpoints->strings[i], rows->longs[i]);
}

/* Names that an op reads though no op before has written them and they do not last. */
static void unmade_reads(const struct skiff_program *p, struct str_map *out)
{
    const struct skiff_block *b = program_root(p);
    struct str_map made;
    str_map_init(&made);
    for (int i = 0; i < b->nops; i++) {
        const struct skiff_op *op = b->ops[i];
        for (int s = 0; s < op->nins; s++)
            for (int k = 0; k < op->ins[s].n; k++) {
                const char *name = op->ins[s].names[k];
                const struct skiff_var *v = block_own_var(b, name);
                if (!str_map_has(&made, name) && !(v && var_persistable(v)))
                    str_map_put(out, name, out);
            }
        for (int s = 0; s < op->nouts; s++)
            for (int k = 0; k < op->outs[s].n; k++)
                str_map_put(&made, op->outs[s].names[k], &made);
    }
    str_map_deinit(&made);
}

static void check_trainer(struct job *j, const struct split_case *c, int id)
{
    struct skiff_program *main, *startup;
    struct skiff_error err;
    struct skiff_split *s = case_split(c, id);
    struct str_map before, after;
    if (split_trainer(s, &main, &startup, &err) < 0)
        fail_msg("%s: %s", c->name, err.message);
    for (int k = 0; k < 2; k++) {
        const struct skiff_program *p = k ? startup : main;
        for (int i = 0; i < program_root(p)->nops; i++) {
            const struct skiff_op *op = program_root(p)->ops[i];
            if (!strcmp(op->type, "send") && !j->geo)
                note_send(j, op);
            else if (!strcmp(op->type, "recv"))
                check_recv(j, p, op);
            else if (!strcmp(op->type, "distributed_lookup_table"))
                check_lookup(j, op);
        }
    }
    str_map_init(&before);
    str_map_init(&after);
    unmade_reads(c->main, &before);
    unmade_reads(main, &after);
    for (size_t i = 0; i < after.count; i++)
        if (!str_map_has(&before, after.entries[i].key))
            complain(j, "the trainer reads what nobody made", after.entries[i].key);
    str_map_deinit(&before);
    str_map_deinit(&after);
    program_destroy(main);
    program_destroy(startup);
    split_destroy(s);
}

/* What a server's blocks read: it lasts, or it was sent, or an op of the blocks made it. */
static void check_server(const struct job *j, int at)
{
    const struct skiff_program *p = j->main[at];
    const struct skiff_op *serve = program_root(p)->ops[0];
    const struct op_arg *waits = op_in(serve, "X");
    for (int i = 0; i < waits->n; i++) {
        const char *suffix = strstr(waits->names[i], ".trainer_");
        uintptr_t count = (uintptr_t)str_map_get(&j->sent[at], waits->names[i]);
        if (count != (suffix ? 1u : (uintptr_t)j->trainers))
            complain(j, "waited for, but not sent by the right trainers", waits->names[i]);
    }
    for (int k = 1; k < p->nblocks; k++)
        for (int i = 0; i < p->blocks[k]->nops; i++) {
            const struct skiff_op *op = p->blocks[k]->ops[i];
            for (int s = 0; s < op->nins; s++)
                for (int n = 0; n < op->ins[s].n; n++) {
                    const char *name = op->ins[s].names[n];
                    const struct skiff_var *v = block_find_var(p->blocks[k], name);
                    if (!v)
                        complain(j, "a server's op reads an unknown variable", name);
                    else if (strstr(name, ".trainer_") && !strstr(name, "_bak") && !j->geo &&
                             !str_map_has(&j->sent[at], name))
                        complain(j, "a server's op reads what is never sent", name);
                }
        }
}

/* Every parameter and accumulator of a server is initialised there. */
static void check_init(const struct job *j, int at)
{
    const struct skiff_block *m = program_root(j->main[at]), *s = program_root(j->startup[at]);
    for (int k = 1; k < j->main[at]->nblocks; k++)
        for (int i = 0; i < j->main[at]->blocks[k]->nops; i++) {
            const struct skiff_op *op = j->main[at]->blocks[k]->ops[i];
            for (int o = 0; op_in1(op, "Param") && o < op->nouts; o++)
                for (int n = 0; n < op->outs[o].n; n++) {
                    const char *name = op->outs[o].names[n];
                    const struct skiff_var *a = block_own_var(m, name), *b = block_own_var(s, name);
                    bool made = false;
                    for (int e = 0; e < s->nops; e++)
                        made |= op_writes(s->ops[e], name);
                    if (!made)
                        complain(j, "not initialised on its server", name);
                    if (!a || !b || !shape_equal(&a->shape, &b->shape))
                        complain(j, "has two shapes on its server", name);
                }
        }
}

static void check_case(const char *name)
{
    struct split_case c;
    struct skiff_error err;
    if (strstr(name, "lamb"))
        return;
    case_open(&c, name);
    struct skiff_split *s = case_split(&c, 0);
    struct job j = {.name = name, .trainers = c.job.trainers, .geo = c.config.geo_sgd_mode};
    j.endpoints = split_plan(s)->endpoints;
    j.servers = split_plan(s)->servers;
    for (int i = 0; i < j.servers; i++) {
        str_map_init(&j.sent[i]);
        if (split_server(s, j.endpoints[i], &j.main[i], &j.startup[i], NULL, &err) < 0)
            fail_msg("%s: %s", name, err.message);
    }
    for (int k = 0; k < j.trainers; k++)
        check_trainer(&j, &c, k);
    for (int i = 0; i < j.servers; i++) {
        check_server(&j, i);
        check_init(&j, i);
    }
    for (int i = 0; i < j.servers; i++) {
        str_map_deinit(&j.sent[i]);
        program_destroy(j.startup[i]);
    }
    for (int i = 0; i < j.servers; i++)
        program_destroy(j.main[i]);
    split_destroy(s);
    case_close(&c);
}

static void test_agreement(void **state)
{
    each_case(check_case);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_agreement)};
    return cmocka_run_group_tests(tests, case_unpack, NULL);
}
