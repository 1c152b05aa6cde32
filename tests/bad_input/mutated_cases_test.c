/* Every recorded op case again, with one thing wrong at a time: shapes, element types, lods and
 * values of each input, slots and attributes of each op. Whatever comes out (a result or an error)
 * is fine; a crash, a read or write out of bounds (the ASan build) or an error without a message is
 * not. PART=name runs the ops whose folder contains it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "../grad/grad_case.h"

/* A size beyond memory must come back as a failure, also where the sanitizer would stop. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:detect_leaks=1";
}

static char now[1400]; /* what runs now, for the message of a crash */
static int runs, failed_cleanly, silent;

static void on_crash(int sig)
{
    static const char text[] = "crashed in: ";
    ssize_t n = write(2, text, sizeof(text) - 1);
    n = write(2, now, strlen(now));
    n = write(2, "\n", 1);
    (void)n;
    signal(sig, SIG_DFL);
    raise(sig);
}

void __asan_on_error(void);
void __asan_on_error(void)
{
    on_crash(SIGABRT);
}

/* Where a case runs; one bed may see good and bad inputs in turn, which share a plan then. */
struct bed {
    struct skiff_scope *scope;
    struct skiff_executor *executor;
};

static void bed_make(struct bed *bed)
{
    struct executor_options options = {.no_fuse = true, .has_seed = true, .seed = 7};
    bed->scope = scope_create();
    bed->executor = executor_create(bed->scope, &options);
}

static void bed_clear(struct bed *bed)
{
    executor_destroy(bed->executor);
    scope_destroy(bed->scope);
}

/* Runs the case as it stands. */
static void attempt_in(struct bed *bed, struct grad_case *c)
{
    struct feed feeds[CASE_MAX];
    struct skiff_tensor out[CASE_MAX] = {0};
    struct skiff_error err = {0};
    for (int i = 0; i < c->ninit; i++)
        value_copy(scope_var(bed->scope, c->init_name[i]), &c->init[i], NULL);
    for (int i = 0; i < c->nfeeds; i++)
        feeds[i] = (struct feed){c->feed_name[i], &c->feed[i], NULL};
    enum skiff_status status =
        executor_run(bed->executor, c->program, feeds, c->nfeeds, (const char *const *)c->grad_name,
                     c->ngrads, out, &err);
    runs++;
    failed_cleanly += status < 0;
    if (status < 0 && !err.message[0]) {
        silent++;
        printf("no message: %s\n", now);
    }
    for (int i = 0; i < c->ngrads; i++)
        value_deinit(&out[i]);
}

static void attempt(struct grad_case *c)
{
    struct bed bed;
    bed_make(&bed);
    attempt_in(&bed, c);
    bed_clear(&bed);
}

/* ---- tensors ---- */

static void keep_copy(struct tensor *to, const struct tensor *from)
{
    *to = (struct tensor){0};
    assert_int_equal(tensor_copy(to, from, NULL), SKIFF_OK);
}

/* Another shape over the old values, repeated as often as needed. */
static void reshaped(struct tensor *t, const struct tensor *was, enum dtype dtype,
                     struct shape shape)
{
    assert_int_equal(tensor_resize(t, dtype, &shape, NULL), SKIFF_OK);
    size_t bytes = tensor_bytes(t), have = tensor_bytes(was);
    for (size_t at = 0; at < bytes; at += have ? have : bytes)
        if (have)
            memcpy((char *)t->data + at, was->data, have < bytes - at ? have : bytes - at);
        else
            memset(t->data, 0, bytes);
    for (size_t at = 0; dtype == DTYPE_BOOL && at < bytes; at++)
        ((uint8_t *)t->data)[at] &= 1;
}

static void lod_of(struct tensor *t, int64_t n, const int64_t *off)
{
    tensor_drop_lod(t);
    assert_int_equal(lod_build(&t->lod, 1, &n, NULL), SKIFF_OK);
    memcpy(t->lod->level[0].off, off, (size_t)n * sizeof *off);
}

enum { SHAPE_MUTATIONS = 8, TYPE_MUTATIONS = 5, LOD_MUTATIONS = 5, VALUE_MUTATIONS = 4 };
enum { TENSOR_MUTATIONS = SHAPE_MUTATIONS + TYPE_MUTATIONS + LOD_MUTATIONS + VALUE_MUTATIONS };

