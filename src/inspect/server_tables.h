/* The tables of a running job and what its servers have counted, as they are now. The asking
 * process is a read-only observer (fleet/observer.h): servers answer every process that holds the
 * job's secret and do not count it as a member. */
#ifndef INSPECT_SERVER_TABLES_H
#define INSPECT_SERVER_TABLES_H

#include "fleet/observer.h"
#include "metrics/metrics.h"
#include "net/ps.h"

struct server_tables { /* of one server */
    struct ps_table_info *tables;
    uint32_t n;
};

/* servers: all of the job, in its order. NOT_FOUND: the job has no tables. *out: n of them. */
enum skiff_status server_tables_ask(const struct observer_identity *who, char *const *servers,
                                    int n, struct server_tables **out, struct skiff_error *err);
void server_tables_deinit(struct server_tables *answers, int n);
/* What the servers have counted, added to a snapshot; the label `server` says which. */
enum skiff_status server_metrics_ask(const struct observer_identity *who, char *const *servers,
                                     int n, struct metrics_snapshot *out, struct skiff_error *err);
/* NULL: the server has no such table. */
const struct ps_table_info *server_tables_find(const struct server_tables *a, const char *table);

#endif
