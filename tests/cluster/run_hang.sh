#!/usr/bin/env bash
# Processes that hang without ending: stopped (SIGSTOP), or alive in a pipe command that sleeps. The others and the launcher
# name them, and doctor shows them; the manifest of an epoch lists the data that it lacks.
. "$(dirname "$0")/jobs.sh"
unset SKIFF_JOB SKIFF_SECRET
export SKIFF_SILENCE_MS=1500

launched() { # ARGUMENT...: skiff launch in the background, as pid[launch]; its screen is launch.log
    "$skiff" launch "$@" >launch.log 2>&1 &
    pid[launch]=$!
    pids+=($!)
}
child_of_launch() { # VARIABLE=VALUE: the process with it in its environment
    local p
    for p in $(cat "/proc/${pid[launch]}/task/${pid[launch]}/children"); do
        tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -qx "$1" && echo "$p" && return
    done
}
until_trains() { # LOG
    for _ in $(seq 200); do grep -qs "Epoch: 1," "$1" && return; sleep 0.1; done
    fault "$1 does not get to its second epoch"
}
nothing_is_left() { # PID...
    for p in "$@"; do kill -0 "$p" 2>/dev/null && fault "process $p is left behind"; done
}
manifest() { sed -n "s/^$2: //p" "model/$1/__skiff_manifest__"; } # EPOCH KEY

# ---- stopped for good ----

stopped_worker() { # MODE
    begin "$1: a worker is stopped for good" "$1" 0 2
    launched --server_num 2 --worker_num 2 -m config.yaml -o runner.sync_mode="$1" runner.epochs=100000
    until_trains log/workerlog.1
    local p
    p=$(child_of_launch PADDLE_TRAINER_ID=1)
    kill -STOP "$p"
    until_says launch "worker 1 (process $p) is dead according to other processes: it has been silent for"
    says launch "; its files are not trained"
    ends launch 1 40
    grep -qE "skiff launch: worker 1 \(process $p\) is dead.*; it was killed after .* s, and the job has failed; its log is log/workerlog.1" launch.log || fault "the end does not name worker 1"
    grep -qE "^worker 1 .*did not respond, killed" launch.log || fault "the table does not say that worker 1 hung"
    awk '/^worker [0-9]/ { sum += $3 } /^together/ { all = $2 } END { exit !(all > 0 && all == sum) }' launch.log || fault "the sum of the table lacks samples of worker 1"
    nothing_is_left "$p"
}
stopped_command() { # the same for a command that is not known: servers and workers report all the same
    begin "a worker of any command is stopped for good" async 0 2
    launched --server_num 1 --worker_num 2 -- env "$skiff" train -m config.yaml -o runner.epochs=100000
    until_trains log/workerlog.0
    local p
    p=$(child_of_launch PADDLE_TRAINER_ID=0)
    kill -STOP "$p"
    ends launch 1 40
    says launch "skiff launch: worker 0 (process $p) is dead according to other processes: it has been silent for"
    nothing_is_left "$p"
}
stopped_server() {
    begin "a server is stopped for good" sync 0 2
    launched --server_num 2 --worker_num 2 -m config.yaml -o runner.sync_mode=sync runner.epochs=100000
    until_trains log/workerlog.1
    local p
    for p in $(cat "/proc/${pid[launch]}/task/${pid[launch]}/children"); do
        tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -qx TRAINING_ROLE=PSERVER && break
    done
    kill -STOP "$p"
    ends launch 1 40
    grep -qE "skiff launch: server [01] \(process $p\) is dead according to other processes: .*its log is log/serverlog" launch.log || fault "the end does not name the server"
}
continued_worker() { # nobody kills it: it finds out by itself why it is alone
    begin "a worker is stopped until its job has ended" async 1 2 30
    export SKIFF_JOB=hang-$BASHPID SKIFF_SECRET=s
    all
    until_says worker1 "Epoch: 1"
    kill -STOP "${pid[worker1]}"
    ends worker0 0 30
    ends server0 0 10
    kill -CONT "${pid[worker1]}"
    ends worker1 1 15
    says worker1 "worker 1 was stopped for" "the others have declared it dead"
    says worker0 "worker 1 is dead: has been silent for" "its files are no longer trained"
}
suspended_job() { # all processes at once, as on a suspended machine: it goes on, and what comes later has other reasons
    begin "a job survives a stop, and loses its server later" async 1 1 100000
    export SKIFF_JOB=hang-$BASHPID SKIFF_SECRET=s SKIFF_SILENCE_MS=1000
    all
    until_says worker0 "Epoch: 1,"
    kill -STOP "${pid[server0]}" "${pid[worker0]}"
    sleep 2.5
    kill -CONT "${pid[server0]}" "${pid[worker0]}"
    sleep 7 # the stop counts for 6 s: 2 * (SKIFF_SILENCE_MS + 2 s)
    goes_on worker0
    kill -9 "${pid[server0]}"
    ends worker0 1 15
    says worker0 "parameter server 0 (127.0.0.1:${port[0]}) is dead"
    grep -q "was stopped for" worker0.log && fault "worker 0 blames its stop"
}
stopped_rank() {
    begin "a rank is stopped for good" collective 0 2
    SKIFF_SILENCE_MS=3000 launched --nproc_per_node 2 -m config.yaml -o runner.epochs=100000
    until_trains log/workerlog.0
    local p
    p=$(child_of_launch PADDLE_TRAINER_ID=1)
    kill -STOP "$p"
    ends launch 1 40
    grep -qE "skiff launch: rank 1 \(process $p\) is dead: it has been silent for .*; it was killed after" launch.log || fault "the end does not name rank 1"
    nothing_is_left "$p"
}

