#!/usr/bin/env bash
# Every command that a test calls is installed by tools/setup, or the test looks for it first: tools/check-commands.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/check-commands

# faults are noticed: a setup without procps, and a test that calls its pgrep
command -v dpkg-query >/dev/null || exit 0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/tools" "$dir/tests"
cp tools/check-commands "$dir/tools"
sed 's/\<procps\> *//' tools/setup >"$dir/tools/setup"
chmod +x "$dir/tools/setup"
cd "$dir"
check() { # WORD LINE...: a script of these lines is found at fault (WORD: pgrep) or not (WORD: none)
    local want=$1 said
    shift
    printf '%s\n' "$@" >tests/a.sh
    said=$(tools/check-commands tests/a.sh) || true
    case $want in
    none) [[ $said != *"calls "* ]] || { echo "taken for a fault: $*: $said"; exit 1; } ;;
    *) [[ $said == *"tests/a.sh: calls $want, which is in package procps: add"* ]] || { echo "not noticed: $*: $said"; exit 1; } ;;
    esac
}
echo 'pgrep x' >tests/a.sh
if tools/check-commands tests/a.sh >said; then # as in Debian 13
    echo "skipped: another package that tools/setup installs depends on procps"
    exit 0
fi
check pgrep 'pgrep x'
check pgrep 'if a=b pgrep x; then'
check pgrep 'x=$(pgrep x)'
check pgrep 'echo "left: $(pgrep x)"'
check pgrep 'cat x | env -u Y timeout -k 1 5 pgrep x'
check none 'command -v pgrep || exit 0' 'pgrep x'
check none 'echo pgrep' '# pgrep x' "echo 'a; pgrep x'" 'cat <<END' 'pgrep x' 'END'
check none 'pgrep() { :; }' 'pgrep x'
