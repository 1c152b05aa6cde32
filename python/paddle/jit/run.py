"""Traced programs run: op by op in eager mode, bound once (skiff._native.Replay), with gradients; those with control flow by
an executor, gradients by its own backward."""
from skiff import _native

from paddle._tensor import Tensor


class Runner(object):
    """Runs a program: names of feeds, {name: tensor} of what else it needs, names of fetches."""

    def __init__(self, program, feeds, tensors, fetches):
        used = _used(program, fetches)
        self._tensors = [t for name, t in tensors.items() if name in used]
        names = list(feeds) + [name for name in tensors if name in used]
        if program.num_blocks > 1:
            self._run = _ByExecutor(program, names, list(fetches)).run
        else:
            self._run = _native.Replay(program, names, list(fetches)).run

    def __call__(self, tensors):
        """Tensors of the feeds in; a list of those of the fetches out."""
        return self._run(tensors + self._tensors)


def _used(program, fetches):
    used = set(fetches)
    for i in range(program.num_blocks):
        for op in _native.Block.ops(program.block(i)):
            used.update(op.input_arg_names)
            used.update(op.output_arg_names)
    return used


class _ByExecutor(object):
    """One run of the program, recorded as one op; backward runs a second program that holds both."""

    def __init__(self, program, names, fetches):
        self._names, self._fetches = names, fetches
        self._forward, self._scope = program, _native.Scope()
        self._executor = _native.Executor(self._scope)
        self._backward = None

    def _feed(self, tensors):
        return {name: tensor._numpy() for name, tensor in zip(self._names, tensors)}

    def run(self, tensors):
        feed = self._feed(tensors)
        outs = [Tensor(array) for array in self._executor.run(self._forward, feed, self._fetches, return_numpy=True)]
        wanted = [not t.stop_gradient for t in tensors]
        if _native.eager_noting() and any(wanted):
            for out in outs:
                out.stop_gradient = False
            _native.eager_add_node(tensors, outs, lambda grads: self._gradients(feed, wanted, outs, grads))
        return outs

    def _gradients(self, feed, wanted, outs, grads):
        import numpy
        if self._backward is None:
            self._backward = self._differentiate()
        program, weights, gradients = self._backward
        feed = dict(feed)
        for weight, out, grad in zip(weights, outs, grads):
            feed[weight] = numpy.zeros(out.shape, out._dtype) if grad is None else grad._numpy()
        asked = [g for g, want in zip(gradients, wanted) if want and g is not None]
        got = dict(zip(asked, self._executor.run(program, feed, asked, return_numpy=True)))
        return [Tensor(got[g]) if want and g in got else None for g, want in zip(gradients, wanted)]

    def _differentiate(self):
        """(program with its gradients, names of the results' weights, names of the inputs' gradients)"""
        from paddle.fluid._build import net
        program = self._forward.clone()
        block = program.block(0)
        net.push_programs(program)
        try:
            weights = []
            for name in self._fetches:
                var = _native.Block.find_var(block, name)
                weights.append(_native.Block.create_var(block, name + "@WEIGHT", shape=list(var.shape), dtype=var.dtype.dtype,
                                                        persistable=False, stop_gradient=True))
            targets = [_native.Block.find_var(block, name) for name in self._fetches]
            inputs = [_native.Block.find_var(block, name) for name in self._names]
            found = net.gradients(targets, inputs, weights)
        finally:
            net.pop_programs()
        return program, [w.name for w in weights], [None if g is None else g.name for g in found]
