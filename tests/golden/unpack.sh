#!/usr/bin/env bash
# Unpacks the recorded cases into $BUILD/golden (default build/golden), once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
to=${BUILD:-build}/golden
for archive in "$here"/*.tar.xz; do
    name=$(basename "$archive" .tar.xz)
    if [ ! -e "$to/.$name" ] || [ "$archive" -nt "$to/.$name" ]; then
        mkdir -p "$to"
        rm -rf "${to:?}/$name"
        tar -C "$to" -xJf "$archive"
        touch "$to/.$name"
    fi
done
