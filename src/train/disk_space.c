#include "train/disk_space.h"

#include <errno.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "io/io.h"

#define MARGIN ((int64_t)1 << 20)

/* "12.3 MB" */
static const char *bytes_text(int64_t bytes, char out[static 32])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double v = (double)bytes;
    int unit = 0;
    for (; v >= 1000 && unit < 4; unit++)
        v /= 1000;
    snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", v, units[unit]);
    return out;
}

static int64_t group_bytes(const struct task *j, enum io_group group)
{
    struct io_vars vars;
    int64_t sum = 0;
    io_vars_list(j->main, group, &vars);
    for (int i = 0; i < vars.n; i++) {
        int64_t n = (int64_t)dtype_size(vars.v[i]->dtype);
        for (int k = 0; k < vars.v[i]->shape.ndim; k++)
            n *= vars.v[i]->shape.dims[k] > 0 ? vars.v[i]->shape.dims[k] : 1;
        sum += n;
    }
    io_vars_deinit(&vars);
    return sum;
}

/* Bytes of one epoch of the task's model: parameters and the optimizer's state, with
 * runner.use_inference the parameters twice, and a little for programs and manifest. */
static int64_t needed(struct task *j)
{
    bool inference = config_bool(j->config, KEY_RUNNER_USE_INFERENCE);
    int64_t bytes = group_bytes(j, IO_PERSISTABLES);
    if (inference)
        bytes += group_bytes(j, IO_PARAMS);
    return bytes + MARGIN;
}

/* Bytes that may be written below the folder; -1: not known. */
static int64_t available(const char *folder)
{
    struct statvfs fs;
    if (statvfs(folder, &fs) < 0 || fs.f_blocks == 0) /* some tell nothing */
        return -1;
    return (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
}

enum skiff_status disk_space_check(struct task *j, const char *folder, int epoch,
                                   struct skiff_error *err)
{
    char need_text[32], free_text[32];
    int64_t need = needed(j), there = available(folder);
    if (there < 0 || there >= need)
        return SKIFF_OK;
    enum skiff_status status =
        error_set(err, SKIFF_IO, "%s: epoch %d needs %s on the disk, %s are free", folder, epoch,
                  bytes_text(need, need_text), bytes_text(there, free_text));
    if (err)
        err->sys_errno = ENOSPC;
    return status;
}

void disk_space_warn(struct task *j, const char *folder, int epoch)
{
    struct skiff_error why = {0};
    if (disk_space_check(j, folder, epoch, &why) < 0)
        logger_warn(&j->logger,
                    "%s: free disk space before the epoch ends; otherwise it will not be saved",
                    why.message);
}
