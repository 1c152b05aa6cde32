#!/usr/bin/env bash
# Runs do not mix: ids, the lock of the output folder, --resume, --overwrite, --name, --run; interrupted and cut epochs; what a
# hangup and a full disk do. Every message is asked for.
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
. "$(dirname "$0")/../words.sh"
cd "$work" || exit 1
cut=$build/tests/libcut.so
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
await() { # FILE TEXT: until it is there
    for _ in $(seq 600); do grep -qsF -- "$2" "$1" && return; sleep 0.05; done
    check "$1 holds $2 in time" false
}
run_of() { sed -n 's/^run: //p' "$1/__skiff_manifest__"; }
epochs() { ls "$1" | grep -cE '^[0-9]+$'; }

"$skiff" synth --rows 600 --test-rows 200 --files 1 --out data >/dev/null || exit 1
cat >config.yaml <<YAML
runner:
  model: rank/dnn
  train_data_dir: data/train
  test_data_dir: data/test
  input_format: criteo
  train_batch_size: 100
  infer_batch_size: 100
  epochs: 4
  model_save_path: out
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_feature_number: 1009
  sparse_feature_dim: 2
  fc_sizes: [4]
YAML
slow() { # FILE COMMAND...: trains from a pipe that waits after its first batches, in the background; says when it has trained
    local to=$1
    shift
    "$@" "$skiff" train -m config.yaml -o "runner.train_data_dir=$work/fifo" "runner.model_save_path=out" "${extra[@]}" >"$to" 2>&1 &
    pid=$!
    pids+=($pid)
}
extra=()

# ---- a new run over an old one: only its own epochs are judged, predicted with, continued ----
run 0 train -m config.yaml
says_not "earlier run"
old=$(run_of out/3)
check "no lock is left" test ! -e out/.skiff_lock
run 0 train -m config.yaml -o runner.epochs=2 runner.seed=7
says "$work/out has epochs of an earlier run, up to 3; this run replaces them one by one (--resume continues that run, --overwrite removes them now, --name NAME saves to another folder)"
new=$(run_of out/1)
check "two runs" test "$old" != "$new" -a "$(run_of out/2)" = "$old"
run 0 infer -m config.yaml
says "$work/out: epochs 2 to 3 are of another run (${old:0:8}, saved 20"
says "): ignored; --run ID selects them"
check "two epochs are judged" test "$(grep -c '^Epoch: ' log)" = 2
run 0 infer -m config.yaml -o runner.infer_start_epoch=0 runner.infer_end_epoch=4 # as PaddleRec's configs say
check "two epochs are judged, all the same" test "$(grep -c '^Epoch: ' log)" = 2
run 1 infer -m config.yaml -o runner.infer_start_epoch=2 runner.infer_end_epoch=4
says "no epoch from 2 up to 4 in $work/out is complete and of the newest run"
run 0 infer -m config.yaml --run "${old:0:8}"
says "epochs 0 to 1 are of another run (${new:0:8}, saved 20"
check "the old run's" test "$(grep '^Epoch: ' log | cut -c1-8 | tr '\n' ' ')" = "Epoch: 2 Epoch: 3 "
run 1 infer -m config.yaml --run zz
says "--run zz: no run in $work/out with an id that begins so; its runs:"
says "$new"
says "$old"
run 1 infer -m config.yaml --run ""
says "--run : several runs in $work/out with an id that begins so; its runs:"
run 0 predict -m config.yaml
says "predicting with $work/out/1"
says "it belongs to run ${new:0:8}, has 600 samples of the epoch, and was saved 20"
says "epochs 2 to 3 are of another run"
says "ignored; --run ID or --epoch N selects them"
run 0 predict -m config.yaml --run "$old"
says "predicting with $work/out/3"
run 0 predict -m config.yaml --epoch 2
says "predicting with $work/out/2"
run 0 train -m config.yaml --resume -o runner.epochs=3
says "epochs 2 to 3 are of another run (${old:0:8}"
says "resuming from $work/out/1, saved after epoch 1"
says "it belongs to run ${new:0:8}, has 600 samples of the epoch, and was saved 20"
check "the run goes on" test "$(run_of out/2)" = "$new"
# the newest epoch of the run cut: named, and the one before is taken; not the other run's
cp -r out torn
truncate -s 50 torn/2/rec_static.pdparams
run 0 train -m config.yaml --resume -o runner.epochs=3 runner.model_save_path=torn
says "torn/2 is incomplete and is ignored: "
says "resuming from $work/torn/1"
run 0 predict -m config.yaml -o runner.model_save_path=torn
says "predicting with $work/torn/2"

