#!/usr/bin/env bash
# Weights of samples and classes, and AUC by groups: a row of weight 2 counts as the row given twice, in training and in
# metrics; weights that are none are refused with their line.
set -euo pipefail
skiff=$PWD/${BUILD:-build}/skiff
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# a.csv: rows of weight 1 to 3; b.csv: each of them so many times, with weight 1
awk 'BEGIN {
    srand(3); split("ny la sf", city, " ")
    print "w,city,age,y" >"a.csv"; print "w,city,age,y" >"b.csv"
    for (i = 0; i < 2000; i++) {
        w = 1 + int(rand() * 3); k = 1 + int(rand() * 3); age = rand(); y = rand() < (k == 1 ? .6 : .2) + .2 * age
        printf "%d,%s,%.3f,%d\n", w, city[k], age, y >"a.csv"
        for (j = 0; j < w; j++) printf "1,%s,%.3f,%d\n", city[k], age, y >"b.csv"
    }
}'
cat >config.yaml <<'END'
runner:
  model: rank/deepfm
  train_data_dir: a.csv
  valid_data_dir: a.csv
  test_data_dir: a.csv
  input_format: csv
  input_hash_size: 100
  input_columns: ["label = y", "dense_input = age", "C1 = city"]
  train_batch_size: 10000
  infer_batch_size: 512
  epochs: 20
  seed: 3
  weight_column: w
  group_column: city
  model_save_path: weights
  infer_epoch: 19
hyper_parameters:
  optimizer: {class: SGD, learning_rate: 0.1}
  sparse_inputs_slots: 2
  sparse_feature_number: 100
  sparse_feature_dim: 4
  dense_input_dim: 1
  fc_sizes: [8]
END
twice=(runner.train_data_dir=b.csv runner.valid_data_dir=b.csv runner.test_data_dir=b.csv runner.model_save_path=twice)

numbers() { # JSON: what is known of the last epoch on the test data
    grep -A1 '"quality": \[' "$1" | tail -1 | tr -d '{}"' | tr ',' '\n' | sed 's/^ *//'
}
same() { # A B: numbers that are equal up to rounding; the first column is the name
    paste <(numbers "$1") <(numbers "$2") | awk -F'[:\t]' '
        { d = $2 - $4; if ($1 != $3 || d > 1e-5 * (1 + $2) || d < -1e-5 * (1 + $2)) { print "differs: " $0; bad = 1 } n++ }
        END { if (n < 15) { print "only " n " numbers"; bad = 1 } exit bad }'
}

"$skiff" train -m config.yaml -q >/dev/null
"$skiff" infer -m config.yaml -q --json a.json >a.txt
"$skiff" train -m config.yaml -q -o "${twice[@]}" >/dev/null
"$skiff" infer -m config.yaml -q --json b.json -o "${twice[@]}" >b.txt
same a.json b.json
grep -q 'grouped auc  groups$' a.txt
# without weights the numbers are others
"$skiff" infer -m config.yaml -q --json c.json -o runner.weight_column= >/dev/null
if same a.json c.json >/dev/null; then
    echo "the weights had no effect on the metrics"
    exit 1
fi
"$skiff" train -m config.yaml -q --overwrite -o runner.weight_column= runner.model_save_path=plain >/dev/null
"$skiff" infer -m config.yaml -q --json d.json -o runner.infer_load_path=plain >/dev/null
if same a.json d.json >/dev/null; then
    echo "the weights had no effect on training"
    exit 1
fi

# calibration: a row of weight 2 counts as the row given twice
fitted() { # the log loss and copc that it prints, and the numbers of its file
    "$skiff" calibrate -m config.yaml -q --epoch 19 -o "$@" | sed -n 's/^calibrated on .*platt): //p'
    awk '/^(slope|shift):/ { printf "%s %.4f\n", $1, $2 }' weights/19/calibration.yaml
}
fitted runner.calibrate=platt >a.fit
fitted runner.calibrate=platt runner.valid_data_dir=b.csv >b.fit
fitted runner.calibrate=platt runner.weight_column= >c.fit
[ "$(wc -l <a.fit)" = 3 ]
diff a.fit b.fit
if cmp -s a.fit c.fit; then
    echo "the weights had no effect on calibration"
    exit 1
