"""Functions of paddle.nn give the numbers of Paddle 2.6.2 in dynamic graphs, and the same in programs.

nn_recorded.json is what this file wrote there: python test_nn_modes.py record."""
import json
import os
import sys
import unittest

import numpy as np
import paddle
import paddle.nn.functional as F

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nn_recorded.json")
R = np.random.RandomState(3)
ROWS = R.standard_normal((4, 6)).astype("float32")
OTHER = R.standard_normal((4, 6)).astype("float32")
SEQUENCE = R.standard_normal((2, 4, 6)).astype("float32")
IMAGE = R.standard_normal((2, 4, 6, 6)).astype("float32")
SHARE = (np.abs(ROWS) / np.abs(ROWS).sum(1, keepdims=True)).astype("float32")
CLASSES = np.array([1, 0, 5, 2], "int64")
SIGNS = np.sign(OTHER).astype("float32")
HALF = np.full((4, 6), 0.5, "float32")

#: name: (function, arrays)
CASES = {
    "celu": (lambda x: F.celu(x, 0.7), ROWS), "mish": (F.mish, ROWS), "hardswish": (F.hardswish, ROWS),
    "hardtanh": (F.hardtanh, ROWS), "hardshrink": (F.hardshrink, ROWS), "softshrink": (F.softshrink, ROWS),
    "tanhshrink": (F.tanhshrink, ROWS), "thresholded_relu": (F.thresholded_relu, ROWS), "glu": (F.glu, ROWS),
    "maxout": (lambda x: F.maxout(x, 2), IMAGE), "rrelu": (lambda x: F.rrelu(x, training=False), ROWS),
    "prelu": (lambda x: F.prelu(x, paddle.full([4], 0.3)), IMAGE),
    "bilinear": (lambda x, y: F.bilinear(x, y, paddle.full([2, 6, 6], 0.1)), ROWS, OTHER),
    "cosine_similarity": (F.cosine_similarity, ROWS, OTHER), "pairwise_distance": (F.pairwise_distance, ROWS, OTHER),
    "pad_all": (lambda x: F.pad(x, [1, 0, 2, 1], value=3.0), ROWS),
    "pad_sequence": (lambda x: F.pad(x, [1, 2], data_format="NCL"), SEQUENCE),
    "pad_last": (lambda x: F.pad(x, [1, 2], data_format="NLC"), SEQUENCE),
    "pad_reflect": (lambda x: F.pad(x, [1, 2, 1, 1], mode="reflect"), IMAGE), "zeropad2d": (lambda x: F.zeropad2d(x, [1, 2, 3, 4]), IMAGE),
    "conv2d": (lambda x: F.conv2d(x, paddle.full([2, 4, 3, 3], 0.1), paddle.full([2], 0.5), padding=1), IMAGE),
    "conv1d": (lambda x: F.conv1d(x, paddle.full([2, 4, 3], 0.1), paddle.full([2], 0.5)), SEQUENCE),
    "conv2d_transpose": (lambda x: F.conv2d_transpose(x, paddle.full([4, 2, 3, 3], 0.1), paddle.full([2], 0.5), stride=2,
                                                      output_padding=1), IMAGE),
    "conv1d_transpose": (lambda x: F.conv1d_transpose(x, paddle.full([4, 2, 3], 0.1), stride=2), SEQUENCE),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), IMAGE), "avg_pool1d": (lambda x: F.avg_pool1d(x, 2, padding=1), SEQUENCE),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, [None, 2]), IMAGE),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 2), SEQUENCE),
    "instance_norm": (F.instance_norm, IMAGE),
    "layer_norm": (lambda x: F.layer_norm(x, 6), ROWS), "normalize": (F.normalize, ROWS),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), IMAGE),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), IMAGE), "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), IMAGE),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), IMAGE), "unfold": (lambda x: F.unfold(x, 3, 2, 1), IMAGE),
    "fold": (lambda x: F.fold(F.unfold(x, 3, 2, 1), 6, 3, 2, 1), IMAGE),
    "nearest": (lambda x: F.interpolate(x, scale_factor=1.5), IMAGE),
    "bilinear_size": (lambda x: F.interpolate(x, [4, 9], mode="bilinear"), IMAGE),
    "bicubic": (lambda x: F.interpolate(x, [4, 9], mode="bicubic", align_corners=True), IMAGE),
    "scaled_dot_product_attention": (lambda x: F.scaled_dot_product_attention(x, x, x), IMAGE),
    "cross_entropy": (F.cross_entropy, ROWS, CLASSES),
    "cross_entropy_weight": (lambda x, y: F.cross_entropy(x, y, weight=paddle.arange(1, 7, dtype="float32")), ROWS, CLASSES),
    "cross_entropy_ignore": (lambda x, y: F.cross_entropy(x, y, ignore_index=5), ROWS, CLASSES),
    "cross_entropy_smooth": (lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), ROWS, CLASSES),
    "cross_entropy_soft": (lambda x, y: F.cross_entropy(x, y, soft_label=True, weight=paddle.full([6], 0.5)), ROWS, SHARE),
    "bce_pos_weight": (lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=paddle.full([6], 2.0)), ROWS, SHARE),
    "kl_div": (lambda x, y: F.kl_div(x, y, "batchmean"), ROWS, SHARE), "nll": (F.nll_loss, ROWS, CLASSES),
    "focal": (F.sigmoid_focal_loss, ROWS, SHARE), "hinge_embedding": (F.hinge_embedding_loss, ROWS, SIGNS),
    "cosine_embedding": (lambda x, y: F.cosine_embedding_loss(x, y, paddle.to_tensor(np.array([1, -1, 1, -1]))), ROWS, OTHER),
    "triplet": (lambda x, y: F.triplet_margin_loss(x, y, x * 0.5, swap=True), ROWS, OTHER),
    "soft_margin": (F.soft_margin_loss, ROWS, SIGNS), "multi_label": (F.multi_label_soft_margin_loss, ROWS, SHARE),
    "multi_margin": (F.multi_margin_loss, ROWS, CLASSES), "poisson_nll": (F.poisson_nll_loss, ROWS, SHARE),
    "gaussian_nll": (lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=True), ROWS, OTHER, HALF),
    "dice": (lambda x, y: F.dice_loss(x, paddle.unsqueeze(y, 1)), SHARE, CLASSES),
    "npair": (lambda x, y: F.npair_loss(x, x * 0.5, y), ROWS, CLASSES),
    "margin_ranking": (lambda x, y: F.margin_ranking_loss(x, y, paddle.ones([4, 6]), 0.1), ROWS, OTHER),
    "label_smooth": (lambda x: F.label_smooth(x), SHARE), "sequence_mask": (lambda x: F.sequence_mask(x, 6), CLASSES),
}


