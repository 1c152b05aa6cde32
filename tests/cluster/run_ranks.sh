#!/usr/bin/env bash
# skiff train and infer as ranks of a collective job: the numbers of one process with the joint batch, also when ranks have
# different numbers of rows; repeatable to the bit; resume, Ctrl-C, a rank that dies, another program, one exact AUC.
. "$(dirname "$0")/ranks.sh"

for case in few none; do
    name="one process with the joint batch, $case"
    for optimizer in SGD Adam; do
        set="hyper_parameters.optimizer.class=$optimizer hyper_parameters.optimizer.learning_rate=0.01"
        "$skiff" $(train joint_$case one_$case$optimizer 200 $set) >out 2>&1 || fault "training alone: $(tail -n 1 out)"
        start 2 "$skiff" $(train $case two_$case$optimizer 100 $set)
        finish 0 0
        says rank.0 "2 ranks, collective (net, shared memory)"
        same one_$case$optimizer/1 two_$case$optimizer/1 2e-5
    done
done
grep -q '^ *1 *1960 ' rank.0 && fault "none has 1900 rows"
grep -q '^ *1 *1900 ' rank.0 || fault "the table does not count the rows of all ranks"

name="repeatable, by an ordinary user with a secret, without shared memory, too"
user=()
[ "$(id -u)" = 0 ] && user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
"${user[@]}" test -x "$skiff" || user=() # a build in a folder of root's own
chmod 755 .
mkdir -m 777 again letters
SKIFF_NO_SHARED_MEMORY=1 start 2 "$skiff" $(train few letters 100 hyper_parameters.optimizer.class=Adam hyper_parameters.optimizer.learning_rate=0.01)
finish 0 0
says rank.0 "2 ranks, collective (net)"
same two_fewAdam/1 letters/1 0
SKIFF_SECRET=a-secret-of-ordinary-users start 2 "${user[@]}" "$skiff" $(train few again 100 hyper_parameters.optimizer.class=Adam hyper_parameters.optimizer.learning_rate=0.01)
finish 0 0
says rank.0 "2 ranks, collective (net, shared memory)"
says rank.1 "2 ranks, collective (net, shared memory)"
same two_fewAdam/1 again/1 0

name="resume"
start 2 "$skiff" $(train few part 100 hyper_parameters.optimizer.class=Adam hyper_parameters.optimizer.learning_rate=0.01 runner.epochs=1)
finish 0 0
start 2 "$skiff" $(train few part 100 hyper_parameters.optimizer.class=Adam hyper_parameters.optimizer.learning_rate=0.01) --resume
finish 0 0
says rank.0 "resuming from"
same again/1 part/1 0

name="infer over ranks"
mkdir tests && split -n l/3 rows/test/* tests/part.
"$skiff" $(train few again 100 | sed 's/^train/infer/') >out 2>&1 || fault "infer alone: $(tail -n 3 out)"
start 2 "$skiff" $(train few again 100 | sed 's/^train/infer/') runner.test_data_dir="$work/tests"
finish 0 0
grep -q 'auc: 0' out && [ "$(grep -o 'auc: .*' out)" = "$(grep -o 'auc: .*' rank.0)" ] || fault "numbers differ: $(grep auc: out)"
quality() { grep -A3 '^epoch   pr-auc' "$1"; }
[ "$(quality out)" = "$(quality rank.0)" ] || fault "metrics of every prediction differ: $(quality out) $(quality rank.0)"

name="more ranks than files"
start 3 "$skiff" $(train few m3 100)
finish 1 1 1
says rank.1 "3 ranks share 2 files: a rank would have none; start at most 2 ranks"

name="another program"
echo hyper_parameters.fc_sizes=[64,32,16] >own.1
start 2 "$skiff" $(train few other 100)
finish 1 1
says rank.0 "rank 1 has another program than rank 0"
rm own.1

name="a rank dies"
start 2 "$skiff" $(train few dead 1 runner.epochs=1000)
until grep -qs Epoch rank.0 || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.1; done
kill -9 "${pids[1]}"
begun=$(date +%s)
finish 1 137
[ $(($(date +%s) - begun)) -le 20 ] || fault "noticed after $(($(date +%s) - begun)) s"
says rank.0 "rank 1"

name="Ctrl-C to one rank"
start 2 "$skiff" $(train few stopped 1 runner.epochs=1000)
until grep -qs Epoch rank.0 || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.1; done
kill -TERM "${pids[1]}"
finish 1 1
says rank.0 "--resume continues"

[ $failed = 0 ] && echo "run_ranks: all is well"
exit $failed