static void mutate_shape(struct tensor *t, const struct tensor *was, int how)
{
    struct shape s = was->shape;
    int last = s.ndim - 1;
    switch (how) {
    case 0:
        s = SHAPE(0);
        break;
    case 1:
        s.ndim = 0;
        break;
    case 2:
        if (s.ndim < TENSOR_MAX_DIMS)
            s.dims[s.ndim++] = 1;
        break;
    case 3:
        if (last >= 0)
            s.dims[0] = s.dims[0] / 2;
        break;
    case 4:
        if (last >= 0)
            s.dims[0] = s.dims[0] * 2 + 1;
        break;
    case 5:
        if (last >= 0)
            s.dims[last] += 1;
        break;
    case 6:
        s = SHAPE(shape_numel(&was->shape));
        break;
    case 7:
        if (last >= 0)
            s.dims[last] = 0;
        break;
    }
    reshaped(t, was, was->dtype, s);
}

static void mutate_lod(struct tensor *t, const struct tensor *was, int how)
{
    int64_t rows = was->shape.ndim ? was->shape.dims[0] : 0;
    switch (how) {
    case 0:
        tensor_drop_lod(t);
        break;
    case 1:
        lod_of(t, 2, (int64_t[]){0, rows + 5});
        break;
    case 2:
        lod_of(t, 4, (int64_t[]){0, rows, 0, rows});
        break;
    case 3:
        lod_of(t, 5, (int64_t[]){0, 0, 0, rows, rows});
        break;
    case 4:
        lod_of(t, 2, (int64_t[]){-3, rows});
        break;
    }
}

static void mutate_values(struct tensor *t, int how)
{
    static const int64_t ints[] = {-1, (int64_t)1 << 40, 7, 0};
    static const float floats[] = {-1e30f, NAN, INFINITY, 0};
    int64_t n = tensor_numel(t);
    for (int64_t i = 0; i < n; i++)
        if (t->dtype == DTYPE_INT64)
            tensor_i64(t)[i] = ints[how];
        else if (t->dtype == DTYPE_INT32)
            tensor_i32(t)[i] = (int32_t)ints[how];
        else if (t->dtype == DTYPE_FP32)
            tensor_f32(t)[i] = floats[how];
}

static void mutate_tensor(struct tensor *t, const struct tensor *was, int how)
{
    static const enum dtype types[TYPE_MUTATIONS] = {DTYPE_FP32, DTYPE_FP64, DTYPE_INT64,
                                                     DTYPE_INT32, DTYPE_BOOL};
    if (how < SHAPE_MUTATIONS) {
        mutate_shape(t, was, how);
        return;
    }
    how -= SHAPE_MUTATIONS;
    if (how < TYPE_MUTATIONS) {
        reshaped(t, was, types[how], was->shape);
        return;
    }
    how -= TYPE_MUTATIONS;
    if (how < LOD_MUTATIONS)
        mutate_lod(t, was, how);
    else
        mutate_values(t, how - LOD_MUTATIONS);
}

static void try_tensor(struct grad_case *c, struct tensor *t, const char *name)
{
    struct tensor was;
    struct bed bed;
    keep_copy(&was, t);
    bed_make(&bed);
    for (int how = 0; how < TENSOR_MUTATIONS; how++) {
        snprintf(now, sizeof(now), "%s: %s, mutation %d", c->dir, name, how);
        attempt_in(&bed, c);
        mutate_tensor(t, &was, how);
        attempt_in(&bed, c);
        tensor_deinit(t);
        keep_copy(t, &was);
    }
    bed_clear(&bed);
    tensor_deinit(&was);
}

/* ---- ops ---- */

static void try_slots(struct grad_case *c, struct op_arg *args, int n, const char *type)
{
    for (int s = 0; s < n; s++) {
        int had = args[s].n;
        if (!had)
            continue;
        snprintf(now, sizeof(now), "%s: %s without %s", c->dir, type, args[s].slot);
        args[s].n = 0;
        attempt(c);
        args[s].n = had;
        const char *first = args[s].names[0];
        snprintf(now, sizeof(now), "%s: %s with an empty %s", c->dir, type, args[s].slot);
        args[s].names[0] = EMPTY_VAR;
        attempt(c);
        args[s].names[0] = first;
    }
}

