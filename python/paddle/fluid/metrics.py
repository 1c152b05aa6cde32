"""fluid.metrics: figures over many batches, computed from fetched values."""
from paddle import _names

__all__ = ["MetricBase", "CompositeMetric", "Precision", "Recall", "Accuracy", "ChunkEvaluator", "EditDistance", "Auc"]


def _is_number(value):
    return isinstance(value, (int, float)) or _is_array(value) and value.size == 1


def _is_array(value):
    return hasattr(value, "dtype") and hasattr(value, "__array__")


class MetricBase(object):
    """Base of all. Attributes without a leading underscore are the state, which reset() sets to zero."""

    def __init__(self, name):
        self._name = str(name) if name is not None else self.__class__.__name__

    def __str__(self):
        return self._name

    def reset(self):
        for attr, value in list(self.__dict__.items()):
            if attr.startswith("_"):
                continue
            if isinstance(value, (int, float)):
                setattr(self, attr, type(value)(0))
            elif _is_array(value):
                value[...] = 0
            else:
                setattr(self, attr, None)

    def get_config(self):
        return {"name": self._name, "states": {attr: value for attr, value in self.__dict__.items()
                                               if not attr.startswith("_")}}

    def update(self, preds, labels):
        raise NotImplementedError("Should not use it directly, please extend it.")

    def eval(self):
        raise NotImplementedError("Should not use it directly, please extend it.")


class CompositeMetric(MetricBase):
    """Several metrics of the same values."""

    def __init__(self, name=None):
        MetricBase.__init__(self, name)
        self._metrics = []

    def add_metric(self, metric):
        if not isinstance(metric, MetricBase):
            raise ValueError("SubMetric should be inherit from MetricBase.")
        self._metrics.append(metric)

    def update(self, preds, labels):
        for metric in self._metrics:
            metric.update(preds, labels)

    def eval(self):
        return [metric.eval() for metric in self._metrics]

    def reset(self):
        for metric in self._metrics:
            metric.reset()


def _binary(preds, labels):
    import numpy
    if not _is_array(preds):
        raise ValueError("The 'preds' must be a numpy ndarray.")
    if not _is_array(labels):
        raise ValueError("The 'labels' must be a numpy ndarray.")
    return numpy.rint(preds).astype("int32").ravel(), labels.astype("int32").ravel()


class Precision(MetricBase):
    """True positives among all that were called positive."""

    def __init__(self, name=None):
        MetricBase.__init__(self, name)
        self.tp = self.fp = 0

    def update(self, preds, labels):
        preds, labels = _binary(preds, labels)
        self.tp += int(((preds == 1) & (labels == 1)).sum())
        self.fp += int(((preds == 1) & (labels != 1)).sum())

    def eval(self):
        called = self.tp + self.fp
        return float(self.tp) / called if called else 0.0


class Recall(MetricBase):
    """True positives among all positives."""

    def __init__(self, name=None):
        MetricBase.__init__(self, name)
        self.tp = self.fn = 0

    def update(self, preds, labels):
        preds, labels = _binary(preds, labels)
        self.tp += int(((labels == 1) & (preds == 1)).sum())
        self.fn += int(((labels == 1) & (preds != 1)).sum())

    def eval(self):
        positives = self.tp + self.fn
        return float(self.tp) / positives if positives else 0.0


class Accuracy(MetricBase):
    """Weighted mean of the accuracies of batches."""

    def __init__(self, name=None):
        MetricBase.__init__(self, name)
        self.value = self.weight = 0.0

    def update(self, value, weight):
        if not _is_number(value):
            raise ValueError("The 'value' must be a number(int, float) or a numpy ndarray.")
        if not _is_number(weight) or float(weight) < 0:
            raise ValueError("The 'weight' must be a number(int, float) that is not negative.")
        self.value += float(value) * float(weight)
        self.weight += float(weight)

    def eval(self):
        if self.weight == 0:
            raise ValueError("There is no data in Accuracy Metrics. Please check layers.accuracy output has added to Accuracy.")
        return self.value / self.weight


class ChunkEvaluator(MetricBase):
    """(precision, recall, F1) of chunks."""

    def __init__(self, name=None):
        MetricBase.__init__(self, name)
        self.num_infer_chunks = self.num_label_chunks = self.num_correct_chunks = 0

    def update(self, num_infer_chunks, num_label_chunks, num_correct_chunks):
        for value in (num_infer_chunks, num_label_chunks, num_correct_chunks):
            if not _is_number(value):
                raise ValueError("The numbers of chunks must be numbers(int, float) or a numpy ndarray.")
        self.num_infer_chunks += int(num_infer_chunks)
        self.num_label_chunks += int(num_label_chunks)
        self.num_correct_chunks += int(num_correct_chunks)

    def eval(self):
        correct = float(self.num_correct_chunks)
        precision = correct / self.num_infer_chunks if self.num_infer_chunks else 0.0
        recall = correct / self.num_label_chunks if self.num_label_chunks else 0.0
        f1 = 2.0 * precision * recall / (precision + recall) if correct else 0.0
        return precision, recall, f1


class EditDistance(MetricBase):
    """(mean distance, share of sequences that are wrong)"""

    def __init__(self, name):
        MetricBase.__init__(self, name)
        self.total_distance, self.seq_num, self.instance_error = 0.0, 0, 0

    def update(self, distances, seq_num):
        if not _is_array(distances):
            raise ValueError("The 'distances' must be a numpy ndarray.")
        if not _is_number(seq_num):
            raise ValueError("The 'seq_num' must be a number(int, float) or a numpy ndarray.")
        seq_num = int(seq_num)
        self.instance_error += seq_num - int((distances == 0).sum())
        self.seq_num += seq_num
        self.total_distance += float(distances.sum())

    def eval(self):
        if self.seq_num == 0:
            raise ValueError("There is no data in EditDistance Metric. Please check layers.edit_distance output has been added "
                             "to EditDistance.")
        return self.total_distance / self.seq_num, self.instance_error / float(self.seq_num)


class Auc(MetricBase):
    """Area under the ROC curve of all rows so far, from num_thresholds + 1 buckets."""

    def __init__(self, name, curve="ROC", num_thresholds=4095):
        import numpy
        MetricBase.__init__(self, name)
        self._curve = curve
        self._num_thresholds = num_thresholds
        self._stat_pos = numpy.zeros([num_thresholds + 1], "int64")
        self._stat_neg = numpy.zeros([num_thresholds + 1], "int64")

    def update(self, preds, labels):
        """preds: [n, 2] or [n, 1], the last column counts."""
        import numpy
        if not _is_array(labels):
            raise ValueError("The 'labels' must be a numpy ndarray.")
        if not _is_array(preds):
            raise ValueError("The 'predictions' must be a numpy ndarray.")
        from skiff import _native
        _native.auc_update(self._stat_pos, self._stat_neg, numpy.ascontiguousarray(preds, "float32"),
                           numpy.ascontiguousarray(labels, "int64"))

    def eval(self):
        from skiff import _native
        if not self._stat_pos.any() or not self._stat_neg.any():
            return 0.0
        return _native.auc_area(self._stat_pos, self._stat_neg)

    def reset(self):
        self._stat_pos[:] = 0
        self._stat_neg[:] = 0


__getattr__ = _names.guard(__name__)
