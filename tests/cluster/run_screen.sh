#!/usr/bin/env bash
# The launcher shows on its screen and in its exit status what otherwise only logs have: damaged epochs, deaths on other
# machines, a full disk of the logs, where a job stopped. No process waits for another that cannot come.
. "$(dirname "$0")/jobs.sh"
unset SKIFF_JOB SKIFF_SECRET
export SKIFF_SILENCE_MS=1500

launched() { # NAME ARGUMENT...: skiff launch in the background, as pid[NAME]; its screen is NAME.log
    "$skiff" launch "${@:2}" >"$1.log" 2>&1 &
    pid[$1]=$!
    pids+=($!)
}
gated_pipe() { # pipe.sh: the rows of a file, when the file "open" is there; in piped.yaml
    slot_files 2
    small_config SGD 'train_data_dir: slots' 'train_batch_size: 10' 'epochs: 2' 'split_file_list: True' 'pipe_command: bash pipe.sh' >piped.yaml
    cat >pipe.sh <<'PIPE'
rows=$(cat)
for _ in $(seq 900); do [ -e open ] && break; sleep 0.1; done
echo "$rows"
PIPE
}

damaged_epoch() {
    begin "a damaged epoch that --resume leaves out" async 0 1
    launched first --server_num 1 --worker_num 1 -m config.yaml -o runner.epochs=2
    ends first 0 20
    printf x >>model/1/rec_static.pdopt
    launched second --server_num 1 --worker_num 1 -m config.yaml -o runner.epochs=2 --resume
    ends second 3 20
    grep -qE "^skiff launch: warning: .*model/1 is incomplete and is ignored: .*rec_static.pdopt" second.log || fault "the end does not name the epoch"
}
complete_epoch() {
    begin "SIGTERM right behind an epoch" async 0 1
    gated_pipe
    touch open
    sed -i '1i [ -e second ] && rm -f open; touch second' pipe.sh
    launched launch --server_num 1 --worker_num 1 -m piped.yaml -o runner.epochs=5 runner.split_file_list=False runner.train_data_dir=slots/part-00
    for _ in $(seq 200); do [ -e second ] && [ ! -e open ] && grep -q "Epoch: 0" log/workerlog.0 && break; sleep 0.1; done
    kill -TERM "${pid[launch]}"
    ends launch 143 20
    says launch "skiff launch: stopped after epoch 0, which is complete; --resume continues with epoch 1"
    [ "$(sed -n 's/^complete: //p' model/0/__skiff_manifest__)" = True ] || fault "epoch 0 is not complete"
}
no_worker_left() {
    begin "Ctrl-C, and no worker is in the job" async 1 2
    set -m
    POD_IP=127.0.0.1 launched launch --servers "$list" --workers 127.0.0.2,127.0.0.3 --insecure -m config.yaml
    set +m
    for _ in $(seq 100); do grep -qs "serves" log/serverlog.0 && break; sleep 0.1; done
    kill -INT "${pid[launch]}"
    ends launch 130 20 # not the 60 s that workers have to save
}
death_elsewhere() {
    begin "a worker of another machine dies" async 0 2
    gated_pipe
    echo "other-$RANDOM$RANDOM$RANDOM" >secret
    chmod 600 secret
    local at
    read -ra port <<<"$(ports 1)"
    for at in 2 3; do
        POD_IP=127.0.0.$at launched "machine$at" --servers "127.0.0.2:${port[0]}" --workers 127.0.0.2,127.0.0.3 --secret_file secret \
            --log_dir "log.$at" -m piped.yaml
    done
    for _ in $(seq 100); do [ "$(grep -cs "has joined" log.2/serverlog.0)" = 2 ] && break; sleep 0.1; done
    kill -9 "${pid[machine3]}"
    wait "${pid[machine3]}" 2>/dev/null
    until_says machine2 "worker 1, on another machine, is dead: it has been silent for"
    touch open
    ends machine2 3 30
    says machine2 "; its files are not trained" "epoch 1 is incomplete: worker 1 has not trained all of its files; 150 samples were trained in all" "skiff launch: warning: "
    [ "$(sed -n 's/^complete: //p' model/1/__skiff_manifest__)" = False ] || fault "epoch 1 is complete"
}
stopped_elsewhere() { # no server on its machine, and nobody else who could tell
    begin "the only process of a machine is stopped for good" async 0 2
    echo "other-$RANDOM$RANDOM$RANDOM" >secret
    chmod 600 secret
    local at p
    read -ra port <<<"$(ports 1)"
    for at in 2 3; do
        POD_IP=127.0.0.$at launched "machine$at" --servers "127.0.0.2:${port[0]}" --workers 127.0.0.2,127.0.0.3 --secret_file secret \
            --log_dir "log.$at" -m config.yaml -o runner.epochs=100000
    done
    for _ in $(seq 200); do grep -qs "Epoch: 1," log.3/workerlog.1 && break; sleep 0.1; done
    for p in $(cat "/proc/${pid[machine3]}/task/${pid[machine3]}/children"); do
        tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -qx PADDLE_TRAINER_ID=1 && break
    done
    kill -STOP "$p"
    ends machine3 1 40
    says machine3 "worker 1 (process $p) has been stopped (SIGSTOP) for" "and the job has failed"
    until_says machine2 "worker 1, on another machine, is dead: it has been silent for"
}
late_worker() { # a script that starts its worker again when the job has ended without it
    begin "a worker is started again after its job has ended" async 0 2
    cat >again.sh <<'AGAIN'
[ "$TRAINING_ROLE$PADDLE_TRAINER_ID" = TRAINER1 ] || exec "$@"
"$@" &
for _ in $(seq 300); do grep -qs "Epoch: 1," log/workerlog.1 && break; sleep 0.1; done
kill -9 $!
for _ in $(seq 300); do grep -qs "the job is complete" log/serverlog.0 && break; sleep 0.1; done
exec "$@"
AGAIN
    launched launch --server_num 1 --worker_num 2 -- bash again.sh "$skiff" train -m config.yaml -o runner.epochs=12
    ends launch 1 60 # not the 30 minutes of SKIFF_START_MS
    says launch "worker 1 (process " "and the job has failed"
}
ended_job() { # without a launcher: the folder of the models tells
    begin "a worker is started by hand after its job has ended" async 1 1 2
    export SKIFF_JOB=screen-$BASHPID SKIFF_SECRET=s SKIFF_SILENCE_MS=1000
    all
    each 0 20 worker0 server0
    worker 0
    ends worker0 1 15 # not 30 minutes
    says worker0 "1 of 1 parameter servers did not answer in 6.0 s" "model has all 2 epochs: the job seems to have ended"
    worker 0 SKIFF_START_MS=600000
    until_says worker0 "waiting for 1 of 1 parameter servers for 9 s"
    kill -9 "${pid[worker0]}"
}
full_disk() {
    begin "the disk of the logs is full" async 0 1
    unshare -rm true 2>/dev/null || { echo "skipped: the disk of the logs is full: no namespaces"; return; }
    mkdir disk
    unshare -rm bash -c "mount -t tmpfs -o size=128k none disk && head -c 100000 /dev/zero >disk/full && exec \"$skiff\" launch --log_dir disk/log --server_num 1 --worker_num 1 -m config.yaml -o runner.epochs=30" >launch.log 2>&1
    [ $? = 3 ] || fault "the exit status is not 3"
    says launch "the disk of the logs (disk/log) is full: further output of processes is lost"
}
side_by_side damaged_epoch complete_epoch no_worker_left death_elsewhere stopped_elsewhere late_worker ended_job full_disk
exit $failed
