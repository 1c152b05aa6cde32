# Ranks of `skiff train` in a folder of their own, for scripts in this folder (source it): rows, arguments, functions that
# start ranks and compare their saved models. failed is 1 when a check has failed.
set -uo pipefail
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
root=$PWD
skiff=$(realpath "${BUILD:-build}")/skiff
work=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
name=setup

fault() {
    echo "$name: $*"
    tail -n 4 rank.* 2>/dev/null | sed 's/^/    /'
    failed=1
}
says() { # FILE TEXT
    grep -qF -- "$2" "$1" || fault "$1 does not say: $2"
}
free_ports() { # N of them
    perl -MIO::Socket::INET -e 'my @s = map { IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => 0) } 1 .. $ARGV[0];
        print join(" ", map { $_->sockport } @s)' "$1"
}
start() { # N command: ranks 0 .. N-1 in the background, output in rank.I; per rank arguments in own.I
    local n=$1 ports ends i
    shift
    read -ra ports <<<"$(free_ports "$n")"
    rm -f rank.*
    ends=$(printf '127.0.0.1:%s,' "${ports[@]}")
    pids=()
    for ((i = 0; i < n; i++)); do
        PADDLE_TRAINERS_NUM=$n PADDLE_TRAINER_ENDPOINTS=${ends%,} PADDLE_TRAINER_ID=$i \
            PADDLE_CURRENT_ENDPOINT=127.0.0.1:${ports[i]} "$@" $(cat "own.$i" 2>/dev/null) >"rank.$i" 2>&1 &
        pids+=($!)
    done
}
finish() { # STATUS...: of rank 0, 1, ..; waits for all
    local i=0 want got
    for want in "$@"; do
        wait "${pids[i]}"
        got=$?
        [ "$got" = "$want" ] || fault "rank $i: exit status $got, expected $want"
        i=$((i + 1))
    done
    pids=()
}
# largest difference between two saved epochs; 0 is to the bit
python=("$skiff" python)
case ${BUILD:-build} in
*-address) python=(env LD_PRELOAD="$(gcc -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 "${python[@]}") ;;
esac
difference() {
    "${python[@]}" - "$1" "$2" <<'END'
import sys
import numpy
import paddle
a, b = (paddle.load(folder + "/rec_static.pdparams") for folder in sys.argv[1:3])
assert sorted(a) == sorted(b), (sorted(a), sorted(b))
print(max(float(numpy.abs(numpy.asarray(a[k], "float64") - numpy.asarray(b[k], "float64")).max()) for k in a))
END
}
same() { # FOLDER FOLDER LIMIT
    local d
    d=$(difference "$1" "$2") || { fault "cannot compare $1 and $2"; return; }
    awk -v d="$d" -v l="$3" 'BEGIN { exit !(d <= l) }' || fault "$1 and $2 differ by $d, more than $3"
}

# Rows: rank 0 has 1000, rank 1 has 900, then 60 or none more; joint.* has them batch by batch (100 a rank).
"$skiff" synth --out rows --rows 2000 --files 1 >/dev/null || exit 1
cat rows/train/* >all
mkdir even few none joint_few joint_none
head -n 1000 all >few/a
sed -n 1001,1960p all >few/b
cp few/a none/a
sed -n 1001,1900p all >none/b
join_batches() { # FOLDER: its files batch by batch
    awk -v n=100 'FNR == 1 { f++ } { at = int((FNR - 1) / n); row[f, at] = row[f, at] $0 "\n"; if (at > last) last = at }
        END { for (i = 0; i <= last; i++) for (k = 1; k <= f; k++) printf "%s", row[k, i] }' "$1"/a "$1"/b
}
join_batches few >joint_few/all
join_batches none >joint_none/all
cp "$root/models/rank/dnn/criteo.yaml" config.yaml
keys="hyper_parameters.sparse_feature_number=1001 hyper_parameters.fc_sizes=[64,32] runner.model=rank/dnn runner.epochs=2 runner.thread_num=1
    runner.test_data_dir=$work/rows/test runner.split_file_list=True"
train() { # FOLDER MODELS BATCH more: arguments of skiff train
    echo train -m config.yaml -o $keys runner.train_data_dir="$work/$1" runner.model_save_path="$work/$2" \
        runner.infer_load_path="$work/$2" runner.train_batch_size="$3" "${@:4}"
}

