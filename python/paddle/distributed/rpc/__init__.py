"""paddle.distributed.rpc: functions of one process that run in another one of the job.

Rank 0 listens at the master's endpoint: every process sends its name and address, receives those of all, and keeps the
connection until shutdown, so that every process learns of one that dies. Each call has its own connection (link.py)."""
import os
import pickle
import socket
import threading
import traceback
from collections import namedtuple

from paddle import _names
from paddle.distributed.rpc.link import LinkError, Listener, Secret, connect, is_local

_TIMEOUT = -1


class WorkerInfo(namedtuple("WorkerInfo", ["name", "rank", "ip", "port"])):
    __slots__ = ()

    def __repr__(self):
        return "{name: %s, rank: %d, ip: %s, port: %d}" % self


class _RemoteTraceback(Exception):
    """What a process printed of an exception that came from it."""

    def __str__(self):
        return self.args[0]


# ---- rank 0: who is in the job ----


class _Master(object):
    """Waits for all ranks and sends each the list of all; at the end waits for all, or for the death of one."""

    def __init__(self, size):
        self._size, self._links, self._infos, self._left, self._lock = size, {}, {}, set(), threading.Lock()
        self._over = threading.Event()

    def serve(self, link):
        """The connection of one rank, as long as it lives."""
        info = link.receive()
        with self._lock:
            wrong = self._wrong(info)
            if wrong is None:
                self._infos[info.rank], self._links[info.rank] = info, link
                if len(self._infos) == self._size:
                    self._send_all(("all", [self._infos[rank] for rank in range(self._size)]))
            else:
                self._refuse(link, info, wrong)
        if wrong is not None:
            return
        try:
            link.receive()
            gone = False
        except (LinkError, OSError, EOFError):
            gone = True
        with self._lock:
            self._left.add(info.rank)
            if gone:
                self._send_all(("gone", info))
            elif len(self._left) == self._size:
                self._send_all(("bye", None))
            if gone or len(self._left) == self._size:
                self._over.set()
        self._over.wait()  # the connection is needed until all have left

    def _wrong(self, info):
        if not 0 <= info.rank < self._size:
            return "%s says it is rank %d; ranks are 0 to %d" % (info.name, info.rank, self._size - 1)
        if info.rank in self._infos:
            return "%s and %s both say they are rank %d" % (self._infos[info.rank].name, info.name, info.rank)
        if any(other.name == info.name for other in self._infos.values()):
            return "The Worker name must be unique, but name `%s` is repeated." % info.name
        return None

    def _refuse(self, link, info, reason):
        """The job cannot begin: every rank learns why, rank 0 last (_send_all)."""
        message = ("refused", reason)
        begins = len(self._infos) < self._size
        if begins and info.rank == 0:
            self._send_all(message)
        link.send(message)
        if begins and info.rank != 0:
            self._send_all(message)

    def _send_all(self, message):
        """To all; to rank 0 last, because this is its process, which may end when it knows."""
        for rank in sorted(self._links, reverse=True):
            try:
                self._links[rank].send(message)
            except OSError:
                pass


# ---- a process ----


class _Agent(object):
    """This process in the job."""

    def __init__(self, name, rank, size, master):
        host, port = _endpoint(master, "master_endpoint")
        seconds = float(os.environ.get("FLAGS_stop_check_timeout", "900"))
        self._secret, self._ended, self._reason = Secret(host, port, rank == 0), threading.Event(), None
        self._listeners, self.ready = [], threading.Event()
        try:
            if rank == 0:
                self._listeners.append(Listener(host, port, self._secret, _Master(size).serve))
            self._link = connect(host, port, self._secret, seconds)
            ip, own = self._address(host)
            self._listeners.append(Listener(ip, own, self._secret, self._serve))
            self.info = WorkerInfo(name, rank, ip, self._listeners[-1].port)
            self._link.send(self.info)
            self.infos = self._joined(seconds)
        except BaseException:
            self._close()
            raise
        self.by_name = {info.name: info for info in self.infos}
        threading.Thread(target=self._watch, name="rpc-watch", daemon=True).start()

    def _address(self, host):
        given = os.environ.get("PADDLE_WORKER_ENDPOINT")
        if given:
            return _endpoint(given, "PADDLE_WORKER_ENDPOINT")
        if is_local(host):
            return "127.0.0.1", 0
        return self._link._socket.getsockname()[0], 0

    def _joined(self, seconds):
        try:
            kind, value = self._link.receive(seconds)
        except socket.timeout:
            raise TimeoutError("init_rpc: not all processes of the job have come within %d s (FLAGS_stop_check_timeout)" %
                               seconds) from None
        except LinkError:
            raise LinkError("init_rpc: rank 0 has ended") from None
        if kind == "gone":
            raise LinkError("init_rpc: %s (rank %d) has ended" % (value.name, value.rank))
        if kind != "all":
            raise ValueError("init_rpc: " + value)
        return value

    def _watch(self):
        """Waits for the end of the job: all have left, or one has died."""
        try:
            kind, value = self._link.receive()
            if kind != "bye":
                self._reason = "%s (rank %d) has ended without shutdown" % (value.name, value.rank)
        except (LinkError, OSError, EOFError):
            self._reason = "rank 0 has ended without shutdown"
        self._ended.set()

    # ---- calls ----

    def _serve(self, link):
        """One call of another process."""
        try:
            self.ready.wait()
            function, args, kwargs = link.receive()
            answer = True, function(*args, **kwargs)
        except LinkError:
            raise
        except BaseException as error:
            answer = False, error, "".join(traceback.format_exception(type(error), error, error.__traceback__))
        link.send_bytes(_packed(answer, self.info.name))

    def call(self, to, function, args, kwargs, timeout):
        if to not in self.by_name:
            raise ValueError("rpc: there is no worker %s; there are %s" % (to, ", ".join(sorted(self.by_name))))
        info, name = self.by_name[to], getattr(function, "__name__", str(function))
        content = pickle.dumps((function, tuple(args or ()), dict(kwargs or {})), protocol=4)
        seconds = timeout if timeout and timeout > 0 else None
        try:
            link = connect(info.ip, info.port, self._secret, 0)
        except LinkError as error:
            raise ConnectionError("rpc: worker %s has ended or cannot be reached: %s" % (to, error)) from None
        try:
            link.send_bytes(content)
            answer = link.receive(seconds)
        except socket.timeout:
            raise TimeoutError("rpc: %s of worker %s has not answered within %g s" % (name, to, seconds)) from None
        except LinkError:
            raise ConnectionError("rpc: worker %s ended while it ran %s" % (to, name)) from None
        finally:
            link.close()
        if answer[0]:
            return answer[1]
        raise answer[1] from _RemoteTraceback("\n\nin worker %s:\n%s" % (to, answer[2]))

    # ---- the end ----

    def leave(self):
        """Waits until all have called shutdown."""
        try:
            self._link.send("bye")
        except OSError:
            pass
        self._ended.wait()
        self._close()
        if self._reason is not None:
            raise ConnectionError("rpc.shutdown: %s" % self._reason)

    def _close(self):
        for listener in self._listeners:
            listener.close()
        if getattr(self, "_link", None) is not None:
            self._link.close()
        self._secret.remove()


