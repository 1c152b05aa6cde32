"""What the ops of CTR and tree models, ragged matching, sampled losses, CRF and graphs say about wrong inputs: each message names the op,
the input with its variable, what was found and what was expected."""
import unittest

import numpy as np
import paddle.fluid as fluid
from ctr_cases import LAYERS, TRAVEL, TREE, Ragged, numbers

i64, i32 = (lambda *v: np.array(v, "int64")), (lambda *v: np.array(v, "int32"))


def ragged(array, *lengths):
    return Ragged(array, list(lengths))


TWO = ragged(numbers(5, 3), 2, 3)
PICTURE = dict(X=ragged(numbers(36, 1), 12, 24), ROW=ragged(numbers(5, 1), 2, 3), COLUMN=ragged(numbers(7, 1), 3, 4))
CONV = dict(InputChannel=2, OutputChannel=3, KernelH=3, KernelW=3, StrideH=1, StrideW=1)
CHAIN = dict(Emission=ragged(numbers(5, 4), 2, 3), Transition=numbers(6, 4), Label=ragged(i64(0, 1, 2, 3, 0).reshape(5, 1), 2, 3))
PADDED = dict(Emission=numbers(2, 3, 4), Transition=numbers(6, 4), Label=i64(0, 1, 2, 3, 0, 1).reshape(2, 3), Length=i64([3], [2]))
TAGS = ragged(i64(0, 1, 2, 4, 0).reshape(5, 1), 2, 3)
SAMPLER = dict(X=i32([0], [1]), Travel=TRAVEL.astype("int32"), Layer=LAYERS.astype("int32"))
SAMPLED = dict(neg_samples_num_list=[1, 2], layer_offset_lod=[0, 2, 6], dtype=2)
CENTER = dict(X=numbers(3, 4), Label=i64([0], [1], [1]), Centers=numbers(2, 4), CenterUpdateRate=numbers(1))
EDGES = dict(X=numbers(3, 2), Src_index=i64(0, 1), Dst_index=i64(1, 2))
SCATTER = dict(X=numbers(2, 4), Ids=ragged(i64([0], [3], [1]), 2, 1), Updates=ragged(numbers(3, 1), 2, 1))
LOGITS = dict(Logits=numbers(2, 6), Labels=i64([0], [3]))


def but(given, **changes):
    return dict(given, **changes)


