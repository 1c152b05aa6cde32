"""Recurrent cells and nets of any cell; single steps."""
from functools import partial

from paddle import _names
from paddle.fluid.framework import dtype_name
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable, simple_op
from paddle.fluid.layers import control_flow, nn, tensor
from paddle.fluid.layers.utils import assert_same_structure, flatten, map_structure, pack_sequence_as
from paddle.fluid.param_attr import ParamAttr

__all__ = ["RNNCell", "GRUCell", "LSTMCell", "rnn", "lstm_unit", "lstm", "dynamic_lstmp"]

_FLOATS = ("float32", "float64")


def _map_shapes(fn, shapes):
    """fn of every shape of a structure of shapes."""
    if all(isinstance(d, int) for d in shapes):
        return fn(list(shapes))
    return type(shapes)([_map_shapes(fn, value) for value in shapes])


class RNNCell(object):
    """A cell: call(inputs, states) gives (outputs, new states)."""

    def call(self, inputs, states, **kwargs):
        raise NotImplementedError("RNNCell must implent the call function.")

    def __call__(self, inputs, states, **kwargs):
        return self.call(inputs, states, **kwargs)

    def get_initial_states(self, batch_ref, shape=None, dtype="float32", init_value=0, batch_dim_idx=0):
        """States of one value for a batch of the size of batch_ref's."""
        ref = flatten(batch_ref)[0]
        check_variable(ref, "batch_ref", "RNNCell")
        if dtype is None:
            try:
                dtype = self.state_dtype
            except NotImplementedError:
                dtype = "float32"
        kinds = flatten(dtype)
        kinds = iter(kinds * 1000 if len(kinds) == 1 else kinds)

        def make(dims):
            return tensor.fill_constant_batch_size_like(ref, dims if dims[0] == -1 else [-1] + dims, next(kinds), init_value,
                                                        input_dim_idx=batch_dim_idx)

        return _map_shapes(make, self.state_shape if shape is None else shape)

    @property
    def state_shape(self):
        raise NotImplementedError("Please add implementaion for `state_shape` in the used cell.")

    @property
    def state_dtype(self):
        raise NotImplementedError("Please add implementaion for `state_dtype` in the used cell.")


class GRUCell(RNNCell):
    """A GRU; the state is the output."""

    def __init__(self, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None, dtype="float32",
                 name="GRUCell"):
        from paddle.fluid.contrib.rnn_impl import BasicGRUUnit
        self.hidden_size = hidden_size
        self.gru_unit = BasicGRUUnit(name, hidden_size, param_attr, bias_attr, gate_activation, activation, dtype)

    def call(self, inputs, states):
        check_dtype(inputs, "inputs", "GRUCell", _FLOATS)
        check_dtype(states, "states", "GRUCell", _FLOATS)
        hidden = self.gru_unit(inputs, states)
        return hidden, hidden

    @property
    def state_shape(self):
        return [self.hidden_size]


class LSTMCell(RNNCell):
    """An LSTM; the states are [hidden, cell]."""

    def __init__(self, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None, forget_bias=1.0,
                 dtype="float32", name="LSTMCell"):
        from paddle.fluid.contrib.rnn_impl import BasicLSTMUnit
        self.hidden_size = hidden_size
        self.lstm_unit = BasicLSTMUnit(name, hidden_size, param_attr, bias_attr, gate_activation, activation, forget_bias,
                                       dtype)

    def call(self, inputs, states):
        check_dtype(inputs, "inputs", "LSTMCell", _FLOATS)
        hidden, cell = self.lstm_unit(inputs, states[0], states[1])
        return hidden, [hidden, cell]

    @property
    def state_shape(self):
        return [[self.hidden_size], [self.hidden_size]]


def _keep_ended(step_mask, state, new):
    """The new state where the sequence continues, else the old one."""
    return nn.elementwise_mul(new, step_mask, axis=0) - nn.elementwise_mul(state, (step_mask - 1), axis=0)


def _swap_batch_time(x):
    return nn.transpose(x, [1, 0] + list(range(2, len(x.shape))))


def _reverse(x):
    """The last step first."""
    return simple_op("reverse", {"X": [x]}, {"axis": [0]})


def rnn(cell, inputs, initial_states=None, sequence_length=None, time_major=False, is_reverse=False, **kwargs):
    """(outputs of all steps, states after the last): cell.call(input, states) gives (output, states)."""
    from paddle.fluid.layers import sequence_lod
    for value in flatten(inputs):
        check_dtype(value, "inputs", "rnn", _FLOATS)
    if initial_states is None:
        initial_states = cell.get_initial_states(batch_ref=inputs, batch_dim_idx=1 if time_major else 0)
    for value in flatten(initial_states):
        value.stop_gradient = False
    if not time_major:
        inputs = map_structure(_swap_batch_time, inputs)
    mask = None
    if sequence_length is not None:
        mask = sequence_lod.sequence_mask(sequence_length, maxlen=nn.shape(flatten(inputs)[0])[0],
                                          dtype=dtype_name(flatten(initial_states)[0].dtype))
        mask = nn.transpose(mask, [1, 0])
    if is_reverse:
        inputs = map_structure(_reverse, inputs)
        mask = None if mask is None else _reverse(mask)
    net = control_flow.StaticRNN()
    with net.step():
        inputs = map_structure(net.step_input, inputs)
        states = map_structure(net.memory, initial_states)
        outputs, new_states = cell.call(inputs, map_structure(lambda x: x, states), **kwargs)
        assert_same_structure(states, new_states)
        if mask is not None:
            new_states = map_structure(partial(_keep_ended, net.step_input(mask)), states, new_states)
        map_structure(net.update_memory, states, new_states)
        for value in flatten(outputs) + flatten(new_states):
            net.step_output(value)
    results, count = net(), len(flatten(outputs))
    outs = pack_sequence_as(outputs, results[:count])
    last = pack_sequence_as(new_states, [value[-1] for value in results[count:]])
    if is_reverse:
        outs = map_structure(_reverse, outs)
    if not time_major:
        outs = map_structure(_swap_batch_time, outs)
    return outs, last


