/* A test fixture for this module: a small network, split; its servers as threads of this process,
 * over TCP on loopback; trainers through comm/session.h that push synthetic gradients. */
#ifndef SERVER_SERVER_FIXTURE_TEST_H
#define SERVER_SERVER_FIXTURE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "layers/net.h"

#include <skiff/skiff.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "comm/session.h"
#include "executor/executor.h"
#include "net/host.h"
#include "passes/split.h"
#include "server/server.h"

#define FIXTURE_MAX 8
#define EMB_ROWS 1700
#define EMB_WIDTH 30
#define FC_WIDTH 1500

struct fixture_options {
    int servers, trainers, shards;
    struct skiff_split_config config;
    bool printed; /* servers have programs without plans */
    const char *optimizer;
    bool decay; /* the learning rate falls by half each step */
    bool distributed, second_gen;
    double l2;
    int silence_ms, start_ms;
    enum server_on_death on_death;
    const char *load;
    const char *transport;
    bool open_only; /* servers are created, not run */
    int mute;       /* servers that are not started: bit i */
};

struct server_fixture {
    struct fixture_options o;
    struct skiff_net *net;
    struct skiff_split *split;
    char endpoint[FIXTURE_MAX][32], pservers[FIXTURE_MAX * 32];
    const char *endpoints[FIXTURE_MAX];
    struct skiff_program *main[FIXTURE_MAX], *startup[FIXTURE_MAX];
    struct server_plan *plan[FIXTURE_MAX];
    struct server *server[FIXTURE_MAX];
    pthread_t thread[FIXTURE_MAX];
    enum skiff_status status[FIXTURE_MAX];
    struct skiff_error err[FIXTURE_MAX];
    pthread_mutex_t lock;
    char output[8192];
};

