"""Layer: what parameters, other layers and buffers belong to."""
import re
import warnings
from collections import OrderedDict

from paddle import _names
from paddle._mode import mode
from paddle._op import Call, net
from paddle._tensor import Parameter as EagerParameter
from paddle._tensor import Tensor
from paddle.fluid import core
from paddle.fluid.framework import Parameter as StaticParameter
from paddle.fluid.framework import Variable, dtype_name

Parameter = (StaticParameter, EagerParameter)


def snake(name):
    """LayerNorm -> layer_norm, PReLU -> p_re_lu"""
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)).lower()


class HookRemoveHelper(object):
    """What registering a hook gives: remove() takes it out."""

    next_hook_id = 0

    def __init__(self, hooks):
        self._hooks, self._hook_id = hooks, HookRemoveHelper.next_hook_id
        HookRemoveHelper.next_hook_id += 1

    def remove(self):
        self._hooks.pop(self._hook_id, None)


def _register(hooks, hook):
    handle = HookRemoveHelper(hooks)
    hooks[handle._hook_id] = hook
    return handle


def _check_name(layer, kind, name, group):
    if group not in layer.__dict__:
        raise RuntimeError("super().__init__() should be called firstly.")
    if not isinstance(name, str):
        raise TypeError("The name of %s should be a string, but received %s." % (kind, type(name).__name__))
    if "." in name:
        raise KeyError("The name of %s can not contain `.`, because it is what attributes of attributes are written with: %s"
                       % (kind, name))
    if name == "":
        raise KeyError("The name of %s can not be empty." % kind)
    if hasattr(layer, name) and name not in layer.__dict__[group]:
        raise KeyError("The %s '%s' already exists." % (kind, name))


class _Helper(object):
    """Calls ops for layers of user code: self._helper."""

    def __init__(self, name):
        self.name = name

    def create_variable_for_type_inference(self, dtype=None, stop_gradient=False):
        return Call(self.name, self.name).var(dtype and dtype_name(dtype), stop_gradient)

    @staticmethod
    def append_op(type=None, inputs=None, outputs=None, attrs=None, stop_gradient=None):
        Call.op(type, inputs or {}, outputs or {}, attrs)

    def append_activation(self, input_var, act=None, use_cudnn=None):
        return input_var if act is None else Call(act, self.name).one(act, {"X": input_var})

    def get_default_dtype(self):
        from paddle.framework import get_default_dtype
        return get_default_dtype()

    @property
    def main_program(self):
        return net.main

    @property
    def startup_program(self):
        return net.startup


