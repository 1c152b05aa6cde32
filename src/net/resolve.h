/* Names looked up beside the network thread, which must not wait for a name server. */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include <netdb.h>

#include "net/address.h"

struct resolve;

/* Begins; wake_fd (an eventfd, duplicated) is written to when it is done. NULL: no thread could be
 * started. Numbers are not looked up, but come out the same way. */
struct resolve *resolve_start(const struct address *a, int wake_fd);
/* Does not block. False: not yet. True: *out_list (freeaddrinfo; NULL: unknown) is the caller's,
 * and r is gone. */
bool resolve_done(struct resolve *r, struct addrinfo **out_list);
/* It is not wanted any more; NULL is fine. Does not wait. */
void resolve_forget(struct resolve *r);

#endif
