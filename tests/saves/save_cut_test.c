/* Every kind of save, cut after every file operation: what is loaded afterwards is all of the old
 * model or all of the new one, and the next save leaves nothing of the cut one behind. Then the
 * same with a disk that is full from an operation on. */
#define _GNU_SOURCE
#include "io/io.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <sys/wait.h>

#include <skiff/skiff.h>

/* Thousands of saves: in memory, where there is such a file system. */
#define TEMP_BASE (access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm")

#include "io/io_parts.h"
#include "save/save.h"
#include "store/test_help.h"
#include "tests/saves/cut.h"

/* With a sanitizer a process takes ten times as long to fork: only some operations are cut. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STRIDE 11
#else
#define STRIDE 1
#endif

enum side { NOTHING, OLD, NEW, THIRD };

#define OR_DIE(call)                                 \
    do {                                             \
        struct skiff_error err_ = {0};               \
        struct skiff_error *err = &err_;             \
        if ((call) < 0)                              \
            fail_msg("%s: %s", #call, err->message); \
    } while (0)

static struct skiff_net *net;
static const struct skiff_program *program;
static const char *predict;
static struct skiff_scope *sides[4]; /* by enum side */

/* Each variable another value, each side others: element i of variable k is
 * side * 1000 + k * 10 + i. */
static float wanted(enum side side, int k, int64_t i)
{
    return (float)(side * 1000 + k * 10) + (float)i;
}

static struct skiff_scope *scope_of(enum side side)
{
    struct skiff_scope *s = scope_create();
    struct io_vars vars;
    io_vars_list(program, IO_PERSISTABLES, &vars);
    for (int k = 0; k < vars.n; k++) {
        struct skiff_tensor *v = scope_var(s, vars.v[k]->name);
        OR_DIE(value_as_tensor(v, DTYPE_FP32, &vars.v[k]->shape, err));
        for (int64_t i = 0; i < tensor_numel(&v->tensor); i++)
            tensor_f32(&v->tensor)[i] = wanted(side, k, i);
    }
    io_vars_deinit(&vars);
    return s;
}

static int set_up(void **state)
{
    struct skiff_error err;
    cut_skip_flush();
    net = skiff_net_create();
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(3));
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1));
    struct skiff_var *p = skiff_fc(net, x, 1);
    struct skiff_var *loss = skiff_mean(net, skiff_square_error_cost(net, p, y));
    if (skiff_minimize(net, loss, &err, "adam", .learning_rate = 0.1) < 0)
        return -1;
    predict = skiff_var_name(p);
    program = skiff_net_main(net);
    for (enum side side = OLD; side <= THIRD; side++)
        sides[side] = scope_of(side);
    return 0;
}

static int tear_down(void **state)
{
    for (enum side side = OLD; side <= THIRD; side++)
        scope_destroy(sides[side]);
    skiff_net_destroy(net);
    return temp_remove(state);
}

/* ------------------------------------------------------------------ kinds of saves */

static const char *const feeds[] = {"x"};

static struct io_inference inference(void)
{
    return (struct io_inference){feeds, 1, &predict, 1};
}

static enum skiff_status save_each(struct skiff_scope *s, const char *dir, struct skiff_error *err)
{
    return io_save_group(s, program, IO_PERSISTABLES, dir, NULL, err);
}

static enum skiff_status load_each(struct skiff_scope *s, const char *dir, struct skiff_error *err)
{
    return io_load_group(s, program, IO_PERSISTABLES, dir, NULL, err);
}

static enum skiff_status save_params(struct skiff_scope *s, const char *dir,
                                     struct skiff_error *err)
{
    return io_save_group(s, program, IO_PARAMS, dir, NULL, err);
}

static enum skiff_status load_params(struct skiff_scope *s, const char *dir,
                                     struct skiff_error *err)
{
    return io_load_group(s, program, IO_PARAMS, dir, NULL, err);
}

