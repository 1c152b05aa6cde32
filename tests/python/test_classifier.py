"""skiff.Classifier: scikit-learn's conventions, data frames, what is kept, what is refused."""
import copy
import datetime
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

import skiff

try:
    import pandas
except ImportError:
    pandas = None
try:
    import pyarrow
except ImportError:
    pyarrow = None
try:
    import sklearn.base
except ImportError:
    sklearn = None

ROWS = 600


def visits(rows=ROWS):
    """Columns of every kind, and whether each row is a purchase: known from device and age."""
    draw = np.random.RandomState(3)
    age = draw.randint(18, 70, rows).astype(float)
    device = np.array(["phone", "laptop", "tablet, old"], object)[draw.randint(0, 3, rows)]
    bought = (device == "laptop") ^ (age > 40)
    age[::13] = np.nan
    when = np.datetime64("2024-03-01T00:00:00") + draw.randint(0, 30 * 24, rows).astype("timedelta64[h]")
    columns = {"device": device, "age": age, "member": draw.rand(rows) < 0.5, "when": when, "price": draw.rand(rows).round(3)}
    return columns, np.where(bought, "yes", "no")


def numbers(rows=ROWS):
    X = np.random.RandomState(1).randn(rows, 4)
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


class ColumnsTest(unittest.TestCase):
    def test_kinds_of_columns(self):
        from skiff._table import table_of

        columns, _ = visits(30)
        columns["mixed"] = [1, "two", None] * 10
        columns["date"] = np.array(["2024-03-05"] * 29 + ["NaT"], "datetime64[D]")
        table = table_of(columns)
        self.assertEqual(table.rows, 30)
        codes, texts = table.columns[0]
        self.assertEqual([texts[c] for c in codes], list(columns["device"]))
        self.assertEqual(table.columns[1].dtype, np.float64)
        self.assertEqual(set(table.columns[2]), {0.0, 1.0})
        codes, texts = table.columns[3]
        self.assertEqual(texts[codes[4]], str(columns["when"][4]).replace("T", " "))
        codes, texts = table.columns[5]
        self.assertEqual((list(codes[:3]), texts), ([0, 1, -1], ["1", "two"]))
        codes, texts = table.columns[6]
        self.assertEqual((codes[0], codes[29], texts), (0, -1, ["2024-03-05"]))

    def test_refused(self):
        from skiff._table import table_of

        with self.assertRaisesRegex(ValueError, "Reshape your data"):
            table_of([1, 2, 3])
        with self.assertRaisesRegex(ValueError, "Complex data not supported"):
            table_of(np.array([[1j]]))
        with self.assertRaisesRegex(TypeError, "must be a string or a number, found dict"):
            table_of(np.array([[{"a": 1}]], object))

    def test_written_as_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.csv")
            codes = np.array([1, -1, 0], np.int32)
            columns = [("a,b", np.array([0.1, np.nan, 1e300])), ("t", (codes, ['say "x"', "plain"]))]
            skiff._native.write_csv(path, columns)
            with open(path) as f:
                self.assertEqual(f.read(), '"a,b",t\n0.1,plain\n,\n1e+300,"say ""x"""\n')
            with self.assertRaisesRegex(ValueError, "code 2"):
                skiff._native.write_csv(path, [("t", (np.array([2], np.int32), ["a", "b"]))])
            with self.assertRaisesRegex(ValueError, "has 2 rows"):
                skiff._native.write_csv(path, [("a", np.zeros(3)), ("b", np.zeros(2))])
            with self.assertRaisesRegex(TypeError, "format"):
                skiff._native.write_csv(path, [("a", np.zeros(3, np.float32))])
            with self.assertRaises(FileNotFoundError):
                skiff._native.write_csv(folder + "/none/t.csv", [])


class ClassifierTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.columns, cls.y = visits()
        cls.fitted = skiff.Classifier(epochs=20).fit(cls.columns, cls.y)

    def test_learns_columns_of_all_kinds(self):
        p = self.fitted.predict_proba(self.columns)
        self.assertEqual(p.shape, (ROWS, 2))
        np.testing.assert_allclose(p.sum(axis=1), 1)
        self.assertEqual(list(self.fitted.classes_), ["no", "yes"])
        self.assertEqual(list(self.fitted.feature_names_in_), list(self.columns))
        self.assertGreater(self.fitted.score(self.columns, self.y), 0.85)
        self.assertEqual(self.fitted.n_iter_, len(self.fitted.history_))
        self.assertLessEqual(self.fitted.best_epoch_, self.fitted.n_iter_)
        self.assertGreater(self.fitted.valid_score_["auc"], 0.8)

    def test_the_same_seed_gives_the_same(self):
        X, y = numbers()
        a, b, c = (skiff.Classifier(epochs=2, random_state=s).fit(X, y).predict_proba(X) for s in (4, 4, 5))
        np.testing.assert_array_equal(a, b)
        self.assertFalse(np.array_equal(a, c))

    def test_kept_as_pickle_copy_and_folder(self):
        want = self.fitted.predict_proba(self.columns)
        for again in (pickle.loads(pickle.dumps(self.fitted)), copy.deepcopy(self.fitted)):
            np.testing.assert_array_equal(again.predict_proba(self.columns), want)
        with tempfile.TemporaryDirectory() as parent:
            folder = os.path.join(parent, "kept")
            self.fitted.save(folder)
            self.assertFalse(os.path.exists(os.path.join(folder, "train")))
            again = skiff.load(folder)
            self.assertEqual(again.epochs, 20)
            self.assertEqual(again.classes_.dtype, self.fitted.classes_.dtype)
            np.testing.assert_array_equal(again.predict_proba(self.columns), want)
            np.testing.assert_array_equal(skiff.predict(folder, self.columns), want[:, 1])
            with self.assertRaises(FileExistsError):
                self.fitted.save(folder)

    def test_folders_are_removed(self):
        X, y = numbers(100)
        c = skiff.Classifier(epochs=1).fit(X, y)
        first = c._folder.path
        c.fit(X, y)
        self.assertFalse(os.path.exists(first))
        second = c._folder.path
        self.assertTrue(os.path.exists(second))
        del c
        self.assertFalse(os.path.exists(second))

    def test_validation_rows(self):
        X, y = numbers()
        c = skiff.Classifier(epochs=3).fit(X[:400], y[:400], eval_set=(X[400:], y[400:]))
        p = c.predict_proba(X[400:])[:, 1]
        loss = -np.mean(np.where(y[400:] == 1, np.log(p), np.log(1 - p)))
        self.assertAlmostEqual(min(loss, 9), c.valid_score_["log_loss"], delta=0.2)
        none = skiff.Classifier(epochs=2, validation_fraction=None).fit(X, y)
        self.assertEqual(none.best_epoch_, -1)
        self.assertTrue(np.isnan(none.valid_score_["auc"]))
        with self.assertRaisesRegex(ValueError, "eval_set: y has the class 7"):
            c.fit(X, y, eval_set=(X, y * 7))

    def test_settings_reach_the_config(self):
        X, y = numbers(200)
        c = skiff.Classifier("rank/dnn", epochs=2, layers=(8, 4), learning_rate=0.01, options={"runner.shuffle": False}).fit(X, y)
        self.assertEqual(c.n_iter_, 2)
        with self.assertRaisesRegex(ValueError, "rank/ models"):
            skiff.Classifier("match/dssm").fit(X, y)
        with self.assertRaisesRegex(ValueError, "runner.epochz"):
            skiff.Classifier(options={"runner.epochz": 1}).fit(X, y)

    def test_calibration_by_option(self):
        columns, y = visits(2400)
        raw, fitted = (skiff.Classifier(epochs=3, options={"runner.calibrate": m}).fit(columns, y) for m in ("none", "isotonic"))
        p = fitted.predict_proba(columns)[:, 1]
        self.assertGreater(np.abs(p - raw.predict_proba(columns)[:, 1]).max(), 0.01)

    def test_plot(self):
        plot = self.fitted.plot()
        self.assertGreater(len(plot.svg), 3)
        self.assertTrue(all(s.startswith("<svg") and s.endswith("</svg>") for s in plot.svg))
        self.assertIn("<iframe srcdoc=", plot._repr_html_())
        self.assertIn("&lt;svg", plot._repr_html_())

    def test_refused(self):
        X, y = numbers(50)
        cases = [
            ("multiclass", X, np.arange(50) % 3),
            ("continuous", X, X[:, 0]),
            ("one class", X, np.zeros(50)),
            ("y to be passed", X, None),
            ("inconsistent numbers of samples", X, y[:-1]),
            ("contains NaN", X, np.where(y, np.nan, 0)),
            ("contains infinity", np.where(X > 2, np.inf, X), y),
        ]
        for message, columns, labels in cases:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                skiff.Classifier().fit(columns, labels)
        with self.assertRaisesRegex(ValueError, "not fitted yet"):
            skiff.Classifier().predict(X)
        with self.assertRaisesRegex(ValueError, "is expecting 5 features|should match those"):
            self.fitted.predict({"device": ["phone"], "age": [3]})

    def test_names_of_all_kinds(self):
        draw = np.random.RandomState(0)
        columns = {'a "b", c': draw.randn(400), "line\nend": draw.randint(0, 5, 400).astype(str), "y": draw.rand(400)}
        columns["列"] = np.array(["红", "蓝"], object)[draw.randint(0, 2, 400)]
        y = columns['a "b", c'] > 0
        c = skiff.Classifier(epochs=8).fit(columns, y)
        self.assertEqual(list(c.feature_names_in_), list(columns))
        self.assertEqual(c.classes_.dtype, bool)
        self.assertGreater(c.score(columns, y), 0.9)
        with self.assertRaisesRegex(ValueError, "^no column is left to learn from"):
            skiff.Classifier().fit({"k": np.arange(300)}, np.arange(300) % 2)

    def test_threads_share_one(self):
        import concurrent.futures

        want = self.fitted.predict_proba(self.columns)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for got in pool.map(lambda _: self.fitted.predict_proba(self.columns), range(8)):
                np.testing.assert_array_equal(got, want)

    def test_import_is_light(self):
        code = "import sys, skiff; print(sorted({'numpy', 'sklearn', 'pandas'} & set(sys.modules)))"
        out = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(out.strip(), b"[]")


