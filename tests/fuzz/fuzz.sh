#!/usr/bin/env bash
# fuzz.sh SECONDS [TARGET...]: runs the fuzz targets of $BUILD (default build-fuzz; make SAN=fuzz fuzz-targets) for SECONDS each,
#   J at a time (default 1). What they find lies in $BUILD/corpus/<target>; an input that crashes, leaks or takes longer than 25 s
#   in $BUILD/crash-<target>-*. SEED: the same number goes the same way (CI); without it every run goes its own.
# fuzz.sh --keep [TARGET...]: makes tests/fuzz/corpus anew: the fewest of all inputs so far that reach all the code they reach.
set -uo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build-fuzz}
mode=${1:?usage: fuzz.sh SECONDS|--keep [TARGET...]}
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        name=$(basename "$source" .c)
        targets+=("${name#fuzz_}")
    done
fi
# a size beyond memory must come back as a failure; memory is bounded by rss_limit_mb
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 OMP_NUM_THREADS=1

fuzz_one() { # TARGET
    local found=$build/corpus/$1 kept=tests/fuzz/corpus/$1 log=$build/fuzz/$1.log
    mkdir -p "$found"
    [ -d "$kept" ] || kept=
    if "$build/fuzz/fuzz_$1" -max_total_time="$mode" -timeout=25 -rss_limit_mb=3000 -malloc_limit_mb=3000 -max_len=16384 \
        -reload=0 -seed="${SEED:-0}" -print_final_stats=1 -artifact_prefix="$build/crash-$1-" "$found" $kept >"$log" 2>&1; then
        echo "fuzz_$1: $(sed -n 's/^Done \(.*\)/\1/p' "$log"), $(ls "$found" | wc -l) inputs new, $(grep -oE 'cov: [0-9]+' "$log" | tail -n 1)"
    else
        echo "fuzz_$1: FAILED; the end of $log:"
        grep -vE '^#[0-9]+' "$log" | tail -n 40
        return 1
    fi
}

keep_one() { # TARGET
    local found=$build/corpus/$1 kept=tests/fuzz/corpus/$1 fresh
    mkdir -p "$found" "$kept"
    fresh=$(mktemp -d)
    "$build/fuzz/fuzz_$1" -merge=1 -use_counters=0 -timeout=25 -rss_limit_mb=3000 -max_len=16384 "$fresh" "$kept" "$found" \
        >"$build/fuzz/$1.keep.log" 2>&1 || {
        echo "fuzz_$1: FAILED; see $build/fuzz/$1.keep.log"
        rm -rf "$fresh"
        return 1
    }
    find "$kept" -type f -not -name 'was-*' -delete # inputs that once crashed are kept by name
    cp -n "$fresh"/* "$kept"/
    rm -rf "$fresh"
    echo "fuzz_$1: $(ls "$kept" | wc -l) inputs, $(du -bs "$kept" | cut -f1) bytes"
}

failed=0 running=0
for target in "${targets[@]}"; do
    if [ "$mode" = --keep ]; then keep_one "$target" & else fuzz_one "$target" & fi
    running=$((running + 1))
    if [ $running -ge "${J:-1}" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
done
while [ $running -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
exit $failed
