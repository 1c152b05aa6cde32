"""Static programs of a collective job: sums of gradients over all ranks, parameters of rank 0; gradient merge, local SGD."""
from skiff import _native

#: what would give other numbers, or other programs, and what to do instead
_NOT_THERE = {
    "adaptive_localsgd": "use localsgd with localsgd_configs = {'k_steps': ...}",
    "dgc": "leave it out: whole gradients are summed",
    "fp16_allreduce": "leave it out: gradients are summed as float32",
    "pipeline": "leave it out: every rank runs the whole program",
    "qat": "leave it out",
    "recompute": "leave it out: the numbers are the same, with more memory",
    "sharding": "leave it out: every rank holds all parameters; tables that are too large for that belong on servers",
    "tensor_parallel": "leave it out: every rank holds all parameters",
}
#: what gives other numbers in one process as well
_NOT_THERE_ALONE = {
    "lamb": "give fleet.distributed_optimizer a paddle.optimizer.Lamb",
    "lars": "give fleet.distributed_optimizer a fluid.optimizer.LarsMomentumOptimizer",
}


def _refuse(strategy, names, where):
    for name, instead in names.items():
        if getattr(strategy, name, False):
            raise NotImplementedError("DistributedStrategy.%s in a static program%s is not there; %s" % (name, where, instead))


def check(strategy, role):
    """Before anything is appended."""
    _refuse(strategy, _NOT_THERE_ALONE, "")
    if role.worker_num() > 1:
        _refuse(strategy, _NOT_THERE, " of several ranks")


def note_tables(main):
    """Rows by any id need one keeper: each rank has all parameters, as tensors."""
    from paddle.distributed.fleet import _local
    for name in sorted(set(op.input("W")[0] for op in _local.tables_of(main))):
        _local.say_once("table %s: ranks of a collective job hold it as a tensor of its declared %d rows, and ids must be "
                        "below that; rows by any 64-bit id are there with servers (--server_num), or in one process" %
                        (name, main.global_block().var(name).shape[0]))


def make(main, startup, strategy, role):
    """The programs of this rank, in place. Alone gradients are merged, and nothing else changes."""
    merge, local = strategy.gradient_merge_configs, strategy.localsgd_configs
    if strategy.gradient_merge:
        _native.gradient_merge(main, startup, int(merge["k_steps"]), bool(merge["avg"]))
    if role.worker_num() < 2:
        return
    note_tables(main)
    steps = {"local_steps": int(local["k_steps"]), "local_begin": int(local["begin_step"])} if strategy.localsgd else {}
    _native.collective_transpile(main, startup, role.get_trainer_endpoints(), role.worker_index(),
                                 sync_batch_norm=bool(strategy.sync_batch_norm), **steps)
