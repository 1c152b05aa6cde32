"""The collective fleet: every worker holds all parameters, gradients are summed over all of them."""
from paddle import _names
from paddle.fluid import framework
from paddle.fluid.compiler import BuildStrategy, ExecutionStrategy
from paddle.fluid.incubate.fleet.base.fleet_base import DistributedOptimizer, Fleet, Mode
from paddle.fluid.incubate.fleet.base.role_maker import UserDefinedCollectiveRoleMaker

__all__ = ["Collective", "CollectiveOptimizer", "DistributedStrategy", "fleet"]


class DistributedStrategy(BuildStrategy):
    """Accepted for scripts that set it."""

    _defaults = dict(BuildStrategy._defaults, use_local_sgd=False, local_sgd_steps=1, use_dgc=False, mode="nccl2",
                     collective_mode=None, nccl_comm_num=1, forward_recompute=False, recompute_checkpoints=[],
                     use_amp=False, amp_loss_scaling=2 ** 15, exec_strategy=None, _ut4grad_allreduce=False)

    def __init__(self):
        BuildStrategy.__init__(self)
        self.exec_strategy = ExecutionStrategy()


class Collective(Fleet):
    def __init__(self):
        Fleet.__init__(self, Mode.COLLECTIVE)
        self._main_program = self._startup_program = None

    def init(self, role_maker=None):
        """Without a role and without the launcher's environment: one process."""
        import os
        if role_maker is None and "PADDLE_TRAINER_ENDPOINTS" not in os.environ:
            role_maker = UserDefinedCollectiveRoleMaker(0, ["127.0.0.1:6170"])
        Fleet.init(self, role_maker)

    @property
    def main_program(self):
        return self._main_program if self._main_program is not None else framework.default_main_program()

    @property
    def startup_program(self):
        return self._startup_program if self._startup_program is not None else framework.default_startup_program()

    def init_worker(self):
        pass

    def init_server(self, model_dir=None):
        raise NotImplementedError("Collective mode does not have servers")

    def run_server(self):
        raise NotImplementedError("Collective mode does not have servers")

    def stop_worker(self):
        pass

    def distributed_optimizer(self, optimizer, strategy=None):
        self._optimizer = CollectiveOptimizer(optimizer, strategy)
        return self._optimizer

    def save_inference_model(self, executor, dirname, feeded_var_names=None, target_vars=None, main_program=None,
                             export_for_deployment=True):
        from paddle.fluid import io
        if not self.is_first_worker():
            return
        io.save_inference_model(dirname, feeded_var_names, target_vars, executor, main_program,
                                export_for_deployment=export_for_deployment)

    def save_persistables(self, executor, dirname, main_program=None, filename=None):
        from paddle.fluid import io
        if not self.is_first_worker():
            return
        io.save_persistables(executor, dirname, main_program, filename)


#: what would give other numbers, or other programs
_NOT_THERE = {"use_dgc": "whole gradients are summed in every step", "use_amp": "programs compute with float32",
              "forward_recompute": "the numbers are the same, with more memory"}


class CollectiveOptimizer(DistributedOptimizer):
    """minimize also makes the programs collective; they connect when they are first run. Alone: the optimizer itself."""

    def __init__(self, optimizer, strategy=None):
        DistributedOptimizer.__init__(self, optimizer, DistributedStrategy() if strategy is None else strategy)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        if fleet.worker_num() > 1:
            self._check()
        result = self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)
        fleet._main_program, fleet._startup_program = loss.program, startup_program
        if fleet.worker_num() > 1:
            from skiff import _native
            _native.collective_transpile(fleet.main_program, fleet.startup_program, fleet.worker_endpoints(),
                                         fleet.worker_index(),
                                         sync_batch_norm=bool(getattr(self._strategy, "sync_batch_norm", False)),
                                         local_steps=self._local_steps())
        return result

    def _local_steps(self):
        """0: gradients are summed in every step; parameters become their mean in every n-th otherwise."""
        local = getattr(self._strategy, "use_local_sgd", False) or \
            getattr(self._strategy, "collective_mode", None) == "local_sgd"
        return int(getattr(self._strategy, "local_sgd_steps", 1)) if local else 0

    def _check(self):
        for name, instead in _NOT_THERE.items():
            if getattr(self._strategy, name, False):
                raise NotImplementedError("DistributedStrategy.%s is not there; leave it out: %s" % (name, instead))


fleet = Collective()
__getattr__ = _names.guard(__name__)
