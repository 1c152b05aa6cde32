/* HTTP requests with timeouts and retries (http.h).
 *
 * libcurl is loaded at run time, once, so that reading local files does not need it. A session has
 * one easy handle, which keeps its connections between requests.
 *
 * A request is one or more attempts. Errors of the connection, timeouts and the statuses 5xx, 408
 * and 429 are retried with growing, randomised pauses; progress since the last attempt resets the
 * count. A download resumes behind the bytes it has. An error message contains what the server
 * said, and a hint where one is known. *stop is polled during transfers and pauses. */
#define _GNU_SOURCE
#include "fs/http.h"
#include "fs/fs.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/secret.h"

#define LIBRARY "libcurl.so.4"

/* The calls of libcurl: found at run time, so that whoever reads local files only needs none of it.
 */
static struct {
    pthread_once_t once;
    char fault[256]; /* empty: loaded */
    CURLcode (*global_init)(long flags);
    CURL *(*init)(void);
    CURLcode (*setopt)(CURL *c, CURLoption option, ...);
    CURLcode (*perform)(CURL *c);
    CURLcode (*getinfo)(CURL *c, CURLINFO info, ...);
    void (*reset)(CURL *c);
    void (*cleanup)(CURL *c);
    const char *(*strerror)(CURLcode code);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free)(struct curl_slist *list);
} lib = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
    const struct library_call calls[] = {
        {"curl_global_init", &lib.global_init},   {"curl_easy_init", &lib.init},
        {"curl_easy_setopt", &lib.setopt},        {"curl_easy_perform", &lib.perform},
        {"curl_easy_getinfo", &lib.getinfo},      {"curl_easy_reset", &lib.reset},
        {"curl_easy_cleanup", &lib.cleanup},      {"curl_easy_strerror", &lib.strerror},
        {"curl_slist_append", &lib.slist_append}, {"curl_slist_free_all", &lib.slist_free},
    };
    static const char *const names[] = {LIBRARY, NULL};
    if (!library_load(names, calls, sizeof calls / sizeof *calls, lib.fault, sizeof lib.fault))
        return;
    if (lib.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        snprintf(lib.fault, sizeof lib.fault, "it does not start");
}

/* A whole number of the environment within bounds, or the default. */
static int number_of(const char *name, int least, int most, int otherwise)
{
    const char *text = getenv(name);
    char *end;
    long n = text && *text ? strtol(text, &end, 10) : 0;
    return text && *text && !*end && n >= least && n <= most ? (int)n : otherwise;
}

int http_stall_seconds(void)
{
    return number_of("SKIFF_FS_TIMEOUT", 1, 86400, 60);
}

struct http {
    CURL *curl;
    char fault[CURL_ERROR_SIZE];
    struct http_request *r;
    struct http_answer *a;
    int64_t sent;
    bool too_much; /* more bytes came than requested */
};

enum skiff_status http_open(struct http **out, struct skiff_error *err)
{
    pthread_once(&lib.once, load);
    if (lib.fault[0])
        return error_set(err, SKIFF_UNSUPPORTED,
                         "remote files need libcurl, which cannot be loaded: %s (Debian: "
                         "apt-get install libcurl4)",
                         lib.fault);
    struct http *h = mem_alloc_or_die(sizeof *h);
    h->curl = lib.init();
    if (!h->curl) {
        free(h);
        return error_set(err, SKIFF_NOMEM, "libcurl gives no session");
    }
    *out = h;
    return SKIFF_OK;
}

void http_close(struct http *h)
{
    if (h)
        lib.cleanup(h->curl);
    free(h);
}

void http_answer_deinit(struct http_answer *a)
{
    buf_deinit(&a->body);
}

void http_encode(struct buf *b, const char *text, bool keep_slash)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if ((*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') ||
            strchr("-._~", *p) || (keep_slash && *p == '/'))
            buf_char(b, (char)*p);
        else
            buf_printf(b, "%%%02X", *p);
}

/* ---- callbacks of libcurl ---- */

