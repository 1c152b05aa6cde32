#!/usr/bin/env bash
# Validation while training as a user sees it: lines, table, the best epoch, early stopping, --resume, infer, jobs,
# messages; and that it changes no bit of what is trained.
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
. "$(dirname "$0")/../words.sh"
train() { # STATUS KEY=VALUE...
    local want=$1
    shift
    run "$want" train -m "$config" -o "$@"
}
says_like() { check "output matches: $1" grep -qE -- "$1" "$work/log"; }
same() { # WHAT A B: equal files
    check "$1" cmp -s "$2" "$3"
}
same_model() { # WHAT A B: equal parameters and accumulators
    same "$1: parameters" "$2/rec_static.pdparams" "$3/rec_static.pdparams"
    same "$1: accumulators" "$2/rec_static.pdopt" "$3/rec_static.pdopt"
}
record() { grep -v '^run:' "$1/best.yaml"; } # what was found, without the name of the run

run 0 synth --rows 6000 --test-rows 1000 --files 2 --out "$work/data"
mkdir -p "$work/rank/dnn" "$work/one" "$work/empty" "$work/blank" "$work/short"
cat "$work"/data/test/* >"$work/all"
awk -F'\t' '$1 == 0' "$work/all" >"$work/one/rows"
: >"$work/blank/rows"
cut -f2- "$work/all" >"$work/short/rows"
config=$work/rank/dnn/config.yaml
plain=$work/rank/dnn/plain.yaml
out=$work/rank/dnn
cat >"$plain" <<YAML
runner:
  train_data_dir: ../../data/train
  test_data_dir: ../../data/test
  input_format: criteo
  train_batch_size: 100
  infer_batch_size: 100
  epochs: 4
  model_save_path: out
  thread_num: 1
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_feature_number: 10007
  sparse_feature_dim: 4
  fc_sizes: [16, 8]
YAML
sed 's|^runner:|runner:\n  valid_data_dir: ../../data/test|' "$plain" >"$config"

# lines, table, the best epoch; the numbers are those of infer on the same data
train 0 runner.model_save_path=a
says_like '^valid: before training: auc 0\.[0-9]{4}, log loss [0-9.]+, copc [0-9.]+$'
says_like '^valid: epoch 0: auc 0\.[0-9]{4}, log loss 0\.[0-9]{4}, copc [0-9]\.[0-9]{2} \(best so far\)$'
says_like '^epoch +valid auc  valid log loss  valid copc +samples .* copc +read +compute +update$'
best=$(sed -n 's/^best epoch: \([0-9]*\) .*/\1/p' "$work/log")
value=$(sed -n 's/^best epoch: .*(valid auc \(0\.[0-9]*\)): .*/\1/p' "$work/log")
says_like "^best epoch: $best \(valid auc $value\): .*/a/$best\$"
says_like "^ +$best\* +$value +0\.[0-9]{4} +[0-9]\.[0-9]{4} +6000 "
check "the record names it" grep -qx "model: \"$best\"" "$out/a/best.yaml"
mine=$(sed -n 's/^valid: epoch [0-9]*: auc \(0\.[0-9]*\), log loss \(0\.[0-9]*\),.*/\1 \2/p' "$work/log")
run 0 infer -m "$config" -o runner.infer_load_path=a
theirs=$(sed -n 's/^Epoch: .* auc: \(0\.[0-9]*\) log_loss: \(0\.[0-9]*\) .*/\1 \2/p' "$work/log")
check "validation finds what infer finds: $mine / $theirs" test "$mine" = "$theirs"
says_like "^ +$best\* "
says "* best in validation during training: auc $value"
run 0 infer -m "$config" -o runner.infer_load_path=a runner.infer_epoch=best
says_like "^Epoch: $best, .* auc: $value "
check "only the best epoch is judged" test "$(grep -c '^Epoch: ' "$work/log")" = 1

