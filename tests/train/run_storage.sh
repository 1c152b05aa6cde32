#!/usr/bin/env bash
# Training from S3 and saving to it gives what local files give; going on, judging and predicting take the model from there.
set -euo pipefail
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
expect "going on from s3://box/model/0, saved after epoch 0"
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
expect "models go to s3://box/model, which can be written"
[ -z "$(ls "$work/tmp")" ] || { echo "left in TMPDIR:"; ls -R "$work/tmp"; exit 1; }
stop_server
cmp "$work/local/1/rec_static.pdparams" "$work/data.out/model/1/rec_static.pdparams"
[ -f "$work/data.out/model/0/__skiff_manifest__" ]

# what was trained and cannot be uploaded is kept
start_server full
say train -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://box/full runner.epochs=1 && { echo "no error"; exit 1; }
expect "the model is kept in $work/tmp/skiff-model-"
expect ", it cannot be uploaded: s3://box/full/0/.skiff-save-"
expect "answers with status 403: Injected: as the test wants"
cmp "$work/local/0/rec_static.pdparams" "$work"/tmp/skiff-model-*/rec_static.pdparams
stop_server
[ -z "$(find "$work/data.out/full/0" -type f 2>/dev/null)" ] || { echo "a part of a save is left"; exit 1; }

# nobody trains for nothing
start_server readonly
say train -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://box/model runner.epochs=1 && { echo "no error"; exit 1; }
expect "runner.model_save_path: s3://box/model/.skiff-probe: PUT at 127.0.0.1:"
! grep -q "^Epoch" "$work/log" || { echo "trained, though nothing can be written"; exit 1; }
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
