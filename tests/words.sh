# Words of scripts that call the command as a user does (source it): a folder of their own, $work, and what must be seen. The
# last output is in $log; failed is 1 when something was not as expected.
set -uo pipefail
build=$(realpath "${BUILD:-build}")
skiff=$build/skiff
work=$(mktemp -d)
log=$work/log
pids=() # what still runs at the end is killed
trap 'kill -9 "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT
failed=0
check() { # WHAT COMMAND...: the command must succeed
    local what=$1
    shift
    if ! "$@"; then
        echo "FAILED: $what"
        tail -n 6 "$log" 2>/dev/null
        failed=1
    fi
}
run() { # STATUS ARGUMENT...: skiff ends with that status
    local want=$1 got
    shift
    "$skiff" "$@" >"$log" 2>&1 </dev/null
    got=$?
    check "skiff $* ended with $got, not $want" test "$got" = "$want"
}
says() { check "output holds: $1" grep -qF -- "$1" "$log"; }
says_not() { check "output does not hold: $1" bash -c '! grep -qF -- "$1" "$2"' - "$1" "$log"; }