# ---- --overwrite, --name ----
touch out/best.yaml # what validation has found of an earlier run
run 0 train -m config.yaml --overwrite -o runner.epochs=1
check "what was the best epoch is no more" test ! -e out/best.yaml
says "4 epochs of earlier runs from $work/out"
says_not "holds epochs"
check "one epoch is there" test "$(epochs out)" = 1
run 0 infer -m config.yaml
says_not "another run"
run 2 train -m config.yaml --overwrite --resume
says "--resume and --overwrite exclude each other: the one continues the run that the other removes"
run 0 train -m config.yaml --name second -o runner.epochs=2
says "models to $work/out/second"
says_not "earlier run"
check "beside" test "$(epochs out)/$(epochs out/second)" = 1/2
run 0 infer -m config.yaml --name second
check "two epochs are judged" test "$(grep -c '^Epoch: ' log)" = 2
run 0 predict -m config.yaml --name second
says "predicting with $work/out/second/1"
run 0 train -m config.yaml --name second --resume -o runner.epochs=3
says "resuming from $work/out/second/1"
for name in 7 best a/b .hidden ""; do
    run 1 train -m config.yaml --name "$name"
    says "--name \"$name\": expected the name of a folder: not a number alone (that is an epoch), nor best, without /, not beginning with a dot"
done

# ---- the lock; a part of an epoch; a hangup ----
mkfifo fifo
head -n 250 data/train/part-000 >some
begin_slow() { # COMMAND...: a run that has trained 2 batches and waits for more; $pid
    rm -rf out
    extra=(runner.train_batch_size=100 runner.print_interval=1 runner.epochs=1)
    slow first.log "$@"
    exec 9>fifo
    cat some >&9
    await first.log "samples/s"
}
begin_slow env
check "the lock says who" grep -qE "^process $pid on $(hostname), run [0-9a-f]{8}, since 20" out/.skiff_lock
run 1 train -m config.yaml
says "runner.model_save_path: another run is writing to $work/out: process $pid on $(hostname), run "
says "; wait for it, stop it, or save to another folder (--name NAME, or -o runner.model_save_path=FOLDER)"
run 1 train -m config.yaml --overwrite
says "another run is writing to"
run 0 train -m config.yaml --name beside -o runner.epochs=1
kill -HUP $pid
wait $pid
check "a hangup: status 1" test $? = 1
exec 9>&-
check "a hangup saves" grep -q "stopped in epoch 0; the model is saved in $work/out/0, --resume continues" first.log
check "as a part" grep -q "complete: False" out/0/__skiff_manifest__
part=$(sed -n 's/^samples: //p' out/0/__skiff_manifest__)
check "of some samples" test "$part" -ge 100 -a "$part" -lt 600
check "train's table marks it" grep -qE "^ +0 .*interrupted: part of the epoch$" first.log
run 0 infer -m config.yaml
check "infer's line marks it" grep -qE '^Epoch: 0, .*\(interrupted: a part of the epoch was trained\)$' log
check "infer's table marks it" grep -qE "^ +0 .*interrupted: part of the epoch$" log
run 0 predict -m config.yaml
says "predicting with $work/out/0, which was interrupted and has only part of the epoch"
run 0 train -m config.yaml --resume -o runner.epochs=1
says "saved in the middle of epoch 0: the epoch restarts, and trains $part samples a second time"
says "it belongs to run "
run 0 infer -m config.yaml
says_not "interrupted"
# killed: its lock does not block
begin_slow env
kill -9 $pid
{ wait $pid; } 2>/dev/null
exec 9>&-
check "the file is left" test -e out/.skiff_lock
run 0 train -m config.yaml -o runner.epochs=1
check "no lock is left" test ! -e out/.skiff_lock
# nobody reads the output any more: training goes on and saves
"$skiff" train -m config.yaml -o runner.model_save_path=piped runner.dataset_debug=True 2>&1 | head -n 1 >/dev/null
check "all epochs are there although the reader has gone" test "$(epochs piped)" = 4

