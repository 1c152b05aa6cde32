"""paddle.metric: metrics that are kept between runs, from fetched values."""
from skiff import _native

from paddle import _names


class Metric(object):
    """Base of the metrics."""

    def reset(self):
        raise NotImplementedError("function 'reset' not implemented in %s." % type(self).__name__)

    def update(self, *args):
        raise NotImplementedError("function 'update' not implemented in %s." % type(self).__name__)

    def accumulate(self):
        raise NotImplementedError("function 'accumulate' not implemented in %s." % type(self).__name__)

    def name(self):
        raise NotImplementedError("function 'name' not implemented in %s." % type(self).__name__)

    def compute(self, *args):
        return args


def _array(value):
    import numpy
    return numpy.asarray(value)


class Auc(Metric):
    """Area under the ROC curve of everything seen."""

    def __init__(self, curve="ROC", num_thresholds=4095, name="auc", *args, **kwargs):
        import numpy
        self._curve, self._num_thresholds, self._name = curve, num_thresholds, name
        self._stat_pos = numpy.zeros(num_thresholds + 1, "int64")
        self._stat_neg = numpy.zeros(num_thresholds + 1, "int64")

    def update(self, preds, labels):
        """preds [n, 2] (the second column counts) or [n, 1], labels [n, 1]."""
        import numpy
        _native.auc_update(self._stat_pos, self._stat_neg, numpy.ascontiguousarray(_array(preds), "float32"),
                           numpy.ascontiguousarray(_array(labels).reshape(-1), "int64"))

    def accumulate(self):
        return _native.auc_area(self._stat_pos, self._stat_neg)

    def reset(self):
        self._stat_pos[:] = 0
        self._stat_neg[:] = 0

    def name(self):
        return self._name


class Accuracy(Metric):
    """The share of rows whose label is among the topk largest."""

    def __init__(self, topk=(1,), name=None, *args, **kwargs):
        self.topk = topk if isinstance(topk, (list, tuple)) else (topk,)
        self.maxk = max(self.topk)
        base = name or "acc"
        self._name = [base] if self.maxk == 1 else ["%s_top%d" % (base, k) for k in self.topk]
        self.reset()

    def compute(self, pred, label, *args):
        """[rows, maxk]: which of the best is right. Tensors (or variables of a program) give such; arrays an array."""
        from paddle._op import Value
        if isinstance(pred, Value):
            return self._compute(pred, label)
        import numpy
        pred, label = _array(pred), _array(label)
        best = numpy.argsort(-pred, axis=-1, kind="stable")[..., :self.maxk]
        if label.ndim > 1 and label.shape[-1] != 1:
            label = numpy.argmax(label, axis=-1)
        return (best == label.reshape(-1, 1)).astype("float32")

    def _compute(self, pred, label):
        import paddle
        best = paddle.argsort(pred, descending=True)
        best = paddle.slice(best, axes=[len(pred.shape) - 1], starts=[0], ends=[self.maxk])
        if len(label.shape) == 1 or (len(label.shape) == 2 and label.shape[-1] == 1):
            label = paddle.reshape(label, [-1, 1])
        elif label.shape[-1] != 1:
            label = paddle.argmax(label, axis=-1, keepdim=True)
        return paddle.cast(paddle.equal(best, paddle.cast(label, "int64")), "float32")

    def update(self, correct, *args):
        import numpy
        correct = _array(correct)
        rows = numpy.prod(numpy.array(correct.shape[:-1]))
        accs = []
        for i, k in enumerate(self.topk):
            hits = correct[..., :k].sum()
            accs.append(float(hits) / rows)
            self.total[i] += hits
            self.count[i] += rows
        return accs[0] if len(self.topk) == 1 else accs

    def reset(self):
        self.total, self.count = [0.0] * len(self.topk), [0] * len(self.topk)

    def accumulate(self):
        out = [float(t) / c if c else 0.0 for t, c in zip(self.total, self.count)]
        return out[0] if len(self.topk) == 1 else out

    def name(self):
        return self._name


class _Counted(Metric):
    def __init__(self, name, *args, **kwargs):
        self._name = name
        self.reset()

    def name(self):
        return self._name


class Precision(_Counted):
    """Of those predicted (they round to 1, a half upwards), the share that is."""

    def __init__(self, name="precision", *args, **kwargs):
        super(Precision, self).__init__(name)

    def reset(self):
        self.tp = self.fp = 0

    def update(self, preds, labels):
        import numpy
        chosen, labels = numpy.floor(_array(preds) + 0.5).reshape(-1) == 1, _array(labels).reshape(-1)
        self.tp += int((chosen & (labels == 1)).sum())
        self.fp += int((chosen & (labels != 1)).sum())

    def accumulate(self):
        return float(self.tp) / (self.tp + self.fp) if self.tp + self.fp else 0.0


class Recall(_Counted):
    """Of those that are, the share predicted (rounds to 1, a half to the even number)."""

    def __init__(self, name="recall", *args, **kwargs):
        super(Recall, self).__init__(name)

    def reset(self):
        self.tp = self.fn = 0

    def update(self, preds, labels):
        import numpy
        chosen, labels = numpy.rint(_array(preds)).reshape(-1) == 1, _array(labels).reshape(-1)
        self.tp += int((chosen & (labels == 1)).sum())
        self.fn += int((~chosen & (labels == 1)).sum())

    def accumulate(self):
        return float(self.tp) / (self.tp + self.fn) if self.tp + self.fn else 0.0


def accuracy(input, label, k=1, correct=None, total=None, name=None):
    """The share of rows whose label is among the k largest of input, in a program."""
    from paddle._op import Call, need
    from paddle.tensor.search import topk
    need(input, "input", "accuracy")
    need(label, "label", "accuracy")
    call = Call("accuracy", name)
    values, ids = topk(input, k)
    out = call.var("float32")
    correct = call.var("int32") if correct is None else correct
    total = call.var("int32") if total is None else total
    call.op("accuracy", {"Out": values, "Indices": ids, "Label": label},
            {"Accuracy": out, "Correct": correct, "Total": total})
    return out


__getattr__ = _names.guard(__name__)
