/* Exchange of bytes between workers, for operations over all datasets (global shuffle). Fleet's
 * workers have one over the network; other callers may supply their own. */
#ifndef SKIFF_EXCHANGE_H
#define SKIFF_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skiff_exchange {
    void *arg;
    int rank, size; /* this worker, all workers */
    /* All workers call it the same number of times. send[i], send_bytes[i] are for worker i (also
     * for this one) and borrowed for the call. On success recv[i] is what worker i sent: malloc'ed,
     * the caller frees it; NULL when it is empty. May block until all workers have called it. When
     * a worker is lost it fails, and nothing has to be freed. */
    enum skiff_status (*alltoall)(void *arg, const void *const *send, const size_t *send_bytes,
                                  void **recv, size_t *recv_bytes, struct skiff_error *err);
    /* Returns when all workers have called it. May block; fails when one of them is lost. */
    enum skiff_status (*barrier)(void *arg, struct skiff_error *err);
    uint64_t reserved[4];
};

#ifdef __cplusplus
}
#endif
#endif
