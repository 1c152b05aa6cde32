#!/usr/bin/env bash
# Files and functions are as short as the limits want them, and tools/check-size notices when they are not.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/check-size --check

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
statements() { for ((i = 0; i < $1; i++)); do echo "    call();"; done; }
function_of() { # LINES: a function of so many lines
    printf 'static int f(int a,\n             int b)\n{\n'
    statements $(($1 - 4))
    printf '}\n\n'
}
project() { # a small project without faults
    rm -rf "$dir"/*
    mkdir -p "$dir"/src/{base,net}
    printf '/* Design,\n * invariants,\n * threads. */\n#include "base/a.h"\n' >"$dir/src/net/a.c"
    for _ in $(seq 20); do function_of 10; done >>"$dir/src/net/a.c"
    echo 'int a;' >"$dir/src/base/a.h"
}
expect_fault() { # TEXT
    if tools/check-size --check "$dir" >"$dir/out"; then
        echo "not noticed: $1"
        exit 1
    fi
    grep -qF -- "$1" "$dir/out" || { echo "expected '$1', got:"; cat "$dir/out"; exit 1; }
}
project
function_of 60 >>"$dir/src/net/a.c"
tools/check-size --check "$dir" >"$dir/out" || { echo "a good project is refused:"; cat "$dir/out"; exit 1; }
project
function_of 61 >>"$dir/src/net/a.c"
expect_fault "src/net/a.c:225: f has 61 lines (limit 60)"
project
for _ in 1 2 3; do function_of 31; done >>"$dir/src/net/a.c"
expect_fault "functions: one in ten has more than 30 lines"
project
seq 801 >"$dir/src/base/b.h"
expect_fault "src/base/b.h: 801 lines (limit 800)"
project
sed -i '2,3d; 1s|$| */|' "$dir/src/net/a.c"
expect_fault "src/net/a.c: 222 lines, and its first comment has 1 (expected 3 or more"
project
echo '#include "net/a.h"' >>"$dir/src/base/a.h"
expect_fault "modules base and net include each other"
