#!/usr/bin/env bash
# Launching of collective jobs, with ranks that are shell scripts: their environment, how jobs end, what errors name,
# the rendezvous of machines (two loopback addresses), restarts, that nothing is left behind.
set -uo pipefail
. "$(dirname "$0")/small.sh"
skiff=$(realpath "${BUILD:-build}")/skiff
work=$(mktemp -d)
mark=skiff-ranks-test-$$-$RANDOM
trap 'for p in $(of_mark); do kill -9 "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
cd "$work" || exit 1
echo "$mark" >mark
failed=0
name=start
export SKIFF_START_MS=60000
unset PADDLE_MASTER PADDLE_NNODES PADDLE_TRAINERS_NUM POD_IP OMP_NUM_THREADS TRAINING_ROLE

of_mark() { # processes of these tests: their command line carries the mark
    grep -lzFf "$work/mark" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 | grep -vx "$$" | grep -vx "${launcher:-0}"
}
fault() {
    echo "$name: $*"
    tail -n 30 out err out.* err.* 2>/dev/null | sed 's/^/    /'
    failed=1
}
says() { # FILE TEXT
    grep -qF -- "$2" "$1" || fault "$1 does not say: $2"
}
never_says() { # FILE TEXT
    ! grep -qF -- "$2" "$1" || fault "$1 says: $2"
}
is() { # WHAT FOUND EXPECTED
    [ "$2" = "$3" ] || fault "$1 is '$2', expected '$3'"
}
nothing_left() {
    for _ in $(seq 50); do
        [ -z "$(of_mark)" ] && return
        sleep 0.1
    done
    fault "left behind: $(of_mark | xargs -r ps -o pid=,args= -p)"
}
run() { # STATUS command
    local want=$1 got
    shift
    "$@" >out 2>err
    got=$?
    is "exit status" "$got" "$want"
}
until_there() { # FILE...
    for _ in $(seq 300); do
        ls "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    fault "never came: $*"
}
free_port() { # one that has a free neighbour, below those that the system gives to connections of others
    perl -MIO::Socket::INET -e 'while (1) {
        my $port = 10000 + int rand 22000;
        my @free = grep { $_ } map { IO::Socket::INET->new(Listen => 1, LocalAddr => "0.0.0.0", LocalPort => $_) } $port, $port + 1;
        if (@free == 2) { print $port; last }
    }'
}

cat >rank.sh <<'END_OF_RANK'
#!/bin/bash
# rank.sh MARK WHAT: plays a rank
bash -c 'while :; do sleep 0.2; done' "$1" & # a grandchild
me=$PADDLE_TRAINER_ID
stay() { touch "here.$me"; while :; do sleep 0.1; done; }
await() { for _ in $(seq 300); do [ -e "$1" ] && return; sleep 0.1; done; }
echo "I am rank $me of $PADDLE_TRAINERS_NUM, restart $SKIFF_RESTART, job $SKIFF_JOB, secret ${#SKIFF_SECRET}"
case $2 in
tells) env | sort >"told.$me" ;;
fails) [ "$me" = 1 ] && { await here.0; echo "out of luck"; exit 3; }; stay ;;
killed) [ "$me" = 1 ] && { await here.0; kill -9 $$; }; touch here.0; sleep 0.5; echo "rank 1 was lost"; exit 1 ;;
first_sees) [ "$me" = 1 ] && { await here.0; sleep 0.5; kill -9 $$; }; touch here.0; sleep 0.3; exit 1 ;;
stays) stay ;;
deaf) trap '' TERM; stay ;;
sessions) setsid bash -c 'setsid bash -c "while :; do sleep 0.2; done" "$0"; :' "$1" & stay ;;
twice) [ "$SKIFF_RESTART" = 2 ] && exit 0; [ "$me" = 1 ] && exit 5; stay ;;
always) exit 6 ;;
esac
exit 0
END_OF_RANK
chmod +x rank.sh

