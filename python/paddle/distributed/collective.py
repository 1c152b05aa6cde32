"""Groups of processes."""
import warnings

from skiff import _native

from paddle import _names
from paddle.distributed import parallel


class Group(object):
    """Some processes of the job, in the order of their ranks. `id` is what programs call ring_id."""

    def __init__(self, rank_in_group, id, ranks, pg=None, name=None):
        self._rank, self._id, self._ranks = rank_in_group, id, list(ranks)
        self._name = name or "_default_pg%d" % id

    rank = property(lambda self: self._rank)
    ranks = property(lambda self: self._ranks)
    nranks = world_size = property(lambda self: len(self._ranks))
    id = property(lambda self: self._id)
    name = property(lambda self: self._name)
    backend = property(lambda self: "GLOO")
    process_group = property(lambda self: self)

    def is_member(self):
        return self._rank >= 0

    def get_group_rank(self, rank):
        """The number in the group of a process; -1: it is not in it, or this process is not."""
        return self._ranks.index(rank) if self.is_member() and rank in self._ranks else -1

    def get_global_rank(self, rank):
        """The number in the job of the group's process."""
        return self._ranks[rank] if self.is_member() else -1

    def __repr__(self):
        return "rank: %d, nranks: %d, id: %d, ranks: %s; name: %s" % (
            self._rank, self.nranks, self._id, ", ".join(str(r) for r in self._ranks), self._name)


_groups = {}


def _all():
    """The group of all processes; None: this process has joined no job."""
    if not _native.world_is_open():
        _groups.clear()
        return None
    if 0 not in _groups:
        _groups[0] = Group(_native.world_rank(), 0, range(_native.world_size()))
    return _groups[0]


def _group(group, what):
    """The group that a call means."""
    if group is not None and not isinstance(group, Group):
        raise TypeError("paddle.distributed.%s: group must be what new_group gives, but is %s" % (what, type(group)))
    found = _all() if group is None else group
    if found is None:
        alone = " a job of more than one process is needed (python -m paddle.distributed.launch --nproc_per_node 2 script.py);" \
            if parallel.get_world_size() < 2 else ""
        raise RuntimeError("paddle.distributed.%s: the global group is not initialized;%s call "
                           "paddle.distributed.init_parallel_env() first" % (what, alone))
    if found.is_member() and _groups.get(found.id) is not found:
        raise RuntimeError("paddle.distributed.%s: the group %s has been destroyed" % (what, found.name))
    return found


def new_group(ranks=None, backend=None, timeout=None):
    """A group of some processes. All processes of the job call it, with the same ranks, in the same order as other calls."""
    whole = _group(None, "new_group")
    if backend not in (None, "nccl", "gloo", "NCCL", "GLOO"):
        raise ValueError("paddle.distributed.new_group: backend is %r; expected gloo (or None)" % (backend,))
    ranks = whole.ranks if ranks is None else sorted(int(rank) for rank in ranks)
    id = _native.world_group(ranks)
    _groups[id] = Group(_native.ring_rank(id), id, ranks)
    return _groups[id]


def get_group(id=0):
    """The group with that number; None, with a warning: there is none."""
    _all()
    if id not in _groups:
        warnings.warn("Group %s is not initialized." % (id,), stacklevel=2)
        return None
    return _groups[id]


def destroy_process_group(group=None):
    """Leaves a group; without one: the job. All members call it."""
    whole = _all()
    if whole is None:
        return
    if group is None or group.id == 0:
        _groups.clear()
        _native.world_close()
        return
    _group(group, "destroy_process_group")
    _groups.pop(group.id, None)
    _native.ring_destroy(group.id)


def is_initialized():
    return parallel.is_initialized()


__getattr__ = _names.guard(__name__)
