"""Loops and choices."""
import functools
from contextlib import contextmanager

from skiff import _native

from paddle import _names
from paddle.fluid import core, framework, unique_name
from paddle.fluid._build import net
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable, simple_op
from paddle.fluid.layers import utils

_layers = _native.layers
COMPARE = ["less_than", "less_equal", "greater_than", "greater_equal", "equal", "not_equal"]

__all__ = COMPARE + ["While", "Switch", "increment", "array_write", "create_array", "array_read", "array_length", "cond",
                     "IfElse", "DynamicRNN", "StaticRNN", "reorder_lod_tensor_by_rank", "is_empty", "case", "switch_case",
                     "while_loop"]


def _compare(kind):
    layer = getattr(_layers, kind)

    if kind == "less_than":
        def function(x, y, force_cpu=None, cond=None):
            check_variable(x, "x", kind)
            check_variable(y, "y", kind)
            return layer(net, x, y, cond)
    else:
        def function(x, y, cond=None):
            check_variable(x, "x", kind)
            check_variable(y, "y", kind)
            return layer(net, x, y, cond)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = "%s, element by element; cond: the variable to write." % kind
    return function


for _kind in COMPARE:
    globals()[_kind] = _compare(_kind)


def increment(x, value=1.0, in_place=True):
    """x + value, in x itself unless in_place is False."""
    check_variable(x, "x", "increment")
    return _layers.increment(net, x, value, not in_place)


@contextmanager
def _body(begin, end):
    """The block between begin() and end(); when its layers fail, building continues outside of it."""
    begin()
    try:
        yield
    except BaseException:
        net.leave_block()
        raise
    end()


class While(object):
    """with While(cond).block(): ... - the body must write cond again."""

    def __init__(self, cond, is_test=False, name=None):
        check_dtype(cond, "cond", "fluid.layers.While", ("bool",))
        size = 1
        for d in cond.shape:
            size *= abs(d)
        if size != 1:
            raise TypeError("condition expected shape as [1], but given shape as {0}.".format(list(cond.shape)))
        self._cond, self._is_test, self._loop = cond, is_test, None

    def _begin(self):
        self._loop = net.while_begin(self._cond, bool(self._is_test))

    def block(self):
        return _body(self._begin, lambda: self._loop.end())


class Switch(object):
    """with Switch() as switch: with switch.case(cond): ... with switch.default(): ..."""

    def __init__(self, name=None):
        self._switch, self._open, self._seen_default = None, False, False

    def __enter__(self):
        self._switch, self._open, self._seen_default = net.switch_begin(), True, False
        return self

    def __exit__(self, kind, value, trace):
        self._open = False
        return False

    def case(self, condition):
        if not self._open:
            raise ValueError("case should be called inside with")
        check_dtype(condition, "condition", "the member function case of fluid.layers.Switch", ("bool",))
        if self._seen_default:
            raise ValueError("case should come before default")
        return _body(lambda: self._switch.case(condition), lambda: self._switch.end())

    def default(self):
        if not self._open:
            raise ValueError("default should be called inside with")
        self._seen_default = True
        return _body(self._switch.default, lambda: self._switch.end())


def while_loop(cond, body, loop_vars, is_test=False, name=None):
    """loop_vars while cond(*loop_vars), by body(*loop_vars)."""
    if not callable(cond):
        raise TypeError("cond in while_loop should be callable")
    if not callable(body):
        raise TypeError("body in while_loop should be callable")
    if not isinstance(loop_vars, (list, tuple)):
        raise TypeError("The type of 'loop_vars' in fluid.layers.while_loop must be list or tuple, but received %s." %
                        type(loop_vars))
    if not loop_vars:
        raise ValueError("loop_vars in while_loop should not be empty")
    net.name("while_loop")
    pred = cond(*loop_vars)
    check_dtype(pred, "var of cond returned", "fluid.layers.while_loop", ("bool",))
    if any(d != 1 for d in pred.shape):
        raise TypeError("the shape of the variable returned by cond should be [1],but given shape as {0}.".format(
            list(pred.shape)))
    with While(pred, is_test, name).block():
        results = body(*utils.copy_mutable_vars(loop_vars))
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        try:
            utils.assert_same_structure(results, list(loop_vars), check_types=False)
        except ValueError as error:
            raise ValueError("body in while_loop should return the same arity (length and structure) as loop_vars: {0}"
                             .format(error))
        now = cond(*results)
        utils.map_structure(_assign_loop, results, list(loop_vars))
        _layers.assign(net, now, pred)
    return loop_vars


