"""Layers that are functions with their arguments kept."""
from paddle.nn.layer.layers import Layer

NEEDED = object()


def _arguments(function):
    """Names of a function's arguments, declared in C or written in Python."""
    return function._arguments if hasattr(function, "_arguments") else function.__code__.co_varnames


def layer(function, class_name, doc, fields=(), prefix="", shown=None, named=True, inputs=1, also=()):
    """A class over function. fields: (argument, default or NEEDED) in the order of the constructor; the attribute is prefix +
    argument, but `also` may give another: (argument, attribute). shown: arguments that printing shows; named: the last argument
    is a name; inputs: how many tensors come first."""
    names = [field for field, _ in fields]
    attributes = [dict(also).get(field, prefix + field) for field in names]
    pairs = list(zip(names, attributes))
    defaults = dict(fields)
    own_name, words = prefix + "name", _arguments(function)[:inputs]
    visible = [(field, attribute) for field, attribute in pairs if field in (names if shown is None else shown)]

    def __init__(self, *args, **kwargs):
        Layer.__init__(self)
        if len(args) > len(names) + named:
            raise TypeError("%s takes at most %d arguments, but got %d" % (class_name, len(names) + named, len(args)))
        values = dict(zip(names + ["name"] if named else names, args))
        for key, value in kwargs.items():
            if key in values or key not in defaults and not (named and key == "name"):
                raise TypeError("%s got an unexpected keyword argument '%s'" % (class_name, key))
            values[key] = value
        for field, attribute in pairs:
            value = values.get(field, defaults[field])
            if value is NEEDED:
                raise TypeError("%s missing 1 required positional argument: '%s'" % (class_name, field))
            self.__dict__[attribute] = value
        if named:
            self.__dict__[own_name] = values.get("name")

    def forward(self, *tensors, **by_name):
        if by_name:
            tensors += tuple(by_name.pop(word) for word in words[len(tensors):] if word in by_name)
        if by_name:
            raise TypeError("forward() got an unexpected keyword argument '%s'" % sorted(by_name)[0])
        if len(tensors) != inputs:
            raise TypeError("%s takes %d tensor%s, but got %d" % (class_name, inputs, "s" * (inputs > 1), len(tensors)))
        known = self.__dict__
        if not named:
            return function(*tensors, **{field: known[attribute] for field, attribute in pairs})
        return function(*tensors, name=known[own_name], **{field: known[attribute] for field, attribute in pairs})

    def extra_repr(self):
        parts = ["%s=%s" % (field, self.__dict__[attribute]) for field, attribute in visible]
        if named and self.__dict__[own_name]:
            parts.append("name=%s" % self.__dict__[own_name])
        return ", ".join(parts)

    return type(class_name, (Layer,), {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__doc__": doc,
                                       "__module__": "paddle.nn.layer"})
