/* Server 0: samples trained, by worker and process (ledger.c). The reduction state's lock is held,
 * but for the handler. Only files of server/ include this. */
#ifndef SERVER_LEDGER_H
#define SERVER_LEDGER_H

#include "net/rpc.h"

struct ledger;

struct ledger *ledger_create(void);
void ledger_destroy(struct ledger *l); /* NULL is a no-op */
void on_trained(void *self, struct rpc_request *q);
/* The newest epoch that a process has reported; false: none. */
bool ledger_latest(const struct ledger *l, uint32_t worker, uint64_t incarnation, int64_t *epoch,
                   uint64_t *samples);

#endif
