"""Records the cases of ops_ctr.tar.xz on real Paddle 1.8.5 and 2.6.2, in the form of docs/guide/record.md: ops of CTR and tree models, ragged
matching, sampled losses, CRF, graphs; one op each, forward and gradient.

    PYTHONPATH=tools python tests/golden/record_ctr.py ops_ctr      # with each of the two
    tar --sort=name --owner=0 --group=0 --mtime=2026-01-01 -cJf tests/golden/ops_ctr.tar.xz ops_ctr
"""
import os
import sys

import numpy as np
import record_paddle
from record_paddle import base, record

IS_1X = record_paddle.IS_1X
if not IS_1X:
    import paddle
    paddle.enable_static()
    base.gradients, base.Executor = paddle.static.gradients, paddle.static.Executor
    base.program_guard, base.Program, base.Scope = paddle.static.program_guard, paddle.static.Program, base.core.Scope
else:
    base.Scope = base.core.Scope
CASES, OUT = [], sys.argv[1]
ONLY = sys.argv[2:]


class Ragged(object):
    """Rows with the offsets of their sequences."""

    def __init__(self, array, *lod):
        self.array, self.lod = np.asarray(array), [list(level) for level in lod]

    def tensor(self):
        t = base.core.LoDTensor()
        t.set(self.array, base.CPUPlace())
        t.set_lod(self.lod)
        return t


class Kept(object):
    """An input that is a persistable variable, not fed."""

    def __init__(self, array):
        self.array, self.lod = np.asarray(array), []


def floats(seed, *shape):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


def ints(seed, high, *shape):
    return np.random.RandomState(seed).randint(0, high, shape).astype("int64")


def spread(seed, *shape):
    """Values that lie apart, so that their order does not change when one moves a little."""
    n = int(np.prod(shape))
    return (np.random.RandomState(seed).permutation(n).astype("float32") / n * 4 - 2).reshape(shape)


def build(kind, ins, outs, attrs, same):
    block = base.default_main_program().global_block()
    slots, feed, kept, by_slot = {}, {}, {}, {}
    for slot, values in ins.items():
        slots[slot] = []
        for i, value in enumerate(values if isinstance(values, list) else [values]):
            name = slot.lower() + (str(i) if isinstance(values, list) else "")
            array, lod = (value.array, value.lod) if hasattr(value, "array") else (np.asarray(value), [])
            keep = isinstance(value, Kept)
            var = block.create_var(name=name, shape=[-1] * bool(lod) + list(array.shape[bool(lod):]), dtype=array.dtype.name,
                                   lod_level=len(lod), persistable=keep, stop_gradient=array.dtype.kind != "f")
            slots[slot].append(var)
            (kept if keep else feed)[name] = array if keep or not lod else value.tensor()
    made = {}
    for slot, (dtype, n) in outs.items():
        made[slot] = slots[same[slot]] if slot in same else [
            block.create_var(name="out_" + slot.lower() + (str(i) if n > 1 else ""), dtype=dtype) for i in range(n)]
    block.append_op(type=kind, inputs=slots, outputs=made, attrs=attrs)
    return slots, made, feed, kept


def scope_of(kept):
    scope = base.Scope()
    for name, array in kept.items():
        scope.var(name).get_tensor().set(array, base.CPUPlace())
    return scope


def gradients(made, slots, grad_outs, wanted, feed, scope):
    """Feeds the gradients of the outputs; gives the names of those of the inputs."""
    exe, main = base.Executor(base.CPUPlace()), base.default_main_program()
    targets = [var for slot in grad_outs for var in made[slot]]
    values = exe.run(main.clone(), feed=dict(feed), fetch_list=[v.name for v in targets], return_numpy=False, scope=scope)
    given = []
    for i, (var, value) in enumerate(zip(targets, values)):
        shape = np.array(value).shape
        grad = main.global_block().create_var(name=var.name + "@GRAD", shape=var.shape, dtype=var.dtype, lod_level=var.lod_level,
                                              stop_gradient=False)
        array = floats(77 + i, *shape)
        feed[grad.name] = Ragged(array, *value.lod()).tensor() if value.lod() else array
        given.append(grad)
    found = base.gradients(targets, [var for slot in wanted for var in slots[slot]], given)
    return [g.name for g in found if g is not None]


