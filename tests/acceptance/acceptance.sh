#!/usr/bin/env bash
# acceptance.sh [FLAGS OF suite/run_all.sh]: the suite with this build of Skiff. Without flags: every case but that of
# GPUBox, which Skiff does not have.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${BUILD:-build}" && pwd)
python=${PYTHON:-/usr/bin/python3}
export PYTHONPATH=$build/python
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
ln -s "$build/skiff" "$commands/skiff"
ln -s "$build/skiff" "$commands/fleetrun"
if [ $# -eq 0 ]; then
    for name in $("$here/suite/run_all.sh" "$python" --list | cut -d' ' -f1 |
        grep -v '^rec_gpubox$'); do
        set -- "$@" --only "$name"
    done
fi
PATH=$commands:$PATH "$here/suite/run_all.sh" "$python" "$@"
