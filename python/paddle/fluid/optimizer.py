"""fluid.optimizer: update rules. The classes are made from the rows of src/rules/optimizer_list.h."""
import warnings
from contextlib import contextmanager

from skiff import _native

from paddle import _names, _optimizers
from paddle.fluid import framework
from paddle.fluid._build import net
from paddle.fluid.backward import append_backward, names_of
from paddle.fluid.clip import GradientClipBase
from paddle.fluid.regularizer import WeightDecayRegularizer

__all__ = ["ExponentialMovingAverage", "LookaheadOptimizer", "ModelAverage", "RecomputeOptimizer"]  # and the classes made below


class Optimizer(object):
    """Base of all. learning_rate: a float, or a Variable (a schedule of fluid.layers)."""

    _type = None

    def __init__(self, learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None, options=None):
        self._eager = framework.in_dygraph_mode()
        if not isinstance(learning_rate, (float, framework.Variable)) and not (self._eager and callable(learning_rate)):
            raise TypeError("learning rate should be float or Variable, got %s here" % type(learning_rate))
        if regularization is not None and not isinstance(regularization, WeightDecayRegularizer):
            raise TypeError("'regularization' should be a WeightDecayRegularizer, but got %s" % type(regularization))
        if grad_clip is not None and not isinstance(grad_clip, GradientClipBase):
            raise TypeError("'grad_clip' should be an instance of GradientClipBase's derived class")
        self._learning_rate = learning_rate
        self._parameter_list = parameter_list
        self.regularization = regularization
        self._grad_clip = grad_clip
        self._name = name
        self._options = options or {}
        self._native = None
        self.type = self._type
        if self._eager and parameter_list is None:
            raise AttributeError("parameter_list argument given to the Optimizer should not be None in dygraph mode.")

    def _rule(self):
        if self._native is None:
            self._native = _native.Optimizer(
                net, self._type, self._learning_rate, regularization=self.regularization, grad_clip=self._grad_clip,
                name=self._name, **self._options)
        return self._native

    @contextmanager
    def _programs(self, loss, startup_program):
        net.push_programs(loss.program, startup_program)
        try:
            yield
        finally:
            net.pop_programs()

    # ---- eager (fluid.dygraph) ----

    def _update(self):
        """The native optimizer of the parameters, made in the first step."""
        if self._native is None:
            from paddle.optimizer import _eager
            self._native = _eager.make(self._type, list(self._parameter_list), self._options, self.regularization,
                                       self._grad_clip, self._name, generation=1)
        return self._native

    def _step(self, loss, grad_clip):
        """One step with the gradients that loss.backward() has left."""
        if grad_clip is not None:
            self._grad_clip = grad_clip
        rate = self._learning_rate
        self._rate = float(rate() if callable(rate) else rate)
        self._update().step(self._rate)
        return [], [(p, p.grad) for p in self._parameter_list if p.grad is not None]

    def clear_gradients(self):
        """The parameters' gradients become zeros."""
        self._update().clear_grad(True)

    def set_lr(self, value):
        """Another rate from the next step on."""
        self._learning_rate = float(value.numpy().reshape(-1)[0]) if hasattr(value, "numpy") else float(value)

    def state_dict(self):
        """{name: accumulator}, and the state of a schedule."""
        state = dict(self._update().state())
        if hasattr(self._learning_rate, "state_dict"):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def set_dict(self, state_dict):
        """What state_dict gave."""
        from paddle.optimizer import _eager
        state = {key: value for key, value in state_dict.items() if key != "LR_Scheduler"}
        if "LR_Scheduler" in state_dict and hasattr(self._learning_rate, "set_dict"):
            self._learning_rate.set_dict(state_dict["LR_Scheduler"])
        self._update().set_state(_eager.as_tensors(state))

    set_state_dict = set_dict

    # ---- programs ----

    def _global_learning_rate(self, program=None):
        """The variable of the rate."""
        return self._native.learning_rate if self._native is not None else None

    def current_step_lr(self):
        """The rate as a number, when it is one."""
        if self._eager and callable(self._learning_rate):
            return getattr(self, "_rate", None) or self._learning_rate.step()
        if isinstance(self._learning_rate, framework.Variable):
            raise RuntimeError("the learning rate is a schedule: fetch the variable %s" % self._learning_rate.name)
        return self._learning_rate

    def get_opti_var_name_list(self):
        """Names of the accumulators."""
        return self._native.accumulator_names() if self._native is not None else []

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        """Only the gradients: [(parameter, gradient)]."""
        return append_backward(loss, parameter_list or self._parameter_list, no_grad_set, callbacks)

    def apply_gradients(self, params_grads):
        """Clipping, decay and updates for these pairs, on the current programs; gives the update operators."""
        return self._rule().apply(params_grads)

    def apply_optimize(self, loss, startup_program, params_grads):
        with self._programs(loss, startup_program):
            return self.apply_gradients(params_grads)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, grad_clip=None):
        """Gradients and updates: (update operators, [(parameter, gradient)]). grad_clip: the argument of 1.7."""
        if self._eager and not isinstance(loss, framework.Variable):
            return self._step(loss, grad_clip)
        if not isinstance(loss, framework.Variable):
            raise AssertionError("The loss should be an Variable.")
        if tuple(loss.shape) not in ((1,), ()):
            raise AssertionError("The loss.shape should be (1L,), but the current loss.shape is {}. Maybe that you should "
                                 "call fluid.layers.mean to process the current loss.".format(tuple(loss.shape)))
        if grad_clip is not None:
            if not isinstance(grad_clip, GradientClipBase):
                raise TypeError("'grad_clip' should be an instance of GradientClipBase's derived class")
            self._grad_clip = grad_clip
        parameters = names_of(parameter_list or self._parameter_list, "parameter_list")
        with self._programs(loss, startup_program):
            return self._rule().minimize(loss, parameters, names_of(no_grad_set, "no_grad_set"))


