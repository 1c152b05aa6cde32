#!/usr/bin/env bash
# From somebody's own table to a judged model, with no file edited: skiff init, train, infer. The tables are drawn from known
# models (tables.awk), so the AUC that can be reached is known, too. Then the mistakes that people make.
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/../words.sh"
cd "$work" || exit 1
table() { # KIND ROWS [HEADER]: rows to stdout, what is true of them to truth
    awk -v kind="$1" -v n="$2" -v seed=5 -v header="${3:-}" -v truth=truth -f "$here/tables.awk"
}
reachable() { # the AUC of the true log odds
    sort -g truth | awk '{ if ($2) { up++; below += down } else down++ } END { printf "%.4f\n", below / up / down }'
}
auc_of() { sed -n 's/^Epoch: .*auc: \([0-9.]*\).*/\1/p' log | tail -n 1; }
# DIR FILE LESS FLAG...: init, train, infer; the test AUC is at most LESS below what can be reached
whole_way() {
    local dir=$1 file=$2 less=$3 best auc
    shift 3
    rm -rf "$dir"
    run 0 init --data "$file" --out "$dir" "$@"
    cp log "$dir.seen"
    run 0 train -m "$dir/config.yaml"
    run 0 check-data -m "$dir/config.yaml"
    run 0 infer -m "$dir/config.yaml"
    best=$(reachable)
    auc=$(auc_of)
    echo "$dir: auc $auc of $best"
    check "$dir: auc $auc, at least $best - $less" awk -v a="${auc:-0}" -v b="$best" -v l="$less" 'BEGIN { exit !(a >= b - l) }'
    cp "$dir.seen" log
}

# ---- a census table without a header, as UCI has it: ", " between cells, "?" for missing ----
table census 12000 >census.data
whole_way census census.data 0.02
says 'csv, comma between columns, no header line (columns have positions), 12000 rows, 12 columns'
says 'label: column "12" (the last column, which has two values); 1 is ">50K", 0 is "<=50K"'
check "types" grep -qE '^  1 +whole +0\.0 % +[0-9]+  17 \.\. [0-9]+ +number, (buckets|values) C1$' log
check "missing" grep -qE '^  2 +text +[5-7]\.[0-9] % +7 ' log
check "? is a missing value" grep -qF 'input_missing: ["?"]' census/config.yaml
check "rows as they were" grep -qF ', school-' census/train/part-00000.csv
check "9:1" awk 'END { exit !(NR > 1000 && NR < 1400) }' census/test/part-00000.csv
# the file of the test in UCI's form: labels end with a full stop
sed 's/$/./' census/test/part-00000.csv >dotted.csv
run 0 infer -m census/config.yaml
auc=$(auc_of)
run 0 infer -m census/config.yaml -o runner.test_data_dir="$work/dotted.csv"
check "full stops behind labels" test "$(auc_of)" = "$auc"
# all is written once, and by the same rows
cp -r census first
run 1 init --data census.data --out census
says "census/config.yaml exists; --overwrite replaces the output of an earlier skiff init"
run 0 init --data census.data --out census --overwrite
check "the same config" cmp -s census/config.yaml first/config.yaml
check "the same stats" cmp -s census/columns.stats first/columns.stats
check "the same rows" diff -r census/train first/train
mkdir -p others/train && echo precious >others/train/mine
run 1 init --data census.data --out others --overwrite
says "others/train exists, and skiff init did not write it"
check "what others wrote stays" grep -qx precious others/train/mine
run 1 init --data census/train/part-00000.csv --out census --overwrite
says "is in --out census, whose content may be replaced; choose another folder"

