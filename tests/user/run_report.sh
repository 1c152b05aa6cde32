#!/usr/bin/env bash
# The picture of a run: report.html and report.json beside the models, --json, skiff report. Numbers are those of the
# printed table, pages are whole and load nothing, broken and missing files are told, a full disk fails no run.
. "$(dirname "$0")/../words.sh"

# json FILE EXPRESSION: true of the report j; numbers of the printed table are in t, a list of rows of texts
cat >"$work/look.py" <<'PY'
import json, sys
def no_constant(name): raise ValueError(name + " is no JSON")
j = json.load(open(sys.argv[1], encoding="utf-8"), parse_constant=no_constant)
log = open(sys.argv[3], errors="replace").read().split("\n")
head = [i for i, line in enumerate(log) if line.startswith("epoch  ") and "samples" in line]
t = []
for line in log[head[-1] + 1:] if head else []:
    if not line.strip() or not line.split()[0].rstrip("*").isdigit():
        break
    t.append(line.replace(" %", "").replace("*", "").split())
near = lambda text, value: abs(float(text) - value) <= 0.6 * 10 ** -len((text + ".").split(".")[1])
if not eval(sys.argv[2]):
    sys.exit("not true: %s" % sys.argv[2])
PY
json() { check "$2" python3 "$work/look.py" "$1" "$2" "$work/log"; }

