#!/usr/bin/env bash
# The libraries show what include/skiff declares, no name more and none less: the shared one under the version of
# packaging/libskiff.map, the static one that is installed too (its inner names have no prefix and would meet those of programs).
# Option structs have room to grow.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for header in include/skiff/*.h; do echo "#include <skiff/${header##*/}>"; done >"$dir/all.h"
gcc -E -P -Iinclude -x c "$dir/all.h" | tr '\n' ' ' | sed 's/__attribute__((visibility("default")))/\n&/g' |
    sed -nE 's/^__attribute__\(\(visibility\("default"\)\)\) *([^;]*);.*/\1/p' | # a declaration a line
    sed -E 's/^([^(]*[ *])(skiff_[a-z0-9_]+) *\(.*/\2/; s/^.* (skiff_[a-z0-9_]+)$/\1/' | sort -u >"$dir/declared"
[ "$(wc -l <"$dir/declared")" -gt 400 ] || { echo "only $(wc -l <"$dir/declared") names found in include/skiff"; exit 1; }

nm -D --defined-only --with-symbol-versions "$build/libskiff.so" | awk '$3 != "SKIFF_0" {print $3}' | sort >"$dir/versioned"
sed 's/$/@@SKIFF_0/' "$dir/declared" | sort | diff - "$dir/versioned" >"$dir/out" || {
    echo "include/skiff (<) and libskiff.so (>) differ:"
    cat "$dir/out"
    exit 1
}
nm -g --defined-only "$build/public/libskiff.a" | awk 'NF == 3 {print $3}' | sort | diff "$dir/declared" - >"$dir/out" || {
    echo "include/skiff (<) and libskiff.a (>) differ:"
    cat "$dir/out"
    exit 1
}
# options can grow (docs/internals/decisions/0005-abi.md)
awk '/^struct skiff_([a-z0-9_]*_(options|config|job|info|attr|files|result)|strategy|role|exchange) {/ {name = $2} /^};/ && name {n++; if (last !~ /^    uint64_t reserved\[4\];/) print FILENAME ": struct " name " does not end with uint64_t reserved[4]"; name = ""}
    {last = $0} END {if (n < 30) print "only " n " option structs found"}' include/skiff/*.h >"$dir/out"
[ ! -s "$dir/out" ] || { cat "$dir/out"; exit 1; }
soname=$(readelf -d "$build/libskiff.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" = "libskiff.so.$(sed -n 's/^#define SKIFF_VERSION_MAJOR //p' include/skiff/version.h)" ] || { echo "the SONAME is $soname"; exit 1; }
echo "$(wc -l <"$dir/declared") names"
