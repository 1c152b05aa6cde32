"""DistributedStrategy: how workers and servers exchange.

sparse_table_configs, fleet_desc_configs: settings of sparse tables (table_settings.py; docs/guide/tables.md).
a_sync False: sync; True: async; True with a_sync_configs k_steps > 0: GEO, every k_steps batches.
"""
from paddle import _names
from paddle.distributed.fleet.base import strategy_text, table_settings

_A_SYNC = {"k_steps": -1, "max_merge_var_num": 1, "send_queue_size": 16, "independent_recv_thread": False,
           "min_send_grad_num_before_recv": 1, "thread_pool_size": 1, "send_wait_times": 1, "runtime_split_send_recv": False,
           "launch_barrier": True, "heter_worker_device_guard": "cpu", "lr_decay_steps": 10, "use_ps_gpu": 0}
_TRAINER = {"dump_fields_path": "", "dump_fields": [], "dump_param": [], "stat_var_names": [], "trainer": "",
            "device_worker": "", "local_sparse": [], "remote_sparse": []}
_KNOWN = {"a_sync_configs": _A_SYNC, "trainer_desc_configs": _TRAINER,
          "fs_client_param": {"uri": "", "user": "", "passwd": "", "hadoop_bin": ""},
          "gradient_merge_configs": {"k_steps": 1, "avg": True}, "localsgd_configs": {"k_steps": 1, "begin_step": 1}}
_TABLES = {"sparse_table_configs": table_settings.from_parameters, "fleet_desc_configs": table_settings.from_fleet_desc}
#: switches of collective training, which one process does not need
_SWITCHES = ("amp asp auto dgc localsgd adaptive_localsgd lamb lars recompute sharding pipeline tensor_parallel gradient_merge "
             "fp16_allreduce elastic qat sync_batch_norm fuse_all_reduce_ops find_unused_parameters heter_ccl_mode "
             "without_graph_optimization sync_nccl_allreduce use_hierarchical_allreduce auto_search semi_auto "
             "cudnn_exhaustive_search cudnn_batchnorm_spatial_persistent is_fl_ps_mode is_with_coordinator adam_d2sum "
             "fuse_grad_merge split_data").split()