def eager(function, arrays):
    """(value, gradient of the first array or None)"""
    tensors = [paddle.to_tensor(a, stop_gradient=i > 0) for i, a in enumerate(arrays)]
    out = function(*tensors)
    if out.stop_gradient:
        return out.numpy(), None
    (out * out).sum().backward()
    return out.numpy(), tensors[0].grad.numpy()


def static(function, arrays):
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            data = [paddle.static.data("x%d" % i, list(a.shape), a.dtype.name) for i, a in enumerate(arrays)]
            data[0].stop_gradient = False
            out = function(*data)
            fetch = [out] if out.stop_gradient else [out] + paddle.static.gradients((out * out).sum(), data[0])
        exe = paddle.static.Executor()
        got = exe.run(main, {"x%d" % i: a for i, a in enumerate(arrays)}, fetch)
        return got[0], got[1] if len(got) > 1 else None
    finally:
        paddle.disable_static()


def short(array):
    """Shape, sum and sums by place: three numbers that no mistake leaves alone."""
    if array is None:
        return None
    flat = np.asarray(array, "float64").ravel()
    weights = np.cos(np.arange(flat.size) + 1.0)
    return {"shape": list(np.shape(array)), "numbers": [float("%.7g" % v) for v in (flat.sum(), np.abs(flat).sum(),
                                                                                  (flat * weights).sum())]}


def record():
    with open(RECORDED, "w") as file:
        lines = ['"%s": %s' % (name, json.dumps([short(part) for part in eager(function, arrays)]))
                 for name, (function, *arrays) in sorted(CASES.items())]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


class Modes(unittest.TestCase):
    def test_recorded(self):
        with open(RECORDED) as file:
            recorded = json.load(file)
        self.assertEqual(sorted(recorded), sorted(CASES))
        for name, (function, *arrays) in CASES.items():
            for have, want in zip(eager(function, arrays), recorded[name]):
                with self.subTest(name):
                    have = short(have)
                    self.assertEqual(have is None, want is None)
                    if want is not None:
                        self.assertEqual(have["shape"], want["shape"])
                        size = 1e-5 * (1 + abs(want["numbers"][1]))
                        np.testing.assert_allclose(have["numbers"], want["numbers"], rtol=0, atol=size)

    def test_same_numbers(self):
        for name, (function, *arrays) in CASES.items():
            with self.subTest(name):
                dynamic, program = eager(function, arrays), static(function, arrays)
                np.testing.assert_allclose(dynamic[0], program[0], rtol=1e-5, atol=1e-6)
                self.assertEqual(dynamic[1] is None, program[1] is None)
                if dynamic[1] is not None:
                    np.testing.assert_allclose(dynamic[1], program[1], rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    record() if sys.argv[1:] == ["record"] else unittest.main()