def _assign_loop(new, old):
    if isinstance(new, (int, float, bool)):
        from paddle.fluid.layers.tensor import fill_constant
        new = fill_constant([1], framework.dtype_name(old.dtype), new)
    return _layers.assign(net, new, old)


def _callable(fn, what, op):
    if not callable(fn):
        raise TypeError("The {} in {} must be callable, but received {}".format(what, op, type(fn).__name__))
    return fn


def _branch(pred, fn):
    """The branch's results as variables around it; None when it has none."""
    branch, out = [], None
    with _body(lambda: branch.append(net.branch_begin([pred], True)), lambda: branch[0].end()):
        result = fn()
        if result is not None:
            out = utils.map_structure(lambda v: None if v is None else branch[0].output(_as_var(v)), result)
    return out


def _as_var(value):
    """Numbers that a branch gives are constants."""
    if isinstance(value, (bool, int, float)):
        from paddle.fluid.layers.tensor import fill_constant
        return fill_constant([1], "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32",
                             value)
    return value


def cond(pred, true_fn=None, false_fn=None, name=None):
    """What true_fn() gives where pred (one bool) holds, else what false_fn() gives."""
    check_dtype(pred, "pred", "fluid.layers.cond", ("bool",))
    net.name("cond")
    true_out = false_out = None
    if true_fn is not None:
        true_out = _branch(pred, _callable(true_fn, "true_fn", "cond"))
    if false_fn is not None:
        _callable(false_fn, "false_fn", "cond")
        false_out = _branch(_layers.logical_not(net, pred), false_fn)
    if true_out is None and false_out is None:
        return None
    if true_out is None or false_out is None:
        raise ValueError("Incompatible return values of true_fn and false_fn in cond: true_fn returns {} while false_fn "
                         "returns {}".format(*["None" if out is None else "non-None" for out in (true_out, false_out)]))
    try:
        utils.assert_same_structure(true_out, false_out, check_types=False)
    except ValueError as error:
        raise ValueError("Incompatible return values of true_fn and false_fn in cond: {}".format(error))
    mask = _layers.cast(net, pred, "int32")
    return utils.map_structure(lambda no, yes: None if yes is None else net.select_input([no, yes], mask), false_out,
                               true_out)


def _message(what, arg, op, right, wrong):
    return "{} of '{}' in {} must be {}, but received: {}.".format(what, arg, op, right, wrong)


def case(pred_fn_pairs, default=None, name=None):
    """What the function of the first pair whose predicate holds gives; otherwise default (without one: the last pair's)."""
    if not isinstance(pred_fn_pairs, (list, tuple)):
        raise TypeError("The type of 'pred_fn_pairs' in case must be (list, tuple), but received %s." % type(pred_fn_pairs))
    net.name("case")
    pairs = list(pred_fn_pairs)
    for pair in pairs:
        if not isinstance(pair, tuple):
            raise TypeError(_message("The elements' type", "pred_fn_pairs", "case", tuple, type(pair)))
        if len(pair) != 2:
            raise TypeError(_message("The tuple's size", "pred_fn_pairs", "case", "2", "%d-tuple" % len(pair)))
        if not isinstance(pair[0], framework.Variable):
            raise TypeError(_message("The pred's type", "pred_fn_pairs", "case", "boolean Variable", type(pair[0])))
        if not callable(pair[1]):
            raise TypeError("The fn for {} of pred_fn_pairs in Op(case) must be callable.".format(pair[0].name))
    if default is None:
        default = pairs.pop()[1]
    elif not callable(default):
        raise TypeError("The default in Op(case) must be callable.")
    chain = default
    for pred, fn in reversed(pairs):
        chain = functools.partial(cond, pred=pred, true_fn=fn, false_fn=chain)
    return chain()


