#!/usr/bin/env bash
# With pipefail, nothing may be piped into `grep -q`: it ends at the first match, what writes to it dies of SIGPIPE, and the
# whole pipe has failed although the words were found, now and then. `grep ... >/dev/null` reads to the end.
set -euo pipefail
cd "$(dirname "$0")/../.."

# faults ROOT: such pipes, as file:line: text
faults() {
    (cd "$1" && grep -rlI --include=* -E '^set .*pipefail' .ci tests tools packaging 2>/dev/null | sort |
        xargs -r grep -nE '[^|]\|[[:space:]]*grep +(-[a-zA-Z]+ +)*-[a-zA-Z]*q' /dev/null | grep -vE ':[0-9]+:[[:space:]]*#' || true)
}
found=$(faults . | grep -v '^tests/source/run_pipes.sh:' || true)
if [ -n "$found" ]; then
    echo "$found"
    echo "with pipefail, a pipe into grep -q fails now and then: use grep ... >/dev/null"
    exit 1
fi

# faults are noticed
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/tests"
for line in 'ldd x | grep -q y' 'ldd x |  grep -iqE y' 'a | grep -i -q y'; do
    printf 'set -uo pipefail\n%s\n' "$line" >"$dir/tests/a.sh"
    [ "$(faults "$dir")" = "tests/a.sh:2:$line" ] || { echo "not noticed: $line"; exit 1; }
done
for line in 'grep -q y x' 'a || grep -q y x' 'a | grep y >/dev/null' '# a | grep -q y'; do
    printf 'set -uo pipefail\n%s\n' "$line" >"$dir/tests/a.sh"
    [ -z "$(faults "$dir")" ] || { echo "taken for a fault: $line"; exit 1; }
done
echo "no pipe ends in grep -q, faults are noticed"
