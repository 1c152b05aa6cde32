#!/usr/bin/env bash
# Calibration as a user sees it: after training, by skiff calibrate, in predict and infer, and what is refused.
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
. "$(dirname "$0")/../words.sh"
says_like() { check "output matches: $1" grep -qE -- "$1" "$work/log"; }
number() { sed -n "s/^Epoch: .* $1: \([0-9.]*\).*/\1/p" "$work/log"; }
close() { check "$1: $2 is within $4 of $3" awk "BEGIN {d = $2 - $3; exit !(d < $4 && d > -$4)}"; }

run 0 synth --rows 8000 --test-rows 4000 --files 2 --out "$work/data"
mkdir -p "$work/rank/dnn" "$work/valid" "$work/test" "$work/one"
cat "$work"/data/test/* | head -n 2000 >"$work/valid/rows"
cat "$work"/data/test/* | tail -n 2000 >"$work/test/rows"
awk -F'\t' '$1 == 0' "$work/valid/rows" >"$work/one/rows"
config=$work/rank/dnn/config.yaml
plain=$work/rank/dnn/plain.yaml
out=$work/rank/dnn/out
cat >"$plain" <<YAML
runner:
  train_data_dir: ../../data/train
  test_data_dir: ../../test
  input_format: criteo
  train_batch_size: 100
  infer_batch_size: 100
  epochs: 6
  model_save_path: out
  thread_num: 1
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_feature_number: 10007
  sparse_feature_dim: 4
  fc_sizes: [16, 8]
YAML
sed 's|^runner:|runner:\n  valid_data_dir: ../../valid|' "$plain" >"$config"

# The last epoch has learnt the rows by heart: its probabilities are too far apart.
run 0 train -m "$config"
last="-o runner.infer_epoch=5"
run 0 infer -m "$config" $last
raw_loss=$(number log_loss) raw_auc=$(number auc)
run 0 predict -m "$config" --epoch 5 --input "$work/test/rows" --output "$work/raw"

for method in isotonic platt; do
    run 0 calibrate -m "$config" --epoch 5 -q -o runner.calibrate=$method
    says_like "^calibrated on 2000 rows of valid \($method\): log loss [0-9.]+ -> [0-9.]+, copc [0-9.]+ -> [0-9.]+\$"
    says "saved: $(cd "$out" && pwd)/5/calibration.yaml"
    check "the file names the method" grep -qx "method: $method" "$out/5/calibration.yaml"
    run 0 infer -m "$config" $last
    says_like "^Epoch: 5, .* \(calibrated: $method\)\$"
    says_like "^ +5 .*  calibrated \($method\)\$"
    check "$method: log loss $(number log_loss) below $raw_loss" awk "BEGIN {exit !($(number log_loss) < $raw_loss - 0.05)}"
    close "$method: auc" "$(number auc)" "$raw_auc" 0.002
    run 0 infer -m "$config" $last runner.test_data_dir=../../valid
    close "$method: copc of the rows that it is fitted on" "$(number copc)" 1 0.03
    run 0 predict -m "$config" --epoch 5 --input "$work/test/rows" --output "$work/calibrated"
    says "probabilities are calibrated ($method)"
    check "$method: predict writes other numbers" test "$(paste "$work/raw" "$work/calibrated" | awk '$1 != $2' | wc -l)" -gt 1900
    paste "$work/raw" "$work/calibrated" | sort -g >"$work/both"
    check "$method: rows keep their order" awk '$2 < last {exit 1} {last = $2}' "$work/both"
    run 0 infer -m "$config" $last runner.calibrate=none
    check "$method: none gives what the model gives" test "$(number log_loss)" = "$raw_loss"
    run 0 predict -m "$config" --epoch 5 --input "$work/test/rows" --output "$work/none" -o runner.calibrate=none
    check "$method: predict with none, too" cmp -s "$work/raw" "$work/none"
done
run 0 calibrate -m "$config" --epoch 5 -o runner.calibrate=none
says_like "/5: not calibrated \(runner.calibrate: none\)\$"
check "none removes the file" test ! -e "$out/5/calibration.yaml"

# skiff train does it for the best epoch
run 0 train -m "$config" -o runner.calibrate=platt runner.epochs=2 runner.model_save_path=trained
best=$(sed -n 's/^best epoch: \([0-9]*\) .*/\1/p' "$work/log")
says_like '^calibrated on 2000 rows of valid \(platt\): '
check "the best epoch alone is calibrated" test "$(cd "$work/rank/dnn/trained" && echo */calibration.yaml)" = "$best/calibration.yaml"

# the report has what was printed; the curves are those of the model as it was trained
printed=$(grep '^calibrated on' "$work/log")
check "the calibration is an event of the report" python3 - "$work/rank/dnn/trained" "$printed" <<'PY'
import json, sys
events = json.load(open(sys.argv[1] + "/report.json"))["events"]
assert [e["text"] for e in events if e["kind"] == "calibrated"] == [sys.argv[2]], events
assert '<span class="pill calibrated">' in open(sys.argv[1] + "/report.html").read()
PY

# what is refused
run 1 train -m "$plain" -o runner.calibrate=isotonic
says "runner.calibrate needs runner.valid_data_dir: a folder, files or patterns with validation data"
run 1 calibrate -m "$plain"
says "calibration needs runner.valid_data_dir: a folder, files or patterns with rows that were not trained on"
run 1 calibrate -m "$config" -o runner.valid_data_dir=../../one
says_like 'runner.valid_data_dir: calibration needs rows of both labels: 0 of [0-9]+ rows are positive'
run 0 train -m "$config" -o runner.valid_data_dir=../../one runner.calibrate=platt runner.epochs=1 runner.model_save_path=one
says_like 'WARN.*the model is not calibrated: runner.valid_data_dir: calibration needs rows of both labels'
run 1 calibrate -m "$config" -o runner.calibrate=magic
says 'runner.calibrate must be none, isotonic or platt, found "magic"'
echo "method: magic" >"$out/5/calibration.yaml"
run 1 predict -m "$config" --epoch 5
says_like '/5/calibration.yaml:1: method must be none, isotonic or platt, found "magic"'

[ "$failed" = 0 ] && echo "calibrate: all as expected"
exit "$failed"
