#!/usr/bin/env bash
# The trainer of <skiff/trainer.h>: examples/train.c does what `skiff train --resume` does with validation and a report,
# to the same bits; a run that it has begun is continued by the command, and the other way round.
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
. "$(dirname "$0")/../words.sh"
example=$build/examples/train
mkdir -p "$work/rank/dnn"
config=$work/rank/dnn/config.yaml
run 0 synth --rows 4000 --test-rows 500 --files 2 --out "$work/data"
cat >"$config" <<YAML
runner:
  train_data_dir: ../../data/train
  valid_data_dir: ../../data/test
  input_format: criteo
  train_batch_size: 100
  epochs: 2
  model_save_path: out
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_feature_number: 10007
  sparse_feature_dim: 4
  fc_sizes: [16, 8]
YAML
example() { # STATUS ARGUMENT...
    local want=$1 got
    shift
    "$example" "$config" "$@" >"$log" 2>&1
    got=$?
    check "train $* ended with $got, not $want" test "$got" = "$want"
}
same() { check "$1 and $2 are equal" cmp -s "$work/rank/dnn/$1" "$work/rank/dnn/$2"; }

run 0 train -m "$config" -o runner.model_save_path=theirs
theirs=$(grep '^valid: epoch 1' "$log")
best=$(sed -n 's/^best epoch: \([0-9]*\) .*/\1/p' "$log")
example 0 runner.model_save_path=mine
says "$theirs"
says "best epoch: $best"
says "2 epochs, 8000 samples"
same mine/1/rec_static.pdparams theirs/1/rec_static.pdparams
same mine/1/rec_static.pdopt theirs/1/rec_static.pdopt
check "the report is there" test -s "$work/rank/dnn/mine/report.html"
check "the report has both epochs" grep -q '"epoch": *1' "$work/rank/dnn/mine/report.json"

# one begins, the other continues
example 0 runner.model_save_path=half runner.epochs=1
run 0 train -m "$config" --resume -o runner.model_save_path=half
says "resuming from"
same half/1/rec_static.pdparams theirs/1/rec_static.pdparams
example 0 runner.model_save_path=half runner.epochs=3
says "1 epochs, 4000 samples"
check "epoch 2 is saved" test -s "$work/rank/dnn/half/2/rec_static.pdparams"

# as every process of a job
rm -rf "$work/log.job"
"$skiff" launch --server_num 1 --worker_num 2 --log_dir "$work/log.job" -- "$example" "$config" runner.model_save_path=job \
    runner.sync_mode=sync runner.split_file_list=True >"$log" 2>&1
check "a job ended with $?" grep -q "2 epochs, 8000 samples" "$work/log.job/workerlog.0"
check "its model is saved, and validated: $(tail -n 3 "$log")" grep -q '^model: "1"' "$work/rank/dnn/job/best.yaml"
check "all processes ended well: $(tail -n 3 "$log")" bash -c '! grep -q "failed" "$1"' - "$log"

# what is wrong is said
example 1 runner.epochz=1
says "runner.epochz"
check "no config is an error" bash -c '! "$1" "$2" >"$3" 2>&1' - "$example" "$work/none.yaml" "$log"
says "none.yaml"
exit "$failed"
