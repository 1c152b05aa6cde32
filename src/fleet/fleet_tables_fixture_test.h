/* Jobs with one or two sparse tables, servers and workers as threads of this process. */
#ifndef FLEET_TABLES_FIXTURE_TEST_H
#define FLEET_TABLES_FIXTURE_TEST_H

#include "fleet/fleet_fixture_test.h"
#include "fleet/fleet_log.h"

#define DIM 4
#define SAMPLES 2
#define RATE 0.5f

static const char settings[] = "shard_num 3\n"
                               "accessor.accessor_class SparseAccessor\n"
                               "accessor.embedx_threshold 0\n"
                               "accessor.embed_sgd_param.name SparseNaiveSGDRule\n"
                               "accessor.embed_sgd_param.naive.learning_rate 0.5\n"
                               "accessor.embed_sgd_param.naive.initial_range 0\n"
                               "accessor.embedx_sgd_param.name SparseNaiveSGDRule\n"
                               "accessor.embedx_sgd_param.naive.learning_rate 0.5\n"
                               "accessor.embedx_sgd_param.naive.initial_range 0\n";

struct table_job;
typedef void (*table_work)(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                           struct skiff_scope *scope, int worker);

struct table_job {
    const char *mode, *optimizer;
    int servers, workers;
    table_work work;
    bool adam_d2sum;
    bool apart;           /* no id is pushed by two workers */
    const char *settings; /* NULL: those above */
    const char *second;   /* settings of a second table, emb2; NULL: there is none */
    const char *user;     /* the work's own */
    const char *load;     /* servers begin with it; NULL: as the startup program says */
    void (*on_log)(void *j, enum log_level level, const char *line); /* servers'; NULL: to nobody */
    /* filled */
    char texts[MAX_NODES][32];
    const char *endpoints[MAX_NODES];
    struct skiff_error errors[2 * MAX_NODES];
    pthread_barrier_t meet; /* of the workers */
};

struct table_process {
    struct table_job *j;
    bool server;
    int id;
};

/* loss = mean(rows * g) + mean(x w): what is pushed for a row is g / 4, for w the mean of x. */
static inline struct skiff_var *build(struct skiff_net *net, bool two)
{
    skiff_program_set_generation(skiff_net_main(net), 2);
    skiff_program_set_generation(skiff_net_startup(net), 2);
    struct skiff_var *ids = skiff_data(net, "ids", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *g = skiff_data(net, "g", SKIFF_DIMS(DIM));
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(2));
    struct skiff_var *rows =
        skiff_embedding(net, ids, 1, DIM, .is_sparse = true, .is_distributed = true,
                        .param_attr = SKIFF_PARAM(.name = "emb"));
    struct skiff_var *y =
        skiff_fc(net, x, 1, .bias_attr = SKIFF_NO_PARAM,
                 .param_attr = SKIFF_PARAM(.name = "w", .initializer = skiff_init_constant(1)));
    struct skiff_var *one = skiff_mean(net, skiff_elementwise(net, mul, rows, g));
    if (two)
        one = skiff_sums(
            net, SKIFF_VARS(one, skiff_mean(net, skiff_embedding(
                                                     net, ids, 1, DIM, .is_sparse = true,
                                                     .is_distributed = true,
                                                     .param_attr = SKIFF_PARAM(.name = "emb2")))));
    return skiff_sums(net, SKIFF_VARS(one, skiff_mean(net, y)));
}

static inline enum skiff_status be(struct table_process *m, struct skiff_fleet *f,
                                   struct skiff_scope *scope, struct skiff_error *err)
{
    enum skiff_status status;
    if (m->server) {
        status = skiff_fleet_init_server(f, m->j->load, err);
        return status == SKIFF_OK ? skiff_fleet_run_server(f, err) : status;
    }
    struct skiff_executor *exe = skiff_executor_create(scope, NULL);
    status = skiff_executor_run(exe, skiff_fleet_startup_program(f), NULL, 0, NULL, 0, NULL, err);
    if (status == SKIFF_OK)
        status = skiff_fleet_init_worker(f, scope, err);
    if (status == SKIFF_OK)
        m->j->work(m->j, f, exe, scope, m->id);
    enum skiff_status stopped = skiff_fleet_stop_worker(f, status < 0 ? NULL : err);
    skiff_executor_destroy(exe);
    return status < 0 ? status : stopped;
}