def _branch_fns(branch_fns):
    """Sorted (number, function) pairs."""
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise TypeError("The type of 'branch_fns' in switch_case must be (list, tuple, dict), but received %s." %
                        type(branch_fns))
    pairs = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    if all(callable(fn) for fn in pairs):
        pairs = list(enumerate(pairs))
    keys = []
    for pair in pairs:
        if not isinstance(pair, tuple):
            raise TypeError(_message("The elements' type", "branch_fns", "switch_case", tuple, type(pair)))
        if len(pair) != 2:
            raise TypeError(_message("The tuple's size", "branch_fns", "switch_case", "2", "%d-tuple" % len(pair)))
        if not isinstance(pair[0], int):
            raise TypeError(_message("The key's type", "branch_fns", "switch_case", int, type(pair[0])))
        if pair[0] in keys:
            raise ValueError("The key in 'branch_fns' must be unique, but '{}' appears more than once.".format(pair[0]))
        keys.append(pair[0])
        if not callable(pair[1]):
            raise TypeError(_message("The type of function for key {}".format(pair[0]), "branch_fns", "switch_case",
                                     "callable", type(pair[1])))
    return sorted(pairs, key=lambda pair: pair[0])


def switch_case(branch_index, branch_fns, default=None, name=None):
    """What the function of that number gives; otherwise default (without one: that of the largest number)."""
    from paddle.fluid.layers.tensor import fill_constant
    check_dtype(branch_index, "branch_index", "switch_case", ("uint8", "int32", "int64"))
    net.name("switch_case")
    if framework.dtype_name(branch_index.dtype) != "int64":
        branch_index = _layers.cast(net, branch_index, "int64")
    pairs = _branch_fns(branch_fns)
    if default is None:
        default = pairs.pop()[1]
    elif not callable(default):
        raise TypeError("The default in Op(case) must be callable.")
    tests = [(_layers.equal(net, branch_index, fill_constant([1], "int64", key), None), fn) for key, fn in pairs]
    chain = default
    for pred, fn in reversed(tests):
        chain = functools.partial(cond, pred=pred, true_fn=fn, false_fn=chain)
    return chain()


class IfElse(object):
    """Rows by a bool for each: with ie.true_block(): x = ie.input(a); ...; ie.output(y); the same for false_block;
    ie() gives the outputs, the rows in their places."""

    def __init__(self, cond, name=None):
        check_variable(cond, "cond", "fluid.layers.IfElse")
        self._blocks, self._open, self._seen = net.if_else(cond, name), False, False

    def _block(self, side):
        if self._open:
            raise ValueError("You cannot invoke IfElse.block() inside a block")

        def begin():
            self._blocks.begin(side)
            self._open = True

        def end():
            self._open, self._seen = False, True
            self._blocks.end()

        return _body(begin, end)

    def true_block(self):
        return self._block(True)

    def false_block(self):
        return self._block(False)

    def input(self, x):
        if not self._open:
            raise ValueError("input must in true/false blocks")
        return self._blocks.input(x)

    def output(self, *outs):
        if not self._open:
            raise ValueError("output can only be invoked in the sub-block")
        for out in outs:
            check_variable(out, "each output", "fluid.layers.IfElse.output")
            self._blocks.output(out)

    def __call__(self):
        if self._open:
            raise ValueError("IfElse::__call__ must be out of sub-block")
        if not self._seen:
            raise ValueError("Must invoke true_block/false_block before __call__")
        return self._blocks.results()


class StaticRNN(object):
    """Steps of sequences of one length, [steps, batch, ...]."""

    def __init__(self, name=None):
        self._rnn, self._status, self._outputs = net.static_rnn(name), 0, []

    def step(self):
        def begin():
            self._rnn.begin()
            self._status = 1

        def end():
            self._status = 2
            self._rnn.end()

        return _body(begin, end)

    def _check(self, method):
        if self._status != 1:
            raise ValueError("You must invoke {0} in rnn block".format(method))

    def memory(self, init=None, shape=None, batch_ref=None, init_value=0.0, init_batch_dim_idx=0, ref_batch_dim_idx=1):
        self._check("memory")
        if init is not None:
            check_variable(init, "init", "fluid.layers.StaticRNN.memory")
            return self._rnn.memory(init)
        if shape is None or batch_ref is None:
            raise ValueError("if init is None, memory at least need shape and batch_ref")
        return self._rnn.memory_like(list(shape), batch_ref, init_value, init_batch_dim_idx, ref_batch_dim_idx)

    def step_input(self, x):
        self._check("step_input")
        check_variable(x, "x", "fluid.layers.StaticRNN.step_input")
        return self._rnn.input(x)

    def step_output(self, o):
        self._check("step_output")
        check_variable(o, "o", "fluid.layers.StaticRNN.step_output")
        self._outputs.append(self._rnn.output(o))

    def output(self, *outputs):
        for each in outputs:
            self.step_output(each)

    def update_memory(self, mem, var):
        check_variable(mem, "mem", "fluid.layers.StaticRNN.update_memory")
        check_variable(var, "var", "fluid.layers.StaticRNN.update_memory")
        self._rnn.update(mem, var)

    def __call__(self, *args, **kwargs):
        if self._status != 2:
            raise ValueError("RNN output can only be retrieved after rnn block")
        if not self._outputs:
            raise ValueError("RNN has no output")
        return self._outputs[0] if len(self._outputs) == 1 else self._outputs


