#include "config/aliases.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define OPTIMIZER "hyper_parameters.optimizer."

/* No config of PaddleRec has them for a model that is here (but test_batch_size, which it does not
 * read). */
static const struct {
    const char *word, *key;
} aliases[] = {{"epoch", "runner.epochs"},
               {"num_epochs", "runner.epochs"},
               {"n_epochs", "runner.epochs"},
               {"nepochs", "runner.epochs"},
               {"max_epochs", "runner.epochs"},
               {"epoch_num", "runner.epochs"},
               {"num_train_epochs", "runner.epochs"},
               {"batch_size", "runner.train_batch_size"},
               {"batchsize", "runner.train_batch_size"},
               {"batch", "runner.train_batch_size"},
               {"train_batch", "runner.train_batch_size"},
               {"test_batch_size", "runner.infer_batch_size"},
               {"eval_batch_size", "runner.infer_batch_size"},
               {"threads", "runner.thread_num"},
               {"num_threads", "runner.thread_num"},
               {"n_threads", "runner.thread_num"},
               {"nthreads", "runner.thread_num"},
               {"cpu_num", "runner.thread_num"},
               {"train_data", "runner.train_data_dir"},
               {"train_data_path", "runner.train_data_dir"},
               {"train_path", "runner.train_data_dir"},
               {"train_files", "runner.train_data_dir"},
               {"data_path", "runner.train_data_dir"},
               {"data_dir", "runner.train_data_dir"},
               {"test_data", "runner.test_data_dir"},
               {"test_data_path", "runner.test_data_dir"},
               {"test_path", "runner.test_data_dir"},
               {"test_files", "runner.test_data_dir"},
               {"save_path", "runner.model_save_path"},
               {"save_dir", "runner.model_save_path"},
               {"output_dir", "runner.model_save_path"},
               {"checkpoint_dir", "runner.model_save_path"},
               {"init_path", "runner.model_init_path"},
               {"pretrained_model", "runner.model_init_path"},
               {"random_seed", "runner.seed"},
               {"lr", OPTIMIZER "learning_rate"},
               {"base_lr", OPTIMIZER "learning_rate"},
               {"learning_rate", OPTIMIZER "learning_rate"},
               {"weight_decay", OPTIMIZER "l2_decay"},
               {"l2_reg", OPTIMIZER "l2_decay"},
               {"grad_clip", OPTIMIZER "clip_norm"},
               {"gradient_clip", OPTIMIZER "clip_norm"},
               {"max_grad_norm", OPTIMIZER "clip_norm"},
               {"clip_grad_norm", OPTIMIZER "clip_norm"},
               {"optimizer", OPTIMIZER "class"},
               {"optimizer_class", OPTIMIZER "class"},
               {"optimizer_type", OPTIMIZER "class"},
               {"embedding_dim", "hyper_parameters.sparse_feature_dim"},
               {"embedding_size", "hyper_parameters.sparse_feature_dim"},
               {"emb_dim", "hyper_parameters.sparse_feature_dim"},
               {"vocab_size", "hyper_parameters.sparse_feature_number"},
               {"num_features", "hyper_parameters.sparse_feature_number"},
               {"hidden_sizes", "hyper_parameters.fc_sizes"},
               {"hidden_units", "hyper_parameters.fc_sizes"},
               {"hidden_layers", "hyper_parameters.fc_sizes"},
               {"format", "runner.input_format"},
               {"separator", "runner.input_separator"},
               {"delimiter", "runner.input_separator"},
               {"columns", "runner.input_columns"},
               {"header", "runner.input_header"},
               {"hash_size", "runner.input_hash_size"},
               {NULL, NULL}};

static const char *last_word(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

const char *config_alias_case(const char *key, const struct str_map *known)
{
    for (size_t i = 0; i < known->count; i++)
        if (!strcasecmp(key, known->entries[i].key) && strcmp(key, known->entries[i].key) != 0)
            return known->entries[i].key;
    return NULL;
}

const char *config_alias(const char *key)
{
    const char *word = last_word(key);
    for (int i = 0; aliases[i].word; i++)
        if (!strcasecmp(aliases[i].word, word) && strcmp(aliases[i].key, key) != 0)
            return aliases[i].key;
    return NULL;
}

const char *config_alias_elsewhere(const char *key, const struct str_map *known)
{
    for (size_t i = 0; i < known->count; i++)
        if (!strcmp(last_word(key), last_word(known->entries[i].key)))
            return known->entries[i].key;
    return NULL;
}
