#!/usr/bin/env bash
# docs/recipes.md: the batch script for Slurm and the manifest for Kubernetes, with stand-ins for srun, scontrol and pods on
# loopback addresses: the jobs really train with 2 servers and 2 workers, and save.
set -uo pipefail
root=$PWD
export PATH=$root/${BUILD:-build}:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fault() {
    echo "FAILED: $*"
    failed=1
}
unset POD_IP PADDLE_PORT SKIFF_SECRET SKIFF_SECRET_FILE SKIFF_JOB SLURM_RESTART_COUNT
skiff synth --rows 4000 --test-rows 100 --files 4 --out data >/dev/null || exit 1
cat >config.yaml <<'YAML'
runner:
  model: rank/dnn
  train_data_dir: data/train
  input_format: criteo
  train_batch_size: 100
  epochs: 2
  split_file_list: True
  model_save_path: model
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.001}
  sparse_inputs_slots: 27
  sparse_feature_number: 5001
  sparse_feature_dim: 8
  dense_input_dim: 13
  fc_sizes: [32]
YAML
trained() { # SAMPLES: of all workers, in each of the two epochs
    for epoch in 0 1; do
        [ -e "model/$epoch/skiff_manifest.yaml" ] || fault "epoch $epoch was not saved"
    done
    local samples
    samples=$(python3 -c 'import json; print(*[e["samples"] for e in json.load(open("model/report.json"))["epochs"]])')
    [ "$samples" = "$1" ] || fault "samples of the epochs: $samples, expected $1"
}

# ---- Slurm ----
batch=$root/examples/slurm/train.sbatch
bash -n "$batch" || fault "the shell does not read $batch"
mkdir bin
cat >bin/scontrol <<'SH'
#!/bin/bash
[ "$*" = "show hostnames 127.0.0.[2-3]" ] && printf '127.0.0.2\n127.0.0.3\n'
SH
cat >bin/srun <<'SH'
#!/bin/bash
# one task a node, side by side; the highest status is ours
while [[ $1 == --* ]]; do shift; done
stat -c %a "$SKIFF_SECRET_FILE" >secret.mode
for node in 127.0.0.2 127.0.0.3; do SLURMD_NODENAME=$node "$@" >"srun-$node.log" 2>&1 & pids+=($!); done
status=0
for p in "${pids[@]}"; do wait "$p" || status=$?; done
exit $status
SH
chmod +x bin/*
# ports: of a job number that no other job here has
submit() { # ENVIRONMENT... -- ARGUMENTS...
    env -C / PATH="$work/bin:$PATH" SLURM_SUBMIT_DIR="$work" SLURM_JOB_ID=$number SLURM_JOB_NODELIST='127.0.0.[2-3]' "$@" >"$work/out" 2>&1
}
number=$((RANDOM % 6000 + 42000))
submit bash "$batch" config.yaml -o runner.sync_mode=async || { fault "the batch script ends with $?"; tail -n 20 out srun-*.log; }
trained "4000 4000"
for file in "log-$number"/serverlog.{0,1} "log-$number"/workerlog.{0,1}; do [ -s "$file" ] || fault "no $file"; done
[ "$(cat secret.mode)" = 600 ] || fault "others can read the secret: mode $(cat secret.mode)"
[ -z "$(ls -A | grep '^\.skiff-')" ] || fault "the secret is left behind"
# started again by Slurm: it goes on with the same run
submit SLURM_RESTART_COUNT=1 bash "$batch" config.yaml -o runner.epochs=3 || { fault "the second time it ends with $?"; tail -n 20 out srun-*.log; }
trained "4000 4000 4000"
# what is wrong is told, and the status is not 0
submit bash "$batch" && fault "no config, and status 0"
grep -qF 'config.yaml is missing: sbatch train.sbatch config.yaml' out || fault "without a config: $(cat out)"
submit bash "$batch" gone.yaml && fault "a config that is not there, and status 0"
[ -z "$(ls -A | grep '^\.skiff-')" ] || fault "a secret is left behind by a job that failed"

# ---- Kubernetes ----
if /usr/bin/python3 -c 'import yaml' 2>/dev/null; then
    rm -rf model
    skiff secret new --out secret >/dev/null 2>&1 || fault "no secret"
    SKIFF_START_MS=60000 timeout 300 /usr/bin/python3 "$root/tests/user/pods.py" "$root/examples/kubernetes/job.yaml" "$work" secret >out 2>&1 ||
        { fault "the pods:"; tail -n 40 out; }
    grep -qx 'pods: ctr-server-0 ctr-server-1 ctr-worker-0 ctr-worker-1' out || { fault "pods"; cat out; }
    trained "4000 4000"
else
    echo "skipped: the manifest is not read, python3-yaml is not installed"
fi
exit $failed
