#include "store/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "fs/fs.h"
#include "store/stale_file.h"

#define TRIES 100 /* a file system that reports a new inode each time has no locks, either */

/* Reads the line that the holder of the lock has written. */
static void read_holder(const char *path, char *out, size_t n)
{
    FILE *f = fopen(path, "re");
    snprintf(out, n, "another process");
    if (f && fgets(out, (int)n, f))
        out[strcspn(out, "\n")] = '\0';
    if (f)
        fclose(f);
}

static bool is_named(const char *path, int fd)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static void lock_report(struct folder_lock *l, const char *who)
{
    char host[256] = "?", text[512], when[32];
    struct tm tm;
    time_t now = time(NULL);
    if (!l->path)
        return;
    gethostname(host, sizeof host - 1);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    int n = snprintf(text, sizeof text, "process %d on %s, %.128s, since %s\n", (int)getpid(), host,
                     who, when);
    /* the text is only for messages: ignore a full disk */
    if (ftruncate(l->fd, 0) == 0 && pwrite(l->fd, text, (size_t)n, 0) != n)
        (void)ftruncate(l->fd, 0);
}

enum skiff_status folder_lock_take(struct folder_lock *l, const char *folder, const char *who,
                                   char holder[static 512], struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    *l = (struct folder_lock){.fd = -1};
    if (fs_is_remote(folder)) /* the file system has no locks */
        return SKIFF_OK;
    buf_printf(&path, "%s/" FOLDER_LOCK_FILE, folder);
    /* The previous holder removes the file when it ends: a lock on an unlinked file protects
     * nothing, so check the name and try again. */
    for (int i = 0; i < TRIES && status == SKIFF_OK && !l->path; i++) {
        l->fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (l->fd < 0 && (errno == ENOSPC || errno == EDQUOT))
            break;
        if (l->fd < 0)
            status = error_set_sys(err, "%s cannot be opened", path.data);
        else if (flock(l->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
            status = SKIFF_END;
        else if (is_named(path.data, l->fd))
            l->path = path.data;
        if (!l->path && l->fd >= 0)
            close(l->fd);
    }
    if (status == SKIFF_END)
        read_holder(path.data, holder, 512);
    if (!l->path)
        buf_deinit(&path);
    lock_report(l, who);
    return status;
}

void folder_lock_close(struct folder_lock *l)
{
    if (l->path) {
        unlink(l->path);
        lock_close(l->fd);
        free(l->path);
    }
    *l = (struct folder_lock){.fd = -1};
}
