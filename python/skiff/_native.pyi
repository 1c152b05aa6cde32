"""The native module of Skiff: networks, programs, values, running, training, files, splitting.

All logic is in C; this module converts arguments and results. Rules that hold everywhere:

* Errors are raised by the call that fails. The message is Skiff's own. Types: ValueError (bad arguments, shapes that do not
  fit, values out of range, malformed data), TypeError (wrong data types, Python objects of the wrong kind), NotFoundError (a
  name that does not exist: a KeyError and a ValueError), MissingFileError (also a FileNotFoundError), OSError (files),
  NotImplementedError (not supported), MemoryError, TimeoutError, ConnectionError (the connection is lost), RuntimeError
  (everything else). The C status is in the attribute `status` ("INVALID", "SHAPE", ...) of the exception.
* After a failed layer the net has forgotten the error: building goes on.
* Calls that may take long (run, train, load, save) release the interpreter lock. Net, Program and what belongs to it are for
  one thread at a time; so are an Executor and a Dataset.
* Arrays: whatever has the buffer protocol (numpy arrays, memoryview, array.array) goes in without a copy where its memory is
  contiguous; Tensor has the buffer protocol, so `numpy.asarray(tensor)` is a view. numpy itself is imported only when a numpy
  array has to be made. bfloat16 is uint16 for numpy.
* Data types are names: "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool".
* Program, Block, Var, Op, Tensor and Scope may be subclassed; `set_classes` says which class the module makes itself.
  A Program remembers its wrappers: the same variable is the same Python object as long as the program lives, so attributes
  that a subclass keeps on it stay.
"""
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union

__version__: str

class NotFoundError(KeyError, ValueError):
    """A name that does not exist."""

    status: str

class LostPeerError(ConnectionError, RuntimeError):
    """Another process of the job was lost, or has failed."""
class MissingFileError(FileNotFoundError, NotFoundError):
    """A file, or a variable in a file, that does not exist."""

# ---- what describes parameters -------------------------------------------------------------------------------------------

#: An initializer, regularizer or clip: a pair (kind, fields), or any object with an attribute `_spec` that is such a pair.
#: Fields left out have Fluid's defaults.
#:   initializers  ("constant", {value, force_cpu})      ("uniform", {low, high, seed, diag_num, diag_step, diag_val})
#:                 ("normal", {loc, scale, seed})        ("truncated_normal", {loc, scale, seed})
#:                 ("xavier", {uniform, fan_in, fan_out, seed})   ("msra", {uniform, fan_in, seed})
#:                 ("bilinear", {})                      ("values", {values: array of float32 or int32})
#:   regularizers  ("l1", {coeff})  ("l2", {coeff})
#:   clips         ("value", {max, min})   ("norm", {clip_norm})
#:                 ("global_norm", {clip_norm, group_name, need_clip: callable(Var) -> bool})   (need_clip for all kinds)
Spec = Union[Tuple[str, Dict[str, Any]], Any]

#: A parameter attribute: None (defaults), False (there is no such parameter), a str (its name), or any object, of whose
#: attributes these are read: name, initializer, learning_rate, regularizer, gradient_clip (or grad_clip, need not be
#: there), trainable, do_model_average. Objects without them have the defaults.
ParamAttr = Any

# ---- programs ------------------------------------------------------------------------------------------------------------

class Program:
    """A program: blocks of variables and ops. `Program()` makes an empty one of 1.x meaning."""

    random_seed: int
    #: 1 or 2: which meaning op types have (Paddle 1.x or 2.x). Setting it binds the ops there are anew.
    generation: int
    version: int
    #: op_role and op_role_var given to ops that are appended from now on (0 forward, 1 backward, 2 optimize, 4 rpc, 8 dist,
    #: 16 lr schedule, 256 loss; or-ed).
    op_role: int
    op_role_var: List[str]
    #: attribute op_namescope of ops that are appended from now on
    op_namescope: str
    def __init__(self) -> None: ...
    @property
    def num_blocks(self) -> int: ...
    def block(self, idx: int) -> Block: ...
    def create_block(self, parent: int = 0, forward: int = -1) -> Block:
        """A new block at the end. Where layers append is the net's business: Net.enter_block, Net.block."""
    def clone(self, for_test: bool = False) -> Program:
        """A deep copy. for_test: without backward and optimizer ops, is_test set, as Fluid does."""
    def prune(self, feeds: Sequence[str], targets: Sequence[str]) -> Program:
        """What save_inference_model keeps: what the targets need of the feeds."""
    def cut(self, feeds: Sequence[str], targets: Sequence[str]) -> Program:
        """The ops that the targets need, unchanged; unused feeds are ignored."""
    def cut_training(self, feeds: Sequence[str], targets: Sequence[str], updates: Sequence[int] | None = None) -> Program:
        """The same with the optimizer ops at these positions of block 0 (None: all of them), and what they need."""
    def replicate(self, devices: int, scale_one: bool = False) -> Program:
        """Data parallelism: a joint program for several devices; feeds and fetches by replica_name."""
    def replica_name(self, name: str, device: int) -> str: ...
    def text(self) -> str:
        """Readable form, one variable or op a line (src/program/README.md has the grammar)."""
    def to_bytes(self) -> bytes:
        """ProgramDesc, as in a __model__ file."""
    def find_var(self, name: str) -> Optional[Var]:
        """In any block; the global block first."""
    def run_as(self, as_program: Optional[Program]) -> None:
        """From now on running or cloning this program runs or clones that one; None: itself again."""
    def verify(self) -> None:
        """Raises when something does not fit: unknown ops, missing slots, shapes."""
    def allow_ops(self, ops: str, dir: Optional[str] = None) -> None:
        """A program that was read from a file or from bytes is refused when it holds ops that act outside of it (save, load,
        send, ...). This allows some, "save,load", in place of what was allowed before; their files must lie below dir."""
    def diff(self, other: Program) -> str:
        """The differences in words, "" when there are none (op_callstack and orders are ignored)."""
    @property
    def state(self) -> Tuple[int, int]:
        """Another pair whenever a run would do something else: the program was changed, or is run as another one."""
    @property
    def waits(self) -> Optional[str]:
        """What its next run waits for other processes of its job for, for as long as it takes: "join" (a worker's, before it
        is in the job), "serve" (a server's), or None."""

def parse_program(data: bytes) -> Program:
    """From ProgramDesc bytes (or the text form)."""
def read_program(path: str) -> Program: ...
def write_program(program: Program, path: str) -> None: ...

