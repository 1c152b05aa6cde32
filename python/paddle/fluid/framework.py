"""fluid.framework: programs, blocks, variables and operators.

The objects are skiff._native's, with Fluid's names for what they can do. One net (_build.net) holds the default programs, the
counters of unique names and the name scopes.
"""
import os
import re
from collections.abc import Mapping
from contextlib import contextmanager

from skiff import _native

from paddle import _names
from paddle._mode import mode
from paddle.fluid import core, unique_name
from paddle.fluid._build import net

__all__ = ["Program", "default_startup_program", "default_main_program", "program_guard", "name_scope", "cuda_places",
           "cpu_places", "cuda_pinned_places", "in_dygraph_mode", "is_compiled_with_cuda", "Variable", "require_version",
           "device_guard", "set_flags", "get_flags", "Parameter", "Operator", "Block"]

GRAD_VAR_SUFFIX, EMPTY_VAR_NAME = core.grad_var_suffix(), core.empty_var_name()
VERSION = "1.8.5"


def dtype_name(dtype):
    """"float32" of "float32", core.VarDesc.VarType.FP32, numpy.float32, ...; None stays None."""
    if dtype is None:
        return None
    if isinstance(dtype, core.VarType):
        if dtype.dtype is None:
            raise ValueError("%r is no data type" % (dtype,))
        return dtype.dtype
    if isinstance(dtype, int) and dtype in core.VarType._names:
        return dtype_name(core.VarType(dtype))
    if isinstance(dtype, bytes):
        dtype = dtype.decode()
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(dtype)
    name = {"float": "float64", "int": "int64", "bool_": "bool"}.get(name, name)
    if name not in core.BY_DTYPE:
        raise ValueError("Not supported data type %r: expected one of %s" % (dtype, ", ".join(sorted(core.BY_DTYPE))))
    return name


def checked_dtype(dtype, layer):
    """dtype_name with the exception that input layers give."""
    try:
        return dtype_name(dtype)
    except ValueError as error:
        raise TypeError("The data type of 'dtype' in %s is wrong: %s" % (layer, error))


def convert_np_dtype_to_dtype_(np_dtype):
    """core.VarDesc.VarType of a numpy type or its name."""
    return core.BY_DTYPE[dtype_name(np_dtype)]


def dtype_is_floating(dtype):
    return dtype_name(dtype) in ("float16", "bfloat16", "float32", "float64")


def in_dygraph_mode():
    """Whether functions of fluid run at once (fluid.dygraph)."""
    return mode.guard and mode.trace is None


def grad_var_name(var_name):
    return var_name + GRAD_VAR_SUFFIX


def _tensor_op(method):
    """An operator method that appends to the program of its variable, whatever the current one is."""

    def call(self, *args):
        if self.program is net.main:
            return method(self, *args)
        net.push_programs(self.program)
        try:
            return method(self, *args)
        finally:
            net.pop_programs()

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


def _binary(op, reverse=False):
    def method(self, other):
        if not isinstance(other, _native.Var):
            if isinstance(other, (bool, int, float)):
                other = float(other)
            elif hasattr(other, "dtype") and getattr(other, "ndim", None) == 0 or hasattr(other, "__float__") and \
                    not hasattr(other, "__len__"):
                other = float(other)
            else:
                return NotImplemented
        return _native.var_op(net, op, other, self) if reverse else _native.var_op(net, op, self, other)

    return _tensor_op(method)


