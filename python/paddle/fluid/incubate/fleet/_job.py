"""One process's part in a distributed job: thin names for skiff._native.Fleet, and what running its programs means."""
import os
import threading

from skiff import _native

from paddle.fluid import _job as open_jobs
from paddle.fluid._build import net


def is_model(path):
    """Is there a saved model for init_server: a folder, a file, or a prefix of files?"""
    return os.path.exists(path) or any(os.path.isfile(path + e) for e in (".pdparams", ".pdiparams"))


def _patiently(call, *args):
    """call(*args), which may wait for other processes, on a thread of its own, so that Ctrl-C is heard. After a Ctrl-C the
    thread is left alone: it ends with the process."""
    done, result, failure = threading.Event(), [], []

    def run():
        try:
            result.append(call(*args))
        except BaseException as error:  # raised again below
            failure.append(error)
        done.set()

    threading.Thread(target=run, daemon=True).start()
    while not done.wait(0.2):
        pass
    if failure:
        raise failure[0]
    return result[0]


class Job(object):
    def __init__(self, role, current_id, worker_num, server_endpoints, worker_endpoints=()):
        self._fleet = _native.Fleet()
        self._fleet.init_user(role, current_id, worker_num, list(server_endpoints), list(worker_endpoints))
        self._fleet.on_say(2)  # whom it waits for, who comes, who is lost
        self._is_server = role == "server"
        self.main = self.startup = None
        self._connected = self._loaded = self._left = False

    @classmethod
    def worker(cls, current_id, worker_num, server_endpoints, worker_endpoints=()):
        return cls("worker", current_id, worker_num, server_endpoints, worker_endpoints)

    @classmethod
    def server(cls, current_id, worker_num, server_endpoints, worker_endpoints=()):
        return cls("server", current_id, worker_num, server_endpoints, worker_endpoints)

    def split(self, main, startup, strategy):
        """main, startup: minimized programs. On a worker the default programs become the trainer's, and the given ones are
        run as these, as if they had been rewritten in place."""
        self._fleet.split(main, startup, **strategy)
        self.mode = strategy["mode"]
        self.main, self.startup = self._fleet.main_program, self._fleet.startup_program
        if self._is_server:
            return
        for new, old in ((self.main, main), (self.startup, startup)):
            new._copy_notes(old)
            new._job = old._job = self
            old._runs_as = new
        if net.main is main:
            net.set_programs(main=self.main)
        if net.startup is startup:
            net.set_programs(startup=self.startup)
        self.connect_when_run()

    # ---- workers ----

    def connect_when_run(self):
        """The first run of either program waits for the servers."""
        for program in (self.main, self.startup):
            program._before_run = self.connect

    def connect(self, scope):
        if not self._connected:
            _patiently(self._fleet.init_worker, scope)
            self._connected = True
            open_jobs.enter(self)

    def leave(self):
        """Tells the servers that this worker has finished."""
        if self._connected and not self._left:
            self._left = True
            self._fleet.stop_worker()

    def barrier(self):
        _patiently(self._fleet.barrier_worker)

    def all_reduce(self, values, op):
        return _patiently(self._fleet.all_reduce, values, op)

    def _in_job(self, what):
        if self._left:
            raise RuntimeError("%s: this worker has left the job (Executor.close, fleet.stop_worker); save before that" % what)

    def save_persistables(self, scope, dirname):
        self._in_job("save_persistables")
        self._fleet.save_persistables(scope, dirname)

    def save_inference_model(self, scope, feeds, targets, dirname):
        self._in_job("save_inference_model")
        self._fleet.save_inference_model(scope, feeds, targets, dirname)

    def global_shuffle(self, dataset, seed):
        self._fleet.global_shuffle(dataset, seed)

    # ---- servers ----

    def serve_when_run(self, model_dir):
        """Running the startup program fills the parameters (from model_dir() where that is a folder), running the program
        serves."""
        self.startup._run_instead = lambda scope: self.load(model_dir())
        self.main._run_instead = lambda scope: self.serve()

    def load(self, model_dir=None):
        self._fleet.init_server(model_dir)
        self._loaded = True

    def serve(self):
        """Until all workers have left. On a thread of its own, so that Ctrl-C is heard."""
        if not self._loaded:
            self.load()
        failure = []

        def run():
            try:
                self._fleet.run_server()
            except BaseException as error:  # raised again below
                failure.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.2)
        except BaseException:
            self._fleet.stop_server()
            thread.join()
            raise
        if failure:
            raise failure[0]