name="what ranks are told"
http_proxy=http://x TRAINING_ROLE=TRAINER run 0 "$skiff" launch --collective --nproc_per_node 2 --log_dir some/logs -- ./rank.sh $mark tells
told() { sed -n "s/^$2=//p" "told.$1"; }
for rank in 0 1; do
    is PADDLE_TRAINER_ID "$(told $rank PADDLE_TRAINER_ID)" $rank
    is PADDLE_GLOBAL_RANK "$(told $rank PADDLE_GLOBAL_RANK)" $rank
    is PADDLE_LOCAL_RANK "$(told $rank PADDLE_LOCAL_RANK)" $rank
    is PADDLE_RANK_IN_NODE "$(told $rank PADDLE_RANK_IN_NODE)" $rank
    is PADDLE_TRAINERS_NUM "$(told $rank PADDLE_TRAINERS_NUM)" 2
    is PADDLE_GLOBAL_SIZE "$(told $rank PADDLE_GLOBAL_SIZE)" 2
    is PADDLE_LOCAL_SIZE "$(told $rank PADDLE_LOCAL_SIZE)" 2
    is PADDLE_NNODES "$(told $rank PADDLE_NNODES)" 1
    is PADDLE_DISTRI_BACKEND "$(told $rank PADDLE_DISTRI_BACKEND)" gloo
    is PADDLE_LOG_DIR "$(told $rank PADDLE_LOG_DIR)" "$work/some/logs"
    is PADDLE_BACKUP_ENV_PATH "$(told $rank PADDLE_BACKUP_ENV_PATH)" "$work/some/logs/backup_env.$rank.json"
    is OMP_NUM_THREADS "$(told $rank OMP_NUM_THREADS)" 1
    is SKIFF_RESTART "$(told $rank SKIFF_RESTART)" 0
    is "length of POD_NAME" "$(told $rank POD_NAME | wc -L)" 6
    is http_proxy "$(told $rank http_proxy)" ""
    is TRAINING_ROLE "$(told $rank TRAINING_ROLE)" ""
    is "own endpoint" "$(told $rank PADDLE_CURRENT_ENDPOINT)" "$(told $rank PADDLE_TRAINER_ENDPOINTS | cut -d, -f$((rank + 1)))"
    says some/logs/envlog.$rank "PADDLE_TRAINER_ID=$rank"
    never_says some/logs/envlog.$rank SKIFF_SECRET=
    never_says some/logs/backup_env.$rank.json SKIFF_SECRET\"
    perl -MJSON::PP -e 'local $/; exit(JSON::PP->new->decode(<STDIN>)->{PADDLE_TRAINER_ID} ne $ARGV[0])' $rank <some/logs/backup_env.$rank.json || fault "backup_env.$rank.json"
    is "rights of envlog" "$(stat -c %a some/logs/envlog.$rank)" 600
done
cmp -s <(told 0 PADDLE_TRAINER_ENDPOINTS) <(told 1 PADDLE_TRAINER_ENDPOINTS) || fault "endpoints differ"
told 0 PADDLE_TRAINER_ENDPOINTS | grep -E '^127.0.0.1:[0-9]+,127.0.0.1:[0-9]+$' >/dev/null || fault "endpoints: $(told 0 PADDLE_TRAINER_ENDPOINTS)"
told 0 PADDLE_MASTER | grep -E '^127.0.0.1:[0-9]+$' >/dev/null || fault "master: $(told 0 PADDLE_MASTER)"
is "the same secret" "$(told 0 SKIFF_SECRET)" "$(told 1 SKIFF_SECRET)"
says out "I am rank 0 of 2, restart 0, job job-"
says out "secret 64"
never_says out "I am rank 1"
OMP_NUM_THREADS=3 run 0 "$skiff" launch -- ./rank.sh $mark tells
is "ranks without any flag" "$(told 0 PADDLE_TRAINERS_NUM)" 1
is OMP_NUM_THREADS "$(told 0 OMP_NUM_THREADS)" 3
nothing_left

