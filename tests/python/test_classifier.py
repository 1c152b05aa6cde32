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


@unittest.skipUnless(sklearn, "skipped: python3-sklearn is not installed")
class SklearnTest(unittest.TestCase):
    def test_check_estimator(self):
        from sklearn.utils.estimator_checks import check_estimator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for estimator, check in check_estimator(skiff.Classifier(epochs=12), generate_only=True):
                with self.subTest(getattr(check, "func", check).__name__):
                    check(estimator)

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
