"""Ids of shards."""
from paddle import _names
from paddle._op import need, one


def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """The number within its shard, where that is shard_id; else ignore_value."""
    if shard_id < 0 or shard_id >= nshards:
        raise ValueError("The shard_id(%d) should be in [0, %d)" % (shard_id, nshards))
    return one("shard_index", "shard_index", {"X": need(input, "input", "shard_index")},
               {"index_num": index_num, "nshards": nshards, "shard_id": shard_id, "ignore_value": ignore_value},
               stop_gradient=True)


__getattr__ = _names.guard(__name__)