class Layer(object):
    """Base of all layers: parameters, layers and tensors that are set as attributes belong to it."""

    training = True

    def __init__(self, name_scope=None, dtype="float32"):
        fields = self.__dict__
        fields["training"] = True
        fields["_full_name"] = net.name(name_scope or snake(type(self).__name__))
        fields["_dtype"] = dtype
        fields["_parameters"] = OrderedDict()
        fields["_buffers"] = OrderedDict()
        fields["_non_persistable_buffer_names_set"] = set()
        fields["_sub_layers"] = OrderedDict()
        fields["_forward_pre_hooks"] = OrderedDict()
        fields["_forward_post_hooks"] = OrderedDict()
        fields["_state_dict_hooks"] = OrderedDict()

    # ---- calling ----

    def forward(self, *inputs, **kwargs):
        raise NotImplementedError("%s has no forward" % type(self).__name__)

    def backward(self, *inputs):
        raise ValueError("Layer shouldn't implement backward")

    def __call__(self, *inputs, **kwargs):
        if mode.trace is not None:
            return self._traced_call(inputs, kwargs)
        if not self._forward_pre_hooks and not self._forward_post_hooks:
            return self.forward(*inputs, **kwargs)
        return self._hooked_call(self.forward, inputs, kwargs)

    def _traced_call(self, inputs, kwargs):
        """While a function becomes a program, forward is rewritten as the function is (paddle.jit.rewrite)."""
        from paddle.jit.translate import translated
        return self._hooked_call(translated(self.forward), inputs, kwargs)

    def _hooked_call(self, forward, inputs, kwargs):
        for hook in list(self._forward_pre_hooks.values()):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        out = forward(*inputs, **kwargs)
        for hook in list(self._forward_post_hooks.values()):
            changed = hook(self, inputs, out)
            out = out if changed is None else changed
        return out

    def register_forward_pre_hook(self, hook):
        """hook(layer, inputs) before forward; what it returns takes the place of the inputs."""
        return _register(self._forward_pre_hooks, hook)

    def register_forward_post_hook(self, hook):
        """hook(layer, inputs, output) after forward; what it returns takes the place of the output."""
        return _register(self._forward_post_hooks, hook)

    def register_state_dict_hook(self, hook):
        """hook(state_dict) when it has been made."""
        return _register(self._state_dict_hooks, hook)

    def train(self):
        """Dropout and normalization as in training, from the next call on."""
        self.training = True
        for layer in self.sublayers():
            layer.training = True

    def eval(self):
        """Dropout and normalization as in inference, from the next call on."""
        self.training = False
        for layer in self.sublayers():
            layer.training = False

    def apply(self, fn):
        """fn(layer) for every layer, this one last."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    def full_name(self):
        return self._full_name

    @property
    def _helper(self):
        return _Helper(self._full_name)

    # ---- what belongs to it ----

    def create_parameter(self, shape, attr=None, dtype=None, is_bias=False, default_initializer=None):
        """A parameter named after the layer; attr False: none."""
        from paddle.framework import get_default_dtype, make_parameter, to_attr
        attr = to_attr(None if attr == "" else attr)
        if attr is False:
            return None
        return make_parameter(self._full_name, attr, shape, dtype or get_default_dtype(), is_bias, default_initializer)

    def create_variable(self, name=None, persistable=None, dtype=None):
        """A variable without a value."""
        name = self._full_name + "." + name if name else net.name(self._full_name + "._generated_var")
        if mode.eager:
            out = Tensor()
            out.name, out.persistable = name, bool(persistable)
            return out
        from paddle.tensor.creation import create_tensor
        return create_tensor(dtype or self._dtype, name, bool(persistable))

    create_tensor = create_variable

    def add_parameter(self, name, parameter):
        """parameter under the name; None: no parameter."""
        _check_name(self, "parameter", name, "_parameters")
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError("The parameter to be added should be a Parameter, but received %s." % type(parameter).__name__)
        self._parameters[name] = parameter
        return parameter

    def add_sublayer(self, name, sublayer):
        if not isinstance(sublayer, Layer) and sublayer is not None:
            raise AssertionError("the sublayer must be a Layer, but received %s" % type(sublayer))
        self._sub_layers[name] = sublayer
        return sublayer

    def register_buffer(self, name, tensor, persistable=True):
        """A tensor that is saved with the layer (if persistable) and not trained."""
        _check_name(self, "buffer", name, "_buffers")
        if tensor is not None and (isinstance(tensor, Parameter) or not isinstance(tensor, (Tensor, Variable))):
            raise TypeError("The registered buffer should be a Paddle.Tensor, but received %s." % type(tensor).__name__)
        self._buffers[name] = tensor
        if persistable:
            self._non_persistable_buffer_names_set.discard(name)
        else:
            self._non_persistable_buffer_names_set.add(name)

    def _take(self, group, name, value):
        """value belongs to the group from now on, and to no other."""
        if isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
        fields = self.__dict__
        if group not in fields:
            raise ValueError("super().__init__() should be called first")
        fields.pop(name, None)
        for other in ("_parameters", "_sub_layers", "_buffers"):
            if other != group:
                fields[other].pop(name, None)
        if group == "_buffers" and name not in fields[group]:
            fields["_non_persistable_buffer_names_set"].add(name)
        fields[group][name] = value

    def __setattr__(self, name, value):
        fields = self.__dict__
        if isinstance(value, Parameter):
            return self._take("_parameters", name, value)
        if isinstance(value, Layer) and name not in fields.get("_parameters", ()):
            return self._take("_sub_layers", name, value)
        for group, kind, wanted in (("_parameters", "parameter", "Parameter"), ("_sub_layers", "sublayer", "Layer")):
            if name in fields.get(group, ()):
                if value is not None:
                    raise TypeError("assignment to %s '%s' should be of type %s or None, but got '%s'" %
                                    (kind, name, wanted, type(value).__name__))
                fields[group][name] = None
                return None
        if isinstance(value, Tensor):
            return self._take("_buffers", name, value)
        if name in fields.get("_buffers", ()):
            return self._set_buffer(name, value)
        return object.__setattr__(self, name, value)

    def _set_buffer(self, name, value):
        """A buffer gets a variable of a program, or nothing."""
        if isinstance(value, Variable):
            from paddle.tensor.creation import assign
            before = self._buffers[name]
            self._buffers[name] = assign(value, before if isinstance(before, Variable) else None)
        elif value is None:
            self._buffers[name] = None
        else:
            raise TypeError("assignment to buffers '%s' should be of type core.Tensor or None, but got '%s'" %
                            (name, type(value).__name__))

    def __getattr__(self, name):
        fields = self.__dict__
        if "_parameters" in fields:
            for group in (fields["_parameters"], fields["_sub_layers"], fields["_buffers"]):
                if name in group:
                    return group[name]
        raise AttributeError("'%s' object has no attribute '%s'" % (type(self).__name__, name))

    def _own(self, name):
        """The attribute; parameters are found without the detour that attributes take."""
        value = self._parameters.get(name)
        return getattr(self, name) if value is None else value

    def __delattr__(self, name):
        for group in (self._parameters, self._sub_layers, self._buffers):
            if name in group:
                del group[name]
                self._non_persistable_buffer_names_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return dir(type(self)) + list(self.__dict__) + list(self._parameters) + list(self._sub_layers) + list(self._buffers)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__.update(state)

    # ---- walking ----

    def named_children(self):
        seen = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and layer not in seen:
                seen.add(layer)
                yield name, layer

    def children(self):
        for _, layer in self.named_children():
            yield layer

    def named_sublayers(self, prefix="", include_self=False, layers_set=None):
        layers_set = set() if layers_set is None else layers_set
        if include_self and self not in layers_set:
            layers_set.add(self)
            yield prefix, self
        for name, layer in self._sub_layers.items():
            if layer is not None and layer not in layers_set:
                yield from layer.named_sublayers(prefix + ("." if prefix else "") + name, True, layers_set)

    def sublayers(self, include_self=False):
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def _named(self, group, prefix, include_sublayers):
        seen = set()
        pairs = self.named_sublayers(prefix, True) if include_sublayers else [(prefix, self)]
        for path, layer in pairs:
            for key, value in getattr(layer, group).items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield path + ("." if path else "") + key, value

    def named_parameters(self, prefix="", include_sublayers=True):
        return self._named("_parameters", prefix, include_sublayers)

    def parameters(self, include_sublayers=True):
        return [value for _, value in self.named_parameters("", include_sublayers)]

    def named_buffers(self, prefix="", include_sublayers=True):
        return self._named("_buffers", prefix, include_sublayers)

    def buffers(self, include_sublayers=True):
        return [value for _, value in self.named_buffers("", include_sublayers)]

    def clear_gradients(self):
        """Gradients of all parameters become zero."""
        if mode.eager:
            for parameter in self.parameters():
                if parameter.trainable:
                    parameter.clear_gradient()

    # ---- state ----

    def _state(self, out, include_sublayers, prefix, every_buffer, use_hook):
        for name, value in self._parameters.items():
            if value is not None:
                out[prefix + name] = value
        for name, value in self._buffers.items():
            if value is not None and (every_buffer or name not in self._non_persistable_buffer_names_set):
                out[prefix + name] = value
        if include_sublayers:
            for name, layer in self._sub_layers.items():
                if layer is not None:
                    out = layer._state(out, True, prefix + name + ".", every_buffer, use_hook)
        for hook in list(self._state_dict_hooks.values()) if use_hook else ():
            changed = hook(out)
            out = out if changed is None else changed
        return out

    def state_dict(self, destination=None, include_sublayers=True, structured_name_prefix="", use_hook=True):
        """{structured name: parameter or persistable buffer}; in programs the values are in the scope."""
        return self._state(OrderedDict() if destination is None else destination, include_sublayers, structured_name_prefix,
                           False, use_hook)

    def to_static_state_dict(self, destination=None, include_sublayers=True, structured_name_prefix="", use_hook=True):
        """The same with all buffers."""
        return self._state(OrderedDict() if destination is None else destination, include_sublayers, structured_name_prefix,
                           True, use_hook)

    def set_state_dict(self, state_dict, use_structured_name=True):
        """Writes values into parameters and buffers. Gives (keys that were not found or do not fit, keys without a place);
        what does not fit is left as it is, with a warning."""
        missing, matched, pairs = [], set(), []
        for name, value in self._state(OrderedDict(), True, "", False, False).items():
            key = name if use_structured_name else value.name
            text = _misfit(key, state_dict.get(key), value)
            if text is None:
                matched.add(key)
                pairs.append((value, state_dict[key]))
            else:
                missing.append(key)
                warnings.warn("Skip loading for %s. %s" % (name, text))
        unexpected = [key for key in state_dict if key not in matched]
        for value, state in pairs:
            _set_value(value, state)
        return missing, unexpected

    set_dict = load_dict = set_state_dict

    # ---- types ----

    def _cast(self, dtype, floating_only=False):
        """Parameters and buffers of this layer alone get the type."""
        from paddle.tensor.manipulation import cast
        if not mode.eager:
            raise RuntimeError("%s: types of layers are changed in dynamic graphs; in programs give dtype when they are built"
                               % self._full_name)
        name = dtype_name(dtype)
        for group in (self._parameters, self._buffers):
            for value in group.values():
                if value is None or value.dtype.dtype == name or floating_only and "float" not in value.dtype.dtype:
                    continue
                stop = value.stop_gradient
                value.set(cast(value.detach(), name).numpy())
                if isinstance(value, EagerParameter):
                    value._type = name
                value.stop_gradient = stop
        self.__dict__["_dtype"] = dtype

    def to(self, device=None, dtype=None, blocking=None):
        """Parameters and buffers of another type; there is one device."""
        if device is not None and not isinstance(device, str) and "Place" not in type(device).__name__:
            raise ValueError("device value error, must be str, paddle.CPUPlace(), paddle.CUDAPlace(), paddle.CUDAPinnedPlace() "
                             "or paddle.XPUPlace(), but the type of device is " + type(device).__name__)
        if blocking is not None and not isinstance(blocking, bool):
            raise AssertionError("blocking value error, must be the True, False or None")
        if dtype is not None:
            for layer in self.sublayers(include_self=True):
                layer._cast(dtype)
        return self

    def astype(self, dtype=None):
        """All parameters and buffers in the type."""
        try:
            dtype = core.BY_DTYPE[dtype_name(dtype)]
        except Exception:
            raise ValueError("dtype value error, must be 'bfloat16', 'float16', 'float32', 'float64', 'int8', 'int16', 'int32', "
                             "'int64', 'uint8', 'complex64', 'complex128', 'bool', or paddle.dtype, numpy.dtype, but recieve "
                             + str(dtype))
        return self.to(dtype=dtype)

    def _float(self, dtype, excluded_layers):
        if isinstance(excluded_layers, type):
            excluded_layers = [excluded_layers]
        if not isinstance(excluded_layers, (list, tuple)):
            raise TypeError("excluded_layers should be type nn.Layer or list, but got %s." % type(excluded_layers).__name__)
        for layer in self.sublayers(include_self=True):
            if type(layer) not in excluded_layers:
                layer._cast(dtype, floating_only=True)
        return self

    def float(self, excluded_layers=None):
        """Floating point values as float32."""
        return self._float(core.BY_DTYPE["float32"], excluded_layers or [])

    def float16(self, excluded_layers=None):
        """On a CPU: as they are."""
        warnings.warn("Paddle compiled by the user does not support float16, so keep original data type.")
        return self

    def bfloat16(self, excluded_layers=None):
        """On a CPU: as they are."""
        warnings.warn("Paddle compiled by the user does not support bfloat16, so keep original data type.")
        return self

    # ---- printing ----

    def extra_repr(self):
        return ""

    def __repr__(self):
        lines = self.extra_repr().split("\n")
        text = type(self).__name__ + "(" + (lines[0] if len(lines) == 1 else "\n  " + "\n  ".join(lines) + "\n")
        inner = ["(%s): %s" % (name, "\n  ".join(repr(layer).split("\n"))) for name, layer in self._sub_layers.items()]
        return text + ("\n  " + "\n  ".join(inner) + "\n" if inner else "") + ")"


def _misfit(key, state, value):
    """Why a saved value cannot go into a parameter; None: it can."""
    if state is None:
        return "%s is not found in the provided dict." % key
    if isinstance(state, (dict, list)):
        if len(state) != len(value):
            return "%s receieves the length of %d, but the expected shape is %d" % (key, len(state), len(value))
        return None
    shape = state.shape() if callable(state.shape) else state.shape
    if list(shape) != list(value.shape):
        return "%s receives a shape %s, but the expected shape is %s." % (key, list(shape), list(value.shape))
    return None


def _set_value(value, state):
    if isinstance(value, Tensor):
        value.set_value(state)
    else:
        from paddle.fluid.executor import global_scope
        global_scope().var(value.name).get_tensor().set(state)


__getattr__ = _names.guard(__name__)
