/* HTTP by libcurl, which is loaded on first use. A session keeps its connections and runs one
 * request at a time, with timeouts; transient errors are retried.
 *
 * A request is built anew for every attempt (build): signatures contain the time, and a download
 * resumes where it broke off. */
#ifndef FS_HTTP_H
#define FS_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct http; /* a session: one user at a time */

struct http_request {
    const char *path; /* the user's path, for messages */
    const char *hint; /* what to do about 401 and 403 */
    /* What to do about an error code of the server ("NoSuchBucket"); NULL: it says nothing. */
    const char *(*explain)(const char *code);
    const char *method;
    /* Fills url and headers ("Name: value" lines); called before every try. */
    enum skiff_status (*build)(struct http_request *r, struct buf *url, struct buf *headers,
                               struct skiff_error *err);
    void *arg;        /* build's */
    bool follow;      /* redirects, without a body only */
    const void *body; /* sent; or the file below */
    int body_fd;      /* used when body_len > 0 and body is NULL */
    int64_t body_len; /* -1: none at all */
    char *into;       /* the body of a success goes here, else into the answer's body */
    size_t into_cap, got;
    int want; /* status that `into` needs; 0: any 2xx */
    const atomic_bool *stop;
};

struct http_answer {
    int status;
    struct buf body; /* at most HTTP_BODY_MAX */
    char location[2048], etag[256], region[64], host[256];
    int64_t length; /* Content-Length; -1 */
    int64_t total;  /* of Content-Range: the size of the whole file; -1 */
};
#define HTTP_BODY_MAX ((size_t)64 << 20)

enum skiff_status http_open(struct http **out, struct skiff_error *err);
void http_close(struct http *h); /* NULL is fine */

/* OK for any final response: check its status. */
enum skiff_status http_run(struct http *h, struct http_request *r, struct http_answer *a,
                           struct skiff_error *err);
/* The same, but a status other than 2xx is an error: NOT_FOUND for 404 (but not of a bucket), IO
 * for others. Transient errors have sys_errno EIO, as a disk's have: saves retry after them. */
enum skiff_status http_expect(struct http *h, struct http_request *r, struct http_answer *a,
                              struct skiff_error *err);
enum skiff_status http_refused(const struct http_request *r, const struct http_answer *a,
                               struct skiff_error *err);
void http_answer_deinit(struct http_answer *a);

/* Seconds without a byte after which a transfer fails; for commands, too. */
int http_stall_seconds(void);

/* Percent-encodes everything except letters, digits and -._~; slashes stay when keep_slash. */
void http_encode(struct buf *b, const char *text, bool keep_slash);

#endif