# SGDOptimizer and SGD, AdamOptimizer and Adam, ...
for _name, _class in _optimizers.classes(1, Optimizer, "Optimizer", __name__).items():
    globals()[_name] = globals()[_name + "Optimizer"] = _class
    __all__ += [_name, _name + "Optimizer"]


def _seeded_minimize(self, *args, **keywords):
    """_seed: the noise of Dpsgd for tests; None: another one in every run."""
    done = Optimizer.minimize(self, *args, **keywords)
    for op in done[0] if self._seed else ():
        op._set_attr("seed", self._seed)
    return done


DpsgdOptimizer._seed, DpsgdOptimizer.minimize = None, _seeded_minimize  # noqa: F821


class RecomputeOptimizer(Optimizer):
    """Paddle computes parts of the forward pass twice to save memory. Skiff gives the same numbers without: it is the optimizer
    that it was given."""

    def __init__(self, optimizer):
        self._optimizer = optimizer
        self._checkpoints = None

    def _set_checkpoints(self, checkpoints):
        self._checkpoints = checkpoints

    def load(self, stat_dict):
        raise NotImplementedError("load function is not supported by Recompute Optimizer for now")

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        return self._optimizer.backward(loss, startup_program, parameter_list, no_grad_set, callbacks)

    def apply_gradients(self, params_grads):
        return self._optimizer.apply_gradients(params_grads)

    def apply_optimize(self, loss, startup_program, params_grads):
        return self._optimizer.apply_optimize(loss, startup_program, params_grads)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        if self._checkpoints is None:
            warnings.warn("RecomputeOptimizer: no checkpoints were set; nothing is recomputed anyway")
        return self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)


