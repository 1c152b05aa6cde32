#include "net/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum skiff_status parse_port(const char *text, const char *port, uint16_t *out,
                                    struct skiff_error *err)
{
    size_t n = strlen(port);
    if (n == 0 || n > 5 || strspn(port, "0123456789") != n || strtol(port, NULL, 10) > 65535)
        return error_set(err, SKIFF_INVALID,
                         "address '%s': the port must be a number from 0 to 65535, not '%s'", text,
                         port);
    *out = (uint16_t)strtol(port, NULL, 10);
    return SKIFF_OK;
}

/* The host's end in text, or NULL when there is no port after it. */
static const char *host_end(const char *text)
{
    if (*text != '[')
        return strrchr(text, ':');
    const char *close = strchr(text, ']');
    return close && close[1] == ':' ? close + 1 : NULL;
}

static bool host_is_name(const char *host)
{
    for (const char *p = host; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '.' && *p != '-' && *p != '_')
            return false;
    return true;
}

/* The host has a colon and is no IPv6 address in brackets: names the likely mistake. */
static enum skiff_status host_refuse(const char *text, struct skiff_error *err)
{
    if (strstr(text, "://"))
        return error_set(err, SKIFF_INVALID,
                         "address '%s': expected host:port alone, without %.*s://", text,
                         (int)(strstr(text, "://") - text), text);
    if (strpbrk(text, "; \t|"))
        return error_set(err, SKIFF_INVALID,
                         "address '%s': separate the addresses of a list by commas, as in "
                         "host:port,host:port",
                         text);
    if (strchr(text, '.'))
        return error_set(err, SKIFF_INVALID,
                         "address '%s' has more than one port; expected host:port, such as "
                         "10.0.0.1:6170",
                         text);
    return error_set(err, SKIFF_INVALID,
                     "address '%s': write an IPv6 address in brackets, as in [::1]:6170", text);
}

enum skiff_status address_parse(const char *text, struct address *out, struct skiff_error *err)
{
    struct address a = {.family = ADDRESS_NAME};
    const char *end = host_end(text);
    if (!end)
        return error_set(err, SKIFF_INVALID,
                         "address '%s' has no port; expected host:port, such as 10.0.0.1:6170 or "
                         "[::1]:6170",
                         text);
    bool brackets = *text == '[';
    const char *host = text + brackets;
    size_t n = (size_t)(end - text) - 2 * brackets;
    if (n >= sizeof a.host)
        return error_set(err, SKIFF_INVALID, "address '%.80s...': the host is too long", text);
    memcpy(a.host, host, n);
    TRY(parse_port(text, end + 1, &a.port, err));
    unsigned char number[16];
    if (brackets && inet_pton(AF_INET6, a.host, number) == 1) {
        a.family = ADDRESS_IPV6;
    } else if (brackets || strchr(a.host, ':')) {
        return host_refuse(text, err);
    } else if (n == 0 || strcmp(a.host, "*") == 0) {
        a.family = ADDRESS_ANY;
        strcpy(a.host, "*");
    } else if (inet_pton(AF_INET, a.host, number) == 1) {
        a.family = ADDRESS_IPV4;
    } else if (!host_is_name(a.host)) {
        return error_set(err, SKIFF_INVALID, "address '%s': '%s' is neither a name nor an address",
                         text, a.host);
    }
    *out = a;
    return SKIFF_OK;
}

void address_print(const struct address *a, char *out)
{
    bool brackets = a->family == ADDRESS_IPV6;
    snprintf(out, ADDRESS_TEXT, "%s%s%s:%u", brackets ? "[" : "", a->host, brackets ? "]" : "",
             a->port);
}
