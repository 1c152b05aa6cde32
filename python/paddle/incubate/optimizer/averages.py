"""LookAhead and ModelAverage: slow copies of the weights that another optimizer moves, in eager mode and in programs."""
from contextlib import contextmanager

from paddle import _names
from paddle.framework import in_dynamic_mode, no_grad


class _Around(object):
    """What both keep of a list of parameters, by name."""

    def _keep(self, parameters, where):
        if parameters is None:
            raise AttributeError("%s: parameters must be given in eager mode" % where)
        self._parameter_list = [p for p in parameters if not p.stop_gradient]
        self._state = {}

    def clear_grad(self, set_to_zero=True):
        """Gradients go away."""
        for parameter in self._parameter_list:
            parameter.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def state_dict(self):
        """name -> tensor or number."""
        return dict(self._state)

    def set_state_dict(self, state_dict):
        """What state_dict gave."""
        self._state = dict(state_dict)


class LookAhead(_Around):
    """inner_optimizer moves fast weights; every k-th step the slow ones go a part alpha of the way, and the fast ones begin there."""

    def __init__(self, inner_optimizer, alpha=0.5, k=5, name=None):
        if inner_optimizer is None:
            raise AssertionError("inner optimizer can not be None")
        if not 0.0 <= alpha <= 1.0:
            raise AssertionError("alpha should be larger or equal to 0.0, and less or equal than 1.0")
        if not isinstance(k, int) or k <= 0:
            raise AssertionError("k should be a positive integer")
        self.inner_optimizer, self.alpha, self.k, self.type = inner_optimizer, alpha, k, "lookahead"
        if in_dynamic_mode():
            self._keep(inner_optimizer._parameter_list, "LookAhead")
        self._steps = 0

    @no_grad()
    def step(self):
        """A fast step, and every k-th time a slow one."""
        self.inner_optimizer.step()
        self._steps += 1
        for parameter in self._parameter_list:
            name = parameter.name + "_slow_0"
            if self._steps == 1:
                self._state[name] = parameter.detach().clone()
            if self._steps % self.k == 0:
                slow = parameter * self.alpha + self._state[name] * (1.0 - self.alpha)
                self._state[name] = slow
                parameter.set_value(slow)

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """A step with the gradients that loss.backward() has given; in a program: its ops."""
        if not in_dynamic_mode():
            return self._append(loss, startup_program, parameters, no_grad_set)
        self.step()
        return [], [(p, p.grad) for p in self._parameter_list]

    def _append(self, loss, startup_program, parameters, no_grad_set):
        import paddle
        from paddle.fluid import unique_name
        from paddle.static import create_global_var, default_main_program
        done = self.inner_optimizer.minimize(loss, startup_program, parameters, no_grad_set)
        step = create_global_var([1], 0, "int32", True, name=unique_name.generate("lookahead_step"))
        default_main_program().global_block().append_op(
            type="increment", inputs={"X": step}, outputs={"Out": step}, attrs={"step": 1.0})
        for fast, _ in done[1]:
            k = create_global_var([1], self.k, "int32", True, name=unique_name.generate("lookahead_k"))
            slow = create_global_var(list(fast.shape), 0.0, fast.dtype, True, name=unique_name.generate(fast.name + "_slow"))
            first = paddle.cast(paddle.equal(step, paddle.ones([1], "int32")), "float32")
            now = paddle.cast(paddle.equal(paddle.remainder(step, k), paddle.zeros([1], "int32")), "float32")
            paddle.assign(first * fast + (1.0 - first) * slow, slow)
            mean = fast * self.alpha + slow * (1.0 - self.alpha)
            paddle.assign(now * mean + (1.0 - now) * fast, fast)
            paddle.assign(now * mean + (1.0 - now) * slow, slow)
        return done


class ModelAverage(_Around):
    """Sums of the weights over a window of steps; apply() puts their mean in place of the weights for a while."""

    _MOST = 16384  # elements are added to a second sum after so many steps, for the sake of rounding

    def __init__(self, average_window_rate, parameters=None, min_average_window=10000, max_average_window=10000, name=None):
        self.average_window, self.min_average_window = average_window_rate, min_average_window
        self.max_average_window, self.type = max_average_window, "average_accumulates"
        self._of_program = None
        if not in_dynamic_mode():
            from paddle.fluid.optimizer import ModelAverage as Program
            self._of_program = Program(average_window_rate, min_average_window, max_average_window, None, name, parameters)
            self.apply_program, self.restore_program = self._of_program.apply_program, self._of_program.restore_program
            return
        self._keep(parameters, "ModelAverage")
        self._updates = self._count = self._old_count = 0
        self._sums, self._restored = {}, None

    @no_grad()
    def step(self):
        """The weights as they are now are added."""
        self._updates += 1
        self._count += 1
        ends = self._count >= self.min_average_window and \
            self._count >= min(self.max_average_window, self._updates * self.average_window)
        for parameter in self._parameter_list:
            sums = self._sums.setdefault(parameter.name, [parameter * 0.0, parameter * 0.0, parameter * 0.0])
            sums[0] = sums[0] + parameter
            if self._updates % self._MOST == 0:
                sums[0], sums[1] = sums[0] * 0.0, sums[1] + sums[0]
            if ends:
                sums[2] = sums[0] + sums[1]
                sums[0], sums[1] = sums[0] * 0.0, sums[1] * 0.0
        if ends:
            self._old_count, self._count = self._count, 0

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """step(): the gradients are another optimizer's. A program has its ops since the ModelAverage was made."""
        if self._of_program is None:
            self.step()

    @contextmanager
    def apply(self, executor=None, need_restore=True):
        """Inside it the weights are the means; restore() puts them back when need_restore is False."""
        if self._of_program is not None:
            executor.run(self.apply_program)
        else:
            self._put_means()
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    @no_grad()
    def _put_means(self):
        self._restored = {p.name: p.detach().clone() for p in self._parameter_list}
        for parameter in self._parameter_list:
            one, two, three = self._sums[parameter.name]
            parameter.set_value((one + two + three) / float(self._count + self._old_count))

    def restore(self, executor=None):
        """The weights as they were before apply()."""
        if self._of_program is not None:
            executor.run(self.restore_program)
            return
        with no_grad():
            for parameter in self._parameter_list if self._restored else ():
                parameter.set_value(self._restored[parameter.name])
        self._restored = None


__getattr__ = _names.guard(__name__)
