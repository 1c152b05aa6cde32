"""Layers that hold layers."""
from paddle import _names
from paddle.fluid.framework import Parameter
from paddle.nn.layer.layers import Layer


class Sequential(Layer):
    """Layers one after the other: Sequential(a, b), or Sequential(("name", a), ...)."""

    def __init__(self, *layers):
        super(Sequential, self).__init__()
        if layers and isinstance(layers[0], (tuple, list)) and not isinstance(layers[0], Layer):
            for name, layer in (layers[0] if isinstance(layers[0], list) else layers):
                self.add_sublayer(name, layer)
        else:
            for i, layer in enumerate(layers):
                self.add_sublayer(str(i), layer)

    def __getitem__(self, name):
        if isinstance(name, slice):
            return Sequential(*list(self._sub_layers.values())[name])
        if isinstance(name, str):
            return self._sub_layers[name]
        return list(self._sub_layers.values())[name]

    def __setitem__(self, name, layer):
        self.add_sublayer(str(name), layer)

    def __delitem__(self, name):
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

    def _reset(self, layers):
        self._sub_layers.clear()
        for i, layer in enumerate(layers):
            self.add_sublayer(str(i), layer)

    def __getitem__(self, idx):
        found = list(self._sub_layers.values())[idx]
        return LayerList(found) if isinstance(idx, slice) else found

    def __setitem__(self, idx, layer):
        layers = list(self._sub_layers.values())
        layers[idx] = layer
        self._reset(layers)

    def __delitem__(self, idx):
        layers = list(self._sub_layers.values())
        del layers[idx]
        self._reset(layers)

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers.values())

    def append(self, sublayer):
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def insert(self, index, sublayer):
        layers = list(self._sub_layers.values())
        layers.insert(index, sublayer)
        self._reset(layers)

    def extend(self, sublayers):
        for layer in sublayers:
            self.append(layer)
        return self


class LayerDict(Layer):
    """A dict of layers."""

    def __init__(self, sublayers=None):
        super(LayerDict, self).__init__()
        self.update(sublayers or {})

    def update(self, sublayers):
        for name, layer in (sublayers.items() if hasattr(sublayers, "items") else sublayers):
            self.add_sublayer(name, layer)

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

    def keys(self):
        return self._sub_layers.keys()

    def values(self):
        return self._sub_layers.values()

    def items(self):
        return self._sub_layers.items()


class ParameterList(Layer):
    """A list of parameters."""

    def __init__(self, parameters=None):
        super(ParameterList, self).__init__()
        for parameter in parameters or []:
            self.append(parameter)

    def append(self, parameter):
        if not isinstance(parameter, Parameter):
            raise AssertionError("a Parameter is needed, but received %s" % type(parameter))
        self.add_parameter(str(len(self)), parameter)
        return self

    def __getitem__(self, idx):
        return list(self._parameters.values())[idx]

    def __setitem__(self, idx, parameter):
        self._parameters[str(idx)] = parameter

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())


__getattr__ = _names.guard(__name__)
