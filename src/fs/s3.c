/* S3 as a file system: objects are files, and a key prefix that ends with a slash is a folder,
 * whether or not an object of that name exists. A rename copies every object and then removes the
 * old ones: it is not atomic, but an error leaves the source complete.
 *
 * A reader keeps the etag of the first block and asks for it in all later ones, so that a file that
 * changes meanwhile is an error and not a mixture. Each call opens its own http handle, so any
 * thread may call. */
#define _GNU_SOURCE
#include "fs/s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "fs/block.h"
#include "fs/pages.h"

/* The key of a path without slashes at its end; with one when `folder` and not empty. */
static void key_of(const char *path, bool folder, struct buf *out)
{
    char bucket[128];
    const char *key;
    buf_str(out, "");
    if (!s3_split(path, bucket, sizeof bucket, &key))
        return; /* the request will say so */
    buf_str(out, key);
    while (out->len && out->data[out->len - 1] == '/')
        out->data[--out->len] = 0;
    if (folder && out->len)
        buf_char(out, '/');
}

static int64_t time_of(const char *text)
{
    struct tm tm = {0};
    return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? (int64_t)timegm(&tm) : 0;
}

/* ---- listings ---- */

struct s3_listing {
    const struct fs *f;
    const char *path;
    const char *prefix;    /* of the keys */
    const char *delimiter; /* "/" or "": all below */
    int most;              /* keys in an answer; 0: as S3 likes */
    /* Called for every key (or common prefix, which ends with a slash). */
    void (*each)(void *arg, const char *key, const struct fs_stat *st);
    void *arg;
    struct listing_pages pages;
};

static void report(struct s3_listing *l, const char *text, size_t n, const struct fs_stat *st)
{
    struct buf key = BUF_INIT;
    s3_text(&key, text, n);
    pages_add(&l->pages, text, n);
    l->each(l->arg, key.len ? key.data : "", st);
    buf_deinit(&key);
}

static void report_page(struct s3_listing *l, const char *page)
{
    const char *at = page, *part, *text;
    size_t n, m;
    while (s3_tag(&at, NULL, "Contents", &part, &n)) {
        struct fs_stat st = {0};
        const char *in = part;
        if (s3_tag(&in, part + n, "Size", &text, &m))
            st.size = strtoll(text, NULL, 10);
        in = part;
        if (s3_tag(&in, part + n, "LastModified", &text, &m))
            st.mtime = time_of(text);
        in = part;
        if (s3_tag(&in, part + n, "Key", &text, &m))
            report(l, text, m, &st);
    }
    at = page;
    while (s3_tag(&at, NULL, "CommonPrefixes", &part, &n)) {
        const char *in = part;
        if (s3_tag(&in, part + n, "Prefix", &text, &m))
            report(l, text, m, &(struct fs_stat){.folder = true});
    }
}

static void page_query(const struct s3_listing *l, const struct buf *token, struct buf *out)
{
    buf_reset(out);
    if (token->len) {
        buf_str(out, "continuation-token=");
        http_encode(out, token->data, false);
        buf_char(out, '&');
    }
    if (*l->delimiter) {
        buf_str(out, "delimiter=");
        http_encode(out, l->delimiter, false);
        buf_char(out, '&');
    }
    buf_str(out, "list-type=2");
    if (l->most)
        buf_printf(out, "&max-keys=%d", l->most);
    buf_str(out, "&prefix=");
    http_encode(out, l->prefix, false);
}

static enum skiff_status run_listing(struct s3_listing *l, struct http *h, struct skiff_error *err)
{
    struct buf query = BUF_INIT, token = BUF_INIT, next = BUF_INIT;
    struct http_answer a = {0};
    enum skiff_status status;
    for (;;) {
        page_query(l, &token, &query);
        struct s3_call c = {
            .fs = l->f, .path = l->path, .key = "", .query = query.data, .first = -1};
        struct http_request r = s3_request(&c, "GET");
        TRY_OUT(http_expect(h, &r, &a, err));
        const char *page = a.body.len ? a.body.data : "", *at = page, *text;
        size_t n;
        if (!strstr(page, "<ListBucketResult"))
            TRY_OUT(error_set(err, SKIFF_FORMAT, "%s: %s answers with no listing of S3", l->path,
                              a.host));
        pages_next(&l->pages);
        report_page(l, page);
        buf_reset(&next);
        if (l->most || !strstr(page, "<IsTruncated>true<"))
            break;
        if (s3_tag(&at, NULL, "NextContinuationToken", &text, &n))
            s3_text(&next, text, n);
        TRY_OUT(pages_check(&l->pages, &token, &next, 0, l->path, a.host, err));
        buf_reset(&token);
        buf_add(&token, next.data, next.len);
    }
out:
    buf_deinit(&query);
    buf_deinit(&token);
    buf_deinit(&next);
    http_answer_deinit(&a);
    return status;
}

