"""core.PSGPU: passes of GPUBox. Devices are threads of this process; rows live in the worker's own table (docs/guide/gpubox.md)."""
import sys

from paddle import _names


class PSGPU(object):
    """One for the process, as in Paddle: PSGPU() gives the same state every time.

        load_into_memory (the dataset's), begin_pass, train_from_dataset, end_pass; finalize at the end
    """

    _state = None

    def __init__(self):
        if PSGPU._state is None:
            PSGPU._state = dict(slots=[], dims=[], offsets=[], devices=[], date=None, dataset=None, open=False, passes=0,
                                ended=False)
        self.__dict__ = PSGPU._state

    def _need_life(self, call):
        if self.ended:
            raise RuntimeError("PSGPU.%s: finalize has been called; make a new PSGPU() and call init_gpu_ps first" % call)

    @staticmethod
    def _ints(what, values):
        try:
            return [int(value) for value in values]
        except (TypeError, ValueError):
            raise ValueError("PSGPU.%s takes a list of integers, but got %r" % (what, values))

    def set_slot_vector(self, slots):
        """Numbers of the slots that have embeddings: names of their variables."""
        self._need_life("set_slot_vector")
        self.slots = self._ints("set_slot_vector", slots)

    def set_slot_dim_vector(self, dims):
        """The width of embedx of each of these slots."""
        self._need_life("set_slot_dim_vector")
        self.dims = self._ints("set_slot_dim_vector", dims)
        if self.slots and len(self.dims) != len(self.slots):
            raise ValueError("PSGPU.set_slot_dim_vector: %d widths for %d slots (set_slot_vector)" %
                             (len(self.dims), len(self.slots)))

    def set_slot_offset_vector(self, offsets):
        self._need_life("set_slot_offset_vector")
        self.offsets = self._ints("set_slot_offset_vector", offsets)

    def init_gpu_ps(self, devices):
        """The devices: as many threads of this process train."""
        self._need_life("init_gpu_ps")
        self.devices = self._ints("init_gpu_ps", devices)
        if not self.devices:
            raise ValueError("PSGPU.init_gpu_ps: the list of devices is empty (FLAGS_selected_gpus)")
        print("[fleet] GPUBox: %d devices are %d threads of this process, on CPUs" % (len(self.devices), len(self.devices)),
              file=sys.stderr, flush=True)

    def set_date(self, year, month, day):
        self._need_life("set_date")
        self.date = (int(year), int(month), int(day))

    def set_dataset(self, dataset):
        """The dataset of the next pass."""
        self._need_life("set_dataset")
        if getattr(dataset, "_kind", None) != "InMemoryDataset":
            raise RuntimeError("PSGPU.set_dataset: passes need an InMemoryDataset, this is a %s; create one first: "
                               "paddle.distributed.InMemoryDataset()" % type(dataset).__name__)
        self.dataset = dataset

    def load_into_memory(self, is_shuffle=False):
        """The dataset's files (set_dataset)."""
        self._need_life("load_into_memory")
        if self.dataset is None:
            raise RuntimeError("PSGPU.load_into_memory: call set_dataset first")
        self.dataset.load_into_memory()
        if is_shuffle:
            self.dataset.local_shuffle()

    def _need_open(self, call):
        if not self.open:
            raise RuntimeError("PSGPU.%s: no pass is open; call begin_pass first" % call)

    def begin_pass(self):
        """Rows of the pass are in memory from here to end_pass."""
        self._need_life("begin_pass")
        if self.open:
            raise RuntimeError("PSGPU.begin_pass: pass %d is open; call end_pass first" % self.passes)
        if not self.devices:
            raise RuntimeError("PSGPU.begin_pass: call init_gpu_ps first")
        if self.dataset is None:
            raise RuntimeError("PSGPU.begin_pass: there is no dataset; call the dataset's _set_use_ps_gpu(True), or "
                               "set_dataset(dataset), first")
        if Box.job is not None and Box.job.is_working() and has_rows_on_disk(Box.job):
            fetch_rows(Box.job, self.dataset, len(self.devices))
        self.open = True
        self.passes += 1

    def end_pass(self):
        """What was trained is in the table."""
        self._need_life("end_pass")
        self._need_open("end_pass")
        self.open = False

    def dump_to_mem(self):
        """Rows that were trained, to the table: they are there already."""
        self._need_life("dump_to_mem")

    def finalize(self):
        """The last pass has ended."""
        self._need_life("finalize")
        if self.open:
            raise RuntimeError("PSGPU.finalize: pass %d is open; call end_pass first" % self.passes)
        self.ended = True
        PSGPU._state = None


class Box(object):
    """Whether a program of GPUBox's mode (a_sync_configs use_ps_gpu) was made in this process."""

    here = told = False
    job = None  # of the worker


def has_rows_on_disk(job):
    tables = job.tables("begin_pass")
    return any(tables.table_state(table)["disk_rows"] for table in range(len(job.table_names())))


def fetch_rows(job, dataset, threads):
    """Looks all ids of the pass up, so that their rows are in memory; the number of samples."""
    from skiff import _native
    from paddle.fluid.executor import global_scope
    program = job.main.clone(for_test=True)
    rows = [name for op in program.global_block().ops if op.type == "distributed_lookup_table" for name in op.output("Outputs")]
    program = program.cut([], rows)
    block = program.global_block()
    for var in dataset.use_var:
        if not block.has_var(var.name):  # for example a label
            block.create_var(name=var.name, shape=var.shape, dtype=var.dtype, lod_level=var.lod_level)
    options = {"scope": global_scope(), "threads": threads, "fetch_list": [], "fetch_info": None, "print_period": 100}
    return _native.Executor(global_scope()).infer(program, dataset._native, **options)["samples"]


def runs_here():
    """May a script name CUDA devices? Logs once that they are CPUs."""
    if Box.here and not Box.told:
        Box.told = True
        print("[fleet] GPUBox: CUDA devices were asked for (use_gpu); CPUs are used", file=sys.stderr, flush=True)
    return Box.here


def threads_of(program):
    """Threads that train a program of GPUBox's mode: one for each device; 0: the dataset's number."""
    job = getattr(program, "_job", None)
    return len(PSGPU._state["devices"]) if PSGPU._state and getattr(job, "gpubox", False) else 0


__getattr__ = _names.guard(__name__)
