#!/usr/bin/env bash
# The launcher with processes that are shell scripts: how jobs end, what errors name, that nothing is left behind.
set -uo pipefail
here=$(realpath "$0")
skiff=$(realpath "${BUILD:-build}")/skiff
work=$(mktemp -d)
mark=skiff-launch-test-$$-$RANDOM
trap 'for p in $(of_mark); do kill -9 "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
cd "$work" || exit 1
echo "$mark" >mark
failed=0

of_mark() { # processes of these tests: their command line carries the mark
    grep -lzFf "$work/mark" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 | grep -vx "$$" | grep -vx "${launcher:-0}"
}
fault() {
    echo "$name: $*"
    sed 's/^/    /' out err 2>/dev/null | tail -n 30
    failed=1
}
says() { # FILE TEXT
    grep -qF -- "$2" "$1" || fault "$1 does not say: $2"
}
nothing_left() { # no process, and every port that a server of the last job has held can be bound at once
    for _ in $(seq 30); do
        [ -z "$(of_mark)" ] && break
        sleep 0.1
    done
    [ -z "$(of_mark)" ] || fault "left behind: $(of_mark | xargs -r ps -o pid=,args= -p)"
    [ -z "$(bound $(cat held.* 2>/dev/null))" ] || fault "still bound: $(bound $(cat held.*))"
    rm -f held.*
}
bound() { # PORT...: those that cannot be bound
    perl -MIO::Socket::INET -e 'for (@ARGV) { IO::Socket::INET->new(Listen => 1, LocalAddr => "0.0.0.0", LocalPort => $_, ReuseAddr => 1) or print "$_ ($!) " }' "$@"
}
held() { # N: so many ports were held during the job
    [ "$(cat held.* 2>/dev/null | wc -w)" = "$1" ] || fault "servers held $(cat held.* 2>/dev/null | wc -w) ports, expected $1"
}
run() { # STATUS SECONDS command: checks exit status and time, with patience for a busy machine
    local want=$1 limit=$(($2 * 4)) start got
    shift 2
    start=$(date +%s)
    "$@" >out 2>err
    got=$?
    [ "$got" = "$want" ] || fault "exit status $got, expected $want"
    [ $(($(date +%s) - start)) -le "$limit" ] || fault "took $(($(date +%s) - start)) s, expected at most $limit"
}

cat >job.sh <<'END'
#!/bin/bash
# job.sh MARK WHAT WHO: plays a server or a worker
me=worker$PADDLE_TRAINER_ID
[ "$TRAINING_ROLE" = PSERVER ] && me=server$PADDLE_PORT
echo "I am $me of $PADDLE_TRAINERS_NUM, servers $PADDLE_PSERVERS_IP_PORT_LIST, job $SKIFF_JOB, secret ${#SKIFF_SECRET}, proxy ${http_proxy-none}"
bash -c 'while :; do sleep 0.2; done' "$1" & # a grandchild
if [ "$TRAINING_ROLE" = PSERVER ]; then # a grandchild that listens at the server's port
    perl -MIO::Socket::INET -e '
        my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => $ARGV[1], LocalPort => $ARGV[2], ReuseAddr => 1) or die "$ARGV[2]: $!";
        open my $f, ">", "held.$ARGV[2]"; print $f "$ARGV[2]\n"; close $f;
        sleep 1 while 1' "$1" "${POD_IP:-127.0.0.1}" "$PADDLE_PORT" &
fi
until_held() { # N: so many servers listen
    for _ in $(seq 100); do [ "$(cat held.* 2>/dev/null | wc -w)" -ge "$1" ] && return; sleep 0.1; done
}
if [ "$TRAINING_ROLE" = PSERVER ]; then
    for _ in $(seq 100); do [ -s "held.$PADDLE_PORT" ] && break; sleep 0.1; done
    [ "$2" = servers_leave ] && { sleep 0.7; kill $(jobs -p); exit 0; }
    [ "$2" = server_dies ] && { sleep 0.3; kill -9 $$; }
    [ "$2" = server_first ] && { sleep 0.3; kill $!; exit 1; }
    while :; do sleep 0.1; done
fi
echo "P 0 0.5 100 1.0 0.3 0.7" >&"$SKIFF_PROGRESS_FD"
case $2 in
fails) [ "$me" = "$3" ] && { until_held 2; echo "out of luck"; exit 3; }; while :; do sleep 0.1; done ;;
server_first) sleep 0.5; echo "out of luck"; exit 3 ;;
sessions) setsid bash -c 'setsid bash -c "while :; do sleep 0.2; done" "$0"; :' "$1" & while :; do sleep 0.1; done ;;
groups) set -m; bash -c 'while :; do sleep 0.2; done' "$1" & set +m; while :; do sleep 0.1; done ;; # one of its own group
stays | server_dies) while :; do sleep 0.1; done ;;
deaf) trap '' TERM; while :; do sleep 0.1; done ;;
esac
sleep 0.3
echo "R 100 1.0 0.3 0.7 0.71" >&"$SKIFF_PROGRESS_FD"
exit 0
END
chmod +x job.sh

