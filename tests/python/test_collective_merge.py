"""Gradient merge and local SGD: against recorded values, one process with the joint batch, and ranks played in one process."""
import json
import os
import sys
import unittest

import numpy as np

import paddle
import paddle.fluid as fluid
import paddle.static as static
from paddle.distributed import fleet as fleet2

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_collective_static as ranks_of  # noqa: E402

K, STEPS = 3, 7  # the last run is not yet used
#: losses of seven runs of Paddle 2.6.2's GradientMergeOptimizer
RECORDED = {("sgd", True, 3): [1.211743, 0.867787, 1.865624, 0.361777, 0.473228, 0.348287, 0.220012],
            ("adam", True, 2): [1.211743, 0.867787, 1.378525, 0.690425, 0.529037, 0.399577, 0.258534],
            ("momentum", False, 3): [1.211743, 0.867787, 1.865624, 0.157575, 0.26121, 0.134959, 0.628964],
            ("clip", True, 2): [1.211743, 0.867787, 1.682154, 0.90359, 0.899937, 0.779106, 0.580679]}


def constant(value):
    return paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(value))


def tanh_network():
    x, y = static.data("x", [-1, 3]), static.data("y", [-1, 1])
    hidden = static.nn.fc(x, 2, weight_attr=constant(0.3), bias_attr=constant(0.1), activation="tanh")
    out = static.nn.fc(hidden, 1, weight_attr=constant(0.5), bias_attr=constant(-0.1))
    return paddle.mean((out - y) * (out - y))


def make_optimizer(kind):
    if kind == "adam":
        return paddle.optimizer.Adam(0.05)
    if kind == "momentum":
        return paddle.optimizer.Momentum(0.05)
    if kind == "clip":
        return paddle.optimizer.SGD(0.1, weight_decay=paddle.regularizer.L2Decay(0.01),
                                    grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5))
    return paddle.optimizer.SGD(0.1)


def programs():
    return static.program_guard(static.Program(), static.Program())


