#!/usr/bin/env bash
# skiff config as a user sees it: the list of keys, explanations, the values that a file comes to and where each is from,
# wrong values; that train reads the same values; secrets are shown nowhere.
. "$(dirname "$0")/../words.sh"
config=$work/config.yaml
unset SKIFF_TRANSPORT SKIFF_ENCRYPT SKIFF_SECRET_FILE SKIFF_INSECURE SKIFF_SERVER_MEMORY
line() { # NAME VALUE SOURCE: of skiff config -m
    check "$1: $2 # $3" grep -qE -- "^$1: $2 +# $3\$" "$log"
}

# ---- the table ----
run 0 config
check "the list has a line for each key" test "$(grep -c '^  [a-z]' "$log")" = "$(grep -c '^KEY(' src/config/key_list.h)"
check "runner.thread_num is listed" grep -qE '^  runner\.thread_num +1 +integer, 1 to 1024$' "$log"
check "groups are headings" grep -qx 'validation:' "$log"
run 0 config runner.epochs
says "runner.epochs
  Passes over the training data."
says "  value:    integer, 1 to 1000000"
says "  default:  1"
says "  read by:  train"
run 0 config epochs
says "runner.epochs"
run 0 config num_epochs valid_batch_size
says "runner.epochs"
says "  default:  runner.infer_batch_size"
run 0 config transport
says "  variable: SKIFF_TRANSPORT"
says "docs/guide/distributed.md"
run 0 config hyper_parameters.optimizer.rho
says "hyper_parameters.optimizer.*"
run 1 config runner.epocs
says "runner.epocs is not a key; did you mean runner.epochs?"
run 2 config --set
says "--set needs a config: -m config.yaml"

# ---- a file ----
mkdir -p "$work/rank/dnn"
config=$work/rank/dnn/config.yaml
cat >"$config" <<'YAML'
runner:
  train_data_dir: [../../data/train, ../../data/test]
  input_format: criteo
  train_batch_size: 100
  infer_batch_size: 50
  epochs: 1
  model_save_path: out
  inference: True
  fs_client: {uri: "http://localhost:9870", user: me, passwd: abracadabra}
hyper_parameters:
  fc_sizes: [16, 8]
  sparse_feature_number: 1000
  optimizer: {class: SGD, learning_rate: 0.01, momentum: 0.5}
table_parameters:
  emb: {shard_num: 3}
YAML
run 0 config -m "$config"
line runner.train_batch_size 100 "$config:4"
line runner.train_data_dir '\[../../data/train, ../../data/test\]' "$config:2"
line runner.valid_batch_size 50 "$config:5 \(runner.infer_batch_size\)"
line runner.use_inference True "$config:8 \(runner.inference\)"
line runner.infer_load_path out "$config:7 \(runner.model_save_path\)"
line runner.sync_mode async 'default \(hyper_parameters.optimizer.strategy\)'
line runner.seed 12345 default
line hyper_parameters.fc_sizes '\[16, 8\]' "$config:11"
line hyper_parameters.optimizer.momentum 0.5 "$config:13"
line table_parameters.emb.shard_num 3 "$config:15"
line runner.fs_client.passwd '\(hidden\)' "$config:9"
line runner.transport tcp default
says_not abracadabra
SKIFF_TRANSPORT=ipc run 0 config -m "$config" -o runner.epochs=2 runner.dump_fields='[a,b]'
line runner.epochs 2 -o
line runner.dump_fields '\[a, b\]' -o
line runner.transport ipc 'environment SKIFF_TRANSPORT'
run 0 config -m "$config" --set
says_not "runner.seed"
says "runner.epochs: 1"
run 0 config -m "$config" seed runner.epochs
check "two keys are printed" test "$(wc -l <"$log")" = 2

# ---- what is wrong ----
run 1 config -m "$config" -o runner.thread_num=2000
says "-o runner.thread_num must be between 1 and 1024, found 2000"
run 1 config -m "$config" -o runner.valid_metric=best
says "-o runner.valid_metric must be auto, auc, log_loss or loss, found \"best\""
run 1 config -m "$config" -o runner.epcohs=2
says "-o unknown key runner.epcohs (the nearest known one is runner.epochs)"
sed 's/  epochs: 1/  num_epochs: 1/' "$config" >"$work/other.yaml"
run 1 config -m "$work/other.yaml"
says "$work/other.yaml:6: runner.num_epochs is not a key: write runner.epochs"
run 1 config -m "$work/none.yaml"
says "none.yaml"

# ---- training reads the same, with whole lists; passwords are neither printed nor kept ----
sed -i '/^table_parameters/,$d' "$config"
run 0 synth --rows 300 --test-rows 100 --files 1 --out "$work/data"
run 0 train -m "$config" -v
says "key runner.train_data_dir: [../../data/train, ../../data/test]"
says "key hyper_parameters.fc_sizes: [16, 8]"
says "key runner.fs_client.passwd: (hidden)"
says_not abracadabra
check "runner.inference saves __model__" test -s "$work/rank/dnn/out/0/__model__"
check "no password is in the report" bash -c "! grep -rq abracadabra '$work/rank/dnn/out'"

# ---- what training refuses, skiff config refuses ----
wrong() { # KEY=VALUE TEXT: for skiff config, too
    run 1 config -m "$config" -o hyper_parameters.optimizer.class=Adam "$1"
    says "$2"
    run 1 train -m "$config" -o hyper_parameters.optimizer.class=Adam "$1"
    says "$2"
}
wrong runner.memory_limit=12Q '-o runner.memory_limit must be a size, as 4096, 64K, 10M or 2G, found "12Q"'
wrong runner.infer_start_epoch=first '-o runner.infer_start_epoch must be an integer, found "first"'
wrong runner.epochs=0 "-o runner.epochs must be between 1 and 1000000, found 0"
wrong runner.sync_mode=asink "runner.sync_mode is asink; expected sync, half_async, async or geo, or collective; did you mean async?"
wrong hyper_parameters.optimizer.strategy=asink "hyper_parameters.optimizer.strategy is asink; expected sync, half_async"
wrong hyper_parameters.optimizer.class=Adamm "-o hyper_parameters.optimizer.class must be SGD, Momentum"
wrong hyper_parameters.optimizer.beta1=much '-o hyper_parameters.optimizer.beta1 must be a number, found "much"'
wrong hyper_parameters.optimizer.beta9=1 "-o unknown key hyper_parameters.optimizer.beta9 (the nearest known one is hyper_parameters.optimizer.beta1)"
wrong runner.input_format=cretio "runner.input_format: unknown reader cretio; expected one of multislot, criteo"
wrong runner.input_hash=md5 "runner.input_hash: reader setting hash is 'md5'; expected xxh64 or python"
exit $failed