def op(kind, case, ins, outs, attrs=None, grad=(), grad_outs=None, same=None, only=None, steps=None, hide=(), **kw):
    """outs: {slot: (dtype, count)} or names of float outputs; grad: slots whose gradients are recorded; same: output slots that are
    input slots; only: 1 or 2, the generation that has it; hide: output slots that are not compared."""
    if only == (2 if IS_1X else 1) or (ONLY and kind not in ONLY):
        return
    outs = outs if isinstance(outs, dict) else {slot: ("float32", 1) for slot in outs.split()}
    outs = {slot: spec if isinstance(spec, tuple) else (spec, 1) for slot, spec in outs.items()}
    same = same or {}
    path = os.path.join(OUT, kind, case + ("" if IS_1X else "_26"))
    main, startup = base.Program(), base.Program()
    try:
        with base.program_guard(main, startup), base.unique_name.guard():
            slots, made, feed, kept = build(kind, ins, outs, attrs or {}, same)
            fetch = [v.name for slot in outs if slot not in same and slot not in hide for v in made[slot]]
            if grad:
                fetch += gradients(made, slots, (grad_outs or "Out").split(), grad.split(), feed, scope_of(kept))
            record(base.Executor(base.CPUPlace()), main, None, [feed], fetch, path, steps=steps, scope=scope_of(kept),
                   what="%s %s" % (kind, case), **kw)
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        print("NOT MADE %s/%s: %s" % (kind, case, " | ".join(lines[-3:])[:300]))


# ---- trees and CTR ----
op("shard_index", "two", {"X": np.array([[16], [1], [19], [4]], "int64")}, {"Out": "int64"},
   dict(index_num=20, nshards=2, shard_id=1, ignore_value=-1))
op("shard_index", "uneven", {"X": ints(1, 10, 12, 1)}, {"Out": "int64"}, dict(index_num=10, nshards=3, shard_id=0, ignore_value=7))
TREE = np.array([[0, 0, 0, 1, 2], [0, 1, 0, 3, 4], [0, 1, 0, 5, 6], [0, 2, 1, 0, 0], [1, 2, 1, 0, 0], [2, 2, 2, 0, 0], [3, 2, 2, 0, 0]])
for word, dtype in (("int32", 2), ("int64", 3)):
    op("tdm_child", word, {"X": np.array([[2], [3], [0], [1]], word), "TreeInfo": TREE.astype(word)}, {"Child": word, "LeafMask": word},
       dict(child_nums=2, dtype=dtype))
op("tdm_child", "matrix", {"X": np.array([[2, 3], [1, 6]], "int64"), "TreeInfo": TREE.astype("int32")},
   {"Child": "int64", "LeafMask": "int64"}, dict(child_nums=2, dtype=3))
TRAVEL = np.array([[1, 3, 7], [1, 3, 8], [1, 4, 9], [1, 4, 10], [2, 5, 11], [2, 5, 12], [2, 6, 13], [2, 6, 0]])
LAYER = np.arange(1, 14).reshape(-1, 1)
for case, positive, seed, word in (("with_positive", True, 3, "int32"), ("negatives", False, 8, "int64")):
    op("tdm_sampler", case, {"X": np.array([[2], [3], [7], [0]], word), "Travel": TRAVEL.astype("int32"), "Layer": LAYER.astype("int32")},
       {"Out": word, "Labels": word, "Mask": word},
       dict(neg_samples_num_list=[1, 2, 3], output_positive=positive, layer_offset_lod=[0, 2, 6, 13], seed=seed,
            dtype=2 if word == "int32" else 3))
for case, shape, seed in (("rows", (6, 3), 10), ("many", (37, 2), -65000), ("deep", (2, 3, 4), 1)):
    op("shuffle_batch", case, {"X": floats(2, *shape), "Seed": Kept(np.array([seed], "int64"))},
       {"Out": "float32", "ShuffleIdx": "int64", "SeedOut": "int64"}, dict(startup_seed=0), grad="X", same={"SeedOut": "Seed"}, steps=2, only=1)
for kind in ("partial_concat", "partial_sum"):
    for case, start, length in (("middle", 1, 2), ("rest", 2, -1), ("from_end", -3, 2)):
        if kind == "partial_sum" and start < 0:
            continue  # Paddle writes beyond its memory
        op(kind, case, {"X": [floats(3, 4, 5), floats(4, 4, 5), floats(5, 4, 5)]}, "Out", dict(start_index=start, length=length), grad="X")
    op(kind, "int64", {"X": [ints(3, 9, 4, 5), ints(4, 9, 4, 5)]}, {"Out": "int64"}, dict(start_index=1, length=2))

