/* What a server says about itself and about waits (status.c). Only files of server/ include
 * this. */
#ifndef SERVER_STATUS_H
#define SERVER_STATUS_H

#include "net/ps.h"
#include "net/rpc.h"

void on_status(void *self, struct rpc_request *q);
/* A wait that began then; false: none (CLOCK_NEVER). Missing workers are added after it. */
bool status_wait_begin(struct ps_status *x, const char *what, int64_t since);
void status_wait_add(struct ps_status *x, uint32_t worker);

#endif