name="how many ranks"
count() { # RANKS FLAG...: so many with these flags
    local n=$1
    shift
    run 0 "$skiff" launch "$@" -- ./rank.sh $mark
    says out "I am rank 0 of $n,"
}
count 3 --devices 0,4,7
says err "ranks use CPUs; device names are ignored"
count 2 --gpus=0,1
count 2 --xpus 2,3
count 1 --selected_gpus 2
count 1 --devices cpu
count 2 --nproc_per_node 2 --gpus 0,1,2
count 1 --nproc_per_node 0
never_says err CPUs
count 2 --nproc_per_node 2 --backend gloo --job_id x --run_mode collective --elastic_level -1 --elastic_timeout 9 --log_level INFO
PADDLE_NPROC_PER_NODE=3 count 3 --nproc_per_node 2
PADDLE_DEVICES=0,1 count 2
nothing_left

name="logs"
rm -rf log
run 0 "$skiff" launch -- ./rank.sh $mark
run 0 "$skiff" launch -- ./rank.sh $mark
is "lines of an appended log" "$(grep -c 'I am rank 0' log/workerlog.0)" 2
is "lines on the console" "$(grep -c 'I am rank 0' out)" 1
run 0 "$skiff" launch --log_overwrite -- ./rank.sh $mark
is "lines of a new log" "$(grep -c 'I am rank 0' log/workerlog.0)" 1
run 0 "$skiff" launch --log_level ERROR -- ./rank.sh $mark
[ -s out ] || [ -s err ] && fault "--log_level ERROR is not quiet"
run 0 "$skiff" launch --log_dir "" --log_overwrite -- ./rank.sh $mark
is "lines in the standard folder" "$(grep -c 'I am rank 0' log/workerlog.0)" 1
touch a_file
run 1 "$skiff" launch --log_dir a_file -- ./rank.sh $mark
says err "a_file"
nothing_left

name="a rank fails"
rm -f here.*
run 3 "$skiff" launch --nproc_per_node 2 -- ./rank.sh $mark fails
is "the last line" "$(tail -n 1 err | sed 's/after .* s/after/')" "skiff launch: rank 1 failed with status 3 after; its log is log/workerlog.1"
says err "---- last lines of log/workerlog.1 (rank 1)"
says err "out of luck"
nothing_left

name="a rank is killed: the others can say what they saw"
rm -f here.*
run 137 "$skiff" launch --nproc_per_node 2 --log_overwrite -- ./rank.sh $mark killed
says err "rank 1 was killed by signal 9 (Killed) after"
says err "rank 1 was lost"
says log/workerlog.0 "rank 1 was lost"
nothing_left

name="the one that was killed is named, not the one that was first to leave"
rm -f here.*
run 137 "$skiff" launch --nproc_per_node 2 -- ./rank.sh $mark first_sees
says err "rank 1 was killed by signal 9"
nothing_left

name="a script that is not there"
if [ -d "$(dirname "$skiff")/python" ]; then # sanitizer builds have none
    run 2 "$skiff" launch --nproc_per_node 2 nowhere.py $mark
    says err "nowhere.py"
fi
run 127 "$skiff" launch -- ./nowhere $mark
says err "cannot start ./nowhere"

end_by() { # SIGNAL STATUS WHAT [twice]
    rm -f here.*
    "$skiff" launch --nproc_per_node 2 -- ./rank.sh $mark "$3" >out 2>err &
    launcher=$!
    until_there here.0 here.1
    kill -"$1" $launcher
    if [ "${4:-}" = twice ]; then
        for _ in $(seq 100); do grep -q "ranks have 10 s to save" err && break; sleep 0.1; done
        kill -"$1" $launcher || fault "does not wait for its ranks"
    fi
    wait $launcher 2>/dev/null
    is "exit status" $? "$2"
    launcher=0
    nothing_left
}
set -m # so that background launchers take SIGINT
name="Ctrl-C"; end_by INT 2 stays
name="SIGTERM"; end_by TERM 15 stays
name="ranks that do not listen"; end_by INT 2 deaf twice
name="the launcher is killed"; end_by KILL 137 stays
name="sessions of their own"; end_by TERM 15 sessions
name="the launcher is killed, and processes have sessions of their own"; end_by KILL 137 sessions
set +m

