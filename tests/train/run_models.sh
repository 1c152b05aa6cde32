#!/usr/bin/env bash
# Every ready model, from its config and sample data: trained, saved, judged. The AUC on the rows it was trained on must
# reach a bound; it shows that the model learns, no more. Tables are made small so that files stay small.
set -euo pipefail
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
skiff=$PWD/${BUILD:-build}/skiff
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
judge() { # MODEL BOUND OVERRIDE...
    local model=$1 bound=$2
    shift 2
    "$skiff" train -m "models/$model/config.yaml" -o "runner.model_save_path=$work/out" "$@" >"$work/train" 2>&1 || {
        echo "$model: training failed"
        tail -n 5 "$work/train"
        failed=1
        return
    }
    "$skiff" infer -m "models/$model/config.yaml" -o "runner.infer_load_path=$work/out" "$@" >"$work/infer" 2>&1 || {
        echo "$model: infer failed"
        tail -n 5 "$work/infer"
        failed=1
        return
    }
    local auc
    auc=$(sed -n 's/^Epoch: .*auc: \([0-9.]*\).*/\1/p' "$work/infer" | tail -n 1)
    echo "$model: auc $auc, at least $bound"
    awk -v a="$auc" -v b="$bound" 'BEGIN { exit !(a >= b) }' || failed=1
    rm -rf "$work/out"
}
small="hyper_parameters.sparse_feature_number=20011 runner.input_hash_size=20011"
# shellcheck disable=SC2086
{
    judge rank/dnn 0.95 $small
    judge rank/wide_deep 0.95 $small
    judge rank/deepfm 0.95 $small
    judge rank/dcn 0.85 $small
    judge rank/fm 0.98 $small
    judge rank/logistic_regression 0.95 $small
    judge rank/dlrm 0.95 $small
    judge rank/dnn 0.9 $small hyper_parameters.multi_value=True
    judge recall/word2vec 0.75
    judge match/dssm 0.85
}
exit $failed
