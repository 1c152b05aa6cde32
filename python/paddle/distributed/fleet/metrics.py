"""fleet.metrics: metrics over all workers, from variables of the scope, their names, or arrays."""
from paddle import _names


def _values(value, scope):
    import numpy
    from paddle.fluid.executor import global_scope
    from paddle.fluid.framework import Variable
    if isinstance(value, (Variable, str)):
        name = value if isinstance(value, str) else value.name
        found = (global_scope() if scope is None else scope).find_var(name)
        if found is None:
            raise ValueError("fleet.metrics: no variable %s in the scope" % name)
        value = found.get_tensor().numpy()
    return numpy.asarray(value)


def _over_all(value, mode, scope, util):
    if util is None:
        from paddle.distributed.fleet._fleet import util
    return util.all_reduce(_values(value, scope), mode)


def sum(input, scope=None, util=None):
    return _over_all(input, "sum", scope, util)


def max(input, scope=None, util=None):
    return _over_all(input, "max", scope, util)


def min(input, scope=None, util=None):
    return _over_all(input, "min", scope, util)


def auc(stat_pos, stat_neg, scope=None, util=None):
    """Area under the ROC curve of the counts of all workers; 0.5 when one class is missing."""
    import numpy
    from skiff import _native
    pos = numpy.ascontiguousarray(sum(stat_pos, scope, util).ravel(), "float64")
    neg = numpy.ascontiguousarray(sum(stat_neg, scope, util).ravel(), "float64")
    if pos.sum() * neg.sum() == 0:
        return 0.5
    return _native.auc_area(pos, neg)


def acc(correct, total, scope=None, util=None):
    """correct / total"""
    return float(sum(correct, scope, util).ravel()[0]) / float(sum(total, scope, util).ravel()[0])


def mae(abserr, total_ins_num, scope=None, util=None):
    """Mean absolute error."""
    return float(sum(abserr, scope, util).ravel()[0]) / float(sum(total_ins_num, scope, util).ravel()[0])


def mse(sqrerr, total_ins_num, scope=None, util=None):
    """Mean squared error."""
    return float(sum(sqrerr, scope, util).ravel()[0]) / float(sum(total_ins_num, scope, util).ravel()[0])


def rmse(sqrerr, total_ins_num, scope=None, util=None):
    """Its square root."""
    import math
    return math.sqrt(mse(sqrerr, total_ins_num, scope, util))


__getattr__ = _names.guard(__name__)
