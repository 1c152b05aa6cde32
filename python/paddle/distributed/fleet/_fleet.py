"""The fleet of this process and its calls."""
import os

from paddle import _files, _names
from paddle.fluid import framework
from paddle.distributed.fleet import _local
from paddle.distributed.fleet.base.distributed_strategy import DistributedStrategy
from paddle.distributed.fleet._runtime import Runtime
from paddle.distributed.fleet.base.role_maker import PaddleCloudRoleMaker, RoleMakerBase


class Util(object):
    """fleet.util"""

    def __init__(self, owner):
        self._fleet = owner

    def all_reduce(self, input, mode="sum", comm_world="worker"):
        """The sum (min, max) over all workers, as an array of the input's shape."""
        import numpy
        if mode not in ("sum", "min", "max"):
            raise ValueError("all_reduce: mode is sum, min or max, not %r" % mode)
        values = numpy.asarray(input)
        role = self._fleet._role()
        if self._fleet._joined():
            return _over_ranks(values, mode)
        if role.is_worker() and not role._alone():
            got = role._need_job("all_reduce").all_reduce(values.ravel().tolist(), mode)
            values = numpy.array(got, dtype=values.dtype).reshape(values.shape)
        return values.copy() if values is input else values

    def all_gather(self, input, comm_world="worker"):
        """A number (in a collective job: an object) of every worker, in a list."""
        if self._fleet._joined():
            from paddle.distributed import _calls
            everybody = []
            _calls.all_gather_object(everybody, input)
            return everybody
        return self._fleet._role().all_gather(input)

    def barrier(self, comm_world="worker"):
        """Waits for all workers."""
        self._fleet.barrier_worker()

    def get_file_shard(self, files):
        """This worker's share: contiguous blocks, the first workers get one more. The list must be the same everywhere."""
        if not isinstance(files, list):
            raise TypeError("files should be a list of file need to be read.")
        base, more = divmod(len(files), self._fleet.worker_num())
        me = self._fleet.worker_index()
        begin = base * me + min(me, more)
        return files[begin:begin + base + (1 if me < more else 0)]

    def print_on_rank(self, message, rank_id):
        if self._fleet.worker_index() == rank_id:
            print(message)


def _over_ranks(values, mode):
    """The sum (min, max) of an array over the ranks of a collective job."""
    import numpy
    from skiff import _native
    from paddle._tensor import Tensor
    from paddle.distributed._calls import ReduceOp
    kind = "float64" if values.dtype.kind == "f" else "int64"
    tensor = Tensor(numpy.array(values, kind, ndmin=1))
    _native.collective_all_reduce(0, tensor, getattr(ReduceOp, mode.upper()))
    return numpy.asarray(tensor.numpy()).astype(values.dtype).reshape(values.shape)


