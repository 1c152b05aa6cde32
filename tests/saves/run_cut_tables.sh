#!/usr/bin/env bash
# An epoch with sparse tables that takes the place of another one, killed at file operations: the folder is all of the
# old or all of the new epoch (tables, dense parameters, network, manifest), and what is left goes with the next save. A disk
# that is full for a moment is waited for.
set -uo pipefail
build=$(realpath "${BUILD:-build}")
skiff=$build/skiff
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fault() { echo "$name: $*"; tail -n 3 said 2>/dev/null | sed 's/^/    /'; failed=1; }
rows() { # SEED: MultiSlot lines, a label and two ids
    awk -v seed="$1" 'BEGIN { srand(seed); for (i = 0; i < 300; i++) printf "1 %d 1 %d 1 %.0f\n", rand() < 0.3, 1 + int(rand() * 40), 1e12 + int(rand() * 30) }'
}
mkdir old new
rows 1 >old/part-0
rows 2 >new/part-0
cat >config.yaml <<'EOF'
runner:
  model: rank/dnn
  train_data_dir: old
  input_format: multislot
  train_batch_size: 50
  thread_num: 1
  model_save_path: model
hyper_parameters:
  optimizer: {class: SGD, learning_rate: 0.1}
  distributed_embedding: 1
  sparse_inputs_slots: 3
  sparse_feature_number: 100
  sparse_feature_dim: 4
  dense_input_dim: 0
  fc_sizes: [8]
table_parameters:
  SparseFeatFactors:
    shard_num: 2
    entry: count_filter_entry:8
EOF
train() { "$skiff" train -m config.yaml -o runner.train_data_dir="$1" runner.model_save_path="$2" >said 2>&1; }
cut() { # WHAT LOG: the new epoch over the old one
    env LD_PRELOAD="$build/tests/libcut.so" SKIFF_TEST_CUT="$1" SKIFF_TEST_CUT_BELOW=/model/ SKIFF_TEST_CUT_LOG="$2" \
        "$skiff" train -m config.yaml -o runner.train_data_dir=new >said 2>&1
}
state() { # FOLDER: the values of each part, a line each; "part: nothing" when it is not there
    local part
    for part in 000 001; do echo "$part: $( (zcat "$1/$part"/part-*.gz 2>/dev/null || echo torn) | sort | sha256sum)"; done
    echo "network: $(cat "$1"/dnn_plugin/fc_* 2>/dev/null | sha256sum)"
    echo "waiting: $(cat "$1"/__lookup_table__/* 2>/dev/null | sha256sum)"
    echo "manifest: $(sed -n 's/^samples: //p' "$1/__skiff_manifest__" 2>/dev/null)"
}

name="two epochs"
train old was || fault "ended with $?"
train new is || fault "ended with $?"
state was/0 >was.txt
state is/0 >is.txt
[ "$(diff was.txt is.txt | grep -c '^<')" -ge 4 ] || fault "the two do not differ"
grep -q "manifest: 300" was.txt || fault "the old one has no manifest"
cp -r was model
name="counting"
cut kill:1000000 "$work/operations" || fault "ended with $?"
state model/0 | cmp -s - is.txt || fault "the new one is not there"
total=$(wc -l <operations)
[ "$total" -gt 100 ] || fault "only $total file operations"
news=0
for ((at = 1; at <= total; at += ${STEP:-7})); do
    name="killed at file operation $at of $total"
    rm -rf model
    cp -r was model
    { cut kill:$at /dev/null; } 2>/dev/null
    [ $? = 137 ] || fault "was not killed"
    state model/0 >found.txt
    if cmp -s found.txt is.txt; then
        news=$((news + 1))
    elif ! cmp -s found.txt was.txt; then
        fault "a mixture: $(diff found.txt was.txt | grep '^<' | tr '\n' ' ')"
    fi
    train new model || fault "started again, it ended with $?"
    state model/0 | cmp -s - is.txt || fault "started again, it has not saved the new one"
    left=$(find model -name '*skiff-save*')
    [ -z "$left" ] || fault "is left: $left"
done
for ((at = 3; at <= total; at += ${STEP:-7})); do
    name="the disk full at file operation $at of $total, for a moment"
    rm -rf model
    cp -r was model
    cut full:$at:1 /dev/null || fault "ended with $?"
    state model/0 | cmp -s - is.txt || fault "the new one is not there"
done
[ $news -gt 0 ] || fault "no kill came behind the instant"
exit $failed