class DynamicRNN(object):
    """Steps of sequences of any length (lod_level 1 and more)."""

    def __init__(self, name=None):
        self._rnn, self._status, self._has_input = net.dynamic_rnn(name), 0, False

    def block(self):
        if self._status != 0:
            raise ValueError("rnn.block() can only be invoke once")

        def begin():
            self._rnn.begin()
            self._status = 1

        def end():
            self._status = 2
            self._rnn.end()

        return _body(begin, end)

    def _check(self, method):
        if self._status != 1:
            raise ValueError("{0} can only be invoked inside rnn block.".format(method))

    def step_input(self, x, level=0):
        self._check("step_input")
        if not isinstance(x, framework.Variable):
            raise TypeError("step_input() can only take a Variable as its input.")
        self._has_input = True
        return self._rnn.input(x, level)

    def static_input(self, x):
        self._check("static_input")
        if not isinstance(x, framework.Variable):
            raise TypeError("static_input() can only take a Variable as its input")
        if not self._has_input:
            raise RuntimeError("static_input() must be called after step_input().")
        return self._rnn.static_input(x)

    def memory(self, init=None, shape=None, value=0.0, need_reorder=False, dtype="float32"):
        self._check("memory")
        if init is not None:
            if not isinstance(init, framework.Variable):
                raise TypeError("The input arg `init` of memory() must be a Variable")
            if need_reorder and not self._has_input:
                raise ValueError("If set need_reorder to True, make sure step_input be invoked before "
                                 "memory(init=init, need_reordered=True, ...).")
            return self._rnn.memory(init, need_reorder)
        if not self._has_input:
            raise ValueError("step_input should be invoked before memory(shape=..., value=...)")
        return self._rnn.memory_like(list(shape), float(value), framework.dtype_name(dtype))

    def update_memory(self, ex_mem, new_mem):
        self._check("update_memory")
        if not isinstance(ex_mem, framework.Variable):
            raise TypeError("The input arg `ex_mem` of update_memory() must be a Variable")
        if not isinstance(new_mem, framework.Variable):
            raise TypeError("The input arg `new_mem` of update_memory() must be a Variable")
        self._rnn.update(ex_mem, new_mem)

    def output(self, *outputs):
        self._check("output")
        for each in outputs:
            self._rnn.output(each)

    def __call__(self, *args, **kwargs):
        if self._status != 2:
            raise ValueError("Output of the dynamic RNN can only be visited outside the rnn block.")
        outputs = self._rnn.results()
        return outputs[0] if len(outputs) == 1 else outputs


def create_array(dtype):
    """A list of tensors."""
    helper = LayerHelper("array")
    return helper.create_variable(name="{0}.out".format(helper.name), type=core.VarType.LOD_TENSOR_ARRAY, dtype=dtype)


def array_write(x, i, array=None):
    """x as item i (an int64 Variable) of an array (None: a new one)."""
    check_variable(x, "x", "array_write")
    check_dtype(i, "i", "array_write", ("int64",))
    helper = LayerHelper("array_write")
    if array is None:
        array = helper.create_variable(name="{0}.out".format(helper.name), type=core.VarType.LOD_TENSOR_ARRAY,
                                       dtype=x.dtype)
    elif not isinstance(array, framework.Variable) or array.type != core.VarType.LOD_TENSOR_ARRAY:
        raise TypeError("array should be tensor array vairable in array_write Op")
    helper.append_op(type="write_to_array", inputs={"X": [x], "I": [i]}, outputs={"Out": [array]})
    return array


def array_read(array, i):
    """Item i of an array."""
    check_dtype(i, "i", "array_read", ("int64",))
    if not isinstance(array, framework.Variable) or array.type != core.VarType.LOD_TENSOR_ARRAY:
        raise TypeError("array should be tensor array vairable in array_read Op")
    helper = LayerHelper("array_read")
    out = helper.create_variable_for_type_inference(dtype=array.dtype)
    helper.append_op(type="read_from_array", inputs={"X": [array], "I": [i]}, outputs={"Out": [out]})
    return out


