"""GradientMergeOptimizer: gradients of k_steps runs are added up, and the optimizer runs in every k-th. Of programs."""
from paddle._mode import mode
from paddle.fluid import framework
from skiff import _native


class GradientMergeOptimizer(object):
    """Around another optimizer; with avg a k-th run is the step of one with the rows of all k."""

    def __init__(self, inner_optimizer, k_steps=1, avg=True):
        if mode.eager:
            raise Exception("In dygraph, we don't support GradientMergeOptimizer.You can do Gradient merge by yourself with "
                            "k-times forward + backward, and one-time optimizer.minimize()")
        if inner_optimizer is None:
            raise AssertionError("inner optimizer can not be None")
        if not isinstance(k_steps, int) or k_steps <= 0:
            raise AssertionError("k_steps should be a positive integer")
        self.inner_optimizer, self.k_steps, self.avg, self.type = inner_optimizer, k_steps, avg, "gradient_merge"

    def _set_k_steps(self, k_steps):
        self.k_steps = k_steps

    def _set_avg(self, avg):
        self.avg = avg

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        startup = framework.default_startup_program() if startup_program is None else startup_program
        made = self.inner_optimizer.minimize(loss, startup, parameter_list, no_grad_set)
        _native.gradient_merge(loss.block.program, startup, self.k_steps, bool(self.avg))
        return made