class Fleet(object):
    """Roles, programs of the role, servers, workers, files."""

    def __init__(self):
        self._role_maker = None
        self._is_collective = False
        self._strategy = None
        self._job = self._runtime_handle = None
        self.util = Util(self)

    # ---- roles ----

    def init(self, role_maker=None, is_collective=False, strategy=None, log_level="INFO"):
        """Takes the role, from the environment when none is given."""
        if role_maker is not None and not isinstance(role_maker, RoleMakerBase):
            raise ValueError("`role_maker` should be subclass of `RoleMakerBase`, but got %s" % type(role_maker))
        if not isinstance(is_collective, bool):
            raise ValueError("`is_collective` should be a bool, but got %s" % type(is_collective))
        if strategy is not None and not isinstance(strategy, DistributedStrategy):
            raise ValueError("`strategy` should be a DistributedStrategy, but got %s" % type(strategy))
        self._role_maker = PaddleCloudRoleMaker(is_collective=is_collective) if role_maker is None else role_maker
        self._role_maker.generate_role()
        self._is_collective = getattr(self._role_maker, "_is_collective", is_collective)
        self._strategy = strategy
        self._job = self._runtime_handle = None
        if self._is_collective and self._role_maker.worker_num() > 1:
            self._join()
        return self

    def _join(self):
        """Joins the other ranks."""
        from paddle.distributed import parallel
        role = self._role_maker
        ends = role.get_trainer_endpoints()
        os.environ.setdefault("PADDLE_TRAINER_ID", str(role.worker_index()))
        os.environ.setdefault("PADDLE_TRAINERS_NUM", str(role.worker_num()))
        os.environ.setdefault("PADDLE_TRAINER_ENDPOINTS", ",".join(ends))
        os.environ.setdefault("PADDLE_CURRENT_ENDPOINT", ends[role.worker_index()] if role.worker_index() < len(ends) else "")
        parallel.init_parallel_env()

    def _joined(self):
        """Is this a rank of a collective job?"""
        from skiff import _native
        return self._is_collective and _native.world_is_open()

    def _role(self):
        if self._role_maker is None:
            raise RuntimeError("fleet is not initialized: call fleet.init() first")
        return self._role_maker

    def is_first_worker(self):
        return self._role().is_first_worker()

    def worker_index(self):
        return self._role().worker_index()

    rank = worker_index

    def local_rank(self):
        """The place on its machine; in collective jobs a text, as in Paddle."""
        if self._is_collective:
            return os.environ.get("PADDLE_RANK_IN_NODE") or os.environ.get("PADDLE_LOCAL_RANK") or "0"
        return self.worker_index()

    def worker_num(self):
        return self._role().worker_num()

    nranks = world_size = worker_num

    def node_num(self):
        return len({end.split(":")[0] for end in self._role().get_trainer_endpoints()}) or 1

    def is_worker(self):
        return self._role().is_worker()

    def is_server(self):
        return self._role().is_server()

    def is_coordinator(self):
        return False

    def worker_endpoints(self, to_string=False):
        ends = self._role().get_trainer_endpoints()
        return ",".join(ends) if to_string else ends

    def server_num(self):
        return len(self._role().get_pserver_endpoints())

    def server_index(self):
        return self._role().server_index()

    def server_endpoints(self, to_string=False):
        ends = self._role().get_pserver_endpoints()
        return ",".join(ends) if to_string else ends

    def barrier_worker(self):
        """Waits for all workers."""
        role = self._role()
        if self._joined():
            from paddle.distributed import _calls
            _calls.barrier()
        else:
            role.barrier_worker()

    def all_reduce(self, input, mode="sum"):
        return self.util.all_reduce(input, mode)

    # ---- programs ----

    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer whose minimize also makes the programs of this role (fleet.init must have been called by then)."""
        if strategy is not None and not isinstance(strategy, DistributedStrategy):
            raise TypeError("strategy must be a DistributedStrategy, but got %s" % type(strategy))
        self._strategy = strategy or self._strategy or DistributedStrategy()
        return DistributedOptimizer(optimizer, self._strategy, self)

    def distributed_model(self, model):
        """The layer, with gradients that are averaged over all ranks."""
        from paddle._mode import mode
        if model is None:
            raise AssertionError("model should not be None")
        if not mode.eager or not self._joined() or self._role().worker_num() <= 1:
            return model
        from paddle.distributed.data_parallel import DataParallel
        strategy = self._strategy or DistributedStrategy()
        return DataParallel(model, comm_buffer_size=strategy.fuse_grad_size_in_MB,
                            last_comm_buffer_size=strategy.last_comm_group_size_MB,
                            find_unused_parameters=strategy.find_unused_parameters)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        raise RuntimeError("fleet.minimize: call fleet.distributed_optimizer(optimizer, strategy).minimize(loss)")

    def _split(self, main, startup, strategy):
        role = self._role()
        main._fleet_opt = dict(strategy.trainer_desc_configs)
        _local.forget(main, startup)
        strategy._use_fs_client()
        if self._is_collective:
            from paddle.distributed.fleet import _collective_static
            return _collective_static.make(main, startup, strategy, role)
        if _local.wanted(role, strategy):
            self._job = _local.split(self, main, startup, strategy)
            self._runtime_handle = Runtime(self, self._job, main) if self._job is not None else None
            return
        from paddle.fluid.incubate.fleet._job import Job
        make = Job.server if role.is_server() else Job.worker
        job = make(role.worker_index(), role.worker_num(), role.get_pserver_endpoints(), role.get_trainer_endpoints())
        job.whole = main.clone(for_test=True)  # what load_inference_model runs
        job.split(main, startup, strategy._native(int(os.environ.get("CPU_NUM") or 1), main))
        if job.main is not None:
            job.main._fleet_opt = main._fleet_opt
        self._job = job
        self._runtime_handle = Runtime(self, job, main)
        if role.is_worker() and role.is_first_worker():
            for line in job.notes():
                _local.say_once(line)
        role._job = job if role.is_worker() else None

    def _need_job(self, what):
        if self._job is None:
            raise ValueError("fleet.%s: call fleet.distributed_optimizer(optimizer, strategy).minimize(loss) first, in a job "
                             "that has servers (fleetrun --server_num ... --worker_num ...)" % what)
        return self._job

    def _tables(self):
        """The runtime of a job with sparse tables, or None."""
        return self._runtime_handle if self._job is not None and self._job.table_names() else None

    def _need_tables(self, what):
        self._need_job(what).tables(what)
        return self._runtime_handle

    # ---- servers ----

    def init_server(self, dirname=None, var_names=None, **kwargs):
        """Fills the parameters; from a saved model when one is given (made with any number of servers; a folder of files, one
        file of all, or a prefix of .pdiparams or .pdparams). Sparse tables: from the folder of a save."""
        from paddle.fluid.incubate.fleet._job import is_model
        job = self._need_job("init_server")
        unknown = [name for name in var_names or () if name not in job.table_names()]
        if unknown:
            raise ValueError("fleet.init server can only load sparse variables in %s; found %s" %
                             (job.table_names(), ", ".join(map(str, unknown))))
        if dirname is not None and not is_model(dirname):
            raise ValueError("fleet.init_server: there is no saved model %r" % dirname)
        job.load(dirname)

    def run_server(self):
        """Serves until all workers have stopped."""
        self._need_job("run_server").serve()

    # ---- workers ----

    def init_worker(self, scopes=None):
        """Connects to the servers; waits for them. Without servers there is nothing to do."""
        if self._job is not None:
            from paddle.fluid.executor import global_scope
            self._job.connect(global_scope())

    def stop_worker(self):
        """Notifies the servers that this worker has finished."""
        if self._job is not None:
            self._job.leave()

    # ---- files ----

    def save_persistables(self, executor, dirname, main_program=None, mode=0):
        """All variables, one file each, gathered from the servers; worker 0 writes. Of sparse tables and dense
        parameters next to them: shard files; mode: 0 all, 1 delta, 2 base, 3 batch model, 5 patch."""
        from paddle.fluid.executor import global_scope
        if self._tables():
            self._tables()._save_persistables(executor, dirname, main_program, mode)
        elif self._job is None:
            from paddle.fluid import io
            io.save_persistables(executor, dirname, main_program)
        else:
            self._job.save_persistables(global_scope(), dirname)

    def save_inference_model(self, executor, dirname, feeded_var_names, target_vars, main_program=None,
                             export_for_deployment=True, mode=0):
        """A model that runs alone, with the servers' parameters: __model__ and one file per parameter in the folder. With
        sparse tables: these in dnn_plugin, the tables' shard files of the mode next to it."""
        from paddle.fluid.executor import global_scope
        targets = target_vars if isinstance(target_vars, (list, tuple)) else [target_vars]
        names = [t if isinstance(t, str) else t.name for t in targets]
        feeds = list(feeded_var_names)
        if self._runtime_handle is not None:
            feeds = _local.needed_feeds(self._runtime_handle.origin_main_programs[0], feeds, names)
        if self._tables():
            self._tables()._save_inference_model(executor, dirname, feeds, names, mode=mode)
        elif self._job is None:
            from skiff import _native
            _files.makedirs(dirname)
            _native.save_inference_model(global_scope(), main_program or framework.default_main_program(),
                                         feeds, names, dirname)
        else:
            self._job.save_inference_model(global_scope(), feeds, names, dirname)

    def load_inference_model(self, path, mode=0):
        """The parameters of a saved model, for infer_from_dataset on this worker (they do not go to the servers). With sparse
        tables: the tables and the dense parameters, on the servers."""
        from paddle.static.io import load_program_state
        from paddle.fluid.executor import global_scope
        if not _files.isdir(path):
            raise ValueError("fleet.load_inference_model: there is no folder %r" % path)
        if self._tables():
            return self._tables()._load_inference_model(path, mode)
        program = self._job.whole if self._job is not None else framework.default_main_program()
        state, scope = load_program_state(path), global_scope()
        missing = [p.name for p in program.all_parameters() if p.name not in state]
        if missing:
            raise ValueError("fleet.load_inference_model: %s has no parameter %s" % (path, ", ".join(missing)))
        for name in (p.name for p in program.all_parameters()):
            scope.set(name, state[name])
        if self._job is not None:
            self._job.main._infer_as = program

    def load_model(self, path, mode=0):
        """All tables, of a folder that save_persistables wrote."""
        if not self._tables():
            raise NotImplementedError("fleet.load_model: servers load a model when they begin; give the folder to "
                                      "fleet.init_server(%r) (PaddleRec: runner.warmup_model_path)" % path)
        self._tables()._load_persistables(path, mode)

    def shrink(self, threshold=None):
        """Shows and clicks fade, rows with a low score or long unseen go."""
        if not self._tables():
            raise NotImplementedError("fleet.shrink: this job has no sparse table; rows of other tables are not dropped")
        self._tables()._shrink(threshold)

    # ---- files: jobs with sparse tables ----

    def save_one_table(self, table_id, path, mode):
        """One table: those of features by number, then all dense parameters as one."""
        self._need_tables("save_one_table")._save_one_table(table_id, path, mode)

    def load_one_table(self, table_id, path, mode):
        self._need_tables("load_one_table")._load_one_table(table_id, path, mode)

    def save_cache_model(self, dirname, **configs):
        """After a save of mode 1 or 2: the rows with the most shows; how many (-1: another worker writes)."""
        return self._need_tables("save_cache_model")._save_cache_model(dirname, **configs)

    def save_cache_table(self, table_id, pass_id, mem_cache_key_threshold=4000000000):
        self._need_tables("save_cache_table")._save_cache_table(table_id, pass_id, mem_cache_key_threshold)

    def save_dense_params(self, executor, dirname, scope, program, var_names=None):
        """The servers' dense parameters in one file."""
        self._need_tables("save_dense_params")._save_dense_params(executor, dirname, scope, program, var_names)

    def check_save_pre_patch_done(self):
        """A patch (mode 5) is written when its save is back."""
        self._need_tables("check_save_pre_patch_done")._check_save_pre_patch_done()

    def revert(self):
        """Forgets what the next patch would hold."""
        self._need_tables("revert")._revert()


