#!/usr/bin/env bash
# The whole way from somebody's own table to predictions, with no file edited: skiff init, train, infer, predict. New rows come
# with and without labels, with columns in another order, compressed, from a pipe; the AUC of what predict prints, computed
# here, is what infer says. Tables are those of tables.awk and one as spreadsheets write them.
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/../words.sh"
cd "$work" || exit 1
table() { # KIND ROWS [HEADER]
    awk -v kind="$1" -v n="$2" -v seed=5 -v header="${3:-}" -v truth=/dev/null -f "$here/tables.awk"
}
auc_of() { # LABELS PREDICTIONS: files with a line a row; ties count half
    paste "$1" "$2" | sort -k2,2g | awk '
        $2 != last { flush() } { last = $2; if ($1 > 0) p++; else n++ } END { flush(); printf "%.4f\n", area / up / down }
        function flush() { area += p * (down + n / 2); up += p; down += n; p = n = 0 }'
}
# DIR TABLE LABELS-OF FLAG...: init, train, infer, predict; leaves DIR/labels (by LABELS-OF, a filter of the test rows), DIR/p,
# and the AUC of infer's last epoch in $auc
way() {
    local dir=$1 file=$2 labels=$3 mine
    shift 3
    run 0 init --data "$file" --out "$dir" "$@"
    cp log "$dir/seen"
    check "$dir: what comes next is told" grep -qF "  skiff predict $dir/config.yaml --input NEW --output predictions.txt" log
    cp "$dir/config.yaml" "$dir/config.before"
    run 0 train -m "$dir/config.yaml"
    run 0 infer -m "$dir/config.yaml"
    auc=$(awk '$1 == "epoch" { rows = $2 == "samples" } rows && $1 ~ /^[0-9]+\*?$/ { auc = $5 } END { print auc }' log)
    run 0 predict -m "$dir/config.yaml" --output "$dir/p"
    check "$dir: the config is as init wrote it" cmp -s "$dir/config.yaml" "$dir/config.before"
    cat "$dir"/test/part-* | bash -c "$labels" >"$dir/labels"
    check "$dir: a line a row" test "$(wc -l <"$dir/p")" = "$(wc -l <"$dir/labels")"
    mine=$(auc_of "$dir/labels" <(cut -f1 "$dir/p"))
    echo "$dir: auc $auc of infer, $mine of predictions"
    # infer's AUC comes from buckets, as Paddle's
    check "$dir: auc $mine, infer says $auc" awk -v a="$mine" -v b="${auc:-0}" 'BEGIN { d = a - b; exit !(d <= 0.0002 && d >= -0.0002) }'
}
at_least() { check "auc $auc, at least $1" awk -v a="${auc:-0}" -v b="$1" 'BEGIN { exit !(a >= b) }'; }
predicts() { # DIR INPUT FLAG...: the same predictions as for the test rows
    local dir=$1 input=$2
    shift 2
    run 0 predict -m "$dir/config.yaml" --input "$input" --output again "$@"
    check "$dir: predictions for $input are the same" cmp -s again "$dir/p"
}

# ---- census, without and with a header ----
table census 12000 >census.data
way census census.data "awk '{ print (\$NF == \">50K\") }'"
at_least 0.84
sed 's/, [^,]*$//' census/test/part-00000.csv >bare.csv
predicts census bare.csv -o runner.thread_num=2
gzip -k bare.csv
predicts census bare.csv.gz
"$skiff" predict -m census/config.yaml --input - <bare.csv >again 2>log
check "census: from a pipe" cmp -s again census/p
predicts census bare.csv -q
check "census: -q says nothing" test ! -s log

