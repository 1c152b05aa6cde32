"""Values of variables and programs of 2.x in the scope: Variable.get_value and set_value, Program.state_dict."""
from paddle._op import _append, _create_var, net
from paddle.fluid.framework import Parameter, Program, Variable, _tensor_op


def _tensor(var, scope):
    from paddle.fluid.executor import global_scope
    found = (global_scope() if scope is None else scope).find_var(var.name)
    if found is None or not found.get_tensor()._is_initialized():
        raise ValueError("Can not find Variable '%s' in the Scope." % var.name)
    return found.get_tensor()


def get_value(self, scope=None):
    """The variable's tensor in the scope."""
    return _tensor(self, scope)


def set_value(self, value, scope=None):
    """Another value, of the same shape."""
    if not hasattr(value, "__array__"):
        raise TypeError("`value` should be `numpy.ndarray` or `LoDTensor`, but received %s." % type(value))
    import numpy
    value, tensor = numpy.asarray(value), _tensor(self, scope)
    if list(tensor.shape()) != list(value.shape):
        raise ValueError("%s expected a shape %s, but the received shape is %s." %
                         (self.name, list(tensor.shape()), list(value.shape)))
    tensor.set(value, None)


@_tensor_op
def size(self):
    """How many elements: a variable."""
    out = _create_var(net.block, net.name(self.name + "_size"), dtype="int64", persistable=False)
    _append(net.block, "size", {"Input": self}, {"Out": out})
    return out


def state_dict(self, mode="all", scope=None):
    """{name: tensor} of the parameters (param), of the optimizer (opt) or of both."""
    if not isinstance(mode, str):
        raise TypeError("Type of `mode` should be string, but received %s." % type(mode))
    if mode not in ("param", "opt", "all"):
        raise ValueError("`mode` string should be 'param', 'opt' or 'all', but received %s." % mode)
    from paddle.static.io import is_persistable
    wanted = {"param": (True,), "opt": (False,), "all": (True, False)}[mode]
    return {var.name: _tensor(var, scope) for var in self.list_vars()
            if is_persistable(var) and isinstance(var, Parameter) in wanted}


def set_state_dict(self, state_dict, scope=None):
    """Values for the program's variables; names that it does not have cause a warning."""
    known = {var.name: var for var in self.list_vars() if var.persistable}
    for name, value in state_dict.items():
        if name in known:
            set_value(known[name], value, scope)
        else:
            import warnings
            warnings.warn("Skip loading for '%s'. Because '%s' not in the program." % (name, name))


def install():
    """Puts the methods on Variable and Program; called once."""
    Variable.get_value, Variable.set_value, Variable.size = get_value, set_value, size
    Program.state_dict, Program.set_state_dict = state_dict, set_state_dict
