/* Programs that are run: any bytes give numbers or an error, within bounds of memory. An input is
 *     u16 length, a program (ProgramDesc bytes or text form),
 *     then values: u8 length (128 and above: less 128, and the value is selected rows), name,
 *     u16 length, a tensor as in a file
 * Values of persistable variables go into the scope, others are fed. Fused and unfused. Programs
 * with loops are passed over: one may rightly never end. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/executor.h"
#include "fuzz.h"
#include "program/api.h"
#include "program/op_kind.h"
#include "store/tensor_file.h"

#define MEMORY ((size_t)32 << 20)
#define FEEDS_MAX 16

struct reading {
    const uint8_t *at, *end;
};

/* The next n bytes; NULL when there are not so many. */
static const uint8_t *take(struct reading *r, size_t n)
{
    const uint8_t *p = r->at;
    if ((size_t)(r->end - r->at) < n)
        return NULL;
    r->at += n;
    return p;
}

static const uint8_t *take_counted(struct reading *r, size_t *n)
{
    const uint8_t *head = take(r, 2);
    *n = head ? head[0] | (size_t)head[1] << 8 : 0;
    return head ? take(r, *n) : NULL;
}

struct inputs {
    char names[FEEDS_MAX][128];
    struct skiff_tensor values[FEEDS_MAX];
    int n;
};

static void read_inputs(struct reading *r, struct inputs *in)
{
    for (in->n = 0; in->n < FEEDS_MAX; in->n++) {
        const uint8_t *head = take(r, 1), *name = head ? take(r, *head & 127) : NULL;
        size_t n, pos = 0;
        const uint8_t *bytes = name ? take_counted(r, &n) : NULL;
        struct skiff_tensor *v = &in->values[in->n];
        if (!bytes)
            return;
        memcpy(in->names[in->n], name, *head & 127);
        if (*head & 128) {
            if (rows_file_read(fuzz_file(bytes, n), v, NULL) < 0)
                return;
        } else {
            if (tensor_decode(bytes, n, &pos, "value", &v->tensor, NULL) < 0)
                return;
            v->kind = VALUE_TENSOR;
        }
    }
}

static bool may_loop(const struct skiff_program *p)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            if (!strncmp(p->blocks[b]->ops[i]->type, "while", 5))
                return true;
    return false;
}

/* Twice in one executor: the second run finds a plan and values. */
static void run(const struct skiff_program *p, const struct inputs *in, bool fuse)
{
    struct executor_options options = {.no_fuse = !fuse, .has_seed = true, .seed = 7};
    struct skiff_scope *scope = scope_create();
    struct skiff_executor *e = executor_create(scope, &options);
    struct feed feeds[FEEDS_MAX];
    int nfeeds = 0;
    for (int i = 0; i < in->n; i++) {
        const struct skiff_var *v = block_find_var(program_root(p), in->names[i]);
        if (v && !var_persistable(v) && in->values[i].kind == VALUE_TENSOR)
            feeds[nfeeds++] = (struct feed){in->names[i], &in->values[i].tensor, NULL};
        else
            value_copy(scope_var(scope, in->names[i]), &in->values[i], NULL);
    }
    for (int i = 0; i < 2; i++) {
        struct skiff_error err = {0};
        if (executor_run(e, p, feeds, nfeeds, NULL, 0, NULL, &err) < 0 && !err.message[0])
            abort();
    }
    executor_destroy(e);
    scope_destroy(scope);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct inputs in;
    struct reading r = {data, data + n};
    struct skiff_program *p = NULL;
    size_t bytes;
    const uint8_t *program = take_counted(&r, &bytes);
    if (!program || skiff_program_parse(program, bytes, "fuzz", &p, NULL) < 0)
        return 0;
    memset(&in, 0, sizeof in);
    mem_set_limit(MEMORY);
    read_inputs(&r, &in);
    if (!may_loop(p)) {
        run(p, &in, true);
        run(p, &in, false);
    }
    for (int i = 0; i < FEEDS_MAX; i++)
        value_deinit(&in.values[i]);
    program_destroy(p);
    return 0;
}
