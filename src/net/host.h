/* Hosts and ports as the system knows them: asks the name service and the kernel, so calls may take
 * seconds. address.h is about the text alone. */
#ifndef NET_HOST_H
#define NET_HOST_H

#include <sys/socket.h>

#include "net/address.h"

/* NULL when the host has an address, else why not. */
const char *host_unknown(const struct address *a);
/* Do two names or addresses denote the same machine? */
bool host_same(const char *a, const char *b);
/* Does it denote this machine? */
bool host_is_here(const char *host);
/* The address of this machine from which it reaches another; out has ADDRESS_TEXT bytes. Sends
 * nothing. */
enum skiff_status host_toward(const struct address *peer, char *out, struct skiff_error *err);
/* Can other machines reach this "host:port"? Not when all its addresses are loopback ones. An
 * unknown name counts as one that can. */
bool host_is_reachable(const char *endpoint);
bool host_is_loopback(const struct sockaddr *a);
bool host_is_any(const struct sockaddr *a); /* 0.0.0.0, :: */

/* Is a TCP connection one of a socket with itself? An attempt to connect to a port of this machine
 * at which no process listens may be given that port as its local port. */
bool host_is_own_end(int fd);

/* n different ports at which no process listens now. */
enum skiff_status host_free_ports(int n, int *out, struct skiff_error *err);
/* Can this address be listened at now? Otherwise the error names the listener, if it is visible. */
enum skiff_status host_port_check(const char *endpoint, struct skiff_error *err);

#endif
