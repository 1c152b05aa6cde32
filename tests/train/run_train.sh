#!/usr/bin/env bash
# skiff train, infer, check-data, synth, prepare as a user calls them: results, files, messages, exit statuses.
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
. "$(dirname "$0")/../words.sh"

run 0 synth --rows 3000 --test-rows 600 --files 2 --out "$work/data"
says "no model can reach more than AUC"
mkdir -p "$work/rank/dnn"
cat >"$work/rank/dnn/config.yaml" <<YAML
runner:
  train_data_dir: ../../data/train
  test_data_dir: "../../data/test/*"
  input_format: criteo
  train_batch_size: 100
  infer_batch_size: 100
  epochs: 2
  print_interval: 1
  model_save_path: out
  infer_load_path: out
  thread_num: 1
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_feature_number: 10007
  sparse_feature_dim: 4
  fc_sizes: [16, 8]
YAML
config=$work/rank/dnn/config.yaml
out=$work/rank/dnn/out

# train: the epoch line, the table, files in Paddle's form beside the config
run 0 train -m "$config"
check "epoch line" grep -qE '^Epoch: 1, using time: [0-9.]+ second, ips: [0-9]+ example/sec\. auc: 0\.[0-9]{4}$' "$work/log"
check "table" grep -qE '^epoch +samples +samples/s +loss +auc +log loss +copc .*read +compute +update' "$work/log"
for f in rec_static.pdparams rec_static.pdopt rec_static.pdmodel __skiff_manifest__; do
    check "$f is there" test -s "$out/1/$f"
done
# one thread: bit for bit the same again; another seed is another start
cp -r "$out" "$work/first"
rm -rf "$out"
run 0 train -m "$config"
check "training repeats" cmp -s "$out/1/rec_static.pdparams" "$work/first/1/rec_static.pdparams"
run 0 train -m "$config" -o runner.seed=1 "runner.model_save_path=$work/seed"
check "another seed differs" bash -c "! cmp -s '$out/1/rec_static.pdparams' '$work/seed/1/rec_static.pdparams'"
# one epoch, then --resume, gives what two epochs give
run 0 train -m "$config" -o runner.epochs=1 "runner.model_save_path=$work/resumed"
run 0 train -m "$config" --resume -o "runner.model_save_path=$work/resumed"
says "resuming from"
check "resuming gives the same" cmp -s "$work/resumed/1/rec_static.pdparams" "$out/1/rec_static.pdparams"
run 0 train -m "$config" --resume -o "runner.model_save_path=$work/resumed"
says "nothing to do"
# in memory, cache, two threads, other optimizers, an inference model
run 0 train -v -m "$config" -o runner.reader_type=InmemoryDataset "runner.model_save_path=$work/memory"
says "counted: train_batches=60 train_samples=6000 step_ns{compute}=60 (mean " "step_ns{read}=60 " "data_samples=3000 "
check "in memory is the same" cmp -s "$work/memory/1/rec_static.pdparams" "$out/1/rec_static.pdparams"
run 0 train -m "$config" -o runner.cache=True "runner.cache_dir=$work" "runner.model_save_path=$work/cached"
check "the cache gives the same" cmp -s "$work/cached/1/rec_static.pdparams" "$out/1/rec_static.pdparams"
run 0 train -m "$config" -o runner.thread_num=2 runner.use_inference=True "runner.model_save_path=$work/two" \
    hyper_parameters.optimizer.class=Adagrad
check "inference model" test -s "$work/two/1/__model__"
run 0 inspect model "$work/two/1"
check "what was saved" grep -qE '^saved  .*, epoch 1, [0-9]+ steps, 3000 samples, run [0-9a-f]{8}$' "$work/log"
run 0 inspect model "$work/two"
check "epochs are listed" test "$(grep -c '^epoch ' "$work/log")" = 2
# fewer files than threads: plain files are cut, every row is read once; compressed ones are not cut
run 0 train -m "$config" -o runner.thread_num=3 runner.epochs=1 "runner.model_save_path=$work/three" runner.dataset_debug=True
check "all rows of cut files" grep -qE '^ +0 +3000 ' "$work/log"
check "all threads work" bash -c "! grep -q 'nothing to do' '$work/log'"
run 0 train -m "$config" -o runner.thread_num=2 runner.epochs=1 "runner.model_save_path=$work/cut" "runner.train_data_dir=$work/data/train/part-000"
check "all rows of one file" grep -qE '^ +0 +1500 ' "$work/log"
gzip -c "$work/data/train/part-000" >"$work/one.gz"
run 0 train -m "$config" -o runner.thread_num=3 runner.epochs=1 "runner.model_save_path=$work/gz" "runner.train_data_dir=$work/one.gz"
check "all rows of a gzip file" grep -qE '^ +0 +1500 ' "$work/log"
says "2 of 3 threads are idle"

