/* Bytes between workers, for global_shuffle: messages that server 0 keeps until they are fetched.
 */
#include "fleet/fleet_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void free_letters(void **recv, int n)
{
    for (int i = 0; i < n; i++) {
        free(recv[i]);
        recv[i] = NULL;
    }
}

static enum skiff_status send_all(struct skiff_fleet *f, struct session *s, const char *tag,
                                  const void *const *send, const size_t *bytes,
                                  struct skiff_error *err)
{
    for (int k = 1; k < f->role.workers; k++) { /* everybody begins with another one */
        int to = (f->role.id + k) % f->role.workers;
        TRY(session_message_put(s, to, tag, send[to], bytes[to], err));
    }
    return SKIFF_OK;
}

static enum skiff_status take_all(struct skiff_fleet *f, struct session *s, const char *tag,
                                  void **recv, size_t *bytes, struct skiff_error *err)
{
    for (int from = 0; from < f->role.workers; from++) {
        if (from == f->role.id)
            continue;
        TRY(session_message_take(s, from, tag, &recv[from], &bytes[from], err));
        if (!bytes[from]) {
            free(recv[from]);
            recv[from] = NULL;
        }
    }
    return SKIFF_OK;
}

static enum skiff_status alltoall(void *arg, const void *const *send, const size_t *send_bytes,
                                  void **recv, size_t *recv_bytes, struct skiff_error *err)
{
    struct skiff_fleet *f = arg;
    struct session *s = NULL;
    int me = f->role.id, n = f->role.workers;
    char tag[64];
    if (n > 1)
        TRY(fleet_need_session(f, "global_shuffle", &s, err));
    snprintf(tag, sizeof(tag), "exchange.%u", f->meetings++);
    memset(recv, 0, (size_t)n * sizeof(*recv));
    memset(recv_bytes, 0, (size_t)n * sizeof(*recv_bytes));
    if (send_bytes[me]) {
        recv[me] = mem_alloc_or_die(send_bytes[me]);
        memcpy(recv[me], send[me], send_bytes[me]);
        recv_bytes[me] = send_bytes[me];
    }
    enum skiff_status status = n > 1 ? send_all(f, s, tag, send, send_bytes, err) : SKIFF_OK;
    if (status == SKIFF_OK && n > 1)
        status = take_all(f, s, tag, recv, recv_bytes, err);
    if (status < 0)
        free_letters(recv, n);
    return status;
}

static enum skiff_status barrier(void *arg, struct skiff_error *err)
{
    return skiff_fleet_barrier_worker(arg, err);
}

enum skiff_status skiff_fleet_exchange(struct skiff_fleet *f, struct skiff_exchange *out,
                                       struct skiff_error *err)
{
    struct session *s;
    TRY(fleet_need_init(f, "exchange", err));
    if (f->role.workers > 1)
        TRY(fleet_need_session(f, "exchange", &s, err));
    *out = (struct skiff_exchange){.arg = f,
                                   .rank = f->role.id,
                                   .size = f->role.workers,
                                   .alltoall = alltoall,
                                   .barrier = barrier};
    return SKIFF_OK;
}

enum skiff_status skiff_fleet_global_shuffle(struct skiff_fleet *f, struct skiff_dataset *d,
                                             uint64_t seed, struct skiff_error *err)
{
    struct skiff_exchange exchange;
    TRY(skiff_fleet_exchange(f, &exchange, err));
    TRY(skiff_fleet_barrier_worker(
        f, err)); /* sync mode: no worker may train while others wait for messages */
    return skiff_dataset_global_shuffle(d, &exchange, seed, err);
}
