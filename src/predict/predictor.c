/* The thread states of a predictor, and its public face (predictor.h, skiff/predict.h).
 *
 * Idle states are a list under the lock; the one used last is taken first, because its memory is
 * still in the caches. A state's executor keeps a plan for every batch size, so that only the first
 * run of a size on a thread allocates. */
#include "predict/predictor.h"

#include <pthread.h>
#include <skiff/predict.h>
#include <stdlib.h>

#include "base/mem.h"

/* What one thread needs for a run. */
struct predict_state {
    struct skiff_executor *executor;
    struct feed *feeds;
    struct skiff_feed *public_feeds; /* the same, as the public call has them */
    struct predict_state *next;      /* the next idle one */
};

struct skiff_predictor {
    struct skiff_scope *scope, *own_scope; /* own: NULL when it is borrowed */
    struct skiff_model model;
    bool owns_model;
    struct executor_options options;
    pthread_mutex_t lock;
    struct predict_state *idle;
};

static struct predict_state *state_create(const struct skiff_predictor *p)
{
    struct predict_state *l = mem_alloc_or_die(sizeof(*l));
    l->executor = executor_create(p->scope, &p->options);
    l->feeds = mem_alloc_or_die((size_t)(p->model.nfeeds + 1) * sizeof(*l->feeds));
    l->public_feeds = mem_alloc_or_die((size_t)(p->model.nfeeds + 1) * sizeof(*l->public_feeds));
    for (int i = 0; i < p->model.nfeeds; i++)
        l->feeds[i].name = l->public_feeds[i].name = p->model.feeds[i];
    return l;
}

static void state_destroy(struct predict_state *l)
{
    executor_destroy(l->executor);
    free(l->feeds);
    free(l->public_feeds);
    free(l);
}

/* The one that was used last: its memory is warm. */
static struct predict_state *state_take(struct skiff_predictor *p)
{
    pthread_mutex_lock(&p->lock);
    struct predict_state *l = p->idle;
    if (l)
        p->idle = l->next;
    pthread_mutex_unlock(&p->lock);
    return l ? l : state_create(p);
}

static void state_give(struct skiff_predictor *p, struct predict_state *l)
{
    pthread_mutex_lock(&p->lock);
    l->next = p->idle;
    p->idle = l;
    pthread_mutex_unlock(&p->lock);
}

