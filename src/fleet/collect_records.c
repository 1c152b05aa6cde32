/* Sparse tables in our own saves: all of every record, so that a job that resumes with them is
 * the job that was. Files are pieces of what each server has, SelectedRows with the key as row:
 * __lookup_table__/<table>.pserver_<server>.<piece>; servers read all of them (server/load.c). Ids
 * that wait for admission: <table>.waiting.pserver_..., of tables where they have to. Plain tables
 * get such files, too, when they have ids beyond their declared size: the tensor of that size,
 * which others read, does not hold them. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fleet/collect.h"
#include "table/admission.h"

#define FILE_BYTES ((size_t)32 << 20) /* of a piece, in memory meanwhile */
#define ASK_RECORDS 4096              /* at once: servers answer pushes in between */

/* Puts the rows of `more` behind those of `all`. */
static enum skiff_status add_rows(struct skiff_tensor *all, size_t *n,
                                  const struct skiff_tensor *more, struct skiff_error *err)
{
    size_t count = more->sel.nrows, width = (size_t)more->tensor.shape.dims[1];
    struct skiff_tensor grown = {0};
    if (!count && *n)
        return SKIFF_OK;
    if (!*n || *n + count > all->sel.nrows) {
        size_t capacity = *n ? 2 * (*n + count) : count;
        TRY(value_as_rows(&grown, DTYPE_FP32, capacity, (int64_t)width, 0, err));
        if (*n) {
            memcpy(grown.sel.rows, all->sel.rows, *n * sizeof(*grown.sel.rows));
            memcpy(grown.tensor.data, all->tensor.data, *n * width * sizeof(float));
        }
        value_deinit(all);
        *all = grown;
    }
    if (count) {
        memcpy(all->sel.rows + *n, more->sel.rows, count * sizeof(*all->sel.rows));
        memcpy(tensor_f32(&all->tensor) + *n * width, more->tensor.data,
               count * width * sizeof(float));
    }
    *n += count;
    return SKIFF_OK;
}

/* The next piece of a server's records; *cursor 0: it was the last. */
static enum skiff_status next_piece(const struct collect *c, const char *table, int server,
                                    uint64_t *cursor, struct skiff_tensor *out,
                                    struct skiff_error *err)
{
    struct skiff_tensor some = {0};
    size_t n = 0, bytes = 0;
    enum skiff_status status = SKIFF_OK;
    do {
        status = session_pull_records(c->session, c->tag, server, table, cursor, ASK_RECORDS, &some,
                                      err);
        if (status == SKIFF_OK)
            status = add_rows(out, &n, &some, err);
        bytes += tensor_bytes(&some.tensor);
    } while (status == SKIFF_OK && *cursor && bytes < FILE_BYTES);
    if (status == SKIFF_OK) /* fewer rows: those in front stay */
        status = value_as_rows(out, DTYPE_FP32, n, out->tensor.shape.dims[1], 0, err);
    value_deinit(&some);
    return status;
}

/* *written counts files. Rows without columns are none: nobody waits there. */
static enum skiff_status write_server(const struct collect *c, const char *table, int server,
                                      struct model_writer *w, int *written, struct skiff_error *err)
{
    uint64_t cursor = 0;
    enum skiff_status status = SKIFF_OK;
    for (int piece = 0; status == SKIFF_OK && (!piece || cursor); piece++) {
        struct skiff_tensor rows = {0};
        struct buf name = BUF_INIT;
        buf_printf(&name, "__lookup_table__/%s.pserver_%d.%05d", table, server, piece);
        status = next_piece(c, table, server, &cursor, &rows, err);
        if (status == SKIFF_OK && rows.tensor.shape.dims[1]) {
            status = model_writer_value(w, name.data, &rows, err);
            ++*written;
        }
        value_deinit(&rows);
        buf_deinit(&name);
    }
    return status;
}

enum skiff_status collect_waiting(const struct collect *c, struct model_writer *w, int *written,
                                  struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; c->session && i < c->plan->ntables && status == SKIFF_OK; i++) {
        struct buf name = BUF_INIT;
        buf_printf(&name, "%s" WAITING_SUFFIX, c->plan->tables[i]);
        for (int s = 0; c->plan->sparse_table[i] && s < c->plan->servers && status == SKIFF_OK; s++)
            status = write_server(c, name.data, s, w, written, err);
        buf_deinit(&name);
    }
    return status;
}

enum skiff_status collect_records(const struct collect *c, struct model_writer *w,
                                  struct skiff_error *err)
{
    int written = 0;
    for (int i = 0; c->session && i < c->plan->ntables; i++)
        for (int s = 0; c->plan->sparse_table[i] && s < c->plan->servers; s++)
            TRY(write_server(c, c->plan->tables[i], s, w, &written, err));
    return collect_waiting(c, w, &written, err);
}

/* ---- plain tables ---- */

/* Has a server a row whose id the tensor of the declared shape cannot hold? */
static enum skiff_status find_outside(const struct collect *c, const struct skiff_var *v, bool *out,
                                      struct skiff_error *err)
{
    struct skiff_tensor some = {0};
    enum skiff_status status = SKIFF_OK;
    *out = false;
    for (int s = 0; s < c->plan->servers && status == SKIFF_OK && !*out; s++) {
        uint64_t cursor = 0;
        do {
            status = session_pull_records(c->session, c->tag, s, v->name, &cursor, ASK_RECORDS,
                                          &some, err);
            for (size_t i = 0; status == SKIFF_OK && i < some.sel.nrows; i++)
                *out |= (uint64_t)some.sel.rows[i] >= (uint64_t)v->shape.dims[0];
        } while (status == SKIFF_OK && cursor && !*out);
    }
    value_deinit(&some);
    return status;
}

enum skiff_status collect_rows(const struct collect *c, const struct skiff_var *v,
                               struct model_writer *w, struct skiff_error *err)
{
    bool outside;
    int written = 0;
    if (!c->session || collect_skips(c, v) || !collect_is_keyed(c, v))
        return SKIFF_OK;
    TRY(find_outside(c, v, &outside, err));
    for (int s = 0; outside && s < c->plan->servers; s++)
        TRY(write_server(c, v->name, s, w, &written, err));
    return SKIFF_OK;
}