# infer: all epochs, a range, models that are not there
run 0 infer -m "$config"
check "two epochs judged" test "$(grep -c '^Epoch: ' "$work/log")" = 2
check "all samples" grep -qE '^ +1 +600 ' "$work/log"
run 0 infer -m "$config" -o runner.infer_start_epoch=1 runner.infer_end_epoch=2 runner.thread_num=2
check "one epoch judged" test "$(grep -c '^Epoch: 1' "$work/log")" = 1
# metrics are exact over all threads: one and two give the same digits
for n in 1 2; do
    run 0 infer -m "$config" -o "runner.test_data_dir=$work/data/train" runner.infer_start_epoch=1 "runner.thread_num=$n"
    sed -n 's/^Epoch: 1.*sec\. //p' "$work/log" >"$work/exact$n"
done
check "two threads judge as one" cmp -s "$work/exact1" "$work/exact2"
run 1 infer -m "$config" -o runner.infer_end_epoch=5
says "out/2 contains no saved model"
run 1 infer -m "$config" -o runner.infer_load_path=nowhere
says "no saved epochs in"
# training goes on from a model
for key in model_init_path warmup_model_path; do
    run 0 train -m "$config" -o "runner.$key=$out/1" runner.epochs=1 runner.thread_num=1 "runner.model_save_path=$work/$key"
done
check "two names of a key" cmp -s "$work/model_init_path/0/rec_static.pdparams" "$work/warmup_model_path/0/rec_static.pdparams"
run 1 train -m "$config" -o "runner.model_init_path=$work/nothing"

# Ctrl-C: stops after the batch, saves, says so; --resume goes on
slow='while read -r l; do echo "$l"; sleep 0.01; done'
"$skiff" train -m "$config" -o "runner.model_save_path=$work/int" runner.input_format= "runner.pipe_command=$slow" \
    "runner.train_data_dir=$work/slots" runner.train_batch_size=2 >"$work/log" 2>&1 &
pid=$!
mkdir -p "$work/slots"
wait $pid # the folder was not there yet: a failure that names it
says "$work/slots"
awk 'BEGIN { srand(1); for (i = 0; i < 400; i++) { printf "1 %d", i % 2; for (s = 0; s < 26; s++) printf " 1 %d", int(rand() * 9000)
    printf " 13"; for (d = 0; d < 13; d++) printf " %g", rand(); print "" } }' >"$work/slots/a"
"$skiff" train -m "$config" -o "runner.model_save_path=$work/int" runner.input_format= "runner.pipe_command=$slow" \
    "runner.train_data_dir=$work/slots" runner.train_batch_size=2 >"$work/log" 2>&1 &
pid=$!
for _ in $(seq 200); do grep -q "samples/s" "$work/log" && break; sleep 0.05; done # it trains
kill -INT $pid
kill -INT $pid # twice at once is one wish: timeout(1) sends it to the process and to its group
wait $pid
check "interrupted: status 1" test $? = 1
says "skiff train: stopped in epoch 0; the model is saved in"
check "marked as incomplete" grep -q "complete: False" "$work/int/0/__skiff_manifest__"
part=$(sed -n 's/^samples: //p' "$work/int/0/__skiff_manifest__")
check "some samples, not all" test "$part" -gt 0 -a "$part" -lt 400
run 0 train -m "$config" --resume -o runner.epochs=1 "runner.model_save_path=$work/int" runner.input_format=multislot "runner.train_data_dir=$work/slots"
check "says what is repeated" grep -qE "in the middle of epoch 0: the epoch restarts, and trains $part samples a second time" "$work/log"
check "the epoch is whole now" grep -qE "^samples: 400$" "$work/int/0/__skiff_manifest__"
check "and complete" grep -q "complete: True" "$work/int/0/__skiff_manifest__"

# memory: a QueueDataset's does not depend on the size of the files: below 2 x (parameters + optimizer state) + 64 MB. Here
# that is 2 x 0.6 + 64; ten times the rows may not take more than a few MB more.
if ! ldd "$skiff" | grep -E "asan|tsan" >/dev/null; then # not -q: it would end before ldd does, and pipefail would tell
    run 0 synth --rows 200000 --test-rows 0 --files 1 --out "$work/large"
    peak() { # FOLDER: peak memory of training from it, in kB
        "$skiff" train -m "$config" -o "runner.train_data_dir=$1" runner.epochs=1 runner.thread_num=2 "runner.model_save_path=$work/peak" \
            >/dev/null 2>&1 &
        local pid=$! kb=0 now
        while now=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do kb=$now; sleep 0.05; done
        wait "$pid" && echo "$kb"
    }
    few=$(peak "$work/data/train")
    many=$(peak "$work/large/train")
    echo "peak memory: $few kB for 3000 rows, $many kB for 200000"
    check "memory is below 2 x (parameters + state) + 64 MB" test "${many:-99999999}" -lt 67000
    rm -rf "$work/large"