class Block:
    @property
    def idx(self) -> int: ...
    @property
    def parent_idx(self) -> int: ...
    #: the block that this one is the gradient of; -1: none
    forward_idx: int
    @property
    def program(self) -> Program: ...
    def vars(self) -> List[Var]:
        """The block's own, in order of creation."""
    def var_names(self) -> List[str]: ...
    def var(self, name: str) -> Var:
        """The block's own; KeyError when there is none."""
    def has_var(self, name: str) -> bool: ...
    def find_var(self, name: str) -> Optional[Var]:
        """Here or in a parent."""
    def create_var(
        self,
        name: str,
        *,
        shape: Optional[Sequence[int]] = None,
        dtype: Optional[str] = None,
        lod_level: Optional[int] = None,
        kind: str = "LOD_TENSOR",
        persistable: Optional[bool] = None,
        stop_gradient: bool = False,
        need_check_feed: Optional[bool] = None,
    ) -> Var:
        """The existing variable of that name if there is one; what is given must then agree with it (ValueError), as in Fluid.
        A variable of kind LOD_TENSOR without dtype takes the type that the op writing it gives. None: the field stays as it is
        (absent in the file for a new variable)."""
    def create_parameter(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        *,
        trainable: bool = True,
        learning_rate: float = 1.0,
        regularizer: Optional[Spec] = None,
        gradient_clip: Optional[Spec] = None,
        do_model_average: bool = True,
        is_distributed: bool = False,
        stop_gradient: bool = False,
        initializer: Optional[Spec] = None,
        net: Optional["Net"] = None,
    ) -> Var:
        """A persistable variable that minimize treats as a parameter. With net and initializer: the op that fills it is also
        put at the front of this block (for startup blocks)."""
    def remove_var(self, name: str) -> None: ...
    def rename_var(self, old: str, new: str) -> Var:
        """Also in all ops of this block."""
    @property
    def num_ops(self) -> int: ...
    def ops(self) -> List[Op]: ...
    def op(self, idx: int) -> Op: ...
    def append_op(
        self,
        type: str,
        inputs: Optional[Mapping[str, Any]] = None,
        outputs: Optional[Mapping[str, Any]] = None,
        attrs: Optional[Mapping[str, Any]] = None,
        *,
        at: int = -1,
        infer: bool = True,
        raw: bool = False,
    ) -> Op:
        """An op at position `at` (-1: the end; 0: prepend), any type that the registry has, as Fluid's append_op does it.

        Slots: a Var, a str (the name), or a list of them. Declared input slots that are not given are listed empty; undeclared
        slots and attributes are dropped, None values too. Attributes get the declared type (a float for a FLOAT attribute may
        be given as int; a Block for BLOCK; a dtype name or number for `dtype`, `in_dtype`, `out_dtype`), missing ones their
        defaults, and the op the current role, role variables and name scope of the program. Then the shape rule runs and fills
        the output variables; output variables that do not exist are made. In programs of generation 1 an output variable that
        has a dtype keeps it; in generation 2 the rule decides.
        infer=False: no shape rule. raw=True: slots and attributes exactly as given (types from the Python values: bool, int ->
        INT, or LONG when it does not fit, float -> FLOAT, str, lists), unknown op types allowed, no shape rule."""
    def remove_ops(self, at: int, n: int = 1) -> None: ...
    def infer_op(self, idx: int) -> None:
        """Runs the shape rule of an op again."""

class Var:
    """A variable of a program. Attributes can be read and, where a setter is named, set."""

    name: str  # setter: Block.rename_var of its block
    shape: Tuple[int, ...]
    dtype: Optional[str]  # None: not known yet
    lod_level: int
    persistable: bool
    stop_gradient: bool
    need_check_feed: bool
    error_bounds: Optional[Tuple[float, float]]  #: set only: minimize clips its gradient
    #: "LOD_TENSOR", "SELECTED_ROWS", "LOD_TENSOR_ARRAY", "STEP_SCOPES", "FEED_MINIBATCH", "FETCH_LIST", "RAW", "READER", ...
    kind: str
    #: made by create_parameter or a layer (or marked in a 2.x file)
    @property
    def is_parameter(self) -> bool: ...
    trainable: bool  # of parameters; True for other variables
    learning_rate: float
    regularizer: Optional[Spec]
    gradient_clip: Optional[Spec]
    do_model_average: bool
    is_distributed: bool
    @property
    def block(self) -> Block: ...
    @property
    def program(self) -> Program: ...
    @property
    def op(self) -> Optional[Op]:
        """The op that writes it last, as far as it was seen while building."""

class Op:
    @property
    def type(self) -> str: ...
    @property
    def block(self) -> Block: ...
    @property
    def idx(self) -> int:
        """Its position now; -1 when it was removed."""
    @property
    def input_names(self) -> List[str]:
        """The slots."""
    @property
    def output_names(self) -> List[str]: ...
    def input(self, slot: str) -> List[str]:
        """Names of the variables; [] when the slot is not there."""
    def output(self, slot: str) -> List[str]: ...
    @property
    def input_arg_names(self) -> List[str]: ...
    @property
    def output_arg_names(self) -> List[str]: ...
    def set_input(self, slot: str, names: Sequence[Union[str, Var]]) -> None: ...
    def set_output(self, slot: str, names: Sequence[Union[str, Var]]) -> None: ...
    def rename_input(self, old: str, new: str) -> None: ...
    def rename_output(self, old: str, new: str) -> None: ...
    @property
    def attr_names(self) -> List[str]: ...
    def has_attr(self, name: str) -> bool: ...
    def attr(self, name: str) -> Any:
        """int, float, bool, str, list; the index of a block. KeyError when the op has no such attribute."""
    def attr_type(self, name: str) -> str:
        """"INT", "FLOATS", "BLOCK", ... """
    def all_attrs(self) -> Dict[str, Any]: ...
    def set_attr(self, name: str, value: Any, type: Optional[str] = None) -> None:
        """In the type that is declared, the one it has, the given one, or that of the Python value."""
    def remove_attr(self, name: str) -> None: ...
    def text(self) -> str:
        """Its line of Program.text()."""
    def known(self) -> bool:
        """Whether the registry has the type."""

def op_types(generation: int = 1) -> List[str]:
    """Every op type of the registry."""
def op_info(type: str, generation: int = 1) -> Dict[str, Any]:
    """{"inputs": [(slot, list?, optional?)], "outputs": [...], "attrs": [(name, "INT", default or None, required?)]};
    KeyError when there is no such op; the message has the nearest name."""

def set_host(print: Callable[[str], Any], call: Callable[[int, List[Optional[Tensor]], int], List[Any]]) -> None:
    """What print ops write with, and what py_func ops call: (number, inputs, number of outputs) -> outputs."""
