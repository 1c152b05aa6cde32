"""spawn: processes of a job, started by the script itself."""
import multiprocessing
import os
import signal
import sys
import traceback

from paddle import _names

#: what Paddle takes too, and what does not matter on CPUs
_IGNORED = ("gpus", "xpus", "ips", "backend", "print_config", "use_paddlecloud", "cluster_node_ips", "selected_gpus",
            "selected_devices", "node_ip", "started_port", "mlus", "selected_xpus")


def _free_ports(count):
    """Free ports of this machine."""
    import socket
    doors = [socket.socket() for _ in range(count)]
    try:
        for door in doors:
            door.bind(("127.0.0.1", 0))
        return [door.getsockname()[1] for door in doors]
    finally:
        for door in doors:
            door.close()


def _environment(rank, ends):
    count = str(len(ends))
    return {"PADDLE_TRAINER_ID": str(rank), "PADDLE_TRAINERS_NUM": count, "PADDLE_TRAINER_ENDPOINTS": ",".join(ends),
            "PADDLE_CURRENT_ENDPOINT": ends[rank], "PADDLE_RANK_IN_NODE": str(rank), "PADDLE_LOCAL_RANK": str(rank),
            "PADDLE_GLOBAL_RANK": str(rank), "PADDLE_GLOBAL_SIZE": count, "PADDLE_LOCAL_SIZE": count, "PADDLE_NNODES": "1",
            "PADDLE_MASTER": ends[0], "PADDLE_DISTRI_BACKEND": "gloo", "TRAINING_ROLE": "TRAINER"}


def _child(func, args, errors, results, environment):
    os.environ.update(environment)
    try:
        results.put(func(*args))
    except KeyboardInterrupt:
        sys.exit(1)
    except Exception:  # whatever it is, the parent raises it
        errors.put(traceback.format_exc())
        sys.exit(1)


class MultiprocessContext(object):
    """The processes. join(): waits for one of them to end; True: all have."""

    def __init__(self, processes, errors, results):
        self.processes, self.error_queues, self.return_queues = processes, errors, results
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def join(self, timeout=None):
        """Raises what one of them has raised, after it has ended the others."""
        from multiprocessing import connection
        if not self.sentinels:
            return True
        failed = []
        for sentinel in connection.wait(self.sentinels.keys(), timeout=timeout):
            i = self.sentinels.pop(sentinel)
            self.processes[i].join()
            if self.processes[i].exitcode != 0:
                failed.append((i, self._why(i)))
        if not failed:
            return not self.sentinels
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join()
        # those who only missed another one are not the reason
        failed.sort(key=lambda pair: "has ended with exit status" in pair[1])
        raise Exception(failed[0][1])

    def _why(self, i):
        code = self.processes[i].exitcode
        if not self.error_queues[i].empty():
            line = "-" * 46
            return "\n\n%s\nProcess %d terminated with the following error:\n%s\n\n%s" % (line, i, line, self.error_queues[i].get())
        if code < 0:
            return "Process %d terminated with signal %s." % (i, signal.Signals(-code).name)
        return "Process %d terminated with exit code %d." % (i, code)


def spawn(func, args=(), nprocs=-1, join=True, daemon=False, **options):
    """func(*args) in nprocs processes of one job (-1: CPU_NUM, or as many as there are cores). join: waits for them; otherwise
    the context that is returned has join(). start_method: spawn (or fork, forkserver)."""
    unknown = sorted(set(options) - set(_IGNORED) - {"start_method"})
    if unknown:
        raise ValueError("paddle.distributed.spawn: unknown option %s; known are start_method, %s" %
                         (", ".join(unknown), ", ".join(_IGNORED)))
    if nprocs == -1:
        nprocs = int(os.environ.get("CPU_NUM") or multiprocessing.cpu_count())
    if not isinstance(nprocs, int) or nprocs < 1:
        raise ValueError("paddle.distributed.spawn: nprocs is %r; expected 1 or more, or -1" % (nprocs,))
    method = options.get("start_method") or "spawn"
    if method not in multiprocessing.get_all_start_methods():
        raise ValueError("paddle.distributed.spawn: start_method is %r; expected one of %s" %
                         (method, ", ".join(multiprocessing.get_all_start_methods())))
    world = multiprocessing.get_context(method)
    ends = ["127.0.0.1:%d" % port for port in _free_ports(nprocs)]
    processes, errors, results = [], [], []
    for rank in range(nprocs):
        errors.append(world.SimpleQueue())
        results.append(world.SimpleQueue())
        processes.append(world.Process(target=_child, args=(func, args, errors[-1], results[-1], _environment(rank, ends)),
                                       daemon=daemon))
        processes[-1].start()
    context = MultiprocessContext(processes, errors, results)
    while join and not context.join():
        pass
    return context


__getattr__ = _names.guard(__name__)