name="restarts"
rm -rf log here.*
run 0 "$skiff" launch --nproc_per_node 2 --restarts 3 -- ./rank.sh $mark twice
is "starts of rank 1" "$(grep -o 'restart [0-9]' log/workerlog.1 | tr '\n' ' ')" "restart 0 restart 1 restart 2 "
says err "skiff launch: restarting the job (restart 2 of 3"
never_says err "restart 3 of 3"
says err "rank 1 failed with status 5"
is "jobs" "$(grep -o 'job job-[0-9a-f]*' log/workerlog.1 | sort -u | wc -l)" 3
run 6 "$skiff" launch --restarts 1 -- ./rank.sh $mark always
is "restarts" "$(grep -c 'skiff launch: restarting the job (restart' err)" 1
run 6 "$skiff" launch --elastic_level 1 --max_restart 2 -- ./rank.sh $mark always
is "restarts" "$(grep -c 'skiff launch: restarting the job (restart' err)" 2
run 6 "$skiff" launch --max_restart 2 -- ./rank.sh $mark always
is "restarts" "$(grep -c 'skiff launch: restarting the job (restart' err)" 0
nothing_left

name="restarts of skiff train go on behind the last epoch that this job has saved"
slot_files 2
small_config SGD 'sync_mode: collective' 'split_file_list: True' 'train_data_dir: slots' 'train_batch_size: 50' 'epochs: 3' \
    "pipe_command: 'if [ \"\$SKIFF_RESTART.\$PADDLE_TRAINER_ID\" = 0.1 ] && [ -e \$FAIL_BEHIND ]; then exit 1; fi; cat'" >config.yaml
FAIL_BEHIND=model/0 run 0 "$skiff" launch --nproc_per_node 2 --restarts 1 --log_overwrite -m config.yaml
is "epochs" "$(epochs log/workerlog.0)" 012
says log/workerlog.0 "resuming from $work/model/0, saved after epoch 0"
is "epochs on the console" "$(epochs out)" 012
FAIL_BEHIND=config.yaml run 0 "$skiff" launch --nproc_per_node 2 --restarts 1 --log_overwrite -m config.yaml # there are epochs of the run before
is "epochs" "$(epochs log/workerlog.0)" 012
never_says log/workerlog.0 "resuming from"
rm -rf model
FAIL_BEHIND=model/0 run 0 "$skiff" launch --nproc_per_node 2 --restarts 1 --log_overwrite -m config.yaml --overwrite
is "epochs" "$(epochs log/workerlog.0)" 012
rm -rf model
FAIL_BEHIND=model/0 run 0 "$skiff" launch --nproc_per_node 2 --restarts 1 --log_overwrite -- "$skiff" train -m config.yaml
is "epochs of a command that is spelt out" "$(epochs log/workerlog.0)" 012
shuffled=(-m config.yaml -o runner.reader_type=InmemoryDataset runner.shuffle=True)
FAIL_BEHIND=never run 0 "$skiff" launch --nproc_per_node 2 --log_overwrite "${shuffled[@]}" runner.model_save_path=whole
FAIL_BEHIND=never run 0 "$skiff" launch --nproc_per_node 2 --log_overwrite "${shuffled[@]}" runner.model_save_path=parts runner.epochs=1
FAIL_BEHIND=never run 0 "$skiff" launch --nproc_per_node 2 --log_overwrite --resume "${shuffled[@]}" runner.model_save_path=parts
is "epochs behind the first one" "$(epochs log/workerlog.0)" 12
cmp whole/2/rec_static.pdparams parts/2/rec_static.pdparams || fault "shuffled rows: --resume ends elsewhere than a run in one piece"
rm -rf model
FAIL_BEHIND=config.yaml run 1 "$skiff" launch --nproc_per_node 2 --log_overwrite -m config.yaml
grep -qE "^skiff launch: rank [01] failed with status 1" err || fault "no rank is named"
says err "pipe command"
says log/workerlog.0 "rank 1"

port=$(free_port)
name="machines of a list"
rm -rf log told.*
for node in 2 3; do
    POD_IP=127.0.0.$node "$skiff" launch --ips 127.0.0.2,127.0.0.3 --start_port "$port" --nproc_per_node 2 --log_dir node$node -- ./rank.sh $mark tells >out.$node 2>err.$node &
