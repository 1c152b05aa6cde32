/* Runs the fusing passes one after the other, each on a fresh view of the program. */
#include "passes/fuse.h"

#include "passes/fuse_parts.h"

static const struct fuse_pass passes[] = {
    {"embedding", fuse_embedding},
    {"fc", fuse_fc},
    {"softmax_xent", fuse_softmax_xent},
    {"update", fuse_update},
};

enum skiff_status fuse_program(const struct program *p, const char *const *keep, int nkeep,
                               struct program **out, struct skiff_error *err)
{
    struct program *fused = program_clone(p);
    for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
        struct graph g;
        graph_init(&g, fused, keep, nkeep);
        if (passes[i].run(&g))
            graph_sweep(&g);
        graph_deinit(&g);
    }
    *out = fused;
    return SKIFF_OK;
}
