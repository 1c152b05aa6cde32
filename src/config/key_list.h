/* Every key of configs: its name, what it may be, its default, and what it does. Reading, errors,
 * `skiff config`, completions and docs/reference/configuration.md are made from these rows; the
 * code reads a key by its number, KEY_<id> (config.h).
 *
 *     GROUP(id, text)     what follows belongs to this table of the page
 *     KEY(id, name, type, standard, commands, ...)
 *         type      INT REAL BOOL TEXT WORD (one of .words) PATH; LIST, PATHS, INTS (also one
 *                   value); DAY; SIZE (64K, 2G); ANY
 *         standard  default, as a config has it; NULL: none, or .depends says what
 *         commands  that read it; 0: accepted without effect
 *         AT_LEAST(n), BETWEEN(a, b)   of INT, REAL
 *         .words    of WORD, one space between
 *         .depends  the default where it is no fixed value: the reader gives it (config_int_or)
 *         .from     key whose value is taken when this one is not set
 *         .alias    last words of names that mean this key elsewhere: an error names the key
 *         .environment  variable that takes precedence
 *         .hidden   the value is a secret and is not printed
 *         .by_model known only in configs whose model or network reads it
 *         .help     Markdown, one line: full sentences or phrases, no period at the end
 * A name that ends in ".*" is a family: the names behind the dot are free.
 *
 * The file is read with GROUP and KEY defined; both are undefined at its end. */
/* clang-format off */

GROUP(DATA, "data and training")
KEY(RUNNER_TRAIN_DATA_DIR, "runner.train_data_dir", PATHS, NULL, TRAIN | CHECK_DATA | DOCTOR,
    .depends = "required",
    .alias = "train_data train_data_path train_path train_files data_path data_dir",
    .help = "Data for `train` and `check-data`. Online training: one folder, with a folder for "
            "each day")
KEY(RUNNER_TEST_DATA_DIR, "runner.test_data_dir", PATHS, NULL, INFER | PREDICT,
    .depends = "required",
    .alias = "test_data test_data_path test_path test_files",
    .help = "Data for `infer` and `predict`")
KEY(RUNNER_TRAIN_BATCH_SIZE, "runner.train_batch_size", INT, "32", TRAIN | CHECK_DATA,
    BETWEEN(1, 1 << 24),
    .alias = "batch_size batchsize batch train_batch",
    .help = "Samples in a batch. The last batch may be smaller")
KEY(RUNNER_INFER_BATCH_SIZE, "runner.infer_batch_size", INT, "32", TRAIN | INFER | PREDICT,
    BETWEEN(1, 1 << 24), .depends = "`predict`: 512",
    .alias = "test_batch_size eval_batch_size",
    .help = "Samples in a batch of `infer` and `predict`")
KEY(RUNNER_EPOCHS, "runner.epochs", INT, "1", TRAIN, BETWEEN(1, 1000000),
    .alias = "epoch num_epochs n_epochs nepochs max_epochs epoch_num num_train_epochs",
    .help = "Passes over the training data. No effect in online training")
KEY(RUNNER_THREAD_NUM, "runner.thread_num", INT, "1", TASK, BETWEEN(1, 1024),
    .alias = "threads num_threads n_threads nthreads cpu_num",
    .help = "Training threads. They share the parameters without locks. With one thread, every "
            "run gives the same bits")
KEY(RUNNER_READER_TYPE, "runner.reader_type", WORD, "QueueDataset", TASK,
    .words = "QueueDataset DataLoader RecDataset InmemoryDataset",
    .help = "`QueueDataset` streams; `InmemoryDataset` loads all data first. `DataLoader` and "
            "`RecDataset` are read as a QueueDataset")
KEY(RUNNER_SHUFFLE, "runner.shuffle", BOOL, "False", TRAIN,
    .help = "In memory: shuffle before every epoch. Online training shuffles the samples of a "
            "pass, among all workers if each has some")
KEY(RUNNER_INPUT_FORMAT, "runner.input_format", TEXT, NULL, TASK,
    .depends = "`pipe_command`: multislot; else slot_text",
    .alias = "format",
    .help = "A native reader: `criteo`, `multislot`, `slot_text`, `sign_slot`, `libsvm`, "
            "`libffm`, `csv`, `binary`")
KEY(RUNNER_PIPE_COMMAND, "runner.pipe_command", TEXT, NULL, TASK,
    .help = "Command that turns a file into MultiSlot text. Not used when `input_format` is set")
KEY(RUNNER_BAD_LINES, "runner.bad_lines", INT, "0", TASK, AT_LEAST(-1),
    .help = "Number of bad lines in an epoch that are skipped; one more is an error. -1: any "
            "number")