# nohup: a hangup that is ignored stays so
begin_slow nohup
kill -HUP $pid
sed -n 251,400p data/train/part-000 >&9
exec 9>&-
wait $pid
check "under nohup it goes on to the end: status 0" test $? = 0
check "and is complete" grep -q "complete: True" out/0/__skiff_manifest__

# ---- Ctrl-C before the first sample: nothing is saved, what is there stays ----
run 0 train -m config.yaml -o runner.epochs=1
sum=$(cat out/0/* | md5sum)
extra=(runner.epochs=1)
slow first.log env
exec 9>fifo
await first.log "models to"
for _ in $(seq 200); do [ -n "$(find /proc/$pid/task -maxdepth 2 -name comm -exec grep -l skiff-read {} + 2>/dev/null)" ] && break; sleep 0.05; done
kill -INT $pid
wait $pid
check "status 1" test $? = 1
exec 9>&-
check "says so" grep -q "stopped before the first sample of epoch 0: nothing was saved, $work/out is unchanged" first.log
check "and at the end" grep -q "skiff train: stopped before training" first.log
check "epoch 0 is as it was" test "$(cat out/0/* | md5sum)" = "$sum"

# ---- room on the disk ----
echo 1000 >free
LD_PRELOAD=$cut SKIFF_TEST_CUT_FREE=$work/free "$skiff" train -m config.yaml -o runner.epochs=2 runner.model_save_path=full >log 2>&1
check "not saved: status 1" test $? = 1
check "before an epoch: both numbers" grep -qE "WARN .*full: epoch 0 needs 2\.5 MB on the disk, 0 bytes are free: free disk space before the epoch ends; otherwise it will not be saved" log
check "before a save: refused, tried again" grep -qE "saving failed, retrying in 0.25 s: .*full: epoch 0 needs 2\.5 MB on the disk, 0 bytes are free" log
says "EPOCH 0 NOT SAVED: "
check "training goes on" grep -q "^Epoch: 1," log
says "the last epoch, 1, could not be saved: "
check "nothing half is left" test -z "$(ls -A full | grep -v "^report\.")"
LD_PRELOAD=$cut SKIFF_TEST_CUT_FREE=$work/free "$skiff" train -m config.yaml -o runner.epochs=2 runner.model_save_path=full >log 2>&1 &
pid=$!
pids+=($pid)
await log "retrying in"
echo 100000000 >free # somebody makes room
wait $pid
check "saved after a pause: status 0" test $? = 0
says_not "IS NOT SAVED"
check "both epochs" test "$(epochs full)" = 2
# of a large table the optimizer's state counts, too: 1000003 x 2 x 4 bytes, three times, as pickles, and 1 MB
echo 20000000 >free
LD_PRELOAD=$cut SKIFF_TEST_CUT_FREE=$work/free "$skiff" train -m config.yaml -o runner.epochs=0 runner.model_save_path=full hyper_parameters.sparse_feature_number=1000003 >log 2>&1
says_not "on the disk"
echo 20000000 >free
LD_PRELOAD=$cut SKIFF_TEST_CUT_FREE=$work/free "$skiff" train -m config.yaml -o runner.epochs=1 runner.model_save_path=full hyper_parameters.sparse_feature_number=1000003 >log 2>&1
check "30 MB are needed" grep -qE "full: epoch 0 needs 30\.[0-9] MB on the disk, 20\.0 MB are free" log

# ---- a job: its first worker holds the lock, a second job is refused; a hangup of the launcher ends it with its part saved ----
job=(launch --server_num 1 --worker_num 1 --log_dir log1 -m config.yaml -o runner.model_save_path=job)
rm -f fifo
mkfifo fifo
"$skiff" "${job[@]}" runner.train_data_dir="$work/fifo" runner.train_batch_size=100 runner.print_interval=1 runner.epochs=1 >launch.log 2>&1 &
pid=$!
pids+=($pid)
exec 9>fifo
cat some >&9
await log1/workerlog.0 "samples/s"
check "the lock names the worker" grep -qE "^process [0-9]+ on $(hostname), run [0-9a-f]{8}, since 20" job/.skiff_lock
run 1 launch --server_num 1 --worker_num 1 --log_dir log2 -m config.yaml -o runner.model_save_path=job
check "refused by name" grep -qF "runner.model_save_path: another run is writing to $work/job: process" log2/workerlog.0
run 1 train -m config.yaml -o runner.model_save_path=job
says "another run is writing to"
kill -HUP $pid
wait $pid
check "the launcher ends as of a signal" test $? = 129
exec 9>&-
check "the worker has saved its part" grep -qF "saved $work/job/0" log1/workerlog.0
check "as a part" grep -q "complete: False" job/0/__skiff_manifest__
check "no lock is left" test ! -e job/.skiff_lock
run 0 launch --server_num 1 --worker_num 1 --log_dir log3 -m config.yaml --resume -o runner.model_save_path=job runner.epochs=3 \
    runner.need_dump=True runner.dump_fields_path=dump "runner.dump_fields=[label,C1]"
check "what it goes on from" grep -qF "resuming from $work/job/0" log3/workerlog.0
check "of which run" grep -qE "it belongs to run $(run_of job/2 | cut -c1-8), has [0-9]+ samples of the epoch, and was saved 20" log3/workerlog.0
check "and servers say so, too" grep -qF "resuming from $work/job/0" log3/serverlog.0
check "a dump of every sample" test "$(grep -cE '^	label:1:[01]	C1:1:[0-9]+$' dump/epoch_2/part-000-00000)" = 600
run 0 launch --server_num 1 --worker_num 1 --log_dir log4 -m config.yaml -o runner.model_save_path=job runner.epochs=1
check "it warns" grep -qF "$work/job has epochs of an earlier run, up to 2; this run replaces them one by one" log4/workerlog.0
run 0 infer -m config.yaml -o runner.infer_load_path=job
says "epochs 1 to 2 are of another run"
check "one epoch is judged" test "$(grep -c '^Epoch: ' log)" = 1
run 0 predict -m config.yaml -o runner.infer_load_path=job
says "predicting with $work/job/0"
# nohup: a hangup of the launcher that is ignored stays so, in its processes, too
rm -f fifo
mkfifo fifo
nohup "$skiff" launch --server_num 1 --worker_num 1 --log_dir log7 -m config.yaml -o runner.model_save_path=hup runner.train_data_dir="$work/fifo" \
    runner.train_batch_size=100 runner.print_interval=1 runner.epochs=1 >launch.log 2>&1 &
pid=$!
pids+=($pid)
exec 9>fifo
cat some >&9
await log7/workerlog.0 "samples/s"
kill -HUP $pid
cat some >&9
exec 9>&-
wait $pid
check "the job continues to its end: status 0" test $? = 0
check "and is complete" grep -q "complete: True" hup/0/__skiff_manifest__
run 0 launch --server_num 1 --worker_num 1 --log_dir log5 -m config.yaml --overwrite --name named -o runner.model_save_path=job runner.epochs=2
run 0 launch --server_num 1 --worker_num 1 --log_dir log6 -m config.yaml --overwrite --name named -o runner.model_save_path=job runner.epochs=1
check "removed" grep -qF "2 epochs of earlier runs from $work/job/named" log6/workerlog.0
check "one is there" test "$(epochs job/named)" = 1
exit $failed