struct skiff_predictor *predictor_create(struct skiff_scope *scope, const struct skiff_model *model,
                                         const struct executor_options *options)
{
    struct skiff_predictor *p = mem_alloc_or_die(sizeof(*p));
    *p = (struct skiff_predictor){.scope = scope, .model = *model, .options = *options};
    p->options.is_test = true;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

enum skiff_status predictor_open(const char *path, const char *program_file,
                                 const char *params_file, const struct executor_options *options,
                                 struct skiff_predictor **out, struct skiff_error *err)
{
    struct skiff_scope *scope = scope_create();
    struct skiff_model model = {0};
    enum skiff_status status =
        io_load_inference(scope, path, program_file, params_file, &model, err);
    if (status < 0) {
        scope_destroy(scope);
        return status;
    }
    *out = predictor_create(scope, &model, options);
    (*out)->own_scope = scope;
    (*out)->owns_model = true;
    return SKIFF_OK;
}

void predictor_destroy(struct skiff_predictor *p)
{
    if (!p)
        return;
    while (p->idle) {
        struct predict_state *l = p->idle;
        p->idle = l->next;
        state_destroy(l);
    }
    scope_destroy(p->own_scope);
    if (p->owns_model)
        io_model_deinit(&p->model);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

const struct skiff_model *predictor_model(const struct skiff_predictor *p)
{
    return &p->model;
}

enum skiff_status predictor_run(struct skiff_predictor *p, const struct tensor *const *inputs,
                                struct skiff_tensor *out, int n, struct skiff_error *err)
{
    struct predict_state *l = state_take(p);
    for (int i = 0; i < p->model.nfeeds; i++)
        l->feeds[i].tensor = inputs[i];
    enum skiff_status status = executor_run(l->executor, p->model.program, l->feeds,
                                            p->model.nfeeds, p->model.fetches, n, out, err);
    state_give(p, l);
    return status;
}

/* ---- predictions of rows ---- */

enum skiff_status predict_slots(const struct skiff_predictor *p, const struct schema *schema,
                                int **out, struct skiff_error *err)
{
    const struct skiff_model *m = &p->model;
    *out = mem_alloc_or_die((size_t)(m->nfeeds + 1) * sizeof **out);
    for (int i = 0; i < m->nfeeds; i++) {
        (*out)[i] = schema_find(schema, m->feeds[i]);
        if ((*out)[i] < 0)
            return error_set(
                err, SKIFF_NOT_FOUND,
                "the model needs the input \"%s\", which the network of the config does not have",
                m->feeds[i]);
    }
    if (m->nfetches < 1)
        return error_set(err, SKIFF_INVALID,
                         "the model has no output variable: there is nothing to write");
    return SKIFF_OK;
}

enum skiff_status predict_check(const struct skiff_predictor *p, const struct tensor *result,
                                int64_t rows, struct skiff_error *err)
{
    char shape[160];
    const struct shape *s = &result->shape;
    if (result->dtype == DTYPE_FP32 && (s->ndim == 1 || s->ndim == 2) && s->dims[0] == rows &&
        (s->ndim == 1 || s->dims[1] > 0))
        return SKIFF_OK;
    return error_set(err, SKIFF_SHAPE,
                     "%s: expected one prediction (float32) for each of %lld rows, found %s of "
                     "shape %s",
                     p->model.fetches[0], (long long)rows, dtype_name(result->dtype),
                     shape_text(s, shape));
}

/* ---- the public face ---- */

struct skiff_predictor *skiff_predictor_create(const char *path,
                                               const struct skiff_model_files *files,
                                               const struct skiff_predictor_options *options,
                                               struct skiff_error *err)
{
    struct skiff_predictor *p = NULL;
    struct executor_options inner = {0};
    if (options)
        inner = (struct executor_options){.no_fuse = options->no_fuse,
                                          .host = (const struct run_host *)options->host,
                                          .thread_pool = options->thread_pool};
    if (!path || !*path) {
        error_set(err, SKIFF_INVALID, "there is no path of a model (NULL or empty)");
        return NULL;
    }
    predictor_open(path, files ? files->model : NULL, files ? files->params : NULL, &inner, &p,
                   err);
    return p;
}

void skiff_predictor_destroy(struct skiff_predictor *p)
{
    predictor_destroy(p);
}

int skiff_predictor_inputs(const struct skiff_predictor *p)
{
    return p->model.nfeeds;
}

const char *skiff_predictor_input(const struct skiff_predictor *p, int i)
{
    return i >= 0 && i < p->model.nfeeds ? p->model.feeds[i] : NULL;
}

int skiff_predictor_outputs(const struct skiff_predictor *p)
{
    return p->model.nfetches;
}

const char *skiff_predictor_output(const struct skiff_predictor *p, int i)
{
    return i >= 0 && i < p->model.nfetches ? p->model.fetches[i] : NULL;
}

const struct skiff_program *skiff_predictor_program(const struct skiff_predictor *p)
{
    return p->model.program;
}

enum skiff_status skiff_predictor_run(struct skiff_predictor *p,
                                      const struct skiff_tensor *const *inputs,
                                      struct skiff_tensor **outputs, struct skiff_error *err)
{
    struct predict_state *l = state_take(p);
    for (int i = 0; i < p->model.nfeeds; i++)
        l->public_feeds[i].tensor = inputs[i];
    enum skiff_status status =
        skiff_executor_run(l->executor, p->model.program, l->public_feeds, p->model.nfeeds,
                           p->model.fetches, p->model.nfetches, outputs, err);
    state_give(p, l);
    return status;
}