static enum skiff_status save_all(struct skiff_scope *s, const char *dir, struct skiff_error *err)
{
    return io_save_group(s, program, IO_PERSISTABLES, dir, "all", err);
}

static enum skiff_status load_all(struct skiff_scope *s, const char *dir, struct skiff_error *err)
{
    return io_load_group(s, program, IO_PERSISTABLES, dir, "all", err);
}

static enum skiff_status load_model(struct skiff_scope *s, const char *path,
                                    struct skiff_error *err)
{
    struct skiff_model m = {0};
    enum skiff_status status = io_load_inference(s, path, NULL, NULL, &m, err);
    io_model_deinit(&m);
    return status;
}

static enum skiff_status save_model(struct skiff_scope *s, const char *dir, struct skiff_error *err)
{
    struct io_inference what = inference();
    return io_save_inference_dir(s, program, &what, dir, NULL, NULL, err);
}

static char *below(const char *dir, const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static enum skiff_status save_model_prefix(struct skiff_scope *s, const char *dir,
                                           struct skiff_error *err)
{
    struct io_inference what = inference();
    return io_save_inference_prefix(s, program, &what, below(dir, "x"), err);
}

static enum skiff_status load_model_prefix(struct skiff_scope *s, const char *dir,
                                           struct skiff_error *err)
{
    return load_model(s, below(dir, "x"), err);
}

static enum skiff_status save_fluid(struct skiff_scope *s, const char *dir, struct skiff_error *err)
{
    return io_save(s, program, below(dir, "x"), err);
}

static enum skiff_status load_fluid(struct skiff_scope *s, const char *dir, struct skiff_error *err)
{
    return io_load(s, program, below(dir, "x"), err);
}

/* As `skiff train` saves an epoch with runner.use_inference (train/checkpoint.c). */
static enum skiff_status save_epoch(struct skiff_scope *s, const char *dir, struct skiff_error *err)
{
    struct io_inference what = inference();
    struct model_info info = {.epoch = 3, .complete = true, .known = true};
    struct save to;
    TRY(save_begin(&to, dir, SAVE_LAYOUT_FOLDER, err));
    save_describe(&to, &info);
    enum skiff_status status = io_write_inference(&to.files, s, program, &what, NULL, NULL, err);
    if (status == SKIFF_OK)
        status = io_write_state(&to.files, s, program, "rec_static", err);
    return save_end(&to, status, err);
}

/* Both parts into one scope: they must be of the same side. */
static enum skiff_status load_epoch(struct skiff_scope *s, const char *dir, struct skiff_error *err)
{
    TRY(io_load(s, program, below(dir, "rec_static"), err));
    struct skiff_scope *other = scope_create();
    enum skiff_status status = load_model(other, dir, err);
    struct io_vars vars;
    io_vars_list(program, IO_PARAMS, &vars);
    for (int i = 0; i < vars.n && status == SKIFF_OK; i++) {
        const struct skiff_tensor *a = scope_find(s, vars.v[i]->name),
                                  *b = scope_find(other, vars.v[i]->name);
        assert_memory_equal(a->tensor.data, b->tensor.data, tensor_bytes(&a->tensor));
    }
    io_vars_deinit(&vars);
    scope_destroy(other);
    return status;
}

typedef enum skiff_status transfer(struct skiff_scope *s, const char *dir, struct skiff_error *err);

enum before { FRESH, ALONE, AMONG_OTHERS };

static const struct kind {
    const char *name;
    transfer *save, *load;
    enum before before;
} kinds[] = {
    {"persistables, new", save_each, load_each, FRESH},
    {"persistables, again", save_each, load_each, ALONE},
    {"persistables, among others", save_each, load_each, AMONG_OTHERS},
    {"params, again", save_params, load_params, ALONE},
    {"combined, new", save_all, load_all, FRESH},
    {"combined, again", save_all, load_all, ALONE},
    {"combined, among others", save_all, load_all, AMONG_OTHERS},
    {"inference model, again", save_model, load_model, ALONE},
    {"inference model, among others", save_model, load_model, AMONG_OTHERS},
    {"inference prefix, again", save_model_prefix, load_model_prefix, ALONE},
    {"inference prefix, among others", save_model_prefix, load_model_prefix, AMONG_OTHERS},
    {"fluid.save, new", save_fluid, load_fluid, FRESH},
    {"fluid.save, again", save_fluid, load_fluid, ALONE},
    {"fluid.save, among others", save_fluid, load_fluid, AMONG_OTHERS},
    {"epoch, new", save_epoch, load_epoch, FRESH},
    {"epoch, again", save_epoch, load_epoch, ALONE},
    {"epoch, among others", save_epoch, load_epoch, AMONG_OTHERS},
};

#define NKINDS (int)(sizeof kinds / sizeof *kinds)

/* ------------------------------------------------------------------ checking */

/* Of all variables that were loaded. */
static enum side side_of(const struct skiff_scope *s, const char *name)
{
    struct io_vars vars;
    enum side side = NOTHING;
    int mixed = 0;
    io_vars_list(program, IO_PERSISTABLES, &vars);
    for (int k = 0; k < vars.n; k++) {
        const struct skiff_tensor *v = scope_find(s, vars.v[k]->name);
        for (int64_t i = 0; v && v->kind == VALUE_TENSOR && i < tensor_numel(&v->tensor); i++) {
            enum side here =
                (enum side)((tensor_f32(&v->tensor)[i] - (float)(k * 10) - (float)i) / 1000);
            assert_true(here >= OLD && here <= THIRD);
            assert_true(tensor_f32(&v->tensor)[i] == wanted(here, k, i));
            mixed |= side != NOTHING && here != side;
            side = here;
        }
    }
    io_vars_deinit(&vars);
    if (mixed)
        fail_msg("%s: a mixture was loaded", name);
    return side;
}

static enum side load_side(const struct kind *kind, const char *dir, const char *when)
{
    struct skiff_error err = {0};
    struct skiff_scope *s = scope_create();
    enum skiff_status status = kind->load(s, dir, &err);
    enum side side = status == SKIFF_OK ? side_of(s, when) : NOTHING;
    if (status < 0 && !(kind->before == FRESH && status == SKIFF_NOT_FOUND))
        fail_msg("%s: %s", when, err.message);
    scope_destroy(s);
    return side;
}

static int count_stale_files(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return strstr(path, ".skiff-") != NULL;
}

static void need_clean(const char *when)
{
    if (nftw(temp_root(), count_stale_files, 8, FTW_PHYS))
        fail_msg("%s: something is left behind", when);
}

static void folder_prepare(const struct kind *kind, const char *dir)
{
    file_remove_tree(dir);
    if (kind->before == AMONG_OTHERS) {
        OR_DIE(file_write(below(dir, "notes.txt"), "mine", 4, err));
        OR_DIE(io_save(sides[OLD], program, below(dir, "other"), err));
    }
    if (kind->before != FRESH)
        OR_DIE(kind->save(sides[OLD], dir, err));
}

/* What else lies in the folder is untouched, and whole. */
static void others_check(const struct kind *kind, const char *dir, const char *when)
{
    if (kind->before != AMONG_OTHERS)
        return;
    struct buf text = BUF_INIT;
    OR_DIE(file_read(below(dir, "notes.txt"), &text, err));
    assert_string_equal(text.data, "mine");
    buf_deinit(&text);
    struct skiff_scope *s = scope_create();
    OR_DIE(io_load(s, program, below(dir, "other"), err));
    assert_int_equal(side_of(s, when), OLD);
    scope_destroy(s);
}

/* ------------------------------------------------------------------ cutting */

/* Runs it in a process that is killed at its n-th operation; false when it came to its end. */
static bool cut_at(transfer *call, struct skiff_scope *s, const char *dir, long n)
{
    int how;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        cut_arm(CUT_KILL, n, 0);
        _exit(call(s, dir, NULL) < 0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    if (WIFSIGNALED(how)) {
        assert_int_equal(WTERMSIG(how), SIGKILL);
        return true;
    }
    assert_int_equal(WEXITSTATUS(how), 0);
    return false;
}

/* After the cut: loading (which may be cut, too), then the next save. */
static enum side after_cut(const struct kind *kind, const char *dir, long n, bool load_cut)
{
    char when[120];
    snprintf(when, sizeof when, "%s, cut at operation %ld", kind->name, n);
    if (load_cut) {
        struct skiff_scope *s = scope_create();
        for (long m = 1; m < 4; m++)
            cut_at(kind->load, s, dir, m);
        scope_destroy(s);
    }
    enum side side = load_side(kind, dir, when);
    assert_true(side == NEW || side == (kind->before == FRESH ? NOTHING : OLD));
    others_check(kind, dir, when);
    assert_int_equal(load_side(kind, dir, when), side);
    OR_DIE(kind->save(sides[THIRD], dir, err));
    assert_int_equal(load_side(kind, dir, when), THIRD);
    others_check(kind, dir, when);
    need_clean(when);
    return side;
}

/* Every step-th operation. */
static void cut_kind(const struct kind *kind, bool load_cut, int step)
{
    char dir[200];
    bool old = false, new = false, cut = true;
    long n = 1;
    snprintf(dir, sizeof dir, "%s", temp_path("m"));
    for (; cut; n += step) {
        folder_prepare(kind, dir);
        cut = cut_at(kind->save, sides[NEW], dir, n);
        enum side side = after_cut(kind, dir, n, load_cut && kind->before != FRESH);
        old |= side != NEW;
        new |= side == NEW &&cut;
        if (!cut)
            assert_int_equal(side, NEW);
        assert_false(new &&side != NEW); /* once it is there it stays there */
    }
    assert_true(n > 8);
    assert_true(old);
    assert_true(new || step > 1);
}

static void killed(void **state)
{
    for (int i = 0; i < NKINDS; i++)
        cut_kind(&kinds[i], false, STRIDE);
}

/* Loading finishes what was cut; that may be cut again. */
static void killed_again(void **state)
{
    for (int i = 0; i < NKINDS; i++)
        if (kinds[i].before == AMONG_OTHERS)
            cut_kind(&kinds[i], true, 3 * STRIDE);
}

/* A file system that cannot exchange two folders. */
static void killed_without_exchange(void **state)
{
    cut_no_exchange(true);
    for (int i = 0; i < NKINDS; i++)
        if (kinds[i].before == ALONE)
            cut_kind(&kinds[i], false, 3 * STRIDE);
    cut_no_exchange(false);
}

/* The next save, without a load in between, after a save that was cut. */
static void save_after_cut(void **state)
{
    char dir[200];
    snprintf(dir, sizeof dir, "%s", temp_path("m"));
    for (int i = 0; i < NKINDS; i++) {
        bool cut = true;
        for (long n = 1; cut; n += 3 * STRIDE) {
            folder_prepare(&kinds[i], dir);
            cut = cut_at(kinds[i].save, sides[NEW], dir, n);
            OR_DIE(kinds[i].save(sides[THIRD], dir, err));
            assert_int_equal(load_side(&kinds[i], dir, kinds[i].name), THIRD);
            need_clean(kinds[i].name);
        }
    }
}

/* ------------------------------------------------------------------ at the same time */

#define SAVES 60

/* A process that saves the new and the old in turn. */
static pid_t saver_start(const struct kind *kind, const char *dir)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child)
        return child;
    for (int i = 0; i < SAVES; i++) {
        struct skiff_error err = {0};
        if (kind->save(sides[i % 2 ? OLD : NEW], dir, &err) < 0) {
            fprintf(stderr, "%s: %s\n", kind->name, err.message);
            _exit(1);
        }
    }
    _exit(0);
}

