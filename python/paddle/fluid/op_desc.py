"""What Operator.desc gives."""
from paddle import _names


class OpDesc(object):
    """op.desc: the operator, with the calls that Paddle's description of it has."""

    def __init__(self, op):
        self._op = op

    def type(self):
        return self._op.type

    def input(self, name):
        return list(self._op.input(name))

    def output(self, name):
        return list(self._op.output(name))

    def input_names(self):
        return list(self._op.input_names)

    def output_names(self):
        return list(self._op.output_names)

    def input_arg_names(self):
        return list(self._op.input_arg_names)

    def output_arg_names(self):
        return list(self._op.output_arg_names)

    def inputs(self):
        return {name: self.input(name) for name in self.input_names()}

    def outputs(self):
        return {name: self.output(name) for name in self.output_names()}

    def attr(self, name, with_attr_var=False):
        return self._op.attr(name)

    def has_attr(self, name, with_attr_var=False):
        return self._op.has_attr(name)

    def attr_names(self, with_attr_var=False):
        return list(self._op.attr_names)

    def _set_attr(self, name, value):
        self._op.set_attr(name, value)

    def _rename_input(self, old_name, new_name):
        self._op.rename_input(old_name, new_name)

    def _rename_output(self, old_name, new_name):
        self._op.rename_output(old_name, new_name)

    def __eq__(self, other):
        return isinstance(other, OpDesc) and other._op is self._op

    def __hash__(self):
        return id(self._op)


__getattr__ = _names.guard(__name__)
