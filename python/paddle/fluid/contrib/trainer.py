"""fluid.Trainer (0.14) and fluid.contrib.trainer (1.0 to 1.7): training with events and checkpoints.

A checkpoint is a folder checkpoint_<serial> with __model__/ (variables and _SUCCESS) and trainer_<id>/ (epoch_id, step_id,
_SUCCESS). After a crash the next start goes on behind the last complete one; a normal end removes them all.
"""
import os
import shutil
import tempfile
import time

from skiff import _native

from paddle import _names
from paddle.fluid import compiler, core, data_feeder, executor, framework, io, unique_name
from paddle.fluid import optimizer as opt_module
from paddle.fluid.transpiler.distribute_transpiler import DistributeTranspiler

__all__ = ["Trainer", "BeginEpochEvent", "EndEpochEvent", "BeginStepEvent", "EndStepEvent", "CheckpointConfig"]

SUCCESS = "_SUCCESS"
PREFIX = "checkpoint"
MODEL_DIR = "__model__"
TRAINER_PREFIX = "trainer"


class BeginEpochEvent(object):
    """Before an epoch."""

    def __init__(self, epoch_id):
        self.epoch = epoch_id


class EndEpochEvent(object):
    """After an epoch."""

    def __init__(self, epoch_id):
        self.epoch = epoch_id


class BeginStepEvent(object):
    """Before a step; set fetch_metrics to False to leave the metrics of the step out."""

    def __init__(self, epoch_id, step_id):
        self.epoch, self.step, self.fetch_metrics = epoch_id, step_id, True


class EndStepEvent(object):
    """After a step, with the values that train_func gave."""

    def __init__(self, epoch_id, step_id, metrics):
        self.epoch, self.step, self.metrics = epoch_id, step_id, metrics


class CheckpointConfig(object):
    """A checkpoint every step_interval steps of every epoch_interval-th epoch; the newest max_num_checkpoints are kept."""

    def __init__(self, checkpoint_dir=None, max_num_checkpoints=3, epoch_interval=1, step_interval=10):
        if epoch_interval < 1:
            raise AssertionError("epoch_interval must be at least 1, but got %s" % epoch_interval)
        if step_interval < 1:
            raise AssertionError("step_interval must be at least 1, but got %s" % step_interval)
        self.checkpoint_dir = checkpoint_dir if checkpoint_dir is not None else os.getcwd()
        self.max_num_checkpoints = max_num_checkpoints
        self.epoch_interval = epoch_interval
        self.step_interval = step_interval
        self.epoch_id = 0
        self.step_id = 0
        self.load_serial = None
        self.pserver_id = None
        self.lookup_table_name = None


# ---- checkpoints -------------------------------------------------------------------------------


def _serials(folder):
    """Serial numbers of the complete checkpoints, ascending."""
    found = []
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        prefix, _, number = name.rpartition("_")
        if prefix == PREFIX and number.isdigit() and os.path.isfile(os.path.join(folder, name, MODEL_DIR, SUCCESS)):
            found.append(int(number))
    return sorted(found)


def _serial_dir(folder, serial):
    return os.path.join(folder, "%s_%d" % (PREFIX, serial))


def _newest_with_all(folder, trainers):
    """The newest complete checkpoint that has the places of all trainers, or None."""
    for serial in reversed(_serials(folder)):
        if all(os.path.isfile(os.path.join(_serial_dir(folder, serial), "%s_%d" % (TRAINER_PREFIX, i), SUCCESS))
               for i in range(trainers)):
            return serial
    return None


