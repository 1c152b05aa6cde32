#!/usr/bin/env bash
# runner.plateau as a user sees it: the best epoch's values come back, the learning rate falls, early stopping counts after
# it; with --resume, a schedule, ranks; where it is refused.
. "$(dirname "$0")/../words.sh"
train() { # STATUS KEY=VALUE...
    local want=$1
    shift
    run "$want" train -m "$config" -o "$@"
}
same() { # WHAT A B: equal parameters and accumulators
    check "$1: parameters" cmp -s "$2/rec_static.pdparams" "$3/rec_static.pdparams"
    check "$1: accumulators" cmp -s "$2/rec_static.pdopt" "$3/rec_static.pdopt"
}
saved() { # EPOCH'S-FOLDER NAME: the number of that name among the accumulators
    /usr/bin/python3 -c '
import pickle, sys
with open(sys.argv[1] + "/rec_static.pdopt", "rb") as f:
    print("%.6g" % pickle.load(f)[sys.argv[2]].reshape(-1)[0])' "$out/$1" "$2"
}
numbers() { # NAME RUN VALUE...: of that name in epochs 0, 1, ...
    local name=$1 folder=$2 epoch=0 value
    shift 2
    /usr/bin/python3 -c 'import numpy' 2>/dev/null || return 0 # the values are NumPy's
    for value; do
        check "$name of $folder/$epoch is $(saved "$folder/$epoch" "$name"), not $value" \
            test "$(saved "$folder/$epoch" "$name")" = "$value"
        epoch=$((epoch + 1))
    done
}

run 0 synth --rows 6000 --test-rows 1000 --files 2 --out "$work/data"
mkdir -p "$work/rank/dnn"
config=$work/rank/dnn/config.yaml
out=$work/rank/dnn
cat >"$config" <<YAML
runner:
  train_data_dir: ../../data/train
  valid_data_dir: ../../data/test
  test_data_dir: ../../data/test
  input_format: criteo
  train_batch_size: 100
  infer_batch_size: 100
  epochs: 6
  model_save_path: out
  thread_num: 1
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.03}
  sparse_feature_number: 10007
  sparse_feature_dim: 4
  fc_sizes: [16, 8]
YAML

# a rate that is too high: epoch 1 is worse than epoch 0. With a factor that stops all learning the best epoch's values are
# what is saved from then on; early stopping counts the two epochs after it
train 0 runner.model_save_path=still runner.plateau=1 runner.plateau_factor=1e-30 runner.epochs=10 runner.early_stop=2
says_like() { check "output matches: $1" grep -qE -- "$1" "$log"; }
flat='plateau: 1 validation in a row without an improvement over auc 0\.[0-9]{4} \(runner\.plateau\): training continues from epoch'
says_like "^$flat 0 with the learning rate times 1e-30\$"
says "early stop: 2 validations in a row without an improvement over auc"
check "it ends with epoch 3" test -e "$out/still/3" -a ! -e "$out/still/4"
check "epoch 1 has learned" bash -c '! cmp -s "$1/0/rec_static.pdparams" "$1/1/rec_static.pdparams"' _ "$out/still"
for epoch in 2 3; do
    check "epoch $epoch has the values of epoch 0" cmp -s "$out/still/0/rec_static.pdparams" "$out/still/$epoch/rec_static.pdparams"
done

# the rate falls each time, and the optimizer's state is the best epoch's, too: powers of beta1 of 60 batches an epoch
train 0 runner.model_save_path=whole runner.plateau=1
check "two reductions" test "$(grep -cE "^$flat" "$log")" = 2
says_like "^$flat 0 with the learning rate times 0\.1\$"
says_like "^$flat 2 with the learning rate times 0\.1\$"
numbers learning_rate_0 whole 0.03 0.03 0.003 0.003 0.0003 0.0003
numbers fc_0.w_0_beta1_pow_acc_0 whole 0.00161731 2.90631e-06 2.90631e-06 5.22266e-09 5.22266e-09 9.38516e-12
check "events of the report" test "$(grep -o '"kind": *"plateau"' "$out/whole/report.json" | wc -l)" = 2
run 0 train -m "$config" -o runner.model_save_path=never runner.epochs=3
says_not plateau
numbers learning_rate_0 never 0.03 0.03 0.03

# a run that is resumed goes on as one in one piece: behind the epoch that asked for it, and behind the next one
for epochs in 2 3; do
    train 0 runner.model_save_path="part$epochs" runner.plateau=1 runner.epochs=$epochs
    run 0 train -m "$config" --resume -o runner.model_save_path="part$epochs" runner.plateau=1
    same "resumed behind $epochs epochs" "$out/whole/5" "$out/part$epochs/5"
done

# not before so many validations; those within an epoch count, and act at its end
train 0 runner.model_save_path=three runner.plateau=3 runner.epochs=5
says "plateau: 3 validations in a row without"
numbers learning_rate_0 three 0.03 0.03 0.03 0.03 0.003
train 0 runner.model_save_path=within runner.plateau=2 runner.valid_interval=20 runner.epochs=3 runner.plateau_factor=1e-30
says_like '^plateau: [2-9] validations in a row .* training continues from epoch [0-9]+(, batch [0-9]+)? with'
check "the values of the best one" cmp -s "$out/within/2/rec_static.pdparams" \
    "$out/within/$(sed -n 's/^model: "\(.*\)"/\1/p' "$out/within/best.yaml")/rec_static.pdparams"

# a schedule goes on where the best epoch was, times the factor
train 0 runner.model_save_path=schedule runner.plateau=1 runner.epochs=4 hyper_parameters.optimizer.decay_rate=0.9 \
    hyper_parameters.optimizer.decay_steps=60
says_like "^$flat 0 with"
numbers learning_rate_scale schedule 1 1 0.1
numbers @LR_DECAY_COUNTER@ schedule 59 119 119 179

# ranks: all take the values of the first
ranks() { # ARGUMENTS...
    run 0 launch --nproc_per_node 2 --log_dir "$work/ranklog" --log_overwrite -m "$config" "$@"
    cat "$work"/ranklog/workerlog.0 >>"$log"
}
sets=(runner.split_file_list=True runner.plateau=1 hyper_parameters.optimizer.learning_rate=0.06)
ranks -o runner.model_save_path=ranks "${sets[@]}"
says "plateau: 1 validation in a row"
last=$(sed -n 's/.*plateau: .* from epoch \([0-9]*\) with.*/\1/p' "$log" | head -n 1)
ranks -o runner.model_save_path=ranks_part runner.epochs=$((last + 2)) "${sets[@]}"
ranks --resume -o runner.model_save_path=ranks_part "${sets[@]}"
same "ranks, resumed" "$out/ranks/5" "$out/ranks_part/5"

# where it is refused
run 1 launch --server_num 1 --worker_num 1 --log_dir "$work/joblog" -m "$config" -o runner.plateau=1
cat "$work"/joblog/workerlog.0 >>"$log"
says "config.yaml: runner.plateau: the learning rate cannot be lowered on servers, in sparse tables and in online training"
train 1 runner.plateau=1 runner.valid_data_dir=
says "runner.plateau needs runner.valid_data_dir: a folder, files or patterns with validation data"
train 1 runner.plateau=1 runner.plateau_factor=2
says "runner.plateau_factor must be between 0 and 1, found 2"

[ "$failed" = 0 ] && echo "plateau: all as expected"
exit "$failed"
