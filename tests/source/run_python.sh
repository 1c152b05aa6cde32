#!/usr/bin/env bash
# python/README.md names the inner headers that python/native includes (but the generated layer_list.h), and no others; the
# comparison notices both.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

compare() { # ROOT
    grep -hoE '^#include "[^"]+/[^"]+"' "$1"/python/native/* | cut -d'"' -f2 | grep -v layer_list.h | sort -u >"$dir/included"
    grep -oE '`[a-z_]+/[a-z_]+\.h`' "$1/python/README.md" | tr -d '`' | sort -u >"$dir/named"
    diff "$dir/named" "$dir/included" | sed -n 's/^>/not in python\/README.md:/p; s/^</not included by python\/native:/p' >"$dir/out"
    [ ! -s "$dir/out" ] && [ -s "$dir/included" ]
}
compare . || { cat "$dir/out"; exit 1; }

mkdir -p "$dir/tree/python/native"
echo '#include "base/buf.h"' >"$dir/tree/python/native/a.c"
echo '`base/buf.h`' >"$dir/tree/python/README.md"
compare "$dir/tree" || { echo "a good page is refused"; exit 1; }
echo '#include "net/wire.h"' >>"$dir/tree/python/native/a.c"
compare "$dir/tree" && { echo "not noticed: a header that the page does not name"; exit 1; }
grep -q "not in python/README.md: net/wire.h" "$dir/out"
echo '`base/map.h` `net/wire.h`' >>"$dir/tree/python/README.md"
compare "$dir/tree" && { echo "not noticed: a header that is not included"; exit 1; }
grep -q "not included by python/native: base/map.h" "$dir/out"
echo "inner headers of python/native: as python/README.md says; faults are noticed"
