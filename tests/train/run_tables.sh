#!/usr/bin/env bash
# Sparse tables of `skiff train`: saved shows and clicks are those of the data; skiff infer, skiff predict and
# validation read what was saved, and find the AUC that the job itself has found.
set -uo pipefail
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${BUILD:-build}")
skiff=$build/skiff
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$here/tables.sh"
mkdir test
rows 3 300 >test/part-0
cat >online.yaml <<'END'
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
  model_save_path: model
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.05}
  distributed_embedding: 1
  sparse_inputs_slots: 3
  sparse_feature_number: 100
  sparse_feature_dim: 4
  dense_input_dim: 0
  fc_sizes: [8]
table_parameters:
  SparseFeatFactors:
    shard_num: 3
    accessor:
      embed_sgd_param: {name: SparseAdaGradSGDRule, adagrad: {learning_rate: 0.1}}
      embedx_sgd_param: {name: SparseAdaGradSGDRule, adagrad: {learning_rate: 0.1, initial_range: 0.1}}
END
sed '/days:\|per_day\|per_pass\|frequency/d; s#train_data_dir: .*#train_data_dir: data/20190720/*/part-0#' online.yaml >epochs.yaml

# Each id, its shows and clicks, its score: what the data has, and what shards hold.
counted() { cat "$@" | awk '{ for (i = 4; i <= NF; i += 2) { show[$i]++; click[$i] += $2 } }
    END { for (id in show) printf "%s %d %d %g\n", id, show[id], click[id], (show[id] - click[id]) * 0.1 + click[id] }' | sort; }
saved() { zcat "$1"/000/part-*.gz | awk '{ printf "%s %d %d %g\n", $1, $5, $6, $4 }' | sort; }
same_counts() { # FOLDER DATA...
    saved "$1" >saved.txt
    counted "${@:2}" >counted.txt
    [ "$(wc -l <counted.txt)" = 70 ] || fault "the data has $(wc -l <counted.txt) ids"
    cmp -s saved.txt counted.txt || fault "shows, clicks, scores: $(diff saved.txt counted.txt | head -n 4 | tr '\n' '|')"
}
number() { grep -o "\"$2\": *[0-9.e-]*" "$1" | head -n 1 | sed 's/.*: *//'; }
near() { # WHAT NUMBER NUMBER WITHIN
    awk -v a="$2" -v b="$3" -v e="$4" 'BEGIN { d = a - b; exit !(a != "" && b != "" && (d < 0 ? -d : d) <= e) }' || fault "$1: $2 and $3"
}

name="online: the pass is judged with the same AUC by the job and by skiff infer"
run train -m online.yaml
judged=$(sed -n 's/^Day:20190720, Pass: 2, Infer Global Metric:  global AUC=\([0-9.]*\).* COPC=\([0-9.]*\).*/\1 \2/p' said)
run infer -m online.yaml -o runner.infer_load_path=model/20190720 runner.infer_epoch=1 --json judged.json
says "table SparseFeatFactors: 70 rows are loaded"
near auc "${judged% *}" "$(number judged.json auc)" 1e-5
near copc "${judged#* }" "$(number judged.json copc)" 1e-4
near "the ids decide" 0.7 "$(number judged.json auc)" 0.15

name="a saved model tells how the job had its tables"
run inspect table model/20190721/0
says "    in the job   SparseFeatFactors: 70 rows, " " 70 admitted, 0 refused, 0 expired, hit rate 100 %"
run inspect table model/20190720/delta-2/000
says "    in the job   SparseFeatFactors: 70 rows, "

name="skiff inspect model knows each folder of online training"
run inspect model model
says "layout      days and passes of online training" "model       model/20190720/1" "model       model/20190721/0" \
    "base        model/20190721/base" "delta       model/20190720/delta-1"
run inspect model model/20190720/1
says "layout      a model with sparse tables" "table       model/20190720/1/000"
run inspect model model/20190721/base
says "fetches"

name="online: started again, the pass is judged as in one piece"
mv data/20190720/2 later
refuses train -m online.yaml -o runner.model_save_path=again
mv later data/20190720/2
run train -m online.yaml -o runner.model_save_path=again
says "resuming from $PWD/again/20190720/1"
near auc "${judged% *}" "$(sed -n 's/^Day:20190720, Pass: 2, Infer Global Metric:  global AUC=\([0-9.]*\).*/\1/p' said)" 1e-4

name="predictions from a checkpoint, a delta, a base"
for what in 20190720/1 20190720/delta-1 20190721/0 20190721/base; do
    run predict -m online.yaml --input test --model model/$what --output "${what//\//-}.txt"
done
[ "$(wc -l <20190720-1.txt)" = 300 ] || fault "$(wc -l <20190720-1.txt) predictions of 300 rows"
far() { paste "$1" "$2" | awk '{ d = $1 - $2; d = d < 0 ? -d : d; if (d > most) most = d } END { print most + 0 }'; }
near "a checkpoint and its delta" "$(far 20190720-1.txt 20190720-delta-1.txt)" 0 1e-4
near "a day's beginning and its base" "$(far 20190721-0.txt 20190721-base.txt)" 0 1e-4
[ "$(far 20190720-1.txt 20190721-0.txt | awk '{ print ($1 > 0.01) }')" = 1 ] || fault "a pass has changed nothing"
run predict -m online.yaml --input test -o runner.infer_load_path=model/20190720 --output newest.txt
says "predicting with $PWD/model/20190720/1"
cmp -s newest.txt 20190720-1.txt || fault "the newest is another one"

name="deltas and bases that went through converters"
sed 's/^      embed_sgd_param/      table_accessor_save_param: {num: 2, param: [1, 2], converter: "tr 0-9 a-j", deconverter: "tr a-j 0-9"}\n&/' \
    online.yaml >converted.yaml
run train -m converted.yaml -o runner.model_save_path=converted
grep -q '[0-9]' converted/20190721/base/000/part-000-00000 && fault "the converter was not used"
refuses inspect table converted/20190721/base
says "a converter" "of the table's settings"
for what in 20190720/delta-1 20190721/base; do
    run predict -m converted.yaml --input test --model converted/$what/ --output back.txt
    near "$what" "$(far back.txt "${what//\//-}.txt")" 0 1e-4
done

name="shows and clicks of the data"
run train -m online.yaml -o runner.save_delta_frequency=5 runner.model_save_path=counts
same_counts counts/20190720/1 data/20190720/1/part-0

name="a network in YAML, shows and clicks that it names"
mkdir -p named/20190720/1
awk '{ print "1", $2, "1", 2 * $2, "1", 3, $3, $4, $5, $6 }' data/20190720/1/part-0 >named/20190720/1/part-0 # label, bought, seen
cat >net.yaml <<'END'
inputs:
  - label: {dtype: int64}
  - bought: {dtype: float32}
  - seen: {dtype: float32}
  - a: {dtype: int64}
  - b: {dtype: int64}
layers:
  - x: {layer: embedding, input: a, rows: 10, width: 4, is_sparse: True, is_distributed: True, param_attr: SparseFeatFactors}
  - y: {layer: embedding, input: b, rows: 10, width: 4, is_sparse: True, is_distributed: True, param_attr: SparseFeatFactors}
  - z: {layer: concat, input: [x, y], axis: 1}
  - predict: {layer: fc, input: z, size: 2, act: softmax}
  - cost: {layer: cross_entropy, x: predict, label: label}
  - loss: {layer: mean, x: cost}
loss: loss
predict: predict
label: label
END
entry=table_parameters.SparseFeatFactors.entry
sed '/distributed_embedding/,/fc_sizes/d; s#rank/dnn#./net.yaml#; s#train_data_dir: .*#train_data_dir: named#; s/pass_per_day: 2/pass_per_day: 1/' \
    online.yaml >named.yaml
run train -m named.yaml -o runner.model_save_path=named_model $entry=show_click_entry:seen:bought
saved named_model/20190721/0 | cut -d' ' -f1-3 >saved.txt
counted data/20190720/1/part-0 | awk '{ print $1, $2 * 3, $3 * 2 }' >counted.txt
cmp -s saved.txt counted.txt || fault "other counters: $(diff saved.txt counted.txt | head -n 4 | tr '\n' '|')"
refuses train -m named.yaml -o $entry=show_click_entry:seen:sold runner.model_save_path=other
says "table SparseFeatFactors: ShowClickEntry names the variable 'sold', which the program does not have"
refuses train -m named.yaml -o $entry=show_click_entry:seen:label runner.model_save_path=other
says "the variable 'label' of its ShowClickEntry is int64; expected float32: cast it"
run infer -m named.yaml -o runner.test_data_dir=named/20190720/1 runner.infer_load_path=named_model/20190721
says "table SparseFeatFactors: 70 rows are loaded"

name="servers: validation, skiff infer, counts"
run launch --server_num 2 --worker_num 2 -m epochs.yaml -o runner.epochs=2 runner.split_file_list=True \
    runner.model_save_path=job runner.valid_data_dir=test
same_counts job/0 data/20190720/*/part-0
grep -q "valid: before training: auc" log/workerlog.0 || fault "nothing is judged before training"
for epoch in 0 1; do
    run infer -m epochs.yaml -o runner.test_data_dir=test runner.infer_load_path=job runner.infer_epoch=$epoch --json judged.json
    near "auc of epoch $epoch" "$(grep "{epoch: $epoch," job/best.yaml | sed 's/.* auc: \([0-9.]*\).*/\1/')" "$(number judged.json auc)" 1e-6
done
run infer -m epochs.yaml -o runner.test_data_dir=test runner.infer_load_path=job runner.infer_epoch=best runner.thread_num=3 runner.infer_batch_size=7
says "* best in validation during training"
run predict -m epochs.yaml --input test -o runner.infer_load_path=job
says "the best of the run"

name="one process by epochs"
run train -m epochs.yaml -o runner.epochs=1 runner.model_save_path=alone runner.valid_data_dir=test
same_counts alone/0 data/20190720/*/part-0
run train -m epochs.yaml -o runner.epochs=3 runner.model_save_path=alone runner.valid_data_dir=test --resume
says "resuming from $PWD/alone/0" "the job continues with epoch 1"
run infer -m epochs.yaml -o runner.test_data_dir=test runner.infer_load_path=alone runner.infer_epoch=2 --json judged.json
near auc "$(grep "{epoch: 2," alone/best.yaml | sed 's/.* auc: \([0-9.]*\).*/\1/')" "$(number judged.json auc)" 1e-6
awk -v auc="$(number judged.json auc)" 'BEGIN { exit !(auc > 0.7) }' || fault "an AUC of $(number judged.json auc) after three epochs"
[ "$(cat alone/?/__skiff_manifest__ | grep -c "$(grep ^run: alone/0/__skiff_manifest__)")" = 3 ] || fault "epochs are not of one run"
touch alone/3
refuses train -m epochs.yaml -o runner.epochs=4 runner.model_save_path=alone --resume
says "no process saved the last epoch of the job, 3: " "alone/3 cannot be saved: there is a file of that name"
refuses train -m epochs.yaml -o runner.valid_interval=3
says "a job with sparse tables is validated only after each epoch; remove it, or train in one process without table_parameters"
refuses train -m epochs.yaml -o runner.sync_mode=geo runner.model_save_path=geo # a table of 100 rows
says "table_parameters have no effect here: neither geo nor ranks have sparse tables"

name="damage and wrong settings"
refuses infer -m epochs.yaml -o runner.test_data_dir=test runner.infer_load_path=job table_parameters.SparseFeatFactors.shard_num=4
says "job/0/000 has 3 files part-*, table SparseFeatFactors has shard_num 4"
sed '/^table_parameters/,$d' epochs.yaml >without.yaml
refuses infer -m without.yaml -o runner.test_data_dir=test runner.infer_load_path=job
says "job/0 contains sparse tables, but the config has no settings for them: add the table_parameters of the job that saved it"
cp -r job torn
truncate -s 100 torn/1/000/part-000-00000.gz
run infer -m epochs.yaml -o runner.test_data_dir=test runner.infer_load_path=torn
says "torn/1 is incomplete and is ignored" "torn/1/000/part-000-00000.gz" "Epoch: 0,"
rm torn/0/dnn_plugin/fc_0.w_0
refuses infer -m epochs.yaml -o runner.test_data_dir=test runner.infer_load_path=torn
says "torn/0 is incomplete and is ignored" "fc_0.w_0 is missing" "no epoch from 0 up to 2 in"

name="a table with settings beside one without"
for f in data/20190720/?/part-0 test/part-0; do awk '{ $6 -= 1e12 - 41; print }' $f >small && mv small $f; done # its ids are bounded
sed 's#rank/dnn#rank/deepfm#; s/SparseFeatFactors/second_order/' epochs.yaml >mixed.yaml
run launch --server_num 1 --worker_num 1 -m mixed.yaml -o runner.model_save_path=mixed runner.valid_data_dir=test
run infer -m mixed.yaml -o runner.test_data_dir=test runner.infer_load_path=mixed --json judged.json
says "table second_order: 70 rows are loaded"
near auc "$(grep "{epoch: 0," mixed/best.yaml | sed 's/.* auc: \([0-9.]*\).*/\1/')" "$(number judged.json auc)" 1e-6

name="rows beyond the limit of memory"
rm -r data && mkdir data
awk 'BEGIN { for (i = 0; i < 4000; i++) printf "1 %d 1 %d 1 %d\n", i % 3 == 0, 10 * i + 1, 10 * i + 5 }' >data/part-0
run launch --server_num 1 --worker_num 1 -m epochs.yaml -o runner.train_data_dir=data runner.model_save_path=wide
run infer -m epochs.yaml -o runner.test_data_dir=test runner.infer_load_path=wide runner.table_bytes=256K
says "rows were dropped for memory and are read as zeros; raise its memory_limit"

name="rows on disk, of a job and of who reads beside it"
disk="$(printf 'table_parameters.SparseFeatFactors.%s ' memory_policy=disk memory_limit=256K path=rows)"
head -n 300 data/part-0 >test/part-0
run launch --server_num 1 --worker_num 1 -m epochs.yaml -o runner.train_data_dir=data runner.model_save_path=wide \
    runner.valid_data_dir=test $disk
grep -q "table SparseFeatFactors: 8000 rows are loaded" log/workerlog.0 || fault "not 8000 rows"
judged=$(grep "{epoch: 0," wide/best.yaml | sed 's/.* loss: \([0-9.]*\).*/\1/')
for where in "" "$disk"; do
    run infer -m epochs.yaml -o runner.test_data_dir=test runner.infer_load_path=wide $where --json judged.json
    says "table SparseFeatFactors: 8000 rows are loaded"
    near "loss ${where:+on disk}" "$judged" "$(number judged.json loss)" 1e-6
done
[ -z "$(ls -A rows)" ] || fault "rows holds $(ls -A rows)"
run train -m epochs.yaml -o runner.train_data_dir=data runner.model_save_path=wide ${disk/table_parameters.SparseFeatFactors.path=rows/}
[ ! -e skiff-tables ] || fault "the folder of rows stays when no setting names it"

name="rows on disk come to memory before their batch"
awk 'BEGIN { srand(4); for (i = 0; i < 20000; i++) printf "1 %d 1 %d 1 %d\n", rand() < 0.3, 1 + int(rand() * 30000), 1e6 + int(rand() * 30000) }' >data/part-0
disk="runner.train_data_dir=data runner.epochs=2 runner.thread_num=1 runner.train_batch_size=100 ${disk/256K/1M}"
ahead() { # FILE: some 45000 rows are read from disk, hardly any of them by chance before they are asked for
    awk -v n="$(sed -n 's/.* \([0-9]*\) prefetched.*/\1/p' "$1" | tail -n 1)" 'BEGIN { exit !(n > 30000) }' ||
        fault "$2: $(grep "prefetched" "$1" | tail -n 1)"
}
run train -m epochs.yaml -o runner.model_save_path=ahead $disk
ahead said "one process"
for mode in async half_async sync; do
    run launch --server_num 1 --worker_num 1 -m epochs.yaml -o runner.sync_mode=$mode runner.model_save_path=ahead_$mode $disk
    ahead log/serverlog.0 $mode
done
name="one process says its fault once, by epochs and online"
once() { # TEXT: in one line, which is the last; nothing is said of workers or servers that have died
    says "$1"
    [ "$(grep -cF -- "$1" said)" = 1 ] || fault "says it $(grep -cF -- "$1" said) times"
    [[ "$(tail -n 1 said)" == *"$1"* ]] || fault "the last line is another"
    grep -q "WARN\|died\|declared dead" said && fault "says more than that"
}
mkdir -p torn/20190720/1 torn/20190720/2
rows 1 100 >torn/20190720/1/part-0
(rows 2 100; echo "1 0 1 x 1 5") >torn/20190720/2/part-0
refuses train -m epochs.yaml -o runner.train_data_dir=torn/20190720/2 runner.model_save_path=torn_epochs
once "part-0:101: "
refuses train -m online.yaml -o runner.train_data_dir=torn runner.model_save_path=torn_online
once "part-0:101: "
run train -m epochs.yaml -o runner.train_data_dir=torn/20190720/1 runner.model_save_path=good
rm good/0/__skiff_manifest__ good/0/000/part-000-00001.gz
refuses train -m epochs.yaml -o runner.train_data_dir=torn/20190720/1 runner.model_init_path=good/0 runner.model_save_path=more
once "good/0/000 has 2 files part-*, table SparseFeatFactors has shard_num 3"
exit $failed
