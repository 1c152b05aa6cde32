#!/usr/bin/env bash
# The fuzz driver finds planted faults, leaves the input behind, and does the same again for the same seed.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# target NAME BODY: a fuzz target whose fuzz_one has this body, as $dir/fuzz_NAME
target() {
    cat >"$dir/$1.c" <<END
#include "fuzz.h"
#include <stdlib.h>
#include <unistd.h>
const char *const fuzz_seeds[] = {"$dir/seeds", NULL};
int fuzz_one(const uint8_t *data, size_t n) { $2 }
END
    gcc -std=gnu11 -g -O1 -Itests/fuzz -Isrc "$dir/$1.c" tests/fuzz/driver.c src/base/clock.c -o "$dir/fuzz_$1"
}
fail() {
    echo "$1"
    [ ! -f "$dir/out" ] || cat "$dir/out"
    exit 1
}
# Runs a target that must be caught, in the way named.
expect_crash() {
    local name=$1 text=$2
    shift 2
    if "$dir/fuzz_$name" "$@" >"$dir/out" 2>&1; then fail "$name: nothing was found"; fi
    grep -qF "$text" "$dir/out" || fail "$name: expected '$text'"
    [ -f "$dir/crash-fuzz_$name" ] || fail "$name: no input was left"
}
mkdir -p "$dir/seeds/below"
printf 'SKIFF\x08\0\0\0abcdefgh' >"$dir/seeds/one"
: >"$dir/seeds/below/empty"

target good 'return n > 5 && data[0] == (uint8_t)83;'
"$dir/fuzz_good" --runs 500 >"$dir/out" || fail "good: failed"
grep -q '^fuzz_good: 502 runs ok, [1-9][0-9]* accepted, 2 seeds$' "$dir/out" || fail "good: wrong report"
cp "$dir/out" "$dir/first"
"$dir/fuzz_good" --runs 500 >"$dir/out"
cmp -s "$dir/first" "$dir/out" || fail "good: two runs differ"
"$dir/fuzz_good" --seconds 0.2 --seed 9 "$dir/seeds/one" >"$dir/out" || fail "good: --seconds failed"
if "$dir/fuzz_good" --runs x 2>/dev/null; then fail "good: --runs x was taken"; fi
if "$dir/fuzz_good" /no/such/seed 2>/dev/null; then fail "good: a seed that is not there was taken"; fi

target abort 'if (n > 9 && data[0] == 83 && data[5] == 9) abort(); return 0;'
expect_crash abort "killed by signal 6" --runs 100000
[ "$(od -An -tu1 -j5 -N1 "$dir/crash-fuzz_abort" | tr -d ' ')" = 9 ] || fail "abort: the wrong input was left"
if ("$dir/fuzz_abort" --runs 0 "$dir/crash-fuzz_abort") >/dev/null 2>&1; then fail "abort: the input does not crash again"; fi

target overread 'uint8_t sum = 0; for (size_t i = 0; n > 8 && i < n - 9 + data[5]; i++) sum += ((volatile const uint8_t *)data)[9 + i]; return sum & 1;'
expect_crash overread "killed by signal 11" --runs 100000

target memory 'char *p = malloc((size_t)1 << 40); if (!p) abort(); return p[0];'
expect_crash memory "killed by signal" --runs 10

target exits 'if (n == 0) _exit(3); return 0;'
expect_crash exits "exit with status 3" --runs 10

target hang 'for (volatile int i = 0; n > 3; i++) ; return 0;'
expect_crash hang "hang" --hang 1 --runs 10