class ExponentialMovingAverage(object):
    """Averages of the trainable parameters: update() inside the program, `with ema.apply(exe):` to test with them.

    average = decay * average + (1 - decay) * parameter; apply() divides by 1 - decay^t. thres_steps (a Variable t) makes the
    decay min(decay, (1 + t) / (10 + t))."""

    def __init__(self, decay=0.999, thres_steps=None, name=None):
        from paddle.fluid import layers
        self._name = name or ""
        self._program = framework.default_main_program()
        self._params = [p for p in self._program.all_parameters() if p.trainable]
        self._averages = {}
        with framework.name_scope("moving_average"):
            if thres_steps is not None:
                steps = layers.cast(thres_steps, "float32")
                self._decay = layers.elementwise_min(
                    (steps + 1.0) / (steps + 10.0), layers.fill_constant([1], "float32", decay))
            else:
                self._decay = layers.create_global_var([1], decay, "float32", True)
            self._power = layers.create_global_var([1], 1.0, "float32", True)
            for param in self._params:
                self._averages[param.name] = layers.create_global_var(
                    list(param.shape), 0.0, param.dtype, True,
                    name=framework.unique_name.generate(self._name + param.name + "_ema"))
        self._backup = {}

    def update(self):
        """Appends the operators that move the averages; call it once, after minimize."""
        from paddle.fluid import layers
        with framework.name_scope("moving_average"):
            layers.assign(self._power * self._decay, self._power)
            for param in self._params:
                average = self._averages[param.name]
                layers.assign(average * self._decay + (1.0 - self._decay) * param, average)

    @contextmanager
    def apply(self, executor, need_restore=True):
        """The parameters are the averages inside."""
        import numpy
        from paddle.fluid.executor import global_scope
        scope = global_scope()

        def value(var):
            return numpy.array(scope.find_var(var.name).get_tensor())

        power = float(value(self._power)[0])
        for param in self._params:
            self._backup[param.name] = value(param)
            average = value(self._averages[param.name])
            if power < 1.0:
                average = (average / (1.0 - power)).astype(average.dtype)
            scope.find_var(param.name).get_tensor().set(average)
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor):
        """The parameters as they were before apply()."""
        from paddle.fluid.executor import global_scope
        for name, array in self._backup.items():
            global_scope().find_var(name).get_tensor().set(array)
        self._backup = {}


class ModelAverage(object):
    """Means of the parameters over a window of steps; `with average.apply(exe):` to test with them.

    Made after minimize, in the same program. A window ends when num_accumulates >= min_average_window and num_accumulates >=
    min(max_average_window, num_updates * average_window_rate) (op average_accumulates)."""

    _SUMS = ("sum_1", "sum_2", "sum_3")
    _COUNTS = ("num_accumulates", "old_num_accumulates", "num_updates")

    def __init__(self, average_window_rate, min_average_window=10000, max_average_window=10000, regularization=None, name=None,
                 parameters=None):
        if framework.in_dygraph_mode():
            raise Exception("In dygraph, don't support ModelAverage.")
        self.average_window, self.min_average_window, self.max_average_window = \
            average_window_rate, min_average_window, max_average_window
        self._name = name or ""
        block = framework.default_main_program().global_block()
        self._params = parameters or [p for p in block.all_parameters() if p.do_model_average is not False]
        self._kept = {p.name: framework.unique_name.generate(p.name + ".tmp") for p in self._params}
        self._accumulators = {}
        for param in self._params:
            with block.program._optimized_guard([param, self._kept[param.name]]), framework.name_scope("move_average"):
                self._accumulate(block, param)
        self.apply_program, self.restore_program = framework.Program(), framework.Program()
        with framework.program_guard(self.apply_program):
            for param in self._params:
                self._put_mean(param)
        with framework.program_guard(self.restore_program):
            for param in self._params:
                self._put_back(param)

    def _accumulate(self, block, param):
        from paddle.fluid import layers
        kept = {}
        for name in self._SUMS + self._COUNTS:
            count = name in self._COUNTS
            full = framework.unique_name.generate("_".join([param.name] + ([self._name] if self._name else []) + [name]))
            kept[name] = layers.create_global_var([1] if count else list(param.shape), 0, "int64" if count else param.dtype,
                                                  True, name=full)
        self._accumulators[param.name] = kept
        block.append_op(type="average_accumulates",
                        inputs=dict({"in_" + name: v for name, v in kept.items()}, param=param),
                        outputs={"out_" + name: v for name, v in kept.items()},
                        attrs={"average_window": float(self.average_window), "min_average_window": self.min_average_window,
                               "max_average_window": self.max_average_window})

    def _pair(self, param):
        """The parameter, and where its value is kept meanwhile."""
        block = framework.default_main_program().global_block()
        return [block.create_var(name=name, shape=list(param.shape), dtype=param.dtype, persistable=True)
                for name in (param.name, self._kept[param.name])]

    def _put_mean(self, param):
        from paddle.fluid import layers
        value, kept = self._pair(param)
        block = framework.default_main_program().global_block()
        v = {name: block.create_var(name=a.name, shape=list(a.shape), dtype=a.dtype, persistable=True)
             for name, a in self._accumulators[param.name].items()}
        layers.assign(value, kept)
        count = layers.cast(layers.sum([v["num_accumulates"], v["old_num_accumulates"]]), "float32")
        total = layers.sum([v[name] for name in self._SUMS])
        block.append_op(type="elementwise_div", inputs={"X": total, "Y": count}, outputs={"Out": value})

    def _put_back(self, param):
        from paddle.fluid import layers
        value, kept = self._pair(param)
        layers.assign(kept, value)

    @contextmanager
    def apply(self, executor, need_restore=True):
        """The parameters are the means inside."""
        executor.run(self.apply_program)
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor):
        """The parameters as they were before apply()."""
        executor.run(self.restore_program)


