#!/usr/bin/env bash
# docs/guide/migrate.md and docs/zh/migrate.md: their commands, on a model that Paddle 1.8.5 saved and a case recorded there, and the
# messages of their last tables.
set -uo pipefail
root=$PWD
export PATH=$root/${BUILD:-build}:$PATH PYTHONDONTWRITEBYTECODE=1
. tests/user/page.sh
pages=("$root/docs/guide/migrate.md" "$root/docs/zh/migrate.md")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
[ -d "$root/${BUILD:-build}/python" ] || { echo "skipped: Python was not built"; exit 0; }
failed=0
cat >same.py <<'PY'
import numpy as np
import paddle
paddle.enable_static()
exe = paddle.static.Executor()
feed = {"dense_input": np.linspace(0, 1, 26, dtype="float32").reshape(2, 13)}
feed.update({"C%d" % i: np.array([[i], [2 * i]], "int64") for i in (1, 2, 3)})
results = []
for name in ("old_model", "new/ctr"):
    program, _, fetches = paddle.static.load_inference_model(name, exe)
    results.append(exe.run(program, feed=feed, fetch_list=fetches)[0])
assert results[0].shape == (2, 2) and (results[0] == results[1]).all(), results
PY
try_page() { # PAGE
    echo "$1"
    python3 "$root/tests/user/page.py" "$1" | tee log
    grep -qx 'migrate.md: 5 commands' log || failed=1
    # what was converted gives what Paddle gave
    sed -i 's|^model_dir: .*|model_dir: ../one_file\nparams_filename: __params__|' case/case.txt
    skiff replay case >log 2>&1 && grep -qx '1 passed, 0 failed' log || { echo "FAILED: one_file"; cat log; failed=1; }
    skiff python ../same.py || { echo "FAILED: new/ctr"; failed=1; }
}
for page in "${pages[@]}"; do
    folder=$(mktemp -d -p "$work")
    page_folder "$page" "$folder"
    cd "$folder" || exit 1
    try_page "$page"
done
cd "$work" || exit 1

told() { # TEXT COMMAND...: the command fails and prints the text, which both pages have
    if "${@:2}" >log 2>&1; then echo "FAILED: no error: ${*:2}" && failed=1; fi
    grep -qF -- "$1" log || { echo "FAILED: expected \"$1\":"; tail -n 3 log; failed=1; }
    for page in "${pages[@]}"; do
        grep -qF -- "| \`$1\` |" "$page" || { echo "FAILED: $page does not have \"$1\""; failed=1; }
    done
}
fluid="import paddle.fluid as fluid;"
told 'paddle.static.data builds programs: call paddle.enable_static() first' skiff python -c 'import paddle; paddle.static.data("x", [1])'
told 'paddle.fluid.layers.target_assign: Skiff has no such name; nearest: assign' skiff python -c "$fluid fluid.layers.target_assign"
told 'Skiff has no CUDA; use fluid.CPUPlace()' skiff python -c "$fluid fluid.Executor(fluid.CUDAPlace(0))"
told "No module named 'paddle'" env -u PYTHONPATH python3 -S -c 'import paddle'
echo 'runner: {model: rank/dnn, train_data_dir: data}' >config.yaml
told 'PADDLE_PSERVERS_IP_PORT_LIST is not set' env TRAINING_ROLE=PSERVER skiff train -m config.yaml
told 'runner.num_epochs is not a key: write runner.epochs' skiff train -m config.yaml -o runner.num_epochs=3
told 'has no LoD: feed it with sequence lengths (a LoDTensor)' skiff python -c "$fluid
x = fluid.data('x', [None, 1], 'int64', lod_level=1)
y = fluid.layers.sequence_pool(fluid.embedding(x, [9, 4]), 'sum')
exe = fluid.Executor()
exe.run(fluid.default_startup_program())
import numpy
exe.run(feed={'x': numpy.ones((2, 1), 'int64')}, fetch_list=[y])"
for page in "${pages[@]}"; do # the last table
    [ "$(sed -n '/^## /h; /^## /!H; ${x; p}' "$page" | grep -c '^| `')" -eq 7 ] || { echo "FAILED: $page has a message that is not tried here"; failed=1; }
done
exit $failed
