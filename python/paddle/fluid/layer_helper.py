"""fluid.layer_helper.LayerHelper: for layers made of operators by hand, with the names that Fluid gives."""
from skiff import _native

from paddle import _names
from paddle.fluid import framework, unique_name
from paddle.fluid._build import net
from paddle.fluid.param_attr import ParamAttr


class LayerHelper(object):
    """LayerHelper("my_layer", **locals()): reads name, act, param_attr, bias_attr, dtype, input from the keywords."""

    def __init__(self, layer_type, **kwargs):
        self.kwargs = kwargs
        self.layer_type = layer_type
        self.name = kwargs.get("name") or unique_name.generate(layer_type)

    @property
    def main_program(self):
        return framework.default_main_program()

    @property
    def startup_program(self):
        return framework.default_startup_program()

    @property
    def param_attr(self):
        return ParamAttr._to_attr(self.kwargs.get("param_attr"))

    @property
    def bias_attr(self):
        return ParamAttr._to_attr(self.kwargs.get("bias_attr"))

    def append_op(self, *args, **kwargs):
        return self.main_program.current_block().append_op(*args, **kwargs)

    def multiple_input(self, input_param_name="input"):
        inputs = self.kwargs.get(input_param_name, [])
        return [inputs] if isinstance(inputs, framework.Variable) else list(inputs)

    def input(self, input_param_name="input"):
        inputs = self.multiple_input(input_param_name)
        if len(inputs) != 1:
            raise ValueError("{0} layer only takes one input".format(self.layer_type))
        return inputs[0]

    def multiple_param_attr(self, length):
        attr = self.param_attr
        attrs = attr if isinstance(attr, list) else [attr]
        if len(attrs) not in (1, length):
            raise ValueError("parameter number mismatch")
        return attrs * (length if len(attrs) == 1 else 1)

    def iter_inputs_and_params(self, input_param_name="input"):
        inputs = self.multiple_input(input_param_name)
        return zip(inputs, self.multiple_param_attr(len(inputs)))

    def input_dtype(self, input_param_name="input"):
        dtypes = {int(var.dtype): var.dtype for var in self.multiple_input(input_param_name)}
        if len(dtypes) > 1:
            raise ValueError("Data Type mismatch: %s" % sorted(map(str, dtypes.values())))
        return next(iter(dtypes.values()), None)

    def create_parameter(self, attr, shape, dtype=None, is_bias=False, default_initializer=None, stop_gradient=False,
                         type=None):
        """A parameter of the main program and what fills it in the startup program; None when attr is False."""
        attr = ParamAttr._to_attr(attr)
        if attr is False:
            return None
        name = attr.name or unique_name.generate(".".join([self.name, "b" if is_bias else "w"]))
        named = ParamAttr(name, attr.initializer, attr.learning_rate, attr.regularizer, attr.trainable,
                          attr.do_model_average, attr.gradient_clip)
        param = _native.layers.create_parameter(
            net, [int(d) for d in shape], dtype=framework.dtype_name(dtype) or "float32", name=name, attr=named,
            is_bias=bool(is_bias), default_initializer=default_initializer)
        if stop_gradient:
            param.stop_gradient = True
        return param

    def get_parameter(self, name):
        param = self.main_program.global_block().var(name)
        if not isinstance(param, framework.Parameter):
            raise ValueError("no Parameter name %s found" % name)
        return param

    def create_variable_for_type_inference(self, dtype, stop_gradient=False, shape=None):
        return self.main_program.current_block().create_var(
            name=unique_name.generate(".".join([self.name, "tmp"])), dtype=dtype, shape=shape,
            persistable=False, stop_gradient=stop_gradient)

    create_tmp_variable = create_variable_for_type_inference

    def create_variable(self, *args, **kwargs):
        return self.main_program.current_block().create_var(*args, **kwargs)

    def create_global_variable(self, persistable=False, *args, **kwargs):
        return self.main_program.global_block().create_var(*args, persistable=persistable, **kwargs)

    def create_or_get_global_variable(self, name, *args, **kwargs):
        if self.main_program.global_block().has_var(name):
            return self.main_program.global_block().var(name), False
        return self.create_global_variable(name=name, *args, **kwargs), True

    def set_variable_initializer(self, var, initializer):
        """The variable in the startup program too, with what fills it."""
        net.init_var(var, initializer)
        return var

    def append_bias_op(self, input_var, dim_start=1, dim_end=None):
        """input + a bias of the input's dimensions dim_start to dim_end; the input when bias_attr is False."""
        attr = self.bias_attr
        if not attr:
            return input_var
        bias = self.create_parameter(attr, list(input_var.shape[dim_start:dim_end]), input_var.dtype, is_bias=True)
        out = self.create_variable_for_type_inference(dtype=input_var.dtype)
        self.append_op(type="elementwise_add", inputs={"X": [input_var], "Y": [bias]}, outputs={"Out": [out]},
                       attrs={"axis": dim_start})
        return out

    def append_activation(self, input_var):
        """The activation named by `act`: a str, or a dictionary with "type" and its attributes."""
        act = self.kwargs.get("act")
        if act is None:
            return input_var
        if isinstance(act, str):
            act = {"type": act}
        elif not isinstance(act, dict):
            raise TypeError(str(act) + " should be unicode or str")
        act = dict(act)
        kind = act.pop("type")
        out = self.create_variable_for_type_inference(dtype=input_var.dtype)
        self.append_op(type=kind, inputs={"X": [input_var]}, outputs={"Out": [out]}, attrs=act)
        return out

    def is_instance(self, param_name, cls):
        if not isinstance(self.kwargs.get(param_name), cls):
            raise TypeError("The input {0} parameter of method {1} must be {2}".format(
                param_name, self.layer_type, cls.__name__))


def simple_op(kind, inputs, attrs=None, dtype=None, name=None, out=None, slot="Out", helper=None, layer=None,
              stop_gradient=False):
    """One operator with one result: a new variable of the dtype (None: that of the first input), or `out`."""
    helper = helper or LayerHelper(layer or kind, name=name)
    if out is None:
        first = next(iter(inputs.values()), None)
        first = first[0] if isinstance(first, (list, tuple)) else first
        out = helper.create_variable_for_type_inference(
            dtype=dtype if dtype is not None else first.dtype, stop_gradient=stop_gradient)
    helper.append_op(type=kind, inputs=inputs, outputs={slot: [out]}, attrs=attrs or {})
    return out


def check_variable(value, name, layer, several=False):
    """TypeError, as Fluid's layers raise it, when it is no Variable (several: or a list of them)."""
    values = value if several and isinstance(value, (list, tuple)) else [value]
    for item in values:
        if not isinstance(item, framework.Variable):
            raise TypeError("The type of '%s' in %s must be %s, but received %s." %
                            (name, layer, "Variable or list of Variable" if several else "Variable", type(item)))


def check_dtype(value, name, layer, allowed):
    """TypeError when the variable's data type is none of the allowed names."""
    check_variable(value, name, layer)
    have = framework.dtype_name(value.dtype)
    if have is not None and have not in allowed:
        raise TypeError("The data type of '%s' in %s must be %s, but received %s." %
                        (name, layer, ", ".join(allowed), have))


__getattr__ = _names.guard(__name__)
