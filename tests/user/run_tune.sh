#!/usr/bin/env bash
# skiff tune as a user sees it: a planted optimum is found by each method; a trial that fails is named and the others end well;
# a search that is killed, or interrupted, resumes; messages.
. "$(dirname "$0")/../words.sh"
cd "$work"

# clicks depend on whether a and b agree: a network without a layer between cannot learn it
awk 'BEGIN {
    srand(9); print "a,b,noise,click"
    for (i = 0; i < 9000; i++) {
        a = int(rand() * 2); b = int(rand() * 2)
        printf "a%d,b%d,n%d,%d\n", a, b, int(rand() * 5), rand() < (a == b ? .9 : .1)
    }
}' >table.csv
run 0 init --data table.csv --label click --split random --out job
config=job/config.yaml
rate=hyper_parameters.optimizer.learning_rate
plain=(-o runner.epochs=4 runner.early_stop=0 runner.thread_num=1)

rows() { awk '/^trial/ { on = 1; next } on && !NF { exit } on' "$log"; } # of the table
first() { rows | head -1 | awk '{ print $2 }'; }
run_tune() { # STATUS ARGUMENT...
    local want=$1
    shift
    run "$want" tune -m "$config" "${plain[@]}" "$@"
}

# a rate of 1e-9 learns nothing
run_tune 0 --try $rate=1e-9,0.01 --method grid --folder grid --seeds 2
check "the grid finds the rate" test "$(first)" = 0.01
check "each value is one trial" test "$(rows | wc -l)" = 2
says "skiff train -m job/config.yaml -o 'runner.epochs=4'"
says "$rate=0.01"
says "page: $work/grid/tune.html"
check "seeds are beside it" test "$(rows | head -1 | awk '{ print $4 }')" = 2
run_tune 0 --try $rate=0.01,0.02,0.005 --folder means --seeds 3
check "repeated trials are in the order of their means" bash -c 'sort -c -g' < <(rows | awk '{ print $5 }')
check "the page has the trials" grep -q 'class="trials"' grid/tune.html
check "the page loads nothing" bash -c '! grep -qE "(src|href)=\"?http" grid/tune.html'
check "a trial leaves its log" grep -q 'best epoch' grid/trial-1.log

run_tune 0 --try $rate=log:1e-9..0.1 --trials 6 --folder random
check "the random search finds a rate that learns" awk -v x="$(first)" 'BEGIN { exit !(x > 1e-4) }'
value=$(rows | head -1 | awk '{ print $3 }')
check "it has learned (log loss $value)" awk -v x="$value" 'BEGIN { exit !(x < 0.5) }'

run_tune 0 --try $rate=log:1e-9..0.1 --trials 9 --method halving --folder halving -o runner.epochs=9
check "halving finds a rate that learns" awk -v x="$(first)" 'BEGIN { exit !(x > 1e-4) }'
check "two thirds are left behind, and two of the rest" test "$(grep -c 'left behind' "$log")" = 8
check "6 of 9 trained one epoch" test "$(rows | grep -c ' 1  *[0-9.]*  left behind')" = 6

# the same command again only prints; more trials are added to the others
cp random/tune.json before
run_tune 0 --try $rate=log:1e-9..0.1 --trials 6 --folder random
check "nothing was trained again" cmp -s before random/tune.json
run_tune 0 --try $rate=log:1e-9..0.1 --trials 7 --folder random
says '7 of 7: trial 6'

# a trial that fails
run_tune 0 --try runner.train_batch_size=64,0 --folder failing
says 'failed: -o runner.train_batch_size must be between 1 and 16777216, found 0'
check "the other one is done" test "$(first)" = 64
run_tune 1 --try runner.train_batch_size=-1,0 --folder failing2
says 'all 2 trials have failed'
run_tune 1 --try $rate=0.01,0.02 --folder dead -o runner.train_data_dir=nowhere
says 'runner.train_data_dir: '
ln -s train job/nowhere # mended: what has failed is tried again
run_tune 0 --try $rate=0.01,0.02 --folder dead -o runner.train_data_dir=nowhere
check "both trials are done" bash -c '! grep -q failed "$1"' - "$log"

