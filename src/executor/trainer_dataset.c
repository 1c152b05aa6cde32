/* train_from_dataset and infer_from_dataset: a dataset as the trainer's source. */
#include <stdlib.h>

#include <skiff/net.h>

#include "base/mem.h"
#include "data/dataset.h"
#include "executor/trainer.h"

struct dataset_source {
    struct dataset *dataset;
    int threads;        /* that get batches */
    struct feed *feeds; /* per thread: one per slot */
};

static enum skiff_status dataset_source_next(void *self, int thread, struct trainer_batch *out,
                                             struct skiff_error *err)
{
    struct dataset_source *s = self;
    const struct schema *schema = dataset_schema(s->dataset);
    const struct batch *b;
    if (thread >= s->threads)
        return SKIFF_END;
    enum skiff_status status = dataset_next(s->dataset, thread, &b, err);
    if (status != SKIFF_OK)
        return status;
    struct feed *feeds = s->feeds + (size_t)thread * (size_t)schema->count;
    for (int i = 0; i < schema->count; i++)
        feeds[i] = (struct feed){schema->slots[i].name, batch_tensor(b, i)};
    *out = (struct trainer_batch){feeds, schema->count, b->rows};
    return SKIFF_OK;
}

static void dataset_source_interrupt(void *self)
{
    struct dataset_source *s = self;
    dataset_interrupt(s->dataset);
}

enum skiff_status trainer_train_dataset(struct scope *scope, const struct program *program,
                                        struct dataset *dataset,
                                        const struct trainer_options *options,
                                        struct trainer_result *result, struct skiff_error *err)
{
    struct dataset_source s = {.dataset = dataset};
    TRY(dataset_start(dataset, &s.threads, err));
    struct trainer_options o = *options;
    if (o.threads <= 0)
        o.threads = s.threads;
    s.feeds =
        mem_must((size_t)s.threads * (size_t)dataset_schema(dataset)->count * sizeof(*s.feeds));
    struct trainer_source source = {&s, dataset_source_next, dataset_source_interrupt};
    enum skiff_status status = trainer_run(scope, program, &source, &o, result, err);
    dataset_stop(dataset);
    free(s.feeds);
    return status;
}

enum skiff_status trainer_infer_dataset(struct scope *scope, const struct program *program,
                                        struct dataset *dataset,
                                        const struct trainer_options *options,
                                        struct trainer_result *result, struct skiff_error *err)
{
    struct skiff_program *test;
    struct trainer_options o = *options;
    o.reset_metrics = true;
    TRY(skiff_program_clone_for_test((const struct skiff_program *)program, &test, err));
    enum skiff_status status =
        trainer_train_dataset(scope, (const struct program *)test, dataset, &o, result, err);
    skiff_program_destroy(test);
    return status;
}
