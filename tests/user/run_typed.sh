#!/usr/bin/env bash
# The command line as people type it: the config or the table as a word, other names of flags and commands, keys as flags.
set -uo pipefail
skiff=$(realpath "${BUILD:-build}")/skiff
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fault() {
    echo "FAILED: $*"
    tail -n 8 said 2>/dev/null
    failed=1
}
run() { # STATUS WORDS...: skiff with these words ends so; output in said
    local want=$1 got
    shift
    "$skiff" "$@" >said 2>&1
    got=$?
    [ "$got" = "$want" ] || fault "skiff $* ended with $got, not $want"
}
says() { grep -qF -- "$1" said || fault "not said: $1"; }

# ---- the table as a word, and the folder from its name ----
python3 "$root/examples/tutorial/make_visits.py" 2000 >visits.2026.csv
run 0 init visits.2026.csv
says "skiff train visits/config.yaml"
[ -s visits/config.yaml ] || fault "no config in visits/"
run 0 init visits.2026.csv -o other
[ -s other/config.yaml ] || fault "no config in other/"
run 0 init --data visits.2026.csv --out third
cmp -s other/config.yaml third/config.yaml || fault "--data and --out give another config"
run 2 init
says "a table is required: skiff init clicks.csv"
run 2 init visits.2026.csv other.csv
says "unexpected argument 'other.csv': --data is 'visits.2026.csv' already"
run 2 init visits
says "visits does not name a folder for the config: give one with -o DIR"
cp visits.2026.csv visits_2026
run 2 init visits_2026
says "visits_2026 does not name a folder for the config"

# ---- the config as a word and by every flag ----
c=visits/config.yaml
for form in "$c" "-m $c" "-c $c" "--config $c" "--config=$c" "--config_yaml $c" "--config-yaml=$c"; do
    read -ra words <<<"$form"
    run 0 config "${words[@]}" runner.epochs
    says "runner.epochs: 30"
    run 0 check-data "${words[@]}"
    says "nothing wrong"
done
run 0 check-data $c other/train/part-00000.csv
says "nothing wrong"
run 0 train $c -q -o runner.epochs=2
says "best epoch: "
cp said trained
run 0 train -c $c -q -o runner.epochs=2 --overwrite
[ "$(grep -c 'best epoch' trained)" = 1 ] || fault "not one best epoch"
run 0 doctor $c
says " 0 faults"
run 0 predict $c --input visits.2026.csv --output predictions -q
[ "$(wc -l <predictions)" = 2000 ] || fault "$(wc -l <predictions) predictions"
run 0 launch --server_num 1 --worker_num 1 $c -o runner.epochs=1 runner.model_save_path="$work/a"
[ -e a/0 ] || fault "launch config.yaml: no epoch"
run 0 launch $c --server_num 1 --worker_num 1 -o runner.epochs=1 runner.model_save_path="$work/b"
[ -e b/0 ] || fault "launch config.yaml --server_num 1: no epoch"
run 0 launch -c $c --server_num 1 --worker_num 1 -o runner.epochs=1 runner.model_save_path="$work/d"
[ -e d/0 ] || fault "launch -c: no epoch"
run 2 train
says "a config is required: skiff train config.yaml"
run 2 train $c other.yaml
says "unexpected argument 'other.yaml': --config is '$c' already"

# ---- infer by the names of other tools ----
for name in infer eval evaluate test; do
    run 0 $name $c -q
    sed 's/ [0-9]* \( *[0-9.]*  \)/\1/; s/  *[0-9]* %//g' said | awk '{ $3 = ""; print }' >"$name.out"
    cmp -s infer.out "$name.out" || { diff infer.out "$name.out"; fault "skiff $name is not infer"; }
done
run 0 eval --help
says "usage: skiff infer config.yaml"
says "skiff eval, skiff evaluate and skiff test are other names of this command."

# ---- keys as flags ----
run 2 train $c --epochs 3
says "unknown flag --epochs; set this key of the config with -o runner.epochs=3"
run 2 train $c --runner.epochs=3
says "unknown flag --runner.epochs; set this key of the config with -o runner.epochs=3"
run 2 train $c --learning-rate
says "-o hyper_parameters.optimizer.learning_rate=VALUE"
run 2 infer $c --infer_epoch best
says "-o runner.infer_epoch=best"
run 2 launch --server_num 1 --epochs 3 $c
says "unknown flag --epochs; set this key of the config with -o runner.epochs=3"
run 2 launch --server_num 1 $c --epochs 3
says "unknown flag --epochs; set this key of the config with -o runner.epochs=3"
run 2 train $c --quite
says "unknown flag --quite; the nearest is --quiet"
exit $failed