table census 12000 header >census.csv
way named census.csv "tail -n +2 | awk '{ print (\$NF == \">50K\") }'"
python3 - named/test/part-00000.csv <<'PY'
import csv, sys
rows = [row[:-1] for row in csv.reader(open(sys.argv[1]), skipinitialspace=True)]
csv.writer(open("other.csv", "w")).writerows([["comment"] + row[::-1] for row in rows])
strange = [rows[0], ["", "never-seen", *rows[1][2:]], ["?" for _ in rows[0]]]
csv.writer(open("strange.csv", "w")).writerows(strange)
csv.writer(open("wrong.csv", "w")).writerows([rows[0], ["N.N."] + rows[1][1:]])
PY
predicts named other.csv
run 0 predict -m named/config.yaml --input strange.csv --output again
check "new values and missing cells are predicted" awk '{ if (!($1 > 0 && $1 < 1)) bad = 1 } END { exit bad || NR != 2 }' again
run 1 predict -m named/config.yaml --input wrong.csv --output again
says 'expected a number, found "N.N."; if it stands for a missing value, the setting missing (runner.input_missing) should list it'

# ---- clicks as Avazu has them, then a day without labels; rows have ids ----
table avazu 30000 >avazu.csv
way avazu avazu.csv "tail -n +2 | cut -d, -f2"
at_least 0.70
check "ids are printed behind predictions" cmp -s <(cut -f2 avazu/p) <(tail -n +2 avazu/test/part-00000.csv | cut -d, -f1)
cut -d, -f1,3- avazu/test/part-00000.csv >day.csv
predicts avazu day.csv -o runner.thread_num=2
cut -d, -f2- day.csv >nameless.csv
run 1 predict -m avazu/config.yaml --input nameless.csv
says 'nameless.csv: header: no column "id", which the setting id names (11 columns); an empty setting, -o runner.input_id=, takes rows without ids'
run 0 predict -m avazu/config.yaml --input nameless.csv --output again -o runner.input_id=
check "rows without ids" cmp -s again <(cut -f1 avazu/p)

# ---- libsvm, libffm ----
table svm 12000 >svm.txt
way svm svm.txt "awk '{ print (\$1 > 0) }'"
at_least 0.70
cut -d' ' -f2- svm/test/part-* >bare.svm
predicts svm bare.svm
table ffm 12000 >ffm.txt
way ffm ffm.txt "awk '{ print (\$1 > 0) }'"
at_least 0.65

# ---- another network: its prediction is made by the op of its loss, which reads labels ----
head -n 3001 census.csv >few.csv
way dlrm few.csv "tail -n +2 | awk '{ print (\$NF == \">50K\") }'" --model rank/dlrm
sed 's/, [^,]*$//' dlrm/test/part-00000.csv >bare.csv
predicts dlrm bare.csv

# ---- Ctrl-C while evaluating: no numbers of a part of the rows ----
mkfifo rows.csv
"$skiff" infer -m census/config.yaml -o runner.test_data_dir="$work/rows.csv" runner.reader_type=QueueDataset \
    runner.infer_batch_size=10 >log 2>&1 &
pid=$!
exec 9>rows.csv # until it is read from
head -n 100 census/test/part-00000.csv >&9
kill -INT $pid
exec 9>&-
wait $pid
check "interrupted: status 1" test $? = 1
says "skiff infer: stopped before the end"
check "nothing is said of a part" bash -c '! grep -q auc log'

# ---- a job of servers and workers over the same config: init has cut the rows into files, each worker gets its share ----
check "several files" test "$(ls census/train | wc -l)" -ge 4
run 0 launch --server_num 2 --worker_num 2 -m census/config.yaml --log_dir logs -o runner.model_save_path="$work/job" \
    runner.epochs=2
check "every row is trained once an epoch" grep -qE "^together +$((2 * $(cat census/train/* | wc -l))) " log
run 0 launch --server_num 1 --worker_num 2 -m census/config.yaml --log_dir logs1 -o runner.model_save_path="$work/job1" \
    runner.epochs=1 runner.train_data_dir=train/part-00000.csv
check "a worker without files knows the keys, too" bash -c '! grep -q "unknown key" logs1/*'
run 0 predict -m census/config.yaml -o runner.infer_load_path="$work/job" --output job.txt
auc=$(auc_of census/labels job.txt)
at_least 0.84
run 0 launch --server_num 1 --worker_num 2 -m census/config.yaml --log_dir logs -o runner.model_save_path="$work/job2" runner.epochs=1 \
    runner.split_file_list=False
check "twice the rows are told" grep -qF "each of 2 workers reads all $(ls census/train | wc -l) files in its folder: if the folders are the same, a row is trained 2 times an epoch; runner.split_file_list: True divides the files among workers" logs/workerlog.0