#define assert_ok(call, e)                          \
    do {                                            \
        if ((call) < 0)                             \
            fail_msg("%s: %s", #call, (e).message); \
    } while (0)

static inline void fixture_net(struct server_fixture *k)
{
    struct skiff_net *net = k->net = skiff_net_create();
    struct skiff_error err;
    skiff_program_set_seed(skiff_net_main(net), 7);
    skiff_program_set_seed(skiff_net_startup(net), 7);
    struct skiff_var *ids = skiff_data(net, "ids", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *emb = skiff_embedding(
        net, ids, EMB_ROWS, EMB_WIDTH, .is_sparse = true, .is_distributed = k->o.distributed,
        .param_attr = SKIFF_PARAM(.name = "emb", .initializer = skiff_init_uniform(-1, 1, 0)));
    struct skiff_var *out = skiff_fc(
        net, emb, FC_WIDTH,
        .param_attr = SKIFF_PARAM(.name = "w", .initializer = skiff_init_normal(0, 0.5, 0)),
        .bias_attr = SKIFF_PARAM(.name = "b", .initializer = skiff_init_truncated_normal(0, 1, 0)));
    struct skiff_var *loss = skiff_mean(net, out);
    struct skiff_var *rate = k->o.decay ? skiff_lr_exponential(net, 1.0, 1, 0.5, false) : NULL;
    struct skiff_regularizer l2 = {0};
    if (k->o.second_gen) { /* optimizer and servers have the 2.x meaning */
        skiff_net_main(net)->generation = GEN_2X;
        skiff_net_startup(net)->generation = GEN_2X;
    }
    if (k->o.l2)
        l2 = skiff_l2_decay(k->o.l2);
    assert_ok(skiff_minimize(net, loss, &err, k->o.optimizer, .learning_rate = rate ? 0 : 1.0,
                             .learning_rate_var = rate, .momentum = 0.9, .regularization = l2),
              err);
}

static inline void fixture_split(struct server_fixture *k)
{
    struct skiff_error err;
    int ports[FIXTURE_MAX];
    assert_ok(host_free_ports(k->o.servers, ports, &err), err);
    for (int i = 0; i < k->o.servers; i++) {
        snprintf(k->endpoint[i], sizeof k->endpoint[i], "127.0.0.1:%d", ports[i]);
        k->endpoints[i] = k->endpoint[i];
        strcat(k->pservers, i ? "," : "");
        strcat(k->pservers, k->endpoint[i]);
    }
    struct skiff_split_job job = {.main = skiff_net_main(k->net),
                                  .startup = skiff_net_startup(k->net),
                                  .pservers = k->pservers,
                                  .trainers = k->o.trainers,
                                  .sync_mode = k->o.config.sync_mode};
    assert_ok(split_create(&job, &k->o.config, &k->split, &err), err);
}

static inline void fixture_log(void *user, enum log_level level, const char *line)
{
    struct server_fixture *k = user;
    pthread_mutex_lock(&k->lock);
    size_t n = strlen(k->output);
    snprintf(k->output + n, sizeof k->output - n, "%s\n", line);
    pthread_mutex_unlock(&k->lock);
}

/* The server's program is printed and parsed again; its plan is read from it. */
static inline enum skiff_status fixture_reprint(struct server_fixture *k, int i,
                                                struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    program_print(k->main[i], &text);
    program_destroy(k->main[i]);
    server_plan_destroy(k->plan[i]);
    k->main[i] = NULL;
    k->plan[i] = NULL;
    enum skiff_status status = program_parse(text.data, "printed", &k->main[i], err);
    buf_deinit(&text);
    TRY(status);
    return server_plan_read(k->main[i], split_plan(k->split), i, &k->plan[i], err);
}

static inline enum skiff_status fixture_server(struct server_fixture *k, int i,
                                               struct skiff_error *err)
{
    struct server_options s = {.job = "test",
                               .secret = "open sesame",
                               .shards = k->o.shards,
                               .silence_ms = k->o.silence_ms ? k->o.silence_ms : 5000,
                               .start_ms = k->o.start_ms ? k->o.start_ms : 20000,
                               .on_death = k->o.on_death,
                               .transport = k->o.transport,
                               .on_log = fixture_log,
                               .user = k};
    TRY(split_server(k->split, k->endpoint[i], &k->main[i], &k->startup[i], &k->plan[i], err));
    if (k->o.printed)
        TRY(fixture_reprint(k, i, err));
    s.plan = k->plan[i];
    s.whole = skiff_net_main(k->net);
    s.main = k->main[i];
    s.startup = k->startup[i];
    TRY(server_create(&s, &k->server[i], err));
    return k->o.load ? server_load(k->server[i], k->o.load, err) : server_init(k->server[i], err);
}

struct fixture_run {
    struct server_fixture *fixture;
    int i;
};

static inline void *fixture_serve(void *arg)
{
    struct fixture_run r = *(struct fixture_run *)arg;
    free(arg);
    r.fixture->status[r.i] = server_run(r.fixture->server[r.i], &r.fixture->err[r.i]);
    return NULL;
}

static inline void fixture_start(struct server_fixture *k, int i)
{
    struct fixture_run *r = mem_alloc_or_die(sizeof *r);
    *r = (struct fixture_run){k, i};
    assert_int_equal(pthread_create(&k->thread[i], NULL, fixture_serve, r), 0);
}

static inline void fixture_open(struct server_fixture *k, const struct fixture_options *o)
{
    struct skiff_error err;
    memset(k, 0, sizeof *k);
    k->o = *o;
    if (!k->o.optimizer)
        k->o.optimizer = "sgd";
    pthread_mutex_init(&k->lock, NULL);
    fixture_net(k);
    fixture_split(k);
    for (int i = 0; i < o->servers; i++) {
        if (o->mute >> i & 1)
            continue;
        assert_ok(fixture_server(k, i, &err), err);
        if (!o->open_only)
            fixture_start(k, i);
    }
}

/* Joins the servers; each must have ended with this status. */
static inline void fixture_join(struct server_fixture *k, enum skiff_status expected)
{
    for (int i = 0; i < k->o.servers; i++) {
        if (!k->thread[i])
            continue;
        pthread_join(k->thread[i], NULL);
        k->thread[i] = 0;
        if (k->status[i] != expected)
            fail_msg("server %d ended with %d: %s", i, k->status[i], k->err[i].message);
    }
}

static inline void fixture_close(struct server_fixture *k)
{
    for (int i = 0; i < k->o.servers; i++) {
        assert_true(!k->thread[i]);
        server_destroy(k->server[i]);
        server_plan_destroy(k->plan[i]);
        program_destroy(k->main[i]);
        program_destroy(k->startup[i]);
    }
    split_destroy(k->split);
    skiff_net_destroy(k->net);
    pthread_mutex_destroy(&k->lock);
}

/* ---- trainers ---- */

static inline struct session_options fixture_session_options(struct server_fixture *k, int worker)
{
    return (struct session_options){.worker = worker,
                                    .workers = k->o.trainers,
                                    .servers = k->o.servers,
                                    .endpoints = k->endpoints,
                                    .mode = split_plan(k->split)->mode,
                                    .program_hash = split_plan(k->split)->hash,
                                    .job = "test",
                                    .secret = "open sesame",
                                    .connect_ms = 20000,
                                    .request_ms = 20000,
                                    .transport = k->o.transport,
                                    .silence_ms = k->o.silence_ms ? k->o.silence_ms : 5000};
}

static inline struct session *fixture_session(struct server_fixture *k, int worker)
{
    struct session_options o = fixture_session_options(k, worker);
    struct session *s = NULL;
    struct skiff_error err;
    assert_ok(session_open(&o, &s, &err), err);
    return s;
}

/* Slices of a parameter, under its own name or with another suffix before ".blockN". */
struct fixture_slices {
    struct job_slices s;
    char name[FIXTURE_MAX][64];
    const char *names[FIXTURE_MAX], *endpoints[FIXTURE_MAX];
    int64_t sections[FIXTURE_MAX];
    int64_t rows;
};

static inline void fixture_slices(struct server_fixture *k, const char *param, const char *suffix,
                                  bool delta, struct fixture_slices *out)
{
    const struct job_plan *plan = split_plan(k->split);
    const struct skiff_placement *p = plan->placement;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < plan->nplacement; i++) {
        if (strcmp(p[i].origin, param) || p[i].state)
            continue;
        int b = p[i].block;
        if (p[i].is_slice)
            snprintf(out->name[b], sizeof out->name[b], "%s%s.block%d%s", param, suffix, b,
                     delta ? ".delta" : "");
        else
            snprintf(out->name[b], sizeof out->name[b], "%s%s%s", param, suffix,
                     delta ? ".delta" : "");
        out->names[b] = out->name[b];
        out->endpoints[b] = k->endpoints[p[i].server];
        out->sections[b] = p[i].dims[0];
        out->rows += p[i].dims[0];
        out->s.n = b + 1 > out->s.n ? b + 1 : out->s.n;
    }
    out->s.origin = param;
    out->s.names = out->names;
    out->s.endpoints = out->endpoints;
    out->s.sections = out->sections;
    assert_true(out->s.n > 0);
}

static inline void fixture_modulo(struct server_fixture *k, const char *param, const char *suffix,
                                  struct fixture_slices *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < k->o.servers; i++) {
        if (*suffix)
            snprintf(out->name[i], sizeof out->name[i], "%s%s.pserver_%d", param, suffix, i);
        else
            snprintf(out->name[i], sizeof out->name[i], "%s", param);
        out->names[i] = out->name[i];
        out->endpoints[i] = k->endpoints[i];
    }
    out->s = (struct job_slices){.origin = param,
                                 .n = k->o.servers,
                                 .names = out->names,
                                 .endpoints = out->endpoints,
                                 .modulo = true};
}

