#!/usr/bin/env bash
# The modules include only what they may, and tools/check-layers notices when they do not.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/check-layers

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# A small project without a fault.
make_project() {
    rm -rf "$dir/src" "$dir/tools"
    mkdir -p "$dir/src"/{base,tensor/inner,program,ops,net} "$dir/tools"
    printf '%s\n' 'base:' 'tensor:' 'net:' 'program: tensor/tensor.h' 'ops: tensor' >"$dir/tools/layers"
    for room in base tensor program ops net; do
        echo "# $room" >"$dir/src/$room/README.md"
        echo '#include "base/error.h"' >"$dir/src/$room/a.c"
    done
    echo '#include <openssl/evp.h>' >>"$dir/src/net/a.c"
    echo '#include <openssl/evp.h>' >"$dir/src/net/b.c" # the same room
    echo '#include "tensor/tensor.h"' | tee -a "$dir/src/ops/a.c" >>"$dir/src/program/a.c"
    tools/check-layers "$dir" >"$dir/out" || { echo "a good project is refused:"; cat "$dir/out"; exit 1; }
}
# With the line INCLUDE in FILE (below src, or tools/layers) the check must fail with TEXT.
expect_fault() {
    local file=$1 include=$2 text=$3
    make_project
    if [ "$file" != tools/layers ]; then file=src/$file; fi
    mkdir -p "$(dirname "$dir/$file")"
    echo "$include" >>"$dir/$file"
    if tools/check-layers "$dir" >"$dir/out"; then
        echo "not noticed: $file with $include"
        exit 1
    fi
    grep -qF -- "$text" "$dir/out" || { echo "expected '$text', got:"; cat "$dir/out"; exit 1; }
}
expect_fault tensor/a.c '#include "program/program.h"' "src/tensor/a.c:2: module tensor may not include program/program.h"
expect_fault program/b.c '#include "tensor/math.h"' "src/program/b.c:1: module program may not include tensor/math.h"
expect_fault net/c.c '#include "tensor/math.h"' "src/net/c.c:1: module net may not include tensor/math.h"
expect_fault tools/layers 'net: tensor' "tools/layers:6: module net does not include tensor; remove it from the row"
expect_fault tools/layers 'tensor: program' "modules use each other in a circle: "
expect_fault collective/a.c '#include "base/error.h"' "module collective has no row in tools/layers"
expect_fault program/a.c '  #  include "ops/ops_common.h"' "src/program/a.c:3: nothing includes ops/"
expect_fault program/a_test.c '#include "ops/ops_common.h"' "nothing includes ops/"
expect_fault tensor/a.c '#include <openssl/evp.h>' "src/tensor/a.c:2: openssl/evp.h (openssl) is included by src/net/a.c already; one module"
expect_fault tensor/a.c '#include "tensor.h"' 'names no module; write "tensor/tensor.h"'
expect_fault tensor/a.c '#include "attic/x.h"' 'no module attic'
expect_fault tensor/README.md "$(seq 70)" "71 lines; at most 60"
expect_fault tensor/inner/a.c '#include "program/program.h"' "src/tensor/inner/a.c:1: module tensor may not include program/program.h"
expect_fault program/a.c '#include "ops/inner/b.h"' "src/program/a.c:3: nothing includes ops/"
expect_fault ops/a.c '#include "inner/b.h"' "no module inner"
expect_fault base/a.c '#include "net/net.h"' "module base may not include net/net.h"
rm "$dir/src/net/README.md"
if tools/check-layers "$dir" >"$dir/out"; then
    echo "a module without README is not noticed"
    exit 1
fi
grep -F "src/net/README.md: missing" "$dir/out"
