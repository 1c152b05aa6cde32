#!/usr/bin/env bash
# Training from S3 and saving to it gives what local files give; resuming, evaluating and predicting take the model from there.
set -euo pipefail
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
skiff=$PWD/${BUILD:-build}/skiff
work=$(mktemp -d)
server=
stop_server() {
    [ -z "$server" ] || kill "$server"
    [ -z "$server" ] || wait "$server" || true
    server=
}
trap 'stop_server; rm -rf "$work"' EXIT
for name in $(env | sed -n 's/^\(AWS_[A-Z_]*\|[a-zA-Z]*_proxy\|[A-Z]*_PROXY\)=.*/\1/p'); do unset "$name"; done
"$skiff" synth --rows 2000 --test-rows 400 --files 2 --out "$work/data" >/dev/null
gzip "$work/data/train/"*0*
mkdir "$work/tmp"
start_server() { # [full | readonly]
    : >"$work/url"
    python3 tests/python/s3_server.py "$work/data" "$@" >"$work/url" 2>"$work/server.log" &
    server=$!
    until [ -s "$work/url" ]; do sleep 0.1; done
    export SKIFF_S3_ENDPOINT=$(cat "$work/url")
}
start_server
export AWS_ACCESS_KEY_ID=AKIDTEST AWS_SECRET_ACCESS_KEY=a/secret+key TMPDIR=$work/tmp SKIFF_FS_PAUSE=5

say() { # COMMAND SETTING...: its output into $work/log; fails with it
    local command=$1
    shift
    "$skiff" "$command" -m models/rank/dnn/ctr_documents.yaml "$@" 'hyper_parameters.fc_sizes=[16]' \
        hyper_parameters.sparse_feature_number=20011 runner.train_batch_size=100 runner.thread_num=1 >"$work/log" 2>&1
}
run() { say "$@" || { cat "$work/log"; exit 1; }; }
expect() { grep -qF -- "$1" "$work/log" || { echo "expected: $1"; cat "$work/log"; exit 1; }; }

run train -o runner.train_data_dir="$work/data/train" runner.model_save_path="$work/local" runner.epochs=2
run train -o runner.train_data_dir=s3://box/train runner.model_save_path=s3://box/model/ runner.epochs=1
expect "models to s3://box/model"
run train --resume -o runner.train_data_dir='s3://box/train/*' runner.model_save_path=s3://box/model runner.epochs=2
expect "resuming from s3://box/model/0, saved after epoch 0"
run infer -o runner.test_data_dir=s3://box/test runner.infer_load_path=s3://box/model
grep -E '^ +[01] ' "$work/log" >"$work/remote.rows"
run infer -o runner.test_data_dir="$work/data/test" runner.infer_load_path="$work/local"
grep -E '^ +[01] ' "$work/log" >"$work/local.rows"
[ -s "$work/local.rows" ] && [ "$(awk '{print $1, $2, $4, $5}' "$work/remote.rows")" = "$(awk '{print $1, $2, $4, $5}' "$work/local.rows")" ] || {
    echo "S3 and local files differ:"
    cat "$work/remote.rows" "$work/local.rows"
    exit 1
}
run train -o runner.train_data_dir="$work/data/train" runner.model_save_path="$work/begun" runner.model_init_path=s3://box/model/0 runner.epochs=1
run train -o runner.train_data_dir="$work/data/train" runner.model_save_path="$work/begun.local" runner.model_init_path="$work/local/0" runner.epochs=1
cmp "$work/begun/0/rec_static.pdparams" "$work/begun.local/0/rec_static.pdparams"
for model in s3://box/model/1 "$work/local/1"; do
    run predict --model "$model" --input "$(find "$work/data/test" -type f | head -n 1)" --output "$work/predicted.$(basename "$(dirname "$model")")" -o
done
[ -s "$work/predicted.local" ] && cmp "$work/predicted.model" "$work/predicted.local"
run doctor -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://box/model
expect "models go to s3://box/model, which is writable"
[ -z "$(ls "$work/tmp")" ] || { echo "left in TMPDIR:"; ls -R "$work/tmp"; exit 1; }
stop_server
cmp "$work/local/1/rec_static.pdparams" "$work/data.out/model/1/rec_static.pdparams"
[ -f "$work/data.out/model/0/__skiff_manifest__" ]