class Variable(_native.Var):
    """A variable of a program; made by Block.create_var and by layers."""

    def __new__(cls, block, type=core.VarType.LOD_TENSOR, name=None, shape=None, dtype=None, lod_level=None,
                capacity=None, persistable=None, error_clip=None, stop_gradient=False, is_data=False,
                need_check_feed=False, belong_to_optimizer=False, **kwargs):
        return block.create_var(type=type, name=name, shape=shape, dtype=dtype, lod_level=lod_level,
                                persistable=persistable, stop_gradient=stop_gradient, is_data=is_data,
                                need_check_feed=need_check_feed)

    def __init__(self, *args, **kwargs):
        pass

    @property
    def dtype(self):
        name = _native.Var.dtype.__get__(self)
        return core.BY_DTYPE.get(name)

    @dtype.setter
    def dtype(self, value):
        _native.Var.dtype.__set__(self, dtype_name(value))

    @property
    def type(self):
        return getattr(core.VarType, self.kind)

    @property
    def grad_name(self):
        return self.name + GRAD_VAR_SUFFIX

    @property
    def is_data(self):
        return self.__dict__.get("_is_data", self.need_check_feed)

    @is_data.setter
    def is_data(self, value):
        self._is_data = bool(value)

    @property
    def ndim(self):
        return len(self.shape)

    def astype(self, dtype):
        """A cast of it."""
        return _astype(self, dtype_name(dtype))

    def numpy(self):
        raise RuntimeError("Variable %s has no value while the program is built: fetch it with Executor.run" % self.name)

    def detach(self):
        raise RuntimeError("Variable.detach is for Tensors of eager mode: set stop_gradient")

    def _set_error_clip(self, error_clip):
        """minimize clips the gradient of this variable (ErrorClipByValue) before it flows on."""
        from paddle.fluid.clip import error_bounds
        self.error_bounds, self.error_clip = error_bounds(error_clip), error_clip
    set_error_clip = _set_error_clip

    def to_string(self, throw_on_error=False, with_details=False):
        """One line: name, kind, type, shape."""
        if not isinstance(throw_on_error, bool) or not isinstance(with_details, bool):
            raise AssertionError("to_string takes two bools")
        text = "%s : %s.shape%s.astype(%s)" % (
            self.name, self.kind, tuple(self.shape), _native.Var.dtype.__get__(self))
        if self.lod_level:
            text += ".lod_level(%d)" % self.lod_level
        if self.persistable:
            text = "persist " + text
        if with_details:
            text += " stop_gradient: %s" % self.stop_gradient
        return ("param " if self.is_parameter else "var ") + text

    def __str__(self):
        return self.to_string()

    __repr__ = __str__

    __add__ = _binary("+")
    __radd__ = _binary("+", True)
    __sub__ = _binary("-")
    __rsub__ = _binary("-", True)
    __mul__ = _binary("*")
    __rmul__ = _binary("*", True)
    __div__ = __truediv__ = _binary("/")
    __rdiv__ = __rtruediv__ = _binary("/", True)
    __pow__ = _binary("**")
    __rpow__ = _binary("**", True)
    __floordiv__ = _binary("//")
    __mod__ = _binary("%")
    __eq__ = _binary("==")
    __ne__ = _binary("!=")
    __lt__ = _binary("<")
    __le__ = _binary("<=")
    __gt__ = _binary(">")
    __ge__ = _binary(">=")
    __hash__ = object.__hash__

    @_tensor_op
    def __neg__(self):
        return _native.var_neg(net, self)

    @_tensor_op
    def __getitem__(self, item):
        return _slice(self, item)

    def __iter__(self):
        raise TypeError("a Variable cannot be iterated: its rows are known when the program runs (use layers.unstack)")

    def __bool__(self):
        return True

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self


_astype = _tensor_op(lambda var, dtype: _native.var_astype(net, var, dtype))


class _OptimizeAttr(dict):
    """optimize_attr of a parameter: writing the learning rate writes the parameter's."""

    def __init__(self, var):
        dict.__init__(self, learning_rate=var.learning_rate)
        self._var = var

    def __setitem__(self, key, value):
        dict.__setitem__(self, key, value)
        if key == "learning_rate":
            self._var.learning_rate = value


class Parameter(Variable):
    """A variable that training changes. Attributes: trainable, optimize_attr, regularizer, do_model_average, is_distributed."""

    def __new__(cls, block, shape, dtype, type=core.VarType.LOD_TENSOR, **kwargs):
        return block.create_parameter(shape=shape, dtype=dtype, **kwargs)

    @property
    def optimize_attr(self):
        return _OptimizeAttr(self)

    @optimize_attr.setter
    def optimize_attr(self, value):
        self.learning_rate = value["learning_rate"]

    @property
    def gradient_clip_attr(self):
        return self.gradient_clip

    @gradient_clip_attr.setter
    def gradient_clip_attr(self, value):
        self.gradient_clip = value

    def to_string(self, throw_on_error=False, with_details=False):
        text = Variable.to_string(self, throw_on_error, with_details)
        if with_details:
            text += " trainable: %s optimize_attr: %s do_model_average: %s" % (
                self.trainable, dict(self.optimize_attr), self.do_model_average)
        return text

    __str__ = __repr__ = lambda self: self.to_string()