class LookaheadOptimizer(object):
    """inner_optimizer moves the (fast) parameters; every k steps slow ones go the part alpha of the way to them, and the fast
    ones begin there anew."""

    def __init__(self, inner_optimizer, alpha=0.5, k=5):
        if framework.in_dygraph_mode():
            raise Exception("In dygraph, don't support LookaheadOptimizer.")
        if inner_optimizer is None:
            raise AssertionError("inner optimizer can not be None")
        if not 0.0 <= alpha <= 1.0:
            raise AssertionError("alpha should be larger or equal to 0.0, and less or equal than 1.0")
        if not isinstance(k, int) or k <= 0:
            raise AssertionError("k should be a positive integer")
        self.inner_optimizer, self.alpha, self.k, self.type = inner_optimizer, alpha, k, "lookahead"

    def minimize(self, loss, startup_program=None):
        from paddle.fluid import layers
        done = self.inner_optimizer.minimize(loss, startup_program=startup_program)
        startup = (startup_program or framework.default_startup_program()).global_block()
        params = loss.block.program.global_block().all_parameters()
        slow = {p.name: self._slow(p, loss.block, startup) for p in params}
        number = lambda name, value, dtype: layers.create_global_var([1], value, dtype, True, name=name)  # noqa: E731
        k, alpha = number("lookahead_k", int(self.k), "int32"), number("lookahead_alpha", float(self.alpha), "float32")
        step = layers.increment(number("lookahead_step", 0, "int32"), 1.0, in_place=True)
        zero, one = layers.fill_constant([1], "int32", 0), layers.fill_constant([1], "float32", 1.0)
        with layers.Switch() as switch:
            with switch.case(layers.equal(layers.elementwise_mod(step, k), zero)):
                for fast in params:
                    mean = layers.elementwise_add(
                        layers.elementwise_mul(fast, alpha),
                        layers.elementwise_mul(slow[fast.name], layers.elementwise_sub(one, alpha)))
                    layers.assign(mean, slow[fast.name])
                    layers.assign(mean, fast)
            with switch.default():
                pass
        return done

    @staticmethod
    def _slow(param, block, startup):
        """A copy of the parameter as it begins."""
        one, other = [b.create_var(name=param.name + "@SLOW", shape=list(param.shape), dtype=param.dtype, persistable=True)
                      for b in (block, startup)]
        startup.append_op(type="assign", inputs={"X": startup.var(param.name)}, outputs={"Out": other})
        return one


__getattr__ = _names.guard(__name__)