# nothing of the training changes: rows behind of Adam, momentum; streamed or shuffled in memory; within epochs too
for how in "Adam runner.reader_type=QueueDataset" "Momentum runner.reader_type=InmemoryDataset runner.shuffle=True"; do
    read -r class rest <<<"$how"
    # shellcheck disable=SC2086 # several words
    train 0 runner.model_save_path=with runner.epochs=2 runner.valid_interval=7 "hyper_parameters.optimizer.class=$class" $rest
    # shellcheck disable=SC2086
    run 0 train -m "$plain" -o runner.model_save_path=without runner.epochs=2 "hyper_parameters.optimizer.class=$class" $rest
    says_not valid
    same_model "$class with and without validation" "$out/with/1" "$out/without/1"
    rm -r "$out/with" "$out/without"
done

# within an epoch; the best one there is saved, and is what it was judged as
train 0 runner.model_save_path=within runner.valid_interval=7 runner.epochs=3 hyper_parameters.optimizer.learning_rate=0.03
says_like '^valid: epoch 0, batch 7: auc 0\.[0-9]{4}, log loss'
says_like '^valid: epoch 2, batch 56: '
top=$(sed -n 's/^valid: epoch.*: auc \(0\.[0-9]*\), log.*/\1/p' "$work/log" | sort -n | tail -n 1)
says_like "^best: epoch [0-9], batch [0-9]+ \(valid auc $top\): .*/within/best\$"
check "the folder is there" test -s "$out/within/best/rec_static.pdparams"
run 0 infer -m "$config" -o runner.infer_load_path=within
says "best in validation during training: epoch"
says "evaluate it with -o runner.infer_epoch=best"
run 0 infer -m "$config" -o runner.infer_load_path=within runner.infer_epoch=best
says_like "auc: $top "
train 0 runner.model_save_path=within runner.valid_interval=7 runner.epochs=3 hyper_parameters.optimizer.learning_rate=0.03 \
    runner.keep_best=False
check "not wanted: not there" test ! -e "$out/within/best"
says "better, but not saved: epoch"
says_like '^best epoch: [0-9]'
# a pause at the very end of an epoch is no point of its own
train 0 runner.model_save_path=even runner.valid_interval=30 runner.epochs=1
check "two points" test "$(grep -c '  - {epoch' "$out/even/best.yaml")" = 2

# -q: only the table and the best one
run 0 train -q -m "$config" -o runner.model_save_path=quiet runner.epochs=1
says_not "valid: "
says "best epoch: 0"

# several threads meet; the numbers of batches may be a little higher
train 0 runner.model_save_path=threads runner.thread_num=2 runner.valid_interval=20 runner.epochs=2
says_like '^valid: epoch 0, batch 2[0-9]: '
says_like '^valid: epoch 1: '

# early stopping
train 0 runner.model_save_path=early runner.epochs=50 runner.early_stop=2 hyper_parameters.optimizer.learning_rate=0.03
says_like '^early stop: 2 validations in a row without an improvement over auc 0\.[0-9]{4} \(runner\.early_stop\)$'
last=$(sed -n 's/^Epoch: \([0-9]*\),.*/\1/p' "$work/log" | tail -n 1)
best=$(sed -n 's/^best epoch: \([0-9]*\) .*/\1/p' "$work/log")
check "two epochs after the best, not $last" test "$last" = $((best + 2))
run 0 train -m "$config" --resume -o runner.model_save_path=early runner.epochs=50 runner.early_stop=2
says "early stop: 2 validations"
check "nothing was trained" bash -c '! grep -q ^Epoch: "$1"' _ "$work/log"
train 0 runner.model_save_path=early runner.epochs=50 runner.early_stop=1 runner.early_stop_delta=0.3
says "without an improvement of at least 0.3 over auc"
train 0 runner.model_save_path=midst runner.epochs=50 runner.early_stop=3 runner.valid_interval=5 \
    runner.valid_metric=log_loss hyper_parameters.optimizer.learning_rate=0.05