# ---- ragged ----
op("sequence_scatter", "rows", {"X": floats(6, 3, 6), "Ids": Ragged(ints(7, 6, 9, 1), [0, 3, 4, 9]),
                                "Updates": Ragged(floats(8, 9, 1), [0, 3, 4, 9])}, "Out", {}, grad="X Updates")
op("match_matrix_tensor", "two_channels", {"X": Ragged(floats(9, 5, 3), [0, 2, 5]), "Y": Ragged(floats(10, 7, 3), [0, 3, 7]),
                                           "W": floats(11, 3, 2, 3)}, "Out Tmp", dict(dim_t=2), grad="X Y W")
ROWS, COLUMNS = [0, 2, 5], [0, 3, 7]
op("sequence_topk_avg_pooling", "three", {"X": Ragged(spread(12, 2 * (2 * 3 + 3 * 4), 1), [0, 12, 36]),
                                          "ROW": Ragged(floats(13, 5, 2), ROWS), "COLUMN": Ragged(floats(14, 7, 2), COLUMNS)},
   {"Out": "float32", "pos": "int32"}, dict(topks=[1, 3, 5], channel_num=2), grad="X", only=1)
for case, kernel, stride in (("plain", (3, 3), (1, 1)), ("strided", (2, 3), (2, 2))):
    op("var_conv_2d", case, {"X": Ragged(floats(15, 2 * (2 * 3 + 3 * 4), 1), [0, 12, 36]), "ROW": Ragged(floats(13, 5, 2), ROWS),
                             "COLUMN": Ragged(floats(14, 7, 2), COLUMNS), "W": floats(16, 4, 2 * kernel[0] * kernel[1])},
       "Out Col", dict(InputChannel=2, OutputChannel=4, KernelH=kernel[0], KernelW=kernel[1], StrideH=stride[0], StrideW=stride[1]),
       grad="X W", only=1)
op("add_position_encoding", "dense", {"X": floats(17, 2, 3, 6)}, "Out", dict(alpha=0.8, beta=1.5), grad="X")
op("add_position_encoding", "narrow", {"X": floats(17, 2, 3, 2)}, "Out", dict(alpha=1.0, beta=1.0), grad="X")
op("add_position_encoding", "ragged", {"X": Ragged(floats(18, 5, 4), [0, 2, 5])}, "Out", dict(alpha=1.0, beta=0.5), grad="X")
op("row_conv", "dense", {"X": floats(19, 2, 4, 3), "Filter": floats(20, 3, 3)}, "Out", grad="X Filter")
op("row_conv", "ragged", {"X": Ragged(floats(21, 8, 3), [0, 1, 6, 8]), "Filter": floats(22, 4, 3)}, "Out", grad="X Filter")
op("batch_norm", "momentum_tensor", {"X": floats(23, 6, 3), "Scale": floats(24, 3), "Bias": floats(25, 3), "Mean": Kept(floats(26, 3)),
                                     "Variance": Kept(np.array([1, 2, 0.5], "float32")), "MomentumTensor": np.array([0.7], "float32")},
   "Y MeanOut VarianceOut SavedMean SavedVariance", dict(epsilon=1e-5), same={"MeanOut": "Mean", "VarianceOut": "Variance"}, steps=3, only=1)

# ---- sampled losses ----
for case, hits, seed in (("hits_removed", True, 1), ("hits_kept", False, 7)):
    op("sample_logits", case, {"Logits": floats(19, 3, 20), "Labels": np.array([[0], [7], [2]], "int64")},
       {"Samples": "int64", "Probabilities": "float32", "LogitsDim": "float32", "LabelsDim": "int64", "SampledLogits": "float32",
        "SampledLabels": "int64"},
       dict(use_customized_samples=False, uniq=True, remove_accidental_hits=hits, num_samples=6, seed=seed), only=1,
       grad="Logits", grad_outs="SampledLogits", hide=("LogitsDim", "LabelsDim"))
for case, update in (("updated", True), ("fixed", False)):
    op("center_loss", case, {"X": floats(21, 5, 4), "Label": np.array([[0], [2], [2], [1], [0]], "int64"), "Centers": Kept(floats(22, 3, 4)),
                             "CenterUpdateRate": np.array([0.5], "float32")}, "CentersOut SampleCenterDiff Loss",
       dict(cluster_num=3, need_update=update), grad="X", grad_outs="Loss", same={"CentersOut": "Centers"}, only=1, steps=2)

