#!/usr/bin/env bash
# Jobs of several processes against numbers of real Paddle 2.6.2 (its gloo groups), arithmetic where its CPU build cannot do it,
# launchers, and ranks that fail. Waits for those who never come are short here.
set -euo pipefail
export SKIFF_START_MS=10000 SKIFF_SILENCE_MS=5000
case ${BUILD:-build} in
*-address) # the sanitizer's library must be in Python from the start; Python itself leaks
    export LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0
    exec "$(dirname "$0")/acceptance.sh" --only collective_primitives --only collective_data_parallel --only collective_groups ;;
*-thread) exit 0 ;; # Python is not built for TSan
esac
for group in ranks primitives send_recv groups data_parallel fleet readers model static_all_reduce static_fleet spawn by_hand \
    killed stopped other_ world_size missing; do
    set -- "$@" --only collective_$group
done
exec "$(dirname "$0")/acceptance.sh" "$@" --only rec_collective_dygraph_2
