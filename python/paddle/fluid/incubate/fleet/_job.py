"""One process's part in a distributed job: thin names for skiff._native.Fleet. What running its programs means is C's."""
from skiff import _native

from paddle import _files
from paddle.fluid import _job as open_jobs
from paddle.fluid._build import net
from paddle.fluid._job import patiently


def is_model(path):
    """Is there a saved model for init_server: a folder, a file, or a prefix of files?"""
    return bool(_native.saved_parts(path)[0]) or _files.exists(path)


class Job(object):
    def __init__(self, role, current_id, worker_num, server_endpoints, worker_endpoints=()):
        self._fleet = _native.Fleet()
        self._fleet.init_user(role, current_id, worker_num, list(server_endpoints), list(worker_endpoints))
        self._fleet.on_log(2)  # waits, members that join, members that are lost
        self._is_server = role == "server"
        self.main = self.startup = None
        self._loaded = self._left = False

    @classmethod
    def worker(cls, current_id, worker_num, server_endpoints, worker_endpoints=()):
        return cls("worker", current_id, worker_num, server_endpoints, worker_endpoints)

    @classmethod
    def server(cls, current_id, worker_num, server_endpoints, worker_endpoints=()):
        return cls("server", current_id, worker_num, server_endpoints, worker_endpoints)

    def split(self, main, startup, strategy):
        """main, startup: minimized programs. On a worker the default programs become the trainer's; running
        the given programs runs these."""
        self._fleet.split(main, startup, **strategy)
        self.meets = _native.mode_joins_threads(strategy["mode"])
        self.main, self.startup = self._fleet.main_program, self._fleet.startup_program
        if self._is_server:
            return
        for new, old in ((self.main, main), (self.startup, startup)):
            new._copy_notes(old)
            new._job = old._job = self
        if net.main is main:
            net.set_programs(main=self.main)
        if net.startup is startup:
            net.set_programs(startup=self.startup)
        open_jobs.enter(self)

    # ---- workers ----

    def connect(self, scope):
        """Joins the job; the first run of its programs does it otherwise."""
        if not self.is_working():
            patiently(self._fleet.init_worker, scope)

    def is_working(self):
        return self._fleet.is_working

    def leave(self):
        """Notifies the servers that this worker has finished."""
        if self.is_working():
            self._left = True
            self._fleet.stop_worker()

    def barrier(self):
        patiently(self._fleet.barrier_worker)

    def all_reduce(self, values, op):
        return patiently(self._fleet.all_reduce, values, op)

    def _in_job(self, what):
        if self._left:
            raise RuntimeError("%s: this worker has left the job (Executor.close, fleet.stop_worker); save before that" % what)

    def save_persistables(self, scope, dirname):
        self._in_job("save_persistables")
        self._fleet.save_persistables(scope, dirname)

    def save_inference_model(self, scope, feeds, targets, dirname):
        self._in_job("save_inference_model")
        self._fleet.save_inference_model(scope, feeds, targets, dirname)

    def notes(self):
        """What the user should know of the split, one line each."""
        return self._fleet.notes.splitlines()

    # ---- sparse tables ----

    def table_names(self):
        return self._fleet.tables

    def tables(self, what):
        """The fleet, for calls about sparse tables."""
        self._in_job(what)
        if not self._fleet.tables:
            raise ValueError("fleet.%s: this job has no sparse table; the program needs a sparse_embedding, the strategy "
                             "a_sync = True (docs/guide/tables.md)" % what)
        return self._fleet

    def global_shuffle(self, dataset, seed):
        self._fleet.global_shuffle(dataset, seed)

    # ---- servers ----

    def load(self, model_dir=None):
        self._fleet.init_server(model_dir)
        self._loaded = True

    def serve(self):
        """Until all workers have left."""
        if not self._loaded:
            self.load()
        patiently(self._fleet.run_server, stop=self._fleet.stop_server)
