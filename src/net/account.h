/* Accounts: how many bytes of bodies a transport's library holds for each peer, until they have
 * left. send looks at it before it says that a peer is full; who was told so is woken when half of
 * the limit is free again. */
#ifndef NET_ACCOUNT_H
#define NET_ACCOUNT_H

#include <stdatomic.h>

#include "net/transport.h"

#define ACCOUNT_BUCKETS 256

struct account;

/* The accounts of peers that came to us. Used by one thread; loans may end on any. */
struct account_table {
    struct account *bucket[ACCOUNT_BUCKETS];
    size_t n, sweep_at, limit;
    int wake_fd; /* an eventfd */
};

void accounts_init(struct account_table *t, size_t limit, int wake_fd);
void accounts_deinit(struct account_table *t); /* accounts live on as long as they have loans */
/* Made when it is not there. Borrowed, until the next call. */
struct account *account_of(struct account_table *t, transport_peer peer);
struct account *account_find(const struct account_table *t, transport_peer peer); /* or NULL */

/* One that is not in the table, with the same limit; the caller's reference. */
struct account *account_create(const struct account_table *t, transport_peer peer);
void account_unref(struct account *a);

/* True: no room; wake_fd is written to when there is some. */
bool account_full(struct account *a);
size_t account_bytes(const struct account *a); /* NULL: 0 */

/* A body that is lent to the library, which calls loan_end from any thread. */
struct loan;
struct loan *loan_create(struct account *a, struct blob *body, size_t bytes);
void loan_end(void *data, void *loan);

void account_wake(int fd); /* any thread; does not block */

#endif
