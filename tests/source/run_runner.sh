#!/usr/bin/env bash
# tools/run-tests itself: failures are shown, late tests are ended with all that they started, words choose, tests/schedule holds.
set -euo pipefail
runner=$(cd "$(dirname "$0")/../.." && pwd)/tools/run-tests
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export BUILD=build
mkdir -p build build-address tests/a
fail() {
    echo "$*"
    cat out
    exit 1
}
says() { grep -qxF -- "$1" out || grep -q -- "$1" out || fail "expected: $1"; }
script() { # NAME: from standard input
    { echo '#!/bin/bash'; cat; } >"tests/a/run_$1.sh"
    chmod +x "tests/a/run_$1.sh"
}
gone() { # FILE with the number of a process: it has ended
    for _ in $(seq 50); do
        kill -0 "$(cat "$1")" 2>/dev/null || return 0
        sleep 0.1
    done
    fail "process $(cat "$1") is left behind"
}
script good <<<'echo "skipped: the hard part"'
script bad <<<'seq 100; echo "out of luck"; exit 3'
script late <<<'sleep 300 & echo $! >late.pid; wait'
script beside <<<'touch beside; until [ -e good_ran ] || [ $((i++)) -gt 100 ]; do sleep 0.05; done; rm beside; [ -e good_ran ]'
script with <<<'until [ -e beside ] || [ $((i++)) -gt 100 ]; do sleep 0.05; done; touch good_ran'
script alone <<<'touch alone_ran; [ ! -e beside ] && [ -e good_ran ]'
printf '# comment\n\nalone a-run_alone it looks at the others\nplain a-run_good it has nothing to say\n' >tests/schedule

# two at a time are really two, and the one that is alone comes when they are through
"$runner" -j 2 run_beside run_with run_alone >out || fail "should pass"
[ "$(tail -n 1 out)" = "3 passed, 0 failed" ] && [ "$(sed -n 3p out | cut -c1-21)" = "  ok    a-run_alone (" ] || fail "wrong order"
rm -f good_ran

status=0
TEST_LIMIT=1 "$runner" -j 3 good bad late >out || status=$?
[ $status = 1 ] && [ "$(tail -n 1 out)" = "1 passed, 2 failed" ] || fail "status $status"
says '  ok    a-run_good ([0-9.]* s)'
says '        skipped: the hard part'
says '  FAIL  a-run_bad ([0-9.]* s, status 3)'
says '        out of luck'
says '  FAIL  a-run_late: timed out after 1 s'
grep -q '^        40$' out && fail "more than the last 60 lines are shown"
gone late.pid
rm late.pid

# a sanitizer build leaves out what is plain, unless it is named
BUILD=build-address "$runner" -j 2 beside with >out || fail "should pass"
BUILD=build-address "$runner" --list >out
says 'skipped in this build, see tests/schedule: a-run_good'
grep -qx a-run_good out && fail "plain tests are run in a sanitizer build"
BUILD=build-address "$runner" good >out || fail "should pass"

"$runner" nowhere >out 2>&1 && fail "no test, no failure"
says 'no test has nowhere in its name'
echo 'alone a-run_gone why' >>tests/schedule
"$runner" good >out 2>&1 && fail "tests/schedule may name tests that are not there"
says 'tests/schedule:5: there is no test a-run_gone'
sed -i '$d' tests/schedule

# Ctrl-C ends all that runs
set -m # so that a process in the background takes SIGINT
"$runner" late >out 2>&1 &
set +m
for _ in $(seq 100); do [ -s late.pid ] && break; sleep 0.1; done
kill -INT $!
status=0
wait $! || status=$?
[ $status = 130 ] || fail "status $status after SIGINT"
gone late.pid
