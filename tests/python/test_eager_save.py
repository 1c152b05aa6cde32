"""paddle.save and paddle.load in eager mode: files of real 2.6.2 (tests/data/pickle/make_eager.py), files as it writes them, files
that are wrong."""
import io
import os
import pickle
import shutil
import tempfile
import unittest

import numpy as np
import paddle
import paddle.nn as nn

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "pickle")


def numbers(seed, *shape):
    return np.random.RandomState(seed).standard_normal(shape).astype("float32")


def recorded(name):
    return paddle.load(os.path.join(DATA, name))


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)


class OfRealPaddle(unittest.TestCase):
    def test_training_goes_on(self):
        paddle.utils.unique_name.switch()
        layer = nn.Linear(2, 1)
        schedule = paddle.optimizer.lr.StepDecay(0.1, step_size=2)
        adam = paddle.optimizer.Adam(schedule, parameters=layer.parameters())
        self.assertEqual(layer.set_state_dict(recorded("eager_layer.pdparams")), ([], []))
        adam.set_state_dict(recorded("eager_adam.pdopt"))
        layer(paddle.to_tensor(numbers(9, 3, 2))).sum().backward()
        adam.step()
        np.testing.assert_allclose(layer.weight.numpy(), [[1.5249125957489014], [-0.42204660177230835]], rtol=1e-6)
        np.testing.assert_allclose(layer.bias.numpy(), [-0.6267574429512024], rtol=1e-6)
        self.assertAlmostEqual(adam.get_lr(), 0.01)

    def test_objects(self):
        found = recorded("eager_object.pd")
        self.assertEqual([found[key] for key in ("epoch", "best", "names")], [3, 0.75, ["a", "b"]])
        self.assertEqual(found["nested"]["t"], (1, None, True))
        self.assertEqual(found["scores"].numpy().tolist(), [1.0, 2.5])
        tensor, array = found["nested"]["ids"]
        self.assertIsInstance(tensor, paddle.Tensor)
        self.assertIsInstance(array, np.ndarray)
        self.assertEqual((tensor.numpy().tolist(), array.tolist()), ([1, 2], [0, 1, 2]))

    def test_one_tensor(self):
        self.assertEqual(recorded("eager_tensor.pd").numpy().tolist(), [[1.5, 2.0]])

    def test_names_and_arrays(self):
        path = os.path.join(DATA, "eager_layer.pdparams")
        self.assertEqual(recorded("eager_layer.pdparams")["weight"].name, "linear_0.w_0")
        self.assertIsInstance(paddle.load(path, return_numpy=True)["weight"], np.ndarray)
        kept = paddle.load(path, keep_name_table=True)
        self.assertEqual(kept["StructuredToParameterName@@"], {"weight": "linear_0.w_0", "bias": "linear_0.b_0"})

    def test_slices(self):
        """What protocol 2 cuts into pieces."""
        self.assertEqual(sorted(recorded("py37_sliced.pkl")), sorted(pickle_keys("py37_sliced.pkl")))


def pickle_keys(name):
    with open(os.path.join(DATA, name), "rb") as file:
        content = pickle.load(file)
    slices = {part for info in content["UnpackBigParamInfor@@"].values() for part in info["slices"]}
    return (set(content) | set(content["UnpackBigParamInfor@@"])) - slices - {"UnpackBigParamInfor@@"}


