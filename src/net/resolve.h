/* Looks up names on other threads, because the network thread must not wait for a name server. */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include <netdb.h>

#include "net/address.h"

struct resolve;

/* Begins; wake_fd (an eventfd, duplicated) is written to when it is done. NULL: no thread could be
 * started. Numeric addresses are not looked up, but are returned in the same way. */
struct resolve *resolve_start(const struct address *a, int wake_fd);
/* Does not block. False: not yet. True: the caller owns *out_list (freeaddrinfo; NULL: unknown),
 * and r is freed. */
bool resolve_done(struct resolve *r, struct addrinfo **out_list);
/* The result is no longer needed; NULL is a no-op. Does not wait. */
void resolve_forget(struct resolve *r);

#endif
