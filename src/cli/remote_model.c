#define _GNU_SOURCE
#include "cli/remote_model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "fs/fs.h"
#include "store/manifest.h"

#define BEST "best.yaml" /* of validation; small, so it goes with every save */

const char *remote_model_stage(struct task *j, const char *remote)
{
    buf_reset(&j->remote);
    buf_str(&j->remote, remote);
    while (j->remote.len && j->remote.data[j->remote.len - 1] == '/')
        j->remote.data[--j->remote.len] = 0;
    buf_reset(&j->stage);
    buf_printf(&j->stage, "%s/skiff-model-%d-%016llx", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
               (int)getpid(), (unsigned long long)hash_xxh64(j->remote.data, j->remote.len, 0));
    return j->stage.data;
}

enum skiff_status remote_model_fetch(struct task *j, struct skiff_error *err)
{
    struct fs_stat st;
    if (!j->remote.len || j->staged)
        return SKIFF_OK;
    if (mkdir(j->stage.data, 0700) < 0)
        return error_set_sys(err, "%s: cannot make %s to keep the model in", j->remote.data,
                             j->stage.data);
    j->staged = true;
    enum skiff_status status = fs_look(NULL, j->remote.data, &st, err);
    if (status == SKIFF_OK)
        status = fs_copy(NULL, j->remote.data, j->stage.data, NULL, err);
    if (status == SKIFF_NOT_FOUND)
        status = SKIFF_OK; /* the first save makes it */
    if (status == SKIFF_OK)
        log_info("%s is kept in %s meanwhile", j->remote.data, j->stage.data);
    return status;
}

/* One file or folder from here to there. */
static enum skiff_status send_one(struct task *j, const char *name, bool replace,
                                  struct skiff_error *err)
{
    struct buf from = BUF_INIT, to = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    buf_printf(&from, "%s/%s", j->stage.data, name);
    buf_printf(&to, "%s/%s", j->remote.data, name);
    if (replace)
        status = fs_remove(NULL, to.data, err);
    if (status == SKIFF_OK)
        status = fs_copy(NULL, from.data, to.data, MANIFEST_FILE, err);
    if (status == SKIFF_OK && replace)
        log_info("%s is uploaded", to.data);
    buf_deinit(&from);
    buf_deinit(&to);
    return status;
}

enum skiff_status remote_model_send(struct task *j, const char *name, struct skiff_error *err)
{
    struct buf best = BUF_INIT;
    if (!j->remote.len)
        return SKIFF_OK;
    buf_printf(&best, "%s/" BEST, j->stage.data);
    enum skiff_status status = send_one(j, name, true, err);
    if (status == SKIFF_OK && access(best.data, F_OK) == 0)
        status = send_one(j, BEST, false, err);
    buf_deinit(&best);
    if (status < 0) {
        j->staged = false; /* nobody removes it now */
        return error_prefix(err, status, "the model is saved in %s/%s, and cannot be uploaded",
                            j->stage.data, name);
    }
    return SKIFF_OK;
}

enum skiff_status remote_model_refuse(const struct task *j, const char *why,
                                      struct skiff_error *err)
{
    if (!j->remote.len)
        return SKIFF_OK;
    return error_set(err, SKIFF_UNSUPPORTED,
                     "runner.model_save_path: %s: %s; save into a folder, and upload it",
                     j->remote.data, why);
}

void remote_model_close(struct task *j)
{
    if (j->staged)
        (void)fs_remove(NULL, j->stage.data, NULL);
    j->staged = false;
    buf_deinit(&j->remote);
    buf_deinit(&j->stage);
}
