/* Loads models that Paddle saved, saves them again in every form, and writes what Skiff predicts
 * with them. Used by tools/check_interop.sh; the results are loaded by real Paddle (check.py).
 * usage: resave OUT FEED_DIR   (from the project's root) */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "executor/executor.h"
#include "executor/io.h"
#include "store/tensor_file.h"

#define SAVED "tests/data/saved/"
#define INTEROP "tests/data/interop/"
#define CASE SAVED "inference_default_case/"

static struct skiff_error err;
static const char *out_dir;

static void must(enum skiff_status status)
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

static void predict(struct scope *s, const struct io_model *m, const char *feed_dir,
                    const char *result)
{
    struct executor_options options = {.is_test = true};
    struct executor *e = executor_create(s, &options);
    struct tensor *in = mem_must(sizeof *in * (size_t)(m->nfeeds + 1));
    struct feed *feeds = mem_must(sizeof *feeds * (size_t)(m->nfeeds + 1));
    for (int i = 0; i < m->nfeeds; i++) {
        struct buf path = BUF_INIT;
        buf_printf(&path, "%s/%s", feed_dir, m->feeds[i]);
        must(tensor_file_read(path.data, &in[i], &err));
        feeds[i] = (struct feed){m->feeds[i], &in[i]};
        buf_deinit(&path);
    }
    struct value v = {0};
    must(executor_run(e, m->program, feeds, m->nfeeds, m->fetches, 1, &v, &err));
    must(value_file_write(out(result), &v, &err));
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
    struct scope *s = scope_create();
    struct program *p;
    struct io_model m;
    must(io_program_read(SAVED "main.pb", &p, &err));
    must(io_load(s, p, SAVED "fluid_save/ctr", &err));
    must(io_save_group(s, p, IO_PERSISTABLES, out("persistables"), NULL, &err));
    must(io_save_group(s, p, IO_PERSISTABLES, out("together"), "all", &err));
    must(io_save_group(s, p, IO_PARAMS, out("params"), NULL, &err));
    must(io_save(s, p, out("fluid_save/ctr"), &err));
    must(io_save_inference_dir(s, p, &what, out("inference"), NULL, NULL, &err));
    must(io_save_inference_dir(s, p, &what, out("inference_files"), "model", "params", &err));
    must(io_save_inference_prefix(s, p, &what, out("prefix/ctr"), &err));
    program_destroy(p);
    scope_destroy(s);
    s = scope_create();
    must(io_load_inference(s, out("prefix/ctr"), NULL, NULL, &m, &err));
    predict(s, &m, CASE "feed/0", "predicted_small");
    io_model_deinit(&m);
    scope_destroy(s);
}

/* An inference model saved again: as a folder, and as a prefix. */
static void inference_model(const char *path, const char *params, const char *name,
                            const char *feed_dir)
{
    struct scope *s = scope_create();
    struct io_model m;
    struct buf to = BUF_INIT;
    must(io_load_inference(s, path, NULL, params, &m, &err));
    const struct io_inference what = {m.feeds, m.nfeeds, m.fetches, m.nfetches};
    buf_printf(&to, "%s_prefix/ctr", name);
    must(io_save_inference_prefix(s, m.program, &what, out(to.data), &err));
    buf_reset(&to);
    buf_printf(&to, "%s_dir", name);
    must(io_save_inference_dir(s, m.program, &what, out(to.data), NULL, NULL, &err));
    buf_reset(&to);
    buf_printf(&to, "predicted_%s", name);
    predict(s, &m, feed_dir, to.data);
    buf_deinit(&to);
    io_model_deinit(&m);
    scope_destroy(s);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: resave OUT FEED_DIR\n");
        return 2;
    }
    out_dir = argv[1];
    training_program();
    inference_model(INTEROP "p26/ctr", NULL, "p26", argv[2]);
    inference_model(INTEROP "p18_combined", "__params__", "p18", argv[2]);
    return 0;
}
