"""Static programs of two ranks, in processes of their own, against one process with the rows of both."""
import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import unittest

import numpy as np

import paddle
import paddle.fluid as fluid

PER = 8  # rows of a rank in a step
STEPS = 6


def rows(step, ranks):
    """The rows of all ranks in a step; those of a rank are PER side by side."""
    random = np.random.RandomState(step)
    x = random.rand(PER * ranks, 6).astype("float32")
    return {"ids": random.randint(0, 50, (PER * ranks, 1)).astype("int64"), "x": x, "y": x.sum(1, keepdims=True)}


def network(norm):
    ids = fluid.layers.data("ids", [1], dtype="int64")
    x, y = fluid.layers.data("x", [6]), fluid.layers.data("y", [1])
    row = fluid.layers.reshape(fluid.layers.embedding(ids, [50, 4], is_sparse=True), [-1, 4])
    hidden = fluid.layers.fc(fluid.layers.concat([row, x], 1), 16, act="relu")
    if norm:
        hidden = fluid.layers.batch_norm(hidden)
    hidden = fluid.layers.fc(hidden, 9000, act="relu")  # larger than a bucket
    out = fluid.layers.fc(hidden, 1)
    return fluid.layers.mean(fluid.layers.square_error_cost(out, y))


def optimizer(kind):
    if kind == "adam":
        return fluid.optimizer.Adam(0.01)
    if kind == "clip":
        return fluid.optimizer.SGD(0.05, regularization=fluid.regularizer.L2Decay(0.01),
                                   grad_clip=fluid.clip.GradientClipByGlobalNorm(0.1))
    return fluid.optimizer.SGD(0.01)


def build(kind, seed):
    fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = seed
    return network(kind == "norm"), optimizer(kind)


def values():
    """The sums of all parameters, and their bits."""
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    found = [np.array(fluid.global_scope().find_var(n).get_tensor()) for n in names]
    return {"values": [v.astype("float64").ravel()[:200].tolist() for v in found],
            "bits": hash(b"".join(v.tobytes() for v in found))}


def alone(kind):
    loss, opt = build(kind, 5)
    opt.minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for step in range(STEPS):
        exe.run(feed=rows(step, 2), fetch_list=[loss])
    return values()


def share(step, rank):
    return {name: value[PER * rank:PER * rank + PER] for name, value in rows(step, 2).items()}


def by_fleet(kind, rank, ends):
    from paddle.fluid.incubate.fleet.base import role_maker
    from paddle.fluid.incubate.fleet.collective import DistributedStrategy, fleet
    fleet.init(role_maker.UserDefinedCollectiveRoleMaker(rank, ends))
    strategy = DistributedStrategy()
    strategy.sync_batch_norm = kind == "norm"
    loss, opt = build(kind, 5 + rank)  # rank 0's first values count
    fleet.distributed_optimizer(opt, strategy).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    for step in range(STEPS):
        fetched = [loss] if rank == 0 else [loss, "fc_0.w_0@GRAD"]  # what is fetched changes no call
        exe.run(fleet.main_program, feed=share(step, rank), fetch_list=fetched)
    return values()


def by_nccl2(kind, rank, ends):
    loss, opt = build("sgd", 5 + rank)
    opt.minimize(loss)
    config = fluid.DistributeTranspilerConfig()
    config.mode = "nccl2"
    fluid.DistributeTranspiler(config).transpile(rank, trainers=",".join(ends), current_endpoint=ends[rank])
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    exe = fluid.ParallelExecutor(use_cuda=False, loss_name=loss.name, num_trainers=2, trainer_id=rank)
    for step in range(STEPS):
        mine = share(step, rank)
        halves = [{name: value[:4] for name, value in mine.items()}, {name: value[4:] for name, value in mine.items()}]
        exe.run(feed=halves if kind == "devices" else mine, fetch_list=[loss.name])
    return values()


def by_mode(kind, rank, ends):
    loss, opt = build("sgd", 5 + rank)
    opt.minimize(loss)
    config = fluid.DistributeTranspilerConfig()
    config.mode = "collective"
    fluid.DistributeTranspiler(config).transpile(rank, trainers=",".join(ends), current_endpoint=ends[rank])
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for step in range(STEPS):
        exe.run(feed=share(step, rank), fetch_list=[loss])
    return values()


def failing(kind, rank, ends):
    """Another program in rank 1; a rank that makes fewer steps."""
    from paddle.fluid.incubate.fleet.base import role_maker
    from paddle.fluid.incubate.fleet.collective import fleet
    fleet.init(role_maker.UserDefinedCollectiveRoleMaker(rank, ends))
    loss, opt = build("norm" if kind == "other" and rank == 1 else "sgd", 5)
    fleet.distributed_optimizer(opt).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    try:
        exe.run(fleet.startup_program)
        for step in range(2 if rank == 1 else 4):
            exe.run(fleet.main_program, feed=share(step, rank), fetch_list=[loss])
    except Exception as error:
        return {"told": str(error)}
    return {"told": "nothing"}


