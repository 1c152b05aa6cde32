#!/usr/bin/env bash
# Real jobs of `skiff train`, started process by process: the errors that users see. Rows of the table "What real
# Paddle does when something is wrong" that concern processes; run_launch.sh has those of the launcher, role_test those of
# the variables.
. "$(dirname "$0")/jobs.sh"

# ---- jobs that end well ----

for m in sync half_async async geo; do
    begin "$m: workers first, then servers; all end by themselves" $m 2 2 2
    worker 0; worker 1; sleep 0.3; server 1; server 0
    each 0 20 worker0 worker1 server0 server1
    says worker1 "Epoch: 1"
    says server0 "the job is complete"
    [ -s model/1/rec_static.pdmodel ] && [ -s model/1/rec_static.pdparams ] || fault "no model"
    [ "$(ls | grep -vE '\.log$' | tr '\n' ' ')" = "config.yaml data model " ] || fault "left in the folder: $(ls)"
done

begin "sync: workers with different numbers of batches" sync 1 2 2
mkdir -p uneven
head -n 300 data/train/part-000 >uneven/a; cp data/train/part-001 uneven/b
options=runner.train_data_dir=uneven; all; options=
each 0 20 worker0 worker1 server0
says worker0 "Epoch: 1"
says worker1 "Epoch: 1"
rm -rf uneven

begin "more workers than files" async 1 3
all
each 0 20 worker0 worker1 worker2 server0
says worker2 "more workers than files"

begin "--resume goes on with another number of servers" async 2 1 1
all
each 0 20 worker0 server0 server1
read -ra port <<<"$(ports 1)"; list=127.0.0.1:${port[0]}; epochs=2
options=--resume; server 0; worker 0; options=
each 0 20 worker0 server0
says server0 "parameters are loaded from"
[ -s model/1/rec_static.pdparams ] || fault "epoch 1 was not trained"

# ---- an epoch is the same files, whatever the home of the parameters was ----

for optimizer in SGD Adam; do
    begin "sync, $optimizer: one worker leaves what one process leaves, byte for byte" sync 2 1 2
    rm -rf alone
    small_config "$optimizer" 'train_data_dir: data/train' 'input_format: criteo' 'train_batch_size: 100' 'epochs: 2' 'use_inference: True' >same.yaml
    "$skiff" train -q -m same.yaml -o runner.model_save_path=alone >alone.log 2>&1 || fault "it does not train alone"
    config=same.yaml; all; config=config.yaml
    each 0 20 worker0 server0 server1
    [ "$(ls alone/1 | tr '\n' ' ')" = "$(ls model/1 | tr '\n' ' ')" ] || fault "other files: $(ls model/1)"
    for file in rec_static.pdparams rec_static.pdopt rec_static.pdmodel __model__ fc_0.w_0; do
        cmp "alone/1/$file" "model/1/$file" || fault "$file differs"
    done
done
rm -rf alone same.yaml

# ---- transports ----

for t in ipc "ipc encrypt=on" "tcp encrypt=on peer_bytes=1M" "fault over=ipc twice=0.02 late=0.02"; do
    begin "transport $t, by a flag" async 2 2
    rm -rf log
    env -u SKIFF_JOB -u SKIFF_SECRET "$skiff" launch -q --server_num 2 --worker_num 2 --transport "$t" -m "$config" >launch.log 2>&1 || fault "launch fails"
    grep -qF "the job is complete" log/serverlog.0 || fault "the job is not complete"
    rm -rf log
done

begin "transport by the config: ipc workers reach a tcp server, and the other way round" sync 2 2
options="runner.transport=ipc"; server 0; worker 0
options=; server 1; worker 1 SKIFF_TRANSPORT=tcp
each 0 20 worker0 worker1 server0 server1
says worker1 "Epoch: 0"

begin "one side wants encryption, the other does not" async 1 1
server 0 SKIFF_TRANSPORT="tcp encrypt=on"
worker 0 SKIFF_TRANSPORT="tcp encrypt=off"
ends worker0 1 10
says worker0 "one side has encryption on, the other off (--encrypt, security.encrypt, SKIFF_ENCRYPT)"

