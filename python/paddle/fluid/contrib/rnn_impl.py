"""fluid.contrib.layers: recurrent units made of small layers, and nets of them over all steps."""
import copy

from paddle import _names
from paddle.fluid import unique_name
from paddle.fluid.layer_helper import LayerHelper

__all__ = ["BasicGRUUnit", "basic_gru", "BasicLSTMUnit", "basic_lstm"]


def _suffixed(attr, suffix):
    """The attribute under a longer name, where it has one."""
    if attr is None or attr is False or getattr(attr, "name", None) is None:
        return attr
    attr = copy.copy(attr)
    attr.name += suffix
    return attr


class _Unit(object):
    """Parameters are made at the first call, when the size of the input is known."""

    def __init__(self, name_scope, hidden_size, param_attr, bias_attr, gate_activation, activation, dtype):
        from paddle.fluid import layers
        unique_name.generate(name_scope)
        self._helper = LayerHelper("unit", name=unique_name.generate(name_scope + "/" + type(self).__name__))
        self._hidden_size, self._param_attr, self._bias_attr, self._dtype = hidden_size, param_attr, bias_attr, dtype
        self._gate_activation, self._activation = gate_activation or layers.sigmoid, activation or layers.tanh
        self._built = False

    def full_name(self):
        return self._helper.name

    def _parameter(self, attr, shape, is_bias=False):
        return self._helper.create_parameter(attr, shape, self._dtype, is_bias=is_bias)

    def __call__(self, input, *states):
        if not self._built:
            self._built = True
            self._build(int(input.shape[-1]))
        return self.forward(input, *states)


class BasicGRUUnit(_Unit):
    """One step of a GRU: new hidden of (input, hidden)."""

    def __init__(self, name_scope, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None,
                 dtype="float32"):
        super(BasicGRUUnit, self).__init__(name_scope, hidden_size, param_attr, bias_attr, gate_activation, activation,
                                           dtype)

    def _build(self, size):
        rows, hidden = size + self._hidden_size, self._hidden_size
        self._gate_weight = self._parameter(_suffixed(self._param_attr, "_gate"), [rows, 2 * hidden])
        self._candidate_weight = self._parameter(_suffixed(self._param_attr, "_candidate"), [rows, hidden])
        self._gate_bias = self._parameter(_suffixed(self._bias_attr, "_gate"), [2 * hidden], True)
        self._candidate_bias = self._parameter(_suffixed(self._bias_attr, "_candidate"), [hidden], True)

    def forward(self, input, pre_hidden):
        from paddle.fluid import layers
        gates = layers.matmul(layers.concat([input, pre_hidden], 1), self._gate_weight)
        gates = self._gate_activation(layers.elementwise_add(gates, self._gate_bias))
        r, u = layers.split(gates, num_or_sections=2, dim=1)
        r_hidden = r * pre_hidden
        candidate = layers.matmul(layers.concat([input, r_hidden], 1), self._candidate_weight)
        c = self._activation(layers.elementwise_add(candidate, self._candidate_bias))
        return u * pre_hidden + (1 - u) * c


class BasicLSTMUnit(_Unit):
    """One step of an LSTM: (new hidden, new cell) of (input, hidden, cell)."""

    def __init__(self, name_scope, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None,
                 forget_bias=1.0, dtype="float32"):
        from paddle.fluid import layers
        super(BasicLSTMUnit, self).__init__(name_scope, hidden_size, param_attr, bias_attr, gate_activation, activation,
                                            dtype)
        self._forget_bias = layers.fill_constant([1], dtype=dtype, value=forget_bias)
        self._forget_bias.stop_gradient = False

    def _build(self, size):
        hidden = self._hidden_size
        self._weight = self._parameter(self._param_attr, [size + hidden, 4 * hidden])
        self._bias = self._parameter(self._bias_attr, [4 * hidden], True)

    def forward(self, input, pre_hidden, pre_cell):
        from paddle.fluid import layers
        gates = layers.matmul(layers.concat([input, pre_hidden], 1), self._weight)
        i, j, f, o = layers.split(layers.elementwise_add(gates, self._bias), num_or_sections=4, dim=-1)
        kept = layers.elementwise_mul(pre_cell, layers.sigmoid(layers.elementwise_add(f, self._forget_bias)))
        new_cell = layers.elementwise_add(kept, layers.elementwise_mul(layers.sigmoid(i), layers.tanh(j)))
        return layers.tanh(new_cell) * layers.sigmoid(o), new_cell