says "early stop: 3 validations in a row without an improvement over log loss"
check "the epoch that was cut is saved as such" grep -qE '^complete: False' "$out/midst/0/__skiff_manifest__"
# the best model of the part that was trained stays, though the epoch begins again
best=$(grep '^value: ' "$out/midst/best.yaml")
early=$(grep -c '  - {epoch: 0,' "$out/midst/best.yaml")
run 0 train -m "$config" --resume -o runner.model_save_path=midst runner.epochs=1 runner.valid_interval=20 \
    runner.valid_metric=log_loss hyper_parameters.optimizer.learning_rate=10
check "$best stays" grep -qx "$best" "$out/midst/best.yaml"
check "the points before stay" test "$(grep -c '  - {epoch: 0,' "$out/midst/best.yaml")" = $((early + 3))
check "and its model" grep -qx "steps: $(sed -n 's/^batch: //p' "$out/midst/best.yaml")" "$out/midst/best/__skiff_manifest__"

# old epochs go, the best and the newest stay
train 0 runner.model_save_path=keep runner.epochs=6 runner.keep_epochs=2 hyper_parameters.optimizer.learning_rate=0.03
best=$(sed -n 's/^best epoch: \([0-9]*\) .*/\1/p' "$work/log")
check "the newest two and the best" test "$(echo $(ls "$out/keep"))" = "$(echo $(printf '%s\n' "$best" 4 5 | sort -nu)) best.yaml report.html report.json"
run 0 train -v -m "$plain" -o runner.model_save_path=keep2 runner.keep_epochs=1
says ": runner.keep_epochs is 1"
check "without validation, too" test "$(echo $(ls "$out/keep2"))" = "3 report.html report.json"

# a run that is resumed finds what one in one piece finds
train 0 runner.model_save_path=whole runner.valid_interval=25
train 0 runner.model_save_path=parts runner.valid_interval=25 runner.epochs=2
run 0 train -m "$config" --resume -o runner.model_save_path=parts runner.valid_interval=25
same_model "resumed" "$out/whole/3" "$out/parts/3"
check "the same points" test "$(record "$out/whole")" = "$(record "$out/parts")"
# the process ended behind a save and before its validation
train 0 runner.model_save_path=cut runner.epochs=2
want=$(record "$out/cut")
sed -i '$d' "$out/cut/best.yaml"
run 0 train -m "$config" --resume -o runner.model_save_path=cut runner.epochs=2
says_like '^valid: epoch 1: '
check "it is judged" test "$(record "$out/cut" | tail -n 1)" = "$(tail -n 1 <<<"$want")"
# a new run in the folder of another one knows nothing of it
train 0 runner.model_save_path=cut runner.epochs=1
check "one point" test "$(grep -c '  - {epoch' "$out/cut/best.yaml")" = 1
run 0 train -m "$plain" -o runner.model_save_path=cut runner.epochs=1
run 0 infer -m "$config" -o runner.infer_load_path=cut
says_not "* best"
run 1 infer -m "$config" -o runner.infer_load_path=cut runner.infer_epoch=best
says "runner.infer_epoch is best, but"
says "names none; training with runner.valid_data_dir determines it"
run 1 infer -m "$config" -o runner.infer_load_path=a runner.infer_epoch=bst
says "runner.infer_epoch is bst; expected the number of an epoch, or best"

