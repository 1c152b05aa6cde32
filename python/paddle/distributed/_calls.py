"""Calls between the processes of a job. On Tensors they are made at once; on Variables they append ops to the program.

All take a `group` (None: all processes) and ranks of the job, not of the group. sync_op=False: the call is made while the
script goes on; what it gives has wait().
"""
import pickle
import warnings

from skiff import _native

from paddle import _names
from paddle._mode import mode
from paddle._op import Call, Value
from paddle._tensor import Tensor
from paddle.distributed.collective import _group


class ReduceOp(object):
    """How values of several processes become one."""

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


_OPS = {ReduceOp.SUM: "sum", ReduceOp.MAX: "max", ReduceOp.MIN: "min", ReduceOp.PROD: "prod", ReduceOp.AVG: "avg"}


class Task(object):
    """A call that was made, or is being made."""

    __slots__ = ("_work",)

    def __init__(self, work=None):
        self._work = work

    def wait(self, timeout=None):
        """Waits until the tensors have their values; True."""
        if self._work is not None:
            self._work.wait()
        return True

    synchronize = wait

    def is_completed(self):
        return self._work is None or self._work.done()


_DONE = Task()
#: of _native.collective_start
_ALL_REDUCE, _BROADCAST, _RECV = range(3)


def _take_part(group, what):
    """The group; None, with a warning: this process is not in it."""
    group = _group(group, what)
    if group.is_member():
        return group
    from paddle.distributed.parallel import get_rank
    warnings.warn("Current global rank %d is not in group %s" % (get_rank(), group.name), stacklevel=3)
    return None


def _root(group, rank, what):
    found = group.get_group_rank(rank)
    if found < 0:
        raise ValueError("paddle.distributed.%s: rank %s is not in the group, whose ranks are %s" % (what, rank, group.ranks))
    return found


def _tensor(value, what, name="tensor"):
    if not isinstance(value, Tensor):
        raise TypeError("paddle.distributed.%s: %s must be a Tensor, but is %s" % (what, name, type(value)))
    return value


def _tensors(values, what, name="tensor_list"):
    if not isinstance(values, (list, tuple)):
        raise TypeError("paddle.distributed.%s: %s must be a list of Tensors, but is %s" % (what, name, type(values)))
    return [_tensor(value, what, "every part of " + name) for value in values]


def _how(op, what):
    if op not in _OPS:
        raise ValueError("paddle.distributed.%s: unknown op %r; expected ReduceOp.SUM, MAX, MIN, PROD or AVG" % (what, op))
    return op


def _static(var, what):
    """Is an op to be appended? Programs have no other processes before they run."""
    if mode.eager:
        return False
    if not isinstance(var, Value):
        raise TypeError("paddle.distributed.%s: tensor must be a Variable, but is %s" % (what, type(var)))
    return not isinstance(var, Tensor)


def _ring(group):
    return 0 if group is None else group.id


def _append(kind, var, attrs, group, sync_op):
    attrs.update(ring_id=_ring(group), use_calc_stream=bool(sync_op))
    Call(kind).op(kind, {"X": [var]}, {"Out": [var]}, attrs)


def _fill(given, made, what):
    """Results into a list: into the tensors that are there, or into the empty list."""
    if not given:
        given.extend(made)
    elif len(given) != len(made):
        raise ValueError("paddle.distributed.%s: the list has %d tensors for a group of %d; give an empty one, or one for each "
                         "rank" % (what, len(given), len(made)))
    else:
        for old, new in zip(_tensors(given, what), made):
            old._become(new)


# ---- reductions ----


def all_reduce(tensor, op=ReduceOp.SUM, group=None, sync_op=True):
    """The sum (max, min, product, mean) over all processes, in place, in every one of them."""
    _how(op, "all_reduce")
    if _static(tensor, "all_reduce"):
        if op == ReduceOp.AVG:
            raise ValueError("paddle.distributed.all_reduce: programs have no AVG; use SUM and paddle.scale")
        return _append("c_allreduce_" + _OPS[op], tensor, {}, group, sync_op)
    group = _take_part(group, "all_reduce")
    if group is None:
        return None
    _tensor(tensor, "all_reduce")
    if not sync_op:
        return Task(_native.collective_start(_ALL_REDUCE, group.id, tensor, op))
    _native.collective_all_reduce(group.id, tensor, op)
    return _DONE


def reduce(tensor, dst=0, op=ReduceOp.SUM, group=None, sync_op=True):
    """The same for the process dst; tensors of others stay as they are."""
    _how(op, "reduce")
    if _static(tensor, "reduce"):
        root = dst if group is None else _root(group, dst, "reduce")
        return _append("c_reduce_" + _OPS[op], tensor, {"root_id": root}, group, sync_op)
    group = _take_part(group, "reduce")
    if group is None:
        return None
    _native.collective_reduce(group.id, _tensor(tensor, "reduce"), op, _root(group, dst, "reduce"))
    return _DONE


