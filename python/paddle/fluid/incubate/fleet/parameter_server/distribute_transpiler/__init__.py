"""The fleet of workers and parameter servers.

    fleet.init(role)
    optimizer = fleet.distributed_optimizer(optimizer, strategy)
    optimizer.minimize(loss)
    servers: fleet.init_server(); fleet.run_server()
    workers: fleet.init_worker(); exe.run(fleet.startup_program); train; fleet.stop_worker()
"""

from paddle import _names
from paddle.fluid import framework
from paddle.fluid.incubate.fleet.base.fleet_base import DistributedOptimizer, Fleet, Mode
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import (
    AsyncStrategy, DistributedStrategy, GeoStrategy, HalfAsyncStrategy, StrategyFactory, SyncStrategy,
    TrainerRuntimeConfig, strategy_of)

__all__ = ["DistributedTranspiler", "TranspilerOptimizer", "fleet", "StrategyFactory", "SyncStrategy", "AsyncStrategy",
           "HalfAsyncStrategy", "GeoStrategy", "DistributedStrategy", "TrainerRuntimeConfig"]


class DistributedTranspiler(Fleet):
    def __init__(self):
        Fleet.__init__(self, Mode.TRANSPILER)
        self._job = None
        self._main_program = self._startup_program = None

    @property
    def main_program(self):
        """The program of this role; before minimize the default one."""
        return self._main_program if self._main_program is not None else framework.default_main_program()

    @property
    def startup_program(self):
        return self._startup_program if self._startup_program is not None else framework.default_startup_program()

    # ---- programs ----

    def distributed_optimizer(self, optimizer, strategy=None):
        """strategy: a DistributeTranspilerConfig or a strategy of distributed_strategy; None: sync."""
        if not self._is_initialized:
            raise ValueError("fleet.init(role) to initialize fleet before fleet.distributed_optimizer(optimizer, strategy)")
        self._optimizer = TranspilerOptimizer(optimizer, strategy_of(strategy), self)
        return self._optimizer

    def _split(self, main, startup, strategy):
        from paddle.fluid.incubate.fleet._job import Job
        role = self._role()
        make = Job.server if role.is_server() else Job.worker
        job = make(role.worker_index(), role.worker_num(), role.get_pserver_endpoints(), role.get_trainer_endpoints())
        job.split(main, startup, strategy._native())
        self._job = job
        role._job = job if role.is_worker() else None
        self._main_program, self._startup_program = job.main, job.startup

    def _need_job(self, what):
        if self._job is None:
            raise ValueError("%s should be called after fleet.distributed_optimizer(optimizer, strategy).minimize(loss)" % what)
        return self._job

    # ---- servers ----

    def init_server(self, model_dir=None):
        """Fills the parameters; from a saved model when model_dir is given (made with any number of servers; a folder of
        files, one file of all, or a prefix of .pdiparams or .pdparams)."""
        from paddle.fluid.incubate.fleet._job import is_model
        job = self._need_job("init_server")
        if model_dir is not None and not is_model(model_dir):
            raise ValueError("There is no directory named '%s'" % model_dir)
        job.load(model_dir)

    def run_server(self):
        """Serves until all workers have stopped."""
        self._need_job("run_server").serve()

    # ---- workers ----

    def init_worker(self):
        """Connects to the servers; waits for them."""
        from paddle.fluid.executor import global_scope
        self._need_job("init_worker").connect(global_scope())

    def stop_worker(self):
        """Notifies the servers that this worker has finished."""
        if self._job is not None:
            self._job.leave()
        if self._executor is not None:
            self._executor.close()

    # ---- files ----

    @staticmethod
    def _check_executor(executor, what):
        from paddle.fluid.executor import Executor
        from paddle.fluid.parallel_executor import ParallelExecutor
        if isinstance(executor, ParallelExecutor):
            raise TypeError("in fleet.%s() function, executor must be as Executor type, ParallelExecutor is not allowed" % what)
        if not isinstance(executor, Executor):
            raise TypeError("in fleet.%s() function, executor must be as Executor type" % what)

    def save_persistables(self, executor, dirname, main_program=None):
        """All variables, gathered from the servers; worker 0 writes."""
        from paddle.fluid import io
        from paddle.fluid.compiler import CompiledProgram
        self._check_executor(executor, "save_persistables")
        if isinstance(main_program, CompiledProgram):
            raise TypeError("in fleet.save_persistables() function, main_program must be as Program type, CompiledProgram is "
                            "not allowed")
        program = self.main_program if main_program is None else main_program
        if io._job(program) is None:
            raise ValueError("main_program is for local, may not use fleet.save_persistables")
        io.save_persistables(executor, dirname, program)

    def save_inference_model(self, executor, dirname, feeded_var_names, target_vars, main_program=None,
                             export_for_deployment=True):
        """A model that runs alone, with the servers' parameters."""
        from paddle.fluid import io
        self._check_executor(executor, "save_inference_model")
        if main_program is not None:
            from paddle.fluid.compiler import CompiledProgram
            if isinstance(main_program, CompiledProgram):
                raise TypeError("in fleet.save_inference_model() function, main_program must be as Program type, "
                                "CompiledProgram is not allowed")
        io.save_inference_model(dirname, feeded_var_names, target_vars, executor,
                                self.main_program if main_program is None else main_program,
                                export_for_deployment=export_for_deployment)


class TranspilerOptimizer(DistributedOptimizer):
    """minimize() also splits the programs."""

    def __init__(self, optimizer, strategy=None, owner=None):
        DistributedOptimizer.__init__(self, optimizer, strategy_of(strategy))
        self._fleet = owner if owner is not None else fleet

    def minimize(self, losses, scopes=None, startup_programs=None, parameter_list=None, no_grad_set=None):
        if isinstance(losses, list):
            raise TypeError("losses need to be a single loss, not a list: one program is split")
        if isinstance(startup_programs, list):
            raise TypeError("startup_programs need to be a single program, not a list")
        startup = framework.default_startup_program() if startup_programs is None else startup_programs
        result = self._optimizer.minimize(losses, startup, parameter_list, no_grad_set)
        self._fleet._split(losses.program, startup, self._strategy)
        return result


fleet = DistributedTranspiler()
__getattr__ = _names.guard(__name__)
