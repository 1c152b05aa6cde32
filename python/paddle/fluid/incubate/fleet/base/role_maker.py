"""Who this process is: worker or server, which one, of how many."""
import os

from paddle import _names

__all__ = ["Role", "RoleMakerBase", "UserDefinedRoleMaker", "UserDefinedCollectiveRoleMaker", "PaddleCloudRoleMaker",
           "GeneralRoleMaker"]


class Role(object):
    WORKER = 1
    SERVER = 2


class RoleMakerBase(object):
    """Base of all. What needs the other workers (barrier, all_reduce) works once fleet.init_worker has run."""

    def __init__(self):
        self._worker_endpoints = []
        self._server_endpoints = []
        self._role_is_generated = False
        self._role = None
        self._current_id = -1
        self._trainers_num = 0
        self._job = None

    def _once(self):
        if not self._role_is_generated:
            self.generate_role()

    def generate_role(self):
        """Reads the environment or the arguments; once."""
        raise NotImplementedError("Please implement this method in child class")

    def is_worker(self):
        self._once()
        return self._role == Role.WORKER

    def is_server(self):
        self._once()
        return self._role == Role.SERVER

    def is_first_worker(self):
        self._once()
        return self._role == Role.WORKER and self._current_id == 0

    def worker_num(self):
        self._once()
        return self._trainers_num

    def server_num(self):
        self._once()
        return len(self._server_endpoints)

    def worker_index(self):
        self._once()
        return self._current_id

    server_index = worker_index

    def get_trainer_endpoints(self):
        self._once()
        return self._worker_endpoints

    def get_pserver_endpoints(self):
        self._once()
        return self._server_endpoints

    def to_string(self):
        return "role: {}, current_id: {}, worker_endpoints: {}, server_endpoints: {}".format(
            self._role, self._current_id, self._worker_endpoints, self._server_endpoints)

    def _alone(self):
        return self._job is None and self.worker_num() <= 1

    def _need_job(self, what):
        if self._job is None:
            raise RuntimeError("%s: call fleet.init_worker() first" % what)
        return self._job

    def barrier_worker(self):
        """Waits for all workers."""
        if self.is_worker() and not self._alone():
            self._need_job("barrier_worker").barrier()

    def barrier_all(self):
        """Waits for all workers; servers do not wait here."""
        self.barrier_worker()

    def all_reduce_worker(self, input, output, mode="sum"):
        """The sum (min, max) over all workers of an array, written to output (may be input)."""
        import numpy
        values = numpy.asarray(input)
        if not self._alone():
            values = numpy.array(self._need_job("all_reduce_worker").all_reduce(values.ravel().tolist(), mode),
                                 dtype=values.dtype).reshape(values.shape)
        target = numpy.asarray(output) if not isinstance(output, list) else None
        if target is None:
            output[:] = values.tolist()
        else:
            target[...] = values

    def all_gather(self, input):
        """A number of every worker, in a list."""
        if self._alone():
            return [input]
        values = [0.0] * self.worker_num()
        values[self.worker_index()] = float(input)
        return [type(input)(v) for v in self._need_job("all_gather").all_reduce(values, "sum")]


class PaddleCloudRoleMaker(RoleMakerBase):
    """From the environment: TRAINING_ROLE, PADDLE_PSERVERS_IP_PORT_LIST, PADDLE_TRAINERS_NUM (or PADDLE_TRAINER_ENDPOINTS), then
    PADDLE_TRAINER_ID of a worker, POD_IP and PADDLE_PORT of a server; or the older set, PADDLE_TRAINING_ROLE and so on
    (docs/guide/distributed.md). A missing variable is a KeyError, a wrong one a ValueError; both name the variable, the expected value and the remedy."""

    _without = "cloud"  # the set that is asked for when neither is there
    _alone_at = None  # the address of the one worker of a collective job without an environment

    def __init__(self, is_collective=False):
        RoleMakerBase.__init__(self)
        self._is_collective = is_collective

    def generate_role(self):
        if self._role_is_generated:
            return
        if self._is_collective:
            self._collective()
        else:
            self._servers()
        self._role_is_generated = True

    def _servers(self):
        from skiff import _native
        older = any(os.environ.get(name) for name in ("PADDLE_TRAINING_ROLE", "PADDLE_PSERVER_IPS"))
        fleet = _native.Fleet()
        fleet.init_env("auto" if older else self._without)
        self._role = Role.WORKER if fleet.is_worker else Role.SERVER
        self._current_id = fleet.worker_index if fleet.is_worker else fleet.server_index
        self._trainers_num = fleet.worker_num
        self._server_endpoints = _list(fleet.server_endpoints)
        self._worker_endpoints = _list(fleet.worker_endpoints)

    def _collective(self):
        self._current_id = int(os.environ.get("PADDLE_TRAINER_ID", "0"))
        if os.environ.get("PADDLE_TRAINING_ROLE", "TRAINER") != "TRAINER":
            raise AssertionError("PADDLE_TRAINING_ROLE must be TRAINER in a collective job")
        endpoints = os.environ.get("PADDLE_TRAINER_ENDPOINTS", self._alone_at)
        if endpoints is None:
            raise AssertionError("can't find PADDLE_TRAINER_ENDPOINTS, please check your environment.")
        self._role = Role.WORKER
        self._worker_endpoints = endpoints.split(",")
        self._trainers_num = len(self._worker_endpoints)


