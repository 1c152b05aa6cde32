#!/usr/bin/env bash
# Jobs with servers and of ranks save the same to S3 and to HDFS as to folders, resume from there, also after a kill, and
# start from such models.
set -euo pipefail
skiff=$PWD/${BUILD:-build}/skiff
work=$(mktemp -d)
servers=()
end_servers() { # what they hold goes to data.out
    for pid in "${servers[@]}"; do
        kill "$pid"
        wait "$pid" || true
    done
    servers=()
}
trap 'end_servers; rm -rf "$work"' EXIT
for name in $(env | sed -n 's/^\(AWS_[A-Z_]*\|HADOOP_[A-Z_]*\|[a-zA-Z]*_proxy\|[A-Z]*_PROXY\)=.*/\1/p'); do unset "$name"; done
"$skiff" synth --rows 2000 --test-rows 400 --files 2 --out "$work/data" >/dev/null
mkdir "$work/tmp" "$work/hdfs"
address() { # SCRIPT FOLDER NAME: starts a server; its address
    : >"$work/$3"
    python3 "tests/python/$1" "$2" >"$work/$3" 2>"$work/$3.log" &
    servers+=($!)
    until [ -s "$work/$3" ]; do sleep 0.1; done
}
address s3_server.py "$work/data" s3.url
address webhdfs_server.py "$work/hdfs" hdfs.url
export SKIFF_S3_ENDPOINT=$(cat "$work/s3.url") AWS_ACCESS_KEY_ID=AKIDTEST AWS_SECRET_ACCESS_KEY=a/secret+key
export TMPDIR=$work/tmp SKIFF_FS_PAUSE=5