# ---- the same with a header of names that need quotes; columns in another order; compressed ----
table census 12000 header >census.csv
gzip -k census.csv
whole_way named census.csv.gz 0.02
says 'label: column "income" (by its name)'
check "quoted names" grep -qF 'C7 = \"job, \"\"main\"\"\""' named/config.yaml
run 0 infer -m named/config.yaml
auc=$(auc_of)
python3 - named/test/part-00000.csv other.csv <<'PY'
import csv, sys
rows = list(csv.reader(open(sys.argv[1]), skipinitialspace=True))
csv.writer(open(sys.argv[2], "w")).writerows([row[::-1] for row in rows])
PY
run 0 infer -m named/config.yaml -o runner.test_data_dir="$work/other.csv"
check "columns in another order give the same" test "$(auc_of)" = "$auc"
run 1 infer -m named/config.yaml -o runner.test_data_dir="$work/census.data"
says "header: there is no column"

# ---- clicks as Avazu has them: an id, hours, codes, values by the thousand ----
table avazu 30000 >avazu.csv
whole_way avazu avazu.csv 0.04
says 'label: column "click" (by its name); 1 is "1", 0 is "0"'
check "ids are left out" grep -qE '^  id +whole .*not used: nearly every row has its own value$' log
check "hours" grep -qE '^  hour +whole .*hour of the day C1$' log
check "constants" grep -qE '^  C15 .*not used: always the same$' log
says 'split by time: column "hour"'
check "later rows are for the test" awk -F, 'FNR > 1 && FILENAME ~ /train/ && $3 > last { last = $3 }
    FNR > 1 && FILENAME ~ /test/ && (!first || $3 < first) { first = $3 } END { exit !(first > last) }' avazu/train/* avazu/test/*
whole_way shuffled avazu.csv 0.04 --split random
says "split at random"

# ---- libsvm of ones, of numbers (labels 1 and 2), libffm ----
table svm 12000 >svm.txt
whole_way svm svm.txt 0.02
says "libsvm, 12000 rows"
says "all values are 1: indices are the features"
says '1 is "+1", 0 is "-1"'
table real 12000 >real.txt
whole_way real real.txt 0.02
says "values are numbers: used as numbers, and in buckets as categories C1"
says '1 is "2", 0 is "1"'
table ffm 30000 >ffm.txt
whole_way ffm ffm.txt 0.04
says "fields 1 to 3: C1 to C3"

# ---- every rank model, with and without numbers ----
head -n 2001 census.csv >small.csv
for model in dnn wide_deep deepfm dcn fm logistic_regression dlrm; do
    run 0 init --data small.csv --out "m_$model" --model "rank/$model"
    run 0 train -m "m_$model/config.yaml" -o runner.epochs=1
    check "$model has no unknown key" test -z "$(grep -F 'unknown' log)"
    run 0 train -m "m_$model/config.yaml" -o runner.epochs=1 hyper_parameters.dense_input_dim=0 hyper_parameters.sparse_inputs_slots=3 \
        'runner.input_columns=[label = income, C1 = age, C2 = marital]'
    check "$model without numbers" grep -qE '^Epoch: 0.*auc: 0\.[0-9]{4}' log
done

# ---- files from elsewhere ----
rows() { awk -v n="${1:-600}" 'BEGIN { for (i = 0; i < n; i++) printf "%d,%s,%d\n", i * i % 97, "v" i % 7, (i * i % 97 > 48) }'; }
{ printf '\xef\xbb\xbfa,b,label\r\n'; rows | sed 's/$/\r/'; } | head -c -2 >windows.csv
run 0 init --data windows.csv --out windows
says 'label: column "label" (by its name)'
run 0 train -m windows/config.yaml
run 0 infer -m windows/config.yaml
check "windows: auc $(auc_of)" awk -v a="$(auc_of)" 'BEGIN { exit !(a > 0.99) }'
{ echo '# from x'; echo 'a;b;label'; rows | tr , ';'; echo '# end'; } >comments.csv
run 0 init --data comments.csv --out comments
says 'csv, semicolon between columns, with a header line, 600 rows'
run 0 train -m comments/config.yaml
{ echo 'a,b,label'; rows | sed 's/1$/1.0/; s/,0$/,0.0/; 5s/.*/1,2/; 9s/[01].0$//'; } >holes.csv
run 0 init --data holes.csv --out holes
says 'holes.csv:6: skipped: expected 3 columns, found 2'
says 'skipped: 1 rows without a label'
says '1 is "1.0", 0 is "0.0"'
run 0 train -m holes/config.yaml
{ echo 'a,b,kind'; rows | awk -F, -v OFS=, '{ $3 = "k" NR % 3; print }'; } >three.csv
run 0 init --data three.csv --label kind --positive k2 --out three
says '1 is "k2", 0 is any other'
run 0 train -m three/config.yaml

