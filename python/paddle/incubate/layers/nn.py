"""Layers of CTR and tree models."""
from paddle import _names
from paddle._op import Call, fill, need, need_all, type_number
from paddle.fluid.contrib.layers import _index_type, tree_offsets
from paddle.nn import initializer as init
from paddle.static.nn import _activated, _parameter


def tdm_child(x, node_nums, child_nums, param_attr=None, dtype="int32"):
    """(children of the nodes x, 1 where a child is a leaf with an item)"""
    need(x, "x", "tdm_child")
    name = _index_type(dtype, "dtype", "paddle.incubate.layers.tdm_child")
    call = Call("tdm_child")
    tree = _parameter(call, param_attr, [node_nums, 3 + child_nums], name, default=init.Constant(0), stop_gradient=True)
    child, leaf = call.var(name, stop_gradient=True), call.var(name, stop_gradient=True)
    call.op("tdm_child", {"X": x, "TreeInfo": tree}, {"Child": child, "LeafMask": leaf},
            {"child_nums": child_nums, "dtype": type_number(name)})
    return child, leaf


def tdm_sampler(x, neg_samples_num_list, layer_node_num_list, leaf_node_num, tree_travel_attr=None, tree_layer_attr=None,
                output_positive=True, output_list=True, seed=0, tree_dtype="int32", dtype="int32"):
    """The nodes on the paths to the leaves x, and others of the same layers: (nodes, labels, masks), each a list with one
    variable a layer, or one variable (output_list=False)."""
    from paddle.tensor.manipulation import reshape, slice
    need(x, "x", "tdm_sampler")
    tree_name = _index_type(tree_dtype, "tree_dtype", "paddle.incubate.layers.tdm_sampler")
    name = _index_type(dtype, "dtype", "paddle.incubate.layers.tdm_sampler")
    offsets = tree_offsets(neg_samples_num_list, layer_node_num_list, leaf_node_num)
    call = Call("tdm_sampler")
    travel = _parameter(call, tree_travel_attr, [leaf_node_num, len(layer_node_num_list)], tree_name, default=init.Constant(0))
    nodes = _parameter(call, tree_layer_attr, [offsets[-1], 1], tree_name, default=init.Constant(0))
    made = [call.var(name, stop_gradient=True) for _ in range(3)]
    call.op("tdm_sampler", {"X": x, "Travel": travel, "Layer": nodes}, dict(zip(("Out", "Labels", "Mask"), made)),
            {"neg_samples_num_list": list(neg_samples_num_list), "output_positive": output_positive,
             "layer_offset_lod": offsets, "seed": seed, "dtype": type_number(name)})
    if not output_list:
        return tuple(made)
    lists, begin = ([], [], []), 0
    for count in neg_samples_num_list:
        end = begin + count + bool(output_positive)
        parts = [slice(var, axes=[1], starts=[begin], ends=[end]) for var in made]
        for out, part in zip(lists, parts):
            part = reshape(part, [-1, end - begin, 1])
            part.stop_gradient = True
            out.append(part)
        begin = end
    return lists


def shuffle_batch(x, seed=None):
    """The rows in another order, none where it was. seed: a number, or a variable that holds one; each step takes the next."""
    import random
    from paddle.static import default_main_program
    from paddle.tensor.creation import global_state
    need(x, "x", "shuffle_batch")
    call = Call("shuffle_batch")
    out, order = call.var(), call.var("int64", stop_gradient=True)
    if seed is None:
        seed = default_main_program().random_seed or random.randint(-65536, 65534)
    attrs = {}
    if isinstance(seed, int):
        attrs["startup_seed"] = seed
        seed = global_state([1], seed, "int64")
    call.op("shuffle_batch", {"X": x, "Seed": seed}, {"Out": out, "ShuffleIdx": order, "SeedOut": seed}, attrs)
    return out


def _partial(kind, input, start_index, length):
    for value, arg in ((start_index, "start_index"), (length, "length")):
        if not isinstance(value, int):
            raise TypeError("The type of '%s' in %s must be int, but received %s." % (arg, kind, type(value)))
    return Call(kind).one(kind, {"X": need_all(input, "input", kind)}, {"start_index": start_index, "length": length})


def partial_concat(input, start_index=0, length=-1):
    """Columns start_index .. start_index + length of every input, side by side."""
    return _partial("partial_concat", input, start_index, length)


def partial_sum(input, start_index=0, length=-1):
    """Columns start_index .. start_index + length of every input, added."""
    return _partial("partial_sum", input, start_index, length)


