#!/usr/bin/env bash
# Predicting in a program of one's own, <skiff/run.h>: examples/predict.c gives what `skiff predict` gives, for lines of text
# and for named values, from a folder without its data, too; it reports what it cannot read.
. "$(dirname "$0")/../words.sh"
example=$build/examples/predict
python3 "$(dirname "$0")/../../examples/tutorial/make_visits.py" 2000 >"$work/visits.csv"
run 0 init --data "$work/visits.csv" --out "$work/run"
run 0 train -m "$work/run/config.yaml" -q -o runner.epochs=4
run 0 predict -m "$work/run/config.yaml" --input "$work/visits.csv" --output "$work/theirs" -q
predict() { # STATUS ARGUMENT...: the example; its input is that of the call
    local want=$1 got
    shift
    "$example" "$@" >"$log" 2>&1
    got=$?
    check "predict $* ended with $got, not $want" test "$got" = "$want"
}
near() { # FILE FILE: as many numbers, and the same to five digits
    check "$1 and $2 differ" awk 'NR == FNR { a[FNR] = $1; n++; next }
        { d = a[FNR] - $1; if (d > 2e-6 || d < -2e-6) bad = 1; m++ } END { exit bad || n != m || n < 1000 }' "$1" "$2"
}

predict 0 "$work/run" <"$work/visits.csv"
cp "$log" "$work/mine"
near "$work/theirs" "$work/mine"

# columns in another order, without the label and the id
python3 - "$work/visits.csv" >"$work/turned.csv" <<'PYTHON'
import csv, sys
header = ["minutes", "town", "age", "page", "device"]
print(",".join(header))
with open(sys.argv[1]) as f:
    for row in csv.DictReader(f):
        print(",".join(row[name] for name in header))
PYTHON
rm -r "$work/run/train" "$work/run/test" "$work/run/valid"
predict 0 "$work/run" <"$work/turned.csv"
cp "$log" "$work/turned"
near "$work/mine" "$work/turned"

predict 1 "$work/run" device=phone
says 'the order of the columns is not known'
says 'name the columns in the option `header`'
run 0 init --data "$work/visits.csv" --out "$work/run" --overwrite
predict 0 "$work/run" device=phone page=sale town=town-1 age=33 minutes=2.5
one=$(cat "$log")
printf 'device,page,town,age,minutes\nphone,sale,town-1,33,2.5\n' >"$work/one.csv"
predict 0 "$work/run" <"$work/one.csv"
says "$one"
predict 0 "$work/run" device=phone page=sale town=town-1 minutes=2.5 # age is missing
check "a missing age changes nothing" test "$(cat "$log")" != "$one"
predict 1 "$work/run" age=old
says 'predict: row 1: '
says 'expected a number, found "old"'
predict 2
exit "$failed"
