/* The settings of one table of features, as Paddle's users write them (table_parameters.<table>.*
 * of a strategy or a YAML file), and what is filled in where they say nothing.
 *
 * They travel as text, one setting a line, "<path> <value>\n":
 *     shard_num 4
 *     accessor.accessor_class CtrCommonAccessor
 *     accessor.embed_sgd_param.adagrad.weight_bounds -10,10
 * Paths are Paddle's without "table_parameters.<table>."; a list has commas between its values. The
 * same line twice: the later one counts. Paths that nobody knows are noted, not refused (as in
 * Paddle), unless they look like a known one.
 *
 * Converters: accessor.table_accessor_save_param.<i>.param (the mode), .converter, .deconverter; or
 * without <i>: param 1,2 and, before or after it, one converter for those that have none.
 *
 * Ours, beside Paddle's: memory_limit (bytes; 8G), memory_policy (drop_lowest, drop_oldest, disk),
 * path (folder of rows on disk), entry (admission.h).
 *
 * Defaults depend on the program. The split writes what it sees there as further lines:
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

/* Shell commands that the text of a save in this mode goes through. */
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
    int shard_num; /* files of a save; also says on which server a key is */
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
    char *path;                /* of rows on disk; NULL: a folder beside the server */
    char *unknown;             /* paths that nobody knows, ", " between them; NULL: none */
};

/* INVALID names the table, the path, what was expected and what was found. */
enum skiff_status table_config_parse(const char *table, const char *text, struct table_config *out,
                                     struct skiff_error *err);
void table_config_deinit(struct table_config *c);

/* ---- where a key is: as in Paddle ---- */

/* shard = key mod shard_num; a server has ceil(shard_num / servers) of them, one after the other */
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
