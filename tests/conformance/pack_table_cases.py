#!/usr/bin/env python3
"""pack_table_cases.py FOLDER: makes table_paddle.txt of recorded jobs of Paddle 2.6.2's sparse tables (FOLDER/<case>/case.json,
expect.txt, pulled.txt): what workers pulled, what reached the table (pushes of a batch merged by key, as Paddle's client does),
saves with the lines that real files have, loads, shrinks. Left out: what is not the table's affair (dense tables, geo, converters,
caches, patches, wrong counts of files)."""
import json
import os
import sys

LEFT_OUT = ("converter", "cache", "patch", "geo", "dense", "wrong_count")
CTR = {"nonclk_coeff": 0.1, "click_coeff": 1.0, "base_threshold": 0.0, "delta_threshold": 0.0, "delta_keep_days": 16.0, "show_click_decay_rate": 1.0,
       "delete_threshold": 0.0, "delete_after_unseen_days": 30.0, "show_scale": True}
FAMILY = {"SparseNaiveSGDRule": "naive", "SparseAdamSGDRule": "adam", "SparseSharedAdamSGDRule": "adam"}


def sections(text):
    found, name = {}, None
    for line in text.splitlines():
        if line.startswith("== "):
            name = line[3:]
            found[name] = []
        else:
            found[name].append(line)
    return found


def header(case):
    t = case["table"]
    config = t.get("config", t.get("reference", {}))
    a = config.get("accessor", {})
    kind = a.get("accessor_class", "SparseAccessor")
    embedx = t["dim"] - (1 if kind == "SparseAccessor" else 3)
    p = dict(CTR, **a.get("ctr_accessor_param", {}))
    yield "table %s %d %g %s %d" % (kind, embedx, a.get("embedx_threshold", 0), " ".join("%.9g" % p[k] for k in list(CTR)[:-1]), p["show_scale"])
    rate = case.get("optimizer", ["sgd", 0.1])[1]
    for part in ("embed", "embedx"):
        rule = a.get(part + "_sgd_param", {"name": "SparseAdamSGDRule", "adam": {"learning_rate": rate}})
        v = rule.get(FAMILY.get(rule["name"], "adagrad"), {})
        low, high = v.get("weight_bounds", [-10.0, 10.0])
        yield "rule %s %s %.9g %.9g %.9g %.9g" % (part, rule["name"], v.get("learning_rate", 0.05), v.get("initial_g2sum", 3.0), low, high)


class Case:
    def __init__(self, folder):
        read = lambda name: open(os.path.join(folder, name)).read()
        self.case = json.loads(read("case.json"))
        self.files = {n: t.splitlines() for n, t in self.case.get("prepare", {}).items()}
        self.files.update(sections(read("expect.txt")))
        self.pulled = [line.split() for line in read("pulled.txt").splitlines() if " slot" in line]
        self.queue = {}

    def lines_of(self, where):
        lines = [line for name, text in self.files.items() if name.startswith(where + "/000/") for line in text]
        return sorted(lines, key=lambda line: int(line.split()[0]))

    def samples(self, action, i):
        column, grads = action["ids"][i], action["grad"][i]
        for s, key in enumerate(column):
            for k, g in zip(key, grads[s]) if self.case.get("lod") else [(key, grads[s])]:
                yield s, k, g

    def step(self, n, action):
        padding = self.case["table"].get("padding_idx", -1)
        for row in self.pulled:
            if int(row[1]) == n and int(row[3]) != padding:
                yield "pull %d %s" % (int(row[3]) % (1 << 64), " ".join(row[4:]))
        given = self.case["table"].get("entry", [""])[0] == "show_click" or self.case.get("cvm")
        for i in range(len(action["ids"])):
            for s, key, g in self.samples(action, i):
                if key == padding:
                    continue
                batch = len(action["ids"][i])
                show, click = (action.get("show", [1] * batch)[s], action.get("click", [0] * batch)[s]) if given else (1, 0)
                merged = self.queue.setdefault(key, [self.case["table"].get("slot", 0), 0.0, 0.0, [0.0] * len(g)])
                merged[1] += show
                merged[2] += click
                merged[3] = [x + y for x, y in zip(merged[3], g)]
        if action.get("flush", True):
            yield from self.flush()

    def flush(self):
        for key in sorted(self.queue):
            slot, show, click, g = self.queue[key]
            yield "push %d %g %.9g %.9g %s" % (key % (1 << 64), slot, show, click, " ".join("%.9g" % x for x in g))
        self.queue = {}

    def text(self):
        yield from header(self.case)
        if self.case.get("init_server"):
            yield from ("load " + line for line in self.lines_of(self.case["init_server"]))
        for n, action in enumerate(self.case["actions"]):
            what, sparse = action["do"], action.get("api") not in ("dense", "cache") and action.get("table_id", 0) == 0
            if what == "step":
                yield from self.step(n, action)
            elif what == "flush":
                yield from self.flush()
            elif what == "shrink":
                yield "shrink"
            elif what == "load":
                yield from ("load " + line for line in self.lines_of(action["dir"]))
            elif what == "save" and sparse:
                yield "save %d" % action.get("mode", 0)
                yield from ("want " + line for line in self.lines_of(action["dir"]))
                yield "saved"


def main():
    print("# Made by pack_table_cases.py of recorded jobs of Paddle 2.6.2; read by table_paddle_test.c.")
    for name in sorted(os.listdir(sys.argv[1])):
        if os.path.exists(os.path.join(sys.argv[1], name, "case.json")) and not any(word in name for word in LEFT_OUT):
            print("case", name)
            for line in Case(os.path.join(sys.argv[1], name)).text():
                print(line)
    print("end")


main()
