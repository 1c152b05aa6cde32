#!/usr/bin/env bash
# What a module does with an op must follow from the row of its kind (program/op_kind.h) or of its optimizer
# (rules/optimizer_list.h):
# - nothing compares the type of an op or optimizer with a name, except as the table says (decision 0001);
# - shape rules and kernels do not ask for the generation, 1.x or 2.x (src/ops/README.md).
# A new exception needs a line here; a line that is not needed any more is a fault, too.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

# file: the op types that it compares with, and why
names='
passes/prune.c: read # of programs with readers: no op of Skiff
'

found_names() { # files of SRC, and the types that each compares with
    (cd "$1" && grep -rnoE 'strn?cmp\([^;"]*(->|\.)type(s\[[^]]*\])?, "[a-z0-9_]+"' . --include='*.[ch]' || true) |
        grep -v '_test\.[ch]:' | sed -E 's/^\.\/([^:]*):.*"([a-z0-9_]+)"$/\1 \2/' | sort -u |
        awk '{ types[$1] = types[$1] " " $2 } END { for (f in types) print f ":" types[f] }' | sort
}

found_generations() { # lines of shape rules and kernels that ask for one; rows set `.generations = ...`
    (cd "$1" && grep -rnE '(->|\.)generations? *[!=]=|(->|\.)generations? *[?&]|GEN_[12]X *\?' ops --include='*.[ch]' || true) |
        grep -v '_test\.[ch]:' || true
}

check() { # SRC: prints what differs from the tables
    diff <(found_names "$1") <(sed '/^$/d; s/ *#.*//' <<<"$names" | sort) && diff <(found_generations "$1") /dev/null
}

check "$root/src" || {
    echo "'<': found and not in the table of ${0##*/}. Ask a flag of the op kind instead (program/op_kind.h)." \
        "'>': in the table and not found; take it out."
    exit 1
}

# faults are noticed
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
notices() { # FILE LINE
    rm -rf "$dir/src"
    cp -r "$root/src" "$dir"
    echo "$2" >>"$dir/src/$1"
    ! check "$dir/src" >/dev/null || { echo "not noticed: $1 with $2"; exit 1; }
}
notices passes/fuse.c 'if (!strcmp(op->type, "relu"))'
notices executor/plan.c 'if (strcmp(b->ops[i]->type, "mul") == 0)'
notices eager/update.c 'bool adam = !strncmp(opt->kind->info.type, "adam", 4);'
notices ops/math/matmul.c 'if (k->env->program->generation == GEN_2X)'
notices ops/nn/pool.c 'if (c->kind->generations == GEN_1X)'
