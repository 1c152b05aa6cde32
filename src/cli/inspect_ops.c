/* inspect ops: lists the registry of ops, describes one op, or lists the ops of a program. An
 * argument is a file if a file of that name exists, otherwise the name of an op. Everything is read
 * from the registry (program/op_kind.h), which kernels and shape inference use, too: the output
 * cannot differ from what runs. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/inspect.h"
#include "io/io.h"
#include "program/op_kind.h"
#include "program/text.h"
#include "store/file.h"

static void add_slots(struct buf *out, const struct op_slot *slots)
{
    for (int i = 0; slots && slots[i].name; i++)
        buf_printf(out, "%s%s%s%s%s", i ? " " : "", slots[i].name,
                   slots[i].flags & SLOT_LIST ? "*" : "", slots[i].flags & SLOT_OPTIONAL ? "?" : "",
                   slots[i].flags & SLOT_EXTRA ? "~" : "");
}

static void add_attr(struct buf *out, const struct op_attr_spec *a)
{
    buf_str(out, a->name);
    if (a->flags & ATTR_REQUIRED) {
        buf_printf(out, "=<%s>", attr_type_name(a->type));
        return;
    }
    buf_char(out, '=');
    text_attr(out, a->type, &a->def);
}

static const char *generations(const struct op_kind *k)
{
    return k->generations == GEN_1X ? "1.x" : k->generations == GEN_2X ? "2.x" : "1.x 2.x";
}

static void add_gradient(struct buf *out, const struct op_kind *k)
{
    if (k->grad)
        buf_printf(out, "%s%s", strchr(k->grad, ':') ? "" : "grad: ", k->grad);
    else
        buf_str(out, k->make_grad ? "yes" : "none");
}

static int kind_compare(const void *a, const void *b)
{
    const struct op_kind *x = *(const struct op_kind *const *)a,
                         *y = *(const struct op_kind *const *)b;
    int c = strcmp(x->type, y->type);
    return c ? c : (int)x->generations - (int)y->generations;
}

/* One line: type [generations]  inputs -> outputs | attributes | gradient. */
static void print_line(const struct op_kind *k, struct buf *line)
{
    buf_reset(line);
    buf_printf(line, "%s [%s]  ", k->type, generations(k));
    add_slots(line, k->ins);
    buf_str(line, " -> ");
    add_slots(line, k->outs);
    buf_str(line, " |");
    for (int i = 0; k->attrs && k->attrs[i].name; i++) {
        buf_char(line, ' ');
        add_attr(line, &k->attrs[i]);
    }
    buf_str(line, " | ");
    add_gradient(line, k);
    puts(line->data);
}

static void print_all(void)
{
    int n = op_kind_count(), shown = 0;
    const struct op_kind **list = mem_alloc_or_die(sizeof *list * (size_t)(n + 1));
    struct buf line = BUF_INIT;
    for (int i = 0; i < n; i++)
        if (!(op_kind_at(i)->flags & OP_INTERNAL))
            list[shown++] = op_kind_at(i);
    qsort(list, (size_t)shown, sizeof *list, kind_compare);
    for (int i = 0; i < shown; i++)
        print_line(list[i], &line);
    printf("%d ops\n", shown);
    buf_deinit(&line);
    free(list);
}

static void print_slots(const char *title, const struct op_slot *slots)
{
    for (int i = 0; slots && slots[i].name; i++)
        printf("  %-10s %s%s%s%s\n", i ? "" : title, slots[i].name,
               slots[i].flags & SLOT_LIST ? ", any number" : "",
               slots[i].flags & SLOT_OPTIONAL ? ", may be absent" : "",
               slots[i].flags & SLOT_EXTRA ? ", for the gradient" : "");
}

static void print_one(const struct op_kind *k)
{
    struct buf b = BUF_INIT;
    printf("%s (%s)\n", k->type, generations(k));
    print_slots("inputs", k->ins);
    print_slots("outputs", k->outs);
    for (int i = 0; k->attrs && k->attrs[i].name; i++) {
        buf_reset(&b);
        add_attr(&b, &k->attrs[i]);
        printf("  %-10s %s   %s%s%s\n", i ? "" : "attributes", b.data,
               attr_type_name(k->attrs[i].type),
               k->attrs[i].flags & ATTR_REQUIRED ? ", required" : "",
               k->attrs[i].flags & ATTR_ONLY_1X   ? ", 1.x only"
               : k->attrs[i].flags & ATTR_ONLY_2X ? ", 2.x only"
                                                  : "");
    }
    buf_reset(&b);
    add_gradient(&b, k);
    printf("  %-10s %s\n", "gradient", b.data);
    buf_deinit(&b);
}

static enum skiff_status print_named(const char *name, struct skiff_error *err)
{
    int found = 0;
    for (int i = 0; i < op_kind_count(); i++)
        if (!strcmp(op_kind_at(i)->type, name)) {
            print_one(op_kind_at(i));
            found++;
        }
    if (found)
        return SKIFF_OK;
    const char *near = op_kind_nearest(name);
    return error_set(err, SKIFF_NOT_FOUND, "%s is neither a file nor an op of Skiff%s%s%s", name,
                     near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static enum skiff_status print_used(const char *path, struct skiff_error *err)
{
    struct skiff_model m = {0};
    if (file_is_dir(path))
        TRY(io_load_inference(NULL, path, NULL, NULL, &m, err));
    else
        TRY(io_program_read(path, &m.program, err));
    inspect_op_counts(m.program);
    struct buf unknown = BUF_INIT;
    struct str_map seen;
    str_map_init(&seen);
    for (int b = 0; b < m.program->nblocks; b++)
        for (int i = 0; i < m.program->blocks[b]->nops; i++) {
            const struct skiff_op *op = m.program->blocks[b]->ops[i];
            if (op->kind || str_map_has(&seen, op->type))
                continue;
            str_map_put(&seen, op->type, NULL);
            buf_printf(&unknown, "%s%s", unknown.len ? ", " : "", op->type);
        }
    enum skiff_status status = SKIFF_OK;
    if (seen.count)
        status = error_set(err, SKIFF_UNSUPPORTED, "%s: %zu op types are unknown: %s", path,
                           seen.count, unknown.data);
    str_map_deinit(&seen);
    buf_deinit(&unknown);
    io_model_deinit(&m);
    return status;
}

enum skiff_status inspect_ops(const char *what, struct skiff_error *err)
{
    if (!what) {
        print_all();
        return SKIFF_OK;
    }
    return file_exists(what) ? print_used(what, err) : print_named(what, err);
}
