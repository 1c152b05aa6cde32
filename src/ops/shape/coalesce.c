/* coalesce_tensor: many tensors and one flat copy of them. Paddle lets the parts share the memory
 * of FusedOutput; here every variable has its own memory, so FusedOutput is a copy made when the op
 * runs (startup programs of 2.x recurrent layers, where nothing reads it afterwards).
 *
 *   copy_data     FusedOutput = inputs one after the other, Output_i = Input_i
 *   set_constant  all of them = constant;  neither: 0 */
#include "ops/seq_common.h"

enum { AT_DTYPE, AT_COPY, AT_SET, AT_CONSTANT };

static enum skiff_status coalesce_infer(struct infer *c, struct skiff_error *err)
{
    int n = infer_in_count(c, 0);
    int64_t total = 0;
    if (infer_out_count(c, 0) != n)
        return infer_fail(c, 0, 0, err, "there are %d inputs and %d outputs", n,
                          infer_out_count(c, 0));
    for (int i = 0; i < n; i++) {
        const struct shape *x = infer_in(c, 0, i);
        if (!x || infer_in_dtype(c, 0, i) != DTYPE_FP32)
            return infer_fail(c, 0, i, err, "must be float32");
        int64_t count = dims_product(x, 0, x->ndim);
        total = total < 0 || count < 0 ? -1 : total + count;
        struct shape s = *x;
        TRY(infer_out(c, 0, i, DTYPE_FP32, &s, err));
    }
    struct shape flat = SHAPE(total);
    return infer_out(c, 1, 0, DTYPE_FP32, &flat, err);
}

static enum skiff_status coalesce_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *fused = kernel_out(k, 1);
    float fill = k->attr[AT_SET].b ? k->attr[AT_CONSTANT].f : 0.0f;
    bool copies = k->attr[AT_COPY].b && !k->attr[AT_SET].b;
    int64_t at = 0;
    if (!fused)
        return kernel_fail(k, SKIFF_INVALID, err, "output FusedOutput is missing");
    for (int i = 0; i < kernel_in_count(k, 0); i++) {
        const struct tensor *x = kernel_in_at(k, 0, i);
        struct tensor *out = kernel_out_at(k, 0, i);
        int64_t n = tensor_numel(x);
        for (int64_t j = 0; j < n; j++) {
            float v = copies ? tensor_f32(x)[j] : fill;
            tensor_f32(fused)[at + j] = v;
            if (out)
                tensor_f32(out)[j] = v;
        }
        at += n;
    }
    return SKIFF_OK;
}

static const struct op_slot coalesce_ins[] = {{"Input", SLOT_LIST}, {0}};
static const struct op_slot coalesce_outs[] = {{"Output", SLOT_LIST}, {"FusedOutput", 0}, {0}};
static const struct op_attr_spec coalesce_attrs[] = {A_REQ("dtype", ATTR_INT),
                                                     A_BOOL("copy_data", false),
                                                     A_BOOL("set_constant", false),
                                                     A_FLOAT("constant", 0.0f),
                                                     A_BOOL("persist_output", false),
                                                     A_BOOL("use_align", true),
                                                     A_INT("align_size", -1),
                                                     A_INT("user_defined_size_of_dtype", -1),
                                                     A_LONGS("concated_shapes"),
                                                     A_LONGS("concated_ranks"),
                                                     {0}};

const struct op_kind ops_coalesce[] = {{.type = "coalesce_tensor",
                                        .generations = GEN_2X,
                                        .flags = OP_NO_GRAD_NEEDED,
                                        .ins = coalesce_ins,
                                        .outs = coalesce_outs,
                                        .attrs = coalesce_attrs,
                                        .infer = coalesce_infer,
                                        .run = coalesce_run},
                                       {0}};
