#!/usr/bin/env bash
# The cases that take little time, and those that look at files of saves by name and number.
set -euo pipefail
case ${BUILD:-build} in
*-address) # the sanitizer's library must be in Python from the start; Python itself leaks
    export LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 ;;
*-thread) exit 0 ;; # Python is not built for TSan
esac
exec "$(dirname "$0")/acceptance.sh" --only quickstart_reader --only ctr_get_data --only ctr_generator --only ctr_debug_dataset \
    --only ctr_real_rows --only ctr_incremental --only faq_q1 --only faq_q4 --only faq_q7_local
