#!/usr/bin/env bash
# Online training in one process: days and passes, donefiles, waiting for data; killed anywhere, it ends where a run in one
# piece does.
set -uo pipefail
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
build=$(realpath "${BUILD:-build}")
skiff=$build/skiff
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
work=$(mktemp -d)
child=
trap '[ -z "$child" ] || kill -9 "$child" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fault() { echo "$name: $*"; tail -n 5 log 2>/dev/null | sed 's/^/    /'; failed=1; }
says() { for text in "$@"; do grep -qF -- "$text" log || fault "does not say: $text"; done; }

"$skiff" synth --rows 800 --test-rows 10 --files 1 --out d >/dev/null || exit 1
n=0
for day in 20190720 20190721; do
    for hour in 0000 1200; do
        mkdir -p data/$day/$hour
        tail -n +$((n * 200 + 1)) d/train/part-000 | head -n 200 >data/$day/$hour/part-0
        touch data/$day/$hour/data.done
        n=$((n + 1))
    done
done
cat >config.yaml <<'END'
runner:
  model: rank/dnn
  train_data_dir: data
  input_format: criteo
  train_batch_size: 50
  split_interval: 720
  split_per_pass: 1
  start_day: "20190720"
  end_day: "20190721"
  checkpoint_per_pass: 1
  save_delta_frequency: 1
  save_first_base: True
  data_donefile: data.done
  data_sleep_second: 0.2
  reader_type: InmemoryDataset
  model_save_path: model
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.001}
  sparse_inputs_slots: 27
  sparse_feature_number: 1001
  sparse_feature_dim: 4
  dense_input_dim: 13
  fc_sizes: [8]
END
train() { "$skiff" train -m config.yaml "$@" >log 2>&1; }
lines() { # what donefiles list, without times, folders and metrics
    cut -f 1,4,5 model/donefile.txt
    sed 's/.*model.\([^"]*\)".*/\1/' model/base_donefile.txt model/patch_donefile.txt
}
values() { (cd "model/$1" && find . -type f ! -name __skiff_manifest__ -exec sha256sum {} + | sort -k 2); }

name="a run in one piece"
train || fault "ended with $?"
says "online, days 20190720 to 20190721, 2 passes a day" "4 passes are trained, up to the end of 20190721" \
    "no sparse table: base and delta saves are complete models" "Day:20190720, Pass: 1, Infer Global Metric:  global AUC=" \
    "Day:20190721, Pass: 2, Train Global Metric:  global AUC=" "Ins number=200"
[ "$(grep -c "no sparse table" log)" = 1 ] || fault "says that more than once"
cat >expected <<'END'
20190720	1	0
20190721	-1	0
20190721	1	0
20190722	-1	0
20190720/base/000
20190721/base/000
20190722/base/000
20190720/delta-1/000
20190720/delta-2/000
20190721/delta-1/000
20190721/delta-2/000
END
lines >whole
diff whole expected || fault "donefiles list something else"
values 20190722/0 >whole_values
[ "$(wc -l <whole_values)" -gt 10 ] || fault "the last model has too few files"
while read -r path; do [ -s "$path/__model__" ] || fault "no model in $path"; done \
    < <(sed 's/.*"input": "\([^"]*\)".*/\1/' model/base_donefile.txt model/patch_donefile.txt)
# a delta belongs to the base before it
[ "$(sed -n 's/.*"key": "\([0-9]*\)".*21.base.*/\1/p' model/base_donefile.txt)" = \
    "$(sed -n 's/.*"key": "\([0-9]*\)".*21.delta-1.*/\1/p' model/patch_donefile.txt)" ] || fault "keys of base and delta differ"

name="again: nothing to do"
train || fault "ended with $?"
says "all days before 20190722 are trained" "0 passes to train: everything up to 20190721"

name="its models are judged as epochs are"
"$skiff" infer -m config.yaml -o runner.infer_load_path=model/20190721 runner.test_data_dir=data/20190721/0000/part-0 \
    runner.infer_start_epoch=1 >log 2>&1 || fault "infer ended with $?"
for epoch in 1 best; do
    "$skiff" infer -m config.yaml -o runner.test_data_dir=data/20190721/0000/part-0 runner.infer_epoch=$epoch >log 2>&1 \
        && fault "infer takes days for epochs"
    says "/model holds days and passes of online training: set runner.infer_load_path to the folder of one day, as "
