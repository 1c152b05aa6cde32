/* HDFS by its HTTP interface. A namenode answers queries and redirects reads and writes to a
 * datanode. Files are written under a temporary name and renamed. With several namenodes
 * (SKIFF_WEBHDFS_ENDPOINT=http://a:9870,http://b:9870) the active one is found by trying. */
#define _GNU_SOURCE
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/secret.h"
#include "fs/block.h"
#include "fs/fs.h"
#include "fs/http.h"
#include "fs/pages.h"
#include "fs/answer.h"

#define PORT "9870"
#define ROUNDS 3 /* of namenode and datanode, when a datanode fails */

struct hdfs_call {
    const struct fs *fs;
    const char *path;
    struct buf query; /* "op=..."; encoded */
    int node;         /* which of the namenodes */
    int64_t first;    /* OPEN: of the bytes; -1 */
    int64_t count;
    const char *location; /* of a datanode; NULL: the namenode */
};

/* The namenode number `node` into out; false: there are no more. */
static bool namenode(const struct fs *f, const char *path, int node, struct buf *out)
{
    const char *list = f->settings.uri, *env = getenv("SKIFF_WEBHDFS_ENDPOINT");
    char host[256];
    bool secure = !strncmp(path, "swebhdfs:", 9);
    if (strncmp(list, "http", 4))
        list = env ? env : "";
    if (!strncmp(path, "webhdfs:", 8) || secure || !*list) {
        if (!fs_host_of(path, host, sizeof host) || node > 0)
            return false;
        if (!*host && !fs_host_of(f->settings.uri, host, sizeof host))
            return false;
        if (!*host)
            return false;
        if (!strncmp(path, "hdfs:", 5) || !strncmp(path, "afs:", 4) || !strchr(host, ':')) {
            host[strcspn(host, ":")] = 0; /* the port is that of another protocol */
            buf_printf(out, "http://%s:" PORT, host);
        } else
            buf_printf(out, "%s://%s", secure ? "https" : "http", host);
        return true;
    }
    for (; node > 0; node--) {
        list += strcspn(list, ",");
        if (!*list++)
            return false;
    }
    size_t n = strcspn(list, ",");
    while (n && list[n - 1] == '/')
        n--;
    buf_add(out, list, n);
    return n > 0;
}

/* Containers and cron jobs have no USER: the name of the uid then. Without any, HDFS takes the user
 * to be dr.who. */
static void find_user(const struct fs *f, char *out, size_t cap)
{
    const char *const names[] = {"HADOOP_USER_NAME", "USER"};
    struct passwd entry, *found = NULL;
    char text[4096];
    snprintf(out, cap, "%s", f->settings.user);
    for (int i = 0; i < 2 && !*out; i++)
        snprintf(out, cap, "%s", getenv(names[i]) ? getenv(names[i]) : "");
    if (!*out && getpwuid_r(geteuid(), &entry, text, sizeof text, &found) == 0 && found)
        snprintf(out, cap, "%s", found->pw_name);
}

static enum skiff_status build(struct http_request *r, struct buf *url, struct buf *headers,
                               struct skiff_error *err)
{
    const struct hdfs_call *c = r->arg;
    const char *token = getenv("SKIFF_WEBHDFS_TOKEN");
    char user[128];
    find_user(c->fs, user, sizeof user);
    if (c->location) {
        buf_str(url, c->location);
        buf_str(headers, "Content-Type: application/octet-stream\n");
        return SKIFF_OK;
    }
    if (!namenode(c->fs, c->path, c->node, url))
        return error_set(err, SKIFF_INVALID,
                         "%s: which namenode? write hdfs://host/path, or set "
                         "SKIFF_WEBHDFS_ENDPOINT=http://host:" PORT
                         ", or SKIFF_HADOOP_BIN=/path/of/hadoop to use that command",
                         c->path);
    buf_str(url, "/webhdfs/v1");
    http_encode(url, fs_path_of(c->path), true);
    buf_printf(url, "?%s", c->query.data);
    if (c->first >= 0)
        buf_printf(url, "&offset=%lld&length=%lld", (long long)c->first + (long long)r->got,
                   (long long)c->count - (long long)r->got);
    if (token && *token)
        buf_printf(url, "&delegation=%s", token);
    else if (*user) {
        buf_str(url, "&user.name=");
        http_encode(url, user, false);
    }
    return SKIFF_OK;
}

