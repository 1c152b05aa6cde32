/* Gradient ops: the helper calls of makers, and the maker that follows a kind's grad line. */
#include "program/grad.h"

#include <string.h>

#include "program/build.h"

struct skiff_op *grad_op(struct grad_build *g, const char *type, bool copy_attrs)
{
    struct skiff_op *op = op_create(g->program, type);
    if (copy_attrs)
        op_share_attrs(g->program, op, g->fwd);
    if (g->nops == g->cap) {
        int cap = g->cap ? g->cap * 2 : 2;
        struct skiff_op **ops = arena_alloc(&g->program->arena, (size_t)cap * sizeof(*ops));
        if (g->nops)
            memcpy(ops, g->ops, (size_t)g->nops * sizeof(*ops));
        g->ops = ops;
        g->cap = cap;
    }
    g->ops[g->nops++] = op;
    return op;
}

const char *grad_name(struct grad_build *g, const char *name)
{
    return arena_printf(&g->program->arena, "%s" GRAD_SUFFIX, name);
}

void grad_use(struct grad_build *g, struct skiff_op *op, const char *slot)
{
    const struct op_arg *a = op_in(g->fwd, slot);
    if (!a)
        a = op_out(g->fwd, slot);
    if (a)
        op_set_in(g->program, op, slot, a->n, a->names);
}

static const char **name_list(struct grad_build *g, int n)
{
    return arena_alloc(&g->program->arena, (size_t)(n ? n : 1) * sizeof(char *));
}

void grad_use_out_grad(struct grad_build *g, struct skiff_op *op, const char *slot)
{
    const struct op_arg *a = op_out(g->fwd, slot);
    if (!a)
        return;
    const char **names = name_list(g, a->n);
    for (int i = 0; i < a->n; i++)
        names[i] = strcmp(a->names[i], EMPTY_VAR) == 0 ? a->names[i] : grad_name(g, a->names[i]);
    op_set_in(g->program, op, grad_name(g, slot), a->n, names);
}

bool grad_make_in_grad(struct grad_build *g, struct skiff_op *op, const char *slot)
{
    const struct op_arg *a = op_in(g->fwd, slot);
    if (!a)
        return false;
    const struct op_kind *kind = g->fwd->kind;
    int pos = kind ? op_kind_slot(kind->ins, slot) : -1;
    bool list = pos >= 0 ? (kind->ins[pos].flags & SLOT_LIST) != 0 : a->n > 1;
    const char **names = name_list(g, a->n);
    int n = 0, wanted = 0;
    for (int i = 0; i < a->n; i++) {
        bool empty = strcmp(a->names[i], EMPTY_VAR) == 0;
        const char *name = empty ? NULL : grad_name(g, a->names[i]);
        if (name && !(g->unwanted && g->unwanted(g, name))) {
            names[n++] = name;
            wanted++;
        } else if (list) {
            names[n++] = EMPTY_VAR;
        }
    }
    op_set_out(g->program, op, grad_name(g, slot), n, names);
    return wanted > 0;
}

/* The next word of a grad line; the line is left after it. Empty at the end. */
static char *next_word(struct grad_build *g, const char **line)
{
    *line += strspn(*line, " ");
    size_t n = strcspn(*line, " ");
    char *word = arena_strndup(&g->program->arena, *line, n);
    *line += n;
    return word;
}

/* Cuts GRAD_SUFFIX off; false when the word does not end with it. */
static bool cut_grad(char *word)
{
    size_t n = strlen(word), m = strlen(GRAD_SUFFIX);
    if (n <= m || strcmp(word + n - m, GRAD_SUFFIX) != 0)
        return false;
    word[n - m] = 0;
    return true;
}

static enum skiff_status line_fail(const struct grad_build *g, const char *word,
                                   struct skiff_error *err)
{
    return error_set(err, SKIFF_INTERNAL, "op %s: grad line \"%s\" is wrong at \"%s\"",
                     g->fwd->type, g->fwd->kind->grad, word);
}

/* "[!][type:] inputs -> outputs", see op_kind.h. */
static enum skiff_status follow_line(struct grad_build *g, struct skiff_error *err)
{
    const char *line = g->fwd->kind->grad;
    bool copy = *line != '!';
    line += !copy;
    const char *colon = strchr(line, ':');
    const char *type = colon ? arena_strndup(&g->program->arena, line, (size_t)(colon - line))
                             : arena_printf(&g->program->arena, "%s_grad", g->fwd->type);
    type += strspn(type, " ");
    line = colon ? colon + 1 : line;
    struct skiff_op *op = grad_op(g, type, copy);
    char *word;
    for (word = next_word(g, &line); *word && strcmp(word, "->") != 0; word = next_word(g, &line))
        if (cut_grad(word))
            grad_use_out_grad(g, op, word);
        else
            grad_use(g, op, word);
    if (!*word)
        return line_fail(g, "the end: no ->", err);
    bool wanted = false;
    for (word = next_word(g, &line); *word; word = next_word(g, &line)) {
        if (!cut_grad(word))
            return line_fail(g, word, err);
        wanted = grad_make_in_grad(g, op, word) || wanted;
    }
    if (!wanted)
        g->nops--;
    return SKIFF_OK;
}

enum skiff_status grad_build_ops(struct grad_build *g, struct skiff_error *err)
{
    const struct op_kind *kind = g->fwd->kind;
    g->nops = 0;
    if (!kind)
        return error_set(err, SKIFF_UNSUPPORTED, "op %s: no such op, so it has no gradient",
                         g->fwd->type);
    if (kind->make_grad)
        return kind->make_grad(g, err);
    if (kind->grad)
        return follow_line(g, err);
    const struct op_second *second = op_kind_second(kind);
    return second ? second->make_grad(g, err) : SKIFF_OK;
}
