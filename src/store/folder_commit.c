#include "store/folder_commit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "store/file.h"
#include "store/folder_save.h"
#include "store/stale_file.h"

#define LIST ".skiff-commit-tables"
/* The mark lies in every new folder until the commit is complete. If an exchange was interrupted,
 * the folder under the temporary name is the old one exactly when it has no mark. */
#define MARK ".skiff-placing"

char *folder_commit_name(const char *dir, uint64_t token)
{
    const char *slash = strrchr(dir, '/'), *base = slash ? slash + 1 : dir;
    struct buf b = BUF_INIT;
    buf_printf(&b, "%.*s.%s" STALE_FILE_MARK "%016llx", (int)(base - dir), dir, base,
               (unsigned long long)token);
    return b.data;
}

/* "000" of ".000.skiff-save-..."; NULL when it is no such name or contains a path. Caller's. */
static char *target_of(const char *name)
{
    const char *mark = strstr(name, STALE_FILE_MARK);
    if (name[0] != '.' || !mark || mark < name + 2 || strchr(name, '/'))
        return NULL;
    char *target = mem_strdup_or_die(name + 1);
    target[mark - name - 1] = 0;
    return target;
}

static bool is_marked(const char *folder)
{
    char *mark = path_join(folder, MARK);
    bool marked = file_exists(mark);
    free(mark);
    return marked;
}

static enum skiff_status put_mark(const char *folder, struct skiff_error *err)
{
    if (!file_is_dir(
            folder)) /* not visible to this process: the servers move it to its final path */
        return SKIFF_OK;
    char *mark = path_join(folder, MARK);
    enum skiff_status status = file_write(mark, "", 0, err);
    free(mark);
    return status;
}

enum skiff_status folder_commit_begin(const char *dir, const char *const *temps, int n,
                                      struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    char *path = path_join(dir, LIST);
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < n && status == SKIFF_OK; i++) {
        status = put_mark(temps[i], err);
        buf_printf(&text, "%s\n", strrchr(temps[i], '/') + 1);
    }
    if (status == SKIFF_OK)
        status = file_write(path, text.data ? text.data : "", text.len, err);
    buf_deinit(&text);
    free(path);
    return status;
}

static enum skiff_status move_marked(const char *from, const char *to, struct skiff_error *err)
{
    if (is_marked(from)) {
        TRY(file_sync_dir(from, err));
        TRY(folder_move(from, to, "part-", err));
    }
    file_remove_tree(from);
    char *mark = path_join(to, MARK);
    file_remove_tree(mark);
    free(mark);
    return SKIFF_OK;
}

static enum skiff_status recover_one(const char *dir, const char *name, struct skiff_error *err)
{
    char *target = target_of(name);
    if (!target)
        return error_set(err, SKIFF_FORMAT,
                         "%s/" LIST ": expected names of folders, .<name>" STALE_FILE_MARK
                         "..., found \"%.80s\"; remove the file",
                         dir, name);
    char *from = path_join(dir, name), *to = path_join(dir, target);
    enum skiff_status status = move_marked(from, to, err);
    free(from);
    free(to);
    free(target);
    return status;
}

static enum skiff_status recover_all(const char *dir, const char *list, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    enum skiff_status status = file_read(list, &text, err);
    for (char *line = text.data, *stop; status == SKIFF_OK && line && *line; line = stop) {
        stop = line + strcspn(line, "\n");
        if (*stop)
            *stop++ = 0;
        status = recover_one(dir, line, err);
    }
    buf_deinit(&text);
    if (status == SKIFF_OK && unlink(list) < 0)
        status = error_set_sys(err, "cannot remove %s", list);
    return status;
}

/* Two processes that exchange the same folders would undo each other: the lock on the list admits
 * one at a time. */
enum skiff_status folder_commit_recover(const char *dir, struct skiff_error *err)
{
    struct stat a, b;
    char *list = path_join(dir, LIST);
    int fd = open(list, O_RDONLY | O_CLOEXEC);
    enum skiff_status status = SKIFF_OK;
    if (fd < 0) {
        bool nothing = errno == ENOENT || errno == ENOTDIR;
        status = nothing ? SKIFF_OK : error_set_sys(err, "cannot read %s", list);
        free(list);
        return status;
    }
    (void)flock(fd, LOCK_EX); /* file systems without locks: continue without one */
    if (stat(list, &a) == 0 && fstat(fd, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev)
        status = recover_all(dir, list, err);
    lock_close(fd);
    free(list);
    return status < 0
               ? error_prefix(err, status,
                              "%s holds an unfinished save whose files are not moved yet", dir)
               : status;
}
