#!/usr/bin/env bash
# examples/README.md: the examples in Python and YAML, run as it says; what they print is looked at. Every file of the folder is
# listed there.
set -uo pipefail
root=$PWD
export PATH=$root/${BUILD:-build}:$PATH PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ln -s "$root/examples" examples
failed=0
fault() {
    echo "FAILED: $*"
    failed=1
}
run() { # COMMAND...: its output goes to the file out
    "$@" >out 2>&1 || { fault "status $?: $*"; tail -n 20 out; }
}
between() { # NUMBER LOW HIGH WHAT
    awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(x ~ /^[0-9.]+$/ && x >= low && x <= high) }' ||
        { fault "$4 is '$1', expected $2 to $3"; cat out; }
}

# none is forgotten
(cd "$root" && git ls-files examples 2>/dev/null || (cd "$root" && find examples -type f)) | grep -vE '(README\.md|clicks\.csv|\.pyc)$' |
    while read -r file; do grep -qF "\`${file#examples/}\`" "$root/examples/README.md" || echo "$file"; done >forgotten
[ ! -s forgotten ] || fault "not in examples/README.md: $(cat forgotten)"

if [ -d "$root/${BUILD:-build}/python" ]; then
    run skiff python examples/python/fit_line.py
    grep -qx 'y = 2.00 x0 -3.00 x1 +1.00' out || { fault "fit_line"; cat out; }

    for part in 0 1; do python3 examples/tutorial/make_visits.py 10000 $((part + 1)) >part-$part.csv; done
    python3 examples/tutorial/make_visits.py 2000 3 >later.csv
    judge() { # MODEL: its predictions of rows that it has not seen, ranked against what happened
        run skiff python examples/python/predict.py "$1" later.csv
        [ "$(wc -l <out)" -eq 2000 ] || fault "$1: $(wc -l <out) predictions"
        auc=$(paste <(cut -f1 out) <(tail -n +2 later.csv | cut -d, -f7) | sort -n |
            awk '$2 == "yes" { yes++; above += no } $2 == "no" { no++ } END { printf "%.4f", above / yes / no }')
        between "$auc" 0.82 0.9 "AUC of $1"
    }
    run skiff python examples/python/ctr_dnn.py part-0.csv model/visits
    between "$(sed -n 's/^epoch 4: loss //p' out)" 0.4 0.5 "the last loss of ctr_dnn.py"
    between "$(sed -n 's/^test auc //p' out)" 0.82 0.9 "the AUC of ctr_dnn.py"
    judge model/visits

    run skiff python examples/python/dataset.py pipe part-0.csv part-1.csv
    grep -qx '20000 samples' out || { fault "dataset.py"; cat out; }
    between "$(sed -n 's/.*data: \[\(.*\)\]/\1/p' out | tail -n 1)" 0.78 0.9 "the last AUC of dataset.py"
    judge pipe

    run skiff launch -q --server_num 2 --worker_num 2 examples/python/servers.py served part-0.csv part-1.csv
    for worker in 0 1; do # what scripts train is on the launcher's screen, too
        grep -qE "^worker $worker +40000 .* 0\.[6-9][0-9]+  done" out || { fault "the launcher's table"; cat out; }
    done
    # how well it went while it was learning depends on how the workers took turns; what was learnt is judged below
    for worker in 0 1; do
        between "$(sed -n "s/^worker $worker: auc over all workers and epochs //p" log/workerlog.$worker)" 0.65 0.9 "the AUC of worker $worker"
    done
    judge served
else
    echo "skipped: Python was not built"
fi

# networks in YAML: on the rows that the ready models bring, each learns what its twin in C learns
for model in dnn wide_deep deepfm; do
    for kind in "rank/$model" "$root/examples/networks/$model.yaml"; do
        run skiff train -m "$root/models/rank/$model/config.yaml" --json report.json -o "runner.model=$kind" runner.epochs=1 \
            "runner.model_save_path=$work/net" hyper_parameters.sparse_feature_number=2003 runner.input_hash_size=2003
        python3 -c 'import json; print(repr(json.load(open("report.json"))["epochs"][0]["loss"]))' >>losses
        rm -rf net
    done
    [ "$(sort -u losses | wc -l)" -eq 1 ] && grep -q '^0\.' losses || fault "$model.yaml: losses $(tr '\n' ' ' <losses)"
    rm -f losses
done
exit $failed