class Merge(unittest.TestCase):
    def setUp(self):
        paddle.enable_static()

    def losses(self, kind, avg, k, by_fleet):
        with programs(), paddle.static.scope_guard(paddle.static.Scope()):
            loss, optimizer = tanh_network(), make_optimizer(kind)
            if by_fleet:
                fleet2.init(is_collective=True)
                strategy = fleet2.DistributedStrategy()
                strategy.gradient_merge = True
                strategy.gradient_merge_configs = {"k_steps": k, "avg": avg}
                fleet2.distributed_optimizer(optimizer, strategy).minimize(loss)
            else:
                paddle.incubate.optimizer.GradientMergeOptimizer(optimizer, k_steps=k, avg=avg).minimize(loss)
            exe = static.Executor()
            exe.run(static.default_startup_program())
            random, found = np.random.RandomState(3), []
            for _ in range(7):
                x = random.rand(4, 3).astype("float32")
                found.append(float(exe.run(feed={"x": x, "y": x.sum(1, keepdims=True)}, fetch_list=[loss])[0]))
            return found

    def test_recorded(self):
        for (kind, avg, k), expected in RECORDED.items():
            for by_fleet in (False, True):
                np.testing.assert_allclose(self.losses(kind, avg, k, by_fleet), expected, atol=2e-6, err_msg=kind)

    def test_once_is_nothing(self):
        np.testing.assert_array_equal(self.losses("sgd", True, 1, False), self.losses("sgd", True, 1, True))
        self.assertLess(self.losses("sgd", True, 1, True)[1], RECORDED["sgd", True, 3][1])

    def test_program(self):
        """Updates are in the block; a program for testing counts nothing."""
        with programs():
            loss = tanh_network()
            optimizer = paddle.incubate.optimizer.GradientMergeOptimizer(paddle.optimizer.SGD(0.1), 2)
            optimizer.minimize(loss)
            main = static.default_main_program()
            types = [op.type for op in main.global_block().ops]
            self.assertEqual(types[-8:], ["increment", "elementwise_mod", "equal"] + ["elementwise_add"] * 4 +
                             ["conditional_block"])
            self.assertNotIn("sgd", types)
            self.assertEqual([op.type for op in main.block(1).ops], ["scale"] * 4 + ["sgd"] * 4 + ["fill_constant"] * 4)
            tested = [op.type for op in main.clone(for_test=True).global_block().ops]
            self.assertFalse({"increment", "conditional_block"} & set(tested), tested)
            kept = [v.name for v in main.list_vars() if v.persistable]
            for parameter in main.all_parameters():
                self.assertIn(parameter.name + "@GRAD@GradientMerge", kept)

    def test_refused(self):
        with programs():
            loss = tanh_network()
            around = paddle.incubate.optimizer.GradientMergeOptimizer
            optimizer = around(paddle.optimizer.SGD(0.1), 2)
            optimizer.minimize(loss)
            from skiff import _native
            main, startup = static.default_main_program(), static.default_startup_program()
            with self.assertRaisesRegex(Exception, "merges gradients already; leave the second one out"):
                _native.gradient_merge(main, startup, 2)
            with self.assertRaisesRegex(Exception, "no gradients and updates of parameters; call minimize before"):
                _native.gradient_merge(static.Program(), startup, 2)
            with self.assertRaisesRegex(Exception, "k_steps is 0; it must be at least 1"):
                _native.gradient_merge(main, startup, 0)
            with self.assertRaisesRegex(TypeError, "startup must be a Program"):
                _native.gradient_merge(main, None, 2)
            with self.assertRaisesRegex(AssertionError, "k_steps should be a positive integer"):
                around(paddle.optimizer.SGD(0.1), 0)
        with programs():
            loss = tanh_network()
            paddle.optimizer.SGD(0.1).minimize(loss)
            paddle.optimizer.SGD(0.1).minimize(paddle.mean(loss * 2))
            with self.assertRaisesRegex(Exception, "give each optimizer a program of its own"):
                _native.gradient_merge(static.default_main_program(), static.default_startup_program(), 2)
        with programs():
            loss = tanh_network()
            paddle.optimizer.SGD(0.1).minimize(loss)
            main, startup = static.default_main_program(), static.default_startup_program()
            _native.collective_transpile(main, startup, ["127.0.0.1:1", "127.0.0.1:2"], 0)
            with self.assertRaisesRegex(Exception, "merge gradients before it is made collective"):
                _native.gradient_merge(main, startup, 2)

    def test_saved_between(self):
        """Sums that wait for the k-th run, rows among them, are saved and loaded."""
        import tempfile
        feeds = [ranks_of.rows(step, 1) for step in range(4)]
        for kind in ("sgd", "adam"):
            with programs(), tempfile.TemporaryDirectory() as folder:
                loss, optimizer = ranks_of.build(kind, 5)
                paddle.incubate.optimizer.GradientMergeOptimizer(optimizer, 2).minimize(loss)
                main, exe, found = static.default_main_program(), static.Executor(), []
                for broken in (False, True):
                    with static.scope_guard(static.Scope()):
                        exe.run(static.default_startup_program())
                        for feed in feeds[:3]:
                            exe.run(main, feed=feed, fetch_list=[loss])
                        found.append(ranks_of.values()) if broken else static.save(main, folder + "/model")
                        if not broken:
                            exe.run(main, feed=feeds[3], fetch_list=[loss])
                            expected = ranks_of.values()
                with open(folder + "/model.pdopt", "rb") as file:
                    self.assertEqual(file.read(2), b"\x80\x04")  # pickle protocol 4
                self.assertNotEqual(found[0]["bits"], expected["bits"])
                with static.scope_guard(static.Scope()):
                    exe.run(static.default_startup_program())
                    static.load(main, folder + "/model", exe)
                    self.assertEqual(ranks_of.values()["bits"], found[0]["bits"])
                    exe.run(main, feed=feeds[3], fetch_list=[loss])
                    self.assertEqual(ranks_of.values()["bits"], expected["bits"], kind)

    def test_eager(self):
        paddle.disable_static()
        with self.assertRaisesRegex(Exception, "In dygraph, we don't support GradientMergeOptimizer"):
            paddle.incubate.optimizer.GradientMergeOptimizer(None)


# ---- processes: this file as a rank ----

def train(exe, loss, feeds, main=None):
    for feed in feeds:
        exe.run(main, feed=feed, fetch_list=[loss])
    return ranks_of.values()


def joint(kind, rank, ends):
    """K batches of both ranks in one, in one process."""
    loss, optimizer = ranks_of.build(kind, 5)
    optimizer.minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    whole = [[ranks_of.rows(step, 2) for step in range(at, at + K)] for at in range(0, STEPS - 1, K)]
    return train(exe, loss, [{name: np.concatenate([part[name] for part in parts]) for name in parts[0]} for parts in whole])


def by_strategy(loss, optimizer, rank, ends, **fields):
    os.environ.update(PADDLE_TRAINER_ID=str(rank), PADDLE_TRAINERS_NUM=str(len(ends)), PADDLE_TRAINER_ENDPOINTS=",".join(ends),
                      PADDLE_CURRENT_ENDPOINT=ends[rank], TRAINING_ROLE="TRAINER")
    fleet2.init(is_collective=True)
    strategy = fleet2.DistributedStrategy()
    for name, value in fields.items():
        setattr(strategy, name, value)
    fleet2.distributed_optimizer(optimizer, strategy).minimize(loss)