done
"$skiff" predict -m config.yaml --input data/20190721/0000/part-0 >log 2>&1 && fault "predict takes days for epochs"
says "/model holds days and passes of online training: name one of its models, as --model $work/model/20190722/0"
for model in 0 base; do # of one instant; a base is the model for inference alone
    "$skiff" inspect model model/20190722/$model >log 2>&1 || fault "inspect ended with $?"
    says "a model of Paddle 1.x"
    "$skiff" predict -q -m config.yaml --input data/20190721/0000/part-0 --model model/20190722/$model --output $model.txt >log 2>&1 \
        || fault "predict ended with $?"
done
[ -s base.txt ] && cmp 0.txt base.txt || fault "the base predicts other numbers than the day's first model"

killed_at() { # N: killed at the n-th file operation below the models' folder, then started again
    name="killed at file operation $1"
    rm -rf model
    env LD_PRELOAD="$build/tests/libcut.so" SKIFF_TEST_CUT="kill:$1" SKIFF_TEST_CUT_BELOW=/model/ \
        "$skiff" train -m config.yaml >log 2>&1
    [ $? = 137 ] || fault "was not killed"
    train || fault "started again, it ended with $?"
    lines | diff - whole || fault "donefiles differ"
    values 20190722/0 | diff - whole_values >/dev/null || fault "the last model differs"
}
rm -rf model
env LD_PRELOAD="$build/tests/libcut.so" SKIFF_TEST_CUT=kill:1000000 SKIFF_TEST_CUT_BELOW=/model/ \
    SKIFF_TEST_CUT_LOG="$work/operations" "$skiff" train -m config.yaml >log 2>&1
total=$(wc -l <operations)
[ "$total" -gt 100 ] || fault "only $total file operations"
for i in 1 2 3 5 8 11 14 17 20 23; do killed_at $((total * i / 24)); done

name="a last line that is not whole"
printf '20190722\t17' >>model/donefile.txt
train || fault "ended with $?"
says "donefile.txt:5: the last line is incomplete and is ignored: \"20190722"

name="a line that is no line"
sed -i '1s/^/hello\n/' model/donefile.txt
train && fault "takes it"
says "donefile.txt:1: expected day, key, folder, pass and 0, separated by tabs, found \"hello\""
sed -i 1d model/donefile.txt

name="a model that is not whole is left out"
rm -rf model/20190722/0/fc_0.w_0 model/20190722/0/learning_rate_0
train || fault "ended with $?"
says "model/20190722/0 is incomplete and is ignored" "resuming from" "model/20190721/1" "1 passes are trained"
lines | diff - whole || fault "donefiles differ"
values 20190722/0 | diff - whole_values >/dev/null || fault "the last model differs"

name="waits for data, and ends well when told to"
rm data/20190721/1200/data.done
rm -rf model
"$skiff" train -m config.yaml >log 2>&1 &
child=$!
for _ in $(seq 300); do grep -q "waiting for" log && break; sleep 0.1; done
says "day 20190721, pass 2: waiting for $work/data/20190721/1200/data.done, checking every 0.2 s"
kill -INT $child
wait $child
[ $? = 1 ] || fault "ended with another status than 1"
says "stopped in pass 2 of 20190721"
name="goes on when data comes"
"$skiff" train -m config.yaml >log 2>&1 &
child=$!
for _ in $(seq 300); do grep -q "waiting for" log && break; sleep 0.1; done
touch data/20190721/1200/data.done
wait $child || fault "ended with $?"
child=
lines | diff - whole || fault "donefiles differ"
values 20190722/0 | diff - whole_values >/dev/null || fault "the last model differs"

name="without data_donefile a missing folder is an error"
train --overwrite -o runner.data_donefile= runner.end_day=20190722 && fault "ended well"
says "models of earlier runs from" "no folder $work/data/20190722/0000" "set runner.data_donefile to wait"

name="a pass without files"
mkdir -p data/20190722/0000 data/20190722/1200
train -o runner.data_donefile= runner.end_day=20190722 || fault "ended with $?"
says "day 20190722, pass 1: no files" "2 passes are trained"

