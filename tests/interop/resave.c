/* Loads models that Paddle saved, saves them again in every form, and writes what Skiff predicts
 * with them. Used by tools/check_interop.sh; the results are loaded by real Paddle (check.py).
 * usage: resave OUT FEED_DIR   (from the project's root) */
#include <stdio.h>
#include <stdlib.h>

#include <skiff/skiff.h>

#include "base/mem.h"
#include "executor/executor.h"
#include "io/io.h"
#include "store/tensor_file.h"

#define SAVED "tests/data/saved/"
#define INTEROP "tests/data/interop/"
#define CASE SAVED "inference_default_case/"

static struct skiff_error err;
static const char *out_dir;

static void or_die(enum skiff_status status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "resave: %s\n", err.message);
    exit(1);
}

/* "<OUT>/<name>", never freed: this program ends soon. */
static const char *out(const char *name)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s/%s", out_dir, name);
    return b.data;
}

static void predict(struct skiff_scope *s, const struct skiff_model *m, const char *feed_dir,
                    const char *result)
{
    struct executor_options options = {.is_test = true};
    struct skiff_executor *e = executor_create(s, &options);
    struct tensor *in = mem_alloc_or_die(sizeof *in * (size_t)(m->nfeeds + 1));
    struct feed *feeds = mem_alloc_or_die(sizeof *feeds * (size_t)(m->nfeeds + 1));
    for (int i = 0; i < m->nfeeds; i++) {
        struct buf path = BUF_INIT;
        buf_printf(&path, "%s/%s", feed_dir, m->feeds[i]);
        or_die(tensor_file_read(path.data, &in[i], &err));
        feeds[i] = (struct feed){m->feeds[i], &in[i], NULL};
        buf_deinit(&path);
    }
    struct skiff_tensor v = {0};
    or_die(executor_run(e, m->program, feeds, m->nfeeds, m->fetches, 1, &v, &err));
    or_die(value_file_write(out(result), &v, &err));
    value_deinit(&v);
    for (int i = 0; i < m->nfeeds; i++)
        tensor_deinit(&in[i]);
    free(in);
    free(feeds);
    executor_destroy(e);
}

static void training_program(void)
{
    static const char *const feeds[] = {"dense_input", "C1", "C2", "C3"};
    static const char *const targets[] = {"fc_3.tmp_2"};
    const struct io_inference what = {feeds, 4, targets, 1};
    struct skiff_scope *s = scope_create();
    struct skiff_program *p;
    struct skiff_model m;
    or_die(io_program_read(SAVED "main.pb", &p, &err));
    or_die(io_load(s, p, SAVED "fluid_save/ctr", &err));
    or_die(io_save_group(s, p, IO_PERSISTABLES, out("persistables"), NULL, &err));
    or_die(io_save_group(s, p, IO_PERSISTABLES, out("together"), "all", &err));
    or_die(io_save_group(s, p, IO_PARAMS, out("params"), NULL, &err));
    or_die(io_save(s, p, out("fluid_save/ctr"), &err));
    or_die(io_save_inference_dir(s, p, &what, out("inference"), NULL, NULL, &err));
    or_die(io_save_inference_dir(s, p, &what, out("inference_files"), "model", "params", &err));
    or_die(io_save_inference_prefix(s, p, &what, out("prefix/ctr"), &err));
    program_destroy(p);
    scope_destroy(s);
    s = scope_create();
    or_die(io_load_inference(s, out("prefix/ctr"), NULL, NULL, &m, &err));
    predict(s, &m, CASE "feed/0", "predicted_small");
    io_model_deinit(&m);
    scope_destroy(s);
}

/* An inference model saved again: as a folder, and as a prefix. */
static void inference_model(const char *path, const char *params, const char *name,
                            const char *feed_dir)
{
    struct skiff_scope *s = scope_create();
    struct skiff_model m;
    struct buf to = BUF_INIT;
    or_die(io_load_inference(s, path, NULL, params, &m, &err));
    const struct io_inference what = {m.feeds, m.nfeeds, m.fetches, m.nfetches};
    buf_printf(&to, "%s_prefix/ctr", name);
    or_die(io_save_inference_prefix(s, m.program, &what, out(to.data), &err));
    buf_reset(&to);
    buf_printf(&to, "%s_dir", name);
    or_die(io_save_inference_dir(s, m.program, &what, out(to.data), NULL, NULL, &err));
    buf_reset(&to);
    buf_printf(&to, "predicted_%s", name);
    predict(s, &m, feed_dir, to.data);
    buf_deinit(&to);
    io_model_deinit(&m);
    scope_destroy(s);
}

