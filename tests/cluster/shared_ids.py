"""A script of run_shared_ids.sh: two distributed tables, of widths 1 and 4, with the same ids. Prints the loss of each step;
"alone" trains in one process."""
import sys

import numpy
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

MODE = sys.argv[1]


def table(ids, name, width, value):
    attr = fluid.ParamAttr(name=name, initializer=fluid.initializer.Constant(value))
    return fluid.layers.embedding(ids, [1000, width], is_sparse=True, is_distributed=True, param_attr=attr)


def network():
    ids = [fluid.data("ids%d" % i, [None, 1], "int64") for i in range(2)]
    label = fluid.data("label", [None, 1], "float32")
    first = [table(i, "first", 1, 0.25) for i in ids]
    second = [table(i, "second", 4, 0.5) for i in ids]
    both = fluid.layers.reduce_sum(fluid.layers.elementwise_mul(*second), dim=1, keep_dim=True)
    score = fluid.layers.sums(first + [both])
    return fluid.layers.reduce_mean(fluid.layers.square(score - label)), second


def train(exe, program, loss):
    draw = numpy.random.RandomState(3)
    for _ in range(20):
        ids = draw.randint(0, 40, (2, 8, 1)).astype("int64")
        feed = {"ids0": ids[0], "ids1": ids[1], "label": ((ids[0] + ids[1]) % 2).astype("float32")}
        print("loss %.9g" % exe.run(program, feed=feed, fetch_list=[loss])[0].item())


def main():
    loss, second = network()
    fluid.gradients(loss, second)  # so the gradients of minimize have other names: grad/...
    exe = fluid.Executor(fluid.CPUPlace())
    optimizer = fluid.optimizer.SGD(0.1)
    if MODE == "alone":
        optimizer.minimize(loss)
        exe.run(fluid.default_startup_program())
        train(exe, fluid.default_main_program(), loss)
        return
    fleet.init(role_maker.PaddleCloudRoleMaker())
    fleet.distributed_optimizer(optimizer, getattr(StrategyFactory, "create_%s_strategy" % MODE)()).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return
    fleet.init_worker()
    exe.run(fleet.startup_program)
    train(exe, fleet.main_program, loss)
    fleet.stop_worker()


main()
