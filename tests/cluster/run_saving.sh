#!/usr/bin/env bash
# Saving belongs to the job: whichever process dies, the epochs are saved, complete and of one instant, or the job reports
# an error and does not end with 0. Restarted workers join the running epoch. --resume starts all from the same epoch.
. "$(dirname "$0")/jobs.sh"

whole() { # EPOCH [FOLDER [COMPLETE]]: it is there, complete, and its manifest says what it is
    local manifest=${2:-model}/$1/__skiff_manifest__ text
    [ -s "${2:-model}/$1/rec_static.pdmodel" ] || fault "epoch $1 has no program"
    [ -s "$manifest" ] || { fault "epoch $1 has no manifest"; return; }
    for text in "epoch: $1" "complete: ${3:-True}" "run: " "samples: " "steps: " '"rec_static.pdparams"' '"rec_static.pdopt"'; do
        grep -qF -- "$text" "$manifest" || fault "epoch $1: its manifest does not say: $text"
    done
}
lacks_worker() { # EPOCH LOG: it is there, and says that files of worker 0 are missing
    whole "$1" model False
    says "$2" "epoch $1 is incomplete: worker 0 has not trained all of its files"
}
run_of() { sed -n 's/^run: *//p' "$1/__skiff_manifest__"; }
cutting() { # as tests/saves/cut.h has it: variables for a process whose saving fails
    echo LD_PRELOAD="$build/tests/libcut.so" SKIFF_TEST_CUT="$1" SKIFF_TEST_CUT_BELOW=/model/
}

# ---- the saver dies ----

