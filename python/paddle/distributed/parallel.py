"""Who this process is in a collective job, how it joins, and how it leaves."""
import atexit
import os
import sys
import warnings

from skiff import _native

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
    """The number of this process in the job (PADDLE_TRAINER_ID, else of srun or mpirun), or in the group; -1: not a member
    of it."""
    return _number("PADDLE_TRAINER_ID", _native.world_rank()) if group is None else group.rank


def get_world_size(group=None):
    """How many processes the job has (PADDLE_TRAINERS_NUM, else of srun or mpirun), or the group; -1: not a member of
    it."""
    if group is None:
        return _number("PADDLE_TRAINERS_NUM", _native.world_size())
    return group.nranks if group.is_member() else -1


class ParallelEnv(object):
    """The environment of this process, as it was when the object was made."""

    def __init__(self):
        self._rank, self._world_size = get_rank(), get_world_size()
        self._device_type = os.environ.get("PADDLE_XCCL_BACKEND", "")
        self._device_id = int((os.environ.get("FLAGS_selected_gpus") or "0").split(",")[0])
        text = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "")
        self._trainer_endpoints = text.split(",") if text else []
        self._current_endpoint = os.environ.get("PADDLE_CURRENT_ENDPOINT", "")
        self._nrings = _number("FLAGS_nccl_nrings", 1)
        self._pg_timeout = _number("PADDLE_PG_TIMEOUT", 1800000)

    rank = local_rank = property(lambda self: self._rank)
    world_size = nranks = property(lambda self: self._world_size)
    device_id = dev_id = property(lambda self: self._device_id)
    device_type = property(lambda self: self._device_type)
    current_endpoint = property(lambda self: self._current_endpoint)
    trainer_endpoints = property(lambda self: self._trainer_endpoints)
    nrings = property(lambda self: self._nrings)
    pg_timeout = property(lambda self: self._pg_timeout)


class ParallelMode(object):
    """Ways to train with several processes."""

    DATA_PARALLEL = 0
    TENSOR_PARALLEL = 1
    PIPELINE_PARALLEL = 2
    SHARDING_PARALLEL = 3
    SEGMENT_PARALLEL = 4


def _say_interrupted():
    """After Ctrl-C the process ends by the signal: this notifies the other ranks."""
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        _native.world_abandon("was interrupted (KeyboardInterrupt)")


def init_parallel_env():
    """Joins the job that the environment names and waits until all processes have come; gives the group of all. One process
    alone: nothing to join, there is no group."""
    from paddle.distributed import collective
    if get_world_size() < 2:
        warnings.warn("Currently not a parallel execution environment, `paddle.distributed.init_parallel_env` will not do "
                      "anything.", stacklevel=2)
        return None
    if not _native.world_is_open():
        _native.world_open()
        atexit.unregister(_say_interrupted)
        atexit.register(_say_interrupted)
    return collective._all()


def is_available():
    return True


def is_initialized():
    """Has this process joined a collective job?"""
    return _native.world_is_open()


def get_backend(group=None):
    """The name that CPU groups have in Paddle."""
    from paddle.distributed import collective
    if not collective._group(group, "get_backend").is_member():
        raise RuntimeError("Invalid group specified")
    return "GLOO"


def gloo_init_parallel_env(rank_id, rank_num, server_endpoint):
    """The rendezvous of a CPU job. Needs the addresses of all processes: PADDLE_TRAINER_ENDPOINTS."""
    if rank_num < 2:
        return
    if (get_rank(), get_world_size()) != (rank_id, rank_num) or not os.environ.get("PADDLE_TRAINER_ENDPOINTS"):
        raise RuntimeError("gloo_init_parallel_env(%d, %d, %r): ranks connect by the addresses of all ranks, which this call does not "
                           "have; start the script with python -m paddle.distributed.launch --nproc_per_node %d, or set "
                           "PADDLE_TRAINER_ID=%d, PADDLE_TRAINERS_NUM=%d and PADDLE_TRAINER_ENDPOINTS" %
                           (rank_id, rank_num, server_endpoint, rank_num, rank_id, rank_num))
    init_parallel_env()


def gloo_barrier():
    """Waits for all."""
    from paddle.distributed import _calls
    if get_world_size() > 1:
        _calls.barrier()


def gloo_release():
    """Leaves the job."""
    from paddle.distributed import collective
    collective.destroy_process_group()


_WHERE = {"DataParallel": "paddle.distributed.data_parallel"}
__getattr__, __dir__ = _names.lazy(__name__, _WHERE)
