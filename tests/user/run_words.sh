#!/usr/bin/env bash
# Mistakes that people make, and the words that they get: every one names what is wrong, where, and what to do.
set -uo pipefail
skiff=$(realpath "${BUILD:-build}")/skiff
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
silent() { ! grep -qF -- "$1" said || fault "was said: $1"; }

# ---- 40 rows of PaddleRec's slot text, and a small model ----
cat >c.yaml <<'YAML'
runner:
  model: rank/dnn
  train_data_dir: data
  test_data_dir: data
  train_batch_size: 4
  infer_batch_size: 4
  epochs: 1
  model_save_path: out
hyper_parameters:
  sparse_inputs_slots: 3
  sparse_feature_number: 100
  sparse_feature_dim: 4
  dense_input_dim: 2
  fc_sizes: [4]
YAML
mkdir data
for i in $(seq 0 39); do
    echo "click:$((i % 2)) dense_feature:0.$i dense_feature:0.5 1:$((i * 7 % 100)) 2:$((i * 3 % 100))"
done >data/a
row() { echo "click:$1 dense_feature:$2 dense_feature:0.5 1:$3 2:4"; }

# ---- check-data ----
run 0 check-data -m c.yaml
says "nothing wrong"
{
    row 1 0.5 3
    row 7 0.5 3
    row 1 0.5 100
    row 1 nan 3
    row 1 1e39 3
    row 1 0.5 99999999999999999999999
    row 1 0.5 -5
    echo "dense_feature:1 dense_feature:2 1:3 2:4"
    echo "clik:1 dense_feature:1 dense_feature:2 1:3 2:4"
    echo "$(row 1 0.5 3) 77:5"
    echo
    echo "click:1 dense_feature:x 1:3 2:4"
} >bad
: >empty
rule="expected an id from 0 to 99 (table \"SparseFeatFactors\" has 100 rows: hyper_parameters.sparse_feature_number)"
run 1 check-data -m c.yaml bad empty
says 'bad:2: slot "label" (1 of 4): expected 0 or 1 (it is the label), found 7'
says "bad:3: slot \"C1\" (2 of 4): $rule, found 100"
says 'bad:4: slot "dense_input" (4 of 4): expected a number, not nan or inf, found nan'
says 'bad:5: slot "dense_input" (4 of 4): expected a number, not nan or inf, found 1e39'
says "bad:6: slot \"C1\" (2 of 4): $rule, found 99999999999999999999999"
says "bad:7: slot \"C1\" (2 of 4): $rule, found -5"
says 'bad:8: slot "label" (1 of 4): the row has no label (label or click); input_label False reads rows without one'
says 'bad:9: slot "label" (1 of 4) has no value, and "clik" is no slot: expected "click"? (input_slots names the slots of the file)'
says 'bad:10: "77" is not a slot of the model'
says 'bad:11: expected slot:value, found a blank line'
says 'bad:12: slot "dense_input" (4 of 4): expected a number, found "x"'
says 'empty is empty'
table() { grep -qE "^$1 +$2  $3 +$4\$" said || fault "no line of the table: $1, $2, $3, $4"; }
table "line that cannot be read" 1 refuses bad:12
table "empty line" 1 refuses bad:11
table "row without label" 1 refuses bad:8
table "misspelt slot name" 1 refuses bad:9
table "label out of range" 1 refuses bad:2
table "nan or inf" 2 refuses bad:4
table "id out of range" 3 refuses bad:3
table "unknown slot name" 1 warns bad:10
table "empty file" 1 warns empty
says "skiff check-data: 10 lines that training would refuse"
{ row 1 0.5 3 && echo "$(row 0 0.5 3) 77:5"; } >more
run 1 check-data -m c.yaml more empty
says "skiff check-data: training would accept all lines but warn of unknown slot names or empty files (--warnings_ok accepts them)"
run 0 check-data -m c.yaml --warnings_ok more empty
says "training would accept all lines"
run 1 check-data -m c.yaml empty
says "no samples: training would refuse this"

# ---- training says the same of each of these lines, and check-data ends as training does ----
i=0
while IFS= read -r line; do
    i=$((i + 1))
    echo "$line" >one
    "$skiff" train -m c.yaml -o runner.train_data_dir=one runner.model_save_path=one_out >trained 2>&1
    trained=$?
    "$skiff" check-data -m c.yaml --warnings_ok one >said 2>&1
    checked=$?
    [ $trained = $checked ] || fault "line $i: training ended with $trained, check-data with $checked"
    [ $trained = 0 ] || grep -qF -- "$(grep -o 'one:1: .*' said | head -n 1)" trained ||
        fault "line $i: training says $(tail -n 1 trained)"