static inline void *member_main(void *arg)
{
    struct table_process *m = arg;
    struct table_job *j = m->j;
    struct skiff_error *err = &j->errors[m->id + (m->server ? MAX_NODES : 0)];
    struct skiff_net *net = skiff_net_create();
    struct skiff_fleet *f = skiff_fleet_create();
    struct skiff_scope *scope = skiff_scope_create();
    struct skiff_var *loss = build(net, j->second != NULL);
    struct skiff_role role = {.role = m->server ? SKIFF_SERVER : SKIFF_WORKER,
                              .current_id = m->id,
                              .worker_num = j->workers,
                              .server_endpoints = j->endpoints,
                              .nservers = j->servers};
    struct skiff_table_settings tables[] = {
        {.table = "emb", .settings = j->settings ? j->settings : settings},
        {.table = "emb2", .settings = j->second}};
    struct skiff_strategy strategy = {.mode = j->mode,
                                      .tables = tables,
                                      .ntables = j->second ? 2 : 1,
                                      .adam_d2sum = j->adam_d2sum};
    struct skiff_optimizer *opt = skiff_optimizer_create(
        net, j->optimizer, &(struct skiff_optimizer_options){.learning_rate = 0.1});
    if (j->on_log && m->server)
        fleet_on_log(f, j->on_log, j);
    enum skiff_status status = skiff_fleet_init_user(f, &role, err);
    if (status == SKIFF_OK)
        status = skiff_fleet_minimize(f, opt, loss, &strategy, NULL, err);
    if (status == SKIFF_OK)
        status = be(m, f, scope, err);
    if (status == SKIFF_OK)
        err->code = SKIFF_OK;
    skiff_fleet_destroy(f);
    skiff_scope_destroy(scope);
    skiff_net_destroy(net);
    return NULL;
}

static inline void table_job_run(struct table_job *j)
{
    pthread_t threads[2 * MAX_NODES];
    struct table_process members[2 * MAX_NODES];
    int ports[MAX_NODES], n = 0;
    assert_int_equal(host_free_ports(j->servers, ports, NULL), SKIFF_OK);
    pthread_barrier_init(&j->meet, NULL, (unsigned)j->workers);
    for (int i = 0; i < j->servers; i++) {
        snprintf(j->texts[i], sizeof(j->texts[i]), "127.0.0.1:%d", ports[i]);
        j->endpoints[i] = j->texts[i];
        members[n++] = (struct table_process){j, true, i};
    }
    for (int i = 0; i < j->workers; i++)
        members[n++] = (struct table_process){j, false, i};
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, member_main, &members[i]);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&j->meet);
    for (int i = 0; i < 2 * MAX_NODES; i++)
        if (j->errors[i].code < 0)
            fail_msg("%s %d: %s", i < MAX_NODES ? "worker" : "server", i % MAX_NODES,
                     j->errors[i].message);
}

/* ---- steps ---- */

static inline float grad_of(int step, int worker, int sample, int d)
{
    return (float)(step + 1) + 8.0f * (float)worker - 2.0f * (float)sample + 0.25f * (float)d;
}

static inline void or_die(enum skiff_status status, const struct skiff_error *err)
{
    if (status < 0)
        fail_msg("%s", err->message);
}

static inline void step(struct skiff_executor *exe, const struct skiff_program *main,
                        const int64_t *ids, int at, int worker)
{
    struct skiff_error err = {0};
    struct skiff_tensor *t[3];
    struct skiff_feed feeds[3];
    static const char *const names[] = {"ids", "g", "x"};
    t[0] = skiff_tensor_create("int64", 2, (int64_t[]){SAMPLES, 1}, NULL);
    t[1] = skiff_tensor_create("float32", 2, (int64_t[]){SAMPLES, DIM}, NULL);
    t[2] = skiff_tensor_create("float32", 2, (int64_t[]){SAMPLES, 2}, NULL);
    for (int i = 0; i < SAMPLES; i++) {
        ((int64_t *)skiff_tensor_data(t[0]))[i] = ids[i];
        for (int d = 0; d < DIM; d++)
            ((float *)skiff_tensor_data(t[1]))[i * DIM + d] = 4 * grad_of(at, worker, i, d);
        for (int d = 0; d < 2; d++)
            ((float *)skiff_tensor_data(t[2]))[i * 2 + d] = d ? -2 : 1;
    }
    for (int i = 0; i < 3; i++)
        feeds[i] = (struct skiff_feed){names[i], t[i]};
    or_die(skiff_executor_run(exe, main, feeds, 3, NULL, 0, NULL, &err), &err);
    for (int i = 0; i < 3; i++)
        skiff_tensor_destroy(t[i]);
}