# how many requests: an epoch of 4 files that is saved (each is sent, copied and removed once), one that is resumed, one that is judged
requests() { # MOST COMMAND SETTING...
    local most=$1 n
    shift
    start_server
    run "$@"
    stop_server
    n=$(wc -l <"$work/data.seen")
    [ "$n" -le "$most" ] || { echo "$n requests for $*, at most $most:"; cat "$work/data.seen"; exit 1; }
    cp -r "$work/data.out/counted" "$work/data/" # what the next server has
}
here="runner.train_data_dir=$work/data/train runner.test_data_dir=$work/data/test runner.model_save_path=s3://box/counted"
requests 24 train -o $here runner.epochs=1
requests 31 train --resume -o $here runner.epochs=2
requests 13 train --resume -o $here runner.epochs=2
# of each epoch infer asks whether it is calibrated, with two requests
requests 19 infer -o $here runner.infer_load_path=s3://box/counted
[ "$(grep -c 'GET.*/1/__skiff_manifest__' "$work/data.seen")" -le 2 ]
rm -r "$work/data/counted"

# the hadoop command starts Java for every call: an epoch is one -put and one -mv
mkdir "$work/hadoop"
export SKIFF_TEST_HADOOP=$work/hadoop
hadoop="runner.train_data_dir=$work/data/train runner.model_save_path=afs:/counted runner.fs_client.uri=afs://h:1 runner.fs_client.hadoop_bin=$PWD/tests/python/hadoop.sh"
calls() { # MOST COMMAND SETTING...
    local most=$1 n
    shift
    rm -f "$work/hadoop.calls"
    run "$@"
    n=$(wc -l <"$work/hadoop.calls")
    [ "$n" -le "$most" ] || { echo "$n calls of hadoop for $*, at most $most:"; cat "$work/hadoop.calls"; exit 1; }
}
calls 24 train -o $hadoop runner.epochs=1
[ "$(grep -c -- "/\.0\.skiff-save-.*\|/counted/0" "$work/hadoop.calls")" = 2 ]
calls 37 train --resume -o $hadoop runner.epochs=2
cmp "$work/local/1/rec_static.pdparams" "$work/hadoop/counted/1/rec_static.pdparams"
calls 40 train --overwrite -o $hadoop runner.epochs=1 # over an epoch that is there: its files are removed by one call and moved by one
cmp "$work/local/0/rec_static.pdparams" "$work/hadoop/counted/0/rec_static.pdparams"
[ "$(find "$work/hadoop/counted/0" -mindepth 1 | wc -l)" = 4 ]
[ -z "$(ls -A "$work/tmp")" ]

