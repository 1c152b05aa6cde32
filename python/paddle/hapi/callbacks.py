"""Callbacks of paddle.Model: printing, saving, stopping early, learning rates."""
import numbers
import os
import time
import warnings

from paddle import _names
from paddle.hapi.progressbar import ProgressBar

_MODES = ("train", "eval", "predict")


def _is_first():
    from paddle import distributed
    return distributed.get_rank() == 0


class Callback(object):
    """Base: what is called before and after training, evaluation, prediction, epochs and batches."""

    def __init__(self):
        self.model, self.params = None, {}

    def set_params(self, params):
        self.params = params

    def set_model(self, model):
        self.model = model

    def on_train_begin(self, logs=None):
        """Before the first epoch."""

    def on_train_end(self, logs=None):
        """After the last epoch."""

    def on_eval_begin(self, logs=None):
        """Before an evaluation; logs: steps, metrics."""

    def on_eval_end(self, logs=None):
        """After an evaluation; logs: its values."""

    def on_predict_begin(self, logs=None):
        """Before a prediction."""

    def on_predict_end(self, logs=None):
        """After a prediction."""

    def on_epoch_begin(self, epoch, logs=None):
        """Before an epoch."""

    def on_epoch_end(self, epoch, logs=None):
        """After an epoch; logs: values of its last batch."""

    def on_train_batch_begin(self, step, logs=None):
        """Before a batch of training."""

    def on_train_batch_end(self, step, logs=None):
        """After a batch of training; logs: loss, metrics, step, batch_size."""

    def on_eval_batch_begin(self, step, logs=None):
        """Before a batch of evaluation."""

    def on_eval_batch_end(self, step, logs=None):
        """After a batch of evaluation."""

    def on_predict_batch_begin(self, step, logs=None):
        """Before a batch of prediction."""

    def on_predict_batch_end(self, step, logs=None):
        """After a batch of prediction."""


class CallbackList(object):
    """Several callbacks, called in order."""

    def __init__(self, callbacks=None):
        self.callbacks = list(callbacks or [])

    def append(self, callback):
        self.callbacks.append(callback)

    def __iter__(self):
        return iter(self.callbacks)

    def set_params(self, params):
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model):
        for callback in self.callbacks:
            callback.set_model(model)

    def _call(self, name, *args):
        for callback in self.callbacks:
            getattr(callback, name)(*args)

    def on_begin(self, mode, logs=None):
        self._call("on_%s_begin" % mode, logs)

    def on_end(self, mode, logs=None):
        self._call("on_%s_end" % mode, logs)

    def on_epoch_begin(self, epoch=None, logs=None):
        self._call("on_epoch_begin", epoch, logs)

    def on_epoch_end(self, epoch=None, logs=None):
        self._call("on_epoch_end", epoch, logs)

    def on_batch_begin(self, mode, step=None, logs=None):
        self._call("on_%s_batch_begin" % mode, step, logs)

    def on_batch_end(self, mode, step=None, logs=None):
        self._call("on_%s_batch_end" % mode, step, logs)


def config_callbacks(callbacks=None, model=None, epochs=None, steps=None, log_freq=2, verbose=2, save_freq=1, save_dir=None,
                     metrics=None):
    """The user's callbacks with those that every run has."""
    given = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []

    def has(kind):
        return any(isinstance(c, kind) for c in given)

    if verbose and not has(ProgBarLogger):
        given.insert(0, ProgBarLogger(log_freq, verbose=verbose))
    if not has(ModelCheckpoint):
        given.append(ModelCheckpoint(save_freq, save_dir))
    for callback in given:
        if isinstance(callback, EarlyStopping):
            callback.save_dir = save_dir
    if not has(LRScheduler):
        given.append(LRScheduler())
    out = CallbackList(given)
    out.set_model(model)
    out.set_params({"batch_size": None, "epochs": epochs, "steps": steps, "verbose": verbose, "metrics": metrics or []})
    return out


class _Progress(object):
    """One pass over data: its bar, its clock, what has been counted."""

    def __init__(self, steps, metrics, verbose):
        self.steps, self.metrics, self.verbose = steps, metrics, verbose
        self.bar, self.step, self.samples = ProgressBar(steps, verbose=verbose), 0, 0
        self._reset()
        self._last = time.time()

    def _reset(self):
        self._reading = self._running = 0.0
        self._count = self._rows = 0

    def begin_batch(self):
        now = time.time()
        self._reading += now - self._last
        self._last = now

    def end_batch(self, logs):
        now = time.time()
        self._running += now - self._last
        self._last = now
        self.step += 1
        self._count += 1
        rows = logs.get("batch_size", 1)
        self._rows += rows
        self.samples += rows

    def show(self, logs):
        values = [(key, logs[key]) for key in self.metrics if key in logs]
        if self.verbose == 3:
            count, both = max(self._count, 1), (self._reading + self._running) or 1e-9
            values += [("avg_reader_cost", "%.5f sec" % (self._reading / count)),
                       ("avg_batch_cost", "%.5f sec" % (self._running / count)),
                       ("ips", "%.5f samples/sec" % ((self._rows or 1.0) / both))]
            self._reset()
        self.bar.update(self.step, values)