def set_classes(**classes: Type) -> None:
    """Program=, Block=, Var=, Parameter=, Op=, Tensor=, Scope=: the classes (subclasses of this module's; Parameter of Var) of
    which the module makes instances. They are made without calling __init__; a method `_skiff_made(self)`, where the class has
    one, is called instead."""

# ---- nets ----------------------------------------------------------------------------------------------------------------

class Net:
    """Where layers append: a stack of program pairs, the counters of unique names, name scopes. It begins with two empty
    programs of its own."""

    def __init__(self) -> None: ...
    @property
    def main(self) -> Program: ...
    @property
    def startup(self) -> Program: ...
    #: where layers append: a block of `main`. Settable to any block of it.
    block: Block
    def push_programs(self, main: Program, startup: Optional[Program] = None) -> None: ...
    def pop_programs(self) -> None: ...
    def set_programs(self, main: Optional[Program] = None, startup: Optional[Program] = None) -> None:
        """Replaces the pair on top (switch_main_program, switch_startup_program)."""
    def push_names(self, prefix: str = "") -> None:
        """unique_name.guard: fresh counters until the pop."""
    def pop_names(self) -> None: ...
    def switch_names(self, names: Optional[Names]) -> Names:
        """unique_name.switch: these counters from now on (None: fresh ones); the ones before are given back. The counters move:
        the object given has fresh ones afterwards."""
    def name(self, key: str) -> str:
        """unique_name.generate."""
    def push_scope(self, name: str) -> None:
        """name_scope: op_namescope of ops."""
    def pop_scope(self) -> None: ...
    def enter_block(self) -> Block:
        """A new block of main under the current one; layers append to it until leave_block."""
    def leave_block(self) -> Block:
        """Back to the parent, which is returned."""
    def init_var(self, var: Var, initializer: Spec) -> None:
        """Makes the variable in the startup program too, with the op that fills it at the front (Fluid's
        helper.set_variable_initializer)."""
    def set_gradient_clip(self, clip: Optional[Spec], params: Optional[Sequence[str]] = None) -> None: ...
    def backward(
        self,
        loss: Var,
        parameters: Optional[Sequence[Union[str, Var]]] = None,
        no_grad: Optional[Sequence[Union[str, Var]]] = None,
    ) -> List[Tuple[Var, Var]]:
        """append_backward: (parameter, gradient) pairs."""
    def gradients(
        self,
        targets: Sequence[Var],
        inputs: Sequence[Var],
        target_gradients: Optional[Sequence[Optional[Var]]] = None,
        no_grad: Optional[Sequence[Union[str, Var]]] = None,
    ) -> List[Optional[Var]]: ...
    def switch_begin(self) -> Switch: ...
    def while_begin(self, condition: Var, is_test: bool = False) -> While: ...
    def branch_begin(self, conditions: Sequence[Var], is_scalar: bool = False) -> Branch: ...
    def select_input(self, inputs: Sequence[Var], mask: Var) -> Var: ...
    def if_else(self, condition: Var, name: str | None = None) -> IfElse: ...
    def static_rnn(self, name: str | None = None) -> StaticRnn: ...
    def dynamic_rnn(self, name: str | None = None) -> DynamicRnn: ...

class Names:
    """Counters of unique names that wait to be used (Net.switch_names)."""

    def __init__(self, prefix: Optional[str] = None) -> None: ...

class Switch:
    def case(self, condition: Var) -> None: ...
    def default(self) -> None: ...
    def end(self) -> None: ...

class While:
    def end(self) -> None: ...

class Branch:
    def output(self, x: Var) -> Var:
        """A variable around the block that gets the value of x."""
    def end(self) -> None: ...

class IfElse:
    def begin(self, side: bool) -> None: ...
    def input(self, x: Var) -> Var: ...
    def output(self, x: Var) -> None: ...
    def end(self) -> None: ...
    def results(self) -> list[Var]: ...

class StaticRnn:
    def begin(self) -> None: ...
    def input(self, x: Var) -> Var: ...
    def memory(self, x: Var) -> Var: ...
    def memory_like(self, shape: Sequence[int], ref: Var, value: float = 0, init_dim: int = 0, ref_dim: int = 1) -> Var: ...
    def update(self, memory: Var, now: Var) -> None: ...
    def output(self, x: Var) -> Var: ...
    def end(self) -> None: ...

class DynamicRnn:
    def begin(self) -> None: ...
    def input(self, x: Var, level: int = 0) -> Var: ...
    def static_input(self, x: Var) -> Var: ...
    def memory(self, init: Var, reorder: bool = False) -> Var: ...
    def memory_like(self, shape: Sequence[int], value: float = 0, dtype: str | None = None) -> Var: ...
    def update(self, memory: Var, now: Var) -> None: ...
    def output(self, x: Var) -> None: ...
    def end(self) -> None: ...
    def results(self) -> list[Var]: ...

class layers:
    """The submodule `skiff._native.layers`: one function per C layer of include/skiff/layers.h and layers_nn.h, generated:
    `layers.fc(net, input, size, num_flatten_dims=, param_attr=, bias_attr=, act=, name=)`. Required arguments by position or by
    name, options by name; None means left out, an explicit 0 is 0. `struct skiff_vars` takes a Var or a list of them; dims a list or
    tuple of ints (or one int); int[2] an int or a pair. Learning-rate schedules are `lr_noam` ... Results: a Var, a tuple of Vars
    (auc: (auc, batch_auc, [4 states]); topk: (values, indices); softmax_with_cross_entropy(..., softmax=True): (loss, softmax)),
    a list (split, unstack). Flags `has_x` of C need not be given: giving x (padding_idx, seed, padding_start) implies them.
    Where C negates an option, Python does too (`no_batch_size`, `frozen`, ...: the names are those of the header).
    `layers._signatures` is a dict name -> text, e.g. "fc(net, input: vars, size: int, *, num_flatten_dims: int, ...)"."""

    _signatures: Dict[str, str]
    def __getattr__(self, name: str) -> Callable[..., Any]: ...

def var_op(net: Net, op: str, a: Union[Var, float], b: Union[Var, float]) -> Var:
    """a op b as Python writes it on variables; op: + - * / ** // % == != < <= > >=; one of a, b may be a number."""
def var_neg(net: Net, a: Var) -> Var: ...
def var_astype(net: Net, a: Var, dtype: str) -> Var: ...

