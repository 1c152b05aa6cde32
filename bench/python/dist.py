"""The documents' CTR-DNN by servers and workers, on Skiff or on real Paddle 1.8.5, unchanged:

    skiff launch --server_num 2 --worker_num 2 bench/python/dist.py MODE [BATCH [ROWS]]
    python -m paddle.distributed.launch_ps --server_num 2 --worker_num 2 bench/python/dist.py MODE [BATCH [ROWS]]

MODE: sync, half_async, async, geo. Each worker trains on ROWS rows of MultiSlot text with one thread and prints its rows a
second in its log; the first pass over the rows is not measured.
"""
import os
import sys
import tempfile
import time

os.environ.setdefault("CPU_NUM", "1")

import documents
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

MODE = sys.argv[1] if len(sys.argv) > 1 else "async"
BATCH = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
ROWS = int(sys.argv[3]) if len(sys.argv) > 3 else 50000


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
        with open(path, "w") as out:
            documents.write_rows(out, *documents.rows(ROWS, 1 + fleet.worker_index()))
        dataset = documents.dataset(inputs, path, BATCH)
        exe.train_from_dataset(fleet.main_program, dataset)
        start = time.time()
        exe.train_from_dataset(fleet.main_program, dataset)
        print("%s: %.0f rows/s" % (MODE, ROWS / (time.time() - start)))
        sys.stdout.flush()
    fleet.stop_worker()


def main():
    fleet.init(role_maker.PaddleCloudRoleMaker())
    inputs, predict, label = documents.network()
    loss = fluid.layers.reduce_sum(fluid.layers.cross_entropy(predict, label))
    fleet.distributed_optimizer(fluid.optimizer.SGD(1e-5), strategy()).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        work(inputs)


main()
