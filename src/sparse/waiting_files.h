/* Ids that wait for admission to a sparse table, in our own saves:
 * <folder>/__lookup_table__/<table>.waiting.pserver_<server>.<piece>, SelectedRows with the id as
 * row (table/admission.h), written by any number of servers. */
#ifndef SPARSE_WAITING_FILES_H
#define SPARSE_WAITING_FILES_H

#include "sparse/sparse.h"
#include "table/admission.h"

struct waiting_list {
    struct waiting_id *ids;
    size_t n, cap;
};

/* Adds those of this server. No files, or a missing folder: none. */
enum skiff_status waiting_files_read(struct sparse_table *t, const char *folder,
                                     struct waiting_list *out, struct skiff_error *err);
/* Adds ids first .. first + n of the list; the shard's lock is held. */
enum skiff_status waiting_list_put(struct sparse_table *t, const struct waiting_list *l,
                                   size_t first, size_t n, struct skiff_error *err);
void waiting_list_deinit(struct waiting_list *l);

#endif
