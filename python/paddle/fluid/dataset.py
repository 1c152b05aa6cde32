"""fluid.DatasetFactory: files that train_from_dataset reads."""
from skiff import _native

from paddle import _names
from paddle.fluid import framework

__all__ = ["DatasetFactory", "InMemoryDataset", "QueueDataset"]


class DatasetFactory(object):
    def create_dataset(self, datafeed_class="QueueDataset"):
        """QueueDataset or InMemoryDataset."""
        kinds = {"QueueDataset": QueueDataset, "InMemoryDataset": InMemoryDataset}
        if datafeed_class not in kinds:
            raise ValueError("datafeed class %s does not exist" % datafeed_class)
        return kinds[datafeed_class]()


class DatasetBase(object):
    _kind = None
    __getattr__ = _names.member

    def __init__(self):
        self._native = _native.Dataset(self._kind)
        self.thread_num = 1
        self.filelist, self._told_files = [], False
        self.use_var = []
        self.batch_size = 32
        self.pipe_command = "cat"
        self._hdfs = "", ""

    def set_pipe_command(self, pipe_command):
        """A shell command that turns a file (its standard input) into MultiSlot text."""
        self.pipe_command = pipe_command
        self._native.set_pipe_command(pipe_command)

    def set_batch_size(self, batch_size):
        self.batch_size = batch_size
        self._native.set_batch_size(batch_size)

    def set_thread(self, thread_num):
        """Threads that read and train."""
        self.thread_num = thread_num
        self._native.set_threads(max(1, int(thread_num)))

    def set_filelist(self, filelist):
        if isinstance(filelist, str) or not all(isinstance(name, str) for name in filelist):
            raise TypeError("set_filelist takes a list of str, but got %s" % (filelist,))
        if self._hdfs[0] and "://" not in self._hdfs[0] and any(name.startswith(("hdfs:", "afs:")) for name in filelist):
            _native.fs_configure("hdfs", *self._hdfs)  # reports wrong settings
        self.filelist, self._told_files = list(filelist), True
        self._native.set_files(self.filelist)

    def set_use_var(self, var_list):
        """The variables of a sample, in the order of the text."""
        for var in var_list:
            if framework.dtype_name(var.dtype) not in ("float32", "int64"):
                raise ValueError("Currently, fluid.dataset only supports dtype=float32 and dtype=int64")
        self.use_var = list(var_list)
        self._native.set_vars(self.use_var)

    def set_hdfs_config(self, fs_name, fs_ugi):
        """Where paths such as hdfs:/a and afs:/a lie, and who reads them (docs/guide/storage.md); for the process, as in Paddle. A name
        that is no address is reported when such a file is read."""
        self._hdfs = fs_name or "", fs_ugi or ""
        if "://" in self._hdfs[0]:
            _native.fs_configure("hdfs", *self._hdfs)

    def set_download_cmd(self, download_cmd):
        """For the same files."""
        self._download_cmd = download_cmd

    def set_rank_offset(self, rank_offset):
        """The variable with the ranks of samples in their page views; refused in training."""
        self._rank_offset = rank_offset

    def set_format(self, key, value):
        """Not in Paddle: a setting of Skiff's own readers, such as ("format", "criteo"); docs/reference/configuration.md lists them."""
        self._native.set(key, value)

    def desc(self):
        """What was set, as text."""
        lines = ["name: %r" % self._kind, "batch_size: %d" % self.batch_size, "thread_num: %d" % self.thread_num,
                 "pipe_command: %r" % self.pipe_command]
        lines += ["slot: %s %s" % (var.name, framework.dtype_name(var.dtype)) for var in self.use_var]
        return "\n".join(lines + [""])

    def _in_memory(self):
        """Samples that are there whatever files are named: others' files give some, too, by global_shuffle."""
        return 0

    def _prepare(self):
        """Before training: what was set but is not there is refused."""
        if getattr(self, "_rank_offset", "") or getattr(self, "_pv_merge", False):
            raise NotImplementedError("dataset: samples of one page view are not merged here; leave set_rank_offset and "
                                      "set_enable_pv_merge out")