static struct hdfs_call call_of(const struct fs *f, const char *path, const char *query)
{
    struct hdfs_call c = {.fs = f, .path = path, .first = -1};
    buf_str(&c.query, query);
    return c;
}

static struct http_request request_of(struct hdfs_call *c, const char *method)
{
    return (struct http_request){
        .path = c->path,
        .hint = "check the user (fs_ugi, HADOOP_USER_NAME), the rights on the path, and "
                "SKIFF_WEBHDFS_TOKEN; clusters with Kerberos need the hadoop command "
                "(SKIFF_HADOOP_BIN)",
        .method = method,
        .build = build,
        .arg = c,
        .body_len = strcmp(method, "PUT") ? -1 : 0,
        .body = "",
        .follow = !strcmp(method, "GET"),
    };
}

/* Tries the namenodes from c->node on, until one is active. */
static enum skiff_status ask(struct http *h, struct hdfs_call *c, struct http_request *r,
                             struct http_answer *a, struct skiff_error *err)
{
    for (;; c->node++) {
        struct buf next = BUF_INIT;
        bool more = namenode(c->fs, c->path, c->node + 1, &next);
        enum skiff_status status = http_run(h, r, a, err);
        bool standby = status == SKIFF_OK && a->status == 403 && a->body.len &&
                       strstr(a->body.data, "StandbyException");
        buf_deinit(&next);
        if (!more || (status == SKIFF_OK && !standby) || status == SKIFF_STATE)
            return status;
    }
}

/* One request; it must succeed. */
static enum skiff_status simple(struct http *h, const struct fs *f, const char *path,
                                const char *method, const char *query, struct http_answer *a,
                                struct skiff_error *err)
{
    struct hdfs_call c = call_of(f, path, query);
    struct http_request r = request_of(&c, method);
    enum skiff_status status = ask(h, &c, &r, a, err);
    if (status == SKIFF_OK && (a->status < 200 || a->status > 299))
        status = http_refused(&r, a, err);
    buf_deinit(&c.query);
    return status;
}

static bool says_no(const struct http_answer *a)
{
    struct buf text = BUF_INIT;
    bool no = a->body.len && answer_field(a->body.data, a->body.len, "boolean", &text) &&
              !strcmp(text.data, "false");
    buf_deinit(&text);
    return no;
}

/* ---- looking ---- */

static void status_of(const char *object, size_t n, struct fs_stat *out)
{
    struct buf type = BUF_INIT;
    answer_field(object, n, "type", &type);
    out->folder = type.len && !strcmp(type.data, "DIRECTORY");
    int64_t length = answer_number(object, n, "length", 0);
    out->size = out->folder || length < 0 ? 0 : length;
    out->mtime = answer_number(object, n, "modificationTime", 0) / 1000;
    buf_deinit(&type);
}

static enum skiff_status look(const struct fs *f, struct http *h, const char *path,
                              struct fs_stat *out, struct skiff_error *err)
{
    struct http_answer a = {0};
    const char *at, *object;
    size_t n;
    enum skiff_status status = simple(h, f, path, "GET", "op=GETFILESTATUS", &a, err);
    if (status == SKIFF_OK) {
        at = a.body.len ? a.body.data : "";
        if (answer_object(&at, &object, &n))
            status_of(object, n, out);
        else
            status = error_set(err, SKIFF_FORMAT, "%s: %s answers with no FileStatus of WebHDFS",
                               path, a.host);
    }
    http_answer_deinit(&a);
    return status;
}