def reduce_scatter(tensor, tensor_list, op=ReduceOp.SUM, group=None, sync_op=True):
    """Into `tensor`: the sum of what all processes have at this one's place of their lists."""
    group = _take_part(group, "reduce_scatter")
    if group is None:
        return None
    _native.collective_reduce_scatter(group.id, _tensors(tensor_list, "reduce_scatter"), _tensor(tensor, "reduce_scatter"),
                                      _how(op, "reduce_scatter"))
    return _DONE


# ---- gathering ----


def all_gather(tensor_list, tensor, group=None, sync_op=True):
    """The tensors of all processes (of one type and shape) into the list."""
    if not isinstance(tensor_list, list):
        raise TypeError("paddle.distributed.all_gather: tensor_list must be a list, but is %s" % type(tensor_list))
    group = _take_part(group, "all_gather")
    if group is None:
        return None
    _fill(tensor_list, _native.collective_all_gather(group.id, _tensor(tensor, "all_gather"), -1), "all_gather")
    return _DONE


def gather(tensor, gather_list=None, dst=0, group=None, sync_op=True):
    """The tensors of all processes into the list of dst."""
    group = _take_part(group, "gather")
    if group is None:
        return None
    root = _root(group, dst, "gather")
    if group.rank == root and not isinstance(gather_list, list):
        raise ValueError("paddle.distributed.gather: gather_list of the process dst must be a list, but is %s" % type(gather_list))
    made = _native.collective_all_gather(group.id, _tensor(tensor, "gather"), root)
    if made is not None:
        _fill(gather_list, made, "gather")
    return _DONE


def _share(group, thing, mine=True):
    """The pickled objects of all processes; mine False: this one sends nothing."""
    return _native.collective_all_gather_bytes(group.id, pickle.dumps(thing) if mine else b"")


def all_gather_object(object_list, obj, group=None):
    """An object of every process into the list."""
    group = _take_part(group, "all_gather_object")
    if group is not None:
        object_list.extend(pickle.loads(part) for part in _share(group, obj))


# ---- from one ----


def broadcast(tensor, src, group=None, sync_op=True):
    """The tensor of src into that of every process."""
    if _static(tensor, "broadcast"):
        root = src if group is None else _root(group, src, "broadcast")
        return _append("c_broadcast", tensor, {"root": root}, group, sync_op)
    group = _take_part(group, "broadcast")
    if group is None:
        return None
    root = _root(group, src, "broadcast")
    _tensor(tensor, "broadcast")
    if not sync_op:
        return Task(_native.collective_start(_BROADCAST, group.id, tensor, root))
    _native.collective_broadcast(group.id, tensor, root)
    return _DONE


def broadcast_object_list(object_list, src, group=None):
    """The objects of src into the list of every process."""
    group = _take_part(group, "broadcast_object_list")
    if group is None:
        return
    root = _root(group, src, "broadcast_object_list")
    things = pickle.loads(_share(group, list(object_list), group.rank == root)[root])
    if len(things) != len(object_list):
        raise ValueError("paddle.distributed.broadcast_object_list: rank %d has %d objects, this one %d" %
                         (src, len(things), len(object_list)))
    object_list[:] = things


def scatter(tensor, tensor_list=None, src=0, group=None, sync_op=True):
    """From src's list to every process what stands at its place."""
    group = _take_part(group, "scatter")
    if group is None:
        return None
    root = _root(group, src, "scatter")
    parts = _tensors(tensor_list, "scatter") if group.rank == root else None
    _native.collective_scatter(group.id, parts, _tensor(tensor, "scatter"), root)
    return _DONE


def scatter_object_list(out_object_list, in_object_list=None, src=0, group=None):
    """The same with objects; out_object_list becomes a list of one."""
    group = _take_part(group, "scatter_object_list")
    if group is None:
        return
    root = _root(group, src, "scatter_object_list")
    if group.rank == root and (in_object_list is None or len(in_object_list) != group.nranks):
        raise ValueError("paddle.distributed.scatter_object_list: in_object_list of rank %d must have one object for each of the "
                         "%d ranks" % (src, group.nranks))
    things = pickle.loads(_share(group, in_object_list, group.rank == root)[root])
    out_object_list[:] = [things[group.rank]]


# ---- to each ----


def _like(tensor):
    import paddle
    return paddle.zeros_like(tensor)


def alltoall(in_tensor_list, out_tensor_list, group=None, sync_op=True):
    """Part i goes to process i; out_tensor_list gets the parts from all processes (empty: with the shapes of the parts that are sent)."""
    group = _take_part(group, "alltoall")
    if group is None:
        return None
    given = _tensors(in_tensor_list, "alltoall", "in_tensor_list")
    if not out_tensor_list:
        out_tensor_list.extend(_like(part) for part in given)
    _native.collective_all_to_all(group.id, given, _tensors(out_tensor_list, "alltoall", "out_tensor_list"))
    return _DONE


