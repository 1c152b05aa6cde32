/* Rights of programs (rights.h): a program that comes from a file may compute, but needs permission
 * for ops that read or write files or talk to a job.
 *
 * They are checked before a run, for all blocks that the run can reach, and again when a kernel
 * opens its file. A path is resolved as far as it exists, including symbolic links; the part that
 * does not exist yet consists of plain names, which cannot lead elsewhere. */
#include "program/rights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/near.h"
#include "program/build.h"
#include "program/op_kind.h"

void program_set_origin(struct skiff_program *p, const char *what)
{
    p->rights = (struct program_rights){.origin = arena_strdup(&p->arena, what)};
}

void program_copy_rights(struct skiff_program *to, const struct skiff_program *from)
{
    const struct program_rights *r = &from->rights;
    to->rights = (struct program_rights){
        .origin = r->origin ? arena_strdup(&to->arena, r->origin) : NULL,
        .ops = r->ops ? arena_strdup(&to->arena, r->ops) : NULL,
        .dir = r->dir ? arena_strdup(&to->arena, r->dir) : NULL,
        .job = r->job,
    };
}

void program_allow_job(struct skiff_program *p)
{
    p->rights.job = true;
}

/* ---- which ops ---- */

/* The next word of a list "a,b"; NULL behind the last. */
static const char *next_word(const char **list, size_t *n)
{
    *list += strspn(*list, ", ");
    const char *word = *list;
    *n = strcspn(word, ", ");
    *list += *n;
    return *n ? word : NULL;
}

static bool listed(const char *list, const char *type)
{
    size_t n;
    for (const char *word; list && (word = next_word(&list, &n));)
        if (n == strlen(type) && !memcmp(word, type, n))
            return true;
    return false;
}

static enum skiff_status check_word(const char *word, bool *files, struct skiff_error *err)
{
    struct near near = near_to(word);
    for (int i = 0; i < op_kind_count(); i++) {
        const struct op_kind *k = op_kind_at(i);
        if (!(k->flags & OP_SIDE_EFFECT) || (k->flags & OP_INTERNAL))
            continue;
        if (!strcmp(k->type, word)) {
            *files = *files || (k->flags & OP_FILES);
            return SKIFF_OK;
        }
        near_try(&near, k->type);
    }
    return error_set(err, SKIFF_INVALID,
                     "cannot allow op %s: no op of that name acts outside its program%s%s", word,
                     near.best ? "; the nearest that does is " : "", near.best ? near.best : "");
}

static enum skiff_status check_list(const char *ops, bool *files, struct skiff_error *err)
{
    size_t n;
    for (const char *word; (word = next_word(&ops, &n));) {
        char *name = mem_alloc_or_die(n + 1);
        memcpy(name, word, n);
        enum skiff_status status = check_word(name, files, err);
        free(name);
        TRY(status);
    }
    return SKIFF_OK;
}

enum skiff_status program_allow(struct skiff_program *p, const char *ops, const char *dir,
                                struct skiff_error *err)
{
    bool files = false;
    struct stat st;
    TRY(check_list(ops ? ops : "", &files, err));
    if (files && !dir)
        return error_set(err, SKIFF_INVALID,
                         "allowing %s takes a folder below which their files must lie", ops);
    char *real = dir ? realpath(dir, NULL) : NULL;
    if (dir && !real)
        return error_set_sys(err, "%s: cannot be the folder of a program's files", dir);
    if (real && (stat(real, &st) < 0 || !S_ISDIR(st.st_mode))) {
        free(real);
        return error_set(err, SKIFF_INVALID,
                         "%s: not a folder; a program's files must lie below one", dir);
    }
    p->rights.ops = arena_strdup(&p->arena, ops ? ops : "");
    p->rights.dir = real ? arena_strdup(&p->arena, real) : NULL;
    free(real);
    program_changed(p);
    return SKIFF_OK;
}

/* ---- which files ---- */

/* Does a name of the path lead upwards? */
static bool leads_up(const char *path)
{
    for (; *path; path += strspn(path, "/")) {
        size_t n = strcspn(path, "/");
        if (n == 2 && !memcmp(path, "..", 2))
            return true;
        path += n;
    }
    return false;
}

/* The longest existing part of `path`, without links, and its length in `path`. NULL with an error:
 * a component is a dangling link, a file, or not readable. */
static char *resolve_head(const char *path, size_t *out_n, struct skiff_error *err)
{
    char *part = mem_strdup_or_die(path), *head;
    size_t n = strlen(path);
    struct stat st;
    while (!(head = realpath(n ? part : *path == '/' ? "/" : ".", NULL))) {
        if (errno != ENOENT || !n || lstat(part, &st) == 0) {
            error_set_sys(err, "file %s: cannot tell where it leads", path);
            break;
        }
        while (n && part[n - 1] != '/')
            n--;
        while (n && part[n - 1] == '/')
            n--;
        part[n] = '\0';
    }
    free(part);
    *out_n = n;
    return head;
}

static bool lies_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    if (!strcmp(dir, "/"))
        return path[1] != '\0';
    return !strncmp(path, dir, n) && path[n] == '/' && path[n + 1];
}