static enum skiff_status hdfs_stat(const struct fs *f, const char *path, struct fs_stat *out,
                                   struct skiff_error *err)
{
    struct http *h;
    TRY(http_open(&h, err));
    enum skiff_status status = look(f, h, path, out, err);
    http_close(h);
    return status;
}

/* The entries of an answer; `last` becomes the name of the last one. */
static enum skiff_status add_page(const char *path, const struct http_answer *a,
                                  struct listing_pages *pages, struct fs_list *out,
                                  struct buf *last, struct skiff_error *err)
{
    const char *at = a->body.len ? a->body.data : "", *object;
    size_t n;
    struct buf name = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    if (!strstr(at, "FileStatus"))
        return error_set(err, SKIFF_FORMAT, "%s: %s answers with no listing of WebHDFS", path,
                         a->host);
    pages_next(pages);
    while (answer_object(&at, &object, &n)) {
        struct fs_stat st = {0};
        buf_reset(&name);
        if (!answer_field(object, n, "pathSuffix", &name))
            continue;
        if (!name.len) {
            status = error_set(err, SKIFF_INVALID, "%s: is a file, a folder was expected", path);
            break;
        }
        status_of(object, n, &st);
        fs_list_add(out, path, name.data, name.len, &st);
        pages_add(pages, name.data, name.len);
        buf_reset(last);
        buf_str(last, name.data);
    }
    buf_deinit(&name);
    return status;
}

static void page_query(bool batch, const struct buf *from, struct buf *out)
{
    buf_reset(out);
    buf_str(out, batch ? "op=LISTSTATUS_BATCH" : "op=LISTSTATUS");
    if (from->len) {
        buf_str(out, "&startAfter=");
        http_encode(out, from->data, false);
    }
}

/* In pages; a server that does not know them (before Hadoop 3) gives all at once. */
static enum skiff_status run_listing(struct http *h, const struct fs *f, const char *path,
                                     struct fs_list *out, struct skiff_error *err)
{
    struct http_answer a = {0};
    struct buf from = BUF_INIT, last = BUF_INIT, query = BUF_INIT;
    struct listing_pages pages = {0};
    bool batch = true;
    enum skiff_status status;
    for (;;) {
        page_query(batch, &from, &query);
        status = simple(h, f, path, "GET", query.data, &a, err);
        if (status < 0 && batch && !from.len && a.status == 400) {
            batch = false;
            continue;
        }
        TRY_OUT(status);
        TRY_OUT(add_page(path, &a, &pages, out, &last, err));
        int64_t left = batch ? answer_number(a.body.data, a.body.len, "remainingEntries", 0) : 0;
        if (left <= 0)
            break;
        TRY_OUT(pages_check(&pages, &from, &last, left, path, a.host, err));
        buf_reset(&from);
        buf_str(&from, last.data);
    }
out:
    buf_deinit(&from);
    buf_deinit(&last);
    buf_deinit(&query);
    http_answer_deinit(&a);
    return status;
}

static enum skiff_status hdfs_list(const struct fs *f, const char *path, struct fs_list *out,
                                   struct skiff_error *err)
{
    struct http *h;
    TRY(http_open(&h, err));
    enum skiff_status status = run_listing(h, f, path, out, err);
    http_close(h);
    return status;
}

/* ---- reading ---- */

static enum skiff_status fetch(struct block_reader *b, size_t n, struct skiff_error *err)
{
    struct hdfs_call c = call_of(b->fs, b->path, "op=OPEN");
    struct http_request r = request_of(&c, "GET");
    c.first = b->offset;
    c.count = (int64_t)n;
    /* which namenode is active was found when the file was opened, and may have changed */
    enum skiff_status status = SKIFF_OK;
    struct buf next = BUF_INIT;
    do {
        buf_reset(&next);
        status = block_run(b, &r, n, err);
    } while (status < 0 && status != SKIFF_STATE && namenode(b->fs, b->path, ++c.node, &next));
    buf_deinit(&next);
    buf_deinit(&c.query);
    return status;
}

