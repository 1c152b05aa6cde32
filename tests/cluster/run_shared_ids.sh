#!/usr/bin/env bash
# Two distributed embeddings of different widths that are looked up by the same ids, as in DeepFM: each gets its own rows from the
# servers. A sync job of one worker has the numbers of one process; two workers train in sync and async, by config and by script.
set -uo pipefail
. "$(dirname "$0")/small.sh"
script=$(realpath "$(dirname "$0")/shared_ids.py")
skiff=$(realpath "${BUILD:-build}")/skiff
case ${BUILD:-build} in # scripts run in an interpreter that is not instrumented
*-address) export LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
export SKIFF_START_MS=60000
unset PADDLE_MASTER PADDLE_NNODES PADDLE_TRAINERS_NUM POD_IP OMP_NUM_THREADS TRAINING_ROLE
fault() { echo "$name: $*"; tail -n 5 out log/* 2>/dev/null | sed 's/^/    /'; failed=1; }

"$skiff" synth --rows 2000 --test-rows 100 --files 2 --out data >/dev/null || exit 1
cat >config.yaml <<'END'
runner: {model: rank/deepfm, train_data_dir: data/train, input_format: criteo, train_batch_size: 100, epochs: 3,
         thread_num: 1, seed: 3, split_file_list: True, model_save_path: model}
hyper_parameters:
  optimizer: {class: SGD, learning_rate: 0.02}
  distributed_embedding: 1
  sparse_feature_dim: 9
  fc_sizes: [16]
  sparse_inputs_slots: 27
  sparse_feature_number: 1001
  dense_input_dim: 13
END
job() { # WORKERS ARGUMENTS...
    rm -rf log
    "$skiff" launch --server_num 2 --worker_num "$1" "${@:2}" >out 2>&1 || fault "ended with $?"
}

name="one process"
"$skiff" train -m config.yaml -o runner.epochs=1 runner.model_save_path=start >out 2>&1 || fault "ended with $?"
"$skiff" train -m config.yaml -o runner.model_init_path=start/0 runner.model_save_path=alone >out 2>&1 || fault "ended with $?"
name="a worker, sync"
job 1 -m config.yaml -o runner.model_init_path=start/0 runner.sync_mode=sync
"$skiff" python - <<'END' || fault "other parameters than one process has"
import numpy
import paddle

alone, job = (paddle.load(folder + "/2/rec_static.pdparams") for folder in ("alone", "model"))
for name in {"first_order": 1, "second_order": 1, **alone}:
    numpy.testing.assert_allclose(job[name], alone[name], rtol=1e-4, atol=1e-6, err_msg=name)
END
for mode in sync async; do
    name="two workers, $mode"
    rm -rf model
    job 2 -m config.yaml -o runner.sync_mode=$mode
    awk '$1 ~ /^[0-2]$/ { n++; if ($2 != 2000) exit 1; if (n == 1) first = $4; last = $4 } END { exit !(n == 3 && last < first) }' \
        <(tail -n 3 log/workerlog.0) || fault "no three epochs of 2000 samples whose loss falls"
done

name="a script, one process"
"$skiff" python "$script" alone >alone.txt 2>out || fault "ended with $?"
[ "$(wc -l <alone.txt)" = 20 ] || fault "$(wc -l <alone.txt) losses"
name="a script, a worker, sync"
job 1 "$script" sync
diff alone.txt <(grep '^loss' log/workerlog.0) || fault "other losses than one process has"
for mode in sync async; do
    name="a script, two workers, $mode"
    job 2 "$script" $mode
    [ "$(cat log/workerlog.* | grep -c '^loss')" = 40 ] || fault "not 40 losses"
done
exit $failed
