"""fluid.contrib.layers."""
from skiff import _native

from paddle import _names
from paddle.fluid._build import net
from paddle.fluid.contrib import rnn_impl
from paddle.fluid.contrib.rnn_impl import BasicGRUUnit, BasicLSTMUnit, basic_gru, basic_lstm  # noqa: F401
from paddle.fluid.framework import dtype_name
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable, simple_op
from paddle.fluid.param_attr import ParamAttr

__all__ = ["fused_embedding_seq_pool", "tdm_child", "tdm_sampler", "shuffle_batch", "partial_concat", "partial_sum",
           "match_matrix_tensor", "sequence_topk_avg_pooling", "var_conv_2d", "rank_attention", "ctr_metric_bundle"] + rnn_impl.__all__


def fused_embedding_seq_pool(input, size, is_sparse=False, padding_idx=None, combiner="sum", param_attr=None,
                             dtype="float32"):
    """embedding and sequence_pool(sum) in one operator."""
    from paddle.fluid.layers.nn import _table_size
    check_dtype(input, "input", "fused_embedding_seq_pool", ("int64",))
    if combiner != "sum":
        raise NotImplementedError("fused_embedding_seq_pool: only combiner 'sum', but got %r" % combiner)
    rows, width = _table_size(size, "fused_embedding_seq_pool")
    return _native.layers.fused_embedding_seq_pool(
        net, input, rows, width, is_sparse=bool(is_sparse), padding_idx=padding_idx,
        param_attr=ParamAttr._to_attr(param_attr), dtype=dtype_name(dtype))


def _ops(helper, kind, inputs, dtypes, attrs):
    """Appends an operator with one new variable for each (slot, dtype); gives them."""
    made = [helper.create_variable_for_type_inference(dtype=dtype) for _, dtype in dtypes]
    helper.append_op(type=kind, inputs=inputs, outputs={slot: [var] for (slot, _), var in zip(dtypes, made)}, attrs=attrs)
    return made


def _tree_table(helper, attr, shape, dtype):
    """A table of node ids: filled with zeros, until its initializer or a file fills it."""
    from paddle.fluid.initializer import Constant
    return helper.create_parameter(attr, shape, dtype, default_initializer=Constant(0))


def _index_type(dtype, arg, layer):
    name = dtype_name(dtype)
    if name not in ("int32", "int64"):
        raise TypeError("The data type of '%s' in %s must be int32, int64, but received %s." % (arg, layer, name))
    return name


def tdm_child(x, node_nums, child_nums, param_attr=None, dtype="int32"):
    """(children of the nodes x, 1 where a child is a leaf with an item)"""
    from paddle.fluid import core
    check_dtype(x, "x", "tdm_child", ("int32", "int64"))
    name = _index_type(dtype, "dtype", "fluid.contrib.layers.tdm_child")
    helper = LayerHelper("tdm_child")
    tree = _tree_table(helper, param_attr, [node_nums, 3 + child_nums], name)
    tree.stop_gradient = True
    child, leaf = _ops(helper, "tdm_child", {"X": [x], "TreeInfo": [tree]}, (("Child", name), ("LeafMask", name)),
                       {"child_nums": child_nums, "dtype": core.BY_DTYPE[name]})
    child.stop_gradient = leaf.stop_gradient = True
    return child, leaf


def tree_offsets(negatives, layers, leaves):
    """Where each layer begins among all nodes; ValueError when the lists do not fit."""
    if len(negatives) != len(layers):
        raise ValueError("The shape of negative samples list must match the shape of layers. But received len of "
                         "neg_samples_num_list: %d, and len of layer_node_num_list: %d, please check your input." %
                         (len(negatives), len(layers)))
    if leaves is None:
        raise ValueError("leaf_node_num should not be None here.")
    offsets = [0]
    for i, (negative, nodes) in enumerate(zip(negatives, layers)):
        if negative >= nodes:
            raise ValueError("The number of negative samples must be less than the number of nodes in the layer %d, But "
                             "received negative nums %d, and num of node at layer %d is %d, please check your input." %
                             (i, negative, i, nodes))
        offsets.append(offsets[-1] + nodes)
    if leaves >= offsets[-1]:
        raise ValueError("leaf_node_num must be less than total node nums.")
    return offsets