def merging(kind, rank, ends):
    loss, optimizer = ranks_of.build(kind, 5 + rank)
    by_strategy(loss, optimizer, rank, ends, gradient_merge=True, gradient_merge_configs={"k_steps": K})
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return train(exe, loss, [ranks_of.share(step, rank) for step in range(STEPS)])


def local(kind, rank, ends):
    loss, optimizer = ranks_of.build(kind, 5 + rank)
    by_strategy(loss, optimizer, rank, ends, localsgd=True, localsgd_configs={"k_steps": 2, "begin_step": 2})
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    made = train(exe, loss, [ranks_of.share(step, rank) for step in range(5)])
    made["mean"] = train(exe, loss, [ranks_of.share(5, rank)])
    return made


def local_1x(kind, rank, ends):
    from paddle.fluid.incubate.fleet.base import role_maker
    from paddle.fluid.incubate.fleet.collective import DistributedStrategy, fleet
    fleet.init(role_maker.UserDefinedCollectiveRoleMaker(rank, ends))
    strategy = DistributedStrategy()
    strategy.use_local_sgd = True
    loss, optimizer = ranks_of.build(kind, 5 + rank)
    fleet.distributed_optimizer(optimizer, strategy).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    return train(exe, loss, [ranks_of.share(step, rank) for step in range(ranks_of.STEPS)], fleet.main_program)


def played(kind, rank, ends):
    """Two ranks in one process, whose parameters are averaged by hand after the runs 1, 2, 4 and 6."""
    loss, optimizer = ranks_of.build(kind, 5)
    optimizer.minimize(loss)
    exe, scopes, out = fluid.Executor(fluid.CPUPlace()), [fluid.Scope(), fluid.Scope()], {}
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    for scope in scopes:
        exe.run(fluid.default_startup_program(), scope=scope)
    for step in range(6):
        for each, scope in enumerate(scopes):
            exe.run(feed=ranks_of.share(step, each), fetch_list=[loss], scope=scope)
        if step == 4:
            for each, scope in enumerate(scopes):
                with fluid.scope_guard(scope):
                    out["rank%d" % each] = ranks_of.values()
        for name in names if step in (0, 1, 3, 5) else []:
            tensors = [scope.find_var(name).get_tensor() for scope in scopes]
            mean = np.mean([np.array(t) for t in tensors], axis=0)
            for tensor in tensors:
                tensor.set(mean, fluid.CPUPlace())
    with fluid.scope_guard(scopes[0]):
        out["mean"] = ranks_of.values()
    return out


def main(case, kind, rank, ends):
    paddle.enable_static()
    print("RESULT " + json.dumps(globals()[case](kind, int(rank), ends.split(","))))


def run(case, kind, ranks):
    return ranks_of.run(case, kind, ranks, script=__file__)


class Ranks(unittest.TestCase):
    def close(self, expected, found):
        for a, b in zip(expected["values"], found["values"]):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)

    def test_merge(self):
        for kind in ("sgd", "adam", "clip"):
            first, second = run("merging", kind, 2)
            self.assertEqual(first["bits"], second["bits"], "ranks differ")
            self.close(run("joint", kind, 1)[0], first)

    def test_local_sgd(self):
        for kind in ("sgd", "adam"):
            expected, = run("played", kind, 1)
            both = run("local", kind, 2)
            self.assertEqual(both[0]["mean"]["bits"], both[1]["mean"]["bits"], "means differ")
            self.assertNotEqual(both[0]["bits"], both[1]["bits"], "ranks did not train alone")
            for rank in range(2):
                self.close(expected["rank%d" % rank], both[rank])
                self.close(expected["mean"], both[rank]["mean"])

    def test_local_sgd_of_fluid(self):
        """Means after every step of SGD are those of gradients."""
        first, second = run("local_1x", "sgd", 2)
        self.assertEqual(first["bits"], second["bits"])
        self.close(ranks_of.run("alone", "sgd", 1)[0], first)