enum skiff_status program_file(const struct skiff_program *p, const char *path, char **out,
                               struct skiff_error *err)
{
    const struct program_rights *r = &p->rights;
    size_t n;
    if (!r->origin) {
        *out = mem_strdup_or_die(path);
        return SKIFF_OK;
    }
    char *head = resolve_head(path, &n, err);
    if (!head)
        return SKIFF_IO;
    const char *tail = path + n + strspn(path + n, "/");
    struct buf whole = BUF_INIT;
    buf_printf(&whole, "%s%s%s", head, *tail && strcmp(head, "/") ? "/" : "", tail);
    free(head);
    if (r->dir && !leads_up(tail) && lies_below(whole.data, r->dir)) {
        *out = whole.data;
        return SKIFF_OK;
    }
    enum skiff_status status =
        error_set(err, SKIFF_UNSUPPORTED,
                  "file %s, which is %s, does not lie below %s, the folder that was allowed", path,
                  whole.data, r->dir ? r->dir : "(none)");
    buf_deinit(&whole);
    return status;
}

/* ---- all of a program ---- */

static const char *const file_attrs[] = OP_FILE_ATTRS;
#define NFILE_ATTRS (int)(sizeof(file_attrs) / sizeof(file_attrs[0]))

/* The file, or folder, of the i-th such attribute; "" when it names none (its kernel says so). */
static const char *file_of(const struct skiff_op *op, int i)
{
    const struct op_attr_value *a = op_attr(op, file_attrs[i]);
    return (op->kind->flags & OP_FILES) && a && a->type == ATTR_STRING && a->value.s ? a->value.s
                                                                                     : "";
}

/* All of them, even those that the kernel ignores: an unknown one must not hide the other. */
static enum skiff_status check_files(const struct skiff_program *p, const struct skiff_op *op,
                                     struct skiff_error *err)
{
    for (int i = 0; i < NFILE_ATTRS; i++) {
        char *real = NULL;
        const char *path = file_of(op, i);
        enum skiff_status status = *path ? program_file(p, path, &real, err) : SKIFF_OK;
        free(real);
        TRY(status);
    }
    return SKIFF_OK;
}

/* For messages. */
static const char *first_file(const struct skiff_op *op)
{
    const char *path = "";
    for (int i = 0; i < NFILE_ATTRS && !*path; i++)
        path = file_of(op, i);
    return path;
}

static enum skiff_status check_op(const struct skiff_program *p, const struct skiff_op *op,
                                  struct skiff_error *err)
{
    const struct op_kind *k = op->kind;
    bool job = p->job || p->rights.job;
    if (!k || !(k->flags & OP_SIDE_EFFECT) || (job && !(k->flags & OP_FILES)))
        return SKIFF_OK;
    bool files = k->flags & OP_FILES;
    const char *path = first_file(op);
    if (!listed(p->rights.ops, op->type))
        return error_set(
            err, SKIFF_UNSUPPORTED,
            "acts outside the program (%s%s), which was read from %s: refused. If you trust it, "
            "allow the op%s: skiff_program_allow or skiff_model_allow in C, program.allow_ops(...) "
            "in Python, --allow-ops %s on the command line",
            files ? "file " : "other processes", path, p->rights.origin,
            files ? " and the folder of its files" : "", op->type);
    return check_files(p, op, err);
}

/* Marks a block and the blocks that its ops run. Cycles and wrong indices are left to the plan,
 * which refuses them. False: they are nested too deeply. */
static bool mark_blocks(const struct skiff_program *p, int block, int depth, bool *marked)
{
    bool fits = depth <= BLOCK_DEPTH_MAX;
    if (!fits || block < 0 || block >= p->nblocks || marked[block])
        return fits;
    marked[block] = true;
    for (int i = 0; i < p->blocks[block]->nops && fits; i++) {
        const struct skiff_op *op = p->blocks[block]->ops[i];
        const struct op_attr_value *sub = op_attr(op, "sub_block");
        if (op->kind && (op->kind->flags & OP_RUNS_BLOCK) && sub && sub->type == ATTR_BLOCK)
            fits = mark_blocks(p, sub->value.i, depth + 1, marked);
    }
    return fits;
}

static enum skiff_status check_block(const struct skiff_program *p, int b, struct skiff_error *err)
{
    for (int i = 0; i < p->blocks[b]->nops; i++) {
        const struct skiff_op *op = p->blocks[b]->ops[i];
        enum skiff_status status = check_op(p, op, err);
        if (status < 0)
            return error_prefix(err, status, "block %d, op %d %s", b, i, op->type);
    }
    return SKIFF_OK;
}

enum skiff_status program_check_rights(const struct skiff_program *p, int block,
                                       struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    if (!p->rights.origin)
        return SKIFF_OK;
    bool *marked = mem_alloc_or_die((size_t)p->nblocks * sizeof *marked);
    for (int b = 0; b < p->nblocks; b++)
        if ((block < 0 || b == block) && !mark_blocks(p, b, 0, marked))
            status = error_set(err, SKIFF_FORMAT,
                               "block %d: the blocks that its ops run lie more than %d deep", b,
                               BLOCK_DEPTH_MAX);
    for (int b = 0; b < p->nblocks && status == SKIFF_OK; b++)
        if (marked[b])
            status = check_block(p, b, err);
    free(marked);
    return status;
}
