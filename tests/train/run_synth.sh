#!/usr/bin/env bash
# Rows from synth's planted model are learnt to within 0.01 of the best AUC that synth prints, with a model's own config.
# The table and the layers are made smaller than in the config, so that it takes seconds.
set -euo pipefail
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
skiff=$PWD/${BUILD:-build}/skiff
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$skiff" synth --rows 400000 --test-rows 100000 --out "$work" >"$work/synth"
best=$(sed -n 's/.*test: .*more than AUC \([0-9.]*\) .*/\1/p' "$work/synth")
failed=0
for model in wide_deep deepfm; do
    settings=(-o runner.train_data_dir="$work/train" runner.test_data_dir="$work/test" runner.model_save_path="$work/$model"
        runner.infer_load_path="$work/$model" runner.train_batch_size=100 hyper_parameters.fc_sizes='[128, 64]'
        hyper_parameters.sparse_feature_number=200003)
    "$skiff" train -m models/rank/$model/criteo.yaml "${settings[@]}" >"$work/log" 2>&1
    "$skiff" infer -m models/rank/$model/criteo.yaml "${settings[@]}" >"$work/log" 2>&1
    auc=$(sed -n 's/^Epoch: .*auc: \([0-9.]*\) .*/\1/p' "$work/log")
    echo "$model: auc $auc, at most $best is possible"
    awk -v a="$auc" -v b="$best" 'BEGIN { exit !(b > 0.7 && a > b - 0.01 && a < b + 0.01) }' || failed=1
done
exit $failed