def optimizers(generation: int) -> List[Dict[str, Any]]:
    """Every optimizer of programs of 1.x (1) or 2.x (2), from src/rules/optimizer_list.h: {"type": "adam", "class_name": "Adam",
    "about": str, "arguments": names of Paddle's class between blanks or None, "settings": [{"name": of the option, "argument":
    its name in Paddle, "kind": "number" | "truth" | "test" | "test_name" | "factor", "range": "any" | "share" | "not_negative",
    "preset": float | bool | None, "needed": bool}]}"""

class Optimizer:
    """type: one of optimizers(). Options by the names of its settings, and regularization, grad_clip, name; learning_rate is a
    number or a Var; an explicit 0 is 0."""

    def __init__(self, net: Net, type: str, learning_rate: Union[float, Var, None] = None, **options: Any) -> None: ...
    def backward(
        self,
        loss: Var,
        parameters: Optional[Sequence[Union[str, Var]]] = None,
        no_grad: Optional[Sequence[Union[str, Var]]] = None,
    ) -> List[Tuple[Var, Var]]: ...
    def apply(self, pairs: Sequence[Tuple[Var, Optional[Var]]]) -> List[Op]:
        """Clipping, decay and update ops; the update ops that were appended."""
    def minimize(
        self,
        loss: Var,
        parameters: Optional[Sequence[Union[str, Var]]] = None,
        no_grad: Optional[Sequence[Union[str, Var]]] = None,
    ) -> Tuple[List[Op], List[Tuple[Var, Var]]]:
        """Both, on the net's current programs: the update ops and the (parameter, gradient) pairs, as Fluid's minimize."""
    @property
    def learning_rate(self) -> Optional[Var]:
        """The variable of the rate in the current main program; None before the first apply."""
    def accumulator_names(self) -> List[str]:
        """Names of the accumulators made so far."""

# ---- values --------------------------------------------------------------------------------------------------------------

class Tensor:
    """A value: a dense tensor with sequence levels (LoD), selected rows, or a list of tensors. Either the object's own, or the
    value of a variable in a scope (then writing it writes the variable). Buffer protocol: a view of an own tensor; of a value in
    a scope a snapshot (a copy), because running moves values."""

    def __init__(self, array: Any = None, recursive_sequence_lengths: Optional[Sequence[Sequence[int]]] = None,
                 dtype: Optional[str] = None) -> None:
        """From an array (copied), nested lists of numbers (float32 or int64, or the given dtype), or nothing."""
    def set(self, array: Any, dtype: Optional[str] = None) -> None:
        """Another content; the LoD is dropped."""
    @property
    def initialized(self) -> bool: ...
    @property
    def kind(self) -> str:
        """"none", "tensor", "rows", "array"."""
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> Tuple[int, ...]: ...
    def lod(self) -> List[List[int]]:
        """Offsets, one list per level."""
    def set_lod(self, lod: Sequence[Sequence[int]]) -> None: ...
    def recursive_sequence_lengths(self) -> List[List[int]]: ...
    def set_recursive_sequence_lengths(self, lengths: Sequence[Sequence[int]]) -> None: ...
    def has_valid_recursive_sequence_lengths(self) -> bool: ...
    def numpy(self) -> Any:
        """A new numpy array (one copy)."""
    def copy(self) -> Tensor: ...
    # selected rows
    @property
    def rows(self) -> Optional[List[int]]:
        """The ids; None for a plain tensor."""
    @property
    def height(self) -> int: ...
    def set_rows(self, rows: Sequence[int], height: int, array: Any) -> None: ...
    # tensor arrays
    def __len__(self) -> int:
        """Items of an array; rows (dimension 0) of a tensor."""
    def item(self, i: int) -> Tensor:
        """A copy of item i of an array."""

class Scope:
    """Named values. Scope(parent): a scope in front of another."""

    def __init__(self, parent: Optional[Scope] = None) -> None: ...
    def var(self, name: str) -> Tensor:
        """The value of that name, here or in a parent; made here (kind "none") when there is none."""
    def find(self, name: str) -> Optional[Tensor]:
        """None when there is none; a value that was not written yet is found, with kind "none"."""
    def set(self, name: str, value: Any) -> None:
        """A copy of an array or Tensor."""
    def names(self) -> List[str]:
        """Of this scope and its parents."""
    def new_scope(self) -> Scope: ...

# ---- running -------------------------------------------------------------------------------------------------------------

class Predictor:
    """A saved model that is ready to run, by any number of threads."""

    def __init__(self, path: Any, model_filename: Optional[str] = None, params_filename: Optional[str] = None, threads: int = 1) -> None:
        """path: the folder of a 1.x inference model, or the prefix of a 2.x one. threads: they compute a large op."""
    @property
    def inputs(self) -> List[str]: ...
    @property
    def outputs(self) -> List[str]: ...
    @property
    def program(self) -> Program:
        """A copy of the model's program."""
    def run(self, inputs: List[Any]) -> List[Tensor]:
        """inputs: in the order of `inputs`, as feeds of Executor.run; results in the order of `outputs`."""

class Trainer:
    """What `skiff train` does: epochs, saved models, resuming, validation, early stopping, reports; alone or in a job."""

    def __init__(
        self,
        config: Any = None,
        options: Optional[List[str]] = None,
        *,
        resume: bool = False,
        overwrite: bool = False,
        name: Optional[str] = None,
        json: Optional[str] = None,
        quiet: bool = False,
        net: Optional[Net] = None,
        inputs: Optional[List[Var]] = None,
        loss: Optional[Var] = None,
        predict: Optional[Var] = None,
        label: Optional[Var] = None,
        dataset: Optional[Dataset] = None,
    ) -> None:
        """config: a file in YAML. options: "runner.epochs=3". Instead of a config: a net with an optimizer, its variables,
        its dataset (None: runner.train_data_dir)."""
    def add_observer(
        self,
        *,
        begin: Optional[Callable[[int], Any]] = None,
        batch: Optional[Callable[[int, int], Any]] = None,
        tick: Optional[Callable[[], Any]] = None,
        end: Optional[Callable[[Dict[str, Any]], Any]] = None,
        saved: Optional[Callable[[int, str], Any]] = None,
        line: Optional[Callable[[str], Any]] = None,
    ) -> None:
        """begin(epoch), batch(thread, samples), end(counts): true ends training early, saved(epoch, folder), line(text) of
        results. batch and tick come from other threads."""
    def run(self) -> Dict[str, Any]:
        """Trains to the end, once. epochs, samples, seconds, loss, auc, log_loss, copc, valid_auc, valid_log_loss,
        best_epoch, stopped."""
    def stop(self) -> None:
        """From any thread: the run saves and returns."""
    @property
    def result(self) -> Dict[str, Any]: ...

#: A column: float64 values (NaN: missing), or int32 codes (-1: missing) with the texts that they count.
Column = Union[Any, Tuple[Any, List[str]]]

