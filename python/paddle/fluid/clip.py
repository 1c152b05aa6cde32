"""fluid.clip: bounds for gradients."""
import warnings

from paddle import _names

__all__ = ["set_gradient_clip", "ErrorClipByValue", "GradientClipByValue", "GradientClipByNorm", "GradientClipByGlobalNorm"]


class GradientClipBase(object):
    _spec = None

    def _set(self, kind, need_clip, **fields):
        if need_clip is not None and not callable(need_clip):
            raise TypeError("The type of need_clip must be funciton, and it can filter out parameter that does't need "
                            "gradient clip.")
        self._need_clip_func = need_clip
        if need_clip is not None:
            fields["need_clip"] = need_clip
        self._spec = (kind, fields)


class GradientClipByValue(GradientClipBase):
    """Every element between min (None: -max) and max."""

    def __init__(self, max, min=None, need_clip=None):
        if min is None:
            if max <= 0.0:
                raise AssertionError("GradientClipByValue: max must be positive when min is not given")
            min = -max
        self.max, self.min = float(max), float(min)
        self._set("value", need_clip, max=self.max, min=self.min)

    def __str__(self):
        return "Gradient Clip By Value, min = %f, max=%f" % (self.min, self.max)


class GradientClipByNorm(GradientClipBase):
    """Every gradient's own norm at most clip_norm."""

    def __init__(self, clip_norm, need_clip=None):
        self.clip_norm = float(clip_norm)
        self._set("norm", need_clip, clip_norm=self.clip_norm)

    def __str__(self):
        return "Gradient Clip By Norm, clip_norm=%f" % self.clip_norm


class GradientClipByGlobalNorm(GradientClipBase):
    """The norm of all gradients together at most clip_norm."""

    def __init__(self, clip_norm, group_name="default_group", need_clip=None):
        self.clip_norm, self.group_name = float(clip_norm), group_name
        self._set("global_norm", need_clip, clip_norm=self.clip_norm, group_name=group_name)

    def __str__(self):
        return "Gradient Clip By GlobalNorm, global_norm=%f" % self.clip_norm


class ErrorClipByValue(object):
    """Bounds for the gradient of a variable (Variable._set_error_clip), where it is computed."""

    def __init__(self, max, min=None):
        self.max, self.min = float(max), float(-max if min is None else min)

    def __str__(self):
        return "ByValue, min=%f, max=%f" % (self.min, self.max)


def error_bounds(clip):
    """(min, max) of an ErrorClipByValue; None of None."""
    if clip is not None and not isinstance(clip, ErrorClipByValue):
        raise TypeError("_set_error_clip takes an ErrorClipByValue or None, but got %s" % type(clip))
    return None if clip is None else (clip.min, clip.max)


def set_gradient_clip(clip, param_list=None, program=None):
    """For these parameters (None: all of the program); used by optimizers without a grad_clip of their own."""
    from paddle.fluid import framework
    from paddle.fluid._build import net
    if not isinstance(clip, GradientClipBase):
        raise TypeError("'clip' should be an instance of GradientClipBase's derived class")
    program = framework.default_main_program() if program is None else program
    block = program.global_block()
    for op in block.ops:
        if "LearningRate" in op.input_names:
            warnings.warn("'minimize' has been invoked before, this will make 'set_gradient_clip' be ineffective! Please "
                          "invoke 'set_gradient_clip' before 'minimize'.")
            break
    params = block.all_parameters() if param_list is None else param_list
    params = [block.var(p) if isinstance(p, str) else p for p in params]
    if not all(isinstance(p, framework.Parameter) for p in params):
        raise TypeError("'param_list' should be a list of Parameter or basestring(parameter's name).")
    net.push_programs(program)
    try:
        net.set_gradient_clip(clip, [p.name for p in params])
    finally:
        net.pop_programs()


__getattr__ = _names.guard(__name__)
