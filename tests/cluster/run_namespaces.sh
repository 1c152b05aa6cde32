#!/usr/bin/env bash
# Jobs of real processes in two network namespaces with one link between them: the link is cut and comes back, flaps, loses
# and delays packets, is cut for good. docs/internals/consistency.md says what must happen.
# Where namespaces are not allowed, or iproute2 is missing, nothing is tested and it says so. The machine's own network is
# not touched: everything happens in namespaces that end with this script.
set -uo pipefail
PATH=$PATH:/usr/sbin:/sbin
skip() {
    echo "skipped: $*"
    exit 0
}
if [ "${1:-}" != inside ]; then
    for tool in ip unshare nsenter; do command -v $tool >/dev/null || skip "there is no $tool"; done
    how=(unshare --net --mount)
    [ "$(id -u)" = 0 ] || how=(unshare --map-root-user --net --mount)
    "${how[@]}" true 2>/dev/null || skip "network namespaces are not allowed here"
    exec "${how[@]}" "$0" inside
fi

. "$(dirname "$0")/jobs.sh"
name=setup here=10.77.0.1 there=10.77.0.2
export SKIFF_SILENCE_MS=5000 FLAGS_rpc_deadline=30000
options="runner.seed=3 hyper_parameters.optimizer.class=Adam"

unshare --net sleep 300 & # holds the other namespace
other=$!
disown
pids+=($other)
for _ in $(seq 50); do [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ] && break; sleep 0.05; done
across() { nsenter --target $other --net "$@"; }
ip link add skiff0 type veth peer name skiff1 2>err && ip link set skiff1 netns $other 2>err || skip "no veth pairs here: $(cat err)"
ip link set lo up
ip addr add $here/24 dev skiff0
ip link set skiff0 up
across ip link set lo up
across ip addr add $there/24 dev skiff1
across ip link set skiff1 up

# begin NAME MODE EPOCHS: server 0 and worker 0 are here, worker 1 is across; and server 1, unless `servers` is here
begin() {
    name=$1 mode=$2 epochs=$3 nworkers=2
    rm -rf ./*.log model
    declare -gA pid=()
    local over=(nsenter --target $other --net) second=$there
    local to=("${over[@]}") # where server 1 runs
    [ "${servers:-both}" = here ] && second=$here to=()
    list=$here:6170,$second:6171
    process server0 TRAINING_ROLE=PSERVER POD_IP=$here PADDLE_PORT=6170
    process server1 TRAINING_ROLE=PSERVER POD_IP=$second PADDLE_PORT=6171 "${to[@]}"
    process worker0 TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0
    process worker1 TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=1 "${over[@]}"
}
cut() { ip link set skiff0 down; }
restore() { ip link set skiff0 up; }
says_like() { grep -qE -- "$2" "$1.log" || fault "$1 does not say: $2"; }
all_end() { each "$1" "$2" worker0 worker1 server0 server1; }
digest() { (cd model/$((epochs - 1)) && find . -type f ! -name __skiff_manifest__ | sort | xargs sha256sum) | sha256sum; }
same() { [ "$(digest)" = "$1" ] || fault "other bits than without a fault"; }
epochs_of() { grep -c Epoch: "$1.log"; }

# ---- sync: the same bits whatever the link does ----

begin "sync, a good link; encrypted between machines, authenticated on one" sync 20
all_end 0 30
says_like server1 "worker 0 .* has connected from $here:[0-9]+, encrypted"
says_like server1 "worker 1 .* has connected from $there:[0-9]+, authenticated"
bits=$(digest)

begin "sync, the link is cut and comes back within the silence" sync 20
until_says worker0 "Epoch: 1"
cut
sleep 0.3
before=$(epochs_of worker0)
sleep 1.5
[ "$(epochs_of worker0)" -le $((before + 1)) ] || fault "the cut link cuts nothing"
kill -0 "${pid[worker0]}" || fault "the job was over before the link was cut"
restore
all_end 0 30
same "$bits"

begin "sync, the link flaps: packets are lost and late again and again" sync 20
until_says worker0 "Epoch: 0"
for _ in 1 2 3 4 5; do
    cut
    sleep 0.05
    restore
    sleep 0.1
done
all_end 0 30
same "$bits"

if tc qdisc add dev skiff0 root netem delay 3ms 2ms loss 1% 2>err; then
    across tc qdisc add dev skiff1 root netem delay 3ms 2ms loss 1%
    begin "sync, packets are delayed, reordered and lost" sync 20
    all_end 0 40
    same "$bits"
    tc qdisc del dev skiff0 root
    across tc qdisc del dev skiff1 root
else
    echo "skipped: delay and loss by netem ($(head -n 1 err))"
fi

# ---- the other modes continue ----

for m in async geo; do
    begin "$m, the link is cut and comes back within the silence" $m 15
    until_says worker1 "Epoch: 1"
    cut
    sleep 1
    restore
    all_end 0 30
    says worker1 "Epoch: 14"
done

# ---- cut for good: all processes end, and name the one they have lost ----

export SKIFF_SILENCE_MS=2000
begin "sync, the link is cut for good, a server on each side" sync 1000
until_says worker0 "Epoch: 1"
cut
all_end 1 12
says worker0 "server 1"
says worker1 "server 0"
restore

servers=here
begin "async, a worker is cut off for good" async 1000
until_says worker1 "Epoch: 1"
cut
ends worker1 1 12
says_like worker1 "server [01]"
until_says server0 "worker 1"
until_says worker0 "Epoch: $(($(epochs_of worker0) + 1))," # it goes on: the number of the next but one
kill -TERM "${pid[worker0]}"
ends worker0 1 8
ends server0 0 5
ends server1 0 5
exit $failed
