#!/usr/bin/env bash
# skiff train killed at file operations of a save, and with a full disk, by a preloaded library (cut.h): --resume goes on from
# the newest whole epoch and ends with the same bits; what is not whole is named and left out, by train and by infer.
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
TMPDIR=$(test -w /dev/shm && echo /dev/shm || echo /tmp) . "$(dirname "$0")/../words.sh"
cut=$build/tests/libcut.so
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
run() { # STATUS COMMAND...: exit status as given; output in $log
    local want=$1
    shift
    "$@" >"$log" 2>&1
    local got=$?
    check "$* ended with $got, not $want" test "$got" = "$want"
}
train() { # FOLDER [ARGUMENT...]
    local to=$1
    shift
    "$skiff" train -m "$config" "$@" -o "runner.model_save_path=$to" "${settings[@]}"
}
infer() { "$skiff" infer -m "$config" -o "runner.infer_load_path=$1"; }
cut_train() { # CUT BELOW FOLDER [ARGUMENT...]
    local how=$1 below=$2
    shift 2
    LD_PRELOAD=$cut SKIFF_TEST_CUT=$how SKIFF_TEST_CUT_BELOW=$below train "$@"
}
same() { # FOLDER: as if nothing had been cut
    for f in rec_static.pdparams rec_static.pdopt __model__ fc_0.w_0; do
        check "$1/1/$f is as without a cut" cmp -s "$1/1/$f" "$work/whole/1/$f"
    done
    check "nothing is left behind in $1" test -z "$(find "$1" -name '*.skiff-*')"
}

"$skiff" synth --rows 200 --test-rows 100 --files 1 --out "$work/data" >"$log" || exit 1
mkdir -p "$work/rank/dnn"
config=$work/rank/dnn/config.yaml
cat >"$config" <<YAML
runner:
  train_data_dir: ../../data/train
  test_data_dir: ../../data/test
  input_format: criteo
  train_batch_size: 100
  infer_batch_size: 100
  epochs: 2
  thread_num: 1
  use_inference: True
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_feature_number: 101
  sparse_feature_dim: 2
  fc_sizes: [4]
YAML
settings=()
run 0 train "$work/whole"
settings=(runner.seed=7)
run 0 train "$work/other"
settings=()
cp -r "$work/whole" "$work/first"
rm -r "$work/first/1"

# a new epoch: killed at an operation, resumed
LD_PRELOAD=$cut SKIFF_TEST_CUT_LOG=$work/ops SKIFF_TEST_CUT_BELOW=/counted train "$work/counted" >"$log" 2>&1
operations=$(wc -l <"$work/ops")
check "operations are counted: $operations" test "$operations" -gt 60
# a power cut: every file and the folder are flushed before the rename that makes them true, and their place after it
check "flushed, renamed, flushed" awk '/ open /{ files++ } / fsync /{ flushed++; after = renamed } / rename /{
    if (flushed < files + 1) { print "operation " $1 ": " files " files, " flushed " flushed"; bad = 1 }
    if (files < 9) { print "only " files " files"; bad = 1 }
    files = flushed = after = 0; renamed = 1 }
    END { exit bad || !after }' "$work/ops"
step=$((operations / 16 + 1))
for ((n = 1; n <= operations; n += step)); do
    to=$work/new$n
    cut_train "kill:$n" "/new$n" "$to" >"$log" 2>&1
    check "killed at operation $n" test $? = 137
    run 0 train "$to" --resume
    says_not "not whole"
    same "$to"
    rm -r "$to"
done
# over epochs of another run: each is the old or the new one, whole
for ((n = 3; n <= operations; n += step)); do
    to=$work/over$n
    cp -r "$work/other" "$to"
    cut_train "kill:$n" "/over$n" "$to" >"$log" 2>&1
    run 0 infer "$to"
    says_not "not whole"
    # of the old run both, or of the new one its first, and the other is named
    check "two epochs are there" test "$(grep -cE '^Epoch: |epoch 1 is of another run' "$log")" = 2
    run 0 train "$to"
    same "$to"
    rm -r "$to"
done

# the run's name stays; a new run has another one
of() { sed -n 's/^run: //p' "$1/__skiff_manifest__"; }
cp -r "$work/first" "$work/named"
run 0 train "$work/named" --resume
check "the run's name stays" test -n "$(of "$work/named/0")" -a "$(of "$work/named/0")" = "$(of "$work/named/1")"
check "another run, another name" test "$(of "$work/other/0")" != "$(of "$work/whole/0")"
check "steps and samples" grep -q "^steps: 2$" "$work/whole/1/__skiff_manifest__"

# a new run over the epochs of another, ended early: it goes on with itself, not with the other's last
cp -r "$work/other" "$work/begun_anew"
settings=(runner.epochs=1)
run 0 train "$work/begun_anew"
says "begun_anew has epochs of an earlier run, up to 1"
settings=()
run 0 train "$work/begun_anew" --resume
says "begun_anew: epoch 1 is of another run ($(of "$work/other/1" | cut -c1-8), saved"
says "): ignored"
says "resuming from $work/begun_anew/0"
same "$work/begun_anew"
run 0 train "$work/begun_anew" --resume
says "nothing to do"
says_not "another run"

# what cannot be saved is told before training
mkdir "$work/blocked"
touch "$work/blocked/1"
run 1 train "$work/blocked"
says "runner.model_save_path: epoch 1 cannot be saved: $work/blocked/1 is a file"
check "nothing was trained" test ! -e "$work/blocked/0"
ln -s nowhere "$work/leads"
run 1 train "$work/leads"
says "there is a file of that name, or a link to nowhere"

