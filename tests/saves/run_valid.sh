#!/usr/bin/env bash
# What validation leaves on the disk, when the disk is full or the process is killed there at any operation.
set -uo pipefail
build=$PWD/${BUILD:-build}
skiff=$build/skiff
cut=$build/tests/libcut.so
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
work=$(mktemp -d -p "$(test -w /dev/shm && echo /dev/shm || echo /tmp)")
trap 'rm -rf "$work"' EXIT
log=$work/log
failed=0
fault() {
    echo "FAILED: $*"
    tail -n 4 "$log"
    failed=1
}
says() { grep -qF -- "$1" "$log" || fault "output holds: $1"; }

"$skiff" synth --rows 1200 --test-rows 400 --files 1 --out "$work/data" >"$log" 2>&1 || fault synth
cat >"$work/config.yaml" <<YAML
runner:
  model: rank/dnn
  train_data_dir: data/train
  valid_data_dir: data/test
  input_format: criteo
  train_batch_size: 50
  infer_batch_size: 200
  epochs: 4
  valid_interval: 10
  keep_epochs: 1
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.02}
  sparse_feature_number: 1009
  sparse_feature_dim: 4
  fc_sizes: [8]
YAML
train() { # FOLDER [ARGUMENT...]
    local folder=$1
    shift
    "$skiff" train -m "$work/config.yaml" "$@" -o runner.model_save_path="$folder" >"$log" 2>&1
}
record() { grep -v '^run:' "$work/$1/best.yaml"; }

train whole || fault "in one piece"
[ -s "$work/whole/best.yaml" ] || fault "no record"

# the disk is full where it is written: told, and training goes on
LD_PRELOAD=$cut SKIFF_TEST_CUT=full:1 SKIFF_TEST_CUT_BELOW=best.yaml train full || fault "full: best.yaml"
says "the results of validation could not be saved: "
LD_PRELOAD=$cut SKIFF_TEST_CUT=full:1 SKIFF_TEST_CUT_BELOW=/.best.skiff train full || fault "full: best"
says "the best model so far could not be saved: "
says "best epoch: "

# killed at an operation, and resumed: as in one piece
killed=0
killed_at() { # N BELOW
    rm -rf "$work/cut"
    (LD_PRELOAD=$cut SKIFF_TEST_CUT=kill:$1 SKIFF_TEST_CUT_BELOW=$2 train cut) 2>/dev/null && return
    killed=$((killed + 1))
    "$skiff" infer -m "$work/config.yaml" -o runner.test_data_dir=data/test runner.infer_load_path=cut >"$log" 2>&1
    grep -q "not whole" "$log" && fault "killed at $2 $1: a torn epoch is left"
    train cut --resume || fault "killed at $2 $1: not resumed"
    [ "$(record whole)" = "$(record cut)" ] || fault "killed at $2 $1: $(diff <(record whole) <(record cut))"
    cmp -s "$work/whole/3/rec_static.pdparams" "$work/cut/3/rec_static.pdparams" || fault "killed at $2 $1: other parameters"
    [ "$(echo $(ls -A -I .skiff_lock "$work/whole"))" = "$(echo $(ls -A -I .skiff_lock "$work/cut"))" ] || fault "killed at $2 $1: $(echo $(ls -A "$work/cut"))"
}
LD_PRELOAD=$cut SKIFF_TEST_CUT_LOG=$work/ops SKIFF_TEST_CUT_BELOW=best train counted || fault "counted"
all=$(wc -l <"$work/ops")
[ "$all" -gt 20 ] || fault "only $all operations"
for n in $(seq 1 $((all / 16 + 1)) "$all"); do # of the record and of the best model
    killed_at "$n" best
done
for n in 1 2 3 4 5; do # of the removal of old epochs
    killed_at "$n" skiff-save-old
done
[ "$killed" -gt 15 ] || fault "killed $killed times only"
exit "$failed"