CITIES = np.array(["ny", "la", "sf"])


def towns(rows=1500):
    """A town each, whose share of buyers is 0.2, 0.4 or 0.6; and a column that says nothing."""
    draw = np.random.RandomState(7)
    town = draw.randint(0, 3, rows)
    X = {"town": CITIES[town].astype(object), "noise": draw.randint(0, 4, rows).astype(str).astype(object)}
    return X, np.where(draw.rand(rows) < 0.2 * (1 + town), "yes", "no")


def learned(**settings):
    """No rows for validation, large batches: what is learned is the weighted share of each town."""
    return skiff.Classifier("rank/logistic_regression", epochs=60, batch_size=250, learning_rate=0.05, validation_fraction=None, **settings)


def by_town(c):
    return c.predict_proba({"town": CITIES.astype(object), "noise": np.array(["0", "1", "2"], object)})[:, 1]


def shares(X, y, w):
    return np.array([np.average(y[X["town"] == t] == "yes", weights=w[X["town"] == t]) for t in CITIES])


def take(X, rows):
    return {name: values[rows] for name, values in X.items()}


class WeightsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.X, cls.y = towns()
        cls.plain = learned().fit(cls.X, cls.y)

    def test_weighted_shares_are_learned(self):
        w = np.where((self.X["town"] == "ny") & (self.y == "yes"), 6.0, np.where(self.X["town"] == "sf", 2.0, 1.0))
        got = by_town(learned().fit(self.X, self.y, sample_weight=w))
        np.testing.assert_allclose(got, shares(self.X, self.y, w), atol=0.05)
        self.assertGreater(got[0] - by_town(self.plain)[0], 0.25)

    def test_weight_two_is_the_row_twice(self):
        twice = (self.X["town"] == "la") & (self.y == "yes")
        weighted = learned().fit(self.X, self.y, sample_weight=np.where(twice, 2, 1))
        rows = np.concatenate([np.arange(len(twice)), np.flatnonzero(twice)])
        again = learned().fit(take(self.X, rows), self.y[rows])
        np.testing.assert_allclose(by_town(weighted), by_town(again), atol=0.04)
        self.assertGreater(by_town(weighted)[1] - by_town(self.plain)[1], 0.1)

    def test_rows_of_weight_zero_are_ignored(self):
        w = np.random.RandomState(2).randint(0, 3, len(self.y)).astype(float)
        left = learned().fit(take(self.X, w > 0), self.y[w > 0], sample_weight=w[w > 0])
        np.testing.assert_array_equal(by_town(learned().fit(self.X, self.y, sample_weight=w)), by_town(left))

    def test_equal_weights_change_nothing(self):
        for w in (7, np.full(len(self.y), 0.25)):
            np.testing.assert_array_equal(by_town(learned().fit(self.X, self.y, sample_weight=w)), by_town(self.plain))

    def test_class_weights(self):
        three = np.where(self.y == "yes", 3.0, 1.0)
        by_class = by_town(learned(class_weight={"yes": 3}).fit(self.X, self.y))
        np.testing.assert_array_equal(by_class, by_town(learned().fit(self.X, self.y, sample_weight=three)))
        np.testing.assert_allclose(by_class, shares(self.X, self.y, three), atol=0.05)
        balanced = learned(class_weight="balanced").fit(self.X, self.y).predict_proba(self.X)[:, 1]
        self.assertAlmostEqual(balanced[self.y == "yes"].mean() / 2 + balanced[self.y == "no"].mean() / 2, 0.5, delta=0.03)

    def test_validation_is_weighted(self):
        w = np.where(self.y == "yes", 9.0, 1.0)
        c = skiff.Classifier(epochs=1, options={"runner.calibrate": "none"}).fit(self.X, self.y, w, eval_set=(self.X, self.y, w))
        p = c.predict_proba(self.X)[:, 1]
        loss = np.average(-np.log(np.where(self.y == "yes", p, 1 - p)), weights=w)
        self.assertAlmostEqual(c.valid_score_["log_loss"], loss, places=3)
        with self.assertRaisesRegex(ValueError, "eval_set: sample_weight.shape"):
            c.fit(self.X, self.y, eval_set=(self.X, self.y, w[:5]))

    def test_kept_with_weights(self):
        X = dict(self.X, weight=np.arange(len(self.y)) % 7)
        c = skiff.Classifier(epochs=2, class_weight={"no": 2, "yes": 1}).fit(X, self.y)
        with tempfile.TemporaryDirectory() as parent:
            c.save(os.path.join(parent, "kept"))
            again = skiff.load(os.path.join(parent, "kept"))
            self.assertEqual(again.class_weight, {"no": 2, "yes": 1})
            np.testing.assert_array_equal(again.predict_proba(X), c.predict_proba(X))
            self.assertEqual(again.importances(X, self.y), c.importances(X, self.y))

    def test_refused(self):
        n = len(self.y)
        cases = [
            (np.full(n, -1.0), "sample_weight of row 0 is -1.0; expected a number of at least 0"),
            (np.where(np.arange(n) == 3, np.nan, 1), "sample_weight of row 3 is nan"),
            (np.ones((n, 2)), "must be 1D"),
            (np.ones(n + 1), "expected \\(1500,\\)"),
            (np.zeros(n), "is 0 in all rows"),
            ((self.y == "yes").astype(int), "one class only, yes, in rows whose sample_weight is not 0"),
        ]
        for w, message in cases:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                learned().fit(self.X, self.y, sample_weight=w)
        for given, message in [({"maybe": 1}, "has the class 'maybe'"), ("even", 'expected None, "balanced"'), ({"no": 0}, "above 0")]:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                learned(class_weight=given).fit(self.X, self.y)


class ImportancesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        draw = np.random.RandomState(4)
        cls.X = {"noise": draw.rand(3000), "same": np.ones(3000), "strong": draw.randn(3000), "weak": draw.randn(3000)}
        cls.y = draw.rand(3000) < 1 / (1 + np.exp(-2.5 * cls.X["strong"] - cls.X["weak"]))
        cls.fitted = skiff.Classifier(epochs=10).fit(cls.X, cls.y)

    def test_planted_columns_come_first(self):
        rows = self.fitted.importances(self.X, self.y)
        self.assertEqual([r["column"] for r in rows[:2]], ["strong", "weak"])
        strong, weak = rows[:2]
        self.assertGreater(strong["log_loss_low"], weak["log_loss_high"])
        self.assertGreater(strong["auc_low"], weak["auc_high"])
        self.assertGreater(weak["log_loss_low"], 0.02)
        rest = {r["column"]: r for r in rows[2:]}
        self.assertEqual(rest["same"], dict(dict.fromkeys(rest["same"], 0.0), column="same"))
        self.assertLess(rest["noise"]["log_loss"], 0.02)

    def test_of_the_validation_rows(self):
        c = skiff.Classifier(epochs=10).fit(self.X, self.y)
        at_hand, gone = c.feature_importances_, pickle.loads(pickle.dumps(c))
        self.assertEqual(list(np.argsort(-at_hand)[:2]), [2, 3])
        self.assertEqual(at_hand[1], 0)
        np.testing.assert_array_equal(gone.feature_importances_, at_hand)
        self.assertIn("Which columns matter", c.plot().html)

    def test_equal_those_of_the_same_rows(self):
        train, valid = take(self.X, slice(0, 2400)), take(self.X, slice(2400, 3000))
        c = skiff.Classifier(epochs=4).fit(train, self.y[:2400], eval_set=(valid, self.y[2400:]))
        given = {r["column"]: r["log_loss"] for r in c.importances(valid, self.y[2400:])}
        np.testing.assert_allclose(c.feature_importances_, [given[name] for name in self.X], rtol=1e-6)

    def test_weights_count(self):
        w = np.where(np.abs(self.X["strong"]) < 0.5, 1.0, 0.0)
        rows = {r["column"]: r["log_loss"] for r in self.fitted.importances(self.X, self.y, w)}
        near = np.abs(self.X["strong"]) < 0.5
        alone = {r["column"]: r["log_loss"] for r in self.fitted.importances(take(self.X, near), self.y[near])}
        self.assertAlmostEqual(rows["weak"], alone["weak"], delta=0.03)
        plain = {r["column"]: r["log_loss"] for r in self.fitted.importances(self.X, self.y)}
        self.assertGreater(abs(rows["strong"] - plain["strong"]), 0.1)

    def test_without_rows(self):
        self.assertFalse(hasattr(skiff.Classifier(), "feature_importances_"))
        none = skiff.Classifier(epochs=1, validation_fraction=None).fit(self.X, self.y)
        unread = pickle.loads(pickle.dumps(skiff.Classifier(epochs=1).fit(self.X, self.y)))
        for c in (none, unread):
            with self.assertRaisesRegex(AttributeError, "there are none: .*importances\\(X, y\\) takes rows"):
                c.feature_importances_
            self.assertEqual(len(c.importances(self.X, self.y)), 4)
        with self.assertRaisesRegex(ValueError, "all 20 rows of X have label"):
            none.importances(take(self.X, slice(0, 20)), np.ones(20, bool))
        with self.assertRaisesRegex(ValueError, "repeats is 5000; expected 1 to 1000"):
            none.importances(self.X, self.y, repeats=5000)


