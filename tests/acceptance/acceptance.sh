#!/usr/bin/env bash
# acceptance.sh [FLAGS OF suite/run_all.sh]: the suite with this build of Skiff; without flags every case.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${BUILD:-build}" && pwd)
python=${PYTHON:-/usr/bin/python3}
export PYTHONPATH=$build/python
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
ln -s "$build/skiff" "$commands/skiff"
ln -s "$build/skiff" "$commands/fleetrun"
PATH=$commands:$PATH "$here/suite/run_all.sh" "$python" "$@"
