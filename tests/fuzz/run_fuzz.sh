#!/usr/bin/env bash
# run_fuzz.sh [SECONDS]: runs every fuzz target of $BUILD, 2000 runs each, or for SECONDS each. A crash leaves its input in
# $BUILD/fuzz/crash-<target>.
set -uo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
how=(--runs 2000)
[ $# -eq 0 ] || how=(--seconds "$1" --seed "$RANDOM")
failed=0
for source in tests/fuzz/fuzz_*.c; do
    [ -f "$source" ] || continue
    target=$build/fuzz/$(basename "$source" .c)
    "$target" "${how[@]}" || failed=1
done
exit $failed
