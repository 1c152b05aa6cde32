/* The fixture of tests with whole jobs (cluster.h). A job is a block of shared memory and a set of
 * forked processes: each server and trainer runs its program, feeds batches of its own, and writes
 * its status, losses and messages into the shared block. The forking process must have no threads
 * and computes nothing itself; it only waits, kills, and compares afterwards. Every wait has a
 * deadline, at which the processes are killed and the test fails with their last log lines. */
#include "cluster.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/host.h"
#include "store/file.h"

/* ---- recorded runs ---- */

const char *cluster_golden(void)
{
    static char path[512];
    const char *build = getenv("BUILD") ? getenv("BUILD") : "build";
    snprintf(path, sizeof path, "%s/golden/dist", build);
    return path;
}

/* Parsed programs live as long as the test: jobs share them. */
static struct skiff_program *programs[256];
static int nprograms;

static void programs_free(void)
{
    while (nprograms)
        program_destroy(programs[--nprograms]);
}

struct skiff_program *cluster_program(const char *path)
{
    struct buf b = BUF_INIT;
    struct skiff_program *p = NULL;
    struct skiff_error err;
    if (file_read(path, &b, &err) < 0 || program_decode(b.data, b.len, path, &p, &err) < 0)
        fail_msg("%s", err.message);
    buf_deinit(&b);
    assert_true(nprograms < (int)(sizeof programs / sizeof *programs));
    if (!nprograms)
        atexit(programs_free);
    return programs[nprograms++] = p;
}

static void setting(const char *text, const char *key, char *out, size_t capacity)
{
    size_t n = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, n) && line[n] == ' ') {
            snprintf(out, capacity, "%.*s", (int)strcspn(line + n + 1, "\n"), line + n + 1);
            return;
        }
    }
    fail_msg("settings.txt has no %s", key);
}

static int number(const char *text, const char *key)
{
    char value[64];
    setting(text, key, value, sizeof value);
    return atoi(value);
}

static void read_inputs(struct cluster_spec *s, char *text)
{
    char *save;
    for (char *t = strtok_r(text, " ", &save); t; t = strtok_r(NULL, " ", &save)) {
        struct cluster_input *in = &s->inputs[s->ninputs++];
        char type;
        assert_int_equal(sscanf(t, "%63[^:]:%c:%d:%d", in->name, &type, &in->lod_level, &in->width),
                         4);
        in->is_float = type == 'f';
    }
}

static struct skiff_split_config config_of(const char *api, const char *mode)
{
    struct skiff_split_config c = split_config_default();
    enum skiff_split_mode known;
    if (!strcmp(api, "fleet")) {
        assert_true(skiff_mode_find(mode, &known));
        return split_config_fleet(known);
    }
    c.sync_mode = !strcmp(mode, "sync");
    return c;
}

void cluster_case(struct cluster_spec *s, const char *dir, const char *name)
{
    struct buf b = BUF_INIT;
    struct skiff_error err;
    char path[1024], text[4096], mode[64], key[16];
    memset(s, 0, sizeof *s);
    snprintf(path, sizeof path, "%s/%s/settings.txt", dir, name);
    if (file_read(path, &b, &err) < 0)
        fail_msg("%s", err.message);
    buf_char(&b, '\0');
    s->silence_ms = 3000;
    setting(b.data, "mode", mode, sizeof mode);
    setting(b.data, "api", text, sizeof text);
    s->config = config_of(text, mode);
    s->direct = strcmp(text, "fleet") != 0;
    s->servers = number(b.data, "servers");
    s->trainers = number(b.data, "trainers");
    s->steps = number(b.data, "steps");
    s->batch = number(b.data, "batch");
    s->turns = number(b.data, "turns");
    s->push_nums = number(b.data, "push_nums");
    s->config.geo_sgd_need_push_nums = s->push_nums;
    for (int i = 0; i < s->trainers; i++) {
        snprintf(key, sizeof key, "data%d", i);
        setting(b.data, key, text, sizeof text);
        snprintf(s->data[i], sizeof s->data[i], "%s/%.400s", dir, text);
    }
    setting(b.data, "inputs", text, sizeof text);
    read_inputs(s, text);
    setting(b.data, "fetch", text, sizeof text);
    s->nfetch = sscanf(text, "%63s %63s %63s", s->fetch[0], s->fetch[1], s->fetch[2]);
    setting(b.data, "init", text, sizeof text);
    snprintf(s->init, sizeof s->init, "%s/%.400s", dir, text);
    setting(b.data, "programs", text, sizeof text);
    snprintf(path, sizeof path, "%s/%.400s/main.pb", dir, text);
    s->main = cluster_program(path);
    snprintf(path, sizeof path, "%s/%.400s/startup.pb", dir, text);
    s->startup = cluster_program(path);
    buf_deinit(&b);
}

