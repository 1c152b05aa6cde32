/* line_is_batch (Paddle's input_type 1): the pipe command makes batches, one a line.
 *
 * While reading, every slot is ragged, so that a line may hold any number of values. The batch of a
 * line is then cut up: an id is a sample of its own (lod 0, 1, .. n), values of a dense slot are
 * rows of its shape. */
#include "data/dataset_parts.h"

enum skiff_status lines_prepare(struct dataset *d, struct skiff_error *err)
{
    if (d->config.kind != DATASET_MEMORY ||
        (d->reader.format && strcmp(d->reader.format, "multislot")) || d->config.merge_by_lineid)
        return error_set(err, SKIFF_INVALID,
                         "input_type 1 (a line is a batch) needs an InMemoryDataset of MultiSlot "
                         "text, without merge_by_lineid");
    if (d->config.batch_size != 1)
        return error_set(err, SKIFF_INVALID,
                         "input_type 1 (a line is a batch) needs batch_size 1, found %lld",
                         (long long)d->config.batch_size);
    for (int i = 0; i < d->schema.count; i++) {
        struct slot *s = &d->schema.slots[i];
        s->keep_zeros = !s->ragged;
        s->ragged = true;
        s->shape = SHAPE(-1, 1);
        s->width = 1;
    }
    return SKIFF_OK;
}

static enum skiff_status rows_of_dense(const struct slot *slot, int64_t values, struct tensor *t,
                                       struct skiff_error *err)
{
    if (values % slot->width)
        return error_set(err, SKIFF_SHAPE,
                         "slot %s: a line has %lld values, expected a multiple of %lld", slot->name,
                         (long long)values, (long long)slot->width);
    t->shape = slot->shape;
    t->shape.dims[0] = values / slot->width;
    lod_unref(t->lod);
    t->lod = NULL;
    return SKIFF_OK;
}

enum skiff_status lines_cut(const struct dataset *d, struct batch *b, struct skiff_error *err)
{
    for (int i = 0; i < d->visible.count; i++) {
        struct tensor *t = &b->tensors[i];
        int64_t values = (int64_t)b->columns[i].count, offsets = values + 1;
        if (!d->visible.slots[i].ragged) {
            TRY(rows_of_dense(&d->visible.slots[i], values, t, err));
            continue;
        }
        TRY(lod_build(&t->lod, 1, &offsets, err));
        for (int64_t k = 0; k < offsets; k++)
            t->lod->level[0].off[k] = k;
    }
    return SKIFF_OK;
}