# ---- alive, but missing ----

sleeping_pipe() { # PARTS...: worker or rank 1's pipe command sleeps in its second epoch
    slot_files 2
    small_config SGD 'train_data_dir: slots' 'train_batch_size: 10' 'epochs: 3' 'split_file_list: True' 'pipe_command: bash pipe.sh' >piped.yaml
    cat >pipe.sh <<'PIPE'
if [ "$PADDLE_TRAINER_ID" = 1 ]; then
    [ -e second ] && exec sleep 300
    touch second
fi
cat
PIPE
}
sleeping_worker() { # MODE WHAT
    begin "$1: a worker's pipe command sleeps" "$1" 0 2
    sleeping_pipe
    FLAGS_rpc_deadline=7000 launched --server_num 2 --worker_num 2 -m piped.yaml -o runner.sync_mode="$1"
    until_says launch "skiff launch: worker 1 has not reached \"$2"
    grep -qE "waiting for \"$2.*missing: worker 1 \(its process is alive; it has trained 0 samples of epoch 1\)" log/workerlog.0 || fault "worker 0 does not name worker 1"
    for _ in $(seq 30); do # it is seen from outside, too, and is the only thing that is wrong
        "$skiff" doctor --pid "$(child_of_launch PADDLE_TRAINER_ID=0)" >doctor.log 2>&1 || break
        sleep 0.1
    done
    says doctor "WRONG workers have been waiting at \"$2" "missing: worker 1" "skiff doctor: 1 fault found"
    ends launch 1 30
    grep -qE "these workers have not reached \"$2.*: worker 1 \(its process is alive" log/workerlog.0 || fault "worker 0 does not name worker 1 in its error"
    grep -qE "^skiff launch: worker 1 \(process [0-9]+\) has not reached \"$2.*, while worker 0 waits; .*, and the job has failed" launch.log || fault "the end does not name worker 1"
}
sleeping_rank() { # NO_SHARED_MEMORY
    begin "a rank's pipe command sleeps, shared memory off: ${1:-no}" collective 0 2
    sleeping_pipe
    SKIFF_NO_SHARED_MEMORY=${1:-} SKIFF_WAIT_MS=5000 launched --nproc_per_node 2 -m piped.yaml
    until_says launch "skiff launch: rank 1 has not reached all_reduce"
    "$skiff" doctor --pid "$(child_of_launch PADDLE_TRAINER_ID=1)" >doctor.log 2>&1 || fault "doctor of a rank"
    says doctor "ok    this process is rank 1 of 2; a collective job has no servers to ask"
    "$skiff" doctor --pid "${pid[launch]}" >doctor.log 2>&1 || fault "doctor of the launcher"
    says doctor "note  process ${pid[launch]} has no role in a job" "give --pid of a server, worker or rank"
    ends launch 1 30
    says launch "rank 1 has not reached all_reduce(sum) of 2 int64 for 5 s, while rank 0 waits; its process is alive; the deadline is SKIFF_WAIT_MS, 5 s"
    grep -qE "^skiff launch: rank 1 \(process [0-9]+\) has not reached all_reduce.*, and the job has failed" launch.log || fault "the end does not name rank 1"
}

