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
#include "store/leftover.h"

#define LIST ".skiff-commit-tables"
/* In each of the folders until all is done. An exchange that was cut leaves the old folder under
 * the new one's name: one without the mark. */
#define MARK ".skiff-placing"

char *folder_commit_name(const char *dir, uint64_t token)
{
    const char *slash = strrchr(dir, '/'), *base = slash ? slash + 1 : dir;
    struct buf b = BUF_INIT;
    buf_printf(&b, "%.*s.%s" LEFTOVER_MARK "%016llx", (int)(base - dir), dir, base,
               (unsigned long long)token);
    return b.data;
}

/* "000" of ".000.skiff-save-..."; NULL: it is no such name, or leads elsewhere. Caller's. */
static char *place_of(const char *name)
{
    const char *mark = strstr(name, LEFTOVER_MARK);
    if (name[0] != '.' || !mark || mark < name + 2 || strchr(name, '/'))
        return NULL;
    char *place = mem_must_strdup(name + 1);
    place[mark - name - 1] = 0;
    return place;
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
    if (!file_is_dir(folder)) /* this process does not see it: servers bring it to its place */
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

static enum skiff_status place_marked(const char *from, const char *to, struct skiff_error *err)
{
    if (is_marked(from)) {
        TRY(file_sync_dir(from, err));
        TRY(folder_place(from, to, "part-", err));
    }
    file_remove_tree(from);
    char *mark = path_join(to, MARK);
    file_remove_tree(mark);
    free(mark);
    return SKIFF_OK;
}

static enum skiff_status settle_one(const char *dir, const char *name, struct skiff_error *err)
{
    char *place = place_of(name);
    if (!place)
        return error_set(err, SKIFF_FORMAT,
                         "%s/" LIST ": expected names of folders, .<name>" LEFTOVER_MARK
                         "..., found \"%.80s\"; remove the file",
                         dir, name);
    char *from = path_join(dir, name), *to = path_join(dir, place);
    enum skiff_status status = place_marked(from, to, err);
    free(from);
    free(to);
    free(place);
    return status;
}

static enum skiff_status settle_all(const char *dir, const char *list, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    enum skiff_status status = file_read(list, &text, err);
    for (char *line = text.data, *stop; status == SKIFF_OK && line && *line; line = stop) {
        stop = line + strcspn(line, "\n");
        if (*stop)
            *stop++ = 0;
        status = settle_one(dir, line, err);
    }
    buf_deinit(&text);
    if (status == SKIFF_OK && unlink(list) < 0)
        status = error_set_sys(err, "cannot remove %s", list);
    return status;
}

/* Two who exchange the same folders would undo it: the lock on the list is for one at a time. */
enum skiff_status folder_commit_settle(const char *dir, struct skiff_error *err)
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
    (void)flock(fd, LOCK_EX); /* a file system without locks does without */
    if (stat(list, &a) == 0 && fstat(fd, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev)
        status = settle_all(dir, list, err);
    lock_release(fd);
    free(list);
    return status < 0
               ? error_prefix(err, status, "%s holds a save that is not in its place yet", dir)
               : status;
}