# killed: what has ended is there, and is not done again
search=(--try $rate=log:1e-4..0.1 --trials 12 --folder killed --jobs 2)
"$skiff" tune -m $config "${plain[@]}" "${search[@]}" >"$log" 2>&1 </dev/null &
pid=$!
pids+=($pid)
until grep -q '^3 of 12' "$log"; do kill -0 $pid || break; done
children=$(pgrep -P $pid | paste -sd' ')
kill -9 $pid
wait $pid 2>/dev/null
for child in $children; do while kill -0 "$child" 2>/dev/null; do :; done; done # they end with it
kept=$(grep -c '"trial"' killed/tune.json)
check "runs that had ended are kept" test "$kept" -ge 3
run_tune 0 "${search[@]}"
says "resuming the search of $work/killed: $kept runs have ended"
check "all of 12 are there" test "$(rows | wc -l)" = 12
check "each ran once" test "$(grep -c '"trial"' killed/tune.json)" = 12

# Ctrl-C
search=(--try $rate=log:1e-4..0.1 --trials 12 --folder stopped)
"$skiff" tune -m $config "${plain[@]}" "${search[@]}" >"$log" 2>&1 </dev/null &
pid=$!
pids+=($pid)
until grep -q '^2 of 12' "$log"; do kill -0 $pid || break; done
kill -TERM $pid
wait $pid
check "a search that is stopped ends with 1" test $? = 1
says 'the same command resumes the search'
run_tune 0 "${search[@]}"
check "it resumes" test "$(rows | wc -l)" = 12
# and gives what a search gives that was not stopped
rows | awk '{ print $1, $2, $3, $4 }' >stopped.txt
run_tune 0 "${search[@]}" --folder whole
rows | awk '{ print $1, $2, $3, $4 }' >whole.txt
check "the same trials in the same order" diff stopped.txt whole.txt
# a trial whose end is not known, but whose epochs are all there, counts them
sed -i '/"trial": 3,/d' whole/tune.json
run_tune 0 "${search[@]}" --folder whole
check "its epochs are counted" cmp -s <(rows | awk '{ print $1, $2, $3, $4 }') whole.txt

# messages
run_tune 1 --try $rate=0.1,0.2 --folder grid
says 'has another search (grid, '
says '--overwrite begins anew, --folder names another folder'
run_tune 0 --try $rate=0.01,0.02 --folder grid --overwrite
check "--overwrite begins anew" test "$(rows | wc -l)" = 2
check "the page of the former search is gone with it" bash -c '! grep -q "1e-9" grid/tune.html'
touch grid/mine
run_tune 0 --try $rate=0.01 --folder grid --overwrite
check "--overwrite removes what a search has written, no more" test -e grid/mine -a ! -e grid/trial-1
run 1 tune -m $config --try $rate=0.1 -o runner.model_save_path=s3://bucket/models
says 'a search needs a folder of this machine; name one with --folder'
run_tune 1 --try runner.trian_batch_size=64 --folder bad
says 'the nearest known one is runner.train_batch_size'
run_tune 1 --folder bad
says 'there is nothing to try'
run_tune 1 --try $rate=1..0 --folder bad
says 'the range is empty'
run 1 tune -m $config --try $rate=0.1 --folder bad -o runner.valid_data_dir=
says 'trials are compared by validation, so runner.valid_data_dir is required'
run 1 tune -m $config --try $rate=0.1,0.2,0.3 --folder bad --method halving -o runner.epochs=2
says 'successive halving compares short runs first, so it needs runner.epochs of at least 3, found 2'

[ "$failed" = 0 ] && echo "tune: all as expected"
exit "$failed"