static bool saver_ended(pid_t child, int flags)
{
    int how;
    pid_t ended = waitpid(child, &how, flags);
    assert_true(ended >= 0);
    if (ended)
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    return ended > 0;
}

/* Loading while somebody saves: whole models of one side or the other, no refusals. */
static void load_while_saving(void **state)
{
    char dir[200];
    snprintf(dir, sizeof dir, "%s", temp_path("m"));
    for (int i = 0; i < NKINDS; i++) {
        if (kinds[i].before == FRESH || kinds[i].load == load_epoch)
            continue;
        folder_prepare(&kinds[i], dir);
        pid_t child = saver_start(&kinds[i], dir);
        int seen[4] = {0};
        do
            seen[load_side(&kinds[i], dir, kinds[i].name)]++;
        while (!saver_ended(child, WNOHANG));
        assert_int_equal(seen[NOTHING] + seen[THIRD], 0);
        assert_true(seen[OLD] + seen[NEW] > 0);
        need_clean(kinds[i].name);
    }
}

/* Several save into one folder, under the same name and under others. */
static void save_side_by_side(void **state)
{
    static const struct kind *const mixes[][3] = {
        {&kinds[1], &kinds[1], &kinds[1]},   /* the same folder */
        {&kinds[12], &kinds[12], &kinds[9]}, /* the same prefix, x.pdmodel shared with a third */
        {&kinds[1], &kinds[5], &kinds[12]},  /* three kinds that share no file */
    };
    char dir[200];
    snprintf(dir, sizeof dir, "%s", temp_path("m"));
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++) {
        pid_t child[3];
        file_remove_tree(dir);
        for (int k = 0; k < 3; k++)
            child[k] = saver_start(mixes[i][k], dir);
        for (int k = 0; k < 3; k++)
            assert_true(saver_ended(child[k], 0));
        for (int k = 0; k < 3; k++)
            if (mixes[i][k]->load != load_model_prefix) /* whose program may be the other's */
                assert_int_equal(load_side(mixes[i][k], dir, mixes[i][k]->name), OLD);
        need_clean("side by side");
    }
}