fi

# prepare says what it reads
run 1 prepare --out "$work/prepared" "$work/slots/a"
says "for rows of another form than Criteo's: --format"

# files that do not end, or hold nothing: refused in bounded time, whatever number of bad lines is allowed
mkdir "$work/endless"
ln -s /dev/zero "$work/endless/a"
for bad in 0 -1; do
    run 1 train -m "$config" -o "runner.train_data_dir=$work/endless" "runner.bad_lines=$bad"
    says "endless/a:1: no line end within 1073741824 bytes; is it text?"
    run 1 prepare --out "$work/prepared" --bad "$bad" "$work/endless"
    says "endless/a:1: no line end within 1073741824 bytes; is it text?"
done
printf '\n%.0s' {1..2000} >"$work/empty_lines"
run 1 prepare --out "$work/prepared" --bad -1 --idle-lines 1000 "$work/empty_lines"
says "empty_lines: no sample in its first 1000 lines; is it the right file and format? (setting idle_lines, 1000"
run 0 prepare --out "$work/prepared" --bad -1 --idle-lines -1 "$work/empty_lines"
says "2000 bad lines"
head -c 70000000 /dev/zero | tr '\0' '\n' | gzip >"$work/bomb.gz"
run 1 prepare --out "$work/prepared" --bad -1 --idle-lines -1 "$work/bomb.gz"
says "over 200 times as much is refused (setting unpack_ratio"

# mistakes
run 1 train -m "$config" -o runner.epocs=3
says "unknown key runner.epocs (the nearest known one is runner.epochs)"
run 1 train -m "$config" -o hyper_parameters.fc_size=[3]
says "hyper_parameters.fc_sizes"
run 1 train -m "$config" -o runner.epochs=many
says "runner.epochs must be an integer"
run 1 train -m "$config" -o hyper_parameters.optimizer.class=Adm
says "must be SGD, Momentum"
run 1 train -m "$config" -o runner.input_format=criteoo
says "unknown reader criteoo"
run 1 train -m "$config" -o runner.model=rank/none
says "no model rank/none"
run 1 train -m "$config" -o runner.train_data_dir=nowhere
says "nowhere"
: >"$work/empty.tsv"
run 1 train -m "$config" -o "runner.train_data_dir=$work/empty.tsv"
says "no samples"
run 1 train -m "$work/absent.yaml"
run 2 train
run 2 train -m "$config" --fast
run 2 train -m "$config" -o epochs
run 1 train -m "$config" -o runner.input_format= "runner.pipe_command=exit 3" "runner.train_data_dir=$work/slots"
says "exit 3"
for c in train infer check-data synth prepare; do
    run 0 $c --help
    says "usage: skiff $c"
done

# check-data: good rows, bad lines, ids outside the table
run 0 check-data -m "$config"
says "2 files"
says "3000 samples, 0 bad lines"
cp "$work/data/test/"* "$work/bad.tsv"
printf 'what\t1\n' >>"$work/bad.tsv"
run 1 check-data -m "$config" "$work/bad.tsv"
says "bad.tsv"
says "600 samples, 1 bad line"
run 1 check-data -m "$config" -o runner.input_format=multislot hyper_parameters.sparse_feature_number=100 "$work/slots/a"
says "has 100 rows: hyper_parameters.sparse_feature_number"
# bad lines are skipped within the budget
run 1 train -m "$config" -o "runner.train_data_dir=$work/bad.tsv" "runner.model_save_path=$work/badmodel"
run 0 train -m "$config" -o "runner.train_data_dir=$work/bad.tsv" runner.bad_lines=1 "runner.model_save_path=$work/badmodel"

# prepare: split and quantiles, used by train
run 0 prepare --out "$work/prepared" "$work/data/train"
says "for validation"
run 0 train -m "$config" -o "runner.train_data_dir=$work/prepared/train" runner.input_normalise=quantile \
    "runner.input_stats=$work/prepared/stats" runner.epochs=1 "runner.model_save_path=$work/quantile"
run 2 prepare --out "$work/prepared"
exit $failed
