#!/usr/bin/env bash
# Every recorded case, fused and unfused, must give the recorded values.
set -euo pipefail
build=${BUILD:-build}
BUILD=$build "$(dirname "$0")/unpack.sh"
exec "$build/skiff" replay --both "$build/golden"
