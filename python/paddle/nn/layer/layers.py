"""paddle.nn.Layer: a part of a network with its parameters and sub-layers; calling it appends to the program."""
import re
from collections import OrderedDict

from paddle import _names
from paddle._op import Value
from paddle._tensor import Parameter as EagerParameter
from paddle.fluid._build import net
from paddle.fluid.framework import Parameter as StaticParameter

Parameter = (StaticParameter, EagerParameter)


def snake(name):
    """LayerNorm -> layer_norm, PReLU -> p_re_lu"""
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)).lower()


class Layer(object):
    """Base of all layers: parameters and layers that are set as attributes belong to it."""

    training = True

    def __init__(self, name_scope=None, dtype="float32"):
        self.__dict__.update(_parameters=OrderedDict(), _sub_layers=OrderedDict(), _buffers=OrderedDict(),
                             _non_persistable=set(), training=True, _dtype=dtype,
                             _full_name=net.name(name_scope or snake(type(self).__name__)), _before=[], _after=[])

    # ---- calling ----

    def forward(self, *inputs, **kwargs):
        raise NotImplementedError("%s has no forward" % type(self).__name__)

    def __call__(self, *inputs, **kwargs):
        for hook in list(self._before):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        out = self.forward(*inputs, **kwargs)
        for hook in list(self._after):
            changed = hook(self, inputs, out)
            out = out if changed is None else changed
        return out

    def register_forward_pre_hook(self, hook):
        return _Hook(self._before, hook)

    def register_forward_post_hook(self, hook):
        return _Hook(self._after, hook)

    def train(self):
        """Dropout and normalization as in training, from the next call on."""
        for layer in self.sublayers(include_self=True):
            layer.training = True

    def eval(self):
        """Dropout and normalization as in inference, from the next call on."""
        for layer in self.sublayers(include_self=True):
            layer.training = False

    def apply(self, fn):
        """fn(layer) for every layer, this one last."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    def full_name(self):
        return self._full_name

    # ---- what belongs to it ----

    def create_parameter(self, shape, attr=None, dtype=None, is_bias=False, default_initializer=None):
        """A parameter named after the layer; attr False: none."""
        from paddle.framework import make_parameter, to_attr
        attr = to_attr(attr)
        if attr is False:
            return None
        return make_parameter(self._full_name, attr, shape, dtype or self._dtype, is_bias, default_initializer)

    def create_variable(self, name=None, persistable=None, dtype=None):
        from paddle.tensor.creation import create_tensor
        return create_tensor(dtype or self._dtype, name or net.name(self._full_name + "._generated_var"), bool(persistable))

    create_tensor = create_variable

    def add_parameter(self, name, parameter):
        """parameter under the name; None: no parameter."""
        if not isinstance(name, str):
            raise TypeError("The name of parameter should be a string, but received %s." % type(name))
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError("The parameter to be added should be a Parameter, but received %s." % type(parameter))
        self._parameters[name] = parameter
        return parameter

    def add_sublayer(self, name, sublayer):
        if not isinstance(sublayer, Layer) and sublayer is not None:
            raise AssertionError("the sublayer must be a Layer, but received %s" % type(sublayer))
        self._sub_layers[str(name)] = sublayer
        return sublayer

    def register_buffer(self, name, tensor, persistable=True):
        """A variable that is saved with the layer and not trained."""
        self._buffers[name] = tensor
        if not persistable:
            self._non_persistable.add(name)

    def __setattr__(self, name, value):
        groups = self.__dict__.get("_parameters"), self.__dict__.get("_sub_layers"), self.__dict__.get("_buffers")
        if isinstance(value, Parameter) or isinstance(value, Layer):
            if groups[0] is None:
                raise ValueError("super().__init__() should be called first")
            for group in groups:
                group.pop(name, None)
            self.__dict__.pop(name, None)
            groups[0 if isinstance(value, Parameter) else 1][name] = value
            return
        for group in groups:
            if group is not None and name in group:
                if value is None or isinstance(value, Value):
                    group[name] = value
                    return
                raise TypeError("assignment to %s of %s should be a Parameter, a Layer or None, but got %s" %
                                (name, self._full_name, type(value).__name__))
        self.__dict__[name] = value

    def __getattr__(self, name):
        for group in ("_parameters", "_sub_layers", "_buffers"):
            found = self.__dict__.get(group, {})
            if name in found:
                return found[name]
        raise AttributeError("'%s' object has no attribute '%s'" % (type(self).__name__, name))

    def __delattr__(self, name):
        for group in (self._parameters, self._sub_layers, self._buffers):
            if name in group:
                del group[name]
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return sorted(set(object.__dir__(self)) | set(self._parameters) | set(self._sub_layers) | set(self._buffers))

    # ---- walking ----

    def named_children(self):
        seen = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and id(layer) not in seen:
                seen.add(id(layer))
                yield name, layer

    def children(self):
        for _, layer in self.named_children():
            yield layer

    def named_sublayers(self, prefix="", include_self=False, layers_set=None):
        layers_set = set() if layers_set is None else layers_set
        if include_self and id(self) not in layers_set:
            layers_set.add(id(self))
            yield prefix, self
        for name, layer in self._sub_layers.items():
            if layer is None or id(layer) in layers_set:
                continue
            for item in layer.named_sublayers(prefix + ("." if prefix else "") + name, True, layers_set):
                yield item

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

    def state_dict(self, destination=None, include_sublayers=True, structured_name_prefix="", use_hook=True):
        """{structured name: variable}; the values are in the scope (paddle.static.save writes them)."""
        out = OrderedDict() if destination is None else destination
        for name, value in list(self.named_parameters(structured_name_prefix.rstrip("."), include_sublayers)) + \
                list(self.named_buffers(structured_name_prefix.rstrip("."), include_sublayers)):
            out[name] = value
        return out

    def set_state_dict(self, state_dict, use_structured_name=True):
        """Writes the values into the current scope."""
        from paddle.fluid.executor import global_scope
        have = self.state_dict()
        missing = []
        for name, var in have.items():
            key = name if use_structured_name else var.name
            if key in state_dict:
                global_scope().var(var.name).get_tensor().set(state_dict[key])
            else:
                missing.append(key)
        return missing, [key for key in state_dict if key not in have]

    set_dict = load_dict = set_state_dict

    def clear_gradients(self):
        """Gradients of programs last one run."""

    def to(self, device=None, dtype=None, blocking=None):
        return self

    def extra_repr(self):
        return ""

    def __repr__(self):
        lines = ["(%s): %s" % (name, "\n  ".join(repr(layer).split("\n"))) for name, layer in self._sub_layers.items()]
        if not lines:
            return "%s(%s)" % (type(self).__name__, self.extra_repr())
        return type(self).__name__ + "(\n  " + "\n  ".join(lines) + "\n)"


class _Hook(object):
    """What registering a hook gives: remove() takes it out."""

    def __init__(self, hooks, hook):
        self._hooks, self._hook = hooks, hook
        hooks.append(hook)

    def remove(self):
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)


__getattr__ = _names.guard(__name__)
