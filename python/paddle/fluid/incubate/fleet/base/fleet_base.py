"""What all fleets share."""
from paddle import _names
from paddle.fluid.incubate.fleet.base.role_maker import RoleMakerBase

__all__ = ["Fleet", "DistributedOptimizer", "Mode"]


class Mode(object):
    TRANSPILER = 1
    PSLIB = 2
    COLLECTIVE = 3


class Fleet(object):
    """Roles, and the calls that every fleet has."""

    def __init__(self, mode):
        self._is_initialized = False
        self._mode = mode
        self._optimizer = None
        self._role_maker = None
        self._executor = None

    def init(self, role_maker=None):
        """Takes the role; must come before distributed_optimizer."""
        from paddle.fluid.executor import Executor
        self._executor = Executor()
        if role_maker is not None and not isinstance(role_maker, RoleMakerBase):
            raise TypeError("role_maker must be an instance of RoleMakerBase")
        if role_maker is None:
            from paddle.fluid.incubate.fleet.base.role_maker import PaddleCloudRoleMaker
            role_maker = PaddleCloudRoleMaker(is_collective=self._mode == Mode.COLLECTIVE)
        self._role_maker = role_maker
        self._role_maker.generate_role()
        self._is_initialized = True

    def _role(self):
        if self._role_maker is None:
            raise ValueError("fleet is not initialized: call fleet.init(role) first")
        return self._role_maker

    def is_first_worker(self):
        return self._role().is_first_worker()

    def is_worker(self):
        return self._role().is_worker()

    def is_server(self):
        return self._role().is_server()

    def worker_index(self):
        return self._role().worker_index()

    def server_index(self):
        return self._role().server_index()

    def worker_num(self):
        return self._role().worker_num()

    def server_num(self):
        return len(self._role().get_pserver_endpoints())

    def worker_endpoints(self, to_string=False):
        ends = self._role().get_trainer_endpoints()
        return ",".join(ends) if to_string else ends

    def server_endpoints(self, to_string=False):
        ends = self._role().get_pserver_endpoints()
        return ",".join(ends) if to_string else ends

    def split_files(self, files):
        """This worker's share of the files: contiguous blocks, the first workers get one more. The list must be the same on
        all workers."""
        if not isinstance(files, list):
            raise TypeError("files should be a list of file need to be read.")
        base, more = divmod(len(files), self.worker_num())
        me = self.worker_index()
        begin = base * me + min(me, more)
        return files[begin:begin + base + (1 if me < more else 0)]

    def barrier_worker(self):
        self._role().barrier_worker()

    def all_reduce_worker(self, input, output):
        self._role().all_reduce_worker(input, output)



class DistributedOptimizer(object):
    """An optimizer that knows the fleet."""

    def __init__(self, optimizer, strategy=None):
        from paddle.fluid.optimizer import Optimizer
        if not isinstance(optimizer, Optimizer):
            raise ValueError("optimizer must be an instance of Optimizer")
        self._optimizer = optimizer
        self._strategy = strategy

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        return self._optimizer.backward(loss, startup_program, parameter_list, no_grad_set, callbacks)

    def apply_gradients(self, params_grads):
        return self._optimizer.apply_gradients(params_grads)


__getattr__ = _names.guard(__name__)
