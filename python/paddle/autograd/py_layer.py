"""Functions whose gradient the script writes itself."""
import weakref

from skiff import _native

from paddle._tensor import Tensor

_hooks = []


class saved_tensors_hooks(object):
    """with saved_tensors_hooks(pack, unpack): what ops and PyLayers save goes through pack, and through unpack on its way
    back."""

    def __init__(self, pack_hook, unpack_hook):
        self._pair, self._before = (pack_hook, unpack_hook), []

    def __enter__(self):
        self._before.append(_native.eager_set_pack(self._pair))
        _hooks.append(self._pair)

    def __exit__(self, *_):
        _native.eager_set_pack(self._before.pop())
        _hooks.pop()


class PyLayerContext(object):
    """What forward leaves for backward."""

    def __init__(self):
        self._saved, self._unpack = (), None
        self._outputs = {}
        self._whole, self._not_differentiable, self._materialize = False, (), True

    def save_for_backward(self, *tensors):
        """Tensors that backward needs."""
        if _hooks:
            pack, self._unpack = _hooks[-1]
            tensors = tuple(pack(t) if isinstance(t, Tensor) else t for t in tensors)
        self._saved = tensors

    def saved_tensor(self):
        """What was saved."""
        if self._outputs and _native.eager_noting():
            return tuple(self._with_note(i, t) for i, t in enumerate(self._saved))
        return self._saved if self._unpack is None else tuple(self._unpack(t) for t in self._saved)

    def _let_go(self, outputs):
        """A saved output would hold the tape node that holds the saved tensors: keeps its value and a weak reference to it."""
        made = {id(t) for t in outputs}
        self._outputs = {i: weakref.ref(t) for i, t in enumerate(self._saved) if id(t) in made}
        self._saved = tuple(t._detach() if i in self._outputs else t for i, t in enumerate(self._saved))

    def _with_note(self, i, tensor):
        """For derivatives of second order: the output itself."""
        if i not in self._outputs:
            return tensor
        output = self._outputs[i]()
        if output is None:
            raise RuntimeError("a derivative of second order through a PyLayer that has saved its output: that output is gone; "
                               "keep it in a variable, or save inputs instead")
        return output

    @property
    def saved_tensors(self):
        return self.saved_tensor()

    def mark_not_inplace(self, *args):
        """Outputs that are inputs are not meant as changed in place."""
        self._whole = True

    def mark_non_differentiable(self, *args):
        """Outputs without a gradient."""
        self._not_differentiable = args

    def set_materialize_grads(self, value):
        """False: gradients that have not come are None in backward, not zeros."""
        self._materialize = bool(value)


def _plain(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


class _Backward(object):
    """The backward step of one call: gradients of the outputs in, of the inputs out."""

    __slots__ = ("layer", "context", "count", "wanted", "shapes", "places")

    def __init__(self, layer, context, inputs, outputs, noted):
        self.layer, self.context, self.count = layer, context, len(inputs)
        self.wanted = [not t.stop_gradient for t in inputs]
        self.shapes = [(t.shape, t.dtype) for t in outputs]
        self.places = [any(t is n for n in noted) for t in outputs]

    def __call__(self, grads):
        come = iter(grads)
        grads = [next(come) if noted else None for noted in self.places]  # backward has an argument for every output
        if self.context._materialize:
            from paddle.tensor.creation import zeros
            grads = [zeros(*about) if g is None else g for g, about in zip(grads, self.shapes)]
        found = _plain(self.layer.backward(self.context, *grads))
        name = self.layer.__name__
        if len(found) == sum(self.wanted) and len(found) != self.count:
            rest = iter(found)
            found = [next(rest) if wanted else None for wanted in self.wanted]
        if len(found) != self.count:
            raise ValueError("%s.backward gave %d gradients, but %s.forward was given %d tensors" %
                             (name, len(found), name, self.count))
        for i, (g, wanted) in enumerate(zip(found, self.wanted)):
            if g is not None and not isinstance(g, Tensor):
                raise ValueError("%s.backward must give Tensors or None, but gradient %d is %s" % (name, i, type(g)))
            if g is None and wanted and self.context._materialize is None:
                raise ValueError("%s.backward gave None for input %d, which wants a gradient" % (name, i))
        return found


class PyLayer(object):
    """A function with a custom gradient: forward(ctx, ...) and backward(ctx, *gradients), both static."""

    @staticmethod
    def forward(ctx, *args, **kwargs):
        raise NotImplementedError("You must implement the forward function for PyLayer.")

    @staticmethod
    def backward(ctx, *args):
        raise NotImplementedError("You must implement the backward function for PyLayer.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """What forward gives, with backward behind it."""
        context = PyLayerContext()
        inputs = [value for arg in list(args) + list(kwargs.values())
                  for value in (arg if isinstance(arg, (list, tuple)) else (arg,)) if isinstance(value, Tensor)]
        before = _native.eager_set_noting(False)
        try:
            result = cls.forward(context, *args, **kwargs)
        finally:
            _native.eager_set_noting(before)
        many = isinstance(result, (list, tuple))
        outputs = list(result) if many else [result]
        if not before or all(t.stop_gradient for t in inputs):
            return result
        taken = {id(t) for t in inputs}
        outputs = [t._detach() if isinstance(t, Tensor) and id(t) in taken else t for t in outputs]
        without = {id(t) for t in context._not_differentiable}
        context._let_go(outputs)
        noted = [t for t in outputs if isinstance(t, Tensor) and id(t) not in without]
        if noted:
            _native.eager_add_node(inputs, noted, _Backward(cls, context, inputs, [t for t in outputs if isinstance(t, Tensor)],
                                                          noted))
        return type(result)(outputs) if many else outputs[0]


EagerPyLayer = LegacyPyLayer = PyLayer