def lstm_unit(x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None, bias_attr=None, name=None):
    """One step of an LSTM: (hidden, cell)."""
    helper = LayerHelper("lstm_unit", name=name)
    for value, what in ((x_t, "x_t"), (hidden_t_prev, "hidden_t_prev"), (cell_t_prev, "cell_t_prev")):
        check_dtype(value, what, "lstm_unit", _FLOATS)
        if len(value.shape) != 2:
            raise ValueError("Rank of %s must be 2." % what)
    if x_t.shape[0] != hidden_t_prev.shape[0] or x_t.shape[0] != cell_t_prev.shape[0]:
        raise ValueError("The 1st dimensions of x_t, hidden_t_prev and cell_t_prev must be the same.")
    if hidden_t_prev.shape[1] != cell_t_prev.shape[1]:
        raise ValueError("The 2nd dimensions of hidden_t_prev and cell_t_prev must be the same.")
    joined = tensor.concat(input=[x_t, hidden_t_prev], axis=1)
    gates = nn.fc(input=joined, size=4 * cell_t_prev.shape[1], param_attr=param_attr,
                  bias_attr=ParamAttr() if bias_attr is None else bias_attr)
    c, h = (helper.create_variable_for_type_inference(x_t.dtype) for _ in range(2))
    helper.append_op(type="lstm_unit", inputs={"X": [gates], "C_prev": [cell_t_prev]}, outputs={"C": [c], "H": [h]},
                     attrs={"forget_bias": forget_bias})
    return h, c


def lstm(input, init_h, init_c, max_len, hidden_size, num_layers, dropout_prob=0.0, is_bidirec=False, is_test=False,
         name=None, default_initializer=None, seed=-1):
    """Layers of LSTMs by cuDNN. As in Fluid it is built anywhere and runs on GPUs only."""
    from paddle.fluid import core
    helper = LayerHelper("cudnn_lstm", name=name)
    for value, what in ((input, "input"), (init_h, "init_h"), (init_c, "init_c")):
        check_dtype(value, what, "lstm", _FLOATS)
    size, directions, count = input.shape[-1], 2 if is_bidirec else 1, 0
    for i in range(num_layers):
        below = size if i == 0 else directions * hidden_size
        count += directions * (4 * hidden_size * (below + hidden_size) + 8 * hidden_size)
    weight = helper.create_parameter(None, [count], input.dtype, default_initializer=default_initializer)
    out, last_h, last_c = (helper.create_variable_for_type_inference(input.dtype) for _ in range(3))
    cache = helper.create_variable(persistable=True, type=core.VarType.RAW, stop_gradient=True)
    helper.append_op(type="cudnn_lstm", inputs={"Input": [input], "InitH": [init_h], "InitC": [init_c], "W": [weight],
                                                "Cache": [cache]},
                     outputs={"Out": [out], "last_h": [last_h], "last_c": [last_c]},
                     attrs={"max_len": max_len, "is_bidirec": is_bidirec, "input_size": size, "hidden_size": hidden_size,
                            "num_layers": num_layers, "is_test": is_test, "dropout_prob": dropout_prob, "seed": seed})
    return out, last_h, last_c


def dynamic_lstmp(input, size, proj_size, param_attr=None, bias_attr=None, use_peepholes=True, is_reverse=False,
                  gate_activation="sigmoid", cell_activation="tanh", candidate_activation="tanh", proj_activation="tanh",
                  dtype="float32", name=None, h_0=None, c_0=None, cell_clip=None, proj_clip=None):
    """An LSTM over each sequence whose output is projected to fewer columns: (projection, cell)."""
    check_dtype(input, "input", "dynamic_lstmp", _FLOATS)
    if bias_attr is False:
        raise AssertionError("bias_attr should not be False in dynamic_lstmp.")
    helper = LayerHelper("lstmp", name=name, param_attr=param_attr, bias_attr=bias_attr)
    size = size // 4
    inputs = {"Input": [input],
              "Weight": [helper.create_parameter(helper.param_attr, [proj_size, 4 * size], dtype)],
              "ProjWeight": [helper.create_parameter(helper.param_attr, [size, proj_size], dtype)],
              "Bias": [helper.create_parameter(helper.bias_attr, [1, (7 if use_peepholes else 4) * size], dtype, True)]}
    projection, cell, _, hidden, gate, before = (helper.create_variable_for_type_inference(dtype) for _ in range(6))
    for slot, value in (("H0", h_0), ("C0", c_0)):
        if value is not None:
            inputs[slot] = [value]
    for clip, what in ((cell_clip, "cell_clip"), (proj_clip, "proj_clip")):
        if clip and clip < 0:
            raise AssertionError(what + " should not be negative.")
    helper.append_op(type="lstmp", inputs=inputs,
                     outputs={"Projection": [projection], "Cell": [cell], "BatchHidden": [hidden], "BatchGate": [gate],
                              "BatchCellPreAct": [before]},
                     attrs={"use_peepholes": use_peepholes, "cell_clip": cell_clip or 0.0, "proj_clip": proj_clip or 0.0,
                            "is_reverse": is_reverse, "gate_activation": gate_activation,
                            "cell_activation": cell_activation, "candidate_activation": candidate_activation,
                            "proj_activation": proj_activation})
    return projection, cell


__getattr__ = _names.guard(__name__)