done <bad
# other readers
printf 'label,C1,C2,dense_input\n1,3,4,0.5\n,3,4,0.5\n2,3,4,0.5\n1,3,400,0.5\n1,3,4,inf\n' >x.csv
run 1 check-data -m c.yaml -o hyper_parameters.dense_input_dim=1 runner.input_format=csv -- x.csv
says 'x.csv:3: slot "label" (1 of 4): the row has no label (its cell is empty)'
says 'x.csv:4: slot "label" (1 of 4): expected 0 or 1'
says 'x.csv:5: slot "C2" (3 of 4): expected an id from 0 to 99'
says 'x.csv:6: slot "dense_input" (4 of 4): expected a number, not nan or inf, found inf'
printf '1 1 1 3 1 4 2 0.5 0.5\n1 1 1 3 1 18446744073709551615 2 0.5 0.5\n' >x.slots
run 1 check-data -m c.yaml -o runner.input_format=multislot -- x.slots
says 'x.slots:2: slot "C2" (3 of 4): expected an id from 0 to 99'
says 'found 18446744073709551615'
run 1 train -m c.yaml -o runner.input_format= "runner.pipe_command=cat;" runner.train_data_dir=x.slots
says 'x.slots:2: slot "C2" (3 of 4): expected an id from 0 to 99'
# a mode that there is not is refused by every command, not only in jobs
for command in train infer predict check-data; do
    run 1 $command -m c.yaml -o runner.sync_mode=asnyc
    says "c.yaml: runner.sync_mode is asnyc; expected sync, half_async, async or geo, or collective; did you mean async?"
done
run 1 train -m c.yaml -o runner.sync_mode=GEO
says "did you mean geo?"
# in memory, by two threads, behind the lines that may be left out, judged
run 1 train -m c.yaml -o runner.train_data_dir=bad runner.reader_type=InmemoryDataset
says 'bad:2: slot "label" (1 of 4): expected 0 or 1 (it is the label), found 7'
cat data/a data/a data/a >long
row 1 0.5 200 >>long
run 1 train -m c.yaml -o runner.train_data_dir=long runner.thread_num=2
says "long:121: slot \"C1\" (2 of 4): $rule, found 200"
run 0 train -m c.yaml -o "runner.train_data_dir=[bad, data, empty]" runner.bad_lines=10
says 'skipped 10 bad lines'
says '"77" is not a slot of the model: its values are ignored in all lines'
says 'empty is empty'
sed -n 2p bad >seven
run 1 train -m c.yaml -o runner.train_data_dir=seven runner.bad_lines=-1
says "no samples in runner.train_data_dir: skipped 1 bad line (runner.bad_lines); skiff check-data prints"
run 1 infer -m c.yaml -o runner.test_data_dir=bad
says 'bad:2: slot "label" (1 of 4): expected 0 or 1 (it is the label), found 7'
run 1 launch --server_num 1 --worker_num 1 -m c.yaml -o runner.train_data_dir=bad
says 'bad:2: slot "label" (1 of 4): expected 0 or 1 (it is the label), found 7'
says "skiff launch: check this job with: skiff doctor -m c.yaml -o runner.train_data_dir=bad --servers 127.0.0.1:"

# ---- learning that is lost ----
run 1 train -m c.yaml -o hyper_parameters.optimizer.class=SGD hyper_parameters.optimizer.learning_rate=1e20 runner.epochs=9
says "training diverged to NaN in epoch 0, batch "
says "data/a lines "
says "try a lower hyper_parameters.optimizer.learning_rate (now 1e+20), or set clip_norm beside it"
silent "op auc"
run 1 train -m c.yaml -o hyper_parameters.optimizer.class=SGD hyper_parameters.optimizer.learning_rate=1e20 \
    runner.reader_type=InmemoryDataset runner.shuffle=True
says "training diverged to NaN in epoch 0, batch "
grep -qE "\(($work/data/a:[0-9]+, ){3}$work/data/a:[0-9]+\): parameter " said || fault "samples in memory have no lines"

