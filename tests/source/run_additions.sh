#!/usr/bin/env bash
# What CONTRIBUTING.md says of accessors and optimizers holds: one more takes its own file and rows in lists, because no other
# file knows one by name; the files that a list names are there; faults are noticed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

names() { # LIST: the words in its rows
    grep -oE '^[A-Z]+\([a-z0-9_]+\)' "$1" | sed 's/.*(\(.*\))/\1/'
}

# comparisons with one accessor: what differs belongs into its class
compared() { # SRC
    (cd "$1" && grep -rnE '[=!]= *&accessor_[a-z_]+' --include='*.[ch]' . | grep -v '_test\.[ch]:' |
        sed 's/$/: ask a member of struct accessor_class/') || true
}

# update rules by name outside of their module: an optimizer is a row, its rule a member of the row
named() { # SRC
    local words
    words=$(names "$1/rules/rule_list.h" | paste -sd'|')
    (cd "$1" && grep -rnE "\brule_($words)\b" --include='*.[ch]' . | grep -vE '^\./rules/|_test\.[ch]:' |
        sed 's/$/: only src\/rules knows rules by name/') || true
}

missing() { # SRC
    local name
    for name in $(names "$1/table/accessor_list.h"); do
        [ -f "$1/table/accessor_$name.c" ] || echo "table/accessor_list.h: there is no accessor_$name.c"
    done
}

check() { # SRC
    local faults
    faults=$(compared "$1"; named "$1"; missing "$1")
    [ -z "$faults" ] || { echo "$faults"; return 1; }
}
check "$root/src"
accessors=$(names "$root/src/table/accessor_list.h" | wc -l) rules=$(names "$root/src/rules/rule_list.h" | wc -l)
[ "$accessors" -ge 4 ] && [ "$rules" -ge 16 ] || { echo "only $accessors accessors and $rules rules were found"; exit 1; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
notices() { # FILE LINE TEXT
    rm -rf "$dir/src"
    mkdir -p "$dir/src"
    cp -r "$root/src/table" "$root/src/rules" "$root/src/passes" "$dir/src"
    printf '%s\n' "$2" >>"$dir/src/$1"
    [[ $(check "$dir/src") == *"$3"* ]] || { echo "not noticed: $1 with $2"; exit 1; }
}
notices passes/split.c 'bool x = a->class == &accessor_sparse;' 'passes/split.c'
notices passes/update.c 'use(&rule_adam);' 'only src/rules knows'
notices table/accessor_list.h 'ACCESSOR(nobody)' 'there is no accessor_nobody.c'
echo "$accessors accessors, $rules rules; faults are noticed"