static enum skiff_status hdfs_open(const struct fs *f, const char *path, const atomic_bool *stop,
                                   struct fs_reader **out, struct skiff_error *err)
{
    struct http *h;
    struct fs_stat st = {0};
    struct block_reader *b;
    TRY(http_open(&h, err));
    enum skiff_status status = look(f, h, path, &st, err);
    if (status == SKIFF_OK && st.folder)
        status = error_set(err, SKIFF_IO, "%s: is a folder, a file was expected", path);
    if (status < 0) {
        http_close(h);
        return status;
    }
    TRY(block_reader_open(f, path, h, st.size, stop, &b, err));
    b->fetch = fetch;
    *out = &b->base;
    return SKIFF_OK;
}

/* ---- changing ---- */

static enum skiff_status no_is_error(enum skiff_status status, const struct http_answer *a,
                                     const char *path, const char *what, struct skiff_error *err)
{
    if (status == SKIFF_OK && says_no(a))
        return error_set(err, SKIFF_IO, "%s: %s refused to %s without a reason", path, a->host,
                         what);
    return status;
}

static enum skiff_status delete_path(struct http *h, const struct fs *f, const char *path,
                                     struct skiff_error *err)
{
    struct http_answer a = {0};
    enum skiff_status status = simple(h, f, path, "DELETE", "op=DELETE&recursive=true", &a, err);
    http_answer_deinit(&a);
    return status == SKIFF_NOT_FOUND ? SKIFF_OK : status;
}

static enum skiff_status rename_to(struct http *h, const struct fs *f, const char *from,
                                   const char *to, bool replace, struct skiff_error *err)
{
    struct http_answer a = {0};
    struct buf query = BUF_INIT;
    struct fs_stat st;
    buf_str(&query, "op=RENAME&destination=");
    http_encode(&query, fs_path_of(to), true);
    if (replace)
        buf_str(&query, "&renameoptions=OVERWRITE");
    enum skiff_status status = simple(h, f, from, "PUT", query.data, &a, err);
    status = no_is_error(status, &a, from, "rename", err);
    /* already done by an attempt whose response was lost? */
    if (status < 0 && look(f, h, from, &st, NULL) == SKIFF_NOT_FOUND &&
        look(f, h, to, &st, NULL) == SKIFF_OK)
        status = SKIFF_OK;
    http_answer_deinit(&a);
    buf_deinit(&query);
    return status;
}

static enum skiff_status replace_by_halves(struct http *h, const struct fs *f, const char *from,
                                           const char *to, struct skiff_error *err)
{
    struct buf aside = BUF_INIT;
    struct fs_stat st;
    enum skiff_status there = look(f, h, to, &st, err);
    if (there == SKIFF_NOT_FOUND)
        return rename_to(h, f, from, to, false, err);
    TRY(there);
    buf_printf(&aside, "%s" FS_ASIDE, to);
    enum skiff_status status = delete_path(h, f, aside.data, err);
    if (status == SKIFF_OK)
        status = rename_to(h, f, to, aside.data, false, err);
    if (status == SKIFF_OK) {
        status = rename_to(h, f, from, to, false, err);
        if (status < 0)
            (void)rename_to(h, f, aside.data, to, false, NULL);
        else
            (void)delete_path(h, f, aside.data, NULL);
    }
    buf_deinit(&aside);
    return status;
}

static enum skiff_status replace_with(struct http *h, const struct fs *f, const char *from,
                                      const char *to, struct skiff_error *err)
{
    enum skiff_status status = rename_to(h, f, from, to, true, err);
    struct fs_stat st;
    if (status == SKIFF_OK || status == SKIFF_NOT_FOUND)
        return status;
    /* a server that cannot replace? */
    TRY(look(f, h, from, &st, err));
    return replace_by_halves(h, f, from, to, err);
}

