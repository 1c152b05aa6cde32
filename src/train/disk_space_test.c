/* What an epoch takes on the disk, against the files of a real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/model_dir.h"
#include "store/pickle.h"
#include "train/checkpoint.h"
#include "train/disk_space.h"

/* Bytes of the files in a folder. */
static int64_t bytes_below(const char *folder)
{
    char command[600];
    long long sum = -1;
    snprintf(command, sizeof command,
             "find %s -type f -printf '%%s\\n' | awk '{s+=$1} END {print s}'", folder);
    FILE *p = popen(command, "r");
    assert_int_equal(fscanf(p, "%lld", &sum), 1);
    pclose(p);
    return sum;
}

/* A table large enough that programs and manifest do not matter: half of its values are negative,
 * Adam's moments are zeros before the first step. */
static void check_epoch(const char *inference, double least)
{
    char folder[] = "/tmp/skiff-disk-XXXXXX", epoch[64], command[96];
    const char *overrides[] = {"runner.model=rank/dnn", "hyper_parameters.fc_sizes=[256,128]",
                               "hyper_parameters.sparse_feature_number=200001", inference};
    struct task_args args = {.config = "models/rank/dnn/config.yaml", .overrides = {overrides, 4}};
    struct task task;
    struct skiff_error err = {0};
    struct model_info note = {.epoch = 0, .complete = true};
    assert_non_null(mkdtemp(folder));
    if (task_open(&task, &args, true, &err) < 0 || task_startup(&task, &err) < 0 ||
        checkpoint_save(&task, folder, &note, NULL, &err) < 0)
        fail_msg("%s", err.message);
    snprintf(epoch, sizeof epoch, "%s/0", folder);
    int64_t saved = bytes_below(epoch), needed = disk_space_needed(&task);
    assert_true((double)saved > least);
    if (needed < saved || needed > saved + DISK_SPACE_MARGIN)
        fail_msg("%lld bytes needed, the epoch has %lld", (long long)needed, (long long)saved);
    task_close(&task);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void epoch_of_pickles(void **state)
{
    check_epoch("runner.use_inference=False", 2.5e6 * 1.4 * 4);
}

static void epoch_with_inference(void **state)
{
    check_epoch("runner.use_inference=True", 2.5e6 * 2.4 * 4);
}

/* Values that servers hold: random floats as they are, and half as much again. */
static void values_elsewhere(void **state)
{
    struct tensor t = {.dtype = DTYPE_FP32, .shape = SHAPE(1000, 9)};
    assert_int_equal(pickle_values_bytes(&t), 54000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epoch_of_pickles),
        cmocka_unit_test(epoch_with_inference),
        cmocka_unit_test(values_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
