"""Gradient clipping: given to optimizers as grad_clip, or called with a list of (parameter, gradient) pairs."""
from paddle import _names
from paddle._op import one
from paddle.fluid.clip import ErrorClipByValue  # noqa: F401


def _is_rows(grad):
    kind = getattr(grad, "_kind", None)
    return kind == "rows" if kind is not None else getattr(grad, "type", None) is not None and "SELECTED_ROWS" in str(grad.type)


def _dense(grad):
    """The rows of a sparse gradient, each once, as a tensor; a dense one as it is."""
    if not _is_rows(grad):
        return grad
    merged = one("merge_selected_rows", "merge_selected_rows", {"X": grad})
    return one("get_tensor_from_selected_rows", "get_tensor_from_selected_rows", {"X": merged})


def clip_by_norm(x, max_norm, name=None):
    """x scaled down so that its norm is at most max_norm."""
    return one("clip_by_norm", "clip_by_norm", {"X": x}, {"max_norm": float(max_norm)}, name)


def merge_selected_rows(x, name=None):
    """Rows of the same number added."""
    return one("merge_selected_rows", "merge_selected_rows", {"X": x}, name=name)


def get_tensor_from_selected_rows(x, name=None):
    """The rows as a tensor."""
    return one("get_tensor_from_selected_rows", "get_tensor_from_selected_rows", {"X": x}, name=name)


class ClipGradBase(object):
    """Base of the clips."""

    _spec = None

    def __call__(self, params_grads):
        """The pairs with clipped gradients, without those that have no gradient; need_clip=False: as it came."""
        from paddle.framework import no_grad
        pairs = [(p, g) for p, g in params_grads if g is not None]
        with no_grad():
            chosen = [i for i, (p, _) in enumerate(pairs) if getattr(p, "need_clip", True)]
            if not chosen and self._needs_some:
                return params_grads
            clipped = dict(zip(chosen, self._clip([pairs[i][1] for i in chosen])))
        return [(p, clipped.get(i, g)) for i, (p, g) in enumerate(pairs)]

    #: with nothing to clip, the list is given back as it came
    _needs_some = False

    def _clip(self, grads):
        raise NotImplementedError("%s does not clip" % type(self).__name__)


class ClipGradByValue(ClipGradBase):
    """Every element between min (default -max) and max."""

    def __init__(self, max, min=None):
        self.max = float(max)
        self.min = -self.max if min is None else float(min)
        self._spec = ("value", {"max": self.max, "min": self.min})

    def __str__(self):
        return "Clip Gradient By Value, min = %f, max=%f" % (self.min, self.max)

    def _clip(self, grads):
        return [one("clip", "clip", {"X": g}, {"min": self.min, "max": self.max}) for g in grads]


class ClipGradByNorm(ClipGradBase):
    """Every gradient scaled to a norm of at most clip_norm."""

    def __init__(self, clip_norm):
        self.clip_norm = float(clip_norm)
        self._spec = ("norm", {"clip_norm": self.clip_norm})

    def __str__(self):
        return "Gradient Clip By Norm, clip_norm=%f" % self.clip_norm

    def _clip(self, grads):
        return [one("clip_by_norm", "clip_by_norm", {"X": g}, {"max_norm": self.clip_norm}) for g in grads]


class ClipGradByGlobalNorm(ClipGradBase):
    """All gradients scaled together so that their common norm is at most clip_norm."""

    _needs_some = True

    def __init__(self, clip_norm, group_name="default_group", auto_skip_clip=False):
        self.clip_norm, self.group_name, self.auto_skip_clip = float(clip_norm), group_name, auto_skip_clip
        self._spec = ("global_norm", {"clip_norm": self.clip_norm, "group_name": group_name,
                                      "need_clip": lambda var: getattr(var, "need_clip", True)})

    def __str__(self):
        return "Gradient Clip By GlobalNorm, global_norm=%f" % self.clip_norm

    def _clip(self, grads):
        import paddle
        squares = [paddle.sum(paddle.square(_dense(g))) for g in grads]
        norm = paddle.sqrt(paddle.add_n(squares))
        limit = paddle.full([], self.clip_norm, "float32")
        factor = paddle.divide(limit, paddle.maximum(norm, limit))
        return [one("elementwise_mul", "elementwise_mul", {"X": g, "Y": factor}, {"axis": -1}) for g in grads]


GradientClipBase = ClipGradBase
__getattr__ = _names.guard(__name__)
