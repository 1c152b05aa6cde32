/* Calls between ranks on tensors (include/skiff/collective.h): types and shapes are checked here,
 * lists of tensors become one piece of memory, collective/collective.h does the rest.
 *
 * Only this rank's tensors can be checked; that all ranks make the same call is checked by the
 * group. Deferred updates of a tensor are flushed before it is sent (value_flush). A started call
 * uses the caller's memory until skiff_collective_wait. */
#include <skiff/collective.h>

#include <string.h>

#include "base/mem.h"
#include "collective/rings.h"
#include "tensor/value.h"

/* ---- tensors ---- */

static enum skiff_status need_tensor(const char *who, const struct skiff_tensor *t,
                                     struct skiff_error *err)
{
    static const char *const kinds[] = {"nothing yet", "a tensor", "selected rows", "an array",
                                        "scopes"};
    if (!t || t->kind != VALUE_TENSOR)
        return error_set(err, SKIFF_INVALID, "%s: expected a tensor, but it holds %s", who,
                         t ? kinds[t->kind] : "nothing");
    value_flush(t);
    return SKIFF_OK;
}

static enum skiff_status need_alike(const char *who, const struct skiff_tensor *a,
                                    const struct skiff_tensor *b, int i, struct skiff_error *err)
{
    char have[160], want[160];
    TRY(need_tensor(who, b, err));
    if (a->tensor.dtype == b->tensor.dtype && shape_equal(&a->tensor.shape, &b->tensor.shape))
        return SKIFF_OK;
    return error_set(err, SKIFF_SHAPE, "%s: tensor %d of the list is %s %s; expected %s %s", who, i,
                     dtype_name(b->tensor.dtype), shape_text(&b->tensor.shape, have),
                     dtype_name(a->tensor.dtype), shape_text(&a->tensor.shape, want));
}

static enum skiff_status space_for(size_t count, size_t bytes, uint8_t **out,
                                   struct skiff_error *err)
{
    void *capacity = NULL;
    if (!mem_mul(count, bytes, &bytes) || bytes > PTRDIFF_MAX)
        return error_set(err, SKIFF_RANGE, "tensors of %zu ranks are too large together", count);
    TRY(mem_alloc(bytes + 1, "tensors of all ranks", &capacity, err));
    *out = capacity;
    return SKIFF_OK;
}

/* Group and tensor of a call. */
static enum skiff_status begin(int ring, const char *who, const struct skiff_tensor *t,
                               struct collective **out, struct skiff_error *err)
{
    TRY(rings_need(ring, who, out, err));
    return need_tensor(who, t, err);
}

/* Tensors like `like`, one after the other; the caller's (mem_free). */
static enum skiff_status join(const char *who, const struct skiff_tensor *like,
                              const struct skiff_tensor *const *list, int n, uint8_t **out,
                              struct skiff_error *err)
{
    size_t bytes = tensor_bytes(&like->tensor);
    for (int i = 0; i < n; i++)
        TRY(need_alike(who, like, list[i], i, err));
    TRY(space_for((size_t)n, bytes, out, err));
    for (int i = 0; i < n && bytes; i++)
        memcpy(*out + (size_t)i * bytes, list[i]->tensor.data, bytes);
    return SKIFF_OK;
}

static enum skiff_status part(const uint8_t *from, const struct skiff_tensor *like,
                              struct skiff_tensor *const *list, int n, struct skiff_error *err)
{
    size_t bytes = tensor_bytes(&like->tensor);
    struct shape shape = like->tensor.shape; /* `like` may be in the list */
    enum dtype dtype = like->tensor.dtype;
    for (int i = 0; i < n; i++) {
        TRY(value_as_tensor(list[i], dtype, &shape, err));
        if (bytes)
            memcpy(list[i]->tensor.data, from + (size_t)i * bytes, bytes);
    }
    return SKIFF_OK;
}

/* ---- reductions ---- */

_Static_assert((int)SKIFF_AVG == (int)COLLECTIVE_AVG && (int)SKIFF_PROD == (int)COLLECTIVE_PROD,
               "one order of reductions");

enum skiff_status skiff_collective_all_reduce(int ring, struct skiff_tensor *t,
                                              enum skiff_reduction how, struct skiff_error *err)
{
    struct collective *c;
    TRY(begin(ring, "all_reduce", t, &c, err));
    return collective_all_reduce(c, t->tensor.data, tensor_numel(&t->tensor), t->tensor.dtype,
                                 (enum collective_op)how, err);
}

