"""save_dygraph and load_dygraph: PREFIX.pdparams, PREFIX.pdopt."""
import os

from skiff import _native

from paddle import _names


def _is_optimizer_state(state):
    from paddle._tensor import Parameter
    return not any(isinstance(value, Parameter) for value in state.values()) and bool(state)


def save_dygraph(state_dict, model_path):
    """A layer's state to PREFIX.pdparams, an optimizer's to PREFIX.pdopt."""
    import paddle
    if not os.path.basename(model_path):
        raise AssertionError("The input model_path MUST be format of dirname/filename, but received filename is empty string.")
    if not state_dict:
        raise AssertionError("state_dict is empty, no need to save")
    end = ".pdopt" if _is_optimizer_state(state_dict) else ".pdparams"
    paddle.save(state_dict, model_path + end)


def load_dygraph(model_path, keep_name_table=False):
    """(parameters, optimizer's state) as arrays; None for what is not there."""
    import paddle
    parts, prefix = _native.saved_parts(model_path)
    if not prefix or not {"state", "optimizer"} & set(parts):
        raise RuntimeError("Parameter file [ %s.pdparams ] not exists" % model_path)
    out = []
    for kind, end in (("state", ".pdparams"), ("optimizer", ".pdopt")):
        state = paddle.load(prefix + end, return_numpy=True) if kind in parts else None
        if state is not None and not keep_name_table:
            state = {key: value for key, value in state.items() if key != "StructuredToParameterName@@"}
        out.append(state)
    return tuple(out)


__getattr__ = _names.guard(__name__)