class ForRealPaddle(Folder):
    """Python's own pickle reads what is written."""

    def content(self, name):
        with open(self.path(name), "rb") as file:
            return pickle.load(file)

    def test_state(self):
        paddle.utils.unique_name.switch()
        layer = nn.Linear(2, 1)
        paddle.save(layer.state_dict(), self.path("deep/er/layer.pdparams"))
        content = self.content("deep/er/layer.pdparams")
        self.assertEqual(list(content), ["weight", "bias", "StructuredToParameterName@@"])
        self.assertEqual(content["StructuredToParameterName@@"], {"weight": "linear_0.w_0", "bias": "linear_0.b_0"})
        np.testing.assert_array_equal(content["weight"], layer.weight.numpy())

    def test_objects(self):
        value = {"lists": [1, [2.5, "three"], None, True, -1, 2 ** 40], "tuple": (), "text": "点击率", "bytes": b"\xff\0a",
                 "array": np.arange(4).reshape(2, 2), 3: {}, "scalar": np.float32(0.5)}
        for protocol in (2, 3, 4):
            with self.subTest(protocol):
                paddle.save(dict(value, tensor=paddle.to_tensor([1.5])), self.path("o.pd"), protocol=protocol)
                content, found = self.content("o.pd"), paddle.load(self.path("o.pd"))
                self.assertEqual(content["tensor"][1].tolist(), [1.5])
                self.assertEqual(found.pop("tensor").numpy().tolist(), [1.5])
                content.pop("tensor")
                for back in (content, found):
                    np.testing.assert_array_equal(back.pop("array"), value["array"])
                    self.assertEqual(back, {key: item for key, item in value.items() if key != "array"})
                with open(self.path("o.pd"), "rb") as file:
                    self.assertEqual(file.read(2), bytes([0x80, protocol]))

    def test_types_of_numbers(self):
        for kind in ("float64", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool"):
            with self.subTest(kind):
                paddle.save(paddle.to_tensor([1, 0, 1]).astype(kind), self.path("t.pd"))
                found = paddle.load(self.path("t.pd"))
                self.assertEqual(found.dtype, getattr(paddle, kind))
                self.assertEqual(found.astype("float32").numpy().tolist(), [1, 0, 1])

    def test_memory(self):
        buffer = io.BytesIO()
        paddle.save({"w": paddle.ones([3])}, buffer)
        buffer.seek(0)
        self.assertEqual(paddle.load(buffer)["w"].numpy().tolist(), [1, 1, 1])

    def test_binary(self):
        paddle.save(paddle.ones([2]), self.path("b"), use_binary_format=True)
        self.assertEqual(paddle.load(self.path("b")).numpy().tolist(), [1, 1])


class Wrong(Folder):
    def test_saving(self):
        layer = nn.Linear(1, 1)
        for obj, text in ((layer, "cannot write a .*Linear"), ({"a": {1, 2}}, "cannot write a .*set"),
                          ([1 << 70], "int|64")):
            with self.assertRaisesRegex((ValueError, OverflowError), text):
                paddle.save(obj, self.path("x"))
        with self.assertRaisesRegex(ValueError, "but received a folder"):
            paddle.save({"a": 1}, self.folder + "/")
        for protocol in (1, 5):
            with self.assertRaisesRegex(ValueError, "Expected 1<'protocol'<5"):
                paddle.save({"a": 1}, self.path("x"), protocol=protocol)
        circle = []
        circle.append(circle)
        with self.assertRaises(RecursionError):
            paddle.save(circle, self.path("x"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_was_there_stays(self):
        paddle.save({"a": 1}, self.path("x"))
        with self.assertRaises(ValueError):
            paddle.save({"a": 1, "b": object()}, self.path("x"))
        self.assertEqual(paddle.load(self.path("x")), {"a": 1})
        self.assertEqual(os.listdir(self.folder), ["x"])

    def test_loading(self):
        with self.assertRaisesRegex(ValueError, "to load model not exists"):
            paddle.load(self.path("nothing"))
        with self.assertRaisesRegex(ValueError, "is a folder"):
            paddle.load(self.folder)
        with self.assertRaisesRegex(NotImplementedError, "asks for .*system; only numbers, texts.* nothing in a file is executed"):
            recorded("py311_evil.pkl")
        with open(os.path.join(DATA, "eager_adam.pdopt"), "rb") as file:
            whole = file.read()
        for cut in range(0, len(whole) - 1, 7):
            with open(self.path("cut"), "wb") as file:
                file.write(whole[:cut])
            with self.assertRaises(ValueError):
                paddle.load(self.path("cut"))

    def test_an_object_inside_of_itself(self):
        """A list that holds itself, and one that would be huge if it were written out."""
        with open(self.path("circle"), "wb") as file:
            file.write(b"\x80\x02]q\x00h\x00a.")
        with self.assertRaises(RecursionError):
            paddle.load(self.path("circle"))


if __name__ == "__main__":
    unittest.main()
