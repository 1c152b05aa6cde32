#!/usr/bin/env bash
# skiff predict as a user calls it: every reader, with and without labels, order with threads, ids, standard input, bad lines,
# which model is taken, and what is said when something is wrong. Dumps (runner.need_dump), and an AUC that there is not.
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
. "$(dirname "$0")/../words.sh"
cd "$work" || exit 1
run() { # STATUS COMMAND...: exit status as given; messages in log, predictions in out
    local want=$1
    shift
    "$skiff" "$@" >out 2>log </dev/null
    local got=$?
    check "skiff $* ended with $got, not $want" test "$got" = "$want"
}
prints() { check "output holds: $1" grep -qF -- "$1" out; }
same() { check "$1 and $2 are the same" cmp "$1" "$2"; }
# The same rows, but for the last digit: numbers depend on how rows come together in batches.
close() { check "$1 and $2 are the same" bash -c 'paste "$1" "$2" | awk -F"\t" "{ n = NF / 2; d = \$1 - \$(n + 1); if (NF % 2 || d > 2e-6 || d < -2e-6 || \$n != \$NF && n > 1) bad = 1 } END { exit bad || !NR }" && [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ]' - "$1" "$2"; }
lines() { check "$1 has $2 lines, not $(wc -l <"$1")" test "$(wc -l <"$1")" = "$2"; }

"$skiff" synth --rows 3000 --test-rows 3000 --files 2 --out data >/dev/null || exit 1
cat data/test/* >labelled.tsv
rows=$(wc -l <labelled.tsv)
cut -f2- labelled.tsv >bare.tsv
cat >model.yaml <<YAML
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_feature_number: 10007
  sparse_feature_dim: 4
  fc_sizes: [16, 8]
YAML
config() { # NAME LINES...: a config of the model with these lines under runner
    local name=$1
    shift
    { echo "runner:"; printf '  %s\n' "model: rank/dnn" "train_batch_size: 100" "epochs: 2" "model_save_path: out_$name" "$@"; cat model.yaml; } >"$name.yaml"
}

# ---- criteo: labels or none, threads, standard input, files ----
config criteo "input_format: criteo" "train_data_dir: data/train" "test_data_dir: data/test"
run 0 train -m criteo.yaml
run 0 infer -m criteo.yaml
auc=$(sed -n 's/^Epoch: 1,.* auc: \([0-9.]*\) .*/\1/p' out)
run 0 predict -m criteo.yaml
says "predicting with $work/out_criteo/1"
check "the run is named" grep -qE "it belongs to run [0-9a-f]{8}, has 3000 samples of the epoch, and was saved 20" log
says "$rows rows in "
says ", written to standard output"
lines out "$rows"
check "a probability a line" bash -c "! grep -vE '^(0\.[0-9]+|[0-9.]+e-[0-9]+|1|0)$' out"
cp out all
# the same AUC as infer's: so they are the rows' own, in their order
mine=$(paste <(cut -f1 labelled.tsv) all | sort -k2,2g | awk '{ if ($1 > 0) { pos++; sum += NR } else neg++ } END { printf "%.3f", (sum - pos * (pos + 1) / 2) / pos / neg }')
check "AUC of the predictions $mine, of infer $auc" awk -v a="$mine" -v b="$auc" 'BEGIN { exit !(a - b < 0.002 && b - a < 0.002) }'
for threads in 1 2 5; do
    run 0 predict -m criteo.yaml --input labelled.tsv -o "runner.thread_num=$threads"
    same out all
    run 0 predict -m criteo.yaml --input labelled.tsv -o "runner.thread_num=$threads" runner.infer_batch_size=7
    [ "$threads" = 1 ] && cp out by_seven
    same out by_seven