/* ---- looking ---- */

static void nothing(void *arg, const char *key, const struct fs_stat *st) {}

static enum skiff_status not_there(const char *path, struct skiff_error *err)
{
    return error_set(err, SKIFF_NOT_FOUND, "%s: there is no such file or folder", path);
}

static enum skiff_status stat_folder(const struct fs *f, struct http *h, const char *path,
                                     struct fs_stat *out, struct skiff_error *err)
{
    struct buf key = BUF_INIT;
    key_of(path, true, &key);
    struct s3_listing l = {f, path, key.data, "", 1, nothing, NULL, {0}};
    enum skiff_status status = run_listing(&l, h, err);
    if (status == SKIFF_OK && l.pages.found == 0 && key.len)
        status = not_there(path, err);
    if (status == SKIFF_OK)
        *out = (struct fs_stat){.folder = true};
    buf_deinit(&key);
    return status;
}

/* *file: there is an object of that key. */
static enum skiff_status look_file(const struct fs *f, struct http *h, const char *path,
                                   struct fs_stat *out, char *etag, size_t etag_cap, bool *file,
                                   struct skiff_error *err)
{
    struct buf key = BUF_INIT;
    struct http_answer a = {0};
    enum skiff_status status = SKIFF_OK;
    key_of(path, false, &key);
    struct s3_call c = {.fs = f, .path = path, .key = key.data, .first = -1};
    struct http_request r = s3_request(&c, "HEAD");
    if (key.len)
        status = http_run(h, &r, &a, err);
    if (status == SKIFF_OK && key.len && (a.status == 401 || a.status == 403)) {
        r = s3_request(&c, "GET"); /* an answer to HEAD does not say why */
        c.first = 0;
        c.count = 1;
        status = http_run(h, &r, &a, err);
    }
    bool empty = c.count && a.status == 416; /* it has no first byte */
    *file = status == SKIFF_OK && key.len && ((a.status >= 200 && a.status <= 299) || empty);
    if (status == SKIFF_OK && key.len && !*file && a.status != 404)
        status = http_refused(&r, &a, err);
    if (*file) {
        int64_t size = empty          ? 0
                       : a.total >= 0 ? a.total
                                      : a.length; /* of a range: what Content-Range says */
        *out = (struct fs_stat){.size = size > 0 ? size : 0};
        if (etag)
            snprintf(etag, etag_cap, "%s", a.etag);
    }
    http_answer_deinit(&a);
    buf_deinit(&key);
    return status;
}

static enum skiff_status look(const struct fs *f, struct http *h, const char *path,
                              struct fs_stat *out, char *etag, size_t etag_cap,
                              struct skiff_error *err)
{
    bool file;
    TRY(look_file(f, h, path, out, etag, etag_cap, &file, err));
    return file ? SKIFF_OK : stat_folder(f, h, path, out, err);
}

static enum skiff_status s3_stat(const struct fs *f, const char *path, struct fs_stat *out,
                                 struct skiff_error *err)
{
    struct http *h;
    TRY(http_open(&h, err));
    enum skiff_status status = look(f, h, path, out, NULL, 0, err);
    http_close(h);
    return status;
}

struct into_list {
    struct fs_list *list;
    const char *folder;
    size_t skip; /* of the key: the folder's */
};

static void add_entry(void *arg, const char *key, const struct fs_stat *st)
{
    struct into_list *to = arg;
    const char *name = key + to->skip;
    size_t n = strlen(name);
    n -= n && name[n - 1] == '/';
    if (strlen(key) > to->skip && n) /* else the mark of the folder itself */
        fs_list_add(to->list, to->folder, name, n, st);
}

static enum skiff_status s3_list(const struct fs *f, const char *path, struct fs_list *out,
                                 struct skiff_error *err)
{
    struct http *h;
    struct buf key = BUF_INIT;
    TRY(http_open(&h, err));
    key_of(path, true, &key);
    struct into_list to = {out, path, key.len};
    struct s3_listing l = {f, path, key.data, "/", 0, add_entry, &to, {0}};
    enum skiff_status status = run_listing(&l, h, err);
    if (status == SKIFF_OK && l.pages.found == 0 && key.len) {
        struct fs_stat st;
        bool file;
        status = look_file(f, h, path, &st, NULL, 0, &file, err);
        if (status == SKIFF_OK)
            status =
                file ? error_set(err, SKIFF_INVALID, "%s: is a file, a folder was expected", path)
                     : not_there(path, err);
    }
    buf_deinit(&key);
    http_close(h);
    return status;
}

