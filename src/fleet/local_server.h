/* A server inside the worker: what PsLocalServer is to Paddle. A job of one worker without server
 * processes keeps its tables in one, a worker of a GEO job the rows that it uses of distributed
 * tables, so that everything that servers do with tables (rows by any
 * id, admission, expiry, saves) is there without servers. No port, no secret: trainer and server
 * talk through queues of this process (net/transport.h, inproc). */
#ifndef FLEET_LOCAL_SERVER_H
#define FLEET_LOCAL_SERVER_H

#include "comm/comm.h"
#include "fleet/job_server.h"
#include "passes/split.h"

#define LOCAL_ENDPOINT SPLIT_OWN_ENDPOINT /* a name inside the queues */

/* o: as for job_server_create; the plan is taken over. What *out tells comm_create: the server
 * begins when the trainer first needs it, and ends with the trainer's job. */
enum skiff_status local_server_create(const struct job_server_options *o, struct comm_host *out,
                                      struct skiff_error *err);

#endif