{ echo 'a,b,label,paid'; rows | awk -F, -v OFS=, '{ $4 = $3 ? "in" : "out"; print }'; } >twin.csv
run 0 init --data twin.csv --out twin
says 'note: column "paid" determines the label by itself; if its value is not known at the time of prediction'

# ---- line ends within quotes, as pandas and Excel write them: in names, values and ids ----
python3 - <<'PY'
import csv, random
rng = random.Random(3)
with open("notes.csv", "w", newline="") as f:
    w = csv.writer(f)
    w.writerow(["note id", "kind\n(as written)", "n", "label"])
    for i in range(600):
        k = rng.randrange(6)
        w.writerow(["note\r\n%d, \"x\"" % i, "first %d\nsecond" % k, rng.randrange(99), int(rng.random() < (0.9 if k % 2 else 0.1))])
PY
run 0 init --data notes.csv --out notes
says 'csv, comma between columns, with a header line, 600 rows, 4 columns'
check "values of two lines" test "$(grep -c '^ "first [0-9]$' notes/columns.stats)" = 6
run 0 train -m notes/config.yaml
run 0 infer -m notes/config.yaml
check "values of two lines are learnt: auc $(auc_of)" awk -v a="$(auc_of)" 'BEGIN { exit !(a > 0.8) }'
run 0 predict -m notes/config.yaml --input notes.csv --output notes.txt
check "a prediction for each row: $(grep -c . notes.txt)" test "$(grep -c . notes.txt)" = 600
{ head -n 14 notes.csv; printf '"never closed,1,2,0\r\n'; tail -n +15 notes.csv | tr -d '"' | head -n 4; } >open.csv
run 1 predict -m notes/config.yaml --input open.csv --output notes.txt
says "open.csv:15: a quote is not closed, neither here nor in a later line"

# ---- numbers as people write them: the same model as from plain ones, to the last digit ----
python3 - <<'PY'
import random
rng = random.Random(7)
plain, dressed = open("plain.csv", "w"), open("dressed.csv", "w")
for f in plain, dressed:
    f.write("price;paid;rate;n;bought\n")
for i in range(1500):
    v, n = rng.random() * 5000, rng.randrange(100)
    y = int(rng.random() < v / 5000)
    de = "{:,.2f}".format(v).translate(str.maketrans(",.", ".,"))
    plain.write("%.2f;%.2f;%d;%d;%d\n" % (v, v / 3, n, n * 7, y))
    dressed.write("%s €;$%s;%d %%;%d;%d\n" % (de, "{:,.2f}".format(v / 3), n, n * 7, y))
PY
for f in plain dressed; do
    run 0 init --data $f.csv --out $f
    cp log $f.seen
    run 0 train -m $f/config.yaml
    run 0 predict -m $f/config.yaml --input $f.csv --output $f.txt
done
check "the same predictions" cmp -s plain.txt dressed.txt
cp dressed.seen log
says "number (1.234,5), buckets C1" "number (1,234.5), buckets C2"
check "the form is in the stats" grep -qE '^number "price" missing=0 form=comma ' dressed/columns.stats

# ---- dates: the same model, however they are written ----
python3 - <<'PY'
import datetime, random
rng = random.Random(9)
names = "iso", "dmy", "mdy", "epoch"
files = [open(n + ".csv", "w") for n in names]
for f in files:
    f.write("signup_date;seen_at;n;bought\n")
