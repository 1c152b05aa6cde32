#!/usr/bin/env bash
# The library never prints: nothing in src/ outside cli/ writes to standard output or error, or logs. What a user should
# see goes through callbacks (`say`) to whoever owns the part. Exceptions have a reason and stand below.
set -euo pipefail
cd "$(dirname "$0")/../.."

# file: why
exceptions='
src/base/log.c: is what commands log with
src/base/mem.c: says that a few bytes cannot be had, then the process ends
src/calls/parse.c: says what is wrong in a row of a function, which is a fault of the build, then the process ends
src/program/registry.c: says that two ops have one name, which is a fault of the build, then the process ends
'

# prints ROOT: what prints, as file:line: text
prints() {
    (cd "$1" && find src -name '*.[ch]' -not -path 'src/cli/*' -not -name '*_test.[ch]' -not -name '*testing.h' -not -name 'test_*.h' |
        sort | xargs -r grep -nE '\b(stdout|stderr)\b|(^|[^_a-z])(v?printf|perror|puts|putchar|log_(line|debug|info|warn|error))\(|\bwrite\((1|2|STD(OUT|ERR)_FILENO),' /dev/null |
        grep -vE 'format\(printf|^src/base/log\.h:|: *(/\*|\*)' || true)
}
faults=$(prints . | while IFS=: read -r file rest; do
    grep -qF "$file: " <<<"$exceptions" || echo "$file:$rest"
done)
if [ -n "$faults" ]; then
    echo "$faults"
    echo "the library never prints; say it to the owner by a callback, or return an error"
    exit 1
fi
while IFS=: read -r file _; do # an exception that is not needed any more
    [ -z "$file" ] || prints . | grep -F "$file:" >/dev/null || { echo "$file does not print: take it off the list"; exit 1; }
done <<<"$exceptions"

# faults are noticed
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/src/net" "$dir/src/cli"
for line in 'printf("x");' '    fprintf(stderr, "x");' 'log_warn("x");' 'puts("x");' 'perror("x");' 'write(2, "x", 1);'; do
    echo "$line" >"$dir/src/net/a.c"
    echo "$line" >"$dir/src/cli/a.c"
    [ "$(prints "$dir")" = "src/net/a.c:1:$line" ] || { echo "not noticed: $line"; exit 1; }
done
for line in 'snprintf(a, 3, "x");' 'buf_printf(b, "x");' '/* stderr */' 'check_inputs(x);'; do
    echo "$line" >"$dir/src/net/a.c"
    [ -z "$(prints "$dir")" ] || { echo "taken for printing: $line"; exit 1; }
done
echo "nothing but $(grep -c ': ' <<<"$exceptions") files prints, faults are noticed"
