"""DataParallel: every process has the complete model and other rows; gradients are averaged during backward."""
import contextlib
import warnings

from skiff import _native

from paddle import _names
from paddle.distributed import collective
from paddle.distributed.parallel import get_world_size
from paddle.nn.layer.layers import Layer

_MB = 1024 * 1024


def _parameters(layers):
    """[(parameter, whether its gradients are selected rows)] of those that are trained."""
    sparse = set()
    for layer in layers.sublayers(include_self=True):
        if getattr(layer, "_sparse", False) or getattr(layer, "_is_sparse", False):
            sparse.update(id(p) for p in layer.parameters(include_sublayers=False))
    seen, out = set(), []
    for p in layers.parameters():
        if not p.stop_gradient and id(p) not in seen:
            seen.add(id(p))
            out.append((p, id(p) in sparse))
    return out


def sync_params_buffers(model, comm_group=None, src_rank=0, is_model_parallel=False, fuse_params=True):
    """Parameters and buffers of the process src_rank in all of the group."""
    group = collective._group(comm_group, "sync_params_buffers")
    root = group.get_group_rank(src_rank)
    for value in model.state_dict().values():
        _native.collective_broadcast(group.id, value, root)


class DataParallel(Layer):
    """A layer whose gradients are, after every backward, the mean over all processes of the group. Parameters and buffers begin
    as those of its first process. One process: a layer as it is."""

    def __init__(self, layers, strategy=None, comm_buffer_size=25, last_comm_buffer_size=1, find_unused_parameters=False,
                 group=None):
        super().__init__(layers.full_name() + "_data_parallel")
        if not isinstance(layers, Layer):
            raise TypeError("DataParallel: a Layer is needed, but got %s" % type(layers))
        self._layers, self._strategy, self.find_unused_parameters = layers, strategy, find_unused_parameters
        self.comm_buffer_size, self.last_comm_buffer_size = comm_buffer_size, last_comm_buffer_size
        self.grad_need_sync = True
        self._reducer = self.group = None
        if get_world_size() < 2 and group is None:
            warnings.warn("The program will return to single-card operation. Please check 1, whether you use spawn or fleetrun to "
                          "start the program. 2, Whether it is a multi-card program. 3, Is the current environment multi-card.",
                          stacklevel=2)
            return
        self.group = collective._group(group, "DataParallel")
        if not self.group.is_member():
            raise RuntimeError("DataParallel: this process is not in the group, whose ranks are %s" % self.group.ranks)
        sync_params_buffers(layers, self.group, self.group.ranks[0])
        self._join()

    def _join(self):
        pairs = _parameters(self._layers)
        if not pairs:
            raise RuntimeError("This model does not have any parameters to train, and does not need to use DataParallel")
        self._reducer = _native.Reducer([p for p, _ in pairs], [int(sparse) for _, sparse in pairs], self.group.id,
                                        int(self.comm_buffer_size * _MB), int(self.last_comm_buffer_size * _MB))

    def forward(self, *inputs, **kwargs):
        if self._reducer is not None and _native.eager_noting():
            self._reducer.set_sync(self.grad_need_sync)
        return self._layers(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self):
        """Gradients of what is computed in here stay this process' own, and are averaged with those of the next backward."""
        before, self.grad_need_sync = self.grad_need_sync, False
        try:
            yield
        finally:
            self.grad_need_sync = before

    def scale_loss(self, loss):
        """The loss as it is: gradients are averaged."""
        return loss

    def apply_collective_grads(self):
        """Nothing is left to do: backward has averaged them."""

    def state_dict(self, destination=None, include_sublayers=True, structured_name_prefix=""):
        """As that of the layer itself: one process can load it."""
        return self._layers.state_dict(destination, include_sublayers, structured_name_prefix)

    def set_state_dict(self, state_dict, use_structured_name=True):
        return self._layers.set_state_dict(state_dict, use_structured_name)

    set_dict = load_dict = set_state_dict


__getattr__ = _names.guard(__name__)
