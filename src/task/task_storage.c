/* How HDFS and AFS are reached: PaddleRec's runner.fs_client.*, or runner.fs_name and fs_ugi. */
#include "task/task.h"
#include "fs/fs.h"

enum skiff_status task_storage(struct config *c, struct skiff_error *err)
{
    struct fs_settings s;
    struct buf ugi = BUF_INIT;
    const char *uri = config_text(c, KEY_RUNNER_FS_CLIENT_URI);
    const char *client = *uri ? uri : config_text(c, KEY_RUNNER_FS_NAME);
    if (*uri)
        buf_printf(&ugi, "%s,%s", config_text(c, KEY_RUNNER_FS_CLIENT_USER),
                   config_text(c, KEY_RUNNER_FS_CLIENT_PASSWD));
    else
        buf_str(&ugi, config_text(c, KEY_RUNNER_FS_UGI));
    enum skiff_status status = config_check(c, err);
    bool given = *client || (ugi.data && *ugi.data);
    if (status == SKIFF_OK && given) {
        status = fs_settings_parse(&s, client, ugi.data ? ugi.data : "", err);
        if (status == SKIFF_OK)
            status = fs_settings_hadoop(&s, config_text(c, KEY_RUNNER_FS_CLIENT_HADOOP_BIN), err);
        if (status == SKIFF_OK)
            status = fs_configure("hdfs", &s, err);
        if (status < 0)
            error_prefix(err, status, "%s: runner.%s", config_name(c),
                         *uri ? "fs_client" : "fs_name");
    }
    buf_deinit(&ugi);
    return status;
}
