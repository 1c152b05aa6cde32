#!/usr/bin/env bash
# Files and functions are as short as the house wants them, and tools/house notices when they are not.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/house --check

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
statements() { for ((i = 0; i < $1; i++)); do echo "    call();"; done; }
function_of() { # LINES: a function of so many lines
    printf 'static int f(int a,\n             int b)\n{\n'
    statements $(($1 - 4))
    printf '}\n\n'
}
house() { # a small house without faults
    rm -rf "$dir"/*
    mkdir -p "$dir"/src/{base,net}
    echo '#include "base/a.h"' >"$dir/src/net/a.c"
    for _ in $(seq 20); do function_of 10; done >>"$dir/src/net/a.c"
    echo 'int a;' >"$dir/src/base/a.h"
}
expect_fault() { # TEXT
    if tools/house --check "$dir" >"$dir/out"; then
        echo "not noticed: $1"
        exit 1
    fi
    grep -qF -- "$1" "$dir/out" || { echo "expected '$1', got:"; cat "$dir/out"; exit 1; }
}
house
function_of 60 >>"$dir/src/net/a.c"
tools/house --check "$dir" >"$dir/out" || { echo "a good house is refused:"; cat "$dir/out"; exit 1; }
house
function_of 61 >>"$dir/src/net/a.c"
expect_fault "src/net/a.c:222: f has 61 lines (limit 60)"
house
for _ in 1 2 3; do function_of 31; done >>"$dir/src/net/a.c"
expect_fault "functions: one in ten has more than 30 lines"
house
seq 801 >"$dir/src/base/b.h"
expect_fault "src/base/b.h: 801 lines (limit 800)"
house
echo '#include "net/a.h"' >>"$dir/src/base/a.h"
expect_fault "rooms base and net include each other"
