#!/usr/bin/env bash
# A run that stops after an epoch and resumes ends with the bits of one that was not interrupted: one process, ranks and a
# sync job with servers, with every rule that defers updates (src/rules/README.md), and with samples in memory that are
# shuffled before every epoch. The rows are many and rarely used, so that most have deferred updates at the end of an epoch.
set -uo pipefail
. "$(dirname "$0")/small.sh"
skiff=$(realpath "${BUILD:-build}")/skiff
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
export SKIFF_START_MS=60000
unset PADDLE_MASTER PADDLE_NNODES PADDLE_TRAINERS_NUM POD_IP OMP_NUM_THREADS TRAINING_ROLE

slot_files 4
runner=('split_file_list: True' 'train_data_dir: slots' 'pipe_command: cat' 'train_batch_size: 10' 'thread_num: 1' 'seed: 5')
for rule in Adam Momentum RMSProp Adamax; do
    small_config "$rule, lazy_mode: False" "${runner[@]}" >$rule.yaml
done
small_config SGD "${runner[@]}" 'reader_type: InmemoryDataset' 'shuffle: True' >shuffled.yaml

same_bits() { # WHAT FOLDER FOLDER
    local file compared=0
    for file in $(cd "$2" && find . -type f ! -name '*manifest*' | sort); do
        cmp "$2/$file" "$3/$file" || { echo "$1: $file is another"; failed=1; }
        compared=$((compared + 1))
    done
    [ "$compared" -ge 3 ] || { echo "$1: only $compared files compared"; failed=1; }
}
resumes() { # HOME RULE COMMAND...
    local what="$1, $2" config=$2.yaml
    shift 2
    rm -rf model straight log
    {
        "$@" -m "$config" -o runner.epochs=3 && mv model straight &&
            "$@" -m "$config" -o runner.epochs=1 && "$@" -m "$config" --resume -o runner.epochs=3
    } >out 2>&1 || { echo "$what: fails"; tail -n 20 out log/*; failed=1; return; }
    same_bits "$what" straight/2 model/2
}

for rule in Adam Momentum RMSProp Adamax shuffled; do
    resumes "one process" $rule "$skiff" train
    resumes "two ranks" $rule "$skiff" launch --log_overwrite --nproc_per_node 2
    sed 's/^runner:/&\n  sync_mode: sync/' $rule.yaml >$rule-sync.yaml
    resumes "two servers" $rule-sync "$skiff" launch --server_num 2 --worker_num 2
done
exit $failed
