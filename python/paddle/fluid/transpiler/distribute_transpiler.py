"""fluid.DistributeTranspiler: splits a trained program into programs of trainers and servers.

The split is C's (src/passes/split.h). The programs that get_trainer_program and get_pserver_program give carry the job:
running the trainer's startup program connects to the servers, running a server's program serves until all trainers have
closed.
"""
from skiff import _native

from paddle import _names
from paddle.fluid import framework
from paddle.fluid.transpiler.ps_dispatcher import HashName, PSDispatcher, RoundRobin

__all__ = ["DistributeTranspiler", "DistributeTranspilerConfig", "ServerRuntimeConfig"]


class DistributedMode(object):
    SYNC, ASYNC, HALF_ASYNC, GEO = 0, 1, 2, 3


class ServerRuntimeConfig(object):
    """Threads of a server, from FLAGS_rpc_*_thread_num; Skiff's servers have a thread per shard."""

    def __init__(self):
        import os
        self._rpc_send_thread_num = int(os.getenv("FLAGS_rpc_send_thread_num", "12"))
        self._rpc_get_thread_num = int(os.getenv("FLAGS_rpc_get_thread_num", "12"))
        self._rpc_prefetch_thread_num = int(os.getenv("FLAGS_rpc_prefetch_thread_num", "12"))


class DistributeTranspilerConfig(object):
    """How to split. sync_mode and runtime_split_send_recv exclude each other."""

    slice_var_up = True
    split_method = None
    min_block_size = 8192
    enable_dc_asgd = False
    mode = "pserver"
    print_log = False
    wait_port = True
    half_async = False
    completely_not_async = False
    geo_sgd_mode = False
    geo_sgd_need_push_nums = 100
    nccl_comm_num = 1
    use_hierarchical_allreduce = False
    hierarchical_allreduce_inter_nranks = 0
    collective_mode = None

    def __init__(self):
        self._sync_mode = True
        self._runtime_split_send_recv = False

    @property
    def sync_mode(self):
        return self._sync_mode

    @sync_mode.setter
    def sync_mode(self, value):
        if value is None:
            raise ValueError("sync_mode can't be None")
        if value and self._runtime_split_send_recv:
            raise ValueError("if you want to set sync_mode to be true, make sure runtime_split_send_recv is false at first")
        self._sync_mode = value

    @property
    def runtime_split_send_recv(self):
        return self._runtime_split_send_recv

    @runtime_split_send_recv.setter
    def runtime_split_send_recv(self, value):
        if value is None:
            raise ValueError("runtime_split_send_recv can't be None")
        if value and self._sync_mode:
            raise ValueError("if you want to set runtime_split_send_recv to be true, make sure config.sync_mode is false at "
                             "first")
        self._runtime_split_send_recv = value

    def _fields(self):
        """The fields that the native split takes."""
        method = self.split_method
        if method is None:
            method = RoundRobin
        if not (isinstance(method, type) and issubclass(method, PSDispatcher)) or method not in (RoundRobin, HashName):
            raise AssertionError("split_method must be RoundRobin or HashName of fluid.transpiler, but got %s" % (method,))
        if not isinstance(self.min_block_size, (int, float)):
            raise TypeError("min_block_size must be a number, but is %r" % (self.min_block_size,))
        if self.min_block_size < 8192:
            raise AssertionError("min_block_size must be at least 8192, but is %d" % self.min_block_size)
        return {"slice_var_up": bool(self.slice_var_up), "split_method": method.__name__,
                "min_block_size": int(self.min_block_size), "enable_dc_asgd": bool(self.enable_dc_asgd),
                "sync_mode": bool(self._sync_mode), "runtime_split_send_recv": bool(self._runtime_split_send_recv),
                "half_async": bool(self.half_async), "completely_not_async": bool(self.completely_not_async),
                "geo_sgd_mode": bool(self.geo_sgd_mode), "geo_sgd_need_push_nums": self.geo_sgd_need_push_nums}


