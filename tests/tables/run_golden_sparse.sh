#!/usr/bin/env bash
# The recorded jobs of Paddle 2.6.2's sparse tables (README.md), with servers and workers of Skiff.
set -euo pipefail
root=$PWD
build=$(cd "${BUILD:-build}" && pwd)
if [ ! -d "$build/python" ]; then
    echo "skipped: no Python packages were built"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xJf "$root/tests/tables/sparse.tar.xz"
printf '#!/bin/sh\nexec "%s/skiff" python "$@"\n' "$build" >"$work/python"
chmod +x "$work/python"
export PYTHONDONTWRITEBYTECODE=1
python3 "$root/tests/tables/golden.py" "$work/python" "$work/sparse" "$work/out" "$@"
