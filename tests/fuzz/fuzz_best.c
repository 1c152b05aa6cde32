/* <model_save_path>/best.yaml of a run with validation (train/valid_record.c): its points can be
 * replayed, and are written and read again as the same. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "train/valid.h"
#include "fuzz_folder.h"

static void require(bool promise)
{
    if (!promise)
        abort();
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void check_again(struct valid *v)
{
    struct valid again = {.folder = v->folder, .run = "r"};
    struct skiff_error err;
    valid_replay(v);
    require(v->best < v->n && v->top < v->n && (v->best < 0 || v->points[v->best].kept));
    require(valid_record_write(v, &err) == SKIFF_OK);
    require(valid_record_read(&again, &err) == SKIFF_OK && again.n == v->n);
    for (int i = 0; i < v->n; i++) {
        const struct valid_point *a = &v->points[i], *b = &again.points[i];
        require(a->epoch >= 0 && a->batch >= 0 && a->samples >= 0);
        require(a->epoch == b->epoch && a->batch == b->batch && a->samples == b->samples &&
                a->end == b->end && a->kept == b->kept);
        require(same_number(a->auc, b->auc) && same_number(a->log_loss, b->log_loss) &&
                same_number(a->copc, b->copc) && same_number(a->loss, b->loss));
    }
    free(again.points);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t before = mem_in_use();
    struct valid v = {.folder = fuzz_folder(), .run = "r"};
    struct valid_best best;
    struct skiff_error err = {0};
    char path[128];
    fuzz_folder_write(VALID_RECORD, data, n, path);
    if (valid_best_read(fuzz_folder(), &best, &err) == SKIFF_OK)
        require(best.epoch == -1); /* its model is not there */
    else
        require(err.message[0]);
    if (valid_record_read(&v, &err) == SKIFF_OK)
        check_again(&v);
    free(v.points);
    unlink(path);
    require(mem_in_use() == before);
    return 0;
}
