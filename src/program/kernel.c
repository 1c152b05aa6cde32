#include "program/kernel.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"

static const char *arg_name(const struct op_arg *a, int i)
{
    return a && i < a->n ? a->names[i] : "";
}

const char *kernel_in_name(const struct kernel *k, int slot, int i)
{
    return k->op ? arg_name(op_in(k->op, k->kind->ins[slot].name), i) : "";
}

const char *kernel_out_name(const struct kernel *k, int slot, int i)
{
    return k->op ? arg_name(op_out(k->op, k->kind->outs[slot].name), i) : "";
}

enum skiff_status kernel_out_resize(struct kernel *k, int slot, int i, enum dtype dtype,
                                    const struct shape *shape, struct skiff_error *err)
{
    struct skiff_tensor *v = kernel_out_value(k, slot, i);
    struct shape copy = *shape; /* may be the shape of the value itself */
    return v ? value_as_tensor(v, dtype, &copy, err) : SKIFF_OK;
}

/* Scratch is a chain of chunks, newest first; pieces are cut from the newest. A chunk begins with a
 * header of 64 bytes that links to the previous chunk. A new chunk is as large as everything
 * requested since the last reset, so from the next run on one chunk is enough. The first call after
 * a reset (used = 0) frees the older chunks; nobody can hold pieces of them then. */
struct scratch_head {
    void *older;
    size_t older_used; /* bytes cut from all older chunks */
};
enum { SCRATCH_ALIGN = 64 };
_Static_assert(sizeof(struct scratch_head) <= SCRATCH_ALIGN, "the header takes one line");

static void scratch_free_older(struct kernel_scratch_space *s)
{
    struct scratch_head *head = s->p;
    void *p = head->older;
    while (p) {
        void *next = ((struct scratch_head *)p)->older;
        mem_free(p);
        p = next;
    }
    head->older = NULL;
    head->older_used = 0;
}

static enum skiff_status scratch_grow(struct kernel_scratch_space *s, size_t bytes,
                                      struct skiff_error *err)
{
    struct scratch_head head = {0};
    size_t cap, capacity;
    if (s->p && s->used) {
        head.older = s->p;
        head.older_used = ((struct scratch_head *)s->p)->older_used + s->used;
    }
    if (!mem_add(head.older_used, bytes, &cap) || !mem_add(cap, SCRATCH_ALIGN, &capacity))
        return error_set(err, SKIFF_RANGE, "scratch of %zu bytes is too large", bytes);
    void *p;
    TRY(mem_alloc(capacity, "scratch", &p, err));
    if (s->p && !s->used)
        kernel_scratch_deinit(s);
    *(struct scratch_head *)p = head;
    s->p = p;
    s->cap = cap;
    s->used = 0;
    return SKIFF_OK;
}

enum skiff_status kernel_scratch(struct kernel *k, size_t bytes, void **out,
                                 struct skiff_error *err)
{
    struct kernel_scratch_space *s = k->scratch;
    size_t rounded;
    if (!mem_add(bytes ? bytes : 1, SCRATCH_ALIGN - 1, &rounded))
        return error_set(err, SKIFF_RANGE, "scratch of %zu bytes is too large", bytes);
    rounded &= ~(size_t)(SCRATCH_ALIGN - 1);
    if (s->p && s->used == 0)
        scratch_free_older(s);
    if (!s->p || s->cap - s->used < rounded)
        TRY(scratch_grow(s, rounded, err));
    *out = (char *)s->p + SCRATCH_ALIGN + s->used;
    s->used += rounded;
    return SKIFF_OK;
}

void kernel_scratch_deinit(struct kernel_scratch_space *s)
{
    if (s->p) {
        scratch_free_older(s);
        mem_free(s->p);
    }
    *s = (struct kernel_scratch_space){0};
}

/* "X (a, b)" for every slot that has variables, at most a few names each. */
static void describe_args(struct buf *b, const struct op_arg *args, int n, const char *what)
{
    for (int s = 0; s < n; s++) {
        if (args[s].n == 0)
            continue;
        buf_printf(b, ", %s %s (", what, args[s].slot);
        for (int i = 0; i < args[s].n && i < 3; i++)
            buf_printf(b, "%s%s", i ? ", " : "", args[s].names[i]);
        buf_str(b, args[s].n > 3 ? ", ...)" : ")");
    }
}

enum skiff_status kernel_fail(const struct kernel *k, enum skiff_status code,
                              struct skiff_error *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    struct buf position = BUF_INIT;
    if (k->op) {
        describe_args(&position, k->op->ins, k->op->nins, "input");
        if (position.len == 0)
            describe_args(&position, k->op->outs, k->op->nouts, "output");
    }
    error_set(err, code, "op %s%.400s: %s", k->kind->type, position.data ? position.data : "",
              text);
    buf_deinit(&position);
    return code;
}
