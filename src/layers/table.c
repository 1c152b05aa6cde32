#include "layers/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "layers/net.h"

const struct layer_spec *const layer_specs[] = {
#define LAYER(name, signature) &layer_spec_##name,
#include "layers/layer_list.h"
#undef LAYER
    NULL};

const struct layer_spec *layer_find(const char *name)
{
    for (const struct layer_spec *const *s = layer_specs; *s; s++)
        if (!strcmp((*s)->name, name))
            return *s;
    return NULL;
}

int layer_arg_find(const struct layer_spec *spec, const char *name)
{
    for (int i = 0; i < spec->nargs; i++)
        if (!strcmp(spec->args[i].name, name))
            return i;
    return -1;
}

void layer_call_init(struct layer_call *c, struct skiff_net *net)
{
    memset(c, 0, sizeof(*c));
    c->net = net;
    c->outs = c->few;
}

void layer_call_deinit(struct layer_call *c)
{
    if (c->outs != c->few)
        free(c->outs);
}

struct skiff_var **layer_call_reserve(struct layer_call *c, int64_t n)
{
    if (n < 0 || n > LAYER_OUTS_MAX) {
        net_fail(c->net, SKIFF_RANGE, "a layer with %lld results; there can be 0 to %d",
                 (long long)n, LAYER_OUTS_MAX);
        return NULL;
    }
    if (n > LAYER_OUTS_FEW)
        c->outs = mem_alloc_or_die((size_t)n * sizeof(*c->outs));
    c->nouts = (int)n;
    return c->outs;
}
