/* inspect program and inspect model.
 *
 * A program is printed as text, which can be parsed again, or as counts. What a folder holds is
 * asked of save/contents.h: an inference model with its inputs, outputs, ops and parameters, a
 * checkpoint with its parts, or a list of models of online training. */
#include <inttypes.h>
#include <stdio.h>

#include "base/plural.h"
#include "cli/inspect.h"
#include "inspect/programs.h"
#include "train/online_done.h"

static void print_counts(const struct op_counts *c)
{
    for (int i = 0; i < c->n; i++)
        printf("%7d %s%s\n", c->at[i].n, c->at[i].type,
               c->at[i].known ? "" : "   (unknown to skiff)");
}

static void print_ops(const struct skiff_program *p)
{
    struct op_counts counts;
    op_counts_init(&counts, p);
    print_counts(&counts);
    op_counts_deinit(&counts);
}

static void print_role(const char *name, int n)
{
    if (n)
        printf(", %s %d", name, n);
}

static void print_ops_by_role(const struct skiff_program *p)
{
    struct role_counts c = role_counts_of(p);
    printf("ops         %d", c.ops);
    print_role("forward", c.forward);
    print_role("backward", c.backward);
    print_role("optimize", c.optimize);
    print_role("learning rate", c.learning_rate);
    print_role("communication", c.other);
    putchar('\n');
}

static void print_group(const struct skiff_program *p, const char *title, enum io_group group)
{
    char text[64];
    struct group_size size = group_size_of(p, group);
    printf("%-11s %d, %" PRIu64 " elements, %s\n", title, size.variables, size.elements,
           inspect_bytes(size.bytes, text));
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
    print_ops(p);
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

/* ---- models ---- */

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

static void print_model(const struct network_values *m)
{
    print_version(m->model.program);
    print_targets(m->model.program, "feeds", m->model.feeds, m->model.nfeeds);
    print_targets(m->model.program, "fetches", m->model.fetches, m->model.nfetches);
    print_ops_by_role(m->model.program);
    print_ops(m->model.program);
    print_params(m->model.program, m->scope);
}

/* What the manifest says, if there is one. */
static void print_saved(const struct save_contents *c)
{
    const struct model_info *m = &c->files.note;
    printf("layout      %s\n", save_layout_text(c->layout));
    if (m->known)
        printf("saved       %s, epoch %d%s, %" PRId64 " step%s, %" PRId64 " sample%s, run %.8s\n",
               m->time, m->epoch, m->complete ? "" : " (interrupted)", m->steps, plural(m->steps),
               m->samples, plural(m->samples), m->run);
}

/* Folders with models in them, not models. */
static void print_parts(const struct save_contents *c, enum save_part_kind kind, const char *title)
{
    for (int i = 0; i < c->nparts; i++)
        if (c->parts[i].kind == kind)
            printf("%s %s/%s\n", title, c->dir, c->parts[i].name);
}

/* What the donefiles of online training list. */
static enum skiff_status print_passes(const char *dir, struct skiff_error *err)
{
    static const char *const titles[] = {
        [DONE_MODEL] = "model      ", [DONE_BASE] = "base       ", [DONE_PATCH] = "delta      "};
    enum skiff_status status = SKIFF_OK;
    struct buf path = BUF_INIT;
    for (enum done_kind kind = DONE_MODEL; status == SKIFF_OK && kind <= DONE_PATCH; kind++) {
        struct done_list list;
        status = done_list_read(&list, dir, kind, err);
        for (int i = 0; status == SKIFF_OK && i < list.n; i++) {
            done_path(dir, kind, list.at[i].day, list.at[i].pass, &path);
            printf("%s %s\n", titles[kind], path.data);
        }
        done_list_deinit(&list);
    }
    buf_deinit(&path);
    return status;
}

static enum skiff_status print_found(const char *path, const struct save_contents *c,
                                     const struct inspect_options *o, struct skiff_error *err)
{
    struct network_values m;
    bool files = c->layout == SAVE_LAYOUT_NONE || o->model || o->params;
    if (c->layout == SAVE_LAYOUT_EPOCHS || c->layout == SAVE_LAYOUT_PASSES) {
        print_saved(c);
        print_parts(c, SAVE_PART_EPOCH, "epoch      ");
        return c->layout == SAVE_LAYOUT_PASSES ? print_passes(c->dir, err) : SKIFF_OK;
    }
    if (!files) {
        print_saved(c);
        print_parts(c, SAVE_PART_TABLE, "table      ");
    }
    /* checkpoints of online training: the dense parameters are behind the last table */
    if (!files && c->layout == SAVE_LAYOUT_TABLES && !save_part(c, SAVE_PART_NETWORK))
        return SKIFF_OK;
    enum skiff_status status = files ? network_values_open_files(&m, path, o->model, o->params, err)
                                     : network_values_open(&m, c, err);
    if (status == SKIFF_OK)
        print_model(&m);
    network_values_close(&m);
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

/* ---- ops of a program ---- */

enum skiff_status inspect_used_ops(const char *path, struct skiff_error *err)
{
    struct skiff_program *p;
    struct op_counts counts;
    TRY(saved_program_read(path, &p, err));
    op_counts_init(&counts, p);
    print_counts(&counts);
    enum skiff_status status = op_counts_check(&counts, path, err);
    op_counts_deinit(&counts);
    program_destroy(p);
    return status;
}
