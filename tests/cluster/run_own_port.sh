#!/usr/bin/env bash
# A worker that dials a port of its own machine before the server listens there: the system may give its attempt that very port, and
# TCP then connects it with itself, so that the server finds its port in use. In a network namespace where outgoing connections
# have no other ports, it happens at once; the worker must release the port.
set -uo pipefail
if [ $# -eq 0 ]; then
    for tool in unshare ip; do
        command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 0; }
    done
    unshare -rn ip link set lo up 2>/dev/null || { echo "skipped: network namespaces are not allowed here"; exit 0; }
    exec unshare -rn "$0" "$(realpath "${BUILD:-build}")/skiff"
fi
. "$(dirname "$0")/small.sh"
skiff=$1
work=$(mktemp -d)
worker=
trap '[ -z "$worker" ] || kill -9 $worker 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
ip link set lo up && echo "40010 40011" >/proc/sys/net/ipv4/ip_local_port_range || exit 1
"$skiff" synth --rows 500 --test-rows 50 --files 1 --out data >/dev/null || exit 1
small_config SGD 'train_data_dir: data/train' 'input_format: criteo' 'train_batch_size: 100' 'epochs: 1' >config.yaml
export SKIFF_JOB=own-port SKIFF_SECRET=secret PADDLE_PSERVERS_IP_PORT_LIST=127.0.0.1:40010 PADDLE_TRAINERS_NUM=1
TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0 "$skiff" train -m config.yaml >worker.log 2>&1 &
worker=$!
sleep 1.5
TRAINING_ROLE=PSERVER POD_IP=127.0.0.1 PADDLE_PORT=40010 timeout 60 "$skiff" train -m config.yaml >server.log 2>&1 || {
    echo "the server ended with status $?"
    tail -n 3 server.log worker.log
    exit 1
}
wait $worker || {
    echo "the worker ended with status $?"
    tail -n 3 worker.log
    exit 1
}
worker=
