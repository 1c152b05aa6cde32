#!/usr/bin/env bash
# The rooms include only what they may, and tools/check-layers notices when they do not.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/check-layers

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# A small project with one fault: FILE gets the line INCLUDE, and the check must fail with TEXT.
expect_fault() {
    local file=$1 include=$2 text=$3
    rm -rf "$dir/src"
    mkdir -p "$dir/src"/{base,tensor/inner,program,ops,net}
    for room in base tensor program ops net; do
        echo "# $room" >"$dir/src/$room/README.md"
        echo '#include "base/error.h"' >"$dir/src/$room/a.c"
    done
    echo '#include <openssl/evp.h>' >>"$dir/src/net/a.c"
    echo '#include <openssl/evp.h>' >"$dir/src/net/b.c" # the same room
    echo '#include "tensor/tensor.h"' >>"$dir/src/ops/a.c"
    tools/check-layers "$dir" >"$dir/out" || { echo "a good project is refused:"; cat "$dir/out"; exit 1; }
    echo "$include" >>"$dir/src/$file"
    if tools/check-layers "$dir" >"$dir/out"; then
        echo "not noticed: $file with $include"
        exit 1
    fi
    grep -qF -- "$text" "$dir/out" || { echo "expected '$text', got:"; cat "$dir/out"; exit 1; }
}
expect_fault tensor/a.c '#include "program/program.h"' "src/tensor/a.c:2: room tensor may not include program/program.h"
expect_fault program/a.c '  #  include "ops/ops_common.h"' "src/program/a.c:2: nothing includes ops/"
expect_fault program/a_test.c '#include "ops/ops_common.h"' "nothing includes ops/"
expect_fault tensor/a.c '#include <openssl/evp.h>' "src/tensor/a.c:2: openssl/evp.h (openssl) is included by src/net/a.c already; one room"
expect_fault tensor/a.c '#include "tensor.h"' 'names no room; write "tensor/tensor.h"'
expect_fault tensor/a.c '#include "attic/x.h"' 'no room attic'
expect_fault tensor/README.md "$(seq 70)" "71 lines; at most 60"
expect_fault tensor/inner/a.c '#include "program/program.h"' "src/tensor/inner/a.c:1: room tensor may not include program/program.h"
expect_fault program/a.c '#include "ops/inner/b.h"' "src/program/a.c:2: nothing includes ops/"
expect_fault ops/a.c '#include "inner/b.h"' "no room inner"
expect_fault base/a.c '#include "net/net.h"' "room base may not include net/net.h"
rm "$dir/src/net/README.md"
if tools/check-layers "$dir" >"$dir/out"; then
    echo "a room without README is not noticed"
    exit 1
fi
grep -F "src/net/README.md: missing" "$dir/out"
