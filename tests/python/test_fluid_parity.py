"""Programs built through paddle.fluid are the recorded ones of real Paddle 1.8.5, operator for operator, name for name."""
import importlib.util
import json
import os
import subprocess
import sys
import unittest

import paddle.fluid as fluid
from skiff import _native

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "../data/parity")
sys.path.insert(0, HERE)


def settle(program):
    """What is no difference: Fluid lists what a sub-block reads and writes in the order of a Python set; and the recorder set
    adam's min_row_size_to_use_multithread to 1 before it wrote most programs."""
    for block in program.blocks:
        for op in block.ops:
            if op.has_attr("sub_block"):
                for slot in op.input_names:
                    op.set_input(slot, sorted(op.input(slot)))
                for slot in op.output_names:
                    op.set_output(slot, sorted(op.output(slot)))
            key = "min_row_size_to_use_multithread"
            if op.has_attr(key) and op.attr(key) == 1:
                op.set_attr(key, 1000, "LONG")
    return program


def difference(program, *path):
    with open(os.path.join(DATA, *path), "rb") as file:
        return settle(_native.parse_program(file.read())).diff(settle(program.clone()))


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


def all_models():
    from golden_models import MODELS
    wrong = []
    for name, build, optimizer, seed, before in MODELS:
        main, startup = fluid.Program(), fluid.Program()
        startup.random_seed = seed
        with fluid.program_guard(main, startup), fluid.unique_name.guard():
            if build is None:
                wrong.append(full_model(main, startup))
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


def full_model(main, startup):
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


def layer_group(record, group):
    """One group of tests/parity/record_layers.py, which real Paddle ran too."""
    record.setup()
    main, startup = fluid.Program(), fluid.Program()
    startup.random_seed = 7
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        loss = record.GROUPS[group]()
        if loss is not None:
            fluid.optimizer.SGD(0.1).minimize(loss)
    return difference(main, "layers", group, "main.pb") + difference(startup, "layers", group, "startup.pb")


def compare_all():
    """{what: differences}. Names and name scopes count through a process, so everything has a process of its own."""
    spec = importlib.util.spec_from_file_location("record_layers", os.path.join(HERE, "../parity/record_layers.py"))
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    found = {"models": in_child(all_models)}
    for group in sorted(os.listdir(os.path.join(DATA, "layers"))):
        found[group] = in_child(lambda: layer_group(record, group))
    return found


class Parity(unittest.TestCase):
    def test_programs_are_the_recorded_ones(self):
        out = subprocess.check_output([sys.executable, os.path.abspath(__file__), "--compare"], text=True)
        found = json.loads(out)
        self.assertGreaterEqual(len(found), 25)
        for what, text in found.items():
            with self.subTest(what=what):
                self.assertEqual(text, "")


if __name__ == "__main__":
    if sys.argv[1:] == ["--compare"]:
        print(json.dumps(compare_all()))
    else:
        unittest.main()