# what is wrong is told before training
train 1 runner.valid_data_dir=nowhere
says "runner.valid_data_dir: $out/nowhere: there is no such file or folder"
train 1 runner.valid_data_dir=../../empty
says "the folder holds no data file"
train 1 runner.valid_data_dir=../../blank
says "no samples in runner.valid_data_dir"
train 1 runner.valid_data_dir=../../short
says "validation: "
says "short/rows:1: expected 40 columns"
train 1 runner.valid_data_dir=../../one runner.valid_metric=auc
says "runner.valid_metric is auc, which needs both classes: all "
says "samples of runner.valid_data_dir have label 0; use log_loss, or other data"
check "none of them has trained" test ! -e "$out/out/0"
train 0 runner.valid_data_dir=../../one runner.epochs=1
says "have label 0: auc is undefined, log_loss is compared"
says_like '^best epoch: 0 \(valid log loss 0\.[0-9]{4}\): '
run 1 train -m "$plain" -o runner.early_stop=2
says "runner.early_stop needs runner.valid_data_dir: a folder, files or patterns with validation data"
train 1 runner.valid_metric=acu
says "runner.valid_metric must be auto, auc, log_loss or loss"
train 1 runner.early_stop_delta=-1
says "runner.early_stop_delta must be at least 0, found -1"

# Ctrl-C while the data is looked at before training: the pipe command is reading, and gives nothing
sed '/input_format/d' "$config" >"$out/slow.yaml"
"$skiff" train -m "$out/slow.yaml" -o runner.model_save_path=slow \
    runner.pipe_command="sh -c 'touch $work/reading; exec sleep 100'" >"$work/log" 2>&1 &
slow=$!
until [ -e "$work/reading" ] || ! kill -0 $slow 2>/dev/null; do sleep 0.05; done
kill -INT $slow
wait $slow
check "status 1" test $? = 1
says "skiff train: stopped before training"

# a job: the worker that saves judges; all stop together; the epochs are those that infer judges
job() { # STATUS ARGUMENTS...
    local want=$1
    shift
    run "$want" launch --server_num 1 --worker_num 2 --log_dir "$work/joblog" -m "$config" "$@"
    cat "$work"/joblog/workerlog.* >>"$work/log" # what both workers said
}
sets=(-o runner.split_file_list=True runner.sync_mode=sync runner.early_stop=2 runner.keep_epochs=2
    hyper_parameters.optimizer.learning_rate=0.03)
job 0 "${sets[@]}" runner.model_save_path=job runner.epochs=20
says "early stop: "
says "early stop: validation found no improvement"
best=$(sed -n 's/^best epoch: \([0-9]*\) .*/\1/p' "$work/log" | tail -n 1)
value=$(sed -n 's/^best epoch: .*(valid auc \(0\.[0-9]*\)): .*/\1/p' "$work/log" | tail -n 1)
check "it ended one epoch later than one process would" test -e "$out/job/$((best + 3))" -a ! -e "$out/job/$((best + 4))"
check "old epochs are gone" test ! -e "$out/job/$((best + 1))"
run 0 infer -m "$config" -o runner.infer_load_path=job runner.infer_epoch=best
says_like "^Epoch: $best, .* auc: $value "
job 0 "${sets[@]}" runner.model_save_path=part runner.epochs=2
job 0 --resume "${sets[@]}" runner.model_save_path=part runner.epochs=20
check "resumed: $(diff <(record "$out/job") <(record "$out/part") 2>&1)" test "$(record "$out/job")" = "$(record "$out/part")"
# within an epoch the first worker evaluates what servers have then
job 0 -o runner.split_file_list=True runner.sync_mode=sync runner.model_save_path=within_job runner.epochs=2 runner.valid_interval=8
says_like '^valid: epoch 0, batch 8: auc 0\.[0-9]{4}, '
says_like '^valid: epoch 1, batch 24: auc 0\.[0-9]{4}, '
check "points within epochs are kept" test "$(grep -c 'end: False' "$out/within_job/best.yaml")" -ge 6
check "nothing is left beside the epochs" test ! -e "$out/within_job/.within"
job 1 -o runner.model_save_path=refused runner.valid_data_dir=nowhere
says "runner.valid_data_dir: $out/nowhere: there is no such file or folder"

[ "$failed" = 0 ] && echo "valid: all as expected"
exit "$failed"
