"""Skiff's default recipe beside LightGBM, scikit-learn and Vowpal Wabbit, on the same rows: AUC, log loss and COPC on test
rows, with intervals of 95 % from a bootstrap of these rows.

usage: compare.py [--skiff build/skiff] [--work DIR] [--only NAME,...] [--scale X] [FILE[:LABEL] ...]

Tables: those of made.py, and every FILE, with the column of its label (skiff init finds it without). `skiff init` splits the
rows 8:1:1; all train on its train rows and stop early, or choose a setting, on its valid rows. Peers that are not installed
are left out: pip install lightgbm scikit-learn vowpalwabbit pandas"""
import argparse
import csv
import glob
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time

import made

BOOTSTRAPS = 300


def has(module):
    return importlib.util.find_spec(module) is not None


# ---- the rows ----

class Table:
    """Rows of a run of skiff init: train, valid, test with 0 / 1 labels."""

    def __init__(self, run):
        import pandas
        config = open(os.path.join(run, "config.yaml")).read()
        header = "input_header: True" in config
        entry = re.search(r'- "label = (.*)"\n', config).group(1).replace('\\"', '"')
        label = next(csv.reader([entry]))[0]
        separator = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " "}[re.search(r'input_separator: "(\w+)"', config).group(1)]
        positive = re.search(r'input_positive: "(.*?)"', config).group(1)
        parts = [pandas.concat([pandas.read_csv(f, sep=separator, header=0 if header else None, dtype=str, keep_default_na=False)
                                for f in sorted(glob.glob(os.path.join(run, part, "*")))]) for part in ("train", "valid", "test")]
        for part in parts:
            part.columns = [str(c if header else c + 1) for c in part.columns]
        self.y = [(part.pop(label) == positive).to_numpy().astype(float) for part in parts]
        used = set(re.findall(r"[\w.-]+", " ".join(re.findall(r'- "(?:C\d+|dense_input) = (.*)"', config))))
        self.columns = [c for c in parts[0].columns if c in used]
        self.text = [part[self.columns] for part in parts]
        self.numbers = [c for c in self.columns if all(pandas.to_numeric(part[c], errors="coerce").notna().mean() >= (part[c] != "").mean() for part in self.text)]

    def frames(self):
        """Numbers as numbers, other columns as codes of the training values (-1: not among them)."""
        import pandas
        out = [t.copy() for t in self.text]
        for c in self.columns:
            if c in self.numbers:
                for part in out:
                    part[c] = pandas.to_numeric(part[c], errors="coerce")
            else:
                values = pandas.Index(out[0][c].unique())
                for part in out:
                    part[c] = pandas.Categorical.from_codes(values.get_indexer(part[c]), categories=range(len(values)))
        return out


# ---- the compared tools ----

def run_skiff(args, run, model, more=()):
    def call(*words):
        done = subprocess.run([args.skiff, *words], capture_output=True, text=True)
        if done.returncode:
            sys.exit("%s: %s" % (" ".join(words), done.stderr[-2000:]))
        return done.stdout
    config = ["-m", os.path.join(run, "config.yaml"), "-o", "runner.model_save_path=" + model, "runner.infer_load_path=" + model, *more]
    call("train", *config, "-q", "--overwrite")
    out = call("predict", *config, "-q", "--output", "-", "--input", os.path.join(run, "test"))
    return [float(line.split("\t")[0]) for line in out.splitlines()]


def run_lightgbm(table):
    import lightgbm
    x, y = table.frames(), table.y
    train = lightgbm.Dataset(x[0], y[0])
    model = lightgbm.train({"objective": "binary", "learning_rate": 0.05, "num_leaves": 31, "num_threads": 2, "verbose": -1, "seed": 1}, train, 2000,
                           valid_sets=[lightgbm.Dataset(x[1], y[1], reference=train)], callbacks=[lightgbm.early_stopping(50, verbose=False)])
    return model.predict(x[2])