@unittest.skipUnless(sklearn, "skipped: python3-sklearn is not installed")
class SklearnTest(unittest.TestCase):
    def test_check_estimator(self):
        from sklearn.utils.estimator_checks import check_estimator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for estimator, check in check_estimator(skiff.Classifier(epochs=12), generate_only=True):
                with self.subTest(getattr(check, "func", check).__name__):
                    check(estimator)

    def test_weights_of_one(self):
        from sklearn.utils import estimator_checks

        check = getattr(estimator_checks, "check_sample_weights_invariance", None)
        if not check:
            self.skipTest("skipped: this scikit-learn has no such check")
        check("Classifier", skiff.Classifier(epochs=12), kind="ones")

    def test_columns_are_selected(self):
        from sklearn.feature_selection import SelectFromModel

        X, y = numbers()
        chosen = SelectFromModel(skiff.Classifier(epochs=12, learning_rate=0.01), max_features=2, threshold=-np.inf).fit(X, y)
        self.assertEqual(list(chosen.get_support()), [True, True, False, False])

    def test_clone_pipeline_search(self):
        from sklearn.inspection import permutation_importance
        from sklearn.model_selection import GridSearchCV, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        X, y = numbers(300)
        c = skiff.Classifier(epochs=6, learning_rate=0.01)
        self.assertEqual(sklearn.base.clone(c).get_params(), c.get_params())
        self.assertEqual(c.set_params(epochs=7).epochs, 7)
        scores = cross_val_score(make_pipeline(StandardScaler(), c), X, y, cv=3, scoring="roc_auc")
        self.assertTrue((scores > 0.85).all(), scores)
        search = GridSearchCV(c, {"epochs": [1, 7]}, cv=2, scoring="neg_log_loss").fit(X, y)
        self.assertEqual(search.best_params_, {"epochs": 7})
        found = permutation_importance(search.best_estimator_, X, y, n_repeats=3, random_state=0).importances_mean
        self.assertGreater(min(found[:2]), max(found[2:]) + 0.05)