/* ------------------------------------------------------------------ a full disk */

static void full_kind(const struct kind *kind)
{
    char dir[200], when[120];
    bool failed = true;
    snprintf(dir, sizeof dir, "%s", temp_path("m"));
    for (long n = 1; failed; n += STRIDE) {
        struct skiff_error why = {0};
        folder_prepare(kind, dir);
        snprintf(when, sizeof when, "%s, disk full at operation %ld", kind->name, n);
        cut_arm(CUT_FULL, n, 0);
        enum skiff_status status = kind->save(sides[NEW], dir, &why);
        failed = cut_disarm() >= n && status < 0;
        if (status < 0 && why.sys_errno != ENOSPC)
            fail_msg("%s: errno %d: %s", when, why.sys_errno, why.message);
        enum side side = load_side(kind, dir, when);
        assert_true(side == NEW || (failed && side == (kind->before == FRESH ? NOTHING : OLD)));
        others_check(kind, dir, when);
        need_clean(when);
        OR_DIE(kind->save(sides[THIRD], dir, err));
        assert_int_equal(load_side(kind, dir, when), THIRD);
        need_clean(when);
    }
}

static void full(void **state)
{
    for (int i = 0; i < NKINDS; i++)
        full_kind(&kinds[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed),
        cmocka_unit_test(killed_again),
        cmocka_unit_test(killed_without_exchange),
        cmocka_unit_test(save_after_cut),
        cmocka_unit_test(load_while_saving),
        cmocka_unit_test(save_side_by_side),
        cmocka_unit_test(full),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