/* ---- output of the processes ---- */

static void seen_end(struct cluster *c, struct cluster_seen *seen, enum skiff_status status,
                     const struct skiff_error *err)
{
    if (status < 0)
        snprintf(seen->message, sizeof seen->message, "%s", err->message);
    seen->ended = clock_seconds() - c->started;
    atomic_store(&seen->status, status);
}

/* Threads of a process report at the same time; every process has a part of its own. */
static void on_log(void *user, enum log_level level, const char *line)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct cluster_seen *seen = user;
    pthread_mutex_lock(&lock);
    size_t n = strlen(seen->output);
    snprintf(seen->output + n, sizeof seen->output - n, "%s\n", line);
    pthread_mutex_unlock(&lock);
    if (getenv("CLUSTER_LOG"))
        fprintf(stderr, "%.3f [%d] %s\n", clock_seconds(), (int)getpid(), line);
}

void cluster_complain(struct cluster *c, const char *format, ...)
{
    va_list args;
    if (c->shared->complaint[0])
        return;
    va_start(args, format);
    vsnprintf(c->shared->complaint, sizeof c->shared->complaint, format, args);
    va_end(args);
}

/* ---- data ---- */

struct samples {
    float *f[32];
    int64_t *i[32];
    int *count[32]; /* per sample */
    size_t at[32];
    int n;
};

static void read_samples(const struct cluster_spec *s, const char *path, struct samples *d)
{
    struct buf b = BUF_INIT;
    struct skiff_error err;
    if (file_read(path, &b, &err) < 0)
        abort();
    buf_char(&b, '\0');
    memset(d, 0, sizeof *d);
    for (int k = 0; k < s->ninputs; k++) {
        d->f[k] = mem_alloc_or_die(b.len * sizeof(float));
        d->i[k] = mem_alloc_or_die(b.len * sizeof(int64_t));
        d->count[k] = mem_alloc_or_die(b.len * sizeof(int));
    }
    size_t used[32] = {0};
    for (char *p = b.data; *p; d->n++) {
        for (int k = 0; k < s->ninputs; k++) {
            int count = (int)strtol(p, &p, 10);
            d->count[k][d->n] = count;
            for (int e = 0; e < count; e++, used[k]++) {
                if (s->inputs[k].is_float)
                    d->f[k][used[k]] = strtof(p, &p);
                else
                    d->i[k][used[k]] = strtoll(p, &p, 10);
            }
        }
        p += strspn(p, " \r\n");
    }
    buf_deinit(&b);
}

/* The next batch; starts over at the end of the data. */
static void feed_batch(const struct cluster_spec *s, struct samples *d, int first,
                       struct tensor *tensors, struct feed *feeds)
{
    for (int k = 0; k < s->ninputs; k++) {
        const struct cluster_input *in = &s->inputs[k];
        int64_t off[1024] = {0};
        if (first == 0)
            d->at[k] = 0;
        for (int r = 0; r < s->batch; r++)
            off[r + 1] = off[r] + d->count[k][first + r];
        struct shape shape = in->lod_level ? SHAPE(off[s->batch], 1) : SHAPE(s->batch, in->width);
        struct tensor *t = &tensors[k];
        tensor_resize(t, in->is_float ? DTYPE_FP32 : DTYPE_INT64, &shape, NULL);
        if (in->is_float)
            memcpy(t->data, d->f[k] + d->at[k], tensor_bytes(t));
        else
            memcpy(t->data, d->i[k] + d->at[k], tensor_bytes(t));
        d->at[k] += (size_t)off[s->batch];
        tensor_drop_lod(t);
        if (in->lod_level) {
            int64_t counts = s->batch + 1;
            lod_build(&t->lod, 1, &counts, NULL);
            memcpy(t->lod->level[0].off, off, (size_t)counts * sizeof *off);
        }
        feeds[k] = (struct feed){in->name, t, NULL};
    }
}

/* ---- a trainer ---- */

static enum skiff_status make_split(struct cluster *c, int trainer, struct skiff_error *err)
{
    const struct cluster_spec *s = &c->spec;
    struct skiff_split_job job = {.main = s->main,
                                  .startup = s->startup,
                                  .trainer_id = trainer,
                                  .pservers = c->pservers,
                                  .trainers = s->trainers,
                                  .sync_mode = s->config.sync_mode};
    return split_create(&job, &s->config, &c->split, err);
}