def write_csv(path: Any, columns: List[Tuple[str, Column]]) -> None:
    """A CSV file with a header line. Numbers are read again as they were."""
def prepare(
    data: Any,
    out: Any,
    *,
    label: Optional[str] = None,
    positive: Optional[str] = None,
    split: Optional[str] = None,
    time: Optional[str] = None,
    model: Optional[str] = None,
    share: float = 0.0,
    seed: int = 0,
    valid: Any = None,
    no_valid: bool = False,
    no_test: bool = False,
    overwrite: bool = False,
    weight: Optional[str] = None,
) -> Dict[str, int]:
    """What `skiff init` does (skiff/prepare.h). train, valid, test and their _positive, bad, unlabelled."""
def evaluate(config: Any, options: Optional[List[str]] = None, *, name: Optional[str] = None, quiet: bool = False) -> List[Dict[str, Any]]:
    """What `skiff infer` does: epoch, samples, seconds, loss, auc, log_loss, copc of each saved epoch."""
def importance(
    config: Any,
    options: Optional[List[str]] = None,
    *,
    data: Any = None,
    rows: int = 0,
    repeats: int = 0,
    seed: int = 0,
    threads: int = 0,
    name: Optional[str] = None,
    quiet: bool = False,
    no_report: bool = False,
) -> Dict[str, Any]:
    """What `skiff importance` does: rows, auc, log_loss, and columns, the most important one first. A column is {"column": name,
    "log_loss": (mean, low, high), "auc": (mean, low, high)}."""

class Run:
    """A trained run, ready to predict (skiff/run.h). Any number of threads may use it."""

    def __init__(
        self,
        path: Any,
        header: Optional[str] = None,
        model: Optional[str] = None,
        options: Optional[List[str]] = None,
        name: Optional[str] = None,
        quiet: bool = True,
    ) -> None: ...
    @property
    def columns(self) -> List[str]: ...
    @property
    def model(self) -> str: ...
    def predict_columns(self, columns: List[Tuple[str, Column]]) -> bytearray:
        """Probabilities as float64. Columns go by name; others are ignored, absent ones are missing."""
    def predict_files(self, path: Any) -> bytes:
        """A line for every row: the prediction, and a tab and the row's id where there is one."""

class Executor:
    """Runs programs. One executor, one thread."""

    def __init__(self, scope: Optional[Scope] = None, *, no_fuse: bool = False, is_test: bool = False, seed: Optional[int] = None) -> None:
        """scope: the one used when run is given none (None: a new one). seed: paddle.seed of 2.x."""
    @property
    def scope(self) -> Scope: ...
    def run(
        self,
        program: Program,
        feed: Optional[Mapping[str, Any]] = None,
        fetch: Sequence[Union[str, Var]] = (),
        scope: Optional[Scope] = None,
        return_numpy: bool = False,
    ) -> List[Any]:
        """Runs the program once. Feeds: Tensor, anything with the buffer protocol (borrowed, not copied), (nested) lists of
        numbers, which become the variable's type. An array of another type than the variable's is refused. Fetches come as
        Tensor, with return_numpy as numpy arrays (which raises RuntimeError for values with LoD, as Paddle does); selected rows
        and arrays of tensors always as Tensor. A program that was changed since is compiled anew."""
    def train(
        self,
        program: Program,
        dataset: Dataset,
        *,
        scope: Optional[Scope] = None,
        threads: int = 0,
        fetch_list: Sequence[Union[str, Var]] = (),
        fetch_info: Optional[Sequence[str]] = None,
        print_period: int = 100,
        print: Optional[Callable[[str], Any]] = None,
        debug: Optional[Callable[[str], Any]] = None,
        handler_vars: Sequence[Union[str, Var]] = (),
        handler_period: float = 60.0,
        handler: Optional[Callable[[List[Optional[Tensor]]], Any]] = None,
    ) -> Dict[str, Any]:
        """One pass over the dataset (train_from_dataset). print gets the lines that Paddle prints (None: sys.stdout); handler is
        called on a thread of its own with copies of the values of handler_vars. An exception in a callback ends the training and
        is raised; so does Ctrl-C. Result: {"batches", "samples", "seconds", "read_seconds", "compute_seconds", "stopped"}."""
    def infer(self, program: Program, dataset: Dataset, **options: Any) -> Dict[str, Any]:
        """infer_from_dataset: the same without backward and optimizer ops, with fresh metrics."""
    def forget(self, program: Program) -> None:
        """Gives what was compiled of the program back at once (what is stale is given back by itself, later)."""
    def close(self) -> None: ...

class Dataset:
    """kind: "QueueDataset" or "InMemoryDataset"."""

    def __init__(self, kind: str) -> None: ...
    def set_vars(self, vars: Sequence[Var]) -> None: ...
    def set_batch_size(self, n: int) -> None: ...
    def set_threads(self, n: int) -> None: ...
    def set_files(self, files: Sequence[str]) -> None: ...
    def set_pipe_command(self, command: Optional[str]) -> None: ...
    def set(self, key: str, value: Any) -> None:
        """"format", "hash", ... of docs/reference/configuration.md; "cache", "bad_lines", "drop_last"."""
    def load(self) -> None: ...
    def preload(self, threads: int = 0) -> None: ...
    def wait_preload(self) -> None: ...
    def local_shuffle(self, seed: int = 0) -> None: ...
    def slots_shuffle(self, slots: Sequence[str], seed: int = 0) -> None: ...
    def release(self) -> None: ...
    @property
    def memory_size(self) -> int: ...
    def batches(self) -> Iterator[Dict[str, Tensor]]:
        """The batches, one after the other, as feeds (one thread reads)."""

# ---- files ---------------------------------------------------------------------------------------------------------------

def save_params(scope: Scope, program: Program, dirname: str, filename: Optional[str] = None) -> None: ...
def load_params(scope: Scope, program: Program, dirname: str, filename: Optional[str] = None) -> None: ...
def save_persistables(scope: Scope, program: Program, dirname: str, filename: Optional[str] = None) -> None: ...
def load_persistables(scope: Scope, program: Program, dirname: str, filename: Optional[str] = None) -> None: ...
def save_vars(scope: Scope, program: Program, names: Sequence[Union[str, Var]], dirname: str, filename: Optional[str] = None) -> None: ...
def load_vars(scope: Scope, program: Program, names: Sequence[Union[str, Var]], dirname: str, filename: Optional[str] = None) -> None: ...
def save(scope: Scope, program: Program, prefix: str) -> None:
    """fluid.save: PREFIX.pdparams, .pdopt, .pdmodel."""
