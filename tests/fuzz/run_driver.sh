#!/usr/bin/env bash
# The fuzz driver runs every input, and names the one that crashes, reads too far, ends the process or hangs.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# target NAME BODY: a fuzz target with this body, as $dir/fuzz_NAME
target() {
    cat >"$dir/$1.c" <<END
#include "fuzz.h"
#include <stdlib.h>
#include <unistd.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) { $2 return 0; }
END
    gcc -std=gnu11 -g -O1 -Itests/fuzz -Isrc "$dir/$1.c" tests/fuzz/driver.c src/base/clock.c -o "$dir/fuzz_$1"
}
fail() {
    echo "$1"
    [ ! -f "$dir/out" ] || cat "$dir/out"
    exit 1
}
# expect_crash NAME TEXT ARGUMENT...: the line about the input says so
expect_crash() {
    local name=$1 text=$2
    shift 2
    if "$dir/fuzz_$name" "$@" >"$dir/out" 2>&1; then fail "$name: nothing was found"; fi
    grep -qF "fuzz_$name: $dir/seeds/$text" "$dir/out" || fail "$name: expected '$text'"
}
mkdir -p "$dir/seeds/below"
printf 'SKIFF\x08\0\0\0abcdefgh' >"$dir/seeds/one"
: >"$dir/seeds/below/empty"

target good 'if (n && data[0] != 83) abort();'
[ "$("$dir/fuzz_good" "$dir/seeds")" = "fuzz_good: 2 inputs ok" ] || fail "good: wrong report"
[ "$("$dir/fuzz_good" --debug "$dir/seeds/one")" = "fuzz_good: 1 inputs ok" ] || fail "good: --debug"
if "$dir/fuzz_good" 2>/dev/null; then fail "good: no input was taken for good"; fi
if "$dir/fuzz_good" /no/such/seed 2>/dev/null; then fail "good: an input that is not there was taken"; fi

target abort 'if (n > 9) abort();'
expect_crash abort "one: killed by signal 6" "$dir/seeds"
target overread 'uint8_t sum = 0; for (size_t i = 0; n && i < n + 1; i++) sum += ((volatile const uint8_t *)data)[i];'
expect_crash overread "one: killed by signal 11" "$dir/seeds"
target memory 'char *p = malloc((size_t)1 << 40); if (!p && n) abort(); free(p);'
expect_crash memory "one: killed by signal 6" "$dir/seeds"
target exits 'if (n == 0) _exit(3);'
expect_crash exits "below/empty: exit with status 3" "$dir/seeds"
target hang 'for (volatile int i = 0; n > 3; i++) ;'
expect_crash hang "one: hangs" --hang 1 "$dir/seeds"