KEY(RUNNER_IDLE_LINES, "runner.idle_lines", INT, "10000000", TASK, BETWEEN(-1, INT64_MAX / 2),
    .help = "Bad lines at the beginning of a file, without a sample, after which the file is "
            "refused. -1: any number. A line is logged every 5 seconds until the first sample")
KEY(RUNNER_UNPACK_RATIO, "runner.unpack_ratio", INT, "200", TASK, BETWEEN(-1, 1 << 30),
    .help = "Limit of content to compressed size, beyond the first 64 MB of content. A file above "
            "it is refused. -1: no limit")
KEY(RUNNER_CACHE, "runner.cache", BOOL, NULL, TASK, .depends = "True with `cache_dir`, else False",
    .help = "Keeps samples in binary form next to the files, or in `cache_dir`. Later epochs and "
            "runs read that")
KEY(RUNNER_CACHE_DIR, "runner.cache_dir", PATH, NULL, TASK,
    .help = "The folder of these samples, which is created. `cache_dir` alone is enough")
KEY(RUNNER_DROP_LAST, "runner.drop_last", BOOL, "False", TASK,
    .help = "Skips a last batch that is not full")
KEY(RUNNER_PRINT_INTERVAL, "runner.print_interval", INT, "100", TRAIN | INFER, AT_LEAST(1),
    .help = "Batches between two progress lines when the output is no terminal. At most one line "
            "a second is printed")
KEY(RUNNER_MODEL_SAVE_PATH, "runner.model_save_path", PATH, "model_output",
    TRAIN | INFER | PREDICT | CALIBRATE | LAUNCH | DOCTOR,
    .alias = "save_path save_dir output_dir checkpoint_dir",
    .help = "Folder of `<epoch>/rec_static.pdparams .pdopt .pdmodel`. May be on S3, HDFS or AFS "
            "([storage.md](../guide/storage.md))")
KEY(RUNNER_MODEL_INIT_PATH, "runner.model_init_path", PATH, NULL, TRAIN,
    .alias = "init_path pretrained_model",
    .help = "Model to start from: an epoch's folder, a prefix, or a folder of parameters")
KEY(RUNNER_USE_INFERENCE, "runner.use_inference", BOOL, "False", TRAIN,
    .from = KEY_RUNNER_INFERENCE,
    .help = "Saves `__model__` and parameters in the epoch's folder, too")
KEY(RUNNER_INFERENCE, "runner.inference", BOOL, "False", TRAIN,
    .help = "Another name of `use_inference`")
KEY(RUNNER_SAVE_INFERENCE_FEED_VARNAMES, "runner.save_inference_feed_varnames", LIST, NULL, TRAIN,
    .depends = "all inputs but the label",
    .help = "Inputs of that model")
KEY(RUNNER_SAVE_INFERENCE_FETCH_VARNAMES, "runner.save_inference_fetch_varnames", LIST, NULL, TRAIN,
    .depends = "the prediction",
    .help = "Outputs of that model")
KEY(RUNNER_INFER_LOAD_PATH, "runner.infer_load_path", PATH, NULL, INFER | PREDICT | CALIBRATE,
    .from = KEY_RUNNER_MODEL_SAVE_PATH,
    .help = "Where `infer` and `predict` look for epochs")
KEY(RUNNER_INFER_START_EPOCH, "runner.infer_start_epoch", INT, "0", INFER, BETWEEN(0, 1000000),
    .help = "First epoch to evaluate")
KEY(RUNNER_INFER_END_EPOCH, "runner.infer_end_epoch", INT, NULL, INFER, BETWEEN(0, 1000000),
    .depends = "all epochs",
    .help = "End of the epochs to evaluate; it is not included")
KEY(RUNNER_INFER_EPOCH, "runner.infer_epoch", TEXT, NULL, INFER,
    .help = "One epoch instead: its number, or `best` (by validation while training)")
KEY(RUNNER_FS_CLIENT_URI, "runner.fs_client.uri", TEXT, "", TASK | DOCTOR,
    .help = "Access to `hdfs:` and `afs:` paths: `hdfs://host:port` or `http://namenode:9870` "
            "([storage.md](../guide/storage.md))")
KEY(RUNNER_FS_CLIENT_USER, "runner.fs_client.user", TEXT, "", TASK | DOCTOR,
    .help = "The user there")
KEY(RUNNER_FS_CLIENT_PASSWD, "runner.fs_client.passwd", TEXT, "", TASK | DOCTOR, .hidden = true,
    .help = "The password of that user. It is not printed, nor part of a report")
