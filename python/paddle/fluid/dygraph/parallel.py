"""Data parallel training of 1.8, over paddle.distributed's."""
from paddle import _names
from paddle.distributed.data_parallel import DataParallel as _DataParallel
from paddle.distributed.parallel import ParallelEnv  # noqa: F401

Env = ParallelEnv


class ParallelStrategy(object):
    def __init__(self):
        env = ParallelEnv()
        self.nranks, self.local_rank = env.nranks, env.local_rank
        self.trainer_endpoints, self.current_endpoint = env.trainer_endpoints, env.current_endpoint


def prepare_context(strategy=None):
    """Joins the job, if there are several processes; gives the strategy."""
    from paddle.distributed.parallel import init_parallel_env
    strategy = strategy or ParallelStrategy()
    if strategy.nranks > 1:
        init_parallel_env()
    return strategy


class DataParallel(_DataParallel):
    """backward itself averages the gradients: scale_loss gives the loss as it is, apply_collective_grads has nothing to do, and
    together they are what 1.8 does."""

    def __init__(self, layers, strategy=None):
        super().__init__(layers, strategy)

    def set_dict(self, stat_dict, include_sublayers=True, use_structured_name=True):
        return self._layers.set_dict(stat_dict, use_structured_name=use_structured_name)

    set_state_dict = load_dict = set_dict


__getattr__ = _names.guard(__name__)
