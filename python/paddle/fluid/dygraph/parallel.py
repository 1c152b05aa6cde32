"""Data parallel training of 1.8, in one process."""
from paddle import _names
from paddle.fluid.dygraph.layers import Layer


class ParallelEnv(object):
    """The process' place in its job, from PADDLE_TRAINER_ID and its kin."""

    def __init__(self):
        import os
        env = os.environ
        self._nranks = int(env.get("PADDLE_TRAINERS_NUM", "1"))
        self._local_rank = int(env.get("PADDLE_TRAINER_ID", "0"))
        self._dev_id = int(env.get("FLAGS_selected_gpus", "0").split(",")[0] or 0)
        self._trainer_endpoints = env.get("PADDLE_TRAINER_ENDPOINTS", "").split(",")
        self._current_endpoint = env.get("PADDLE_CURRENT_ENDPOINT", "")

    nranks = property(lambda self: self._nranks)
    local_rank = property(lambda self: self._local_rank)
    dev_id = property(lambda self: self._dev_id)
    current_endpoint = property(lambda self: self._current_endpoint)
    trainer_endpoints = property(lambda self: self._trainer_endpoints)


Env = ParallelEnv


class ParallelStrategy(object):
    def __init__(self):
        env = ParallelEnv()
        self.nranks, self.local_rank = env.nranks, env.local_rank
        self.trainer_endpoints, self.current_endpoint = env.trainer_endpoints, env.current_endpoint


def prepare_context(strategy=None):
    """The strategy of the job. Several processes: paddle.distributed of 2.x."""
    strategy = strategy or ParallelStrategy()
    if strategy.nranks > 1:
        raise RuntimeError("fluid.dygraph.parallel.prepare_context: jobs of several processes (PADDLE_TRAINERS_NUM=%d) are for "
                           "paddle.distributed.init_parallel_env and paddle.DataParallel" % strategy.nranks)
    return strategy


class DataParallel(Layer):
    """A layer as it is: there is one process."""

    def __init__(self, layers, strategy):
        super().__init__(layers.full_name() + "_data_parallel")
        self._layers = layers
        self._strategy = strategy

    def forward(self, *inputs, **kwargs):
        return self._layers(*inputs, **kwargs)

    def scale_loss(self, loss):
        return loss

    def apply_collective_grads(self):
        """Nothing to add up."""

    def state_dict(self, destination=None, include_sublayers=True, structured_name_prefix=""):
        return self._layers.state_dict(destination, include_sublayers, structured_name_prefix)

    def set_dict(self, stat_dict, include_sublayers=True, use_structured_name=True):
        return self._layers.set_dict(stat_dict, use_structured_name=use_structured_name)

    set_state_dict = load_dict = set_dict


__getattr__ = _names.guard(__name__)
