"""Who this process is, from the environment."""
import os

from paddle import _names


def _number(name, default):
    text = os.environ.get(name)
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise ValueError("environment variable %s must be a number, but is %r" % (name, text)) from None


def get_rank(group=None):
    """The number of this worker (PADDLE_TRAINER_ID)."""
    return _number("PADDLE_TRAINER_ID", 0)


def get_world_size(group=None):
    """How many workers (PADDLE_TRAINERS_NUM)."""
    return _number("PADDLE_TRAINERS_NUM", 1)


class ParallelEnv(object):
    """The same as properties."""

    @property
    def rank(self):
        return get_rank()

    local_rank = dev_id = device_id = rank

    @property
    def world_size(self):
        return get_world_size()

    nranks = world_size

    @property
    def current_endpoint(self):
        return os.environ.get("PADDLE_CURRENT_ENDPOINT", "")

    @property
    def trainer_endpoints(self):
        text = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "")
        return text.split(",") if text else []


def init_parallel_env():
    """One process: nothing to set up."""
    if get_world_size() > 1:
        raise NotImplementedError("paddle.distributed.init_parallel_env: collective training of several processes is not "
                                  "there; nearest: parameter servers (paddle.distributed.fleet)")


def is_available():
    return True


def is_initialized():
    from paddle.distributed.fleet import _fleet
    return _fleet.fleet._role_maker is not None


def barrier(group=None):
    """Waits for all workers of the fleet."""
    from paddle.distributed.fleet import _fleet
    if is_initialized():
        _fleet.fleet.barrier_worker()


__getattr__ = _names.guard(__name__)