def _write(path, text):
    """All or nothing: a reader sees the complete file or none."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "w") as file:
        file.write(text)
    os.replace(path + ".part", path)


def _mark(folder):
    _write(os.path.join(folder, SUCCESS), time.ctime())


def _is_checkpoint_var(var):
    return io.is_persistable(var) and var.kind != "RAW" and not any(
        part in var.name for part in ("@GRAD", ".trainer_", ".block"))


def get_latest_checkpoint_serial(checkpoint_dir):
    """The newest complete checkpoint; -1: there is none."""
    serials = _serials(checkpoint_dir)
    return serials[-1] if serials else -1


def save_checkpoint(exe, checkpoint_dir, trainer_id, main_program, trainer_args=None, max_num_checkpoints=3, serial=None):
    """Trainer 0 saves the variables, every trainer its place. serial None: the one after the newest."""
    serial = get_latest_checkpoint_serial(checkpoint_dir) + 1 if serial is None else serial
    folder = _serial_dir(checkpoint_dir, serial)
    for key, value in (trainer_args or {}).items():
        _write(os.path.join(folder, "%s_%d" % (TRAINER_PREFIX, trainer_id), key), str(value))
    _mark(os.path.join(folder, "%s_%d" % (TRAINER_PREFIX, trainer_id)))
    if trainer_id == 0:
        model = os.path.join(folder, MODEL_DIR)
        job = io._job(main_program)
        if job is not None:
            job.save_persistables(executor.global_scope(), model)
        else:
            io.save_vars(exe, model, main_program, predicate=_is_checkpoint_var)
        _mark(model)
        for old in _serials(checkpoint_dir)[:-max_num_checkpoints]:
            shutil.rmtree(_serial_dir(checkpoint_dir, old), ignore_errors=True)


def load_checkpoint(exe, checkpoint_dir, main_program, serial=None):
    """The variables of a checkpoint (None: the newest)."""
    serial = get_latest_checkpoint_serial(checkpoint_dir) if serial is None else serial
    if serial < 0:
        raise ValueError("no complete checkpoint in %s" % checkpoint_dir)
    io.load_vars(exe, os.path.join(_serial_dir(checkpoint_dir, serial), MODEL_DIR), main_program,
                 predicate=_is_checkpoint_var)


def load_trainer_args(checkpoint_dir, serial, trainer_id, names):
    """The values that a trainer saved; None where its file is not there."""
    folder = os.path.join(_serial_dir(checkpoint_dir, serial), "%s_%d" % (TRAINER_PREFIX, trainer_id))
    values = []
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            return None
        with open(path) as file:
            values.append(file.read().strip())
    return values


def clean_checkpoint(checkpoint_dir, delete_dir=False):
    """Removes all checkpoints; the folder too if it is empty then and delete_dir is set."""
    if not os.path.isdir(checkpoint_dir):
        return
    for name in os.listdir(checkpoint_dir):
        prefix, _, number = name.rpartition("_")
        if prefix == PREFIX and number.isdigit():
            shutil.rmtree(os.path.join(checkpoint_dir, name), ignore_errors=True)
    if delete_dir and not os.listdir(checkpoint_dir):
        os.rmdir(checkpoint_dir)


# ---- the trainer -------------------------------------------------------------------------------


class Trainer(object):
    """train_func() gives the loss or [loss, metric, ...]; optimizer_func() the optimizer.

    With PADDLE_TRAINING_ROLE in the environment it is a trainer or a server of a distributed job."""

    def __init__(self, train_func, optimizer_func, param_path=None, place=None, parallel=False, checkpoint_config=None):
        if checkpoint_config is not None and not isinstance(checkpoint_config, CheckpointConfig):
            raise TypeError("The checkpoint_config shoule be an instance of CheckpointConfig, but got %s" %
                            type(checkpoint_config))
        self.parallel = parallel
        self.trainer_id = 0
        self.checkpoint_cfg = checkpoint_config
        self.place = place if place is not None else core.CPUPlace()
        self._stopped = False
        self._serves = False
        self._transpiler = None
        self._gathered = False
        self.scope = core.Scope()
        self.startup_program = framework.Program()
        self.train_program = framework.Program()
        with framework.program_guard(self.train_program, self.startup_program), unique_name.guard():
            outputs = train_func()
            self.train_func_outputs = outputs if isinstance(outputs, list) else [outputs]
            self.test_program = self.train_program.clone(for_test=True)
            loss = self.train_func_outputs[0]
            optimizer = optimizer_func()
            if not isinstance(optimizer, opt_module.Optimizer):
                raise TypeError("The optimizer should be an instance of Optimizer")
            optimizer.minimize(loss)
        self.exe = executor.Executor(self.place)
        self._begin(param_path)

    def _begin(self, param_path):
        config = self.checkpoint_cfg
        if config is not None:
            trainers = int(os.getenv("PADDLE_TRAINERS", "1")) if os.getenv("PADDLE_TRAINING_ROLE") else 1
            config.load_serial = _newest_with_all(config.checkpoint_dir, trainers)
            # all trainers count from here, so that the parts of one checkpoint are in one folder
            self._serial = -1 if config.load_serial is None else config.load_serial
        self._transpile_if_asked()
        with self._prog_and_scope_guard():
            if self._serves:
                return
            self.exe.run(self.startup_program)
            if config is not None and config.load_serial is not None:
                self._load_checkpoint()
            if param_path and os.path.isdir(param_path):
                io.load_persistables(self.exe, param_path, self.startup_program)

    def _load_checkpoint(self):
        config = self.checkpoint_cfg
        args = load_trainer_args(config.checkpoint_dir, config.load_serial, self.trainer_id, ["epoch_id", "step_id"])
        if args is None:
            raise RuntimeError("checkpoint %s has no place of trainer %d" %
                               (_serial_dir(config.checkpoint_dir, config.load_serial), self.trainer_id))
        if io._job(self.train_program) is None:
            load_checkpoint(self.exe, config.checkpoint_dir, self.train_program, config.load_serial)
        config.epoch_id, config.step_id = int(args[0]), int(args[1])

    def _transpile_if_asked(self):
        """The older environment: PADDLE_TRAINING_ROLE, PADDLE_PSERVER_IPS, PADDLE_PSERVER_PORT, PADDLE_TRAINERS, ..."""
        role = os.getenv("PADDLE_TRAINING_ROLE")
        if role is None:
            return
        if role not in ("PSERVER", "TRAINER"):
            raise ValueError("TRAINING_ROLE environment variable must be either TRAINER or PSERVER, but it is %r" % role)
        port = os.getenv("PADDLE_PSERVER_PORT", "6174")
        endpoints = ",".join(ip + ":" + port for ip in os.getenv("PADDLE_PSERVER_IPS", "").split(",") if ip)
        trainers = int(os.getenv("PADDLE_TRAINERS", "1"))
        current = os.getenv("PADDLE_CURRENT_IP", "") + ":" + port
        self.trainer_id = int(os.getenv("PADDLE_TRAINER_ID", "0"))
        with self._prog_and_scope_guard():
            transpiler = DistributeTranspiler()
            transpiler.transpile(self.trainer_id, pservers=endpoints, trainers=trainers)
            if role == "PSERVER":
                self._serves = True
                config = self.checkpoint_cfg
                if config is not None and config.load_serial is not None:
                    transpiler._model_dir = os.path.join(_serial_dir(config.checkpoint_dir, config.load_serial), MODEL_DIR)
                self.train_program = transpiler.get_pserver_program(current)
                self.startup_program = transpiler.get_startup_program(current, self.train_program)
            else:
                self.train_program = transpiler.get_trainer_program()
                self.startup_program = framework.default_startup_program()
        self._transpiler = transpiler

    def _prog_and_scope_guard(self):
        return _Guards(self)

    def stop(self):
        """Ends training after the running step."""
        self._stopped = True

    def train(self, num_epochs, event_handler, reader=None, feed_order=None):
        """reader() gives lists of samples; feed_order names the variables of a sample."""
        if self._serves:
            with self._prog_and_scope_guard():
                self.exe.run(self.startup_program)
                self.exe.run(self.train_program)
            return
        with self._prog_and_scope_guard():
            feeder = data_feeder.DataFeeder(
                [self.train_program.global_block().var(name) for name in feed_order], self.place, self.train_program)
            program = self.train_program
            if self.parallel:
                program = compiler.CompiledProgram(program).with_data_parallel(loss_name=self.train_func_outputs[0].name)
            ended = self._epochs(program, num_epochs, event_handler, reader, feeder)
            if self._transpiler is not None:
                self._leave()
            if ended and self.checkpoint_cfg is not None and self.trainer_id == 0:
                clean_checkpoint(self.checkpoint_cfg.checkpoint_dir)

    def _leave(self):
        """Leaves the distributed job. Trainer 0 takes the servers' values along, for save_params."""
        job = io._job(self.train_program)
        if self.trainer_id == 0 and job is not None:
            with tempfile.TemporaryDirectory() as folder:
                job.save_persistables(self.scope, folder)
                io.load_persistables(self.exe, folder, self._transpiler._main)
            self._gathered = True
        self.exe.close()

    def _epochs(self, program, num_epochs, event_handler, reader, feeder):
        config = self.checkpoint_cfg
        resumed = config is not None and config.load_serial is not None
        for epoch in range(config.epoch_id if resumed else 0, num_epochs):
            event_handler(BeginEpochEvent(epoch))
            for step, rows in enumerate(reader()):
                if self._stopped:
                    return True
                if resumed and epoch == config.epoch_id and step <= config.step_id:
                    continue
                begin = BeginStepEvent(epoch, step)
                event_handler(begin)
                wanted = [var.name for var in self.train_func_outputs] if begin.fetch_metrics else []
                metrics = self.exe.run(program, feed=feeder.feed(rows), fetch_list=wanted)
                if config is not None and epoch % config.epoch_interval == 0 and step % config.step_interval == 0:
                    self._serial += 1
                    save_checkpoint(self.exe, config.checkpoint_dir, self.trainer_id, self.train_program,
                                    {"epoch_id": epoch, "step_id": step}, config.max_num_checkpoints, self._serial)
                event_handler(EndStepEvent(epoch, step, metrics))
            event_handler(EndEpochEvent(epoch))
        return True

    def test(self, reader, feed_order):
        """Means of the values of train_func over a reader."""
        import numpy
        with self._prog_and_scope_guard():
            feeder = data_feeder.DataFeeder(
                [self.test_program.global_block().var(name) for name in feed_order], self.place, self.test_program)
            names, totals, count = [var.name for var in self.train_func_outputs], None, 0
            for rows in reader():
                values = [numpy.asarray(v, "float64").ravel()[0] for v in
                          self.exe.run(self.test_program, feed=feeder.feed(rows), fetch_list=names)]
                totals = values if totals is None else [a + b for a, b in zip(totals, values)]
                count += 1
            return [total / count for total in totals or []]

    def save_params(self, param_path):
        """All persistable variables; of a distributed job, trainer 0's call saves. Paddle's files and no other: scripts count
        and compare them. They appear at once, as those of all saves, and then lose their manifest."""
        with self._prog_and_scope_guard():
            if self._gathered:
                io.save_vars(self.exe, param_path, self._transpiler._main, predicate=io.is_persistable)
            else:
                io.save_persistables(self.exe, param_path, self.train_program)
        _native.remove_manifest(param_path)

    def save_inference_model(self, param_path, feeded_var_names, target_var_indexes):
        with self._prog_and_scope_guard():
            io.save_inference_model(param_path, feeded_var_names,
                                    [self.train_func_outputs[i] for i in target_var_indexes], self.exe, self.train_program)


class _Guards(object):
    """The trainer's programs and scope, inside."""

    def __init__(self, trainer):
        self._guards = [framework.program_guard(trainer.train_program, trainer.startup_program),
                        executor.scope_guard(trainer.scope)]

    def __enter__(self):
        for guard in self._guards:
            guard.__enter__()

    def __exit__(self, *error):
        for guard in reversed(self._guards):
            guard.__exit__(*error)


__getattr__ = _names.guard(__name__)
