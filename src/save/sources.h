/* Providers of small parts that have no file: where a job was and who was in it, for readers; no
 * load uses them so far. They are lines of the manifest, of the same instant as the values.
 *
 *   position: {epoch: 3, batches: 12, samples: 1200, complete: True}
 *
 * Those of a job, members and rpc, are the fleet's (fleet/epochs.h). */
#ifndef SAVE_SOURCES_H
#define SAVE_SOURCES_H

#include "save/save.h"

/* user: struct model_info. */
enum skiff_status save_write_position(void *user, struct save *s, struct skiff_error *err);

#endif
