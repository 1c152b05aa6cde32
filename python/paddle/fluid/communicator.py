"""fluid.communicator: exchanges gradients and parameters next to a trainer's program."""
from paddle import _names

__all__ = ["Communicator"]


class Communicator(object):
    """Of a trainer's program (DistributeTranspiler with runtime_split_send_recv, or fleet). It starts by itself when the
    program is first run; the mode is the one that the program was split for."""

    def __init__(self, program, mode=None, kwargs=None, envs=None):
        self._job = getattr(program, "_job", None)
        if self._job is None:
            raise ValueError("Communicator: this program is no trainer's; give what get_trainer_program() or "
                             "fleet.main_program is")

    def start(self):
        """Connects to the servers; waits for them."""
        from paddle.fluid.executor import global_scope
        self._job.connect(global_scope())

    def stop(self):
        """Sends what is left and leaves the job."""
        self._job.leave()

    def is_running(self):
        return self._job.is_working()


__getattr__ = _names.guard(__name__)