# an outage of seconds when an epoch is saved: it is saved when S3 answers again, nothing is left in TMPDIR
outage() { # COMMAND...: S3 does not answer for the model's folder until a save has failed twice
    start_server
    printf .skiff-save >"$work/data.silent"
    SKIFF_FS_TRIES=2 "$@" >"$work/log" 2>&1 &
    child=$!
    until [ "$(cat "$work/log" "$work"/jobs/* 2>/dev/null | grep -c "saving failed, retrying in")" -ge 2 ]; do
        kill -0 "$child" 2>/dev/null || { echo "ended: $*"; cat "$work/log" "$work"/jobs/*; exit 1; }
        sleep 0.1
    done
    [ "$(ls -d "$work"/tmp/skiff-model-* | wc -l)" = 1 ] || { echo "more than one model in TMPDIR:"; ls -A "$work/tmp"; exit 1; }
    rm "$work/data.silent"
    wait "$child" || { echo "failed: $*"; cat "$work/log" "$work"/jobs/*; exit 1; }
    [ -z "$(ls -A "$work/tmp")" ] || { echo "left in TMPDIR:"; ls -R "$work/tmp"; exit 1; }
    stop_server
    [ -f "$work/data.out/out/full/0/__skiff_manifest__" ] || { echo "not saved"; exit 1; }
    cp "$work/data.out/out/full/0/rec_static.pdparams" "$work/saved"
    rm -r "$work/data.out/out/full"
}
small="hyper_parameters.fc_sizes=[16] hyper_parameters.sparse_feature_number=20011 runner.train_batch_size=100 runner.thread_num=1"
once="-m models/rank/dnn/ctr_documents.yaml -o $small runner.epochs=1 runner.train_data_dir=$work/data/train runner.model_save_path=s3://box/out/full"
outage "$skiff" train $once
cmp "$work/local/0/rec_static.pdparams" "$work/saved"
outage "$skiff" launch --nproc_per_node 2 --log_dir "$work/jobs" $once
rm -rf "$work/jobs"
# one that does not pass: bounded, with the reason; the model of the last epoch is kept, once
start_server
printf .skiff-save >"$work/data.silent"
SKIFF_FS_TRIES=1 say train -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://box/out/full runner.epochs=2 && { echo "no error"; exit 1; }
expect "EPOCH 0 NOT SAVED: the model cannot be uploaded; it is kept in $work/tmp/skiff-model-"
expect "the last epoch, 1, could not be saved: the model cannot be uploaded; it is kept in $work/tmp/skiff-model-"
expect "answers with status 503: SlowDown"
[ "$(grep -c 'retrying in' "$work/log")" = 8 ]
cmp "$work/local/1/rec_static.pdparams" "$work"/tmp/skiff-model-*/rec_static.pdparams
[ "$(ls -A "$work/tmp" | wc -l)" = 1 ]
rm -r "$work/data.silent" "$work"/tmp/skiff-model-*
stop_server

# no bucket: said before anything is trained
start_server
say train -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://other/model runner.epochs=1 && { echo "no error"; exit 1; }
expect "answers with status 404: NoSuchBucket: The specified bucket does not exist; there is no such bucket: create it"
! grep -q "^Epoch" "$work/log" || { echo "trained without a bucket"; exit 1; }
say train --resume -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://other/model runner.epochs=1 && { echo "no error"; exit 1; }
expect "there is no such bucket" # not: nothing to go on from
stop_server

# what was trained and cannot be uploaded is kept
start_server full
say train -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://box/full runner.epochs=1 && { echo "no error"; exit 1; }
expect "it is kept in $work/tmp/skiff-model-"
expect ": s3://box/full/0/.skiff-save-"
expect "answers with status 403: Injected: as the test wants"
cmp "$work/local/0/rec_static.pdparams" "$work"/tmp/skiff-model-*/rec_static.pdparams
stop_server
[ -z "$(find "$work/data.out/full/0" -type f 2>/dev/null)" ] || { echo "a part of a save is left"; exit 1; }

# nobody trains for nothing
start_server readonly
say train -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://box/model runner.epochs=1 && { echo "no error"; exit 1; }
expect "runner.model_save_path: s3://box/model/.skiff-probe: PUT at 127.0.0.1:"
! grep -q "^Epoch" "$work/log" || { echo "trained, though nothing is writable"; exit 1; }
stop_server

# nobody there
SKIFF_FS_TRIES=2 say doctor -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://box/model && { echo "no error"; exit 1; }
expect "runner.model_save_path: s3://box/model/.skiff-probe: PUT at 127.0.0.1:"
SKIFF_FS_TRIES=2 say train -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://box/model && { echo "no error"; exit 1; }
expect "s3://box/model/.skiff-probe: PUT at 127.0.0.1:"
expect "tried 2 times"
SKIFF_FS_TRIES=2 say train --resume -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://box/model && { echo "no error"; exit 1; }
expect "s3://box/model: GET at 127.0.0.1:" # not: nothing to go on from
SKIFF_FS_TRIES=2 say train -o runner.train_data_dir=s3://box/train && { echo "no error"; exit 1; }
expect "s3://box/train: HEAD at 127.0.0.1:"
say train -o runner.train_data_dir="$work/data/train" runner.fs_name=namenode && { echo "no error"; exit 1; }
expect 'runner.fs_name: fs_name "namenode": write hdfs://host:port'
say train -o runner.train_data_dir="$work/data/train" runner.fs_client.uri=namenode && { echo "no error"; exit 1; }
expect 'runner.fs_client: fs_name "namenode": write hdfs://host:port'
echo "storage: ok"
