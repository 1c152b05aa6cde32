#!/usr/bin/env bash
# ranks.sh [ROUNDS]: two ranks of one thread that train the documents' CTR-DNN by DataParallel; with TORCH=PYTHON (a Python that
# has torch) against torch's DistributedDataParallel with gloo, in turns. bench/python/ranks.py is both.
set -euo pipefail
rounds=${1:-5}
root=$(cd "$(dirname "$0")/.." && pwd)
skiff=$(realpath "${BUILD:-$root/build}")/skiff
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1

run() { # KIND BATCH STEPS PYTHON...: rows a second of both ranks
    local kind=$1 batch=$2 steps=$3 rank port=$((20000 + RANDOM % 10000))
    shift 3
    for rank in 0 1; do
        PADDLE_TRAINER_ID=$rank PADDLE_TRAINERS_NUM=2 PADDLE_TRAINER_ENDPOINTS=127.0.0.1:$port,127.0.0.1:$((port + 1)) \
            "$@" "$root/bench/python/ranks.py" "$kind" "$batch" "$steps" >"$work/out.$rank" 2>"$work/err.$rank" &
    done
    wait
    [ -s "$work/out.0" ] || { cat "$work"/err.* >&2; exit 1; }
    cut -d' ' -f1 "$work/out.0"
}

for batch in 512 1000; do
    for _ in $(seq "$rounds"); do
        ours=$(run skiff "$batch" 100 "$skiff" python)
        theirs=
        [ -z "${TORCH:-}" ] || theirs=$(run torch "$batch" 100 "$TORCH")
        awk -v b="$batch" -v s="$ours" -v t="$theirs" 'BEGIN {
            printf "batch %4d  Skiff %7d rows/s", b, s
            if (t) printf "  torch %7d rows/s  %.2f times", t, s / t
            print "" }'
    done
done