name="a job that ends well"
http_proxy=http://x run 0 4 "$skiff" launch --server_num 2 --worker_num 2 -- ./job.sh $mark servers_leave
for f in log/serverlog.0 log/serverlog.1 log/workerlog.0 log/workerlog.1; do [ -s $f ] || fault "no $f"; done
says log/workerlog.1 "I am worker1 of 2, servers 127.0.0.1:"
says log/workerlog.1 "secret 64, proxy none"
[ "$(grep -o 'job job-[0-9a-f]*' log/*log.* | cut -d: -f2 | sort -u | wc -l)" = 1 ] || fault "processes have different jobs"
says out "worker 0           100       1.0         100   0.7000  done"
says out "together           200       1.0         200   0.7100"
held 2
nothing_left

name="servers that do not leave are told"
run 0 8 "$skiff" launch-ps --server_num 1 --worker_num 1 -- ./job.sh $mark servers_stay
[ -s logs/serverlog.0 ] || fault "launch-ps writes to logs/"
says out "stopped"
nothing_left

name="a worker fails"
run 1 4 "$skiff" launch --server_num 2 --worker_num 3 -- ./job.sh $mark fails worker1
says err "worker 1 failed with status 3"
says err "log/workerlog.1"
says err "out of luck"
[ "$(tail -n 1 err | cut -c1-13)" = "skiff launch:" ] || fault "the reason is not the last line"
held 2
nothing_left

name="a worker fails, and its server is the first to end"
run 1 4 "$skiff" launch --server_num 2 --worker_num 1 -- ./job.sh $mark server_first
says err "worker 0 failed with status 3"
says err "out of luck"
nothing_left

name="a server dies"
run 1 4 "$skiff" launch --server_num 1 --worker_num 2 -- ./job.sh $mark server_dies
says err "server 0 was killed by signal 9"
nothing_left

name="a command that is not there"
run 1 4 "$skiff" launch --server_num 1 --worker_num 1 -- ./nowhere $mark
says err "cannot start ./nowhere"
nothing_left

end_by() { # SIGNAL STATUS WHAT LIMIT [twice]: starts a job, signals the launcher
    local start
    "$skiff" launch --server_num 2 --worker_num 2 -- ./job.sh $mark "$3" >out 2>err &
    launcher=$!
    for _ in $(seq 50); do
        [ "$(of_mark | wc -l)" -ge 10 ] && [ "$(cat held.* 2>/dev/null | wc -w)" = 2 ] && break
        sleep 0.1
    done
    start=$(date +%s)
    kill -"$1" $launcher
    if [ "${5:-}" = twice ]; then
        for _ in $(seq 100); do grep -q "workers have 60 s to save" err && break; sleep 0.1; done
        kill -"$1" $launcher || fault "does not wait for its workers"
    fi
    wait $launcher 2>/dev/null
    got=$?
    launcher=0
    [ $got = "$2" ] || fault "exit status $got, expected $2"
    [ $(($(date +%s) - start)) -le $(($4 * 4)) ] || fault "took $(($(date +%s) - start)) s to stop"
    held 2
    nothing_left
}
set -m # so that background launchers take SIGINT
name="Ctrl-C"; end_by INT 130 stays 3
name="SIGTERM"; end_by TERM 143 stays 3
name="a worker that does not listen"; end_by INT 130 deaf 3 twice
name="the launcher is killed"; end_by KILL 137 stays 2
name="the launcher is killed, and processes have groups of their own"; end_by KILL 137 groups 2
name="the launcher is killed, and processes have sessions of their own"; end_by KILL 137 sessions 2
set +m

name="the supervisor process is killed" # the job and its launcher continue and end as ever
"$skiff" launch --server_num 2 --worker_num 2 -- ./job.sh $mark stays >out 2>err &
launcher=$!
for _ in $(seq 50); do
    [ "$(of_mark | wc -l)" -ge 10 ] && [ "$(cat held.* 2>/dev/null | wc -w)" = 2 ] && break
    sleep 0.1
done
kill -9 "$(pgrep -P $launcher -x skiff)" || fault "there is no supervisor process"
kill -TERM $launcher
wait $launcher 2>/dev/null
got=$?
launcher=0
[ $got = 143 ] || fault "exit status $got, expected 143"
says err "skiff launch: the supervisor process has ended"
says out "worker 0"
held 2
nothing_left

name="a port in use"
perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1"); print $s->sockport, "\n"; $| = 1; print ""; close STDOUT; sleep 30' >port &
holder=$!
for _ in $(seq 50); do [ -s port ] && break; sleep 0.1; done
run 1 2 "$skiff" launch --servers "127.0.0.1:$(cat port)" --worker_num 1 -- ./job.sh $mark stays
says err "port $(cat port) of 127.0.0.1:$(cat port) is in use by process $holder (perl)"
kill $holder
free=$(cat port)
nothing_left

