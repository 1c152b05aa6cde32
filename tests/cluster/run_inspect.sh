#!/usr/bin/env bash
# skiff inspect table --servers: tables of running jobs, seen by a read-only client that is not a member; the numbers of the
# same tables in progress lines, in the launcher and in logs.
. "$(dirname "$0")/jobs.sh"

"$skiff" synth --rows 40000 --test-rows 10 --files 1 --out data >/dev/null || exit 1 # epochs of some seconds
sed -i 's/train_batch_size: .*/train_batch_size: 20\n  print_interval: 1/' config.yaml
sed 's/network: documents/distributed_embedding: 1/; s/sparse_feature_number: .*/sparse_feature_number: 1000001/' \
    config.yaml >features.yaml
sed 's/network: documents/distributed_embedding: 1/' config.yaml >rows.yaml
cat >>features.yaml <<'END'
table_parameters:
  SparseFeatFactors:
    shard_num: 4
    entry: count_filter_entry:2
    memory_limit: 128K
    memory_policy: disk
    path: disk
    accessor:
      embedx_threshold: 0
      embed_sgd_param: {name: SparseAdaGradSGDRule}
      embedx_sgd_param: {name: SparseAdaGradSGDRule}
END

look() { "$skiff" inspect table --servers "$list" "$@" >inspect.log 2>&1; }
refuses() { # TEXT ARGUMENT...
    "$skiff" inspect table --timeout 5 "${@:2}" >inspect.log 2>&1 && fault "inspect table ${*:2} ends well"
    says inspect "$1"
}

# rows and counts of a table with a limit, a disk and an entry, while it is trained and before any worker joined
config=features.yaml
begin "sparse tables" async 2 1 400
server 0
server 1
until_says server0 " serves "
until_says server1 " serves "
look || fault "inspect ends with $?"
says inspect "table SparseFeatFactors: sparse" "rows      bytes      limit    waiting   admitted    refused    expired" \
    "hit rate prefetched    on disk disk bytes  written/row" "together            0" "131 kB"
worker 0
until_says worker0 "hit rate"
look || fault "inspect ends with $?"
awk '$1 == "together" && $2 > 0 && $8 > 0 && $9 > 0 { seen = 1 } END { exit !seen }' inspect.log ||
    fault "nobody was admitted or refused: $(cat inspect.log)"
awk '$1 == "server" { rows += $3 } $1 == "together" { all = $2 } END { exit !(rows == all && rows > 0) }' inspect.log ||
    fault "the servers' rows are not those of all: $(cat inspect.log)"
grep -q "together .* %  *[0-9][0-9]*  *[1-9][0-9]* .* bytes$" inspect.log || fault "no hit rate, rows on disk, bytes written"
"$skiff" inspect metrics --servers "$list" >metrics.log 2>&1 || fault "inspect metrics ends with $?: $(cat metrics.log)"
for server in 0 1; do
    grep -q "^skiff_table_rows{table=\"SparseFeatFactors\",server=\"$server\"} [1-9]" metrics.log ||
        fault "server $server has no rows: $(cat metrics.log)"
    grep -q "^skiff_memory_peak_bytes{server=\"$server\"} [1-9]" metrics.log ||
        fault "server $server has no memory of its own: $(cat metrics.log)"
done
grep -q '^skiff_table_written_bytes_total{.*} [1-9]' metrics.log || fault "no bytes written: $(cat metrics.log)"
[ "$(grep -c '^# TYPE skiff_server_pushes_total counter$' metrics.log)" = 1 ] || fault "a metric stands twice, or not"
"$skiff" inspect metrics >inspect.log 2>&1 && fault "inspect metrics asks nobody"
says inspect "expected --servers or --pid"
for _ in 1 2 3 4 5; do look || fault "inspect ends with $?"; done
"$skiff" inspect table --pid "${pid[worker0]}" >again.log 2>&1 || fault "--pid: ended with $?"
grep -q "^  together " again.log || fault "--pid shows nothing"
unset SKIFF_SECRET
refuses "is it a server of this job? SKIFF_JOB and SKIFF_SECRET" --servers "$list"
SKIFF_SECRET=wrong refuses "is it a server of this job? SKIFF_JOB and SKIFF_SECRET" --servers "$list"
(umask 077 && echo secret >secret.file)
refuses "secret" --servers "$list" --secret_file config.yaml
look --secret_file secret.file || fault "--secret_file: ended with $?"
export SKIFF_SECRET=secret
refuses ": no answer: Connection refused; is the job running" --servers "127.0.0.1:${port[0]},127.0.0.1:$(ports 1)"
refuses "expected a folder or --servers, found both" --servers "$list" data
refuses "expected a folder, or --servers"
refuses "--pid 4194304 is not a running process of yours" --pid 4194304
refuses "process $$ does not belong to a job with servers; expected a worker or a server" --pid $$
kill -TERM "${pid[worker0]}"
ends worker0 1 60
each 0 20 server0 server1
says worker0 "tables " " of 262 kB, " " admitted, " " refused, 0 expired, hit rate " " on disk"
says server0 "table SparseFeatFactors: " " of 131 kB, " " admitted, " " dropped for memory, hit rate " " prefetched, " \
    " bytes written for a row" "server_trainers_gone=1"
grep -q "failed the handshake: .* [1-9][0-9]* silent" server0.log && fault "visits look like strangers"
[ "$(grep -c " has joined" server0.log)" = 1 ] || fault "the server took the visitor for a member"

# plain rows by id, and a job without any
config=rows.yaml
begin "plain tables" geo 1 1 400
all
until_says worker0 "Epoch: "
look || fault "inspect ends with $?"
says inspect "table SparseFeatFactors: embedding parameter, updated by the program's optimizer"
grep -q "^  together  *[1-9]" inspect.log || fault "no rows: $(cat inspect.log)"
kill -TERM "${pid[worker0]}"
ends worker0 1 60
config=config.yaml
begin "no tables" async 1 1 400
all
until_says worker0 "Epoch: "
refuses "server 0 at 127.0.0.1:${port[0]} has no tables: the job's program has no distributed embedding" --servers "$list"
kill -TERM "${pid[worker0]}"
ends worker0 1 60
begin "a stopped server" async 1 1
server 0
until_says server0 " serves "
kill -STOP "${pid[server0]}"
"$skiff" inspect table --timeout 2 --servers "$list" >inspect.log 2>&1 && fault "a stopped server answers"
says inspect "server 0 at 127.0.0.1:${port[0]}: its port is open, but there was no answer in time: is it stopped" \
    "no answer from server 0"
grep -q SECRET inspect.log && fault "a stopped server looks like one of another job: $(cat inspect.log)"
finish

# the launcher's line has them, too
name="the launcher's line"
"$skiff" launch --server_num 1 --worker_num 1 -m features.yaml -o runner.epochs=5 >launch.log 2>&1 || fault "ended with $?"
grep -q "skiff launch: epoch .*, tables [1-9][0-9]* rows, .* admitted, .* refused, 0 expired" launch.log ||
    fault "the line of progress says nothing of tables"
exit $failed
