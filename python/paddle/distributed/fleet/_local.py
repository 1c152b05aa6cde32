"""A worker whose tables live in its own process: jobs without servers, and GPUBox (PsLocalServer, PsLocalClient)."""
import os
import sys

from paddle import _files, _names


def tables_of(program):
    """Look-ups of tables whose rows are kept by id (sparse_embedding)."""
    return [op for op in program.global_block().ops if op.type == "lookup_table" and op.attr("is_distributed")]


def has_entry(program):
    """Does a table have settings that only a sparse table has?"""
    return any(op.has_attr("entry") and op.attr("entry") not in ("", "none") for op in tables_of(program))


def settings_of(program, lines, but=()):
    """These settings for all tables of the program but some."""
    names = dict.fromkeys(op.input("W")[0] for op in tables_of(program))
    return [(name, lines) for name in names if name not in but]


def say_once(what, said=set()):
    if what not in said:
        said.add(what)
        print("[fleet] " + what, file=sys.stderr, flush=True)


class IdleServer(object):
    """A server process of GPUBox: the workers hold everything."""

    def table_names(self):
        return []

    def load(self, model_dir=None):
        if model_dir is not None:
            raise NotImplementedError("fleet.init_server(%r): in GPUBox's mode (use_ps_gpu) tables live in the worker; load the "
                                      "model there: fleet.load_model" % model_dir)

    def serve(self):
        say_once("use_ps_gpu: tables live in the worker; this server has nothing to do and ends")


def wanted(role, strategy):
    """Are there no servers, or are they not needed?"""
    if not role.get_pserver_endpoints():
        return True
    if not strategy.a_sync_configs["use_ps_gpu"]:
        return False
    if role.worker_num() > 1:
        say_once("use_ps_gpu with %d workers: tables and dense parameters live on the servers" % role.worker_num())
        return False
    return True


def split(fleet, main, startup, strategy):
    """The job of this worker, or None: the programs stay as they are."""
    from paddle.fluid.incubate.fleet._job import Job
    from paddle.fluid import _psgpu
    role, gpubox = fleet._role(), bool(strategy.a_sync_configs["use_ps_gpu"])
    _psgpu.Box.here |= gpubox
    if role.is_server():
        return IdleServer() if gpubox else None
    fields = strategy._native(int(os.environ.get("CPU_NUM") or 1))
    fields["keyed_tables"] = gpubox or has_entry(main)
    if gpubox:  # Paddle's number of files there, where the user gives none
        told = list(fields.get("tables", ()))
        fields["tables"] = told + settings_of(main, "shard_num 37\n", [name for name, _ in told])
    features = fields["keyed_tables"] or fields.get("all_features") or fields.get("tables")
    if not features or not tables_of(main):
        return None
    job = Job.worker(0, 1, [])
    job.whole = main.clone(for_test=True)
    job.split(main, startup, fields)
    job.gpubox = gpubox
    if gpubox:
        _psgpu.Box.job = job
    return job


def needed_feeds(program, feeds, targets):
    """Those that the targets are computed from. PaddleRec's trainers name all inputs, also labels, which Paddle refuses."""
    needed = set(targets)
    for op in reversed(program.global_block().ops):
        if needed.intersection(op.output_arg_names):
            needed.update(op.input_arg_names)
    missing = [name for name in feeds if name not in needed]
    if missing and len(missing) < len(feeds):
        say_once("save_inference_model: the targets do not need %s: left out" % ", ".join(missing))
        return [name for name in feeds if name in needed]
    return list(feeds)


# ---- programs without a fleet ----


def note(main, startup):
    """After a static minimize: tables with an entry need rows by any id. They get them when a program is first run, unless a
    fleet or a transpiler has taken the programs by then."""
    if has_entry(main):
        main.__dict__["_own_tables"] = startup.__dict__["_own_tables"] = (main, startup)


def forget(*programs):
    for program in programs:
        program.__dict__.pop("_own_tables", None)


def open_own(program):
    """Makes the job of a program that minimize has registered."""
    from paddle.fluid.incubate.fleet._job import Job
    main, startup = program.__dict__["_own_tables"]
    forget(main, startup)
    if main.__dict__.get("_job") is None:
        job = Job.worker(0, 1, [])
        job.whole, job.gpubox = main.clone(for_test=True), False
        job.split(main, startup, {"mode": "async", "tables": settings_of(main, "shard_num 10\n")})


def save_own(program, prefix, write):
    """static.save: dense variables by write(), sparse tables next to them, in PREFIX.tables."""
    job = program.__dict__.get("_job")
    if job is not None and job.table_names():
        job.tables("save").save_tables(prefix + ".tables", 0, dense=False)
        program = without(job.main, job)
    write(program)


def load_own(program, prefix, read):
    """static.load, likewise."""
    job = program.__dict__.get("_job")
    if job is None and has_entry(program) and _files.isdir(prefix + ".tables"):
        load_untrained(program, prefix, read)
        return
    if job is not None and job.table_names():
        load_tables(job, prefix)
        program = without(job.main, job)
    read(program)


def load_tables(job, prefix):
    from paddle.fluid.executor import global_scope
    job.connect(global_scope())
    for table in range(len(job.table_names())):
        job.tables("load").load_tables(prefix + ".tables", 0, table)


def load_untrained(program, prefix, read):
    """A network without an optimizer, as scripts that only evaluate build it: the tables are those of a copy that has one; the
    program runs as that copy's look-ups and what is behind them. Each load begins with empty tables."""
    if "_judging" in program.__dict__:
        program.run_as(None)
        program._judging.leave()
    job = program._judging = job_of_copy(program)
    load_tables(job, prefix)
    read(without(program, job))
    runs = job.main.clone(for_test=True)
    for var in program.global_block().vars.values():  # inputs that nothing needs may be fed nonetheless
        if not runs.global_block().has_var(var.name):
            runs.global_block().create_var(name=var.name, shape=var.shape, dtype=var.dtype, lod_level=var.lod_level)
    program.run_as(runs)


def job_of_copy(program):
    """Rules and dimensions of tables come from what begins and updates them; so the copy is given both."""
    import paddle
    copy, startup = program.clone(), paddle.static.Program()
    for name in dict.fromkeys(op.input("W")[0] for op in tables_of(copy)):
        with paddle.static.program_guard(paddle.static.Program(), startup):
            paddle.static.create_parameter(copy.global_block().var(name).shape, "float32", name=name)
    with paddle.static.program_guard(copy, startup):
        rows = [copy.global_block().var(op.output("Out")[0]) for op in tables_of(copy)]
        paddle.optimizer.SGD(0.0).minimize(paddle.add_n([paddle.mean(r) for r in rows]))
    open_own(copy)
    return copy._job


def without(program, job):
    """A copy of the program, without the variables of the job's tables."""
    program = program.clone()
    for name in job.table_names():
        program.global_block().var(name).persistable = False
    return program


__getattr__ = _names.guard(__name__)