name="each machine starts its own part"
POD_IP=127.0.0.2 run 0 8 "$skiff" launch --servers 127.0.0.1:$free,127.0.0.2:$free --workers 127.0.0.1,127.0.0.2,127.0.0.2 --log_dir two -- ./job.sh $mark servers_leave
[ "$(ls two | tr '\n' ' ')" = "serverlog.1 workerlog.1 workerlog.2 " ] || fault "started $(ls two)"
says err "1 server and 2 workers are on this machine"
held 1
nothing_left
POD_IP=localhost run 0 8 "$skiff" launch --servers 127.0.0.1:$free --workers 127.0.0.1,::1 --log_dir names -- ./job.sh $mark servers_leave
[ "$(ls names | tr '\n' ' ')" = "serverlog.0 workerlog.0 workerlog.1 " ] || [ "$(ls names | tr '\n' ' ')" = "serverlog.0 workerlog.0 " ] || fault "started $(ls names)"
POD_IP=10.9.8.7 run 1 2 "$skiff" launch --servers 127.0.0.1:$free --workers 127.0.0.1 -- ./job.sh $mark
says err "POD_IP, which is 10.9.8.7"
nothing_left

name="as fleetrun"
ln -s "$skiff" fleetrun
run 0 8 ./fleetrun --server_num=1 --worker_num=1 ./job.sh $mark servers_leave
says out "worker 0"
nothing_left

name="--log_overwrite with and without a value"
for value in "" True False true; do
    run 0 4 "$skiff" launch --nproc_per_node 1 --log_overwrite $value --log_dir over -- echo "written once"
    says over/workerlog.0 "written once"
done
[ "$(grep -c once over/workerlog.0)" = 1 ] || fault "True does not overwrite"
run 0 4 "$skiff" launch --nproc_per_node 1 --log_overwrite False --log_dir over -- echo "written once"
[ "$(grep -c once over/workerlog.0)" = 2 ] || fault "False overwrites"

name="--log_overwrite for servers and workers, whose logs are always written anew"
for value in "" True False; do
    run 0 8 "$skiff" launch --server_num 1 --worker_num 1 --log_overwrite $value --log_dir over_ps -- ./job.sh $mark servers_leave
done
nothing_left

name="the config is checked before anything is started"
. "$(dirname "$here")/small.sh"
small_config SGD 'train_data_dir: nowhere' 'input_format: criteo' >config.yaml
small_config SGDD 'train_data_dir: nowhere' 'input_format: criteo' >wrong.yaml
checked() { # STATUS TEXT ARGUMENT...
    run "$1" 2 "$skiff" launch --log_dir never --server_num 2 --worker_num 2 "${@:3}"
    says err "$2"
    [ "$(wc -l <err)" = 1 ] || fault "it says more than one line"
    [ ! -e never ] || fault "processes were started"
}
checked 1 "config.yaml: runner.sync_mode is asnyc; expected sync, half_async, async or geo" -m config.yaml -o runner.sync_mode=asnyc
checked 1 'wrong.yaml:7: hyper_parameters.optimizer.class must be SGD' -m wrong.yaml
checked 1 "cannot read nowhere.yaml" -m nowhere.yaml
checked 2 "unknown flag --nowhere" -m config.yaml --nowhere
checked 1 'hyper_parameters.optimizer.class must be SGD' -- "$skiff" train -m wrong.yaml

name="wrong usage"
refused() { run "$1" 2 "$skiff" launch "${@:3}"; says err "$2"; }
refused 2 "nothing to start" --server_num 1 --worker_num 1
refused 1 "the number of servers is missing" --worker_num 1 -- true
refused 1 "the number of workers is missing" --server_num 1 -- true
refused 2 "--server_num is 'two'" --server_num two --worker_num 1 -- true
refused 2 "--server_num is '0'" --server_num 0 --worker_num 1 -- true
refused 2 "unknown flag --sevrer_num; the nearest is --server_num" --sevrer_num 1 -- true
refused 2 "--nproc_per_node is for ranks, each of which holds all parameters" --nproc_per_node 2 --server_num 1 x.py
refused 1 "--servers lists 1, but --server_num is 2" --servers a:1 --server_num 2 --worker_num 1 -- true
FLAGS_START_PORT=6170x refused 1 "FLAGS_START_PORT is '6170x'" --server_num 1 --worker_num 1 -- true
refused 1 "--transport: there is no transport tcq, the nearest is tcp" --transport tcq --server_num 1 --worker_num 1 -- true
refused 1 "expected auto, on or off" --transport "tcp encrypt=perhaps" --server_num 1 --worker_num 1 -- true
refused 1 "has no port" --servers 127.0.0.1 --worker_num 1 -- true
refused 1 "stands there twice" --servers 127.0.0.1:1,127.0.0.1:1 --worker_num 1 -- true
exit $failed
