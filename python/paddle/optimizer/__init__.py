"""paddle.optimizer: Skiff's optimizers with the arguments of 2.x."""
from contextlib import contextmanager

from skiff import _native

from paddle import _names, _optimizers
from paddle._mode import mode
from paddle._op import Value, need
from paddle._tensor import Tensor
from paddle.fluid._build import net
from paddle.fluid.framework import Program, Variable, default_startup_program
from paddle.optimizer import _eager, _lbfgs
from paddle.optimizer import lr  # noqa: F401
from paddle.optimizer.lr import LRScheduler


class Optimizer(object):
    """Base of the optimizers. Eager: step() updates the parameters that have a gradient. Static: minimize appends gradients,
    clipping, decay and the update ops to the loss' program."""

    _type = None
    _settings = {}

    def __init__(self, learning_rate=0.001, parameters=None, weight_decay=None, grad_clip=None, name=None,
                 options=None):
        self._eager = mode.eager
        self._parameter_list = self._checked(parameters)
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float, LRScheduler, Variable)):
            raise TypeError("learning rate should be float or LRScheduler, got %s here" % type(learning_rate))
        if grad_clip is not None and not hasattr(grad_clip, "_spec"):
            raise TypeError("'grad_clip' should be an instance of GradientClipBase's derived class")
        if weight_decay is not None and not isinstance(weight_decay, (int, float)) and not hasattr(weight_decay, "_spec"):
            raise TypeError("weight_decay should be float or WeightDecayRegularizer.")
        self._learning_rate = learning_rate
        self.regularization = _eager.decay_of(weight_decay)
        self._grad_clip = grad_clip
        self._name = name
        self._options = options or {}
        self._made = None       # of programs
        self._updates = None    # of eager mode: a native optimizer for each group
        self._param_groups = self._groups()

    def _checked(self, parameters):
        if isinstance(parameters, Value):
            raise TypeError("`parameters` argument given to the optimizer should be an iterable of paddle Tensors, but got "
                            "argument type is `%s`." % type(parameters))
        if isinstance(parameters, dict):
            raise TypeError("`parameters` argument should not get dict type, if parameter groups is needed, please set "
                            "`parameters` as list of dict")
        if parameters is None and self._eager:
            raise AttributeError("parameters argument given to the Optimizer should not be None in dygraph mode.")
        return None if parameters is None else list(parameters)

    def _groups(self):
        """The parameters, or the groups of them."""
        given = self._parameter_list
        if not given or not isinstance(given[0], dict):
            return given
        if not self._eager:
            raise TypeError("parameter groups are for eager mode: give a list of parameters, and rates by ParamAttr")
        setting = self._settings.get("weight_decay")
        decay = self._options.get(setting["name"]) if setting else self.regularization
        groups = _eager.groups_of(given, {"weight_decay": decay, "grad_clip": self._grad_clip})
        for group in groups:
            _eager.set_attributes(group, setting is not None)
        return groups

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
        if not isinstance(value, (int, float)):
            raise TypeError("The type of 'value' in optimizer.set_lr must be float, but received %s." % type(value))
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError("optimizer's learning rate can't be LRScheduler when invoke this API, because this will lead to "
                               "conflict.")
        self._learning_rate = float(value)
        if self._made is not None and self._made.learning_rate is not None:
            import numpy
            from paddle.fluid.executor import global_scope
            global_scope().set(self._made.learning_rate.name, numpy.array(float(value), "float32"))

    def set_lr_scheduler(self, scheduler):
        """A schedule from the next step on."""
        if not isinstance(scheduler, LRScheduler):
            raise TypeError("The type of 'scheduler' in optimizer.set_lr_schduler must be LRScheduler, but received %s." %
                            type(scheduler))
        self._learning_rate = scheduler

    # ---- eager ----

    def _every(self):
        """All parameters, of all groups."""
        groups = self._param_groups
        if groups and isinstance(groups[0], dict):
            return [parameter for group in groups for parameter in group["params"]]
        return groups

    def _start(self):
        """Makes the native optimizers."""
        groups = self._param_groups
        if groups and isinstance(groups[0], dict):
            made = [self._of_group(group) for group in groups]
        else:
            made = [_eager.make(self._type, groups, self._options, self.regularization, self._grad_clip, self._name)]
        self._updates = made
        return made

    def _of_group(self, group):
        options = dict(self._options)
        for argument, value in group.items():
            if argument in self._settings and argument != "learning_rate":
                options[self._settings[argument]["name"]] = _optimizers.option(type(self).__name__, self._settings[argument],
                                                                               value)
        return _eager.make(self._type, group["params"], options, None, group["grad_clip"], self._name)

    def step(self):
        """Updates the parameters that have a gradient."""
        if not self._eager:
            raise RuntimeError("Optimizer.step is for eager mode: with programs, call minimize(loss) once and run the program")
        rate = self._learning_rate
        if rate.__class__ is not float:
            rate = self.get_lr()
        for update in self._updates or self._start():
            update.step(rate)

    def clear_grad(self, set_to_zero=True):
        """The parameters' gradients become zeros; set_to_zero=False: None."""
        if not self._eager:
            raise RuntimeError("Optimizer.clear_grad is for eager mode: gradients of programs do not add up")
        for update in self._updates or self._start():
            update.clear_grad(set_to_zero)

    clear_gradients = clear_grad

    def _step_with(self, params_grads):
        """step() for these pairs only."""
        before = [(parameter, parameter.grad) for parameter, _ in params_grads]
        with _eager.only([parameter for parameter, _ in params_grads], self._every()):
            for parameter, grad in params_grads:
                parameter.grad = grad
            try:
                self.step()
            finally:
                for parameter, grad in before:
                    parameter.grad = grad
        return []

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
        """[(parameter, gradient)]; eager: of what loss.backward() has left there."""
        need(loss, "loss", "backward")
        if isinstance(loss, Tensor):
            return [(parameter, parameter.grad) for parameter in parameters or self._every() if parameter.grad is not None]
        with self._programs(loss.block.program, startup_program):
            return self._native_optimizer().backward(loss, self._chosen(parameters), self._names(no_grad_set))

    def apply_optimize(self, loss, startup_program, params_grads):
        """apply_gradients; the loss and the startup program are known."""
        return self.apply_gradients(params_grads)

    def apply_gradients(self, params_grads):
        """Clipping, decay and updates for (parameter, gradient) pairs."""
        if self._eager:
            return self._step_with(params_grads)
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
        """Both: (update ops, [(parameter, gradient)]). Eager: loss.backward() comes before, by you."""
        if not isinstance(loss, Value):
            raise AssertionError("The loss should be an Tensor.")
        if isinstance(loss, Tensor):
            pairs = self.backward(loss, parameters=parameters)
            return self._step_with(pairs), pairs
        program = loss.block.program
        with self._programs(program, startup_program):
            out = self._native_optimizer().minimize(loss, self._chosen(parameters), self._names(no_grad_set))
        self._note_schedule(program)
        from paddle.distributed.fleet import _local
        _local.note(program, default_startup_program() if startup_program is None else startup_program)
        return out

    # ---- state ----

    def _scope_state(self):
        from paddle.fluid.executor import global_scope
        names = self._made.accumulator_names() if self._made is not None else []
        found = {name: global_scope().find_var(name) for name in names}
        return {name: var.get_tensor().numpy() for name, var in found.items()
                if var is not None and var.get_tensor()._is_initialized()}

    def _eager_state(self):
        state = {}
        for update in self._updates or ():
            for name, tensor in update.state():
                tensor.name, tensor.persistable = name, True
                state[name] = tensor
        return state

    def state_dict(self):
        """{name: accumulator} and the schedule's state. Static: arrays, from the current scope."""
        state = self._eager_state() if self._eager else self._scope_state()
        if isinstance(self._learning_rate, LRScheduler):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict):
        """What state_dict gave. Static: into the current scope."""
        state = {name: value for name, value in state_dict.items() if name not in ("LR_Scheduler", "master_weights")}
        if isinstance(self._learning_rate, LRScheduler) and (self._eager or "LR_Scheduler" in state_dict):
            self._learning_rate.set_state_dict(state_dict["LR_Scheduler"])
        if self._eager:
            state = _eager.as_tensors(state)
            for update in self._updates or self._start():
                update.set_state(state)
            return
        from paddle.fluid.executor import global_scope
        for name, value in state.items():
            global_scope().set(name, value)

    set_dict = set_state_dict


# SGD, Momentum, Adam, AdamW, ...: rows of src/rules/optimizer_list.h
globals().update(_optimizers.classes(2, Optimizer, "", __name__))

LBFGS = _lbfgs.make(Optimizer)

__getattr__ = _names.guard(__name__)