done
wait
for rank in 0 1 2 3; do
    is PADDLE_TRAINERS_NUM "$(told $rank PADDLE_TRAINERS_NUM)" 4
    is PADDLE_LOCAL_RANK "$(told $rank PADDLE_LOCAL_RANK)" $((rank % 2))
    is PADDLE_NNODES "$(told $rank PADDLE_NNODES)" 2
    is endpoints "$(told $rank PADDLE_TRAINER_ENDPOINTS)" "127.0.0.2:$port,127.0.0.2:$((port + 1)),127.0.0.3:$port,127.0.0.3:$((port + 1))"
    is PADDLE_MASTER "$(told $rank PADDLE_MASTER)" ""
    is "the job" "$(told $rank SKIFF_JOB)" "$(told 0 SKIFF_JOB)"
done
says err.3 "this is machine 1 of 2, with 2 of them, from rank 2 on"
says out.3 "I am rank 2 of 4"
rm -f out.* err.*
run 0 "$skiff" launch --ips 127.0.0.1 --nproc_per_node 2 -- ./rank.sh $mark tells
[ "$(told 0 PADDLE_CURRENT_ENDPOINT)" = 127.0.0.1:6070 ] && fault "one machine does not need fixed ports"
run 0 "$skiff" launch --start_port "$port" --nproc_per_node 2 -- ./rank.sh $mark tells
is "--start_port on one machine" "$(told 1 PADDLE_CURRENT_ENDPOINT)" "127.0.0.1:$((port + 1))"
nothing_left

together() { # FLAGS OF THE FIRST -- FLAGS OF THE SECOND: two launchers that meet; status.0, status.1
    local first=() second=() n=0
    while [ "$1" != -- ]; do first+=("$1"); shift; done
    shift
    second=("$@")
    rm -rf told.* status.* out.* err.*
    port=$(free_port)
    for n in 0 1; do
        local flags=("${first[@]}")
        [ $n = 1 ] && flags=("${second[@]}")
        { "$skiff" launch --master 127.0.0.1:"$port" "${flags[@]}" --log_dir node$n -- ./rank.sh $mark tells >out.$n 2>err.$n; echo $? >status.$n; } &
    done
    wait
}
name="machines that meet"
together --nnodes 2 --rank 1 --nproc_per_node 2 -- --nnodes 2 --rank 0
is "exit status" "$(cat status.0 status.1 | tr '\n' ' ')" "0 0 "
for rank in 0 1 2; do
    is PADDLE_TRAINERS_NUM "$(told $rank PADDLE_TRAINERS_NUM)" 3
    is PADDLE_NNODES "$(told $rank PADDLE_NNODES)" 2
    is endpoints "$(told $rank PADDLE_TRAINER_ENDPOINTS)" "$(told 0 PADDLE_TRAINER_ENDPOINTS)"
    is "own endpoint" "$(told $rank PADDLE_CURRENT_ENDPOINT)" "$(told $rank PADDLE_TRAINER_ENDPOINTS | cut -d, -f$((rank + 1)))"
    is PADDLE_MASTER "$(told $rank PADDLE_MASTER)" "$(told 0 PADDLE_MASTER)"
    is "the job" "$(told $rank SKIFF_JOB)" "$(told 0 SKIFF_JOB)"
done
is PADDLE_LOCAL_SIZE "$(told 0 PADDLE_LOCAL_SIZE) $(told 1 PADDLE_LOCAL_SIZE)" "1 2"
says out.1 "I am rank 0 of 3"
says out.0 "I am rank 1 of 3"
together --nnodes 2 -- --nnodes 2
is "ranks by arrival" "$(cat out.0 out.1 | grep -o 'rank [01] of 2' | sort | tr '\n' ' ')" "rank 0 of 2 rank 1 of 2 "
SKIFF_SECRET=a-secret-of-some-length together --nnodes 2 -- --nnodes 2
says out.0 "secret 23"
nothing_left