def _packed(answer, worker):
    """The bytes of a reply; a value that cannot be sent becomes an exception that names it."""
    try:
        content = pickle.dumps(answer, protocol=4)
        if not answer[0]:
            pickle.loads(content)  # some exceptions can be written but not read
        return content
    except Exception as error:
        if answer[0]:
            text = "rpc: worker %s cannot send back a %s: %s" % (worker, type(answer[1]).__name__, error)
            return pickle.dumps((False, TypeError(text), text), protocol=4)
        text = "%s: %s" % (type(answer[1]).__name__, answer[1])
        return pickle.dumps((False, RuntimeError(text), answer[2]), protocol=4)


def _endpoint(text, name):
    host, _, port = str(text).rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("%s is %r; expected host:port" % (name, text))
    return host, int(port)


class FutureWrapper(object):
    """The answer of rpc_async: wait() gives it, or raises what the function raised."""

    def __init__(self, run):
        self._value = self._error = None
        self._thread = threading.Thread(target=self._run, args=(run,), name="rpc-call", daemon=True)
        self._thread.start()

    def _run(self, run):
        try:
            self._value = run()
        except BaseException as error:
            self._error = error

    def wait(self):
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._value


_state = {"agent": None}


def _agent():
    if _state["agent"] is None:
        raise RuntimeError("paddle.distributed.rpc: call init_rpc first")
    return _state["agent"]


def _setting(value, name):
    if value is not None:
        return value
    if name not in os.environ:
        raise ValueError("init_rpc: %s is not set, and the argument in its place was not given" % name)
    return os.environ[name]


def init_rpc(name, rank=None, world_size=None, master_endpoint=None):
    """Joins the job; returns when all processes have. Arguments that are not given come from PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM and
    PADDLE_MASTER_ENDPOINT."""
    if _state["agent"] is not None:
        raise RuntimeError("init_rpc: this process has joined already; call shutdown first")
    _state["agent"] = _Agent(name, int(_setting(rank, "PADDLE_TRAINER_ID")), int(_setting(world_size, "PADDLE_TRAINERS_NUM")),
                             _setting(master_endpoint, "PADDLE_MASTER_ENDPOINT"))
    _state["agent"].ready.set()  # others may have called already; what they run may call, too


def rpc_sync(to, fn, args=None, kwargs=None, timeout=_TIMEOUT):
    """What fn(*args, **kwargs) gives in the worker of that name; its exception is raised here. timeout: seconds, 0 or less: none."""
    return _agent().call(to, fn, args, kwargs, timeout)


def rpc_async(to, fn, args=None, kwargs=None, timeout=_TIMEOUT):
    """The same, at once: wait() of what it gives waits for the answer."""
    agent = _agent()
    pickle.dumps((fn, args, kwargs))  # raises here what cannot be sent
    return FutureWrapper(lambda: agent.call(to, fn, args, kwargs, timeout))


def shutdown():
    """Leaves the job when all processes do."""
    try:
        _agent().leave()  # until the others have left this process answers calls
    finally:
        _state["agent"] = None


def get_worker_info(name):
    """Name, rank, ip and port of a worker."""
    agent = _agent()
    if name not in agent.by_name:
        raise ValueError("rpc: there is no worker %s; there are %s" % (name, ", ".join(sorted(agent.by_name))))
    return agent.by_name[name]


def get_all_worker_infos():
    """Of all, by rank."""
    return list(_agent().infos)


def get_current_worker_info():
    """Of this process."""
    return _agent().info


__getattr__ = _names.guard(__name__)