begin "a transport that does not exist" async 1 1
worker 0 SKIFF_TRANSPORT=pigeon
ends worker0 1 5
says worker0 "SKIFF_TRANSPORT: there is no transport pigeon" "tcp (TCP, sealed by"
options="runner.transport=pigeon"; worker 0; options=
ends worker0 1 5
says worker0 "transport: there is no transport pigeon"

# ---- wrong from the start ----

begin "a server is missing" sync 2 1
server 0; worker 0 SKIFF_START_MS=2500
ends worker0 1 6
says worker0 "1 of 2 parameter servers did not answer in" ": 127.0.0.1:${port[1]} (no connection after "
kill "${pid[server0]}"

begin "servers told 3 workers, workers told 2" sync 1 2
server 0 PADDLE_TRAINERS_NUM=3; worker 0
ends worker0 1 5
says worker0 "worker 0 was started for 2 trainers and 1 server" "server 0 at $list for 3 trainers and 1 server"
says server0 "refused: worker 0 was started for 2 trainers"
kill "${pid[server0]}"

begin "servers told 1 worker, workers told 2" async 1 2
server 0 PADDLE_TRAINERS_NUM=1; worker 1
ends worker1 1 5
says worker1 "worker 1 was started for 2 trainers and 1 server" "server 0 at $list for 1 trainer and 1 server"
kill "${pid[server0]}"

begin "a worker knows of a second server, the first one does not" async 2 1
both=$list list=127.0.0.1:${port[0]}; server 0; list=$both; worker 0
ends worker0 1 5
says worker0 "worker 0 was started for 1 trainer and 2 servers" "for 1 trainer and 1 server"
kill "${pid[server0]}"

begin "servers in another order" sync 2 1
both=$list list=127.0.0.1:${port[1]},127.0.0.1:${port[0]}; server 0; server 1; list=$both; worker 0
ends worker0 1 5
says worker0 "127.0.0.1:${port[0]} is server 1; expected server 0 there"
kill "${pid[server0]}" "${pid[server1]}"

begin "all told 1 worker, two come" async 1 1
worker 1
ends worker1 1 2
says worker1 "PADDLE_TRAINER_ID is 1" "from 0 to 0"

begin "two workers with one number" async 1 2 1000
server 0; worker 0; until_says worker0 "of 2 files"
until_says server0 "worker 0"
process twin TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0
ends twin 1 5
says twin "there is a worker 0 in the job already" "Every process needs a number of its own"
kill -9 "${pid[worker0]}" "${pid[server0]}"

begin "another mode" sync 1 1
server 0; mode=async; worker 0
ends worker0 1 5
says worker0 "worker 0 was started in mode async" "in mode sync"
kill "${pid[server0]}"

begin "a mode that is none" fast 1 1
server 0
ends server0 1 3
says server0 "runner.sync_mode is fast; expected sync, half_async, async or geo"

begin "another program" sync 1 1
server 0; options=hyper_parameters.fc_sizes=[16]; worker 0; options=
ends worker0 1 5
says worker0 "worker 0 and server 0 at $list have split different programs"
kill "${pid[server0]}"

begin "another secret" sync 1 1
server 0; worker 0 SKIFF_SECRET=guess SKIFF_START_MS=4000
ends worker0 1 7
says worker0 "does not have the same secret as this process"
kill "${pid[server0]}"

begin "a host that nobody knows" sync 1 1
list=no.such.host.invalid:6170; worker 0 SKIFF_START_MS=3000
ends worker0 1 8
says worker0 "did not answer in" "no.such.host.invalid:6170 (unknown host:"
process server0 TRAINING_ROLE=PSERVER POD_IP=no.such.host.invalid PADDLE_PORT=6170
ends server0 1 5
says server0 "cannot listen on no.such.host.invalid:6170: the name is not known"

begin "two servers with one port" sync 1 1
server 0; until_says server0 "serves"
process twin TRAINING_ROLE=PSERVER POD_IP=127.0.0.1 PADDLE_PORT="${port[0]}"
ends twin 1 3
says twin "${port[0]}" "in use"
kill "${pid[server0]}"

begin "data that are not there" async 1 1
options=runner.train_data_dir=nowhere; worker 0; options=
ends worker0 1 3
says worker0 "nowhere"