def tdm_sampler(x, neg_samples_num_list, layer_node_num_list, leaf_node_num, tree_travel_attr=None, tree_layer_attr=None,
                output_positive=True, output_list=True, seed=0, tree_dtype="int32", dtype="int32"):
    """The nodes on the paths to the leaves x, and others of the same layers: (nodes, labels, masks), each a list with one
    variable a layer, or one variable (output_list=False)."""
    from paddle.fluid import core, layers
    check_dtype(x, "x", "tdm_sampler", ("int32", "int64"))
    tree_name = _index_type(tree_dtype, "tree_dtype", "fluid.contrib.layers.tdm_sampler")
    name = _index_type(dtype, "dtype", "fluid.contrib.layers.tdm_sampler")
    offsets = tree_offsets(neg_samples_num_list, layer_node_num_list, leaf_node_num)
    helper = LayerHelper("tdm_sampler")
    travel = _tree_table(helper, tree_travel_attr, [leaf_node_num, len(layer_node_num_list)], tree_name)
    nodes = _tree_table(helper, tree_layer_attr, [offsets[-1], 1], tree_name)
    made = _ops(helper, "tdm_sampler", {"X": [x], "Travel": [travel], "Layer": [nodes]},
                (("Out", name), ("Labels", name), ("Mask", name)),
                {"neg_samples_num_list": list(neg_samples_num_list), "output_positive": output_positive,
                 "layer_offset_lod": offsets, "seed": seed, "dtype": core.BY_DTYPE[name]})
    for var in made:
        var.stop_gradient = True
    if not output_list:
        return tuple(made)
    lists, begin = ([], [], []), 0
    for count in neg_samples_num_list:
        end = begin + count + bool(output_positive)
        cut = [layers.slice(var, axes=[1], starts=[begin], ends=[end]) for var in made]
        for out, part in zip(lists, cut):
            part = layers.reshape(part, [-1, end - begin, 1])
            part.stop_gradient = True
            out.append(part)
        begin = end
    return lists


def shuffle_batch(x, seed=None):
    """The rows in another order. seed: a number, or a variable that holds one."""
    import random
    from paddle.fluid import unique_name
    check_variable(x, "x", "shuffle_batch")
    helper = LayerHelper("shuffle_batch")
    out = helper.create_variable_for_type_inference(dtype=x.dtype)
    order = helper.create_variable_for_type_inference(dtype="int64")
    if seed is None:
        seed = helper.main_program.random_seed or random.randint(-65536, 65534)
    attrs = {}
    if isinstance(seed, int):
        attrs["startup_seed"] = seed
        seed = helper.create_variable(name=unique_name.generate("shuffle_batch_seed"), dtype="int64", persistable=True)
    helper.append_op(type="shuffle_batch", inputs={"X": [x], "Seed": [seed]},
                     outputs={"Out": [out], "ShuffleIdx": [order], "SeedOut": [seed]}, attrs=attrs)
    return out


def _partial(kind, input, start_index, length):
    inputs = list(input) if isinstance(input, (list, tuple)) else [input]
    for i, x in enumerate(inputs):
        check_dtype(x, "input[%d]" % i, kind, ("float16", "float32", "float64", "int32", "int64"))
    return simple_op(kind, {"X": inputs}, {"start_index": start_index, "length": length})


def partial_concat(input, start_index=0, length=-1):
    """Columns start_index .. start_index + length of every input, side by side."""
    return _partial("partial_concat", input, start_index, length)


def partial_sum(input, start_index=0, length=-1):
    """Columns start_index .. start_index + length of every input, added."""
    return _partial("partial_sum", input, start_index, length)


def match_matrix_tensor(x, y, channel_num, act=None, param_attr=None, dtype="float32", name=None):
    """(x W_c y^T of every pair of sequences and channel, x W)"""
    check_variable(x, "x", "match_matrix_tensor")
    check_variable(y, "y", "match_matrix_tensor")
    if len(x.shape) != 2 or len(y.shape) != 2 or x.shape[1] != y.shape[1]:
        raise ValueError("match_matrix_tensor: x %s and y %s must be matrices of one width" % (x.shape, y.shape))
    helper = LayerHelper("match_matrix_tensor", act=act, name=name)
    weight = helper.create_parameter(param_attr, [x.shape[1], channel_num, y.shape[1]], dtype)
    out, product = _ops(helper, "match_matrix_tensor", {"X": [x], "Y": [y], "W": [weight]}, (("Out", dtype), ("Tmp", dtype)),
                        {"dim_t": channel_num})
    product.stop_gradient = True
    return helper.append_activation(out), product


def sequence_topk_avg_pooling(input, row, col, topks, channel_num):
    """Of each row of each picture: the means of its topks[i] largest numbers."""
    check_dtype(input, "input", "sequence_topk_avg_pooling", ("float32",))
    helper = LayerHelper("sequence_topk_avg_pooling")
    out, place = _ops(helper, "sequence_topk_avg_pooling", {"X": [input], "ROW": [row], "COLUMN": [col]},
                      (("Out", input.dtype), ("pos", input.dtype)), {"topks": list(topks), "channel_num": channel_num})
    place.stop_gradient = True
    return out


