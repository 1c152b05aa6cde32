#include "net/account.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

struct account {
    atomic_uint refs; /* the table's or the owner's, and one per body on its way */
    atomic_size_t bytes;
    atomic_bool wanted; /* account_full said yes: tell when there is room */
    size_t limit;
    int wake_fd;
    struct account *next; /* of its bucket */
    transport_peer peer;
};

void accounts_init(struct account_table *t, size_t limit, int wake_fd)
{
    *t = (struct account_table){.sweep_at = ACCOUNT_BUCKETS, .limit = limit, .wake_fd = wake_fd};
}

struct account *account_create(const struct account_table *t, transport_peer peer)
{
    struct account *a = mem_must(sizeof *a);
    atomic_init(&a->refs, 1);
    a->limit = t->limit;
    a->wake_fd = t->wake_fd;
    a->peer = peer;
    return a;
}

void account_unref(struct account *a)
{
    if (atomic_fetch_sub(&a->refs, 1) == 1)
        free(a);
}

static void sweep(struct account_table *t, bool all)
{
    for (size_t i = 0; i < ACCOUNT_BUCKETS; i++)
        for (struct account **at = &t->bucket[i]; *at;) {
            struct account *a = *at;
            if (all || atomic_load(&a->bytes) == 0) {
                *at = a->next;
                account_unref(a);
                t->n--;
            } else {
                at = &a->next;
            }
        }
    t->sweep_at = 2 * t->n + ACCOUNT_BUCKETS;
}

void accounts_deinit(struct account_table *t)
{
    sweep(t, true);
}

static struct account *const *place(const struct account_table *t, transport_peer peer)
{
    struct account *const *at = &t->bucket[peer % ACCOUNT_BUCKETS];
    while (*at && (*at)->peer != peer)
        at = &(*at)->next;
    return at;
}

struct account *account_find(const struct account_table *t, transport_peer peer)
{
    return *place(t, peer);
}

/* Peers come and go; accounts that nothing is on its way for are made anew when needed. */
struct account *account_of(struct account_table *t, transport_peer peer)
{
    if (t->n >= t->sweep_at)
        sweep(t, false);
    struct account *a = account_find(t, peer);
    if (!a) {
        struct account **at = (struct account **)place(t, peer);
        a = *at = account_create(t, peer);
        t->n++;
    }
    return a;
}

bool account_full(struct account *a)
{
    if (atomic_load(&a->bytes) < a->limit)
        return false;
    atomic_store(&a->wanted, true);
    return atomic_load(&a->bytes) >= a->limit; /* it may have emptied in between */
}

size_t account_bytes(const struct account *a)
{
    return a ? atomic_load(&((struct account *)a)->bytes) : 0;
}

void account_wake(int fd)
{
    uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof one); /* full: somebody will wake up anyway */
    (void)n;
}

/* ---- loans ---- */

struct loan {
    struct blob *body;
    struct account *account;
    size_t bytes;
    atomic_bool lent; /* hands the fields to the library's thread */
};

struct loan *loan_create(struct account *a, struct blob *body, size_t bytes)
{
    struct loan *loan = mem_must(sizeof *loan);
    *loan = (struct loan){blob_ref(body), a, bytes, false};
    atomic_store(&loan->lent, true);
    atomic_fetch_add(&a->refs, 1);
    atomic_fetch_add(&a->bytes, bytes);
    return loan;
}

void loan_end(void *data, void *hint)
{
    struct loan *loan = hint;
    atomic_load(&loan->lent);
    struct account *a = loan->account;
    size_t left = atomic_fetch_sub(&a->bytes, loan->bytes) - loan->bytes;
    if (left <= a->limit / 2 && atomic_exchange(&a->wanted, false))
        account_wake(a->wake_fd);
    blob_unref(loan->body);
    account_unref(a);
    free(loan);
}
