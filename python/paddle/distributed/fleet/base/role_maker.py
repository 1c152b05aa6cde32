"""Roles of 2.x: fluid's, and one worker without servers when the environment names none."""
import os

from paddle import _names
from paddle.fluid.incubate.fleet.base import role_maker as _fluid
from paddle.fluid.incubate.fleet.base.role_maker import RoleMakerBase


class Role(_fluid.Role):
    WORKER = 1
    SERVER = 2
    HETER_WORKER = 3
    ALL = 4
    COORDINATOR = 5


class _Shared(object):
    """Names that 2.x gives the same things."""

    def _is_worker(self):
        return self.is_worker()

    def _is_server(self):
        return self.is_server()

    def _is_first_worker(self):
        return self.is_first_worker()

    def _worker_num(self):
        return self.worker_num()

    def _worker_index(self):
        return self.worker_index()

    def _server_num(self):
        return self.server_num()

    def _server_index(self):
        return self.server_index()

    def _get_trainer_endpoints(self):
        return self.get_trainer_endpoints()

    def _get_pserver_endpoints(self):
        return self.get_pserver_endpoints()

    def _barrier(self, comm_world="worker"):
        self.barrier_worker()


class PaddleCloudRoleMaker(_Shared, _fluid.PaddleCloudRoleMaker):
    """From the environment, as fleetrun sets it. Without TRAINING_ROLE and PADDLE_PSERVERS_IP_PORT_LIST: one worker."""

    def __init__(self, is_collective=False, **kwargs):
        _fluid.PaddleCloudRoleMaker.__init__(self, is_collective)

    def generate_role(self):
        if self._role_is_generated:
            return
        names = ("TRAINING_ROLE", "PADDLE_PSERVERS_IP_PORT_LIST")
        if not self._is_collective and not any(os.environ.get(name) for name in names):
            self._role, self._current_id, self._trainers_num = Role.WORKER, 0, 1
            self._worker_endpoints, self._server_endpoints = [], []
            self._role_is_generated = True
            return
        _fluid.PaddleCloudRoleMaker.generate_role(self)


class UserDefinedRoleMaker(_Shared, RoleMakerBase):
    """From arguments: current_id, role, worker_num, server_endpoints, worker_endpoints."""

    def __init__(self, is_collective=False, init_gloo=False, **kwargs):
        RoleMakerBase.__init__(self)
        self._is_collective = is_collective
        self._given = kwargs

    def generate_role(self):
        if self._role_is_generated:
            return
        given = self._given
        self._current_id = int(given.get("current_id", 0))
        self._role = given.get("role", Role.WORKER)
        self._server_endpoints = list(given.get("server_endpoints") or [])
        self._worker_endpoints = list(given.get("worker_endpoints") or [])
        self._trainers_num = int(given.get("worker_num") or len(self._worker_endpoints) or 1)
        limit, what = (len(self._server_endpoints), "server_endpoints") if self._role == Role.SERVER else \
            (self._trainers_num, "worker_num")
        if not 0 <= self._current_id < limit:
            raise ValueError("UserDefinedRoleMaker: current_id is %d, but %s gives %d" % (self._current_id, what, limit))
        self._role_is_generated = True


__getattr__ = _names.guard(__name__)