class DistributeTranspiler(object):
    """transpile(), then get_trainer_program() on trainers, get_pserver_program() and get_startup_program() on servers."""

    def __init__(self, config=None):
        self.config = DistributeTranspilerConfig() if config is None else config
        if not isinstance(self.config, DistributeTranspilerConfig):
            raise TypeError("config must be a DistributeTranspilerConfig, but got %s" % type(config))
        if self.config.mode not in ("pserver", "nccl2", "collective"):
            raise ValueError("DistributeTranspiler: mode is pserver, nccl2 or collective, not %r" % self.config.mode)
        self._split = None
        self._servers = {}
        self._trainer = None
        self._model_dir = None

    def transpile(self, trainer_id, program=None, pservers="127.0.0.1:6174", trainers=1, sync_mode=True,
                  startup_program=None, current_endpoint="127.0.0.1:6174"):
        """Splits the program (None: the default ones). The addresses are ip:port, separated by commas; in the modes nccl2 and
        collective `trainers` are the trainers' addresses, and the programs become those of this trainer."""
        if self.config.mode != "pserver":
            return self._transpile_ranks(trainer_id, program, startup_program, trainers)
        if not isinstance(trainers, int):
            raise TypeError("trainers must be the number of trainers, but got %s (trainers' addresses are for mode nccl2)" %
                            type(trainers))
        if not isinstance(pservers, str):
            raise TypeError("pservers must be text, ip:port,ip:port, but got %s" % type(pservers))
        pservers = ",".join(server.strip() for server in pservers.split(","))
        self._main = framework.default_main_program() if program is None else program
        self._startup = framework.default_startup_program() if startup_program is None else startup_program
        for given in (self._main, self._startup):
            given.__dict__.pop("_own_tables", None)  # rows are the servers' now
        self.trainer_id, self.trainer_num = trainer_id, trainers
        self.pserver_endpoints = pservers.split(",")
        self.sync_mode = sync_mode
        self._split = _native.Split(self._main, self._startup, trainer_id=trainer_id, pservers=pservers, trainers=trainers,
                                    sync_mode=bool(sync_mode), config=self.config._fields())

    def _transpile_ranks(self, trainer_id, program, startup_program, trainers):
        """nccl2: the startup program connects the trainers, and ParallelExecutor(num_trainers=..) sums the gradients;
        collective: the program itself does it."""
        if not isinstance(trainers, str):
            raise TypeError("in mode %s trainers must be the trainers' addresses, ip:port,ip:port, but got %s" %
                            (self.config.mode, type(trainers)))
        self._main = framework.default_main_program() if program is None else program
        self._startup = framework.default_startup_program() if startup_program is None else startup_program
        ends = [end.strip() for end in trainers.split(",")]
        self.trainer_id, self.trainer_num = trainer_id, len(ends)
        if self.config.mode == "nccl2":
            _native.collective_gen(self._startup, ends, trainer_id)
            return
        if self.config.collective_mode not in (None, "grad_allreduce", "local_sgd"):
            raise ValueError("DistributeTranspiler: collective_mode is grad_allreduce or local_sgd, not %r" %
                             self.config.collective_mode)
        _native.collective_transpile(self._main, self._startup, ends, trainer_id,
                                     local_steps=int(self.config.collective_mode == "local_sgd"))

    def _mode(self, fields):
        """(mode, direct): without runtime_split_send_recv the ops exchange at once, in sync or async mode; with it a
        communicator does, and the programs are those of fleet's strategies."""
        if fields["geo_sgd_mode"]:
            return "geo", False
        if not fields["runtime_split_send_recv"]:
            return "sync" if fields["sync_mode"] and self.sync_mode else "async", True
        if not fields["half_async"]:
            return "async", False
        return "sync" if fields["completely_not_async"] else "half_async", False

    def _strategy(self):
        fields = self.config._fields()
        mode, direct = self._mode(fields)
        return {"mode": mode, "direct": direct, "geo_steps": fields["geo_sgd_need_push_nums"],
                "no_slice": not fields["slice_var_up"], "min_block_size": fields["min_block_size"],
                "split_method": fields["split_method"], "dc_asgd": fields["enable_dc_asgd"]}

    def _ready(self):
        if self.config.mode != "pserver":
            raise RuntimeError("mode %s has no servers: run the default programs after transpile()" % self.config.mode)
        if self._split is None:
            raise RuntimeError("call transpile() first")

    def get_trainer_program(self, wait_port=True):
        """The trainer's program; the default programs are the trainer's from now on. The servers are waited for when its
        startup program runs."""
        self._ready()
        if self._trainer is None:
            from paddle.fluid.incubate.fleet._job import Job
            job = Job.worker(self.trainer_id, self.trainer_num, self.pserver_endpoints)
            job.split(self._main, self._startup, self._strategy())
            self._trainer = job
        return self._trainer.main

    def get_pserver_program(self, endpoint):
        """The program of the server at this address."""
        self._ready()
        if endpoint not in self.pserver_endpoints:
            raise ValueError("get_pserver_program: %s is none of the servers %s" %
                             (endpoint, ",".join(self.pserver_endpoints)))
        if endpoint not in self._servers:
            from paddle.fluid.incubate.fleet._job import Job
            job = Job.server(self.pserver_endpoints.index(endpoint), self.trainer_num, self.pserver_endpoints)
            job.split(self._main, self._startup, self._strategy())
            if self._model_dir is not None:
                job.load(self._model_dir)
            self._servers[endpoint] = job
        return self._servers[endpoint].main

    def get_pserver_programs(self, endpoint):
        """(program, startup program) of the server at this address."""
        return self.get_pserver_program(endpoint), self.get_startup_program(endpoint)

    def get_startup_program(self, endpoint, pserver_program=None, startup_program=None):
        """The startup program of the server at this address."""
        self.get_pserver_program(endpoint)
        return self._servers[endpoint].startup


__getattr__ = _names.guard(__name__)