def load(scope: Scope, program: Program, prefix: str) -> None: ...
def save_inference_model(
    scope: Scope, program: Program, feeds: Sequence[str], targets: Sequence[Union[str, Var]], dirname: str,
    model_filename: Optional[str] = None, params_filename: Optional[str] = None,
) -> None: ...
def save_inference_prefix(
    scope: Scope, program: Program, feeds: Sequence[str], targets: Sequence[Union[str, Var]], prefix: str
) -> None:
    """2.x: PREFIX.pdmodel, PREFIX.pdiparams."""
def load_inference_model(
    scope: Optional[Scope], path: str, model_filename: Optional[str] = None, params_filename: Optional[str] = None
) -> Tuple[Program, List[str], List[str]]:
    """(program, feed names, target names); path: a folder or a 2.x prefix; scope None: only the program."""
def saved_parts(path: str) -> Tuple[Dict[str, List[str]], Optional[str]]:
    """Names of files by kind of part (state, optimizer, program, combined, file, table ...), of what has the prefix PATH (with
    or without an ending), else of the folder PATH; and that prefix, None for a folder. Finishes an interrupted save first."""
def is_manifest(name: str) -> bool:
    """Is a file of that name the list of a save's files and checksums?"""
def remove_manifest(path: str, prefix: bool = False) -> None:
    """That of a folder, or of the files PATH.*: loading compares nothing from now on. None there is fine."""
def read_state(path: str) -> Dict[str, Tensor]:
    """The tensors of a .pdparams or .pdopt file."""
def read_saved(path: str, names: Sequence[str] = ...) -> Dict[str, Tensor]:
    """The tensors of PREFIX.pdparams and PREFIX.pdopt, or of files in a folder, of one save."""
def write_state(path: str, state: Mapping[str, Any]) -> None: ...
def read_tensor(path: str) -> Tensor:
    """A Paddle tensor file (one variable of save_params)."""
def write_tensor(path: str, tensor: Any) -> None: ...
def read_object(source: Union[str, bytes]) -> Any:
    """The object of a pickle, from a file or from bytes; its arrays are EagerTensors. Nothing is executed."""
def write_object(path: Optional[str], obj: Any, protocol: int, names: bool) -> Optional[bytes]:
    """Numbers, texts, arrays, tensors, and lists, tuples and dicts of them as a pickle: into a file, which appears completely, or (None)
    as bytes. names: a tensor is the tuple (name, array); otherwise the array alone."""

# ---- splitting -----------------------------------------------------------------------------------------------------------

class Split:
    """DistributeTranspiler and GeoSgdTranspiler. config: the fields of DistributeTranspilerConfig and ServerRuntimeConfig by their
    names (split_method: "RoundRobin" or "HashName"; an explicit sync_mode / runtime_split_send_recv that exclude each other:
    ValueError with Paddle's text)."""

    def __init__(
        self, main: Program, startup: Program, *, trainer_id: int, pservers: str, trainers: int, sync_mode: bool = True,
        config: Optional[Mapping[str, Any]] = None,
    ) -> None: ...
    def trainer(self) -> Tuple[Program, Program]:
        """(main, startup) of a trainer."""
    def server(self, endpoint: str) -> Tuple[Program, Program]: ...
    @property
    def endpoints(self) -> List[str]: ...
    @property
    def tables(self) -> List[str]: ...
    @property
    def mode(self) -> str:
        """What the servers do with what arrives: a name of include/skiff/mode_list.h (fleet's half-async: "async")."""
    @property
    def notes(self) -> str: ...
    def placement(self) -> List[Dict[str, Any]]:
        """[{"slice", "origin", "kind", "is_slice", "sparse", "block", "offset", "first_row", "shape", "endpoint", "server"}]"""

def split_config_default() -> Dict[str, Any]: ...
def split_config_fleet(mode: str) -> Dict[str, Any]:
    """What fleet's strategies set; mode: a name of include/skiff/mode_list.h ("sync", ...)."""
def mode_joins_threads(mode: str) -> bool:
    """Do threads of a trainer wait for each other in every step and send one gradient (SKIFF_MODE_MEETS)?"""

# ---- metrics -------------------------------------------------------------------------------------------------------------

def auc_update(stat_pos: Any, stat_neg: Any, predictions: Any, labels: Any) -> None:
    """Counts predictions (float32 [n, 1] or [n, 2]: the last column) with labels (int) into the int64 buckets, in place."""
def auc_area(stat_pos: Any, stat_neg: Any) -> float:
    """Area under the ROC curve of two histograms of buckets (int64 or float64)."""

# ---- jobs of workers and servers -----------------------------------------------------------------------------------------