# ---- labels in upper and lower case ----
sed '1!s/>50K$/Yes/; 1!s/<=50K$/No/' census.csv | awk 'NR % 3 == 2 { sub(/Yes$/, "YES"); sub(/No$/, "no") } { print }' >cases.csv
way cases cases.csv "tail -n +2 | awk '{ print (tolower(\$NF) == \"yes\") }'"
cp cases/seen log
check "cases: yes is 1, in whatever case" grep -qiE 'label: column "income" \(by its name\); 1 is "yes", 0 is "no"' log
at_least 0.84

# ---- as spreadsheets write: a byte order mark, semicolons, quotes, decimal commas, Windows line ends, empty cells, NULL ----
awk 'BEGIN { srand(3); printf "\357\273\277kunde_id;\"Gr\303\266\303\237e (m)\";Preis;Stadt;W\303\244hrung;Gekauft\r\n"
    for (r = 0; r < 6000; r++) {
        a = 1.5 + 0.5 * rand(); b = exp(5 * rand()); s = int(3 * rand())
        y = rand() < 1 / (1 + exp(-(12 * (a - 1.75) + b / 40 - 1 + s)))
        size = sprintf("%.2f", a); price = sprintf("%.2f", b); sub(/\./, ",", size); sub(/\./, ",", price)
        printf "%d;%s;%s;%s;EUR;%s\r\n", 100000 + r, rand() < 0.05 ? "" : "\"" size "\"", rand() < 0.05 ? "NULL" : price,
            s == 0 ? "\"Bad; Ort\"" : s == 1 ? "K\303\266ln" : "\346\235\261\344\272\254", y ? "ja" : "nein" } }' >sheet.csv
way sheet sheet.csv "tail -n +2 | awk -F';' '{ print (\$NF ~ /^ja/) }'"
cp sheet/seen log
says "sheet.csv: csv, semicolon between columns, decimal commas, with a header line, 6000 rows, 6 columns"
check "decimal commas make numbers" grep -qE '^  Preis +real +[0-9.]+ % +[0-9]+  1 \.\. 14[0-9.]+ +number, buckets C[0-9]$' log
says 'label: column "Gekauft" (the last column, which has two values); 1 is "ja", 0 is "nein"'
at_least 0.79
check "ids of the rows" cmp -s <(cut -f2 sheet/p) <(tail -n +2 sheet/test/part-00000.csv | cut -d';' -f1)
run 1 predict -m sheet/config.yaml -o runner.input_decimal=x
says "runner.input_decimal"
says ". or comma"

# ---- days without hours split the rows, and give the weekday ----
awk -F, 'NR == 1 { print "date," $0 } NR > 1 { printf "2023-%02d-%02d,%s\n", 1 + NR / 300, 1 + NR % 28, $0 }' few.csv >days.csv
run 0 init --data days.csv --out days
check "days" grep -qE '^  date +time .*weekday C1$' log
says 'split by time: column "date"'
check "the date itself is no slot" bash -c '! grep -q "= date" days/config.yaml'

# ---- a folder with a blank in its name; UTF-16 ----
run 0 init --data few.csv --out "my run"
says "  skiff train 'my run/config.yaml'"
iconv -f utf-8 -t utf-16 few.csv >wide16.csv
run 1 init --data wide16.csv --out wide16
says 'there are zero bytes: is it text? (of a file in UTF-16, `iconv -f utf-16 -t utf-8 <FILE` makes one that can be read)'

# ---- more columns than networks have slots for: told, also those behind the ones that are shown ----
awk 'BEGIN { srand(2); printf "label"; for (i = 0; i < 502; i++) printf ",f%d", i; print ""
    for (r = 0; r < 60; r++) { printf "%d", rand() < 0.5; for (i = 0; i < 502; i++) printf ",v%d", 3 * rand(); print "" } }' >wide.csv
run 0 init --data wide.csv --out wide
says 'note: networks have at most 499 slots of categories; 3 columns, from "f499" on, are not used: remove uninformative columns from the table'

[ "$failed" = 0 ] && echo "run_way.sh: all passed"
exit "$failed"