def _list(text):
    return text.split(",") if text else []


class GeneralRoleMaker(PaddleCloudRoleMaker):
    """PaddleCloudRoleMaker that also knows this process's own address (of a worker: from PADDLE_TRAINER_ENDPOINTS)."""

    def __init__(self, **kwargs):
        PaddleCloudRoleMaker.__init__(self)
        self._kwargs = kwargs

    def get_local_endpoint(self):
        self._once()
        ends = self._worker_endpoints if self._role == Role.WORKER else self._server_endpoints
        if not ends:
            raise ValueError("get_local_endpoint: workers' addresses are not known; set PADDLE_TRAINER_ENDPOINTS to "
                             "host:port,host:port, one for each worker")
        return ends[self._current_id]


class UserDefinedRoleMaker(RoleMakerBase):
    """From arguments."""

    def __init__(self, current_id=0, role=Role.WORKER, worker_num=0, server_endpoints=None):
        RoleMakerBase.__init__(self)
        if not isinstance(server_endpoints, list):
            raise TypeError("server_endpoints must be as string list")
        if len(server_endpoints) <= 0:
            raise ValueError("the length of server_endpoints list must be greater than 0")
        if len(server_endpoints) != len(set(server_endpoints)):
            raise ValueError("server_endpoints can't have duplicate elements")
        for item in server_endpoints:
            if not isinstance(item, str):
                raise TypeError("every element in server_endpoints list must be as string")
        if role not in (Role.WORKER, Role.SERVER):
            raise TypeError("role must be as Role")
        if not isinstance(current_id, int):
            raise TypeError("current_id must be as int")
        if current_id < 0:
            raise ValueError("current_id must be greater than or equal to 0")
        if role == Role.SERVER and current_id >= len(server_endpoints):
            raise ValueError("if role is Role.SERVER, current_id must be less than or equal to len(server_endpoints) - 1")
        if not isinstance(worker_num, int):
            raise TypeError("worker_num must be as int")
        if worker_num <= 0:
            raise ValueError("worker_num must be greater than 0")
        self._role, self._current_id = role, current_id
        self._trainers_num, self._server_endpoints = worker_num, list(server_endpoints)

    def generate_role(self):
        _check(self)
        self._role_is_generated = True


def _check(role):
    """Addresses without a port, numbers out of range and so on are found before anything is built."""
    from skiff import _native
    _native.Fleet().init_user("server" if role._role == Role.SERVER else "worker", role._current_id, role._trainers_num,
                              role._server_endpoints, role._worker_endpoints)


class UserDefinedCollectiveRoleMaker(RoleMakerBase):
    """From arguments, for a collective job."""

    def __init__(self, current_id=0, worker_endpoints=None):
        RoleMakerBase.__init__(self)
        if not isinstance(worker_endpoints, list):
            raise TypeError("worker_endpoints must be as string list")
        if len(worker_endpoints) <= 0:
            raise ValueError("the length of worker_endpoints list must be greater than 0")
        if len(worker_endpoints) != len(set(worker_endpoints)):
            raise ValueError("worker_endpoints can't have duplicate elements")
        for item in worker_endpoints:
            if not isinstance(item, str):
                raise TypeError("every element in worker_endpoints list must be as string")
        if not isinstance(current_id, int):
            raise TypeError("current_id must be as int")
        if current_id < 0:
            raise ValueError("current_id must be greater than or equal to 0")
        if current_id >= len(worker_endpoints):
            raise ValueError("current_id must be less than or equal to len(worker_endpoints) - 1")
        self._role, self._current_id = Role.WORKER, current_id
        self._worker_endpoints, self._trainers_num = list(worker_endpoints), len(worker_endpoints)

    def generate_role(self):
        self._role_is_generated = True


__getattr__ = _names.guard(__name__)