KEY(RUNNER_FS_CLIENT_HADOOP_BIN, "runner.fs_client.hadoop_bin", TEXT, "", TASK | DOCTOR,
    .help = "The hadoop command")
KEY(RUNNER_FS_NAME, "runner.fs_name", TEXT, "", TASK | DOCTOR,
    .help = "Instead of `fs_client.uri`")
KEY(RUNNER_FS_UGI, "runner.fs_ugi", TEXT, "", TASK | DOCTOR, .hidden = true,
    .help = "With `fs_name`: `user,password`. It is not printed, nor part of a report")
KEY(RUNNER_SEED, "runner.seed", INT, "12345", TRAIN,
    .alias = "random_seed",
    .help = "Seed of initial parameters and of shuffling")
KEY(RUNNER_NEED_DUMP, "runner.need_dump", BOOL, "False", TRAIN | INFER,
    .help = "Writes values of variables for every sample, as text: see [Sample "
            "dumps](#sample-dumps)")
KEY(RUNNER_DUMP_FIELDS, "runner.dump_fields", LIST, NULL, TRAIN | INFER,
    .help = "Variables whose values are written for every sample")
KEY(RUNNER_DUMP_FIELDS_PATH, "runner.dump_fields_path", PATH, NULL, TRAIN | INFER,
    .help = "Folder of the dumps; required by `need_dump`")
KEY(RUNNER_DUMP_PARAM, "runner.dump_param", LIST, NULL, TRAIN | INFER,
    .help = "Parameters whose values are written for every batch")
KEY(RUNNER_DATASET_DEBUG, "runner.dataset_debug", BOOL, "False", TRAIN,
    .help = "Prints, every 100 batches, the mean time of every op and of reading")
KEY(RUNNER_MODEL, "runner.model", TEXT, NULL, TASK | DOCTOR, .depends = "from the folder",
    .help = "Name of the model, or a file: `./mynet.yaml`, `./mymodel.so` "
            "([networks.md](../guide/networks.md))")
KEY(WORKSPACE, "workspace", TEXT, NULL, TASK | DOCTOR,
    .help = "PaddleRec's folder of the model, which names it where neither `runner.model` nor the "
            "folder of the config does")

GROUP(VALIDATION, "validation")
KEY(RUNNER_VALID_DATA_DIR, "runner.valid_data_dir", PATHS, NULL, TRAIN | CALIBRATE,
    .help = "A folder, files or patterns, read like the training data, on which `train` evaluates "
            "the model")
KEY(RUNNER_VALID_BATCH_SIZE, "runner.valid_batch_size", INT, NULL, TRAIN | CALIBRATE, BETWEEN(1, 1 << 24),
    .from = KEY_RUNNER_INFER_BATCH_SIZE,
    .help = "Samples in a batch")
KEY(RUNNER_VALID_INTERVAL, "runner.valid_interval", INT, "0", TRAIN, BETWEEN(0, INT64_MAX / 2),
    .help = "Batches between evaluations within an epoch; 0: none. All threads wait during an "
            "evaluation")
KEY(RUNNER_VALID_METRIC, "runner.valid_metric", WORD, "auto", TRAIN,
    .words = "auto auc log_loss loss",
    .help = "Metric that is compared: `auc` (the highest wins), `log_loss`, `loss` (the lowest "
            "wins). auto: the first of these that model and data have")
KEY(RUNNER_EARLY_STOP, "runner.early_stop", INT, "0", TRAIN, BETWEEN(0, 1000000),
    .help = "Ends training, with status 0, after so many evaluations in a row without "
            "improvement. 0: never")
KEY(RUNNER_EARLY_STOP_DELTA, "runner.early_stop_delta", REAL, "0", TRAIN, AT_LEAST(0),
    .help = "A smaller change is no improvement")
KEY(RUNNER_PLATEAU, "runner.plateau", INT, "0", TRAIN, BETWEEN(0, 1000000),
    .help = "After so many evaluations in a row without improvement, the next epoch begins with "
            "the best model and a lower learning rate. `early_stop` counts after it. 0: never")
KEY(RUNNER_PLATEAU_FACTOR, "runner.plateau_factor", REAL, "0.1", TRAIN, BETWEEN(0, 1),
    .help = "What the learning rate is multiplied by")
KEY(RUNNER_KEEP_BEST, "runner.keep_best", BOOL, "True", TRAIN,
    .help = "Keeps the best model on disk, whatever `keep_epochs` says. A best model within an "
            "epoch is saved when it is found")
KEY(RUNNER_KEEP_EPOCHS, "runner.keep_epochs", INT, "0", TRAIN, BETWEEN(0, 1000000),
    .help = "Newest epochs of the run that stay on disk; 0: all. Works without validation, too")