/* ---- reading ---- */

static enum skiff_status fetch(struct block_reader *b, size_t n, struct skiff_error *err)
{
    struct s3_call c = {
        .fs = b->fs, .path = b->path, .first = b->offset, .count = (int64_t)n, .etag = b->etag};
    struct http_request r = s3_request(&c, "GET");
    r.want = 206;
    return block_run(b, &r, n, err);
}

/* The first block tells size and etag, too: small files take one request. False: it does not say,
 * the file may be empty, a folder, or not there. */
static enum skiff_status first_block(struct block_reader *b, bool *known, struct skiff_error *err)
{
    struct http_answer a = {0};
    struct s3_call c = {.fs = b->fs,
                        .path = b->path,
                        .count = (int64_t)BLOCK_BYTES,
                        .etag = a.etag}; /* of the answer that broke off, when it is continued */
    struct http_request r = s3_request(&c, "GET");
    r.want = 206;
    r.into = b->block;
    r.into_cap = BLOCK_BYTES;
    r.stop = b->stop;
    enum skiff_status status = http_run(b->http, &r, &a, err);
    int64_t all = a.total < (int64_t)BLOCK_BYTES ? a.total : (int64_t)BLOCK_BYTES;
    *known = status == SKIFF_OK && a.status == 206 && a.total > 0 && (int64_t)r.got == all;
    if (*known) {
        b->base.size = a.total;
        b->len = r.got;
        b->offset = (int64_t)r.got;
        memcpy(b->etag, a.etag, sizeof a.etag);
    } else if (status == SKIFF_OK && a.status >= 400 && a.status != 404 && a.status != 416) {
        status = http_refused(&r, &a, err);
    }
    http_answer_deinit(&a);
    return status;
}

static enum skiff_status s3_open(const struct fs *f, const char *path, const atomic_bool *stop,
                                 struct fs_reader **out, struct skiff_error *err)
{
    struct http *h;
    struct fs_stat st = {0};
    struct block_reader *b;
    bool known = false;
    TRY(http_open(&h, err));
    TRY(block_reader_open(f, path, h, (int64_t)BLOCK_BYTES, stop, &b, err));
    enum skiff_status status = first_block(b, &known, err);
    if (status == SKIFF_OK && !known) {
        status = look(f, h, path, &st, b->etag, sizeof b->etag, err);
        if (status == SKIFF_OK && st.folder)
            status = error_set(err, SKIFF_IO, "%s: is a folder, a file was expected", path);
        b->base.size = st.size;
    }
    if (status < 0) {
        fs_close(&b->base);
        return status;
    }
    b->fetch = fetch;
    *out = &b->base;
    return SKIFF_OK;
}

/* ---- changing ---- */

static enum skiff_status s3_put(const struct fs *f, int fd, int64_t size, const char *path,
                                struct skiff_error *err)
{
    struct http *h;
    struct http_answer a = {0};
    struct s3_call c = {.fs = f, .path = path, .first = -1};
    TRY(http_open(&h, err));
    enum skiff_status status = size > S3_PART_BYTES ? s3_put_parts(f, h, fd, size, path, err)
                                                    : s3_put_piece(h, &c, fd, 0, size, &a, err);
    http_answer_deinit(&a);
    http_close(h);
    return status;
}

/* An empty object "key/": what other tools take for a folder, too. */
static enum skiff_status s3_mkdirs(const struct fs *f, const char *path, struct skiff_error *err)
{
    struct http *h;
    struct buf key = BUF_INIT;
    struct http_answer a = {0};
    key_of(path, true, &key);
    struct s3_call c = {.fs = f, .path = path, .key = key.data, .first = -1};
    enum skiff_status status = key.len ? http_open(&h, err) : SKIFF_OK;
    if (status == SKIFF_OK && key.len) {
        struct http_request r = s3_request(&c, "PUT");
        r.body = "";
        r.body_len = 0;
        status = http_expect(h, &r, &a, err);
        http_close(h);
    }
    http_answer_deinit(&a);
    buf_deinit(&key);
    return status;
}

static void add_key(void *arg, const char *key, const struct fs_stat *st)
{
    fs_list_add(arg, NULL, key, strlen(key), st);
}