#: op, inputs, outputs, attributes, text; the ops that only 2.x has say so
CASES = [
    ("shard_index", dict(X=i64([1], [9])), "Out", dict(index_num=8, nshards=2, shard_id=0), "input X (x): element 1 is 9, must be in [0, 8)"),
    ("shard_index", dict(X=i64([1])), "Out", dict(index_num=8, nshards=2, shard_id=2), "nshards 2, shard_id 2 (must be below)"),
    ("shard_index", dict(X=i64([1, 2])), "Out", dict(index_num=8, nshards=2, shard_id=0), "its last dimension must be 1"),
    ("tdm_child", dict(X=i64([7]), TreeInfo=TREE), "Child LeafMask", dict(child_nums=2), "element 0 is 7, must be in [0, 7)"),
    ("tdm_child", dict(X=i64([1]), TreeInfo=TREE), "Child LeafMask", dict(child_nums=3), "must be [nodes, 3 + child_nums 3]"),
    ("tdm_child", dict(X=i64([1]), TreeInfo=TREE), "Child LeafMask", dict(child_nums=0), "child_nums is 0"),
    ("tdm_child", dict(X=i64([1]), TreeInfo=TREE), "Child LeafMask", dict(child_nums=2, dtype=5), "dtype is 5, must be 2 (int32) or 3"),
    ("tdm_child", dict(X=i64([1]), TreeInfo=TREE * 9), "Child LeafMask", dict(child_nums=2), "nodes of TreeInfo"),
    ("tdm_sampler", but(SAMPLER, X=i32([4])), "Out Labels Mask", SAMPLED, "element 0 is 4, must be in [0, 4)"),
    ("tdm_sampler", SAMPLER, "Out Labels Mask", but(SAMPLED, layer_offset_lod=[0, 2]), "layer_offset_lod has 2 offsets; needed"),
    ("tdm_sampler", SAMPLER, "Out Labels Mask", but(SAMPLED, neg_samples_num_list=[2, 2]), "layer 0 has 2 nodes, too few for 2 negatives"),
    ("tdm_sampler", but(SAMPLER, Travel=i32([1], [2])), "Out Labels Mask", SAMPLED, "must be [leaves, layers 2]"),
    ("tdm_sampler", but(SAMPLER, Layer=i32([1], [2])), "Out Labels Mask", SAMPLED, "must hold 6 nodes (layer_offset_lod)"),
    ("tdm_sampler", but(SAMPLER, Layer=i32([1], [1], [3], [3], [3], [3])), "Out Labels Mask", SAMPLED,
     "the layer at 0 has 0 nodes besides 1, but 1 negatives are wanted"),
    ("partial_concat", dict(X=[numbers(2, 3), numbers(2, 4)]), "Out", {}, "must have the shape of the first input"),
    ("partial_sum", dict(X=[numbers(2, 3), i64([1, 2, 3], [1, 2, 3])]), "Out", {}, "must have the type of the first input"),
    ("partial_sum", dict(X=[numbers(2, 3)]), "Out", dict(start_index=2, length=2), "start_index 2 and length 2 reach beyond its rows"),
    ("partial_sum", dict(X=[numbers(2, 3, 1)]), "Out", {}, "must be a matrix"),
    ("match_matrix_tensor", dict(X=TWO, Y=TWO, W=numbers(3, 2, 4)), "Out Tmp", dict(dim_t=2), "must be [width of X, dim_t 2, width of Y]"),
    ("match_matrix_tensor", dict(X=TWO, Y=ragged(numbers(5, 3), 5), W=numbers(3, 2, 3)), "Out Tmp", dict(dim_t=2),
     "X (x) has 2 sequences, Y (y) 1"),
    ("sequence_topk_avg_pooling", but(PICTURE, ROW=ragged(numbers(5, 1), 1, 4)), "Out pos", dict(topks=[1], channel_num=2),
     "sequence 0 of X (x) has 12 numbers, expected 2 channels x 1 rows x 3 columns"),
    ("sequence_topk_avg_pooling", but(PICTURE, ROW=ragged(numbers(5, 1), 5)), "Out pos", dict(topks=[1], channel_num=2),
     "X (x), ROW and COLUMN must have as many sequences: 2, 1, 2"),
    ("sequence_topk_avg_pooling", PICTURE, "Out pos", dict(topks=[3, 1], channel_num=2), "topks[1] is 1; they must be positive and ascend"),
    ("sequence_topk_avg_pooling", PICTURE, "Out pos", dict(topks=[], channel_num=2), "0 topks, channel_num 2"),
    ("sequence_topk_avg_pooling", but(PICTURE, X=TWO), "Out pos", dict(topks=[1], channel_num=2), "must be [numbers, 1]"),
    ("var_conv_2d", but(PICTURE, W=numbers(3, 17)), "Out Col", CONV, "must be [OutputChannel 3, 18]"),
    ("var_conv_2d", but(PICTURE, W=numbers(3, 18)), "Out Col", but(CONV, StrideH=0), "attribute StrideH is 0, must be positive"),
    ("sequence_scatter", but(SCATTER, Ids=ragged(i64([0], [4], [1]), 2, 1)), "Out", {}, "element 1 is 4, must be in [0, 4)"),
    ("sequence_scatter", but(SCATTER, X=numbers(3, 4)), "Out", {}, "Ids (ids) has 2 sequences for 3 rows"),
    ("sequence_scatter", but(SCATTER, Updates=ragged(numbers(3, 1), 1, 2)), "Out", {}, "Ids (ids) and Updates (updates) must be of one shape"),
    ("sequence_scatter", but(SCATTER, Updates=ragged(i64([1], [1], [1]), 2, 1)), "Out", {}, "must have the type of X"),
    ("add_position_encoding", dict(X=numbers(2, 3, 5)), "Out", {}, "its width must be even"),
    ("add_position_encoding", dict(X=numbers(2, 4)), "Out", {}, "must be [n, length, width], or ragged [rows, width]"),
    ("sample_logits", but(LOGITS, Labels=i64([0], [6])), "Samples Probabilities SampledLogits SampledLabels", dict(num_samples=2),
     "element 1 is 6, must be in [0, 6)"),
    ("sample_logits", LOGITS, "Samples Probabilities SampledLogits SampledLabels", dict(num_samples=7),
     "num_samples is 7, must be 1 to the classes' number"),
    ("sample_logits", but(LOGITS, Labels=i64([0])), "Samples Probabilities SampledLogits SampledLabels", dict(num_samples=2),
     "must have one row per row of Logits"),
    ("sample_logits", LOGITS, "Samples Probabilities SampledLogits SampledLabels", dict(num_samples=2, use_customized_samples=True),
     "CustomizedSamples (int64) and CustomizedProbabilities must be [2, 3]"),
    ("sample_logits", but(LOGITS, CustomizedSamples=i64([0, 1, 9], [0, 1, 2]), CustomizedProbabilities=np.abs(numbers(2, 3))),
     "Samples Probabilities SampledLogits SampledLabels", dict(num_samples=2, use_customized_samples=True),
     "element 2 is 9, must be in [0, 6)"),
    ("center_loss", but(CENTER, Label=i64([0], [1], [2])), "CentersOut SampleCenterDiff Loss", dict(cluster_num=2, need_update=True),
     "element 2 is 2, must be in [0, 2)"),
    ("center_loss", CENTER, "CentersOut SampleCenterDiff Loss", dict(cluster_num=3, need_update=True), "must be [cluster_num 3, columns of X 4]"),
    ("center_loss", but(CENTER, Label=i64([0], [1])), "CentersOut SampleCenterDiff Loss", dict(cluster_num=2, need_update=True),
     "Label (label) must hold one class a row of X"),
    ("linear_chain_crf", but(CHAIN, Label=ragged(i64([0], [1], [2], [4], [0]), 2, 3)), "Alpha EmissionExps TransitionExps LogLikelihood", {},
     "element 3 is 4, must be in [0, 4)"),
    ("linear_chain_crf", but(CHAIN, Transition=numbers(5, 4)), "Alpha EmissionExps TransitionExps LogLikelihood", {},
     "must be [tags + 2, tags]: [6, 4]"),
    ("linear_chain_crf", but(CHAIN, Label=ragged(i64([0], [1], [2], [1]), 2, 2)), "Alpha EmissionExps TransitionExps LogLikelihood", {},
     "Emission (emission) has 5 rows, the chains 4"),
    ("linear_chain_crf", but(PADDED, Length=i64([4], [2])), "Alpha EmissionExps TransitionExps LogLikelihood", {},
     "element 0 is 4, must be in [0, 4)"),
    ("linear_chain_crf", but(PADDED, Length=i64([3])), "Alpha EmissionExps TransitionExps LogLikelihood", {},
     "Length (length) must hold one number for each of 2"),
    ("linear_chain_crf", but(PADDED, Label=i64([0, 1], [1, 0])), "Alpha EmissionExps TransitionExps LogLikelihood", {},
     "Label (label) has 4 elements, Emission 6 rows"),
    ("crf_decoding", but(PADDED, Label=i64([0, 1], [1, 0])), "ViterbiPath", {}, "Label (label) must have one tag a row"),
    ("chunk_eval", dict(Inference=TAGS, Label=TAGS), "Precision Recall F1-Score NumInferChunks NumLabelChunks NumCorrectChunks",
     dict(num_chunk_types=1, chunk_scheme="IOB"), "element 3 is 4, must be in [0, 3)"),
    ("chunk_eval", dict(Inference=TAGS, Label=TAGS), "Precision Recall F1-Score NumInferChunks NumLabelChunks NumCorrectChunks",
     dict(num_chunk_types=2, chunk_scheme="BIO"), "chunk_scheme is \"BIO\", must be IOB, IOE, IOBES or plain"),
    ("chunk_eval", dict(Inference=TAGS, Label=TAGS), "Precision Recall F1-Score NumInferChunks NumLabelChunks NumCorrectChunks",
     dict(num_chunk_types=0), "num_chunk_types is 0"),
    ("chunk_eval", dict(Inference=TAGS.array, Label=TAGS.array), "Precision Recall F1-Score NumInferChunks NumLabelChunks NumCorrectChunks",
     dict(num_chunk_types=2), "Label (label) has no sequences, and no SeqLength"),
    ("chunk_eval", dict(Inference=i64([0, 1], [0, 1]), Label=i64([0, 1], [0, 1]), SeqLength=i64(2, 3)),
     "Precision Recall F1-Score NumInferChunks NumLabelChunks NumCorrectChunks", dict(num_chunk_types=2), "element 1 is 3, must be in [0, 3)"),
    ("chunk_eval", dict(Inference=TAGS, Label=ragged(i64([0], [1]), 2)),
     "Precision Recall F1-Score NumInferChunks NumLabelChunks NumCorrectChunks", dict(num_chunk_types=2),
     "Inference (inference) and Label (label) are of two sizes"),
]
CASES_2X = [
    ("graph_send_recv", but(EDGES, Src_index=i64(0, 3)), "Out Dst_count", {}, "element 1 is 3, must be in [0, 3)"),
    ("graph_send_recv", EDGES, "Out Dst_count", dict(out_size=[2]), "input Dst_index (dst_index): element 1 is 2, must be in [0, 2)"),
    ("graph_send_recv", but(EDGES, Dst_index=i64(1)), "Out Dst_count", {}, "Src_index and Dst_index differ in size"),
    ("graph_send_recv", EDGES, "Out Dst_count", dict(reduce_op="PROD"), "'PROD' must be SUM, MEAN, MAX or MIN"),
]


