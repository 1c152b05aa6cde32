#!/usr/bin/env bash
# What a pass, the executor or a kernel does must follow from the row of an op kind (program/op_kind.h):
# - passes and executor do not compare an op's type with a name, except as the table says (decision 0001);
# - ops do not ask a program for its generation, except as the table says: their row has `.generations` (src/ops/README.md).
# A new exception needs a line here; a line that is not needed any more is a fault, too.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

# file: the op types that it compares with
names='
executor/data_rules.c: cross_entropy cross_entropy2 lookup_table lookup_table_v2 softmax_with_cross_entropy
passes/backward.c: sum
passes/collective.c: fill_constant
passes/local_sgd.c: increment
passes/prune.c: feed fetch read
passes/split.c: fill_constant increment lookup_table sgd
passes/split_d2sum.c: adam
passes/split_sparse.c: adam cvm sgd
passes/split_geo.c: lookup_table
passes/split_startup.c: lookup_table
passes/split_trainer.c: sum
passes/update.c: adam adamax fill_constant
'
# file: how often it asks for a program's generation
generations='
ops/math/activation.c: 1
ops/io/host_ops.c: 1
'

found_names() { # files of passes and executor, and the op types that each compares with
    (cd "$1" && grep -rnoE 'strn?cmp\([^;"]*type(s\[[^]]*\])?, "[a-z0-9_]+"' passes executor --include='*.[ch]' || true) |
        grep -v '_test\.c:' | sed -E 's/^([^:]*):.*"([a-z0-9_]+)"$/\1 \2/' | sort -u |
        awk '{ types[$1] = types[$1] " " $2 } END { for (f in types) print f ":" types[f] }' | sort
}

found_generations() {
    (cd "$1" && grep -rcE '(program|root|env->program)->generation\b' ops --include='*.[ch]' || true) |
        grep -v '_test\.[ch]:' | grep -v ':0$' | sed 's/:/: /' | sort
}

check() { # SRC: prints what differs from the tables
    diff <(found_names "$1") <(sed '/^$/d' <<<"$names" | sort) &&
        diff <(found_generations "$1") <(sed '/^$/d' <<<"$generations" | sort)
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
    mkdir "$dir/src"
    cp -r "$root"/src/{passes,executor,ops} "$dir/src"
    echo "$2" >>"$dir/src/$1"
    ! check "$dir/src" >/dev/null || { echo "not noticed: $1 with $2"; exit 1; }
}
notices passes/fuse.c 'if (!strcmp(op->type, "relu"))'
notices executor/plan.c 'if (strcmp(b->ops[i]->type, "mul") == 0)'
notices ops/math/matmul.c 'if (k->env->program->generation == GEN_2X)'