class _Net(object):
    """Layers of units over all steps, in one or two directions."""

    def __init__(self, make, states, hidden_size, num_layers, bidirectional, dropout, implementation):
        self.make, self.states, self.hidden_size, self.num_layers = make, states, hidden_size, num_layers
        self.directions, self.dropout, self.implementation = 2 if bidirectional else 1, dropout, implementation

    def units(self, name, param_attr, bias_attr, part):
        return [self.make("%s_layers_%d" % (name, i), _suffixed(param_attr, "_%s_w_%d" % (part, i)),
                          _suffixed(bias_attr, "_%s_b_%d" % (part, i))) for i in range(self.num_layers)]

    def run(self, inputs, units, mask, init, direction):
        """(outputs of all steps, for each state its last value of every layer)"""
        from paddle.fluid import layers
        # outside of the block: Fluid slices within it, where the net's first states cannot be read
        init = [[None if value is None else value[i, direction] for value in init] for i in range(self.num_layers)]
        rnn = layers.StaticRNN()
        with rnn.step():
            step = rnn.step_input(inputs)
            step_mask = None if mask is None else rnn.step_input(mask)
            for i, unit in enumerate(units):
                before = [rnn.memory(init=value) if value is not None else
                          rnn.memory(batch_ref=inputs, shape=[-1, self.hidden_size], ref_batch_dim_idx=1)
                          for value in init[i]]
                after = unit(step, *before)
                after = list(after) if isinstance(after, tuple) else [after]
                if step_mask is not None:
                    after = [layers.elementwise_mul(new, step_mask, axis=0) -
                             layers.elementwise_mul(old, (step_mask - 1), axis=0) for new, old in zip(after, before)]
                for old, new in zip(before, after):
                    rnn.update_memory(old, new)
                for new in after:
                    rnn.step_output(new)
                step = after[0]
                if self.dropout:
                    step = layers.dropout(step, dropout_prob=self.dropout, **self.implementation)
            rnn.step_output(step)
        out = rnn()
        ends = [value[-1] for value in out[:-1]]
        last = [layers.reshape(layers.concat(ends[s::self.states], axis=0), shape=[self.num_layers, -1, self.hidden_size])
                for s in range(self.states)]
        return out[-1], last

    def __call__(self, input, init, sequence_length, batch_first, param_attr, bias_attr, name):
        from paddle.fluid import layers
        from paddle.fluid.layers.rnn import _reverse
        forward = self.units(name, param_attr, bias_attr, "fw")
        backward = self.units(name + "_reverse", param_attr, bias_attr, "bw") if self.directions == 2 else None
        if batch_first:
            input = layers.transpose(input, [1, 0, 2])
        mask = None
        if sequence_length is not None:
            mask = layers.sequence_mask(sequence_length, maxlen=layers.shape(input)[0], dtype="float32")
            mask = layers.transpose(mask, [1, 0])
        init = [None if value is None else
                layers.reshape(value, shape=[self.num_layers, self.directions, -1, self.hidden_size]) for value in init]
        out, last = self.run(input, forward, mask, init, 0)
        if backward is not None:
            mask = None if mask is None else _reverse(mask)
            other, other_last = self.run(_reverse(input), backward, mask, init, 1)
            out = layers.concat([out, _reverse(other)], axis=2)
            last = [layers.reshape(layers.concat([a, b], axis=1), shape=[self.num_layers * 2, -1, self.hidden_size])
                    for a, b in zip(last, other_last)]
        if batch_first:
            out = layers.transpose(out, [1, 0, 2])
        return (out,) + tuple(last)


def basic_gru(input, init_hidden, hidden_size, num_layers=1, sequence_length=None, dropout_prob=0.0, bidirectional=False,
              batch_first=True, param_attr=None, bias_attr=None, gate_activation=None, activation=None, dtype="float32",
              name="basic_gru"):
    """Layers of GRU units: (outputs, last hidden)."""

    def make(scope, weight, bias):
        return BasicGRUUnit(scope, hidden_size, weight, bias, gate_activation, activation, dtype)

    net = _Net(make, 1, hidden_size, num_layers, bidirectional, dropout_prob, {})
    return net(input, [init_hidden], sequence_length, batch_first, param_attr, bias_attr, name)


def basic_lstm(input, init_hidden, init_cell, hidden_size, num_layers=1, sequence_length=None, dropout_prob=0.0,
               bidirectional=False, batch_first=True, param_attr=None, bias_attr=None, gate_activation=None,
               activation=None, forget_bias=1.0, dtype="float32", name="basic_lstm"):
    """Layers of LSTM units: (outputs, last hidden, last cell)."""

    def make(scope, weight, bias):
        return BasicLSTMUnit(scope, hidden_size, weight, bias, gate_activation, activation, forget_bias, dtype)

    net = _Net(make, 2, hidden_size, num_layers, bidirectional, dropout_prob,
               {"dropout_implementation": "upscale_in_train"})
    return net(input, [init_hidden, init_cell], sequence_length, batch_first, param_attr, bias_attr, name)


__getattr__ = _names.guard(__name__)