static enum skiff_status make_job(struct cluster *c, int k, struct skiff_error *err)
{
    const struct cluster_spec *s = &c->spec;
    struct comm_options o = {.plan = split_plan(c->split),
                             .direct = s->direct,
                             .session = {.worker = k,
                                         .job = "cluster test",
                                         .secret = "sesame",
                                         .transport = s->transport,
                                         .connect_ms = 15000,
                                         .request_ms = s->request_ms ? s->request_ms : 20000,
                                         .silence_ms = s->silence_ms,
                                         .on_log = on_log,
                                         .user = &c->shared->trainer[k]},
                             .threads = s->threads,
                             .max_merge_var_num = s->max_merge,
                             .send_queue_size = s->queue_size,
                             .min_send_grad_num_before_recv = s->min_send,
                             .independent_recv_thread = s->pull_always ? 0 : -1,
                             .is_sgd_optimizer = s->is_sgd ? s->is_sgd - 1 : -1,
                             .geo_need_push_nums = s->push_nums};
    return comm_create(&o, &c->job, err);
}

static void wait_turn(struct cluster *c, int turn)
{
    while (atomic_load(&c->shared->turn) < turn)
        clock_sleep(CLOCK_MS / 2);
}

static enum skiff_status train(struct cluster *c, int k, struct skiff_executor *e,
                               const struct skiff_program *main, struct skiff_error *err)
{
    const struct cluster_spec *s = &c->spec;
    struct cluster_seen *seen = &c->shared->trainer[k];
    struct samples d;
    struct tensor tensors[2][32] = {0}; /* of this step, and of the next one */
    struct feed feeds[2][32];
    struct skiff_tensor out[CLUSTER_FETCH] = {0};
    const char *fetch[CLUSTER_FETCH] = {s->fetch[0], s->fetch[1], s->fetch[2]};
    read_samples(s, s->data[k], &d);
    atomic_fetch_add(&c->shared->ready, 1);
    while (atomic_load(&c->shared->ready) < s->trainers)
        clock_sleep(CLOCK_MS / 2);
    for (int step = 0; step < s->steps; step++) {
        int batches = d.n / s->batch;
        if (s->turns)
            wait_turn(c, step * s->trainers + k);
        int now = step % 2, later = 1 - now;
        if (!s->prefetch || step == 0)
            feed_batch(s, &d, step % batches * s->batch, tensors[now], feeds[now]);
        if (s->prefetch && step + 1 < s->steps) {
            feed_batch(s, &d, (step + 1) % batches * s->batch, tensors[later], feeds[later]);
            executor_prefetch(e, main, feeds[later], s->ninputs, fetch, s->nfetch);
        }
        TRY(executor_run(e, main, feeds[now], s->ninputs, fetch, s->nfetch, out, err));
        for (int f = 0; f < s->nfetch && step < CLUSTER_STEPS; f++)
            seen->loss[step][f] = out[f].tensor.dtype == DTYPE_FP32
                                      ? *tensor_f32(&out[f].tensor)
                                      : (float)*tensor_f64(&out[f].tensor);
        if (s->turns || s->at_step)
            TRY(comm_flush(c->job, err));
        if (s->at_step)
            s->at_step(c, k, step);
        atomic_store(&seen->steps, step + 1);
        if (s->pause_ms)
            clock_sleep(s->pause_ms * CLOCK_MS);
        if (s->turns)
            atomic_store(&c->shared->turn, step * s->trainers + k + 1);
    }
    struct metrics *counted = session_metrics(comm_session(c->job));
    seen->rows_prefetch = (uint64_t)metrics_value(counted, METRIC_SESSION_ROWS_PREFETCHED);
    return SKIFF_OK;
}

static enum skiff_status run_trainer(struct cluster *c, int k, struct skiff_error *err)
{
    struct skiff_program *main, *startup;
    struct executor_options eo = {0};
    TRY(make_split(c, k, err));
    TRY(split_trainer(c->split, &main, &startup, err));
    TRY(make_job(c, k, err));
    program_set_job(main, c->job);
    program_set_job(startup, c->job);
    c->scope = scope_create();
    struct skiff_executor *e = executor_create(c->scope, &eo);
    TRY(comm_start(c->job, c->scope, err));
    TRY(executor_run(e, startup, NULL, 0, NULL, 0, NULL, err));
    TRY(train(c, k, e, main, err));
    if (c->spec.turns)
        wait_turn(c, c->spec.steps * c->spec.trainers);
    atomic_fetch_add(&c->shared->done, 1);
    if (c->spec.at_end) {
        while (k == 0 && atomic_load(&c->shared->done) < c->spec.trainers)
            clock_sleep(CLOCK_MS);
        c->spec.at_end(c, k);
        if (k == 0)
            atomic_store(&c->shared->saved, 1);
        while (!atomic_load(&c->shared->saved))
            clock_sleep(CLOCK_MS);
    }
    TRY(c->job->class->close(c->job, err));
    executor_destroy(e);
    program_destroy(main);
    program_destroy(startup);
    job_unref(c->job);
    scope_destroy(c->scope);
    split_destroy(c->split);
    return SKIFF_OK;
}