class Fleet:
    """This process's part in a job (include/skiff/fleet.h): init_env or init_user; split; then on a server init_server and
    run_server, on a worker init_worker, runs of startup_program and main_program, stop_worker. All calls that wait release the
    interpreter lock. A worker that is destroyed, or whose process ends with another status than 0, without stop_worker has not finished:
    servers count it as dead and log it at once. A process that ends with status 0 leaves the job."""

    def __init__(self) -> None: ...
    def init_env(self, env: str = "auto") -> None:
        """The role from the environment: "auto", "cloud" (TRAINING_ROLE, ...), "manual" (PADDLE_TRAINING_ROLE, ...)."""
    def init_user(
        self, role: str, current_id: int, worker_num: int, server_endpoints: Sequence[str],
        worker_endpoints: Optional[Sequence[str]] = None,
    ) -> None:
        """role: "worker" or "server"."""
    is_initialized: bool
    is_worker: bool
    is_server: bool
    is_first_worker: bool
    worker_index: int
    server_index: int
    worker_num: int
    server_num: int
    server_endpoints: str
    worker_endpoints: str
    notes: str
    is_working: bool
    def split_files(self, files: Sequence[str]) -> List[str]: ...
    def split(self, main: Program, startup: Program, **strategy: Any) -> None:
        """Of minimized programs. strategy: the fields of struct skiff_strategy (mode="sync", geo_steps, no_slice, min_block_size,
        split_method, dc_asgd, direct, stop_on_death, threads, max_merge_var_num, ...); tables: [(name, lines of settings)]."""
    #: of the role; None before split. Running them takes part in the job.
    main_program: Optional[Program]
    startup_program: Optional[Program]
    def init_server(self, model_dir: Optional[str] = None) -> None: ...
    def run_server(self) -> None:
        """Returns when the job is complete. Call it on a thread of its own where Ctrl-C must be handled."""
    def stop_server(self) -> None:
        """From any thread."""
    def init_worker(self, scope: Scope) -> None: ...
    def stop_worker(self) -> None: ...
    def barrier_worker(self) -> None: ...
    def all_reduce(self, values: Sequence[Union[int, float]], op: str = "sum") -> List[Any]:
        """op: sum, max, min. All ints: ints, otherwise floats."""
    def auc(self, scope: Scope, pos: Union[str, Var], neg: Union[str, Var]) -> float: ...
    def global_shuffle(self, dataset: Dataset, seed: int = 0) -> None: ...
    def save_persistables(self, scope: Scope, dirname: str) -> None: ...
    def save_inference_model(
        self, scope: Scope, feeds: Sequence[str], targets: Sequence[Union[str, Var]], path: str, is_prefix: bool = False
    ) -> None: ...
    #: names of the sparse tables; their numbers in the calls below. The number behind them: all dense parameters
    tables: List[str]
    def flush(self) -> None:
        """All that this worker has queued has reached the servers."""
    def save_tables(self, dirname: str, mode: int = 0, table: int = -1, dense: bool = True) -> None:
        """Paddle's shard files. mode: 0 all, 1 delta, 2 base, 3 batch model, 5 patch; table -1: all, written before one
        changes; dense: of all, the dense parameters too."""
    def load_tables(self, dirname: str, mode: int = 0, table: int = -1) -> None: ...
    def save_cache(self, dirname: str, mode: int = 0, table: int = 0) -> int:
        """The rows with the most shows, after a save of mode 1 or 2; how many."""
    def shrink(self, table: int = -1) -> None: ...
    def revert(self) -> None:
        """Forgets what the next patch would hold."""
    def pull_dense(self, scope: Scope) -> None: ...
    def push_dense(self, scope: Scope) -> None: ...
    def table_state(self, table: int = 0) -> Dict[str, int]:
        """rows, bytes, admitted, refused, expired, evicted, hits, misses, ..., over all servers."""
    def on_log(self, on_log: Union[Callable[[str], Any], int, None]) -> None:
        """Sets the callback for log lines, one call for each line; called from any thread, with the interpreter lock. A number: lines are written to
        that file descriptor, without the lock (after init_*: they begin with the role)."""

def join_job(program: Program, scope: Scope) -> bool:
    """Waits now; True when the wait was the complete run."""
def leave_job(program: Program) -> None:
    """exe.close(): this process has done its part of the program's job. Without a job: nothing."""
# ---- eager mode: ops that run when they are called (skiff/eager.h) ----

class EagerTensor:
    """A tensor of eager mode, and a buffer that shares its memory. set_classes(EagerTensor=...) names the class that is made."""

    def __init__(self, array: Any = None, dtype: Optional[str] = None) -> None: ...
    shape: List[int]
    ndim: int
    stop_gradient: bool
    is_leaf: bool
    inplace_version: int
    _count: int
    _dtype: str
    _kind: str
    """none, tensor or rows."""
    _grad: Optional[EagerTensor]
    def set(self, array: Any, dtype: Optional[str] = None) -> None: ...
    def _numpy(self) -> Any: ...
    def _item(self) -> Union[int, float, bool, None]:
        """The only element; None: there are more, or they are of 8 or 16 bits."""
    def _detach(self) -> EagerTensor: ...
    def _become(self, other: EagerTensor) -> None: ...
    def _take(self, result: EagerTensor, mark: int) -> EagerTensor:
        """An op in place: the result, computed of self after eager_mark(), gives its value and its tape node."""
    def _clear_grad(self) -> None: ...
    def _touched(self) -> None: ...
    def _retain_grad(self) -> None: ...
    def _rows(self) -> Optional[List[int]]: ...
    def _add_hook(self, hook: Callable[[EagerTensor], Optional[EagerTensor]]) -> int:
        """A number for _remove_hook; 0: the tensor gets no gradient."""
    def _remove_hook(self, number: int) -> bool: ...

class Mode:
    """Where functions go (paddle._mode)."""
    eager: bool
    """They run at once; otherwise they append."""
    guard: bool
    trace: Any
    """The trace that records ops, or None."""
    dtype: Optional[str]
    """paddle.set_default_dtype."""

class Function:
    """A declared function (src/calls): callable, bound as a method, with __signature__ and __doc__, pickled by its name."""
    __signature__: Any
    _arguments: Tuple[str, ...]
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def functions(module: str) -> Dict[str, Function]:
    """Those that are declared for a module, without "paddle.": functions("tensor.math")["abs"]."""
def set_dispatcher(net: Net, mode: Mode, type_number: Callable[[Any], int]) -> None:
    """The net that functions append to, the mode, and what makes the number of a data type."""

def eager_op(type: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], attrs: Optional[Mapping[str, Any]] = None) -> None: ...
def eager_one(type: str, inputs: Mapping[str, Any], attrs: Optional[Mapping[str, Any]] = None, slot: str = "Out") -> EagerTensor: ...
def eager_scalar(value: float, dtype: str) -> EagerTensor:
    """A tensor without dimensions."""
def operator(kind: str, other: Callable[[Any, Any], Any], types: int, reverse: bool, number: str) -> Operator:
    """A method with two operands. types: those that the op takes itself, 0: any, 1: numbers, 2: floats. number: how float32 and a
    number are computed by a scale: + - r * / or none. other(x, y): everything else."""
class Operator: ...
def set_num_threads(num_threads: int) -> None:
    """How many threads compute a large op of eager mode and of executors; at first OMP_NUM_THREADS, or 1."""
def num_threads() -> int: ...
def eager_backward(tensors: Sequence[EagerTensor], grad_tensors: Optional[Sequence[Optional[EagerTensor]]] = None,
                   retain_graph: bool = False) -> None: ...
def eager_grad(outputs: Sequence[EagerTensor], inputs: Sequence[EagerTensor],
               grad_outputs: Optional[Sequence[Optional[EagerTensor]]] = None, retain_graph: bool = False,
               create_graph: bool = False, allow_unused: bool = False,
               no_grad_vars: Optional[Sequence[EagerTensor]] = None) -> List[Optional[EagerTensor]]: ...
def eager_add_node(inputs: Sequence[EagerTensor], outputs: Sequence[EagerTensor], backward: Callable[[List[Any]], Sequence[Any]]) -> None:
    """Records a tape node with a custom gradient."""
def eager_mark() -> int: ...
def eager_seed(seed: int) -> None: ...
def eager_generator() -> bytes: ...
def eager_set_generator(state: bytes) -> None: ...
def eager_noting() -> bool: ...
def eager_set_observer(observer: Optional[Callable[[str, List[EagerTensor]], Any]]) -> None:
    """observer(op, outputs) is called after each op that has run, those of backward too; what it raises fails the op. None: no
    more. Ops that it runs itself are not observed."""