KEY(RUNNER_CALIBRATE, "runner.calibrate", WORD, "none", TRAIN | INFER | PREDICT | CALIBRATE,
    .words = "none isotonic platt",
    .depends = "`calibrate`: platt; `infer`, `predict`: what is saved",
    .alias = "calibration",
    .help = "Correction of the probabilities, fitted on the validation data at the end of "
            "training and saved with the best model. `infer` and `predict` apply what is saved, "
            "unless this is none")

GROUP(WEIGHTS, "weights of samples, metrics by group")
KEY(RUNNER_WEIGHT_COLUMN, "runner.weight_column", TEXT, NULL,
    TRAIN | INFER | CALIBRATE | CHECK_DATA,
    .alias = "sample_weight weight_col",
    .help = "Column of the table (csv), or slot, with the weight of each row: a number of at least "
            "0. It acts in the loss, in all metrics and in calibration. `predict` does not need it "
            "([understand.md](../guide/understand.md#weights))")
KEY(RUNNER_CLASS_WEIGHT, "runner.class_weight", LIST, NULL, TRAIN | INFER,
    .alias = "class_weights",
    .help = "Two numbers: the weights of rows with label 0 and 1 in the loss. Metrics do not have "
            "them, as in scikit-learn")
KEY(RUNNER_GROUP_COLUMN, "runner.group_column", TEXT, NULL, TRAIN | INFER | CHECK_DATA,
    .alias = "group_id group_by",
    .help = "Column of the table (csv), or slot: validation and `infer` have the AUC within the "
            "groups of rows with the same value, too")
KEY(RUNNER_THRESHOLD, "runner.threshold", REAL, "0.5", TRAIN | INFER, BETWEEN(0, 1),
    .help = "A prediction of at least this counts as 1 in precision, recall and F1")

GROUP(READERS, "settings of readers")
KEY(RUNNER_INPUT_HASH, "runner.input_hash", TEXT, "xxh64", TASK,
    .help = "criteo, csv: `xxh64`; `python`: `hash()` of Python 3.7 with PYTHONHASHSEED=0")
KEY(RUNNER_INPUT_HASH_SIZE, "runner.input_hash_size", INT, NULL, TASK, AT_LEAST(0),
    .depends = "criteo: rows of the tables",
    .alias = "hash_size",
    .help = "all but multislot, binary: ids are taken modulo this number; 0: all 64 bits")
KEY(RUNNER_INPUT_NORMALISE, "runner.input_normalise", TEXT, NULL, TASK,
    .depends = "criteo: documents, else none",
    .help = "criteo, csv, libsvm: numbers. `documents`: (x - min) / diff of Paddle's CTR-DNN "
            "documents (criteo); `quantile`: by `input_stats`; `none`")
KEY(RUNNER_INPUT_STATS, "runner.input_stats", PATH, NULL, TASK,
    .help = "criteo, csv, libsvm: file that `skiff prepare` or `skiff init` writes. Required for "
            "quantile. For csv and libsvm it gives ids, too")
KEY(RUNNER_INPUT_POSITIVE, "runner.input_positive", TEXT, NULL, TASK,
    .depends = "labels are numbers",
    .help = "csv, libsvm, libffm: the label that is 1. Case does not matter")
KEY(RUNNER_INPUT_NEGATIVE, "runner.input_negative", TEXT, NULL, TASK, .depends = "any other label",
    .help = "csv, libsvm, libffm: the label that is 0, with `input_positive`. Case does not matter")
KEY(RUNNER_INPUT_LABEL, "runner.input_label", BOOL, "True", TASK,
    .help = "criteo, csv, slot_text, sign_slot: False: rows need no label; criteo lines have no "
            "such column")
KEY(RUNNER_INPUT_SLOTS, "runner.input_slots", LIST, NULL, TASK, .depends = "usual names",
    .help = "slot_text, sign_slot: names in the file, in the order of the model's inputs")
KEY(RUNNER_INPUT_COLUMNS, "runner.input_columns", LIST, NULL, TASK, .depends = "from the header",
    .alias = "columns",
    .help = "csv: list of `slot = column, column`, by name or, without a header, by position from "
            "1. Or the slot of each column in order (`-`: not used; `dense*13`: 13 columns of one "
            "slot)")
KEY(RUNNER_INPUT_MISSING, "runner.input_missing", LIST, NULL, TASK,
    .help = "csv: texts that stand for a missing value, besides an empty cell")
KEY(RUNNER_INPUT_COMMENT, "runner.input_comment", TEXT, NULL, TASK,
    .help = "csv: lines that begin with this character are skipped")
