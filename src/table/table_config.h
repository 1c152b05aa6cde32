/* The settings of one sparse table, as Paddle's users write them (table_parameters.<table>.* of a
 * strategy or a YAML file), and the defaults of missing ones.
 *
 * They are passed as text, one setting a line, "<path> <value>\n":
 *     shard_num 4
 *     accessor.accessor_class CtrCommonAccessor
 *     accessor.embed_sgd_param.adagrad.weight_bounds -10,10
 * Paths are Paddle's without "table_parameters.<table>."; a list has commas between its values. If
 * a path occurs twice, the later line counts. Unknown paths are recorded, not refused (as in
 * Paddle), unless they look like a known one.
 *
 * Converters: accessor.table_accessor_save_param.<i>.param (the mode), .converter, .deconverter; or
 * without <i>: param 1,2 and, before or after it, one converter for those that have none.
 *
 * Skiff's own, in addition to Paddle's: memory_limit (bytes; 8G), memory_policy (drop_lowest,
 * drop_oldest, disk), path (folder of rows on disk), entry (admission.h).
 *
 * Defaults depend on the program. The split writes these as further lines:
 *     hint.dim 9                       floats of a looked-up row
 *     hint.optimizer adam              of the table in the program; sgd, adam
 *     hint.learning_rate 0.001         and hint.beta1, hint.beta2, hint.epsilon (adam)
 *     hint.initial_range 0.01          the last number of the table's initializer
 *     hint.seed 7                      of the startup program; 0: none
 *     hint.mode async */
#ifndef TABLE_TABLE_CONFIG_H
#define TABLE_TABLE_CONFIG_H

#include "table/table.h"

#define TABLE_CONVERTERS 8

/* Shell commands that filter the text of a save in this mode. */
struct table_converter {
    int mode;
    char *converter, *deconverter; /* NULL: none */
};

enum memory_policy { MEMORY_DROP_LOWEST, MEMORY_DROP_OLDEST, MEMORY_DISK };

struct table_config {
    const struct accessor_class *accessor;
    struct accessor_options options;
    struct admission admission;
    int dim;       /* floats of a looked-up row */
    int shard_num; /* files of a save; also determines the server of a key */
    /* save_cache_model */
    bool cache;
    double cache_rate;
    int cache_files;
    /* patches: save mode 5 */
    bool revert;
    double shard_merge_rate;
    struct table_converter converters[TABLE_CONVERTERS];
    int nconverters;
    uint64_t memory_limit;     /* of this server's part; 0: none */
    enum memory_policy policy; /* SSDSparseTable: always disk */
    char *path;    /* of rows on disk; NULL: a folder in the server's working directory */
    char *unknown; /* unknown paths, separated by ", "; NULL: none */
};

/* INVALID names the table, the path, what was expected and what was found. */
enum skiff_status table_config_parse(const char *table, const char *text, struct table_config *out,
                                     struct skiff_error *err);
void table_config_deinit(struct table_config *c);

/* ---- the shard of a key: as in Paddle ---- */

/* shard = key mod shard_num; a server has ceil(shard_num / servers) consecutive ones */
static inline int table_shard_of(int64_t id, int shard_num)
{
    return (int)((uint64_t)id % (uint64_t)shard_num);
}
static inline int table_server_shards(int shard_num, int servers)
{
    return (shard_num - 1) / servers + 1;
}
static inline int table_server_of(int64_t id, int shard_num, int servers)
{
    return table_shard_of(id, shard_num) / table_server_shards(shard_num, servers);
}

#endif
