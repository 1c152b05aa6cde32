#!/usr/bin/env bash
# Every function that tests/tsan.supp names is there: a suppression of another name suppresses nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
missing() { # FILE: the names that no source defines
    local name
    for name in $(sed -n 's/^race:\([a-z_0-9]*\)$/\1/p' "$1"); do
        grep -rlE "^[a-z].*\\b$name\(" src >/dev/null || echo "$1: no function $name in src"
    done
}
found=$(missing tests/tsan.supp)
[ -z "$found" ] || { echo "$found"; exit 1; }
faulty=$(mktemp)
trap 'rm -f "$faulty"' EXIT
echo "race:no_such_function" >"$faulty"
[ -n "$(missing "$faulty")" ] || { echo "not noticed: a name that is nowhere"; exit 1; }
