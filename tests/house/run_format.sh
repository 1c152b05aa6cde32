#!/usr/bin/env bash
# Every C file is as clang-format writes it. Without clang-format 14 there is nothing to compare with.
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! command -v clang-format-14 >/dev/null; then
    echo "clang-format-14 is not installed: format not checked"
    exit 0
fi
dirs=()
for dir in include src tests bench examples models python; do
    [ -d "$dir" ] && dirs+=("$dir")
done
find "${dirs[@]}" -name '*.[ch]' | sort | xargs -r clang-format-14 --dry-run -Werror