# ---- CRF ----
TAGS = 4
LABEL = ints(23, TAGS, 7, 1)
CRF_OUT = "Alpha EmissionExps TransitionExps LogLikelihood"
op("linear_chain_crf", "ragged", {"Emission": Ragged(floats(24, 7, TAGS), [0, 3, 4, 7]), "Transition": floats(25, TAGS + 2, TAGS),
                                  "Label": Ragged(LABEL, [0, 3, 4, 7])}, CRF_OUT, {}, grad="Emission Transition", grad_outs="LogLikelihood")
op("linear_chain_crf", "padded", {"Emission": floats(26, 3, 5, TAGS), "Transition": floats(25, TAGS + 2, TAGS),
                                  "Label": ints(27, TAGS, 3, 5), "Length": np.array([[3], [5], [1]], "int64")}, CRF_OUT, {},
   grad="Emission Transition", grad_outs="LogLikelihood")
op("crf_decoding", "ragged", {"Emission": Ragged(floats(28, 7, TAGS), [0, 3, 4, 7]), "Transition": floats(25, TAGS + 2, TAGS)},
   {"ViterbiPath": "int64"}, {})
op("crf_decoding", "labelled", {"Emission": Ragged(floats(28, 7, TAGS), [0, 3, 4, 7]), "Transition": floats(25, TAGS + 2, TAGS),
                                "Label": Ragged(LABEL, [0, 3, 4, 7])}, {"ViterbiPath": "int64"}, {})
op("crf_decoding", "padded", {"Emission": floats(29, 3, 5, TAGS), "Transition": floats(25, TAGS + 2, TAGS),
                              "Length": np.array([[3], [5], [1]], "int64")}, {"ViterbiPath": "int64"}, {})
op("crf_decoding", "padded_labelled", {"Emission": floats(29, 3, 5, TAGS), "Transition": floats(25, TAGS + 2, TAGS),
                                       "Label": ints(30, TAGS, 3, 5), "Length": np.array([[3], [5], [1]], "int64")},
   {"ViterbiPath": "int64"}, {})
CHUNKS = {"Precision": "float32", "Recall": "float32", "F1-Score": "float32", "NumInferChunks": "int64", "NumLabelChunks": "int64",
          "NumCorrectChunks": "int64"}
for scheme, tags in (("IOB", 2), ("IOE", 2), ("IOBES", 4), ("plain", 1)):
    wrong = np.where(ints(32, 4, 30, 1) == 0, ints(31, 3 * tags + 1, 30, 1), ints(33, 3 * tags + 1, 30, 1))
    offsets = [0, 11, 12, 30]
    op("chunk_eval", scheme, {"Inference": Ragged(wrong, offsets), "Label": Ragged(ints(33, 3 * tags + 1, 30, 1), offsets)}, CHUNKS,
       dict(num_chunk_types=3, chunk_scheme=scheme, excluded_chunk_types=[]))
op("chunk_eval", "padded", {"Inference": ints(34, 7, 3, 9), "Label": ints(34, 7, 3, 9) * (ints(35, 5, 3, 9) > 0),
                            "SeqLength": np.array([9, 4, 1], "int64")}, CHUNKS,
   dict(num_chunk_types=3, chunk_scheme="IOB", excluded_chunk_types=[1]))

# ---- graphs ----
for word in ("SUM", "MEAN", "MAX", "MIN"):
    op("graph_send_recv", word.lower(), {"X": spread(36, 4, 3), "Src_index": np.array([0, 1, 2, 0, 1], "int32"),
                                         "Dst_index": np.array([1, 2, 1, 0, 1], "int32")}, {"Out": "float32", "Dst_count": "int32"},
       dict(reduce_op=word, out_size=[0]), grad="X", only=2, hide=() if word == "MEAN" else ("Dst_count",))
op("graph_send_recv", "sized", {"X": floats(37, 4, 2, 3), "Src_index": np.array([0, 1, 2, 0], "int64"),
                                "Dst_index": np.array([1, 2, 1, 0], "int64")}, {"Out": "float32", "Dst_count": "int32"},
   dict(reduce_op="SUM", out_size=[3]), grad="X", only=2, hide=("Dst_count",))
op("graph_send_recv", "sized_by_input", {"X": floats(37, 4, 3), "Src_index": np.array([0, 1, 2, 0], "int64"),
                                         "Dst_index": np.array([1, 2, 1, 0], "int64"), "Out_size": np.array([6], "int64")},
   {"Out": "float32", "Dst_count": "int32"}, dict(reduce_op="MAX"), grad="X", only=2, hide=("Dst_count",))