def run_sklearn(table):
    """Logistic regression: categories and quantiles one-hot, numbers scaled; its C chosen on valid."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.pipeline import make_pipeline
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, QuantileTransformer
    import warnings
    warnings.simplefilter("ignore")
    x, y = [part.copy() for part in table.text], table.y
    frames = table.frames()
    for part, frame in zip(x, frames):
        part[table.numbers] = frame[table.numbers]
    texts = [c for c in table.columns if c not in table.numbers]
    encode = make_column_transformer((OneHotEncoder(min_frequency=4, handle_unknown="infrequent_if_exist"), texts),
                                     (make_pipeline(SimpleImputer(strategy="median"), KBinsDiscretizer(32, encode="onehot", strategy="quantile")), table.numbers),
                                     (make_pipeline(SimpleImputer(strategy="median"), QuantileTransformer(n_quantiles=64)), table.numbers))
    parts = [encode.fit_transform(x[0]), encode.transform(x[1]), encode.transform(x[2])]
    best = None
    for c in (0.03, 0.1, 0.3, 1.0):
        model = LogisticRegression(C=c, max_iter=300).fit(parts[0], y[0])
        loss = log_loss(y[1], model.predict_proba(parts[1])[:, 1])
        if best is None or loss < best[0]:
            best = (loss, model)
    return best[1].predict_proba(parts[2])[:, 1]


def run_vw(table):
    """Linear, adaptive, 22 bits; the number of passes chosen on valid."""
    import numpy
    import vowpalwabbit
    frames = table.frames()
    lines = []
    for part, frame, y in zip(table.text, frames, table.y):
        columns = []
        for i, c in enumerate(table.columns):
            if c in table.numbers:
                cuts = numpy.unique(numpy.nanquantile(frames[0][c].astype(float), numpy.linspace(0, 1, 33)[1:-1]))
                values = frame[c].astype(float).to_numpy()
                columns.append(["%d_%s" % (i, "n" if v != v else b) for v, b in zip(values, numpy.searchsorted(cuts, values))])
            else:
                columns.append(["%d_%s" % (i, re.sub(r"[\s:|]", "_", v)) for v in part[c]])
        lines.append(["%d | %s" % (1 if t else -1, " ".join(words)) for t, words in zip(y, zip(*columns))])
    vw = vowpalwabbit.Workspace("--loss_function logistic --link logistic -b 22 --quiet")
    order = numpy.random.RandomState(1).permutation(len(lines[0]))
    best = None
    for _ in range(6):
        for i in order:
            vw.learn(lines[0][i])
        p = numpy.clip([vw.predict(line) for line in lines[1]], 1e-7, 1 - 1e-7)
        loss = -numpy.log(numpy.where(table.y[1] > 0, p, 1 - p)).mean()
        if best is not None and loss >= best[0]:
            break
        best = (loss, [vw.predict(line) for line in lines[2]])
    return best[1]


PEERS = {"LightGBM": ("lightgbm", run_lightgbm), "scikit-learn": ("sklearn", run_sklearn), "Vowpal Wabbit": ("vowpalwabbit", run_vw)}


# ---- numbers ----

def metrics(y, p):
    import numpy
    order = numpy.argsort(p, kind="mergesort")
    s, t = p[order], y[order]
    starts = numpy.flatnonzero(numpy.r_[True, s[1:] != s[:-1]])
    counts = numpy.diff(numpy.r_[starts, len(s)])
    ranks = numpy.repeat(starts + (counts + 1) / 2, counts)
    positive = t.sum()
    auc = (ranks[t > 0].sum() - positive * (positive + 1) / 2) / (positive * (len(t) - positive))
    q = numpy.clip(numpy.where(y > 0, p, 1 - p), 1e-7, 1)
    return auc, -numpy.log(q).mean(), positive / p.sum()


def compare(name, y, predictions):
    """Prints a table; gives the numbers of each."""
    import numpy
    rng = numpy.random.RandomState(1)
    picks = [rng.randint(0, len(y), len(y)) for _ in range(BOOTSTRAPS)]
    samples = {who: numpy.array([metrics(y[pick], p[pick]) for pick in picks]) for who, p in predictions.items()}
    rows = {who: metrics(y, p) for who, p in predictions.items()}
    print("\n%s: %d test rows, %.1f %% positive" % (name, len(y), 100 * y.mean()))
    print("%-14s %8s %-18s %9s %-18s %7s   %s" % ("", "AUC", "", "log loss", "", "COPC", "Skiff's lead: AUC, log loss"))
    for who, (auc, loss, copc) in rows.items():
        low, high = numpy.percentile(samples[who], [2.5, 97.5], axis=0)
        lead = ""
        if who != "Skiff":
            d = samples["Skiff"] - samples[who]
            a, b = numpy.percentile(d, [2.5, 97.5], axis=0)
            lead = "%+.4f (%+.4f .. %+.4f), %+.4f (%+.4f .. %+.4f)" % (rows["Skiff"][0] - auc, a[0], b[0], loss - rows["Skiff"][1], -b[1], -a[1])
        print("%-14s %8.4f (%.4f .. %.4f) %8.4f (%.4f .. %.4f) %7.3f   %s" % (who, auc, low[0], high[0], loss, low[1], high[1], copc, lead))
    sys.stdout.flush()
    return rows


def main():
    missing = [module for module in ("numpy", "pandas") if not has(module)]
    if missing:
        print("skipped: %s has no %s" % (sys.executable, ", ".join(missing)))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--skiff", default="build/skiff")
    parser.add_argument("--work", help="keep tables and runs there")
    parser.add_argument("--only", default=",".join(made.TABLES))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        args.work = args.work or work
        os.makedirs(args.work, exist_ok=True)
        compare_all(args)


def compare_all(args):
    import numpy
    todo = []
    for name in filter(None, args.only.split(",")):
        path = os.path.join(args.work, name + ".csv")
        made.write(name, path, args.scale)
        todo.append((name, path, None))
    for file in args.files:
        path, _, label = file.partition(":")
        todo.append((os.path.basename(path), path, label))
    for name, path, label in todo:
        run = os.path.join(args.work, name + ".run")
        words = [args.skiff, "init", "--data", path, "--out", run, "--overwrite"] + (["--label", label] if label else [])
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        table = Table(run)
        start = time.time()
        predictions, seconds = {"Skiff": numpy.array(run_skiff(args, run, "model"))}, {"Skiff": time.time() - start}
        for who, (module, predict) in PEERS.items():
            if has(module):
                start = time.time()
                predictions[who] = numpy.array(predict(table))
                seconds[who] = time.time() - start
        compare(name, table.y[2], predictions)
        print("seconds: " + ", ".join("%s %.1f" % (who, s) for who, s in seconds.items()))


if __name__ == "__main__":
    main()
