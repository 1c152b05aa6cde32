#!/usr/bin/env bash
# Names and words are those of the field (tools/retired-words), and tools/check-names notices when they are not.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/check-names

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
make_project() {
    rm -rf "$dir"/*
    mkdir -p "$dir"/src/{base,net}
    echo '# A page about members and handshakes.' >"$dir/README.md"
    cat >"$dir/src/net/members.h" <<'END'
/* The members of a job. */
enum member_state { MEMBER_HERE, MEMBER_GONE, MEMBER_STATES };
struct member {
    enum member_state state;
};
void member_destroy(struct member *m);
END
    echo 'const char *text = "worker 1 joined";' >"$dir/src/base/log.c"
    printf '#include "net/members.h"\nstruct member { int of_a_test; };\n' >"$dir/src/net/members_test.c"
}
make_project
tools/check-names "$dir" >"$dir/out" || { echo "a good project is refused:"; cat "$dir/out"; exit 1; }

expect_fault() { # FILE LINE TEXT: FILE gets LINE, and the check must fail with TEXT and nothing else
    make_project
    printf '%s\n' "$2" >>"$dir/$1"
    if tools/check-names "$dir" >"$dir.out"; then
        echo "not noticed: $1 with $2"
        exit 1
    fi
    grep -qF -- "$3" "$dir.out" || { echo "expected '$3', got:"; cat "$dir.out"; exit 1; }
    [ "$(wc -l <"$dir.out")" -eq 1 ] || { echo "expected one fault, got:"; cat "$dir.out"; exit 1; }
    rm "$dir.out"
}
expect_fault src/base/log.c 'struct member {' "src/net/members.h:3: struct member is defined in src/base/log.c:2, too"
expect_fault src/base/log.c 'enum fate { FATE_ALIVE, LOST };' "src/base/log.c:2: enum fate: the constant LOST does not begin with its enum's name"
expect_fault src/net/members.h 'void member_free(struct member *m);' "src/net/members.h:7: member_free: lifetimes end with destroy, deinit, close, stop or unref"
expect_fault src/base/log.c 'int people_join(void);' 'src/base/log.c:2: the name people_join has the retired word "people"; use members'
expect_fault src/base/lobby.c 'int x;' 'src/base/lobby.c:1: the name lobby has the retired word "lobby"; use leader'
expect_fault src/base/log.c '/* the tally of a run */' 'src/base/log.c:2: "tally" is retired; use metrics accumulator'
expect_fault src/base/log.c 'const char *other = "the epoch is judged";' 'src/base/log.c:2: "judged" is retired; use evaluate'
expect_fault README.md 'The launcher is told.' 'README.md:2: "is told" is retired; use the active verb: print, log, report'
echo "faults are noticed"
