#!/usr/bin/env bash
# collective_train.sh [ROWS]: two ranks of one thread against one process with two threads: the documents' CTR-DNN from
# text, batch 512 and 1000 a rank, SGD and Adam. Both sides in turns, three times; the second epoch counts.
set -euo pipefail
rows=${1:-200000}
root=$(cd "$(dirname "$0")/.." && pwd)
skiff=$(realpath "${BUILD:-$root/build}")/skiff
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$skiff" synth --out "$work/rows" --rows "$rows" --test-rows 1000 --files 4 >/dev/null

speed() { # THREADS RANKS more: samples a second of the second epoch
    local threads=$1 ranks=$2
    shift 2
    local command=("$skiff" train -m "$root/models/rank/dnn/ctr_documents.yaml" -o runner.model=rank/dnn
        runner.train_data_dir="$work/rows/train" runner.epochs=2 runner.thread_num="$threads"
        runner.split_file_list=True hyper_parameters.optimizer.learning_rate=0.0001 "$@")
    rm -rf "$work/models"
    if [ "$ranks" = 1 ]; then
        "${command[@]}" runner.model_save_path="$work/models" >"$work/out" 2>&1
    else
        "$skiff" launch --nproc_per_node "$ranks" --log_dir "$work/log" --log_overwrite -- \
            "${command[@]}" runner.model_save_path="$work/models" >"$work/out" 2>&1
    fi
    awk '$1 == "1" && $2 + 0 > 0 { print $3; exit }' "$work/out"
}
for batch in 512 1000; do
    for optimizer in SGD Adam; do
        set -- runner.train_batch_size=$batch hyper_parameters.optimizer.class=$optimizer
        for turn in 1 2 3; do
            one=$(speed 2 1 "$@")
            two=$(speed 1 2 "$@")
            awk -v b="$batch" -v o="$optimizer" -v a="$one" -v r="$two" 'BEGIN {
                printf "batch %4d  %-4s  one process, two threads %7d/s  two ranks %7d/s  %3.0f %%\n", b, o, a, r, 100 * r / a }'
        done
    done
done
