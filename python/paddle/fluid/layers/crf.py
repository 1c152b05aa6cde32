"""Conditional random fields over chains of tags, how many chunks were found, and ids of shards."""
from paddle import _names
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable, simple_op

__all__ = ["linear_chain_crf", "crf_decoding", "chunk_eval", "shard_index"]


def linear_chain_crf(input, label, param_attr=None, length=None):
    """The negative log likelihood of the labels, one a sequence. length: input is [n, longest, tags], padded."""
    check_dtype(input, "input", "linear_chain_crf", ("float32", "float64"))
    check_dtype(label, "label", "linear_chain_crf", ("int64",))
    helper = LayerHelper("linear_chain_crf")
    size = input.shape[1 if length is None else 2]
    transition = helper.create_parameter(param_attr, [size + 2, size], input.dtype)
    made = [helper.create_variable_for_type_inference(dtype=input.dtype) for _ in range(4)]
    inputs = {"Emission": [input], "Transition": [transition], "Label": [label]}
    if length is not None:
        inputs["Length"] = [length]
    slots = ("Alpha", "EmissionExps", "TransitionExps", "LogLikelihood")
    helper.append_op(type="linear_chain_crf", inputs=inputs, outputs={slot: [var] for slot, var in zip(slots, made)})
    return made[3]


def crf_decoding(input, param_attr, label=None, length=None):
    """The most likely tags; with label: 1 where they are the label's. param_attr: that of linear_chain_crf, by name."""
    from paddle.fluid.param_attr import ParamAttr
    check_dtype(input, "input", "crf_decoding", ("float32", "float64"))
    helper = LayerHelper("crf_decoding")
    inputs = {"Emission": [input], "Transition": [helper.get_parameter(ParamAttr._to_attr(param_attr).name)]}
    for slot, var in (("Label", label), ("Length", length)):
        if var is not None:
            inputs[slot] = [var]
    return simple_op("crf_decoding", inputs, dtype="int64", slot="ViterbiPath", helper=helper)


def chunk_eval(input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None, seq_length=None):
    """(precision, recall, F1, chunks found, chunks of the label, chunks that are both)"""
    check_dtype(input, "input", "chunk_eval", ("int64",))
    check_dtype(label, "label", "chunk_eval", ("int64",))
    helper = LayerHelper("chunk_eval")
    slots = (("Precision", "float32"), ("Recall", "float32"), ("F1-Score", "float32"), ("NumInferChunks", "int64"),
             ("NumLabelChunks", "int64"), ("NumCorrectChunks", "int64"))
    made = [helper.create_variable_for_type_inference(dtype=dtype) for _, dtype in slots]
    inputs = {"Inference": [input], "Label": [label]}
    if seq_length is not None:
        check_variable(seq_length, "seq_length", "chunk_eval")
        inputs["SeqLength"] = [seq_length]
    helper.append_op(type="chunk_eval", inputs=inputs, outputs={slot: [var] for (slot, _), var in zip(slots, made)},
                     attrs={"num_chunk_types": num_chunk_types, "chunk_scheme": chunk_scheme,
                            "excluded_chunk_types": list(excluded_chunk_types or [])})
    return tuple(made)


def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """The number within its shard, where that is shard_id; else ignore_value."""
    check_dtype(input, "input", "shard_index", ("int64", "int32"))
    if shard_id < 0 or shard_id >= nshards:
        raise ValueError("The shard_id(%d) should be in [0, %d)" % (shard_id, nshards))
    return simple_op("shard_index", {"X": [input]},
                     {"index_num": index_num, "nshards": nshards, "shard_id": shard_id, "ignore_value": ignore_value},
                     stop_gradient=True)


__getattr__ = _names.guard(__name__)
