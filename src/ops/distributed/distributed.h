/* Shared by the files of split programs' ops: positions of attributes, and the kernels of the table
 * in ops_distributed.c. */
#ifndef OPS_DISTRIBUTED_H
#define OPS_DISTRIBUTED_H

#include "ops/ops_common.h"
#include "program/job.h"

enum {
    SEND_TRAINER,
    SEND_EPMAP,
    SEND_SECTIONS,
    SEND_NAMES,
    SEND_NUM,
    SEND_ADD,
    SEND_HANDLER,
    SEND_SHARDS
};
enum { RECV_EPMAP, RECV_TRAINER, RECV_BARRIER, RECV_VARNAMES, RECV_NAMES, RECV_SKIP };
enum { NOTIFY_EPMAP, NOTIFY_DIR, NOTIFY_TABLE };
enum { REPLACES_LOOKUP = 1 }; /* op_kind.arg: stands in the place of a look-up that names a table */
enum {
    SAVE_DTYPE,
    SAVE_OVERWRITE,
    SAVE_PATH,
    SAVE_SHAPE,
    SAVE_SLICES,
    SAVE_REMOTE,
    SAVE_SLICE_SHAPES,
    SAVE_ENDPOINTS
};
enum {
    TABLE_NAMES,
    TABLE_SECTIONS,
    TABLE_ENDPOINTS,
    TABLE_TRAINER,
    TABLE_VERSION,
    TABLE_PADDING,
    TABLE_DTYPE,
    TABLE_SHARDS
};
enum { TABLE_IDS, TABLE_W };

static inline size_t row_bytes(const struct tensor *t)
{
    return (size_t)shape_cols(&t->shape, 1) * dtype_size(t->dtype);
}

/* The job of the running program; an error with the reason if it has none. */
enum skiff_status kernel_job(const struct kernel *k, struct job **out, struct skiff_error *err);
/* The job has no such function for this role. */
enum skiff_status job_lacks(const struct kernel *k, struct skiff_error *err);

enum skiff_status send_run(struct kernel *k, struct skiff_error *err);
enum skiff_status recv_run(struct kernel *k, struct skiff_error *err);
enum skiff_status send_barrier_run(struct kernel *k, struct skiff_error *err);
enum skiff_status fetch_barrier_run(struct kernel *k, struct skiff_error *err);
enum skiff_status serve_run(struct kernel *k, struct skiff_error *err);
enum skiff_status notify_run(struct kernel *k, struct skiff_error *err);
enum skiff_status recv_save_run(struct kernel *k, struct skiff_error *err);

enum skiff_status split_byref_run(struct kernel *k, struct skiff_error *err);
enum skiff_status split_rows_run(struct kernel *k, struct skiff_error *err);
enum skiff_status ref_by_trainer_run(struct kernel *k, struct skiff_error *err);
enum skiff_status fake_init_run(struct kernel *k, struct skiff_error *err);

/* distributed_rows.c: state that a kernel of rows on servers keeps between runs; the state of these
 * kernels begins with it. Names are resolved when it is made. */
struct remote {
    struct id_map map;
    const char *name;              /* of the table; NULL: the op has none */
    const struct skiff_var *table; /* as it is declared; NULL: it is not */
    const struct skiff_op *grad;   /* of the look-up that prefetch and merge_ids replace, or NULL */
};
void remote_init(struct remote *r, const struct kernel *k);
enum skiff_status remote_prepare(struct kernel *k, struct skiff_error *err);
void remote_destroy(struct kernel *k);
/* The declared shape of the table, which has no memory here; its slices by the op's attributes,
 * which fit together; and all that a look-up begins with: the job, the table's shape, the number of
 * ids in all lists. */
enum skiff_status table_shape(const struct kernel *k, struct shape *out, struct skiff_error *err);
struct job_slices table_slices(const struct kernel *k, const char *origin);
enum skiff_status check_slices(const struct kernel *k, struct skiff_error *err);
enum skiff_status lookup_begin(const struct kernel *k, struct job **j, struct shape *w,
                               int64_t *total, struct skiff_error *err);

enum skiff_status table_run(struct kernel *k, struct skiff_error *err);
enum skiff_status split_ids_run(struct kernel *k, struct skiff_error *err);
enum skiff_status prefetch_run(struct kernel *k, struct skiff_error *err);
enum skiff_status merge_ids_run(struct kernel *k, struct skiff_error *err);

/* push_sparse.c */
enum skiff_status push_sparse_run(struct kernel *k, struct skiff_error *err);

/* pull_rows.c */
enum skiff_status pull_rows_prepare(struct kernel *k, struct skiff_error *err);
void pull_rows_destroy(struct kernel *k);
void pull_rows_prefetch(struct kernel *k, const struct kernel_later *later);
enum skiff_status pull_rows_run(struct kernel *k, struct skiff_error *err);
enum skiff_status rows_home_run(struct kernel *k, struct skiff_error *err);

#endif
