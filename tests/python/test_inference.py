"""paddle.inference: the recorded models give what Paddle 2.6.2's predictor gave; what handles, configs and wrong models say."""
import os
import struct
import subprocess
import tempfile
import threading
import unittest

import numpy as np
import paddle
from paddle.inference import Config, DataType, PredictorPool, create_predictor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(os.environ.get("BUILD", "build"), "golden")
TYPES = {2: "int32", 3: "int64", 5: "float32"}


def read(path):
    """(array, offsets) of a tensor file."""
    with open(path, "rb") as source:
        data = source.read()
    levels, at, lod = struct.unpack_from("<Q", data, 4)[0], 12, []
    for _ in range(levels):
        size = struct.unpack_from("<Q", data, at)[0]
        lod.append(list(struct.unpack_from("<%dQ" % (size // 8), data, at + 8)))
        at += 8 + size
    size = struct.unpack_from("<i", data, at + 4)[0]
    words, value, shift = [], 0, 0
    for byte in bytearray(data[at + 8:at + 8 + size]):
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            words.append(value)
            value = shift = 0
    dims = words[3::2]
    return np.frombuffer(data[at + 8 + size:], TYPES[words[1]]).reshape(dims), lod


def info(case):
    with open(os.path.join(ROOT, "inference", case, "case.txt")) as source:
        return dict(line.rstrip("\n").split(": ", 1) for line in source if ": " in line)


def config(case):
    about = info(case)
    folder = os.path.normpath(os.path.join(ROOT, "inference", case, about["model_dir"]))
    if "params_filename" in about:
        return Config(os.path.join(folder, about["model_filename"]), os.path.join(folder, about["params_filename"]))
    return Config(folder)


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.check_call([os.path.join(HERE, "..", "golden", "unpack.sh")])

    def serve(self, case, predictor, step):
        for name in predictor.get_input_names():
            array, lod = read(os.path.join(ROOT, "inference", case, "feed", str(step), name))
            predictor.get_input_handle(name).copy_from_cpu(array)
            predictor.get_input_handle(name).set_lod(lod)
        self.assertIs(predictor.run(), True)
        for name in predictor.get_output_names():
            want, lod = read(os.path.join(ROOT, "inference", case, "expect", str(step), name))
            got = predictor.get_output_handle(name)
            np.testing.assert_allclose(got.copy_to_cpu(), want, rtol=1e-5, atol=1e-6, err_msg="%s, step %d" % (case, step))
            self.assertEqual((got.shape(), got.lod()), (list(want.shape), lod))

    def test_all(self):
        cases = sorted(os.listdir(os.path.join(ROOT, "inference")))
        self.assertEqual(len(cases), 15)
        for case in cases:
            with self.subTest(case):
                about, predictor = info(case), create_predictor(config(case))
                self.assertEqual((predictor.get_input_names(), predictor.get_output_names()),
                                 (about["feeds"].split(), about["fetches"].split()))
                for step in range(int(about["steps"])):
                    self.serve(case, predictor, step)

    def test_clones_on_threads(self):
        pool, errors = PredictorPool(config("deepfm"), 3), []

        def work(i):
            try:
                for step in (0, 1, 0, 1):
                    self.serve("deepfm", pool.retrieve(i), step)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])


class Faces(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.prefix = os.path.join(self._folder.name, "m")
        paddle.enable_static()
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            x = paddle.static.data("x", [None, 2])
            y = paddle.static.nn.fc(x, 1, weight_attr=paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(2.0)))
        exe = paddle.static.Executor()
        with paddle.static.scope_guard(paddle.static.Scope()):
            exe.run(startup)
            paddle.static.save_inference_model(self.prefix, [x], [y], exe, program=main)
        self.config = Config(self.prefix + ".pdmodel", self.prefix + ".pdiparams")

    def test_handles(self):
        predictor = create_predictor(self.config)
        x = predictor.get_input_handle("x")
        self.assertEqual((x.shape(), x.type(), x.lod(), x.name()), ([-1, 2], DataType.FLOAT32, [], "x"))
        out = predictor.get_output_handle(predictor.get_output_names()[0])
        with self.assertRaisesRegex(ValueError, r"has no value; call predictor.run\(\) first"):
            out.copy_to_cpu()
        with self.assertRaisesRegex(ValueError, "input x has no value; call get_input_handle"):
            predictor.run()
        with self.assertRaisesRegex(TypeError, "we only support numpy ndarray"):
            x.copy_from_cpu([[1, 2]])
        with self.assertRaisesRegex(ValueError, "is a result; it cannot be given"):
            out.copy_from_cpu(np.ones((1, 1), "float32"))
        with self.assertRaisesRegex(ValueError, "there is no input 'z'; there are x"):
            predictor.get_input_handle("z")
        with self.assertRaisesRegex(ValueError, "run was given 2 inputs, the model has 1"):
            predictor.run([1, 2])
        self.assertEqual(create_predictor(Config(self.prefix)).get_input_names(), ["x"])
        got = predictor.run([np.array([[1, 2], [3, 4]], "float32")])
        self.assertEqual(got[0].copy_to_cpu().tolist(), [[6], [14]])
        with self.assertRaisesRegex(ValueError, r"\[2, 3\]"):
            predictor.run([np.ones((2, 3), "float32")])

    def test_config(self):
        config = self.config
        for call in ("disable_gpu", "enable_mkldnn", "enable_memory_optim", "switch_ir_optim", "disable_glog_info"):
            getattr(config, call)()
        config.set_cpu_math_library_num_threads(3)
        self.assertEqual((config.use_gpu(), config.mkldnn_enabled(), config.cpu_math_library_num_threads(), config.ir_optim(),
                          config.glog_info_disabled(), config.prog_file()), (False, True, 3, True, True, self.prefix + ".pdmodel"))
        self.assertIn("m.pdiparams", config.summary())
        with self.assertRaisesRegex(NotImplementedError, "Skiff runs on CPUs"):
            config.enable_use_gpu(100, 0)

    def test_from_memory(self):
        parts = [open(self.prefix + ending, "rb").read() for ending in (".pdmodel", ".pdiparams")]
        config = Config()
        self.assertFalse(config.model_from_memory())
        config.set_model_buffer(parts[0], len(parts[0]), parts[1], len(parts[1]))
        self.assertTrue(config.model_from_memory())
        got = create_predictor(config).run([np.array([[1, 2], [3, 4]], "float32")])
        self.assertEqual(got[0].copy_to_cpu().tolist(), [[6], [14]])
        with self.assertRaisesRegex(ValueError, "params_buffer has %d bytes, but the given size is 1" % len(parts[1])):
            config.set_model_buffer(parts[0], len(parts[0]), parts[1], 1)
        with self.assertRaisesRegex(TypeError, "prog_buffer is str; expected the bytes of a file"):
            config.set_model_buffer("m", 1, parts[1], len(parts[1]))

    def test_wrong_models(self):
        with self.assertRaisesRegex(ValueError, "there is no folder '/none'"):
            create_predictor(Config("/none"))
        with self.assertRaisesRegex(ValueError, "there is no file '.*/q.pdiparams'"):
            create_predictor(Config(self.prefix + ".pdmodel", os.path.join(self._folder.name, "q.pdiparams")))
        with open(self.prefix + ".pdmodel", "wb") as target:
            target.write(b"not a program")
        with self.assertRaisesRegex(Exception, "m.pdmodel"):
            create_predictor(self.config)


if __name__ == "__main__":
    unittest.main()
