/* Temporary names, locked while they are written (stale_file.h).
 *
 * Between creating a name and locking it, another process may take it for stale and remove it. So
 * after locking, the name is looked up again; when it is gone, the next name is tried. */
#include "store/stale_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "store/file.h"

#define TRIES 10000
#define OLD_SECONDS (24 * 3600)

bool stale_file_named(const char *name)
{
    return name[0] == '.' && strstr(name, STALE_FILE_MARK);
}

/* ".../.<base>.skiff-save-" or ".../.skiff-save-", then numbers. */
static void name_print(struct buf *out, const char *path, bool inside, int number)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    buf_reset(out);
    if (inside)
        buf_printf(out, "%s/" STALE_FILE_MARK "%d", path, number);
    else
        buf_printf(out, "%.*s.%s" STALE_FILE_MARK "%d", (int)(base - path), path, base, number);
}

/* Does the name still refer to the opened file? */
static bool name_is(const char *path, int fd)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* True when locked, or when the file system has no locks. */
static bool lock_take(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void lock_close(int fd)
{
    flock(fd, LOCK_UN);
    close(fd);
}

/* File systems that other machines write to, or whose locks are not the kernel's. */
static bool is_shared(int fd)
{
    static const unsigned long kinds[] = {
        0x6969,     /* NFS */
        0x517b,     /* SMB */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x65735546, /* FUSE */
        0x0bd00bd0, /* Lustre */
        0x00c36400, /* Ceph */
        0x01021997, /* 9P */
        0x47504653, /* GPFS */
        0x5346414f, /* AFS */
    };
    struct statfs st;
    if (fstatfs(fd, &st) < 0)
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((unsigned long)st.f_type == kinds[i])
            return true;
    return false;
}

static bool is_dead(int fd)
{
    struct stat st;
    bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (locked && !is_shared(fd))
        return true;
    if (!locked && errno == EWOULDBLOCK)
        return false;
    return fstat(fd, &st) == 0 && time(NULL) - st.st_mtime > OLD_SECONDS;
}

/* 1 when the entry was removed. */
static int remove_dead(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (is_dead(fd) && name_is(path, fd))
        file_remove_tree(path);
    close(fd);
    return !file_exists(path);
}

enum skiff_status stale_file_create_dir(const char *path, bool inside, char **out_path,
                                        int *out_lock, struct skiff_error *err)
{
    struct buf name = BUF_INIT;
    int made = -1;
    for (int i = 0; i < TRIES; i++) {
        name_print(&name, path, inside, i);
        made = mkdir(name.data, 0777);
        if (made < 0 && errno == EEXIST) {
            i -= remove_dead(name.data);
            continue;
        }
        if (made < 0)
            break;
        int fd = open(name.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && lock_take(fd) && name_is(name.data, fd)) {
            *out_path = name.data;
            *out_lock = fd;
            return SKIFF_OK;
        }
        if (fd >= 0)
            close(fd);
    }
    enum skiff_status status = error_set_sys(err, "cannot write the model folder %s", path);
    buf_deinit(&name);
    return status;
}

enum skiff_status stale_file_create_file(const char *path, char **out_path, int *out_fd,
                                         struct skiff_error *err)
{
    struct buf name = BUF_INIT;
    for (int i = 0; i < TRIES; i++) {
        name_print(&name, path, false, i);
        int fd = open(name.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno == EEXIST) {
            i -= remove_dead(name.data);
            continue;
        }
        if (fd < 0)
            break;
        if (lock_take(fd) && name_is(name.data, fd)) {
            *out_path = name.data;
            *out_fd = fd;
            return SKIFF_OK;
        }
        close(fd);
    }
    enum skiff_status status = error_set_sys(err, "cannot write %s", path);
    buf_deinit(&name);
    return status;
}

void stale_file_remove(const char *dir)
{
    DIR *d = opendir(dir);
    struct buf path = BUF_INIT;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!stale_file_named(e->d_name))
            continue;
        buf_reset(&path);
        buf_printf(&path, "%s/%s", dir, e->d_name);
        remove_dead(path.data);
    }
    if (d)
        closedir(d);
    buf_deinit(&path);
}