# ---- sizes, folders, files ----
run 1 train -m c.yaml -o runner.input_hash_size=200
says "runner.input_hash_size is 200, but hyper_parameters.sparse_feature_number is 100: ids of 100 or more would have no row"
run 1 train -m c.yaml -o runner.input_format=criteo runner.input_hash_size=0
says "runner.input_hash_size is 0 (ids of 64 bits), but hyper_parameters.sparse_feature_number is 100"
run 0 train -m c.yaml -o runner.cache_dir=some/where
[ -n "$(ls some/where)" ] || fault "no cache in some/where"
run 1 train -m c.yaml -o runner.cache_dir=c.yaml
says "runner.cache_dir: cannot make folder $work/c.yaml"
if [ "$(id -u)" != 0 ]; then
    mkdir -m 500 closed
    run 1 train -m c.yaml -o runner.cache_dir=closed
    says "runner.cache_dir: $work/closed: cannot create files in it"
fi
mkdir folder && cp data/a folder/ && cp bad folder/a~ && cp bad folder/.a.swp && cp bad folder/a.bak && cp bad 'folder/#a#'
run 0 train -m c.yaml -o runner.train_data_dir=folder
says "4 files are ignored, because the name is hidden or that of a backup: $work/folder/#a#, $work/folder/.a.swp, $work/folder/a.bak, ..."
says "1 file,"
run 1 train -m c.yaml -o 'runner.train_data_dir=folder/*.bak' # who asks for it gets it
says 'a.bak:2: slot "label"'
rm folder/a
run 1 train -m c.yaml -o runner.train_data_dir=folder
says "the folder holds no data file (files that begin with . or _, and backups such as x~, x.swp or x.bak, do not count)"

# ---- words ----
run 2 trian
says "unknown command trian; the nearest is train"
run 2 train -m c.yaml --resum
says "unknown flag --resum; the nearest is --resume"
key() { # WRITTEN MEANT
    run 1 train -m c.yaml -o "$1=1"
    says "-o $1 is not a key: write $2"
}
key runner.num_epochs runner.epochs
key runner.epoch runner.epochs
key epochs runner.epochs
key runner.batch_size runner.train_batch_size
key runner.threads runner.thread_num
key runner.train_data runner.train_data_dir
key runner.Epochs runner.epochs
key runner.output_dir runner.model_save_path
key hyper_parameters.learning_rate hyper_parameters.optimizer.learning_rate
key hyper_parameters.lr hyper_parameters.optimizer.learning_rate
key hyper_parameters.momentum hyper_parameters.optimizer.momentum
key hyper_parameters.embedding_dim hyper_parameters.sparse_feature_dim
run 1 train -m c.yaml -o runner.epocs=3
says "unknown key runner.epocs (the nearest known one is runner.epochs)"
sed 's/^runner:/Runner:/' c.yaml >case.yaml
run 1 train -m case.yaml
says "case.yaml:2: Runner must be written runner: keys are case-sensitive"
sed 's/epochs: 1/num_epochs: 5/' c.yaml >epochs.yaml
run 1 train -m epochs.yaml
says "epochs.yaml:7: runner.num_epochs is not a key: write runner.epochs"
sed 's/train_data_dir/train_data_dri/' c.yaml >needed.yaml
run 1 train -m needed.yaml
says "runner.train_data_dir is required: a folder, files or patterns; what is runner.train_data_dri?"
run 1 train -m c.yaml -o runner.epochs=0
says "runner.epochs must be between 1 and 1000000, found 0"
run 1 train -m c.yaml -o runner.epochs=99999999999999999999
says 'runner.epochs must be an integer of 64 bits, found "99999999999999999999"'
run 1 train -m c.yaml -o runner.train_batch_size=1_000_000_000_000
says "runner.train_batch_size must be between 1 and 16777216, found 1_000_000_000_000"
run 1 train -m c.yaml -o runner.drop_last=True runner.train_batch_size=1000
says "no batch is full: runner.train_data_dir has fewer samples than runner.train_batch_size (1000)"
says "use smaller batches or set drop_last to False"
run 0 help train
says "usage: skiff train"
run 0 help inspect tensor
says "usage: skiff inspect tensor"
silent "skiff inspect ops"
run 2 help inspect tensr
says "the nearest is tensor"
run 2 help trian
says "the nearest is train"

