#include "io/compat_map.h"

#include <string.h>

enum compat { COMPAT_DEFINITELY_NOT = 1, COMPAT_POSSIBLE = 2, COMPAT_BUG_FIX = 3 };

/* Every op whose meaning changed in 1.6.0, the only version that the table names. */
static const struct {
    const char *op;
    enum compat kind;
} table[] = {
    {"bilinear_interp", COMPAT_POSSIBLE},
    {"center_loss", COMPAT_DEFINITELY_NOT},
    {"chunk_eval", COMPAT_POSSIBLE},
    {"coalesce_tensor", COMPAT_DEFINITELY_NOT},
    {"conditional_block", COMPAT_POSSIBLE},
    {"conditional_block_infer", COMPAT_POSSIBLE},
    {"conv2d", COMPAT_POSSIBLE},
    {"conv2d_transpose", COMPAT_POSSIBLE},
    {"conv3d", COMPAT_POSSIBLE},
    {"conv3d_transpose", COMPAT_POSSIBLE},
    {"crf_decoding", COMPAT_POSSIBLE},
    {"crop_tensor", COMPAT_DEFINITELY_NOT},
    {"ctc_align", COMPAT_POSSIBLE},
    {"data_norm", COMPAT_POSSIBLE},
    {"deformable_conv", COMPAT_DEFINITELY_NOT},
    {"deformable_conv_v1", COMPAT_DEFINITELY_NOT},
    {"depthwise_conv2d", COMPAT_POSSIBLE},
    {"depthwise_conv2d_transpose", COMPAT_POSSIBLE},
    {"dpsgd", COMPAT_DEFINITELY_NOT},
    {"edit_distance", COMPAT_POSSIBLE},
    {"expand", COMPAT_POSSIBLE},
    {"eye", COMPAT_DEFINITELY_NOT},
    {"fc", COMPAT_POSSIBLE},
    {"fill_any_like", COMPAT_DEFINITELY_NOT},
    {"filter_by_instag", COMPAT_DEFINITELY_NOT},
    {"fused_embedding_seq_pool", COMPAT_POSSIBLE},
    {"gather_nd", COMPAT_DEFINITELY_NOT},
    {"group_norm", COMPAT_POSSIBLE},
    {"hard_swish", COMPAT_DEFINITELY_NOT},
    {"hash", COMPAT_POSSIBLE},
    {"instance_norm", COMPAT_DEFINITELY_NOT},
    {"layer_norm", COMPAT_BUG_FIX},
    {"leaky_relu", COMPAT_POSSIBLE},
    {"linear_chain_crf", COMPAT_POSSIBLE},
    {"lod_reset", COMPAT_POSSIBLE},
    {"lookup_table_v2", COMPAT_DEFINITELY_NOT},
    {"match_matrix_tensor", COMPAT_DEFINITELY_NOT},
    {"matmul", COMPAT_POSSIBLE},
    {"mul", COMPAT_POSSIBLE},
    {"multiclass_nms2", COMPAT_DEFINITELY_NOT},
    {"nearest_interp", COMPAT_POSSIBLE},
    {"one_hot", COMPAT_POSSIBLE},
    {"one_hot_v2", COMPAT_DEFINITELY_NOT},
    {"pow", COMPAT_POSSIBLE},
    {"prior_box", COMPAT_POSSIBLE},
    {"prroi_pool", COMPAT_DEFINITELY_NOT},
    {"pull_box_sparse", COMPAT_DEFINITELY_NOT},
    {"reshape2", COMPAT_POSSIBLE},
    {"scatter_nd_add", COMPAT_DEFINITELY_NOT},
    {"sequence_pad", COMPAT_DEFINITELY_NOT},
    {"sequence_topk_avg_pooling", COMPAT_DEFINITELY_NOT},
    {"sequence_unpad", COMPAT_DEFINITELY_NOT},
    {"shard_index", COMPAT_DEFINITELY_NOT},
    {"size", COMPAT_DEFINITELY_NOT},
    {"slice", COMPAT_POSSIBLE},
    {"strided_slice", COMPAT_DEFINITELY_NOT},
    {"trilinear_interp", COMPAT_DEFINITELY_NOT},
    {"unfold", COMPAT_DEFINITELY_NOT},
    {"uniform_random", COMPAT_POSSIBLE},
    {"uniform_random_batch_size_like", COMPAT_POSSIBLE},
    {"unique", COMPAT_DEFINITELY_NOT},
    {"unique_with_counts", COMPAT_DEFINITELY_NOT},
    {"var_conv_2d", COMPAT_DEFINITELY_NOT},
    {"warpctc", COMPAT_POSSIBLE},
};

static void field_bytes(struct buf *out, int number, const void *bytes, size_t n)
{
    buf_char(out, (char)(number << 3 | 2));
    buf_char(out, (char)n); /* all of them are shorter than 128 bytes */
    buf_add(out, bytes, n);
}

void compat_map_set(struct skiff_program *p)
{
    if (p->generation != GEN_1X || p->compat_map_len)
        return;
    struct buf map = BUF_INIT, pair = BUF_INIT, info = BUF_INIT;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        buf_reset(&pair);
        buf_reset(&info);
        field_bytes(&info, 1, "1.6.0", 5);
        buf_char(&info, 2 << 3);
        buf_char(&info, (char)table[i].kind);
        field_bytes(&pair, 1, table[i].op, strlen(table[i].op));
        field_bytes(&pair, 2, info.data, info.len);
        field_bytes(&map, 1, pair.data, pair.len);
    }
    field_bytes(&map, 2, "1.5.0", 5);
    p->compat_map = arena_memdup(&p->arena, map.data, map.len);
    p->compat_map_len = map.len;
    buf_deinit(&map);
    buf_deinit(&pair);
    buf_deinit(&info);
}
