/* Compares a program built here with a recorded one. Include after <cmocka.h>. */
#ifndef PARITY_COMPARE_H
#define PARITY_COMPARE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <skiff/net.h>

#include "base/buf.h"
#include "program/program.h"

#define DATA "tests/data/parity/"

static inline struct skiff_program *recorded_program(const char *path)
{
    struct buf bytes = BUF_INIT;
    struct skiff_error err = {0};
    struct skiff_program *p = NULL;
    FILE *f = fopen(path, "rb");
    char chunk[65536];
    size_t n;
    if (!f)
        fail_msg("cannot open %s", path);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        buf_add(&bytes, chunk, n);
    fclose(f);
    if (program_decode(bytes.data, bytes.len, path, &p, &err) < 0)
        fail_msg("%s: %s", path, err.message);
    buf_deinit(&bytes);
    return p;
}

/* The recorder forced adam's threaded loop (attribute set to the int 1) before it wrote most of the
 * programs; Fluid itself writes the long 1000, as ctr_dnn_full shows. */
static inline void undo_recorder(struct skiff_program *p)
{
    struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops; i++) {
        const struct op_attr_value *a = op_attr(b->ops[i], "min_row_size_to_use_multithread");
        if (a && a->type == ATTR_INT && a->value.i == 1)
            op_set_long(p, b->ops[i], a->name, 1000);
    }
}

static inline int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static inline void sort_names(struct op_arg *a)
{
    if (a->n > 1)
        qsort(a->names, (size_t)a->n, sizeof(char *), by_text);
}

/* Fluid lists what a sub-block reads and writes in the order of a Python set. */
static inline void sort_block_args(struct skiff_program *p)
{
    for (int i = 0; i < p->nblocks; i++)
        for (int k = 0; k < p->blocks[i]->nops; k++) {
            struct skiff_op *op = p->blocks[i]->ops[k];
            for (int s = 0; op_attr(op, "sub_block") && s < op->nins; s++)
                sort_names(&op->ins[s]);
            for (int s = 0; op_attr(op, "sub_block") && s < op->nouts; s++)
                sort_names(&op->outs[s]);
        }
}

/* Prints the differences of `mine` to tests/data/parity/<model>/<file>; returns their number. */
static inline int compare(struct skiff_program *mine, const char *model, const char *file)
{
    char path[256];
    struct buf text = BUF_INIT;
    snprintf(path, sizeof path, DATA "%s/%s", model, file);
    struct skiff_program *theirs = recorded_program(path);
    undo_recorder(theirs);
    sort_block_args(theirs);
    sort_block_args(mine);
    int n = program_diff(mine, theirs, &text);
    if (n)
        print_error("%s: %d differences (a: built here, b: recorded)\n%s", path, n,
                    text.data ? text.data : "");
    buf_deinit(&text);
    program_destroy(theirs);
    return n;
}

#endif
