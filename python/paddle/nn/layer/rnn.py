"""Recurrent layers: cells, RNN and BiRNN of any cell, and SimpleRNN, LSTM, GRU, which are one op."""
import math
from functools import partial

import paddle
from paddle import _names
from paddle._op import Call
from paddle.fluid.layers.utils import assert_same_structure, flatten, map_structure
from paddle.nn import functional as F
from paddle.nn import initializer as I
from paddle.nn.layer.container import LayerList
from paddle.nn.layer.layers import Layer


def _batch_size(x, axis):
    """The size of a dimension: a number, or what the program finds when it runs."""
    size = x.shape[axis]
    return size if size > 0 else paddle.shape(x)[axis]


def _swap_batch_time(x):
    return paddle.transpose(x, [1, 0] + list(range(2, len(x.shape))))


def _is_shape(value):
    return isinstance(value, (list, tuple)) and all(isinstance(d, int) for d in value)


def _map_shapes(fn, shapes):
    """fn of every shape of a structure of shapes."""
    if _is_shape(shapes):
        return fn(list(shapes))
    if isinstance(shapes, dict):
        return {key: _map_shapes(fn, value) for key, value in shapes.items()}
    return type(shapes)([_map_shapes(fn, value) for value in shapes])


# ---- steps -------------------------------------------------------------------------------------


def _keep_ended(mask, new, old):
    """The new state where the sequence continues, else the old one."""
    for _ in range(len(new.shape) - 1):
        mask = paddle.unsqueeze(mask, -1)
    return new * mask + old * (1.0 - mask)


def _steps_eager(step, inputs, mask, states):
    """step(input, state) for every step, one after the other."""
    outputs = []
    for t in range(flatten(inputs)[0].shape[0]):
        out, states = step(map_structure(lambda x: x[t], inputs), states, None if mask is None else mask[t])
        outputs.append(out)
    stacked = map_structure(lambda *values: paddle.stack(list(values), axis=0), *outputs)
    return stacked, states


def _steps_static(step, inputs, mask, states):
    """The same in a block that the program runs once for each step."""
    from paddle.fluid.layers.control_flow import StaticRNN
    net = StaticRNN()
    with net.step():
        now = map_structure(net.step_input, inputs)
        now_mask = None if mask is None else net.step_input(mask)
        before = map_structure(lambda x: net.memory(init=x), states)
        out, after = step(now, before, now_mask)
        map_structure(net.update_memory, before, after)
        for value in flatten(out) + flatten(after):
            net.step_output(value)
    results = net()
    results = results if isinstance(results, list) else [results]
    count = len(flatten(out))
    outputs, last = iter(results[:count]), iter([value[-1] for value in results[count:]])
    return map_structure(lambda _: next(outputs), out), map_structure(lambda _: next(last), after)


def rnn(cell, inputs, initial_states=None, sequence_length=None, time_major=False, is_reverse=False, **kwargs):
    """(outputs of all steps, state after the last): cell(input, state) gives (output, state)."""
    if initial_states is None:
        initial_states = cell.get_initial_states(batch_ref=inputs, batch_dim_idx=1 if time_major else 0)
    if not time_major:
        inputs = map_structure(_swap_batch_time, inputs)
    first, mask = flatten(inputs)[0], None
    if sequence_length is not None:
        mask = paddle.transpose(F.sequence_mask(sequence_length, maxlen=_batch_size(first, 0),
                                                dtype=flatten(initial_states)[0].dtype), [1, 0])
    if is_reverse:
        inputs = map_structure(lambda x: paddle.flip(x, [0]), inputs)
        mask = None if mask is None else paddle.flip(mask, [0])

    def step(x, states, now):
        out, after = cell(x, states, **kwargs)
        if now is not None:
            after = map_structure(partial(_keep_ended, now), after, states)
        assert_same_structure(after, states, check_types=False)
        return out, after

    steps = _steps_eager if paddle.in_dynamic_mode() else _steps_static
    outputs, states = steps(step, inputs, mask, initial_states)
    if is_reverse:
        outputs = map_structure(lambda x: paddle.flip(x, [0]), outputs)
    if not time_major:
        outputs = map_structure(_swap_batch_time, outputs)
    return outputs, states


def birnn(cell_fw, cell_bw, inputs, initial_states=None, sequence_length=None, time_major=False, **kwargs):
    """Both directions side by side: (outputs, (state of the first, state of the second))."""
    forward, backward = initial_states if initial_states is not None else (None, None)
    out_fw, state_fw = rnn(cell_fw, inputs, forward, sequence_length, time_major, **kwargs)
    out_bw, state_bw = rnn(cell_bw, inputs, backward, sequence_length, time_major, is_reverse=True, **kwargs)
    return map_structure(lambda x, y: paddle.concat([x, y], -1), out_fw, out_bw), (state_fw, state_bw)


