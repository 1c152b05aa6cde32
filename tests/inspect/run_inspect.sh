#!/usr/bin/env bash
# run_inspect.sh: what `skiff inspect` prints for files that Paddle wrote, and how it fails.
set -uo pipefail
cd "$(dirname "$0")/../.."
skiff=${BUILD:-build}/skiff
data=tests/data
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
failed=0

# expect STATUS PATTERN ARGUMENTS...: exit status, and a line of the output (both streams) that matches
expect() {
    local status=$1 pattern=$2 found
    shift 2
    "$skiff" inspect "$@" >"$temp/out" 2>"$temp/err"
    found=$?
    if [ "$found" -ne "$status" ] || ! cat "$temp/out" "$temp/err" | grep -E -- "$pattern" >/dev/null; then
        echo "skiff inspect $*: status $found, expected $status; no line matches $pattern:"
        tail -n 5 "$temp/out" "$temp/err"
        failed=1
    fi
    if [ "$status" -ne 0 ] && [ "$(tail -n 1 "$temp/err" | cut -c1-13)" != "skiff inspect" ]; then
        echo "skiff inspect $*: the last line on stderr is no reason"
        failed=1
    fi
}

expect 0 '^usage: skiff inspect program' --help
expect 0 '^usage: skiff inspect tensor' tensor --help
expect 2 'expected program, model, ops, layers, functions, tensor, table or metrics'
expect 2 'found nonsense' nonsense
expect 2 'expected a file' program
expect 2 'unknown flag --summary' tensor --summary "$data/saved/save_op/int64"
expect 2 'program needs a value' tensor "$data/saved/save_op/int64" --program

expect 0 '^ops +51, forward 22, backward 20, optimize 9$' program --summary "$data/saved/main.pb"
expect 0 '^parameters +9, 774 elements, 3.1 kB \(3096 bytes\)$' program --summary "$data/saved/main.pb"
expect 0 'version +1008005, read as Paddle 1.x' program --summary "$data/saved/main.pb"
expect 0 'version +2006002, read as Paddle 2.x' program --summary "$data/interop/p26/ctr.pdmodel"
expect 0 'var fc_0.w_0 LOD_TENSOR float32 \[25,8\] persistable=True' program "$data/saved/inference_default/__model__"
"$skiff" inspect program "$data/saved/main.pb" >"$temp/text"
"$skiff" inspect program "$temp/text" >"$temp/again"
cmp "$temp/text" "$temp/again" || failed=1
expect 1 'not a Paddle program' program "$data/saved/fluid_save/ctr.pdparams"
expect 1 'no such file' program "$temp/nothing"

expect 0 '^ +1 C1 +int64 \[-1, 1\], lod level 1$' model "$data/saved/inference_default"
expect 0 '^ +0 save_infer_model/scale_0.tmp_0 +float32 \[-1, 2\]' model "$data/saved/inference_default"
expect 0 '^ +fc_0.w_0 +float32 \[25, 8\], 800 bytes$' model "$data/saved/inference_default"
expect 0 '^total +9 parameters, 3.1 kB' model --model model --params params "$data/saved/inference_files"
expect 0 '^ +26 C26 ' model "$data/interop/p26/ctr"
expect 0 '^total +50 parameters' model "$data/saved/fluid_save/ctr"
expect 0 '^total +50 parameters' model "$data/saved/fluid_save"
expect 0 '^layout +parameters and optimizer state$' model "$data/saved/fluid_save"
expect 0 '^layout +a model of Paddle 1.x$' model "$data/saved/inference_default"
expect 1 '__model__: no such file' model "$data/saved/inference_files"

expect 0 '^[0-9]+ ops$' ops
expect 0 '^relu \[2.x\] +X -> Out \| ' ops
expect 0 'beta1=0.9 +FLOAT' ops adam
expect 0 '^ +4 mul$' ops "$data/saved/inference_default"
expect 1 'did you mean relu' ops relux
sed 's/ op relu / op reluctant /' "$temp/text" >"$temp/unknown"
expect 1 'op types are unknown: .*reluctant' ops "$temp/unknown"

expect 0 '^  lod 1: 3 sequences, offsets 0 2 2 5$' tensor "$data/saved/save_op/lod_tensor"
expect 0 '^  min 0  max 9  mean 4.5$' tensor "$data/saved/save_op/lod_tensor"
expect 0 '^selected rows: 3 rows of a table of height 6, ids 4 1 4$' tensor "$data/saved/save_op/selected_rows"
expect 0 '^  -2$' tensor --all "$data/saved/save_op/int64"
expect 0 '^50 tensors$' tensor "$data/saved/persistables_combined/all"
expect 0 '^learning_rate_0 +float32 \[1\]' tensor --program "$data/saved/main.pb" "$data/saved/persistables_combined/all"
expect 1 '9 tensors expected by the program, 50 found' tensor --program "$data/saved/inference_default/__model__" "$data/saved/persistables_combined/all"
expect 0 '^fc_0.w_0 +float32 \[25, 8\]' tensor "$data/saved/fluid_save/ctr.pdparams"
expect 0 "^LR_Scheduler +\{'last_epoch': 3, 'last_lr': 0.5\}$" tensor "$data/pickle/py37_scheduler.pkl"
expect 0 '^weight is parameter linear_0.w_0$' tensor "$data/pickle/paddle_save_layer.pdparams"
expect 1 'asks for posix.system' tensor "$data/pickle/py37_evil.pkl"
expect 1 'neither a LoDTensor' tensor "$data/saved/main.pb"
head -c 60 "$data/saved/save_op/lod_tensor" >"$temp/cut"
expect 1 'neither a LoDTensor' tensor "$temp/cut"
exit $failed
