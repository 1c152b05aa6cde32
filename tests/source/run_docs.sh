#!/usr/bin/env bash
# What Markdown and comments say of files is true, and tools/check-docs notices when it is not.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/check-docs

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# A small project in which all names are right.
make_project() {
    rm -rf "$dir"/*
    mkdir -p "$dir"/{docs/internals/decisions,src/net,include/skiff,build}
    cat >"$dir/README.md" <<'END'
# Project

[The room](src/net/README.md), [its files](src/net/README.md#files-in-order), [a page](https://example.org/none.md).
`net/wire.h`, `wire.c`, `wire*.c`, `skiff/net.h`, src/net/wire.c, `docs/internals/decisions/0001`.
`src/net/wire_<name>.c`; users have a `train.py` and call `skiff_net_open`.
END
    cat >"$dir/src/net/README.md" <<'END'
# Room

## Files, in order

| file | holds |
|---|---|
| `wire.h .c` | frames, in a row of a table that is much longer than the hundred and twenty columns that are the limit for text |

    code may be as wide as it has to be, because a command that is broken into two lines cannot be copied by anybody any more
END
    echo "# 1" >"$dir/docs/internals/decisions/0001-rooms.md"
    echo '/* See wire.c and skiff/net.h. */' >"$dir/src/net/wire.h"
    echo 'const char *text = "/* made_up.h */";' >"$dir/src/net/wire.c"
    echo 'int skiff_net_open(void);' >"$dir/include/skiff/net.h"
    echo '/* wire_gone.c */' >"$dir/build/built.c"
}

make_project
tools/check-docs "$dir" >"$dir/out" || { echo "a good project is refused:"; cat "$dir/out"; exit 1; }
cp -r "$dir" "$dir.good"
trap 'rm -rf "$dir" "$dir.good"' EXIT

# FILE gets LINE, and the check must fail with TEXT.
expect_fault() {
    local file=$1 line=$2 text=$3
    rm -rf "$dir"
    cp -r "$dir.good" "$dir"
    printf '%s\n' "$line" >>"$dir/$file"
    if tools/check-docs "$dir" >"$dir/out"; then
        echo "not noticed: $file with $line"
        exit 1
    fi
    grep -qF -- "$text" "$dir/out" || { echo "expected '$text', got:"; cat "$dir/out"; exit 1; }
    [ "$(wc -l <"$dir/out")" -eq 1 ] || { echo "expected one fault, got:"; cat "$dir/out"; exit 1; }
}
expect_fault README.md 'see `net/frame.h`' "README.md:6: there is no file net/frame.h"
expect_fault README.md 'see frames.md' "README.md:6: there is no file frames.md"
expect_fault README.md 'see `wire.h .c .pyi`, `gone*.c`' "there is no file gone*.c"
expect_fault README.md 'it is in src/gone' "README.md:6: there is no src/gone"
expect_fault README.md 'docs/internals/decisions/0002 says' "there is no docs/internals/decisions/0002"
expect_fault README.md '[room](rooms.html)' "the link rooms.html leads nowhere"
expect_fault README.md '[room](src/net/README.md#rules)' "src/net/README.md has no heading #rules"
expect_fault README.md "$(printf '%0121d' 0)" "README.md:6: 121 columns; at most 120"
expect_fault docs/internals/decisions/0001-rooms.md "$(printf '\n| file |\n|---|\n| `wire.h` |')" "there is no file wire.h in docs/internals/decisions/"
expect_fault README.md 'call `skiff_open(x)`' "README.md:6: no code has the name skiff_open"
expect_fault README.md 'set SKIFF_HOUSE' "no code has the name SKIFF_HOUSE"
expect_fault src/net/wire.c '/* wire_test.c has more */' "src/net/wire.c:2: there is no file wire_test.c"
expect_fault src/net/wire.c "/* $(printf '%095d' 0) */" "src/net/wire.c:2: 101 columns; at most 100"
expect_fault src/net/wire.h '// as in docs/wire.md' "src/net/wire.h:2: there is no"
expect_fault src/net/wire.c "/* it $(printf 'hangs') on the size */" 'say "depends on"'
expect_fault README.md "$(printf '\n| symptom |\n|---|\n| `port ... is shut` |')" "README.md:9: no message of the code says: port ... is shut"
printf '%s\n' 'const char *fault = "port %d "' '    "is shut";' >>"$dir.good/src/net/wire.c"
expect_fault README.md "$(printf '\n| symptom |\n|---|\n| `port ... is shut` |\n| `it is open` |')" \
    "README.md:10: no message of the code says: it is open"
echo "faults are noticed"
