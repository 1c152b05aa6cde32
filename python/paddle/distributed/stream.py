"""paddle.distributed.stream: the same calls; CPUs have no streams (use_calc_stream is ignored). Where Paddle has a tensor of all
parts in one, a tensor is taken."""
from paddle import _names
from paddle._tensor import Tensor
from paddle.distributed import _calls
from paddle.distributed._calls import ReduceOp


def all_reduce(tensor, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=False):
    return _calls.all_reduce(tensor, op, group, sync_op)


def reduce(tensor, dst=0, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=False):
    return _calls.reduce(tensor, dst, op, group, sync_op)


def broadcast(tensor, src, group=None, sync_op=True, use_calc_stream=False):
    return _calls.broadcast(tensor, src, group, sync_op)


def _cut(value, group, what):
    """A list of parts, or rows of one tensor."""
    if not isinstance(value, Tensor):
        return value
    member = _calls._take_part(group, what)
    return None if member is None else _calls._parts(value, None, member, what)


def _together(parts, out):
    import paddle
    with paddle.no_grad():
        out._become(paddle.concat([part if part.ndim else part.reshape([1]) for part in parts], axis=0))


def all_gather(tensor_or_tensor_list, tensor, group=None, sync_op=True, use_calc_stream=False):
    if not isinstance(tensor_or_tensor_list, Tensor):
        return _calls.all_gather(tensor_or_tensor_list, tensor, group, sync_op)
    parts = []
    task = _calls.all_gather(parts, tensor, group, sync_op)
    if parts:
        _together(parts, tensor_or_tensor_list)
    return task


def gather(tensor, gather_list=None, dst=0, group=None, sync_op=True, use_calc_stream=False):
    return _calls.gather(tensor, gather_list, dst, group, sync_op)


def scatter(tensor, tensor_or_tensor_list=None, src=0, group=None, sync_op=True, use_calc_stream=False):
    return _calls.scatter(tensor, _cut(tensor_or_tensor_list, group, "scatter"), src, group, sync_op)


def reduce_scatter(tensor, tensor_or_tensor_list, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=False):
    return _calls.reduce_scatter(tensor, _cut(tensor_or_tensor_list, group, "reduce_scatter"), op, group, sync_op)


def alltoall(out_tensor_or_tensor_list, in_tensor_or_tensor_list, group=None, sync_op=True, use_calc_stream=False):
    if isinstance(out_tensor_or_tensor_list, Tensor):
        return _calls.alltoall_single(in_tensor_or_tensor_list, out_tensor_or_tensor_list, None, None, group, sync_op)
    return _calls.alltoall(in_tensor_or_tensor_list, out_tensor_or_tensor_list, group, sync_op)


def alltoall_single(out_tensor, in_tensor, out_split_sizes=None, in_split_sizes=None, group=None, sync_op=True,
                    use_calc_stream=False):
    return _calls.alltoall_single(in_tensor, out_tensor, in_split_sizes, out_split_sizes, group, sync_op)


def send(tensor, dst=0, group=None, sync_op=True, use_calc_stream=False):
    return _calls.send(tensor, dst, group, sync_op)


def recv(tensor, src=0, group=None, sync_op=True, use_calc_stream=False):
    return _calls.recv(tensor, src, group, sync_op)


__getattr__ = _names.guard(__name__)