start = datetime.datetime(2023, 1, 1)
for i in range(2000):
    seen = start + datetime.timedelta(minutes=30 * i)
    signup = start - datetime.timedelta(days=rng.randrange(1, 900))
    y = int(rng.random() < (0.7 if seen.weekday() > 4 else 0.3) - (0.2 if seen.hour < 8 else 0))
    rest = ";%d;%d\n" % (rng.randrange(9), y)
    for f, d, t in zip(files, ("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y"), ("%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p")):
        f.write(signup.strftime(d) + ";" + seen.strftime(t) + rest)
    utc = datetime.timezone.utc
    files[3].write("%d;%d%s" % (signup.replace(tzinfo=utc).timestamp(), seen.replace(tzinfo=utc).timestamp() * 1000, rest))
PY
for f in iso dmy mdy epoch; do
    run 0 init --data $f.csv --out $f --time seen_at
    cp log $f.seen
    run 0 train -m $f/config.yaml
    run 0 predict -m $f/config.yaml --input $f.csv --output $f.txt
done
auc=$(auc_of)
for f in dmy mdy; do check "$f: the same predictions" cmp -s iso.txt $f.txt; done
cp dmy.seen log
says "day/month: weekday C1, days, buckets C2" "day/month: hour of the day C3, weekday C4" 'split by time: column "seen_at"'
cp mdy.seen log
says "month/day: weekday C1, days, buckets C2"
cp epoch.seen log
says "hour of the day C1, weekday C2, days, buckets C3" "hour of the day C4, weekday C5"
check "columns that are made" grep -qF '"C2 = days(signup_date)"' iso/config.yaml

# ---- a title above the header, Latin-1, a few texts among numbers ----
python3 - <<'PY'
import random
rng = random.Random(2)
with open("title.csv", "w", encoding="latin1") as f:
    f.write("Sales of 2024;;;\n\nnr;preis;ort;gekauft\n")
    for i in range(900):
        v = rng.random() * 100
        price = rng.choice(["ask", "none yet"]) if rng.random() < 0.03 else "%.0f" % v
        f.write("%d;%s;%s;%d\n" % (i, price, rng.choice(["K\xf6ln", "Bonn"]), rng.random() < v / 100))
PY
run 0 init --data title.csv --out title
says 'with a header line, 900 rows, 4 columns' "note: 1 line above the header is skipped"
says 'note: title.csv:4: the text is not UTF-8; its bytes are used as they are'
says 'of its values are numbers' 'it is used as text; if they mean that a value is missing, write NA for them'
run 0 train -m title/config.yaml
run 0 predict -m title/config.yaml --input title.csv --output title.txt
tail -n +3 title.csv >plain_title.csv
run 0 predict -m title/config.yaml --input plain_title.csv --output plain_title.txt
check "with the title and without it" cmp -s title.txt plain_title.txt
check "every row" test "$(wc -l <title.txt)" = 900

# ---- few positives: by label, and said ----
{ echo 'a,b,label'; rows 3000 | awk -F, -v OFS=, '{ $3 = NR % 40 == 7; print }'; } >rare.csv
run 0 init --data rare.csv --out rare
says '(split at random, by label)' 'note: only 75 rows are positive, '
check "a tenth of the positives" bash -c '[ "$(cat rare/test/* | grep -c ",1$")" -ge 7 ] && [ "$(cat rare/valid/* | grep -c ",1$")" -ge 7 ]'

# ---- lists in a cell: the same model from each form; texts with commas are no lists ----
python3 - <<'PY'
import json, random
rng = random.Random(4)
tags = ["t%d" % i for i in range(12)]
out = {k: open(k + ".csv", "w") for k in ("pipe", "semi", "json")}
for f in out.values():
    f.write("user\ttags\tplace\tprice\tlabel\n")
