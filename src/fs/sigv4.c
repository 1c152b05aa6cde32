#include "fs/sigv4.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/secret.h"

static void hex_of(const uint8_t bytes[SECRET_BYTES], char out[SIGV4_HEX])
{
    for (int i = 0; i < SECRET_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

void sigv4_hash(const void *bytes, size_t n, char out[SIGV4_HEX])
{
    uint8_t hash[SECRET_BYTES];
    secret_sha256(bytes, n, hash);
    hex_of(hash, out);
}

/* "host;range;x-amz-date" */
static void names_of(const char *headers, struct buf *out)
{
    for (const char *line = headers; *line; line = strchr(line, '\n') + 1) {
        if (line != headers)
            buf_char(out, ';');
        buf_add(out, line, strcspn(line, ":"));
    }
}

static void key_of(const struct sigv4 *s, const char *date, uint8_t out[SECRET_BYTES])
{
    const char *const steps[] = {date, s->region, s->service, "aws4_request"};
    struct buf first = BUF_INIT;
    buf_printf(&first, "AWS4%s", s->secret_key);
    secret_mac(first.data, first.len, steps[0], strlen(steps[0]), out);
    for (int i = 1; i < 4; i++) {
        uint8_t key[SECRET_BYTES];
        memcpy(key, out, sizeof key);
        secret_mac(key, sizeof key, steps[i], strlen(steps[i]), out);
        secret_wipe(key, sizeof key);
    }
    secret_wipe(first.data, first.len);
    buf_deinit(&first);
}

void sigv4_sign(const struct sigv4 *s, struct buf *out)
{
    struct buf names = BUF_INIT, request = BUF_INIT, text = BUF_INIT;
    char date[9], hash[SIGV4_HEX], signature[SIGV4_HEX];
    uint8_t key[SECRET_BYTES], mac[SECRET_BYTES];
    snprintf(date, sizeof date, "%.8s", s->time);
    names_of(s->headers, &names);
    buf_printf(&request, "%s\n%s\n%s\n%s\n%s\n%s", s->method, s->path, s->query, s->headers,
               names.data, s->payload);
    sigv4_hash(request.data, request.len, hash);
    buf_printf(&text, "AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n%s", s->time, date, s->region,
               s->service, hash);
    key_of(s, date, key);
    secret_mac(key, sizeof key, text.data, text.len, mac);
    hex_of(mac, signature);
    secret_wipe(key, sizeof key);
    buf_printf(out,
               "AWS4-HMAC-SHA256 Credential=%s/%s/%s/%s/aws4_request,SignedHeaders=%s,Signature=%s",
               s->access_key, date, s->region, s->service, names.data, signature);
    buf_deinit(&names);
    buf_deinit(&request);
    buf_deinit(&text);
}
