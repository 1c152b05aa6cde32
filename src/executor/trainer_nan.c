/* Has training diverged? Called after a step has failed, when no thread trains any more: an op that
 * met a nan reports a position in a variable, and not that the learning rate was too high. */
#include <math.h>
#include <stdio.h>

#include "executor/trainer_parts.h"

#define BEYOND 1e15f /* parameters of this size give infinities in the next sums */

static const float *odd_value(const struct tensor *t)
{
    int64_t n = t->dtype == DTYPE_FP32 ? tensor_numel(t) : 0;
    for (int64_t i = 0; t->data && i < n; i++)
        if (!(fabsf(tensor_f32(t)[i]) < BEYOND))
            return &tensor_f32(t)[i];
    return NULL;
}

bool trainer_diverged(const struct skiff_scope *scope, const struct skiff_program *program,
                      char out[static 160])
{
    const struct skiff_block *b = program_root(program);
    for (int i = 0; i < (int)b->vars.count; i++) {
        const struct skiff_var *v = b->vars.entries[i].value;
        if (!var_persistable(v) || v->kind != VAR_LOD_TENSOR)
            continue;
        const struct skiff_tensor *value = scope_find(scope, v->name);
        const float *odd = value && value->kind == VALUE_TENSOR ? odd_value(&value->tensor) : NULL;
        if (!odd)
            continue;
        if (isnan(*odd))
            snprintf(out, 160, "parameter \"%.90s\" holds nan", v->name);
        else
            snprintf(out, 160, "parameter \"%.90s\" holds %g", v->name, (double)*odd);
        return true;
    }
    return false;
}