def var_conv_2d(input, row, col, input_channel, output_channel, filter_size, stride=1, param_attr=None, act=None,
                dtype="float32", name=None):
    """Convolution of pictures that have a size of their own each."""
    check_dtype(input, "input", "var_conv_2d", ("float32",))
    size, step = ([int(v)] * 2 if hasattr(v, "__index__") else [int(d) for d in v] for v in (filter_size, stride))
    helper = LayerHelper("var_conv_2d", act=act, name=name)
    weight = helper.create_parameter(param_attr, [int(output_channel), int(input_channel) * size[0] * size[1]], dtype)
    out, columns = _ops(helper, "var_conv_2d", {"X": [input], "ROW": [row], "COLUMN": [col], "W": [weight]},
                        (("Out", dtype), ("Col", dtype)),
                        {"InputChannel": input_channel, "OutputChannel": output_channel, "StrideH": step[0],
                         "StrideW": step[1], "KernelH": size[0], "KernelW": size[1]})
    columns.stop_gradient = True
    return helper.append_activation(out)


def rank_attention(input, rank_offset, rank_param_shape, rank_param_attr, max_rank=3):
    """Row i: the sum over k of input[row k] @ (weight of the pair of ranks: that of i, that of k). rank_offset [rows, 2 *
    max_rank + 1] int: the rank of i (from 1; 0: none), then rank and row of each k. Made of gather and matmul."""
    from paddle.fluid import layers
    check_dtype(input, "input", "rank_attention", ("float32", "float64"))
    if input.shape[1] * max_rank * max_rank != rank_param_shape[0]:
        raise ValueError("rank_attention: rank_param_shape %s must begin with %d x max_rank x max_rank" %
                         (list(rank_param_shape), input.shape[1]))
    helper = LayerHelper("rank_attention")
    weight = helper.create_parameter(rank_param_attr, rank_param_shape, dtype_name(input.dtype))
    width, size, last = input.shape[1], rank_param_shape[1], 2 * max_rank + 1
    own = layers.slice(rank_offset, axes=[1], starts=[0], ends=[1])
    ranks = layers.strided_slice(rank_offset, axes=[1], starts=[1], ends=[last], strides=[2])
    rows = layers.strided_slice(rank_offset, axes=[1], starts=[2], ends=[last], strides=[2])
    zero = layers.fill_constant([1], rank_offset.dtype, 0)
    there = layers.logical_and(layers.greater_than(own + ranks * 0, zero), layers.greater_than(ranks, zero))
    mask = layers.cast(there, rank_offset.dtype)
    pair = (own * max_rank - max_rank + ranks - 1) * mask
    seen = layers.gather(input, layers.reshape(rows * mask, [-1]), overwrite=False)
    seen = layers.reshape(seen, [-1, max_rank, width]) * layers.reshape(layers.cast(there, input.dtype), [-1, max_rank, 1])
    blocks = layers.gather(layers.reshape(weight, [max_rank * max_rank, width * size]), layers.reshape(pair, [-1]),
                           overwrite=False)
    out = layers.matmul(layers.reshape(seen, [-1, 1, max_rank * width]),
                        layers.reshape(blocks, [-1, max_rank * width, size]))
    return layers.reshape(out, [-1, size])


def ctr_metric_bundle(input, label):
    """Sums over all that was seen: (squared error, absolute error, predictions, q, positives, rows)."""
    from paddle.fluid.initializer import Constant
    check_variable(input, "input", "ctr_metric_bundle")
    check_variable(label, "label", "ctr_metric_bundle")
    if tuple(input.shape) != tuple(label.shape):
        raise ValueError("ctr_metric_bundle: input %s and label %s must have one shape" % (input.shape, label.shape))
    helper = LayerHelper("ctr_metric_bundle")

    def variable(persistable, shape=(1,)):
        from paddle.fluid import unique_name
        return helper.create_global_variable(persistable, name=unique_name.generate("_generated_var"), dtype="float32",
                                             shape=list(shape))

    def op(kind, x, out, y=None, **attrs):
        helper.append_op(type=kind, inputs={"X": [x]} if y is None else {"X": [x], "Y": [y]}, outputs={"Out": [out]},
                         attrs=attrs)

    words = ("abserr", "sqrerr", "prob", "q", "pos", "rows")
    total = {word: variable(True) for word in words}
    apart, chance, ones = (variable(False, (-1,)) for _ in range(3))
    batch = {word: variable(False) for word in ("prob", "abserr", "sqrerr", "q", "pos", "rows")}
    for word in words:
        for var in (total[word], batch[word]):
            helper.set_variable_initializer(var, Constant(0.0, force_cpu=True))
    op("elementwise_sub", input, apart, label)
    op("sigmoid", input, chance)
    helper.append_op(type="fill_constant_batch_size_like", inputs={"Input": [label]}, outputs={"Out": [ones]},
                     attrs={"shape": [-1, 1], "dtype": int(ones.dtype), "value": 1.0})
    for word, kind, x in (("sqrerr", "squared_l2_norm", apart), ("abserr", "l1_norm", apart), ("prob", "reduce_sum", input),
                          ("q", "reduce_sum", chance), ("pos", "reduce_sum", label), ("rows", "reduce_sum", ones)):
        op(kind, x, batch[word])
        op("elementwise_add", batch[word], total[word], total[word])
    return tuple(total[word] for word in ("sqrerr", "abserr", "prob", "q", "pos", "rows"))


__getattr__ = _names.guard(__name__)
