/* Ops of split programs (passes/split.h): what trainers and servers say to each other. Slots,
 * attributes and defaults are those of Paddle 1.8.5, for programs of both generations.
 *   send, recv                    variables to and from servers
 *   send_barrier, fetch_barrier   all trainers have sent, have received
 *   listen_and_serv               the server: one block per parameter slice
 *   split_byref, split_selected_rows    a gradient cut by rows
 *   distributed_lookup_table      rows of a table cut by row ranges, for all its look-ups at once;
 *                                 of a sparse table (2.x)
 *   distributed_push_sparse       what a batch pushes to a sparse table (2.x)
 *   split_ids, prefetch, merge_ids      rows of a table cut by id modulo servers
 *   lookup_sparse_table           such a table's rows on its server
 *   fake_init                     a table that the trainer does not hold
 *   ref_by_trainer_id             DC-ASGD: what that trainer pulled last
 *   checkpoint_notify, recv_save  saving what the servers hold
 *   pull_rows, rows_home          internal: all rows of a batch as a small local table
 * The rules below are for building; kernels are in distributed_job.c and distributed_rows.c. */
#include <string.h>

#include "ops/distributed/distributed.h"

static enum skiff_status no_shapes(struct infer *c, struct skiff_error *err)
{
    return SKIFF_OK;
}

/* Rows of a table that is keyed by id: servers look them up by themselves. */
static enum skiff_status servers_only(struct kernel *k, struct skiff_error *err)
{
    return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                       "runs only in a distributed job, inside a parameter server");
}

/* Output i = X with `rows[i]` rows. */
static enum skiff_status cut_rows(struct infer *c, int i, int64_t rows, struct skiff_error *err)
{
    struct shape shape = *infer_in(c, 0, 0);
    shape.dims[0] = rows;
    if (infer_in_is_rows(c, 0, 0))
        infer_out_kind(c, 0, i, VAR_SELECTED_ROWS);
    return infer_out(c, 0, i, infer_in_dtype(c, 0, 0), &shape, err);
}

static enum skiff_status check_sections(const struct infer *c, const char *name,
                                        struct skiff_error *err)
{
    const struct shape *x = infer_in(c, 0, 0);
    if (!x || x->ndim < 1)
        return infer_fail(c, 0, 0, err, "rows are needed to cut");
    if (c->attr[0].n != infer_out_count(c, 0))
        return infer_fail(c, 0, 0, err, "%s has %d numbers for %d outputs", name, c->attr[0].n,
                          infer_out_count(c, 0));
    return SKIFF_OK;
}

static enum skiff_status split_byref_infer(struct infer *c, struct skiff_error *err)
{
    TRY(check_sections(c, "sections", err));
    for (int i = 0; i < infer_out_count(c, 0); i++)
        TRY(cut_rows(c, i, c->attr[0].ints[i], err));
    return SKIFF_OK;
}

static enum skiff_status split_rows_infer(struct infer *c, struct skiff_error *err)
{
    TRY(check_sections(c, "height_sections", err));
    for (int i = 0; i < infer_out_count(c, 0); i++)
        TRY(cut_rows(c, i, c->attr[0].longs[i], err));
    return SKIFF_OK;
}

/* lookup_table: Ids [.., 1] -> [.., width]; lookup_table_v2: Ids [..] -> [.., width] */
static enum skiff_status table_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *w = infer_in(c, TABLE_W, 0);
    bool v2 = !strcmp(c->attr[TABLE_VERSION].s, "lookup_table_v2");
    if (!w || w->ndim != 2)
        return infer_fail(c, TABLE_W, 0, err, "a table has two dims");
    if (infer_in_count(c, TABLE_IDS) != infer_out_count(c, 0))
        return infer_fail(c, TABLE_IDS, 0, err, "%d lists of ids for %d outputs",
                          infer_in_count(c, TABLE_IDS), infer_out_count(c, 0));
    int64_t width = w->dims[1];
    enum dtype dtype = infer_in_dtype(c, TABLE_W, 0);
    for (int i = 0; i < infer_out_count(c, 0); i++) {
        const struct shape *ids = infer_in(c, TABLE_IDS, i);
        if (!ids || ids->ndim < 1 || ids->ndim >= TENSOR_MAX_DIMS)
            return infer_fail(c, TABLE_IDS, i, err, "ids have 1 to %d dims", TENSOR_MAX_DIMS - 1);
        struct shape out = *ids;
        if (v2)
            out.dims[out.ndim++] = width;
        else
            out.dims[out.ndim - 1] = width;
        TRY(infer_out(c, 0, i, dtype, &out, err));
        infer_share_lod(c, TABLE_IDS, i, 0, i);
    }
    return SKIFF_OK;
}

