/* Public functions for programs, blocks and variables (<skiff/build.h>): thin wrappers of the
 * functions of program.h, and the conversion between public and internal forms of types and
 * shapes. */
#include "program/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "program/build.h"

/* ---- programs ---- */

int skiff_program_generation(const struct skiff_program *p)
{
    return (int)p->generation;
}

/* Sets the version, too: files are distinguished by it. */
void skiff_program_set_generation(struct skiff_program *p, int generation)
{
    enum generation g = generation == 2 ? GEN_2X : GEN_1X;
    if (g != p->generation)
        skiff_program_set_version(p, g == GEN_2X ? 2006002 : 1008005);
    p->generation = g;
    program_changed(p);
    for (int i = 0; i < p->nblocks; i++)
        for (int k = 0; k < p->blocks[i]->nops; k++)
            op_bind(p, p->blocks[i]->ops[k]);
}

int64_t skiff_program_version(const struct skiff_program *p)
{
    return p->has_version ? p->paddle_version : 0;
}

void skiff_program_set_version(struct skiff_program *p, int64_t version)
{
    p->has_version = true;
    program_changed(p);
    p->paddle_version = version;
}

void skiff_program_state(const struct skiff_program *p, uint64_t out[2])
{
    p = program_to_run(p);
    out[0] = p->id;
    out[1] = p->version;
}

int skiff_program_role(const struct skiff_program *p)
{
    return p->current_role;
}

int skiff_program_role_vars(const struct skiff_program *p, const char *const **out)
{
    *out = p->current_role_var;
    return p->ncurrent_role_var;
}

void skiff_program_set_role(struct skiff_program *p, int role, int nvars, const char *const *vars)
{
    const char **copy = arena_alloc(&p->arena, (size_t)(nvars + 1) * sizeof(*copy));
    for (int i = 0; i < nvars; i++)
        copy[i] = arena_strdup(&p->arena, vars[i]);
    p->current_role = role;
    p->current_role_var = copy;
    p->ncurrent_role_var = nvars;
}

const char *skiff_program_namescope(const struct skiff_program *p)
{
    return p->current_namescope;
}

void skiff_program_set_namescope(struct skiff_program *p, const char *path)
{
    p->current_namescope = arena_strdup(&p->arena, path);
}

void *skiff_program_bytes(const struct skiff_program *p, size_t *out_n)
{
    struct buf b = BUF_INIT;
    program_encode(p, &b);
    *out_n = b.len;
    if (!b.data)
        buf_reserve(&b, 1);
    return b.data;
}

enum skiff_status skiff_program_parse(const void *bytes, size_t n, const char *what,
                                      struct skiff_program **out, struct skiff_error *err)
{
    static const char head[] = "program ";
    if (n < sizeof(head) - 1 || memcmp(bytes, head, sizeof(head) - 1))
        return program_decode(bytes, n, what, out, err);
    char *text = mem_alloc_or_die(n + 1);
    memcpy(text, bytes, n);
    enum skiff_status status = program_parse(text, what, out, err);
    free(text);
    return status;
}

enum skiff_status skiff_program_check(const struct skiff_program *p, struct skiff_error *err)
{
    return program_verify(p, err);
}

char *skiff_program_differences(const struct skiff_program *a, const struct skiff_program *b)
{
    struct buf text = BUF_INIT;
    program_diff(a, b, &text);
    if (!text.data)
        buf_str(&text, "");
    return text.data;
}

int skiff_program_blocks(const struct skiff_program *p)
{
    return p->nblocks;
}

struct skiff_block *skiff_program_block(const struct skiff_program *p, int i)
{
    return i >= 0 && i < p->nblocks ? p->blocks[i] : NULL;
}

struct skiff_block *skiff_program_add_block(struct skiff_program *p, int parent, int forward)
{
    if (parent < -1 || parent >= p->nblocks || forward < -1 || forward >= p->nblocks ||
        block_too_deep(p, parent))
        return NULL;
    return program_push_block(p, parent, forward);
}

/* ---- blocks ---- */

int skiff_block_index(const struct skiff_block *b)
{
    return b->idx;
}