static void take(char *to, size_t cap, const char *value, size_t n)
{
    n = n < cap - 1 ? n : cap - 1;
    memcpy(to, value, n);
    to[n] = 0;
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
    struct http_answer *a = ((struct http *)arg)->a;
    char *colon = memchr(line, ':', n);
    if (!colon)
        return n;
    size_t name = (size_t)(colon - line);
    const char *value = colon + 1, *end = line + n;
    while (value < end && *value == ' ')
        value++;
    while (end > value && strchr("\r\n ", end[-1]))
        end--;
    if (name == 8 && !strncasecmp(line, "location", 8))
        take(a->location, sizeof a->location, value, (size_t)(end - value));
    else if (name == 4 && !strncasecmp(line, "etag", 4))
        take(a->etag, sizeof a->etag, value, (size_t)(end - value));
    else if (name == 13 && !strncasecmp(line, "content-range", 13)) {
        const char *slash = memchr(value, '/', (size_t)(end - value));
        a->total = slash && slash[1] != '*' ? strtoll(slash + 1, NULL, 10) : -1;
    } else if (name == 19 && !strncasecmp(line, "x-amz-bucket-region", 19))
        take(a->region, sizeof a->region, value, (size_t)(end - value));
    return n;
}

static size_t on_content(char *bytes, size_t one, size_t n, void *arg)
{
    struct http *h = arg;
    struct http_request *r = h->r;
    long status = 0;
    lib.getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
    if (r->into && status < 300 && (!r->want || status == r->want)) {
        size_t capacity = r->into_cap - r->got, some = n < capacity ? n : capacity;
        memcpy(r->into + r->got, bytes, some);
        r->got += some;
        h->too_much = some < n;
        return some;
    }
    if (h->a->body.len + n <= HTTP_BODY_MAX)
        buf_add(&h->a->body, bytes, n);
    else
        h->too_much = true;
    return h->too_much ? 0 : n;
}

static size_t on_send(char *to, size_t one, size_t n, void *arg)
{
    struct http *h = arg;
    const struct http_request *r = h->r;
    int64_t left = r->body_len - h->sent;
    size_t most = one * n < (size_t)left ? one * n : (size_t)left;
    if (r->body)
        memcpy(to, (const char *)r->body + h->sent, most);
    else if (most) {
        ssize_t got = pread(r->body_fd, to, most, h->sent);
        if (got <= 0)
            return CURL_READFUNC_ABORT;
        most = (size_t)got;
    }
    h->sent += (int64_t)most;
    return most;
}

