#include "sparse/waiting_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "fs/fs.h"
#include "store/file.h"
#include "store/stale_file.h"
#include "store/tensor_file.h"

void waiting_list_deinit(struct waiting_list *l)
{
    free(l->ids);
    *l = (struct waiting_list){0};
}

enum skiff_status waiting_list_put(struct sparse_table *t, const struct waiting_list *l,
                                   size_t first, size_t n, struct skiff_error *err)
{
    for (size_t i = first; i < first + n && i < l->n; i++)
        TRY(table_put_waiting(t->table, &l->ids[i], err));
    return SKIFF_OK;
}

static void add(struct waiting_list *l, const struct waiting_id *x)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap + l->cap / 2 : 256;
        l->ids = mem_grow_or_die(l->ids, l->cap * sizeof *l->ids);
    }
    l->ids[l->n++] = *x;
}

static enum skiff_status take_rows(struct sparse_table *t, const char *path,
                                   const struct skiff_tensor *v, struct waiting_list *out,
                                   struct skiff_error *err)
{
    const struct tensor *x = &v->tensor;
    if (x->dtype != DTYPE_FP32 || x->shape.ndim != 2 ||
        (v->sel.nrows && x->shape.dims[1] != WAITING_WIDTH))
        return error_set(err, SKIFF_SHAPE, "%s: ids that wait for table %s have %d float32 numbers",
                         path, t->name, WAITING_WIDTH);
    for (size_t i = 0; i < v->sel.nrows; i++) {
        struct waiting_id w;
        int64_t id = v->sel.rows[i];
        if (!waiting_unpack(id, tensor_f32(x) + i * WAITING_WIDTH, &w))
            return error_set(err, SKIFF_FORMAT,
                             "%s: id %lld of table %s waits with numbers that no save has", path,
                             (long long)id, t->name);
        if (sparse_owns(t, id))
            add(out, &w);
    }
    return SKIFF_OK;
}

static enum skiff_status read_file(struct sparse_table *t, const char *path,
                                   struct waiting_list *out, struct skiff_error *err)
{
    struct skiff_tensor v = {0};
    struct buf copy = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    if (fs_is_remote(path)) {
        buf_printf(&copy, "%s/.waiting" STALE_FILE_MARK "%ld-%d", fs_tmpdir(), (long)getpid(),
                   t->host->server);
        status = fs_copy(NULL, path, copy.data, NULL, err);
    }
    if (status == SKIFF_OK)
        status = rows_file_read(copy.len ? copy.data : path, &v, err);
    if (status == SKIFF_OK)
        status = take_rows(t, path, &v, out, err);
    if (copy.len)
        file_remove_tree(copy.data);
    buf_deinit(&copy);
    value_deinit(&v);
    return status;
}

static bool is_of(const struct sparse_table *t, const struct fs_entry *e)
{
    const char *slash = strrchr(e->path, '/'), *name = slash ? slash + 1 : e->path;
    size_t n = strlen(t->name);
    return !e->stat.folder && !strncmp(name, t->name, n) &&
           !strncmp(name + n, WAITING_SUFFIX ".pserver_", strlen(WAITING_SUFFIX ".pserver_"));
}

enum skiff_status waiting_files_read(struct sparse_table *t, const char *folder,
                                     struct waiting_list *out, struct skiff_error *err)
{
    struct fs_list files = {0};
    struct fs_stat st;
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/__lookup_table__", folder);
    enum skiff_status status = t->table->waiting ? fs_look(NULL, path.data, &st, err) : SKIFF_END;
    if (status == SKIFF_OK)
        status = st.folder ? fs_list(NULL, path.data, &files, err) : SKIFF_OK;
    else if (status == SKIFF_NOT_FOUND || status == SKIFF_END)
        status = SKIFF_OK;
    for (int i = 0; i < files.count && status == SKIFF_OK; i++)
        if (is_of(t, &files.entries[i]))
            status = read_file(t, files.entries[i].path, out, err);
    fs_list_deinit(&files);
    buf_deinit(&path);
    return status;
}
