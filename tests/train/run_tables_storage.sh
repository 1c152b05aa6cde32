#!/usr/bin/env bash
# Sparse tables on S3, on HDFS and through the hadoop command: online training and epochs save there what they save to
# folders, go on from there, also when killed at any request, and do not begin anew when nobody answers.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${BUILD:-build}")
skiff=$build/skiff
tests=$PWD/tests
work=$(mktemp -d)
servers=()
child=
end_servers() { # what they hold goes to FOLDER.out
    for pid in "${servers[@]}"; do
        kill "$pid"
        wait "$pid"
    done
    servers=()
}
trap '[ -z "$child" ] || kill -9 "$child" 2>/dev/null; end_servers; rm -rf "$work"' EXIT
for name in $(env | sed -n 's/^\(AWS_[A-Z_]*\|HADOOP_[A-Z_]*\|[a-zA-Z]*_proxy\|[A-Z]*_PROXY\)=.*/\1/p'); do unset "$name"; done
cd "$work" || exit 1
. "$here/tables.sh"
mkdir s3 hdfs tmp
cat >online.yaml <<'EOF'
runner:
  model: rank/dnn
  train_data_dir: data
  test_data_dir: data/20190720/2
  input_format: multislot
  train_batch_size: 50
  days: "20190720"
  pass_per_day: 2
  checkpoint_per_pass: 1
  save_delta_frequency: 1
  save_first_base: True
  model_save_path: model
hyper_parameters:
  optimizer: {class: SGD, learning_rate: 0.1}
  distributed_embedding: 1
  sparse_inputs_slots: 3
  sparse_feature_number: 100
  sparse_feature_dim: 4
  dense_input_dim: 0
  fc_sizes: [8]
table_parameters:
  SparseFeatFactors:
    shard_num: 3
    entry: count_filter_entry:20
    accessor:
      embed_sgd_param: {name: SparseAdaGradSGDRule, adagrad: {learning_rate: 0.1}}
      embedx_sgd_param: {name: SparseAdaGradSGDRule, adagrad: {learning_rate: 0.1, initial_range: 0.1}}
EOF
sed '/days:\|per_day\|per_pass\|frequency\|first_base/d; s#train_data_dir: .*#train_data_dir: data/20190720/*/part-0#' online.yaml >epochs.yaml
mkdir afs
export SKIFF_TEST_HADOOP=$work/afs # afs:/... is a folder of this machine

address() { # SCRIPT FOLDER NAME: starts a server; its address
    : >"$3"
    (cd "$tests/.." && exec python3 "tests/python/$1" "$work/$2") >"$3" 2>"$3.log" &
    servers+=($!)
    until [ -s "$3" ]; do sleep 0.1; done
}
address s3_server.py s3 s3.url
address webhdfs_server.py hdfs hdfs.url
SKIFF_S3_ENDPOINT=$(cat s3.url)
export SKIFF_S3_ENDPOINT AWS_ACCESS_KEY_ID=AKIDTEST AWS_SECRET_ACCESS_KEY=a/secret+key TMPDIR=$work/tmp SKIFF_FS_PAUSE=5
hdfs="runner.fs_client.uri=$(cat hdfs.url) runner.fs_client.user=me"
afs="runner.fs_name=afs://h:1 runner.fs_ugi=me,x runner.fs_client.hadoop_bin=$tests/python/hadoop.sh"
where() { case $1 in hdfs:*) echo "$hdfs" ;; afs:*) echo "$afs" ;; esac; } # what a config says of such a path

expected=$(printf '%s\n' $'20190720\t1\t0' $'20190721\t-1\t0' 20190720/base/000 20190721/base/000 20190720/delta-1/000 20190720/delta-2/000)
lines() { (cd "$1" && cut -f 1,4,5 donefile.txt && sed 's/.*"input": "[^"]*\/\(2019[^"]*\)".*/\1/' base_donefile.txt patch_donefile.txt); }
same() { # FOLDER FOLDER: the same models
    [ "$(lines "$1")" = "$expected" ] || fault "$1: donefiles list $(lines "$1" | tr '\n' ' ')"
    diff -rq -x __skiff_manifest__ -x '*donefile.txt' -x .skiff_lock -x 'report.*' "$1" "$2" || fault "$1 and $2 differ"
}
counts() { zcat "$1"/000/part-*.gz | awk '{ print $1, $5, $6 }' | sort; } # id, shows, clicks
numbers() { zcat "$1"/000/part-*.gz | sort | cut -d' ' -f 7-; zcat "$1"/001/part-*.gz; }
alike() { # FOLDER FOLDER: the same models, but that weights went through the six digits of files
    [ "$(lines "$1")" = "$expected" ] || fault "$1: donefiles list $(lines "$1" | tr '\n' ' ')"
    for what in 20190720/1 20190721/0; do
        [ "$(counts "$1/$what")" = "$(counts "$2/$what")" ] || fault "$1/$what: other shows and clicks"
        paste -d' ' <(numbers "$1/$what") <(numbers "$2/$what") | awk '{ for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (d < 0) d = -d
            if (d > 0.001) bad = $0; n++ } } END { if (bad != "") print bad; exit bad != "" || n < 100 }' || fault "$1/$what: other weights"
    done
}
near() { awk -v a="$1" -v b="$2" -v e="$3" 'BEGIN { d = a - b; exit !(a != "" && b != "" && (d < 0 ? -d : d) <= e) }' || fault "$1 and $2"; }