def run(kind, given, outs, attrs):
    """Appends the op and runs it."""
    main = fluid.Program()
    block, feed, slots = main.global_block(), {}, {}
    for slot, values in given.items():
        several = isinstance(values, list)
        slots[slot] = []
        for i, value in enumerate(values if several else [values]):
            array = value.array if isinstance(value, Ragged) else value
            name = slot.lower() + (str(i) if several else "")
            slots[slot].append(block.create_var(name=name, shape=list(array.shape), dtype=str(array.dtype),
                                                lod_level=int(isinstance(value, Ragged))))
            feed[name] = fluid.create_lod_tensor(array, value.lengths, fluid.CPUPlace()) if isinstance(value, Ragged) else array
    made = {slot: [block.create_var(name="out_" + slot.lower())] for slot in outs.split()}
    block.append_op(type=kind, inputs=slots, outputs=made, attrs=attrs)
    fluid.Executor(fluid.CPUPlace()).run(main, feed=feed, fetch_list=[vars[0].name for vars in made.values()],
                                         scope=fluid.core.Scope())


class Messages(unittest.TestCase):
    def check(self, cases):
        for kind, given, outs, attrs, text in cases:
            with self.subTest(kind + ": " + text):
                with self.assertRaises(Exception) as caught:
                    run(kind, given, outs, attrs)
                self.assertIn(kind, str(caught.exception))
                self.assertIn(text, str(caught.exception))

    def test_1x(self):
        self.check(CASES)

    def test_2x(self):
        from paddle.fluid.framework import set_generation
        set_generation(2)
        try:
            self.check(CASES_2X)
        finally:
            set_generation(1)

    def test_layers(self):
        layers = fluid.contrib.layers
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            x, ids = fluid.data("x", [None, 3]), fluid.data("ids", [None, 1], "int64")
            for call, kind, text in (
                    (lambda: layers.tdm_sampler(ids, [1], [2, 4], 4), ValueError, "must match the shape of layers"),
                    (lambda: layers.tdm_sampler(ids, [2, 1], [2, 4], 4), ValueError, "must be less than the number of nodes in the layer 0"),
                    (lambda: layers.tdm_sampler(ids, [1, 1], [2, 4], 6), ValueError, "leaf_node_num must be less than total node nums"),
                    (lambda: layers.tdm_sampler(ids, [1, 1], [2, 4], None), ValueError, "leaf_node_num should not be None"),
                    (lambda: layers.tdm_child(ids, 7, 2, dtype="float32"), TypeError, "The data type of 'dtype' in .*tdm_child must be int32"),
                    (lambda: layers.tdm_child(x, 7, 2), TypeError, "The data type of 'x' in tdm_child"),
                    (lambda: layers.match_matrix_tensor(x, ids, 2), ValueError, "must be matrices of one width"),
                    (lambda: layers.rank_attention(x, ids, [3, 2], None), ValueError, "must begin with 3 x max_rank x max_rank"),
                    (lambda: layers.ctr_metric_bundle(x, ids), ValueError, "must have one shape"),
                    (lambda: fluid.layers.shard_index(ids, 8, 2, 2), ValueError, r"The shard_id\(2\) should be in \[0, 2\)"),
                    (lambda: fluid.layers.lod_append(x, 3), ValueError, r"Input\(level\) must be list, tuple or Variable"),
                    (lambda: fluid.layers.Normal(1, 2.0), TypeError, "The type of 'loc' in Normal must be float"),
                    (lambda: fluid.layers.Uniform(x, 2.0), ValueError, "if one argument is Variable, all arguments should be Variable"),
                    (lambda: fluid.layers.Normal(0.0, 1.0).kl_divergence(3), TypeError, "must be Normal, but received"),
                    (lambda: fluid.layers.Categorical([0.5]).kl_divergence(3), TypeError, "must be Categorical, but received")):
                with self.assertRaisesRegex(kind, text):
                    call()


if __name__ == "__main__":
    unittest.main()
