#include "io/compat_map.h"

#include <string.h>

enum compat { DEFINITELY_NOT = 1, POSSIBLE = 2, BUG_FIX = 3 };

/* Every op whose meaning changed in 1.6.0, the only version that the table names. */
static const struct {
    const char *op;
    enum compat kind;
} table[] = {
    {"bilinear_interp", POSSIBLE},
    {"center_loss", DEFINITELY_NOT},
    {"chunk_eval", POSSIBLE},
    {"coalesce_tensor", DEFINITELY_NOT},
    {"conditional_block", POSSIBLE},
    {"conditional_block_infer", POSSIBLE},
    {"conv2d", POSSIBLE},
    {"conv2d_transpose", POSSIBLE},
    {"conv3d", POSSIBLE},
    {"conv3d_transpose", POSSIBLE},
    {"crf_decoding", POSSIBLE},
    {"crop_tensor", DEFINITELY_NOT},
    {"ctc_align", POSSIBLE},
    {"data_norm", POSSIBLE},
    {"deformable_conv", DEFINITELY_NOT},
    {"deformable_conv_v1", DEFINITELY_NOT},
    {"depthwise_conv2d", POSSIBLE},
    {"depthwise_conv2d_transpose", POSSIBLE},
    {"dpsgd", DEFINITELY_NOT},
    {"edit_distance", POSSIBLE},
    {"expand", POSSIBLE},
    {"eye", DEFINITELY_NOT},
    {"fc", POSSIBLE},
    {"fill_any_like", DEFINITELY_NOT},
    {"filter_by_instag", DEFINITELY_NOT},
    {"fused_embedding_seq_pool", POSSIBLE},
    {"gather_nd", DEFINITELY_NOT},
    {"group_norm", POSSIBLE},
    {"hard_swish", DEFINITELY_NOT},
    {"hash", POSSIBLE},
    {"instance_norm", DEFINITELY_NOT},
    {"layer_norm", BUG_FIX},
    {"leaky_relu", POSSIBLE},
    {"linear_chain_crf", POSSIBLE},
    {"lod_reset", POSSIBLE},
    {"lookup_table_v2", DEFINITELY_NOT},
    {"match_matrix_tensor", DEFINITELY_NOT},
    {"matmul", POSSIBLE},
    {"mul", POSSIBLE},
    {"multiclass_nms2", DEFINITELY_NOT},
    {"nearest_interp", POSSIBLE},
    {"one_hot", POSSIBLE},
    {"one_hot_v2", DEFINITELY_NOT},
    {"pow", POSSIBLE},
    {"prior_box", POSSIBLE},
    {"prroi_pool", DEFINITELY_NOT},
    {"pull_box_sparse", DEFINITELY_NOT},
    {"reshape2", POSSIBLE},
    {"scatter_nd_add", DEFINITELY_NOT},
    {"sequence_pad", DEFINITELY_NOT},
    {"sequence_topk_avg_pooling", DEFINITELY_NOT},
    {"sequence_unpad", DEFINITELY_NOT},
    {"shard_index", DEFINITELY_NOT},
    {"size", DEFINITELY_NOT},
    {"slice", POSSIBLE},
    {"strided_slice", DEFINITELY_NOT},
    {"trilinear_interp", DEFINITELY_NOT},
    {"unfold", DEFINITELY_NOT},
    {"uniform_random", POSSIBLE},
    {"uniform_random_batch_size_like", POSSIBLE},
    {"unique", DEFINITELY_NOT},
    {"unique_with_counts", DEFINITELY_NOT},
    {"var_conv_2d", DEFINITELY_NOT},
    {"warpctc", POSSIBLE},
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