def main(case, kind, rank, ends):
    paddle.enable_static()
    made = alone(kind) if case == "alone" else globals()[case](kind, int(rank), ends.split(","))
    print("RESULT " + json.dumps(made))


def addresses(n):
    holders = [socket.socket() for _ in range(n)]
    for holder in holders:
        holder.bind(("127.0.0.1", 0))
    ends = ["127.0.0.1:%d" % holder.getsockname()[1] for holder in holders]
    for holder in holders:
        holder.close()
    return ",".join(ends)


def run(case, kind, ranks, script=__file__, **environment):
    ends = addresses(ranks)
    env = dict(os.environ, PYTHONHASHSEED="0", **environment)
    started = [subprocess.Popen([sys.executable, script, case, kind, str(rank), ends], stdout=subprocess.PIPE, env=env,
                                universal_newlines=True) for rank in range(ranks)]
    lines = [process.communicate()[0].splitlines() for process in started]
    return [json.loads(line[len("RESULT "):]) for all_lines in lines for line in all_lines if line.startswith("RESULT ")]


class Static(unittest.TestCase):
    def same(self, case, kind, like=None, **environment):
        one, = run("alone", like or kind, 1)
        first, second = run(case, kind, 2, **environment)
        self.assertEqual(first["bits"], second["bits"], "ranks differ")
        for a, b in zip(one["values"], first["values"]):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        return first

    def test_fleet(self):
        for kind in ("sgd", "adam", "clip"):
            first = self.same("by_fleet", kind)
            self.assertEqual(first["bits"], run("by_fleet", kind, 2)[0]["bits"], "another run differs")

    def test_sync_batch_norm(self):
        one, = run("alone", "norm", 1)
        first, second = run("by_fleet", "norm", 2)
        for a, b in zip(one["values"], first["values"]):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
        self.assertEqual(first["bits"], second["bits"])

    def test_nccl2_and_parallel_executor(self):
        self.same("by_nccl2", "one", "sgd")
        self.same("by_nccl2", "devices", "sgd", CPU_NUM="2")

    def test_mode_collective(self):
        self.same("by_mode", "sgd")

    def test_another_program(self):
        for made in run("failing", "other", 2):
            self.assertIn("rank 1 has another program than rank 0", made["told"])

    def test_fewer_steps(self):
        first, second = run("failing", "fewer", 2)
        self.assertEqual(second["told"], "nothing")
        self.assertIn("rank 1", first["told"])

    def test_tables(self):
        """A sparse_embedding is a tensor in every rank, which is said."""
        paddle.enable_static()
        from paddle.distributed.fleet import _collective_static
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            ids = paddle.static.data("ids", [-1, 1], "int64")
            rows = paddle.static.nn.sparse_embedding(ids, [77, 4], param_attr=paddle.ParamAttr(name="tall"))
            paddle.optimizer.SGD(0.1).minimize(paddle.mean(rows))
            with contextlib.redirect_stderr(io.StringIO()) as said:
                _collective_static.note_tables(paddle.static.default_main_program())
        self.assertIn("table tall: ranks of a collective job hold it as a tensor of its declared 77 rows", said.getvalue())

    def test_refused(self):
        paddle.enable_static()
        from skiff import _native
        config = fluid.DistributeTranspilerConfig()
        config.mode = "ring"
        with self.assertRaisesRegex(ValueError, "mode is pserver, nccl2 or collective, not 'ring'"):
            fluid.DistributeTranspiler(config)
        config.mode = "nccl2"
        with self.assertRaisesRegex(TypeError, "must be the trainers' addresses"):
            fluid.DistributeTranspiler(config).transpile(0, trainers=2)
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            network(False)
            with self.assertRaisesRegex(Exception, "call minimize before it is made collective"):
                _native.collective_transpile(fluid.default_main_program(), None, ["a:1", "b:1"], 0)
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            fluid.optimizer.SGD(0.1).minimize(network(False))
            _native.collective_transpile(fluid.default_main_program(), None, ["a:1", "b:1"], 0)
            with self.assertRaisesRegex(Exception, "made collective before"):
                _native.collective_transpile(fluid.default_main_program(), None, ["a:1", "b:1"], 0)
            with self.assertRaisesRegex(Exception, "ranks go from 0 to 1"):
                _native.collective_transpile(fluid.default_main_program(), None, ["a:1", "b:1"], 2)
            types = [op.type for op in fluid.default_main_program().global_block().ops]
            self.assertEqual(types.count("c_allreduce_sum"), 7)
            self.assertEqual(types[types.index("c_sync_comm_stream") + 1:], ["sgd"] * 7)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        main(*sys.argv[1:])
    else:
        unittest.main()
