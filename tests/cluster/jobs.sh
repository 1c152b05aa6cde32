# A fixture for scripts in this folder (source it): jobs of `skiff train`, process by process. It makes a folder with data and
# a config, and has functions that start processes and check their logs. failed is 1 when a check has failed.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/small.sh"
build=$(realpath "${BUILD:-build}")
skiff=$build/skiff
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
work=$(mktemp -d)
pids=()
config=config.yaml
trap 'kill -9 "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
# Sanitizers make processes several times slower: one that has no processor for 2 s is not dead
silence=2000
case $build in *-address | *-thread) silence=6000 ;; esac
export SKIFF_JOB=jobs-$$ SKIFF_SECRET=secret SKIFF_SILENCE_MS=$silence FLAGS_rpc_deadline=20000

"$skiff" synth --rows 3000 --test-rows 100 --files 2 --out data >/dev/null || exit 1
small_config SGD 'train_data_dir: data/train' 'input_format: criteo' 'train_batch_size: 100' 'epochs: 1' 'split_file_list: True' >config.yaml

fault() {
    echo "$name: $*"
    for f in *.log; do [ -s "$f" ] && [ "${shown:-}" != "$name" ] && sed "s/^/    $f: /" "$f" | tail -n 6; done
    shown=$name
    failed=1
}
ports() { # N free ports, below the range of outgoing connections
    perl -MIO::Socket::INET -e 'my @s; while (@s < $ARGV[0]) { my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => 26000 + int(rand(6000))); push @s, $s if $s } print join(" ", map { $_->sockport } @s)' "$1"
}
bound() { # PORT...: those that cannot be bound
    perl -MIO::Socket::INET -e 'for (@ARGV) { IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => $_, ReuseAddr => 1) or print "$_ ($!) " }' "$@"
}
finish() { # ends what the last job has left on purpose; however its processes ended, their ports are free at once
    [ -n "${pid[*]:-}" ] || return
    kill -9 "${pid[@]}" 2>/dev/null
    wait "${pid[@]}" 2>/dev/null
    [ -z "$(bound "${port[@]}")" ] || fault "still bound: $(bound "${port[@]}")"
}
begin() { # NAME MODE SERVERS WORKERS [EPOCHS]
    finish
    name=$1 mode=$2 nservers=$3 nworkers=$4 epochs=${5:-1}
    rm -rf ./*.log model
    read -ra port <<<"$(ports "$nservers")"
    list=$(printf ",127.0.0.1:%s" "${port[@]}")
    list=${list:1}
    declare -gA pid=()
}
process() { # WHO ENVIRONMENT...: starts it as pid[WHO], log WHO.log
    env PADDLE_PSERVERS_IP_PORT_LIST="$list" PADDLE_TRAINERS_NUM="$nworkers" "${@:2}" "$skiff" train -m "$config" \
        -o runner.sync_mode="$mode" runner.epochs="$epochs" ${options:-} >"$1.log" 2>&1 &
    pid[$1]=$!
    pids+=($!)
}
server() { process "server$1" TRAINING_ROLE=PSERVER POD_IP=127.0.0.1 PADDLE_PORT="${port[$1]}" "${@:2}"; }
worker() { process "worker$1" TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID="$1" "${@:2}"; }
all() {
    for ((i = 0; i < nservers; i++)); do server $i; done
    for ((i = 0; i < nworkers; i++)); do worker $i; done
}
says() { # WHO TEXT...
    local who=$1
    shift
    for text in "$@"; do grep -qF -- "$text" "$who.log" || fault "$who does not say: $text"; done
}
goes_on() { # WHO: it ends further epochs
    local n
    n=$(grep -c Epoch: "$1.log")
    for _ in $(seq 600); do
        [ "$(grep -c Epoch: "$1.log")" -gt "$n" ] && return
        sleep 0.1
    done
    fault "$1 does not go on"
}
ends() { # WHO STATUS SECONDS: it ends by itself, in time; on a busy machine in four times that
    local p=${pid[$1]} got
    for _ in $(seq $(($3 * 40))); do
        kill -0 "$p" 2>/dev/null || break
        sleep 0.1
    done
    if kill -0 "$p" 2>/dev/null; then
        fault "$1 has not ended after $(($3 * 4)) s"
        kill -9 "$p"
        wait "$p" 2>/dev/null
        return
    fi
    wait "$p"
    got=$?
    [ "$got" = "$2" ] || fault "$1 ended with status $got, expected $2"
}
until_says() { # WHO TEXT
    for _ in $(seq 600); do
        grep -qF -- "$2" "$1.log" 2>/dev/null && return
        sleep 0.1
    done
    fault "$1 does not say in 60 s: $2"
}
each() { for who in "${@:3}"; do ends "$who" "$1" "$2"; done; }

# ---- several jobs at the same time ----

aside() ( # FUNCTION ARGUMENT...: its jobs in a folder of their own
    pids=()
    trap 'kill -9 "${pids[@]}" 2>/dev/null' EXIT
    mkdir -p "aside/$$.$BASHPID" && cd "aside/$$.$BASHPID" || exit 1
    ln -s "$work/data" data
    cp "$work/config.yaml" .
    export SKIFF_JOB=jobs-$BASHPID
    "$@"
    finish
    exit $failed
)
side_by_side() { # "FUNCTION ARGUMENT..."...: six at a time; they mostly wait
    local running=() p
    for call in "$@"; do
        aside $call &
        running+=($!)
        [ "$(jobs -rp | wc -l)" -lt 6 ] || wait -n || failed=1
    done
    for p in "${running[@]}"; do wait "$p" || failed=1; done
}
