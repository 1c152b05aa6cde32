"""fluid.backward: gradient operators."""
from paddle import _names
from paddle.fluid import framework
from paddle.fluid._build import net

__all__ = ["append_backward", "gradients"]


def names_of(variables, what):
    """Names of a list or set of Variables and str; None stays None."""
    if variables is None:
        return None
    if not isinstance(variables, (set, list, tuple, frozenset)):
        raise TypeError("The type of '%s' must be list, set or tuple, but received %s" % (what, type(variables)))
    for item in variables:
        if not isinstance(item, (str, framework.Variable)):
            raise TypeError("'%s' holds Variable or str, but received %s" % (what, type(item)))
    names = [item if isinstance(item, str) else item.name for item in variables]
    return sorted(names) if isinstance(variables, (set, frozenset)) else names


def append_backward(loss, parameter_list=None, no_grad_set=None, callbacks=None, checkpoints=None):
    """Appends the gradient operators of the loss; gives [(parameter, gradient)]. checkpoints are not needed: nothing is
    recomputed. callbacks are refused."""
    if not isinstance(loss, framework.Variable):
        raise TypeError("The type of 'loss' in append_backward must be Variable, but received %s." % type(loss))
    if callbacks:
        raise NotImplementedError("append_backward: Skiff has no callbacks")
    net.push_programs(loss.program)
    try:
        return net.backward(loss, names_of(parameter_list, "parameter_list"), names_of(no_grad_set, "no_grad_set"))
    finally:
        net.pop_programs()


def calc_gradient(targets, inputs, target_gradients=None, no_grad_set=None):
    def listed(x):
        return list(x) if isinstance(x, (list, tuple)) else [] if x is None else [x]

    targets, inputs, given = listed(targets), listed(inputs), listed(target_gradients)
    for name, group in (("targets", targets), ("inputs", inputs)):
        for var in group:
            if not isinstance(var, framework.Variable):
                raise TypeError("The type of '%s' in gradients must be Variable, but received %s." % (name, type(var)))
    if given and len(given) != len(targets):
        raise ValueError("Should have the same number of target_gradients as targets")
    net.push_programs(targets[0].program)
    try:
        return net.gradients(targets, inputs, given or None, names_of(no_grad_set, "no_grad_set"))
    finally:
        net.pop_programs()


def gradients(targets, inputs, target_gradients=None, no_grad_set=None):
    """Gradients of the targets by the inputs; None where there is none."""
    return calc_gradient(targets, inputs, target_gradients, no_grad_set)


def gradients_with_optimizer(program, optimizer, inputs=None, outputs=None):
    """(update ops, [(parameter, gradient)]): gradients of what nothing reads by what nothing writes, then the optimizer's ops."""
    from paddle.fluid.framework import Parameter, program_guard
    block = program.global_block()
    read = {name for op in block.ops for name in op.input_arg_names}
    written = {name for op in block.ops for name in op.output_arg_names}
    inputs = [block.var(name) for name in sorted(read - written)] if inputs is None else inputs
    outputs = [block.var(name) for name in sorted(written - read)] if outputs is None else outputs
    wanted = [var for var in inputs if isinstance(var, Parameter)]
    with program_guard(program):
        found = gradients(outputs, wanted)
        pairs = [(var, grad) for var, grad in zip(wanted, found) if grad is not None]
        return optimizer.apply_gradients(pairs), pairs


__getattr__ = _names.guard(__name__)