class DistributedStrategy(object):
    """Fields as in Paddle; those that need several devices or other hardware are kept and not looked at."""

    def __init__(self):
        fields = {name: False for name in _SWITCHES}
        fields.update({name + "_configs": {} for name in _SWITCHES})
        fields.update(fuse_all_reduce_ops=True, a_sync=True, sparse_table_configs=[], fleet_desc_configs=[],
                      build_strategy=None, execution_strategy=None, hybrid_configs={},
                      gradient_scale_configs={}, nccl_comm_num=1, fuse_grad_size_in_MB=32, last_comm_group_size_MB=1,
                      hierarchical_allreduce_inter_nranks=1, conv_workspace_size_limit=512, sync_param_name=["embedding"])
        fields.update({name: dict(known) for name, known in _KNOWN.items()})
        self.__dict__.update(fields)
        self.__dict__["_given"] = {}  # what a script has set: {field: keys, or None for all of it}

    def __setattr__(self, name, value):
        if name not in self.__dict__:
            raise TypeError("DistributedStrategy has no field %s; nearest: %s" % (name, _nearest(name, self.__dict__)))
        if name in ("a_sync", "adam_d2sum") and not isinstance(value, bool):
            raise ValueError("The type of `flag` is invalid, expected type is bool, but received %s" % type(value))
        self._note_given(name, value)
        if name == "a_sync":
            self._note_given("a_sync_configs", {"k_steps": 0})
            self.__dict__["a_sync_configs"] = dict(self.a_sync_configs, k_steps=0)
        elif name in _KNOWN:
            known = _KNOWN[name]
            unknown = sorted(set(value) - set(known))
            if unknown:
                raise ValueError("%s of DistributedStrategy has no key %s; it has %s" %
                                 (name, ", ".join(unknown), ", ".join(sorted(known))))
            value = dict(getattr(self, name), **{key: given for key, given in value.items() if given is not None})
        elif name in _TABLES:
            return self._set_tables(_TABLES[name](value) if value else [])
        self.__dict__[name] = value

    def _note_given(self, name, value):
        name = "sparse_table_configs" if name in _TABLES else name
        if isinstance(value, dict) and name not in _TABLES:
            self._given.setdefault(name, set()).update(key for key, given in value.items() if given is not None)
        else:
            self._given[name] = None

    def save_to_prototxt(self, output):
        """What has been set, in the form of Paddle's files."""
        with open(output, "w") as out:
            out.write(strategy_text.to_text(self, self._given))

    def load_from_prototxt(self, pb_file):
        """Applies the settings of the file over the current ones."""
        with open(pb_file) as source:
            values = strategy_text.from_text(source.read(), pb_file)
        for name in sorted(values, key=lambda n: n != "a_sync"):  # a_sync sets k_steps, which the file may have
            value = values[name]
            if name == "sparse_table_configs":
                self._note_given(name, value)
                self._set_tables(value)
            elif name in ("build_strategy", "execution_strategy"):
                setattr(self, name, _filled(name, value))
            elif name in self.__dict__ and isinstance(value, dict):
                keys = (self._given.get(name) or set()) | set(value)
                setattr(self, name, dict(getattr(self, name), **value))
                self._given[name] = keys
            elif name in self.__dict__:
                setattr(self, name, value)
            else:  # nothing here looks at it; it is kept for the next save
                self.__dict__[name] = value
                self._note_given(name, value)

    def _use_fs_client(self):
        """fs_client_param: how this process reaches paths of hdfs: and afs:."""
        client = self.fs_client_param
        if client.get("uri"):
            from skiff import _native
            _native.fs_configure("hdfs", client["uri"], "%s,%s" % (client.get("user") or "", client.get("passwd") or ""),
                                 client.get("hadoop_bin") or "")

    def _set_tables(self, given):
        """One list under both names; a table that is there already gets the new settings."""
        names = {table.table_name for table in given}
        tables = [table for table in self.sparse_table_configs if table.table_name not in names] + given
        self.__dict__["sparse_table_configs"] = self.__dict__["fleet_desc_configs"] = tables

    def _native(self, threads, program=None):
        """The fields of Skiff's strategy, for this program."""
        configs = self.a_sync_configs
        if configs["heter_worker_device_guard"] not in ("cpu", ""):
            raise NotImplementedError("a_sync_configs heter_worker_device_guard=%r: heterogeneous workers are not there; leave "
                                      "it out" % configs["heter_worker_device_guard"])
        mode = "sync" if not self.a_sync else "geo" if int(configs["k_steps"]) > 0 else "async"
        fields = {"mode": mode, "threads": threads}
        if mode == "geo":
            fields["geo_steps"] = int(configs["k_steps"])
        else:
            fields.update(self._features(mode))
        if mode == "async":
            for key in ("max_merge_var_num", "send_queue_size", "min_send_grad_num_before_recv", "thread_pool_size",
                        "send_wait_times"):
                fields[key] = int(configs[key])
            if fields["max_merge_var_num"] == 1 and program is not None and _has_table(program):
                fields["max_merge_var_num"] = 12  # as Paddle's clients of tables, for every strategy
        return fields

    def _features(self, mode):
        """What concerns sparse tables: in async jobs all distributed tables, in others those with settings."""
        fields = {"all_features": True} if mode == "async" else {}
        if self.sparse_table_configs:
            fields["tables"] = [(table.table_name, table.lines()) for table in self.sparse_table_configs]
        if self.adam_d2sum:
            fields["adam_d2sum"] = True
        return fields

    def __repr__(self):
        return "DistributedStrategy(a_sync=%s, a_sync_configs=%s)" % (self.a_sync, self.a_sync_configs)


def _filled(name, values):
    """A BuildStrategy or ExecutionStrategy of a file."""
    from paddle import static
    made = static.BuildStrategy() if name == "build_strategy" else static.ExecutionStrategy()
    for key, value in values.items():
        if hasattr(made, key):
            setattr(made, key, value)
    return made


def _has_table(program):
    return any(op.type in ("lookup_table", "lookup_table_v2") and op.attr("is_distributed")
               for op in program.global_block().ops)


def _nearest(name, known):
    import difflib
    return ", ".join(difflib.get_close_matches(name, sorted(known), 3, 0.5)) or "a_sync, a_sync_configs"


__getattr__ = _names.guard(__name__)
