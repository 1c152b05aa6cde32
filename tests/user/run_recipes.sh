#!/usr/bin/env bash
# docs/guide/clusters.md: the batch script in a Slurm that the test starts (tests/cluster/slurm.sh), and the manifest for Kubernetes with
# pods as processes on loopback addresses: the jobs train with 2 servers and 2 workers, and save.
set -uo pipefail
root=$PWD
. tests/cluster/slurm.sh
export PATH=$root/${BUILD:-build}:$PATH
work=$(mktemp -d)
trap 'slurm_stop; rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fault() {
    echo "FAILED: $*"
    failed=1
}
unset POD_IP PADDLE_PORT SKIFF_SECRET SKIFF_SECRET_FILE SKIFF_JOB
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
        [ -e "model/$epoch/__skiff_manifest__" ] || fault "epoch $epoch was not saved"
    done
    local samples
    samples=$(python3 -c 'import json; print(*[e["samples"] for e in json.load(open("model/report.json"))["epochs"]])')
    [ "$samples" = "$1" ] || fault "samples of the epochs: $samples, expected $1"
}

# ---- Slurm ----
batch=$root/examples/slurm/train.sbatch
bash -n "$batch" || fault "the shell does not read $batch"
log_of_all() { tail -n 12 out "log-$number"/*; }
submit() { # ARGUMENTS...: starts the batch script and waits for it; $number is the job's
    local got=0
    number=$(timeout 300 sbatch --wait --parsable --output=out "$batch" "$@" 2>err) || got=$?
    number=${number%%;*}
    return $got
}
secrets() { find . -maxdepth 1 -name '.skiff-*'; }
slurm() {
    submit config.yaml -o runner.sync_mode=async || { fault "the batch script ends with $?: $(cat err)"; log_of_all; }
    trained "4000 4000"
    for file in "log-$number"/serverlog.{0,1} "log-$number"/workerlog.{0,1}; do [ -s "$file" ] || fault "no $file"; done
    for file in "log-$number"/serverlog.{0,1}; do grep -q 'the job is complete' "$file" || fault "$file: the server did not end by itself"; done
    [ -z "$(secrets)" ] || fault "the secret is left behind"
    submit config.yaml --resume -o runner.epochs=3 || { fault "with --resume it ends with $?"; log_of_all; }
    trained "4000 4000 4000"

    # the time limit comes (Slurm signals the batch script: --signal=B:TERM@120): what was learnt of the running epoch is saved
    skiff synth --rows 40000 --test-rows 100 --files 2 --out long >/dev/null || exit 1
    number=$(sbatch --parsable --output=out "$batch" config.yaml --overwrite -o runner.train_data_dir=long/train runner.train_batch_size=1 \
        runner.sync_mode=sync runner.print_interval=10)
    until grep -qE 'epoch 0: +[0-9]+ %' "log-$number/workerlog.0" 2>/dev/null; do # in the middle of an epoch that takes many seconds
        [ -n "$(squeue -h -j "$number" -t PD,CF,R 2>/dev/null)" ] || { fault "the long job has ended early"; break; }
        sleep 0.1
    done
    [ "$(stat -c %a "$(secrets)")" = 600 ] || fault "others can read the secret: $(ls -l "$(secrets)")"
    scancel --batch --signal=TERM "$number" || fault "no signal for the batch script"
    while [ -n "$(squeue -h -j "$number" 2>/dev/null)" ]; do sleep 0.1; done
    scontrol show job "$number" | grep -E ' ExitCode=[1-9]' >/dev/null || fault "stopped, and status 0: $(scontrol show job "$number")"
    grep -q 'interrupted: part of the epoch' "log-$number"/workerlog.? || { fault "the part of an epoch was not saved"; log_of_all; }
    [ "$(python3 -c 'import json; print(json.load(open("model/report.json"))["run"]["status"])')" = stopped ] || fault "the run is not called stopped"

    # an error has a message, and the status is not 0
    submit && fault "no config, and status 0"
    grep -qF 'config.yaml is missing: sbatch train.sbatch config.yaml' out || fault "without a config: $(cat out)"
    submit gone.yaml && fault "a config that is not there, and status 0"
    # the first task that fails ends the others, perhaps before they have written a word
    grep -qF 'cannot read gone.yaml' "log-$number"/*log.? || { fault "gone.yaml"; log_of_all; }
    [ -z "$(secrets)" ] || fault "a secret is left behind by a job that failed"
}
if slurm_start; then
    slurm
    slurm_stop
fi

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

# the real kubectl against an API server that knows Jobs and their conditions
kubernetes_wait() {
    local api wait=$root/examples/kubernetes/wait.sh
    mkdir jobs home
    python3 "$root/tests/user/job_api.py" jobs &
    api=$!
    until [ -s jobs/port ] || ! kill -0 $api 2>/dev/null; do sleep 0.05; done
    printf '{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "%s"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}]}' "http://127.0.0.1:$(cat jobs/port)" >kubeconfig
    export KUBECONFIG=$work/kubeconfig HOME=$work/home INTERVAL=0.1
    echo '[]' >jobs/ctr-server.json
    echo '[{"type": "Complete", "status": "True"}]' >jobs/ctr-worker.json
    "$wait" ctr-worker ctr-server >out 2>&1 &
    for _ in $(seq 600); do [ "$(grep -cs ctr-server jobs/asked)" -ge 3 ] && break; sleep 0.1; done # it looks several times
    kill -0 $! || fault "waited for one of two Jobs only: $(cat out)"
    cp jobs/ctr-worker.json jobs/ctr-server.json
    wait $! || fault "both are complete, status $?: $(cat out)"
    echo '[]' >jobs/ctr-worker.json
    echo '[{"type": "Failed", "status": "True", "message": "Job has reached the specified backoff limit"}]' >jobs/ctr-server.json
    timeout 60 "$wait" ctr-worker ctr-server >out 2>&1
    [ $? -eq 1 ] || fault "a failed Job: $(cat out)"
    grep -qF 'job/ctr-server: Failed: Job has reached the specified backoff limit' out || fault "a failed Job: $(cat out)"
    timeout 60 "$wait" gone >out 2>&1
    [ $? -eq 2 ] || fault "a Job that is not there: $(cat out)"
    kill $api
    wait $api 2>/dev/null
}
if command -v kubectl >/dev/null; then kubernetes_wait; else echo "skipped: no kubectl"; fi
exit $failed