begin "a folder for models that cannot be made" async 1 1
touch file; options=runner.model_save_path=file/model; worker 0; options=
ends worker0 1 3
says worker0 "runner.model_save_path" "file"
rm file

begin "a pipe command that fails" async 1 1
grep -v input_format config.yaml >piped.yaml
config=piped.yaml; options="runner.pipe_command=false"; server 0; worker 0; options=; config=config.yaml
ends worker0 1 15
says worker0 "false"

begin "a pipe command that is not there" async 1 1
grep -v input_format config.yaml >piped.yaml
config=piped.yaml; options=runner.pipe_command=no_such_command; server 0; worker 0; options=; config=config.yaml
ends worker0 1 15
says worker0 "no_such_command"
rm piped.yaml

# ---- deaths ----

for m in sync async half_async geo; do
    begin "$m: a server dies" $m 2 2 1000
    all
    until_says worker0 "Epoch: 1"
    kill -9 "${pid[server1]}"
    each 1 12 worker0 worker1
    says worker0 "server 1"
    says worker1 "server 1"
    ends server0 1 15

    begin "$m: a worker dies, the other goes on" $m 1 2 1000
    all
    until_says worker1 "Epoch: 1"
    kill -9 "${pid[worker1]}"
    until_says server0 "; the others continue without it"
    grep -qE "WARN server.0 worker 1 .*; the others continue without it" server0.log || fault "the death is no warning"
    goes_on worker0
    kill -TERM "${pid[worker0]}"
    ends worker0 1 8
    says worker0 "skiff train: stopped "
    ends server0 0 5
done

begin "a worker dies, the job shall stop" sync 1 2 1000
options=runner.on_worker_death=stop; all; options=
until_says worker1 "Epoch: 1"
kill -9 "${pid[worker1]}"
ends worker0 1 12
ends server0 1 12

begin "one worker is told to stop: it waits for nobody, the other goes on" sync 1 2 1000
all
until_says worker1 "Epoch: 1"
kill -TERM "${pid[worker1]}"
ends worker1 1 4
goes_on worker0
kill -9 "${pid[worker0]}" "${pid[server0]}"

begin "all workers die" async 1 2 1000
all
until_says worker1 "Epoch: 1"
kill -9 "${pid[worker0]}" "${pid[worker1]}"
ends server0 1 12

for m in sync async half_async geo; do
    begin "$m: servers that receive SIGTERM end at once" $m 1 1
    server 0; until_says server0 "serves"
    kill -TERM "${pid[server0]}"
    ends server0 0 2
    says server0 "stopped by a signal"
done

# ---- doctor ----

begin "doctor before a run" sync 1 1
http_proxy=http://proxy:3128 "$skiff" doctor -m config.yaml --servers "$list" --worker_num 2 >doctor.log 2>&1 || fault "doctor finds something wrong"
says doctor "the port of $list is free" "http_proxy is set" "training data: 2 files" "models go to"
"$skiff" doctor -m config.yaml -o runner.train_data_dir=nowhere --servers no.such.host.invalid:1,127.0.0.1:1x >doctor.log 2>&1 && fault "nothing wrong"
says doctor "WRONG" "must be a number from 0 to 65535" "nowhere"
"$skiff" doctor --servers no.such.host.invalid:1 >doctor.log 2>&1 && fault "nothing wrong"
says doctor "no.such.host.invalid cannot be found" "/etc/hosts"
"$skiff" doctor --servers="0.0.0.0:${port[0]}" --workers=127.0.0.1,no.such.host.invalid >doctor.log 2>&1 && fault "nothing wrong"
says doctor "server 0: 0.0.0.0 is not reachable from other machines" "worker 1: no.such.host.invalid cannot be found"
"$skiff" doctor --servers "$list" --timeout x >doctor.log 2>&1 && fault "nothing wrong"
says doctor "--timeout is 'x'"
TRAINING_ROLE=TRAINER PADDLE_PSERVERS_IP_PORT_LIST="$list" PADDLE_TRAINERS_NUM=2 PADDLE_TRAINER_ID=7 "$skiff" doctor >doctor.log 2>&1 && fault "nothing wrong"
says doctor "PADDLE_TRAINER_ID is 7"
perl -MIO::Socket::INET -e '$| = 1; $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => $ARGV[0]); print "listens\n"; sleep 30' "${port[0]}" >holder.log &
holder=$!
pids+=($holder)
until_says holder listens
"$skiff" doctor --servers "$list" --timeout 1 >doctor.log 2>&1 && fault "nothing wrong"
says doctor "a process listens on $list" "another program uses the port"
kill -9 $holder