def eager_set_noting(noting: bool) -> bool:
    """Gives what it was."""
def eager_set_pack(hooks: Optional[Tuple[Callable[[Any], Any], Callable[[Any], Any]]]) -> Optional[Tuple[Callable[[Any], Any], Callable[[Any], Any]]]:
    """pack(tensor) of what ops save for backward, unpack(what pack gave) when backward needs it. Gives the hooks before."""
def eager_set_generation(generation: int) -> int:
    """1: backward replaces the gradients of leaves and leaves those of all other tensors, as Paddle 1.x; 2: as 2.x. Gives what
    it was."""

class Replay:
    """A program whose ops run in eager mode as if they were called one after the other, with gradients. inputs: names of the
    variables that a run is given; outputs: names of those it gives. NotImplementedError: the program has ops that run blocks."""

    def __init__(self, program: Program, inputs: Sequence[str], outputs: Sequence[str]) -> None: ...
    def run(self, tensors: Sequence["EagerTensor"]) -> List["EagerTensor"]: ...

class EagerOptimizer:
    """Updates of parameters in eager mode. Each row has: tensor, name, factor of the rate, regularizer or None, is clipped, is
    decayed. options: those of Optimizer but the rate. The net's counters name the accumulators.
    generation: 1 for the rules of Paddle 1.x."""

    def __init__(self, net: Net, type: str, parameters: List[Tuple[Any, str, float, Any, bool, bool]], options: Dict[str, Any], generation: int = 2) -> None: ...
    def step(self, rate: float) -> None:
        """AssertionError: a state was set that lacks an accumulator."""
    def clear_grad(self, to_zero: bool) -> None: ...
    def state(self) -> List[Tuple[str, "EagerTensor"]]: ...
    def set_state(self, state: Dict[str, "EagerTensor"]) -> None: ...

# ---- collective jobs: see include/skiff/collective.h ----

def world_open() -> None:
    """Joins the job that the environment names, and waits for all ranks."""
def world_close() -> None: ...
def world_is_open() -> bool: ...
def world_abandon(reason: str) -> None:
    """This rank cannot continue: the others fail with "rank 1 <reason>"."""
def world_rank() -> int: ...
def world_size() -> int: ...
def world_engine() -> str: ...
def world_group(ranks: Sequence[int]) -> int:
    """A ring of some ranks -> its number."""
def ring_rank(ring: int) -> int:
    """-1: not a member."""
def ring_size(ring: int) -> int: ...
def ring_destroy(ring: int) -> None: ...
def collective_transpile(main: Program, startup: Optional[Program] = ..., endpoints: Optional[Sequence[str]] = ...,
                         rank: int = ..., by_rows: bool = ..., sync_batch_norm: bool = ...) -> None:
    """Sums of gradients over all ranks in main, parameters of rank 0 in startup; alone nothing changes."""
def collective_gen(startup: Program, endpoints: Optional[Sequence[str]] = ..., rank: int = ...) -> None:
    """Running the startup program opens the world (DistributeTranspiler, mode nccl2)."""
def collective_spread(main: Program, scope: Scope) -> None:
    """Parameters in the scope become rank 0's."""
def collective_all_reduce(ring: int, tensor: EagerTensor, how: int) -> None:
    """how: 0 sum, 1 max, 2 min, 3 prod, 4 avg. RuntimeError: another rank is lost, or makes another call."""
def collective_reduce(ring: int, tensor: EagerTensor, how: int, root: int) -> None: ...
def collective_reduce_scatter(ring: int, tensors: Sequence[EagerTensor], tensor: EagerTensor, how: int) -> None: ...
def collective_all_gather(ring: int, tensor: EagerTensor, root: int) -> Optional[List[EagerTensor]]:
    """root -1: in all ranks; else in that one, None elsewhere."""
def collective_all_gather_bytes(ring: int, mine: bytes) -> List[bytes]: ...
def collective_broadcast(ring: int, tensor: EagerTensor, root: int) -> None: ...
def collective_scatter(ring: int, tensors: Optional[Sequence[EagerTensor]], tensor: EagerTensor, root: int) -> None: ...
def collective_all_to_all(ring: int, tensors: Sequence[EagerTensor], into: Sequence[EagerTensor]) -> None: ...
def collective_barrier(ring: int) -> None: ...
def collective_send(ring: int, tensor: EagerTensor, to: int) -> None: ...
def collective_recv(ring: int, tensor: EagerTensor, source: int) -> None: ...
def collective_start(what: int, ring: int, tensor: EagerTensor, how: int) -> "CollectiveWork":
    """what: 0 all_reduce (how), 1 broadcast, 2 recv (how: the rank)."""
def collective_finish(tensor: EagerTensor) -> None:
    """What was started for the tensor is over."""

class CollectiveWork:
    """A call that was started; its result is in the tensor after wait."""

    def wait(self) -> None: ...
    def done(self) -> bool: ...

class Reducer:
    """Averages the gradients of parameters over the ranks of a ring during backward. sparse: whose gradients are selected
    rows. A parameter belongs to the reducer that was made last."""

    def __init__(self, parameters: Sequence[EagerTensor], sparse: Sequence[int], ring: int, bucket_bytes: int,
                 first_bucket_bytes: int) -> None: ...
    def set_sync(self, sync: bool) -> None:
        """False: gradients stay this rank's own."""

# ---- files on other machines (docs/guide/storage.md); settings: (uri, user, passwd, hadoop_bin, options), None: the process's ----

FsSettings = Optional[Tuple[str, str, str, str, str]]

def fs_configure(kind: str, fs_name: str, fs_ugi: str, hadoop_bin: str = "") -> None: ...
def fs_is_remote(path: str) -> bool: ...
def fs_kind(path: str, settings: FsSettings = None) -> Tuple[str, bool]: ...
def fs_look(path: str, settings: FsSettings = None) -> Optional[Tuple[bool, int, int]]: ...
def fs_list(path: str, settings: FsSettings = None) -> List[Tuple[str, bool, int, int]]: ...
def fs_mkdirs(path: str, settings: FsSettings = None) -> None: ...
def fs_remove(path: str, settings: FsSettings = None) -> None: ...
def fs_rename(path: str, other: str, settings: FsSettings = None) -> None: ...
def fs_copy(path: str, other: str, settings: FsSettings = None) -> None: ...
def fs_read(path: str, settings: FsSettings = None) -> bytes: ...
def fs_start(path: str, settings: FsSettings = None) -> bytes: ...
def fs_write(path: str, bytes: bytes, settings: FsSettings = None) -> None: ...
