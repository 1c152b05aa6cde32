/* Memory for growing tables, requested ahead of need by a thread of its own (prepare.c). Only
 * files of server/ include this. */
#ifndef SERVER_PREPARE_H
#define SERVER_PREPARE_H

#include "base/error.h"

struct server;

enum skiff_status prepare_begin(struct server *s, struct skiff_error *err);
void prepare_end(struct server *s); /* before tables are destroyed */

#endif
