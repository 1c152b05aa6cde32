/* AWS signature version 4: credentials, the parts to be signed, and the resulting Authorization
 * header. */
#ifndef FS_SIGV4_H
#define FS_SIGV4_H

#include <stddef.h>

#include "base/buf.h"

struct sigv4 {
    const char *access_key, *secret_key;
    const char *region, *service;
    const char *time; /* 20130524T000000Z */
    const char *method;
    const char *path;    /* as it is sent, encoded; begins with / */
    const char *query;   /* as it is sent: encoded, sorted; "" for none */
    const char *headers; /* "name:value\n" lines: small letters, sorted; what is signed */
    const char *payload; /* SHA-256 of the body in hex */
};

/* Adds "AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...". */
void sigv4_sign(const struct sigv4 *s, struct buf *out);

#define SIGV4_HEX 65
void sigv4_hash(const void *bytes, size_t n, char out[SIGV4_HEX]);

#endif
