/* A test fixture: servers that have only one sparse table, as threads of this process, and trainers
 * through comm/session.h. The plan is written by hand: no program is split. */
#ifndef SERVER_SPARSE_FIXTURE_TEST_H
#define SERVER_SPARSE_FIXTURE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "metrics/metrics.h"
#include "comm/session.h"
#include "data/stream.h"
#include "net/host.h"
#include "server/server.h"
#include "store/file.h"
#include "store/tensor_file.h"

#define FK_MAX 4
#define FK_DIM 3
#define FK_PUSHED 6 /* slot show click g_embed g_embedx[2] */

/* Weights move by minus the gradient, from zeros. */
#define FK_NAIVE                                             \
    "hint.dim 3\nhint.optimizer sgd\nhint.learning_rate 1\n" \
    "accessor.embed_sgd_param.name SparseNaiveSGDRule\n"     \
    "accessor.embed_sgd_param.naive.learning_rate 1\n"       \
    "accessor.embed_sgd_param.naive.initial_range 0\n"       \
    "accessor.embedx_sgd_param.name SparseNaiveSGDRule\n"    \
    "accessor.embedx_sgd_param.naive.learning_rate 1\n"      \
    "accessor.embedx_sgd_param.naive.initial_range 0\n"

#define assert_ok(call, e)                          \
    do {                                            \
        if ((call) < 0)                             \
            fail_msg("%s: %s", #call, (e).message); \
    } while (0)

struct fk {
    int servers, trainers;
    enum skiff_split_mode mode;
    char settings[2048], endpoint[FK_MAX][32], root[64];
    const char *endpoints[FK_MAX];
    const struct job_plan *job;
    struct skiff_program *program;
    struct server_plan *plan[FK_MAX];
    struct server *server[FK_MAX];
    pthread_t thread[FK_MAX];
    enum skiff_status status[FK_MAX];
    struct skiff_error err[FK_MAX];
    const char *load;
    int shard_num;
    bool open_only;
    void (*on_log)(void *k, enum log_level level,
                   const char *line); /* NULL: log lines are dropped */
};

struct fk_run {
    struct fk *k;
    int i;
};

static inline void *fk_serve(void *arg)
{
    struct fk_run r = *(struct fk_run *)arg;
    free(arg);
    r.k->status[r.i] = server_run(r.k->server[r.i], &r.k->err[r.i]);
    return NULL;
}

static inline enum skiff_status fk_server(struct fk *k, int i, struct skiff_error *err)
{
    struct server_plan *p = k->plan[i] = server_plan_create(k->job, i);
    struct plan_slice *u = server_plan_add(p, "emb", "emb@GRAD", -1, true);
    char name[64];
    u->sparse = true;
    u->sparse_table = k->settings;
    plan_names_add(p, &u->vars, "emb");
    plan_names_add(p, &u->pushed, "emb@GRAD");
    for (int t = 0; t < k->trainers; t++) {
        snprintf(name, sizeof name, "emb@GRAD.trainer_%d", t);
        plan_names_add(p, &u->pushed, name);
    }
    struct server_options o = {.main = k->program,
                               .startup = k->program,
                               .plan = p,
                               .job = "test",
                               .secret = "open sesame",
                               .silence_ms = 5000,
                               .start_ms = 20000,
                               .on_log = k->on_log,
                               .user = k};
    TRY(server_create(&o, &k->server[i], err));
    return k->load ? server_load(k->server[i], k->load, err) : server_init(k->server[i], err);
}

static inline void fk_plan(struct fk *k)
{
    const char *tables[] = {"emb"}, *sparse_table[] = {k->settings};
    struct skiff_error err;
    int ports[FK_MAX];
    assert_ok(host_free_ports(k->servers, ports, &err), err);
    for (int i = 0; i < k->servers; i++) {
        snprintf(k->endpoint[i], sizeof k->endpoint[i], "127.0.0.1:%d", ports[i]);
        k->endpoints[i] = k->endpoint[i];
    }
    struct job_plan from = {.mode = k->mode,
                            .trainer_mode = k->mode,
                            .trainers = k->trainers,
                            .servers = k->servers,
                            .endpoints = k->endpoints,
                            .tables = tables,
                            .ntables = 1,
                            .sparse_table = sparse_table,
                            .shards = &k->shard_num};
    k->job = job_plan_create(&from);
}

/* servers, trainers, mode, settings and shard_num of *k are set. */
static inline void fk_open(struct fk *k)
{
    struct skiff_error err;
    char line[64];
    snprintf(line, sizeof line, "shard_num %d\n", k->shard_num);
    strcat(k->settings, line);
    strcpy(k->root, "/tmp/skiff-features-XXXXXX");
    assert_non_null(mkdtemp(k->root));
    k->program = program_create();
    fk_plan(k);
    for (int i = 0; i < k->servers; i++) {
        assert_ok(fk_server(k, i, &err), err);
        struct fk_run *r = mem_alloc_or_die(sizeof *r);
        *r = (struct fk_run){k, i};
        if (!k->open_only)
            assert_int_equal(pthread_create(&k->thread[i], NULL, fk_serve, r), 0);
        else
            free(r);
    }
}

static inline void fk_close(struct fk *k)
{
    for (int i = 0; i < k->servers; i++) {
        if (k->thread[i]) {
            pthread_join(k->thread[i], NULL);
            if (k->status[i] < 0)
                fail_msg("server %d: %s", i, k->err[i].message);
        }
        server_destroy(k->server[i]);
        server_plan_destroy(k->plan[i]);
    }
    job_plan_unref(k->job);
    program_destroy(k->program);
    file_remove_tree(k->root);
}

static inline struct session *fk_session(struct fk *k, int worker)
{
    struct session_options o = {.worker = worker,
                                .workers = k->trainers,
                                .servers = k->servers,
                                .endpoints = k->endpoints,
                                .mode = k->mode,
                                .program_hash = k->job->hash,
                                .job = "test",
                                .secret = "open sesame",
                                .connect_ms = 20000,
                                .request_ms = 20000,
                                .silence_ms = 5000};
    struct session *s = NULL;
    struct skiff_error err;
    assert_ok(session_open(&o, &s, &err), err);
    return s;
}

struct fk_slices {
    struct job_slices s;
    char name[64];
    const char *names[FK_MAX];
};

static inline void fk_slices(struct fk *k, const char *name, struct fk_slices *out)
{
    snprintf(out->name, sizeof out->name, "%s", name);
    for (int i = 0; i < k->servers; i++)
        out->names[i] = out->name;
    out->s = (struct job_slices){.origin = "emb",
                                 .n = k->servers,
                                 .names = out->names,
                                 .endpoints = k->endpoints,
                                 .modulo = true,
                                 .shards = k->shard_num};
}

static inline enum skiff_status fk_try_push(struct fk *k, struct session *s, const int64_t *ids,
                                            size_t n, int width, const float *rows, uint64_t step,
                                            struct skiff_error *err)
{
    struct fk_slices to;
    struct skiff_tensor x = {0};
    char name[64];
    bool waits = mode_waits(k->mode);
    snprintf(name, sizeof name, waits ? "emb@GRAD.trainer_%d" : "emb@GRAD", session_worker(s));
    fk_slices(k, name, &to);
    value_as_rows(&x, DTYPE_FP32, n, width, 0, NULL);
    memcpy(x.sel.rows, ids, n * sizeof *ids);
    memcpy(x.tensor.data, rows, n * (size_t)width * sizeof *rows);
    struct session_push push = {.to = to.s, .x = &x};
    enum skiff_status status =
        session_exchange(s, step, waits ? PS_END_STEP : 0, &push, 1, NULL, 0, err);
    value_deinit(&x);
    return status;
}

static inline void fk_push(struct fk *k, struct session *s, const int64_t *ids, size_t n,
                           const float *rows)
{
    struct skiff_error err;
    assert_ok(fk_try_push(k, s, ids, n, FK_PUSHED, rows, 0, &err), err);
}

/* One id: show 1, the same gradient in all columns. */
static inline void fk_push_one(struct fk *k, struct session *s, int64_t id, float show, float click,
                               float g)
{
    float row[FK_PUSHED] = {7, show, click, g, g, g};
    fk_push(k, s, &id, 1, row);
}

static inline void fk_pull(struct fk *k, struct session *s, const int64_t *ids, size_t n,
                           float *out)
{
    struct fk_slices from;
    struct skiff_error err;
    fk_slices(k, "emb", &from);
    assert_ok(session_pull_rows(s, &from.s, ids, n, FK_DIM, out, &err), err);
}

static inline void fk_assert_row(struct fk *k, struct session *s, int64_t id, float a, float b,
                                 float c)
{
    float out[FK_DIM];
    fk_pull(k, s, &id, 1, out);
    if (out[0] != a || out[1] != b || out[2] != c)
        fail_msg("id %lld is %g %g %g, not %g %g %g", (long long)id, out[0], out[1], out[2], a, b,
                 c);
}

/* A step of one trainer, which may wait for the others. */
struct fk_trainer {
    struct fk *k;
    struct session *s;
    float row[FK_PUSHED];
    pthread_t thread;
    enum skiff_status status;
    struct skiff_error err;
};

static inline void *fk_trainer_step(void *arg)
{
    struct fk_trainer *t = arg;
    int64_t id = 1;
    t->status = fk_try_push(t->k, t->s, &id, 1, FK_PUSHED, t->row, 0, &t->err);
    return NULL;
}

/* ---- calls ---- */

static inline struct ps_table fk_call(struct fk *k, enum ps_table_call call, int mode,
                                      const char *dir)
{
    struct ps_table x = {.call = call, .mode = mode, .table = "emb"};
    if (dir)
        snprintf(x.dir, sizeof x.dir, "%s/%s", k->root, dir);
    return x;
}

static inline struct ps_table_state fk_all(struct fk *k, struct session *s, enum ps_table_call call)
{
    struct ps_table x = fk_call(k, call, 0, NULL);
    struct ps_table_state states[FK_MAX], sum = {0};
    struct skiff_error err;
    assert_ok(session_table(s, &x, states, &err), err);
    for (int i = 0; i < k->servers; i++) {
        sum.rows += states[i].rows;
        sum.bytes += states[i].bytes;
        sum.admitted += states[i].admitted;
        sum.refused += states[i].refused;
        sum.expired += states[i].expired;
        sum.done += states[i].done;
    }
    return sum;
}

static inline struct ps_table_state fk_save(struct fk *k, struct session *s, int mode,
                                            const char *dir)
{
    struct ps_table x = fk_call(k, PS_TABLE_SAVE, mode, dir);
    struct ps_table_state sum;
    struct skiff_error err;
    assert_ok(session_table_save(s, &x, &sum, &err), err);
    return sum;
}

/* The file's text, unpacked. */
static inline char *fk_text(struct fk *k, const char *file)
{
    static char text[1 << 20];
    char path[256];
    struct stream *in;
    struct skiff_error err;
    size_t n = 0, got = 1;
    snprintf(path, sizeof path, "%s/%s", k->root, file);
    assert_ok(stream_open(path, NULL, &in, &err), err);
    while (got) {
        assert_ok(stream_read(in, text + n, sizeof text - 1 - n, &got, &err), err);
        n += got;
    }
    text[n] = '\0';
    stream_close(in);
    return text;
}

/* Names in the folder, sorted, blanks between them; hidden ones too. */
static inline const char *fk_list(struct fk *k, const char *dir)
{
    static char out[4096];
    char path[256], command[512];
    snprintf(path, sizeof path, "%s/%s", k->root, dir);
    snprintf(command, sizeof command, "ls -A '%s' 2>/dev/null | LC_ALL=C sort | tr '\\n' ' '",
             path);
    FILE *f = popen(command, "r");
    size_t n = fread(out, 1, sizeof out - 1, f);
    out[n] = '\0';
    pclose(f);
    return out;
}

#endif