# ---- doctor ----

doctor_sees() {
    begin "doctor asks the servers: a worker is silent, then dead" async 1 2 100000
    export SKIFF_JOB=hang-$BASHPID SKIFF_SECRET=s
    all
    until_says worker1 "Epoch: 1"
    "$skiff" doctor --pid "${pid[worker0]}" >doctor.log 2>&1 || fault "something is wrong with a job that runs well"
    grep -qE "ok +worker 1 \(.*\): last heard from [0-9.]+ s ago, has trained [0-9]+ samples of epoch [0-9]+" doctor.log || fault "doctor does not say how worker 1 is"
    kill -STOP "${pid[worker1]}"
    until_says server0 "the others continue without it"
    "$skiff" doctor --pid "${pid[worker0]}" >doctor.log 2>&1 && fault "nothing is wrong"
    grep -qE "WRONG +worker 1 \(.*\) is dead: it has been silent for [0-9.]+ s; its files are not trained" doctor.log || fault "doctor does not name worker 1"
    kill -9 "${pid[@]}"
}

# ---- what an epoch lacks ----

slow_pipe() { # the second half of a worker's rows comes when the file "go" is there
    sleeping_pipe
    cat >pipe.sh <<'PIPE'
[ "$PADDLE_TRAINER_ID" = 1 ] || exec cat
head -n 100
for _ in $(seq 600); do [ -e go ] && break; sleep 0.1; done
cat
PIPE
}
killed_worker() { # MODE
    begin "$1: an epoch that has lost a worker is not complete" "$1" 1 2 1
    export SKIFF_JOB=hang-$BASHPID SKIFF_SECRET=s
    slow_pipe
    config=piped.yaml
    all
    until_trained 100
    kill -9 "${pid[worker1]}"
    ends worker0 0 30
    ends server0 0 10
    [ "$(manifest 0 complete)" = False ] || fault "the epoch says complete: $(manifest 0 complete)"
    [ "$(manifest 0 samples)" = 250 ] || fault "the epoch says samples: $(manifest 0 samples), expected 150 and 100"
    says worker0 "epoch 0 is incomplete: worker 1 has not trained all of its files; 250 samples were trained in all"
    grep -qE "^ +0 +250 .*incomplete: without worker 1" worker0.log || fault "the table does not say that worker 1 is missing"
}
until_trained() { # N: worker 1 has reported so many samples of its first epoch
    for _ in $(seq 100); do
        "$skiff" doctor --pid "${pid[worker0]}" 2>/dev/null | grep -qE "worker 1 .* has trained $1 samples of epoch 0" && return
        sleep 0.1
    done
    fault "worker 1 does not train $1 samples"
}
restarted_worker() {
    begin "an epoch whose worker was started again has samples twice" async 1 2 1
    export SKIFF_JOB=hang-$BASHPID SKIFF_SECRET=s
    slow_pipe
    echo 'for _ in $(seq 600); do [ -e go ] && break; sleep 0.1; done; cat' >>pipe.sh
    sed -i 's/^\[.*exec cat/[ "$PADDLE_TRAINER_ID" = 1 ] || { head -n 100; for _ in $(seq 600); do [ -e go ] \&\& break; sleep 0.1; done; exec cat; }/' pipe.sh
    config=piped.yaml
    all
    until_trained 100
    kill -9 "${pid[worker1]}"
    until_says server0 "worker 1"
    worker 1
    for _ in $(seq 100); do grep -q "joins in epoch 0" server0.log && break; sleep 0.1; done
    says server0 "worker 1, restarted, joins in epoch 0"
    touch go
    each 0 30 worker0 worker1 server0
    [ "$(manifest 0 complete)" = True ] || fault "the epoch says complete: $(manifest 0 complete)"
    [ "$(manifest 0 samples)" = 400 ] || fault "the epoch says samples: $(manifest 0 samples), expected 300 and 100 twice"
    says worker0 "epoch 0: 100 samples were trained twice, by a worker that died and by its replacement"
}

side_by_side "stopped_worker sync" "stopped_worker half_async" "stopped_worker async" "stopped_worker geo" stopped_command stopped_server \
    continued_worker suspended_job stopped_rank "sleeping_worker sync step" "sleeping_worker async epoch" sleeping_rank "sleeping_rank 1" doctor_sees \
    "killed_worker async" "killed_worker sync" restarted_worker
exit $failed