for i in range(3000):
    some = rng.sample(tags, rng.randrange(0, 5))
    y = int(rng.random() < (0.85 if "t3" in some or "t7" in some else 0.2))
    rest = "\tTown %d, Land %d\t%d\t%d\n" % (i % 30, i % 30 // 10, rng.randrange(50), y)
    for k, text in (("pipe", "|".join(some)), ("semi", "; ".join(some)), ("json", json.dumps(some))):
        out[k].write("u%d\t%s%s" % (i % 7, text, rest))
PY
for f in pipe semi json; do
    run 0 init --data $f.csv --out $f
    cp log $f.seen
    run 0 train -m $f/config.yaml
    run 0 predict -m $f/config.yaml --input $f.csv --output $f.txt
    check "$f: lists are seen" grep -qE '^  tags .*values of lists' $f.seen
    check "$f: places are no lists" grep -qE '^  place .* values C3$' $f.seen
    check "$f: the same predictions" cmp -s pipe.txt $f.txt
done
run 0 infer -m pipe/config.yaml
check "lists are learnt: auc $(auc_of)" awk -v a="$(auc_of)" 'BEGIN { exit !(a > 0.75) }'
check "several values in a slot" grep -q 'multi_value: True' pipe/config.yaml

# ---- mistakes: nothing is left behind ----
wrong() { # TEXT FLAG...: init fails with it
    local text=$1
    shift
    run 1 init --out wrong "$@"
    says "$text"
    check "nothing is left behind" test ! -e wrong
}
: >empty
wrong "empty: the file is empty: there is no row in it" --data empty
wrong "nowhere: there is no such file or folder" --data nowhere
echo 'a,b,label' >header
wrong "there is no row: too few for training and test (the first line was read as a header" --data header
echo '1,2,0' >one
wrong "there is one row: too few" --data one
printf 'x\n1\n2\n3\n' >single
wrong 'there is only one column, "x": if the separator is not tab' --data single
printf 'a,b,label\n1,2,1\n2,3,1\n' >one_class
wrong 'label "label": the only value is "1" (2): nothing can be learned from it' --data one_class
wrong 'label "kind": there are 3 values: "k0" (200), "k1" (200), "k2" (200); models learn 0 and 1: choose the value that means 1 with --positive VALUE' \
    --data three.csv --label kind
awk 'BEGIN { print "a,price"; for (i = 0; i < 300; i++) print i % 7 "," i * 3 ".5" }' >quantity
wrong 'label "price": there are 300 different numbers, 0.5 to 897.5: Skiff learns 0 and 1, not quantities; add a column' --data quantity --label price
wrong '--positive: label "kind" has no value "k7"; it has: "k0" (200)' --data three.csv --label kind --positive k7
wrong '--label: no column "kindd" (did you mean "kind"?); columns are: a, b, kind' --data three.csv --label kindd
wrong 'cannot tell which column is the label: name it with --label COLUMN; no column has two values' --data three.csv
awk 'BEGIN { for (i = 0; i < 99; i++) print i % 2 "," i % 7 "," (i % 3 > 0) }' >two
wrong 'cannot tell which column is the label: name it with --label COLUMN; columns of two values: 1, 3' --data two
printf 'a,b,c\r1,2,0\r2,3,1\r' >mac
wrong "mac:1: lines end with carriage returns alone, as on old Macs" --data mac
head -c 3000 "$skiff" >binary
wrong "there are zero bytes: is it text?" --data binary
wrong "--split time: no column of times was found" --data census.csv --split time
wrong '--time: column "age" has values that are not times' --data census.csv --time age
awk 'BEGIN { for (i = 0; i < 99; i++) print i % 2 (i % 3 ? ",1" : "") ",5" }' >ragged
wrong "rows cannot be read as csv; if the format is another one, set --format, --separator or --header" --data ragged
{ echo 'a,a,label'; rows; } >twice
wrong 'two columns have the name "a": rename one of them' --data twice
{ printf 'Gr\xf6\xdfe,b,label\n'; rows; } >latin1
wrong 'the name of column 1 is not UTF-8 text; `iconv -f latin1 -t utf8` converts' --data latin1
{ echo 'a,"b,label'; rows; } >unclosed
wrong 'unclosed:1: a quote is not closed, neither here nor in a later line' --data unclosed
printf 'a,label\n' >tiny
for i in 1 2 3; do echo "$i,$((i % 2))" >>tiny; done
wrong "both need at least one: change the share of the test" --data tiny --share 0.000001
run 2 init --out wrong
says "a table is required: skiff init clicks.csv"
run 2 init --data - --out wrong
says "the rows are read twice, so give a file"
run 2 init --data census.csv --out wrong --model match/dssm
says "--model: expected one of the rank/ models"
run 2 init --data census.csv --out wrong --separator xy
says "expected one character, or tab, comma, space, pipe, semicolon"
# settings that do not fit
run 1 train -m named/config.yaml -o runner.input_normalise=documents
says "normalise documents is for criteo; csv has quantile and none"
run 1 train -m svm/config.yaml -o runner.input_format=libffm runner.input_normalise=quantile
says "the setting normalise (runner.input_normalise) is not for this format; these have it"
run 1 train -m named/config.yaml -o 'runner.input_columns=[label = income, dense = age]'
says 'columns: there is no slot "dense"; slots are: label, C1, C2'

# ---- whole numbers that are names: hashes and long codes ----
# ids of 64 bits above and below 2^63, seldom ones of 18 digits, codes of 12; rows have numbers of their own; the last four
# columns are numbers. The first hash decides the label, which neighbours of nearly the same size do not share.
awk 'BEGIN { srand(4)
    print "click,user,item,shop,seen,request,price,views,bytes,spent"
    for (i = 0; i < 3000; i++) {
        u = int(rand() * 40); k = int(rand() * 300); s = rand() < 0.3 ? 7 : i
        printf "%d,1729382256910270%04d,%d%015d,%d%06d,5%09d%09d,17%09d%09d,%.2f,%d,%.0f,%.0f\n", rand() < (u % 2 ? 0.1 : 0.9), 4600 + u,
            100 + k, k * 7919, 100000 + k % 50 * 12345, k % 50 * 17, s * 331337, s * 7919,
            i * 7 % 3000, rand() * 1e9, rand() * 100, rand() * 900, 123456789012 + int(rand() * 900), 100000 * int(rand() * 900000)
    } }' >hashes.csv