# damaged, missing, cut short: named, and the epoch before it is taken
torn() { # WHAT MESSAGE COMMAND...: after the command in a copy of the folder
    local what=$1 message=$2 to
    shift 2
    to=$work/torn_$what
    cp -r "$work/whole" "$to"
    (cd "$to/1" && "$@")
    run 0 infer "$to"
    says "/1 is incomplete and is ignored: "
    says "$message"
    check "$what: the other is judged" grep -q '^Epoch: 0' "$log"
    run 0 train "$to" --resume
    says "/1 is incomplete and is ignored: "
    says "resuming from $to/0"
    same "$to"
}
flip() { printf 'X' | dd of="$1" bs=1 seek=300 conv=notrunc 2>/dev/null; }
torn byte "rec_static.pdparams: checksum" flip rec_static.pdparams
torn size "rec_static.pdopt: $(stat -c %s "$work/whole/1/rec_static.pdopt") bytes by its manifest, 100 bytes found" truncate -s 100 rec_static.pdopt
torn gone "rec_static.pdopt is missing, its manifest lists it" rm rec_static.pdopt
torn params "rec_static.pdparams is missing, its manifest lists it" rm rec_static.pdparams # not: only the inference model's
torn unused "__model__ is missing, its manifest lists it" rm __model__ # which training does not read
torn unused_size "fc_0.w_0: $(stat -c %s "$work/whole/1/fc_0.w_0") bytes by its manifest, 50 bytes found" truncate -s 50 fc_0.w_0
torn manifest "__skiff_manifest__: it is damaged" truncate -s 300 __skiff_manifest__
torn unlisted "rec_static.pdopt is missing" rm rec_static.pdopt __skiff_manifest__
# a model to begin with: the newest whole epoch beside it is offered
settings=("runner.model_init_path=$work/torn_init/1")
cp -r "$work/whole" "$work/torn_init"
rm "$work/torn_init/1/rec_static.pdparams"
run 1 train "$work/begun"
says "torn_init/1/rec_static.pdparams is missing"
says "the newest complete epoch is $work/torn_init/0"
settings=()
# nothing is whole: infer says so, training begins anew
cp -r "$work/first" "$work/none"
rm "$work/none/0/rec_static.pdopt"
run 1 infer "$work/none"
says "no epoch from 0 up to 1"
run 0 train "$work/none" --resume
says "no checkpoint"
same "$work/none"
# changed on purpose: without the manifest nothing is compared; the message says so
cp -r "$work/whole" "$work/purpose"
cp "$work/other/1/rec_static.pdparams" "$work/purpose/1/rec_static.pdparams"
run 0 infer "$work/purpose"
says "remove the manifest that lists it (__skiff_manifest__"
rm "$work/purpose/1/__skiff_manifest__"
run 0 infer "$work/purpose"
says_not "not whole"
check "both are judged" test "$(grep -c '^Epoch: ' "$log")" = 2
# the manifest's former name: compared, too, and gone with the next save
cp -r "$work/first" "$work/former"
mv "$work/former/0/__skiff_manifest__" "$work/former/0/skiff_manifest.yaml"
run 0 train "$work/former" --resume
says "resuming from $work/former/0"
same "$work/former"
flip "$work/former/0/rec_static.pdparams"
run 0 infer "$work/former"
says "/0 is incomplete and is ignored: "
run 0 train "$work/former"
check "one manifest" test "$(ls "$work/former/0" | grep skiff_manifest)" = __skiff_manifest__
same "$work/former"
# an older Skiff's epoch: a state file, no manifest
cp -r "$work/first" "$work/older"
rm "$work/older/0/__skiff_manifest__"
printf 'epoch: 0\ncomplete: True\nsamples: 200\n' >"$work/older/0/skiff_state.yaml"
run 0 train "$work/older" --resume
says "resuming from $work/older/0, saved after epoch 0"
same "$work/older"
printf 'epoch: 0\ncomplete: False\nsamples: 100\n' >"$work/older/0/skiff_state.yaml"
rm -r "$work/older/1"
run 0 train "$work/older" --resume
says "in the middle of epoch 0: the epoch restarts, and 100 samples"
check "the old state is gone" test ! -e "$work/older/0/skiff_state.yaml"

# a full disk, side by side: for a moment, during epoch 0, during the last epoch
full() { # NAME STATUS CUT BELOW
    cut_train "$3" "$4" "$work/$1" >"$work/$1.log" 2>&1
    echo $? >"$work/$1.status"
}
full moment 0 full:3:1 "/.0.skiff-save-" &
full epoch0 0 full:1 "/.0.skiff-save-" &
full last 1 full:1 "/.1.skiff-save-" &
wait
ended() { # NAME STATUS
    log=$work/$1.log
    check "$1: status $(cat "$work/$1.status"), not $2" test "$(cat "$work/$1.status")" = "$2"
}
ended moment 0
says "saving failed, retrying in 0.25 s: cannot write $work/moment/0/"
says_not ".skiff-save-"
says "No space left on device"
same "$work/moment"
check "epoch 0 is saved" test -s "$work/moment/0/rec_static.pdopt"
ended epoch0 0
says "EPOCH 0 NOT SAVED: "
check "five tries" test "$(grep -c 'retrying' "$log")" = 4
check "epoch 0 is not there" test ! -e "$work/epoch0/0"
same "$work/epoch0"
ended last 1
says "the last epoch, 1, could not be saved: "
check "epoch 0 is saved" test -s "$work/last/0/rec_static.pdopt"
check "the table is printed" grep -qE '^ +1 +200 ' "$log"
run 0 train "$work/last" --resume
same "$work/last"
# epochs with a gap are judged
run 0 infer "$work/epoch0"
says "epoch0/0 contains no saved model and is ignored"

exit $failed