KEY(RUNNER_INPUT_SEPARATOR, "runner.input_separator", TEXT, ",", TASK,
    .alias = "separator delimiter",
    .help = "csv: one character, or tab, comma, space, pipe, semicolon")
KEY(RUNNER_INPUT_DECIMAL, "runner.input_decimal", TEXT, ".", TASK,
    .help = "csv: `comma`: numbers are written `3,5`; such cells are read as `3.5`")
KEY(RUNNER_INPUT_HEADER, "runner.input_header", BOOL, "True", TASK,
    .alias = "header",
    .help = "csv: the first line of each file names columns")
KEY(RUNNER_INPUT_WIDTH, "runner.input_width", INT, NULL, TASK, AT_LEAST(0),
    .depends = "as the first line",
    .help = "csv: without a header line: columns of a row with its label, so that `skiff predict` "
            "recognises rows without one")
KEY(RUNNER_INPUT_MULTI, "runner.input_multi", TEXT, NULL, TASK,
    .help = "csv: character between several values of one cell")
KEY(RUNNER_INPUT_ID, "runner.input_id", TEXT, NULL, TASK,
    .help = "csv: column of row ids, which `predict` prints and dumps contain: its name, or its "
            "number from 1")
KEY(RUNNER_INPUT_INDEX_BASE, "runner.input_index_base", INT, "1", TASK,
    .help = "libsvm: index of the first value of a dense slot")
KEY(RUNNER_INPUT_FIELD_BASE, "runner.input_field_base", INT, "0", TASK,
    .help = "libffm: number of the first field")
KEY(RUNNER_PARSE_INS_ID, "runner.parse_ins_id", BOOL, "False", TASK,
    .help = "multislot: lines begin with an id of the sample (`predict` prints it)")
KEY(RUNNER_PARSE_CONTENT, "runner.parse_content", BOOL, "False", TASK,
    .help = "multislot: lines begin with content, behind the id")
KEY(RUNNER_PARSE_LOGKEY, "runner.parse_logkey", BOOL, "False", TASK,
    .help = "multislot: lines begin with a log key of the sample")

GROUP(JOB, "jobs")
KEY(RUNNER_SYNC_MODE, "runner.sync_mode", TEXT, NULL, TASK | LAUNCH | DOCTOR,
    .from = KEY_OPTIMIZER_STRATEGY,
    .help = "`sync`, `half_async`, `async`, `geo`; `collective`: no servers, every rank holds all "
            "parameters. A job of ranks without servers is collective in any case")
KEY(RUNNER_GEO_STEP, "runner.geo_step", INT, "400", TRAIN | LAUNCH, BETWEEN(1, 1 << 30),
    .help = "geo: batches between two exchanges")
KEY(RUNNER_SPLIT_FILE_LIST, "runner.split_file_list", BOOL, "False", TRAIN | INFER | DOCTOR,
    .help = "True: workers share the files, in blocks of the sorted list. False: every worker "
            "reads all files that it finds")
KEY(RUNNER_WARMUP_MODEL_PATH, "runner.warmup_model_path", PATH, NULL, TRAIN,
    .depends = "initial values",
    .help = "Saved model to start from, in any form of "
            "[distributed.md](../guide/distributed.md). `model_init_path` takes precedence")
KEY(RUNNER_TRANSPORT, "runner.transport", TEXT, "tcp", TRAIN | LAUNCH | DOCTOR,
    .environment = "SKIFF_TRANSPORT",
    .help = "How processes reach each other: `tcp`, `ipc`, with settings "
            "([distributed.md](../guide/distributed.md)). Flag and environment take precedence")
KEY(RUNNER_GRADIENT_MERGE, "runner.gradient_merge", BOOL, "False", TRAIN | LAUNCH,
    .help = "Updates only every `gradient_merge_configs.k_steps`-th batch, by the mean of the "
            "gradients. For ranks without servers, or one process with one thread "
            "([collective.md](../guide/collective.md#fewer-sums))")
KEY(RUNNER_GRADIENT_MERGE_CONFIGS_K_STEPS, "runner.gradient_merge_configs.k_steps", INT, "1", TRAIN,
    BETWEEN(1, 1 << 30),
    .help = "Batches of one update")
KEY(RUNNER_GRADIENT_MERGE_CONFIGS_AVG, "runner.gradient_merge_configs.avg", BOOL, "True", TRAIN,
    .help = "False: by the sum of the gradients")
KEY(RUNNER_LOCALSGD, "runner.localsgd", BOOL, "False", TRAIN | LAUNCH,
    .help = "Ranks without servers train alone. Parameters become their mean in every "
            "`localsgd_configs.k_steps`-th step, and in each of the first "
            "`localsgd_configs.begin_step` steps")
