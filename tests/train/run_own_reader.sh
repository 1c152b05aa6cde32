#!/usr/bin/env bash
# A config with a reader of its own, written for Paddle: every command that reads its data runs the reader with Skiff's
# packages, and hash() of a string is the same in all of its processes.
. "$(dirname "$0")/../words.sh"
[ -d "$build/python/skiff" ] || { echo "skipped: built without Python"; exit 0; }
. tests/train/own_reader.sh
own_reader "$work/rec"
config=$work/rec/models/rank/dnn/config.yaml
unset PYTHONPATH PYTHONHASHSEED SKIFF_PYTHON SKIFF_PYTHON_HOME

run 0 train -m "$config"
check "it learns" own_reader_auc "$log"
run 0 infer -m "$config"
check "it is as good when it is read again" own_reader_auc "$log"
run 0 check-data -m "$config"
says "1600"
run 0 predict -m "$config" --output "$work/predicted"
check "a prediction for every row" test "$(wc -l <"$work/predicted")" = 1600
run 0 launch --server_num 1 --worker_num 1 --log_dir "$work/logs" -m "$config" -o "runner.model_save_path=$work/job"
check "a job learns, too" own_reader_auc "$work/logs/workerlog.0"
# the same ids again in another run; a seed of the user's stays, and gives others
run 0 predict -m "$config" --output "$work/again"
check "the same predictions again" cmp -s "$work/predicted" "$work/again"
PYTHONHASHSEED=1 run 0 predict -m "$config" --output "$work/other"
check "PYTHONHASHSEED=1 gives other ids" bash -c "! cmp -s '$work/predicted' '$work/other'"
# without the packages the reader runs as it is, and fails as it does by hand
SKIFF_PYTHON_HOME=$work/nowhere run 1 check-data -m "$config"
says "No module named 'paddle'"
exit $failed