int skiff_block_parent(const struct skiff_block *b)
{
    return b->parent;
}

int skiff_block_forward(const struct skiff_block *b)
{
    return b->forward_idx;
}

void skiff_block_set_forward(struct skiff_block *b, int forward)
{
    program_changed(b->program);
    b->forward_idx = forward >= 0 && forward < b->program->nblocks ? forward : -1;
}

int skiff_block_vars(const struct skiff_block *b)
{
    return (int)b->vars.count;
}

struct skiff_var *skiff_block_var_at(const struct skiff_block *b, int i)
{
    return i >= 0 && i < (int)b->vars.count ? b->vars.entries[i].value : NULL;
}

struct skiff_var *skiff_block_own_var(const struct skiff_block *b, const char *name)
{
    return block_own_var(b, name);
}

struct skiff_var *skiff_block_find_var(const struct skiff_block *b, const char *name)
{
    return block_find_var(b, name);
}

struct skiff_var *skiff_block_add_var(struct skiff_block *b, const char *name)
{
    return block_add_var(b, name);
}

void skiff_block_remove_var(struct skiff_block *b, const char *name)
{
    block_remove_var(b, name);
}

struct skiff_var *skiff_block_rename_var(struct skiff_block *b, const char *from, const char *to)
{
    struct skiff_var *v = block_own_var(b, from);
    if (!v || block_own_var(b, to))
        return NULL;
    const char *old = v->name;
    block_remove_var(b, from);
    v->name = arena_strdup(&b->program->arena, to);
    str_map_put(&b->vars, v->name, v);
    for (int i = 0; i < b->nops; i++) {
        op_rename_in(b->program, b->ops[i], old, to);
        op_rename_out(b->program, b->ops[i], old, to);
    }
    return v;
}

int skiff_block_ops(const struct skiff_block *b)
{
    return b->nops;
}

struct skiff_op *skiff_block_op(const struct skiff_block *b, int i)
{
    return i >= 0 && i < b->nops ? b->ops[i] : NULL;
}

void skiff_block_remove_ops(struct skiff_block *b, int at, int n)
{
    if (at >= 0 && n > 0 && at < b->nops)
        block_remove_ops(b, at, n < b->nops - at ? n : b->nops - at);
}

struct skiff_op *skiff_block_insert_op(struct skiff_block *b, int at, const char *type)
{
    return block_insert_op(b, at, type);
}

/* ---- variables ---- */

const char *skiff_var_kind(const struct skiff_var *v)
{
    return var_kind_name(v->kind);
}

bool skiff_var_set_kind(struct skiff_var *v, const char *kind)
{
    program_changed(v->program);
    return var_kind_parse(kind, &v->kind);
}

bool skiff_var_has_dtype(const struct skiff_var *v)
{
    return v->has_tensor;
}

int skiff_dtype_number(const char *dtype)
{
    enum dtype t;
    return dtype_parse(dtype, &t) ? (int)t : -1;
}

bool skiff_var_set_dtype(struct skiff_var *v, const char *dtype)
{
    enum dtype t;
    if (!dtype_parse(dtype, &t))
        return false;
    v->dtype = t;
    v->has_tensor = true;
    program_changed(v->program);
    return true;
}

bool skiff_var_set_shape(struct skiff_var *v, int ndim, const int64_t *dims)
{
    if (ndim < 0 || ndim > TENSOR_MAX_DIMS)
        return false;
    v->shape = shape_of(ndim, dims);
    program_changed(v->program);
    return true;
}

void skiff_var_set_lod_level(struct skiff_var *v, int level)
{
    v->lod_level = level < 0 ? 0 : level;
    program_changed(v->program);
}

bool skiff_var_need_check_feed(const struct skiff_var *v)
{
    return v->need_check_feed == PRESENCE_TRUE;
}

void skiff_var_set_need_check_feed(struct skiff_var *v, bool on)
{
    v->need_check_feed = on ? PRESENCE_TRUE : PRESENCE_FALSE;
    program_changed(v->program);
}

struct skiff_op *skiff_var_producer(const struct skiff_var *v)
{
    return v->producer;
}