/* ---- a server ---- */

static enum skiff_status run_server(struct cluster *c, int i, struct skiff_error *err)
{
    const struct cluster_spec *s = &c->spec;
    struct skiff_program *main, *startup;
    struct server_plan *plan;
    struct server *server;
    TRY(make_split(c, 0, err));
    TRY(split_server(c->split, c->endpoints[i], &main, &startup, &plan, err));
    struct server_options o = {.main = main,
                               .startup = startup,
                               .whole = s->main,
                               .plan = plan,
                               .job = "cluster test",
                               .secret = "sesame",
                               .transport = s->transport,
                               .shards = s->shards,
                               .silence_ms = s->silence_ms,
                               .start_ms = 15000,
                               .on_death = s->on_death,
                               .on_log = on_log,
                               .user = &c->shared->server[i]};
    TRY(server_create(&o, &server, err));
    TRY(server_init(server, err));
    if (s->init[0])
        TRY(server_load(server, s->init, err));
    TRY(server_run(server, err));
    server_destroy(server);
    server_plan_destroy(plan);
    program_destroy(main);
    program_destroy(startup);
    split_destroy(c->split);
    return SKIFF_OK;
}

/* ---- the job ---- */

static pid_t fork_role(struct cluster *c, bool server, int i)
{
    struct cluster_seen *seen = server ? &c->shared->server[i] : &c->shared->trainer[i];
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(3);
    struct skiff_error err = {0};
    enum skiff_status status = server ? run_server(c, i, &err) : run_trainer(c, i, &err);
    seen_end(c, seen, status, &err);
    if (status < 0 && c->job)
        comm_stop(c->job, NULL);
    fflush(NULL);
    _exit(status < 0 ? 1 : 0);
}

static void start_servers(struct cluster *c)
{
    for (int i = 0; i < c->spec.servers; i++)
        c->server[i] = fork_role(c, true, i);
}