name="machines that restart"
cat >once.sh <<'END_OF_ONCE'
#!/bin/bash
# once.sh MARK: fails in the first start, rank 1 when it sees that rank 0 has
echo "start $SKIFF_RESTART of $PADDLE_TRAINER_ENDPOINTS"
[ "$SKIFF_RESTART" = 0 ] || exit 0
[ "$PADDLE_TRAINER_ID" = 0 ] && touch rank0.failed
for _ in $(seq 300); do [ -e rank0.failed ] && exit 1; sleep 0.1; done
END_OF_ONCE
chmod +x once.sh
port=$(free_port)
rm -rf node0 node1
for n in 0 1; do
    "$skiff" launch --master 127.0.0.1:"$port" --nnodes 2 --rank $n --restarts 1 --log_dir node$n -- ./once.sh $mark >out.$n 2>err.$n || fault "machine $n fails" &
done
wait
is "starts" "$(grep -ho '^start [0-9]' node0/workerlog.0 node1/workerlog.0 | tr '\n' ' ')" "start 0 start 1 start 0 start 1 "
cmp -s node0/workerlog.0 node1/workerlog.0 || fault "they were told different addresses"
is "addresses" "$(cut -d' ' -f4 node0/workerlog.0 | sort -u | wc -l)" 2
rm -rf node2 node3 rank0.failed
for n in 2 3; do
    POD_IP=127.0.0.$n "$skiff" launch --ips 127.0.0.2,127.0.0.3 --start_port "$port" --restarts 1 --log_dir node$n -- ./once.sh $mark >out.$n 2>err.$n || fault "machine $n fails" &
done
wait
is "the second start of both" "$(grep -h 'start 1' node2/workerlog.0 node3/workerlog.0 | sort -u)" "start 1 of 127.0.0.2:$((port + 1)),127.0.0.3:$((port + 1))"
rm -f out.* err.*
nothing_left

name="machines that do not agree"
together --nnodes 2 -- --nnodes 3
is "exit status" "$(cat status.0 status.1 | tr '\n' ' ')" "1 1 "
for n in 0 1; do
    grep -qE 'was given --nnodes [23], but .* --nnodes [23]; give all launchers of a job the same' err.$n || fault "err.$n does not name the numbers"
done
together --nnodes 2 --rank 1 -- --nnodes 2 --rank 1
for n in 0 1; do says err.$n "were both given --rank 1"; done
SKIFF_START_MS=1500 together --nnodes 2 --job_id one -- --nnodes 2 --job_id two
grep -qh "not all launchers joined at 127.0.0.1:$port within 1.5 s (SKIFF_START_MS); missing: 1 of 2" err.0 err.1 || fault "nobody is missed"
grep -qh "another job" err.0 err.1 || fault "the other job is not named"
rm -f out.* err.*

name="machines that do not come"
port=$(free_port)
SKIFF_START_MS=1000 run 1 "$skiff" launch --nnodes 3 --rank 1 --master 127.0.0.1:"$port" -- ./rank.sh $mark
says err "within 1.0 s (SKIFF_START_MS); missing: the one with --rank 0, 2; here: the launcher at 127.0.0.1:$port"
SKIFF_START_MS=100 run 1 "$skiff" launch --nnodes 2 --insecure --master 203.0.113.1:7 -- ./rank.sh $mark
says err "no answer at --master 203.0.113.1:7 (is skiff launch running there?)"
run 1 "$skiff" launch --nnodes 2 --master 203.0.113.1:7 -- ./rank.sh $mark
says err "a job of several machines needs a secret; without one, any process that can connect to a rank can read and change its parameters"

name="one that was ended comes again"
rm -rf out.* err.* told.*
port=$(free_port)
machine() { exec "$skiff" launch --nnodes 3 --rank "$1" --master 127.0.0.1:"$port" --log_dir node"$1" -- ./rank.sh $mark tells >out."$1" 2>err."$1"; }
machine 0 &
first=$!
machine 1 &
second=$!
for _ in $(seq 300); do grep -qs "waiting at 127.0.0.1:$port until the launchers of all 3 machines have joined" err.0 err.1 && break; sleep 0.1; done
guest=1
grep -qs "waiting at" err.0 && guest=0 # whoever was first to listen is the host
[ $guest = 1 ] && gone=$second || gone=$first
disown "$gone"
kill -KILL "$gone"
for _ in $(seq 100); do kill -0 "$gone" 2>/dev/null || break; sleep 0.1; done
machine $guest &
again=$!
machine 2 &
third=$!
for p in $first $second $again $third; do
    [ $p = "$gone" ] || wait $p || fault "a launcher fails"
