"""The documents' CTR-DNN by servers and workers, on Skiff or on real Paddle 1.8.5, unchanged:

    skiff launch --server_num 2 --worker_num 2 bench/python/dist.py MODE [BATCH [ROWS]]
    python -m paddle.distributed.launch_ps --server_num 2 --worker_num 2 bench/python/dist.py MODE [BATCH [ROWS]]

MODE: sync, half_async, async, geo. Each worker trains on ROWS rows of MultiSlot text with one thread and prints its rows a
second in its log; the first pass over the rows is not measured.
"""
import math
import os
import sys
import tempfile
import time

os.environ.setdefault("CPU_NUM", "1")

import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

MODE = sys.argv[1] if len(sys.argv) > 1 else "async"
BATCH = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
ROWS = int(sys.argv[3]) if len(sys.argv) > 3 else 50000
IDS = 1000001


def network():
    dense = fluid.layers.data("dense_input", [13])
    ids = [fluid.layers.data("C%d" % i, [1], dtype="int64", lod_level=1) for i in range(1, 27)]
    label = fluid.layers.data("label", [1], dtype="int64")
    table = fluid.ParamAttr(name="SparseFeatFactors", initializer=fluid.initializer.Uniform())
    slots = [fluid.layers.embedding(x, [IDS, 10], is_sparse=True, param_attr=table) for x in ids]
    hidden = fluid.layers.concat(slots + [dense], axis=1)
    for _ in range(3):
        hidden = fluid.layers.fc(hidden, 400, act="relu", param_attr=fluid.ParamAttr(
            initializer=fluid.initializer.Normal(scale=1 / math.sqrt(hidden.shape[1]))))
    predict = fluid.layers.fc(hidden, 2, act="softmax")
    loss = fluid.layers.reduce_sum(fluid.layers.cross_entropy(predict, label))
    return [dense] + ids + [label], loss


def write_rows(path, seed):
    """Ids repeat about as in click logs."""
    random = np.random.RandomState(seed)
    dense, label = random.rand(ROWS, 13), random.rand(ROWS) < 0.3
    ids = (IDS * random.rand(ROWS, 26) ** 6).astype("int64")
    with open(path, "w") as out:
        for row in range(ROWS):
            out.write("13 " + " ".join("%.6f" % v for v in dense[row]) + " " +
                      " ".join("1 %d" % v for v in ids[row]) + " 1 %d\n" % label[row])


def strategy():
    if MODE == "geo":
        return StrategyFactory.create_geo_strategy(20)
    return getattr(StrategyFactory, "create_%s_strategy" % MODE)()


def work(inputs):
    fleet.init_worker()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "part-0")
        write_rows(path, 1 + fleet.worker_index())
        dataset = fluid.DatasetFactory().create_dataset()
        dataset.set_use_var(inputs)
        dataset.set_pipe_command("cat")
        dataset.set_batch_size(BATCH)
        dataset.set_thread(1)
        dataset.set_filelist([path])
        exe.train_from_dataset(fleet.main_program, dataset)
        start = time.time()
        exe.train_from_dataset(fleet.main_program, dataset)
        print("%s: %.0f rows/s" % (MODE, ROWS / (time.time() - start)))
        sys.stdout.flush()
    fleet.stop_worker()


def main():
    fleet.init(role_maker.PaddleCloudRoleMaker())
    inputs, loss = network()
    fleet.distributed_optimizer(fluid.optimizer.SGD(1e-5), strategy()).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        work(inputs)


main()
