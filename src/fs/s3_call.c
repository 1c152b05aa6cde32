/* One request to S3: address, signed headers, and hints for S3's error codes.
 *
 * A custom endpoint gets the bucket in the path, as does a bucket with a dot in its name: the
 * certificate of AWS covers only one label before .s3. Headers are listed in the order in which
 * they are signed. Without keys a request is not signed, so public buckets can be read. Called
 * before every attempt, since the signature contains the time. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fs/s3.h"
#include "fs/sigv4.h"

#define EMPTY_HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const char *env_of(const char *a, const char *b, const char *c, const char *otherwise)
{
    const char *const names[] = {a, b, c};
    for (int i = 0; i < 3; i++)
        if (names[i] && getenv(names[i]) && *getenv(names[i]))
            return getenv(names[i]);
    return otherwise;
}

bool s3_split(const char *path, char *bucket, size_t cap, const char **key)
{
    const char *at = strstr(path, "://");
    size_t n = at ? strcspn(at + 3, "/") : 0;
    if (n == 0 || n >= cap)
        return false;
    memcpy(bucket, at + 3, n);
    bucket[n] = 0;
    *key = at + 3 + n;
    *key += **key == '/';
    return true;
}

/* Scheme and host into `site`, the encoded path into `path`. */
static enum skiff_status location_of(const struct s3_call *c, const char *region, struct buf *site,
                                     struct buf *path, struct skiff_error *err)
{
    char bucket[128];
    const char *key, *endpoint = c->fs->settings.uri;
    if (!s3_split(c->path, bucket, sizeof bucket, &key))
        return error_set(err, SKIFF_INVALID, "%s: no bucket; write s3://bucket/key", c->path);
    key = c->key ? c->key : key;
    if (strncmp(endpoint, "http", 4))
        endpoint = env_of("SKIFF_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "");
    if (*endpoint) {
        const char *host = strstr(endpoint, "://");
        if (!host)
            return error_set(err, SKIFF_INVALID,
                             "%s: the endpoint of S3 is \"%s\"; write http://host:port or "
                             "https://host (SKIFF_S3_ENDPOINT)",
                             c->path, endpoint);
        size_t n = (size_t)(host - endpoint) + 3 + strcspn(host + 3, "/");
        buf_add(site, endpoint, n);
        buf_str(path, endpoint + n);
        while (path->len && path->data[path->len - 1] == '/')
            path->data[--path->len] = 0;
        buf_printf(path, "/%s/", bucket);
    } else if (strchr(bucket, '.')) { /* its certificate holds for one name before .s3 only */
        buf_printf(site, "https://s3.%s.amazonaws.com", region);
        buf_printf(path, "/%s/", bucket);
    } else {
        buf_printf(site, "https://%s.s3.%s.amazonaws.com", bucket, region);
        buf_char(path, '/');
    }
    http_encode(path, key, true);
    return SKIFF_OK;
}

/* Headers in the order in which they are signed, "name:value\n". */
static void signed_headers(const struct s3_call *c, const char *host, const char *payload,
                           const char *when, struct buf *out)
{
    const char *token = env_of("AWS_SESSION_TOKEN", NULL, NULL, NULL);
    buf_printf(out, "host:%s\nx-amz-content-sha256:%s\n", host, payload);
    if (c->copy_source)
        buf_printf(out, "x-amz-copy-source:%s\n", c->copy_source);
    if (c->copy_source && c->first >= 0)
        buf_printf(out, "x-amz-copy-source-range:bytes=%lld-%lld\n", (long long)c->first,
                   (long long)(c->first + c->count - 1));
    buf_printf(out, "x-amz-date:%s\n", when);
    if (token && !c->fs->settings.user[0])
        buf_printf(out, "x-amz-security-token:%s\n", token);
}

static enum skiff_status build(struct http_request *r, struct buf *url, struct buf *headers,
                               struct skiff_error *err)
{
    const struct s3_call *c = r->arg;
    const struct fs_settings *s = &c->fs->settings;
    const char *region = env_of("AWS_REGION", "AWS_DEFAULT_REGION", NULL, "us-east-1");
    const char *payload = c->payload[0] ? c->payload : EMPTY_HASH;
    struct buf path = BUF_INIT;
    char when[32];
    time_t now = (time_t)(clock_real() / CLOCK_SECOND);
    struct tm tm;
    enum skiff_status status = location_of(c, region, url, &path, err);
    if (status < 0)
        goto out;
    strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
    signed_headers(c, strstr(url->data, "://") + 3, payload, when, headers);
    struct sigv4 sign = {
        .access_key = s->user[0] ? s->user : env_of("AWS_ACCESS_KEY_ID", NULL, NULL, ""),
        .secret_key = s->user[0] ? s->passwd : env_of("AWS_SECRET_ACCESS_KEY", NULL, NULL, ""),
        .region = region,
        .service = "s3",
        .time = when,
        .method = r->method,
        .path = path.data,
        .query = c->query ? c->query : "",
        .payload = payload,
    };
    struct buf signature = BUF_INIT;
    sign.headers = headers->data;
    if (sign.access_key[0]) /* without keys nothing is signed: what is public can be read */
        sigv4_sign(&sign, &signature);
    if (signature.len)
        buf_printf(headers, "authorization:%s\n", signature.data);
    if (c->first >= 0 && !c->copy_source)
        buf_printf(headers, "range:bytes=%lld-%lld\n", (long long)c->first + (long long)r->got,
                   (long long)(c->first + c->count - 1));
    if (c->etag && *c->etag)
        buf_printf(headers, "if-match:%s\n", c->etag);
    buf_str(url, path.data);
    if (c->query)
        buf_printf(url, "?%s", c->query);
    buf_deinit(&signature);
out:
    buf_deinit(&path);
    return status;
}

static const char *explain(const char *code)
{
    static const char *const known[][2] = {
        {"NoSuchBucket", "there is no such bucket: create it, or correct its name, "
                         "SKIFF_S3_ENDPOINT or AWS_REGION"},
        {"AccessDenied", "these keys have no right to do that: the bucket's owner must allow "
                         "s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject (without "
                         "AWS_ACCESS_KEY_ID requests are not signed)"},
        {"InvalidAccessKeyId", "the server does not know this access key: check "
                               "AWS_ACCESS_KEY_ID, and that SKIFF_S3_ENDPOINT is its server"},
        {"SignatureDoesNotMatch", "the secret key is not that of the access key: check "
                                  "AWS_SECRET_ACCESS_KEY, and AWS_REGION"},
        {"RequestTimeTooSkewed", "this machine's clock is wrong: set it"},
        {"ExpiredToken", "the session has expired: get new keys and a new AWS_SESSION_TOKEN"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(code, known[i][0]))
            return known[i][1];
    return NULL;
}

struct http_request s3_request(struct s3_call *c, const char *method)
{
    return (struct http_request){
        .path = c->path,
        .hint =
            "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, the rights on the bucket, and this "
            "machine's clock",
        .explain = explain,
        .method = method,
        .build = build,
        .arg = c,
        .body_len = -1,
    };
}

bool s3_tag(const char **at, const char *end, const char *tag, const char **text, size_t *n)
{
    char open[64], close[64];
    snprintf(open, sizeof open, "<%s>", tag);
    snprintf(close, sizeof close, "</%s>", tag);
    const char *from =
        end ? memmem(*at, (size_t)(end - *at), open, strlen(open)) : strstr(*at, open);
    if (!from)
        return false;
    from += strlen(open);
    const char *to =
        end ? memmem(from, (size_t)(end - from), close, strlen(close)) : strstr(from, close);
    if (!to)
        return false;
    *text = from;
    *n = (size_t)(to - from);
    *at = to + strlen(close);
    return true;
}

static void add_utf8(struct buf *b, unsigned long c)
{
    if (c < 0x80)
        buf_char(b, (char)c);
    else if (c < 0x800)
        buf_printf(b, "%c%c", (int)(0xC0 | c >> 6), (int)(0x80 | (c & 63)));
    else
        buf_printf(b, "%c%c%c", (int)(0xE0 | (c >> 12 & 15)), (int)(0x80 | (c >> 6 & 63)),
                   (int)(0x80 | (c & 63)));
}

/* The ; of "&#x1F600;", or NULL. */
static const char *number_end(const char *text, const char *end)
{
    return memchr(text, ';', end - text < 10 ? (size_t)(end - text) : 10);
}

void s3_text(struct buf *b, const char *text, size_t n)
{
    static const char *const words[][2] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}};
    for (const char *end = text + n; text < end;) {
        size_t i = 0;
        while (i < 5 && strncmp(text, words[i][0], strlen(words[i][0])))
            i++;
        if (i < 5) {
            buf_str(b, words[i][1]);
            text += strlen(words[i][0]);
        } else if (!strncmp(text, "&#", 2) && number_end(text, end)) {
            bool hex = text[2] == 'x';
            add_utf8(b, strtoul(text + 2 + hex, NULL, hex ? 16 : 10));
            text = number_end(text, end) + 1;
        } else
            buf_char(b, *text++);
    }
}
