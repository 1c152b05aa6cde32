#!/usr/bin/env bash
# run_badinput.sh: whatever is wrong with a file or folder, `skiff inspect` and `skiff replay` end with status 1 and one
# clear line on stderr that names the file, what was expected and what was found; never with a crash, and they write nothing.
set -uo pipefail
cd "$(dirname "$0")/../.."
skiff=$PWD/${BUILD:-build}/skiff
data=$PWD/tests/data/saved
temp=$(mktemp -d)
trap 'chmod -R u+rwX "$temp"; rm -rf "$temp"' EXIT
failed=0
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99 # 1 is a status of our own
BUILD=${BUILD:-build} tests/golden/unpack.sh || exit 1
golden=$PWD/${BUILD:-build}/golden

# fails PATTERN COMMAND...: status 1, and the last line on stderr matches
fails() {
    local pattern=$1 status
    shift
    timeout 60 "$skiff" "$@" >"$temp/out" 2>"$temp/err"
    status=$?
    if [ $status -ne 1 ] || ! tail -n 1 "$temp/err" | grep -E -- "^skiff $1: .*$pattern" >/dev/null; then
        echo "skiff $*: status $status, expected 1; the last line on stderr does not match $pattern:"
        tail -n 3 "$temp/err" | cut -c1-600
        failed=1
    fi
}

# survives COMMAND...: damaged at random it may still be right; but no signal, no time-out, and a reason when it fails
survives() {
    local status
    timeout 60 "$skiff" "$@" >"$temp/out" 2>"$temp/err"
    status=$?
    if [ $status -gt 1 ] || { [ $status -eq 1 ] && ! grep -q "^skiff $1: \|^FAIL" "$temp/err" "$temp/out"; }; then
        echo "skiff $*: status $status"
        tail -n 3 "$temp/err" | cut -c1-600
        failed=1
    fi
}

# fresh NAME SOURCE: a copy of a recorded case to spoil; prints its folder
fresh() {
    rm -rf "${temp:?}/$1"
    mkdir -p "$temp/$1"
    cp -r "$golden/$2/." "$temp/$1/"
    echo "$temp/$1"
}

# flip FILE BYTE BIT
flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "\\x$(printf %02x $((byte ^ (1 << $3))))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# put FILE BYTE HEX...: overwrites bytes
put() {
    local file=$1 at=$2
    shift 2
    printf "$(printf '\\x%s' "$@")" | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
}

