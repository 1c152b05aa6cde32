"""paddle.distributed: launchers, ranks, calls between processes, datasets, fleet. Nothing is loaded before it is asked for."""
from paddle import _names

_NAMES = {
    "parallel": "get_rank get_world_size init_parallel_env ParallelEnv ParallelMode is_initialized is_available get_backend "
                "gloo_init_parallel_env gloo_barrier gloo_release",
    "collective": "Group new_group get_group destroy_process_group",
    "_calls": "ReduceOp all_reduce reduce reduce_scatter all_gather gather all_gather_object broadcast broadcast_object_list "
              "scatter scatter_object_list alltoall alltoall_single send recv isend irecv P2POp batch_isend_irecv barrier wait",
    "data_parallel": "DataParallel",
    "entry_attr": "CountFilterEntry ProbabilityEntry ShowClickEntry",
    "fleet.dataset": "QueueDataset InMemoryDataset",
}
_WHERE = {name: "paddle.distributed." + module for module, names in _NAMES.items() for name in names.split()}
_WHERE["spawn"] = "paddle.distributed._spawn"

__getattr__, __dir__ = _names.lazy(__name__, _WHERE, ("launch", "launch_ps", "fleet", "parallel", "entry_attr", "io",
                                                      "collective", "stream", "communication", "utils", "ps", "rpc"))