done
close by_seven all
check "two lines changed places are seen" bash -c "! cmp -s <(sed '1{h;d};2{G}' all) all"
run 0 predict -m criteo.yaml --input bare.tsv --output bare.txt -o runner.thread_num=3
says "$rows rows in "
says ", written to bare.txt"
same bare.txt all
check "nothing on standard output" test ! -s out
"$skiff" predict -m criteo.yaml --input - <bare.tsv >out 2>log
check "standard input" cmp out all
gzip -c bare.tsv >bare.gz
run 0 predict -m criteo.yaml --input bare.gz
same out all
run 0 predict -m criteo.yaml --output /dev/null
check "a device is written to, not replaced" test -c /dev/null
# lines come out while input still comes in
mkfifo rows
"$skiff" predict -m criteo.yaml --input rows -o runner.infer_batch_size=10 >out 2>log &
pid=$!
exec 9>rows
head -n 25 bare.tsv >&9
for _ in $(seq 400); do [ "$(wc -l <out)" -ge 10 ] && break; sleep 0.05; done
check "predictions come out before the input ends" test "$(wc -l <out)" -ge 10
exec 9>&-
wait $pid
head -n 25 all >first_rows
close out first_rows
# Ctrl-C: nothing half written
mkfifo more
"$skiff" predict -m criteo.yaml --input more --output half.txt >out 2>log &
pid=$!
exec 9>more
head -n 25 bare.tsv >&9
for _ in $(seq 400); do grep -q "predicting with" log && break; sleep 0.05; done
kill -INT $pid
wait $pid
check "interrupted: status 1" test $? = 1
exec 9>&-
says "skiff predict: stopped after"
says "the output was not written"
check "no half file" test -z "$(find . -name '*half.txt*')"
# an output that fails ends it, though the input is still open
"$skiff" predict -m criteo.yaml --input more --output /dev/full -o runner.infer_batch_size=10 >out 2>log &
pid=$!
exec 9>more
head -n 15 bare.tsv >&9
wait $pid
check "a full output: status 1" test $? = 1
says "predictions cannot be written: No space left on device"
exec 9>&-
# what went to standard output is there: nothing else is said
"$skiff" predict -m criteo.yaml --input more --output - -o runner.infer_batch_size=10 >out 2>log &
pid=$!
exec 9>more
head -n 25 bare.tsv >&9
for _ in $(seq 400); do [ "$(wc -l <out)" -ge 20 ] && break; sleep 0.05; done
kill -INT $pid
wait $pid
check "interrupted: status 1" test $? = 1
exec 9>&-
says "skiff predict: stopped after $(wc -l <out) rows"
check "its output was written" test "$(grep -c 'not written' log)" = 0

# ---- bad lines ----
{ sed -n 1,3p bare.tsv; echo "junk"; sed -n 4,5p bare.tsv; echo; echo; sed -n 6p bare.tsv; } >bad.tsv
run 1 predict -m criteo.yaml --input bad.tsv --output never.txt
says "bad.tsv:4: expected 40 columns with a tab between them (39 without a label), found 1"
check "no output" test ! -e never.txt
run 1 predict -m criteo.yaml --input bad.tsv
head -n 3 all >first_rows
close out first_rows
run 0 predict -m criteo.yaml --input bad.tsv -o runner.bad_lines=3
check "nan in the places of bad lines" test "$(grep -n nan out | tr '\n' ' ')" = "4:nan 7:nan 8:nan "
grep -v nan out >kept
head -n 6 all >first_rows
close kept first_rows
says "bad.tsv:4: expected 40 columns"
says "nan instead of a prediction for 3 bad lines"
run 1 predict -m criteo.yaml --input bad.tsv -o runner.bad_lines=2
says "more than 2 bad lines"
yes junk | head -n 12 | cat - bare.tsv >many.tsv
run 0 predict -m criteo.yaml --input many.tsv -o runner.bad_lines=-1
says "further bad lines are only counted"
check "12 of them" test "$(grep -c '^nan$' out)" = 12
: >empty
run 0 predict -m criteo.yaml --input empty
says "no rows in empty: nothing was predicted"
check "nothing" test ! -s out

# ---- what is wrong ----
run 1 predict -m criteo.yaml --input nowhere
says "--input: nowhere: there is no such file or folder"
run 1 predict -m criteo.yaml --output data
says "--output data is a folder; expected a file"
cp labelled.tsv own.tsv
run 1 predict -m criteo.yaml --input own.tsv --output own.tsv
says "--output own.tsv is the input"
same own.tsv labelled.tsv
run 1 predict -m criteo.yaml -o runner.model_save_path=not_there
says "not_there to predict with: train first (skiff train), or name a model (--model PATH)"
run 1 predict -m criteo.yaml --epoch 7
says "out_criteo/7 contains no saved model"
run 2 predict -m criteo.yaml --epoch 1 --model out_criteo/1
says "--epoch and --model exclude each other; give one of them"
run 2 predict --input labelled.tsv
says "a config is required: skiff predict config.yaml"
run 1 predict -m criteo.yaml --model nowhere
says "nowhere"
{ echo "runner:"; echo "  model: recall/word2vec"; echo "  test_data_dir: data/test"; } >word2vec.yaml
run 1 predict -m word2vec.yaml
says "recall/word2vec has no prediction for a row"

