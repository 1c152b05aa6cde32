#!/usr/bin/env bash
# Every C file is as clang-format 14 writes it. Another version writes otherwise, so only that one checks: CI installs it
# (tools/setup ci), and must; elsewhere the check is left out where it is not installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! command -v clang-format-14 >/dev/null; then
    [ -n "${CI:-}" ] || { echo "skipped: no clang-format-14 (Debian 12: tools/setup ci installs it)"; exit 0; }
    echo "clang-format-14 is not installed; tools/setup ci installs it"
    exit 1
fi
dirs=()
for dir in include src tests bench examples models python; do
    [ -d "$dir" ] && dirs+=("$dir")
done
find "${dirs[@]}" -name '*.[ch]' | sort | xargs -r clang-format-14 --dry-run -Werror
