"""fluid.compiler: a program on several devices of this machine. A device is one of CPU_NUM shares of the CPU: the devices'
gradients are averaged, then parameters are updated once (src/passes/replicate.h)."""
import copy
from paddle import _names
from paddle.fluid import core, framework

__all__ = ["CompiledProgram", "ExecutionStrategy", "BuildStrategy"]


class _Options(object):
    """Attributes with defaults; a name that is not there is refused."""

    _defaults = {}

    def __init__(self):
        self.__dict__.update(self._defaults)

    def __setattr__(self, name, value):
        if name not in self._defaults:
            _names.missing(type(self).__name__, name, self._defaults)
        self.__dict__[name] = value


class ExecutionStrategy(_Options):
    """Accepted for scripts that set it; num_threads and the rest change no result here."""

    class ExecutorType(object):
        Default, Experimental = 0, 1

    Default, Experimental = 0, 1
    _defaults = {"num_threads": 0, "use_cuda": False, "allow_op_delay": False, "num_iteration_per_drop_scope": 100,
                 "num_iteration_per_run": 1, "use_thread_barrier": False, "use_experimental_executor": False,
                 "_dry_run": False}


class BuildStrategy(_Options):
    """Of these, gradient_scale_strategy changes what training gives; programs are always fused."""

    class ReduceStrategy(object):
        AllReduce, Reduce, _NoReduce = 0, 1, 2

    class GradientScaleStrategy(object):
        CoeffNumDevice, One, Customized = 0, 1, 2

    _defaults = {
        "reduce_strategy": 0, "gradient_scale_strategy": 0, "debug_graphviz_path": "",
        "enable_sequential_execution": False, "remove_unnecessary_lock": True, "num_trainers": 1, "trainer_id": 0,
        "trainers_endpoints": [], "fuse_elewise_add_act_ops": False, "fuse_bn_act_ops": False,
        "fuse_relu_depthwise_conv": False, "fuse_broadcast_ops": None, "fuse_all_optimizer_ops": None,
        "sync_batch_norm": False, "memory_optimize": None, "is_distribution": False, "async_mode": False,
        "enable_inplace": True, "fuse_all_reduce_ops": None, "enable_backward_optimizer_op_deps": True,
        "cache_runtime_context": False, "nccl_comm_num": 1, "use_hierarchical_allreduce": False,
        "hierarchical_allreduce_inter_nranks": 0, "enable_auto_fusion": False, "mkldnn_enabled_op_types": set(),
        "build_cinn_pass": False, "fuse_gemm_epilogue": False, "fuse_adamw": False, "fused_attention": False,
        "fused_feedforward": False, "sequential_run": False, "fuse_bn_add_act_ops": True, "allow_cuda_graph_capture": False,
        "fuse_dot_product_attention": False, "fix_op_run_order": False, "reduce_memory": False}


