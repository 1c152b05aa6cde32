"""Roles of 2.x: fluid's, and one worker without servers when the environment names none."""
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
    """From the environment, as fleetrun sets it. Without any of its names: one worker."""

    _without = "auto"
    _alone_at = "127.0.0.1:6170"

    def __init__(self, is_collective=False, **kwargs):
        _fluid.PaddleCloudRoleMaker.__init__(self, is_collective)


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
        if self._role not in (Role.WORKER, Role.SERVER):
            raise ValueError("UserDefinedRoleMaker: role is %r; expected Role.WORKER (1) or Role.SERVER (2)" % (self._role,))
        if self._server_endpoints:
            _fluid._check(self)
        elif self._role == Role.SERVER or not 0 <= self._current_id < self._trainers_num:
            raise ValueError("UserDefinedRoleMaker: current_id is %d of %d worker%s, and server_endpoints is empty; give the "
                             "addresses of all servers, host:port each, or run as one worker" %
                             (self._current_id, self._trainers_num, "" if self._trainers_num == 1 else "s"))
        self._role_is_generated = True


__getattr__ = _names.guard(__name__)
