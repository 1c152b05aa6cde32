#!/usr/bin/env bash
# The cases that take little time.
set -euo pipefail
exec "$(dirname "$0")/acceptance.sh" --only quickstart_reader --only ctr_get_data --only ctr_generator --only ctr_debug_dataset \
    --only ctr_real_rows --only faq_q4 --only faq_q7_local