def _parts(tensor, sizes, group, what):
    """Rows of a tensor for every process."""
    rows = tensor.shape[0] if tensor.shape else 0
    if sizes is None or len(sizes) == 0:
        if rows % group.nranks:
            raise ValueError("paddle.distributed.%s: %d rows cannot be divided evenly among %d ranks; give the sizes" %
                             (what, rows, group.nranks))
        sizes = [rows // group.nranks] * group.nranks
    if len(sizes) != group.nranks or sum(sizes) != rows or min(sizes) < 0:
        raise ValueError("paddle.distributed.%s: sizes %s for %d rows and %d ranks" % (what, list(sizes), rows, group.nranks))
    out, at = [], 0
    for size in sizes:
        out.append(tensor[at:at + size].detach())
        at += size
    return out


def alltoall_single(in_tensor, out_tensor, in_split_sizes=None, out_split_sizes=None, group=None, sync_op=True):
    """The same with rows of one tensor; without sizes every process gets as many."""
    import paddle
    group = _take_part(group, "alltoall_single")
    if group is None:
        return None
    given = _parts(_tensor(in_tensor, "alltoall_single", "in_tensor"), in_split_sizes, group, "alltoall_single")
    parts = [part.clone() for part in _parts(_tensor(out_tensor, "alltoall_single", "out_tensor"), out_split_sizes, group,
                                             "alltoall_single")]
    _native.collective_all_to_all(group.id, given, parts)
    with paddle.no_grad():
        out_tensor._become(paddle.concat(parts, axis=0))
    return _DONE


# ---- messages ----


def send(tensor, dst=0, group=None, sync_op=True):
    """A message to the process dst; does not wait for it."""
    if _static(tensor, "send"):
        raise NotImplementedError("paddle.distributed.send: programs have no messages; nearest: broadcast")
    group = _take_part(group, "send")
    if group is None:
        return None
    _native.collective_send(group.id, _tensor(tensor, "send"), _root(group, dst, "send"))
    return _DONE


def recv(tensor, src=0, group=None, sync_op=True):
    """The next message of the process src, of this type and shape, into the tensor."""
    if _static(tensor, "recv"):
        raise NotImplementedError("paddle.distributed.recv: programs have no messages; nearest: broadcast")
    group = _take_part(group, "recv")
    if group is None:
        return None
    root = _root(group, src, "recv")
    if not sync_op:
        return Task(_native.collective_start(_RECV, group.id, _tensor(tensor, "recv"), root))
    _native.collective_recv(group.id, _tensor(tensor, "recv"), root)
    return _DONE


def isend(tensor, dst, group=None):
    return send(tensor, dst, group, sync_op=False)


def irecv(tensor, src=None, group=None):
    return recv(tensor, 0 if src is None else src, group, sync_op=False)


class P2POp(object):
    """A message for batch_isend_irecv: isend or irecv, the tensor, the other process."""

    def __init__(self, op, tensor, peer, group=None):
        if op not in (isend, irecv):
            raise RuntimeError("Invalid ``op`` function. Expected ``op`` to be of type ``paddle.distributed.isend`` or "
                               "``paddle.distributed.irecv``.")
        self.op, self.tensor, self.peer, self.group = op, tensor, peer, group


def batch_isend_irecv(p2p_op_list):
    """Starts all of them; gives their tasks."""
    if not p2p_op_list or not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise RuntimeError("paddle.distributed.batch_isend_irecv: a list of P2POp is needed")
    group = p2p_op_list[0].group
    if any(one.group is not group for one in p2p_op_list):
        raise RuntimeError("paddle.distributed.batch_isend_irecv: all messages must be of one group")
    if _take_part(group, "batch_isend_irecv") is None:
        return []
    return [one.op(one.tensor, one.peer, group) for one in p2p_op_list]


# ---- waiting ----


def barrier(group=None):
    """Waits for all processes."""
    if group is None and not _native.world_is_open():
        from paddle.distributed.fleet import _fleet
        if _fleet.fleet._role_maker is not None and not _fleet.fleet._is_collective:
            return _fleet.fleet.barrier_worker()  # workers of parameter servers
    group = _take_part(group, "barrier")
    if group is not None:
        _native.collective_barrier(group.id)
    return None


def wait(tensor, group=None, use_calc_stream=True):
    """What was started for this tensor (sync_op=False) is over."""
    if not _static(tensor, "wait"):
        _native.collective_finish(_tensor(tensor, "wait"))


__getattr__ = _names.guard(__name__)
