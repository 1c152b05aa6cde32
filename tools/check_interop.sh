#!/usr/bin/env bash
# check_interop.sh PYTHON...: proves that models saved by Skiff are read by real Paddle with the same results. Each PYTHON is an
# interpreter that has PaddlePaddle (1.8 and 2.6, say). Loads models that Paddle saved (tests/data), saves them again in every form,
# loads these with each Paddle, and compares values and predictions. Not part of `make test`, which needs no Paddle; the result of
# the last run is in docs/reference/file-formats.md.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || {
    echo "usage: tools/check_interop.sh PYTHON..." >&2
    exit 2
}
build=${BUILD:-build}
make -s -j2 BUILD="$build" all
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
gcc -std=gnu11 -O2 -Wall -Iinclude -Isrc -o "$out/resave" tests/interop/resave.c "$build/libskiff.a" \
    -ldnnl -lgomp -lprotobuf-c -lz -lzstd -llz4 -llzma -lcrypto -lsodium -lxxhash -lm -lpthread
"$1" tests/interop/check.py feeds "$out" 2>"$out/log" || { cat "$out/log" >&2; exit 1; }
"$out/resave" "$out" "$out/feeds"
failed=0
for python in "$@"; do
    "$python" tests/interop/check.py check "$out" 2>"$out/log" || { failed=1; tail -n 5 "$out/log" >&2; }
done
exit $failed