# ---- which model ----
run 0 predict -m criteo.yaml --epoch 0
says "predicting with $work/out_criteo/0"
cp out first
check "another epoch, other numbers" bash -c "! cmp -s first all"
run 0 predict -m criteo.yaml --model out_criteo/0
same out first
run 0 predict -m criteo.yaml --model out_criteo/0/rec_static
same out first
cp -r out_criteo best
printf 'epoch: 0\nbatch: 30\nend: True\nmetric: auc\nvalue: 0.7\nmodel: "0"\nrun: "%s"\npoints: []\n' "$(sed -n 's/^run: //p' best/1/__skiff_manifest__)" >best/best.yaml
run 0 predict -m criteo.yaml -o runner.infer_load_path=best
says "predicting with $work/best/0, the best of the run"
same out first
sed -i 's/"0"/"9"/' best/best.yaml # not there: the newest
run 0 predict -m criteo.yaml -o runner.infer_load_path=best
same out all
sed -i 's/"9"/"0"/; s/^run: .*/run: another/' best/best.yaml # not this run's
run 0 predict -m criteo.yaml -o runner.infer_load_path=best
says "predicting with $work/best/1"
same out all
echo "{" >best/best.yaml
run 0 predict -m criteo.yaml -o runner.infer_load_path=best
says "the best epoch is not known: "
same out all
truncate -s 100 best/1/rec_static.pdparams
run 0 predict -m criteo.yaml -o runner.infer_load_path=best
says "best/1 is incomplete and is ignored"
says "predicting with $work/best/0"
same out first
run 1 predict -m criteo.yaml -o runner.infer_load_path=best --epoch 1
says "the newest complete epoch is $work/best/0"
run 0 train -m criteo.yaml -o runner.use_inference=True runner.model_save_path=with_inference
mkdir inference
(cd with_inference/1 && cp -r $(ls | grep -v "rec_static\|skiff_manifest") ../../inference)
run 0 predict -m criteo.yaml -o runner.infer_load_path=with_inference
cp out trained
run 0 predict -m criteo.yaml --model inference
says "predicting with inference"
same out trained

# ---- the other readers: with and without labels, with ids ----
awk -F'\t' -v OFS=, 'BEGIN { printf "row,label"; for (i = 1; i <= 13; i++) printf ",dense_input"; for (i = 1; i <= 26; i++) printf ",C%d", i; print "" }
    { printf "r%d,%s", NR, ($1 > 0 ? "yes" : "no"); for (i = 2; i <= 40; i++) printf ",%s", $i; print "" }' labelled.tsv >named.csv
sed 's/,yes,/,1,/; s/,no,/,0,/' named.csv >labelled.csv
cut -d, -f1,3- labelled.csv >bare.csv
config csv "input_format: csv" "input_hash_size: 10007" "input_id: row" "train_data_dir: labelled.csv" "test_data_dir: bare.csv"
run 0 train -m csv.yaml
run 0 predict -m csv.yaml
lines out "$rows"
check "ids behind a tab" cmp <(cut -f2 out) <(seq -f 'r%g' "$rows")
cp out csv_bare
for file in labelled.csv named.csv; do # a label that is no number is not looked at
    run 0 predict -m csv.yaml --input "$file" -o runner.thread_num=2 runner.infer_batch_size=11
    close out csv_bare
done
run 1 predict -m csv.yaml -o runner.input_id=nowhere
says "bare.csv: header: no column \"nowhere\", which the setting id names (40 columns)"
run 1 infer -m csv.yaml
says "runner.test_data_dir has rows without labels, which cannot be evaluated; skiff predict csv.yaml predicts them"
says "header: no column for slot \"label\""
# a label that is there, and is neither of the two: not a row without one
words=(runner.test_data_dir=words.csv runner.input_positive=yes runner.input_negative=no)
sed '2s/,\(yes\|no\),/,maybe,/' named.csv >words.csv
run 1 infer -m csv.yaml -o "${words[@]}"
says 'expected yes or no, found "maybe" (an unknown label)'
check "not: rows without labels" bash -c '! grep -q "without labels" log'
sed '2s/,\(yes\|no\),/,,/' named.csv >words.csv
run 1 infer -m csv.yaml -o "${words[@]}"
says "has rows without labels"
run 1 infer -m csv.yaml -o "${words[@]}" "runner.input_positive=[yes, maybe]"
says "csv.yaml: runner.input_positive: one label is expected, found a list of 2 (yes, maybe)"
# without a header
columns="input_columns: [\"-\", label, dense_input*13, $(seq -s, -f C%g 26)]"
tail -n +2 labelled.csv >headless.csv
tail -n +2 bare.csv >headless_bare.csv
config headless "input_format: csv" "input_hash_size: 10007" "input_header: False" "$columns" "input_id: 1" "test_data_dir: headless.csv"
for file in headless.csv headless_bare.csv; do
    run 0 predict -m headless.yaml --input $file --model out_csv/1
    same out csv_bare