/* ------------------------------------------------------------------ built here */

static void fill_feeds(struct skiff_feed feeds[3])
{
    struct skiff_tensor *x = skiff_tensor_create("float32", 2, (int64_t[]){6, 3}, &err);
    struct skiff_tensor *ids = skiff_tensor_create("int64", 2, (int64_t[]){9, 1}, &err);
    struct skiff_tensor *y = skiff_tensor_create("int64", 2, (int64_t[]){6, 1}, &err);
    for (int i = 0; i < 18; i++)
        ((float *)skiff_tensor_data(x))[i] = (float)(i % 7) * 0.25f - 0.5f;
    for (int i = 0; i < 9; i++)
        ((int64_t *)skiff_tensor_data(ids))[i] = i * 5 % 20;
    for (int i = 0; i < 6; i++)
        ((int64_t *)skiff_tensor_data(y))[i] = i % 3 == 0;
    or_die(skiff_tensor_set_lengths(ids, (int64_t[]){1, 2, 1, 3, 1, 1}, 6, &err));
    feeds[0] = (struct skiff_feed){"x", x};
    feeds[1] = (struct skiff_feed){"ids", ids};
    feeds[2] = (struct skiff_feed){"y", y};
    for (int i = 0; i < 3; i++) {
        struct buf name = BUF_INIT;
        buf_printf(&name, "built_feed/%s", feeds[i].name);
        or_die(value_file_write(out(name.data), feeds[i].tensor, &err));
        buf_deinit(&name);
    }
}

/* A network of our own: trained three steps, saved in every form; then its predictions, and the
 * variables after one more step, for Paddle to come to the same. */
static void built_here(void)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(3));
    struct skiff_var *ids = skiff_data(net, "ids", SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *e = skiff_embedding(net, ids, 20, 4, .is_sparse = true);
    struct skiff_var *pool = skiff_sequence_pool(net, e, "sum");
    struct skiff_var *h = skiff_fc_list(net, SKIFF_VARS(x, pool), 8, .act = "relu");
    struct skiff_var *p = skiff_fc(net, h, 2, .act = "softmax");
    struct skiff_var *loss = skiff_mean(net, skiff_cross_entropy(net, p, y));
    or_die(skiff_minimize(net, loss, &err, "sgd", .learning_rate = 0.1));
    struct skiff_scope *scope = skiff_scope_create();
    struct skiff_executor *exe = skiff_executor_create(scope, NULL);
    struct skiff_program *main_program = skiff_net_main(net);
    struct skiff_feed feeds[3];
    fill_feeds(feeds);
    or_die(skiff_executor_run(exe, skiff_net_startup(net), NULL, 0, NULL, 0, NULL, &err));
    for (int i = 0; i < 3; i++)
        or_die(skiff_executor_run(exe, main_program, feeds, 3, NULL, 0, NULL, &err));
    const char *names[] = {"x", "ids"}, *targets[] = {skiff_var_name(p)};
    or_die(skiff_save(scope, main_program, out("built/net"), &err));
    or_die(skiff_save_inference_model(scope, main_program, names, 2, targets, 1, out("built_dir"),
                                      &err));
    or_die(skiff_save_inference_prefix(scope, main_program, names, 2, targets, 1,
                                       out("built_prefix/ctr"), &err));
    struct skiff_tensor *predicted = NULL;
    or_die(skiff_executor_run(exe, main_program, feeds, 3, targets, 1, &predicted, &err));
    or_die(value_file_write(out("predicted_built"), predicted, &err));
    or_die(skiff_save_persistables(scope, main_program, out("built_after"), NULL, &err));
    skiff_tensor_destroy(predicted);
    for (int i = 0; i < 3; i++)
        skiff_tensor_destroy(feeds[i].tensor);
    skiff_executor_destroy(exe);
    skiff_scope_destroy(scope);
    skiff_net_destroy(net);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: resave OUT FEED_DIR\n");
        return 2;
    }
    out_dir = argv[1];
    training_program();
    built_here();
    inference_model(INTEROP "p26/ctr", NULL, "p26", argv[2]);
    inference_model(INTEROP "p18_combined", "__params__", "p18", argv[2]);
    return 0;
}