/* ---- a plain table ---- */

struct plain_row {
    int64_t id;
    float show, w[DIM];
    bool embedx;
};

struct plain {
    struct plain_row rows[64];
    int n;
};

static inline void plain_push(struct plain *p, int64_t id, float show, const float *g)
{
    struct plain_row *r = p->rows;
    while (r < p->rows + p->n && r->id != id)
        r++;
    if (r == p->rows + p->n)
        *(p->rows + p->n++) = (struct plain_row){.id = id};
    r->show += show;
    for (int d = 0; d < (r->embedx ? DIM : 1); d++) {
        r->w[d] -= RATE * g[d];
        r->w[d] = r->w[d] < -10 ? -10 : r->w[d] > 10 ? 10 : r->w[d];
    }
    r->embedx = true;
}

/* Keys of all sizes; 5 is everybody's. */
static inline void ids_of(int step, int worker, bool shared, int64_t out[SAMPLES])
{
    static const int64_t keys[] = {3, INT64_MAX, -2, 1000000007, 4, INT64_MIN};
    out[0] = shared ? 5 : 100 + worker;
    out[1] =
        (int64_t)((uint64_t)keys[(step + 3 * worker) % 6] + (shared ? 0 : (uint64_t)worker * 1000));
}

/* The rows of a save, added up over all files. */
static inline int saved_rows(const char *dir, struct plain *out)
{
    char command[300], line[512];
    int n = 0;
    snprintf(command, sizeof(command), "zcat -f %s/000/part-*", dir);
    FILE *in = popen(command, "r");
    while (fgets(line, sizeof(line), in)) {
        struct plain_row *r = &out->rows[out->n++];
        unsigned long long key;
        float slot, unseen, delta, click;
        int at = 0;
        assert_int_equal(sscanf(line, "%llu %f %f %f %f %f %f%n", &key, &slot, &unseen, &delta,
                                &r->show, &click, &r->w[0], &at),
                         7);
        r->id = (int64_t)key;
        r->embedx = sscanf(line + at, "%f %f %f", &r->w[1], &r->w[2], &r->w[3]) == 3;
        assert_true(slot == 0 && unseen == 0 && click == 0);
        n++;
    }
    pclose(in);
    return n;
}

static inline void same_rows(const struct plain *want, const struct plain *got)
{
    assert_int_equal(got->n, want->n);
    for (int i = 0; i < want->n; i++) {
        const struct plain_row *w = &want->rows[i], *g = got->rows;
        while (g < got->rows + got->n && g->id != w->id)
            g++;
        if (g == got->rows + got->n)
            fail_msg("key %lld is not in the files", (long long)w->id);
        assert_true(g->show == w->show && g->embedx);
        for (int d = 0; d < DIM; d++)
            if (fabsf(g->w[d] - w->w[d]) > 1e-4f)
                fail_msg("key %lld, column %d: %g, expected %g", (long long)w->id, d,
                         (double)g->w[d], (double)w->w[d]);
    }
}

static inline void reported(enum skiff_status status, const struct skiff_error *err,
                            const char *text)
{
    assert_true(status < 0);
    if (!strstr(err->message, text))
        fail_msg("'%s' does not tell '%s'", err->message, text);
}

static inline void shell(const char *format, const char *path)
{
    char command[300];
    snprintf(command, sizeof(command), format, path);
    if (system(command))
        fail_msg("%s", command);
}

static inline bool same_text(const char *a, const char *b, const char *part)
{
    char command[900];
    snprintf(command, sizeof(command),
             "bash -c 'cmp -s <(zcat -f %s/%s/* | sort) <(zcat -f %s/%s/* | sort)'", a, part, b,
             part);
    return system(command) == 0;
}

#endif
