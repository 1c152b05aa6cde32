"""paddle.distributed.communication: where Paddle keeps the calls between processes."""
from paddle import _names

_WHERE = {name: "paddle.distributed._calls" for name in (
    "ReduceOp all_reduce reduce reduce_scatter all_gather gather all_gather_object broadcast broadcast_object_list scatter "
    "scatter_object_list alltoall alltoall_single send recv isend irecv P2POp batch_isend_irecv barrier wait").split()}
_WHERE.update({name: "paddle.distributed.collective" for name in "Group get_group destroy_process_group is_initialized".split()})
_WHERE["stream"] = "paddle.distributed:stream"

__getattr__, __dir__ = _names.lazy(__name__, _WHERE)
