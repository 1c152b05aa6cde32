#!/usr/bin/env bash
# What train and infer print of epochs: one table that grows, PaddleRec's lines where they are asked for, by flag or environment,
# in one process and in the logs of a job.
set -uo pipefail
export PATH=$PWD/${BUILD:-build}:$PATH
unset SKIFF_LOG_FORMAT
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fault() {
    echo "FAILED: $*"
    cat out
    failed=1
}
shows() { # ROWS LINES WHAT COMMAND...: so many rows of the table, and so many lines Epoch: ...
    local rows=$1 lines=$2 what=$3
    shift 3
    "$@" >out 2>err || { cat err; fault "$what: status $?"; }
    [ "$(grep -c '^epoch .* samples ' out)" = "$((rows > 0))" ] || fault "$what: not $((rows > 0)) headings"
    [ "$(grep -cE '^ +[0-9]+\*? .* %$|^ +[0-9]+\*? .* % ' out)" = "$rows" ] || fault "$what: not $rows rows"
    [ "$(grep -c '^Epoch: [0-9]*, using time: [0-9.]* second, ips: [0-9]* example/sec\.' out)" = "$lines" ] ||
        fault "$what: not $lines lines"
}
valid_lines() { [ "$(grep -c '^valid: ' out)" = "$1" ] || fault "not $1 lines of validation"; }
python3 "$root/examples/tutorial/make_visits.py" 2000 >visits.csv
skiff init visits.csv >/dev/null
c=visits/config.yaml
train=(skiff train $c --overwrite -o runner.epochs=3 runner.early_stop=0)

shows 3 0 train "${train[@]}"
valid_lines 0
[ "$(sed -n '2,4s/^ *\([0-9]\).*/\1/p' out | xargs)" = "0 1 2" ] || fault "the rows are not the first lines, one behind the other"
awk 'NR > 1 && NR < 5 && ($2 !~ /^0\.[0-9]+$/ || $3 !~ /^0\.[0-9]+$/) { exit 1 }' out || fault "a row without its validation"
best=$(sed -n 's/^best epoch: \([0-9]*\) .*/\1/p' out)
[ "$(sed -n 's/^ *\([0-9]*\)\*.*/\1/p' out | tail -n 1)" = "$best" ] || fault "the last star is not at epoch $best"
shows 3 0 "train -q" "${train[@]}" -q
[ "$(sed -n 's/^ *\([0-9]*\)\*.*/\1/p' out)" = "$best" ] || fault "-q: not one star, at epoch $best"
shows 3 3 "train -v" "${train[@]}" -v
valid_lines 4
shows 3 3 "train --log-format paddlerec" "${train[@]}" --log-format paddlerec
valid_lines 4
SKIFF_LOG_FORMAT=paddlerec shows 3 3 "train, by the environment" "${train[@]}"
SKIFF_LOG_FORMAT=paddlerec shows 3 0 "a flag takes precedence" "${train[@]}" --log_format=table
sed '/valid/d; /early_stop/d; /infer_epoch/d' $c >visits/plain.yaml
shows 3 0 "train without validation" skiff train visits/plain.yaml --overwrite -o runner.epochs=3 runner.keep_epochs=0

shows 1 0 infer skiff infer $c -o runner.infer_epoch=2
shows 1 1 "infer -v" skiff infer $c -v -o runner.infer_epoch=2
shows 1 1 "infer --log_format paddlerec" skiff infer $c --log_format paddlerec -o runner.infer_epoch=2
shows 1 0 "infer -q" skiff infer $c -q -o runner.infer_epoch=2
for words in "train $c --log_format=json" "launch --server_num 1 --log_format=json $c"; do
    read -ra words <<<"$words"
    skiff "${words[@]}" >out 2>&1
    [ $? -eq 2 ] || fault "${words[*]}: not status 2"
    grep -qF -- "--log_format is 'json'; expected table or paddlerec" out || fault "${words[*]}: no message"
done
SKIFF_LOG_FORMAT=json skiff infer $c >out 2>&1
grep -qF "SKIFF_LOG_FORMAT is 'json'; expected table or paddlerec" out || fault "SKIFF_LOG_FORMAT=json: no message"

# a job: the logs of its workers
job=(skiff launch --server_num 1 --worker_num 1)
shows 0 0 launch "${job[@]}" $c -o runner.epochs=2 runner.model_save_path="$work/a"
shows 2 0 "a worker's log" cat log/workerlog.0
rm -r log
shows 0 0 "launch --log_format" "${job[@]}" --log_format paddlerec $c -o runner.epochs=2 runner.model_save_path="$work/b"
shows 2 2 "a worker's log, PaddleRec's" cat log/workerlog.0
exit $failed
