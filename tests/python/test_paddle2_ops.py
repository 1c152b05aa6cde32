"""paddle 2.x: what each function, layer and optimizer appends, and what it computes, against Paddle 2.6.2.

paddle2_ops.json: expression -> ops of both programs [type, inputs, outputs, attributes, {output: [type, shape]}], names of the
results, and their values for the feeds of paddle2_help (the first 24 and the sum of longer ones).
"""
import json
import os
import unittest

import numpy as np
import paddle
from paddle2_help import evaluate, fresh, inputs

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "paddle2_ops.json")) as _source:
    RECORDED = json.load(_source)

#: written by Paddle, without a meaning here
NOT_DECLARED = {"transpose2": {"data_format"}, "transpose2_grad": {"data_format"}}
#: drawn otherwise here
RANDOM = ("multinomial",)


def plain(value):
    """Comparable: floats with 6 digits."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return float("%.6g" % value) if isinstance(value, float) else value


def name_of(value):
    if isinstance(value, (list, tuple)):
        return [name_of(v) for v in value]
    return getattr(value, "name", type(value).__name__)


class Programs(unittest.TestCase):
    def check_ops(self, recorded, program):
        ops = program.global_block().ops
        self.assertEqual([row[0] for row in recorded], [op.type for op in ops])
        for (kind, ins, outs, attrs, shapes), op in zip(recorded, ops):
            self.assertEqual(ins, {s: list(op.input(s)) for s in op.input_names if op.input(s)}, kind)
            self.assertEqual(outs, {s: list(op.output(s)) for s in op.output_names if op.output(s)}, kind)
            for key, value in attrs.items():
                if key in NOT_DECLARED.get(kind, ()) or not op.has_attr(key):
                    continue
                self.assertEqual(plain(value), plain(op.attr(key)), "%s.%s" % (kind, key))
            for name, (dtype, shape) in shapes.items():
                var = program.global_block().var(name)
                self.assertEqual((dtype, shape), (var.dtype.dtype, list(var.shape)), name)

    def test_every_expression(self):
        for expression, recorded in RECORDED.items():
            if "main" not in recorded:
                continue  # only its values are recorded
            with self.subTest(expression), fresh() as (main, startup):
                got = eval(expression, inputs())
                if recorded["result"] is not None:
                    self.assertEqual(recorded["result"], name_of(got))
                self.check_ops(recorded["startup"], startup)
                self.check_ops(recorded["main"], main)

    def test_every_value(self):
        for expression, recorded in RECORDED.items():
            if "values" not in recorded or any(word in expression for word in RANDOM):
                continue
            with self.subTest(expression):
                got = evaluate(expression)
                self.assertEqual(len(got), len(recorded["values"]))
                for have, want in zip(got, recorded["values"]):
                    if len(have) > 48:
                        have = have[:24] + [sum(have)]
                    np.testing.assert_allclose(have, want, rtol=2e-5, atol=2e-6)

    def test_versions(self):
        main = paddle.static.Program()
        self.assertEqual((main.generation, main.version, paddle.__version__), (2, 2006002, "2.6.2"))


if __name__ == "__main__":
    unittest.main()