run 0 init --data hashes.csv --out hashes
says "user                 whole    0.0 %        40" "request              whole"
check "hashes and codes are no numbers" grep -qF '"dense_input = price, views, bytes, spent"' hashes/config.yaml
check "they are categories" grep -qF '"C1 = user"' hashes/config.yaml
for name in item shop seen; do check "$name is a category" grep -qE "\"C[2-4] = $name\"" hashes/config.yaml; done
check "what each row has for its own is no feature" test "$(grep -c request hashes/config.yaml)" = 1
check "ids are told apart to their last digit" test "$(grep -c '^ "1729382256910270' hashes/columns.stats)" = 40
run 0 train -m hashes/config.yaml
run 0 infer -m hashes/config.yaml
check "the hash is learnt: auc $(auc_of)" awk -v a="$(auc_of)" 'BEGIN { exit !(a > 0.85) }'

# ---- prepare, for any form ----
run 0 prepare --format csv --out prepared census.csv
says "rows for training"
check "prepared" test -s prepared/stats -a -s prepared/train/part-00000.csv -a -s prepared/valid/part-00000.csv
run 0 prepare --format libsvm --out prepared_svm real.txt
check "numbers by index" grep -qE '^number "5" missing=0 ' prepared_svm/stats
table svm 500 | sed 's/+1/1/; s/-1/0/; s/^\([01]\)/click:\1/; s/\([0-9]*\):1 /1:\1 /g' >slots.txt
run 0 prepare --format slot_text --out prepared_slots --share 0.2 slots.txt
check "every line goes one way" test "$(cat prepared_slots/*/part-00000.txt | sort | cksum)" = "$(sort slots.txt | cksum)"
run 1 prepare --format csv --out prepared2 holes.csv
says "1 row cannot be read; --bad N skips up to N of them"
run 0 prepare --format csv --bad 1 --out prepared2 holes.csv
exit $failed
