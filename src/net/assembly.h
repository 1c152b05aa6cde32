/* Assembles messages that arrive in parts. Parts may arrive in any order and more than once; a
 * message is returned when it is complete. A peer cannot take more memory than the budget, which
 * all peers of a node share, and a message without progress is dropped. Threads: one user at a
 * time. */
#ifndef NET_ASSEMBLY_H
#define NET_ASSEMBLY_H

#include "net/wire.h"

#define ASSEMBLIES_MAX 64 /* unfinished messages of one peer */

struct assembly_budget {
    uint64_t message_max; /* longest message that is accepted */
    size_t limit, used;   /* bytes of all unfinished messages */
    int64_t idle;         /* nanoseconds without a new part after which a message is dropped */
};

struct assembly;
struct assembly_set {
    struct assembly *first;
    size_t count;
    struct assembly_budget *budget;
};

void assembly_init(struct assembly_set *set, struct assembly_budget *budget);
void assembly_deinit(struct assembly_set *set);

/* Adds a part (h->parts > 1). *out is the complete message when this was the last missing part,
 * else NULL; the caller owns it. RANGE: too long or over the budget; FORMAT: it does not fit the
 * parts before it. The set stays usable. */
enum skiff_status assembly_add(struct assembly_set *set, const struct wire_head *h,
                               const uint8_t *body, int64_t now, struct blob **out,
                               struct skiff_error *err);
/* Drops messages that have been idle for too long; returns their number. */
size_t assembly_expire(struct assembly_set *set, int64_t now);

#endif
