#include "train/disk_space.h"

#include <errno.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "io/io.h"
#include "store/pickle.h"

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

/* The values of a variable, or, if servers hold them, a tensor without data of its shape. */
static struct tensor values_of(const struct task *j, const struct skiff_var *var)
{
    const struct skiff_tensor *value = scope_find(j->scope, var->name);
    if (value && value->kind == VALUE_TENSOR && value->tensor.data)
        return value->tensor;
    struct tensor t = {.dtype = var->dtype, .shape = var->shape};
    for (int k = 0; k < t.shape.ndim; k++)
        t.shape.dims[k] = t.shape.dims[k] > 0 ? t.shape.dims[k] : 1;
    return t;
}

static int64_t group_bytes(const struct task *j, enum io_group group, bool pickled)
{
    struct io_vars vars;
    int64_t sum = 0;
    io_vars_list(j->main, group, &vars);
    for (int i = 0; i < vars.n; i++) {
        struct tensor t = values_of(j, vars.v[i]);
        sum += pickled ? pickle_values_bytes(&t) : (int64_t)tensor_bytes(&t);
    }
    io_vars_deinit(&vars);
    return sum;
}

int64_t disk_space_needed(struct task *j)
{
    int64_t bytes = group_bytes(j, IO_PERSISTABLES, true);
    if (config_bool(j->config, KEY_RUNNER_USE_INFERENCE))
        bytes += group_bytes(j, IO_PARAMS, false);
    return bytes + DISK_SPACE_MARGIN;
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
    int64_t need = disk_space_needed(j), there = available(folder);
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