begin "doctor during a run" sync 2 1 1000
all; until_says worker0 "Epoch: 0"
"$skiff" doctor --servers "$list" --worker_num 1 >doctor.log 2>&1 || fault "doctor finds something wrong"
says doctor "server 1: running, sync, for 2 servers and 1 worker (" "its clock differs by"
"$skiff" doctor --servers "$list" --worker_num 5 >doctor.log 2>&1 && fault "doctor finds nothing wrong"
says doctor "WRONG server 0 was started for 2 servers and 1 worker, expected 2 and 5"
SKIFF_SECRET=guess "$skiff" doctor --servers "$list" --timeout 1 >doctor.log 2>&1 && fault "doctor gets in with another secret"
finish

# ---- ports under the launcher ----

cat >wrapped.sh <<'END'
#!/bin/bash
# wrapped.sh FAILS SKIFF OPTIONS...: a process of a job; with FAILS worker 1 is killed when it has begun
fails=$1
shift
[ "$TRAINING_ROLE$PADDLE_TRAINER_ID$fails" = TRAINER1yes ] || exec "$@"
"$@" &
for _ in $(seq 100); do grep -qs "Epoch: 1" log/workerlog.1 && break; sleep 0.1; done
kill -9 $!
wait $!
exit 3
END
chmod +x wrapped.sh
launch() { # FAILS EPOCHS: a job in the background; the same ports every time, one job right after the other
    "$skiff" launch -q --servers "$list" --worker_num 2 -- ./wrapped.sh "$1" "$skiff" train -m config.yaml -o runner.sync_mode=async runner.epochs="$2" >launch.log 2>&1 &
    pids+=($!)
}
listening() { # can both ports be seen in use?
    for _ in $(seq 100); do
        [ "$(bound "${port[@]}" | grep -o '(' | wc -l)" = 2 ] && grep -qs "Epoch: 1" log/workerlog.0 && return
        sleep 0.1
    done
    fault "the servers do not listen"
}
free() { [ -z "$(bound "${port[@]}")" ] || fault "still bound: $(bound "${port[@]}")"; }

begin "ports under the launcher" async 2 2
name="ports: the job ends well, twice"
for _ in 1 2; do
    launch no 2
    wait $! || fault "the job failed"
    free
done
name="ports: a worker fails"
launch yes 1000
wait $! && fault "the job did not fail"
free
says launch "worker 1 failed with status 3"
set -m # so that the launcher in the background takes SIGINT
for how in INT TERM KILL; do
    name="ports: the launcher gets SIG$how"
    rm -rf log
    launch no 1000
    listening
    kill -$how $!
    wait $! 2>/dev/null
    [ $how = KILL ] && for _ in $(seq 30); do # the keeper ends the job
        [ -z "$(bound "${port[@]}")" ] && break
        sleep 0.1
    done
    free
done
name="the launcher is killed while pipe commands run: nothing of them is left"
grep -v input_format config.yaml >piped.yaml
seconds=77$((RANDOM % 1000 + 1000)) # names the commands
asleep() { pgrep -fc "^sleep $seconds"; }
"$skiff" launch -q --servers "$list" --worker_num 2 -m piped.yaml -o "runner.pipe_command=sleep $seconds | cat" >launch.log 2>&1 &
launcher=$!
pids+=($launcher)
for _ in $(seq 200); do [ "$(asleep)" -ge 2 ] && break; sleep 0.1; done
[ "$(asleep)" -ge 2 ] || fault "the commands do not run"
kill -9 $launcher
wait $launcher 2>/dev/null
for _ in $(seq 50); do [ "$(asleep)" = 0 ] && break; sleep 0.1; done
[ "$(asleep)" = 0 ] || fault "left behind after 5 s: $(pgrep -af "^sleep $seconds")"
for p in $(pgrep -f "^sleep $seconds"); do kill -9 "$p"; done
set +m
exit $failed