class QueueDataset(DatasetBase):
    """Streams files."""

    _kind = "QueueDataset"

    def local_shuffle(self):
        raise NotImplementedError("QueueDataset does not support local shuffle, please use InMemoryDataset for local_shuffle")

    def global_shuffle(self, fleet=None):
        raise NotImplementedError("QueueDataset does not support global shuffle, please use InMemoryDataset for global_shuffle")


class InMemoryDataset(DatasetBase):
    """Loads files first; can be shuffled."""

    _kind = "InMemoryDataset"

    def __init__(self):
        DatasetBase.__init__(self)
        self._seed = 0

    def _in_memory(self):
        return self._native.memory_size

    def load_into_memory(self):
        self._native.load()

    def preload_into_memory(self, thread_num=None):
        """Begins loading; wait_preload_done waits for the end."""
        self._native.preload(thread_num or 0)

    def wait_preload_done(self):
        self._native.wait_preload()

    def local_shuffle(self):
        self._seed += 1
        self._native.local_shuffle(self._seed)

    def global_shuffle(self, fleet=None, thread_num=12):
        """Over all workers of the fleet; without one: local_shuffle."""
        self._seed += 1
        job = getattr(fleet, "_job", None)
        if job is None:
            self._native.local_shuffle(self._seed)
        else:
            job.global_shuffle(self._native, self._seed)

    def slots_shuffle(self, slots):
        self._seed += 1
        self._native.slots_shuffle(list(slots), self._seed)

    def release_memory(self):
        self._native.release()

    def get_memory_data_size(self, fleet=None):
        """Samples in memory; with a fleet, of all workers."""
        size = self._native.memory_size
        job = getattr(fleet, "_job", None)
        return size if job is None else int(job.all_reduce([size], "sum")[0])

    get_shuffle_data_size = get_memory_data_size

    def set_fea_eval(self, record_candidate_size, fea_eval=True):
        """Before slots_shuffle in Paddle; slots_shuffle needs no preparation here."""
        self._candidate_size, self._fea_eval = record_candidate_size, bool(fea_eval)

    def set_date(self, date):
        """The day of the data; stored without effect (Paddle gives it to tables on GPUs)."""
        self._date = date

    def set_pass_id(self, pass_id):
        """The number of the pass over the data; stored without effect."""
        self._pass_id = pass_id

    def get_pass_id(self):
        return getattr(self, "_pass_id", 0)

    def _set_trainer_num(self, trainer_num):
        """Workers that shuffle together; fleet knows them here."""
        self._trainer_num = trainer_num

    def set_queue_num(self, queue_num):
        """Channels between readers and trainers: Skiff has one per thread."""

    def set_fleet_send_batch_size(self, fleet_send_batch_size=1024):
        """Size of the messages of global_shuffle: Skiff chooses it."""

    def set_fleet_send_sleep_seconds(self, fleet_send_sleep_seconds=0):
        """Pauses of global_shuffle: none here."""

    def set_merge_by_lineid(self, merge_size=2):
        """global_shuffle makes one sample of those with one line id (set_parse_ins_id); merge_size: that many, 0: any."""
        self._native.set("merge_by_lineid", int(merge_size))

    def set_parse_ins_id(self, parse_ins_id):
        self._native.set("parse_ins_id", bool(parse_ins_id))

    def set_parse_content(self, parse_content):
        self._native.set("parse_content", bool(parse_content))

    def set_merge_by_sid(self, merge_by_sid):
        """Whether a page view has several samples; stored, it has an effect only when they are merged (set_enable_pv_merge)."""
        self._merge_by_sid = bool(merge_by_sid)

    def set_enable_pv_merge(self, enable_pv_merge):
        """Makes one of the samples of a page view; refused in training."""
        self._pv_merge = bool(enable_pv_merge)

    def preprocess_instance(self):
        """Merges page views, where that was set."""
        self._prepare()

    postprocess_instance = preprocess_instance

    def set_current_phase(self, current_phase):
        """1: join, 0: update; stored without effect (phases of page views)."""
        self._phase = int(current_phase)

    def set_parse_logkey(self, parse_logkey):
        self._native.set("parse_logkey", bool(parse_logkey))


__getattr__ = _names.guard(__name__)