/* One wrong value of an attribute; false when there are no more. */
static bool mutate_attr(struct op_attr_value *a, int how)
{
    static const int32_t ints[] = {-1, 0, 1000}, bad_list[] = {-1, 1000, 0};
    static const float floats[] = {-1.0f, 0.0f, NAN}, bad_floats[] = {-1.0f, NAN};
    static const int64_t longs[] = {-1, 0, 1000};
    static const int64_t bad_longs[] = {-1, 1000, 0};
    if (how > 2)
        return false;
    switch (a->type) {
    case ATTR_INT:
        a->value.i = ints[how];
        return true;
    case ATTR_LONG:
        a->value.l = longs[how];
        return true;
    case ATTR_FLOAT:
        a->value.f = floats[how];
        return true;
    case ATTR_BOOLEAN:
        a->value.b = !a->value.b;
        return how == 0;
    case ATTR_STRING:
        a->value.s = how ? "bogus" : "";
        return how < 2;
    case ATTR_INTS:
        a->value.ints = bad_list;
        a->value.n = how == 2 ? 3 : how;
        return true;
    case ATTR_LONGS:
        a->value.longs = bad_longs;
        a->value.n = how == 2 ? 3 : how;
        return true;
    case ATTR_FLOATS:
        a->value.floats = bad_floats;
        a->value.n = how;
        return true;
    default:
        return false;
    }
}

static void try_attrs(struct grad_case *c, struct skiff_op *op)
{
    for (int i = 0; i < op->nattrs; i++) {
        struct op_attr_value *a = &op->attrs[i], was = *a;
        if (!strncmp(a->name, "op_", 3))
            continue;
        for (int how = 0; mutate_attr(a, how); how++) {
            snprintf(now, sizeof(now), "%s: %s, attribute %s, mutation %d", c->dir, op->type,
                     a->name, how);
            attempt(c);
            *a = was;
        }
        *a = was;
    }
}

static void try_case(void *user, const char *dir, const char *name)
{
    struct grad_case c;
    char path[PATH_MAX_LEN];
    case_path(path, dir, name);
    if (!case_open(&c, path))
        return;
    for (int i = 0; i < c.nfeeds; i++)
        try_tensor(&c, &c.feed[i], c.feed_name[i]);
    for (int i = 0; i < c.ninit; i++)
        if (c.init[i].kind == VALUE_TENSOR)
            try_tensor(&c, &c.init[i].tensor, c.init_name[i]);
    struct skiff_block *b = program_root(c.program);
    for (int i = 0; i < b->nops; i++) {
        try_slots(&c, b->ops[i]->ins, b->ops[i]->nins, b->ops[i]->type);
        try_slots(&c, b->ops[i]->outs, b->ops[i]->nouts, b->ops[i]->type);
        try_attrs(&c, b->ops[i]);
    }
    case_close(&c);
}

static void try_op(void *user, const char *dir, const char *name)
{
    char path[PATH_MAX_LEN];
    const char *part = getenv("PART");
    if (part && !strstr(name, part))
        return;
    case_path(path, dir, name);
    each_entry(path, try_case, user);
}

/* Archives of op cases are called ops*. */
static void try_set(void *user, const char *dir, const char *name)
{
    char path[PATH_MAX_LEN];
    case_path(path, dir, name);
    if (strncmp(name, "ops", 3) == 0)
        each_entry(path, try_op, user);
}

static void test_mutations(void **state)
{
    char golden[512];
    const char *build = getenv("BUILD") ? getenv("BUILD") : "build";
    snprintf(golden, sizeof(golden), "%s", getenv("GOLDEN") ? getenv("GOLDEN") : "");
    if (!*golden) {
        snprintf(golden, sizeof(golden), "%s/golden", build);
        assert_int_equal(system("tests/golden/unpack.sh"), 0);
    }
    signal(SIGSEGV, on_crash);
    signal(SIGFPE, on_crash);
    signal(SIGBUS, on_crash);
    each_entry(golden, try_set, NULL);
    printf("%d runs, %d of them ended with an error\n", runs, failed_cleanly);
    assert_true(runs > 0);
    assert_int_equal(silent, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