def split_states(states, bidirectional=False, state_components=1):
    """[layers * directions, batch, size] as a list with a state for each layer."""
    if state_components == 1:
        parts = paddle.unstack(states[0] if isinstance(states, (list, tuple)) else states)
    else:
        parts = list(zip(*[paddle.unstack(item) for item in states]))
    return list(zip(parts[::2], parts[1::2])) if bidirectional else parts


def concat_states(states, bidirectional=False, state_components=1):
    """The way back."""
    parts = flatten(states)
    stacked = tuple(paddle.stack(parts[i::state_components]) for i in range(state_components))
    return stacked[0] if state_components == 1 else stacked


# ---- cells -------------------------------------------------------------------------------------


class RNNCellBase(Layer):
    """A cell: forward(inputs, states) gives (outputs, new states)."""

    def get_initial_states(self, batch_ref, shape=None, dtype=None, init_value=0.0, batch_dim_idx=0):
        """States of one value for a batch of the size of batch_ref's."""
        batch = _batch_size(flatten(batch_ref)[0], batch_dim_idx)
        if dtype is None:
            try:
                dtype = self.state_dtype
            except NotImplementedError:
                dtype = paddle.get_default_dtype()
        dtypes = flatten(dtype)
        kinds = iter(dtypes * 1000 if len(dtypes) == 1 else dtypes)

        def make(dims):
            dims = dims[1:] if dims[0] == -1 else dims
            return paddle.full([batch] + dims, init_value, next(kinds))

        return _map_shapes(make, self.state_shape if shape is None else shape)

    @property
    def state_shape(self):
        """The shape of the states, without the batch."""
        raise NotImplementedError("Please add implementaion for `state_shape` in the used cell.")

    @property
    def state_dtype(self):
        raise NotImplementedError("Please add implementaion for `state_dtype` in the used cell.")

    def _make(self, gates, input_size, hidden_size, attrs):
        """The four parameters; attr False: ones (weights) or zeros (biases) that are not trained."""
        if hidden_size <= 0:
            raise ValueError("hidden_size of {} must be greater than 0, but now equals to {}".format(
                type(self).__name__, hidden_size))
        std = 1.0 / math.sqrt(hidden_size)
        shapes = ([gates * hidden_size, input_size], [gates * hidden_size, hidden_size], [gates * hidden_size],
                  [gates * hidden_size])
        for name, shape, attr in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), shapes, attrs):
            is_bias = name.startswith("bias")
            if attr is not False:
                parameter = self.create_parameter(shape, attr, is_bias=is_bias, default_initializer=I.Uniform(-std, std))
            else:
                parameter = self.create_parameter(shape, None, is_bias=is_bias,
                                                  default_initializer=I.Constant(0.0 if is_bias else 1.0))
                parameter.stop_gradient = True
            setattr(self, name, parameter)
        self.input_size, self.hidden_size = input_size, hidden_size

    def _terms(self, inputs, hidden):
        """(x W_ih' + b_ih, h W_hh' + b_hh)"""
        x = paddle.matmul(inputs, self.weight_ih, transpose_y=True)
        h = paddle.matmul(hidden, self.weight_hh, transpose_y=True)
        return x + self.bias_ih, h + self.bias_hh

    def extra_repr(self):
        return "{}, {}".format(self.input_size, self.hidden_size)


class SimpleRNNCell(RNNCellBase):
    """h = act(x W_ih' + b_ih + h W_hh' + b_hh)"""

    def __init__(self, input_size, hidden_size, activation="tanh", weight_ih_attr=None, weight_hh_attr=None,
                 bias_ih_attr=None, bias_hh_attr=None, name=None):
        super(SimpleRNNCell, self).__init__()
        self._make(1, input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr))
        if activation not in ("tanh", "relu"):
            raise ValueError("activation for SimpleRNNCell should be tanh or relu, but get {}".format(activation))
        self.activation = activation
        self._activation_fn = paddle.tanh if activation == "tanh" else F.relu

    def forward(self, inputs, states=None):
        if states is None:
            states = self.get_initial_states(inputs, self.state_shape)
        x, h = self._terms(inputs, states)
        out = self._activation_fn(x + h)
        return out, out

    @property
    def state_shape(self):
        return (self.hidden_size,)

    def extra_repr(self):
        tail = "" if self.activation == "tanh" else ", activation={}".format(self.activation)
        return super(SimpleRNNCell, self).extra_repr() + tail


