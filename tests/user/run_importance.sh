#!/usr/bin/env bash
# skiff importance as a user sees it: columns of a table with a planted signal come first, in the order of their strength;
# intervals of noise contain 0; the report shows it; metrics of infer; messages.
. "$(dirname "$0")/../words.sh"
cd "$work"

# clicks depend on "size, in cm" most, on city less, a little on kind (a number in two slots is one column); noise on none
awk 'BEGIN {
    srand(5); split("ny la sf chi", city, " ")
    print "\"size, in cm\",city,noise,words,kind,click"
    for (i = 0; i < 12000; i++) {
        size = int(rand() * 60); c = 1 + int(rand() * 4); k = int(rand() * 3)
        z = (size - 30) / 10 + (c - 2.5) * .9 + (k - 1) * .35 - .5
        printf "%d,%s,%.4f,w%d,k%d,%d\n", size, city[c], rand(), int(rand() * 6), k, rand() < 1 / (1 + exp(-z))
    }
}' >table.csv
run 0 init --data table.csv --label click --split random --out job
run 0 train -m job/config.yaml -q
run 0 importance -m job/config.yaml --json out.json
column() { awk -v c="$1" 'index($0, c) == 1 { print; exit }' "$work/log"; }
order=$(awk '/^column/ { on = 1; next } on && NF { print substr($0, 1, 4) }' "$work/log" | head -3 | paste -sd' ')
check "the planted columns come first, by strength" test "$order" = "size city kind"
check "all of the table's columns but the label are there" test "$(grep -c '"column"' out.json)" = 5
effects() { # JSON: column, lowest and highest end of the interval of its log loss
    sed -nE 's/.*"column": "([^"]*)".*"log_loss": \{ "mean": ([^,]*), "low": ([^,]*), "high": ([^ }]*).*/\1;\3;\4/p' "$1"
}
effects out.json >effects
check "intervals of the planted columns lie above 0" \
    awk -F';' '/^(size|city|kind)/ { n++; if ($2 <= 0) bad = 1 } END { exit bad || n != 3 }' effects
check "intervals of noise contain 0" \
    awk -F';' '/^(noise|words)/ { n++; if ($2 > 0 || $3 < 0) bad = 1 } END { exit bad || n != 2 }' effects
check "the report has it" grep -q '"column": "size, in cm"' job/model/report.json
check "the page shows it" grep -q 'Which columns matter' job/model/report.html
check "the page shows metrics of validation" grep -q 'How well does it rank' job/model/report.html
# the numbers do not depend on threads
run 0 importance -m job/config.yaml -q --threads 1 --json one.json
effects one.json >one
check "one thread gives the same numbers" cmp -s effects one
run 0 importance -m job/config.yaml -q --rows 300 --repeats 2
says '300 rows: log loss'

# the rows as they are have the numbers of infer, whose probabilities are calibrated
run 0 importance -m job/config.yaml -q
losses=$(sed -n 's/^[0-9]* rows: log loss \([0-9.]*\), auc .*/\1/p' "$log")
run 0 infer -m job/config.yaml -q -o runner.test_data_dir=valid
check "importance and infer have the same log loss" test "$losses" = "$(awk '$1 ~ /\*$/ { print $6; exit }' "$log")"

run 0 infer -m job/config.yaml -q --group city
says 'grouped auc  groups'
run 1 infer -m job/config.yaml -q --group town
says 'there is no column "town" (slot "sample_group")'

awk 'NR == 1 || /,0$/' job/valid/* >zeros.csv
run 1 importance -m job/config.yaml --data zeros.csv
says 'rows of zeros.csv have label 0: nothing can be ranked; take other rows (--data)'
run 1 importance -m job/config.yaml -o runner.infer_load_path=nowhere
says 'no complete epoch in'

[ "$failed" = 0 ] && echo "importance: all as expected"
exit "$failed"
