/* Determines the file system of a path, and its settings.
 *
 * Settings of a call win over those of the process (fs_configure), and these over the environment;
 * they are copied under a lock, so that a call in progress keeps those it began with. HDFS and AFS
 * have two ways: the hadoop command when it is set, WebHDFS when its address is set, else the
 * command when it is found, as in Paddle. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "fs/fs.h"

static const struct {
    const char *scheme;
    const struct fs_class *class; /* NULL: hdfs or afs, which settings decide on */
} schemes[] = {
    {"file", &fs_local},      {"s3", &fs_s3}, {"s3a", &fs_s3}, {"s3n", &fs_s3},
    {"webhdfs", &fs_webhdfs}, {"hdfs", NULL}, {"afs", NULL},   {"swebhdfs", &fs_webhdfs},
};
#define SCHEMES (sizeof schemes / sizeof *schemes)

/* Of the process; the lock is held for a copy only. */
static struct {
    pthread_mutex_t lock;
    struct fs_settings hdfs, s3;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum skiff_status fs_configure(const char *kind, const struct fs_settings *s,
                               struct skiff_error *err)
{
    if (strcmp(kind, "hdfs") && strcmp(kind, "s3"))
        return error_set(err, SKIFF_INVALID, "no settings for the file system %s; hdfs or s3",
                         kind);
    pthread_mutex_lock(&process.lock);
    *(!strcmp(kind, "s3") ? &process.s3 : &process.hdfs) = *s;
    pthread_mutex_unlock(&process.lock);
    return SKIFF_OK;
}

static enum skiff_status set_text(char *to, size_t cap, const char *text, size_t n,
                                  const char *what, struct skiff_error *err)
{
    if (n >= cap)
        return error_set(err, SKIFF_RANGE, "%s has %zu letters; at most %zu", what, n, cap - 1);
    memcpy(to, text, n);
    to[n] = 0;
    return SKIFF_OK;
}

enum skiff_status fs_settings_parse(struct fs_settings *out, const char *fs_name,
                                    const char *fs_ugi, struct skiff_error *err)
{
    struct fs_settings s = {0};
    const char *comma = strchr(fs_ugi, ',');
    size_t user = comma ? (size_t)(comma - fs_ugi) : strlen(fs_ugi);
    const char *passwd = comma ? comma + 1 : "";
    if (*fs_name && !strchr(fs_name, ':'))
        return error_set(err, SKIFF_INVALID,
                         "fs_name \"%s\": write hdfs://host:port, afs://host:port, or "
                         "http://namenode:9870",
                         fs_name);
    TRY(set_text(s.uri, sizeof s.uri, fs_name, strlen(fs_name), "fs_name", err));
    TRY(set_text(s.user, sizeof s.user, fs_ugi, user, "the user of fs_ugi", err));
    TRY(set_text(s.passwd, sizeof s.passwd, passwd, strlen(passwd), "the password of fs_ugi", err));
    *out = s;
    return SKIFF_OK;
}

static bool in_path(const char *command)
{
    char *all = mem_strdup_or_die(getenv("PATH") ? getenv("PATH") : ""), *rest = NULL;
    bool found = false;
    for (char *at = strtok_r(all, ":", &rest); at && !found; at = strtok_r(NULL, ":", &rest)) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", at, command);
        found = access(name, X_OK) == 0;
    }
    free(all);
    return found;
}

enum skiff_status fs_settings_hadoop(struct fs_settings *s, const char *bin,
                                     struct skiff_error *err)
{
    s->hadoop_bin[0] = 0;
    if (strchr(bin, '/') ? access(bin, X_OK) != 0 : !*bin || !in_path(bin))
        return SKIFF_OK;
    return set_text(s->hadoop_bin, sizeof s->hadoop_bin, bin, strlen(bin), "hadoop_bin", err);
}

/* The number of its scheme; -1: none that is known (*n: its letters), -2: a path of this machine.
 */
static int scheme_of(const char *path, size_t *n)
{
    *n = strspn(path, "abcdefghijklmnopqrstuvwxyz0123456789");
    bool slashes = *n && !strncmp(path + *n, "://", 3);
    for (size_t i = 0; *n && i < SCHEMES; i++)
        if (strlen(schemes[i].scheme) == *n && !strncmp(path, schemes[i].scheme, *n) &&
            (slashes || (!schemes[i].class && !strncmp(path + *n, ":/", 2))))
            return (int)i;
    return slashes ? -1 : -2;
}

bool fs_is_remote(const char *path)
{
    size_t n;
    int scheme = scheme_of(path, &n);
    return scheme == -1 || (scheme >= 0 && schemes[scheme].class != &fs_local);
}

const char *fs_path_of(const char *path)
{
    const char *at = strchr(path, ':');
    if (!at)
        return path;
    at++;
    if (!strncmp(at, "//", 2))
        at += 2 + strcspn(at + 2, "/");
    return *at ? at : "/";
}

bool fs_host_of(const char *path, char *out, size_t cap)
{
    const char *at = strstr(path, "://");
    size_t n = at ? strcspn(at + 3, "/") : 0;
    if (n >= cap)
        return false;
    if (n)
        memcpy(out, at + 3, n);
    out[n] = 0;
    return true;
}

/* HDFS and AFS: the hadoop command when it is set, WebHDFS when its address is set, else the
 * command when it is found, as Paddle does. */
static enum skiff_status choose(const char *path, struct fs *f, struct skiff_error *err)
{
    const char *bin = getenv("SKIFF_HADOOP_BIN"), *endpoint = getenv("SKIFF_WEBHDFS_ENDPOINT");
    struct fs_settings *s = &f->settings;
    bool named = (endpoint && *endpoint) || !strncmp(s->uri, "http", 4);
    if (!s->hadoop_bin[0] && bin && !named)
        snprintf(s->hadoop_bin, sizeof s->hadoop_bin, "%s", bin);
    if (s->hadoop_bin[0] || (!named && in_path("hadoop")))
        f->class = &fs_hadoop;
    else if (named || strncmp(path, "afs:", 4))
        f->class = &fs_webhdfs;
    else
        return error_set(err, SKIFF_UNSUPPORTED,
                         "%s: AFS is reached by the hadoop command (set SKIFF_HADOOP_BIN to it, or "
                         "put it into PATH) or by an address that speaks WebHDFS "
                         "(SKIFF_WEBHDFS_ENDPOINT=http://host:port)",
                         path);
    return SKIFF_OK;
}

enum skiff_status fs_of(const struct fs_settings *settings, const char *path, struct fs *out,
                        struct skiff_error *err)
{
    size_t n;
    int scheme = scheme_of(path, &n);
    *out = (struct fs){.class = &fs_local};
    if (scheme == -2)
        return SKIFF_OK;
    if (scheme == -1)
        return error_set(
            err, SKIFF_UNSUPPORTED,
            "%s: no file system is called %.*s; known are s3, hdfs, webhdfs, swebhdfs, "
            "afs, file",
            path, (int)n, path);
    out->class = schemes[scheme].class;
    pthread_mutex_lock(&process.lock);
    out->settings = settings ? *settings : out->class == &fs_s3 ? process.s3 : process.hdfs;
    pthread_mutex_unlock(&process.lock);
    return out->class ? SKIFF_OK : choose(path, out, err);
}