class Refused(unittest.TestCase):
    def setUp(self):
        paddle.enable_static()

    def refuse(self, worker_num, **fields):
        from paddle.distributed.fleet import _collective_static
        strategy = fleet2.DistributedStrategy()
        for name, value in fields.items():
            setattr(strategy, name, value)
        role = type("Role", (), {"worker_num": lambda self: worker_num})()
        with self.assertRaises(NotImplementedError) as told:
            _collective_static.check(strategy, role)
        return str(told.exception)

    def test_strategies(self):
        for name, instead in {"adaptive_localsgd": "use localsgd", "dgc": "whole gradients are summed",
                              "fp16_allreduce": "summed as float32", "pipeline": "every rank runs the whole program",
                              "qat": "leave it out", "recompute": "the numbers are the same",
                              "sharding": "belong on servers", "tensor_parallel": "holds all parameters"}.items():
            told = self.refuse(2, **{name: True})
            self.assertIn("DistributedStrategy.%s in a static program of several ranks is not there; " % name, told)
            self.assertIn(instead, told)
        for name, instead in {"lamb": "paddle.optimizer.Lamb", "lars": "LarsMomentumOptimizer"}.items():
            told = self.refuse(1, **{name: True})
            self.assertIn("DistributedStrategy.%s in a static program is not there; give fleet" % name, told)
            self.assertIn(instead, told)

    def test_configs(self):
        strategy = fleet2.DistributedStrategy()
        self.assertEqual(strategy.gradient_merge_configs, {"k_steps": 1, "avg": True})
        self.assertEqual(strategy.localsgd_configs, {"k_steps": 1, "begin_step": 1})
        strategy.localsgd_configs = {"k_steps": 4}
        self.assertEqual(strategy.localsgd_configs, {"k_steps": 4, "begin_step": 1})
        with self.assertRaisesRegex(ValueError, "gradient_merge_configs of DistributedStrategy has no key steps; it has avg"):
            strategy.gradient_merge_configs = {"steps": 2}

    def test_fluid(self):
        from paddle.fluid.incubate.fleet.base import role_maker
        from paddle.fluid.incubate.fleet.collective import DistributedStrategy, fleet
        fleet.init(role_maker.UserDefinedCollectiveRoleMaker(0, ["127.0.0.1:1", "127.0.0.1:2"]))
        for name, instead in {"use_dgc": "whole gradients", "use_amp": "float32", "forward_recompute": "the same"}.items():
            strategy = DistributedStrategy()
            setattr(strategy, name, True)
            with fluid.program_guard(fluid.Program(), fluid.Program()):
                loss = ranks_of.network(False)
                with self.assertRaisesRegex(NotImplementedError, "%s is not there; leave it out: .*%s" % (name, instead)):
                    fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), strategy).minimize(loss)
                self.assertNotIn("sgd", [op.type for op in fluid.default_main_program().global_block().ops])

    def test_transpiler(self):
        config = fluid.DistributeTranspilerConfig()
        config.mode = "collective"
        for mode, told in (("local_sgd", None), ("ring", "collective_mode is grad_allreduce or local_sgd, not 'ring'")):
            config.collective_mode = mode
            with programs():
                make_optimizer("sgd").minimize(tanh_network())
                transpiler = fluid.DistributeTranspiler(config)
                if told:
                    with self.assertRaisesRegex(ValueError, told):
                        transpiler.transpile(0, trainers="127.0.0.1:1,127.0.0.1:2", current_endpoint="127.0.0.1:1")
                    continue
                transpiler.transpile(0, trainers="127.0.0.1:1,127.0.0.1:2", current_endpoint="127.0.0.1:1")
                main = static.default_main_program()
                self.assertEqual([op.type for op in main.block(1).ops],
                                 ["elementwise_sub", "c_allreduce_sum", "scale", "elementwise_sub", "assign"] * 4 + ["assign"])
                self.assertEqual([op.type for op in main.global_block().ops][-6:],
                                 ["increment", "less_equal", "elementwise_sub", "equal", "logical_or", "conditional_block"])

    def test_local_sgd(self):
        from skiff import _native
        ends = ["127.0.0.1:1", "127.0.0.1:2"]
        with programs():
            optimizer = paddle.incubate.optimizer.GradientMergeOptimizer(paddle.optimizer.SGD(0.1), 2)
            optimizer.minimize(tanh_network())
            main, startup = static.default_main_program(), static.default_startup_program()
            with self.assertRaisesRegex(Exception, "local SGD and gradient merge exclude each other; leave one of them out"):
                _native.collective_transpile(main, startup, ends, 0, local_steps=2)
        with programs():
            make_optimizer("sgd").minimize(tanh_network())
            main, startup = static.default_main_program(), static.default_startup_program()
            with self.assertRaisesRegex(Exception, "local SGD: needs the startup program"):
                _native.collective_transpile(main, None, ends, 0, local_steps=2)
            with self.assertRaisesRegex(Exception, "local SGD: -2 steps between means"):
                _native.collective_transpile(main, startup, ends, 0, local_steps=-2)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        main(*sys.argv[1:])
    else:
        unittest.main()