# page FILE: well-formed, one script, nothing from elsewhere, every id and text where it belongs
cat >"$work/page.py" <<'PY'
import html.parser, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
class Page(html.parser.HTMLParser):
    void = {"meta", "br", "img", "link", "input", "hr"}
    def __init__(self):
        super().__init__()
        self.open, self.scripts, self.faults = [], 0, []
    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        if tag in ("img", "link", "iframe", "object", "embed", "base", "form"):
            self.faults.append("<%s>" % tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action") or name.startswith("on"):
                self.faults.append("%s=%s in <%s>" % (name, value, tag))
        if tag not in self.void:
            self.open.append(tag)
    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.void:
            self.open.pop()
    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append("</%s> at %d:%d" % ((tag,) + self.getpos()))
page = Page()
page.feed(text)
page.close()
faults = page.faults + ["<%s> is left open" % t for t in page.open]
if page.scripts != 1:
    faults.append("%d scripts" % page.scripts)
if re.search(r"https?:|//[a-z]|@import|url\(", text):
    faults.append("an address")
if not text.startswith("<!DOCTYPE html>") or "prefers-color-scheme:dark" not in text:
    faults.append("no page of ours")
if re.search(r'd="[^"]*(nan|inf)', text):
    faults.append("nan in a path")
sys.exit("\n".join(faults) or 0)
PY
page() { check "$1 is a whole page" python3 "$work/page.py" "$1"; }

run 0 synth --rows 6000 --test-rows 600 --files 2 --out "$work/data"
mkdir -p "$work/rank/dnn"
cat >"$work/rank/dnn/config.yaml" <<YAML
runner:
  train_data_dir: ../../data/train
  test_data_dir: "../../data/test/*"
  input_format: criteo
  train_batch_size: 100
  infer_batch_size: 100
  epochs: 2
  model_save_path: out
  thread_num: 2
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_feature_number: 10007
  sparse_feature_dim: 4
  fc_sizes: [16, 8]
YAML
config=$work/rank/dnn/config.yaml
out=$work/rank/dnn/out

# train: both files beside the models, with the numbers of the table
run 0 train -m "$config" --json "$work/train.json"
page "$out/report.html"
check "--json is report.json" cmp "$work/train.json" "$out/report.json"
json "$out/report.json" 'j["skiff_report"] == 1 and j["run"]["status"] == "done" and j["run"]["model"] == "rank/dnn"'
json "$out/report.json" 'len(t) == 2 and len(j["epochs"]) == 2'
json "$out/report.json" 'all(int(r[0]) == e["epoch"] and int(r[1]) == e["samples"] == 6000 for r, e in zip(t, j["epochs"]))'
json "$out/report.json" 'all(near(r[2], e["samples"] / e["seconds"]) for r, e in zip(t, j["epochs"]))'
json "$out/report.json" 'all(near(r[3], e["loss"]) and near(r[4], e["auc"]) for r, e in zip(t, j["epochs"]))'
json "$out/report.json" 'all(near(r[5], e["log_loss"]) and near(r[6], e["copc"]) for r, e in zip(t, j["epochs"]))'
json "$out/report.json" 'all(near(r[7], 100 * e["read"]) and near(r[8], 100 * e["compute"]) for r, e in zip(t, j["epochs"]))'
json "$out/report.json" 'j["epochs"][1]["at_samples"] == j["run"]["samples"] == 12000'
# windows cover all samples, each epoch for itself, and their mean is the epoch's
json "$out/report.json" 'all(abs(sum(p["samples"] for p in j["points"] if p["epoch"] == e) - 6000) < 1e-6 for e in (0, 1))'
json "$out/report.json" 'all(abs(sum(p["samples"] * p["loss"] for p in j["points"] if p["epoch"] == e["epoch"]) / 6000 - e["loss"]) < 1e-6 for e in j["epochs"])'
json "$out/report.json" 'j["points"][-1]["at_samples"] == 12000'
# calibration: all samples of the last epoch, and its COPC up to the width of a bucket
json "$out/report.json" 'sum(b["count"] for b in j["calibration"]) == 6000'
json "$out/report.json" 'abs(sum(b["count"] * b["seen"] for b in j["calibration"]) / sum(b["count"] * b["predicted"] for b in j["calibration"]) - j["epochs"][1]["copc"]) < 0.01'
# ops, slots, config, machine, events
json "$out/report.json" '{"adam"} <= {o["type"] for o in j["ops"] if o["update"]} and all(a["seconds"] >= b["seconds"] for a, b in zip(j["ops"], j["ops"][1:]))'
json "$out/report.json" 'len(j["slots"]) == 28 and j["slot_rows"] > 0 and j["slots"][0]["distinct"] == 2 and j["slots"][0]["values"] == j["slot_rows"]'
json "$out/report.json" '{"key": "hyper_parameters.fc_sizes", "value": "[16, 8]"} in j["config"] and len(j["config"]) == 13 and j["config"][0]["key"] == "runner.train_data_dir"'
json "$out/report.json" 'j["machine"]["cores"] >= 1 and j["machine"]["peak_memory"] > 1e6'
json "$out/report.json" '[e["kind"] for e in j["events"]] == ["start", "saved", "saved", "end"]'
check "the page has the AUC" grep -qF "$(awk '/^ +1 /{print $5}' "$work/log" | tail -1)" "$out/report.html"

# one more epoch: the report goes on; nothing to train leaves it alone
cp "$out/report.json" "$work/before.json"
run 0 train -m "$config" --resume
check "a report is left alone" cmp "$work/before.json" "$out/report.json"
run 0 train -m "$config" --resume -o runner.epochs=3
json "$out/report.json" '[e["epoch"] for e in j["epochs"]] == [0, 1, 2] and j["epochs"][2]["at_samples"] == 18000'
json "$out/report.json" '[e["kind"] for e in j["events"]] == ["start", "saved", "saved", "end", "resume", "saved", "end"]'
json "$out/report.json" 'j["events"][-1]["seconds"] >= j["events"][3]["seconds"] and len({p["epoch"] for p in j["points"]}) == 3'

# validation: after every epoch, and within
run 0 train -m "$config" -o runner.model_save_path="$work/valid" runner.valid_data_dir="$work/data/test" runner.thread_num=1
json "$work/valid/report.json" '[(v["epoch"], v["at_samples"], v["samples"]) for v in j["valid"]] == [(0, 6000, 600), (1, 12000, 600)]'
json "$work/valid/report.json" 'len(t) == 2 and all(near(r[1], v["auc"]) and near(r[2], v["log_loss"]) and near(r[3], v["copc"]) for r, v in zip(t, j["valid"]))'
json "$work/valid/report.json" 'j["run"]["valid_metric"] == "auc" and [v.get("best", False) for v in j["valid"]] == [True, j["valid"][1]["auc"] > j["valid"][0]["auc"]]'
json "$work/valid/report.json" 'j["data"]["train"]["files"] == 2 and j["data"]["train"]["rows"] == 6000 and j["data"]["valid"]["rows"] == 600'
positives=$(cat "$work"/data/train/* | awk '$1 == 1' | wc -l)
json "$work/valid/report.json" 'j["data"]["train"]["positives"] == '"$positives"' and j["data"]["test"]["rows"] == 0'
json "$work/valid/report.json" 'sum(b["count"] for b in j["valid_calibration"]) == 600'
check "the page shows it" grep -qF '</svg>validation</span>' "$work/valid/report.html"
check "validation stands before training" grep -qF '>valid COPC</th><th scope="col" class="n">train loss<' "$work/valid/report.html"
check "the best epoch has a star" grep -qE '<td class="n">[01]<b class="t1" title="best epoch on validation data">' "$work/valid/report.html"
# an early stop is an event of the run
run 0 train -m "$config" -o runner.model_save_path="$work/early" runner.valid_data_dir="$work/data/test" runner.thread_num=1 \
    runner.epochs=20 runner.early_stop=2 hyper_parameters.optimizer.learning_rate=0.03
json "$work/early/report.json" '[e["text"][:15] for e in j["events"] if e["kind"] == "early stop"] == ["2 validations i"] and len(j["epochs"]) < 20'
# one epoch has a curve, as well; its windows cover the samples
run 0 train -m "$config" -o runner.model_save_path="$work/one" runner.epochs=1 runner.thread_num=1
json "$work/one/report.json" 'len(j["points"]) >= 3 and abs(sum(p["samples"] for p in j["points"]) - 6000) < 1e-6'
run 0 train -m "$config" -o runner.model_save_path="$work/within" runner.valid_data_dir="$work/data/test" runner.valid_interval=20 runner.thread_num=1
json "$work/within/report.json" 'len(j["valid"]) >= 6 and all(v["at_samples"] % 100 == 0 for v in j["valid"]) and [v["at_samples"] for v in j["valid"]][:3] == [2000, 4000, 6000]'

# infer
run 0 infer -m "$config" --json "$work/infer.json"
json "$work/infer.json" 'j["run"]["command"] == "infer" and len(t) == len(j["epochs"]) == 3 and sum(b["count"] for b in j["calibration"]) == 600'
json "$work/infer.json" 'all(near(r[4], e["auc"]) and near(r[5], e["log_loss"]) for r, e in zip(t, j["epochs"]))'
json "$work/infer.json" 'j["data"]["test"]["rows"] == 600 and j["data"]["test"]["files"] == 1 and j["data"]["train"]["rows"] == 0'
# what infer finds is added to the run's report, and to its page; a folder that cannot be written to is no failure
json "$out/report.json" '[int(r[0]) for r in t] == [e["epoch"] for e in j["infer"]] and all(near(r[4], e["auc"]) for r, e in zip(t, j["infer"]))'
json "$out/report.json" 'j["data"]["test"]["rows"] == 600 and j["data"]["test"]["files"] == 1 and sum(b["count"] for b in j["infer_calibration"]) == 600'
json "$out/report.json" 'j["run"]["status"] == "done" and len(j["epochs"]) == 3 and len(j["points"]) > 2'
page "$out/report.html"
check "the page has them" grep -qF '<h2>On test data</h2>' "$out/report.html"
cp -r "$out" "$work/foreign"
sed -i 's/"name": "[0-9a-f]*", "command"/"name": "another", "command"/; s/"name": "[0-9a-f]\{32\}"/"name": "another"/' "$work/foreign/report.json"
cp "$work/foreign/report.json" "$work/foreign.json"
run 0 infer -m "$config" -o runner.infer_load_path="$work/foreign"
check "another run's report is left alone" cmp "$work/foreign.json" "$work/foreign/report.json"
rm "$work/foreign/report.json" && mkdir "$work/foreign/report.json"
run 0 infer -m "$config" -o runner.infer_load_path="$work/foreign"
check "infer does not mind" grep -qE '^ +2[* ] +600 ' "$work/log"
run 1 infer -m "$config" --json "$work/log/x.json"
says "(for $work/log/x.json): there is a file of that name"

# side by side
run 0 train -m "$config" -o runner.model_save_path="$work/sgd" hyper_parameters.optimizer.class=SGD
run 0 report "$out" "$work/sgd/report.json" "$work/infer.json" --output "$work/all.html"
says "$work/all.html: 3 runs"
page "$work/all.html"
check "differing keys" grep -qF '<th scope="row">hyper_parameters.optimizer.class</th><td class="value">Adam</td><td class="value">SGD</td>' "$work/all.html"
check "equal keys are left out" bash -c "! grep -qF '<th scope="row">runner.train_batch_size</th>' '$work/all.html'"
check "names of runs" grep -qF "$work/sgd/report.json</td>" "$work/all.html"
run 0 report "$out" --output -
cp "$work/log" "$work/stdout.html"
page "$work/stdout.html"
cd "$work" && run 0 report "$out" && cd - >/dev/null
check "the usual name" test -s "$work/skiff-report.html"

# what is no report
run 2 report
says "at least one RUN is needed"
run 2 report $(yes "$out" | head -17)
says "at most 16 runs fit on a page, 17 are given"
run 1 report "$work/nowhere"
says "skiff report: cannot read $work/nowhere: no such file"
run 1 report "$work/data"
says "$work/data/report.json"
run 1 report "$config"
says "config.yaml is not a run report: it has no \"skiff_report\": 1"
head -c 3000 "$out/report.json" >"$work/cut.json"
run 1 report "$work/cut.json"
says "not a run report: $work/cut.json:"
run 1 report "$out" --output "$work/log/page.html"
says "(for $work/log/page.html): there is a file of that name"

# names that would be markup
cp "$config" "$work/rank/dnn/hostile.yaml"
name='</td><script>alert(1)</script><img src=x onerror="y">&'
run 0 train -m "$work/rank/dnn/hostile.yaml" -o runner.epochs=1 "runner.model_save_path=$work/a'<b>&c" "runner.data_donefile=$name"
page "$work/a'<b>&c/report.html"
json "$work/a'<b>&c/report.json" "[c['value'] for c in j['config'] if c['key'] == 'runner.data_donefile'] == ['$name']"
run 0 report "$work/a'<b>&c" "$out" --output "$work/hostile.html"
page "$work/hostile.html"

# a model without probabilities has a page, too
run 0 train -m models/match/dssm/config.yaml -o runner.model_save_path="$work/dssm" runner.epochs=1
page "$work/dssm/report.html"
json "$work/dssm/report.json" 'j["epochs"][0]["copc"] is None and j["epochs"][0]["loss"] > 0 and j["calibration"] == []'

# a run that is stopped, one that is killed, one that fails
slow='while read -r l; do echo "$l"; sleep 0.01; done'
mkdir -p "$work/slots"
for i in $(seq 400); do
    printf '1 %d' $((i % 2))
    for s in $(seq 26); do printf ' 1 %d' $(((i * s) % 1000)); done
    printf ' 13'
    for s in $(seq 13); do printf ' 0.%d' $(((i * s) % 10)); done
    echo
done >"$work/slots/a"
slow_run() { # FOLDER: starts it, waits for its first point
    "$skiff" train -m "$config" -o "runner.model_save_path=$1" runner.input_format= "runner.pipe_command=$slow" \
        "runner.train_data_dir=$work/slots" runner.train_batch_size=2 runner.thread_num=1 runner.print_interval=1 >"$work/log" 2>&1 &
    pid=$!
    until grep -q 'epoch 0: ' "$work/log" || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
}
slow_run "$work/stopped"
kill -INT $pid
wait $pid
check "stopped: status" test $? = 1
json "$work/stopped/report.json" 'j["run"]["status"] == "stopped" and j["events"][-1]["kind"] == "interrupt" and not j["epochs"][0]["complete"]'
json "$work/stopped/report.json" '0 < j["epochs"][0]["samples"] < 400 and len(j["points"]) > 1'
page "$work/stopped/report.html"
check "the page says so" grep -qF '<span class="pill stopped">stopped</span>' "$work/stopped/report.html"
run 0 train -m "$config" -o runner.epochs=1 runner.model_save_path="$work/killed"
slow_run "$work/killed"
{ kill -KILL $pid && wait $pid; } 2>/dev/null
json "$work/killed/report.json" 'j["run"]["status"] == "running" and j["epochs"] == []' # not the run's before it
page "$work/killed/report.html"
check "the page if it may be dead" grep -qF 'If the run has ended, it was killed.' "$work/killed/report.html"
mkdir "$work/bad"
cp "$work/data/train/part-000" "$work/bad/a"
echo 'x	y' >>"$work/bad/a"
run 1 train -m "$config" -o runner.model_save_path="$work/failed" runner.train_data_dir="$work/bad"
json "$work/failed/report.json" 'j["run"]["status"] == "failed" and j["events"][-1]["kind"] == "error" and "bad/a:3001" in j["events"][-1]["text"]'
page "$work/failed/report.html"

# a report that cannot be written is a warning, once
mkdir -p "$work/full/report.json"
run 0 train -m "$config" -o runner.model_save_path="$work/full" --json "$work/data/train"
says "the report of the run could not be written: "
says "WARN - --json: cannot write $work/data/train: Is a directory"
check "told once" test "$(grep -c 'of the run could not be written' "$work/log")" = 1
check "the model is there" test -s "$work/full/1/rec_static.pdparams"

# a job: worker 0 saves and leaves the report, epochs are over both workers
run 0 launch --server_num 1 --worker_num 2 --log_dir "$work/joblog" -m "$config" -o runner.model_save_path="$work/job" \
    runner.split_file_list=True runner.thread_num=1 runner.sync_mode=sync
page "$work/job/report.html"
json "$work/job/report.json" 'j["run"]["servers"] == 1 and j["run"]["workers"] == 2 and [e["samples"] for e in j["epochs"]] == [6000, 6000] and j["run"]["samples"] == 12000'
json "$work/job/report.json" 'abs(j["points"][-1]["at_samples"] - 12000) < 1e-3 and sum(b["count"] for b in j["calibration"]) == 6000'
json "$work/job/report.json" '[e["kind"] for e in j["events"]] == ["start", "saved", "saved", "end"]'

[ $failed = 0 ] && echo "reports of runs are as they should be"
exit $failed
