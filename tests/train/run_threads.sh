#!/usr/bin/env bash
# Two threads train together, from cut files, from memory, from the cache, with a sparse table and three optimizers. In a TSan
# build (make tsan) a race that tests/tsan.supp does not name ends skiff with status 66; it names Hogwild's, nothing else.
set -euo pipefail
skiff=$PWD/${BUILD:-build}/skiff
export TSAN_OPTIONS=${TSAN_OPTIONS:-suppressions=$PWD/tests/tsan.supp:history_size=7}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$skiff" synth --rows 4000 --test-rows 400 --files 1 --out "$work" >/dev/null
train() { # SETTING...
    "$skiff" train -m models/rank/dnn/ctr_documents.yaml -o runner.train_data_dir="$work/train" runner.model_save_path="$work/model" \
        runner.train_batch_size=100 runner.thread_num=2 'hyper_parameters.fc_sizes=[16]' hyper_parameters.sparse_feature_number=20011 \
        "$@" >"$work/log" 2>&1 || {
        cat "$work/log"
        return 1
    }
    grep -qE '^ +0 +4000 ' "$work/log"
}
train
train hyper_parameters.optimizer.lazy_mode=True runner.reader_type=InmemoryDataset runner.shuffle=True
train hyper_parameters.optimizer.class=SGD runner.cache=True runner.cache_dir="$work"
train hyper_parameters.optimizer.class=SGD runner.cache=True runner.cache_dir="$work"
train hyper_parameters.optimizer.class=Adagrad runner.dataset_debug=True
"$skiff" infer -m models/rank/dnn/ctr_documents.yaml -o runner.test_data_dir="$work/test" runner.infer_load_path="$work/model" \
    runner.thread_num=2 'hyper_parameters.fc_sizes=[16]' hyper_parameters.sparse_feature_number=20011 >/dev/null 2>&1