saver_dies() { # MODE
    begin "$1: worker 0 is killed: worker 1 saves" "$1" 2 2 30
    all
    until_says worker0 "Epoch: 1,"
    kill -9 "${pid[worker0]}"
    each 0 30 worker1 server0 server1
    lacks_worker 29 worker1
}
saver_dies_at_the_end() { # MODE
    begin "$1: worker 0 is killed when the last epoch has ended, before it is saved" "$1" 2 2 3
    all
    for _ in $(seq 20000); do grep -qs "Epoch: 2," worker0.log && break; done
    kill -9 "${pid[worker0]}" 2>/dev/null
    each 0 30 worker1 server0 server1
    whole 2
    says worker1 "Epoch: 2,"
}
saver_dies_at_operation() { # N
    begin "worker 0 is killed at file operation $1 of a save: worker 1 saves" async 1 2 2
    server 0; worker 1; worker 0 $(cutting "kill:$1")
    each 0 30 worker1 server0
    if grep -q "^Epoch: 1," worker0.log; then whole 1; else lacks_worker 1 worker1; fi
}
saver_is_told_to_stop() {
    begin "worker 0 alone is told to stop: what it leaves is not complete, worker 1 goes on and saves" async 2 2 30
    all
    until_says worker0 "Epoch: 1,"
    kill -TERM "${pid[worker0]}"
    ends worker0 1 15
    says worker0 "skiff train: stopped "
    each 0 30 worker1 server0 server1
    lacks_worker 29 worker1
}
job_is_told_to_stop() {
    local manifest
    begin "all are told to stop while worker 0 waits at an epoch's end: worker 1's samples are not left out" async 1 2 50
    mkdir -p uneven
    head -n 300 data/train/part-000 >uneven/a
    for _ in $(seq 20); do cat data/train/part-001; done >uneven/b
    options=runner.train_data_dir=uneven; all; options=
    until_says worker1 "Epoch: 0,"
    kill -STOP "${pid[worker1]}" # in its 300 batches; worker 0 has three
    sleep 0.5
    kill -TERM "${pid[worker0]}" "${pid[worker1]}"
    kill -CONT "${pid[worker1]}"
    each 1 15 worker0 worker1
    ends server0 0 15
    for manifest in model/*/__skiff_manifest__; do
        grep -q "complete: False" "$manifest" || grep -q "samples: 30300" "$manifest" ||
            fault "$manifest is complete, with $(grep samples: "$manifest")"
    done
    epochs=$(($(ls model | grep -x "[0-9]*" | sort -n | tail -n 1) + 1))
    grep -q "complete: False" "model/$((epochs - 1))/__skiff_manifest__" || fault "nothing was saved at the end"
    options="--resume -o runner.train_data_dir=uneven"; all; options=
    each 0 30 worker0 worker1 server0
    says worker0 "model/$((epochs - 1)) was saved in the middle of its epoch" "the job continues with epoch $((epochs - 1))"
    says server0 "some samples are trained a second time"
    whole $((epochs - 1))
}

# ---- the saver cannot save ----

saver_cannot() {
    begin "worker 0 cannot save: worker 1 does" async 1 2 2
    mkdir -p bad && touch bad/0 bad/1
    server 0; worker 1; options=runner.model_save_path=bad; worker 0; options=
    each 0 30 worker0 worker1 server0
    says worker0 "this worker did not save epoch 1"
    whole 1
}
nobody_can() {
    begin "nobody can save the last epoch" async 2 2 2
    mkdir -p model && touch model/1
    all
    each 1 30 worker0 worker1 server0 server1
    says worker0 "no process saved the last epoch of the job, 1:" "model/1"
    says server0 "the job's result is not saved" "model/1"
    says server1 "the job's result is not saved"
    whole 0
}
disk_is_full_for_a_moment() {
    begin "the disk is full for a moment: tried again" async 1 2 2
    server 0; worker 1; worker 0 $(cutting full:3:2)
    each 0 30 worker0 worker1 server0
    says worker0 "saving failed, retrying in 0.25 s" "No space left on device" "saved "
    whole 1
}
disk_is_full() {
    begin "the disk is full for good: the run goes on, and says so" async 1 1 2
    server 0; worker 0 $(cutting full:1)
    each 1 40 worker0 server0
    says worker0 "this worker did not save epoch 0" "Epoch: 1," "no process saved the last epoch of the job, 1:" "No space left"
    says server0 "the job's result is not saved" "No space left"
}

# ---- restarted workers ----

worker_again() { # MODE WORKER
    begin "$1: worker $2 is killed and started again" "$1" 2 2 40
    all
    until_says "worker$2" "Epoch: 1,"
    kill -9 "${pid[worker$2]}"
    wait "${pid[worker$2]}" 2>/dev/null
    worker "$2"
    each 0 30 worker0 worker1 server0 server1
    says "worker$2" "this worker joins in epoch" "Epoch: 39,"
    for who in server0 server1; do
        grep -qE "WARN server.* worker $2 .*(; the others continue without it|has replaced it)" $who.log || fault "$who does not warn of the death"
    done
    whole 39
}

# ---- --resume ----

resume() {
    local run
    begin "--resume: servers that do not see the workers' folder" async 2 2 1
    all
    each 0 30 worker0 worker1 server0 server1
    run=$(run_of model/0)
    epochs=2 options="--resume"; worker 0; worker 1; options="--resume -o runner.model_save_path=elsewhere"; server 0; server 1; options=
    each 1 30 worker0 worker1 server0 server1
    for who in worker0 worker1 server0 server1; do
        says $who "--resume: worker 0 has epoch 0 of run $run" "/model, but server 0" "has none in" "elsewhere"
    done

    name="--resume: a worker that lacks the folder takes the epoch of the others"
    epochs=3 options="--resume"; worker 0; server 0; server 1; options="--resume -o runner.model_save_path=elsewhere"; worker 1; options=
    each 0 30 worker0 worker1 server0 server1
    says worker0 "the job continues with epoch 1"
    says worker1 "the job continues with epoch 1" "Epoch: 1," "Epoch: 2,"
    grep -qF "Epoch: 0," worker1.log && fault "worker 1 trained epoch 0"
    whole 2
    [ "$(run_of model/2)" = "$run" ] || fault "another run: $(run_of model/2), expected $run"

    name="--resume: one server has an older epoch"
    cp -r model older && rm -rf older/2
    epochs=4 options="--resume"; worker 0; worker 1; server 0; options="--resume -o runner.model_save_path=older"; server 1; options=
    each 1 30 worker0 worker1 server0 server1
    says worker1 "has epoch 2 of run $run" "but server 1" "has epoch 1 of run $run in"

    name="--resume: a worker has a higher epoch of another run"
    epochs=4 options="-o runner.model_save_path=other"; all; options=
    each 0 30 worker0 worker1 server0 server1
    epochs=5 options="--resume"; worker 0; server 0; server 1; options="--resume -o runner.model_save_path=other"; worker 1; options=
    each 1 30 worker0 worker1 server0 server1
    says worker0 "worker 1 has epoch 3 of run $(run_of other/3)" "but server 0" "These are different runs: move away the epochs of the run"

    name="--resume for some only"
    epochs=4 options="--resume"; worker 0; server 0; server 1; options=; worker 1
    each 1 30 worker0 worker1 server0 server1
    says worker0 "worker 1 (" "was started without --resume, others with it"
}
killed_and_resumed() {
    local last=-1 n all
    begin "a job that is killed at any moment goes on with a whole epoch" sync 1 1 1
    server 0; worker 0 $(cutting full:1000000) SKIFF_TEST_CUT_LOG="$PWD/operations"
    each 0 30 worker0 server0
    all=$(wc -l <operations)
    rm -rf model
    epochs=1000
    for n in $((all / 3)) $((3 * all + all / 2)) $((4 * all + 3)); do # what was left is removed first
        options="--resume"; server 0; worker 0 $(cutting "kill:$n"); options=
        wait "${pid[worker0]}" 2>/dev/null
        ends server0 1 15
        last=$(ls model | grep -E '^[0-9]+$' | sort -n | tail -n 1)
        [ -z "$last" ] || whole "$last"
    done
    [ -n "$last" ] || fault "nothing was saved"
    options="--resume"; epochs=$((last + 2)); server 0; worker 0; options=
    each 0 30 worker0 server0
    says worker0 "the job continues with epoch $((last + 1))"
    whole $((last + 1))
    [ -z "$(find model -name '*.skiff-*')" ] || fault "left behind: $(find model -name '*.skiff-*')"
}

side_by_side resume killed_and_resumed "saver_dies sync" "saver_dies half_async" "saver_dies async" "saver_dies geo" \
    "saver_dies_at_the_end sync" "saver_dies_at_the_end async" "saver_dies_at_operation 3" "saver_dies_at_operation 25" \
    "saver_dies_at_operation 60" "saver_dies_at_operation 95" saver_is_told_to_stop job_is_told_to_stop saver_cannot nobody_can \
    disk_is_full_for_a_moment disk_is_full "worker_again sync 1" "worker_again half_async 1" "worker_again async 1" \
    "worker_again geo 1" "worker_again async 0"
exit $failed