name="a folder of the machine"
run train -m online.yaml -o runner.model_save_path=local
[ "$(counts local/20190720/1 | wc -l)" -gt 10 ] || fault "too few rows"
ls local/20190720/1/__lookup_table__ >/dev/null || fault "nobody waits for admission"
run infer -m online.yaml -o runner.infer_load_path=local/20190720 runner.infer_epoch=1 --json judged.json
auc() { grep -o '"auc": *[0-9.e-]*' "$1" | head -n 1 | sed 's/.*: *//'; }
judged=$(auc judged.json)

for place in s3://box/model hdfs:/model afs:/model; do
    name="online, $place"
    # shellcheck disable=SC2046
    run train -m online.yaml -o runner.model_save_path=$place $(where $place)
    says "saved $place/20190720/1 in" "2 passes are trained"
    name="again, $place: nothing to do"
    # shellcheck disable=SC2046
    run train -m online.yaml -o runner.model_save_path=$place $(where $place)
    says "resuming from $place/20190721/0" "0 passes to train"
    name="judged, $place"
    # shellcheck disable=SC2046
    run infer -m online.yaml -o runner.infer_load_path=$place/20190720 runner.infer_epoch=1 $(where $place) --json judged.json
    near "$judged" "$(auc judged.json)" 1e-9
done
same afs/model local

name="a donefile that was about to be replaced by the hadoop command"
mv afs/model/donefile.txt afs/model/donefile.txt._skiff_old
# shellcheck disable=SC2086
run train -m online.yaml -o runner.model_save_path=afs:/model $afs
says "resuming from afs:/model/20190721/0" "0 passes to train"

killed_at() { # FOLDER PLACE N: killed at the n-th request that changes something, then started again
    name="$2, killed at request $3"
    # shellcheck disable=SC2046
    "$skiff" train -m "$config" -o runner.model_save_path="$2" $(where "$2") >said 2>&1 &
    child=$!
    echo "$3 $child" >"$1.kill"
    { wait $child; } 2>/dev/null
    [ $? = 137 ] || fault "was not killed"
    # shellcheck disable=SC2046
    run train -m "$config" $again -o runner.model_save_path="$2" $(where "$2")
}
requests() { # FOLDER PLACE: how many there are
    echo 1000000 1 >"$1.kill"
    # shellcheck disable=SC2046
    run train -m "$config" -o runner.model_save_path="$2" $(where "$2")
    echo $((1000000 - $(cut -d' ' -f1 "$1.kill")))
    rm "$1.kill"
}
config=online.yaml again=
for folder in s3 hdfs; do
    [ $folder = s3 ] && place=s3://box || place=hdfs:
    total=$(requests $folder $place/count)
    [ "$total" -gt 50 ] || fault "only $total requests"
    for i in 1 4 6 9 11 14 16 19; do killed_at $folder $place/killed$i $((total * i / 20)); done
done

name="nobody answers: the run does not begin anew"
SKIFF_S3_ENDPOINT=http://127.0.0.1:1 SKIFF_FS_TRIES=2 refuses train -m online.yaml -o runner.model_save_path=s3://box/model
says "s3://box/model/donefile.txt: GET at 127.0.0.1:1 failed, tried 2 times"

name="the newest model cannot be asked for: no older one is taken"
printf model/20190721/0 >s3.silent
SKIFF_FS_TRIES=2 refuses train -m online.yaml -o runner.model_save_path=s3://box/model
says "s3://box/model/20190721/0: " "status 503"
rm s3.silent

name="servers and workers"
all=table_parameters.SparseFeatFactors.entry=none # when rows come does not depend on who is first
run train -m online.yaml -o runner.model_save_path=local_all $all
# shellcheck disable=SC2086
run launch --server_num 2 --worker_num 2 --log_dir jobs -m online.yaml -o runner.model_save_path=hdfs:/job $all $hdfs
# shellcheck disable=SC2086
run launch --server_num 1 --worker_num 1 --log_dir jobs -m online.yaml -o runner.model_save_path=hdfs:/job $all $hdfs
grep -q "resuming from hdfs:/job/20190721/0" jobs/workerlog.0 || fault "does not go on"

name="epochs"
run train -m epochs.yaml -o runner.model_save_path=local_epochs runner.epochs=2
run train -m epochs.yaml -o runner.model_save_path=s3://box/epochs runner.epochs=1
run train -m epochs.yaml --resume -o runner.model_save_path=s3://box/epochs runner.epochs=2
says "the job continues with epoch 1"
run infer -m epochs.yaml -o runner.infer_load_path=s3://box/epochs runner.infer_epoch=1 --json judged.json
far=$(auc judged.json)
run infer -m epochs.yaml -o runner.infer_load_path=local_epochs runner.infer_epoch=1 --json judged.json
near "$(auc judged.json)" "$far" 1e-3
printf epochs/1/ >s3.silent
SKIFF_FS_TRIES=2 refuses train -m epochs.yaml --resume -o runner.model_save_path=s3://box/epochs runner.epochs=3
says "s3://box/epochs/1" "status 503"
rm s3.silent
[ -z "$(ls -A tmp)" ] || fault "left in TMPDIR: $(ls -A tmp)"

end_servers
name="what was saved"
same s3.out/model local
same hdfs.out/model local
for i in 1 4 6 9 11 14 16 19; do
    alike s3.out/killed$i local
    alike hdfs.out/killed$i local
done
[ "$(counts hdfs.out/job/20190721/0)" = "$(counts local_all/20190721/0)" ] || fault "other shows and clicks"
[ "$(counts s3.out/epochs/1)" = "$(counts local_epochs/1)" ] || fault "epochs: other shows and clicks"
exit $failed
