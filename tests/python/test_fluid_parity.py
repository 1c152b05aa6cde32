"""Programs built through paddle.fluid are the recorded ones of real Paddle 1.8.5, operator for operator, name for name."""
import importlib.util
import os
import sys
import unittest

import paddle.fluid as fluid
from skiff import _native

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "../data/parity")
sys.path.insert(0, HERE)


def difference(program, *path):
    with open(os.path.join(DATA, *path), "rb") as file:
        return _native.parse_program(file.read()).diff(program)


def in_child(call):
    """call() in a forked process with its own counters of names; gives what it returns (a str)."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            text = call()
        except BaseException as error:
            text = "%s: %s" % (type(error).__name__, error)
        with os.fdopen(write, "w") as out:
            out.write(text)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as got:
        text = got.read()
    os.waitpid(pid, 0)
    return text


class Models(unittest.TestCase):
    def test_recorded_models(self):
        self.assertEqual(in_child(self.all_models), "")

    def all_models(self):
        from golden_models import MODELS
        wrong = []
        for name, build, optimizer, seed, before in MODELS:
            main, startup = fluid.Program(), fluid.Program()
            startup.random_seed = seed
            with fluid.program_guard(main, startup), fluid.unique_name.guard():
                if build is None:
                    wrong.append(self.full(main, startup))
                    continue
                loss = build()
                if before:
                    before()
                optimizer().minimize(loss)
            for program, file in ((main, "main.pb"), (startup, "startup.pb")):
                text = difference(program, name, file)
                if text:
                    wrong.append("%s/%s: %s" % (name, file, text[:400]))
        return "\n".join(text for text in wrong if text)

    def full(self, main, startup):
        from golden_models import ctr_net
        loss, predict, _ = ctr_net(True, 1000001, 10, 400)
        wrong = difference(main, "ctr_dnn_full/before_minimize/main.pb")
        wrong += difference(startup, "ctr_dnn_full/before_minimize/startup.pb")
        fluid.optimizer.Adam(1e-4).minimize(loss)
        wrong += difference(main, "ctr_dnn_full/after_minimize/main.pb")
        wrong += difference(startup, "ctr_dnn_full/after_minimize/startup.pb")
        wrong += difference(main.clone(for_test=True), "ctr_dnn_full/for_test/main.pb")
        feeds = ["dense_input"] + ["C%d" % i for i in range(1, 27)]
        wrong += difference(main.prune(feeds, [predict.name]), "ctr_dnn_full/inference/main.pb")
        return wrong


class Layers(unittest.TestCase):
    """tests/parity/record_layers.py itself, run on Skiff."""

    @classmethod
    def setUpClass(cls):
        path = os.path.join(HERE, "../parity/record_layers.py")
        spec = importlib.util.spec_from_file_location("record_layers", path)
        cls.record = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.record)

    def build(self, group):
        self.record.setup()
        main, startup = fluid.Program(), fluid.Program()
        startup.random_seed = 7
        with fluid.program_guard(main, startup), fluid.unique_name.guard():
            loss = self.record.GROUPS[group]()
            if loss is not None:
                fluid.optimizer.SGD(0.1).minimize(loss)
        return difference(main, "layers", group, "main.pb") + difference(startup, "layers", group, "startup.pb")

    def test_groups(self):
        recorded = sorted(os.listdir(os.path.join(DATA, "layers")))
        self.assertGreaterEqual(len(recorded), 24)
        for group in recorded:
            with self.subTest(group=group):
                self.assertEqual(in_child(lambda: self.build(group)), "")


if __name__ == "__main__":
    unittest.main()