KEY(RUNNER_LOCALSGD_CONFIGS_K_STEPS, "runner.localsgd_configs.k_steps", INT, "1", TRAIN,
    BETWEEN(1, 1 << 30),
    .help = "Steps between two means")
KEY(RUNNER_LOCALSGD_CONFIGS_BEGIN_STEP, "runner.localsgd_configs.begin_step", INT, "1", TRAIN,
    BETWEEN(0, 1 << 30),
    .help = "First steps with a mean each")
KEY(RUNNER_ON_WORKER_DEATH, "runner.on_worker_death", WORD, "go_on", TRAIN | LAUNCH,
    .words = "go_on stop",
    .help = "`stop`: the job ends when a worker dies. `go_on`: the other workers continue")
KEY(SECURITY_ENCRYPT, "security.encrypt", WORD, "auto", TRAIN | LAUNCH | DOCTOR,
    .words = "auto on off", .environment = "SKIFF_ENCRYPT",
    .help = "Encryption between machines ([security.md](../guide/security.md)). Flag and "
            "environment take precedence")
KEY(SECURITY_SECRET_FILE, "security.secret_file", PATH, NULL, TRAIN | LAUNCH | DOCTOR,
    .environment = "SKIFF_SECRET_FILE",
    .help = "File of the secret of the job ([security.md](../guide/security.md)). Flag and "
            "environment (also `SKIFF_SECRET`) take precedence")
KEY(SECURITY_INSECURE, "security.insecure", BOOL, "False", TRAIN | LAUNCH | DOCTOR,
    .environment = "SKIFF_INSECURE",
    .help = "True: no secret is needed, wherever servers are ([security.md](../guide/security.md))")

GROUP(ONLINE, "online training")
KEY(RUNNER_START_DAY, "runner.start_day", DAY, NULL, TRAIN, .depends = "required",
    .help = "First day, as 20190720. This key or `days` makes `skiff train` process days and "
            "passes")
KEY(RUNNER_END_DAY, "runner.end_day", DAY, NULL, TRAIN, .depends = "required",
    .help = "Last day")
KEY(RUNNER_SPLIT_INTERVAL, "runner.split_interval", INT, "5", TRAIN, BETWEEN(1, 1440),
    .help = "Length of a split in minutes, whose folder is `<train_data_dir>/<day>/<hhmm>`")
KEY(RUNNER_SPLIT_PER_PASS, "runner.split_per_pass", INT, "1", TRAIN, BETWEEN(1, 1440),
    .help = "Splits in a pass. A day has 1440 / interval / splits passes, rounded down; a warning "
            "reports minutes outside all passes")
KEY(RUNNER_DAYS, "runner.days", LIST, NULL, TRAIN,
    .help = "Instead of first and last day: `{20191225..20191227}`, or a list separated by spaces")
KEY(RUNNER_PASS_PER_DAY, "runner.pass_per_day", INT, NULL, TRAIN, BETWEEN(1, 1440),
    .depends = "by `split_interval`",
    .help = "Passes of a day instead of splits; their folders are "
            "`<train_data_dir>/<day>/<pass>`, numbered from 1")
KEY(RUNNER_DATA_DONEFILE, "runner.data_donefile", TEXT, NULL, TRAIN,
    .help = "The run waits for each folder until it contains this file, which is not read as "
            "data. Without this key, a missing folder is an error")
KEY(RUNNER_DATA_SLEEP_SECOND, "runner.data_sleep_second", REAL, "10", TRAIN,
    .help = "Seconds between two checks for data, above 0 and at most 86400")
KEY(RUNNER_CHECKPOINT_PER_PASS, "runner.checkpoint_per_pass", INT, "6", TRAIN, BETWEEN(1, INT_MAX),
    .help = "A checkpoint after this many passes of a day, except after the last pass")
KEY(RUNNER_SAVE_DELTA_FREQUENCY, "runner.save_delta_frequency", INT, "6", TRAIN,
    BETWEEN(1, INT_MAX),
    .help = "A delta after this many passes")
KEY(RUNNER_SAVE_FIRST_BASE, "runner.save_first_base", BOOL, "False", TRAIN,
    .help = "A base before the first pass")

GROUP(TABLES, "sparse tables")
KEY(TABLE_PARAMETERS, "table_parameters.*", ANY, NULL, TASK | LAUNCH,
    .help = "`table_parameters.<table>.*`: as in fleet 2.x's `sparse_table_configs`: "
            "`table_class`, `shard_num`, `enable_sparse_table_cache`, `accessor.*` and so on. A "
            "wrong value is an error with its line; an unknown path is a warning. `memory_limit`: "
            "bytes of a server's part of the table (8G). `memory_policy`: rows that leave memory "
            "at the limit: `drop_lowest` (by score), `drop_oldest`, `disk`. `path`: folder of the "
            "rows on disk. `entry`: which ids get a row: `count_filter_entry:5`, "
            "`probability_entry:0.1`; or which variables are show and click")
