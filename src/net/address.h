/* Addresses as users write them: "10.0.0.1:6170", "ps-0.cluster:6170", "[::1]:6170"; to listen on
 * also "*:6170" (every interface, IPv4 and IPv6) and port 0 (any free port). */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define ADDRESS_TEXT 288

enum address_family { ADDRESS_NAME, ADDRESS_IPV4, ADDRESS_IPV6, ADDRESS_ANY };

struct address {
    enum address_family family;
    char host[256]; /* without brackets; "*" for ADDRESS_ANY */
    uint16_t port;
};

/* Reads only the text: asks no name server, never blocks. */
enum skiff_status address_parse(const char *text, struct address *out, struct skiff_error *err);
/* "host:port", "[host]:port"; out has room for ADDRESS_TEXT bytes. */
void address_print(const struct address *a, char *out);

#endif
