"""Static programs of a collective job: sums of gradients over all ranks, parameters of rank 0."""
from skiff import _native

#: what would give other numbers than the sums of every step
_NOT_THERE = {"gradient_merge": "add up gradients by a larger batch", "localsgd": "", "adaptive_localsgd": "", "dgc": "",
              "pipeline": "", "sharding": "", "tensor_parallel": "", "fp16_allreduce": "", "qat": "",
              "recompute": ""}


def make(main, startup, strategy, role):
    """The programs of this rank, in place. Alone nothing changes."""
    if role.worker_num() < 2:
        return
    for name, instead in _NOT_THERE.items():
        if getattr(strategy, name, False):
            raise NotImplementedError("DistributedStrategy.%s in a static program of several ranks is not there; %s" %
                                      (name, instead or "leave it out"))
    _native.collective_transpile(main, startup, role.get_trainer_endpoints(), role.worker_index(),
                                 sync_batch_norm=bool(strategy.sync_batch_norm))
