#!/usr/bin/env bash
# The corpus again: every input of tests/fuzz/corpus through its target of $BUILD, also those that once crashed (was-*).
set -uo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
export ASAN_OPTIONS=allocator_may_return_null=1 OMP_NUM_THREADS=1
failed=0
for source in tests/fuzz/fuzz_*.c; do
    target=$(basename "$source" .c)
    corpus=tests/fuzz/corpus/${target#fuzz_}
    if [ -z "$(ls "$corpus" 2>/dev/null)" ]; then
        echo "$target: has no corpus in $corpus: make fuzz F=${target#fuzz_}, then tests/fuzz/fuzz.sh --keep ${target#fuzz_}"
        failed=1
    else
        "$build/fuzz/$target" "$corpus" || failed=1
    fi
done
exit $failed
