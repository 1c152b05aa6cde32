"""paddle.Model: training, evaluation and prediction of a network without writing loops."""
import inspect
import warnings

from skiff import _native

from paddle import _names
from paddle._op import Value
from paddle.framework import no_grad
from paddle.hapi.callbacks import EarlyStopping, config_callbacks
from paddle.static.input import InputSpec


def _list(value):
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _flat(value):
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in _flat(part)]
    if isinstance(value, dict):
        return [leaf for key in value for leaf in _flat(value[key])]
    return [value]


def _tensor(value):
    from paddle import to_tensor
    return value if isinstance(value, Value) else to_tensor(value)


def _array(value):
    import numpy
    return value.numpy() if isinstance(value, Value) else numpy.asarray(value)


class Model(object):
    """A network with what it is trained by: prepare, then fit, evaluate, predict."""

    def __init__(self, network, inputs=None, labels=None):
        from paddle import in_dynamic_mode
        if not in_dynamic_mode():
            raise RuntimeError("paddle.Model works in eager mode: call paddle.disable_static() first, or build the program "
                               "and run it with paddle.static.Executor")
        self.network, self.mode, self.stop_training = network, "train", False
        self._optimizer, self._loss, self._metrics, self._scaler = None, None, [], None
        self._amp_level, self._amp_lists, self._scaling = "O0", {}, {}
        self._given = inputs is not None
        self._inputs = self._specs(inputs) if self._given else self._guessed()
        self._labels = self._specs(labels)
        self._accumulate, self.num_iters = 1, None

    def _specs(self, specs):
        if isinstance(specs, dict):
            specs = [specs[name] for name in self._argument_names() if name in specs]
        specs = _list(specs)
        for i, spec in enumerate(specs):
            if not isinstance(spec, InputSpec):
                raise AssertionError("inputs and labels of paddle.Model are InputSpecs, but received %s" % type(spec))
            if spec.name is None:
                raise ValueError("Requires Input[%d].name != None, but receive `None` with %s." % (i, spec))
        return specs

    def _argument_names(self):
        return [p.name for p in inspect.signature(self.network.forward).parameters.values()
                if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

    def _guessed(self):
        """What forward takes; shapes come with the first batch. A network that takes anything: one input."""
        names = self._argument_names() or ["input"]
        return [InputSpec([None], "float32", name) for name in names]

    # ---- one batch ----

    def _seen(self, inputs):
        if not self._given:
            names = [spec.name for spec in self._inputs]
            self._inputs = [InputSpec(list(v.shape), v.dtype, names[i] if i < len(names) else "input_%d" % i)
                            for i, v in enumerate(inputs)]

    def _measured(self, outputs, labels):
        out = []
        for metric in self._metrics:
            computed = metric.compute(*(outputs + labels))
            out.append(metric.update(*[_array(m) for m in _list(computed)]))
        return out

    def _run(self, inputs, labels):
        """(outputs, labels, losses) of a batch."""
        from paddle import amp
        inputs, labels = [_tensor(x) for x in _list(inputs)], [_tensor(y) for y in _list(labels)]
        self._seen(inputs)
        with amp.auto_cast(enable=self._amp_level != "O0", level=self._amp_level, **self._amp_lists):
            outputs = _list(self.network(*inputs))
        losses = _list(self._loss(*(outputs + labels))) if self._loss is not None and self.mode != "test" else []
        return outputs, labels, losses

    def train_batch(self, inputs, labels=None, update=True):
        """Losses (and values of metrics) of a step of training. update False: gradients are only added up."""
        from paddle import add_n
        if self._optimizer is None:
            raise AssertionError("model not ready, please call `model.prepare()` first")
        self.network.train()
        self.mode = "train"
        outputs, labels, losses = self._run(inputs, labels)
        total = losses[0] if len(losses) == 1 else add_n(losses)
        if self._scaler is not None:
            total = self._scaler.scale(total)
        total.backward()
        if update:
            if self._scaler is not None:
                self._scaler.step(self._optimizer)
                self._scaler.update()
            else:
                self._optimizer.step()
            self._optimizer.clear_grad()
        measured = self._measured(outputs, labels)
        losses = [_array(loss) for loss in losses]
        return (losses, measured) if measured else losses

    @no_grad()
    def eval_batch(self, inputs, labels=None):
        """Losses (and values of metrics) of a batch."""
        self.network.eval()
        self.mode = "eval"
        outputs, labels, losses = self._run(inputs, labels)
        measured = self._measured(outputs, labels)
        losses = [_array(loss) for loss in losses]
        if losses and measured:
            return losses, measured
        return losses or measured

    @no_grad()
    def predict_batch(self, inputs):
        """Outputs of a batch, as arrays."""
        self.network.eval()
        self.mode = "test"
        return [_array(out) for out in self._run(inputs, None)[0]]

    # ---- files ----

    def save(self, path, training=True):
        """training: PATH.pdparams and PATH.pdopt; else the model for inference (paddle.jit.save)."""
        import paddle
        if paddle.distributed.get_rank() != 0:
            return
        if not training:
            if not self._given and any(list(spec.shape) == [-1] for spec in self._inputs):
                raise RuntimeError("Saving inference model needs 'inputs' or running before saving. Please specify 'inputs' in "
                                   "Model initialization or input training data and perform a training for shape derivation.")
            paddle.jit.save(self.network, path, input_spec=self._inputs)
            return
        paddle.save(self.network.state_dict(), path + ".pdparams")
        state = self._optimizer.state_dict() if self._optimizer is not None else None
        if state:
            paddle.save(state, path + ".pdopt")
        if self._scaler is not None and self._scaler.state_dict():
            paddle.save(self._scaler.state_dict(), path + ".pdscaler")

    def load(self, path, skip_mismatch=False, reset_optimizer=False):
        """What save wrote."""
        import paddle
        parts, prefix = _native.saved_parts(path)
        if not prefix or "state" not in parts:
            raise AssertionError("Failed to load parameters: there is no %s.pdparams" % (prefix or path))
        state = paddle.load(prefix + ".pdparams", return_numpy=True)
        for key, param in self.network.state_dict().items():
            wrong = None
            if key not in state:
                wrong = "%s is not found in the providing file." % key
            elif list(state[key].shape) != list(param.shape):
                wrong = "%s receives a shape %s, but the expected shape is %s." % (key, list(state[key].shape),
                                                                                 list(param.shape))
            if wrong is None:
                param.set_value(state[key])
            elif skip_mismatch:
                warnings.warn("Skip loading for %s. %s" % (key, wrong))
                reset_optimizer = True
            else:
                raise ValueError(wrong)
        if self._optimizer is not None and not reset_optimizer and "optimizer" in parts:
            self._optimizer.set_state_dict(paddle.load(prefix + ".pdopt"))

    def parameters(self, *args, **kwargs):
        return self.network.parameters(*args, **kwargs)

    # ---- preparing ----

    def prepare(self, optimizer=None, loss=None, metrics=None, amp_configs=None):
        """What the network is trained by."""
        from paddle.metric import Metric
        from paddle.nn import Layer
        if loss is not None and not isinstance(loss, Layer) and not callable(loss):
            raise TypeError("'loss' must be sub classes of `paddle.nn.Layer` or any callable function.")
        metrics = _list(metrics)
        for metric in metrics:
            if not isinstance(metric, Metric):
                raise AssertionError("%s is not sub class of Metric" % type(metric).__name__)
        self._optimizer, self._loss, self._metrics = optimizer, loss, metrics
        self._prepare_amp(amp_configs)

    def _prepare_amp(self, configs):
        from paddle import amp
        configs = {"level": configs} if isinstance(configs, str) else dict(configs or {"level": "O0"})
        self._amp_level = configs.pop("level", "O1")
        if self._amp_level not in ("O0", "O1", "O2"):
            raise ValueError("The level of amp_configs should be 'O0', 'O1' or 'O2'.")
        self._amp_lists = {key: configs.pop(key) for key in ("custom_white_list", "custom_black_list") if key in configs}
        known = {"init_loss_scaling", "incr_ratio", "decr_ratio", "incr_every_n_steps", "decr_every_n_nan_or_inf",
                 "use_dynamic_loss_scaling"}
        if set(configs) - known:
            raise ValueError("Except for 'level', the keys of 'amp_configs' must be accepted by mixed precision APIs, but %s "
                             "could not be recognized." % (tuple(sorted(set(configs) - known)),))
        self._scaler = None if self._amp_level == "O0" else amp.GradScaler(**configs)

    # ---- loops ----

    def _loader(self, data, batch_size, num_workers, shuffle=False, drop_last=False):
        from paddle.io import DataLoader, Dataset, DistributedBatchSampler, IterableDataset
        if not isinstance(data, Dataset):
            return data
        if isinstance(data, IterableDataset):
            return DataLoader(data, batch_size=batch_size, drop_last=drop_last, num_workers=num_workers)
        sampler = DistributedBatchSampler(data, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last)
        return DataLoader(data, batch_sampler=sampler, num_workers=num_workers)

    @staticmethod
    def _steps(loader):
        try:
            return len(loader)
        except Exception:
            return None

    def _metrics_name(self):
        names = ["loss"] if self._loss is not None else []
        for metric in self._metrics:
            names.extend(_list(metric.name()))
        return names

    def fit(self, train_data=None, eval_data=None, batch_size=1, epochs=1, eval_freq=1, log_freq=10, save_dir=None, save_freq=1,
            verbose=2, drop_last=False, shuffle=True, num_workers=0, callbacks=None, accumulate_grad_batches=1, num_iters=None):
        """Trains for some epochs, with evaluations between them."""
        if train_data is None:
            raise AssertionError("train_data must be given!")
        sizes = _list(batch_size) * (1 if isinstance(batch_size, (list, tuple)) else 2)
        if len(sizes) != 2:
            raise AssertionError("batch_size length error, expected train_batch_size and eval_batch_size.")
        train = self._loader(train_data, sizes[0], num_workers, shuffle, drop_last)
        judged = self._loader(eval_data, sizes[1], num_workers) if eval_data is not None else None
        self._accumulate, self.num_iters, steps = accumulate_grad_batches, num_iters, self._steps(train)
        if num_iters is not None and steps is not None:
            if num_iters <= 0:
                raise AssertionError("num_iters must be greater than 0!")
            epochs, steps = num_iters // steps + 1, min(num_iters, steps)
        told = config_callbacks(callbacks, model=self, epochs=epochs, steps=steps, log_freq=log_freq, save_freq=save_freq,
                                save_dir=save_dir, verbose=verbose, metrics=self._metrics_name())
        if judged is None and any(isinstance(c, EarlyStopping) for c in told):
            warnings.warn("EarlyStopping needs validation data.")
        told.on_begin("train")
        logs, self.stop_training = {}, False
        for epoch in range(epochs):
            told.on_epoch_begin(epoch)
            logs = self._epoch(train, told, "train", steps)
            told.on_epoch_end(epoch, logs)
            if judged is not None and epoch % eval_freq == 0:
                self._judge(judged, told, self._steps(judged))
            if self.stop_training:
                break
        told.on_end("train", logs)

    def _judge(self, loader, told, steps):
        told.on_begin("eval", {"steps": steps, "metrics": self._metrics_name()})
        logs = self._epoch(loader, told, "eval", steps)
        told.on_end("eval", logs)
        return logs

    def evaluate(self, eval_data, batch_size=1, log_freq=10, verbose=2, num_workers=0, callbacks=None, num_iters=None):
        """{name: value} of loss and metrics."""
        loader = self._loader(eval_data, batch_size, num_workers)
        steps = self._steps(loader)
        if num_iters is not None and num_iters <= 0:
            raise AssertionError("num_iters must be greater than 0!")
        self.num_iters = num_iters
        told = config_callbacks(callbacks, model=self, log_freq=log_freq, verbose=verbose, metrics=self._metrics_name())
        logs = self._judge(loader, told, steps if num_iters is None or steps is None else min(steps, num_iters))
        return {name: logs[name] for name in self._metrics_name()}

    def predict(self, test_data, batch_size=1, num_workers=0, stack_outputs=False, verbose=1, callbacks=None):
        """For each output a list of its batches; stack_outputs: as one array."""
        import numpy
        loader = self._loader(test_data, batch_size, num_workers)
        told = config_callbacks(callbacks, model=self, verbose=verbose)
        told.on_begin("predict", {"steps": self._steps(loader)})
        outputs, logs = [], {}
        for step, data in enumerate(loader):
            data = _flat(data)
            told.on_batch_begin("predict", step, logs)
            outputs.append(self.predict_batch(data[:len(self._inputs)]))
            logs.update(step=step, batch_size=data[0].shape[0])
            told.on_batch_end("predict", step, logs)
        outputs = list(zip(*outputs))
        if stack_outputs:
            outputs = [numpy.vstack(out) for out in outputs]
        told.on_end("predict", logs)
        return outputs

    def _epoch(self, loader, told, mode, steps):
        """One pass over the data; values of its last batch, metrics of all."""
        logs = {}
        for step, data in enumerate(loader):
            data = _flat(data)
            told.on_batch_begin(mode, step, logs)
            inputs, labels = data[:len(self._inputs)], data[len(self._inputs):]
            if mode == "train":
                got = self.train_batch(inputs, labels, (step + 1) % self._accumulate == 0 or step + 1 == steps)
            else:
                got = self.eval_batch(inputs, labels)
            values = []
            if self._loss is not None:
                values = [[float(loss.reshape(-1)[0]) for loss in (got[0] if self._metrics else got)]]
            for metric in self._metrics:
                values.extend(_list(metric.accumulate()))
            logs.update(zip(self._metrics_name(), values))
            logs.update(step=step, batch_size=data[0].shape[0])
            told.on_batch_end(mode, step, logs)
            if self.num_iters is not None:
                self.num_iters -= 1
                if self.num_iters <= 0:
                    self.stop_training, self.num_iters = True, None
                    break
        for metric in self._metrics:
            metric.reset()
        return logs

    def summary(self, input_size=None, dtype=None):
        """The table of layers: paddle.summary."""
        from paddle.hapi.summary import summary
        if input_size is None and not self._inputs:
            raise AssertionError("'input_size' or 'self._input' must be set")
        return summary(self.network, self._inputs if input_size is None else input_size, dtypes=dtype)


__getattr__ = _names.guard(__name__)