done
is PADDLE_TRAINERS_NUM "$(told 2 PADDLE_TRAINERS_NUM)" 3
rm -f out.* err.*
nothing_left

name="machines that others reach, with a secret"
own=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 -E '^[0-9.]+$')
if [ -n "$own" ]; then
    port=$(free_port)
    "$skiff" secret new --out secret >/dev/null 2>&1
    for n in 0 1; do
        "$skiff" launch --nnodes 2 --rank $n --secret_file secret --master "$own:$port" --log_dir node$n -- ./rank.sh $mark tells >out.$n 2>err.$n || fault "machine $n fails" &
    done
    wait
    is endpoints "$(told 1 PADDLE_TRAINER_ENDPOINTS | sed 's/:[0-9]*//g')" "$own,$own"
    is "lengths of secrets" "$(told 0 SKIFF_SECRET | wc -L) $(told 1 SKIFF_SECRET | wc -L)" "64 64"
    never_says node0/envlog.0 "$(told 0 SKIFF_SECRET)"
    rm -f out.* err.*
    nothing_left
fi

name="a port in use"
perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1"); print $s->sockport, "\n"; $| = 1; print ""; close STDOUT; sleep 60' >port &
holder=$!
for _ in $(seq 50); do [ -s port ] && break; sleep 0.1; done
run 1 "$skiff" launch --start_port "$(cat port)" -- ./rank.sh $mark
says err "port $(cat port) of 127.0.0.1:$(cat port) is in use by process $holder (perl)"
kill $holder

name="wrong usage"
refused() { run "$1" "$skiff" launch "${@:3}" -- ./rank.sh $mark; says err "$2"; }
refused 2 "--collective is for ranks, each of which holds all parameters; --server_num" --collective --server_num 1
refused 2 "--nproc_per_node is for ranks, each of which holds all parameters; --run_mode ps is for" --nproc_per_node 2 --run_mode ps
refused 2 "--run_mode is 'gpu'; expected collective or ps" --run_mode gpu
refused 2 "--devices is '0,,1'; expected numbers with commas" --devices 0,,1
refused 2 "--devices is '0,'" --devices 0,
refused 2 "--devices is 'gpu:0'" --gpus gpu:0
refused 2 "--nnodes 2 needs a rendezvous: give --master HOST:PORT" --nnodes 2
refused 2 "--nnodes is '2:4'" --nnodes 2:4 --master 127.0.0.1:7
refused 2 "--rank 2: with --nnodes 2, ranks of machines are 0 to 1" --nnodes 2 --rank 2 --master 127.0.0.1:7
refused 2 "give one of them" --ips 127.0.0.1 --master 127.0.0.1:7
refused 2 "--nnodes and --rank need --master; with --ips, the list gives the number of machines, and POD_IP or --host this machine" --ips 127.0.0.2,127.0.0.3 --rank 0
refused 2 "--share_secret needs the addresses of all machines" --nnodes 2 --master 127.0.0.1:7 --share_secret
refused 1 "--master: address 'nonsense' has no port" --nnodes 2 --master nonsense
refused 1 "etcd is not supported" --nnodes 2 --master etcd://127.0.0.1:7
refused 1 "both 127.0.0.2:6070 and 127.0.0.3:6071 are this machine; choose one" --ips 127.0.0.2,127.0.0.3
refused 1 "a loopback address means a different machine on each machine" --host 127.0.0.1 --ips 127.0.0.1,203.0.113.1
refused 1 "none of 203.0.113.1,203.0.113.2 is an address of this machine" --ips 203.0.113.1,203.0.113.2
POD_IP=203.0.113.9 refused 1 "is POD_IP or --host, which is 203.0.113.9" --ips 203.0.113.1,203.0.113.2
refused 1 "--start_port 65535 leaves too few ports for 2 ranks" --start_port 65535 --nproc_per_node 2
PADDLE_NNODES=two refused 2 "PADDLE_NNODES is 'two'"
exit $failed
