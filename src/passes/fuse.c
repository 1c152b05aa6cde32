/* Runs the fusing passes one after the other, each on a fresh view of the program. */
#include "passes/fuse.h"

#include "passes/fuse_parts.h"

static const struct fuse_pass passes[] = {
    {"embedding", fuse_embedding}, {"fc", fuse_fc},         {"softmax_xent", fuse_softmax_xent},
    {"reduce", fuse_reduce},       {"update", fuse_update},
};

/* The program before and after a pass. */
static enum skiff_status check_pass(const char *pass, const struct skiff_program *before,
                                    const struct skiff_program *after, unsigned flags,
                                    struct skiff_error *err)
{
    struct skiff_error why = {0};
    flags |= VERIFY_FUSED;
    if (program_verify_with(after, flags, &why) == SKIFF_OK ||
        program_verify_with(before, flags, NULL) < 0)
        return SKIFF_OK;
    return error_set(err, SKIFF_INTERNAL, "fusing pass %s: %s", pass, why.message);
}

enum skiff_status fuse_program(const struct skiff_program *p, const char *const *keep, int nkeep,
                               unsigned verify, struct skiff_program **out, struct skiff_error *err)
{
    struct skiff_program *fused = program_clone(p);
    enum skiff_status status = SKIFF_OK;
    if (fuse_remote(fused) > 0)
        status = check_pass("remote", p, fused, verify, err);
    if (status == SKIFF_OK && fuse_reduce_lift(fused) > 0)
        status = check_pass("reduce_lift", p, fused, verify, err);
    for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]) && status == SKIFF_OK; i++) {
        struct graph g;
        graph_init(&g, fused, keep, nkeep);
        bool changed = passes[i].run(&g) > 0;
        if (changed)
            graph_sweep(&g);
        graph_deinit(&g);
        if (changed)
            status = check_pass(passes[i].name, p, fused, verify, err);
    }
    if (status < 0)
        program_destroy(fused);
    else
        *out = fused;
    return status;
}
