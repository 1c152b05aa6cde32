#!/usr/bin/env bash
# docs/guide/python.md: its programs run and print what the page shows. They need pandas and scikit-learn.
set -euo pipefail
root=$PWD
export PATH=$root/${BUILD:-build}:$PATH
export SKIFF_PYTHON=${SKIFF_PYTHON:-/usr/bin/python3}
"$SKIFF_PYTHON" -c 'import pandas, sklearn' 2>/dev/null || {
    echo "skipped: python3-pandas or python3-sklearn is not installed"
    exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$root/examples" examples
python3 "$root/tests/user/page.py" "$root/docs/guide/python.md" | tee log
grep -qx 'python.md: 5 commands' log || { echo "python.md: expected five commands"; exit 1; }
[ -s kept/config.yaml ] && [ ! -e kept/train ] || { echo "kept: expected a config and no rows"; exit 1; }
