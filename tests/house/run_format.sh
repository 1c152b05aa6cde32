#!/usr/bin/env bash
# Every C file is as clang-format 14 writes it; another version writes otherwise, none at all checks nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! command -v clang-format-14 >/dev/null; then
    echo "clang-format-14 is not installed; tools/setup test installs it (Debian: clang-format-14)"
    exit 1
fi
dirs=()
for dir in include src tests bench examples models python; do
    [ -d "$dir" ] && dirs+=("$dir")
done
find "${dirs[@]}" -name '*.[ch]' | sort | xargs -r clang-format-14 --dry-run -Werror