say() { # launch | COMMAND, FLAGS..., -o SETTING...: its output into $work/log; fails with it
    local command=$1
    shift
    "$skiff" "$command" "$@" 'hyper_parameters.fc_sizes=[16]' hyper_parameters.sparse_feature_number=20011 runner.train_batch_size=100 \
        runner.thread_num=1 runner.sync_mode=sync runner.split_file_list=True >"$work/log" 2>&1
}
run() { say "$@" || { cat "$work/log" "$work"/logs/*; exit 1; }; }
expect() { grep -qF -- "$1" "$work/log" "$work"/logs/* || { echo "expected: $1"; cat "$work/log" "$work"/logs/*; exit 1; }; }
job() { rm -rf "$work/logs"; run launch --server_num 2 --worker_num 2 --log_dir "$work/logs" -m models/rank/dnn/ctr_documents.yaml "$@"; }
ranks() { rm -rf "$work/logs"; run launch --nproc_per_node 2 --log_dir "$work/logs" -m models/rank/dnn/ctr_documents.yaml "$@"; }
same() { # FOLDER FOLDER: the same models, apart from when and by whom
    diff -rq -x __skiff_manifest__ -x 'report.*' "$1" "$2" || { echo "$1 and $2 differ"; exit 1; }
}

job -o runner.train_data_dir="$work/data/train" runner.model_save_path="$work/local" runner.epochs=1
job --resume -o runner.train_data_dir="$work/data/train" runner.model_save_path="$work/local" runner.epochs=2
job -o runner.train_data_dir=s3://box/train runner.model_save_path=s3://box/model/ runner.epochs=1
expect "saved s3://box/model/0 in "
job --resume -o runner.train_data_dir=s3://box/train runner.model_save_path=s3://box/model runner.epochs=2
expect "parameters are loaded from s3://box/model/0"
expect "the job continues with epoch 1"

# a worker that joins when the job has ended learns that from S3
if TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0 PADDLE_TRAINERS_NUM=1 PADDLE_PSERVERS_IP_PORT_LIST=127.0.0.1:1 SKIFF_SILENCE_MS=200 \
    timeout 60 "$skiff" train -m models/rank/dnn/ctr_documents.yaml -o runner.train_data_dir="$work/data/train" \
    runner.model_save_path=s3://box/model runner.epochs=2 runner.sync_mode=sync >"$work/log" 2>&1; then
    echo "no error" && exit 1
fi
expect "did not answer in 1.2 s"
expect "s3://box/model has all 2 epochs: the job seems to have ended"

# hdfs, with the settings of a PaddleRec YAML; a warm start from S3
hdfs=(runner.fs_client.uri="$(cat "$work/hdfs.url")" runner.fs_client.user=me)
job -o runner.train_data_dir="$work/data/train" runner.model_save_path="$work/warm" runner.warmup_model_path="$work/local/1" runner.epochs=1
job -o runner.train_data_dir="$work/data/train" runner.model_save_path=hdfs:/warm runner.warmup_model_path=s3://box/model/1 runner.epochs=1 "${hdfs[@]}"

# ranks
ranks -o runner.train_data_dir="$work/data/train" runner.model_save_path="$work/ranks" runner.epochs=1 runner.sync_mode=collective
ranks --resume -o runner.train_data_dir="$work/data/train" runner.model_save_path="$work/ranks" runner.epochs=2 runner.sync_mode=collective
ranks -o runner.train_data_dir="$work/data/train" runner.model_save_path=afs:/ranks runner.epochs=1 runner.sync_mode=collective "${hdfs[@]}"
ranks --resume -o runner.train_data_dir="$work/data/train" runner.model_save_path=afs:/ranks runner.epochs=2 runner.sync_mode=collective "${hdfs[@]}"
expect "resuming from afs:/ranks/0, saved after epoch 0"

# the models are compared where they are stored
rm -rf "$work/logs"
mkdir "$work/logs"
run infer -m models/rank/dnn/ctr_documents.yaml -o runner.test_data_dir=s3://box/test runner.infer_load_path=s3://box/model
grep -E '^ +[01] ' "$work/log" | awk '{print $1, $2, $4, $5}' >"$work/remote.rows"
run infer -m models/rank/dnn/ctr_documents.yaml -o runner.test_data_dir="$work/data/test" runner.infer_load_path="$work/local"
grep -E '^ +[01] ' "$work/log" | awk '{print $1, $2, $4, $5}' >"$work/local.rows"
[ -s "$work/local.rows" ] && cmp "$work/remote.rows" "$work/local.rows"
for what in "model %s/1" "tensor %s/1/rec_static.pdparams" "program --summary %s/1/rec_static.pdmodel"; do
    # shellcheck disable=SC2059
    "$skiff" inspect $(printf "$what" s3://box/model) | sed "s,s3://box/model,HERE,; s,  *, ,g; s,--*,-,g; /^saved /d" >"$work/remote.text"
    # shellcheck disable=SC2059
    "$skiff" inspect $(printf "$what" "$work/local") | sed "s,$work/local,HERE,; s,  *, ,g; s,--*,-,g; /^saved /d" >"$work/local.text"
    [ -s "$work/local.text" ] && diff "$work/remote.text" "$work/local.text"
done

# killed at any time, a job resumes from a complete epoch, and ends with the numbers of one that was stopped there
"$skiff" launch --server_num 2 --worker_num 2 --log_dir "$work/killed" -m models/rank/dnn/ctr_documents.yaml -o runner.train_data_dir="$work/data/train" \
    runner.model_save_path=s3://box/killed runner.epochs=50 'hyper_parameters.fc_sizes=[16]' hyper_parameters.sparse_feature_number=20011 \
    runner.train_batch_size=100 runner.thread_num=1 runner.sync_mode=sync runner.split_file_list=True >"$work/log" 2>&1 &
launch=$!
until grep -q "saved s3://box/killed/0 in" "$work"/killed/workerlog.0 2>/dev/null; do sleep 0.05; done
kill -KILL "$launch" # its processes end with it
wait "$launch" || true
last=$(grep -o "saved s3://box/killed/[0-9]*" "$work/killed/workerlog.0" | tail -1 | grep -o '[0-9]*$')
job --resume -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://box/killed runner.epochs=$((last + 3))
from=$(grep -ho "parameters are loaded from s3://box/killed/[0-9]*" "$work/logs/serverlog.0" | grep -o '[0-9]*$')
[ "$from" -ge "$last" ] # what was told to be saved is there
job -o runner.train_data_dir="$work/data/train" runner.model_save_path="$work/alike" runner.epochs=$((from + 1))
job --resume -o runner.train_data_dir="$work/data/train" runner.model_save_path="$work/alike" runner.epochs=$((last + 3))

# nobody there: not "nothing to go on from"
SKIFF_S3_ENDPOINT=http://127.0.0.1:1 SKIFF_FS_TRIES=2 say launch --server_num 1 --worker_num 1 --log_dir "$work/logs" -m models/rank/dnn/ctr_documents.yaml \
    --resume -o runner.train_data_dir="$work/data/train" runner.model_save_path=s3://box/model && { echo "no error"; exit 1; }
expect "s3://box/model: GET at 127.0.0.1:1 failed, tried 2 times"

[ -z "$(ls -A "$work/tmp")" ] || { echo "left in TMPDIR:"; ls -RA "$work/tmp"; exit 1; }
end_servers
same "$work/local" "$work/data.out/model"
same "$work/warm" "$work/hdfs.out/warm"
same "$work/ranks" "$work/hdfs.out/ranks"
same "$work/alike/$((last + 2))" "$work/data.out/killed/$((last + 2))"
echo "storage of jobs: ok"
