"""fluid.ParallelExecutor: the older face of CompiledProgram.with_data_parallel."""
from paddle import _names
from paddle.fluid import core, framework
from paddle.fluid.compiler import BuildStrategy, CompiledProgram, ExecutionStrategy
from paddle.fluid.executor import Executor, fetch_names, global_scope

__all__ = ["ParallelExecutor"]


def _of_ranks(program, loss_name, num_trainers, trainer_id, scope, share_vars_from, sync_batch_norm):
    """The program with sums of its gradients over all trainers, which all begin with trainer 0's parameters. The startup program
    has connected them (DistributeTranspiler, mode nccl2), or the environment has their addresses."""
    from skiff import _native
    own = program.clone()
    if share_vars_from is None and loss_name is not None:
        _native.collective_spread(program, scope)
    size, rank = _native.world_size(), _native.world_rank()
    if (size, rank) != (num_trainers, trainer_id):
        raise ValueError("ParallelExecutor(num_trainers=%d, trainer_id=%d): this process is trainer %d of %d (the trainers' "
                         "addresses, or PADDLE_TRAINER_ID and PADDLE_TRAINERS_NUM)" % (num_trainers, trainer_id, rank, size))
    if loss_name is not None:
        _native.collective_transpile(own, sync_batch_norm=bool(sync_batch_norm))
    return own


class ParallelExecutor(object):
    """Runs a program on CPU_NUM devices; num_trainers and trainer_id are for collective jobs of several machines."""

    def __init__(self, use_cuda, loss_name=None, main_program=None, share_vars_from=None, exec_strategy=None,
                 build_strategy=None, num_trainers=1, trainer_id=0, scope=None):
        if use_cuda:
            raise RuntimeError("ParallelExecutor(use_cuda=True): Skiff has no CUDA")
        if share_vars_from is not None and not isinstance(share_vars_from, ParallelExecutor):
            raise TypeError("share_vars_from must be a ParallelExecutor")
        build = BuildStrategy() if build_strategy is None else build_strategy
        build.num_trainers, build.trainer_id = num_trainers, trainer_id
        self._scope = global_scope() if scope is None else scope
        program = framework.default_main_program() if main_program is None else main_program
        if num_trainers != 1:
            program = _of_ranks(program, loss_name, num_trainers, trainer_id, self._scope, share_vars_from,
                                build.sync_batch_norm)
        self._compiled = CompiledProgram(program).with_data_parallel(
            loss_name=loss_name, build_strategy=build, exec_strategy=exec_strategy or ExecutionStrategy())
        self._exe = Executor(core.CPUPlace())

    def run(self, fetch_list, feed=None, feed_dict=None, return_numpy=True):
        """feed: a dictionary, cut into one part per device, or a list of dictionaries, one per device."""
        if feed is None and feed_dict is not None:
            feed = feed_dict
        return self._compiled._run(self._exe, feed, fetch_names(fetch_list), self._scope, return_numpy, True)

    @property
    def device_count(self):
        return self._compiled.device_count

    def drop_local_exe_scopes(self):
        """Nothing to do: variables of a run do not stay."""


__getattr__ = _names.guard(__name__)
