"""fleet._runtime_handle: saves, loads and shrinks of a job with sparse tables.

Any worker may call; worker 0 does the work, as in Paddle. Whoever calls pushes what it has queued first, so that nothing that
was trained is missing. With PADDLE_WITH_GLOO set to 1 or 2, all workers wait for each other before and after; otherwise no worker waits.
"""
import os
import warnings

from paddle import _files, _names


class Worker(object):
    """_runtime_handle._worker: the calls that scripts reach for."""

    def __init__(self, job):
        self._job = job

    def client_flush(self):
        """All that this worker has queued has reached the servers."""
        self._job.tables("flush").flush()

    def save_all_model(self, dirname, mode):
        self._job.tables("save_persistables").save_tables(dirname, int(mode))

    def save_features(self, dirname, mode):
        """All tables but the dense parameters: none has changed when one cannot be written."""
        self._job.tables("save_inference_model").save_tables(dirname, int(mode), dense=False)

    def save_one_model(self, table_id, dirname, mode):
        self._job.tables("save_one_table").save_tables(dirname, int(mode), table_id)

    def load_model(self, dirname, mode):
        self._job.tables("load_model").load_tables(dirname, int(mode))

    def load_features(self, dirname, mode, scope):
        """All tables, and the scope's dense parameters: all of it, or nothing."""
        self._job.tables("load_inference_model").load_tables(dirname, int(mode), scope=scope)

    def load_one_table(self, table_id, dirname, mode):
        self._job.tables("load_one_table").load_tables(dirname, int(mode), table_id)

    def save_cache(self, table_id, dirname, mode):
        return self._job.tables("save_cache_model").save_cache(dirname, int(mode), table_id)

    def shrink_sparse_table(self, table_id, threshold=0):
        self._job.tables("shrink").shrink(table_id)

    def revert(self):
        self._job.tables("revert").revert()

    def check_save_pre_patch_done(self):
        """Patches are written when their save is back."""
        self._job.tables("check_save_pre_patch_done")

    def pull_dense_params(self, scope, table_id=None, var_names=None):
        self._job.tables("pull_dense_params").pull_dense(scope)

    def push_dense_params(self, scope, table_id=None, var_names=None):
        self._job.tables("push_dense_params").push_dense(scope)


class Runtime(object):
    def __init__(self, owner, job, program):
        self._fleet, self._job, self.origin_main_programs = owner, job, [program]
        self._worker = Worker(job)
        self.context = {"runtime": self}
        self.role_maker = owner._role_maker

    @property
    def endpoints(self):
        return self._fleet.server_endpoints()

    @property
    def scopes(self):
        from paddle.fluid.executor import global_scope
        return [global_scope()]

    def table_names(self):
        return self._job.table_names()

    def dense_names(self):
        """Parameters that servers keep in the table of dense ones."""
        tables = self.table_names()
        return [p.name for p in self.origin_main_programs[0].all_parameters() if p.trainable and p.name not in tables]

    # ---- who does it ----

    def _meet(self):
        if os.environ.get("PADDLE_WITH_GLOO", "0") in ("1", "2"):
            self._fleet.barrier_worker()

    def _first(self, call, *args):
        """Worker 0's result of the call; None on others."""
        self._worker.client_flush()
        self._meet()
        result = call(*args) if self._fleet.is_first_worker() else None
        self._meet()
        return result

    # ---- saving ----

    def _save_persistables(self, executor, dirname, main_program=None, mode=0):
        self._first(self._worker.save_all_model, dirname, mode)

    def _save_one_table(self, table_id, path, mode):
        self._first(self._worker.save_one_model, table_id, path, mode)

    def _save_cache_model(self, dirname, mode=1, table_id=0):
        rows = self._first(self._worker.save_cache, table_id, dirname, mode)
        return -1 if rows is None else rows

    def _save_cache_table(self, table_id, pass_id, mem_cache_key_threshold):
        """The fast part of a table is a cache here: it needs no save."""
        self._first(self._worker.check_save_pre_patch_done)

    def _check_save_pre_patch_done(self):
        self._first(self._worker.check_save_pre_patch_done)

    def _revert(self):
        self._first(self._worker.revert)

    def _save_dense_params(self, executor, dirname, scope, program, var_names=None):
        def save():
            from paddle.fluid import io
            from paddle.fluid.executor import scope_guard
            self._worker.pull_dense_params(scope)
            block = self.origin_main_programs[0].global_block()
            folder, name = os.path.split(dirname)
            with scope_guard(scope):
                io.save_vars(executor, folder or ".", self.origin_main_programs[0],
                             vars=[block.var(n) for n in var_names or self.dense_names()], filename=name)
        self._first(save)

    def _save_inference_model(self, executor, dirname, feeds, targets, main_program=None, export_for_deployment=True, mode=0):
        def save():
            tables = self._job.tables("save_inference_model")
            tables.begin_save(dirname)  # both parts of one job
            try:
                self._job.save_inference_model(self.scopes[0], feeds, targets, _plugin(dirname))
                self._worker.save_features(dirname, mode)
            finally:
                tables.end_save()
        self._first(save)

    # ---- loading, dropping ----

    def _load_persistables(self, path, mode):
        self._first(self._worker.load_model, path, mode)

    def _load_one_table(self, table_id, path, mode):
        self._first(self._worker.load_one_table, table_id, path, mode)

    def _load_inference_model(self, path, mode):
        def load():
            from paddle.fluid.core import Scope
            from paddle.static.io import load_program_state
            scope, folder = self.scopes[0], _plugin(path)
            missing = [name for name in self.dense_names() if not _files.isfile(os.path.join(folder, name))]
            if missing:
                raise ValueError("fleet.load_inference_model: %s has no file of %s; expected a folder of "
                                 "fleet.save_inference_model" % (folder, ", ".join(missing)))
            state, dense = load_program_state(folder), Scope()
            for name in self.dense_names():
                dense.set(name, state[name])
            self._worker.load_features(path, mode, dense)
            for name in self.dense_names():
                scope.set(name, state[name])
        self._first(load)

    def _shrink(self, threshold=None):
        if threshold is not None:
            warnings.warn("The param threshold is not used in MemorySparseTable, if you need to shrink, please set the config "
                          "of accessor")
        self._first(self._worker.shrink_sparse_table, -1)

    # ---- dense parameters ----

    def _pull_all_dense(self, scopes, send_ctx, recv_map):
        """The servers' values, into the scopes."""
        self._worker.client_flush()
        for scope in scopes:
            self._worker.pull_dense_params(scope)


def _plugin(dirname):
    """The folder of the network and the dense parameters: in the model, or here when that is far away."""
    return "./dnn_plugin" if dirname.startswith(("afs:", "hdfs:")) else os.path.join(dirname, "dnn_plugin")


__getattr__ = _names.guard(__name__)