class DistributedOptimizer(object):
    """An optimizer that knows the fleet; other names are the optimizer's own."""

    def __init__(self, optimizer, strategy, owner):
        if not hasattr(optimizer, "minimize"):
            raise TypeError("fleet.distributed_optimizer: an optimizer is needed, but got %s" % type(optimizer))
        self.user_defined_optimizer, self.user_defined_strategy, self._fleet = optimizer, strategy, owner

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        from paddle._mode import mode
        if mode.eager:
            return self.user_defined_optimizer.minimize(loss, None, parameter_list, no_grad_set)
        startup = framework.default_startup_program() if startup_program is None else startup_program
        if self._fleet._is_collective:
            from paddle.distributed.fleet import _collective_static
            _collective_static.check(self.user_defined_strategy, self._fleet._role())
        out = self.user_defined_optimizer.minimize(loss, startup, parameter_list, no_grad_set)
        self._fleet._split(loss.block.program, startup, self.user_defined_strategy)
        return out

    def __getattr__(self, name):
        return getattr(self.__dict__["user_defined_optimizer"], name)


fleet = Fleet()
util = fleet.util


def __getattr__(name):
    """The fleet's calls as functions of the module."""
    from paddle.distributed.fleet import CALLS
    if name in CALLS:
        return getattr(fleet, name)
    _names.missing(__name__, name, CALLS)
