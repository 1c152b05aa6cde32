"""skiff.Classifier: scikit-learn's conventions over `skiff init`, `skiff train` and `<skiff/run.h>`.

A face, not a brain: C finds out what the columns are, learns them, trains, validates and predicts.

fit goes through a temporary CSV file. `skiff init` finds out types from text, and training reads files several times; a second
way for arrays would be a second preprocessing to keep equal. Writing costs little beside training (100,000 rows of 12 columns:
docs/reference/python.md has the measured share). predict does not: columns go to C as they are.

A fitted classifier owns a folder: config.yaml, columns.stats, the best epoch, the report. It is temporary until `save`, and goes
into a pickle as bytes. The rows that it was trained on are not kept.
"""
import json
import os
import shutil
import tempfile
import warnings
import weakref

import numpy as np

from skiff import _native
from skiff._base import BaseEstimator, ClassifierMixin, DataConversionWarning, NotFittedError
from skiff._plot import Plot
from skiff._table import columns_with_infinity, table_of

_FACTS = "classifier.json"
_VALID = "valid"  # kept for feature_importances_, but not in pickles and saved folders
_EFFECTS = ("log_loss", "auc")


class _Folder:
    """A temporary folder that is removed with its last reference. A pickle holds its files.

    run: what is opened of it, once; any number of threads may predict with it.
    """

    def __init__(self, files=()):
        self.path, self.run = tempfile.mkdtemp(prefix="skiff-"), None
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        for name, content in dict(files).items():
            path = os.path.join(self.path, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as out:
                out.write(content)

    def files(self):
        found = {}
        for folder, inner, names in os.walk(self.path):
            inner[:] = [name for name in inner if name != _VALID]
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as f:
                    found[os.path.relpath(path, self.path)] = f.read()
        return found

    def __reduce__(self):
        return _Folder, (self.files(),)


def _flatten(y):
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None")
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), for "
            "example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError("y should be a 1d array, got an array of shape %r instead." % (y.shape,))
    return y


def _classes(y):
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
        if (y != np.floor(y)).any():
            raise ValueError("Unknown label type: 'continuous'. Skiff learns two classes, not quantities.")
    if y.dtype.kind == "O" and any(v is None or v != v for v in y.tolist()):
        raise ValueError("Input y contains None or NaN.")
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError("y has one class only, %s: nothing can be learned; a classifier needs samples of 2 classes" % list(classes))
    if len(classes) > 2:
        raise ValueError("Only binary classification is supported. The type of the target is multiclass: y has %d classes." % len(classes))
    return classes


def _weights_of(sample_weight, rows):
    """float64, one for each row."""
    if sample_weight is None:
        return np.ones(rows)
    w = np.asarray(sample_weight)
    if w.dtype.kind not in "biufO":
        raise ValueError("sample_weight should be numbers, got an array of %s" % w.dtype)
    w = w.astype(np.float64)
    if w.ndim == 0:
        w = np.full(rows, w)
    if w.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar, got an array of shape %r" % (w.shape,))
    if len(w) != rows:
        raise ValueError("sample_weight.shape == %r, expected (%d,), one for each row" % (w.shape, rows))
    wrong = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if len(wrong):
        raise ValueError("sample_weight of row %d is %r; expected a number of at least 0" % (wrong[0], float(w[wrong[0]])))
    if rows and not w.any():
        raise ValueError("sample_weight is 0 in all rows: nothing can be learned")
    return w


def _free(name, taken):
    while name in taken:
        name += "_"
    return name