def array_length(array):
    """The number of items of an array, int64 [1]."""
    if not isinstance(array, framework.Variable) or array.type != core.VarType.LOD_TENSOR_ARRAY:
        raise TypeError("array should be tensor array vairable in array_length Op")
    return simple_op("lod_array_length", {"X": [array]}, dtype="int64", layer="array_length", stop_gradient=True)


def is_empty(x, cond=None):
    """Whether x has no elements; cond: the variable to write."""
    check_variable(x, "x", "is_empty")
    if cond is None:
        return simple_op("is_empty", {"X": [x]}, dtype="bool", stop_gradient=True)
    check_variable(cond, "cond", "is_empty")
    return simple_op("is_empty", {"X": [x]}, out=cond)


def lod_rank_table(x, level=0):
    """The sequences of a level of x, the longest first."""
    check_variable(x, "x", "lod_rank_table")
    helper = LayerHelper("lod_rank_table")
    table = helper.create_variable(name=unique_name.generate("lod_rank_table"), type=core.VarType.LOD_RANK_TABLE)
    helper.append_op(type="lod_rank_table", inputs={"X": [x]}, outputs={"Out": [table]}, attrs={"level": level})
    return table


def max_sequence_len(rank_table):
    """The length of the longest sequence of a rank table."""
    return simple_op("max_sequence_len", {"RankTable": [rank_table]}, dtype="int64", layer="max_seqence_len")


def lod_tensor_to_array(x, table):
    """The steps of x's sequences, the longest sequence first."""
    check_variable(x, "x", "lod_tensor_to_array")
    helper = LayerHelper("lod_tensor_to_array")
    array = helper.create_variable(name=unique_name.generate("lod_tensor_to_array"), type=core.VarType.LOD_TENSOR_ARRAY,
                                   dtype=x.dtype)
    helper.append_op(type="lod_tensor_to_array", inputs={"X": [x], "RankTable": [table]}, outputs={"Out": [array]})
    return array


def array_to_lod_tensor(x, table):
    """The sequences whose steps x holds, in the order of the batch."""
    check_variable(x, "x", "array_to_lod_tensor")
    return simple_op("array_to_lod_tensor", {"X": [x], "RankTable": [table]})


def shrink_memory(x, i, table):
    """The first rows of x: those of sequences longer than i."""
    check_variable(x, "x", "shrink_memory")
    return simple_op("shrink_rnn_memory", {"X": [x], "I": [i], "RankTable": [table]}, layer="shrink_memory")


def reorder_lod_tensor_by_rank(x, rank_table):
    """The sequences (rows) of x in the table's order."""
    check_variable(x, "x", "reorder_lod_tensor_by_rank")
    if rank_table.type != core.VarType.LOD_RANK_TABLE:
        raise TypeError("The type of rank_table in reorder_lod_tensor_by_rank must be LOD_RANK_TABLE.")
    return simple_op("reorder_lod_tensor_by_rank", {"X": [x], "RankTable": [rank_table]})


def split_lod_tensor(input, mask, level=0):
    """(rows where the mask holds, the others)"""
    check_variable(input, "input", "fluid.layers.split_lod_tensor")
    check_variable(mask, "mask", "fluid.layers.split_lod_tensor")
    helper = LayerHelper("split_lod_tensor")
    yes, no = (helper.create_variable_for_type_inference(dtype=input.dtype) for _ in range(2))
    helper.append_op(type="split_lod_tensor", inputs={"X": [input], "Mask": [mask]},
                     outputs={"OutTrue": [yes], "OutFalse": [no]}, attrs={"level": level})
    return yes, no


def merge_lod_tensor(in_true, in_false, x, mask, level=0):
    """The rows of both in their places again."""
    for value, what in ((in_true, "in_true"), (in_false, "in_false"), (x, "x"), (mask, "mask")):
        check_variable(value, what, "fluid.layers.merge_lod_tensor")
    return simple_op("merge_lod_tensor", {"X": [x], "Mask": [mask], "InTrue": [in_true], "InFalse": [in_false]},
                     {"level": level}, dtype=in_true.dtype)


def select_input(inputs, mask):
    """inputs[mask]"""
    return net.select_input(list(inputs), mask)


__getattr__ = _names.guard(__name__)