done
run 1 predict -m headless.yaml --model out_csv/1 -o runner.input_id=row
says "id: row: without a header line it is a column's number, from 1"
run 1 predict -m headless.yaml --model out_csv/1 --input model.yaml
says "model.yaml:1: expected 41 columns, found 1"

awk -F'\t' 'function id(v, i) { n = 0; for (k = 1; k <= length(v); k++) n = (n * 31 + index("0123456789abcdef", substr(v, k, 1)) + i) % 10007; return n }
    { printf "1 %s", $1 > "multislot"; printf "click:%s", $1 > "slots"; printf "%s:1", $1 > "signs"; bare = ""; named = ""; signed = ""
      for (i = 15; i <= 40; i++) { bare = bare " 1 " id($i, i); named = named " " i - 14 ":" id($i, i) }
      bare = bare " 13"; for (i = 2; i <= 14; i++) { v = $i == "" ? 0 : $i / 100; bare = bare " " v; named = named " dense_feature:" v }
      print bare > "multislot"; print named > "slots"; print substr(bare, 2) > "multislot_bare"; print substr(named, 2) > "slots_bare" }' labelled.tsv
config multislot "input_format: multislot" "train_data_dir: multislot" "test_data_dir: multislot_bare"
run 0 train -m multislot.yaml
run 0 predict -m multislot.yaml
lines out "$rows"
cp out multislot_all
run 0 predict -m multislot.yaml --input multislot -o runner.thread_num=2
same out multislot_all
run 1 infer -m multislot.yaml
says "has rows without labels, which cannot be evaluated"
sed 's/^/1 id_/; s/id_/&x /' multislot_bare >multislot_ids # every line: 1 id_x ...
run 0 predict -m multislot.yaml --input multislot_ids -o runner.parse_ins_id=True
same <(cut -f1 out) multislot_all
check "ins_id behind a tab" test "$(cut -f2 out | sort -u)" = id_x
run 0 predict -m multislot.yaml -o runner.input_format= "runner.pipe_command=cat -u" # a pipe command's lines
same out multislot_all
# an id beyond the table is a bad line, and so keeps its place
sed '2s/ 1 [0-9]* / 1 99999 /; 5s/ 1 [0-9]* / 1 -3 /' multislot >strange
run 1 predict -m multislot.yaml --input strange
says "strange:2: slot \"C1\""
run 0 predict -m multislot.yaml --input strange -o runner.bad_lines=2
check "nan in their places" test "$(grep -n nan out | tr '\n' ' ')" = "2:nan 5:nan "
sed '2d;5d' multislot_all >others
sed '2d;5d' out >kept
close kept others
config slots "input_format: slot_text" "train_data_dir: slots" "test_data_dir: slots_bare"
run 0 train -m slots.yaml
run 0 predict -m slots.yaml
lines out "$rows"
cp out slots_all
run 0 predict -m slots.yaml --input slots -o runner.thread_num=2
same out slots_all
run 1 infer -m slots.yaml
says "has rows without labels, which cannot be evaluated"
run 0 infer -m slots.yaml -o runner.input_label=False # told to take them for 0: no clicks
prints " auc: undefined (no clicks)"
prints "auc undefined: no clicks"
check "no AUC of 0" bash -c "! grep -q 'auc: 0.0000' out"
says "auc is undefined: there are no clicks in runner.test_data_dir; rows without labels can be predicted (skiff predict) but not evaluated"

# libsvm: indices as ids and as dense values; sign_slot: ids before a tab
cat >small.yaml <<YAML
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_inputs_slots: 2
  sparse_feature_number: 101
  sparse_feature_dim: 4
  dense_input_dim: 13
  multi_value: True
  fc_sizes: [8]