# ---- a pipe command that training waits for ----
cat >slow.sh <<'SH'
sleep 2
sed 's/^click:\(.\) dense_feature:\([^ ]*\) dense_feature:\([^ ]*\) 1:\([^ ]*\) 2:\(.*\)/1 \1 1 \4 1 \5 2 \2 \3/'
SH
mkdir pipe
head -n 40 data/a >pipe/a
sed "s|train_data_dir: data|train_data_dir: pipe\n  pipe_command: 'bash slow.sh'|; s|epochs: 1|epochs: 2|" c.yaml >pipe.yaml
run 0 train pipe.yaml
says "the pipe command 'bash slow.sh' takes 9"
says " % of the time (runner.pipe_command); $work/pipe/a looks like slot_text, which Skiff reads without a command: set runner.input_format: slot_text in its place"
[ "$(grep -c 'the pipe command' said)" = 1 ] || fault "said more than once"
run 0 train pipe.yaml -o runner.reader_type=InmemoryDataset
says "the pipe command 'bash slow.sh' takes 9"
run 0 train pipe.yaml -o runner.input_format=slot_text
silent "the pipe command"
sed -i 's/^sleep 2$//' slow.sh
run 0 train pipe.yaml
silent "the pipe command"

# ---- how much is said ----
run 0 train -q -m c.yaml
silent INFO
silent "Epoch:"
says "epoch     samples"
run 0 infer --quiet -m c.yaml
silent "Epoch:"
says "epoch     samples"
run 0 train -v -m c.yaml
says "DEBUG - key runner.train_batch_size: 4"
says "DEBUG - slot C1: int64, dense, 0 to 99"
says "DEBUG - file $work/data/a"
run 2 train -q -v -m c.yaml
says "--quiet and --verbose exclude each other; give one of them"
on_terminal() { # [NAME=VALUE]: a failing run on a terminal
    env -u NO_COLOR TERM=xterm "$@" script -qec "'$skiff' train -m c.yaml -o runner.train_data_dir=bad" /dev/null >said
}
red=$(printf '\033[31mskiff train:\033[0m')
if ! script -qec true /dev/null >/dev/null 2>&1; then # as in containers without /dev/ptmx
    echo "skipped: no pseudo-terminal, so the colours of messages are not looked at"
else
    on_terminal
    says "$red"
    on_terminal NO_COLOR=1
    silent "$red"
    says "skiff train: "
    on_terminal TERM=dumb
    silent "$red"
fi
run 1 train -m c.yaml -o runner.train_data_dir=bad
silent "$(printf '\033')"

# ---- a job that is interrupted says where its part is, and how to go on ----
run 2 launch --server_num 1 --resume script.py
says "--resume needs -m config.yaml"
run 0 launch --help
says "--resume"
rm -rf out
mkfifo rows # a file that does not end: the first epoch runs until it is told to stop
(while cat data/a data/a data/a data/a; do :; done) >rows 2>/dev/null &
feeder=$!
"$skiff" launch -v --server_num 1 --worker_num 1 --log_dir jobs -m c.yaml -o runner.train_data_dir=rows 'runner.seed=7' >job 2>&1 &
launcher=$!
for _ in $(seq 600); do
    grep -q 'samples/s' jobs/workerlog.0 job 2>/dev/null && break
    sleep 0.1
done
line=$(sed -n 's/^skiff launch: check this job with: skiff //p' job)
# shellcheck disable=SC2086
[ -n "$line" ] && "$skiff" $line >said 2>&1
says "this process is worker 0 of 1 worker and 1 server"
says "server 0: running, async, for 1 server and 1 worker ("
says "0 faults"
grep -qE "^skiff launch: worker 0: process [0-9]+, log jobs/workerlog.0" job || fault "-v does not name worker 0"
kill -INT $launcher
wait $launcher
[ $? = 130 ] || fault "an interrupted launch does not end with 130"
kill $feeder 2>/dev/null
wait $feeder 2>/dev/null
cp job said
says "skiff launch: stopped in epoch 0; the part is saved in $work/out/0"
says "skiff launch: resume with: $skiff launch -v --server_num 1 --worker_num 1 --log_dir jobs -m c.yaml -o runner.train_data_dir=rows runner.seed=7 --resume"
[ -f out/0/__skiff_manifest__ ] || fault "no part in out/0"
run 0 launch --server_num 1 --worker_num 1 --resume --log_dir jobs -m c.yaml
grep -qF "out/0 was saved in the middle of its epoch" jobs/workerlog.0 || fault "the job did not go on with the part"
exit $failed