/* libcurl rewinds when a kept connection turns out to be dead. */
static int on_seek(void *arg, curl_off_t to, int from)
{
    if (from != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    ((struct http *)arg)->sent = to;
    return CURL_SEEKFUNC_OK;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct http *h = arg;
    return h->r->stop && atomic_load(h->r->stop);
}

/* ---- one attempt ---- */

static void set_limits(struct http *h)
{
    long stall = http_stall_seconds();
    lib.setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
    lib.setopt(h->curl, CURLOPT_ERRORBUFFER, h->fault);
    lib.setopt(h->curl, CURLOPT_CONNECTTIMEOUT, stall < 10 ? stall : 10L);
    lib.setopt(h->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    lib.setopt(h->curl, CURLOPT_LOW_SPEED_TIME, stall);
    lib.setopt(h->curl, CURLOPT_BUFFERSIZE, 256L << 10);
    lib.setopt(h->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    lib.setopt(h->curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    if (getenv("AWS_CA_BUNDLE"))
        lib.setopt(h->curl, CURLOPT_CAINFO, getenv("AWS_CA_BUNDLE"));
    lib.setopt(h->curl, CURLOPT_NOPROGRESS, 0L);
    lib.setopt(h->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    lib.setopt(h->curl, CURLOPT_XFERINFODATA, h);
}

static void set_request(struct http *h, const char *url)
{
    const struct http_request *r = h->r;
    lib.setopt(h->curl, CURLOPT_URL, url);
    lib.setopt(h->curl, CURLOPT_FOLLOWLOCATION, r->follow ? 1L : 0L);
    lib.setopt(h->curl, CURLOPT_MAXREDIRS, 5L);
    lib.setopt(h->curl, CURLOPT_HEADERFUNCTION, on_header);
    lib.setopt(h->curl, CURLOPT_HEADERDATA, h);
    lib.setopt(h->curl, CURLOPT_WRITEFUNCTION, on_content);
    lib.setopt(h->curl, CURLOPT_WRITEDATA, h);
    if (r->body_len >= 0) {
        lib.setopt(h->curl, CURLOPT_UPLOAD, 1L);
        lib.setopt(h->curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->body_len);
        lib.setopt(h->curl, CURLOPT_READFUNCTION, on_send);
        lib.setopt(h->curl, CURLOPT_READDATA, h);
        lib.setopt(h->curl, CURLOPT_SEEKFUNCTION, on_seek);
        lib.setopt(h->curl, CURLOPT_SEEKDATA, h);
    }
    if (!strcmp(r->method, "HEAD"))
        lib.setopt(h->curl, CURLOPT_NOBODY, 1L);
    else if (strcmp(r->method, "GET"))
        lib.setopt(h->curl, CURLOPT_CUSTOMREQUEST, r->method);
}

static void record_answer(struct http *h)
{
    long status = 0;
    curl_off_t length = -1;
    char *url = NULL;
    lib.getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
    lib.getinfo(h->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    lib.getinfo(h->curl, CURLINFO_EFFECTIVE_URL, &url);
    h->a->status = (int)status;
    h->a->length = length;
    const char *host = url ? strstr(url, "://") : NULL;
    host = host ? host + 3 : url ? url : "?";
    take(h->a->host, sizeof h->a->host, host, strcspn(host, "/?"));
}

static CURLcode try_once(struct http *h, const struct buf *url, const struct buf *headers)
{
    struct curl_slist *list = lib.slist_append(NULL, "Expect:");
    char *lines = mem_strdup_or_die(headers->len ? headers->data : ""), *rest = NULL;
    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        list = lib.slist_append(list, line);
    lib.reset(h->curl); /* keeps the connections */
    set_limits(h);
    set_request(h, url->data);
    lib.setopt(h->curl, CURLOPT_HTTPHEADER, list);
    h->fault[0] = 0;
    h->sent = 0;
    h->too_much = false;
    buf_reset(&h->a->body);
    if (!h->r->got) /* a resumed download must be of the same file as its beginning */
        h->a->etag[0] = 0;
    h->a->location[0] = h->a->region[0] = 0;
    h->a->total = -1;
    CURLcode code = lib.perform(h->curl);
    record_answer(h);
    lib.slist_free(list);
    free(lines);
    return h->too_much && h->r->into && h->r->got == h->r->into_cap ? CURLE_OK : code;
}

/* ---- retries ---- */

static bool status_may_pass(int status)
{
    return status >= 500 || status == 408 || status == 429;
}

/* Marks a transient error, so that the caller can retry later. */
static enum skiff_status mark_passing(bool passing, enum skiff_status status,
                                      struct skiff_error *err)
{
    if (passing && err)
        err->sys_errno = EIO;
    return status;
}

static bool may_pass(CURLcode code, int status)
{
    switch (code) {
    case CURLE_OK:
        return status_may_pass(status);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_CONNECT_ERROR:
        return true;
    default:
        return false;
    }
}

/* A random time between ms/2 and ms, so that many workers do not retry at once. False: stopped. */
static bool pause_for(int64_t ms, const atomic_bool *stop)
{
    uint32_t random;
    secret_random(&random, sizeof random);
    int64_t end = clock_now() + (ms / 2 + random % (ms / 2 + 1)) * CLOCK_MS;
    while (clock_now() < end) {
        if (stop && atomic_load(stop))
            return false;
        clock_sleep(clock_min(50 * CLOCK_MS, end - clock_now()));
    }
    return true;
}

static enum skiff_status broken(const struct http *h, CURLcode code, int tries,
                                struct skiff_error *err)
{
    const struct http_request *r = h->r;
    const char *reason = h->fault[0] ? h->fault : lib.strerror(code);
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return error_set(err, SKIFF_STATE, "%s: reading was stopped", r->path);
    if (h->too_much)
        return error_set(err, SKIFF_FORMAT, "%s: %s answers %s with more than %zu bytes", r->path,
                         h->a->host, r->method, HTTP_BODY_MAX);
    enum skiff_status status =
        error_set(err, code == CURLE_OPERATION_TIMEDOUT ? SKIFF_TIMEOUT : SKIFF_IO,
                  "%s: %s at %s failed, tried %d times: %s; is the server up, and the address "
                  "right? (docs/guide/storage.md)",
                  r->path, r->method, h->a->host, tries, reason);
    return mark_passing(may_pass(code, 0), status, err);
}

int fs_pause(void)
{
    return number_of("SKIFF_FS_PAUSE", 1, 60000, 200);
}

enum skiff_status http_run(struct http *h, struct http_request *r, struct http_answer *a,
                           struct skiff_error *err)
{
    int tries = number_of("SKIFF_FS_TRIES", 1, 100, 6);
    int64_t pause = fs_pause();
    struct buf url = BUF_INIT, headers = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    CURLcode code = CURLE_OK;
    h->r = r;
    h->a = a;
    for (int i = 1;; i++, pause = pause < 5000 ? pause * 2 : pause) {
        size_t before = r->got;
        buf_reset(&url);
        buf_reset(&headers);
        TRY_OUT(r->build(r, &url, &headers, err));
        code = try_once(h, &url, &headers);
        if (!may_pass(code, a->status)) {
            status = code == CURLE_OK ? SKIFF_OK : broken(h, code, i, err);
            break;
        }
        if (r->got > before)
            i = 1; /* progress was made: reset the retries */
        if (i >= tries || !pause_for(pause, r->stop)) {
            status = code != CURLE_OK ? broken(h, code, i, err) : http_refused(r, a, err);
            break;
        }
    }
out:
    buf_deinit(&url);
    buf_deinit(&headers);
    return status;
}

/* ---- error messages of servers ---- */

/* The code of S3's XML; empty when there is none. */
static void code_of(const struct http_answer *a, char *out, size_t cap)
{
    const char *at = a->body.len ? strstr(a->body.data, "<Code>") : NULL;
    at = at ? at + 6 : "";
    take(out, cap, at, strcspn(at, "<"));
}

/* "Code: text" of S3's XML or the text of WebHDFS' JSON; else the first line; NULL: nothing. */
static const char *server_message(const struct http_answer *a, char *out, size_t cap)
{
    static const char *const marks[][2] = {
        {"<Code>", "<"}, {"<Message>", "<"}, {"\"exception\":\"", "\""}, {"\"message\":\"", "\""}};
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; a->body.len && i < 4; i++) {
        const char *at = strstr(a->body.data, marks[i][0]);
        if (!at)
            continue;
        at += strlen(marks[i][0]);
        int part =
            snprintf(out + n, cap - n, "%s%.*s", n ? ": " : "", (int)strcspn(at, marks[i][1]), at);
        n = n + (size_t)part < cap ? n + (size_t)part : cap - 1;
    }
    if (!n && a->body.len)
        snprintf(out, cap, "%.*s", (int)strcspn(a->body.data, "\r\n"), a->body.data);
    return out[0] ? out : NULL;
}

/* A hint, behind "; "; or nothing. */
static void advice(const struct http_request *r, const struct http_answer *a, const char *code,
                   char *out, size_t cap)
{
    const char *known = r->explain && *code ? r->explain(code) : NULL;
    out[0] = 0;
    if (known)
        snprintf(out, cap, "; %s", known);
    else if (a->status == 401 || a->status == 403)
        snprintf(out, cap, "; %s", r->hint);
    else if (a->status == 301 || (a->region[0] && a->status == 400))
        snprintf(out, cap, "; the bucket is in region %s: set AWS_REGION",
                 a->region[0] ? a->region : "(not given)");
    else if (a->status >= 500)
        snprintf(out, cap, "; all attempts failed: try again later");
    else if (a->status == 412)
        snprintf(out, cap, "; the file was changed while it was read");
}

enum skiff_status http_refused(const struct http_request *r, const struct http_answer *a,
                               struct skiff_error *err)
{
    char text[400], todo[400], code[64];
    const char *message = server_message(a, text, sizeof text);
    code_of(a, code, sizeof code);
    if (a->status == 404 && strcmp(code, "NoSuchBucket") != 0)
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: there is no such file or folder (%s at %s: status 404%s%s)", r->path,
                         r->method, a->host, message ? ", " : "", message ? message : "");
    advice(r, a, code, todo, sizeof todo);
    enum skiff_status status =
        error_set(err, SKIFF_IO, "%s: %s at %s answers with status %d%s%s%s", r->path, r->method,
                  a->host, a->status, message ? ": " : "", message ? message : "", todo);
    return mark_passing(status_may_pass(a->status), status, err);
}

enum skiff_status http_expect(struct http *h, struct http_request *r, struct http_answer *a,
                              struct skiff_error *err)
{
    TRY(http_run(h, r, a, err));
    return a->status >= 200 && a->status < 300 ? SKIFF_OK : http_refused(r, a, err);
}