def _slice(var, item):
    """var[item] as Fluid 1.8 writes it: slice, or strided_slice when a step is given."""
    axes, starts, ends, steps, decrease = [], [], [], [], []
    for dim, part in enumerate(item if isinstance(item, tuple) else (item,)):
        if isinstance(part, slice):
            if part == slice(None):
                continue
            step = 1 if part.step is None else part.step
            axes.append(dim)
            steps.append(step)
            starts.append(part.start if part.start is not None else (0 if step > 0 else 10000000))
            ends.append(part.stop if part.stop is not None else (10000000 if step > 0 else -10000000))
        elif isinstance(part, (int, _native.Var)) or hasattr(part, "__index__"):
            index = part if isinstance(part, _native.Var) else part.__index__()
            axes.append(dim)
            decrease.append(dim)
            steps.append(1)
            starts.append(index)
            if isinstance(index, _native.Var):
                ends.append(index + 1)
            else:
                ends.append(index + 1 if index != -1 else 10000000)
        else:
            raise TypeError("a Variable is indexed by int, slice or Variable, but got %s" % type(part))
    if not axes:
        return var
    strided = any(isinstance(s, _native.Var) or s != 1 for s in steps)
    inputs, attrs, flags = {"Input": [var]}, {"axes": axes, "decrease_axis": decrease}, [1] * len(axes)
    for values, key, slot in ((starts, "starts", "StartsTensorList"), (ends, "ends", "EndsTensorList"),
                              (steps, "strides", "StridesTensorList")):
        if key == "strides" and not strided:
            continue
        attrs[key] = [-1 if isinstance(v, _native.Var) else v for v in values]
        if attrs[key] != values or any(isinstance(v, _native.Var) for v in values):
            inputs[slot] = [v if isinstance(v, _native.Var) else _int_tensor(v) for v in values]
            flags = [-1 if isinstance(v, _native.Var) else f for v, f in zip(values, flags)]
    attrs["infer_flags"] = flags
    kind = "strided_slice" if strided else "slice"
    block = net.block
    out = block.create_var(name=unique_name.generate(var.name + "_" + kind), dtype=var.dtype)
    block.append_op(type=kind, inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def _int_tensor(value):
    return _native.layers.fill_constant(net, [1], "int32", value, force_cpu=True)


class Operator(_native.Op):
    """An operator of a block."""

    @property
    def desc(self):
        from paddle.fluid.op_desc import OpDesc
        return OpDesc(self)

    def __new__(cls, block, desc=None, type=None, inputs=None, outputs=None, attrs=None):
        return block.append_op(type=type, inputs=inputs, outputs=outputs, attrs=attrs)

    def __init__(self, *args, **kwargs):
        pass

    _set_attr, _rename_input, _rename_output = _native.Op.set_attr, _native.Op.rename_input, _native.Op.rename_output

    def _block_attr_id(self, name):
        return self.attr(name)

    def to_string(self, throw_on_error=False):
        return self.text()

    def __str__(self):
        return self.text()

    __repr__ = __str__


def _slots(slots):
    """Slots as append_op of Fluid takes them: str, Variable, or lists of them."""
    return dict(slots) if slots else {}


def _attrs(attrs):
    return {key: int(value) if isinstance(value, core.VarType) else value for key, value in (attrs or {}).items()}


class _Vars(Mapping):
    """The variables of a block by name, in order of creation, as they are now."""

    def __init__(self, block):
        self._block = block

    def __getitem__(self, name):
        return _native.Block.var(self._block, name)

    def __contains__(self, name):
        return isinstance(name, str) and self._block.has_var(name)

    def __iter__(self):
        return iter(self._block.var_names())

    def __len__(self):
        return len(self._block.var_names())

    def __repr__(self):
        return repr(dict(self))


class Block(_native.Block):
    """A block of a program: variables and operators."""

    @property
    def vars(self):
        """Name -> Variable, in order of creation."""
        return _Vars(self)

    @property
    def ops(self):
        return _native.Block.ops(self)

    @property
    def forward_block_idx(self):
        return self.forward_idx

    def var(self, name):
        if not isinstance(name, str):
            raise TypeError("var require string as parameter, but get %s instead." % type(name))
        if not self.has_var(name):
            raise ValueError("var %s not in this block" % name)
        return _native.Block.var(self, name)

    def _var_recursive(self, name):
        var = self.find_var(name)
        if var is None:
            raise ValueError("Var {0} is not found recursively".format(name))
        return var

    def _find_var_recursive(self, name):
        return self.find_var(name)

    def all_parameters(self):
        return [var for var in _native.Block.vars(self) if isinstance(var, Parameter)]

    def iter_parameters(self):
        return iter(self.all_parameters())

    def create_var(self, *args, **kwargs):
        """create_var(name=None, shape=None, dtype=None, type=LOD_TENSOR, lod_level=None, persistable=None, stop_gradient=False,
        initializer=None, is_data=False, need_check_feed=False)"""
        if args:
            raise TypeError("create_var takes its arguments by name")
        kind = kwargs.get("type", core.VarType.LOD_TENSOR)
        name = kwargs.get("name")
        shape = kwargs.get("shape")
        var = _native.Block.create_var(
            self, name if name is not None else unique_name.generate("_generated_var"),
            shape=None if shape is None else [int(d) if d is not None else -1 for d in shape],
            dtype=dtype_name(kwargs.get("dtype")), lod_level=kwargs.get("lod_level"),
            kind=getattr(kind, "name", kind), persistable=kwargs.get("persistable"),
            stop_gradient=bool(kwargs.get("stop_gradient", False)),
            need_check_feed=True if kwargs.get("need_check_feed") else None)
        if kwargs.get("is_data"):
            var.is_data = True
        if kwargs.get("initializer") is not None:
            kwargs["initializer"](var, self)
        return var

    def create_parameter(self, *args, **kwargs):
        """create_parameter(shape, dtype, name=None, initializer=None, trainable=True, ...)"""
        if args:
            raise TypeError("create_parameter takes its arguments by name")
        shape = kwargs.get("shape")
        if shape is None or not len(shape):
            raise ValueError("The shape of Parameter should not be None or empty")
        if any(d < 0 for d in shape):
            raise ValueError("Expected every dim's size to be larger than 0, but the shape is {}".format(list(shape)))
        if kwargs.get("dtype") is None:
            raise ValueError("The dtype of Parameter should not be None")
        optimize = kwargs.get("optimize_attr") or {"learning_rate": 1.0}
        name = kwargs.get("name")
        var = _native.Block.create_parameter(
            self, name if name is not None else unique_name.generate("_generated_var"), list(shape),
            dtype_name(kwargs["dtype"]), trainable=kwargs.get("trainable", True),
            learning_rate=kwargs.get("learning_rate", optimize["learning_rate"]),
            regularizer=kwargs.get("regularizer"), gradient_clip=kwargs.get("gradient_clip_attr"),
            do_model_average=kwargs.get("do_model_average", True) is not False,
            is_distributed=kwargs.get("is_distributed", False), stop_gradient=kwargs.get("stop_gradient", False))
        if kwargs.get("initializer") is not None:
            kwargs["initializer"](var, self)
        return var

    def append_op(self, type=None, inputs=None, outputs=None, attrs=None, stop_gradient=False, **more):
        if type is None:
            raise ValueError("`type` to initialized an Operator can not be None.")
        return _native.Block.append_op(self, type, _slots(inputs), _slots(outputs), _attrs(attrs), **more)

    def _prepend_op(self, type=None, inputs=None, outputs=None, attrs=None, **more):
        return _native.Block.append_op(self, type, _slots(inputs), _slots(outputs), _attrs(attrs), at=0)

    def _insert_op(self, index, type=None, inputs=None, outputs=None, attrs=None, **more):
        return _native.Block.append_op(self, type, _slots(inputs), _slots(outputs), _attrs(attrs), at=index)

    def _remove_op(self, index):
        self.remove_ops(index, 1)

    def _remove_var(self, name):
        self.remove_var(name)

    def _rename_var(self, name, new_name):
        return self.rename_var(name, new_name)

    def to_string(self, throw_on_error=False, with_details=False):
        lines = ["{ // block %d" % self.idx]
        lines += ["    " + var.to_string(throw_on_error, with_details) for var in _native.Block.vars(self)]
        lines += ["    " + op.to_string(throw_on_error) for op in self.ops]
        return "\n".join(lines + ["}", ""])

    def __str__(self):
        return self.to_string()

    __repr__ = __str__


class _ProgramDesc(object):
    """program.desc: only the serialized form."""

    def __init__(self, program):
        self._program = program

    def serialize_to_string(self):
        return self._program.to_bytes()

    def num_blocks(self):
        return self._program.num_blocks


class Program(_native.Program):
    """A program: what to compute, or how to begin (startup program)."""

    #: what a split and fleet leave here; see DistributeTranspiler
    _is_distributed = False
    _is_chief = False
    _trainers_endpoints = ()

    @property
    def random_seed(self):
        return _native.Program.random_seed.__get__(self)

    @random_seed.setter
    def random_seed(self, seed):
        if not isinstance(seed, int):
            raise ValueError("Program.random_seed's input seed must be an integer, but received %s." % type(seed))
        _native.Program.random_seed.__set__(self, seed)

    def global_seed(self, seed=0):
        """The seed of this program and, as in Fluid 1.8, of the programs made after it."""
        global _global_seed
        _global_seed = seed
        self.random_seed = seed

    def __init__(self):
        _native.Program.__init__(self)
        if _generation == 2:
            self.generation = 2
        if _global_seed:
            self.random_seed = _global_seed

    @property
    def _fleet_opt(self):
        """Settings of the trainer that fleet and scripts leave here."""
        return self.__dict__.setdefault("_trainer_settings", {})

    @_fleet_opt.setter
    def _fleet_opt(self, value):
        self._trainer_settings = value

    @property
    def desc(self):
        return _ProgramDesc(self)

    @property
    def blocks(self):
        return [self.block(i) for i in range(self.num_blocks)]

    def global_block(self):
        return self.block(0)

    @property
    def current_block_idx(self):
        return net.block.idx if net.main is self else 0

    def current_block(self):
        """The block that layers append to."""
        return self.block(self.current_block_idx)

    def _create_block(self, parent_idx=None):
        if net.main is self and parent_idx is None:
            return net.enter_block()
        return self.create_block(self.current_block_idx if parent_idx is None else parent_idx)

    def _rollback(self):
        net.leave_block()

    def list_vars(self):
        """All variables of all blocks."""
        for block in self.blocks:
            for var in _native.Block.vars(block):
                yield var

    def all_parameters(self):
        return [var for block in self.blocks for var in block.all_parameters()]

    def clone(self, for_test=False):
        """A copy; for_test: without backward and optimizer operators, with is_test set. Of a program that was split on a trainer:
        a copy of the trainer's."""
        other = _native.Program.clone(self, for_test)
        other._copy_notes(self)
        return other

    def _copy_notes(self, source):
        """Copies of a program keep its attributes of Python: its readers, and the job it is part of."""
        for key in ("_readers", "_job"):
            if key in source.__dict__:
                self.__dict__[key] = source.__dict__[key]

    def _prune(self, targets):
        return self._prune_with_input([], targets)

    def _prune_with_input(self, feeded_var_names, targets):
        targets = targets if isinstance(targets, (list, tuple)) else [targets]
        for name in feeded_var_names:
            if not isinstance(name, str):
                raise ValueError("All feeded_var_names of Program._prune_with_input() can only be str, but received %s." %
                                 type(name))
        return self.cut(feeded_var_names, [getattr(t, "name", t) for t in targets])

    def _inference_optimize(self, prune_read_op=True):
        return self.clone(for_test=True)

    @contextmanager
    def _optimized_guard(self, param_and_grads):
        names = [v if isinstance(v, str) else v.name for v in param_and_grads if v is not None]
        with self._role(2, names):
            yield

    @contextmanager
    def _lr_schedule_guard(self, is_with_opt=False):
        with self._role(18 if is_with_opt else 16, []):
            yield

    @contextmanager
    def _backward_role_guard(self):
        with self._role(1, self.op_role_var):
            yield

    @contextmanager
    def _role(self, role, names):
        before = self.op_role, self.op_role_var
        self.op_role, self.op_role_var = role, names
        try:
            yield
        finally:
            self.op_role, self.op_role_var = before

    @staticmethod
    def parse_from_string(binary_str):
        """From the bytes of ProgramDesc."""
        return _native.parse_program(binary_str)

    def to_string(self, throw_on_error=False, with_details=False):
        """Readable text."""
        if not isinstance(throw_on_error, bool):
            raise AssertionError("The type of throw_on_error parameter is wrong, expected bool, but received %s."
                                 % type(throw_on_error))
        if not isinstance(with_details, bool):
            raise AssertionError("The type of with_details parameter is wrong, expected bool, but received %s."
                                 % type(with_details))
        return "".join(block.to_string(throw_on_error, with_details) for block in self.blocks)

    def __str__(self):
        return self.to_string()

    __repr__ = __str__

    def __deepcopy__(self, memo):
        return self.clone()


_global_seed = 0
#: which Paddle's meaning new programs have: 1 (Fluid) or 2 (after paddle.enable_static())
_generation = 1
_native.set_classes(Program=Program, Block=Block, Var=Variable, Parameter=Parameter, Op=Operator)
# the default programs, made by the classes above
net.set_programs(Program(), Program())


def set_generation(generation):
    """New programs mean what they do in Paddle 1.x or 2.x; the default ones are turned too."""
    global _generation
    _generation = generation
    for program in (net.main, net.startup):
        program.generation = generation


def default_startup_program():
    """What fills the parameters."""
    return net.startup


def default_main_program():
    """What layers append to."""
    return net.main


def switch_main_program(program):
    before = net.main
    net.set_programs(main=program)
    return before


def switch_startup_program(program):
    before = net.startup
    net.set_programs(startup=program)
    return before


@contextmanager
def program_guard(main_program, startup_program=None):
    """Layers append to these programs inside."""
    if not isinstance(main_program, Program):
        raise TypeError("The type of 'main_program' in fluid.program_guard must be Program, but received %s."
                        % type(main_program))
    if startup_program is not None and not isinstance(startup_program, Program):
        raise TypeError("The type of 'startup_program' in fluid.program_guard must be Program, but received %s."
                        % type(startup_program))
    net.push_programs(main_program, startup_program)
    try:
        yield
    finally:
        net.pop_programs()


@contextmanager
def name_scope(prefix=None):
    """Marks the operators made inside; names of variables stay as they are."""
    if not prefix:
        raise AssertionError("namescope prefix can not be empty.")
    net.push_scope(prefix)
    try:
        yield
    finally:
        net.pop_scope()


@contextmanager
def device_guard(device=None):
    """Accepted; everything is computed on the CPU."""
    if device is not None and device.split(":")[0] not in ("cpu", "gpu", ""):
        raise ValueError("The Attr(device) should be 'cpu' or 'gpu', but received %s" % device)
    yield


def is_compiled_with_cuda():
    return False


def _cpu_num():
    if "CPU_NUM" not in os.environ:
        os.environ["CPU_NUM"] = "1"
    return int(os.environ["CPU_NUM"])


def cpu_places(device_count=None):
    """device_count (None: the environment's CPU_NUM, or 1) times the CPU."""
    return [core.CPUPlace()] * (_cpu_num() if device_count is None else device_count)


def cuda_places(device_ids=None):
    raise AssertionError("Skiff is not compiled with CUDA: use fluid.cpu_places()")


def cuda_pinned_places(device_count=None):
    raise AssertionError("Skiff is not compiled with CUDA: use fluid.cpu_places()")


def require_version(min_version, max_version=None):
    """Raises when this is not between the two versions; Skiff speaks Fluid 1.8.5."""

    def numbers(text, what):
        if not isinstance(text, str):
            raise TypeError("The type of '%s' in require_version must be str, but received %s." % (what, type(text)))
        if not re.match(r"^\d+(\.\d+){0,3}$", text):
            raise ValueError("The value of '%s' in require_version must be in format '\\d+(\\.\\d+){0,3}', like '1.5.2.0', "
                             "but received %s" % (what, text))
        return [int(part) for part in text.split(".")] + [0] * (3 - text.count("."))

    have = numbers(VERSION, "version")
    if have < numbers(min_version, "min_version") or \
            max_version is not None and have > numbers(max_version, "max_version"):
        raise Exception("PaddlePaddle version %s or higher%s is required, but %s (Skiff) is installed." %
                        (min_version, "" if max_version is None else ", up to %s," % max_version, VERSION))


def load_op_library(lib_filename):
    raise NotImplementedError("load_op_library: operators of Skiff are written in C under src/ops")


_flags = {"FLAGS_eager_delete_tensor_gb": 0.0, "FLAGS_check_nan_inf": False}


def set_flags(flags):
    """Stores FLAGS_...; docs/reference/environment.md lists those that Skiff reads."""
    if not isinstance(flags, dict):
        raise TypeError("flags in set_flags should be a dict")
    for key, value in flags.items():
        _flags[key] = value
        os.environ[key] = str(int(value)) if isinstance(value, bool) else str(value)


def get_flags(flags):
    """{name: value} of the names that were set (here or in the environment)."""
    names = flags if isinstance(flags, (list, tuple)) else [flags]
    if not all(isinstance(name, str) for name in names):
        raise TypeError("Flags in get_flags should be a list, tuple or string.")
    found = {}
    for name in names:
        if name not in _flags and name not in os.environ:
            raise ValueError("Flag %s cannot get its value through this function: it was not set" % name)
        found[name] = _flags.get(name, os.environ.get(name))
    return found


_dygraph_tracer_ = None
__getattr__ = _names.guard(__name__)
