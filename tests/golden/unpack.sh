#!/usr/bin/env bash
# Unpacks the recorded cases into $BUILD/golden (default build/golden), once. Tests that run side by side wait for the first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
to=${BUILD:-build}/golden
mkdir -p "$to"
exec 9>"$to/.lock"
flock 9
for archive in "$here"/*.tar.xz; do
    name=$(basename "$archive" .tar.xz)
    if [ ! -e "$to/.$name" ] || [ "$archive" -nt "$to/.$name" ]; then
        rm -rf "${to:?}/$name"
        tar -C "$to" -xJf "$archive"
        touch "$to/.$name"
    fi
done