KEY(RUNNER_MEMORY_LIMIT, "runner.memory_limit", SIZE, NULL, TASK | LAUNCH,
    .environment = "SKIFF_SERVER_MEMORY",
    .help = "Bytes that all tables of one server share, in equal parts. `skiff launch "
            "--server_memory 8G` and `SKIFF_SERVER_MEMORY` take precedence")
KEY(RUNNER_TABLE_BYTES, "runner.table_bytes", SIZE, NULL, TASK | LAUNCH,
    .help = "`memory_limit` of each table that has none")
KEY(HYPER_ADAM_D2SUM, "hyper_parameters.adam_d2sum", BOOL, "False", TRAIN | LAUNCH,
    .help = "Servers update dense parameters by Paddle's rule of that name")

GROUP(OPTIMIZER, "optimizer")
KEY(OPTIMIZER_CLASS, "hyper_parameters.optimizer.class", TEXT, "Adam", TRAIN | LAUNCH,
    .alias = "optimizer optimizer_class optimizer_type",
    .help = "SGD, Momentum, LarsMomentum, Adagrad, Adam, Adamax, Adadelta, RMSProp, Ftrl, "
            "DecayedAdagrad, Lamb, Dpsgd")
KEY(OPTIMIZER_LEARNING_RATE, "hyper_parameters.optimizer.learning_rate", REAL, "0.001", TRAIN,
    AT_LEAST(0),
    .alias = "lr base_lr learning_rate",
    .help = "Learning rate")
KEY(OPTIMIZER_LAZY_MODE, "hyper_parameters.optimizer.lazy_mode", BOOL, "True", TRAIN,
    .from = KEY_OPTIMIZER_ADAM_LAZY_MODE,
    .help = "Adam: only rows that a batch uses are updated, as in PaddleRec's models. Fluid's own "
            "default is False")
KEY(OPTIMIZER_ADAM_LAZY_MODE, "hyper_parameters.optimizer.adam_lazy_mode", BOOL, "True", TRAIN,
    .help = "Another name of `lazy_mode`")
KEY(OPTIMIZER_DECAY_STEPS, "hyper_parameters.optimizer.decay_steps", REAL, "0", TRAIN,
    .help = "With `decay_rate`: rate * decay_rate ^ floor(step / decay_steps); 0: a constant rate")
KEY(OPTIMIZER_DECAY_RATE, "hyper_parameters.optimizer.decay_rate", REAL, "1", TRAIN,
    .help = "See `decay_steps`")
KEY(OPTIMIZER, "hyper_parameters.optimizer.*", ANY, NULL, TRAIN, .depends = "Fluid's; momentum 0.9",
    .help = "Hyper-parameters of the classes that have them: `beta1`, `beta2`, `epsilon`, "
            "`momentum`, `rho`, `decay`, `l1`, `l2`, `lr_power`, `initial_accumulator_value`, "
            "`lars_coeff`, `lars_weight_decay`, `lamb_weight_decay`, `use_nesterov`, `centered`")
KEY(OPTIMIZER_L2_DECAY, "hyper_parameters.optimizer.l2_decay", REAL, "0", TRAIN,
    .alias = "weight_decay l2_reg",
    .help = "Decay of all parameters; 0: none")
KEY(OPTIMIZER_CLIP_NORM, "hyper_parameters.optimizer.clip_norm", REAL, "0", TRAIN,
    .alias = "grad_clip gradient_clip max_grad_norm clip_grad_norm",
    .help = "Clipping by the norm of all gradients; 0: none")
KEY(OPTIMIZER_STRATEGY, "hyper_parameters.optimizer.strategy", TEXT, "async", TRAIN | LAUNCH,
    .help = "Mode of a job when `runner.sync_mode` is not set")

GROUP(HYPER, "models and networks")
KEY(HYPER_SPARSE_FEATURE_NUMBER, "hyper_parameters.sparse_feature_number", INT, NULL, TASK,
    BETWEEN(0, INT64_C(1) << 40), .depends = "the model's",
    .alias = "vocab_size num_features",
    .help = "Rows of the embedding")
KEY(HYPER_SPARSE_FEATURE_DIM, "hyper_parameters.sparse_feature_dim", INT, NULL, TASK,
    BETWEEN(0, INT64_C(1) << 40), .depends = "the model's", .by_model = true,
    .alias = "embedding_dim embedding_size emb_dim",
    .help = "Width of the embedding")