class ProgBarLogger(Callback):
    """Prints loss and metrics. verbose 0: nothing; 1: one growing line; 2: a line every log_freq batches; 3: with times."""

    def __init__(self, log_freq=1, verbose=2):
        super().__init__()
        self.log_freq, self.verbose, self._passes = log_freq, verbose, {}

    def _prints(self):
        return self.verbose and _is_first()

    def _begin(self, mode, logs):
        self._passes[mode] = _Progress(logs.get("steps"), logs.get("metrics", []), self.verbose)

    def _end_batch(self, mode, logs):
        one, logs = self._passes[mode], logs or {}
        one.end_batch(logs)
        if self._prints() and one.step % self.log_freq == 0 and (one.steps is None or one.step < one.steps):
            one.show(logs)

    def on_train_begin(self, logs=None):
        if self._prints():
            print("The loss value printed in the log is the current step, and the metric is the average value of previous "
                  "steps.")

    def on_epoch_begin(self, epoch, logs=None):
        if self.params["epochs"] and self._prints():
            print("Epoch %d/%d" % (epoch + 1, self.params["epochs"]))
        self._begin("train", self.params)

    def on_epoch_end(self, epoch, logs=None):
        if self._prints() and self._passes["train"].steps is not None:
            self._passes["train"].show(logs or {})

    def on_eval_begin(self, logs=None):
        self._begin("eval", logs or {})
        if self._prints():
            print("Eval begin...")

    def on_eval_end(self, logs=None):
        one = self._passes["eval"]
        if self._prints() and one.steps is not None:
            one.show(logs or {})
            print("Eval samples: %d" % one.samples)

    def on_predict_begin(self, logs=None):
        self._begin("predict", logs or {})
        if self._prints():
            print("Predict begin...")

    def on_predict_end(self, logs=None):
        one = self._passes["predict"]
        if self._prints():
            if one.step % self.log_freq != 0 or self.verbose == 1:
                one.show(logs or {})
            print("Predict samples: %d" % one.samples)

    def on_train_batch_begin(self, step, logs=None):
        self._passes["train"].begin_batch()

    def on_eval_batch_begin(self, step, logs=None):
        self._passes["eval"].begin_batch()

    def on_predict_batch_begin(self, step, logs=None):
        self._passes["predict"].begin_batch()

    def on_train_batch_end(self, step, logs=None):
        self._end_batch("train", logs)

    def on_eval_batch_end(self, step, logs=None):
        self._end_batch("eval", logs)

    def on_predict_batch_end(self, step, logs=None):
        self._end_batch("predict", logs)


class ModelCheckpoint(Callback):
    """Saves the model every save_freq epochs as SAVE_DIR/EPOCH and at the end as SAVE_DIR/final."""

    def __init__(self, save_freq=1, save_dir=None):
        super().__init__()
        self.save_freq, self.save_dir = save_freq, save_dir

    def _save(self, name):
        path = "%s/%s" % (self.save_dir, name)
        print("save checkpoint at %s" % os.path.abspath(path))
        self.model.save(path)

    def _saves(self):
        return self.model and self.save_dir and _is_first()

    def on_epoch_end(self, epoch, logs=None):
        if self._saves() and epoch % self.save_freq == 0:
            self._save(epoch)

    def on_train_end(self, logs=None):
        if self._saves():
            self._save("final")


class LRScheduler(Callback):
    """Moves the optimizer's learning rate schedule on, after every batch or every epoch."""

    def __init__(self, by_step=True, by_epoch=False):
        super().__init__()
        if by_step and by_epoch:
            raise ValueError("by_step option is mutually exclusive with by_epoch")
        self.by_step, self.by_epoch = by_step, by_epoch

    def _step(self):
        from paddle.optimizer.lr import LRScheduler as Schedule
        rate = getattr(self.model._optimizer, "_learning_rate", None)
        if isinstance(rate, Schedule):
            rate.step()

    def on_epoch_end(self, epoch, logs=None):
        if self.by_epoch:
            self._step()

    def on_train_batch_end(self, step, logs=None):
        if self.by_step:
            self._step()


def _watched(monitor, logs, who):
    """The number that a callback watches, or None."""
    if logs is None or monitor not in logs:
        warnings.warn("Monitor of %s should be loss or metric name." % who)
        return None
    value = logs[monitor]
    value = value[0] if isinstance(value, (list, tuple)) else value
    return float(value) if hasattr(value, "__float__") else None