class Classifier(ClassifierMixin, BaseEstimator):
    """A click-through-rate model as a binary classifier. None: the value that `skiff init` would choose.

    model: a network (rank/dnn, rank/deepfm, rank/wide_deep, rank/dcn, rank/fm, rank/logistic_regression, ...). epochs: at most so
    many. embedding_dim, layers: sizes of the network. validation_fraction: of the rows, to stop early and to keep the best epoch
    (None: all rows are trained on). patience: epochs without a better one. random_state: a seed. n_jobs: training threads; with
    one, results are reproducible. class_weight: {class: weight}, which multiplies the weights of rows, or "balanced": rows of both
    classes weigh the same together. options: further keys of a config, {"runner.drop_last": True}. verbose: log lines.
    """

    def __init__(
        self,
        model="rank/deepfm",
        *,
        epochs=None,
        batch_size=None,
        learning_rate=None,
        embedding_dim=None,
        layers=None,
        validation_fraction=0.1,
        patience=None,
        random_state=None,
        n_jobs=None,
        class_weight=None,
        options=None,
        verbose=False,
    ):
        self.model = model
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.embedding_dim = embedding_dim
        self.layers = layers
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.options = options
        self.verbose = verbose

    # ---- scikit-learn's tags: before and from 1.6 on ----

    def _more_tags(self):
        order = "kind=zeros shuffles the rows: other ones are for validation, and batches differ; kind=ones is in Skiff's tests"
        return {
            "binary_only": True,
            "allow_nan": True,
            "X_types": ["2darray", "string"],
            "_xfail_checks": {"check_sample_weights_invariance": order},
        }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    # ---- fit ----

    def fit(self, X, y, sample_weight=None, *, eval_set=None):
        """Trains. sample_weight: of each row; only their ratios count, rows of weight 0 are ignored. eval_set: (X, y) or (X, y,
        sample_weight) to validate on, instead of a share of the rows."""
        table = table_of(X)
        y = _flatten(y)
        self._check_table(table)
        if len(y) != table.rows:
            raise ValueError("Found input variables with inconsistent numbers of samples: [%d, %d]" % (table.rows, len(y)))
        if table.rows < 2:
            raise ValueError("Found array with %d sample(s) while a minimum of 2 is required: n_samples = %d" % (table.rows, table.rows))
        w = _weights_of(sample_weight, table.rows)
        self.classes_ = _classes(y)
        if not w.all():
            table, y, w = table.take(w > 0), y[w > 0], w[w > 0]
            if len(np.unique(y)) < 2:
                raise ValueError("y has one class only, %s, in rows whose sample_weight is not 0: nothing can be learned" % y[0])
        self._learn_names(table)
        self._class_weights = self._weights_by_class(y)
        folder = _Folder()
        self._prepare(folder.path, table, y, w, eval_set)
        self._train(folder.path)
        shutil.rmtree(os.path.join(folder.path, "train"), ignore_errors=True)
        self._folder, self._importances = folder, None
        self._write_facts()
        return self

    def _check_table(self, table):
        if not table.columns:
            raise ValueError("Found array with 0 feature(s) (shape=(%d, 0)) while a minimum of 1 is required." % table.rows)
        if not table.rows:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        names = table.names or ["column %d" % i for i in range(len(table.columns))]
        infinite = columns_with_infinity(names, table.columns)
        if infinite:
            raise ValueError("Input X contains infinity (%s)" % infinite[0])

    def _learn_names(self, table):
        if table.names:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = len(table.columns)
        self._names = table.names or ["x%d" % i for i in range(len(table.columns))]
        self._label = _free("y", self._names)

    def _weights_by_class(self, y):
        """Of both classes. Without runner.class_weight, as that acts in the loss alone: validation on other weights would keep the
        epoch that has learned least of them."""
        given = self.class_weight
        if given is None:
            return [1.0, 1.0]
        if isinstance(given, str) and given == "balanced":
            return [len(y) / (2.0 * np.count_nonzero(y == c)) for c in self.classes_]
        if not hasattr(given, "items"):
            raise ValueError('class_weight is %r; expected None, "balanced" or a dict {class: weight}' % (given,))
        unknown = [c for c in given if c not in self.classes_.tolist()]
        if unknown:
            raise ValueError("class_weight has the class %r; y has %s" % (unknown[0], self.classes_.tolist()))
        weights = [float(given.get(c, 1)) for c in self.classes_.tolist()]
        if not all(0 < w < np.inf for w in weights):
            raise ValueError("class_weight is %r; expected numbers above 0" % (given,))
        return weights

    def _weigh(self, y, w):
        """Weights of rows and classes together; their mean is 1. None: all are the same."""
        w = w * np.where(y == self.classes_[1], self._class_weights[1], self._class_weights[0])
        return None if w.min() == w.max() else w / w.mean()

    def _write(self, path, table, y, weight, w):
        """weight: the name of the column for w, or None."""
        wrong = sorted(set(np.unique(y)) - set(self.classes_))
        if wrong:
            raise ValueError("y has the class %r; expected those of fit, %s" % (wrong[0], list(self.classes_)))
        label = np.ascontiguousarray(y == self.classes_[1], np.float64)
        columns = table.pairs(self._names) + [(self._label, label)]
        if weight is not None:
            columns.append((weight, np.ones(table.rows) if w is None else w))
        _native.write_csv(path, columns)

    def _rows_to_validate(self, X, y, sample_weight=None):
        table, y = table_of(X), _flatten(y)
        self._check_columns(table)
        if len(y) != table.rows:
            raise ValueError("Found input variables with inconsistent numbers of samples: [%d, %d]" % (table.rows, len(y)))
        return table, y, self._weigh(y, _weights_of(sample_weight, table.rows))

    def _prepare(self, folder, table, y, w, eval_set):
        w, given = self._weigh(y, w), None
        if eval_set is not None:
            try:
                given = self._rows_to_validate(*eval_set)
            except (TypeError, ValueError) as e:
                raise type(e)("eval_set: %s" % e) from None
        weighted = w is not None or (given is not None and given[2] is not None)
        weight = self._weight = _free("weight", self._names) if weighted else None
        with tempfile.TemporaryDirectory(prefix="skiff-rows-") as rows:
            data, valid = os.path.join(rows, "rows.csv"), None
            self._write(data, table, y, weight, w)
            if given is not None:
                valid = os.path.join(rows, "valid.csv")
                try:
                    self._write(valid, given[0], given[1], weight, given[2])
                except ValueError as e:
                    raise ValueError("eval_set: %s" % e) from None
            share = self.validation_fraction if valid is None else None
            try:
                _native.prepare(
                    data,
                    folder,
                    label=self._label,
                    weight=weight,
                    positive="1",
                    split="random",
                    model=self.model,
                    share=share or 0.0,
                    seed=self._seed(),
                    valid=valid,
                    no_valid=valid is None and not share,
                    no_test=True,
                )
            except ValueError as e:  # the file is nothing that the caller knows
                raise ValueError(str(e).replace(data + ": ", "")) from None

    def _seed(self):
        state = self.random_state
        if state is None:
            return 1
        if hasattr(state, "randint"):
            return int(state.randint(1, 2**31 - 1))
        return int(state) + 1  # 0 is the library's "not set"

    def _options(self):
        keys = {
            "runner.epochs": self.epochs,
            "runner.train_batch_size": self.batch_size,
            "runner.early_stop": self.patience,
            "runner.thread_num": self._threads(),
            "hyper_parameters.optimizer.learning_rate": self.learning_rate,
            "hyper_parameters.sparse_feature_dim": self.embedding_dim,
            "hyper_parameters.fc_sizes": None if self.layers is None else "[%s]" % ", ".join(str(n) for n in self.layers),
        }
        keys.update(self.options or {})
        return ["%s=%s" % (key, value) for key, value in keys.items() if value is not None]

    def _threads(self):
        return self.n_jobs if self.n_jobs is None or self.n_jobs > 0 else os.cpu_count()

    def _train(self, folder):
        trainer = _native.Trainer(os.path.join(folder, "config.yaml"), self._options(), quiet=not self.verbose)
        history = []
        trainer.add_observer(end=lambda epoch: history.append(epoch) and None)
        result = trainer.run()
        self.history_ = history
        self.best_epoch_ = result["best_epoch"]
        self.n_iter_ = result["epochs"]
        self.valid_score_ = {"auc": result["valid_auc"], "log_loss": result["valid_log_loss"]}

    # ---- predict ----

    def _check_fitted(self):
        if not hasattr(self, "_folder"):
            raise NotFittedError("This Classifier instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator.")

    def _check_columns(self, table):
        self._check_table(table)
        names = getattr(self, "feature_names_in_", None)
        n = len(table.columns)
        if names is not None and table.names:
            self._check_names(table.names, list(names))
        if n != self.n_features_in_:
            raise ValueError("X has %d features, but %s is expecting %d features as input" % (n, type(self).__name__, self.n_features_in_))
        if names is not None and not table.names:
            warnings.warn("X does not have valid feature names, but %s was fitted with feature names" % type(self).__name__, stacklevel=4)
        if names is None and table.names:
            warnings.warn("X has feature names, but %s was fitted without feature names" % type(self).__name__, stacklevel=4)

    @staticmethod
    def _check_names(found, wanted):
        if found == wanted:
            return
        lines = ["The feature names should match those that were passed during fit."]
        unknown, absent = sorted(set(found) - set(wanted)), sorted(set(wanted) - set(found))
        if unknown:
            lines += ["Feature names unseen at fit time:"] + ["- " + name for name in unknown]
        if absent:
            lines += ["Feature names seen at fit time, yet now missing:"] + ["- " + name for name in absent]
        if not unknown and not absent:
            lines += ["Feature names must be in the same order as they were in fit."]
        raise ValueError("\n".join(lines) + "\n")

    def _opened(self):
        if self._folder.run is None:
            header = ",".join('"%s"' % name.replace('"', '""') for name in self._names)
            self._folder.run = _native.Run(self._folder.path, header, options=self._options(), quiet=not self.verbose)
        return self._folder.run

    def predict_proba(self, X):
        """The probabilities of both classes, a row each."""
        self._check_fitted()
        table = table_of(X)
        self._check_columns(table)
        p = np.frombuffer(self._opened().predict_columns(table.pairs(self._names)), np.float64)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        """The likelier class of each row."""
        p = self.predict_proba(X)[:, 1]
        return self.classes_[(p > 0.5).astype(int)]

    # ---- importances ----

    def _measure(self, options=(), **settings):
        """A row for each column, the most important one first. A column that the model does not use changes nothing."""
        config = os.path.join(self._folder.path, "config.yaml")
        found = _native.importance(
            config, self._options() + list(options), threads=self._threads() or 1, quiet=not self.verbose, **settings
        )["columns"]
        used = {row["column"] for row in found}
        found += [dict({e: (0.0, 0.0, 0.0) for e in _EFFECTS}, column=name) for name in self._names if name not in used]
        table = []
        for row in sorted(found, key=lambda row: -row["log_loss"][0]):
            table.append({"column": row["column"]})
            for effect in _EFFECTS:
                table[-1].update(zip((effect, effect + "_low", effect + "_high"), row[effect]))
        return table

    def importances(self, X, y, sample_weight=None, *, repeats=5):
        """What predictions of these rows lose when the values of one column are exchanged between rows: a dict for each column,
        the most important one first. log_loss rises by so much, auc falls; _low and _high are the 95 % interval."""
        self._check_fitted()
        table, y, w = self._rows_to_validate(X, y, sample_weight)
        weight, options = self._weight, []
        if weight is None and w is not None:
            weight = _free("weight", self._names)
            options = ["runner.weight_column=%s" % weight]
        with tempfile.TemporaryDirectory(prefix="skiff-rows-") as rows:
            data = os.path.join(rows, "rows.csv")
            self._write(data, table, y, weight, w)
            try:
                return self._measure(options, data=data, rows=table.rows, repeats=repeats, no_report=True)
            except ValueError as e:  # the file is nothing that the caller knows
                raise ValueError(str(e).replace(data, "X")) from None

    @property
    def feature_importances_(self):
        """By how much the log loss of the validation rows rises without each column. Computed when it is first read; the report
        then shows it, too."""
        self._check_fitted()
        if self._importances is None:
            if not os.path.isdir(os.path.join(self._folder.path, _VALID)):
                raise AttributeError(
                    "feature_importances_ needs rows for validation, and there are none: fit has had validation_fraction=None, or "
                    "this classifier was saved or pickled before feature_importances_ was read; importances(X, y) takes rows"
                )
            self._importances = self._measure()
            self._write_facts()
        by_name = {row["column"]: row["log_loss"] for row in self._importances}
        return np.array([by_name[name] for name in self._names])

    # ---- what a fitted classifier shows and keeps ----

    def plot(self):
        """The report of the training, as an object that a notebook shows."""
        self._check_fitted()
        return Plot.of(os.path.join(self._folder.path, "model", "report.html"))

    def _write_facts(self):
        facts = {
            "names": self._names,
            "named": hasattr(self, "feature_names_in_"),
            "label": self._label,
            "weight": self._weight,
            "class_weights": self._class_weights,
            "importances": self._importances,
            "classes": [c.item() if hasattr(c, "item") else c for c in self.classes_],
            "dtype": self.classes_.dtype.str,
            "params": {n: v for n, v in self.get_params(deep=False).items() if n != "class_weight" and _is_plain(v)},
            "class_weight": _pairs(self.class_weight),
            "fitted": {n: getattr(self, n) for n in ("history_", "best_epoch_", "n_iter_", "valid_score_")},
        }
        with open(os.path.join(self._folder.path, _FACTS), "w") as out:
            json.dump(facts, out, indent=1)

    def save(self, folder):
        """A folder that `skiff.load` and `skiff_run_open` open, and `skiff predict` (with its config.yaml)."""
        self._check_fitted()
        shutil.copytree(self._folder.path, folder, ignore=lambda at, names: [_VALID] if at == self._folder.path else [])

    @classmethod
    def load(cls, folder):
        """What `save` has written."""
        with open(os.path.join(folder, _FACTS)) as f:
            facts = json.load(f)
        given = facts["class_weight"]
        self = cls(class_weight=dict(given) if isinstance(given, list) else given, **facts["params"])
        self._folder = _Folder()
        shutil.copytree(folder, self._folder.path, dirs_exist_ok=True)
        self._names, self._label, self._weight = facts["names"], facts["label"], facts["weight"]
        self._class_weights, self._importances = facts["class_weights"], facts["importances"]
        self.n_features_in_ = len(self._names)
        if facts["named"]:
            self.feature_names_in_ = np.array(self._names, dtype=object)
        self.classes_ = np.array(facts["classes"], dtype=np.dtype(facts["dtype"]))
        for name, value in facts["fitted"].items():
            setattr(self, name, value)
        return self


def _pairs(weights):
    """JSON has keys of text alone."""
    if not hasattr(weights, "items"):
        return weights
    return [[c.item() if hasattr(c, "item") else c, float(w)] for c, w in weights.items()]


def _is_plain(value):
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True