enum skiff_status skiff_collective_reduce(int ring, struct skiff_tensor *t,
                                          enum skiff_reduction how, int root,
                                          struct skiff_error *err)
{
    struct collective *c;
    TRY(begin(ring, "reduce", t, &c, err));
    return collective_reduce(c, t->tensor.data, tensor_numel(&t->tensor), t->tensor.dtype,
                             (enum collective_op)how, root, err);
}

enum skiff_status skiff_collective_reduce_scatter(int ring, const struct skiff_tensor *const *ins,
                                                  struct skiff_tensor *out,
                                                  enum skiff_reduction how, struct skiff_error *err)
{
    struct collective *c;
    uint8_t *all = NULL;
    TRY(begin(ring, "reduce_scatter", ins[0], &c, err));
    TRY(join("reduce_scatter", ins[0], ins, collective_size(c), &all, err));
    struct shape shape = ins[0]->tensor.shape;
    enum dtype dtype = ins[0]->tensor.dtype;
    enum skiff_status status = value_as_tensor(out, dtype, &shape, err);
    if (status == SKIFF_OK)
        status = collective_reduce_scatter(c, all, out->tensor.data, shape_numel(&shape), dtype,
                                           (enum collective_op)how, err);
    mem_free(all);
    return status;
}

/* ---- gathering ---- */

enum skiff_status skiff_collective_all_gather(int ring, const struct skiff_tensor *in,
                                              struct skiff_tensor *const *outs,
                                              struct skiff_error *err)
{
    struct collective *c;
    TRY(begin(ring, "all_gather", in, &c, err));
    size_t bytes = tensor_bytes(&in->tensor), n = (size_t)collective_size(c);
    uint8_t *all = NULL;
    TRY(space_for(n, bytes, &all, err));
    enum skiff_status status = collective_all_gather(c, in->tensor.data, bytes, all, err);
    if (status == SKIFF_OK)
        status = part(all, in, outs, (int)n, err);
    mem_free(all);
    return status;
}

enum skiff_status skiff_collective_gather(int ring, const struct skiff_tensor *in,
                                          struct skiff_tensor *const *outs, int root,
                                          struct skiff_error *err)
{
    struct collective *c;
    TRY(begin(ring, "gather", in, &c, err));
    bool here = collective_rank(c) == root;
    size_t bytes = tensor_bytes(&in->tensor), n = (size_t)collective_size(c);
    uint8_t *all = NULL;
    TRY(space_for(here ? n : 0, bytes, &all, err));
    enum skiff_status status = collective_gather(c, in->tensor.data, bytes, all, root, err);
    if (status == SKIFF_OK && here)
        status = part(all, in, outs, (int)n, err);
    mem_free(all);
    return status;
}

enum skiff_status skiff_collective_all_gather_bytes(int ring, const void *in, size_t bytes,
                                                    void **out, size_t *sizes,
                                                    struct skiff_error *err)
{
    struct collective *c;
    TRY(rings_need(ring, "all_gather_bytes", &c, err));
    return collective_all_gather_any(c, in, bytes, out, sizes, err);
}

void skiff_collective_free(void *bytes)
{
    mem_free(bytes);
}

/* ---- from one, and to each ---- */

enum skiff_status skiff_collective_broadcast(int ring, struct skiff_tensor *t, int root,
                                             struct skiff_error *err)
{
    struct collective *c;
    TRY(begin(ring, "broadcast", t, &c, err));
    return collective_broadcast(c, t->tensor.data, tensor_bytes(&t->tensor), root, err);
}

enum skiff_status skiff_collective_scatter(int ring, const struct skiff_tensor *const *ins,
                                           struct skiff_tensor *out, int root,
                                           struct skiff_error *err)
{
    struct collective *c;
    uint8_t *all = NULL;
    TRY(begin(ring, "scatter", out, &c, err));
    if (collective_rank(c) == root)
        TRY(join("scatter", out, ins, collective_size(c), &all, err));
    enum skiff_status status =
        collective_scatter(c, all, tensor_bytes(&out->tensor), out->tensor.data, root, err);
    mem_free(all);
    return status;
}

static enum skiff_status sizes_of(const struct skiff_tensor *const *list, int n, size_t *sizes,
                                  size_t *sum, struct skiff_error *err)
{
    *sum = 0;
    for (int i = 0; i < n; i++) {
        TRY(need_tensor("all_to_all", list[i], err));
        *sum += sizes[i] = tensor_bytes(&list[i]->tensor);
    }
    return SKIFF_OK;
}

