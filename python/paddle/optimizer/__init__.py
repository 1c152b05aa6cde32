"""paddle.optimizer: Skiff's optimizers with the arguments of 2.x."""
from contextlib import contextmanager

from skiff import _native

from paddle import _names, _optimizers
from paddle._op import need
from paddle.fluid._build import net
from paddle.fluid.framework import Program, Variable, default_startup_program
from paddle.optimizer import lr  # noqa: F401
from paddle.optimizer.lr import LRScheduler
from paddle.regularizer import L2Decay


class Optimizer(object):
    """Base of the optimizers. minimize appends gradients, clipping, decay and the update ops to the loss' program."""

    _type = None

    def __init__(self, learning_rate=0.001, parameters=None, weight_decay=None, grad_clip=None, name=None,
                 options=None):
        if not isinstance(learning_rate, (int, float, LRScheduler, Variable)):
            raise TypeError("learning rate should be float or LRScheduler, got %s here" % type(learning_rate))
        if isinstance(parameters, (Variable,)):
            raise TypeError("`parameters` argument given to the optimizer should be an iterable of paddle Tensors, but got "
                            "argument type is `%s`." % type(parameters))
        if grad_clip is not None and not hasattr(grad_clip, "_spec"):
            raise TypeError("'grad_clip' should be an instance of GradientClipBase's derived class")
        if weight_decay is not None and not isinstance(weight_decay, (int, float)) and not hasattr(weight_decay, "_spec"):
            raise TypeError("weight_decay should be float or WeightDecayRegularizer.")
        self._learning_rate = learning_rate
        self._parameter_list = None if parameters is None else list(parameters)
        self.regularization = L2Decay(weight_decay) if isinstance(weight_decay, (int, float)) and not \
            isinstance(weight_decay, bool) else weight_decay
        self._grad_clip = grad_clip
        self._name = name
        self._options = options or {}
        self._made = None

    # ---- rates ----

    def get_lr(self):
        """The rate of the next step."""
        if isinstance(self._learning_rate, LRScheduler):
            return self._learning_rate()
        if isinstance(self._learning_rate, Variable):
            raise RuntimeError("the rate is a variable of the program: fetch %s" % self._learning_rate.name)
        return float(self._learning_rate)

    def set_lr(self, value):
        """Another rate from the next step on."""
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError("optimizer's learning rate can't be LRScheduler when invoke this API, because this will lead to "
                               "conflict.")
        self._learning_rate = float(value)
        if self._made is not None and self._made.learning_rate is not None:
            import numpy
            from paddle.fluid.executor import global_scope
            global_scope().set(self._made.learning_rate.name, numpy.array(float(value), "float32"))

    # ---- building ----

    def _native_optimizer(self):
        """The optimizer in C, of the current programs."""
        if self._made is None:
            options = {key: value for key, value in self._options.items() if value is not None}
            if self.regularization is not None:
                options["regularization"] = self.regularization
            if self._grad_clip is not None:
                options["grad_clip"] = self._grad_clip
            if self._name is not None:
                options["name"] = self._name
            rate = self._learning_rate
            self._made = _native.Optimizer(net, self._type, rate() if isinstance(rate, LRScheduler) else rate, **options)
        return self._made

    @contextmanager
    def _programs(self, program, startup):
        if not isinstance(startup, (Program, type(None))):
            raise TypeError("startup_program must be a Program, but received %s" % type(startup))
        net.push_programs(program, startup or default_startup_program())
        try:
            yield
        finally:
            net.pop_programs()

    def _note_schedule(self, program):
        if isinstance(self._learning_rate, LRScheduler):
            program.lr_scheduler = self._learning_rate
            program.lr_var = self._made.learning_rate
            self._learning_rate._var_name = program.lr_var.name

    def backward(self, loss, startup_program=None, parameters=None, no_grad_set=None, callbacks=None):
        """[(parameter, gradient)]"""
        need(loss, "loss", "backward")
        with self._programs(loss.block.program, startup_program):
            return self._native_optimizer().backward(loss, self._chosen(parameters), self._names(no_grad_set))

    def apply_gradients(self, params_grads):
        """Clipping, decay and update ops for (parameter, gradient) pairs."""
        with self._programs(params_grads[0][0].block.program, None):
            ops = self._native_optimizer().apply(params_grads)
        self._note_schedule(params_grads[0][0].block.program)
        return ops

    def _chosen(self, parameters):
        chosen = parameters if parameters is not None else self._parameter_list
        return [p if isinstance(p, str) else p.name for p in chosen] if chosen else None

    @staticmethod
    def _names(no_grad_set):
        return sorted(v if isinstance(v, str) else v.name for v in no_grad_set) if no_grad_set else None

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """Both: (update ops, [(parameter, gradient)])."""
        if not isinstance(loss, Variable):
            raise AssertionError("The loss should be an Tensor.")
        program = loss.block.program
        with self._programs(program, startup_program):
            out = self._native_optimizer().minimize(loss, self._chosen(parameters), self._names(no_grad_set))
        self._note_schedule(program)
        return out

    def step(self):
        raise RuntimeError("Optimizer.step is for eager execution (dygraph), which Skiff does not have: call minimize(loss) once "
                           "and run the program")

    def clear_grad(self, set_to_zero=True):
        raise RuntimeError("Optimizer.clear_grad is for eager execution (dygraph), which Skiff does not have")

    clear_gradients = clear_grad

    def state_dict(self):
        """{name: array} of the accumulators in the current scope, and the schedule's state."""
        from paddle.fluid.executor import global_scope
        names = self._made.accumulator_names() if self._made is not None else []
        found = {name: global_scope().find_var(name) for name in names}
        state = {name: var.get_tensor().numpy() for name, var in found.items()
                 if var is not None and var.get_tensor()._is_initialized()}
        if isinstance(self._learning_rate, LRScheduler):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict):
        """What state_dict gave, into the current scope."""
        from paddle.fluid.executor import global_scope
        for name, value in state_dict.items():
            if name == "LR_Scheduler":
                if isinstance(self._learning_rate, LRScheduler):
                    self._learning_rate.set_state_dict(value)
            else:
                global_scope().set(name, value)


# SGD, Momentum, Adam, AdamW, ...: rows of src/rules/optimizer_list.h
globals().update(_optimizers.classes(2, Optimizer, "", __name__))

_names.REASONS.setdefault("LBFGS", "optimizers that search along a line are not there; nearest: Adam")
__getattr__ = _names.guard(__name__)