name="passes by number"
mkdir -p old/20200101/1 old/20200102/1
cp data/20190720/0000/part-0 old/20200101/1/
cp data/20190720/1200/part-0 old/20200102/1/
grep -v "split_\|_day\|donefile\|first_base" config.yaml >old.yaml
"$skiff" train -m old.yaml -o runner.days="{20200101..20200102}" runner.pass_per_day=1 runner.train_data_dir=old \
    runner.model_save_path=oldmodel >log 2>&1 || fault "ended with $?"
cut -f 1,4 oldmodel/donefile.txt | diff - <(printf '20200102\t-1\n20200103\t-1\n') || fault "donefile differs"

name="the report, and a dump of every sample"
train -o runner.model_save_path=seen runner.need_dump=True runner.dump_fields_path=dump "runner.dump_fields=[label,fc_0.tmp_0@GRAD]" ||
    fault "ended with $?"
[ "$(ls dump | xargs)" = "20190720_pass_1 20190720_pass_2 20190721_pass_1 20190721_pass_2" ] || fault "dumped $(ls dump | xargs)"
for pass in dump/*; do
    [ "$(cat $pass/part-* | grep -c 'label:1:[01].*GRAD')" = 200 ] || fault "$pass has $(cat $pass/part-* | wc -l) lines"
done
python3 - <<'PY' || fault "the report is wrong"
import json
j = json.load(open("seen/report.json"))
assert [e["epoch"] for e in j["epochs"]] == [0, 1, 2, 3], j["epochs"]
assert [e["samples"] for e in j["epochs"]] == [200] * 4, j["epochs"]
assert j["points"] and j["slots"], j.keys()
PY
[ -s seen/report.html ] || fault "there is no report.html"

name="keys of other ways to train are refused"
train -o runner.keep_epochs=2 && fault "takes keep_epochs"
says "runner.keep_epochs is not supported in online training"

name="models are validated when they are saved"
train -o runner.model_save_path=valid runner.valid_data_dir=d/test || fault "ended with $?"
[ "$(sed -n 's/^valid: \(.*\): \(auc\|log\).*/\1/p' log | xargs)" = \
    "before training 20190720 pass 1 20190720 pass 2 20190721 pass 1 20190721 pass 2" ] || fault "validated $(grep ^valid log)"
[ "$(grep -c "end: True" valid/best.yaml)" = 4 ] || fault "best.yaml: $(cat valid/best.yaml)"
rm -r valid
train -o runner.model_save_path=valid runner.valid_data_dir=d/test runner.early_stop=1 runner.early_stop_delta=10 || fault "ended with $?"
says "early stop: 2 validations in a row without an improvement"
[ "$(grep -c "^Day.*Train Global" log)" = 3 ] || fault "an early stop trains on"
says "3 passes are trained, up to pass 1 of 20190721"

name="an early stop saves the last pass"
rm -r valid
train -o runner.model_save_path=valid runner.valid_data_dir=d/test runner.early_stop=2 runner.early_stop_delta=10 \
    || fault "ended with $?"
says "4 passes are trained, up to the end of 20190721" "early stop: "
[ "$(tail -n 1 valid/donefile.txt | cut -f 1,4)" = $'20190722\t-1' ] || fault "not listed: $(tail -n 1 valid/donefile.txt)"
rm -r valid
cp -r data four
for day in 20190720 20190721; do cp -r four/$day/0000 four/$day/0600 && cp -r four/$day/1200 four/$day/1800; done
train -o runner.train_data_dir=four runner.split_interval=360 runner.checkpoint_per_pass=3 runner.model_save_path=valid \
    runner.valid_data_dir=d/test runner.early_stop=1 runner.early_stop_delta=10 || fault "ended with $?"
says "5 passes are trained, up to pass 1 of 20190721"
[ "$(tail -n 1 valid/donefile.txt | cut -f 1,4)" = $'20190721\t1' ] || fault "not listed: $(tail -n 1 valid/donefile.txt)"

name="wrong days"
train -o runner.end_day=20190719 && fault "takes it"
says "-o runner.end_day is 20190719, before runner.start_day, which is 20190720"

name="a folder that nobody may write to"
if [ "$(id -u)" != 0 ]; then
    mkdir closed && chmod a-w closed
    train -o runner.model_save_path=closed/model && fault "ended well"
fi
exit $failed
