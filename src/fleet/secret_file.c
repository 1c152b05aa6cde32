#include "fleet/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secret.h"

/* systemd shows a service its credentials in a folder that nobody else gets into, as files of root
 * that the service's group may read. */
static bool is_credential(const char *path, const struct stat *s)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    size_t n = folder ? strlen(folder) : 0;
    return n && !strncmp(path, folder, n) && path[n] == '/' && s->st_uid == 0 &&
           (s->st_mode & 077) == 040;
}

static enum skiff_status check_file(int fd, const char *path, struct skiff_error *err)
{
    struct stat s;
    if (fstat(fd, &s) < 0)
        return error_set_sys(err, "secret file %s", path);
    if (!S_ISREG(s.st_mode))
        return error_set(err, SKIFF_INVALID, "secret file %s is no file", path);
    if (s.st_uid != geteuid() && s.st_uid != 0)
        return error_set(err, SKIFF_INVALID,
                         "secret file %s belongs to user %u; it must be this user's (%u) or root's",
                         path, (unsigned)s.st_uid, (unsigned)geteuid());
    if (s.st_mode & 077 && !is_credential(path, &s))
        return error_set(err, SKIFF_INVALID,
                         "secret file %s can be used by others (mode %03o): chmod 600 %s", path,
                         (unsigned)s.st_mode & 0777, path);
    return SKIFF_OK;
}

/* One line, of n bytes with its end. */
static enum skiff_status check_line(char *text, size_t n, const char *path, struct skiff_error *err)
{
    size_t line = strcspn(text, "\r\n"), rest = line;
    rest += strspn(text + line, "\r\n");
    if (!line || rest != n || strlen(text) != n)
        return error_set(err, SKIFF_FORMAT,
                         "secret file %s: expected one line of 1 to %d characters; skiff secret "
                         "new --out FILE makes such a file",
                         path, SECRET_TEXT - 1);
    text[line] = 0;
    return SKIFF_OK;
}

enum skiff_status secret_file_read(const char *path, char out[SECRET_TEXT], struct skiff_error *err)
{
    char text[SECRET_TEXT + 2] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return error_set_sys(err, "secret file %s", path);
    enum skiff_status status = check_file(fd, path, err);
    ssize_t n = status == SKIFF_OK ? read(fd, text, sizeof(text) - 1) : 0;
    if (n < 0)
        status = error_set_sys(err, "secret file %s", path);
    close(fd);
    if (status == SKIFF_OK)
        status = check_line(text, (size_t)n, path, err);
    if (status == SKIFF_OK && strlen(text) >= SECRET_TEXT)
        status = error_set(err, SKIFF_RANGE, "secret file %s has more than %d characters", path,
                           SECRET_TEXT - 1);
    if (status == SKIFF_OK)
        snprintf(out, SECRET_TEXT, "%s", text);
    secret_wipe(text, sizeof(text));
    return status;
}

static enum skiff_status make_folders(const char *path, struct skiff_error *err)
{
    char folder[4096];
    snprintf(folder, sizeof(folder), "%s", path);
    for (char *p = strchr(folder + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        if (mkdir(folder, 0700) < 0 && errno != EEXIST)
            return error_set_sys(err, "cannot make %s", folder);
        *p = '/';
    }
    return SKIFF_OK;
}

enum skiff_status secret_file_write(const char *path, const char *secret, struct skiff_error *err)
{
    char fresh[4096 + 32];
    TRY(make_folders(path, err));
    snprintf(fresh, sizeof(fresh), "%s.new-%d", path, (int)getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_sys(err, "cannot write %s", fresh);
    bool written = dprintf(fd, "%s\n", secret) == (int)strlen(secret) + 1 && fsync(fd) == 0;
    /* it appears whole, and never over another one */
    enum skiff_status status = SKIFF_OK;
    if (written && link(fresh, path) < 0 && errno == EEXIST)
        status =
            error_set(err, SKIFF_STATE, "%s already exists; a secret is never overwritten", path);
    else if (!written || access(path, F_OK) < 0)
        status = error_set_sys(err, "cannot write %s", path);
    close(fd);
    unlink(fresh);
    return status;
}

void secret_create(char out[SECRET_TEXT])
{
    uint8_t random[32];
    secret_random(random, sizeof(random));
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    secret_wipe(random, sizeof(random));
}

bool secret_is_weak(const char *secret, char *out, size_t capacity)
{
    size_t n = strlen(secret), different = 0;
    for (size_t i = 0; i < n; i++)
        different += strchr(secret, secret[i]) == secret + i;
    if (!n || (n >= SECRET_SHORT && different >= SECRET_DIFFERENT))
        return false;
    snprintf(out, capacity,
             "the job's secret has only %zu characters, %zu of them different, and may be guessed; "
             "skiff secret new makes a good one",
             n, different);
    return true;
}

void secret_guard(void)
{
#ifndef __SANITIZE_ADDRESS__ /* its search for leaks is a debugger */
    const char *allowed = getenv("SKIFF_COREDUMP");
    if (!allowed || strcmp(allowed, "1"))
        prctl(PR_SET_DUMPABLE, 0);
#endif
}
