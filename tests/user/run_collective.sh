#!/usr/bin/env bash
# docs/guide/collective.md: the script that it shows, with what it prints.
set -euo pipefail
root=$PWD
build=$(cd "${BUILD:-build}" && pwd)
case $build in *-address | *-thread) exit 0 ;; esac # tests/python does the same work
export PATH=$build:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 "$root/tests/user/page.py" "$root/docs/guide/collective.md"
[ -s model.pdparams ]
