#!/usr/bin/env bash
# Two launchers, as on two machines, receive a signal at the same time: servers stay until the workers of the other machine
# have left, so the trained part of the running epoch is saved, and --resume continues from it.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/jobs.sh"
name="two launchers receive SIGTERM"
slow='while read -r l; do echo "$l"; sleep 0.02; done'
awk 'BEGIN { srand(1); for (i = 0; i < 3000; i++) { printf "13"; for (d = 0; d < 13; d++) printf " %g", rand()
    for (s = 0; s < 26; s++) printf " 1 %d", int(rand() * 5000); print " 1 " i % 2 } }' >rows
mkdir slots
split -n l/2 -d rows slots/part-
read -ra port <<<"$(ports 2)"
start() { # ADDRESS [FLAG...]: the part of one machine
    POD_IP=$1 "$skiff" launch --servers "127.0.0.2:${port[0]},127.0.0.3:${port[1]}" --workers 127.0.0.2,127.0.0.3 \
        --log_dir "log.$1" "${@:2}" -m config.yaml -o runner.input_format= "runner.pipe_command=$slow" \
        runner.train_data_dir=slots runner.train_batch_size=2 runner.sync_mode=async >"$1.log" 2>&1 &
    pids+=($!)
}
start 127.0.0.2
start 127.0.0.3
for _ in $(seq 300); do
    grep -qs "samples/s" log.127.0.0.2/workerlog.* && grep -qs "samples/s" log.127.0.0.3/workerlog.* && break
    sleep 0.1
done
kill -TERM "${pids[@]}"
for p in "${pids[@]}"; do
    wait "$p"
    got=$?
    [ $got = 143 ] || fault "a launcher ended with $got, expected 143"
done
pids=()
grep -q "complete: False" model/0/__skiff_manifest__ 2>/dev/null || fault "the part of the running epoch is not saved: $(ls model 2>&1)"
grep -h "has ended before the job" ./*.log log.*/* && fault "servers have left too early"
# the part counts the samples of both, except those not reported yet
count=$(sed -n 's/^samples: //p' model/0/__skiff_manifest__)
awk -v count="$count" '/^worker [0-9]/ { sum += $3; if ($3 > most) most = $3 } END { exit !(count > most && count <= sum) }' 127.0.0.[23].log ||
    fault "the part says $count samples: $(grep -h '^worker [0-9]' 127.0.0.[23].log)"
[ $failed = 0 ] && echo "the part is saved, $(sed -n 's/^samples: //p' model/0/__skiff_manifest__) samples"
exit $failed