/* Paddle's rule gives as many rows as Ids has dims; the number is determined at run time. */
static enum skiff_status sparse_table_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *w = infer_in(c, 0, 0), *ids = infer_in(c, 1, 0);
    if (!w || w->ndim != 2 || !ids)
        return infer_fail(c, 0, 0, err, "a table has two dims");
    struct shape out = SHAPE(ids->ndim, w->dims[1]);
    return infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &out, err);
}

static enum skiff_status fake_init_infer(struct infer *c, struct skiff_error *err)
{
    if (c->attr[0].n > TENSOR_MAX_DIMS)
        return infer_fail(c, -1, 0, err, "shape has %d dims; at most %d", c->attr[0].n,
                          TENSOR_MAX_DIMS);
    struct shape shape = shape_of(c->attr[0].n, c->attr[0].longs);
    return infer_out(c, 0, 0, DTYPE_FP32, &shape, err);
}

/* ---- table ---- */

static const char *const default_endpoint[] = {"127.0.0.1:6164"};
static const char *const default_table[] = {""};
#define A_ENDPOINTS(attr)                                                                 \
    {                                                                                     \
        .name = attr, .type = ATTR_STRINGS, .def = {.n = 1, .strings = default_endpoint } \
    }

/* of sparse tables; other programs never have it */
#define A_SHARDS                                                 \
    {                                                            \
        .name = "shards", .type = ATTR_INT, .flags = ATTR_HIDDEN \
    }