enum skiff_status skiff_collective_all_to_all(int ring, const struct skiff_tensor *const *ins,
                                              struct skiff_tensor *const *outs,
                                              struct skiff_error *err)
{
    struct collective *c;
    TRY(rings_need(ring, "all_to_all", &c, err));
    int n = collective_size(c);
    size_t in_bytes[n], out_bytes[n], in_sum, out_sum, at = 0;
    TRY(sizes_of(ins, n, in_bytes, &in_sum, err));
    TRY(sizes_of((const struct skiff_tensor *const *)outs, n, out_bytes, &out_sum, err));
    uint8_t *in = NULL, *out = NULL;
    enum skiff_status status = SKIFF_OK;
    TRY_OUT(space_for(1, in_sum, &in, err));
    TRY_OUT(space_for(1, out_sum, &out, err));
    for (int i = 0; i < n; at += in_bytes[i++])
        if (in_bytes[i])
            memcpy(in + at, ins[i]->tensor.data, in_bytes[i]);
    TRY_OUT(collective_all_to_all(c, in, in_bytes, out, out_bytes, err));
    at = 0;
    for (int i = 0; i < n; at += out_bytes[i++])
        if (out_bytes[i])
            memcpy(outs[i]->tensor.data, out + at, out_bytes[i]);
out:
    mem_free(in);
    mem_free(out);
    return status;
}

enum skiff_status skiff_collective_barrier(int ring, struct skiff_error *err)
{
    struct collective *c;
    TRY(rings_need(ring, "barrier", &c, err));
    return collective_barrier(c, err);
}

enum skiff_status skiff_collective_send(int ring, const struct skiff_tensor *t, int to,
                                        struct skiff_error *err)
{
    struct collective *c;
    TRY(begin(ring, "send", t, &c, err));
    return collective_send(c, to, t->tensor.data, tensor_bytes(&t->tensor), err);
}

enum skiff_status skiff_collective_recv(int ring, struct skiff_tensor *t, int from,
                                        struct skiff_error *err)
{
    struct collective *c;
    TRY(begin(ring, "recv", t, &c, err));
    return collective_recv(c, from, t->tensor.data, tensor_bytes(&t->tensor), err);
}

/* ---- without waiting ---- */

static enum skiff_status started(struct collective_work *w, const struct skiff_error *why,
                                 struct skiff_collective_work **out, struct skiff_error *err)
{
    *out = (struct skiff_collective_work *)w;
    if (!w && err)
        *err = *why;
    return w ? SKIFF_OK : why->code;
}

enum skiff_status skiff_collective_start_all_reduce(int ring, struct skiff_tensor *t,
                                                    enum skiff_reduction how,
                                                    struct skiff_collective_work **out,
                                                    struct skiff_error *err)
{
    struct collective *c;
    struct skiff_error why;
    *out = NULL;
    TRY(begin(ring, "all_reduce", t, &c, err));
    struct collective_work *w =
        collective_start_all_reduce(c, t->tensor.data, tensor_numel(&t->tensor), t->tensor.dtype,
                                    (enum collective_op)how, &why);
    return started(w, &why, out, err);
}

enum skiff_status skiff_collective_start_broadcast(int ring, struct skiff_tensor *t, int root,
                                                   struct skiff_collective_work **out,
                                                   struct skiff_error *err)
{
    struct collective *c;
    struct skiff_error why;
    *out = NULL;
    TRY(begin(ring, "broadcast", t, &c, err));
    struct collective_work *w =
        collective_start_broadcast(c, t->tensor.data, tensor_bytes(&t->tensor), root, &why);
    return started(w, &why, out, err);
}

enum skiff_status skiff_collective_start_recv(int ring, struct skiff_tensor *t, int from,
                                              struct skiff_collective_work **out,
                                              struct skiff_error *err)
{
    struct collective *c;
    struct skiff_error why;
    *out = NULL;
    TRY(begin(ring, "recv", t, &c, err));
    struct collective_work *w =
        collective_start_recv(c, from, t->tensor.data, tensor_bytes(&t->tensor), &why);
    return started(w, &why, out, err);
}

bool skiff_collective_done(const struct skiff_collective_work *w)
{
    return collective_done((const struct collective_work *)w);
}

enum skiff_status skiff_collective_wait(struct skiff_collective_work *w, struct skiff_error *err)
{
    return collective_wait((struct collective_work *)w, err);
}
