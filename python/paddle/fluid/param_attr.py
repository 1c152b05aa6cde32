"""fluid.ParamAttr: name, beginning, learning rate and decay of a parameter."""
from paddle import _names
from paddle.fluid.initializer import Initializer
from paddle.fluid.regularizer import WeightDecayRegularizer

__all__ = ["ParamAttr", "WeightNormParamAttr"]


def _check(value, name, kinds):
    if not isinstance(value, kinds):
        raise TypeError("The type of '%s' in ParamAttr must be %s, but received %s." % (name, kinds, type(value)))


class ParamAttr(object):
    """gradient_clip is the argument of 1.6; since 1.8 clipping belongs to the optimizer (grad_clip)."""

    def __init__(self, name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True,
                 do_model_average=True, gradient_clip=None):
        _check(name, "name", (str, type(None)))
        _check(learning_rate, "learning_rate", (float, int))
        _check(trainable, "trainable", bool)
        _check(do_model_average, "do_model_average", (bool, type(None)))
        _check(initializer, "initializer", (Initializer, type(None)))
        _check(regularizer, "regularizer", (WeightDecayRegularizer, type(None)))
        self.name = None if name == "" else name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average is not False
        self.gradient_clip = gradient_clip

    @staticmethod
    def _to_attr(arg):
        """A ParamAttr, a list of them, or False, of what layers take: None, str, Initializer, regularizer, bool."""
        if arg is None:
            return ParamAttr()
        if isinstance(arg, (list, tuple)):
            return [ParamAttr._to_attr(a) for a in arg]
        if isinstance(arg, ParamAttr):
            return arg
        if isinstance(arg, str):
            return ParamAttr(name=arg)
        if isinstance(arg, Initializer):
            return ParamAttr(initializer=arg)
        if isinstance(arg, WeightDecayRegularizer):
            return ParamAttr(regularizer=arg)
        if isinstance(arg, bool):
            return ParamAttr() if arg else False
        raise TypeError("{0} cast to ParamAttr".format(type(arg)))


class WeightNormParamAttr(ParamAttr):
    """The weight is v g / |v|: parameters <name>_v and <name>_g are trained. |v| is the norm over all dimensions, or over all
    but dim. At the start g is |v|."""

    _weight_norm = True

    def __init__(self, dim=None, name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True,
                 do_model_average=False):
        super(WeightNormParamAttr, self).__init__(name, initializer, learning_rate, regularizer, trainable, do_model_average)
        self.dim = dim


__getattr__ = _names.guard(__name__)
