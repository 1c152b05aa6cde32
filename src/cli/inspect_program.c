/* inspect program and inspect model: a program as text or as counts; an inference model with its
 * inputs, outputs, ops and parameters. A model is a folder of Paddle 1.x or a prefix of 2.x files.
 * The text of a program can be parsed again (program/). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/inspect.h"
#include "io/io.h"
#include "program/op_kind.h"
#include "save/contents.h"
#include "store/file.h"

struct op_count {
    const char *type;
    int n;
    bool known;
};

static int count_compare(const void *a, const void *b)
{
    const struct op_count *x = a, *y = b;
    return x->n != y->n ? y->n - x->n : strcmp(x->type, y->type);
}

void inspect_op_counts(const struct skiff_program *p)
{
    struct str_map at;
    str_map_init(&at);
    struct op_count *counts = NULL;
    size_t n = 0;
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++) {
            const struct skiff_op *op = p->blocks[b]->ops[i];
            uintptr_t k = (uintptr_t)str_map_get(&at, op->type);
            if (!k) {
                counts = mem_grow_or_die(counts, (n + 1) * sizeof *counts);
                counts[n] = (struct op_count){op->type, 0, op->kind != NULL};
                k = ++n;
                str_map_put(&at, op->type, (void *)k);
            }
            counts[k - 1].n++;
        }
    str_map_deinit(&at);
    if (n)
        qsort(counts, n, sizeof *counts, count_compare);
    for (size_t i = 0; i < n; i++)
        printf("%7d %s%s\n", counts[i].n, counts[i].type,
               counts[i].known ? "" : "   (unknown to skiff)");
    free(counts);
}

static void print_role(const char *name, int n)
{
    if (n)
        printf(", %s %d", name, n);
}

static void print_ops_by_role(const struct skiff_program *p)
{
    int n = 0, forward = 0, backward = 0, optimize = 0, lr = 0, other = 0;
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++, n++) {
            int role = op_role_of(p->blocks[b]->ops[i]);
            if (role == ROLE_UNSPECIFIED || (role & ~ROLE_LOSS) == ROLE_FORWARD)
                forward++;
            else if (role & ROLE_LRSCHED)
                lr++;
            else if (role & ROLE_OPTIMIZE)
                optimize++;
            else if (role & ROLE_BACKWARD)
                backward++;
            else
                other++;
        }
    printf("ops         %d", n);
    print_role("forward", forward);
    print_role("backward", backward);
    print_role("optimize", optimize);
    print_role("learning rate", lr);
    print_role("communication", other);
    putchar('\n');
}

/* Sum over variables of known shape. */
static void print_group(const struct skiff_program *p, const char *title, enum io_group group)
{
    struct io_vars vars;
    char text[64];
    uint64_t bytes = 0, elements = 0;
    io_vars_list(p, group, &vars);
    for (int i = 0; i < vars.n; i++) {
        int64_t n = vars.v[i]->has_tensor ? shape_numel(&vars.v[i]->shape) : 0;
        if (n > 0) {
            elements += (uint64_t)n;
            bytes += (uint64_t)n * dtype_size(vars.v[i]->dtype);
        }
    }
    printf("%-11s %d, %" PRIu64 " elements, %s\n", title, vars.n, elements,
           inspect_bytes(bytes, text));
    io_vars_deinit(&vars);
}

static void print_version(const struct skiff_program *p)
{
    if (p->has_version)
        printf("version     %" PRId64 ", ", p->paddle_version);
    else
        printf("version     not stated, ");
    printf("read as Paddle %s\n", p->generation == GEN_2X ? "2.x" : "1.x");
}

static void print_summary(const struct skiff_program *p)
{
    size_t vars = 0;
    for (int b = 0; b < p->nblocks; b++)
        vars += p->blocks[b]->vars.count;
    print_version(p);
    printf("blocks      %d\n", p->nblocks);
    print_ops_by_role(p);
    printf("variables   %zu\n", vars);
    print_group(p, "persistable", IO_PERSISTABLES);
    print_group(p, "parameters", IO_PARAMS);
    printf("op types\n");
    inspect_op_counts(p);
}

enum skiff_status inspect_program(const char *path, const struct inspect_options *o,
                                  struct skiff_error *err)
{
    struct skiff_program *p;
    TRY(io_program_read(path, &p, err));
    if (o->summary) {
        print_summary(p);
    } else {
        struct buf text = BUF_INIT;
        program_print(p, &text);
        fwrite(text.data, 1, text.len, stdout);
        buf_deinit(&text);
    }
    program_destroy(p);
    return SKIFF_OK;
}

/* ------------------------------------------------------------------ models */

