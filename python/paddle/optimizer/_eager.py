"""Optimizers in eager mode: one native optimizer for each group of parameters (src/eager/update.c)."""
from skiff import _native

from paddle._tensor import Tensor
from paddle.fluid._build import net
from paddle.regularizer import L2Decay

#: options that are questions about a parameter: answered here, so that they see the Parameter itself
_QUESTIONS = ("apply_decay_param_fun", "exclude_from_weight_decay", "lr_ratio")


class _Clip(object):
    """A clip for the native optimizer, which knows of each parameter whether it is clipped."""

    def __init__(self, clip):
        kind, fields = clip._spec
        self._spec = (kind, {name: value for name, value in fields.items() if name not in ("need_clip", "group_name")})


def decay_of(value):
    """A regularizer (or None) of a number or a regularizer."""
    return L2Decay(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def groups_of(parameters, defaults):
    """The groups of a list of dicts, with weight_decay and grad_clip filled in, as Paddle does it: decay and rate of a group
    become those of its parameters."""
    groups, seen = [], set()
    for given in parameters:
        if not isinstance(given, dict) or "params" not in given:
            raise AssertionError("params should be set in parameters if parameter groups are optimized in different options")
        group = dict(defaults, **given)
        if isinstance(group["params"], set):
            raise TypeError("optimizer parameters should be in ordered collections,but received set, please use list instead.")
        group["params"] = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
        if not seen.isdisjoint(map(id, group["params"])):
            raise ValueError("some parameters appear in more than one parameter group")
        seen.update(map(id, group["params"]))
        groups.append(group)
    return groups


def set_attributes(group, decay_is_setting):
    for parameter in group["params"]:
        if not decay_is_setting:
            parameter.regularizer = decay_of(group["weight_decay"])
        attr = dict(getattr(parameter, "optimize_attr", None) or {})
        attr["learning_rate"] = group.get("learning_rate", 1.0)
        parameter.optimize_attr = attr


def _row(parameter, options):
    """Settings of a parameter for the native optimizer."""
    if not isinstance(parameter, Tensor):
        raise TypeError("the parameters of an optimizer must be Tensors, but received %s" % type(parameter))
    decays, excluded, ratio = (options.get(name) for name in _QUESTIONS)
    rate = (getattr(parameter, "optimize_attr", None) or {}).get("learning_rate", 1.0)
    if ratio is not None:
        rate *= ratio(parameter)
    return (parameter, parameter.name, float(rate), getattr(parameter, "regularizer", None),
            bool(getattr(parameter, "need_clip", True)),
            (decays is None or bool(decays(parameter))) and not (excluded is not None and excluded(parameter)))


def make(kind, parameters, options, regularization, clip, name, generation=2):
    """The native optimizer of one group, with the rules of that generation."""
    rows = [_row(parameter, options) for parameter in parameters]
    given = {key: value for key, value in options.items() if value is not None and key not in _QUESTIONS}
    if regularization is not None:
        given["regularization"] = regularization
    if clip is not None:
        given["grad_clip"] = _Clip(clip)
    if name is not None:
        given["name"] = name
    return _native.EagerOptimizer(net, kind, rows, given, generation)


def as_tensors(state):
    """{name: Tensor} of Tensors and arrays."""
    import numpy
    out = {}
    for name, value in state.items():
        if isinstance(value, Tensor):
            out[name] = value
        elif hasattr(value, "__array__"):
            out[name] = Tensor(numpy.asarray(value))
        else:
            raise RuntimeError("State dict type %s not supprt" % type(value))
    return out


class only(object):
    """with only(parameters, all): those of `all` that are not among `parameters` have no gradient for the optimizer."""

    def __init__(self, parameters, every):
        chosen = set(map(id, parameters))
        self._others = [p for p in every if id(p) not in chosen and not p.stop_gradient]

    def __enter__(self):
        for parameter in self._others:
            parameter.stop_gradient = True

    def __exit__(self, *_):
        for parameter in self._others:
            parameter.stop_gradient = False
