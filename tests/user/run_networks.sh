#!/usr/bin/env bash
# Networks of one's own (docs/guide/networks.md): in YAML, in the config itself, and as a shared object; what docs/guide/networks.md and
# examples/mymodel show runs as they show it, and what is wrong is told.
set -euo pipefail
root=$PWD
skiff=$root/${BUILD:-build}/skiff
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "$*"
    exit 1
}
quiet() { # COMMAND...: its output only when it fails
    "$@" >"$dir/out" 2>&1 || { cat "$dir/out"; fail "failed: $*"; }
}
says() { # TEXT COMMAND...: the command fails with status 1, and its last line has the text
    local text=$1 status=0
    shift
    "$@" >"$dir/out" 2>&1 || status=$?
    [ "$status" -eq 1 ] || { cat "$dir/out"; fail "status $status: $*"; }
    tail -n 1 "$dir/out" | grep -F -- "$text" >/dev/null || { cat "$dir/out"; fail "does not say \"$text\": $*"; }
}
so() { # NAME: NAME.so of NAME.c, as the docs compile it
    gcc -Wall -Wextra -Werror -shared -fPIC -I"$root/include" -o "$1.so" "$1.c"
}
cp -r examples/mymodel "$dir/my"
cd "$dir/my"

# the example: the same model, bit for bit, from the shared object and from YAML
so mymodel
quiet "$skiff" train -m config.yaml -o runner.model_save_path=so
quiet "$skiff" train -m config.yaml -o runner.model_save_path=yaml runner.model=./mymodel.yaml
for file in rec_static.pdmodel rec_static.pdparams rec_static.pdopt; do
    cmp "so/4/$file" "yaml/4/$file" || fail "$file of the two differ"
done
for model in so yaml; do
    quiet "$skiff" infer -m config.yaml -o runner.model=./mymodel.$model runner.infer_load_path=$model
    awk '/^epoch +samples/ { on = 1; next } on && !NF { exit } on { auc = $5 } END { exit !(auc > 0.9) }' "$dir/out" || { cat "$dir/out"; fail "mymodel.$model has not learned"; }
    quiet "$skiff" check-data -m config.yaml -o runner.model=./mymodel.$model
    grep '^600 samples\|1 file, .*, 600 samples, 0 bad lines' "$dir/out" >/dev/null || { cat "$dir/out"; fail "check-data"; }
    quiet "$skiff" launch --server_num 1 --worker_num 2 -m config.yaml -o runner.model=./mymodel.$model runner.model_save_path=job-$model
    [ -e job-$model/4/rec_static.pdparams ] || fail "a job with mymodel.$model saves no epoch"
done

# hyper_parameters reach both
for model in so yaml; do
    quiet "$skiff" train -m config.yaml -o runner.model=./mymodel.$model runner.epochs=1 runner.model_save_path=wide-$model \
        hyper_parameters.fc_sizes=[5] hyper_parameters.width=3
    quiet "$skiff" inspect tensor wide-$model/0/rec_static.pdparams
    grep -E 'fc_0\.w_0.*\[10, 5\]' "$dir/out" >/dev/null || { cat "$dir/out"; fail "mymodel.$model: fc_0.w_0 is not 3 * 3 + 1 by 5"; }
    says "the nearest known one is hyper_parameters.width" "$skiff" train -m config.yaml -o runner.model=./mymodel.$model \
        hyper_parameters.widht=3
done
sed 's/width: 8/width: wide/' config.yaml >wide.yaml
says 'wide.yaml:14: hyper_parameters.width must be an integer, found "wide"' "$skiff" train -m wide.yaml
says 'wide.yaml:14: hyper_parameters.width must be a number, found "wide"' "$skiff" train -m wide.yaml -o runner.model=./mymodel.yaml

# the network as a section of the config
{
    grep -v 'model:' config.yaml
    echo network:
    sed 's/^/  /' mymodel.yaml
} >one.yaml
quiet "$skiff" train -m one.yaml -o runner.model_save_path=one
cmp one/4/rec_static.pdparams yaml/4/rec_static.pdparams || fail "a network in the config differs from one in a file"
says 'the config contains a network, and runner.model names another one, rank/dnn; remove one of them' \
    "$skiff" train -m one.yaml -o runner.model=rank/dnn