class LSTMCell(RNNCellBase):
    """Long short-term memory; the gates in the order input, forget, candidate, output."""

    def __init__(self, input_size, hidden_size, weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None,
                 bias_hh_attr=None, name=None):
        super(LSTMCell, self).__init__()
        self._make(4, input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr))

    def forward(self, inputs, states=None):
        if states is None:
            states = self.get_initial_states(inputs, self.state_shape)
        hidden, cell = states
        gates = paddle.matmul(inputs, self.weight_ih, transpose_y=True) + self.bias_ih
        gates = gates + paddle.matmul(hidden, self.weight_hh, transpose_y=True) + self.bias_hh
        i, f, g, o = paddle.split(gates, num_or_sections=4, axis=-1)
        cell = F.sigmoid(f) * cell + F.sigmoid(i) * paddle.tanh(g)
        hidden = F.sigmoid(o) * paddle.tanh(cell)
        return hidden, (hidden, cell)

    @property
    def state_shape(self):
        return ((self.hidden_size,), (self.hidden_size,))


class GRUCell(RNNCellBase):
    """Gated recurrent unit; the gates in the order reset, update, candidate."""

    def __init__(self, input_size, hidden_size, weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None,
                 bias_hh_attr=None, name=None):
        super(GRUCell, self).__init__()
        self._make(3, input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr))

    def forward(self, inputs, states=None):
        if states is None:
            states = self.get_initial_states(inputs, self.state_shape)
        x, h = self._terms(inputs, states)
        x_r, x_z, x_c = paddle.split(x, num_or_sections=3, axis=1)
        h_r, h_z, h_c = paddle.split(h, num_or_sections=3, axis=1)
        reset, update = F.sigmoid(x_r + h_r), F.sigmoid(x_z + h_z)
        candidate = paddle.tanh(x_c + reset * h_c)  # the reset gate is applied after the product
        out = (states - candidate) * update + candidate
        return out, out

    @property
    def state_shape(self):
        return (self.hidden_size,)


# ---- layers of any cell ------------------------------------------------------------------------


class RNN(Layer):
    """A cell over all steps: (outputs, state after the last)."""

    def __init__(self, cell, is_reverse=False, time_major=False):
        super(RNN, self).__init__()
        self.cell = cell
        if not hasattr(cell, "call"):
            cell.call = cell.forward
        self.is_reverse, self.time_major = is_reverse, time_major

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs):
        return rnn(self.cell, inputs, initial_states, sequence_length, self.time_major, self.is_reverse, **kwargs)


class BiRNN(Layer):
    """Two cells over all steps, one from each end."""

    def __init__(self, cell_fw, cell_bw, time_major=False):
        super(BiRNN, self).__init__()
        if cell_fw.input_size != cell_bw.input_size:
            raise ValueError("input size of forward cell({}) does not equals that of backward cell({})".format(
                cell_fw.input_size, cell_bw.input_size))
        self.cell_fw, self.cell_bw = cell_fw, cell_bw
        for cell in (cell_fw, cell_bw):
            if not hasattr(cell, "call"):
                cell.call = cell.forward
        self.time_major = time_major

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs):
        if isinstance(initial_states, (list, tuple)) and len(initial_states) != 2:
            raise AssertionError("length of initial_states should be 2 when it is a list/tuple")
        return birnn(self.cell_fw, self.cell_bw, inputs, initial_states, sequence_length, self.time_major, **kwargs)


# ---- layers that are one op --------------------------------------------------------------------