/* The namenode gives the address, the datanode takes the bytes. *again: try another datanode. */
static enum skiff_status send_file(struct http *h, const struct fs *f, int fd, int64_t size,
                                   const char *path, bool *again, struct skiff_error *err)
{
    struct hdfs_call c = call_of(f, path, "op=CREATE&overwrite=true");
    struct http_request r = request_of(&c, "PUT");
    struct http_answer a = {0};
    char location[sizeof a.location];
    enum skiff_status status;
    TRY_OUT(ask(h, &c, &r, &a, err));
    if (a.status != 307 || strncmp(a.location, "http", 4)) {
        status = a.status >= 400 ? http_refused(&r, &a, err)
                                 : error_set(err, SKIFF_FORMAT,
                                             "%s: %s answers CREATE with status %d, a redirect "
                                             "(307) to a datanode was expected",
                                             path, a.host, a.status);
        goto out;
    }
    memcpy(location, a.location, sizeof location);
    c.location = location;
    r.body = size ? NULL : "";
    r.body_fd = fd;
    r.body_len = size;
    status = http_run(h, &r, &a, err);
    *again = status < 0;
    if (status == SKIFF_OK && (a.status < 200 || a.status > 299))
        status = http_refused(&r, &a, err);
out:
    http_answer_deinit(&a);
    buf_deinit(&c.query);
    return status;
}

static enum skiff_status hdfs_put(const struct fs *f, int fd, int64_t size, const char *path,
                                  struct skiff_error *err)
{
    struct http *h;
    struct buf temporary = BUF_INIT;
    uint64_t random;
    enum skiff_status status = SKIFF_OK;
    TRY(http_open(&h, err));
    secret_random(&random, sizeof random);
    buf_printf(&temporary, "%s._skiff_%016llx", path, (unsigned long long)random);
    bool again = true;
    for (int i = 0; again && i < ROUNDS; i++) {
        again = false;
        status = send_file(h, f, fd, size, temporary.data, &again, err);
    }
    if (status == SKIFF_OK)
        status = replace_with(h, f, temporary.data, path, err);
    if (status < 0)
        (void)delete_path(h, f, temporary.data, NULL);
    buf_deinit(&temporary);
    http_close(h);
    return status;
}

static enum skiff_status hdfs_mkdirs(const struct fs *f, const char *path, struct skiff_error *err)
{
    struct http *h;
    struct http_answer a = {0};
    TRY(http_open(&h, err));
    enum skiff_status status = simple(h, f, path, "PUT", "op=MKDIRS", &a, err);
    status = no_is_error(status, &a, path, "make the folder", err);
    http_answer_deinit(&a);
    http_close(h);
    return status;
}

static enum skiff_status hdfs_rename(const struct fs *f, const char *from, const char *to,
                                     bool replace, const struct fs_stat *known,
                                     struct skiff_error *err)
{
    struct http *h;
    TRY(http_open(&h, err));
    enum skiff_status status =
        replace ? replace_with(h, f, from, to, err) : rename_to(h, f, from, to, false, err);
    http_close(h);
    return status;
}

static enum skiff_status hdfs_remove(const struct fs *f, const char *path, bool folder,
                                     struct skiff_error *err)
{
    struct http *h;
    TRY(http_open(&h, err));
    enum skiff_status status = delete_path(h, f, path, err);
    http_close(h);
    return status;
}

const struct fs_class fs_webhdfs = {.name = "webhdfs",
                                    .rename_is_atomic = true,
                                    .at_a_time = 4,
                                    .stat = hdfs_stat,
                                    .list = hdfs_list,
                                    .open = hdfs_open,
                                    .put = hdfs_put,
                                    .mkdirs = hdfs_mkdirs,
                                    .rename = hdfs_rename,
                                    .remove = hdfs_remove};