sed 's/size: 2/size: tow/' one.yaml >wrong.yaml
line=$(grep -n 'size: tow' wrong.yaml | cut -d: -f1)
says "wrong.yaml:$line: no number has the name tow" "$skiff" train -m wrong.yaml

# what docs/guide/networks.md shows
awk '/^```yaml$/ {on = 1; next} /^```$/ {on = 0} on' "$root/docs/guide/networks.md" >docs.yaml
awk '/^```c$/ {on = 1; next} /^```$/ {on = 0} on' "$root/docs/guide/networks.md" >docs.c
so docs
{
    echo "click,user,genres,age,$(seq -s, -f C%g 26)"
    for i in $(seq 40); do echo "$((i % 2)),$i,1|2,0.5,$(seq -s, 26)"; done
} >docs.csv
for model in docs.yaml docs.so; do
    quiet "$skiff" train -m config.yaml -o runner.model=./$model runner.model_save_path=out-$model runner.train_data_dir=docs.csv
    tail -n 1 "$dir/out" | awk '{exit !($2 == 40)}' || { cat "$dir/out"; fail "$model has not seen 40 samples"; }
done
"$skiff" inspect layers >layers
[ "$(wc -l <layers)" -gt 140 ] || fail "only $(wc -l <layers) layers"
grep -x 'fc: input size \[num_flatten_dims param_attr bias_attr act name\]' layers >/dev/null || fail "inspect layers: $(grep '^fc' layers)"
"$skiff" inspect layers auc | grep 'results: .auc, .batch_auc, .states' >/dev/null || fail "inspect layers auc"
says 'no layer embeding (did you mean embedding?)' "$skiff" inspect layers embeding

# files that are none
train() { # MODEL
    "$skiff" train -m config.yaml -o "runner.model=$1" runner.model_save_path=never
}
says 'no model nothing; runner.model, or else the folder of the config, must name one of' train nothing
says 'or a file, as ./mynet.yaml or ./mymodel.so (docs/guide/networks.md)' train nothing
says "config.yaml: runner.model: cannot read $PWD/gone.yaml: no such file" train ./gone.yaml
touch empty.yaml
says 'empty.yaml: the file is empty; expected a network' train ./empty.yaml
echo 'inputs: [' >broken.yaml
says 'broken.yaml:2: ' train ./broken.yaml
says 'config.yaml: runner.model: mymodel.so: to load a shared object, write its path: ./mymodel.so' train mymodel.so
says "config.yaml: runner.model: cannot be loaded: $PWD/gone.so: cannot open shared object file" train ./gone.so
cp config.yaml text.so
says 'runner.model: cannot be loaded: ' train ./text.so
echo 'int nothing;' >none.c
so none
says 'none.so is not a model: it has no function skiff_model_def, which SKIFF_MODEL of <skiff/model.h> defines' train ./none.so
sed 's/^SKIFF_MODEL(.*//' mymodel.c >old.c
cat >>old.c <<'END'
const struct skiff_model_def *skiff_model_def(void);
const struct skiff_model_def *skiff_model_def(void)
{
    static const struct skiff_model_def def = {.abi = SKIFF_MODEL_ABI + VERSION, .name = "old", .build = BUILD};
    return RESULT;
}
END
other() { gcc -shared -fPIC -I"$root/include" "$@" -o old.so old.c; }
other -DVERSION=7 -DBUILD=build -DRESULT='&def'
says 'old.so was compiled for model interface 9, but this skiff has 2; recompile it with the headers of this skiff' train ./old.so
other -DVERSION=0 -DBUILD=NULL -DRESULT='&def'
says 'old.so: its model has no build' train ./old.so
other -DVERSION=0 -DBUILD=build -DRESULT='(def.abi ? NULL : &def)'
says 'old.so: skiff_model_def() gives NULL' train ./old.so
sed 's/= skiff_sequence_pool(net, g, "sum")/= future_layer(net, g)/; 1i struct skiff_var; struct skiff_net; struct skiff_var *future_layer(struct skiff_net *, struct skiff_var *);' mymodel.c >new.c
so new
says 'undefined symbol: future_layer' train ./new.so
sed 's/out->loss = /(void)/' mymodel.c >lossless.c
so lossless
says 'mymodel: the model has no loss' train ./lossless.so
[ ! -e never ] || fail "a model that cannot be built leaves a folder"