void cluster_start(struct cluster *c, const struct cluster_spec *spec)
{
    memset(c, 0, sizeof *c);
    c->spec = *spec;
    c->shared =
        mmap(NULL, sizeof *c->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(c->shared != MAP_FAILED);
    size_t at = 0;
    int ports[CLUSTER_MOST];
    assert_int_equal(host_free_ports(spec->servers, ports, NULL), SKIFF_OK);
    for (int i = 0; i < spec->servers; i++) {
        snprintf(c->endpoint[i], sizeof c->endpoint[i], "127.0.0.1:%d", ports[i]);
        c->endpoints[i] = c->endpoint[i];
        at += (size_t)snprintf(c->pservers + at, sizeof c->pservers - at, "%s%s", i ? "," : "",
                               c->endpoint[i]);
        atomic_store(&c->shared->server[i].status, 1);
    }
    c->started = clock_seconds();
    if (!spec->servers_late)
        start_servers(c);
    for (int i = 0; i < spec->trainers; i++) {
        atomic_store(&c->shared->trainer[i].status, 1);
        c->trainer[i] = fork_role(c, false, i);
    }
    if (spec->servers_late) {
        clock_sleep(300 * CLOCK_MS);
        start_servers(c);
    }
}

void cluster_kill(struct cluster *c, bool server, int i)
{
    pid_t pid = server ? c->server[i] : c->trainer[i];
    if (pid > 0)
        kill(pid, SIGKILL);
}

void cluster_restart_server(struct cluster *c, int i)
{
    cluster_kill(c, true, i);
    waitpid(c->server[i], NULL, 0);
    c->server[i] = fork_role(c, true, i);
}

static bool reap(pid_t *pid)
{
    int status;
    if (*pid <= 0)
        return true;
    if (waitpid(*pid, &status, WNOHANG) != *pid)
        return false;
    *pid = 0;
    return true;
}

static bool all_ended(struct cluster *c)
{
    bool ended = true;
    for (int i = 0; i < CLUSTER_MOST; i++) {
        bool t = reap(&c->trainer[i]), s = reap(&c->server[i]);
        ended &= t && s;
    }
    return ended;
}

void cluster_wait(struct cluster *c, double seconds)
{
    double until = clock_seconds() + seconds;
    while (!all_ended(c) && clock_seconds() < until)
        clock_sleep(2 * CLOCK_MS);
    if (all_ended(c))
        return;
    char who[512];
    size_t at = 0;
    for (int i = 0; i < CLUSTER_MOST; i++) {
        if (c->trainer[i] > 0)
            at += (size_t)snprintf(who + at, sizeof who - at, " trainer %d (%d steps)", i,
                                   atomic_load(&c->shared->trainer[i].steps));
        if (c->server[i] > 0)
            at += (size_t)snprintf(who + at, sizeof who - at, " server %d", i);
        if (c->trainer[i] > 0)
            kill(c->trainer[i], SIGKILL);
        if (c->server[i] > 0)
            kill(c->server[i], SIGKILL);
    }
    while (!all_ended(c))
        clock_sleep(2 * CLOCK_MS);
    fail_msg("still running after %.0f s:%s; server 0 logged: %s", seconds, who,
             c->shared->server[0].output);
}

void cluster_await_step(struct cluster *c, int trainer, int steps)
{
    double until = clock_seconds() + 20;
    while (atomic_load(&c->shared->trainer[trainer].steps) < steps && clock_seconds() < until)
        clock_sleep(CLOCK_MS);
    if (atomic_load(&c->shared->trainer[trainer].steps) < steps) {
        char why[1024];
        snprintf(why, sizeof why, "%s", c->shared->trainer[trainer].message);
        cluster_wait(c, 0);
        fail_msg("trainer %d did not get to step %d: %s", trainer, steps, why);
    }
}

void cluster_end(struct cluster *c)
{
    munmap(c->shared, sizeof *c->shared);
    c->shared = NULL;
}

/* ---- values ---- */

/* The slice of `name` after row `from`, among those that the servers keep; NULL: none. */
static const struct skiff_placement *next_slice(struct cluster *c, const char *name, int64_t from)
{
    int count = split_plan(c->split)->nplacement;
    const struct skiff_placement *p = split_plan(c->split)->placement, *best = NULL;
    for (int i = 0; i < count; i++)
        if (!strcmp(p[i].origin, name) && (p[i].remote || p[i].state) && p[i].first_row >= from &&
            (!best || p[i].first_row < best->first_row))
            best = &p[i];
    return best;
}

float *cluster_value(struct cluster *c, const char *name, size_t *n)
{
    float *out = NULL;
    struct skiff_error err;
    int64_t from = 0;
    *n = 0;
    for (const struct skiff_placement *p; (p = next_slice(c, name, from));) {
        struct skiff_tensor part = {0};
        int64_t rows = placement_rows(p);
        if (session_pull_part(comm_session(c->job), p->server, p->slice, 0, rows, &part, &err) <
            0) {
            cluster_complain(c, "%s: %s", name, err.message);
            return out;
        }
        size_t more = (size_t)tensor_numel(&part.tensor);
        out = mem_grow_or_die(out, (*n + more) * sizeof *out);
        memcpy(out + *n, part.tensor.data, more * sizeof *out);
        *n += more;
        from = p->first_row + rows;
        value_deinit(&part);
    }
    const struct skiff_tensor *v = out ? NULL : scope_find(c->scope, name);
    if (v && v->kind == VALUE_TENSOR && v->tensor.data && v->tensor.dtype == DTYPE_FP32) {
        *n = (size_t)tensor_numel(&v->tensor);
        out = mem_alloc_or_die(*n * sizeof *out + 1);
        memcpy(out, v->tensor.data, *n * sizeof *out);
    }
    return out;
}

void cluster_digest(struct cluster *c, int trainer)
{
    int count = split_plan(c->split)->nplacement;
    const struct skiff_placement *p = split_plan(c->split)->placement;
    uint64_t digest = 0;
    if (trainer != 0)
        return;
    for (int i = 0; i < count; i++) {
        size_t n;
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen |= !strcmp(p[k].origin, p[i].origin);
        if (seen)
            continue;
        float *v = cluster_value(c, p[i].origin, &n);
        digest += hash_bytes(p[i].origin, strlen(p[i].origin)) * hash_bytes(v, n * sizeof *v);
        free(v);
    }
    atomic_store(&c->shared->digest, digest);
}