YAML
cp small.yaml model.yaml
awk 'BEGIN { srand(3); for (i = 0; i < 600; i++) { y = rand() < 0.4; s = ""; for (k = 1; k <= 13; k++) if (rand() < (y ? 0.6 : 0.3)) s = s " " k ":" rand(); print y s } }' >svm
sed 's/^[01] *//; s/^$/1:0/' svm >svm_bare
sed 's/^\([01]\)$/\1 1:0/' svm >svm_labelled
config libsvm "input_format: libsvm" "train_data_dir: svm" "test_data_dir: svm_bare"
run 0 train -m libsvm.yaml
run 0 predict -m libsvm.yaml
lines out 600
cp out svm_all
run 0 predict -m libsvm.yaml --input svm_labelled -o runner.thread_num=2 runner.infer_batch_size=13
close out svm_all
run 1 infer -m libsvm.yaml
says "has rows without labels, which cannot be evaluated"
cat >signs.yaml <<YAML
runner: {model: rank/dnn, input_format: sign_slot, train_data_dir: signs.txt, test_data_dir: signs_bare, model_save_path: out_signs, input_slots: [1, 2, 3]}
YAML
sed "s/dense_input_dim: 13/dense_input_dim: 1/" small.yaml >>signs.yaml
awk 'BEGIN { srand(5); for (i = 0; i < 200; i++) { a = int(rand() * 100); s = a ":2 0.5:3"; print "q" i "\t" s > "signs_bare"; print "q" i "\t" (a % 2) ":1 " s > "signs.txt" } }'
run 0 train -m signs.yaml
run 0 predict -m signs.yaml
check "ids before the tab" cmp <(cut -f2 out) <(seq -f 'q%g' 0 199)
cp out signs_all
run 0 predict -m signs.yaml --input signs.txt
same out signs_all

# ---- a pipe that pauses: what is there is answered ----
mkfifo pause
"$skiff" predict -m criteo.yaml --input pause >answers 2>log &
pids+=($!)
exec 7>pause
for n in 1 3 4; do
    head -n $n bare.tsv | tail -n $((n > 1 ? n - 1 - (n == 4) * 2 : 1)) >&7
    for _ in $(seq 200); do [ "$(wc -l <answers)" = $n ] && break; sleep 0.1; done
    check "$n answers before the input ends" test "$(wc -l <answers)" = $n
done
exec 7>&-
wait "${pids[-1]}"
check "predict of a pipe ends well" test $? = 0
head -n 4 bare.tsv >four.tsv
run 0 predict -m criteo.yaml --input four.tsv
close answers out

# ---- one class only ----
grep "^0" labelled.tsv >noes.tsv
grep "^1" labelled.tsv >yeses.tsv
run 0 train -m criteo.yaml -o runner.train_data_dir=noes.tsv runner.epochs=1 runner.model_save_path=out_noes
check "train's line" grep -qE "^Epoch: 0, .* auc: undefined \(no clicks\)$" out
prints "auc undefined: no clicks"
run 0 infer -m criteo.yaml -o runner.test_data_dir=yeses.tsv
check "infer's line" grep -qE "^Epoch: 1, .* auc: undefined \(nothing but clicks\) log_loss: [0-9.]+ copc: [0-9.]+$" out
says "auc is undefined: there are nothing but clicks in runner.test_data_dir"

# ---- dumps ----
run 1 train -m multislot.yaml -o runner.need_dump=True
says "runner.need_dump needs runner.dump_fields_path (a folder) and runner.dump_fields (names of variables)"
dump=(runner.need_dump=True runner.dump_fields_path=dump "runner.dump_fields=[label,C1,fc_0.tmp_0@GRAD]" "runner.dump_param=[fc_2.b_0]")
run 1 train -m multislot.yaml -o "${dump[@]}" "runner.dump_param=[nothing]"
says "runner.dump_param has nothing, which is not a variable of the network"
awk '{ print "1 s" NR " " $0 }' multislot >multislot_named
run 0 train -m multislot.yaml -o "${dump[@]}" runner.parse_ins_id=True runner.train_data_dir=multislot_named runner.epochs=1 runner.model_save_path=out_dump
part=dump/epoch_0/part-000-00000
check "a line a sample, one a batch" test "$(grep -c '^s' $part)/$(grep -c '^(' $part)" = "3000/30"
check "id, label, C1 of sample 5" grep -qE "^s5		label:1:$(sed -n 5p multislot | cut -d' ' -f2)	C1:1:$(sed -n 5p multislot | cut -d' ' -f4)	fc_0.tmp_0@GRAD:16(:[-0-9.e]+){16}$" $part
check "the parameter after batch 0" grep -qE '^\(0,fc_2.b_0\)(:[-0-9.e]+)+$' $part
run 0 infer -m multislot.yaml -o "${dump[@]}" runner.test_data_dir=multislot runner.dump_fields_path=dump2 runner.thread_num=2
says "runner.dump_fields: fc_0.tmp_0@GRAD is ignored: there are no gradients without training"
check "every epoch that is judged, all samples" test "$(cat dump2/epoch_1/part-000-* | grep -c '^	label:1:')" = 3000
mkdir locked_file && touch locked_file/epoch_0
run 1 train -m multislot.yaml -o "${dump[@]}" runner.dump_fields_path=locked_file
says "runner.dump_fields_path: "
exit $failed
