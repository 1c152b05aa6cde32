#!/usr/bin/env bash
# Online training with servers: days and passes, with sparse tables and without; when any process dies, the job ends, and
# when it is started again it resumes at the right pass. Settings of tables, their limits, what skiff inspect shows of them.
. "$(dirname "$0")/jobs.sh"

n=0
for day in 20190720 20190721; do
    for hour in 0000 1200; do
        mkdir -p "passes/$day/$hour"
        for part in 0 1; do
            tail -n +$((n * 200 + 1)) data/train/part-000 | head -n 200 >"passes/$day/$hour/part-$part"
            n=$((n + 1))
        done
        touch "passes/$day/$hour/done"
    done
done
online='  split_interval: 720
  start_day: "20190720"
  end_day: "20190721"
  checkpoint_per_pass: 1
  save_delta_frequency: 1
  data_donefile: done
  data_sleep_second: 0.2
  reader_type: InmemoryDataset'
sed "s#train_data_dir: .*#train_data_dir: passes#; /split_file_list/d; /epochs:/d" config.yaml |
    awk -v more="$online" '{ print } /^runner:/ { print more }' >plain.yaml
sed 's/network: documents/distributed_embedding: 1/' plain.yaml >features.yaml
cat >>features.yaml <<'END'
table_parameters:
  SparseFeatFactors:
    table_class: MemorySparseTable
    shard_num: 4
    accessor:
      accessor_class: SparseAccessor
      fea_dim: 10
      embedx_dim: 7
      embedx_threshold: 1
      embed_sgd_param: {name: SparseAdaGradSGDRule, adagrad: {learning_rate: 0.05, weight_bounds: [-10.0, 10.0]}}
      embedx_sgd_param: {name: SparseAdaGradSGDRule, adagrad: {learning_rate: 0.05, initial_range: 0.1}}
      ctr_accessor_param: {show_click_decay_rate: 0.98, delete_threshold: 0.1}
END

lines() { cut -f 1,4,5 model/donefile.txt; sed 's/.*model.\([^"]*\)".*/\1/' model/base_donefile.txt model/patch_donefile.txt; }
expected=$(printf '%s\n' $'20190720\t1\t0' $'20190721\t-1\t0' $'20190721\t1\t0' $'20190722\t-1\t0' 20190721/base/000 \
    20190722/base/000 20190720/delta-1/000 20190720/delta-2/000 20190721/delta-1/000 20190721/delta-2/000)
all_done() {
    [ "$(lines)" = "$expected" ] || fault "donefiles list $(lines | tr '\n' ' ')"
    for path in $(sed 's/.*"input": "\([^"]*\)".*/\1/' model/base_donefile.txt model/patch_donefile.txt); do
        [ -d "$path" ] || fault "there is no $path"
    done
}
everybody() { for ((i = 0; i < nservers; i++)); do echo server$i; done; for ((i = 0; i < nworkers; i++)); do echo worker$i; done; }