/* A number in (-1, 1) that depends on its arguments only. */
static inline float made_up(uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t w[4];
    philox(a, b, c, w);
    return (float)(w[0] >> 8) * 0x1p-23f - 1.0f;
}

/* Gradients of one trainer and step: w and b dense; emb rows, with synthetic ids. */
struct grads {
    struct skiff_tensor w, b, emb;
    int64_t nids;
};

static inline void grads_init(struct grads *g, int trainer, int step)
{
    struct shape w = SHAPE(EMB_WIDTH, FC_WIDTH), b = SHAPE(FC_WIDTH);
    uint64_t key = (uint64_t)trainer * 1000 + (uint64_t)step;
    value_as_tensor(&g->w, DTYPE_FP32, &w, NULL);
    value_as_tensor(&g->b, DTYPE_FP32, &b, NULL);
    for (int i = 0; i < EMB_WIDTH * FC_WIDTH; i++)
        tensor_f32(&g->w.tensor)[i] = made_up(key, 1, (uint64_t)i);
    for (int i = 0; i < FC_WIDTH; i++)
        tensor_f32(&g->b.tensor)[i] = made_up(key, 2, (uint64_t)i);
    g->nids = 20;
    value_as_rows(&g->emb, DTYPE_FP32, 20, EMB_WIDTH, EMB_ROWS, NULL);
    for (int i = 0; i < 20; i++) {
        float u = made_up(key, 3, (uint64_t)i);
        /* half of them among a few that trainers share; distinct inside a trainer */
        g->emb.sel.rows[i] = i % 2 ? i * 7 + (step % 3) : i * 80 + (int64_t)((u + 1) * 20);
        for (int c = 0; c < EMB_WIDTH; c++)
            tensor_f32(&g->emb.tensor)[i * EMB_WIDTH + c] =
                made_up(key, 4, (uint64_t)(i * EMB_WIDTH + c));
    }
}

static inline void grads_deinit(struct grads *g)
{
    value_deinit(&g->w);
    value_deinit(&g->b);
    value_deinit(&g->emb);
}

/* Parameters as a trainer pulls them. */
struct params {
    struct skiff_tensor w, b;
    float emb[EMB_ROWS * EMB_WIDTH];
};

static inline void params_shape(struct params *p)
{
    struct shape w = SHAPE(EMB_WIDTH, FC_WIDTH), b = SHAPE(FC_WIDTH);
    value_as_tensor(&p->w, DTYPE_FP32, &w, NULL);
    value_as_tensor(&p->b, DTYPE_FP32, &b, NULL);
}

