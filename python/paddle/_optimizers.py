"""The optimizer classes of fluid.optimizer and paddle.optimizer, made from the rows of src/rules/optimizer_list.h."""
import inspect
import numbers

from skiff import _native

#: arguments that every optimizer of its generation may have, and their defaults
COMMON = {"parameter_list": None, "regularization": None,  # 1.x
          "parameters": None, "weight_decay": None,  # 2.x
          "grad_clip": None, "name": None}
#: of 2.x, for half precision and other devices: taken, without effect
WITHOUT_EFFECT = {"multi_precision": False, "use_multi_tensor": False}
RANGES = {"share": (lambda x: 0 <= x < 1, "in [0,1)"), "not_negative": (lambda x: x >= 0, ">= 0")}


class NotSet(AssertionError, ValueError):
    """An argument is None. Paddle raises the one or the other, depending on the optimizer."""


def _default(name, settings):
    setting = settings.get(name)
    if setting is None:
        return COMMON[name] if name in COMMON else WITHOUT_EFFECT[name]
    return inspect.Parameter.empty if setting["needed"] else setting["preset"]


def _signature(row, settings):
    names = row["arguments"].split()
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter("self", kind)] +
                             [inspect.Parameter(name, kind, default=_default(name, settings)) for name in names])


def option(class_name, setting, value):
    """What the native optimizer takes for an argument's value."""
    name, kind = setting["argument"], setting["kind"]
    if kind in ("test", "test_name", "factor"):
        if value is not None and not callable(value):
            raise TypeError("%s: %s must be a function, but received %s" % (class_name, name, type(value)))
        return (lambda param: value(param.name)) if kind == "test_name" and value is not None else value
    if value is None:
        raise NotSet("%s: %s is not set." % (class_name, name))
    if kind == "truth":
        return bool(value)
    if hasattr(value, "item") and getattr(value, "size", 0) == 1 and hasattr(value, "_detach"):
        value = value.item()  # a tensor of eager mode
    if name != "learning_rate" and not isinstance(value, numbers.Real):
        raise TypeError("%s: %s must be a number, but received %s" % (class_name, name, type(value)))
    fits, text = RANGES.get(setting["range"], (None, None))
    if fits is not None and not fits(value):
        raise ValueError("Invaild value of %s, expect %s %s." % (name, name, text))
    return value


def _make(row, base, name, module):
    settings = {s["argument"]: s for s in row["settings"]}
    signature = _signature(row, settings)

    def __init__(self, *args, **keywords):
        try:
            given = signature.bind(self, *args, **keywords)
        except TypeError as e:
            raise TypeError("%s: %s" % (name, e)) from None
        given.apply_defaults()
        common, options = {}, {}
        for argument, value in list(given.arguments.items())[1:]:
            if argument in settings:
                given_option = option(name, settings[argument], value)
                (common if argument == "learning_rate" else options)[settings[argument]["name"]] = given_option
            elif argument in COMMON:
                common[argument] = value
        base.__init__(self, options=options, **common)

    __init__.__signature__ = signature
    return type(name, (base,), {"__init__": __init__, "__doc__": row["about"], "__module__": module,
                                "__qualname__": name, "_type": row["type"], "_settings": settings})


def classes(generation, base, suffix, module):
    """{Paddle's class name: class}. base.__init__ takes the common arguments and `options`, those of the native optimizer."""
    return {row["class_name"]: _make(row, base, row["class_name"] + suffix, module)
            for row in _native.optimizers(generation) if row["arguments"] is not None}