def split_feed(feed, devices):
    """A dictionary of tensors cut into one per device, along sequences or rows."""
    if devices == 1:
        return [feed]
    parts = [{} for _ in range(devices)]
    for name, value in feed.items():
        tensor = value if isinstance(value, core.LoDTensor) else core.LoDTensor(value)
        lengths = tensor.recursive_sequence_lengths()
        array = tensor.numpy()
        count = len(lengths[0]) if lengths else array.shape[0]
        step = -(-count // devices)
        if step * (devices - 1) >= count:
            raise ValueError("feed %s has %d rows, too few for %d devices" % (name, count, devices))
        for device in range(devices):
            begin, end = step * device, min(step * (device + 1), count)
            if not lengths:
                parts[device][name] = array[begin:end]
                continue
            cut, first, last = [], begin, end
            for level in lengths:
                cut.append(level[first:last])
                first, last = sum(level[:first]), sum(level[:last])
            parts[device][name] = core.LoDTensor(array[first:last], cut)
    return parts


def merge(tensors, return_numpy):
    """The devices' values of one variable, joined along dimension 0."""
    import numpy
    if return_numpy:
        from paddle.fluid.executor import as_numpy
        arrays = [numpy.atleast_1d(as_numpy(t)) for t in tensors]
        return numpy.concatenate(arrays)
    joined = core.LoDTensor(numpy.concatenate([numpy.atleast_1d(t.numpy()) for t in tensors]))
    levels = [t.recursive_sequence_lengths() for t in tensors]
    if levels[0]:
        joined.set_recursive_sequence_lengths([sum(level, []) for level in zip(*levels)])
    return joined


class CompiledProgram(object):
    """A program for Executor.run; with_data_parallel puts it on several devices."""

    def __init__(self, program_or_graph, build_strategy=None):
        if isinstance(program_or_graph, CompiledProgram):
            program_or_graph = program_or_graph._program
        if not isinstance(program_or_graph, framework.Program):
            raise TypeError("The type of program to be compiled is wrong, expected Program, but received %s." %
                            type(program_or_graph))
        self._program = program_or_graph
        self._build_strategy = build_strategy
        self._exec_strategy = None
        self._is_data_parallel = False
        self._places = None
        self._joint = {}

    def with_data_parallel(self, loss_name=None, build_strategy=None, exec_strategy=None, share_vars_from=None,
                           places=None):
        """places None: CPU_NUM of them."""
        if self._is_data_parallel:
            raise AssertionError("Already compiled with parallel, cannot be recompiled.")
        if share_vars_from is not None and not isinstance(share_vars_from, CompiledProgram):
            raise ValueError("share_vars_from must be a CompiledProgram")
        if loss_name is not None and not isinstance(loss_name, str):
            raise TypeError("loss_name must be a str, but got %s" % type(loss_name))
        if build_strategy is not None:
            if self._build_strategy is not None:
                raise AssertionError("Only one build_strategy is allowed")
            self._build_strategy = build_strategy
        self._exec_strategy = exec_strategy
        self._is_data_parallel = True
        if places is not None and not isinstance(places, (list, tuple)):
            places = [places]
        if places and any(isinstance(p, core.CUDAPlace) for p in places):
            raise RuntimeError("with_data_parallel: Skiff has no CUDA; use fluid.cpu_places()")
        self._places = list(places) if places else None
        return self

    def _with_program(self, program):
        """The same on the same devices for another program, a cut of this one's."""
        found = self.__dict__.setdefault("_cuts", {}).get(program.state[0])
        if found is None:
            found = self._cuts[program.state[0]] = copy.copy(self)
            found._program, found._joint, found._cuts = program, {}, {}
        return found

    @property
    def device_count(self):
        if not self._is_data_parallel:
            return 1
        if self._places is None:
            self._places = framework.cpu_places()
        return len(self._places)

    def _joint_program(self, devices):
        """The program with a copy of the forward and backward operators per device."""
        program = self._program
        if self._joint.get(devices, (None,))[0] != program.state:
            scale = getattr(self._build_strategy, "gradient_scale_strategy", 0)
            if scale == BuildStrategy.GradientScaleStrategy.Customized:
                raise NotImplementedError("GradientScaleStrategy.Customized: use CoeffNumDevice or One")
            joint = program.replicate(devices, scale == BuildStrategy.GradientScaleStrategy.One)
            self._joint[devices] = (program.state, joint)
        return self._joint[devices][1]

    def _run(self, exe, feed, names, scope, return_numpy, return_merged):
        devices = self.device_count
        if devices == 1:
            if isinstance(feed, (list, tuple)) and len(feed) > 1:
                raise ValueError("feed has %d dictionaries for 1 device" % len(feed))
            got = exe._run_program(self._program, feed, names, scope, return_numpy)
            return got if return_merged else [[value] for value in got]
        program = self._program
        if isinstance(feed, (list, tuple)):
            if not feed or len(feed) > devices:
                raise ValueError("Feed a list of tensor, the list should be the same size as places: %d feeds, %d places" %
                                 (len(feed), devices))
            feeds = list(feed)
            devices = len(feeds)  # fewer than places: the last ones have nothing to do
        elif feed is None or feed == {}:
            feeds = exe._next_of_readers(program, devices)
        elif isinstance(feed, dict):
            feeds = split_feed(exe._known_feeds(program, feed), devices)
        else:
            raise TypeError("feed requires dict or list as its Parameter. But you passed in %s" % type(feed))
        if program.waits:
            from paddle.fluid.executor import join
            join(program, scope)
        if not getattr(program.__dict__.get("_job"), "meets", True):
            # no device waits: every device's batch is a step of its own
            steps = [exe._native.run(program, part, names, scope, False) for part in feeds]
            return self._results([list(row) for row in zip(*steps)], return_numpy, return_merged)
        joint = self._joint_program(devices)
        joint_feed = {joint.replica_name(name, device): value
                      for device, part in enumerate(feeds) for name, value in part.items()}
        wanted = [joint.replica_name(name, device) for name in names for device in range(devices)]
        got = exe._native.run(joint, joint_feed, wanted, scope, False)
        return self._results([got[i * devices:(i + 1) * devices] for i in range(len(names))], return_numpy, return_merged)

    @staticmethod
    def _results(rows, return_numpy, return_merged):
        """rows: the devices' values of every fetched variable."""
        from paddle.fluid.executor import as_numpy
        if not return_merged:
            return [as_numpy(row) if return_numpy else row for row in rows]
        return [merge(row, return_numpy) for row in rows]


__getattr__ = _names.guard(__name__)
