"""Datasets of 2.x: fluid's, set up by init(...)."""
from paddle import _names
from paddle.fluid import dataset as _fluid


class DatasetBase(_fluid.DatasetBase):
    """init sets everything at once."""

    _kind = "QueueDataset"

    def init(self, batch_size=1, thread_num=1, use_var=[], pipe_command="cat", input_type=0, fs_name="", fs_ugi="",
             download_cmd="cat", **more):
        self.set_hdfs_config(fs_name, fs_ugi)
        self.set_download_cmd(download_cmd)
        self._set_input_type(input_type)
        self.set_batch_size(batch_size)
        self.set_thread(thread_num)
        self.set_use_var(use_var)
        self.set_pipe_command(pipe_command)
        self._settings(more)

    def _settings(self, more):
        if more:
            raise TypeError("init got unexpected keyword arguments: %s" % ", ".join(sorted(more)))

    def _set_use_ps_gpu(self, use_ps_gpu):
        """GPUBox: the dataset of the passes (docs/guide/gpubox.md)."""
        from paddle.fluid._psgpu import PSGPU
        self._use_ps_gpu = bool(use_ps_gpu)
        if use_ps_gpu and self._kind != "InMemoryDataset":
            raise ValueError("_set_use_ps_gpu: GPUBox's passes need an InMemoryDataset, this is a %s" % self._kind)
        if use_ps_gpu:
            PSGPU().set_dataset(self)

    def _set_batch_size(self, batch_size):
        self.set_batch_size(batch_size)

    def _set_thread(self, thread_num):
        self.set_thread(thread_num)

    def _set_use_var(self, var_list):
        self.set_use_var(var_list)

    def _set_pipe_command(self, pipe_command):
        self.set_pipe_command(pipe_command)

    def _set_input_type(self, input_type):
        if input_type not in (0, 1):
            raise ValueError("dataset.init: input_type must be 0 (a line is a sample) or 1 (a batch), but received %r" %
                             (input_type,))
        self._input_type = input_type
        if self._kind == "InMemoryDataset":
            self._native.set("line_is_batch", bool(input_type))

    def _set_hdfs_config(self, fs_name, fs_ugi):
        self.set_hdfs_config(fs_name, fs_ugi)

    def _set_download_cmd(self, download_cmd):
        self.set_download_cmd(download_cmd)

    def _prepare(self):
        if getattr(self, "_input_type", 0) == 1 and self._kind != "InMemoryDataset":
            raise NotImplementedError("dataset: input_type=1 (a line is a batch) is for InMemoryDataset; write one sample a "
                                      "line, and set batch_size")
        super(DatasetBase, self)._prepare()

    def _desc(self):
        return self.desc()

    def _set_uid_slot(self, uid_slot):
        """The slot that names the user; stored without effect, as in Paddle without user-wise shuffling."""
        self._uid_slot = uid_slot


class QueueDataset(DatasetBase, _fluid.QueueDataset):
    """Streams files."""

    _kind = "QueueDataset"


class InMemoryDataset(DatasetBase, _fluid.InMemoryDataset):
    """Loads files first; can be shuffled."""

    _kind = "InMemoryDataset"

    def _settings(self, more):
        self.update_settings(**more)

    def update_settings(self, **settings):
        """Some of init's settings anew, and parse_ins_id, parse_content, queue_num, fleet_send_batch_size, ..."""
        known = {"batch_size": self.set_batch_size, "thread_num": self.set_thread, "use_var": self.set_use_var,
                 "pipe_command": self.set_pipe_command, "queue_num": self.set_queue_num,
                 "fleet_send_batch_size": self.set_fleet_send_batch_size,
                 "fleet_send_sleep_seconds": self.set_fleet_send_sleep_seconds}
        readers = {"parse_ins_id": self.set_parse_ins_id, "parse_content": self.set_parse_content,
                   "parse_logkey": self.set_parse_logkey}
        for key, value in settings.items():
            if key in ("fea_eval", "candidate_size"):
                continue  # slots_shuffle needs no preparation here
            if key in known:
                known[key](value)
            elif key in readers:
                if value:
                    readers[key](value)
            elif value not in (None, False, "", -1, 0):
                raise NotImplementedError("InMemoryDataset: the setting %s=%r; Skiff has %s" %
                                          (key, value, ", ".join(sorted(known) + sorted(readers))))

    def _set_fea_eval(self, record_candidate_size, fea_eval=True):
        self.set_fea_eval(record_candidate_size, fea_eval)

    def _set_queue_num(self, queue_num):
        self.set_queue_num(queue_num)

    def _set_merge_by_lineid(self, merge_size=2):
        self.set_merge_by_lineid(merge_size)

    def _set_parse_ins_id(self, parse_ins_id):
        self.set_parse_ins_id(parse_ins_id)

    def _set_parse_content(self, parse_content):
        self.set_parse_content(parse_content)

    def _set_fleet_send_batch_size(self, fleet_send_batch_size=1024):
        self.set_fleet_send_batch_size(fleet_send_batch_size)

    def _set_fleet_send_sleep_seconds(self, fleet_send_sleep_seconds=0):
        self.set_fleet_send_sleep_seconds(fleet_send_sleep_seconds)

    def _set_shuffle_by_uid(self, enable_shuffle_uid):
        """Whether global_shuffle keeps the samples of a user on one worker."""
        self._by_uid = bool(enable_shuffle_uid)

    def _init_distributed_settings(self, **kwargs):
        self.update_settings(**kwargs)

    def load_into_memory(self, is_shuffle=False):
        """Reads all files; is_shuffle: and mixes the samples."""
        _fluid.InMemoryDataset.load_into_memory(self)
        if is_shuffle:
            self.local_shuffle()

    def global_shuffle(self, fleet=None, thread_num=12):
        """Over all workers of the fleet; without one: local_shuffle."""
        owner = getattr(fleet, "fleet", fleet)
        if getattr(self, "_by_uid", False) and getattr(owner, "_job", None) is not None:
            raise NotImplementedError("global_shuffle: samples are distributed to workers at random, not by user; leave "
                                      "_set_shuffle_by_uid out")
        _fluid.InMemoryDataset.global_shuffle(self, owner, thread_num)

    def get_memory_data_size(self, fleet=None):
        """Samples in memory; with a fleet, of all workers."""
        return _fluid.InMemoryDataset.get_memory_data_size(self, getattr(fleet, "fleet", fleet))

    get_shuffle_data_size = get_memory_data_size

    def tdm_sample(self, *args, **kwargs):
        raise NotImplementedError("InMemoryDataset.tdm_sample: samplers of trees (TDM) are not there")


from paddle.distributed.fleet.index_dataset import TreeIndex  # noqa: E402,F401

__getattr__ = _names.guard(__name__)