whole_job() { # CONFIG MODE
    config=$1
    begin "$1, $2: in one piece" "$2" 2 2
    all
    each 0 60 $(everybody)
    says worker0 "Day:20190720, Pass: 1, Infer Global Metric:  global AUC=" "Ins number=400" \
        "4 passes are trained, up to the end of 20190721"
    all_done
}
features_files() {
    name="files of sparse tables"
    [ "$(cd model/20190722 && find . -path '*/0*/part*' | sort | xargs)" = \
        "./0/000/part-000-00000.gz ./0/000/part-000-00001.gz ./0/000/part-001-00002.gz ./0/000/part-001-00003.gz ./0/001/part-000.gz ./0/001/part-001.gz ./base/000/part-000-00000 ./base/000/part-000-00001 ./base/000/part-001-00002 ./base/000/part-001-00003" ] ||
        fault "model/20190722 holds $(cd model/20190722 && find . -name 'part*' | sort | xargs)"
    [ -s model/20190721/delta-1/dnn_plugin/__model__ ] || fault "a delta has no network"
    "$skiff" inspect table model/20190722/0 >inspect.log 2>&1 || fault "inspect table fails"
    rows=$(zcat model/20190722/0/000/*.gz | wc -l)
    says inspect "$rows rows in 4 files" "part-001-00003.gz" "dense parameters" "show         least" "score "
    says worker0 "table SparseFeatFactors: $rows rows, "
    cp -r model/20190722/0/000 model/20190722/0/.000.skiff-save-0123456789abcdef
    "$skiff" inspect table model/20190722/0 2>&1 | grep -q skiff-save && fault "inspect table shows what a cut save left"
    rm -r model/20190722/0/.000.skiff-save-0123456789abcdef
    "$skiff" inspect table passes >inspect.log 2>&1 && fault "inspect table takes any folder"
    says inspect "contains no files of sparse tables"
    "$skiff" inspect table plain.yaml >inspect.log 2>&1 && fault "inspect table takes a file"
    says inspect "plain.yaml is a file; expected the folder of a saved table"
    mkdir -p torn/000 && echo "1 2 x" >torn/000/part-000-00000
    "$skiff" inspect table torn >inspect.log 2>&1 && fault "inspect table takes anything"
    says inspect "part-000-00000:1: expected a key and at least 6 numbers, found \"1 2 x\""
    mkdir -p cache/000_cache && echo "5 7 0 0 60 1 0.5" >cache/000_cache/part-000
    "$skiff" inspect table cache >inspect.log 2>&1 || fault "inspect table does not take a cache"
    says inspect "show         least 60, mean 60, most 60"
}
dies() { # CONFIG WHO: in the second pass, while all wait for data
    config=$1
    begin "$1: $2 is killed, the job is started again" async 2 2
    rm passes/20190720/1200/done
    all
    until_says worker0 "pass 2: waiting for"
    kill -9 "${pid[$2]}"
    for who in $(everybody); do [ "$who" = "$2" ] || ends "$who" 1 30; done
    touch passes/20190720/1200/done
    finish
    for who in $(everybody); do mv "$who.log" "$who.first.log"; done
    all
    each 0 60 $(everybody)
    says worker0 "resuming from $PWD/model/20190720/1" "day 20190720 is trained up to pass 1" "3 passes are trained"
    all_done
}
told_to_stop() {
    config=features.yaml
    begin "all workers are told to stop while they wait" async 1 2
    rm passes/20190720/1200/done
    all
    until_says worker0 "pass 2: waiting for"
    kill -TERM "${pid[worker0]}" "${pid[worker1]}"
    each 1 20 worker0 worker1
    ends server0 0 20
    says worker0 "stopped in pass 2 of 20190720; when restarted, it resumes from the newest model in donefile.txt"
    touch passes/20190720/1200/done
}
by_epochs() {
    config=epochs.yaml
    sed '/split_interval\|_day\|per_pass\|delta_freq\|donefile\|data_sleep/d; s#train_data_dir: .*#train_data_dir: data/train#' \
        features.yaml >epochs.yaml
    begin "sparse tables, by epochs" async 2 2 2
    options="runner.split_file_list=True"
    all
    each 0 60 $(everybody)
    [ -s model/1/000/part-001-00003.gz ] && [ -s model/1/__skiff_manifest__ ] || fault "epoch 1 is not saved"
    epochs=3 options="runner.split_file_list=True --resume"
    all
    each 0 60 $(everybody)
    says worker0 "resuming from $PWD/model/1" "the job continues with epoch 2"
    [ -s model/2/000/part-000-00000.gz ] || fault "epoch 2 is not saved"
    "$skiff" infer -m epochs.yaml -o runner.test_data_dir=data/test >infer.log 2>&1 || fault "infer ends with $?"
    says infer "Epoch: 0," "Epoch: 1," "Epoch: 2,"
    options=
}
counted() { # ids wait for their 40th occurrence; a job that goes on has not forgotten how often they were seen
    config=counted.yaml
    sed 's/^\( *\)shard_num: 4/&\n\1entry: "count_filter_entry:40"/' epochs.yaml >counted.yaml
    local rows first
    begin "who waits for admission, two epochs" async 2 1 2
    all
    each 0 60 $(everybody)
    rows=$(zcat model/1/000/*.gz | wc -l) first=$(zcat model/0/000/*.gz | wc -l)
    [ "$first" -lt "$rows" ] || fault "nobody waits: $first rows, and $rows after two epochs"
    begin "who waits for admission, one epoch" async 2 1 1
    all
    each 0 60 $(everybody)
    ls model/0/__lookup_table__/SparseFeatFactors.waiting.pserver_[01].00000 >/dev/null || fault "ids that wait are not saved"
    name="who waits for admission, resumed"
    epochs=2 options=--resume
    all
    each 0 60 $(everybody)
    first=$(zcat model/1/000/*.gz | wc -l)
    [ "$first" = "$rows" ] || fault "$first rows, not $rows as without a break"
    options=
}
cut_short() { local bytes; bytes=$(stat -c %s "$1"); truncate -s $((bytes / 2)) "$1"; }
left_out() { # LOG MODEL WHY
    says "$1" "$PWD/model/$2 is damaged and is ignored, trying $PWD/model/" "$3"
}
damaged() { # in a job: a shard of the newest is missing, one of the one before it is cut; all workers go on from the same one
    config=features.yaml
    begin "damaged models with tables, a job" async 2 2
    all
    each 0 60 $(everybody)
    rm model/20190722/0/000/part-001-00002.gz
    cut_short model/20190721/1/000/part-001-00003.gz
    finish
    for who in $(everybody); do mv "$who.log" "$who.first.log"; done
    all
    each 0 60 $(everybody)
    left_out worker0 20190722/0 "model/20190722/0/000 has 3 files part-*, table SparseFeatFactors has shard_num 4"
    left_out worker0 20190721/1 "part-001-00003.gz"
    says worker0 "resuming from $PWD/model/20190721/0" "all days before 20190721 are trained" "2 passes are trained"
    all_done
    cp -r model before
    name="damaged models with tables, a job: none can be loaded"
    for file in model/*/[01]/001/part-000.gz; do cut_short "$file"; done
    finish
    all
    each 1 60 $(everybody)
    says worker0 "4 models in donefile.txt cannot be loaded; the newest: " "model/20190722/0/001/part-000.gz"
    for file in model/*/[01]/001/part-000.gz; do cp "${file/model/before}" "$file"; done
    diff -r model before || fault "the run has changed what is saved"
    rm -r before
}
damaged_alone() { # nothing of the damaged one stays: the run ends as if it had never been there
    local whole
    name="damaged models with tables, one process"
    rows() { zcat model/20190722/0/00?/*.gz; }
    cp -r model kept
    rm -r model/20190722/0
    "$skiff" train -m features.yaml -o runner.thread_num=1 >alone.log 2>&1 || fault "without the newest, ended with $?"
    whole=$(rows | sha256sum)
    rm -r model && cp -r kept model
    cut_short model/20190722/0/001/part-000.gz # dense parameters, behind the tables
    "$skiff" train -m features.yaml -o runner.thread_num=1 >alone.log 2>&1 || fault "ended with $?"
    left_out alone 20190722/0 "part-000.gz"
    says alone "resuming from $PWD/model/20190721/1" "1 passes are trained"
    [ "$(grep -c "is damaged and is ignored" alone.log)" = 1 ] || fault "says it more than once"
    [ "$(rows | sha256sum)" = "$whole" ] || fault "the last model differs from one without the damaged one"
    all_done
    rm -r model && mv kept model
}
alone() {
    name="sparse tables in one process"
    rm -rf model
    "$skiff" train -m features.yaml >alone.log 2>&1 || fault "ended with $?"
    says alone "table SparseFeatFactors: "
    cp alone.log whole.log
    all_done
    "$skiff" train -m features.yaml -o runner.end_day=20190722 runner.data_donefile= >alone.log 2>&1 && fault "no data, no error"
    says alone "resuming from $PWD/model/20190722/0" "no folder $PWD/passes/20190722/0000"
}
day_by_day() {
    local whole
    name="each day by a run of its own: rows grow old as in one run"
    ages() { zcat model/20190722/0/000/*.gz | cut -d' ' -f1,3 | sort; }
    whole=$(ages)
    grep -q ' 1$' <<<"$whole" || fault "no row is a day old"
    rm -rf model
    for day in 20190720 20190721; do
        "$skiff" train -m features.yaml -o runner.end_day=$day >alone.log 2>&1 || fault "$day ended with $?"
    done
    says alone "all days before 20190721 are trained"
    [ "$(ages)" = "$whole" ] || fault "days of rows: $(ages | cut -d' ' -f2 | sort | uniq -c | xargs), $(cut -d' ' -f2 <<<"$whole" | sort | uniq -c | xargs) in one run"
}
rows_of() { sed -n 's/.*table SparseFeatFactors: \([0-9]*\) rows.*/\1/p' "$1" | tail -n 1; }
killed_at() { # N: in one process with sparse tables, at the n-th file operation below the models' folder
    name="sparse tables: killed at file operation $1"
    rm -rf model
    env LD_PRELOAD="$build/tests/libcut.so" SKIFF_TEST_CUT="kill:$1" SKIFF_TEST_CUT_BELOW=/model/ \
        "$skiff" train -m features.yaml >alone.log 2>&1
    [ $? = 137 ] || fault "was not killed"
    "$skiff" train -m features.yaml >alone.log 2>&1 || fault "started again, it ended with $?"
    all_done
    [ "$(zcat model/20190722/0/000/*.gz | cut -d' ' -f1 | sort | sha256sum)" = "$keys" ] || fault "the last model has other rows"
}
kills() {
    keys=$(zcat model/20190722/0/000/*.gz | cut -d' ' -f1 | sort | sha256sum)
    for i in 5 60 130 210 290 350; do killed_at $i; done
}
limits() {
    local free
    name="limits of memory, and who is admitted"
    free=$(rows_of whole.log)
    rm -rf model log
    "$skiff" launch --server_num 2 --worker_num 1 --server-memory 128K -m features.yaml >limits.log 2>&1 || fault "ended with $?"
    grep -q "0 refused, .* [1-9][0-9]* dropped for memory" log/workerlog.0 || fault "nothing was dropped for memory"
    [ "$(rows_of log/workerlog.0)" -lt "$free" ] || fault "$(rows_of log/workerlog.0) rows, $free without a limit"
    for limit in runner.memory_limit runner.table_bytes table_parameters.SparseFeatFactors.memory_limit; do
        rm -rf model
        "$skiff" train -m features.yaml -o $limit=128K >limits.log 2>&1 || fault "$limit: ended with $?"
        grep -q " [1-9][0-9]* dropped for memory" limits.log || fault "$limit: nothing was dropped"
    done
    rm -rf model
    "$skiff" train -m features.yaml -o table_parameters.SparseFeatFactors.entry=count_filter_entry:20 >limits.log 2>&1 ||
        fault "entry: ended with $?"
    grep -q " [1-9][0-9]* refused" limits.log || fault "nobody was refused"
    [ "$(rows_of limits.log)" -lt "$free" ] || fault "entry: $(rows_of limits.log) rows, $free without"
    rm -rf model
    (ulimit -f 8 && "$skiff" train -m features.yaml >limits.log 2>&1)
    [ $? = 1 ] || fault "ulimit -f: ended with $?"
    says limits "delta-1: " "File too large"
}
refused() { # TEXT SETTING...
    "$skiff" train -m features.yaml -o "${@:2}" >refused.log 2>&1 && fault "takes ${*:2}"
    says refused "$1"
}
wrong_settings() {
    local t=table_parameters.SparseFeatFactors
    name="wrong settings of tables"
    rm -rf model
    refused "-o $t.accessor.accessor_class is refused: table SparseFeatFactors: accessor.accessor_class is 'Foo'; expected one of" \
        $t.accessor.accessor_class=Foo
    refused "-o $t.accessor.fea_dim is refused: table SparseFeatFactors: The fea_dim is wrong" $t.accessor.fea_dim=9
    refused "-o $t.shard_num is refused: table SparseFeatFactors: " $t.shard_num=x
    refused "-o $t.shard_nums is refused: table SparseFeatFactors: there is no setting shard_nums; did you mean shard_num?" $t.shard_nums=4
    refused "-o table_parameters.embedding.shard_num names the table embedding, but the model has no distributed table of that name; it has SparseFeatFactors" \
        table_parameters.embedding.shard_num=4
    refused "-o runner.memory_limit must be a size, as 4096, 64K, 10M or 2G, found \"much\"" runner.memory_limit=much
    refused "-o runner.table_bytes must be a size" runner.table_bytes=much
    sed 's/shard_num: 4/shard_num: 0/' features.yaml >wrong.yaml
    "$skiff" train -m wrong.yaml >refused.log 2>&1 && fault "takes shard_num 0"
    says refused "wrong.yaml:$(grep -n shard_num wrong.yaml | cut -d: -f1): $t.shard_num is refused: table SparseFeatFactors: "
    "$skiff" launch --server_num 1 --worker_num 1 --server-memory much -m features.yaml >refused.log 2>&1 && fault "takes much"
    says refused "--server-memory is 'much'; expected a size"
    sed 's/distributed_embedding: 1/distributed_embedding: 0/' features.yaml >wrong.yaml
    "$skiff" train -m wrong.yaml >refused.log 2>&1 && fault "takes settings of a table that is none"
    says refused "the model has no distributed table of that name; hyper_parameters.distributed_embedding: 1 makes those of rank/* distributed"
}

whole_job plain.yaml async
whole_job plain.yaml sync
whole_job features.yaml sync
whole_job features.yaml async
features_files
dies plain.yaml worker0
dies plain.yaml server1
dies features.yaml worker1
dies features.yaml server0
told_to_stop
by_epochs
counted
damaged
finish
alone
damaged_alone
day_by_day
kills
limits
wrong_settings
exit $failed