@unittest.skipUnless(pandas, "skipped: python3-pandas is not installed")
class PandasTest(unittest.TestCase):
    def test_frames_give_what_columns_give(self):
        columns, y = visits(300)
        frame = pandas.DataFrame(columns)
        frame["device"] = frame.device.astype("category")
        frame["age"] = frame.age.astype("Int64")
        c = skiff.Classifier(epochs=3).fit(frame, pandas.Series(y, dtype="category"))
        np.testing.assert_array_equal(c.predict_proba(frame), c.predict_proba(columns))
        frame.loc[0, "age"] = pandas.NA
        frame.loc[1, "when"] = pandas.NaT
        self.assertEqual(c.predict_proba(frame.iloc[:2]).shape, (2, 2))
        with self.assertRaisesRegex(ValueError, "in the same order"):
            c.predict(frame[frame.columns[::-1]])
        zoned = frame.assign(when=frame.when.dt.tz_localize("UTC").dt.tz_convert("Asia/Shanghai"))
        np.testing.assert_array_equal(c.predict_proba(zoned), c.predict_proba(frame))


@unittest.skipUnless(pyarrow, "skipped: pyarrow is not installed")
class ArrowTest(unittest.TestCase):
    def test_tables_give_what_columns_give(self):
        columns, y = visits(300)
        table = pyarrow.table({n: pyarrow.array(v, from_pandas=True) for n, v in columns.items()})
        table = table.set_column(0, "device", table.column("device").dictionary_encode())
        c = skiff.Classifier(epochs=2).fit(table, y)
        np.testing.assert_array_equal(c.predict_proba(table), c.predict_proba(columns))


class PathsTest(unittest.TestCase):
    def test_init_train_infer_predict(self):
        columns, y = visits()
        with tempfile.TemporaryDirectory() as folder:
            data, run = os.path.join(folder, "visits.csv"), os.path.join(folder, "run")
            with open(data, "w") as out:
                out.write("device,age,price,bought\n")
                for device, age, price, bought in zip(columns["device"], columns["age"], columns["price"], y):
                    out.write('"%s",%s,%s,%s\n' % (device, "" if age != age else int(age), price, bought))
            parts = skiff.init(data, run, label="bought", positive="yes")
            self.assertEqual(parts["train"] + parts["valid"] + parts["test"], ROWS)
            with self.assertRaisesRegex(RuntimeError, "exists"):
                skiff.init(data, run)
            result = skiff.train(run, {"runner.epochs": 15})
            self.assertGreater(result["valid_auc"], 0.7)
            rows = skiff.infer(run)
            self.assertEqual([r["samples"] for r in rows], [parts["test"]])
            p = skiff.predict(run, data, output=os.path.join(folder, "p.txt"))
            with open(os.path.join(folder, "p.txt")) as f:
                self.assertEqual([float(line) for line in f], list(p))
            table = {n: columns[n] for n in ("price", "age", "device")}
            np.testing.assert_allclose(skiff.predict(run, table), p, atol=1e-5)
            with self.assertRaisesRegex(ValueError, "column names"):
                skiff.predict(run, np.zeros((2, 3)))
            with self.assertRaisesRegex(OSError, "none"):
                skiff.infer(folder + "/none.yaml")


if __name__ == "__main__":
    unittest.main()