static const struct op_slot nothing[] = {{0}};
static const struct op_slot x_list[] = {{"X", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot x_one[] = {{"X", 0}, {0}};
static const struct op_slot out_list[] = {{"Out", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot out_one[] = {{"Out", 0}, {0}};
static const struct op_slot ids_list[] = {{"Ids", SLOT_LIST}, {0}};
static const struct op_slot table_ins[] = {{"Ids", SLOT_LIST}, {"W", 0}, {0}};
static const struct op_slot table_outs[] = {{"Outputs", SLOT_LIST}, {0}};
static const struct op_slot pull_outs[] = {{"Table", 0}, {"Rows", 0}, {"Local", SLOT_LIST}, {0}};
static const struct op_slot push_ins[] = {{"Ids", SLOT_LIST},        {"W", SLOT_SHAPE_ONLY},
                                          {"Outputs", SLOT_LIST},    {"Shows", SLOT_OPTIONAL},
                                          {"Clicks", SLOT_OPTIONAL}, {0}};
static const struct op_slot home_ins[] = {{"X", 0}, {"Rows", 0}, {0}};
static const struct op_slot merge_ins[] = {
    {"Ids", SLOT_LIST}, {"Rows", SLOT_LIST}, {"X", SLOT_LIST}, {0}};
static const struct op_slot sparse_table_ins[] = {{"W", 0}, {"Ids", 0}, {0}};
static const struct op_slot by_trainer_ins[] = {{"X", SLOT_LIST}, {"TrainerId", 0}, {0}};

static const struct op_attr_spec home_attrs[] = {A_LONG("height", 0), {0}};
static const struct op_attr_spec no_attrs[] = {{0}};
static const struct op_attr_spec send_attrs[] = {A_INT("trainer_id", 0),
                                                 A_ENDPOINTS("epmap"),
                                                 A_LONGS("sections"),
                                                 A_STRS("send_varnames"),
                                                 A_INT("num", 0),
                                                 A_BOOL("merge_add", false),
                                                 A_BOOL("use_send_handler", true),
                                                 A_SHARDS,
                                                 {0}};
static const struct op_attr_spec recv_attrs[] = {A_STRS("epmap"),
                                                 A_INT("trainer_id", 0),
                                                 A_BOOL("with_barrier", true),
                                                 A_STRS("varnames"),
                                                 A_STRS("recv_varnames"),
                                                 A_INT("do_not_run", 0),
                                                 {0}};
static const struct op_attr_spec send_barrier_attrs[] = {
    A_INT("trainer_id", 0), A_ENDPOINTS("endpoints"), A_BOOL("half_async", false), {0}};
static const struct op_attr_spec fetch_barrier_attrs[] = {
    A_INT("trainer_id", 0), A_ENDPOINTS("endpoints"), {0}};
static const struct op_attr_spec serve_attrs[] = {A_STR("endpoint", "127.0.0.1:6164"),
                                                  A_INT("pserver_id", -1),
                                                  A_STRS("grad_to_block_id"),
                                                  A_INT("distributed_mode", 0),
                                                  A_BOOL("dc_asgd", false),
                                                  {.name = "optimize_blocks", .type = ATTR_BLOCKS},
                                                  A_STRS("prefetch_var_name_to_block_id"),
                                                  A_STRS("sparse_grad_to_param"),
                                                  A_INT("Fanin", 1),
                                                  A_INT("checkpint_block_id", -1),
                                                  A_INT("lr_decay_block_id", -1),
                                                  A_INT("rpc_get_thread_num", 1),
                                                  A_INT("rpc_send_thread_num", 1),
                                                  A_INT("rpc_prefetch_thread_num", 1),
                                                  {0}};
static const struct op_attr_spec byref_attrs[] = {A_INTS("sections"), A_INT("num", 0), {0}};
static const struct op_attr_spec split_rows_attrs[] = {A_LONGS("height_sections"), {0}};
static const struct op_attr_spec prefetch_attrs[] = {
    A_INT("trainer_id", 0), A_ENDPOINTS("epmap"), {0}};
static const struct op_attr_spec table_attrs[] = {
    {.name = "table_names", .type = ATTR_STRINGS, .def = {.n = 1, .strings = default_table}},
    A_LONGS("height_sections"),
    A_ENDPOINTS("endpoints"),
    A_INT("trainer_id", 0),
    A_STR("lookup_table_version", "lookup_table"),
    A_LONG("padding_idx", -1),
    A_INT("dtype", 5),
    A_SHARDS,
    {0}};
static const struct op_attr_spec push_attrs[] = {A_INTS("slots"),
                                                 A_LONG("padding_idx", -1),
                                                 A_BOOL("use_cvm_op", false),
                                                 A_INT("push_dim", 4),
                                                 {0}};
static const struct op_attr_spec sparse_table_attrs[] = {
    A_LONG("padding_idx", -1), A_BOOL("auto_grown_table", true), A_BOOL("is_test", false), {0}};
static const struct op_attr_spec fake_init_attrs[] = {A_REQ("shape", ATTR_LONGS), {0}};
static const struct op_attr_spec notify_attrs[] = {A_ENDPOINTS("epmap"),
                                                   A_REQ("dir", ATTR_STRING),
                                                   A_REQ("lookup_table", ATTR_STRING),
                                                   A_INT("trainer_id", 0),
                                                   {0}};
static const struct op_attr_spec recv_save_attrs[] = {A_INT("dtype", 5),
                                                      A_BOOL("overwrite", true),
                                                      A_REQ("file_path", ATTR_STRING),
                                                      A_LONGS("shape"),
                                                      A_STRS("slice_varnames"),
                                                      A_STRS("remote_varnames"),
                                                      A_STRS("slice_shapes"),
                                                      A_STRS("endpoints"),
                                                      A_INT("trainer_id", 0),
                                                      {0}};

/* ops of split programs that only move values, and those that speak with other processes */
#define PART_FLAGS \
    (OP_DISTRIBUTED | OP_OWN_SHAPE | OP_ROWS_OK | OP_ARRAY_OK | OP_EMPTY_OK | OP_NO_GRAD_NEEDED)
#define JOB_FLAGS (PART_FLAGS | OP_SIDE_EFFECT)
#define JOB(t, f, i, o, a, rule, kernel)                                                     \
    {                                                                                        \
        .type = t, .flags = f, .ins = i, .outs = o, .attrs = a, .infer = rule, .run = kernel \
    }
#define JOB_IDS(t, f, i, o, a, rule, kernel, ...)                                        \
    {                                                                                    \
        .type = t, .flags = f, .ins = i, .outs = o, .attrs = a, .infer = rule,           \
        .prepare = remote_prepare, .release = remote_destroy, .run = kernel, __VA_ARGS__ \
    }

const struct op_kind ops_distributed[] = {
    {.type = "send",
     .flags = JOB_FLAGS,
     .class = CLASS_SEND,
     .ins = x_list,
     .outs = out_list,
     .attrs = send_attrs,
     .infer = no_shapes,
     .run = send_run},
    JOB("recv", JOB_FLAGS, x_list, out_list, recv_attrs, no_shapes, recv_run),
    JOB("send_barrier", JOB_FLAGS, x_list, out_list, send_barrier_attrs, no_shapes,
        send_barrier_run),
    JOB("fetch_barrier", JOB_FLAGS, x_list, out_list, fetch_barrier_attrs, no_shapes,
        fetch_barrier_run),
    {.type = "listen_and_serv",
     .class = CLASS_SERVE,
     .flags = JOB_FLAGS,
     .ins = x_list,
     .outs = nothing,
     .attrs = serve_attrs,
     .infer = no_shapes,
     .run = serve_run},
    JOB("split_byref", PART_FLAGS, x_one, out_list, byref_attrs, split_byref_infer,
        split_byref_run),
    JOB("split_selected_rows", PART_FLAGS, x_one, out_list, split_rows_attrs, split_rows_infer,
        split_rows_run),
    {.type = "distributed_lookup_table",
     .flags = JOB_FLAGS,
     .class = CLASS_REMOTE_LOOKUP,
     .ins = table_ins,
     .outs = table_outs,
     .attrs = table_attrs,
     .infer = table_infer,
     .prepare = remote_prepare,
     .release = remote_destroy,
     .run = table_run},
    JOB_IDS("split_ids", PART_FLAGS, ids_list, out_list, no_attrs, no_shapes, split_ids_run, ),
    JOB_IDS("prefetch", JOB_FLAGS, x_list, out_list, prefetch_attrs, no_shapes, prefetch_run,
            .arg = REPLACES_LOOKUP),
    JOB_IDS("merge_ids", PART_FLAGS, merge_ins, out_list, no_attrs, no_shapes, merge_ids_run,
            .arg = REPLACES_LOOKUP, .class = CLASS_MERGE_ROWS),
    JOB_IDS("distributed_push_sparse", PART_FLAGS, push_ins, out_one, push_attrs, no_shapes,
            push_sparse_run, ),
    JOB("lookup_sparse_table", PART_FLAGS, sparse_table_ins, out_one, sparse_table_attrs,
        sparse_table_infer, servers_only),
    JOB("fake_init", PART_FLAGS, nothing, out_one, fake_init_attrs, fake_init_infer, fake_init_run),
    {.type = "ref_by_trainer_id",
     .flags = PART_FLAGS,
     .class = CLASS_BY_TRAINER,
     .ins = by_trainer_ins,
     .outs = out_one,
     .attrs = no_attrs,
     .infer = no_shapes,
     .run = ref_by_trainer_run},
    JOB("checkpoint_notify", JOB_FLAGS | OP_FILES, nothing, nothing, notify_attrs, no_shapes,
        notify_run),
    JOB("recv_save", JOB_FLAGS | OP_FILES, nothing, nothing, recv_save_attrs, no_shapes,
        recv_save_run),
    {.type = "pull_rows",
     .flags = JOB_FLAGS | OP_INTERNAL,
     .ins = table_ins,
     .outs = pull_outs,
     .attrs = table_attrs,
     .infer = no_shapes,
     .prepare = pull_rows_prepare,
     .release = pull_rows_destroy,
     .prefetch = pull_rows_prefetch,
     .run = pull_rows_run},
    {.type = "rows_home",
     .flags = OP_INTERNAL | OP_OWN_SHAPE | OP_ROWS_OK,
     .ins = home_ins,
     .outs = out_one,
     .attrs = home_attrs,
     .infer = no_shapes,
     .run = rows_home_run},
    {0}};