static inline void params_destroy(struct params *p)
{
    value_deinit(&p->w);
    value_deinit(&p->b);
    free(p);
}

static inline enum skiff_status fixture_exchange(struct server_fixture *k, struct session *s,
                                                 uint64_t step, uint32_t flags, struct grads *g,
                                                 struct params *p, struct skiff_error *err)
{
    struct fixture_slices gw, gb, ge, w, b;
    bool geo = mode_adds(split_plan(k->split)->mode);
    const char *suffix = geo ? "" : "@GRAD";
    fixture_slices(k, "w", suffix, geo, &gw);
    fixture_slices(k, "b", suffix, geo, &gb);
    fixture_slices(k, "w", "", false, &w);
    fixture_slices(k, "b", "", false, &b);
    char of_trainer[32] = "@GRAD"; /* servers that wait keep them apart */
    if (mode_waits(split_plan(k->split)->mode))
        snprintf(of_trainer, sizeof of_trainer, "@GRAD.trainer_%d", session_worker(s));
    if (k->o.distributed)
        fixture_modulo(k, "emb", of_trainer, &ge);
    else
        fixture_slices(k, "emb", suffix, geo, &ge);
    struct session_push push[3] = {{.to = gw.s, .x = g ? &g->w : NULL},
                                   {.to = gb.s, .x = g ? &g->b : NULL},
                                   {.to = ge.s, .x = g ? &g->emb : NULL}};
    struct session_pull pull[2] = {{w.s, p ? &p->w : NULL}, {b.s, p ? &p->b : NULL}};
    return session_exchange(s, step, flags, push, g ? 3 : 0, pull, p ? 2 : 0, err);
}

static inline void fixture_pull(struct server_fixture *k, struct session *s, struct params *p)
{
    struct fixture_slices e;
    struct skiff_error err;
    int64_t ids[EMB_ROWS];
    for (int i = 0; i < EMB_ROWS; i++)
        ids[i] = i;
    params_shape(p);
    assert_ok(fixture_exchange(k, s, 0, 0, NULL, p, &err), err);
    if (k->o.distributed)
        fixture_modulo(k, "emb", "", &e);
    else
        fixture_slices(k, "emb", "", false, &e);
    assert_ok(session_pull_rows(s, &e.s, ids, EMB_ROWS, EMB_WIDTH, p->emb, &err), err);
}

/* A whole run of a trainer: pull, `steps` steps, pull, leave. */
struct fixture_trainer {
    struct server_fixture *fixture;
    int index, steps;
    bool keep; /* does not leave */
    struct params *first, *last;
    struct session *session;
    pthread_t thread;
    enum skiff_status status;
    struct skiff_error err;
};

static inline void *trainer_main(void *arg)
{
    struct fixture_trainer *t = arg;
    struct grads g = {0};
    uint32_t flags = mode_waits(split_plan(t->fixture->split)->mode) ? PS_END_STEP : 0;
    t->session = fixture_session(t->fixture, t->index);
    t->first = mem_alloc_or_die(sizeof *t->first);
    t->last = mem_alloc_or_die(sizeof *t->last);
    fixture_pull(t->fixture, t->session, t->first);
    params_shape(t->last);
    for (int i = 0; i < t->steps && t->status == SKIFF_OK; i++) {
        grads_init(&g, t->index, i);
        t->status =
            fixture_exchange(t->fixture, t->session, (uint64_t)i, flags, &g, t->last, &t->err);
    }
    if (t->status == SKIFF_OK)
        fixture_pull(t->fixture, t->session, t->last);
    grads_deinit(&g);
    if (!t->keep)
        session_close(t->session);
    return NULL;
}

static inline void trainer_start(struct fixture_trainer *t, struct server_fixture *k, int index,
                                 int steps)
{
    *t = (struct fixture_trainer){.fixture = k, .index = index, .steps = steps};
    assert_int_equal(pthread_create(&t->thread, NULL, trainer_main, t), 0);
}

static inline void trainer_join(struct fixture_trainer *t)
{
    pthread_join(t->thread, NULL);
    if (t->status < 0)
        fail_msg("trainer %d: %s", t->index, t->err.message);
}

static inline void trainer_deinit(struct fixture_trainer *t)
{
    params_destroy(t->first);
    params_destroy(t->last);
}

static inline bool params_same(const struct params *a, const struct params *b)
{
    return !memcmp(a->w.tensor.data, b->w.tensor.data, tensor_bytes(&a->w.tensor)) &&
           !memcmp(a->b.tensor.data, b->b.tensor.data, tensor_bytes(&a->b.tensor)) &&
           !memcmp(a->emb, b->emb, sizeof a->emb);
}

#endif