class RNNBase(LayerList):
    """Layers of GRU, LSTM or simple cells, in one or two directions: the op rnn.

    The parameters belong to the cells (0.cell.weight_ih) and to the layer itself (weight_ih_l0)."""

    def __init__(self, mode, input_size, hidden_size, num_layers=1, direction="forward", time_major=False, dropout=0.0,
                 weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None, bias_hh_attr=None):
        super(RNNBase, self).__init__()
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise ValueError("direction should be forward or bidirect (or bidirectional), received direction = {}".format(
                direction))
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.dropout, self.time_major, self.num_layers = dropout, time_major, num_layers
        self.num_directions = 1 if direction == "forward" else 2
        self.state_components = 2 if mode == "LSTM" else 1
        kwargs = {"weight_ih_attr": weight_ih_attr, "weight_hh_attr": weight_hh_attr, "bias_ih_attr": bias_ih_attr,
                  "bias_hh_attr": bias_hh_attr}
        kind = {"LSTM": LSTMCell, "GRU": GRUCell}.get(mode, SimpleRNNCell)
        if kind is SimpleRNNCell:
            kwargs["activation"] = self.activation
        for i in range(num_layers):
            size = input_size if i == 0 else self.num_directions * hidden_size
            cells = [kind(size, hidden_size, **kwargs) for _ in range(self.num_directions)]
            self.append(RNN(cells[0], False, time_major) if len(cells) == 1 else BiRNN(cells[0], cells[1], time_major))
        self._expose()

    def _expose(self):
        """The cells' parameters under names of this layer."""
        for i, layer in enumerate(self):
            cells = [layer.cell] if self.num_directions == 1 else [layer.cell_fw, layer.cell_bw]
            for cell, suffix in zip(cells, ("", "_reverse")):
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    setattr(self, "{}_l{}{}".format(name, i, suffix), getattr(cell, name))

    def flatten_parameters(self):
        """For other devices."""

    def _weights(self):
        """All weights, then all biases, as the op takes them."""
        places = [(i, suffix) for i in range(self.num_layers) for suffix in ("", "_reverse")[:self.num_directions]]
        return [getattr(self, "{}_{}_l{}{}".format(kind, side, i, suffix))
                for kind in ("weight", "bias") for i, suffix in places for side in ("ih", "hh")]

    def forward(self, inputs, initial_states=None, sequence_length=None):
        if initial_states is None:
            shape = [self.num_layers * self.num_directions, _batch_size(inputs, 1 if self.time_major else 0),
                     self.hidden_size]
            states = [paddle.full(shape, 0, inputs.dtype) for _ in range(self.state_components)]
        else:
            states = list(initial_states) if isinstance(initial_states, (list, tuple)) else [initial_states]
        if not self.time_major:
            inputs = paddle.transpose(inputs, [1, 0, 2])
        call = Call("rnn", self.full_name())
        out, after = call.var(), [call.var() for _ in range(self.state_components)]
        ins = {"Input": inputs, "WeightList": self._weights(), "PreState": states}
        if sequence_length is not None:
            ins["SequenceLength"] = sequence_length
        call.op("rnn", ins, {"Out": out, "State": after, "Reserve": call.var(stop_gradient=True),
                             "DropoutState": call.var(stop_gradient=True)},
                {"dropout_prob": self.dropout, "is_bidirec": self.num_directions == 2, "input_size": self.input_size,
                 "hidden_size": self.hidden_size, "num_layers": self.num_layers, "mode": self.mode,
                 "is_test": not self.training})
        if not self.time_major:
            out = paddle.transpose(out, [1, 0, 2])
        return out, tuple(after) if len(after) > 1 else after[0]

    def extra_repr(self):
        text = "{}, {}".format(self.input_size, self.hidden_size)
        if self.num_layers != 1:
            text += ", num_layers={}".format(self.num_layers)
        if self.time_major is not False:
            text += ", time_major={}".format(self.time_major)
        if self.dropout != 0:
            text += ", dropout={}".format(self.dropout)
        return text


class SimpleRNN(RNNBase):
    """Layers of simple cells: (outputs, state)."""

    def __init__(self, input_size, hidden_size, num_layers=1, direction="forward", time_major=False, dropout=0.0,
                 activation="tanh", weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None, bias_hh_attr=None,
                 name=None):
        if activation not in ("tanh", "relu"):
            raise ValueError("Unknown activation '{}'".format(activation))
        self.__dict__["activation"] = activation
        super(SimpleRNN, self).__init__("RNN_" + activation.upper(), input_size, hidden_size, num_layers, direction,
                                        time_major, dropout, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)


class LSTM(RNNBase):
    """Layers of LSTM cells: (outputs, (hidden, cell))."""

    def __init__(self, input_size, hidden_size, num_layers=1, direction="forward", time_major=False, dropout=0.0,
                 weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None, bias_hh_attr=None, name=None):
        super(LSTM, self).__init__("LSTM", input_size, hidden_size, num_layers, direction, time_major, dropout,
                                   weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)


class GRU(RNNBase):
    """Layers of GRU cells: (outputs, state)."""

    def __init__(self, input_size, hidden_size, num_layers=1, direction="forward", time_major=False, dropout=0.0,
                 weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None, bias_hh_attr=None, name=None):
        super(GRU, self).__init__("GRU", input_size, hidden_size, num_layers, direction, time_major, dropout,
                                  weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)


__getattr__ = _names.guard(__name__)