fi
"$skiff" calibrate -m config.yaml -q --epoch 19 -o runner.calibrate=none >/dev/null

# class weights [1, 2] train as weights of the rows do, and metrics do not have them
awk -F, -v OFS=, 'NR > 1 { $1 = 1 + $4 } { print }' b.csv >by_class.csv
"$skiff" train -m config.yaml -q -o runner.model_save_path=rows runner.train_data_dir=by_class.csv \
    runner.valid_data_dir=b.csv >/dev/null
"$skiff" train -m config.yaml -q -o "${twice[@]}" runner.model_save_path=classes "runner.class_weight=[1, 2]" >/dev/null
"$skiff" infer -m config.yaml -q --json e.json -o "${twice[@]}" runner.infer_load_path=rows >/dev/null
"$skiff" infer -m config.yaml -q --json f.json -o "${twice[@]}" runner.infer_load_path=classes "runner.class_weight=[1, 2]" >/dev/null
same e.json f.json

# rows to predict need no weight
cut -d, -f2,3 a.csv >new.csv
"$skiff" predict -m config.yaml -q --input new.csv --output p.txt
[ "$(wc -l <p.txt)" = 2000 ]

# init sets the column: it is no feature
"$skiff" init --data a.csv --label y --weight w --out job >out
grep -q '^  w .* weight of the row$' out
grep -q '^  weight_column: "w" ' job/config.yaml
grep -qx '    - "dense_input = age"' job/config.yaml
[ "$(grep -c '= w"' job/config.yaml)" = 0 ]
"$skiff" train -m job/config.yaml -q >/dev/null
"$skiff" predict -m job/config.yaml -q --input new.csv --output p.txt
[ "$(wc -l <p.txt)" = 2000 ]

not_a_weight() { # TEXT FILE COLUMN
    if "$skiff" init --data "$2" --label y --weight "$3" --out bad >out 2>&1; then
        echo "init took $3 of $2 as weights"
        exit 1
    fi
    grep -qF -- "$1" out || { echo "expected '$1', got:"; cat out; exit 1; }
}
not_a_weight '--weight: column "city" has cells that are no weights (0 missing, 2000 texts' a.csv city
not_a_weight '--weight: column "y" is the label' a.csv y
not_a_weight '--weight: no column "weigt"; columns are: w, city, age, y' a.csv weigt
awk -F, -v OFS=, 'NR == 2 { $1 = -2 } NR == 3 { $1 = "" } { print }' a.csv >wrong.csv
not_a_weight '"w" has cells that are no weights (1 missing, 0 texts, smallest number -2)' wrong.csv w
awk 'NR > 1 { print (NR % 2) " 1:" NR / 2000 " 2:1" }' a.csv >rows.svm
not_a_weight '--weight: a libsvm file has no columns' rows.svm 1

refused() { # TEXT OVERRIDE...
    local text=$1
    shift
    if "$skiff" train -m config.yaml -q --overwrite -o runner.model_save_path=bad "$@" >out 2>&1; then
        echo "not refused: $*"
        exit 1
    fi
    grep -qF -- "$text" out || { echo "expected '$text', got:"; cat out; exit 1; }
}
sed '2s/^[0-9]*/-2/' a.csv >negative.csv
sed '3s/^[0-9]*//' a.csv >missing.csv
refused 'negative.csv:2: slot "sample_weight" (4 of 5): expected a weight, a number of at least 0, found -2' \
    runner.train_data_dir=negative.csv
refused 'missing.csv:3: slot "sample_weight" (4 of 5): expected a weight, found ""' runner.train_data_dir=missing.csv
refused 'there is no column "weigt" (slot "sample_weight")' runner.weight_column=weigt
refused 'runner.class_weight is [1, x]; expected two numbers of at least 0, the weights of labels 0 and 1: [1, 10]' \
    "runner.class_weight=[1, x]"
refused 'runner.class_weight is [1]; expected two numbers' "runner.class_weight=1"
echo ok
