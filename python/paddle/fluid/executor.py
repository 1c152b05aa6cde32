"""fluid.executor: runs programs, trains from datasets."""
import warnings
from contextlib import contextmanager

from skiff import _native

from paddle import _names
from paddle.fluid import _psgpu, core, framework

__all__ = ["Executor", "global_scope", "scope_guard", "FetchHandler"]

g_scope = core.Scope()


def global_scope():
    """The scope that runs use when none is given."""
    return g_scope


def _switch_scope(scope):
    global g_scope
    before, g_scope = g_scope, scope
    return before


@contextmanager
def scope_guard(scope):
    """Another global scope inside."""
    before = _switch_scope(scope)
    try:
        yield
    finally:
        _switch_scope(before)


def as_numpy(tensor):
    """A numpy array of a LoDTensor without LoD, or a list of them."""
    if isinstance(tensor, (list, tuple)):
        return [as_numpy(t) for t in tensor]
    if not isinstance(tensor, core.LoDTensor):
        return tensor
    if tensor.lod():
        raise RuntimeError("Some of your fetched tensors hold LoD information. They can not be completely cast to Python "
                           "ndarray. Please set the parameter 'return_numpy' as 'False' to return LoDTensor itself directly.")
    return tensor.numpy()


def _fetched(item):
    return isinstance(item, (framework.Variable, str))


def _is_update(op):
    return op.has_attr("op_role") and op.attr("op_role") & 2 != 0


def _flat(fetch_list):
    """Items of a fetch_list without lists in it: of a list or a tuple of variables all, of what minimize gives (operators,
    pairs of parameter and gradient) the operators."""
    for i, item in enumerate(fetch_list):
        if isinstance(item, tuple) and not all(map(_fetched, item)):
            item = item[0]
            if not isinstance(item, (list, tuple)):
                raise TypeError("Requires fetch_list[%d][0] shall be one of (list, tuple) when type(fetch_list[%d]) is `tuple`, but "
                                "received %s." % (i, i, type(item).__name__))
        for one in item if isinstance(item, (list, tuple)) else [item]:
            yield one


def split_fetches(fetch_list):
    """Names of the variables that run is asked for, and the optimizer operators in the list."""
    if fetch_list is None:
        return [], []
    if _fetched(fetch_list):
        fetch_list = [fetch_list]
    if not isinstance(fetch_list, (list, tuple)):
        raise AssertionError("Currently , The fetch_list type only should be list or tuple, but the input type is %s. For "
                             "more information please refer to the executor.run(...)." % type(fetch_list))
    names, updates = [], []
    for item in _flat(fetch_list):
        if isinstance(item, str):
            names.append(item)
        elif isinstance(item, framework.Variable):
            names.append(item.name)
        elif isinstance(item, framework.Operator):
            if not _is_update(item):
                raise TypeError("The operator in fetch_list is not an optimize_op: %s" % item.type)
            updates.append(item)
        else:
            raise TypeError("The element in fetch_list should be string or Variable, but received %s." % type(item))
    return names, updates


def fetch_names(fetch_list):
    """Names of what run is asked for."""
    return split_fetches(fetch_list)[0]


def join(program, scope):
    """Waits for the other processes of the program's job, as its run would, but so that Ctrl-C is heard: a worker's joins the
    job, a server's serves. True when this was the complete run."""
    from paddle.fluid._job import patiently
    stop = (lambda: _native.leave_job(program)) if program.waits == "serve" else None
    return patiently(_native.join_job, program, scope, stop=stop)


class FetchHandler(object):
    """Sees variables every period_secs during train_from_dataset. Since 1.6.2: FetchHandler(var_dict={key: Variable},
    period_secs=60), handler(dict). In 1.6.0: FetchHandler([names], period_secs, return_np), handler(list)."""

    def __init__(self, var_dict=None, period_secs=60, return_np=True):
        if var_dict is None:
            raise AssertionError("FetchHandler: var_dict must not be None")
        self.var_dict = var_dict
        self.period_secs = period_secs
        self.return_np = return_np

    def handler(self, res_dict):
        """To be written by the user."""
        if isinstance(res_dict, dict):
            for key, value in res_dict.items():
                if value is not None:
                    print("{}[0]: {} ".format(key, value.ravel()[0] if hasattr(value, "ravel") else value))
        else:
            print(res_dict)

    @staticmethod
    def help():
        print("""
class FetchHandlerExample(FetchHandler):
    def handler(self, res_dict):
        print(res_dict["auc"])
        print("auc: {}, {}".format(res_dict["auc"], time.ctime()))

handler = FetchHandlerExample(var_dict={"auc": auc_var}, period_secs=60)
""")

    def _names(self):
        keyed = isinstance(self.var_dict, dict)
        items = list(self.var_dict.values()) if keyed else list(self.var_dict)
        return [item if isinstance(item, str) else item.name for item in items]

    def _call(self, values):
        """On another thread, with the values of thread 0."""
        if self.return_np:
            values = [None if value is None else as_numpy(value) for value in values]
        if isinstance(self.var_dict, dict):
            values = dict(zip(self.var_dict, values))
        self.handler(values)