KEY(HYPER_FC_SIZES, "hyper_parameters.fc_sizes", INTS, NULL, TASK, BETWEEN(1, 1 << 20),
    .depends = "the model's", .by_model = true,
    .alias = "hidden_sizes hidden_units hidden_layers",
    .help = "Sizes of the fully connected layers")
KEY(HYPER_DROPOUT, "hyper_parameters.dropout", REAL, NULL, TASK, BETWEEN(0, 1),
    .depends = "0", .by_model = true,
    .alias = "dropout_rate net_dropout drop_out",
    .help = "Share of the outputs of each fully connected layer that is 0 while it trains: against "
            "overfitting")
KEY(HYPER, "hyper_parameters.*", ANY, NULL, TASK, .depends = "the model's",
    .help = "Numbers, sizes and texts that the model reads, or that a network in YAML has under its "
            "own `hyper_parameters` ([networks.md](../guide/networks.md))")

GROUP(IGNORED, "accepted without effect")
KEY(RUNNER_TRAIN_READER_PATH, "runner.train_reader_path", ANY, NULL, 0,
    .help = "data")
KEY(RUNNER_INFER_READER_PATH, "runner.infer_reader_path", ANY, NULL, 0,
    .help = "data")
KEY(RUNNER_INFER_READER_TYPE, "runner.infer_reader_type", ANY, NULL, 0,
    .help = "data")
KEY(RUNNER_INFER_DATA_DIR, "runner.infer_data_dir", ANY, NULL, 0,
    .help = "data")
KEY(RUNNER_MODEL_PATH, "runner.model_path", ANY, NULL, 0,
    .help = "data")
KEY(RUNNER_SPLIT_ROWS, "runner.split_rows", ANY, NULL, 0,
    .help = "data")
KEY(RUNNER_PREFETCH, "runner.prefetch", BOOL, NULL, 0,
    .help = "data; a pass of online training is read when it is due")
KEY(RUNNER_WORD_COUNT_DICT_PATH, "runner.word_count_dict_path", ANY, NULL, 0,
    .help = "data")
KEY(RUNNER_WORD_ID_DICT_PATH, "runner.word_id_dict_path", ANY, NULL, 0,
    .help = "data")
KEY(RUNNER_USE_GPU, "runner.use_gpu", ANY, NULL, 0,
    .help = "devices")
KEY(RUNNER_USE_XPU, "runner.use_xpu", ANY, NULL, 0,
    .help = "devices")
KEY(RUNNER_USE_NPU, "runner.use_npu", ANY, NULL, 0,
    .help = "devices")
KEY(RUNNER_USE_FLEET, "runner.use_fleet", ANY, NULL, 0,
    .help = "processes")
KEY(RUNNER_NUM_WORKERS, "runner.num_workers", ANY, NULL, 0,
    .help = "processes")
KEY(RUNNER_TRAIN_THREAD_NUM, "runner.train_thread_num", ANY, NULL, 0,
    .help = "threads")
KEY(RUNNER_INFER_THREAD_NUM, "runner.infer_thread_num", ANY, NULL, 0,
    .help = "threads")
KEY(RUNNER_PRELOAD_THREAD_NUM, "runner.preload_thread_num", ANY, NULL, 0,
    .help = "threads")
KEY(RUNNER_SHUFFLE_THREAD_NUM, "runner.shuffle_thread_num", ANY, NULL, 0,
    .help = "threads")
KEY(RUNNER_USE_AUC, "runner.use_auc", ANY, NULL, 0,
    .help = "output")
KEY(RUNNER_AUC_NUM, "runner.auc_num", ANY, NULL, 0,
    .help = "output")
KEY(RUNNER_USE_VISUAL, "runner.use_visual", ANY, NULL, 0,
    .help = "output")
KEY(RUNNER_NEED_TRAIN_DUMP, "runner.need_train_dump", ANY, NULL, 0,
    .help = "output")
KEY(RUNNER_NEED_INFER_DUMP, "runner.need_infer_dump", ANY, NULL, 0,
    .help = "output")
KEY(RUNNER_TRAIN_DUMP_FIELDS_DIR, "runner.train_dump_fields_dir", ANY, NULL, 0,
    .help = "output")
KEY(RUNNER_INFER_DUMP_FIELDS_DIR, "runner.infer_dump_fields_dir", ANY, NULL, 0,
    .help = "output")
KEY(RUNNER_EXAMPLE_COUNT_METHOD, "runner.example_count_method", ANY, NULL, 0,
    .help = "output")

#undef GROUP
#undef KEY
/* clang-format on */