static void print_targets(const struct skiff_program *p, const char *title, const char **names,
                          int n)
{
    char text[160];
    printf("%s\n", title);
    for (int i = 0; i < n; i++) {
        const struct skiff_var *v = block_find_var(program_root(p), names[i]);
        if (!v || !v->has_tensor) {
            printf("%7d %s\n", i, names[i]);
            continue;
        }
        printf("%7d %s   %s %s", i, names[i], dtype_name(v->dtype), shape_text(&v->shape, text));
        if (v->lod_level)
            printf(", lod level %d", v->lod_level);
        putchar('\n');
    }
}

static void print_params(const struct skiff_program *p, const struct skiff_scope *s)
{
    struct io_vars vars;
    uint64_t total = 0;
    char text[160], bytes[64];
    io_vars_list(p, IO_PERSISTABLES, &vars);
    printf("parameters\n");
    for (int i = 0; i < vars.n; i++) {
        const struct skiff_tensor *v = scope_find(s, vars.v[i]->name);
        uint64_t n = tensor_bytes(&v->tensor);
        total += n;
        printf("        %s   %s %s, %" PRIu64 " bytes%s\n", vars.v[i]->name,
               dtype_name(v->tensor.dtype), shape_text(&v->tensor.shape, text), n,
               v->kind == VALUE_ROWS ? ", selected rows" : "");
    }
    printf("total       %d parameters, %s\n", vars.n, inspect_bytes(total, bytes));
    io_vars_deinit(&vars);
}

/* What the manifest says, if there is one. */
static void print_saved(const struct save_contents *c)
{
    const struct model_info *m = &c->files.note;
    printf("layout      %s\n", save_layout_text(c->layout));
    if (m->known)
        printf("saved       %s, epoch %d%s, %" PRId64 " steps, %" PRId64 " samples, run %.8s\n",
               m->time, m->epoch, m->complete ? "" : " (interrupted)", m->steps, m->samples,
               m->run);
}

/* Where the network of a layout is, with its parameters: a prefix or a folder. */
static char *network_of(const struct save_contents *c)
{
    return c->stem                           ? path_join(c->dir, c->stem)
           : c->layout == SAVE_LAYOUT_TABLES ? path_join(c->dir, SAVE_NETWORK)
                                             : mem_strdup_or_die(c->dir);
}

/* The values of training, not those for inference, are in x.pdparams and x.pdopt. */
static enum skiff_status load_model(const char *path, const struct inspect_options *o, bool state,
                                    struct skiff_scope *s, struct skiff_model *m,
                                    struct skiff_error *err)
{
    TRY(io_load_inference(state ? NULL : s, path, o->model, o->params, m, err));
    return state ? io_load(s, m->program, path, err) : SKIFF_OK;
}

static enum skiff_status print_model(const char *path, const struct inspect_options *o, bool state,
                                     struct skiff_error *err)
{
    struct skiff_scope *s = scope_create();
    struct skiff_model m = {0};
    enum skiff_status status = load_model(path, o, state, s, &m, err);
    if (status == SKIFF_OK) {
        print_version(m.program);
        print_targets(m.program, "feeds", m.feeds, m.nfeeds);
        print_targets(m.program, "fetches", m.fetches, m.nfetches);
        print_ops_by_role(m.program);
        inspect_op_counts(m.program);
        print_params(m.program, s);
    }
    io_model_deinit(&m);
    scope_destroy(s);
    return status;
}

/* Folders with models in them, not models. */
static void print_parts(const struct save_contents *c, enum save_part_kind kind, const char *title)
{
    for (int i = 0; i < c->nparts; i++)
        if (c->parts[i].kind == kind)
            printf("%s %s/%s\n", title, c->dir, c->parts[i].name);
}

static enum skiff_status print_found(const char *path, const struct save_contents *c,
                                     const struct inspect_options *o, struct skiff_error *err)
{
    if (c->layout == SAVE_LAYOUT_EPOCHS || c->layout == SAVE_LAYOUT_PASSES) {
        print_saved(c);
        print_parts(c, SAVE_PART_EPOCH, "epoch      ");
        return SKIFF_OK;
    }
    if (c->layout == SAVE_LAYOUT_NONE || o->model || o->params)
        return print_model(path, o, false, err);
    print_saved(c);
    print_parts(c, SAVE_PART_TABLE, "table      ");
    char *network = network_of(c);
    enum skiff_status status = print_model(network, o, c->layout == SAVE_LAYOUT_STATE, err);
    free(network);
    return status;
}

enum skiff_status inspect_model(const char *path, const struct inspect_options *o,
                                struct skiff_error *err)
{
    struct save_contents c;
    enum skiff_status status = save_open(&c, path, err);
    if (status == SKIFF_OK)
        status = print_found(path, &c, o, err);
    save_close(&c);
    return status;
}