def rank_attention(input, rank_offset, rank_param_shape, rank_param_attr, max_rank=3, max_size=0):
    """Row i: the sum over k of input[row k] @ (weight of the pair of ranks: that of i, that of k). rank_offset [rows, 2 *
    max_rank + 1] int: the rank of i (from 1; 0: none), then rank and row of each k. Made of gather and matmul."""
    from paddle.tensor.linalg import matmul
    from paddle.tensor.logic import greater_than, logical_and
    from paddle.tensor.manipulation import cast, gather, reshape, slice, strided_slice
    need(input, "input", "rank_attention")
    need(rank_offset, "rank_offset", "rank_attention")
    width, size = input.shape[1], rank_param_shape[1]
    if width * max_rank * max_rank != rank_param_shape[0]:
        raise ValueError("rank_attention: rank_param_shape %s must begin with %d x max_rank x max_rank" %
                         (list(rank_param_shape), width))
    weight = _parameter(Call("rank_attention"), rank_param_attr, rank_param_shape, input.dtype)
    last = 2 * max_rank + 1
    own = slice(rank_offset, axes=[1], starts=[0], ends=[1])
    ranks = strided_slice(rank_offset, axes=[1], starts=[1], ends=[last], strides=[2])
    rows = strided_slice(rank_offset, axes=[1], starts=[2], ends=[last], strides=[2])
    zero = fill([1], 0, rank_offset.dtype)
    there = logical_and(greater_than(own, zero), greater_than(ranks, zero))
    mask = cast(there, rank_offset.dtype)
    pair = ((own - 1) * max_rank + (ranks - 1)) * mask
    seen = reshape(gather(input, reshape(rows * mask, [-1])), [-1, max_rank, width])
    seen = seen * reshape(cast(there, input.dtype), [-1, max_rank, 1])
    blocks = gather(reshape(weight, [max_rank * max_rank, width * size]), reshape(pair, [-1]))
    out = matmul(reshape(seen, [-1, 1, max_rank * width]), reshape(blocks, [-1, max_rank * width, size]))
    return reshape(out, [-1, size])


def batch_fc(input, param_size, param_attr, bias_size, bias_attr, act=None):
    """A dense layer of its own for each slot: input [slots, rows, in], weights [slots, in, out]. Made of matmul and add."""
    from paddle.tensor.linalg import matmul
    from paddle.tensor.manipulation import unsqueeze
    need(input, "input", "batch_fc")
    shape = input.shape
    if shape[0] != param_size[0] or shape[2] != param_size[1] or param_size[2] != bias_size[1] or shape[0] != bias_size[0]:
        raise ValueError("batch_fc: input %s, param_size %s and bias_size %s do not fit: [slots, rows, in], [slots, in, out], "
                         "[slots, out]" % (list(shape), list(param_size), list(bias_size)))
    call = Call("batch_fc")
    weight = _parameter(call, param_attr, param_size, input.dtype)
    bias = _parameter(call, bias_attr, bias_size, input.dtype)
    return _activated(call, matmul(input, weight) + unsqueeze(bias, 1), act)


def fused_seqpool_cvm(input, pool_type, cvm, pad_value=0.0, use_cvm=True, cvm_offset=2):
    """sequence_pool(sum) and continuous_value_model of every input. Made of these."""
    from paddle.static.nn import continuous_value_model, sequence_pool
    if pool_type.upper() != "SUM":
        raise ValueError("fused_seqpool_cvm only support SUM pooling now, and your type is: " + pool_type)
    if pad_value != 0.0 or cvm_offset != 2:
        raise NotImplementedError("fused_seqpool_cvm: only pad_value 0 and cvm_offset 2 are there, but got %s and %s" %
                                  (pad_value, cvm_offset))
    if not isinstance(input, list):
        raise TypeError("The type of 'input' in fused_seqpool_cvm must be list, but received %s." % type(input))
    return [continuous_value_model(sequence_pool(x, "sum"), cvm, use_cvm)
            for x in need_all(input, "input", "fused_seqpool_cvm")]


def fused_embedding_seq_pool(input, size, is_sparse=False, padding_idx=None, combiner="sum", param_attr=None,
                             dtype="float32"):
    """embedding and sequence_pool(sum) in one op."""
    need(input, "input", "fused_embedding_seq_pool")
    call = Call("fused_embedding_seq_pool")
    weight = _parameter(call, param_attr, size, dtype)
    index = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else size[0] + padding_idx
    return call.one("fused_embedding_seq_pool", {"Ids": input, "W": weight},
                    {"is_sparse": is_sparse, "combiner": combiner, "padding_idx": index})


__getattr__ = _names.guard(__name__)