/* All keys of a file (of that size), or of a folder and below. */
static enum skiff_status keys_of(const struct fs *f, struct http *h, const char *path, bool folder,
                                 int64_t size, struct fs_list *out, struct skiff_error *err)
{
    struct buf key = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    key_of(path, folder, &key);
    struct s3_listing l = {f, path, key.data, "", 0, add_key, out, {0}};
    if (folder)
        status = run_listing(&l, h, err);
    else
        add_key(out, key.data, &(struct fs_stat){.size = size});
    buf_deinit(&key);
    return status;
}

static enum skiff_status delete_key(const struct fs *f, struct http *h, const char *path,
                                    const char *key, struct skiff_error *err)
{
    struct s3_call c = {.fs = f, .path = path, .key = key, .first = -1};
    struct http_request r = s3_request(&c, "DELETE");
    struct http_answer a = {0};
    enum skiff_status status = http_run(h, &r, &a, err);
    if (status == SKIFF_OK && a.status > 299 && a.status != 404)
        status = http_refused(&r, &a, err);
    http_answer_deinit(&a);
    return status;
}

static enum skiff_status copy_key(const struct fs *f, struct http *h, const char *from,
                                  const struct fs_entry *old, const char *to, const char *new_key,
                                  struct skiff_error *err)
{
    struct buf source = BUF_INIT;
    struct http_answer a = {0};
    char bucket[128];
    const char *rest;
    s3_split(from, bucket, sizeof bucket, &rest);
    buf_printf(&source, "/%s/", bucket);
    http_encode(&source, old->path, true);
    struct s3_call c = {
        .fs = f, .path = to, .key = new_key, .copy_source = source.data, .first = -1};
    struct http_request r = s3_request(&c, "PUT");
    r.body = "";
    r.body_len = 0;
    enum skiff_status status = old->stat.size > S3_COPY_BYTES
                                   ? s3_copy_parts(h, &c, old->stat.size, err)
                                   : http_expect(h, &r, &a, err);
    if (status == SKIFF_OK && a.body.len && strstr(a.body.data, "<Error>")) {
        a.status = 500;
        status = http_refused(&r, &a, err);
    }
    http_answer_deinit(&a);
    buf_deinit(&source);
    return status;
}

static enum skiff_status s3_remove(const struct fs *f, const char *path, bool folder,
                                   struct skiff_error *err)
{
    struct http *h;
    struct fs_list keys = {0};
    TRY(http_open(&h, err));
    enum skiff_status status = keys_of(f, h, path, folder, 0, &keys, err);
    for (int i = 0; status == SKIFF_OK && i < keys.count; i++)
        status = delete_key(f, h, path, keys.entries[i].path, err);
    fs_list_deinit(&keys);
    http_close(h);
    return status;
}

/* All copies are made before any removal: an error leaves the source complete. */
static enum skiff_status s3_rename(const struct fs *f, const char *from, const char *to,
                                   bool replace, const struct fs_stat *known,
                                   struct skiff_error *err)
{
    struct http *h;
    struct fs_list keys = {0};
    struct fs_stat st = known ? *known : (struct fs_stat){0};
    struct buf old = BUF_INIT, new = BUF_INIT, key = BUF_INIT;
    TRY(http_open(&h, err));
    enum skiff_status status = known ? SKIFF_OK : look(f, h, from, &st, NULL, 0, err);
    if (status == SKIFF_OK)
        status = keys_of(f, h, from, st.folder, st.size, &keys, err);
    key_of(from, false, &old);
    key_of(to, false, &new);
    for (int i = 0; status == SKIFF_OK && i < keys.count; i++) {
        buf_reset(&key);
        buf_printf(&key, "%s%s", new.data, keys.entries[i].path + old.len);
        status = copy_key(f, h, from, &keys.entries[i], to, key.data, err);
    }
    for (int i = 0; status == SKIFF_OK && i < keys.count; i++)
        status = delete_key(f, h, from, keys.entries[i].path, err);
    buf_deinit(&old);
    buf_deinit(&new);
    buf_deinit(&key);
    fs_list_deinit(&keys);
    http_close(h);
    return status;
}

const struct fs_class fs_s3 = {.name = "s3",
                               .no_folders = true,
                               .at_a_time = 4,
                               .stat = s3_stat,
                               .list = s3_list,
                               .open = s3_open,
                               .put = s3_put,
                               .mkdirs = s3_mkdirs,
                               .rename = s3_rename,
                               .remove = s3_remove};
