#!/usr/bin/env bash
# Two ranks of skiff train, one killed by kill -9 in epoch 2: --restarts resumes from the last saved epoch, and the job
# ends with the parameters of an undisturbed one, to the bit.
set -uo pipefail
. "$(dirname "$0")/small.sh"
skiff=$(realpath "${BUILD:-build}")/skiff
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
export SKIFF_START_MS=60000
unset PADDLE_MASTER PADDLE_NNODES PADDLE_TRAINERS_NUM POD_IP OMP_NUM_THREADS TRAINING_ROLE

fault() {
    echo "$*"
    tail -n 20 out err log/* 2>/dev/null | sed 's/^/    /'
    failed=1
}

slot_files 4
# the reader of rank 1 kills its rank in epoch 2, when it has begun to read: two files in each of the epochs before
small_config Adam 'sync_mode: collective' 'split_file_list: True' 'train_data_dir: slots' 'pipe_command: ./reader.sh' \
    'train_batch_size: 20' 'epochs: 4' >config.yaml
cat >reader.sh <<'END_OF_READER'
#!/bin/bash
# a rank is the nearest ancestor that is not a shell
if [ "${KILL:-}.$SKIFF_RESTART.$PADDLE_TRAINER_ID" = yes.0.1 ] && echo >>reads && [ "$(wc -l <reads)" -gt 4 ]; then
    for _ in $(seq 300); do [ -e model/1 ] && break; sleep 0.1; done # rank 0 saves in its own time
    head -n 30
    rank=$PPID
    while [ "$(cat "/proc/$rank/comm")" != skiff ]; do rank=$(awk '/^PPid/ { print $2 }' "/proc/$rank/status"); done
    echo "$rank" >killed
    kill -9 "$rank"
fi
cat
END_OF_READER
chmod +x reader.sh

"$skiff" launch --nproc_per_node 2 -m config.yaml >out 2>err || fault "the undisturbed job fails"
mv model undisturbed
rm -rf log
KILL=yes "$skiff" launch --nproc_per_node 2 --restarts 1 --log_overwrite -m config.yaml >out 2>err || fault "the job fails"
[ -s killed ] || fault "nobody was killed"
grep -q "signal 9\|SIGKILL\|killed" err || fault "the launcher does not say that a rank was killed"
grep -qF "skiff launch: restarting the job (restart 1 of 1" err || fault "the launcher does not say that it starts again"
grep -qF "resuming from $work/model/1, saved after epoch 1" log/workerlog.0 || fault "rank 0 does not go on behind epoch 1"
[ "$(epochs log/workerlog.0)" = 0123 ] || fault "epochs are $(epochs log/workerlog.0), expected 0123"
compared=0
for file in $(cd undisturbed/3 && find . -type f ! -name '*manifest*' | sort); do
    cmp "undisturbed/3/$file" "model/3/$file" || fault "model/3/$file is another"
    compared=$((compared + 1))
done
[ "$compared" -ge 3 ] || fault "only $compared files compared: $(find undisturbed)"
exit $failed