def check_dataset(dataset, thread):
    if dataset is None:
        raise RuntimeError("dataset is need and should be initialized")
    if not hasattr(dataset, "_native"):
        raise TypeError("dataset must come from fluid.DatasetFactory, but got %s" % type(dataset))
    if thread <= 0 and dataset.thread_num <= 0:
        raise RuntimeError("You should set thread num first, either in Dataset or in Executor.train_from_dataset")


def tell_dumps(settings):
    """Values of variables by sample are written by `skiff train` alone; that a script gets none is not to be found out later."""
    if settings.get("dump_fields_path") and (settings.get("dump_fields") or settings.get("dump_param")):
        warnings.warn("dump_fields_path: nothing is written to %s: only `skiff train` and `skiff infer` dump values "
                      "(runner.need_dump, docs/reference/configuration.md)" % settings["dump_fields_path"])


class Executor(object):
    """Runs programs on the CPU."""

    def __init__(self, place=None):
        if isinstance(place, core.CUDAPlace) and not _psgpu.runs_here():
            raise RuntimeError("Executor(%r): Skiff has no CUDA; use fluid.CPUPlace()" % place)
        if place is not None and not isinstance(place, (core._Place, core.Place)):
            raise TypeError("Executor: place must be fluid.CPUPlace(), but got %s" % type(place))
        self.place = place if place is not None else core.CPUPlace()
        self._native = _native.Executor(g_scope)
        self._pruned = {}
        self._closed = False

    def close(self):
        """Leaves a distributed job. The executor cannot be used afterwards."""
        if not self._closed:
            self._closed = True
            from paddle.fluid import _job
            _job.leave_all()
            self._native.close()

    def _check_program(self, program):
        if self._closed:
            raise RuntimeError("Attempted to use a closed Executor")
        if program is None:
            program = framework.default_main_program()
        inner = getattr(program, "_program", program)
        if hasattr(inner, "_own_tables"):
            from paddle.distributed.fleet import _local
            _local.open_own(inner)
        return program

    def run(self, program=None, feed=None, fetch_list=None, feed_var_name="feed", fetch_var_name="fetch", scope=None,
            return_numpy=True, use_program_cache=False, return_merged=True, use_prune=False):
        """Runs a program once; gives the fetched values. use_program_cache is not needed: compiled programs are kept.
        use_prune: only the operators that fetch_list and the optimizer operators need; optimizer operators in fetch_list
        (what minimize gives) set it, and are the only ones then that run."""
        program = self._check_program(program)
        scope = g_scope if scope is None else scope
        names, updates = split_fetches(fetch_list)
        if not isinstance(program, framework.Program):
            from paddle.fluid.compiler import CompiledProgram
            if not isinstance(program, CompiledProgram):
                raise TypeError("Executor requires Program as its Parameter. But you passed in %s" % type(program))
            if use_prune or updates:
                program = program._with_program(self._prune(program._program, feed, names, updates))
            return program._run(self, feed, names, scope, return_numpy, return_merged)
        return self._run_program(program, feed, names, scope, return_numpy, use_prune, updates)

    def _run_program(self, program, feed, names, scope, return_numpy, use_prune=False, updates=()):
        if isinstance(feed, (list, tuple)):
            if len(feed) != 1:
                raise AssertionError("Not compiled with data parallel: one feed, but got a list of %d" % len(feed))
            feed = feed[0]
        if feed is not None and not isinstance(feed, dict):
            raise TypeError("feed requires dict as its Parameter. But you passed in %s" % type(feed))
        if not feed:
            feed = self._next_of_readers(program, 1)[0]
        if feed:
            feed = self._known_feeds(program, feed)
        if use_prune or updates:
            program = self._prune(program, feed, names, updates)
            feed = self._known_feeds(program, feed or {})
        try:
            if program.waits and join(program, scope):
                return []
            return self._native.run(program, feed, names, scope, return_numpy)
        except TypeError as error:
            block = program.global_block()
            if any(block.var(name).need_check_feed for name in feed or ()):
                raise ValueError(str(error))  # what fluid.data's check gives
            raise

    def _next_of_readers(self, program, devices):
        """Feeds of the readers that were started for this program; [{}] when there are none."""
        readers = program.__dict__.get("_readers")
        if not readers:
            return [{}] * devices
        from paddle.fluid.reader import next_feeds
        return next_feeds(readers, program, devices)

    @staticmethod
    def _known_feeds(program, feed):
        block = program.global_block()
        unknown = [name for name in feed if not block.has_var(name)]
        if not unknown:
            return feed
        for name in unknown:
            warnings.warn("The variable %s is not found in program. It is not declared or is pruned." % name)
        return {name: value for name, value in feed.items() if name not in unknown}

    def _prune(self, program, feed, names, updates=()):
        """The program cut down to what the fetches and these optimizer operators (none given: all) need."""
        feeds = sorted({name for part in (feed if isinstance(feed, (list, tuple)) else [feed or {}]) for name in part})
        places = [op.idx for op in updates if op.block.idx == 0]
        if len(places) < len(updates):
            raise NotImplementedError("fetch_list: an optimizer operator inside of a block cannot be chosen")
        if not names and not places and not any(_is_update(op) for block in program.blocks for op in block.ops):
            return program  # nothing to prune for: a startup program
        key = (program.state[0], tuple(feeds), tuple(names), tuple(places))
        found = self._pruned.get(key)
        if found is None or found[0] != program.state:
            cut = program.cut_training(feeds, names, places or None)
            cut._copy_notes(program)
            found = self._pruned[key] = (program.state, cut)
        return found[1]

    def train_from_dataset(self, program=None, dataset=None, scope=None, thread=0, debug=False, fetch_list=None,
                           fetch_info=None, print_period=100, fetch_handler=None):
        """One pass over the dataset with several threads. fetch_info None: the variables' names (Paddle fails then)."""
        return self._from_dataset(self._native.train, program, dataset, scope, thread, debug, fetch_list, fetch_info,
                                  print_period, fetch_handler)

    def infer_from_dataset(self, program=None, dataset=None, scope=None, thread=0, debug=False, fetch_list=None,
                           fetch_info=None, print_period=100, fetch_handler=None):
        """One pass without training. Unlike Paddle's it leaves the optimizer operators of a training program out."""
        return self._from_dataset(self._native.infer, program, dataset, scope, thread, debug, fetch_list, fetch_info,
                                  print_period, fetch_handler)

    def _from_dataset(self, call, program, dataset, scope, thread, debug, fetch_list, fetch_info, print_period,
                      fetch_handler):
        program = self._check_program(program)
        check_dataset(dataset, thread)
        from paddle.fluid.compiler import CompiledProgram
        if isinstance(program, CompiledProgram):
            program = program._program
        if not isinstance(program, framework.Program):
            raise TypeError("train_from_dataset requires a Program, but got %s" % type(program))
        if not dataset.filelist and dataset._told_files and not dataset._in_memory():
            warnings.warn("the dataset was given an empty list of files (set_filelist): nothing is read")
            return None
        names = fetch_names(fetch_list)
        if fetch_info is not None and len(fetch_info) != len(names):
            raise AssertionError("fetch_list and fetch_info have %d and %d elements" % (len(names), len(fetch_info)))
        options = {"scope": g_scope if scope is None else scope, "threads": thread or _psgpu.threads_of(program), "fetch_list": names,
                   "fetch_info": fetch_info, "print_period": print_period}
        if debug:
            options["debug"] = lambda text: print(text, flush=True)
        if fetch_handler is not None:
            if not isinstance(fetch_handler, FetchHandler):
                raise AssertionError("fetch_handler must be a FetchHandler, but got %s" % type(fetch_handler))
            options.update(handler_vars=fetch_handler._names(), handler_period=float(fetch_handler.period_secs),
                           handler=fetch_handler._call)
        dataset._prepare()
        tell_dumps(program._fleet_opt)
        if program.waits:
            join(program, options["scope"])
        result = call(program, dataset._native, **options)
        if not result["samples"] and not result["stopped"]:
            warnings.warn("the dataset gave no samples: nothing was done (%d files, pipe command `%s`)" %
                          (len(dataset.filelist), dataset.pipe_command))


__getattr__ = _names.guard(__name__)
