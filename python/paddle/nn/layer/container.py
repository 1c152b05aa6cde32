"""Layers that hold layers or parameters."""
from paddle import _names
from paddle.nn.layer.layers import Layer, Parameter


class Sequential(Layer):
    """Layers one after the other: Sequential(a, b), or Sequential(("name", a), ...)."""

    def __init__(self, *layers):
        super(Sequential, self).__init__()
        if layers and isinstance(layers[0], (tuple, list)):
            for name, layer in layers:
                self.add_sublayer(name, layer)
        else:
            for i, layer in enumerate(layers):
                self.add_sublayer(str(i), layer)

    def __getitem__(self, name):
        if isinstance(name, slice):
            return type(self)(*list(self._sub_layers.values())[name])
        if isinstance(name, str):
            return self._sub_layers[name]
        if not -len(self) <= name < len(self):
            raise IndexError("index %s is out of range" % name)
        return list(self._sub_layers.values())[name]

    def __setitem__(self, name, layer):
        if not isinstance(layer, Layer):
            raise AssertionError("a Layer is needed, but received %s" % type(layer))
        setattr(self, str(name), layer)

    def __delitem__(self, name):
        if str(name) not in self._sub_layers:
            raise AssertionError("there is no layer %s; there are %s" % (name, ", ".join(self._sub_layers)))
        del self._sub_layers[str(name)]

    def __len__(self):
        return len(self._sub_layers)

    def append(self, layer):
        self.add_sublayer(str(len(self)), layer)
        return self

    def forward(self, input):
        for layer in self._sub_layers.values():
            input = layer(input)
        return input


class LayerList(Layer):
    """A list of layers."""

    def __init__(self, sublayers=None):
        super(LayerList, self).__init__()
        for i, layer in enumerate(sublayers or []):
            self.add_sublayer(str(i), layer)

    def _place(self, idx):
        if not isinstance(idx, int):
            return idx
        if not -len(self) <= idx < len(self):
            raise IndexError("index %d is out of range, should be an integer in range [%d, %d)" % (idx, -len(self), len(self)))
        return idx % len(self)

    def _reset(self, layers):
        self._sub_layers.clear()
        for i, layer in enumerate(layers):
            self.add_sublayer(str(i), layer)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self._sub_layers.values())[idx])
        return self._sub_layers[str(self._place(idx))]

    def __setitem__(self, idx, sublayer):
        setattr(self, str(self._place(idx)), sublayer)

    def __delitem__(self, idx):
        layers = list(self._sub_layers.values())
        del layers[self._place(idx)]
        self._reset(layers)

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers.values())

    def append(self, sublayer):
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def insert(self, index, sublayer):
        if not isinstance(index, int) or not -len(self) <= index < len(self):
            raise AssertionError("index should be an integer in range [%d, %d)" % (-len(self), len(self)))
        layers = list(self._sub_layers.values())
        layers.insert(self._place(index), sublayer)
        self._reset(layers)

    def extend(self, sublayers):
        for layer in list(sublayers):
            self.append(layer)
        return self


class LayerDict(Layer):
    """A dict of layers."""

    def __init__(self, sublayers=None):
        super(LayerDict, self).__init__()
        if sublayers is not None:
            self.update(sublayers)

    def update(self, sublayers):
        """Layers of a dict, or of pairs."""
        if not hasattr(sublayers, "__iter__"):
            raise AssertionError("The type of sublayers is not iterable of key/value pairs, the type of sublayers is "
                                 + type(sublayers).__name__)
        for i, pair in enumerate(sublayers.items() if hasattr(sublayers, "items") else sublayers):
            if len(pair) != 2:
                raise ValueError("The length of the %d's element in sublayers is %d, which must be 2." % (i, len(pair)))
            self.add_sublayer(*pair)

    def __getitem__(self, key):
        return self._sub_layers[key]

    def __setitem__(self, key, layer):
        self.add_sublayer(key, layer)

    def __delitem__(self, key):
        del self._sub_layers[key]

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers)

    def __contains__(self, key):
        return key in self._sub_layers

    def clear(self):
        self._sub_layers.clear()

    def pop(self, key):
        return self._sub_layers.pop(key)

    def keys(self):
        return self._sub_layers.keys()

    def values(self):
        return self._sub_layers.values()

    def items(self):
        return self._sub_layers.items()


def _parameter(value):
    if not isinstance(value, Parameter):
        raise AssertionError("a Parameter is needed, but received %s" % type(value))
    return value


class ParameterList(Layer):
    """A list of parameters."""

    def __init__(self, parameters=None):
        super(ParameterList, self).__init__()
        for parameter in parameters or []:
            self.append(_parameter(parameter))

    def append(self, parameter):
        self.add_parameter(str(len(self)), parameter)
        return self

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return list(self._parameters.values())[idx]
        return self._parameters[str(idx % len(self) if -len(self) <= idx < 0 else idx)]

    def __setitem__(self, idx, parameter):
        setattr(self, str(idx), _parameter(parameter))

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())


class ParameterDict(Layer):
    """A dict of parameters."""

    def __init__(self, parameters=None):
        super(ParameterDict, self).__init__()
        if parameters is not None:
            self.update(parameters)

    def update(self, parameters):
        for key, value in parameters.items() if hasattr(parameters, "items") else parameters:
            self.add_parameter(key, _parameter(value))

    def __getitem__(self, key):
        return self._parameters[key]

    def __setitem__(self, key, parameter):
        setattr(self, key, _parameter(parameter))

    def __delitem__(self, key):
        del self._parameters[key]

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters)

    def __contains__(self, key):
        return key in self._parameters

    def keys(self):
        return self._parameters.keys()

    def values(self):
        return self._parameters.values()

    def items(self):
        return self._parameters.items()


__getattr__ = _names.guard(__name__)