# ---- programs ----
cp "$data/main.pb" "$temp/main.pb"
truncate -s 1000 "$temp/main.pb"
fails 'main.pb' inspect program "$temp/main.pb"
: >"$temp/empty"
fails 'empty' inspect program "$temp/empty"
fails 'nothing: no such file' inspect program "$temp/nothing"
fails "$temp.*folder, a file was expected" inspect program "$temp"
fails 'fc_0.w_0' inspect program "$data/params_separate/fc_0.w_0"
echo 'program generation=1 version=1008005
block 0 parent=-1 {
    op relu {X:[x' >"$temp/text"
fails 'text.*(line )?3' inspect program "$temp/text"

# ---- tensors: version, lod, description, data ----
t=$data/save_op/lod_tensor
size=$(stat -c %s "$t")
for n in 0 3 4 11 15 20 $((size - 1)); do
    head -c "$n" "$t" >"$temp/cut_tensor"
    fails 'cut_tensor' inspect tensor "$temp/cut_tensor"
done
head -c $((size - 1)) "$t" >"$temp/short_tensor"
fails 'short_tensor.*[0-9]+ .*[0-9]+' inspect tensor "$temp/short_tensor"
cp "$t" "$temp/version"
put "$temp/version" 0 07
fails 'version.*7' inspect tensor "$temp/version"
cp "$t" "$temp/levels" # a lod of 2^56 levels
put "$temp/levels" 11 01
fails 'levels.*' inspect tensor "$temp/levels"
cp "$data/params_separate/fc_0.w_0" "$temp/dims" # float32 [25, 8]: 26 rows, -1 rows, 2^62 rows
at=$(grep -obUaP '\x10\x19' "$temp/dims" | head -1 | cut -d: -f1)
put "$temp/dims" $((at + 1)) 1a
fails 'dims.*\[26, 8\].*832' inspect tensor "$temp/dims"
fails 'missing_folder/x: no such file' inspect tensor "$temp/missing_folder/x"
fails "$temp.*folder, a file was expected" inspect tensor "$temp"
head -c 100 "$data/fluid_save/ctr.pdparams" >"$temp/cut.pdparams"
fails 'cut.pdparams' inspect tensor "$temp/cut.pdparams"

# ---- models ----
cp -r "$data/inference_default" "$temp/model"
rm "$temp/model/fc_1.w_0"
fails 'fc_1.w_0' inspect model "$temp/model"
cp "$data/inference_default/fc_0.w_0" "$temp/model/fc_1.w_0" # [25, 8] where [8, 8] belongs
fails 'fc_1.w_0.*\[[0-9, ]+\].*\[[0-9, ]+\]' inspect model "$temp/model"
fails 'model/__model__: no such file|no such' inspect model "$temp/nowhere"

# ---- cases: the folder ----
fails 'not a folder' replay "$temp/nothing"
fails 'not a folder' replay "$temp/empty"
mkdir "$temp/bare"
fails 'bare: no case.txt' replay "$temp/bare"
mkdir -p "$temp/dir_case/case.txt"
fails 'dir_case: no case.txt' replay "$temp/dir_case"
mkdir -p "$temp/loop"
ln -s . "$temp/loop/a"
ln -s . "$temp/loop/b"
fails 'loop: no case.txt' replay "$temp/loop"
mkdir "$temp/closed"
chmod 000 "$temp/closed"
if [ "$(id -u)" -ne 0 ]; then
    fails 'closed.*[Pp]ermission' replay "$temp/closed"
fi

# ---- cases: case.txt ----
op=ops/mul/2d
[ -d "$golden/$op" ] || op=ops/mul/$(ls "$golden/ops/mul" | head -1)
c=$(fresh case $op)
head -c 300 /dev/urandom | tr '\n' x >"$c/case.txt"
fails 'case/case.txt: .*steps' replay "$c"
for bad in 'steps: many' 'steps: -3' 'steps: 1e99' 'steps: 1.5' 'steps: nan' 'steps:'; do
    c=$(fresh case $op)
    sed -i "s/^steps:.*/$bad/" "$c/case.txt"
    fails 'case/case.txt: steps must be' replay "$c"
done
c=$(fresh case $op)
sed -i 's/^feed_steps:.*/feed_steps: -1/' "$c/case.txt"
fails 'feed_steps must be a whole number.*found -1' replay "$c"
c=$(fresh case $op)
sed -i 's/^atol:.*/atol: -1/' "$c/case.txt"
fails 'must not be negative' replay "$c"
c=$(fresh case $op)
echo 'kind: surprise' >>"$c/case.txt"
fails 'kind must be .*found "surprise"' replay "$c"
c=$(fresh case $op)
sed -i 's/^feeds:.*/& nobody/' "$c/case.txt"
fails 'feed/0/nobody: no such file.*feeds' replay "$c"
c=$(fresh case $op)
rm -r "$c/expect"
fails 'expect/0/.*: no such file.*fetches' replay "$c"
c=$(fresh case $op)
rm -r "$c/feed"
fails 'feed/0/.*: no such file' replay "$c"
c=$(fresh parallel "models/$(ls "$golden/models" | grep parallel | head -1)")
for bad in 'devices: 0' 'devices: 1000000000' 'devices: two'; do
    sed -i "s/^devices:.*/$bad/" "$c/case.txt"
    fails 'devices must be' replay "$c"
done

# ---- cases: programs ----
c=$(fresh case $op)
rm "$c/main.pb"
fails 'case/main.pb: no such file' replay "$c"
mkdir "$c/main.pb"
fails 'case/main.pb.*folder, a file was expected' replay "$c"
c=$(fresh case $op)
truncate -s $(($(stat -c %s "$c/main.pb") - 9)) "$c/main.pb"
fails 'case/main.pb' replay "$c"

# spoil SED PATTERN: the main program as text, changed
spoil() {
    local c
    c=$(fresh case $op)
    "$skiff" inspect program "$c/main.pb" | sed -E "$1" >"$temp/text"
    if "$skiff" inspect program "$c/main.pb" | cmp -s - "$temp/text"; then
        echo "spoil $1: changes nothing"
        failed=1
    fi
    cp "$temp/text" "$c/main.pb"
    fails "$2" replay "$c"
}
spoil 's/ op mul / op mull /' 'main.pb: .*op 0.*mull.*mul'
spoil 's/Y:\[y\]/Y:[lost]/' 'main.pb: .*op 0.*lost'
spoil 's/( op mul .*)X:\[x\]/\1X:[]/' 'main.pb: .*op 0.*mul.* X'
spoil 's/var y LOD_TENSOR float32 \[([0-9]+),/var y LOD_TENSOR float32 [77,/' 'main.pb: .*op mul.*\[3, 4\].*\[77, 5\]'
spoil 's/x_num_col_dims=[0-9]+/x_num_col_dims="one"/' 'main.pb: .*op mul.*x_num_col_dims must be INT.*STRING'
spoil 's/x_num_col_dims=[0-9]+/x_num_col_dims=-4/' 'main.pb: .*op mul.*x_num_col_dims is -4'
spoil 's/var out LOD_TENSOR/var out SURPRISE/' 'main.pb:[0-9]+:.*SURPRISE'
spoil 's/Y@GRAD:\[y@GRAD\]/Y@GRAD:[]/' 'y@GRAD'

# ---- cases: tensors ----
feed=$(basename "$(ls -d "$golden/$op/feed/0/"* | head -1)")
expect=$(basename "$(ls -d "$golden/$op/expect/0/"* | head -1)")
c=$(fresh case $op)
truncate -s 30 "$c/feed/0/$feed"
fails "feed/0/$feed" replay "$c"
c=$(fresh case $op)
cp "$data/save_op/int64" "$c/feed/0/$feed"
fails 'int64' replay "$c"
c=$(fresh case $op)
truncate -s 25 "$c/expect/0/$expect"
fails "expect/0/$expect" replay "$c"
c=$(fresh case $op)
mv "$c/expect/0/$expect" "$c/expect/0/stranger"
sed -i 's/^fetches:.*//' "$c/case.txt"
fails 'stranger' replay "$c"
c=$(fresh case $op)
rm "$c/feed/0/$feed"
mkdir "$c/feed/0/$feed"
fails "feed/0/$feed: no such file" replay "$c"
pool=ops/sequence_pool/$(ls "$golden/ops/sequence_pool" | head -1)
c=$(fresh case "$pool") # offsets that go down
put "$c/feed/0/x" 28 ff ff ff
fails 'feed/0/x.*(lod|offset)' replay "$c"

# ---- damaged at random ----
RANDOM=7
hurt() { # FILE: 12 flips and 6 cuts, each on a fresh copy; then the command
    local file=$1 n size
    shift
    cp "$file" "$temp/whole"
    size=$(stat -c %s "$file")
    for n in $(seq 18); do
        cp "$temp/whole" "$file"
        if [ "$n" -le 12 ]; then
            flip "$file" $((RANDOM * 32768 % size + RANDOM % size / 2 % size)) $((RANDOM % 8)) 2>/dev/null
        else
            truncate -s $((RANDOM * 5 % size)) "$file"
        fi
        survives "$@"
    done
    cp "$temp/whole" "$file"
}
for op in mul/$(ls "$golden/ops/mul" | head -1) sequence_pool/$(ls "$golden/ops/sequence_pool" | head -1) while/$(ls "$golden/ops/while" 2>/dev/null | head -1); do
    [ -f "$golden/ops/$op/case.txt" ] || continue
    c=$(fresh case "ops/$op")
    hurt "$c/main.pb" replay --both "$c"
    hurt "$c/case.txt" replay "$c"
    hurt "$c/$(cd "$c" && ls feed/0/* | head -1)" replay "$c"
done
c=$(fresh case models/clip_global_norm_sparse_table)
hurt "$c/main.pb" replay "$c"
hurt "$c/startup.pb" replay "$c"
cp "$data/inference_default/__model__" "$temp/m"
hurt "$temp/m" inspect program --summary "$temp/m"
hurt "$temp/m" inspect ops "$temp/m"
cp "$data/fluid_save/ctr.pdopt" "$temp/p.pdopt"
hurt "$temp/p.pdopt" inspect tensor "$temp/p.pdopt"
cp "$data/save_op/selected_rows" "$temp/r"
hurt "$temp/r" inspect tensor "$temp/r"

# ---- programs from files may not act outside of themselves ----
c=$(fresh case models/dcn_sgd)
"$skiff" inspect program "$c/main.pb" >"$temp/main.txt"
var=$(sed -nE 's/^ *var ([^ ]+) LOD_TENSOR float32 .*persistable=True.*/\1/p' "$temp/main.txt" | head -n 1)
mkdir "$temp/allowed"
# at the end of block 0, the first closing brace
awk -v op="    op save {X:[$var]} -> {} file_path=\"$temp/allowed/deep/w\"" '/^}/ && !done { print op; done = 1 } 1' "$temp/main.txt" >"$c/main.pb"
fails "save: acts outside the program \(file $temp/allowed/deep/w\).*--allow-ops save" replay "$c"
fails "does not lie below $c, the folder" replay --allow-ops save --allow-dir "$c" "$c"
[ ! -e "$temp/allowed/deep" ] || { echo "a program from a file has written a file"; failed=1; }
"$skiff" replay --allow-ops save --allow-dir "$temp/allowed" "$c" >"$temp/out" || { cat "$temp/out"; failed=1; }
[ -s "$temp/allowed/deep/w" ] || { echo "an allowed save has written nothing"; failed=1; }

# ---- nothing is written ----
c=$(fresh case models/clip_global_norm_sparse_table)
truncate -s 3000 "$c/main.pb"
before=$(cd "$temp" && find case -type f -exec md5sum {} + | sort)
(cd "$temp" && "$skiff" replay --both case >/dev/null 2>&1)
after=$(cd "$temp" && find case -type f -exec md5sum {} + | sort)
[ "$before" = "$after" ] || { echo "replay changed the case"; failed=1; }

[ $failed -eq 0 ] && echo "bad input: ok"
exit $failed
