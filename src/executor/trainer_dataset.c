/* train_from_dataset and infer_from_dataset: a dataset as the trainer's source. */
#include <stdlib.h>

#include <skiff/net.h>

#include "base/mem.h"
#include "data/dataset.h"
#include "executor/data_rules.h"
#include "executor/trainer.h"

struct dataset_source {
    struct dataset *dataset;
    const struct batch **now; /* per thread: its batch */
    int threads;              /* threads that get batches */
    struct feed *feeds;       /* per thread: one per slot, for the batch and for the one after it */
    bool *passed_over;        /* per slot: the program does not read it */
};

/* which: 0 the batch, 1 the one after it */
static void feed_batch(struct dataset_source *s, int thread, int which, const struct batch *b,
                       struct trainer_batch *out)
{
    const struct schema *schema = dataset_schema(s->dataset);
    struct feed *feeds = s->feeds + (size_t)(2 * thread + which) * (size_t)schema->count;
    int n = 0;
    for (int i = 0; i < schema->count; i++)
        if (!s->passed_over[i])
            feeds[n++] = (struct feed){schema->slots[i].name, batch_tensor(b, i), NULL};
    *out = (struct trainer_batch){feeds, n, b->rows};
}

static enum skiff_status dataset_source_next(void *self, int thread, struct trainer_batch *out,
                                             struct skiff_error *err)
{
    struct dataset_source *s = self;
    const struct batch *b;
    if (thread >= s->threads)
        return SKIFF_END;
    enum skiff_status status = dataset_next(s->dataset, thread, &b, err);
    if (status != SKIFF_OK)
        return status;
    s->now[thread] = b;
    feed_batch(s, thread, 0, b, out);
    return SKIFF_OK;
}

static bool dataset_source_peek(void *self, int thread, struct trainer_batch *out)
{
    struct dataset_source *s = self;
    const struct batch *b = thread < s->threads ? dataset_peek(s->dataset, thread) : NULL;
    if (b)
        feed_batch(s, thread, 1, b, out);
    return b != NULL;
}

static void dataset_source_interrupt(void *self)
{
    struct dataset_source *s = self;
    dataset_interrupt(s->dataset);
}

static void dataset_source_position(void *self, int thread, struct buf *out)
{
    const struct dataset_source *s = self;
    if (thread < s->threads && s->now[thread])
        dataset_position(s->dataset, s->now[thread], out);
}

/* The reader checks for values that the program would refuse, and reports file and line. */
static void set_rules(struct dataset *dataset, const struct skiff_program *program)
{
    struct data_rules rules;
    data_rules_of(program, dataset_schema(dataset), &rules);
    dataset_set_rules(dataset, &rules);
    rules_deinit(&rules);
}

/* whole: the program that `program` was pruned from; slots that only it has are not fed. */
static enum skiff_status run_dataset(struct skiff_scope *scope, const struct skiff_program *program,
                                     const struct skiff_program *whole, struct dataset *dataset,
                                     const struct trainer_options *options,
                                     struct trainer_result *result, struct skiff_error *err)
{
    struct dataset_source s = {.dataset = dataset};
    /* as many readers as training threads: each reader serves one of them */
    int before = dataset_set_threads(dataset, options->threads);
    set_rules(dataset, program);
    enum skiff_status status = dataset_start(dataset, &s.threads, err);
    dataset_set_threads(dataset, before);
    if (status < 0)
        return status;
    struct trainer_options o = *options;
    if (o.threads <= 0)
        o.threads = s.threads;
    const struct schema *schema = dataset_schema(dataset);
    s.now = mem_alloc_or_die((size_t)s.threads * sizeof(*s.now));
    s.feeds = mem_alloc_or_die((size_t)s.threads * 2 * (size_t)schema->count * sizeof(*s.feeds));
    s.passed_over = mem_alloc_or_die((size_t)schema->count * sizeof(*s.passed_over));
    for (int i = 0; i < schema->count; i++)
        s.passed_over[i] = !block_find_var(program_root(program), schema->slots[i].name) &&
                           block_find_var(program_root(whole), schema->slots[i].name);
    struct trainer_source source = {&s, dataset_source_next, dataset_source_peek,
                                    dataset_source_interrupt, dataset_source_position};
    status = trainer_run(scope, program, &source, &o, result, err);
    dataset_stop(dataset);
    free(s.passed_over);
    free(s.feeds);
    free(s.now);
    return status;
}

enum skiff_status trainer_train_dataset(struct skiff_scope *scope,
                                        const struct skiff_program *program,
                                        struct dataset *dataset,
                                        const struct trainer_options *options,
                                        struct trainer_result *result, struct skiff_error *err)
{
    program = program_to_run(program);
    return run_dataset(scope, program, program, dataset, options, result, err);
}

enum skiff_status trainer_infer_dataset(struct skiff_scope *scope,
                                        const struct skiff_program *program,
                                        struct dataset *dataset,
                                        const struct trainer_options *options,
                                        struct trainer_result *result, struct skiff_error *err)
{
    struct skiff_program *test;
    struct trainer_options o = *options;
    o.reset_metrics = o.evaluates = true;
    program = program_to_run(program);
    TRY(skiff_program_clone_for_test(program, &test, err));
    enum skiff_status status = run_dataset(scope, test, program, dataset, &o, result, err);
    skiff_program_destroy(test);
    return status;
}