def _is_rising(mode, monitor, who):
    """Whether more is better."""
    if mode not in ("auto", "min", "max"):
        warnings.warn("%s mode %s is unknown, fallback to auto mode." % (who, mode))
        mode = "auto"
    return mode == "max" or mode == "auto" and "acc" in monitor


class EarlyStopping(Callback):
    """Ends training when the watched value has not become better for `patience` evaluations."""

    def __init__(self, monitor="loss", mode="auto", patience=0, verbose=1, min_delta=0, baseline=None, save_best_model=True):
        super().__init__()
        self.monitor, self.patience, self.verbose, self.baseline = monitor, patience, verbose, baseline
        self.save_best_model, self.save_dir = save_best_model, None
        self._rising = _is_rising(mode, monitor, "EarlyStopping")
        self.min_delta = abs(min_delta) if self._rising else -abs(min_delta)
        self.wait_epoch = self.stopped_epoch = 0
        self.best_value = None

    def on_train_begin(self, logs=None):
        self.wait_epoch = 0
        self.best_value = self.baseline if self.baseline is not None else float("-inf" if self._rising else "inf")

    def on_eval_end(self, logs=None):
        value = _watched(self.monitor, logs, "EarlyStopping")
        if value is None:
            return
        better = value - self.min_delta
        saves = self.save_best_model and self.save_dir is not None
        path = os.path.join(self.save_dir, "best_model") if saves else None
        if better > self.best_value if self._rising else better < self.best_value:
            self.best_value, self.wait_epoch = value, 0
            if saves:
                self.model.save(path)
        else:
            self.wait_epoch += 1
        if self.wait_epoch >= self.patience:
            self.model.stop_training = True
            if self.verbose > 0:
                print("Epoch %d: Early stopping." % (self.stopped_epoch + 1))
                if saves:
                    print("Best checkpoint has been saved at %s" % os.path.abspath(path))
        self.stopped_epoch += 1


class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by `factor` when the watched value has not become better for `patience` evaluations."""

    def __init__(self, monitor="loss", factor=0.1, patience=10, verbose=1, mode="auto", min_delta=1e-4, cooldown=0, min_lr=0):
        super().__init__()
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        self.monitor, self.factor, self.patience, self.verbose, self.mode = monitor, factor, patience, verbose, mode
        self.min_delta, self.cooldown, self.min_lr, self.epoch = min_delta, cooldown, min_lr, 0
        self._reset()

    def _reset(self):
        self._rising = _is_rising(self.mode, self.monitor, "ReduceLROnPlateau")
        self.best = float("-inf" if self._rising else "inf")
        self.cooldown_counter = self.wait = 0

    def on_train_begin(self, logs=None):
        self._reset()

    def in_cooldown(self):
        return self.cooldown_counter > 0

    def on_eval_end(self, logs=None):
        value = _watched(self.monitor, logs, "ReduceLROnPlateau")
        if value is None:
            return
        rate = self.model._optimizer._learning_rate
        if not isinstance(rate, float):
            warnings.warn("Expected learning_rate be float, bug got %s." % type(rate))
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if value > self.best + self.min_delta if self._rising else value < self.best - self.min_delta:
            self.best, self.wait = value, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience and rate > self.min_lr:
                self._reduce(rate)
        self.epoch += 1

    def _reduce(self, rate):
        new = max(rate * self.factor, self.min_lr)
        self.model._optimizer.set_lr(new)
        if self.verbose > 0 and _is_first():
            print("\nEpoch %d: ReduceLROnPlateau reducing learning rate to %s." % (self.epoch + 1, new))
        self.cooldown_counter, self.wait = self.cooldown, 0


class VisualDL(Callback):
    """Loss and metrics as curves, written by the package visualdl: of training by batch, of evaluation by epoch."""

    def __init__(self, log_dir):
        super().__init__()
        self.log_dir, self.epoch, self._writer, self._steps, self._fits = log_dir, 0, None, 0, False

    def _write(self, mode, step, names, logs):
        if not _is_first():
            return
        if self._writer is None:
            from paddle.utils import try_import
            self._writer = try_import("visualdl").LogWriter(self.log_dir)
        for name in names:
            value = (logs or {}).get(name)
            value = value[0] if isinstance(value, (list, tuple)) and value else value
            if isinstance(value, numbers.Number):
                self._writer.add_scalar(tag="%s/%s" % (mode, name), step=step, value=value)

    def _close(self):
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def on_train_begin(self, logs=None):
        self._fits, self._steps = True, 0

    def on_epoch_begin(self, epoch=None, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, step, logs=None):
        self._steps += 1
        self._write("train", self._steps, self.params["metrics"], logs)

    def on_train_end(self, logs=None):
        self._close()

    def on_eval_begin(self, logs=None):
        self._evaluated = (logs or {}).get("metrics", [])

    def on_eval_end(self, logs=None):
        self._write("eval", self.epoch, self._evaluated, logs)
        if not self._fits:
            self._close()


__getattr__ = _names.guard(__name__)
