"""paddle.distributed: launchers, ranks, datasets, fleet. Nothing is loaded before it is asked for."""
from paddle import _names

_WHERE = {}
for _word in "get_rank get_world_size init_parallel_env ParallelEnv is_initialized is_available barrier".split():
    _WHERE[_word] = "paddle.distributed.parallel"
for _word in "CountFilterEntry ProbabilityEntry ShowClickEntry".split():
    _WHERE[_word] = "paddle.distributed.entry_attr"
for _word in "QueueDataset InMemoryDataset".split():
    _WHERE[_word] = "paddle.distributed.fleet.dataset"
for _word in ("all_reduce", "all_gather", "broadcast", "reduce", "scatter", "send", "recv", "spawn", "DataParallel"):
    _names.REASONS.setdefault(_word, "collective training of several processes is not there; nearest: parameter servers "
                                     "(paddle.distributed.fleet) and fleet.util.all_reduce")

__getattr__, __dir__ = _names.lazy(__name__, _WHERE, ("launch", "launch_ps", "fleet", "parallel", "entry_attr", "io"))
